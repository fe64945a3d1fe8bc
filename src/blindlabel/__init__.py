"""blindlabel: ground truth for entity resolution, labelled without anybody seeing both records.

    import blindlabel as bl

    a, b = bl.read_table("a.csv"), bl.read_table("b.csv")
    question = bl.Question('ret is_in("sony", $r)')
    answers = bl.ask(bl.suggest(a), b)
    truth = bl.rehearse(a, b)

The names in `__all__` are the public API (docs/reference/api.md); nothing else is promised. Each is loaded when it is
first used, so that importing the package is quick.

The packages, from the inside out: `language` (questions and their meaning), `records` (tables and text preparation),
`engines` (how questions are answered over encrypted records), `protocol` (the rules between the parties), `parties`,
and outside them `storage`, `transport`, `export`, `api`, `web` and `cli`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blindlabel.api.asking import ask, read_table, rehearse, suggest
    from blindlabel.api.ground_truth import GroundTruth, Scores
    from blindlabel.api.parties import Coordinator, Owner
    from blindlabel.errors import InputError, OutsideError
    from blindlabel.estimates import Candidates, Estimate, estimate, read_candidates
    from blindlabel.language import Question, Record
    from blindlabel.records.tables import Table

__version__ = "0.1.0"

__all__ = [
    "Candidates",
    "Coordinator",
    "Estimate",
    "GroundTruth",
    "InputError",
    "OutsideError",
    "Owner",
    "Question",
    "Record",
    "Scores",
    "Table",
    "__version__",
    "ask",
    "estimate",
    "read_candidates",
    "read_table",
    "rehearse",
    "suggest",
]

_WHERE = {
    "Candidates": "blindlabel.estimates",
    "Coordinator": "blindlabel.api.parties",
    "Estimate": "blindlabel.estimates",
    "GroundTruth": "blindlabel.api.ground_truth",
    "InputError": "blindlabel.errors",
    "OutsideError": "blindlabel.errors",
    "Owner": "blindlabel.api.parties",
    "Question": "blindlabel.language",
    "Record": "blindlabel.language",
    "Scores": "blindlabel.api.ground_truth",
    "Table": "blindlabel.records.tables",
    "ask": "blindlabel.api.asking",
    "estimate": "blindlabel.estimates",
    "read_candidates": "blindlabel.estimates",
    "read_table": "blindlabel.api.asking",
    "rehearse": "blindlabel.api.asking",
    "suggest": "blindlabel.api.asking",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'blindlabel' has no attribute {name!r}")
    found = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
