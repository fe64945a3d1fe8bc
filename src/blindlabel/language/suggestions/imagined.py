"""Plausible partners of a record, and plausible impostors, made up from its owner's table alone. Judges nothing.

An imagined partner keeps each word of the record with the probability by which suggestions are weighed
(`evidence.chance_of`), and has a value as often as rows with the same other values have it. Some partners are damaged
more than others (`severity`), and if values have codes and numbers, as names of products do, what comes late in them is
left out sooner. A word that is lost is left out, misspelt, cut, split or replaced, as things of its kind are; a value
with a type has one form, so it is never written differently. An impostor is another thing that looks like the record:
the next model, a sibling, or half of the record and half of a similar row; a person's differs in what is one person's
own. The table's rows themselves need not be imagined: a verdict counts all of them.

The same ones are imagined whenever a record is opened: chance comes from its text alone, and nothing secret depends on
it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp, log
from random import Random

from blindlabel.language import words
from blindlabel.language.record import Record
from blindlabel.language.suggestions.evidence import Circumstances, chance_of
from blindlabel.language.suggestions.needles import Found, Needle, Texts, kind_of
from blindlabel.language.words import words_in_order

PARTNERS, IMPOSTORS = 120, 20
"""How many are imagined of each."""
NEAREST = 8
"""Rows of the table that impostors are half of."""
SPREAD = 1.0
"""How much partners differ in how damaged they are."""
MISSING, CHANGED = 0.01, 0.03
"""How often a value is missing that all similar rows have; and how often it is another: moved, or a new number."""
LATER = 0.065
"""How much sooner each further word is left out, where every value has a code or a number."""
LIGHTLY = 0.4
"""How damaged an impostor is besides."""


@dataclass(frozen=True)
class Imagined:
    """The imagined ones of a record."""

    partners: tuple[Record, ...]
    impostors: tuple[Record, ...]


class Imagination:
    """Makes them for the records of one table. `typed` are the attributes whose values have one form; `personal` those
    that members of a household do not share, where the table is about persons.
    """

    def __init__(
        self,
        rows: Sequence[Texts],
        attributes: Sequence[str],
        typed: Collection[str] = (),
        personal: Collection[str] = (),
    ) -> None:
        self._typed, self._personal = frozenset(typed), frozenset(personal)
        self._values = {name: [row[name] for row in rows if row[name]] for name in attributes}
        self._different = {name: len(set(values)) for name, values in self._values.items()}

    def of(self, texts: Texts, near: Sequence[Texts], given: Circumstances, rarity: Callable[[str], int]) -> Imagined:
        """Those of a record whose nearest rows of the table are these; `rarity` says in how many rows of the table a
        word stands.
        """
        making = _Making(self._typed, given, rarity, Random("\n".join(texts.values())))  # noqa: S311 (no secret)
        # What a record lacks, its partner has half as probably as others do.
        rest = 1 - given.priors.half
        presence = {name: had * (1 - MISSING) if texts[name] else had - rest for name, had in given.presence.items()}
        partners = [self._partner(texts, presence, severity(place), making) for place in range(PARTNERS)]
        told = [name for name, text in texts.items() if text and given.profiles[name].kind == "text"]
        told.sort(key=lambda name: -self._different[name])
        impostors = (self._impostor(texts, near, told, place, presence, making) for place in range(IMPOSTORS))
        return Imagined(tuple(partners), tuple(one for one in impostors if one is not None))

    def _impostor(
        self,
        texts: Texts,
        near: Sequence[Texts],
        told: Sequence[str],
        place: int,
        presence: dict[str, float],
        making: _Making,
    ) -> Record | None:
        """Another thing, lightly damaged. Somewhere it says otherwise than the record does, in what things are told
        apart by: not in an amount, an age or a year alone, nor by saying less; of a person, in what is one person's
        own. None if a few attempts find none.
        """
        chance, made = making.chance, texts
        apart = self._own(told) or told
        for way in ((_next_model, self._sibling, _mixture)[place % 3], self._sibling, _mixture, self._sibling):
            other = chance.choice(near[:NEAREST]) if near else {name: self._another(name, chance) for name in texts}
            made = way(texts, other, chance, told)
            if any(not set(words_in_order(made[name])) <= set(words_in_order(texts[name])) for name in apart):
                break
        else:
            return None
        damaged = self._partner(made, presence, LIGHTLY, making)
        return Record.of({**damaged.attributes, **{name: made[name] for name in told if made[name] != texts[name]}})

    def _own(self, told: Sequence[str]) -> list[str]:
        """What tells a person best from another of its household, of these attributes in the order of how telling."""
        return [name for name in told if name in self._personal][:1]

    def _another(self, name: str, chance: Random) -> str:
        return chance.choice(self._values[name]) if self._values[name] else ""

    def _partner(self, texts: Texts, presence: dict[str, float], damage: float, making: _Making) -> Record:
        made: dict[str, str] = {}
        for name, text in texts.items():
            if not text:
                made[name] = self._another(name, making.chance) if making.chance.random() < presence[name] else ""
            elif making.chance.random() > presence[name] ** damage:
                made[name] = ""
            elif len(texts) > 2 and making.chance.random() < CHANGED * damage:
                made[name] = self._another(name, making.chance)
            else:
                made[name] = making.retold(name, text, damage)
        return Record.of(made)

    def _sibling(self, texts: Texts, other: Texts, chance: Random, told: Sequence[str]) -> Texts:
        """One or two of the values that tell rows apart are another row's; of persons also what is most their own."""
        if len(told) == 1:
            return _mixture(texts, other, chance)
        changed = chance.sample(told[:4], chance.choice((1, 2)) if told else 0) + self._own(told)
        return {**texts, **{name: self._another(name, chance) for name in changed}}


