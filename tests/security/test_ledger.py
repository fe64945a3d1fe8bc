"""What a table may have given over studies is added up outside of any workspace, and named when its owner joins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import blindlabel as bl
from blindlabel.cli.main import run
from blindlabel.protocol import agreement as agreements
from blindlabel.storage.ledger import PLACE, LedgerEntry, enter, entries

NAMES = ("Mountbatten", "Cablecar", "Lamplight")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ledger, a table, and a folder for messages."""
    monkeypatch.chdir(tmp_path)
    ledger = tmp_path / "own" / "ledger.json"
    monkeypatch.setenv(PLACE, str(ledger))
    Path("t.csv").write_text("id,name\n" + "".join(f"{number},{name}\n" for number, name in enumerate(NAMES)))
    Path("stick").mkdir()
    return ledger


def invited(study: str, owners: int = 2, **settings: Any) -> str:
    coordinator = bl.Coordinator("home")
    names = ["anna", "berta", "clara"][:owners]
    file = coordinator.write_agreement(f"{study}.toml", study, names, ["name"], **settings)
    coordinator.invite(file, f"folder:{Path('stick').resolve()}", to=study)
    return f"{study}/anna.invitation"


def joins(study: str, table: str = "t.csv", *more: str) -> int:
    return run(["owner", "join", f"{study}/anna.invitation", table, "--at", f"at-{study}", *more])


def test_the_ledger_adds_up_over_studies_and_holds_no_record(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for study, owners in (("one", 2), ("two", 3)):
        invited(study, owners)
    capsys.readouterr()
    assert joins("one") == 0
    assert "Earlier studies" not in capsys.readouterr().err
    assert joins("two") == 0
    first = "Earlier studies with this table (one) may have given cheating owners 2,822 bits, about 50 sampled records."
    assert first in capsys.readouterr().err
    assert run(["owner", "delete", "--at", "at-one", "--yes"]) == 0
    assert [one.bits for one in entries()] == [2822, 2 * 2822], "each of two others can learn so much"
    assert place.stat().st_mode & 0o777 == 0o600 and place.parent.stat().st_mode & 0o777 == 0o700
    assert not any(name.lower() in place.read_text().lower() for name in NAMES)
    bl.Owner.join("by-python", invited("three", encoding={"engine": "plain"}), "t.csv", accept_weaker=True)
    invited("four")
    Path("t.csv").rename("moved.csv")
    capsys.readouterr()
    assert joins("four", "moved.csv") == 0
    said = capsys.readouterr().err
    assert "(one, two, three) may have given cheating owners 8,466 bits and, in 1 of them, more without a bound" in said


def test_a_changed_table_in_the_same_place_is_the_same_and_another_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    for study in ("one", "two", "three"):
        invited(study)
    Path("other.csv").write_text("id,name\n1,Somebody\n")
    assert joins("one") == 0
    Path("t.csv").write_text(Path("t.csv").read_text() + "4,Another\n")
    capsys.readouterr()
    assert joins("two") == 0
    assert "Earlier studies with this table (one)" in capsys.readouterr().err
    assert joins("three", "other.csv") == 0
    assert "Earlier studies" not in capsys.readouterr().err


def test_a_join_that_was_refused_leaves_no_entry(place: Path) -> None:
    invited("one")
    assert joins("one", "t.csv", "--column", "name=nothing") == 1
    assert joins("one", "t.csv", "--via", "folder:nowhere") == 1
    assert not entries()
    assert joins("one", "t.csv", "--via", "https://127.0.0.1:1") == 3, "nobody there: the workspace is kept"
    assert [one.study for one in entries()] == ["one"]
    assert run(["owner", "join", "one/anna.invitation", "t.csv", "--at", "again", "--via", "folder:nowhere"]) == 1
    assert [one.study for one in entries()] == ["one"], "what was entered before stays"


@pytest.mark.parametrize("content", ["no ledger", '[{"study": 1}]', '{"a": 1}'])
def test_a_ledger_that_cannot_be_read_is_a_sentence_and_nothing_is_made(
    place: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    invited("one")
    place.parent.mkdir()
    place.write_text(content)
    assert joins("one") == 1
    assert f"The ledger {place} cannot be read" in capsys.readouterr().err
    assert not Path("at-one").exists() and place.read_text() == content


def test_a_ledger_that_cannot_be_written_is_a_sentence_and_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invited("one")
    Path("file").write_text("")
    monkeypatch.setenv(PLACE, "file/ledger.json")
    assert joins("one") in (1, 3)
    assert "Traceback" not in capsys.readouterr().err and not Path("at-one").exists()


def test_by_default_the_ledger_is_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLACE)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    entry = LedgerEntry("s", agreements.new("s", ["anna", "berta"], ["name"]).hash, "anna", "/t", "00", 1, 2)
    assert not enter(entry) and enter(entry)
    assert len(json.loads((tmp_path / "me" / ".blindlabel" / "ledger.json").read_text())) == 1
    assert enter(entry, out=True) and not entries()
