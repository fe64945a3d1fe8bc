"""Bodies in a folder: whole or not there, continued by whoever goes on, apart from what is made here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from blindlabel.errors import OutsideError
from blindlabel.protocol.shape import blob_of
from blindlabel.storage.files import BodyDamaged, BodyFiles, WrongOffset

CONTENT = bytes(range(256)) * 5000
BLOB = blob_of(CONTENT)
Open = Callable[[], BodyFiles]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Opens the same bodies again and again, as several processes do."""
    return lambda: BodyFiles(tmp_path / "bodies")


def _pieces(content: bytes = CONTENT, size: int = 100_000) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


def test_body_is_continued_by_another_process_and_read_from_any_byte(opened: Open) -> None:
    here = 0
    for piece in _pieces():
        assert opened().received(BLOB) == here
        assert not opened().has(BLOB)
        here = opened().append(BLOB, here, [piece])
    assert opened().has(BLOB) and opened().received(BLOB) == BLOB.length
    assert b"".join(opened().read(BLOB)) == CONTENT and opened().read_all(BLOB) == CONTENT
    assert b"".join(opened().read(BLOB, 1_234_567)) == CONTENT[1_234_567:]
    assert opened().append(BLOB, BLOB.length, []) == BLOB.length, "the last part again, because its reply was lost"
    opened().remove(BLOB)
    opened().remove(BLOB)
    assert not opened().has(BLOB)
    with pytest.raises(OutsideError, match="missing"):
        opened().read_all(BLOB)


def test_piece_at_another_place_is_refused_with_the_place_to_go_on(opened: Open) -> None:
    opened().append(BLOB, 0, [CONTENT[:1000]])
    for offset in (0, 999, 1001):
        with pytest.raises(WrongOffset) as caught:
            opened().append(BLOB, offset, [b"x"])
        assert caught.value.received == 1000


def test_damaged_body_is_thrown_away_and_can_be_sent_again(opened: Open) -> None:
    with pytest.raises(BodyDamaged):
        opened().append(BLOB, 0, [CONTENT[:-1] + b"?"])
    assert opened().received(BLOB) == 0
    assert opened().append(BLOB, 0, [CONTENT]) == BLOB.length


def test_body_whose_check_was_interrupted_is_completed_by_an_empty_piece(opened: Open) -> None:
    bodies = opened()
    (bodies.folder / f"{BLOB.hash}.part").write_bytes(
        CONTENT
    )  # all bytes are there; the process died before it could check them
    assert opened().received(BLOB) == BLOB.length and not opened().has(BLOB)
    opened().append(BLOB, BLOB.length, [])
    assert opened().has(BLOB)


def test_senders_of_the_same_body_at_once_do_not_mix_their_pieces(opened: Open) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(6)

    def send() -> None:
        try:
            start.wait()
            here = 0
            while here < BLOB.length:
                try:
                    here = opened().append(BLOB, here, [CONTENT[here : here + 50_000]])
                except WrongOffset as elsewhere:
                    here = elsewhere.received
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert opened().read_all(BLOB) == CONTENT
    assert [path.name for path in opened().folder.glob("*.part")] == []


def test_empty_body_arrives_too(opened: Open) -> None:
    empty = blob_of(b"")
    assert not opened().has(empty)
    assert opened().append(empty, 0, []) == 0
    assert opened().has(empty) and opened().read_all(empty) == b""


def test_what_the_coordinator_makes_lies_apart_from_what_came(tmp_path: Path) -> None:
    bodies = BodyFiles(tmp_path / "bodies", tmp_path / "made")
    labels = bodies.write([b"labels in clear"])
    bodies.append(BLOB, 0, [CONTENT])
    assert [path.name for path in (tmp_path / "bodies").iterdir()] == [BLOB.hash]
    assert [path.name for path in (tmp_path / "made").iterdir()] == [labels.hash]
    assert bodies.has(labels) and bodies.has(BLOB)
    bodies.remove_all()
    assert not (tmp_path / "bodies").exists() and not (tmp_path / "made").exists()
    bodies.remove_all()


def test_body_of_another_size_counts_as_not_there(tmp_path: Path) -> None:
    bodies = BodyFiles(tmp_path)
    (tmp_path / BLOB.hash).write_bytes(CONTENT[:5000])
    assert not bodies.has(BLOB)
    bodies.append(BLOB, 0, [CONTENT])
    assert bodies.read_all(BLOB) == CONTENT
