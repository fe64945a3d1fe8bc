"""Every field of every message declares what it can tell; and what messages really say is no more than that.

The rules of the coordinator settle a round with every possible answer, and what they tell anna of the pairing with
berta is looked at field by field: no field that declares bits has more values than these allow, and one that declares
nothing has one value wherever the others are the same.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from math import log2
from typing import Annotated, Any

import numpy as np
import pytest

from blindlabel.engines.interface import Outcomes
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import coordinator_rules, facts, labels, messages, rounds
from blindlabel.protocol.account import choices, record_bits
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.shape import Amount, Shape
from blindlabel.protocol.standing import Known, Standing
from blindlabel.protocol.telling import Nothing, Sizes, Tells, declared

Answers = dict[str, Outcomes]


SHAPES_THAT_TRAVEL = [*messages.KINDS.values(), messages.Header, Known, Standing]


@pytest.mark.parametrize("shape", SHAPES_THAT_TRAVEL, ids=lambda shape: shape.__name__)
def test_every_field_says_what_it_tells_or_why_nothing(shape: type[Shape]) -> None:
    missing = [name for name, said in declared(shape) if said is None]
    assert not missing, f"{shape.__name__} has fields that declare nothing: {missing}"
    for _, said in declared(shape):
        assert (said.about if isinstance(said, Tells) else said.because if said else "").strip()


def test_a_field_without_a_declaration_is_found_wherever_it_stands() -> None:
    class Inner(Shape):
        silent: Amount
        spoken: Annotated[Amount, Nothing("known")]

    class Outer(Shape):
        inner: tuple[Inner, ...]
        by_name: dict[str, Inner]

    assert [name for name, said in declared(Outer) if said is None] == ["inner.silent", "by_name.silent"]


def agreed(most_yes: int, owners: int = 2, number: int = 2) -> Agreement:
    names = ["anna", "berta", "clara"][:owners]
    return agreements.new("t", names, ["name"], sampling={"records": 4}, rounds=number, budget={"most_yes": most_yes})


def begun(agreement: Agreement, sizes: Mapping[str, int], before: Mapping[str, labels.Labels]) -> facts.StudyState:
    """A study in a round in which the pairs without a label are open."""
    state = facts.new_state(agreement, dict.fromkeys(agreement.owners, "0" * 64), "ef" * 32)
    step = coordinator_rules._begin(agreement, state, {name: tuple(range(size)) for name, size in sizes.items()})
    owners = {name: one.model_copy(update={"asked": 0}) for name, one in step.state.owners.items()}
    state = step.state.model_copy(update={"rounds": (), "owners": owners})
    return rounds.begin(facts.StudyStep(state), rounds._still_open(state, before)).state


def told(agreement: Agreement, state: facts.StudyState, before: Mapping[str, labels.Labels], said: Answers) -> Shape:
    """What anna gets when these answers are settled."""
    asked = state.rounds[-1].asked
    outcomes = {one: said[one][np.ix_(asked[one], asked[">".join(one.split(">")[::-1])])] for one in asked}
    step = rounds.settle(agreement, state, state.round, outcomes, before)
    return next(message.body for message in step.messages if message.receiver == "anna")


def every_answer(own: int, others: int) -> Iterator[Answers]:
    for said in itertools.product((0, 1), repeat=2 * own * others):
        both = np.array(said, dtype=np.uint8)
        yield {
            "anna>berta": both[: own * others].reshape(own, others),
            "berta>anna": both[own * others :].reshape(others, own),
        }


def of_pairing(value: Any) -> Any:
    """What is about berta, of what is told by other owner."""
    if isinstance(value, dict):
        return value.get("berta")
    if isinstance(value, tuple) and value and isinstance(value[0], messages.Pairing):
        return next(one for one in value if one.peer == "berta")
    return value[-1] if isinstance(value, tuple) and value and isinstance(value[0], Shape) else value


def at(body: Shape, place: str) -> Any:
    value: Any = body
    for name in place.split("."):
        value = of_pairing(getattr(value, name))
    return value


def carries_more(bodies: Iterable[Shape], sizes: Sizes) -> set[str]:
    """Fields in which messages of one kind say more than is declared."""
    bodies = list(bodies)
    said = dict(declared(type(bodies[0])))
    within = [place for place, one in said.items() if one is messages._IN_OWN]
    by_field: dict[str, set[str]] = defaultdict(set)
    follows: dict[tuple[str, str], set[str]] = defaultdict(set)
    for body in bodies:
        telling = {place: repr(at(body, place)) for place, one in said.items() if isinstance(one, Tells)}
        for place in telling.keys() & {"open.own"}:
            telling[place] += repr([at(body, one) for one in within])
        for place, value in telling.items():
            by_field[place].add(value)
        for place in said.keys() - telling.keys() - set(within):
            follows[place, repr(sorted(telling.items()))].add(repr(at(body, place)))
    bounds = {place: one.bits(sizes) for place, one in said.items() if isinstance(one, Tells)}
    return {place for place, values in by_field.items() if log2(len(values)) > bounds[place] + 1e-9} | {
        place for (place, _), values in follows.items() if len(values) > 1
    }


SHAPES = [(1, 1, 1), (2, 2, 1), (3, 2, 1), (2, 3, 2)]


def first_round(own: int, others: int, most_yes: int, number: int = 2) -> list[Shape]:
    agreement, before = agreed(most_yes, number=number), {"anna berta": labels.no_labels(own, others)}
    state = begun(agreement, {"anna": own, "berta": others}, before)
    return [told(agreement, state, before, said) for said in every_answer(own, others)]


@pytest.mark.parametrize(("own", "others", "most_yes"), SHAPES)
def test_no_field_of_a_round_carries_more_than_it_declares(own: int, others: int, most_yes: int) -> None:
    bodies = [one for one in first_round(own, others, most_yes) if isinstance(one, messages.Round)]
    assert bodies and carries_more(bodies, Sizes(own, others)) == set()


@pytest.mark.parametrize(("own", "others", "most_yes"), SHAPES)
def test_no_field_of_the_end_carries_more_than_it_declares(own: int, others: int, most_yes: int) -> None:
    bodies = [one for one in first_round(own, others, most_yes, number=1) if isinstance(one, messages.Truth)]
    sizes = Sizes(own, others, others * choices(own, most_yes))
    beyond = carries_more(bodies, sizes) - {"pairings.aside", "pairings.tallies"}
    assert len(bodies) == 4 ** (own * others) and beyond == set()
    as_round = [  # of the last round the end tells its totals and what was set aside: a `round` is counted for that
        messages.Round(
            open={"berta": messages.Open(own=(), others=())}, repeats=False, loose=(), kept=(), others_loose={},
            aside={"berta": at(one, "pairings.aside")}, tallies={"berta": at(one, "pairings.tallies")},
        )
        for one in bodies
    ]  # fmt: skip
    assert carries_more(as_round, sizes) == set()


@pytest.mark.parametrize("field", ["voided", "repeats", "others_loose", "kept"])
def test_what_a_crafted_round_carries_besides_is_found(field: str) -> None:
    """Bits of the outcomes, put where little or nothing is declared."""
    bodies = [one for one in first_round(2, 2, 1) if isinstance(one, messages.Round)]
    besides = (int(one) for one in np.random.default_rng(1).integers(16, size=len(bodies)))
    crafted = [
        body.model_copy(update={field: {"berta": besides_} if field == "others_loose" else (besides_,)})
        for body, besides_ in zip(bodies, besides)
    ]
    assert carries_more(crafted, Sizes(2, 2)) == {"open.own" if field == "kept" else field}


def crafted_three() -> tuple[Agreement, facts.StudyState, dict[str, labels.Labels], Answers]:
    """The pairing of anna and berta in a later round, and clara, whose questions keep anna's records open and tell her
    nothing: what anna is told then is all about berta.
    """
    agreement, sizes = agreed(1, owners=3), {"anna": 2, "berta": 3, "clara": 2}
    before = {facts.key_of(a, b): labels.no_labels(sizes[a], sizes[b]) for a, b in agreement.pairings}
    before["anna berta"][0, :2] = labels.byte_of(False, 1)
    fixed = {
        facts.direction_of(a, b): np.zeros((sizes[a], sizes[b]), dtype=np.uint8)
        for a, b in itertools.permutations(sizes, 2)
    }
    fixed["clara>anna"][:] = 1
    return agreement, begun(agreement, sizes, before), before, fixed


def too_loose_as_before(*given: Any) -> labels.Settled:
    """As it was: a question was called too loose also where none of its pairs was left."""
    found, size = SETTLE(*given), given[0].shape
    loose = (labels._beyond(given[3] > 0, 1, size[1])[0], labels._beyond(given[5] > 0, 1, size[0])[0])
    places = [tuple(np.asarray(given[2 + 2 * side])[loose[side]].tolist()) for side in (0, 1)]
    return replace(found, loose=(places[0], places[1]))


SETTLE = labels.settle


@pytest.mark.parametrize(("settle", "states"), [(SETTLE, 5), (too_loose_as_before, 7)])
def test_with_a_third_owner_nothing_more_is_told_of_a_pairing(
    settle: Callable[..., labels.Settled], states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "settle", settle)
    agreement, state, before, fixed = crafted_three()
    answers = [said for place, said in enumerate(every_answer(2, 3)) if place % 64 in (0, 1, 9, 36, 40, 63)]
    bodies = [told(agreement, state, before, {**fixed, **said}) for said in answers]
    assert carries_more(bodies, Sizes(2, 3)) == set()
    places = ("open.own", "aside", "loose", "kept")
    assert len({tuple(0 in at(body, place) for place in places) for body in bodies}) == states, "of one own record"


def test_what_is_told_about_one_record_is_within_its_line_of_the_account() -> None:
    """All is as anna wants it but for one record of berta and its question. To each of anna's records the question for
    the other one says yes, as often as that is allowed: so a yes more sets it aside, and anna is told which.
    """
    own, agreement = 6, agreed(1)
    before = {"anna berta": labels.no_labels(own, 2)}
    state, seen = begun(agreement, {"anna": own, "berta": 2}, before), set()
    for said in every_answer(own, 1):
        answers = {
            "anna>berta": np.column_stack([np.zeros(own, np.uint8), said["anna>berta"]]),
            "berta>anna": np.vstack([np.ones(own, np.uint8), said["berta>anna"]]),
        }
        seen.add(repr(told(agreement, state, before, answers)))
    limit = record_bits(replace(agreement.exposure, records=own, rounds=1))
    assert 2 * log2(1 + 1 + own) < log2(len(seen)) <= limit, "two small subsets, as it was counted, are too little"
