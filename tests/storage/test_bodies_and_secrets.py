from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.errors import InputError, OutsideError
from blindlabel.protocol.shape import blob_of
from blindlabel.storage.files import BodyDamaged, BodyFiles, WrongOffset, write_atomically
from blindlabel.storage.secret_files import PASSPHRASE_VARIABLE, read_secret, write_secret


def test_body_is_named_by_its_content_and_private(tmp_path: Path) -> None:
    bodies = BodyFiles(tmp_path / "bodies")
    blob = bodies.write([b"one ", b"two"])
    assert blob == blob_of(b"one two")
    assert bodies.read_all(blob) == b"one two"
    assert b"".join(bodies.read(blob, 4)) == b"two"
    assert bodies.path(blob).stat().st_mode & 0o777 == 0o600
    assert bodies.folder.stat().st_mode & 0o777 == 0o700
    bodies.remove(blob)
    assert not bodies.has(blob)
    with pytest.raises(OutsideError, match="missing"):
        bodies.read_all(blob)


def test_interrupted_writing_leaves_nothing(tmp_path: Path) -> None:
    bodies = BodyFiles(tmp_path)

    def broken() -> object:
        yield b"half"
        raise OSError("disk full")

    with pytest.raises(OutsideError, match="cannot be written"):
        bodies.write(broken())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    target = tmp_path / "file"
    write_atomically(target, b"old")
    with pytest.raises(TypeError):
        write_atomically(target, "no bytes")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert target.read_bytes() == b"old"


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300), st.lists(st.integers(1, 80), max_size=8))
def test_body_can_arrive_in_any_parts(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cuts: list[int]
) -> None:
    bodies, blob = BodyFiles(tmp_path_factory.mktemp("parts")), blob_of(content)
    for cut in [*cuts, len(content)]:
        here = bodies.received(blob)
        assert bodies.append(blob, here, [content[here : here + cut]]) == min(here + cut, len(content))
        with pytest.raises(WrongOffset):
            bodies.append(blob, bodies.received(blob) + 1, [b"x"])
    assert bodies.has(blob)
    assert bodies.read_all(blob) == content


def test_damaged_or_overlong_body_is_refused_and_can_be_sent_again(tmp_path: Path) -> None:
    bodies, blob = BodyFiles(tmp_path), blob_of(b"right")
    with pytest.raises(BodyDamaged, match="hash"):
        bodies.append(blob, 0, [b"wrong"])
    assert bodies.received(blob) == 0
    with pytest.raises(BodyDamaged, match="longer"):
        bodies.append(blob, 0, [b"right", b"!"])
    assert bodies.append(blob, bodies.received(blob), [b"right"[bodies.received(blob) :]]) == 5
    assert bodies.has(blob)


def test_parts_of_two_senders_do_not_touch(tmp_path: Path) -> None:
    """Both send the same body at once, and one of them something else under its name."""
    bodies, content = BodyFiles(tmp_path), b"0123456789"
    blob = blob_of(content)
    assert bodies.append(blob, 0, [content[:6]], "anna") == 6
    assert bodies.received(blob, "berta") == 0
    assert bodies.append(blob, 0, [b"wrong"], "berta") == 5
    assert (bodies.received(blob, "anna"), bodies.received(blob, "berta")) == (6, 5)
    with pytest.raises(BodyDamaged):
        bodies.append(blob, 5, [b"wrong"], "berta")
    assert bodies.received(blob, "anna") == 6
    assert bodies.append(blob, 6, [content[6:]], "anna") == 10
    assert bodies.read_all(blob) == content


def test_abandoned_parts_are_removed_and_those_that_grow_are_not(tmp_path: Path) -> None:
    bodies = BodyFiles(tmp_path)
    whole, old, young, busy = (blob_of(content * 3) for content in (b"whole", b"old", b"young", b"busy"))
    bodies.append(whole, 0, [b"whole" * 3])
    for blob, content in ((old, b"old"), (young, b"young"), (busy, b"busy")):
        bodies.append(blob, 0, [content])
    (tmp_path / ".new-killed").write_bytes(b"half")
    for path in tmp_path.iterdir():
        if path.name != f"{young.hash}.part":
            os.utime(path, (0, 0))
    with (tmp_path / f"{busy.hash}.part").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        bodies.remove_abandoned()
    assert {path.name for path in tmp_path.iterdir()} == {whole.hash, f"{young.hash}.part", f"{busy.hash}.part"}
    assert bodies.received(old) == 0
    assert bodies.append(old, 0, [b"old" * 3]) == 9
    assert bodies.has(old)


def test_secret_file_is_private_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSPHRASE_VARIABLE, raising=False)
    path = tmp_path / "keys" / "x.key"
    write_secret(path, b"the secret")
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_secret(path) == b"the secret"
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        read_secret(path)


@pytest.mark.slow
def test_secret_under_a_passphrase_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSPHRASE_VARIABLE, raising=False)
    path = tmp_path / "x.key"
    write_secret(path, b"the secret", "correct horse")
    assert b"the secret" not in path.read_bytes()
    assert read_secret(path, "correct horse") == b"the secret"
    with pytest.raises(InputError, match="under a passphrase"):
        read_secret(path)
    with pytest.raises(InputError, match="does not open"):
        read_secret(path, "battery staple")
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "correct horse")
    assert read_secret(path) == b"the secret"
    path.write_bytes(b"something")
    path.chmod(0o600)
    with pytest.raises(InputError, match="not a file with secret keys"):
        read_secret(path)
