"""Studies from invitation to ground truth over real HTTP, with exactly the labels of clear evaluation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.parties.study import standing
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.transport.client import HttpTransport
from support.patience import Patience
from support.study_parties import (
    clear_labels,
    confirm_all,
    joined,
    over_http,
    play,
    served,
    small_agreement,
    told,
    write_person_tables,
)


def counted_uploads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each body is sent to the coordinator, by its address."""
    uploads: Counter[str] = Counter()
    request = HttpTransport._request

    def counted(transport: HttpTransport, method: str, path: str, **more: Any) -> Any:
        uploads[path] += method == "PUT"
        return request(transport, method, path, **more)

    monkeypatch.setattr(HttpTransport, "_request", counted)
    return uploads


@pytest.mark.parametrize("owners", [2, 3])
def test_labels_over_http_are_those_of_clear_evaluation(
    tmp_path: Path, owners: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreement = small_agreement(owners)
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    uploads = counted_uploads(monkeypatch)
    with served(coordinator) as address:
        invitations = coordinator.create(to_text(agreement), address)
        workspaces = joined(tmp_path, invitations, write_person_tables(tmp_path, owners))
        play(workspaces, over_http(address))
    by_name = {workspace.name: workspace for workspace in workspaces}
    for (first, second), labels in coordinator.labels(agreement.hash).items():
        expected = clear_labels(by_name[first], by_name[second])
        assert np.array_equal(labels, expected)
        assert np.array_equal(by_name[first].labels()[second], told(expected))
        assert np.array_equal(by_name[second].labels()[first], told(expected.T))
        assert np.count_nonzero(labels & 1), "a study without any match proves little"
    state = coordinator.load(agreement.hash).state
    for name in agreement.owners:
        records = [sent for direction, sent in state.rounds[0].records.items() if direction.endswith(f">{name}")]
        blobs = {sent.blob for sent in records}  # a key of its own for every other owner, and so a body
        assert len(records) == len(blobs) == len({sent.key for sent in records}) == owners - 1
        assert all(uploads[f"/v1/studies/{agreement.hash}/bodies/{blob.hash}"] == 1 for blob in blobs)
        moved = [
            row for row in standing(coordinator, agreement.hash).traffic if (row.owner, row.kind) == (name, "records")
        ]
        sizes = sum(
            one.blob.length for sent in state.rounds for way, one in sent.records.items() if way.endswith(f">{name}")
        )
        assert sizes < sum(row.bytes for row in moved) < sizes + 3000 * owners * state.round


def test_coordinator_is_told_how_many_questions_of_which_round_are_written(tmp_path: Path) -> None:
    agreement = small_agreement()
    coordinator, patience = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator")), Patience()
    with served(coordinator) as address:
        workspaces = joined(tmp_path, coordinator.create(to_text(agreement), address), write_person_tables(tmp_path))
        owners = [OwnerParty(workspace, over_http(address)(workspace)) for workspace in workspaces]

        def told(round: int, *written: int) -> bool:
            """Whether that is what was told, after one more turn of both."""
            for owner in owners:
                owner.turn()
            confirm_all(owners)
            said = [coordinator.written.get((agreement.hash, name)) for name in agreement.owners]
            return said == [(round, count) for count in written]

        patience.wait_until(lambda: told(1, 0, 0))
        anna, berta = workspaces
        anna.save_draft(0, "ret true")
        anna.save_questions({1: "ret false", 2: "ret false"}, "person")
        patience.wait_until(lambda: told(1, 2, 0))  # a draft is no question yet
        anna.save_questions({task.record: "ret false" for task in anna.tasks()}, "person")
        anna.hand_in()
        assert SuggestedQuestions().provide(berta) is None
        patience.wait_until(lambda: told(2, 0, 0))
        for owner in owners:
            owner.line.close()
