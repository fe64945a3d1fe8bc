"""What a needle says about another record that has it.

For the record: how probably a true partner has it, and how probably something that could be mistaken for the record
has it too. Against the record: what points to another row that the points let pass. If that row has an identifier, a
year or a name that the record lacks, the other record must not have that; if it has none, a number or a word in place
of one of the record's ("32gb" for "16gb", "professional" for "home").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2, sqrt

from blindlabel.language import words
from blindlabel.language.functions import PREDICATES
from blindlabel.language.suggestions.needles import (
    SHORTEST_MIXED,
    SHORTEST_PART,
    Asking,
    Found,
    Needle,
    NeedleKind,
    Texts,
    kind_of,
    needles_of,
    unit_of,
)
from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.suggestions.profiles import SEVERAL, Profile
from blindlabel.language.words import words_in_order

IDENTIFYING: frozenset[NeedleKind] = frozenset({"identifier", "piece"})


@dataclass(frozen=True)
class Evidence:
    """A needle weighed."""

    found: Found
    rows: int
    """Rows of the table that have it, this one included."""
    partner: float
    """How probably a true partner has it."""
    mistaken: float
    """How probably something like the record, but not it, has it."""
    apart: int
    """How many of the nearest rows of the table do not have it."""
    anybody: float = 1.0
    """How probably any other record has it."""

    @property
    def unique(self) -> bool:
        """Whether it is an identifier that no other row of the table has: enough by itself. Half of one is not."""
        return self.found.kind in IDENTIFYING and self.rows <= 1 and not self.found.half

    def bits(self, most: float) -> float:
        """The difference between having it and not, in bits."""
        return min(most, log2(self.partner / self.mistaken)) + log2((1 - self.mistaken) / (1 - self.partner))

    @property
    def tells(self) -> float:
        """Bits expected from asking for it, if the other record is the partner."""
        having, lacking = self.partner, 1 - self.partner
        return having * log2(having / self.mistaken) + lacking * log2(lacking / (1 - self.mistaken))

    @property
    def rarity(self) -> float:
        """Bits that it says against any other record."""
        return -log2(self.anybody)


@dataclass(frozen=True)
class Circumstances:
    """What a record's needles are weighed by."""

    rows: int
    """Rows of the owner's table."""
    profiles: Mapping[str, Profile]
    priors: Priors
    spelt: float = 1.0
    """How far the table's spelling can be relied on: 1, and less where words are often misspelt."""
    singles_misspelt: float = 0.0
    """Of the words that only one row has, the share that look misspelt."""
    household: frozenset[str] = frozenset()
    """What members of a household share, where the criteria speak of one person."""
    near: Sequence[Texts] = ()
    """Texts of the nearest rows of the table that are other things."""
    lengths: Mapping[str, int] = field(default_factory=dict)
    """Words of each attribute of the record."""
    presence: Mapping[str, float] = field(default_factory=dict)
    """How probably a true partner has a value in each attribute."""

    @property
    def misspelt(self) -> float:
        """How far words are often misspelt: 0 to 1."""
        return min(1.0, (1 - self.spelt) / self.priors.usual)

    @property
    def doubtful(self) -> float:
        """How likely a word that only one row has is misspelt: 0 to 1."""
        return max(self.misspelt, min(1.0, self.singles_misspelt / self.priors.singles_misspelt))


def weigh_all(found: Sequence[tuple[Found, int]], given: Circumstances) -> list[Evidence]:
    """The evidence of all needles, each with the owner's rows that have it."""
    priors = given.priors
    partners = [(one, rows, min(priors.most, chance_of(one, rows, given))) for one, rows in found]
    named = any(one.kind in IDENTIFYING and rows <= 1 and had >= priors.usual_codes for one, rows, had in partners)
    evidence: list[Evidence] = []
    for one, rows, partner in partners:
        apart = sum(not holds(one.needle, texts) for texts in given.near)
        anybody = min(1.0, (rows - 0.5) / given.rows)
        # Where words are often misspelt, any one may be damaged, so a question must rest on more of them: telling the
        # record from any other counts, too.
        far, mistaken = priors.usual * given.misspelt, _mistaken(one, rows, len(given.near) - apart, given, named=named)
        mistaken *= (min(mistaken, max(1 - priors.most, anybody)) / mistaken) ** far
        evidence.append(Evidence(one, rows, partner, mistaken, apart, anybody))
    return evidence


