"""Opened questions are checked against what was handed in, and the page shows what was learnt."""

from __future__ import annotations

import html
import json
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from blindlabel.cli.main import run as command
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.study import standing
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.web.coordinator_page import add_page, sign_in_code
from support.asynchronous import finished
from support.direct_line import DirectLine
from support.study_parties import DISAGREEING, confirm_all, joined, small_agreement, write_person_tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two that is over."""
    folder = tmp_path_factory.mktemp("audited")
    agreement = small_agreement(2, records=4, release="matches", rounds=1)
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    workspaces = joined(folder, coordinator.create(to_text(agreement)), write_person_tables(folder, 2, rows=4))
    owners = [OwnerParty(one, DirectLine(coordinator, agreement.hash, one.name)) for one in workspaces]
    for _ in range(40):
        over = [run(owner, DISAGREEING, once=True, tell=lambda _: None) for owner in owners]
        if all(over):
            return folder
        confirm_all(owners)
    raise AssertionError([owner.next_steps() for owner in owners])


def audited(folder: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[bool | None]]:
    capsys.readouterr()
    code = command([*arguments, "--json"])
    said = json.loads(capsys.readouterr().out)
    return code, [one["same"] for one in said["rounds"]]


def test_opened_questions_are_those_that_were_handed_in_or_not(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = tmp_path / "opened.json"
    assert command(["owner", "audit", "--at", str(folder / "anna"), "--to", str(opened)]) == 0
    document = json.loads(opened.read_text("utf-8"))
    assert [len(one["questions"]) for one in document["rounds"]] == [4]
    at_coordinator = ["coordinator", "audit", "persons", "--at", str(folder / "coordinator")]
    at_berta = ["owner", "audit", "--at", str(folder / "berta")]
    for checking in (at_coordinator, at_berta):
        assert audited(folder, *checking, str(opened), capsys=capsys) == (0, [True])
        for change in ("another question", "another salt", "another round", "nothing"):
            changed = json.loads(opened.read_text("utf-8"))
            if change == "another question":
                changed["rounds"][0]["questions"][2]["question"] += " "
            elif change == "another salt":
                changed["rounds"][0]["salt"] = "0" * 64
            elif change == "another round":
                changed["rounds"][0]["round"] = 2
            else:
                changed["rounds"] = []
            file = tmp_path / "changed.json"
            file.write_text(json.dumps(changed), encoding="utf-8")
            code, same = audited(folder, *checking, str(file), capsys=capsys)
            assert code == 1
            assert False in same, change


def test_what_cannot_be_audited_is_said(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.json"
    file.write_text("[]", encoding="utf-8")
    assert command(["owner", "audit", "--at", str(folder / "berta"), str(file)]) == 1
    assert "not opened questions" in capsys.readouterr().err
    assert command(["owner", "audit", "--at", str(folder / "berta")]) == 1


def test_page_shows_what_was_learnt_beside_what_the_agreement_allows(folder: Path) -> None:
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    study, app = coordinator.find("persons"), FastAPI()
    add_page(app, coordinator)

    async def visit() -> str:
        way = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=way, base_url="http://coordinator") as browser:
            await browser.post("/sign-in", content=f"code={sign_in_code(coordinator)}")
            return (await browser.get(f"/studies/{study}")).text

    page = html.unescape(finished(visit()))
    stand = standing(coordinator, study).to_json()
    (used,) = stand["used"].values()
    assert f"{used['owner']:,} of {stand['account']['parties'][1]['honest']:,}" in page
    assert f"{used['key']:,} of {stand['account']['key']['spent']:,}" in page
    assert all(entry["party"] in page for entry in stand["account"]["parties"])
