"""Editing a question as points: what a click in the points view or on a word of the record does to it. Pure functions
over `PointsQuestion`; the text stays the one thing that is kept (`text_of` writes it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from blindlabel.language.formatter import number
from blindlabel.language.formula import Atom
from blindlabel.language.points import Condition, PointsQuestion, call_of
from blindlabel.language.record import View

MOST_POINTS = 9
MOST_CONDITIONS = 30
NOTHING = PointsQuestion((), 1)
"""The question that says no to everything: where one begins."""

Others = Callable[[tuple[Atom, ...]], int | None]
"""In how many other own rows any of these predicates holds; None while the table is being read."""


def words_of(atom: Atom) -> str | None:
    """What a predicate looks for, where that is one text."""
    texts = [value for value in atom.arguments if isinstance(value, str)]
    return texts[0] if len(texts) == 1 else None


# What the browser gets


def view_of(points: PointsQuestion, others: Others, reasons: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The question line by line; `reasons` say why a suggested condition is there, by how it is written."""
    why = reasons or {}
    return {
        "conditions": [
            _line(condition.any_of, others, why)
            | {"points": condition.points, "enough": condition.points >= points.bar}
            for condition in points.conditions
        ],
        "exclusions": [
            _line((atom,), others, why) | {"summary": summary_of(Condition((atom,)))} for atom in points.exclusions
        ],
        "bar": points.bar,
        "total": points.total,
        "enough": [summary_of(condition) for condition in points.conditions if condition.points >= points.bar]
        if len(points.conditions) > 1
        else [],
    }


def _line(atoms: tuple[Atom, ...], others: Others, why: Mapping[str, str]) -> dict[str, Any]:
    atom = atoms[0]
    text = " or ".join(call_of(one, plain=True) for one in atoms)
    words = words_of(atom) if len(atoms) == 1 else None
    return {
        "function": atom.function if len(atoms) == 1 else "any of",
        "words": words,
        "field": atom.view.attribute or "",
        "text": text,
        "why": why.get(text, ""),
        "others": others(atoms),
    }


def summary_of(condition: Condition) -> str:
    """What a condition asks for, in a few words."""
    found = []
    for atom in condition.any_of:
        words = words_of(atom)
        if atom.function == "far_from":
            words = f"far from {number(Fraction(atom.arguments[0]))}"
        place = f" in {atom.view.attribute}" if atom.view.attribute else ""
        found.append(f"{words}{place}" if words is not None else call_of(atom, plain=True))
    return " or ".join(found)


def summary(points: PointsQuestion) -> str:
    """A question in one line: `vm400s 4, sanus 2, mount 1: 5 points are enough; not: tv`."""
    asked = ", ".join(f"{summary_of(one)} {one.points}" for one in points.conditions) or "no condition"
    needed = f"{points.bar} point{'s are' if points.bar != 1 else ' is'} enough"
    excluded = f"; not: {', '.join(summary_of(Condition((atom,))) for atom in points.exclusions)}"
    return f"{asked}: {needed}{excluded if points.exclusions else ''}"


# What a person does


def edited(points: PointsQuestion, edit: Mapping[str, Any], view: Callable[[str], View]) -> PointsQuestion:
    """The question after one edit in the points view. `view` gives the view of a field (or of the whole record)."""
    kind, place = edit["kind"], int(edit.get("place", 0))
    if kind == "bar":
        return replace(points, bar=min(max(1, int(edit["value"])), max(1, points.total)))
    if kind == "exclude":
        return replace(points, exclusions=(*points.exclusions, _asked(edit, view)))
    if kind == "include-not":
        return replace(points, exclusions=_without(points.exclusions, place))
    if kind == "add":
        return with_condition(points, Condition((_asked(edit, view),), int(edit.get("points", 1))))
    if not 0 <= place < len(points.conditions):
        return points
    if kind == "remove":
        return within(replace(points, conditions=_without(points.conditions, place)))
    condition = points.conditions[place]
    if kind == "points":
        condition = replace(condition, points=min(max(1, int(edit["value"])), MOST_POINTS))
    elif kind == "change":
        condition = replace(condition, any_of=(_changed(condition.any_of[0], edit, view),))
    return within(replace(points, conditions=(*points.conditions[:place], condition, *points.conditions[place + 1 :])))


def _without(parts: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return parts[:place] + parts[place + 1 :]


def _asked(edit: Mapping[str, Any], view: Callable[[str], View]) -> Atom:
    return Atom(str(edit["function"]), (str(edit["words"]),), view(str(edit.get("field", ""))))


def _changed(atom: Atom, edit: Mapping[str, Any], view: Callable[[str], View]) -> Atom:
    """The predicate with another function, text or field; what else it was given stays where it fits."""
    words, function = str(edit["words"]), str(edit["function"])
    arguments = (
        tuple(words if isinstance(value, str) else value for value in atom.arguments)
        if function == atom.function
        else (words,)
    )
    field = str(edit["field"])
    return Atom(function, arguments, atom.view if field == (atom.view.attribute or "") else view(field))


def with_condition(points: PointsQuestion, condition: Condition) -> PointsQuestion:
    """The question with one condition more; the bar stays."""
    if len(points.conditions) >= MOST_CONDITIONS:
        return points
    return replace(points, conditions=(*points.conditions, condition))


def within(points: PointsQuestion) -> PointsQuestion:
    """The bar no higher than all points together, so that the question can say yes at all."""
    return replace(points, bar=max(1, min(points.bar, points.total))) if points.conditions else replace(points, bar=1)


def place_of(points: PointsQuestion, word: str) -> int | None:
    """Which condition asks for exactly this word."""
    for place, condition in enumerate(points.conditions):
        if len(condition.any_of) == 1 and words_of(condition.any_of[0]) == word:
            return place
    return None


def points_for(others: int | None, rows: int, word: str) -> int:
    """What a clicked word is worth: the rarer in the own rows, the more; codes with digits most."""
    if others is None:
        return 1
    if others == 0:
        return 4 if any(character.isdigit() for character in word) and len(word) > 3 else 3
    return 2 if others <= max(2, rows // 100) else 1


def sensible_bar(points: PointsQuestion, most_of_others: int) -> int:
    """A bar for a question made of clicked words: more than any other own row has, and at least half of the points, so
    that a misspelt word costs nothing.
    """
    return max(1, min(points.total, max(most_of_others + 1, -(-points.total // 2))))


# What changed


def difference(before: PointsQuestion, after: PointsQuestion) -> str:
    """What another question does differently, in words."""
    was = {_key(condition.any_of): condition for condition in before.conditions}
    now = {_key(condition.any_of): condition for condition in after.conditions}
    said = [f"without {summary_of(one)}" for key, one in was.items() if key not in now]
    said += [f"with {summary_of(one)} ({one.points})" for key, one in now.items() if key not in was]
    said += [
        f"{summary_of(one)} {was[key].points} → {one.points}"
        for key, one in now.items()
        if key in was and was[key].points != one.points
    ]
    if before.bar != after.bar:
        said.append(f"enough: {before.bar} → {after.bar}")
    excluded, excludes = ({_key((atom,)) for atom in one.exclusions} for one in (before, after))
    said += [f"not: {summary_of(Condition((a,)))}" for a in after.exclusions if _key((a,)) not in excluded]
    said += [f"no longer not: {summary_of(Condition((a,)))}" for a in before.exclusions if _key((a,)) not in excludes]
    return "; ".join(said) or "the same"


def _key(atoms: Iterable[Atom]) -> tuple[object, ...]:
    return tuple((atom.function, atom.arguments, atom.view) for atom in atoms)
