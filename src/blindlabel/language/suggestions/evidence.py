"""What it says about another record that it has a needle. For the record: how probably a true partner has it, against
how probably something that could be mistaken for the record has it too. Against it: what speaks for another own row.

A row of the table that gets as many points as are asked for is another thing all the same. Where it has an identifier,
a year or a name that the record lacks, the other record must not have that; where it has none, a word in place of one
of the record's ("professional" for "home"). There are a few such exclusions at most, and only against rows that the
points let pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2, sqrt

from blindlabel.language import words
from blindlabel.language.functions import PREDICATES
from blindlabel.language.suggestions.needles import (
    SHORTEST_PART,
    Asking,
    Found,
    Needle,
    NeedleKind,
    Texts,
    kind_of,
    needles_of,
)
from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.suggestions.profiles import Profile, Siblings
from blindlabel.language.words import words_in_order

IDENTIFYING: frozenset[NeedleKind] = frozenset({"identifier", "piece"})
RELIED_ON = 0.6
"""An identifier that a partner has with this probability is how the record is named."""
LEAST_RATIO = 1.15
"""What a partner has hardly more probably than others tells nothing."""
RAREST, MOST_COMMON = 0.03, 0.97
FEW_ROWS = 20
"""With fewer rows, shares of the table say nothing."""
LATE = 12
"""Words after which a word is as late as any."""
LONGEST_RUN_TOGETHER = 2
MANY_CODED = 0.3
"""Where this share of rows has an identifier, things are named by them."""


@dataclass(frozen=True)
class Evidence:
    """A needle weighed."""

    found: Found
    rows: int
    """Own rows that have it, this one included."""
    partner: float
    """How probably a true partner has it."""
    mistaken: float
    """How probably something like the record, but not it, has it."""
    apart: int
    """How many of the nearest rows of the table do not have it."""
    anybody: float = 1.0
    """How probably any other record has it."""
    far: float = 0.0
    """How much telling the record from any other counts, beside telling it from its like."""

    @property
    def kind(self) -> NeedleKind:
        """What kind of thing it is."""
        return self.found.kind

    @property
    def unique(self) -> bool:
        """Whether it is an identifier that no other row of the table has: enough by itself. Half of one is not."""
        return self.kind in IDENTIFYING and self.rows <= 1 and not self.half

    @property
    def half(self) -> bool:
        """Whether it is half of an identifier, or less."""
        return _is_half(self.found)

    @property
    def idle(self) -> bool:
        """Whether a partner has it hardly more probably than others."""
        return self.partner <= LEAST_RATIO * min(other for share, other in self._others if share)

    def bits(self, most: float) -> float:
        """The difference between having it and not, in bits."""
        return sum(
            share * (min(most, log2(self.partner / other)) + log2((1 - other) / (1 - self.partner)))
            for share, other in self._others
        )

    @property
    def tells(self) -> float:
        """Bits expected from asking for it, if the other record is the partner."""
        having, lacking = self.partner, 1 - self.partner
        return sum(
            share * (having * log2(having / other) + lacking * log2(lacking / (1 - other)))
            for share, other in self._others
        )

    @property
    def _others(self) -> tuple[tuple[float, float], ...]:
        """What it tells the record from: its like and, where words are often misspelt, any other."""
        return (1 - self.far, self.mistaken), (self.far, min(self.mistaken, max(RAREST, self.anybody)))

    @property
    def rarity(self) -> float:
        """Bits that it says against any other record."""
        return -log2(self.anybody)


@dataclass(frozen=True)
class Circumstances:
    """What a record's needles are weighed by."""

    rows: int
    """Rows of the owner's table."""
    near: Sequence[Texts]
    """Texts of the nearest rows of the table that are other things."""
    profiles: Mapping[str, Profile]
    lengths: Mapping[str, int]
    """Words of each attribute of the record."""
    spelt: float
    """How far the table's spelling can be relied on: 1, and less where words are often misspelt."""
    singles_misspelt: float
    """The share of words in one own row only that look misspelt."""
    presence: Mapping[str, float]
    """How probably a true partner has a value in each attribute."""
    priors: Priors
    siblings: Siblings = field(default_factory=Siblings)
    """What siblings share."""
    lonely: float = 0.0
    """How far the record has no siblings among the owner's rows: 0 to 1."""

    @property
    def misspelt(self) -> float:
        """How far words are often misspelt: 0 to 1."""
        return min(1.0, (1 - self.spelt) / self.priors.often_misspelt)

    @property
    def doubtful(self) -> float:
        """How far a word in one own row only may be misspelt: 0 to 1."""
        return max(self.misspelt, min(1.0, self.singles_misspelt / self.priors.singles_misspelt))


