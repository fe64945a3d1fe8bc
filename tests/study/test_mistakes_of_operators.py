"""Mistakes that operators make: each is answered with a sentence and the right exit code, and nothing is lost by it."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.web.local_study import Rehearsal, Wanted

MISTAKES = (
    ("owner status --at nowhere", 1, "nowhere is not a workspace. Make one with `blindlabel owner join`."),
    ("owner run --at anna --once --via http://10.0.0.7", 1, "your token would travel in clear"),
    ("owner run --at anna --once --via folder:nowhere", 1, "There is no folder nowhere."),
    ("owner run --at anna --once --via ftp://x", 1, "Say how to reach the coordinator"),
    ("owner run --at anna --once --proxy proxy", 1, "--proxy takes http://host:port"),
    ("owner run --at anna --once --ca no.pem", 1, "no.pem cannot be read as a certificate: No such file or directory."),
    ("owner run --at anna --once --client-certificate no.pem", 1, "cannot be used as a client certificate"),
    ("owner run --at anna --once --auto --questions empty", 1, "not from both"),
    ("owner run --at anna --once --replace", 1, "use it with --auto"),
    ("owner run --at anna --once --questions nowhere", 1, "nowhere is not a folder."),
    ("owner run --at anna --once --questions empty", 1, "empty has no question for 3 of them"),
    ("owner run --at anna --once --hand-in", 1, "3 records of round 1 have no saved question yet"),
    ("owner run --at anna --hand-out", 2, "No such option"),
    ("owner verify anna --at anna", 1, "You are anna. Name another owner"),
    ("owner verify nobody --at anna", 1, "nobody is not known as another owner"),
    ("export anna --to x.csv", 1, "The study is not over yet."),
    ("owner table nowhere.csv --at anna", 1, "There is no file nowhere.csv."),
    ("owner table other.csv --at anna", 1, "other.csv has no column"),
    ("owner join nowhere.invitation tables/a.csv --at new", 1, "There is no file nowhere.invitation."),
    ("owner join other.csv tables/a.csv --at new", 1, "other.csv is not an invitation of blindlabel"),
    ("owner check a.toml nowhere.csv", 1, "There is no file nowhere.csv."),
    ("owner check a.toml latin.csv", 1, "It looks like cp1252: read it with --encoding cp1252"),
    ("owner check a.toml tables/a.csv --encoding klingon", 1, "There is no text encoding called 'klingon'"),
    ("owner check a.toml tables/a.csv --delimiter ;;", 1, "--delimiter takes one character, or the word tab."),
    ("owner check a.toml tables/a.csv --column surname", 1, "--column takes attribute=column"),
    ("owner check a.toml tables/a.csv --column nothing=x", 1, "The agreement has no attribute 'nothing'"),
    ("owner check a.toml nul.csv", 1, "row 1 has an id with a character that is no text (NUL)"),
    ("owner rekey --at anna", 1, "Set BLINDLABEL_NEW_PASSPHRASE or BLINDLABEL_PASSPHRASE"),
    ("owner questions import nowhere --at anna", 1, "nowhere is not a folder."),
    ("owner questions suggest --at anna --to empty", 1, "empty already exists"),
    ("coordinator status --at nowhere", 1, "nowhere is not a coordinator's folder."),
    ("coordinator serve --at no-database", 1, "holds the keys of studies, and there is no database that knows them"),
    ("coordinator status other --at coordinator", 1, "There is no study 'other' here."),
    ("coordinator invite no.toml --at coordinator", 1, "no.toml cannot be read: No such file or directory."),
    ("coordinator invite a.toml --at coordinator --to out", 1, "a new salt: `blindlabel coordinator new` writes"),
    ("coordinator invite a.toml --at coordinator --address http://10.0.0.7", 1, "would travel in clear"),
    ("coordinator check day.toml", 1, "deadline: 'tomorrow' is not of the form that `blindlabel help settings` gives"),
    ("coordinator serve --at coordinator --certificate a.toml", 1, "TLS needs both --certificate and --key."),
    ("coordinator serve --at coordinator --via https://x", 1, "--via takes folder:/path"),
    ("coordinator health --address http://127.0.0.1:1", 3, "does not answer: Connection refused."),
    ("deploy kubernetes --to units", 1, "There are files for systemd, containers, logs."),
    ("help nothing", 1, "There is no page 'nothing'."),
)


def contents(folder: Path) -> list[object]:
    """What the parties keep: files, and what is in their databases but for what a machine says it is doing."""
    files = {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for party in ("anna", "coordinator")
        for path in sorted((folder / party).rglob("*"))
        if path.is_file() and ".sqlite" not in path.name and path.name not in ("life", "running.lock")
    }
    anna, studies = Workspace.open(folder / "anna"), CoordinatorStore(folder / "coordinator")
    settings = {name: value for name, value in anna.settings.items() if name != "activity"}
    found = [files, settings, anna.state(), anna.tasks(), anna.unsent(), anna.records()]
    found += [studies.load(row.study) for row in studies.studies()]
    anna.database.close()
    studies.close()
    return found


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A study in its first round, and files that operators mistake for others."""
    folder = tmp_path_factory.mktemp("mistakes")
    made = Rehearsal(folder, Wanted(records=3))
    made.begin()
    made.workspace("anna").remember("via", f"folder:{made.shared}")
    for workspace in made.workspaces:
        workspace.database.close()
    (folder / "empty").mkdir()
    shutil.copytree(folder / "coordinator", folder / "no-database", ignore=shutil.ignore_patterns("*.sqlite*"))
    agreed = to_text(made.agreement)
    (folder / "a.toml").write_text(agreed)
    (folder / "day.toml").write_text(agreed.replace('deadline = ""', 'deadline = "tomorrow"'))
    (folder / "other.csv").write_text("id,x\n1,y\n")
    names = ",".join(made.agreement.attributes)
    (folder / "latin.csv").write_bytes(f"id,{names}\n1,M\xfcller{',' * names.count(',')}\n".encode("latin-1"))
    (folder / "nul.csv").write_bytes(f"id,{names}\n1\0,Lee{',' * names.count(',')}\n".encode())
    yield folder


@pytest.mark.parametrize(("line", "code", "sentence"), MISTAKES, ids=[line for line, _, _ in MISTAKES])
def test_mistake_is_answered_with_a_sentence_and_nothing_is_lost(
    study: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    code: int,
    sentence: str,
) -> None:
    monkeypatch.chdir(study)
    for name in ("BLINDLABEL_PASSPHRASE", "BLINDLABEL_NEW_PASSPHRASE", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    before = contents(study)
    assert run(shlex.split(line)) == code
    said = capsys.readouterr()
    assert sentence in said.err + said.out
    for raw in ("Traceback", "Errno", "..\n", "defect", "pattern '"):
        assert raw not in said.err + said.out
    assert contents(study) == before
    assert not (study / "new").exists() and not list((study / "no-database").glob("*.sqlite"))
