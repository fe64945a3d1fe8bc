"""Stealing a key through answers of any room, on the real engine. (0, Δ) is a valid encryption of the key, however
honest answers are made; whoever opens it tells linear functions of the key. Nothing prevents that, so what comes back
must be within the account: `test_stealing_a_key` plays it at full size.
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
from blindlabel.engines.packed.encoding.parcels import Parcel, ParcelKind
from blindlabel.engines.packed.planning.noise import PADDED
from blindlabel.engines.packed.running.keys import open_secret
from blindlabel.language import Limits
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels
from blindlabel.protocol.account import key_bits
from support.packed_rounds import ENGINE, keys_of
from support.study_by_rules import Study

SIZE = 4
CHAINS = Terms(
    (), encode_attributes=False, record_length=6, records=SIZE, case="lower", functions=("is_in",),
    limits=Limits(needle_length=2), profile=(1, 1), exclusions=1, unless=1,
)  # fmt: skip
ROOMS = {
    "points, exclusions and exceptions": CHAINS,
    "points and exclusions": replace(CHAINS, unless=0),
    "points alone": replace(CHAINS, exclusions=0, unless=0),
}


def opened(terms: Terms, times: int) -> Values:
    """What an opener makes of `times` the key in place of answers; a robber that knows its pads takes them for 0."""
    secret = open_secret(terms, keys_of(terms).secret)
    room, ring = secret.room, secret.holder.ring
    form = ring.form(PADDED)
    words = np.zeros((2, PADDED, ring.degree), dtype=np.uint64)
    delta = times * (prod(form.rows.primes) // ring.modulus)
    words[1, :, 0] = [delta % prime for prime in form.rows.primes]
    item = b"".join(form.rows.write(half) for half in words)
    forged = [
        parcels.write(Parcel(ParcelKind.ANSWERS, secret.study, (batch, group, SIZE, SIZE), (item,) * room.values))
        for batch in range(room.layout.batches(SIZE))
        for group in range(room.group_count(SIZE))
    ]
    return ENGINE.open(terms, keys_of(terms).secret, forged, SIZE, SIZE)


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_in_any_room_a_forged_answer_speaks_of_the_key_and_the_account_bounds_what_comes_back(room: str) -> None:
    terms = ROOMS[room]
    modulus = open_secret(terms, keys_of(terms).secret).holder.ring.modulus
    once, twice = opened(terms, 1), opened(terms, 2)
    assert (twice == 2 * once % np.uint64(modulus)).all(), "linear in the key"
    assert len(np.unique(once[0])) > 1, "and not the same for every pair: it is the key that speaks"
    guess = once == once[0, 0, 0]  # the robber tests for a value that occurs
    stolen = outcomes(guess[:1])
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
