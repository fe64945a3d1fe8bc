"""Long work is one process at a time: nobody takes it from one that lives, and nobody waits for one that died."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from blindlabel.errors import OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol import coordinator_rules
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.facts import StudyWork
from blindlabel.storage.coordinator_store import LONGEST_LEASE, CoordinatorStore
from support.patience import Patience
from support.study_parties import small_agreement

AGREEMENT = small_agreement()
STUDY = AGREEMENT.hash
HERE = socket.gethostname()


class Setting:
    """A coordinator with one study, and a clock that stands still."""

    def __init__(self, folder: Path) -> None:
        self.now = 1_000_000.0
        self.store = CoordinatorStore(folder)
        self.party = CoordinatorParty(self.store, lease=LONGEST_LEASE)
        self.party.create(to_text(AGREEMENT))
        self.store.database.clock = lambda: self.now

    def claimed(self, worker: str, seconds: float = 30.0) -> bool:
        return self.store.claim(STUDY, worker, seconds)


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def dead_process() -> int:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    return ended.pid


def test_work_of_a_living_process_is_not_taken(setting: Setting) -> None:
    living, mine = f"{os.getppid()}:a:{HERE}", setting.party.worker
    assert setting.claimed(living)
    assert not setting.claimed(mine)
    assert not setting.claimed(f"{os.getpid()}:another:{HERE}"), "nor by another coordinator of this process"
    setting.now += 30.1
    assert setting.claimed(mine), "once it has lapsed"


def test_work_of_a_process_that_died_is_taken_at_once_on_its_machine_only(setting: Setting) -> None:
    pid = dead_process()
    for where, taken in ((HERE, True), ("elsewhere", False)):
        assert setting.claimed(f"{pid}:a:{where}")
        assert setting.claimed(setting.party.worker) == taken
        setting.store.release(STUDY, setting.party.worker)
        setting.now += 60.0


def test_claim_of_before_the_clock_was_set_back_holds_nobody_up(setting: Setting) -> None:
    setting.now += 400 * 86_400
    assert setting.claimed("1:a:elsewhere")
    setting.now -= 400 * 86_400
    assert setting.claimed(setting.party.worker)
    assert not setting.claimed("1:a:elsewhere"), "and the new claim holds"


def test_claim_is_counted_from_the_last_renewal(setting: Setting) -> None:
    for _ in range(4):
        assert setting.claimed("1:a:elsewhere")
        setting.now += 20.0
        assert not setting.claimed(setting.party.worker)


def test_lease_is_renewed_while_the_work_goes_on_and_given_back_after_it(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One renewal fails, as where the database is busy; the next comes all the same."""
    claims: list[str] = []
    party, claim = CoordinatorParty(setting.store, lease=0.03), setting.store.claim

    def counted(study: str, worker: str, seconds: float) -> bool:
        claims.append(worker)
        if len(claims) == 3:
            raise OutsideError("The database is busy.")
        return claim(study, worker, seconds)

    def works(_study: str, _todo: StudyWork) -> None:
        Patience().wait_until(lambda: len(claims) > 5)
        todo.clear()

    todo = [StudyWork("settle", 1)]
    monkeypatch.setattr(setting.store, "claim", counted)
    monkeypatch.setattr(coordinator_rules, "work", lambda _agreement, _state: list(todo))
    monkeypatch.setattr(party, "_do", works)
    assert party.work(STUDY)
    assert set(claims) == {party.worker} and setting.claimed("1:a:elsewhere"), "it was given back"
    renewed = len(claims)
    todo.append(StudyWork("settle", 1))
    assert not party.work(STUDY), "another has it now"
    assert len(claims) == renewed + 1, "and nothing is renewed that nobody has"


def test_work_that_fails_gives_its_lease_back(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_study: str, _todo: StudyWork) -> None:
        raise OutsideError("The disk is full.")

    monkeypatch.setattr(coordinator_rules, "work", lambda _agreement, _state: [StudyWork("settle", 1)])
    monkeypatch.setattr(setting.party, "_do", fails)
    with pytest.raises(OutsideError, match="disk"):
        setting.party.work(STUDY)
    assert setting.claimed("1:a:elsewhere")


def test_thread_that_cannot_be_started_leaves_no_lease_behind(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(coordinator_rules, "work", lambda _agreement, _state: [StudyWork("settle", 1)])
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="new thread"):
        setting.party.work(STUDY)
    assert setting.claimed("1:a:elsewhere")
