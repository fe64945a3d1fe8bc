"""How fast questions are checked and interpreted on clear records: 2,500 pairs with ten predicates each."""

from __future__ import annotations

import random
import time
from dataclasses import asdict, dataclass

from blindlabel.language import Question, Record, interpret
from blindlabel.language.formula import evaluate

_LETTERS = "etaoinshrdlucmfwypvbgkjqxz0123456789"


@dataclass(frozen=True)
class LanguageFigures:
    """Seconds for each part; `total_seconds` is checking every question and interpreting every pair."""

    questions: int
    records: int
    length: int
    predicates: int
    check_seconds: float
    interpret_seconds: float
    formula_seconds: float
    total_seconds: float
    agree: bool

    def to_json(self) -> dict[str, object]:
        """As the command prints it."""
        return {"bench": "language", **asdict(self)}


def measure(size: int = 50, length: int = 148, predicates: int = 10, seed: int = 0) -> LanguageFigures:
    """Check `size` questions and interpret each on `size` records."""
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    words = ["".join(chance.choices(_LETTERS, k=chance.randint(2, 10))) for _ in range(2000)]
    records = [Record.of({"title": " ".join(chance.choices(words, k=length // 5))[:length]}) for _ in range(size)]
    sources = []
    for record in records:
        asked = [
            f'is_in("{word}", $r)' for word in chance.sample(record.whole.split() + words[:predicates], predicates)
        ]
        sources.append(
            "$r = lower($r)\n" + f"ret ({' | '.join(asked[:3])}) & !{asked[3]} & {' + '.join(asked[4:])} >= 2"
        )
    start = time.perf_counter()
    checked = [Question(source, attributes=["title"]) for source in sources]
    middle = time.perf_counter()
    answers = [[interpret(one.tree, record) for record in records] for one in checked]
    end = time.perf_counter()
    formulas = [one.formula for one in checked if one.formula is not None]
    again = [[evaluate(formula, record) for record in records] for formula in formulas]
    last = time.perf_counter()
    return LanguageFigures(
        size, size, length, predicates, middle - start, end - middle, last - end, end - start, agree=answers == again
    )