def _mistaken(found: Found, rows: int, having: int, given: Circumstances, *, named: bool) -> float:
    """How probably something like the record, but not it, has a needle that this many of the nearest rows of the table
    have. The record is `named` by an identifier or is not.
    """
    priors = given.priors
    common = max(rows - 1, 0.5) / max(1, given.rows)
    chance = (having + priors.smoothing * common) / (len(given.near) + priors.smoothing)
    of_text = _of_text(found, given.profiles)
    least = priors.rarest_word * (2 if named and of_text else 1)
    if found.kind in IDENTIFYING:
        least = priors.rarest_identifier
    elif found.kind == "number" and not (of_text and (named or len(found.word) < SHORTEST_PART)):
        least = priors.rarest_number
    mistaken = max(chance, rows / given.rows if given.rows > priors.rare_rows[1] else 0.0, least)
    if not given.household.isdisjoint(found.attributes):  # its members stand in the other table alone
        mistaken += priors.usual * (1 - mistaken)
    return min(priors.most, mistaken)


def _of_text(found: Found, profiles: Mapping[str, Profile]) -> bool:
    return any(profiles[name].kind == "text" for name in found.attributes)


def holds(needle: Needle, texts: Texts) -> bool:
    """Whether a row of texts in lower case has a needle."""
    looked_at = texts.values() if needle.attribute is None else (texts[needle.attribute],)
    if needle.function == "is_in":
        return any(needle.text in text for text in looked_at)
    meaning = PREDICATES[needle.function].meaning
    return any(meaning(text, (needle.text,)) for text in looked_at)


def chance_of(found: Found, rows: int, given: Circumstances) -> float:
    """How probably a true partner has it, by what it is and where it comes from."""
    priors, profiles, kind = given.priors, given.profiles, found.kind
    if not _of_text(found, profiles):
        chances = {"year": priors.word, "amount": priors.half, "count": priors.piece}
        return given.spelt * max(chances[profiles[name].kind] * given.presence[name] for name in found.attributes)

    def reliance_of(name: str) -> float:
        return profiles[name].reliance(priors, identifier=kind in IDENTIFYING) * given.presence[name]

    best = max(found.attributes, key=reliance_of)
    reliance = reliance_of(best)
    if kind in IDENTIFYING:
        chance = (priors.piece if kind == "piece" else priors.word) * (priors.digits if found.word.isdigit() else 1.0)
        # Half of a number is hit by half of the errors.
        return chance * reliance * (sqrt(given.spelt) if found.half else given.spelt)
    chance = {"number": priors.most, "initial": priors.half}.get(kind, priors.word)
    if kind == "word" and rows <= 1:
        chance += (priors.single_word - chance) * given.doubtful
    several = [profiles[name] for name in found.attributes if profiles[name].kind == "text"]
    if kind == "word" and len(found.word) < SHORTEST_PART:  # it may be two initials: "hv" for "h v"
        chance *= 1 - (1 - priors.half) * min(1.0, min(one.initials for one in several) / priors.usual)
    if kind == "number":  # where few values have one, it is a leftover
        share = max(one.numbers for one in several)
        chance *= priors.half + (1 - priors.half) * min(1.0, share / priors.usual)
    chance *= min(1.0, priors.usual_length * profiles[best].words / max(1, given.lengths[best]))
    coded = max(profiles[name].identifiers for name in found.attributes)
    chance *= 1 - priors.stray_code * min(1.0, coded / priors.usual)
    return chance * reliance * given.spelt * (1 - priors.late * min(1.0, found.place / priors.usual_words))


# But not

MISSPELT_BY = 2
SLOWLY = 4
"""How slowly more rows must have a word that is excluded, the more words may be misspelt."""


