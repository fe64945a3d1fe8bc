"""An estimate says what its labels can tell: a band, with checked pairs a value, or why not and what would do."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest

import blindlabel as bl
from blindlabel.estimates import Candidates, estimate
from blindlabel.estimates.estimating import BAND, drawing_of
from blindlabel.export import AgreedTruth, LabelledPair
from support.linkages import blind_labels, labelled, linkage, true_measures

LIST, MATCHES = linkage("steep", 300, 5)
LIST = LIST.draw(200, Random(1).randrange)
CERTAIN = MATCHES.astype(np.int64)
TRULY = {(str(place), str(place)): bool(MATCHES[place]) for place in np.flatnonzero(LIST.drawn)}


def test_labels_alone_give_a_band_and_never_a_value() -> None:
    for kinds in (CERTAIN, blind_labels(MATCHES, 3)):
        found = estimate(LIST, labelled(LIST, kinds))
        for point in (found, *found.curve):
            for figure in (point.precision, point.recall, point.f):
                assert figure.value is None
                assert figure.low is not None or figure.cannot_say
        assert BAND in found.notes
        assert str(found.precision).startswith("band 0.")


def test_where_nothing_can_be_said_no_band_is_spoken_of() -> None:
    few = np.where(np.cumsum(LIST.drawn) <= 20, CERTAIN, 3)
    found = estimate(LIST, labelled(LIST, few))
    assert found.precision.cannot_say and found.recall.cannot_say and BAND not in found.notes


def test_the_band_is_as_wide_as_what_was_not_agreed_at_once() -> None:
    late = np.where(MATCHES & (np.arange(len(MATCHES)) % 4 == 0), 2, CERTAIN)
    never = np.where(late == 2, 3, late)
    certain, *others = (estimate(LIST, labelled(LIST, kinds)).precision for kinds in (CERTAIN, late, never))
    for other in others:
        assert certain.low and certain.high and other.low and other.high
        assert other.high == certain.high
        assert certain.low - other.low > 0.15


def test_all_pairs_checked_are_true_labels() -> None:
    found = estimate(LIST, labelled(LIST, blind_labels(MATCHES, 3)), checked=TRULY)
    for figure, true in zip((found.precision, found.recall, found.f), true_measures(LIST, MATCHES)):
        assert figure.value is not None and figure.low is not None and figure.high is not None
        assert figure.low <= true <= figure.high
        assert figure.high - figure.low < 0.25
    assert BAND not in found.notes


def test_a_class_without_a_checked_pair_leaves_the_band() -> None:
    linked_alone = {pair: match for pair, match in TRULY.items() if LIST.linked[int(pair[0])]}
    found = estimate(LIST, labelled(LIST, CERTAIN), checked=linked_alone)
    assert found.recall.value is None
    assert BAND in found.notes


def test_the_curve_is_at_drawn_scores_and_one_step_is_one_pair() -> None:
    small, matches = linkage("steep", 30, 3)
    drawn = small.draw(30, Random(2).randrange)
    found = estimate(drawn, labelled(drawn, matches.astype(np.int64)))
    scores = [point.threshold for point in found.curve]
    assert set(scores) <= set(drawn.scores[drawn.drawn])
    assert scores == sorted(scores, reverse=True)
    assert [point.linked for point in found.curve] == [int((drawn.scores >= score).sum()) for score in scores]
    # What TOLD warns of: between two steps that follow each other lies one drawn pair.
    between = [
        int((drawn.drawn & (drawn.scores < first) & (drawn.scores >= second)).sum())
        for first, second in pairwise(scores)
    ]
    assert between.count(1) > len(between) / 2


def test_the_curve_of_a_linkage_that_chose_otherwise_has_its_own_pairs_alone() -> None:
    linked = LIST.linked.copy()
    linked[np.arange(0, 200, 3)] = False
    chosen = replace(LIST, linked=linked, drawn=np.zeros(0, dtype=np.bool_)).draw(200, Random(1).randrange)
    found = estimate(chosen, labelled(chosen, CERTAIN))
    assert max(point.linked for point in found.curve) <= linked.sum()


UNIFORM, EVERY = linkage("flat", 60, 3)
SQUARE = tuple(LabelledPair(i, j, bool(i == j and i < 180 and EVERY[i]), 1) for i in range(120) for j in range(120))


def test_uniformly_drawn_rows_estimate_too_and_know_what_the_list_lacks() -> None:
    truth, pairs = AgreedTruth("anna", "berta", SQUARE), {(str(pair.i), str(pair.j)): pair.label for pair in SQUARE}
    found = estimate(UNIFORM, truth, rows=(180, 180), checked=pairs)
    for figure, true in zip((found.precision, found.recall, found.f), true_measures(UNIFORM, EVERY)):
        assert figure.low is not None and figure.high is not None and figure.low <= true <= figure.high
    (note,) = found.notes
    assert note.startswith("The list lacks 7 matches at most (95 %), by 14,280 pairs")  # 3.0 · 32,220 / 14,280
    band = estimate(UNIFORM, AgreedTruth("anna", "berta", SQUARE[:-1], ((119, 119),)), rows=(180, 180))
    assert band.precision.value is None


def test_rows_chosen_by_keys_say_nothing_of_recall() -> None:
    keys = (frozenset(range(100, 120)), frozenset[int]())
    found = estimate(UNIFORM, AgreedTruth("anna", "berta", SQUARE, by_keys=keys), rows=(180, 180))
    assert "chosen by keys" in found.recall.cannot_say
    assert "chosen by keys" in found.f.cannot_say
    assert found.precision.low is not None
    drawn = drawing_of(UNIFORM, AgreedTruth("anna", "berta", SQUARE, by_keys=keys), (180, 180), {})
    assert len(drawn.kinds) == 100 * 120


def test_recall_within_a_list_says_so() -> None:
    assert "within the list" in estimate(LIST, labelled(LIST, CERTAIN)).notes[-1]


def test_too_little_is_refused_with_what_would_do() -> None:
    hardly = np.where(np.arange(len(MATCHES)) % 40 == 0, CERTAIN, 3)
    found = estimate(LIST, labelled(LIST, hardly))
    assert "drawn pairs have a label; 50 would do" in found.precision.cannot_say
    assert found.curve[0].recall.cannot_say == found.precision.cannot_say
    none = estimate(LIST, labelled(LIST, np.zeros_like(CERTAIN)), checked=dict.fromkeys(TRULY, False))
    assert none.recall.cannot_say == "certain matches among the drawn pairs: 0; 10 would do."
    assert none.precision.value == 0 and none.precision.high is not None and 0 < none.precision.high < 0.1
    few = AgreedTruth("anna", "berta", tuple(pair for pair in SQUARE if pair.i < 9 and pair.j < 9))
    assert (
        "linked pairs among those drawn: 9; 10 would do."
        in estimate(UNIFORM, few, rows=(180, 180)).precision.cannot_say
    )
    beside = AgreedTruth("anna", "berta", tuple(pair for pair in SQUARE if pair.i < 50 < pair.j))
    assert "linked pairs among those drawn: 0;" in estimate(UNIFORM, beside, rows=(180, 180)).f.cannot_say


def test_what_is_too_wide_is_refused_and_says_what_would_narrow_it() -> None:
    unsure = np.where(np.arange(len(MATCHES)) % 2 == 0, CERTAIN, 2)
    found = estimate(LIST, labelled(LIST, unsure))
    number = int((unsure[LIST.drawn] == 2).sum())
    assert "is too wide; 800 drawn pairs would halve" in found.recall.cannot_say
    assert f"checked pairs settle {number} that are not certain" in found.recall.cannot_say
    assert found.recall.value is found.recall.low is None


def test_a_short_list_that_was_labelled_whole_is_known() -> None:
    candidates, matches = linkage("flat", 12, 2)
    whole = candidates.draw(24, Random(0).randrange)
    pairs = {(str(place), str(place)): bool(match) for place, match in enumerate(matches)}
    found = estimate(whole, labelled(whole, matches.astype(np.int64)), checked=pairs)
    true = true_measures(whole, matches)
    assert (found.precision.low, found.precision.value, found.precision.high) == (true[0],) * 3


def test_files_that_do_not_belong_together_are_refused() -> None:
    truth = labelled(LIST, CERTAIN)
    for candidates, given, rows, checked, sentence in (
        (LIST, replace(truth, pairs=truth.pairs[:-1]), None, {}, "1 pairs were drawn, and have no label"),
        (LIST, truth, (1500, 20), {}, "of rows that are not in the tables"),
        (LIST, truth, None, {("9999", "9999"): True}, "1 pairs were checked, and not drawn"),
        (LIST, replace(truth, only_matches=True), None, {}, "matches alone"),
        (UNIFORM, truth, None, {}, "No pair of the list was drawn"),
        (UNIFORM, AgreedTruth("anna", "berta", SQUARE[:1]), (12, 12), {}, "36 pairs of the list are too many"),
    ):
        with pytest.raises(bl.InputError, match=sentence):
            estimate(candidates, given, rows=rows, checked=checked)


def test_labels_with_ids_are_joined_by_ids() -> None:
    named = replace(LIST, pairs=tuple((f"a{first}", f"b{second}") for first, second in LIST.pairs))
    truth = labelled(LIST, CERTAIN)
    with pytest.raises(bl.InputError, match="200 pairs were drawn, and have no label"):
        estimate(named, truth)
    first, second = ({row: f"{side}{row}" for row in range(len(MATCHES))} for side in "ab")
    merged = replace(truth, ids_a=first, ids_b=second)
    assert estimate(named, merged) == estimate(LIST, truth)


def test_the_public_names_are_these() -> None:
    assert bl.estimate is estimate
    assert isinstance(LIST, bl.Candidates) and bl.Candidates is Candidates
