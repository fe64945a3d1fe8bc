"""What it says about another record that it has a needle: how probably a true partner has it, against how probably
something that could be mistaken for the record has it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from blindlabel.language import words
from blindlabel.language.suggestions.needles import Found, Kind, Needle
from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.suggestions.profiles import Profile


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
    """How many of the nearest own rows do not have it."""

    @property
    def kind(self) -> Kind:
        """What kind of thing it is."""
        return self.found.kind

    @property
    def unique(self) -> bool:
        """Whether it is an identifier that no other own row has: enough by itself."""
        return self.kind in ("identifier", "piece") and self.rows <= 1

    def bits(self, most: float) -> float:
        """The difference between having it and not, in bits."""
        having = min(most, log2(self.partner / self.mistaken))
        return having - log2((1 - self.partner) / (1 - self.mistaken))

    @property
    def tells(self) -> float:
        """Bits expected from asking for it, if the other record is the partner."""
        return self.partner * log2(self.partner / self.mistaken) + (1 - self.partner) * log2(
            (1 - self.partner) / (1 - self.mistaken)
        )


def weighed(
    found: Found,
    rows: int,
    table_rows: int,
    near: Sequence[Mapping[str, str]],
    profiles: Mapping[str, Profile],
    length: Mapping[str, int],
    priors: Priors,
) -> Evidence | None:
    """The evidence of a needle, or None where it tells nothing. `near` are the texts of the nearest own rows, and
    `length` the words of the record's own attributes.
    """
    partner = min(priors.most, _partner(found, rows, profiles, length, priors))
    having = sum(holds(found.needle, texts) for texts in near)
    common = max(rows - 1, 0.5) / max(1, table_rows)
    mistaken = (having + priors.smoothing * common) / (len(near) + priors.smoothing)
    mistaken = min(0.97, max(mistaken, rows / max(1, table_rows) if table_rows > 20 else 0.0, priors.rarest))
    if partner <= mistaken * 1.15:
        return None
    return Evidence(found, rows, partner, mistaken, len(near) - having)


def holds(needle: Needle, texts: Mapping[str, str]) -> bool:
    """Whether a row of texts in lower case has a needle."""
    looked_at = texts.values() if needle.attribute is None else (texts[needle.attribute],)
    if needle.function == "is_in":
        return any(needle.text in text for text in looked_at)
    if needle.function == "has_word":
        return any(needle.text in words.words_of(text) for text in looked_at)
    if needle.function == "is_empty":
        return not any(looked_at)
    code = words.phonetic_code(needle.text)
    return any(code in words.phonetic_codes(text) for text in looked_at)


def _partner(
    found: Found, rows: int, profiles: Mapping[str, Profile], length: Mapping[str, int], priors: Priors
) -> float:
    """How probably a true partner has it, by what it is and where it comes from."""
    kind = found.kind
    numeric = [profiles[name].kind for name in found.attributes if profiles[name].kind != "text"]
    if numeric and len(numeric) == len(found.attributes):
        chance = priors.year if "year" in numeric else priors.amount
        filled = max(profiles[name].filled for name in found.attributes)
        return chance * (1 - priors.filled + priors.filled * filled)
    if kind in ("identifier", "piece"):
        return priors.identifier * max(profiles[name].reliance(priors, identifier=True) for name in found.attributes)
    chance = {"word": priors.word, "number": priors.number, "initial": priors.initial}.get(kind, priors.word)
    if kind == "word" and rows <= 1:
        chance = priors.single_word
    best = max(found.attributes, key=lambda name: profiles[name].reliance(priors))
    longer: float = min(1.0, 1.3 * profiles[best].words / max(1, length[best])) ** priors.longer
    return chance * profiles[best].reliance(priors) * longer