def set_apart(
    texts: Texts, row: Texts, rows_having: Callable[[str], int], given: Circumstances, asking: Asking
) -> list[Found]:
    """Numbers in a text (a size) that a row has in place of the record's, then words in place of its words, the rarest
    first, where several rows have either: the more, the more doubtful words are, for a damaged row is often about the
    same thing as one that says more.
    """
    theirs = {word: name for name, text in row.items() for word in words_in_order(text)}
    mine = {word for text in texts.values() for word in words_in_order(text)}
    own = mine - theirs.keys()
    says = any(len(word) >= SHORTEST_PART and rows_having(word) >= SEVERAL for word in own)
    least, most = SEVERAL / max(1e-9, 1 - given.doubtful**SLOWLY), given.priors.commonest * given.rows
    found: list[Found] = []
    for word, name in theirs.items():
        kind, where, longest = kind_of(word, asking.units), None if asking.whole else name, asking.limits.needle_length
        if not least <= rows_having(word) <= most or not 1 < len(word) <= longest:
            continue
        if kind == "word" and says and len(word) >= SHORTEST_MIXED and not any(word in one for one in mine):
            found.append(Found(Needle("is_in", word, where), kind, (name,), word))
        elif kind == "number" and word not in mine and given.profiles[name].kind == "text":
            instead = [one for one in words_in_order(texts[name]) if one in own and unit_of(one) == unit_of(word)]
            if any(kind_of(one, asking.units) == "number" for one in instead):
                found.append(Found(Needle("has_word", word, where), kind, (name,), word))
    allowed = (one for one in found if one.needle.function in asking.functions)
    return sorted(allowed, key=lambda one: (one.kind == "word", rows_having(one.word), one.word))


@dataclass(frozen=True)
class Naming:
    """What names rows of a table."""

    asking: Asking
    years: frozenset[str]
    """The attributes that hold a year."""
    spelt: bool
    """Whether words are rarely misspelt."""
    telling: frozenset[str] = frozenset()
    """Where they are not: the attributes that tell siblings apart, as far as that is known."""

    def otherwise(self, texts: Texts, row: Texts, *, identified: bool) -> list[Found]:
        """What names another row and not the record, best first: identifiers; years and single words (a given name) if
        the record has others; and numbers that tell siblings apart (an age). A price or a quantity names nothing.

        Nothing is named if the row may be about the same thing: in a table with many misspelt words, it must differ in
        what tells siblings apart (the given name) or, if that is not known, in two things. If the record has no
        identifier (not `identified`), another's says nothing: it may be the record's own, left out.
        """
        found = needles_of(row, self.years, self.asking)
        single = [
            one
            for one in found
            if len(one.attributes) == 1 and one.attributes[0] not in self.years
            if all(len(words_in_order(each[one.attributes[0]])) == 1 for each in (texts, row))
        ]
        named = [
            *(one for one in found if one.kind == "identifier" and identified),
            *(one for one in found if one.needle.attribute in self.years and texts[one.attributes[0]]),
            *self._as_words([one for one in single if one.kind == "word"]),
            *self._as_words([one for one in single if self._is_age(one)]),
        ]
        named = [one for one in named if not self._may_be_own(one, texts)]
        if self.telling:
            return [one for one in named if not self.telling.isdisjoint(one.attributes)]
        return named if len({one.attributes for one in named}) >= (1 if self.spelt else 2) else []

    def _is_age(self, found: Found) -> bool:
        """Whether it is a number that tells siblings apart."""
        return found.kind == "number" and not self.telling.isdisjoint(found.attributes)

    def _as_words(self, found: Sequence[Found]) -> list[Found]:
        """Looked for as words of their attribute, where the agreement encodes that; else of the whole record; else
        anywhere, unless they are short.
        """
        if "has_word" not in self.asking.functions:
            return [one for one in found if one.needle.function == "is_in" and len(one.word) >= SHORTEST_MIXED]
        by_attribute = self.asking.single_attributes or not self.asking.whole
        places = [one.attributes[0] if by_attribute else None for one in found]
        return [replace(one, needle=Needle("has_word", one.word, place)) for one, place in zip(found, places)]

    def _may_be_own(self, found: Found, texts: Texts) -> bool:
        """Whether the record has it too: anywhere, for names are exchanged (a number in its attribute), or, where words
        are often misspelt, a word of the same attributes that differs by a letter or two.
        """
        in_attribute = found.needle.attribute if found.kind == "number" else None
        where = [in_attribute] if in_attribute else list(texts)
        if any(holds(replace(found.needle, attribute=name), texts) for name in where):
            return True
        own = {word for name in found.attributes for word in words_in_order(texts[name])}
        misspelt = not self.spelt and not self._is_age(found)
        return misspelt and any(words.within_distance(found.word, word, MISSPELT_BY) for word in own)