class _Making:
    """How the values of one record are retold."""

    def __init__(
        self, typed: Collection[str], given: Circumstances, rarity: Callable[[str], int], chance: Random
    ) -> None:
        self._typed, self._given, self._rarity, self.chance = typed, given, rarity, chance
        self._known: dict[tuple[str, str], list[tuple[str, float]]] = {}

    def retold(self, name: str, text: str, damage: float) -> str:
        """A value as a partner has it that is so damaged."""
        known = self._known.get((name, text))
        if known is None:
            parts = [text] if name in self._typed else words_in_order(text)
            kept = [(part, self._kept(name, part, place)) for place, part in enumerate(parts)]
            known = self._known[name, text] = kept
        lost = [self.chance.random() > kept**damage for _, kept in known]
        if not any(lost):
            return text
        said = (self._instead(name, part) if gone else part for (part, _), gone in zip(known, lost))
        return " ".join(filter(None, said))

    def _kept(self, name: str, part: str, place: int) -> float:
        """How probably a partner that has a value there has this word of it."""
        found = Found(Needle("is_in", part), kind_of(part), (name,), words.lower(part), place)
        priors = self._given.priors
        chance = chance_of(found, self._rarity(part), self._given) / self._given.presence[name]
        profile = self._given.profiles[name]
        return min(priors.most, chance) * exp(-LATER * (profile.identifiers + profile.numbers) * place)

    def _instead(self, name: str, part: str) -> str:
        """What stands in place of a word that is lost."""
        chance, profile, kind = self.chance, self._given.profiles[name], kind_of(part)
        if profile.kind == "amount" and part.isdigit():
            return str(round(int(part) * chance.choice((0.7, 0.85, 0.93, 1.06, 1.15, 1.4))))
        if profile.kind != "text" and part.isdigit():
            return str(int(part) + chance.choice((-1, 1)))
        if name in self._typed or chance.random() < 0.1 + 0.7 * self._given.misspelt:
            return misspelt_word(part, chance)
        if kind == "identifier" and chance.random() < 0.5:
            changes = (place for place in range(1, len(part)) if part[place - 1].isdigit() != part[place].isdigit())
            cut = next(changes, len(part) // 2)
            return chance.choice((part[:-1], f"{part[:cut]} {part[cut:]}"))
        initials = profile.initials >= self._given.priors.usual
        return part[0] if initials and kind == "word" and chance.random() < 0.5 else ""


def severity(place: int, count: int = PARTNERS) -> float:
    """How damaged the partner at this place of this many is: 1 on average."""
    return max(0.0, 1 + SPREAD * (-log(1 - (place + 0.5) / count) - 1))


def misspelt_word(word: str, chance: Random) -> str:
    """The word with a letter left out, doubled, replaced, or exchanged with the next."""
    place = chance.randrange(len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    other = chance.choice("0123456789" if letter.isdigit() else "aeiorstn")
    ways = (after, letter + letter + after, other + after, after[:1] + letter + after[1:])
    return before + chance.choice(ways)


def _next_model(texts: Texts, _other: Texts, chance: Random, _told: Sequence[str] = ()) -> Texts:
    """The next model or size: one digit is another in most words that are more than a number. A number alone that
    differs by a digit (a telephone, an age, a house) speaks for a typing error rather than for another thing.
    """

    def next_of(word: str) -> str:
        digits = [place for place, letter in enumerate(word) if letter in "0123456789"]
        if not digits or len(digits) == len(word) or chance.random() < 0.2:
            return word
        place = chance.choice(digits)
        return f"{word[:place]}{(int(word[place]) + chance.choice((1, 2, 5))) % 10}{word[place + 1 :]}"

    return {name: " ".join(map(next_of, text.split(" "))) for name, text in texts.items()}


def _mixture(texts: Texts, other: Texts, chance: Random, _told: Sequence[str] = ()) -> Texts:
    """Half of the record and half of another, by attribute; by word where there is one attribute only."""
    if sum(map(bool, texts.values())) > 1:
        return {name: text if chance.random() < 0.5 else other[name] for name, text in texts.items()}

    def mixed(own: list[str], others: list[str]) -> str:
        fresh = (word for word in others if word not in own and chance.random() < 0.5)
        return " ".join(chain((word for word in own if word in others or chance.random() < 0.5), fresh))

    return {name: mixed(words_in_order(text), words_in_order(other[name])) for name, text in texts.items()}
