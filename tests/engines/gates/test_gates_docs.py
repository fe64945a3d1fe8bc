"""The gate counts in docs/laboratory/gates-engine.md are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blindlabel.engines.interface import Terms
from blindlabel.language import Question
from blindlabel.language.functions import PREDICATES
from blindlabel_lab.bench.gates import clear_needle_gates
from blindlabel_lab.bench.published_circuit import is_in_gates
from blindlabel_lab.gates.ciphertexts import CIPHERTEXT_BYTES, CIPHERTEXT_VALUES
from blindlabel_lab.gates.record_circuits import compiled

LENGTHS = (46, 53, 118, 148)
PAGE = (Path(__file__).parents[3] / "docs" / "laboratory" / "gates-engine.md").read_text(encoding="utf-8")


def numbers(cells: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"(?<=\| )[\d,]+(?= \|)", cells)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", re.findall(r"^\| `(\w+\(.*\))` (\|.*)$", PAGE, re.MULTILINE), ids=lambda line: str(line[0])
)
def test_counts_of_predicates(line: tuple[str, str]) -> None:
    question, cells = line
    formula = Question(f"ret {question}").formula
    assert formula is not None
    lengths = (8, 46, 148)
    terms = [
        Terms((), record_length=length, encode_attributes=False, functions=tuple(PREDICATES)) for length in lengths
    ]
    assert numbers(cells) == [compiled(one, [formula]).gates for one in terms]


def test_every_predicate_is_in_the_table() -> None:
    shown = {name for name in PREDICATES if f"| `{name}(" in PAGE}
    assert shown == set(PREDICATES)


def test_counts_of_the_published_circuit() -> None:
    line = re.search(r"^\| published `is_in`, needle of 6 (\|.*)$", PAGE, re.MULTILINE)
    assert line is not None
    assert numbers(line[1]) == [is_in_gates(6, length) for length in (8, 46, 148)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "needles", "lengths"), [("1 (average)", 1, (46,)), ("5", 5, LENGTHS), ("50", 50, (46, 53))]
)
def test_counts_of_sharing(title: str, needles: int, lengths: tuple[int, ...]) -> None:
    """Many needles are counted anew for the short records only: it takes a while, and `bench gates` prints it for
    all.
    """
    line = re.search(rf"^\| {re.escape(title)} (\|.*)$", PAGE, re.MULTILINE)
    assert line is not None
    shown = numbers(line[1])
    for place, length in enumerate(LENGTHS):
        if length in lengths:
            assert shown[place] == round(clear_needle_gates(length, needles))


def test_bytes_of_ciphertexts() -> None:
    assert f"| a character of a record | {8 * CIPHERTEXT_BYTES:,} |" in PAGE
    assert f"| an answer | {CIPHERTEXT_BYTES} |" in PAGE
    assert f"{CIPHERTEXT_VALUES} numbers below 2,048" in PAGE
