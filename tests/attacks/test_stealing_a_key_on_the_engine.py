"""Stealing a key through every way of answering, on the real engine. (0, Δ) is a valid encryption of the key, whoever
holds it and however honest answers are made; whoever opens it tells linear functions of the key. No way of answering
prevents that, so what comes back must be within the account: `test_stealing_a_key` plays it at full size.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from blindlabel.engines.interface import Outcomes, Terms, Values, outcomes
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.keys import open_secret
from blindlabel.engines.packed.opening import padding
from blindlabel.language import Limits
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels
from blindlabel.protocol.account import key_bits
from support.packed_rounds import ENGINE, keys_of
from support.study_by_rules import Study

SIZE = 4
POINTS = Terms(
    (), keys="owners", encode_attributes=False, record_length=6, records=SIZE, case="lower", functions=("is_in",),
    limits=Limits(needle_length=2), profile=(1, 1), exclusions=1,
)  # fmt: skip
WAYS = {
    "points and exclusions, an owner opens": POINTS,
    "points and exclusions, the coordinator opens": replace(POINTS, keys="coordinator"),
    "points alone": replace(POINTS, exclusions=0),
    "with the assist": replace(POINTS, questions="any", keys="coordinator", probes=1, inner_gates=0, inner_levels=0),
}


def opened(terms: Terms, times: int) -> Values:
    """What an opener makes of `times` the key in place of answers; a robber that knows its pads takes them for 0."""
    secret = open_secret(terms, keys_of(terms).secret)
    way, ring = secret.way, secret.answers.ring
    level = padding.LEVEL if terms.keys == "owners" else 1
    form = ring.form(level)
    words = np.zeros((2, level, ring.degree), dtype=np.uint64)
    delta = times * (prod(form.rows.primes) // ring.modulus)
    words[1, :, 0] = [delta % prime for prime in form.rows.primes]
    item = b"".join(form.rows.write(half) for half in words)
    forged = [
        parcels.write(Parcel(Kind.ANSWERS, secret.study, (batch, group, SIZE, SIZE), (item,) * way.values))
        for batch in range(way.layout.batches(SIZE))
        for group in range(way.group_count(SIZE))
    ]
    return ENGINE.open(terms, keys_of(terms).secret, forged, SIZE, SIZE)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_through_every_way_a_forged_answer_speaks_of_the_key_and_the_account_bounds_what_comes_back(way: str) -> None:
    terms = WAYS[way]
    modulus = open_secret(terms, keys_of(terms).secret).answers.ring.modulus
    once, twice = opened(terms, 1), opened(terms, 2)
    assert (twice == 2 * once % np.uint64(modulus)).all(), "linear in the key"
    assert len(np.unique(once[0])) > 1, "and not the same for every pair: it is the key that speaks"
    guess = once == once[0, 0, 0]  # the robber tests for a value that occurs
    stolen = outcomes(guess if len(guess) == 1 else np.stack([guess[0], np.zeros_like(guess[0])]))
    for owners in (2, 3):
        _played(owners, stolen)


def _played(owners: int, stolen: Outcomes) -> None:
    """All but berta steal from berta, whose own questions say yes to as many of their records as may be."""
    names = ["anna", "berta", "clara"][:owners]
    agreement = agreements.new("robbed", names, ["name"], sampling={"records": SIZE}, encoding={"engine": "plain"})

    def answering(asker: str, holder: str, number: int, asked: Sequence[int], served: Sequence[int]) -> Outcomes:
        if holder == "berta":
            return stolen[np.ix_(asked, served)]
        return np.full((len(asked), len(served)), asker == "berta", dtype=np.uint8)

    study = Study(agreement, random.Random(4), answering=answering, records=SIZE)
    study.to_the_end()
    for robber in agreement.peers("berta"):
        told = labels.is_match(study.truth(robber, "berta"))
        learnt = int(told.size)
        allowed = key_bits(agreement.exposure, SIZE, SIZE)
        print(f"{owners} owners, {robber}: {int(told.sum())} matches, at most {learnt} tests; account {allowed}")
        assert (told == (stolen == 1)).all(), "the robber reads its tests back"
        assert learnt <= allowed
