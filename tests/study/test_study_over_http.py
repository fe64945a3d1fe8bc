"""Studies from invitation to ground truth over real HTTP, with exactly the labels of clear evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blindlabel.parties.coordinator import Coordinator
from blindlabel.protocol.agreement_text import to_text
from support.study_parties import clear_labels, joined, over_http, play, served, small_agreement, write_person_tables


@pytest.mark.parametrize("owners", [2, 3])
def test_labels_over_http_are_those_of_clear_evaluation(tmp_path: Path, owners: int) -> None:
    agreement = small_agreement(owners)
    coordinator = Coordinator(tmp_path / "coordinator")
    with served(coordinator) as address:
        invitations = coordinator.create(to_text(agreement), address)
        workspaces = joined(tmp_path, invitations, write_person_tables(tmp_path, owners))
        play(workspaces, over_http(address))
    by_name = {workspace.name: workspace for workspace in workspaces}
    for (first, second), labels in coordinator.labels(agreement.hash).items():
        expected = clear_labels(by_name[first], by_name[second])
        assert np.array_equal(labels, expected)
        assert np.array_equal(by_name[first].labels()[second], expected)
        assert np.array_equal(by_name[second].labels()[first], expected.T)
        assert np.count_nonzero(labels & 1), "a study without any match proves little"
