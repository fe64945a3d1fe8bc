"""What a key holder sees of honest answers: numbers that say one of four outcomes and nothing else, whatever is asked,
after the same steps.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from blindlabel.engines.interface import Outcome, Terms, is_yes, outcomes
from blindlabel.engines.packed.planning.noise import PADDED
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.running.keys import open_secret
from blindlabel.engines.packed.seal.ring import Ring
from blindlabel.language import Limits, Record
from blindlabel.language.formula import Formula
from support.packed_rounds import Round, asked, in_clear, parcel_of

TERMS = Terms(
    ("a",), record_length=24, records=30, case="lower", encode_attributes=False, functions=("is_in", "has_word"),
    limits=Limits(needle_length=4), profile=(2, 1, 1), exclusions=1, unless=1,
)  # fmt: skip
RECORDS = [Record.of({"a": f"w{i % 3} common x{i}"}) for i in range(30)]
CHAINS = asked(
    *[
        f'ret 2*is_in("w{i % 3}", $r) + is_in("x{i}", $r) + is_in("x2", $r) >= 2 & (!is_in("x1", $r) |'
        f' is_in("x1{i % 10}", $r))'
        for i in range(20)
    ]
)
ALWAYS = asked(*["ret true"] * 20)
NEVER = asked(*['ret is_in("zzz", $r) & is_in("q", $r)'] * 20)


def _answers(one: Round) -> Residues:
    """All slots of all values, their pads taken away: [value, slot]."""
    secret = open_secret(one.terms, one.keys.secret)
    ring, modulus = secret.holder.ring, np.uint64(secret.holder.ring.modulus)
    (answer,), (pad,) = one.answers, one.pads
    opened = np.stack(
        [
            ring.read_slots(secret.holder.decrypt(ring.load_cipher(item, PADDED)))
            for item in parcel_of(one.terms, answer).items
        ]
    )
    pads = np.stack([np.frombuffer(item, dtype="<u4") for item in parcel_of(one.terms, pad).items]).astype(np.uint64)
    for values in (opened, pads):  # either side alone sees uniform numbers, in all slots
        assert max(_chi_square(row, int(modulus)) for row in values) < LIMIT
    return (opened + modulus - pads) % modulus


def _chi_square(values: npt.NDArray[np.uint64], modulus: int, bins: int = 32) -> float:
    counts = np.bincount((values * np.uint64(bins) // np.uint64(modulus)).astype(np.int64), minlength=bins)
    expected = values.size / bins
    return float(((counts - expected) ** 2 / expected).sum())


LIMIT = 110.0
"""31 degrees of freedom: beyond this with probability 9e-11; a run looks at up to a hundred."""


@pytest.mark.slow
@pytest.mark.parametrize("questions", [CHAINS, NEVER])
def test_values_are_zero_or_uniform_and_slots_that_are_no_pair_are_uniform(questions: list[Formula]) -> None:
    one = Round(TERMS)
    labels = one.run(RECORDS, questions)
    assert (labels == in_clear(RECORDS, questions)).all()
    room = open_secret(TERMS, one.keys.secret).room
    modulus, columns, found = room.ring.modulus, room.columns(len(questions)), _answers(one)
    by_pair = np.stack([columns.pairs(row)[: len(questions), : len(RECORDS)] for row in found])
    places = columns.pairs(np.arange(found.shape[1], dtype=np.uint64))[: len(questions), : len(RECORDS)]
    no_pair = np.ones(found.shape[1], dtype=np.bool_)
    no_pair[places.reshape(-1).astype(np.int64)] = False
    outcome = outcomes(by_pair == 0)
    assert (is_yes(outcome) == labels).all()
    if questions is CHAINS:
        assert set(np.unique(outcome)) == set(Outcome)
    no = outcome == Outcome.NO
    for value in range(3):  # what is below the points does not show where they are missed
        assert _chi_square(by_pair[value][no], modulus, 8) < LIMIT
    rest = by_pair[1:, outcome == Outcome.YES].reshape(-1)
    assert rest.size == 0 or _chi_square(rest, modulus, 8) < LIMIT
    # Unused columns of a record are made with the randomness of both sides as all others, on whatever is there.
    assert (found[0, no_pair] != 0).any()


@pytest.mark.slow
def test_every_question_takes_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products, rotations, encodings and all else are counted by name: a question that asks nothing, one that is always
    true and one that uses every place make the same numbers, and parcels of the same sizes.
    """
    Round(TERMS).run(RECORDS, NEVER)  # tables that are made once
    steps: Counter[str] = Counter()
    for name in ("add", "add_into", "add_plain", "multiply_plain", "product", "relinearised", "to_ntt", "from_ntt",
                 "automorphism", "slots", "transformed", "residues", "of_residues"):  # fmt: skip
        original = getattr(Ring, name)

        def counted(self: Ring, *given: Any, _name: str = name, _original: Any = original, **more: Any) -> Any:
            steps[_name] += 1
            return _original(self, *given, **more)

        monkeypatch.setattr(Ring, name, counted)
    seen = []
    for questions in (CHAINS, ALWAYS, NEVER):
        steps.clear()
        one = Round(TERMS)
        one.run(RECORDS, questions)
        seen.append((dict(steps), [len(content) for content in (*one.parcels, *one.answers)]))
    assert seen[0] == seen[1] == seen[2]
