"""Keys in clear where a passphrase is set are noticed before anything is served, and put under it by a command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.cli.stores import NEW_PASSPHRASE, PASSPHRASE, passphrase
from blindlabel.errors import InputError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.secret_files import put_under, read_secret, write_invitation, write_secret
from support.study_parties import small_agreement, write_person_tables

FIRST, SECOND = "correct horse", "battery staple"


@pytest.fixture
def parties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A coordinator in `home` and an owner in `anna`, made without a passphrase, as a hurried operator does."""
    for name in (PASSPHRASE, NEW_PASSPHRASE):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("stick").mkdir()
    invitation = CoordinatorParty(CoordinatorStore(Path("home"))).create(to_text(small_agreement()), "folder:stick")[0]
    write_invitation(invitation, Path("anna.invitation"))
    table = write_person_tables(tmp_path)[0]
    assert run(["owner", "join", "anna.invitation", str(table), "--at", "anna", "--accept-weaker"]) == 0
    return tmp_path


def keys() -> list[Path]:
    return [*Path("home/keys").rglob("*.key"), *Path("anna").glob("*.key")]


SERVE = ["coordinator", "serve", "--at", "home", "--via", "folder:stick", "--once"]
RUN = ["owner", "run", "--at", "anna", "--once"]


def test_keys_in_clear_under_a_passphrase_are_refused_until_they_are_put_under_it(
    parties: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(keys()) >= 3 and run(SERVE) == run(RUN) == 0
    monkeypatch.setenv(PASSPHRASE, FIRST)
    for command in (SERVE, RUN):
        capsys.readouterr()
        assert run(command) == 1
        said = capsys.readouterr().err
        assert "A passphrase is set, but the secret keys in" in said and "rekey" in said
    secrets = {path: read_secret(path) for path in keys()}
    assert run(["coordinator", "rekey", "--at", "home"]) == 0
    assert run(["owner", "rekey", "--at", "anna"]) == 0
    for path, secret in secrets.items():
        assert secret not in path.read_bytes() and path.stat().st_mode & 0o777 == 0o600
        assert read_secret(path, FIRST) == secret
    assert run(SERVE) == run(RUN) == 0
    monkeypatch.setenv(NEW_PASSPHRASE, SECOND)
    assert run(["owner", "rekey", "--at", "anna"]) == 0
    assert run(RUN) == 1, "the old one opens nothing now"
    monkeypatch.setenv(PASSPHRASE, SECOND)
    assert run(RUN) == 0


def test_rekeying_without_a_passphrase_and_with_a_wrong_one_changes_nothing(
    parties: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["owner", "rekey", "--at", "anna"]) == 1
    assert "BLINDLABEL_NEW_PASSPHRASE" in capsys.readouterr().err
    monkeypatch.setenv(NEW_PASSPHRASE, FIRST)
    assert run(["owner", "rekey", "--at", "anna"]) == 0
    before = {path: path.read_bytes() for path in Path("anna").glob("*.key")}
    monkeypatch.setenv(NEW_PASSPHRASE, SECOND)
    monkeypatch.setenv(PASSPHRASE, "wrong")
    assert run(["owner", "rekey", "--at", "anna"]) == 1
    assert {path: path.read_bytes() for path in Path("anna").glob("*.key")} == before


def test_rekeying_that_was_interrupted_goes_on_and_leaves_nothing_in_clear(tmp_path: Path) -> None:
    done, left, clear = (tmp_path / f"{name}.key" for name in ("done", "left", "clear"))
    write_secret(done, b"secret", SECOND)
    write_secret(left, b"secret", FIRST)
    write_secret(clear, b"secret")
    with clear.open("rb") as blocks:
        assert [put_under(path, SECOND, FIRST) for path in (done, left, clear)] == [False, True, True]
        assert not any(os.pread(blocks.fileno(), 100, 0)), "the old blocks are overwritten"
    assert {read_secret(path, SECOND) for path in (done, left, clear)} == {b"secret"}
    with pytest.raises(InputError):
        read_secret(left, FIRST)


def test_passphrase_is_a_credential_of_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (PASSPHRASE, f"{PASSPHRASE}_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert passphrase() is None
    (tmp_path / "blindlabel-passphrase").write_text("right horse\n")
    assert passphrase() == "right horse"
    monkeypatch.setenv(PASSPHRASE, "said")
    assert passphrase() == "said"
