"""The verdict on a question before it is asked, with two sides: would it find the partner, and would it let another
pass. Both are guesses from the owner's own table; what they claim is held to trials (`experiment verdicts`).

*Found* is the share of imagined partners that the question finds (`imagined`), said in words, for its level is off from
table to table. *Wrong* counts the other rows of the table that it fits, which are nearly always other things, and the
imagined impostors that pass. A verdict is good only where both sides are; it is bad at both ends. It names what the
question hangs on, and has two imagined partners that are missed and two impostors that pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

import numpy as np

from blindlabel.language.chain import Chain
from blindlabel.language.formula import Bits, Constant, Formula, evaluate
from blindlabel.language.in_words import asked_in_words
from blindlabel.language.question import Question
from blindlabel.language.record import Record
from blindlabel.language.suggestions.imagined import Imagined
from blindlabel.language.suggestions.own_table import OwnTable

NAMED = 10
"""Other rows that a verdict names."""
FEW_ROWS = 20
"""With fewer, an empty count rules out nothing worth saying."""


@dataclass(frozen=True)
class OwnRows:
    """How a question fits the rows of its owner's own table."""

    rows: int
    """Rows of the table; those that say exactly the same count once, since they tell nothing new."""
    others: int
    """Rows it fits besides its record, counted alike."""
    itself: bool
    """Whether it fits its record."""
    also: tuple[int, ...] = ()
    """Positions of the first of these others."""

    @property
    def too_few(self) -> bool:
        """Whether there are too few other rows to rule anything out."""
        return self.rows < FEW_ROWS

    @property
    def sentence(self) -> str:
        """For a person, with what an empty count can rule out: by the rule of three, more than 3 in this many."""
        rows = max(0, self.rows - 1)
        if self.others:
            share = f", 1 in {round(rows / self.others):,}" if 2 * self.others <= rows else ""
            return f"It fits {self.others:,} of the {rows:,} other rows of your table{share}."
        fewer = f"so probably fewer than 1 in {rows // 3:,} of others"
        rest = "which are too few to say anything" if self.too_few else fewer
        if rows < 2:
            return f"Your table has {'one other row' if rows else 'no other row'}, which is too little to say anything."
        return f"It fits none of the {rows:,} other rows of your table, {rest}."


def own_rows(question: Formula | Chain, table: OwnTable, record: Record) -> OwnRows:
    """Which rows of the table a question fits that was written for this record."""
    fits = table.fitting(question) & table.once
    fits[table.same_as(record)] = False
    found = np.flatnonzero(fits)
    itself = question.fits(record) if isinstance(question, Chain) else evaluate(question, record)
    return OwnRows(len(table.different), len(found), itself, tuple(found[:NAMED].tolist()))


# How probably it is found, in words


class Chance(NamedTuple):
    """A share of imagined partners from which on these words are said."""

    least: float
    words: str
    said: float
    """What the words say, as a share."""


CHANCES = (
    Chance(0.8, "about 9 in 10", 0.9),
    Chance(0.55, "about 8 in 10", 0.8),
    Chance(0.35, "about 6 in 10", 0.6),
    Chance(0.0, "about 1 in 3", 1 / 3),
)
"""Said of a question that finds more than this share of its imagined partners."""
OFF, SELDOM_OFF = 10, 18
"""Points by which the words were off over the questions of one table: on average, and in one table of ten."""
PILOT_OFF, PILOT_SELDOM_OFF = 6, 11
"""The same where 15 known pairs have set the level."""
USUAL, SPREAD_OF_LEVELS = 0.6, 1.0
"""By how much more is found than the share says, as log odds: usually, and how far that varies from table to table."""
A_PAIR = 2.0
"""Questions about one pair tell as much as this many about different ones."""
RELATIVES = 2 / 3
"""Where this share of imagined impostors passes, the verdict warns."""
MOST_FITS = 5
"""Above this many other rows a question is too loose."""
MOST_SIMILAR = 10
"""Rows that are looked at for how near they come."""
EXACT = frozenset({"is_in", "has_word", "equals", "starts_with", "ends_with"})
"""Predicates that fail if a word is misspelt; others may hold all the same."""
SHOWN = 2
"""Imagined partners that are missed, and impostors that pass, that are shown."""


