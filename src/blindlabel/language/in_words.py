"""A chain in words: line by line, as `explain` prints it, and as one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from blindlabel.language.chain import Chain, Condition, call_of, term_text
from blindlabel.language.formatter import number, quote
from blindlabel.language.formula import Atom, holds
from blindlabel.language.record import Record


def chain_in_words(chain: Chain) -> str:
    """A chain as its conditions and their bar, what is excluded, and unless."""
    shown = [" or ".join(map(term_text, one.any_of)) for one in chain.conditions]
    if not shown:
        lines = ["always"] if chain.bar <= 0 else ["never"]
    elif len(shown) == 1:
        lines = shown
    elif chain.bar == chain.total == len(shown):
        lines = ["all of:", *(f"  {one}" for one in shown)]
    elif chain.bar == 1:
        lines = ["any of:", *(f"  {one}" for one in shown)]
    else:
        points = [f"{one.points} point{'s' * (one.points != 1)}" for one in chain.conditions]
        lines = [f"at least {chain.bar} of these {chain.total} points:"]
        lines += [f"  {worth}: {one}" for worth, one in zip(points, shown)]
    for heading, terms in (("but not if:", chain.exclusions), ("unless:", chain.unless)):
        lines += [heading, *(f"  {term_text(term)}" for term in terms)] if terms else []
    return "\n".join(lines)


_MOST_WAYS = 4
_MOST_SAID = 10
"""Conditions that a sentence names one by one, over all ways together."""
_MOST_TRIED = 12


def asked_in_words(condition: Condition, record: Record | None = None) -> str:
    """What a condition asks for and, given a record, where that record has it."""
    return " or ".join(" and ".join(_named(atom, record) for atom in term) for term in condition.any_of)


_HOW = {
    "equals": "exactly",
    "starts_with": "the start",
    "ends_with": "the end",
    "sounds_like": "what sounds like",
    "similar": "what is similar to",
    "same_telephone": "the telephone",
    "near_date": "a date near",
    "near_year": "a year near",
}
"""How a predicate looks for its text, if not simply for the text itself."""


def _named(atom: Atom, record: Record | None) -> str:
    texts = [value for value in atom.arguments if isinstance(value, str)]
    if atom.function == "far_from":
        said = f"far from {number(Fraction(atom.arguments[0]))}"
    elif len(texts) == 1:
        asked = quote(texts[0])
        said = asked if atom.function in ("is_in", "has_word") else f"{_HOW.get(atom.function, atom.function)} {asked}"
    else:
        return call_of(atom, plain=True)
    if atom.view.attribute is not None:
        return f"{said} in {atom.view.attribute}"
    own = _attributes_with(atom, record) if record is not None and len(record.attributes) > 1 else []
    return f"{said} (your {own[0]})" if own else said


def _attributes_with(atom: Atom, record: Record) -> list[str]:
    """The attributes of a record in which a predicate on the whole record holds."""
    return [name for name in record.attributes if holds(replace(atom, view=replace(atom.view, attribute=name)), record)]


def sentence_of(chain: Chain, record: Record | None = None) -> str:
    """One plain sentence: what gives a yes, what takes it back, and what gives it back again."""
    said = [asked_in_words(one, record) for one in chain.conditions]
    if len(said) > 1:
        said = [f"({words})" if len(one.any_of) > 1 else words for words, one in zip(said, chain.conditions)]
    points = [one.points for one in chain.conditions]
    if chain.bar > sum(points):
        return "No to every record."
    ways = _ways(points, chain.bar)
    if chain.bar <= 0:
        yes = "Yes to every record"
    elif ways is not None:
        yes = "Yes if it has " + ", or ".join(" and ".join(said[place] for place in way) for way in ways)
    else:
        must = [place for place, worth in enumerate(points) if worth > sum(points) - chain.bar]
        rest = [place for place in range(len(points)) if place not in must]
        needed = chain.bar - sum(points[place] for place in must)
        yes = "Yes if it has " + " and ".join(said[place] for place in must)
        if needed > 0:
            how_many = _how_many([points[place] for place in rest], needed)
            named = ", ".join(said[place] for place in rest)
            yes += f"{', and ' if must else ''}enough of these {len(rest)} ({how_many}): {named}"
    below = [asked_in_words(Condition(terms), record) for terms in (chain.exclusions, chain.unless)]
    no = f"; not if it has {below[0]}" if below[0] else ""
    return f"{yes}{no}{f', unless it has {below[1]}' if below[1] else ''}."


def _how_many(points: Sequence[int], bar: int) -> str:
    """How many of conditions reach a bar: any of them, or the weightiest."""
    heaviest = sorted(points, reverse=True)
    any_of = next(count for count in range(1, 1 + len(points)) if sum(heaviest[-count:]) >= bar)
    fewest = next(count for count in range(1, 1 + len(points)) if sum(heaviest[:count]) >= bar)
    return f"any {any_of}" + (f", or the {fewest} weightiest" if fewest < any_of else "")


def _ways(points: Sequence[int], bar: int) -> list[tuple[int, ...]] | None:
    """The smallest combinations that reach the bar, if they are few."""
    if len(points) > _MOST_TRIED:
        return None
    every = [way for size in range(1 + len(points)) for way in combinations(range(len(points)), size)]
    reaching = [
        way
        for way in every
        if 0 <= sum(points[place] for place in way) - bar < min((points[place] for place in way), default=1)
    ]
    short = len(reaching) <= _MOST_WAYS and sum(map(len, reaching)) <= max(_MOST_SAID, len(points))
    return reaching if short else None
