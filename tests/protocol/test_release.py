"""What owners get at the end, and what the formats make of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blindlabel.errors import InputError
from blindlabel.export.formats import FORMATS, write
from blindlabel.export.truth import AgreedTruth
from blindlabel.protocol import labels
from blindlabel_lab.simulation.judging import agreed_pairs

LABELS = np.array([[3, 2, 0], [4, 5, 2]], dtype=np.uint8)


def test_matches_alone_are_released_without_rounds() -> None:
    assert list(agreed_pairs(labels.released(LABELS, "matches"))) == [(0, 0, True, 127), (1, 1, True, 127)]
    told = labels.released(LABELS, "labels")
    assert [(i, j, label) for i, j, label, _ in agreed_pairs(told)] == [
        (i, j, label) for i, j, label, _ in agreed_pairs(LABELS)
    ]
    assert {number for *_, number in agreed_pairs(told)} == {labels.UNSAID}
    assert not labels.released(LABELS, "none").any()


@pytest.mark.parametrize("release", ["matches", "labels", "none"])
def test_released_labels_can_be_read_again(release: labels.Release) -> None:
    given = labels.released(LABELS, release)
    assert np.array_equal(
        labels.from_bytes(labels.unlocked(*labels.locked(given.tobytes(), b"salt", "a b")), 2, 3), given
    )


def test_formats_that_need_other_pairs_say_why_not(tmp_path: Path) -> None:
    told = labels.released(LABELS, "matches")
    truth = AgreedTruth.of_matrix(("a", "b"), told, ((0, 1), (0, 1, 2)), only_matches=True)
    refused = set()
    for name in FORMATS:
        try:
            paths = write(truth, name, tmp_path / name)
        except InputError as error:
            assert "released the matches alone" in str(error)
            refused.add(name)
        else:
            assert len(paths) == 1, "no list of discarded pairs, which nobody said"
    assert refused == {"splink", "recordlinkage", "py_entitymatching", "rltk"}
