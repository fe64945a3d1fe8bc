"""Parties that lost something, beside others that go on: they hand over again, or one sentence says what to do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import httpx
import numpy as np
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.parties.study import standing
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.standing import Known, tag
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.transport import client
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel_lab.simulation.faults import Weather
from blindlabel_lab.simulation.judging import judged
from blindlabel_lab.simulation.parties import Mortality
from blindlabel_lab.simulation.places import InMemory
from blindlabel_lab.simulation.plan import Plan
from blindlabel_lab.simulation.study import Study
from support.patience import Patience
from support.study_parties import confirm_all, joined, small_agreement, write_person_tables


def founded(seed: int, owners: int = 2) -> Study:
    plan = Plan(seed, {}, owners=owners)
    weather = Weather(plan.random, {})
    return Study(plan, InMemory(), weather, Mortality(weather))


def turns(study: Study, most: int = 200) -> None:
    """Everybody goes on as it runs: nobody is started again."""
    for _ in range(most):
        if not study.present() and study.coordinator.known().ended:
            return
        for name in study.owners:
            study.act(name)
        study.work()


@pytest.mark.parametrize("messages_before", range(4, 14, 3))
def test_restored_coordinator_gets_again_what_running_owners_had_handed_over(messages_before: int) -> None:
    study = founded(3)
    while len(study.coordinator.known().seen) < messages_before:
        study.act("anna"), study.act("berta"), study.work()
    study.place.back_up("coordinator")
    study.restart_coordinator()
    study.act("anna"), study.act("berta")  # acknowledged, and forgotten by what follows
    study.place.restore("coordinator")
    study.restart_coordinator()
    study.weather.counts["backup of coordinator"] += 1
    turns(study)
    assert judged(study, finished=True) == [] and study.coordinator.known().ended


def test_coordinator_restored_after_the_end_gets_there_again_when_its_owners_run() -> None:
    study = founded(4)
    while not study.coordinator.known().round:
        study.act("anna"), study.act("berta"), study.work()
    study.place.back_up("coordinator")
    study.restart_coordinator()
    turns(study)
    study.place.restore("coordinator")
    study.restart_coordinator()
    study.weather.counts["backup of coordinator"] += 1
    said: list[str] = []
    for name in study.owners:
        study.restart(name)
    assert not run(study.owners["anna"].owner, None, once=True, tell=said.append) and "restored" in said[-1]
    assert study.view().ahead == {"anna"}
    turns(study)
    assert study.coordinator.known().ended and judged(study, finished=True) == []
    assert run(study.owners["anna"].owner, None, once=True, tell=said.append)
    assert study.view().ahead == set()


def test_owner_that_was_removed_is_not_waited_for_although_more_had_come_to_it() -> None:
    study = founded(4, owners=3)
    party, name = study.coordinator.party, study.coordinator.study
    study.act("anna")
    party.hears(name, "anna", Known(received=99, latest="ab" * 32))
    assert [step.what for step in standing(party, name).waiting] == ["restored"]
    party.remove(name, "anna")
    assert [(step.who, step.what) for step in standing(party, name).waiting] == [("berta", "join"), ("clara", "join")]


def test_body_that_the_coordinator_lost_is_handed_over_again() -> None:
    study = founded(5)
    while not study.coordinator.known().rounds or not study.coordinator.known().rounds[-1].records:
        study.act("anna"), study.act("berta")
    store, state = study.coordinator.party.store, study.coordinator.known()
    for records in state.rounds[-1].records.values():
        store.bodies(state.study).remove(records.blob)
    said = {step.who: step.what for step in standing(study.coordinator.party, state.study).waiting}
    assert said and said.keys() <= study.owners.keys() and {*said.values()} == {"again"}, "no backup has bodies"
    turns(study)
    assert judged(study, finished=True) == [] and study.coordinator.known().ended


def begun(folder: Path) -> tuple[CoordinatorParty, FolderServer, list[OwnerParty], Path]:
    """Two owners that have confirmed each other, over a shared folder."""
    agreement = small_agreement()
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    workspaces = joined(folder, coordinator.create(to_text(agreement)), write_person_tables(folder))
    shared = folder / "shared"
    shared.mkdir()
    owners = [OwnerParty(one, FolderTransport(shared, letters_of(one), one.name, one.life())) for one in workspaces]
    server = FolderServer(coordinator, shared)
    for one in owners:
        one.send()
    server.turn()
    for one in owners:
        one.fetch(0)
    confirm_all(owners)
    return coordinator, server, owners, next(shared.iterdir())


def test_files_of_other_names_in_the_folder_are_nobodys(tmp_path: Path) -> None:
    coordinator, server, owners, place = begun(tmp_path)
    for folder in place.glob("*-anna"):
        for file in list(folder.glob("*.message")):
            (folder / f"._{file.name}").write_bytes(b"\0\5\26\7Mac OS X")
            shutil.copy(file, folder / f"{file.stem} (1).message")
    for one in owners:
        one.send()
    server.turn()
    assert all(one.fetch(0) for one in owners), "the sample came"
    assert not list(place.glob("to-*/refused-*")) and coordinator.load(owners[0].agreement.hash).state.round == 1


@pytest.mark.parametrize("damage", ["lost", "cut", "changed"])
def test_file_at_rest_is_written_again_by_whoever_it_comes_from(tmp_path: Path, damage: str) -> None:
    coordinator, server, owners, place = begun(tmp_path)
    anna = owners[0]
    anna.send()
    for file in (sorted(place.glob("from-anna/*.message"))[-1], place / "to-anna" / "000001.message"):
        good, letters = file.read_bytes(), letters_of(anna.store)
        file.write_bytes(good[:40] if damage == "cut" else good[:400] + bytes([good[400] ^ 1]) + good[401:])
        if damage == "lost":
            file.unlink()
        server.turn(), anna.fetch(0)
        assert letters.open(file.read_bytes()) == letters.open(good)
    owners[1].send(), server.turn()
    assert coordinator.load(anna.agreement.hash).state.round == 1


def test_good_copy_with_the_size_and_time_of_a_damaged_one_is_taken_in(tmp_path: Path) -> None:
    """Found by simulation: whatever copies files keeps their times."""
    coordinator, server, owners, place = begun(tmp_path)
    study = owners[0].agreement.hash
    owners[0].send()
    file = sorted(place.glob("from-anna/*.message"))[-1]
    good, times = file.read_bytes(), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    for content in (good[:400] + bytes([good[400] ^ 1]) + good[401:], good):
        file.write_bytes(content)
        os.utime(file, ns=times)
        server.turn()
        assert (coordinator.load(study).state.owners["anna"].confirmed == ("berta",)) == (content == good)


def test_damaged_body_at_rest_is_written_again(tmp_path: Path) -> None:
    coordinator, server, owners, place = begun(tmp_path)
    for one in owners:
        one.send()
    server.turn()
    owners[0].turn()
    for body in place.glob("bodies/*"):
        body.write_bytes(bytes(body.stat().st_size))
    server.turn()
    assert not coordinator.load(owners[0].agreement.hash).state.rounds[-1].records
    owners[0].turn(), server.turn()
    assert coordinator.load(owners[0].agreement.hash).state.rounds[-1].records


def test_coordinator_restored_after_the_end_over_a_folder_gets_there_again(tmp_path: Path) -> None:
    coordinator, server, owners, _ = begun(tmp_path)
    study = owners[0].agreement.hash

    def all_over(at: FolderServer) -> bool:
        over = [run(one, SuggestedQuestions(), once=True, tell=said.append) for one in owners]
        at.turn()
        return all(over)

    said: list[str] = []
    for one in owners:
        one.send()
    server.turn()
    shutil.copytree(tmp_path / "coordinator", tmp_path / "backup")
    patience = Patience()
    while not all_over(server):
        patience.check()
    labels = coordinator.labels(study)
    restored = CoordinatorParty(CoordinatorStore(tmp_path / "backup"))
    again = FolderServer(restored, tmp_path / "shared")
    again.turn()
    waiting = [step.sentence for step in standing(restored, study).waiting]
    assert waiting and all("an old backup was restored" in sentence for sentence in waiting), "for owners it is over"
    owners = [OwnerParty(one.store, one.line) for one in owners]
    while not (all_over(again) and restored.load(study).state.ended):
        patience.check(lambda: standing(restored, study))
    assert standing(restored, study).waiting == ()
    assert all(np.array_equal(found, labels[pair]) for pair, found in restored.labels(study).items())


def test_standing_says_what_is_missing_once(tmp_path: Path) -> None:
    coordinator, _, owners, _ = begun(tmp_path)
    study = owners[0].agreement.hash
    told = coordinator.hears(study, "anna", Known())
    join = messages.parse(owners[0].store.sent()[0][1]).digest
    assert told.has == (join,) and told.sent == 1
    known = Known(received=1, latest=told.latest, has=tag(told.has))
    assert coordinator.hears(study, "anna", known).has is None


def test_full_disk_at_the_coordinator_is_waited_for() -> None:
    """It ended a healthy `owner run`."""
    full = {"error": "disk", "sentence": "The coordinator's disk is full. Its operator has to make room."}
    with pytest.raises(Unreachable, match="has to make room"):
        client._check(httpx.Response(507, json=full))
