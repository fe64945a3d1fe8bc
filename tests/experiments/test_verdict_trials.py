"""What verdicts are worth: the experiment on a small set, and the words on the screen held to its results on all."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from blindlabel.language.suggestions.judgement import CHANCES, OFF, PILOT_OFF, PILOT_SELDOM_OFF, SELDOM_OFF, Level
from blindlabel.records.generator import Size, generate
from blindlabel.records.generator import write as write_tables
from blindlabel_lab.experiments.quality import Plan
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.tables import shown
from blindlabel_lab.experiments.verdicts import BUILT_ON, ENOUGH, FOUND, auc, sets_in, summary, verdicts, witness

TRIED = Path(__file__).parents[2] / "docs" / "verdicts.json"
"""Written by `blindlabel experiment verdicts`: shares and counts by set, nothing of the sets themselves."""
CLAIMED = {
    "about 9 in 10": (0.85, 1.0),
    "about 8 in 10": (0.75, 0.9),
    "about 6 in 10": (0.5, 0.7),
    "about 1 in 3": (0.0, 0.45),
}


@pytest.fixture(scope="module")
def tried() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(TRIED.read_text())
    return found


def test_words_claim_no_more_than_the_trials(tried: dict[str, Any]) -> None:
    assert [one.words for one in CHANCES] == list(CLAIMED)
    built, every = (summary(tried["datasets"])["means"][group] for group in ("built on", "all"))
    for words, (least, most) in CLAIMED.items():
        for means in (built, every):
            assert least <= means["bins"][words]["share"] <= most, words
    figures = (OFF, SELDOM_OFF, PILOT_OFF, PILOT_SELDOM_OFF)
    measured = ("off", "seldom_off", "pilot_off", "pilot_seldom_off")
    assert tuple(round(100 * every[kind]) for kind in measured) == figures
    for level, (usual, seldom) in ((Level(), figures[:2]), (Level(0.1, 15), figures[2:])):
        assert f"{usual} points on average" in level.sentence and f"by {seldom} or more" in level.sentence
    assert "15 pairs that both owners know" in Level(0.1, 15).sentence


@pytest.mark.parametrize(("group", "found", "wrong"), [("built on", 0.83, 0.88), ("all", 0.815, 0.88)])
def test_verdicts_rank_questions_better_than_what_was_there_before(
    tried: dict[str, Any], group: str, found: float, wrong: float
) -> None:
    means = summary(tried["datasets"])["means"][group]
    for kind, least in (("found_auc", found), ("wrong_auc", wrong)):
        assert means[kind]["verdict"] >= least
        assert means[kind]["verdict"] > max(means[kind][other] for other in FOUND[1:])


def test_a_warning_of_imagined_relatives_rests_on_trials(tried: dict[str, Any]) -> None:
    """Questions that say so let somebody through more often than green ones, in the mean of the sets with some."""
    levels = [one["levels"] for one in tried["datasets"].values() if one["whole"]]
    warned = [one for one in levels if one["relatives"]["questions"] >= ENOUGH]
    assert len(warned) > 3
    warning, green = (fmean(one[kind]["let_through"] for one in warned) for kind in ("relatives", "good"))
    assert warning > 2 * green


def test_trials_are_of_all_sets_and_their_means_are_theirs(tried: dict[str, Any]) -> None:
    assert set(BUILT_ON) < set(tried["datasets"]) and "restaurants" in tried["datasets"]
    assert tried["means"] == summary(tried["datasets"])["means"]


def test_trials_are_of_the_verdict_as_it_is_now(tried: dict[str, Any]) -> None:
    """What is generated comes out as it did when the trials were made. Where it does not, suggestions or verdicts have
    changed: run `blindlabel experiment verdicts`, and put its verdicts.json into docs.
    """
    again = witness()
    for kind, before in tried["witness"].items():
        for ranks in ("found_auc", "wrong_auc"):
            assert again[kind][ranks]["verdict"] == pytest.approx(before[ranks]["verdict"], abs=0.03), (kind, ranks)
        for words, one in before["bins"].items():
            assert again[kind]["bins"][words]["questions"] == pytest.approx(one["questions"], abs=20), (kind, words)


def test_the_experiment_on_a_small_set(tmp_path: Path) -> None:
    write_tables(generate("persons", Size(60, 40), 5), tmp_path / "data" / "persons")
    names = sets_in(tmp_path / "data")
    assert names == ["persons"]
    document = verdicts(Plan(tmp_path / "data", records=8), Results(tmp_path / "results"), lambda *_: None)
    one = document["datasets"]["persons"]
    assert sum(each["questions"] for each in one["bins"].values()) == one["pairs"] > 100
    shares = [each["share"] for each in one["bins"].values() if each["questions"] >= 20]
    assert all(higher >= lower - 0.1 for higher, lower in pairwise(shares)), "better words, more found"
    assert one["found_auc"]["verdict"] > 0.7
    assert any("persons" in line for line in shown("verdicts", document))


def test_auc_is_the_chance_that_a_true_one_ranks_higher() -> None:
    assert auc([1, 2, 3, 4], [False, False, True, True]) == 1
    assert auc([1, 1, 1], [True, False, False]) == 0.5
    assert auc([2, 1, 3], [True, False, False]) == 0.5
    assert auc([1, 2], [True, True]) is None
