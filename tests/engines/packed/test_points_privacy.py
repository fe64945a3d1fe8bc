"""What leaves of the points way: values that are zero or uniform, whatever is asked, after the same steps."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind
from blindlabel.engines.packed.keys import open_secret
from blindlabel.engines.packed.seal.ring import Ring
from blindlabel.engines.packed.ways.points.way import PointsWay
from blindlabel.language import Limits, Question, Record
from blindlabel.language.formula import Formula
from support.packed_rounds import Round, in_clear

TERMS = Terms(
    ("a",), record_length=24, records=30, case="lower", encode_attributes=False, functions=("is_in", "has_word"),
    limits=Limits(needle_length=4), profile=(2, 1, 1), exclusions=1,
)  # fmt: skip
RECORDS = [Record.of({"a": f"w{i % 3} common x{i}"}) for i in range(30)]


def asked(*sources: str) -> list[Formula]:
    return [formula for formula in (Question(source).formula for source in sources) if formula is not None]


COUNTS = asked(
    *[
        f'ret 2*is_in("w{i % 3}", $r) + is_in("x{i}", $r) + is_in("x1", $r) >= 3 & !is_in("x{i + 1}", $r)'
        for i in range(20)
    ]
)
ALWAYS = asked(*["ret true"] * 20)
NEVER = asked(*['ret is_in("zzz", $r) & is_in("q", $r)'] * 20)


def _slots(one: Round) -> list[npt.NDArray[np.uint64]]:
    """The slots of both values."""
    secret = open_secret(one.terms, one.keys.secret)
    (content,) = one.answers
    parcel = parcels.read(content, (Kind.ANSWERS,), secret.study, most_items=2, most_bytes=1 << 24)
    ring = secret.way.answer_ring
    return [ring.read_slots(secret.answers.decrypt(ring.load_cipher(item, 1))) for item in parcel.items]


def _chi_square(values: npt.NDArray[np.uint64], modulus: int, bins: int = 32) -> float:
    counts = np.bincount((values * np.uint64(bins) // np.uint64(modulus)).astype(np.int64), minlength=bins)
    expected = values.size / bins
    return float(((counts - expected) ** 2 / expected).sum())


LIMIT = 110.0
"""31 degrees of freedom: beyond this with probability 9e-11; a run looks at up to a hundred."""


@pytest.mark.slow
@pytest.mark.parametrize("questions", [COUNTS, NEVER])
def test_both_values_are_zero_or_uniform_and_unused_slots_are_uniform(questions: list[Formula]) -> None:
    one = Round(TERMS)
    labels = one.run(RECORDS, questions)
    assert (labels == in_clear(RECORDS, questions)).all()
    way = open_secret(TERMS, one.keys.secret).way
    assert isinstance(way, PointsWay)
    modulus, columns = way.ring.modulus, way.columns(len(questions))
    pairs = columns.pair_slots(len(questions), len(RECORDS))
    first, second = _slots(one)
    assert _chi_square(first[~pairs], modulus) < LIMIT
    assert _chi_square(second[~pairs], modulus) < LIMIT
    assert (first[~pairs] == 0).sum() + (second[~pairs] == 0).sum() < 5
    no = pairs & (first != 0)
    assert _chi_square(first[no], modulus, 8) < LIMIT
    assert _chi_square(second[no], modulus, 8) < LIMIT  # where the points are missed, exclusions do not show
    reached = columns.pairs(first)[: len(questions), : len(RECORDS)] == 0
    excluded = reached & (columns.pairs(second)[: len(questions), : len(RECORDS)] == 0)
    assert ((reached & ~excluded) == labels).all()


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
    for questions in (COUNTS, ALWAYS, NEVER):
        steps.clear()
        one = Round(TERMS)
        one.run(RECORDS, questions)
        seen.append((dict(steps), [len(content) for content in one.answers]))
    assert seen[0] == seen[1] == seen[2]
