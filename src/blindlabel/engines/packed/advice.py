"""Which settings would answer a question that an agreement has no room for: the smallest we find, in order of cost.

First what stays without help (more exclusions, more places), then questions of any form, for which the coordinator
holds the key. What is advised has been tried: the way of such an agreement compiles the question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from blindlabel.engines.allowed import refuse_question
from blindlabel.engines.interface import EngineError, Terms
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.engines.packed.ways.points.shape import MOST_PLACES
from blindlabel.language.formula import Formula, atoms_of

_EXCLUSIONS = (3, 4, 6, 8)
_USUAL_PROBES = 16
_PARTS = ((3, 1), (6, 1), (10, 1), (16, 1), (8, 2), (16, 2), (16, 3), (16, 5), (16, 8))
"""Inner gates and their levels, the cheaper first."""


def advice(terms: Terms, question: Formula) -> str:
    """A sentence with the settings that would answer the question; empty where we know none, or where the agreement
    does not allow what is asked at all, which its refusal says.
    """
    if refuse_question(terms, question) is not None:
        return ""
    for settings in _choices(terms, question):
        try:
            way_of(_under(terms, settings)).plan(question)
        except EngineError:
            continue
        said = " and ".join(f"{name} = {_shown(value)}" for name, value in settings.items())
        return f"An agreement with {said} would answer it."
    return ""


def _under(terms: Terms, settings: dict[str, Any]) -> Terms:
    """The terms with these settings. A coordinator's key need not bear what comes back to an owner."""
    changed = replace(terms, **settings)
    return replace(changed, key_bits=0) if changed.keys == "coordinator" else changed


def _choices(terms: Terms, question: Formula) -> Iterator[dict[str, Any]]:
    needles = len(set(atoms_of(question)))
    if terms.questions == "points":
        more = [count for count in _EXCLUSIONS if count > terms.exclusions]
        yield from ({"exclusions": count} for count in more)
        places = (1,) * min(MOST_PLACES, needles)  # fewer places leave room for exclusions
        yield {"profile": places}
        yield from ({"profile": places, "exclusions": count} for count in more)
    opened: dict[str, Any] = {} if terms.questions == "any" else {"questions": "any"}
    if terms.keys == "owners":
        opened["keys"] = "coordinator"
    for name in ("counting", "negation"):
        if terms.questions == "any" and not getattr(terms, name):
            opened[name] = True
    for gates, levels in _PARTS:
        room = {"inner_gates": gates, "inner_levels": levels}
        if needles > (terms.probes or _USUAL_PROBES):
            room["probes"] = needles
        yield opened | {name: value for name, value in room.items() if value != getattr(terms, name)}


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(list(value)) if isinstance(value, tuple) else str(value).lower()
