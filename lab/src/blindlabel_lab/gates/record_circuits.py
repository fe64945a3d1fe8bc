"""A record's bits, and the questions as one netlist over them.

Which bits are encrypted, and in which order, is public and fixed by the agreement alone. Every text that questions may
look at is a field of its own, padded to its public length: the whole record, and each attribute. Where the agreement
allows functions that need it, a field follows with what the owner computes in clear before encrypting: the phonetic
codes of the text's words or the ends of its telephones (as a text of words), its first date (as a text), or its first
number (as an unsigned integer and a bit that says there is one). So none needs phonetics or parsing in a circuit, and
the answers are those of the plain meaning.

All questions of a call share the netlist, so a character that two needles have at the same position is compared once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from blindlabel.engines.allowed import refuse_question
from blindlabel.engines.interface import QuestionError, RecordError, Terms
from blindlabel.language import families, words
from blindlabel.language.formula import Atom, Count, Formula, atoms_of, fold
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import Record, View
from blindlabel_lab.gates import circuits
from blindlabel_lab.gates.circuits import Netlist, Signal, TextCircuits, all_of, any_of, negated

CHARACTER_BITS = 8
NUMBER_OFFSET = words.NUMBER_BOUND * 10**words.NUMBER_DECIMALS
"""Added to a number in hundredths, so that none is negative."""
NUMBER_BITS = (2 * NUMBER_OFFSET - 1).bit_length() + 1
"""The number and, last, whether there is one."""

CODE_GROWTH = 2
"""A phonetic code has at most twice as many characters as its word: Metaphone writes X as KS, and nothing else longer
than it was.
"""

DATE_LENGTH = len("1980-05-17")

FIELD_OF = {
    "sounds_like": "sounds",
    "between": "number",
    "far_from": "number",
    "same_telephone": "telephones",
    "near_date": "date",
}
"""What the functions look at that do not look at the text itself."""

_PADDING = [False] * (CHARACTER_BITS - 1) + [True]


@dataclass(frozen=True)
class BitField:
    """One stretch of a record's bits. `kind` is text or one of `FIELD_OF`; `attribute` None is the whole
    record.
    """

    kind: str
    attribute: str | None
    length: int
    """Characters; 1 for number."""
    start: int
    """Number of its first bit."""

    @property
    def size(self) -> int:
        """Its bits."""
        return NUMBER_BITS if self.kind == "number" else self.length * CHARACTER_BITS


@dataclass(frozen=True)
class RecordBits:
    """All fields of a record."""

    fields: tuple[BitField, ...]

    @classmethod
    def of(cls, terms: Terms) -> RecordBits:
        """The layout that an agreement's terms come to."""
        texts: list[tuple[str | None, int]] = []
        if terms.encode_whole:
            texts.append((None, terms.record_length))
        if terms.encode_attributes:
            length = terms.record_length if terms.attribute_length is None else terms.attribute_length
            texts += [(attribute, length) for attribute in terms.attributes]
        needed = {FIELD_OF.get(function, "text") for function in terms.functions} | {"text"}
        kinds = [kind for kind in ("text", "sounds", "number", "telephones", "date") if kind in needed]
        fields: list[BitField] = []
        start = 0
        for attribute, length in texts:
            for kind in kinds:
                room = {"sounds": CODE_GROWTH * length, "number": 1, "date": DATE_LENGTH}.get(kind, length)
                fields.append(BitField(kind, attribute, room, start))
                start += fields[-1].size
        return cls(tuple(fields))

    @property
    def size(self) -> int:
        """Bits of a record."""
        return sum(field.size for field in self.fields)

    def field(self, kind: str, attribute: str | None) -> BitField | None:
        """The field of this kind for one text; None if the agreement does not encode it."""
        return next((field for field in self.fields if (field.kind, field.attribute) == (kind, attribute)), None)

    def bits(self, record: Record) -> list[bool]:
        """A record's bits, or a RecordError that says what does not fit."""
        return [bit for field in self.fields for bit in _field_bits(field, record)]


def _field_bits(field: BitField, record: Record) -> list[bool]:
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
    if field.kind == "telephones":
        text = " ".join(sorted(words.telephone_endings(text)))
    if field.kind == "date":
        text = str(words.first_date(text) or "")
    if len(text) > field.length:
        raise RecordError(f"{name} has {len(text)} characters, and the agreement encodes {field.length}.")
    bits = [bool(code >> place & 1) for code in text.encode("ascii") for place in range(CHARACTER_BITS)]
    return bits + _PADDING * (field.length - len(text))


# -- questions


@dataclass(frozen=True)
class QuestionCircuits:
    """The netlist of some questions, and the signal of each one's answer."""

    netlist: Netlist
    answers: tuple[Signal, ...]

    @property
    def gates(self) -> int:
        """Gates for all answers about one record."""
        return self.netlist.gate_count(self.answers)


