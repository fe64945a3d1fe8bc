"""What a question costs to evaluate, in words."""

from __future__ import annotations

from blindlabel.engines.interface import EngineError
from blindlabel.engines.registry import rules_named
from blindlabel.language.formula import Atom, Count, Formula, Negation, in_order
from blindlabel.storage.workspace import Workspace


def cost_sentence(formula: Formula, workspace: Workspace | None = None) -> str:
    """What a question costs, in words. On the packed engine all questions of a round run together in a time that the
    agreement fixes, so that nobody learns from it what was asked; that time is said as well.
    """
    atoms = counts = negations = 0
    for node in in_order(formula):
        atoms += isinstance(node, Atom)
        counts += isinstance(node, Count)
        negations += isinstance(node, Negation)
    asked = "1 predicate" if atoms == 1 else f"{atoms} predicates"
    extra = [text for number, text in ((counts, "a count"), (negations, "a negation")) if number]
    found = f"{asked} with {' and '.join(extra)}" if extra else asked
    seconds = None if workspace is None else _round_seconds(workspace, formula)
    if seconds is None:
        return found
    return f"{found}; asking all questions of a round takes about {duration(seconds)} on one core"


def _round_seconds(workspace: Workspace, formula: Formula) -> float | None:
    agreement = workspace.agreement
    try:
        plan = rules_named(agreement.encoding.engine).explain(agreement.terms(), formula)
    except EngineError:
        return None
    return None if plan is None else plan.seconds


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds" if round(seconds) != 1 else "1 second"
    return f"{round(seconds / 60)} minutes"