def weigh_all(found: Sequence[tuple[Found, int]], given: Circumstances) -> list[Evidence]:
    """The evidence of all needles, each with the owner's rows that have it."""
    partners = [(one, rows, min(given.priors.most, chance_of(one, rows, given))) for one, rows in found]
    identified = any(one.kind in IDENTIFYING and rows <= 1 and partner >= RELIED_ON for one, rows, partner in partners)
    evidence: list[Evidence] = []
    for one, rows, partner in partners:
        having = sum(holds(one.needle, texts) for texts in given.near)
        mistaken = _mistaken(one, rows, having, given, identified=identified)
        anybody = min(1.0, (rows - 0.5) / given.rows)
        far = given.priors.far * given.misspelt
        evidence.append(Evidence(one, rows, partner, mistaken, len(given.near) - having, anybody, far))
    return evidence


def _mistaken(found: Found, rows: int, having: int, given: Circumstances, *, identified: bool) -> float:
    """How probably something like the record, but not it, has a needle that this many of the nearest rows of the table
    have.
    """
    priors = given.priors
    common = max(rows - 1, 0.5) / max(1, given.rows)
    chance = (having + priors.smoothing * common) / (len(given.near) + priors.smoothing)
    of_text = _of_text(found, given.profiles)
    if found.kind in IDENTIFYING:
        least = priors.rarest_identifier
    elif found.kind == "number" and not (of_text and len(found.word) < SHORTEST_PART):
        least = priors.rarest_number
    else:
        least = priors.rarest_word
    if identified and found.kind not in IDENTIFYING and of_text:
        least = max(least, priors.rarest_beside_identifier)
    mistaken = max(chance, rows / given.rows if given.rows > FEW_ROWS else 0.0, least)
    if given.lonely:
        shared = given.siblings.share(found) - mistaken
        expected = priors.of_family * given.misspelt * given.lonely * shared
        mistaken += priors.of_household * max(0.0, shared) if given.siblings.expected else expected
    return min(MOST_COMMON, mistaken)


def _of_text(found: Found, profiles: Mapping[str, Profile]) -> bool:
    return any(profiles[name].kind == "text" for name in found.attributes)


def _is_half(found: Found) -> bool:
    return found.kind == "piece" and 2 * len(found.needle.text) <= len(found.word) + 1


def holds(needle: Needle, texts: Texts) -> bool:
    """Whether a row of texts in lower case has a needle."""
    looked_at = texts.values() if needle.attribute is None else (texts[needle.attribute],)
    if needle.function == "is_in":
        return any(needle.text in text for text in looked_at)
    if needle.function == "has_word":
        return any(needle.text in words.words_of(text) for text in looked_at)
    if needle.function == "is_empty":
        return not any(looked_at)
    meaning, arguments = PREDICATES[needle.function].meaning, needle.arguments
    return any(meaning(text, arguments) for text in looked_at)