def refusal(terms: Terms, question: Formula) -> str | None:
    """Why this question cannot be asked under these terms; None if it can."""
    for atom in atoms_of(question):
        if atom.function not in _CIRCUITS:
            return f"The gates engine has no circuit for {atom.function}; the packed engine can answer it."
    return refuse_question(terms, question)


def compiled(terms: Terms, questions: Sequence[Formula]) -> QuestionCircuits:
    """One netlist that answers all questions about one record."""
    for number, question in enumerate(questions, start=1):
        reason = refusal(terms, question)
        if reason is not None:
            raise QuestionError(f"Question {number}: {reason}")
    build = _Build(RecordBits.of(terms))
    return QuestionCircuits(build.netlist, tuple(fold(question, build) for question in questions))


class _Build:
    """The netlist under construction, with one set of text circuits a field: the algebra whose values are signals."""

    def __init__(self, layout: RecordBits) -> None:
        self.layout = layout
        self.netlist = Netlist()
        self.texts: dict[BitField, TextCircuits] = {}

    def constant(self, value: bool) -> Signal:
        return self.netlist.constant(value)

    def negation(self, part: Signal) -> Signal:
        return negated(part)

    def conjunction(self, parts: Sequence[Signal]) -> Signal:
        return all_of(self.netlist, list(parts))

    def disjunction(self, parts: Sequence[Signal]) -> Signal:
        return any_of(self.netlist, list(parts))

    def count(self, count: Count, parts: Sequence[Signal]) -> Signal:
        total = circuits.total(self.netlist, count.weights, list(parts))
        return circuits.within(self.netlist, total, count.low, count.high)

    def atom(self, atom: Atom) -> Signal:
        decided = PREDICATES[atom.function].always(atom.arguments)
        return _CIRCUITS[atom.function](self, atom) if decided is None else self.netlist.constant(decided)

    def field(self, atom: Atom) -> BitField:
        field = self.layout.field(FIELD_OF.get(atom.function, "text"), atom.view.attribute)
        if field is None:
            raise QuestionError(f"The agreement does not encode what {atom.function} looks at.")
        return field

    def text(self, atom: Atom) -> TextCircuits:
        field = self.field(atom)
        if field not in self.texts:
            signals = [self.netlist.input(field.start + place) for place in range(field.size)]
            self.texts[field] = TextCircuits(self.netlist, [signals[i : i + 8] for i in range(0, field.size, 8)])
        return self.texts[field]

    def needle(self, atom: Atom) -> Signal:
        """The predicates of a text and a needle, by their names."""
        found: Signal = getattr(self.text(atom), atom.function)(_needle(atom), atom.view.case)
        return found

    def sounds_like(self, atom: Atom) -> Signal:
        return self.text(atom).has_word(words.phonetic_code(_needle(atom)), "exact")

    def same_telephone(self, atom: Atom) -> Signal:
        (ending,) = PREDICATES[atom.function].asked(atom.arguments)
        return self.text(atom).has_word(ending, "exact")

    def near_date(self, atom: Atom) -> Signal:
        date = words.date_of(_needle(atom))
        near = () if date is None else sorted(families.dates_near(date))  # being near goes both ways
        return any_of(self.netlist, [self.text(atom).equals(one, "exact") for one in near])

    def near_year(self, atom: Atom) -> Signal:
        years = (int(atom.arguments[0]) + by for by in (-1, 0, 1))
        found = [self.text(atom).has_word(str(year), "exact") for year in years if year in words.YEARS]
        return any_of(self.netlist, found)

    def between(self, atom: Atom) -> Signal:
        low, high = (words.hundredths(Fraction(bound)) for bound in atom.arguments[:2])
        present, within = self._number(atom, low, high)
        return self.netlist.and_(present, within)

    def far_from(self, atom: Atom) -> Signal:
        present, near = self._number(atom, *families.near(words.hundredths(Fraction(atom.arguments[0]))))
        return self.netlist.and_(present, negated(near))

    def _number(self, atom: Atom, low: int, high: int) -> tuple[Signal, Signal]:
        """Whether the text has a number, and whether it is from low to high, in hundredths."""
        field = self.field(atom)
        *number, present = [self.netlist.input(field.start + place) for place in range(field.size)]
        return present, circuits.within(self.netlist, number, low + NUMBER_OFFSET, high + NUMBER_OFFSET)


def _needle(atom: Atom) -> str:
    return str(atom.arguments[0])


_CIRCUITS: dict[str, Callable[[_Build, Atom], Signal]] = {
    **dict.fromkeys(("is_in", "starts_with", "ends_with", "equals", "has_word"), _Build.needle),
    "is_empty": lambda build, atom: build.text(atom).is_empty(),
    "similar": lambda build, atom: build.text(atom).similar(_needle(atom), int(atom.arguments[1]), atom.view.case),
    "sounds_like": _Build.sounds_like,
    "between": _Build.between,
    "far_from": _Build.far_from,
    "same_telephone": _Build.same_telephone,
    "near_date": _Build.near_date,
    "near_year": _Build.near_year,
}
"""The circuit of every predicate. A new predicate without an entry here is refused with a sentence."""
