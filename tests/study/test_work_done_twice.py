"""Several processes of a coordinator do the same work at once: it is saved once, whoever is interrupted where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blindlabel.errors import OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.facts import spent_bodies
from blindlabel.protocol.shape import Blob
from blindlabel.storage import journal_points
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.journal_points import Point
from blindlabel.storage.workspace import Workspace
from support.direct_line import DirectLine
from support.study_parties import clear_labels, joined, play, small_agreement, write_person_tables


@pytest.fixture(params=["uniform", "enriched"])
def processes(request: pytest.FixtureRequest, tmp_path: Path) -> list[CoordinatorParty]:
    """Two processes over one database and folder, with one study."""
    by_keys = {"method": "enriched", "blocking": ["surname"]} if request.param == "enriched" else {}
    agreement = small_agreement(sampling={"records": 6, **by_keys})
    made = [CoordinatorParty(CoordinatorStore(tmp_path / "coordinator")) for _ in range(2)]
    invitations = made[0].create(to_text(agreement))
    joined(tmp_path, invitations, write_person_tables(tmp_path))
    return made


def ends_well(tmp_path: Path, first: CoordinatorParty) -> None:
    """The first process serves two owners until the study is over."""
    workspaces = [Workspace.open(tmp_path / name) for name in ("anna", "berta")]
    study = workspaces[0].agreement.hash
    play(workspaces, lambda one: DirectLine(first, study, one.name))
    state, home = first.load(study).state, tmp_path / "coordinator"
    assert np.array_equal(first.labels(study)["anna", "berta"], clear_labels(*workspaces))
    assert not any(one.void for one in state.rounds)
    left = {path.name for path in (home / "bodies" / study).iterdir()}
    assert not left & {blob.hash for blob in spent_bodies(state)}, "nothing is left that a copy could tell"


def test_process_that_writes_while_another_does_all_of_it(tmp_path: Path, processes: list[CoordinatorParty]) -> None:
    first, second = processes
    did: list[str] = []

    def interrupted(point: Point) -> None:
        if point in (Point.BEFORE_RENAME, Point.AFTER_RENAME):
            with journal_points.listening(lambda _: None):
                did.extend(row.study for row in second.store.studies() if second.work(row.study))

    with journal_points.listening(interrupted):
        ends_well(tmp_path, first)
    assert did, "the second did something"


def test_process_that_finds_no_lists_any_more(
    tmp_path: Path, processes: list[CoordinatorParty], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = processes
    did, unsealed = list[bool](), first._unsealed

    def later(study: str, kind: str, owner: str, blob: Blob, round: int = 0) -> bytes:
        did.append(second.work(study))
        return unsealed(study, kind, owner, blob, round)

    monkeypatch.setattr(first, "_unsealed", later)
    ends_well(tmp_path, first)
    assert any(did), "the second did something"


def test_work_that_fails_is_no_work_of_somebody_else(
    tmp_path: Path, processes: list[CoordinatorParty], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = processes[0]

    def fails(*_: object) -> None:
        raise OutsideError("The disk is full.")

    monkeypatch.setattr(first, "_do", fails)
    with pytest.raises(OutsideError, match="The disk is full"):
        ends_well(tmp_path, first)
