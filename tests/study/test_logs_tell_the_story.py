"""What `owner run --log` and `coordinator serve` write is the story of a study: every line JSON, every event once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from blindlabel.cli.main import run
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import words_to_read_out
from blindlabel.protocol.facts import OwnerFacts, StudyState, with_owner
from blindlabel.protocol.happened import at_coordinator
from blindlabel.protocol.standing import Known
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.events import Counted, listening
from support.study_parties import write_person_tables

NEW = (
    "coordinator new a.toml --name persons --owners anna,berta --attributes given_name,surname --records 4 --rounds 1"
    " --engine plain"
)
SERVE = "coordinator serve --at home --via folder:stick --once"
OWNER = ("joined", "words confirmed", "sample drawn", "handed in", "evaluated", "opened", "over")


class Story:
    """A study by commands in this process; the log of each party."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.logs: dict[str, list[dict[str, Any]]] = {"anna": [], "berta": [], "home": []}

    def tell(self, line: str, log: str = "") -> None:
        self._capsys.readouterr()
        code = run(line.split())
        said = self._capsys.readouterr().err
        assert code == 0, f"{line}\n{said}"
        if log:
            self.logs[log] += [json.loads(one) for one in said.splitlines()]

    def trip(self) -> None:
        for owner in ("anna", "berta"):
            self.tell(f"owner run --at {owner} --once --auto --log", owner)
        self.tell(SERVE, "home")

    def events(self, log: str) -> list[str]:
        return [line["event"] for line in self.logs[log] if line["event"] != "said"]


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Story:
    """Both owners have joined, and know each other's keys."""
    monkeypatch.chdir(tmp_path)
    Path("stick").mkdir()
    made = Story(capsys)
    made.tell(NEW)
    made.tell("coordinator invite a.toml --at home --address folder:stick --to out")
    for owner, table in zip(("anna", "berta"), write_person_tables(tmp_path, rows=4)):
        made.tell(f"owner join out/{owner}.invitation {table} --at {owner} --accept-weaker")
    made.tell(SERVE, "home")
    return made


def test_log_of_every_party_tells_each_event_once_and_in_order(story: Story) -> None:
    story.trip()
    for owner, peer in (("anna", "berta"), ("berta", "anna")):
        words = words_to_read_out(Workspace.open(Path(peer)), owner)
        assert run(["owner", "verify", peer, "--at", owner, "--words", " ".join(words)]) == 0
    story.tell(SERVE, "home")
    for _ in range(4):
        story.trip()
    for owner in ("anna", "berta"):
        told = story.events(owner)
        assert sorted(told, key=OWNER.index) == told, "in order"
        assert set(told) >= set(OWNER) - {"words confirmed"}, "words are confirmed by another command"
        assert len(told) == len(set(told)), "once"
        by_event = {line["event"]: line for line in story.logs[owner]}
        assert (
            by_event["handed in"] | {"study": "persons", "owner": owner, "round": 1, "questions": 4}
            == (by_event["handed in"])
        )
        assert by_event["evaluated"]["seconds"] >= 0 and by_event["opened"]["seconds"] >= 0
    told = story.events("home")
    for event, times in (("joined", 2), ("words confirmed", 2), ("evaluated", 2), ("opened", 2), ("over", 1)):
        assert told.count(event) == times, event
    (settled,) = [line for line in story.logs["home"] if line["event"] == "settled"]
    assert (settled["study"], settled["round"], settled["pairs"] + settled["too_loose"]) == ("persons", 1, 16)
    for line in (line for log in story.logs.values() for line in log):
        assert {"time", "level", "event"} <= set(line)


def test_failure_of_a_service_is_a_line_of_its_log(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["owner", "run", "--at", "anna", "--log", "--once", "--questions", "nowhere"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line) | {"level": "error", "sentence": "blindlabel: nowhere is not a folder."} == json.loads(line)
    assert run(["owner", "status", "--at", "nowhere"]) == 1
    assert capsys.readouterr().err.startswith("blindlabel: "), "other commands speak to people"


def test_metrics_have_round_last_contact_and_what_waits(story: Story) -> None:
    coordinator = CoordinatorParty(CoordinatorStore(Path("home")))
    (row,) = coordinator.store.studies()
    coordinator.hears(row.study, "anna", Known())
    with listening(coordinator, Counted(), 0, "127.0.0.2") as port, urlopen(f"http://127.0.0.2:{port}/metrics") as got:
        lines = got.read().decode().splitlines()
    assert 'blindlabel_round{study="persons"} 0' in lines
    waits = [line for line in lines if line.startswith("blindlabel_waiting{")]
    assert {line.split('who="')[1].partition('"')[0] for line in waits} == {"anna", "berta"}
    heard = {line.partition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if "_heard_seconds{" in line}
    assert heard['blindlabel_owner_heard_seconds{study="persons",owner="anna"}'] > 1_700_000_000
    assert heard['blindlabel_owner_heard_seconds{study="persons",owner="berta"}'] == 0


def test_whoever_was_confirmed_is_named_whatever_the_order() -> None:
    """Confirmed owners are kept in order of their names, so the new one need not be the last."""
    facts = OwnerFacts(invitation_key="0" * 64, confirmed=("clara",))
    before = StudyState(study="0" * 64, salt="0" * 64, owners={"anna": facts})
    after = with_owner(before, "anna", confirmed=("berta", "clara"))
    assert [one.facts for one in at_coordinator(before, after)] == [{"owner": "anna", "peer": "berta"}]
