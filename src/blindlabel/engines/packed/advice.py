"""Which settings answer questions: for one that an agreement has no room for, the smallest change that we find, and for
questions that are known before the agreement, as in a dry run, the least room that does.

First what stays without help (exclusions, places), then questions of any form, for which the coordinator holds the key.
What is found has been tried: the way of such an agreement compiles the questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from blindlabel.engines.allowed import refuse_question
from blindlabel.engines.interface import EngineError, Terms
from blindlabel.engines.packed.questions import plan_of
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.engines.packed.ways.points.meaning import Meaning, meaning_of
from blindlabel.engines.packed.ways.points.shape import MOST_PLACES, cost_of
from blindlabel.language.formula import Formula, atoms_of

Settings = dict[str, Any]

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
    settings = _first(terms, [question], _changes(terms, question))
    if settings is None:
        return ""
    said = " and ".join(f"{name} = {_shown(value)}" for name, value in settings.items())
    return f"An agreement with {said} would answer it."


def least_terms(terms: Terms, questions: Sequence[Formula]) -> Terms:
    """The terms with just the room that these questions take; as they are where no room would do."""
    settings = _first(terms, questions, _rooms(terms, questions))
    return terms if settings is None else _under(terms, settings)


def _first(terms: Terms, questions: Sequence[Formula], choices: Iterable[Settings]) -> Settings | None:
    """The first choice under which all questions can be answered."""
    for settings in choices:
        try:
            way = way_of(_under(terms, settings))
            for question in questions:
                plan_of(way, question)
        except EngineError:
            continue
        return settings
    return None


def _under(terms: Terms, settings: Settings) -> Terms:
    """The terms with these settings. A coordinator's key need not bear what comes back to an owner."""
    changed = replace(terms, **settings)
    return replace(changed, key_bits=0) if changed.keys == "coordinator" else changed


def _changes(terms: Terms, question: Formula) -> Iterator[Settings]:
    """What an agreement could change for a question, in order of cost."""
    needles = len(set(atoms_of(question)))
    if terms.questions == "points":
        more = [count for count in _EXCLUSIONS if count > terms.exclusions]
        yield from ({"exclusions": count} for count in more)
        places = (1,) * min(MOST_PLACES, needles)  # fewer places leave room for exclusions
        yield {"profile": places}
        yield from ({"profile": places, "exclusions": count} for count in more)
    yield from _any(terms, needles)


def _rooms(terms: Terms, questions: Sequence[Formula]) -> Iterator[Settings]:
    """The room that questions take: on as few places as we know, else on those of the terms, else with help."""
    try:
        tables = way_of(replace(terms, questions="points", profile=(1,), exclusions=0)).tables
        meanings = [meaning_of(terms, tables, question) for question in questions]
    except EngineError:
        meanings = []
    if meanings:
        exclusions = max(len(meaning.exclusions) for meaning in meanings)
        for profile in sorted({*_profiles(meanings), terms.profile}, key=cost_of):
            yield {"questions": "points", "profile": profile, "exclusions": exclusions}
    yield from _any(terms, max((len(set(atoms_of(question))) for question in questions), default=0))


def _profiles(meanings: Sequence[Meaning]) -> Iterator[tuple[int, ...]]:
    """Profiles with places for what is alike in every question, and for an OR of ANDs."""
    sizes = [[len(group) for group in meaning.alike] for meaning in meanings]
    longest = max(map(len, sizes))
    alike = [max(one[place] for one in sizes if place < len(one)) for place in range(longest)]
    yield tuple(longest - place for place, size in enumerate(alike) for _ in range(size)) or (1,)
    yield (1,) * max(1, *(len(meaning.ways_to_yes) for meaning in meanings))


def _any(terms: Terms, needles: int) -> Iterator[Settings]:
    """With help, and room for so many needles."""
    opened: Settings = {} if terms.questions == "any" else {"questions": "any"}
    if terms.keys == "owners":
        opened["keys"] = "coordinator"
    for gates, levels in _PARTS:
        room = {"inner_gates": gates, "inner_levels": levels}
        if needles > (terms.probes or _USUAL_PROBES):
            room["probes"] = needles
        yield opened | {name: value for name, value in room.items() if value != getattr(terms, name)}


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(list(value)) if isinstance(value, tuple) else str(value).lower()
