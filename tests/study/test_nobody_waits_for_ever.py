"""Parties that lost something, beside others that go on: they hand over again, or one sentence says what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest

from blindlabel.parties.coordinator import ONE_LIFE, CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.refusals import TwoLives
from blindlabel.protocol.standing import Known, tag
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport import client
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel_lab.simulation.faults import Weather
from blindlabel_lab.simulation.judging import judged
from blindlabel_lab.simulation.parties import Mortality
from blindlabel_lab.simulation.places import InMemory
from blindlabel_lab.simulation.plan import Plan
from blindlabel_lab.simulation.study import Study
from support.study_parties import confirm_all, joined, small_agreement, write_person_tables


def founded(seed: int) -> Study:
    plan = Plan(seed, {}, owners=2)
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
    assert study.coordinator.party.store.ahead(study.coordinator.study) == {"anna"}
    turns(study)
    assert study.coordinator.known().ended and judged(study, finished=True) == []
    assert run(study.owners["anna"].owner, None, once=True, tell=said.append)
    assert study.coordinator.party.store.ahead(study.coordinator.study) <= {"berta"}


def test_body_that_the_coordinator_lost_is_handed_over_again() -> None:
    study = founded(5)
    while not study.coordinator.known().rounds or not study.coordinator.known().rounds[-1].records:
        study.act("anna"), study.act("berta")
    store, state = study.coordinator.party.store, study.coordinator.known()
    for records in state.rounds[-1].records.values():
        store.bodies(state.study).remove(records.blob)
    turns(study)
    assert judged(study, finished=True) == [] and study.coordinator.known().ended


def begun(folder: Path) -> tuple[CoordinatorParty, FolderServer, list[OwnerParty], Path]:
    """Two owners that have confirmed each other, over a shared folder."""
    agreement = small_agreement()
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    workspaces = joined(folder, coordinator.create(to_text(agreement)), write_person_tables(folder))
    shared = folder / "shared"
    shared.mkdir()
    owners = [OwnerParty(one, FolderTransport(shared, agreement.hash, one.name, one.life())) for one in workspaces]
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
        good = file.read_bytes()
        file.write_bytes(good[:40] if damage == "cut" else good.replace(b'"sequence":', b'"sequence":1'))
        if damage == "lost":
            file.unlink()
        server.turn(), anna.fetch(0)
        assert file.read_bytes() == good
    owners[1].send(), server.turn()
    assert coordinator.load(anna.agreement.hash).state.round == 1


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


def test_copy_of_a_workspace_has_another_life(tmp_path: Path) -> None:
    _, _, owners, _ = begun(tmp_path)
    first = Workspace.open(tmp_path / "anna")
    assert first.life() == Workspace.open(tmp_path / "anna").life()
    shutil.copytree(tmp_path / "anna", tmp_path / "copy")
    assert Workspace.open(tmp_path / "copy").life() != first.life()
    copy = FolderTransport(tmp_path / "shared", first.agreement.hash, "anna", Workspace.open(tmp_path / "copy").life())
    with pytest.raises(TwoLives, match="Stop one of the two"):
        copy.fetch(Known(), 0.0)
    owners[0].fetch(0)


def test_second_life_is_refused_until_the_first_is_silent(tmp_path: Path) -> None:
    store, agreement = CoordinatorStore(tmp_path), small_agreement()
    coordinator = CoordinatorParty(store)
    coordinator.create(to_text(agreement))
    now = 1_000_000.0
    store.database.clock = lambda: now
    coordinator.check_life(agreement.hash, "anna", "first")
    coordinator.check_life(agreement.hash, "berta", "another owner's")
    with pytest.raises(TwoLives, match="anna"):
        coordinator.check_life(agreement.hash, "anna", "second")
    now += ONE_LIFE - 1
    coordinator.check_life(agreement.hash, "anna", "first")
    now += ONE_LIFE - 1
    with pytest.raises(TwoLives):
        coordinator.check_life(agreement.hash, "anna", "second")
    now += 2
    coordinator.check_life(agreement.hash, "anna", "second")
    with pytest.raises(TwoLives):
        coordinator.check_life(agreement.hash, "anna", "first")


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
