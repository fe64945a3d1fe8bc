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
    "api.asking": ("ask", "read_table", "rehearse", "suggest"),
    "api.ground_truth": ("GroundTruth", "Scores"),
    "api.parties": ("Coordinator", "Owner"),
    "errors": ("InputError", "OutsideError"),
    "estimates": ("Candidates", "Estimate", "estimate", "read_candidates"),
    "language": ("Question", "Record"),
    "records.tables": ("Table",),
}


def __getattr__(name: str) -> Any:
    for module, names in _WHERE.items():
        if name in names:
            globals()[name] = getattr(importlib.import_module(f"blindlabel.{module}"), name)
            return globals()[name]
    raise AttributeError(f"module 'blindlabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
