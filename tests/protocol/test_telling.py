"""Every field of every message declares what it can tell; and what messages really say is no more than that."""

from __future__ import annotations

import itertools
from math import log2
from typing import Annotated

import numpy as np
import pytest

from blindlabel.protocol import labels, messages
from blindlabel.protocol.shape import Amount, Shape
from blindlabel.protocol.telling import Nothing, Sizes, Tells, bits, declared


@pytest.mark.parametrize("shape", [*messages.KINDS.values(), messages.Header], ids=lambda shape: shape.__name__)
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


def rounds_told(own: int, others: int, most_yes: int) -> tuple[set[str], set[str]]:
    """All that the first owner can be told of a round, over every pair of answers: by a round, and by the end."""
    told, at_the_end = set[str](), set[str]()
    for said in itertools.product((0, 1), repeat=2 * own * others):
        first = np.array(said[: own * others], dtype=np.uint8).reshape(own, others)
        second = np.array(said[own * others :], dtype=np.uint8).reshape(others, own)
        nothing = labels.no_labels(own, others)
        found = labels.settle(nothing, 1, range(own), first, range(others), second, most_yes)
        open_ = [labels.open_counts(found.labels, axis=axis).nonzero()[0].tolist() for axis in (0, 1)]
        anew = {*found.loose[0], *found.disagreed[0]}
        kept = [place for place in open_[0] if place not in anew]
        loose = [place for place in found.loose[0] if place in open_[0]]
        told.add(repr((open_, loose, kept, found.aside[0], len(found.loose[1]), found.tally)))
        at_the_end.add(repr((found.aside[0], found.tally)))
    return told, at_the_end


@pytest.mark.parametrize(("own", "others", "most_yes"), [(1, 1, 1), (2, 2, 1), (3, 2, 1), (2, 3, 1), (2, 3, 2)])
def test_what_a_round_can_really_say_is_within_what_its_fields_declare(own: int, others: int, most_yes: int) -> None:
    told, at_the_end = rounds_told(own, others, most_yes)
    allowed = bits(messages.Round, Sizes(own, others)) - 1  # one is for a void round
    assert log2(len(told)) <= allowed
    assert log2(len(at_the_end)) <= allowed, "a round that is not sent is counted for the last one"
