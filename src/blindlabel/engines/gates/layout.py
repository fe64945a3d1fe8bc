"""Which bits of a record are encrypted, in which order, and how a record becomes them. Public, and fixed by the
agreement alone.

Every text that questions may look at is a field of its own, padded to its public length: the whole record, and each
attribute. Where the agreement allows functions that need it, a field follows with what the owner computes in clear
before encrypting: the phonetic codes of the text's words (as a text of words), or its first number (as an unsigned
integer and a bit that says there is one). So neither needs phonetics or parsing in a circuit, and the answers
are those of the plain meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from blindlabel.engines.interface import RecordError, Terms
from blindlabel.language import words
from blindlabel.language.record import Record, View

CHARACTER_BITS = 8
NUMBER_OFFSET = words.NUMBER_BOUND * 10**words.NUMBER_DECIMALS
"""Added to a number in hundredths, so that none is negative."""
NUMBER_BITS = (2 * NUMBER_OFFSET - 1).bit_length() + 1
"""The number and, last, whether there is one."""

CODE_GROWTH = 2
"""A phonetic code has at most twice as many characters as its word: Metaphone writes X as KS, and nothing else longer
than it was.
"""

FIELD_OF = {"sounds_like": "sounds", "between": "number", "far_from": "number"}
"""What the functions look at that do not look at the text itself."""

_PADDING = [False] * (CHARACTER_BITS - 1) + [True]


@dataclass(frozen=True)
class Field:
    """One stretch of a record's bits. `kind` is text, sounds or number; `attribute` None is the whole record."""

    kind: str
    attribute: str | None
    length: int
    """Characters for text and sounds; 1 for number."""
    start: int
    """Number of its first bit."""

    @property
    def size(self) -> int:
        """Its bits."""
        return NUMBER_BITS if self.kind == "number" else self.length * CHARACTER_BITS


@dataclass(frozen=True)
class Layout:
    """All fields of a record."""

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, terms: Terms) -> Layout:
        """The layout that an agreement's terms come to."""
        texts: list[tuple[str | None, int]] = []
        if terms.encode_whole:
            texts.append((None, terms.record_length))
        if terms.encode_attributes:
            length = terms.record_length if terms.attribute_length is None else terms.attribute_length
            texts += [(attribute, length) for attribute in terms.attributes]
        needed = {FIELD_OF.get(function, "text") for function in terms.functions} | {"text"}
        kinds = [kind for kind in ("text", "sounds", "number") if kind in needed]
        fields: list[Field] = []
        start = 0
        for attribute, length in texts:
            for kind in kinds:
                room = {"text": length, "sounds": CODE_GROWTH * length, "number": 1}[kind]
                fields.append(Field(kind, attribute, room, start))
                start += fields[-1].size
        return cls(tuple(fields))

    @property
    def size(self) -> int:
        """Bits of a record."""
        return sum(field.size for field in self.fields)

    def field(self, kind: str, attribute: str | None) -> Field | None:
        """The field of this kind for one text; None where the agreement does not encode it."""
        return next((field for field in self.fields if (field.kind, field.attribute) == (kind, attribute)), None)

    def bits(self, record: Record) -> list[bool]:
        """A record's bits, or a RecordError that says what does not fit."""
        return [bit for field in self.fields for bit in _field_bits(field, record)]


def _field_bits(field: Field, record: Record) -> list[bool]:
    text = record.text(View(field.attribute))
    name = "The record" if field.attribute is None else f'The attribute "{field.attribute}" of a record'
    if not text.isascii():
        strange = next(character for character in text if not character.isascii())
        raise RecordError(
            f"{name} holds the character U+{ord(strange):04X}, and the gates engine encrypts ASCII only; let the"
            " agreement's text preparation have the step ascii, or use the packed engine."
        )
    if field.kind == "number":
        number = words.first_number(text)
        value = 0 if number is None else number + NUMBER_OFFSET
        return [bool(value >> place & 1) for place in range(NUMBER_BITS - 1)] + [number is not None]
    if field.kind == "sounds":
        text = " ".join(sorted(words.phonetic_codes(text)))
        name = f"{name}, as phonetic codes,"
    if len(text) > field.length:
        raise RecordError(f"{name} has {len(text)} characters, and the agreement encodes {field.length}.")
    bits = [bool(code >> place & 1) for code in text.encode("ascii") for place in range(CHARACTER_BITS)]
    return bits + _PADDING * (field.length - len(text))
