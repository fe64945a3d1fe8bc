"""Every question takes the same steps: the same operations on ciphertexts, in the same order, at the same levels, with
plaintexts of the same length. So the time between messages cannot tell which functions, lengths or points were asked,
but for microseconds of hashing in clear. (Clocks tell nothing reliable on a shared machine; steps do.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed.seal.ring import Ring
from blindlabel.language import Limits, Question, Record
from blindlabel.language.formula import Formula
from support.packed_rounds import ENGINE, keys_of

TERMS = Terms(
    ("a", "b"), record_length=24, attribute_length=12, records=8, case="lower",
    functions=("is_in", "equals"), limits=Limits(needle_length=4), profile=(2, 1), exclusions=1, unless=1,
)  # fmt: skip
RECORDS = [Record.of({"a": f"person {i}", "b": "town"}) for i in range(4)]
STEPS = (
    "add", "add_into", "add_plain", "multiply_plain", "product", "relinearised", "automorphism", "to_ntt",
    "from_ntt", "switched", "transformed", "slots", "polynomial", "read_slots", "residues", "of_residues",
    "load_seeded", "load_cipher", "sent",
)  # fmt: skip
QUESTIONS = {
    "equals": [f'ret equals("person {i}", $r.a) | equals("town", $r.b)' for i in range(4)],
    "is_in": [f'ret 2*is_in("{letter}", $r) + is_in("wn", $r) >= 2' for letter in "abcd"],
    "but not": ['ret is_in("town", $r) & !equals("person 1", $r.a)'] * 4,
    "unless": ['ret is_in("town", $r) & (!equals("person 1", $r.a) | is_in("t", $r))'] * 4,
    "never": ["ret false"] * 4,
}


def _size(value: Any) -> object:
    """What shows of an argument: the size of plaintexts and arrays, the level and form of ciphertexts."""
    if hasattr(value, "coeff_modulus_size"):
        return ("ciphertext", value.coeff_modulus_size(), value.size(), value.is_ntt_form())
    if hasattr(value, "shape"):
        return value.shape
    return value if isinstance(value, int) else len(value) if isinstance(value, bytes) else None


def _formulas(name: str) -> list[Formula]:
    found = [Question(source, attributes=TERMS.attributes).formula for source in QUESTIONS[name]]
    return [formula for formula in found if formula is not None]


def _trace(terms: Terms, name: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, object]]:
    """All steps on ciphertexts of one evaluation."""
    keys = keys_of(terms)
    sent = list(ENGINE.encrypt(terms, keys.secret, RECORDS, 4))
    steps: list[tuple[str, object]] = []

    def noted(step: str, own: Callable[..., Any]) -> Callable[..., Any]:
        def call(ring: Ring, *arguments: Any, **more: Any) -> Any:
            steps.append((step, tuple(map(_size, arguments))))
            return own(ring, *arguments, **more)

        return call

    with monkeypatch.context() as patch:
        for step in STEPS:
            patch.setattr(Ring, step, noted(step, getattr(Ring, step)))
        made = list(ENGINE.evaluate(terms, keys.public, sent, _formulas(name)))
    return [*steps, *(("parcel", (len(one.parcel), len(one.pads))) for one in made)]


@pytest.mark.slow
def test_questions_take_the_same_steps_whatever_they_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    _trace(TERMS, "never", monkeypatch)  # opens keys and makes tables that are kept from then on
    first, *others = (_trace(TERMS, name, monkeypatch) for name in QUESTIONS)
    assert len(first) > 100
    for other in others:
        assert other == first