@dataclass(frozen=True)
class Level:
    """What known pairs of a study say of how much is found; without any, nothing beyond the trials."""

    shift: float = 0.0
    """Log odds that are added to the share of imagined partners."""
    pairs: int = 0

    def set(self, found: float) -> float:
        """The share at this level."""
        return found if not self.pairs else _share(_odds(found) + self.shift)

    @property
    def in_words(self) -> str:
        """Which way it moves what is said."""
        more = "more" if self.shift > 0 else "less"
        return "as in trials." if abs(self.shift) < 0.3 else f"{more} is found than in trials."

    @property
    def sentence(self) -> str:
        """What is to be said beside any guess of what is found."""
        if not self.pairs:
            return (
                f"How probably it is found is a guess from your table alone: in trials it was off by {OFF} points on"
                f" average, and for one table in ten by {SELDOM_OFF} or more."
            )
        return (
            f"How probably it is found is a guess, its level set by {self.pairs} pairs that both owners know: in trials"
            f" with 15 it was off by {PILOT_OFF} points on average, and for one table in ten by {PILOT_SELDOM_OFF} or"
            " more."
        )


def chance_of_being_found(share: float) -> Chance:
    """What is said where this share of imagined partners is found."""
    return next(one for one in CHANCES if share > one.least or not one.least)


def _odds(share: float) -> float:
    kept = min(0.99, max(0.01, share))
    return log(kept / (1 - kept))