def chance_of(found: Found, rows: int, given: Circumstances) -> float:
    """How probably a true partner has it, by what it is and where it comes from."""
    priors, profiles = given.priors, given.profiles
    if not _of_text(found, profiles):
        chances = {"year": priors.year, "amount": priors.amount, "count": priors.count}
        return given.spelt * max(chances[profiles[name].kind] * given.presence[name] for name in found.attributes)

    def reliance_of(name: str, *, identifier: bool = False) -> float:
        return profiles[name].reliance(priors, identifier=identifier) * given.presence[name]

    if found.kind in IDENTIFYING:
        reliance = max(reliance_of(name, identifier=True) for name in found.attributes)
        chance = priors.identifier if found.kind == "identifier" else priors.piece
        digits = priors.digits if found.word.isdigit() else 1.0
        # Half of a number is hit by half of the errors.
        spelt = sqrt(given.spelt) if _is_half(found) else given.spelt
        return chance * reliance * digits * spelt
    chance = {"number": priors.number, "initial": priors.initial}.get(found.kind, priors.word)
    if found.kind == "word" and rows <= 1:
        chance += (priors.single_word - chance) * given.doubtful
    best = max(found.attributes, key=reliance_of)
    longer: float = min(1.0, priors.usual_length * profiles[best].words / max(1, given.lengths[best])) ** priors.longer
    coded = max(profiles[name].identifiers for name in found.attributes)
    plain = (1 - priors.coded * min(1.0, coded / MANY_CODED)) * (1 - priors.later * min(1.0, found.place / LATE))
    return chance * reliance_of(best) * longer * plain * given.spelt * _usual(found, profiles, priors)


def _usual(found: Found, profiles: Mapping[str, Profile], priors: Priors) -> float:
    """How far a number, or a word of two letters, is what its attributes usually hold: a number where few values have
    one is a leftover, two letters where names have initials are two of those.
    """
    several = [profiles[name] for name in found.attributes if profiles[name].kind == "text"]
    if found.kind == "number":
        share = min(1.0, max(profile.numbers for profile in several) / priors.numbers_usual)
        return priors.unusual_number + (1 - priors.unusual_number) * share
    run_together = found.kind == "word" and len(found.word) == LONGEST_RUN_TOGETHER
    if run_together and all(profile.initials >= priors.initials_usual for profile in several):
        return priors.run_together
    return 1.0


# But not

MISSPELT_BY = 2
NAMES_A_KIND = 3
"""Own rows with a word from which on it is taken to name a kind of thing."""
SLOWLY = 4
IN_ANY_RECORD = 0.1
"""A word that a larger share of the table's rows has may stand in any record."""
SHORTEST_EXCLUDED = 4
"""Shorter words are found inside others."""
Speaking = Sequence[tuple[Texts, Sequence[Found]]]
"""Own rows that the points let pass, each with what speaks for it, best first."""


def exclusions_of(named: Speaking, apart: Speaking, most: int) -> list[Found]:
    """At most this many needles: first what `named` rows are named by otherwise, then what sets other rows `apart`."""
    chosen: dict[Needle, Found] = {}
    for row, needles in (*named, *apart):
        if len(chosen) < most and needles and not any(holds(needle, row) for needle in chosen):
            chosen[needles[0].needle] = needles[0]
    return list(chosen.values())


def set_apart(
    texts: Texts, row: Texts, rows_having: Callable[[str], int], rows: int, doubtful: float, asking: Asking
) -> list[Found]:
    """Words that a row has in place of words of the record, the rarest first, where several own rows have either: the
    more, the more `doubtful` words are, for a damaged row is often about the same thing as one that says more.
    """
    least = NAMES_A_KIND / max(1e-9, 1 - doubtful**SLOWLY)
    theirs = {word: name for name, text in row.items() for word in words_in_order(text)}
    own = {word for text in texts.values() for word in words_in_order(text)}
    if "is_in" not in asking.functions or not any(
        len(word) >= SHORTEST_EXCLUDED - 1 and rows_having(word) >= NAMES_A_KIND for word in own - theirs.keys()
    ):
        return []
    found = [
        Found(Needle("is_in", word, None if asking.whole else name), "word", (name,), word)
        for word, name in theirs.items()
        if kind_of(word) == "word"
        and SHORTEST_EXCLUDED <= len(word) <= asking.limits.needle_length
        and least <= rows_having(word) <= IN_ANY_RECORD * rows
        and not any(word in text for text in texts.values())
    ]
    return sorted(found, key=lambda one: (rows_having(one.word), one.word))


