"""The rules of the packed engine: what it can be asked under an agreement, and which settings would answer more.
Without SEAL, so that a coordinator can have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from blindlabel.engines.allowed import refuse_question
from blindlabel.engines.interface import EngineError, Explained, QuestionError, Terms
from blindlabel.engines.packed import rings
from blindlabel.engines.packed.planning.fitting import Meaning, meaning_of
from blindlabel.engines.packed.planning.places import MOST_PLACES, cost_of
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.language.formula import Formula

Settings = dict[str, Any]


class PackedRules:
    """What is known about the packed engine without keys."""

    name = "packed"
    unbounded = ""
    engine = "blindlabel.engines.packed.running.engine:PackedEngine"

    def outcomes(self, terms: Terms) -> int:
        """No, yes, excluded, yes all the same, as far as there is room for them."""
        return 1 + room_of(terms).values

    def refuse(self, terms: Terms, question: Formula) -> str | None:
        """Why this question cannot be answered under these terms, and which terms would do; None if these do."""
        refused = refuse_question(terms, question)
        if refused is not None:
            return refused
        try:
            room_of(terms).plan(question)
        except QuestionError as problem:
            return f"{problem} {advice(terms, question)}".rstrip()
        except EngineError as problem:
            return str(problem)
        return None

    def least_terms(self, terms: Terms, questions: Sequence[Formula]) -> Terms:
        """Terms with places, exclusions and exceptions for just these questions."""
        settings = _first(terms, questions, _rooms(terms, questions))
        return terms if settings is None else replace(terms, **settings)

    def zero_tests(self, terms: Terms) -> int:
        """How many bits about a key made for these terms may be lost before it has fewer than 128 left."""
        return rings.zero_tests(room_of(terms).ring)

    def explain(self, terms: Terms, question: Formula) -> Explained:
        """The plan of a question under these terms, and what a round of such questions costs."""
        room = room_of(terms)
        return room.explain(room.plan(question))


def advice(terms: Terms, question: Formula) -> str:
    """A sentence with settings that would answer the question; empty if we know none."""
    settings = _first(terms, [question], _changes(terms, question))
    if settings is None:
        return ""
    shown = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
    said = " and ".join(f"{name} = {value}" for name, value in shown.items())
    return f"An agreement with {said} would answer it."


def _first(terms: Terms, questions: Sequence[Formula], choices: Iterable[Settings]) -> Settings | None:
    """The first choice under which all questions can be answered. What is found has been tried."""
    for settings in choices:
        try:
            room = room_of(replace(terms, **settings))
            for question in questions:
                room.plan(question)
        except EngineError:
            continue
        return settings
    return None


def _changes(terms: Terms, question: Formula) -> Iterator[Settings]:
    """What an agreement could change for a question, in order of cost: what it takes below its points, other places,
    both.
    """
    (meaning,) = _meanings(terms, [question])
    if meaning is None:
        return
    below = {
        name: len(asked)
        for name, asked in (("exclusions", meaning.exclusions), ("unless", meaning.unless))
        if len(asked) > getattr(terms, name)
    }
    if below:
        yield below
    for profile in sorted(_profiles([meaning]), key=cost_of):
        yield {"profile": profile} | below


def _rooms(terms: Terms, questions: Sequence[Formula]) -> Iterator[Settings]:
    """The room that questions take: on as few places as we know, else on those of the terms."""
    meanings = [meaning for meaning in _meanings(terms, questions) if meaning is not None]
    if not meanings or len(meanings) < len(questions):
        return
    below = {
        "exclusions": max(len(meaning.exclusions) for meaning in meanings),
        "unless": max(len(meaning.unless) for meaning in meanings),
    }
    for profile in sorted({*_profiles(meanings), terms.profile}, key=cost_of):
        yield {"profile": profile} | below


def _meanings(terms: Terms, questions: Sequence[Formula]) -> Iterator[Meaning | None]:
    try:
        tables = room_of(replace(terms, profile=(1,), exclusions=0, unless=0)).tables
    except EngineError:
        yield from [None] * len(questions)
        return
    for question in questions:
        try:
            yield meaning_of(terms, tables, question)
        except EngineError:
            yield None


def _profiles(meanings: Sequence[Meaning]) -> Iterator[tuple[int, ...]]:
    """Profiles with places for what is alike in every question, and for an OR of ANDs."""
    sizes = [[len(group) for group in meaning.alike] for meaning in meanings]
    longest = max(map(len, sizes))
    alike = [max(one[place] for one in sizes if place < len(one)) for place in range(longest)]
    wanted = [
        tuple(longest - place for place, size in enumerate(alike) for _ in range(size)) or (1,),
        (1,) * max(1, *(len(meaning.ways_to_yes) for meaning in meanings)),
    ]
    yield from (profile for profile in wanted if len(profile) <= MOST_PLACES)