def _share(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def level_by(tried: Sequence[tuple[float, bool]], pairs: int) -> Level:
    """The level that makes the truth about questions on known pairs likeliest, given how levels vary."""
    shift = USUAL
    for _ in range(30):  # Newton's method; it settles in a few steps
        expected = [_share(_odds(share) + shift) for share, _ in tried]
        weight = A_PAIR * pairs / max(1, len(tried))
        slope = weight * sum(found - one for one, (_, found) in zip(expected, tried))
        curve = weight * sum(one * (1 - one) for one in expected)
        shift += (slope - (shift - USUAL) / SPREAD_OF_LEVELS) / (curve + 1 / SPREAD_OF_LEVELS)
    return Level(shift - USUAL, pairs)


VerdictKind = Literal[
    "always", "never", "not-itself", "loose", "too-strict", "others", "relatives", "few", "strict", "good"
]
RISKIEST: tuple[VerdictKind, ...] = get_args(VerdictKind)
"""All kinds, the worst first."""
_WORDS: Mapping[VerdictKind, tuple[str, str]] = MappingProxyType(
    {
        "always": ("always yes", "Always yes"),
        "never": ("always no", "Always no"),
        "not-itself": ("not itself", "Not even this one"),
        "loose": ("{n:,} others", "{n:,} of {rows:,} others: far too loose"),
        "too-strict": ("too strict", "Found {chance}: too strict"),
        "others": ("also {n:,} other{s}", "Also {n:,} other{s} of yours; found {chance}"),
        "relatives": ("imagined pass", "Found {chance}, but imagined relatives of it pass"),
        "few": ("few rows", "Found {chance}, but your table is too small to say who else would pass"),
        "strict": ("strict", "Found {chance}: strict"),
        "good": ("only this", "Only this record; found {chance}"),
    }
)
"""For each kind: in a few words, and what is said first."""


@dataclass(frozen=True)
class Verdict:
    """What is to be thought of a question."""

    kind: VerdictKind
    own: OwnRows
    found: float
    """The share of imagined partners that it finds. Never shown: it is no measurement."""
    relatives: float
    """The share of imagined impostors that pass."""
    risk: float
    """Orders questions by how probably they let somebody pass."""
    weakness: str = ""
    """What it hangs on, in a sentence."""
    missed: tuple[Record, ...] = ()
    """Imagined partners that it misses, the least damaged first."""
    passing: tuple[Record, ...] = ()
    """Imagined impostors that it lets pass."""

    @property
    def level(self) -> Literal["good", "warn", "bad"]:
        """How it is shown: good only where both sides are, bad at both ends."""
        if self.kind == "good":
            return "good"
        return "warn" if self.kind in ("others", "relatives", "few", "strict") else "bad"

    @property
    def others(self) -> int:
        """The other rows of the table that it fits."""
        return self.own.others

    @property
    def also(self) -> tuple[int, ...]:
        """Positions of the first of them, where they are worth looking at."""
        return self.own.also if self.kind != "always" else ()

    @property
    def chance(self) -> str:
        """How probably it finds the partner, in words."""
        return chance_of_being_found(self.found).words

    @property
    def brief(self) -> str:
        """In a few words, for a column."""
        return self._filled(_WORDS[self.kind][0])

    @property
    def headline(self) -> str:
        """What is said first."""
        return self._filled(_WORDS[self.kind][1])

    def _filled(self, words: str) -> str:
        count, chance = self.own.others, self.chance
        if self.kind in ("others", "relatives", "few") and chance == CHANCES[2].words:
            chance += " (strict)"
        return words.format(n=count, s="" if count == 1 else "s", rows=max(0, self.own.rows - 1), chance=chance)

    @property
    def detail(self) -> str:
        """And what is said then."""
        if self.kind in ("always", "never"):
            return f"It says {'yes' if self.kind == 'always' else 'no'} to every record, whatever that record says."
        if self.kind == "not-itself":
            return f"It says no to the record that it was written for. {self.own.sentence}"
        passing = self.relatives >= RELATIVES and self.kind != "relatives"
        relatives = "Imagined relatives of it pass, too." if passing else ""
        return " ".join(filter(None, (self.weakness, self.own.sentence, relatives)))


def verdict(
    question: Question, record: Record, table: OwnTable, imagined: tuple[Imagined, OwnTable], level: Level
) -> Verdict:
    """The verdict on a question that was written for this record. `imagined` are its imagined ones, and both of them,
    partners first, as a table.
    """
    formula, chain, (ones, as_table) = question.usable(), question.chain, imagined
    own = own_rows(formula, table, record)
    fits, partners = as_table.fitting(formula), len(ones.partners)
    found = level.set(float(np.mean(fits[:partners])))
    relatives = float(np.mean(fits[partners:])) if ones.impostors else 0.0
    risk = _nearly(chain, table, record) if chain is not None else float(own.others)
    return Verdict(
        _kind(formula, own, found, relatives),
        own,
        found,
        relatives,
        risk * 4**relatives,
        weakness_of(chain, record) if chain is not None else "",
        _first(ones.partners, ~fits[:partners]),
        _first(ones.impostors, fits[partners:]),
    )


def _kind(question: Formula, own: OwnRows, found: float, relatives: float) -> VerdictKind:
    if isinstance(question, Constant):
        return "always" if question.value else "never"
    if not own.itself:
        return "not-itself"
    if own.others > MOST_FITS or (own.others > 1 and 2 * own.others >= own.rows - 1):
        return "loose"
    if found <= CHANCES[2].least:
        return "too-strict"
    if own.others:
        return "others"
    if relatives >= RELATIVES:
        return "relatives"
    if own.too_few:
        return "few"
    return "strict" if found <= CHANCES[1].least else "good"


def _nearly(chain: Chain, table: OwnTable, record: Record) -> float:
    """The other rows that come nearest: one that passes counts for one, and every point that it lacks for a tenth of
    that.
    """
    lacking = np.maximum(0, chain.bar - table.points(chain))
    kept_out = table.kept_out(chain)
    kept_out[table.same_as(record)] = True
    return float(np.sum(np.sort(0.1 ** lacking[~kept_out])[-MOST_SIMILAR:]))


def _first(records: Sequence[Record], which: Bits) -> tuple[Record, ...]:
    """The first of these that differ from each other."""
    found = {records[place].whole: records[place] for place in np.flatnonzero(which).tolist()}
    return tuple(found.values())[:SHOWN]


def weakness_of(chain: Chain, record: Record) -> str:
    """What a question hangs on, in a sentence: what must be there, what decides alone, or how much may be lost.
    Conditions that the record itself lacks are not counted on.
    """
    conditions = [one for one in chain.conditions if Chain((one,), one.points).fits(record)]
    spare = sum(one.points for one in conditions) - chain.bar
    if not conditions or spare < 0:
        return ""
    must = [asked_in_words(one, record) for one in conditions if one.points > spare]
    alone = [asked_in_words(one, record) for one in conditions if one.points >= chain.bar]
    if len(conditions) == 1:
        return f"All hangs on {must[0]}."
    if len(must) == len(conditions):
        exact = all(atom.function in EXACT for one in conditions for term in one.any_of for atom in term)
        return "One misspelt word and it is missed." if exact else "Not one of its conditions may be lost."
    if len(alone) == 1:
        return f"{alone[0]} alone decides."
    if must:
        return f"Without {' or '.join(must[:2])} it is missed."
    heaviest = sorted((one.points for one in conditions), reverse=True)
    return "Any two conditions may be lost." if sum(heaviest[:2]) <= spare else "Any one condition may be lost."