@dataclass(frozen=True)
class Naming:
    """What names rows of a table."""

    asking: Asking
    years: frozenset[str]
    """The attributes that hold a year."""
    spelt: bool
    """Whether words are seldom misspelt."""
    telling: frozenset[str] = frozenset()
    """Where they are not: the attributes that tell siblings apart, as far as that is known."""

    def otherwise(self, texts: Texts, row: Texts, *, identified: bool) -> list[Found]:
        """What names another row and not the record; nothing where the row may be about the same thing. Where words are
        often misspelt, a word that differs from one of the record by a letter or two says nothing, and the row must
        differ where siblings do (in the given name), or, where that is not known, in two things: with one, it may be
        about the same. Where the record has no identifier (not `identified`), another's says nothing: it may be the
        record's own, left out.
        """
        named = [
            one
            for one in self._named_by(texts, row)
            if identified or one.kind != "identifier"
            if not any(
                holds(Needle(one.needle.function, one.needle.text, name), texts) for name in _looked_at(one, texts)
            )
            and (self.spelt or self._is_age(one) or not _like_own(one, texts))
        ]
        if self.telling:
            return [one for one in named if not self.telling.isdisjoint(one.attributes)]
        return named if len({one.attributes for one in named}) >= (1 if self.spelt else 2) else []

    def _named_by(self, texts: Texts, row: Texts) -> list[Found]:
        """What names the row, best first: identifiers, years where the record has another, single words (a given name)
        where the record has another, and numbers that tell siblings apart (an age). A price or a quantity names
        nothing.
        """
        found = needles_of(row, self.years, self.asking)
        identifiers = [one for one in found if one.kind == "identifier"]
        years = [one for one in found if one.needle.attribute in self.years and texts[one.attributes[0]]]
        single = {
            name
            for name, text in texts.items()
            if name not in self.years and len(words_in_order(text)) == 1 == len(words_in_order(row[name]))
        }
        alone = [one for one in found if len(one.attributes) == 1 and one.attributes[0] in single]
        names = [one for one in alone if one.kind == "word"]
        ages = [one for one in alone if self._is_age(one)]
        return [*identifiers, *years, *self._as_words(names), *self._as_words(ages)]

    def _is_age(self, found: Found) -> bool:
        """Whether it is a number that tells siblings apart."""
        return found.kind == "number" and not self.telling.isdisjoint(found.attributes)

    def _as_words(self, found: Sequence[Found]) -> list[Found]:
        """Looked for as words of their attribute, where the agreement encodes that; else of the whole record; else
        anywhere, unless they are short.
        """
        if "has_word" in self.asking.functions:
            by_attribute = self.asking.single_attributes or not self.asking.whole
            return [
                replace(one, needle=Needle("has_word", one.word, one.attributes[0] if by_attribute else None))
                for one in found
            ]
        return [one for one in found if one.needle.function == "is_in" and len(one.word) >= SHORTEST_EXCLUDED]


def _looked_at(found: Found, texts: Texts) -> list[str]:
    """Where the record must lack what names another: everywhere, for names are exchanged; a year in its attribute."""
    return [found.needle.attribute] if found.kind == "number" and found.needle.attribute else list(texts)


def _like_own(found: Found, texts: Texts) -> bool:
    """Whether a word of the same attributes of the record may be the same word, spelt otherwise."""
    own = {word for name in found.attributes for word in words_in_order(texts[name])}
    return any(words.within_distance(found.word, word, MISSPELT_BY) for word in own)
