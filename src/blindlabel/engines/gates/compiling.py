"""From questions to one netlist over a record's bits, and the reasons why a question cannot be asked.

All questions of a call share the netlist, so a character that two needles have at the same position is compared once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from blindlabel.engines.allowed import refuse_question
from blindlabel.engines.gates import predicates
from blindlabel.engines.gates.circuit import Literal, Netlist, all_of, any_of, negated
from blindlabel.engines.gates.layout import FIELD_OF, NUMBER_OFFSET, Field, Layout
from blindlabel.engines.gates.predicates import TextCircuits
from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.language import families, words
from blindlabel.language.formula import Atom, Count, Formula, atoms_of, fold
from blindlabel.language.functions import PREDICATES
from blindlabel.language.signatures import Clear


@dataclass(frozen=True)
class Compiled:
    """The netlist of some questions, and the literal of each one's answer."""

    netlist: Netlist
    answers: tuple[Literal, ...]

    @property
    def gates(self) -> int:
        """Gates for all answers about one record."""
        return self.netlist.gate_count(self.answers)


def refusal(terms: Terms, question: Formula) -> str | None:
    """Why this question cannot be asked under these terms; None where it can."""
    for atom in atoms_of(question):
        if atom.function not in _CIRCUITS:
            return f"The gates engine has no circuit for {atom.function}; the packed engine can answer it."
    return refuse_question(terms, question)


def compiled(terms: Terms, questions: Sequence[Formula]) -> Compiled:
    """One netlist that answers all questions about one record."""
    for number, question in enumerate(questions, start=1):
        reason = refusal(terms, question)
        if reason is not None:
            raise QuestionError(f"Question {number}: {reason}")
    build = _Build(Layout.of(terms))
    return Compiled(build.netlist, tuple(fold(question, build) for question in questions))


class _Build:
    """The netlist under construction, with one set of text circuits a field: the algebra whose values are literals."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.netlist = Netlist()
        self.texts: dict[Field, TextCircuits] = {}

    def constant(self, value: bool) -> Literal:
        return self.netlist.constant(value)

    def negation(self, part: Literal) -> Literal:
        return negated(part)

    def conjunction(self, parts: Sequence[Literal]) -> Literal:
        return all_of(self.netlist, list(parts))

    def disjunction(self, parts: Sequence[Literal]) -> Literal:
        return any_of(self.netlist, list(parts))

    def count(self, count: Count, parts: Sequence[Literal]) -> Literal:
        total = predicates.total(self.netlist, count.weights, list(parts))
        return predicates.within(self.netlist, total, count.low, count.high)

    def atom(self, atom: Atom) -> Literal:
        decided = PREDICATES[atom.function].always(atom.arguments)
        return _CIRCUITS[atom.function](self, atom) if decided is None else self.netlist.constant(decided)

    def field(self, atom: Atom) -> Field:
        field = self.layout.field(FIELD_OF.get(atom.function, "text"), atom.view.attribute)
        if field is None:
            raise QuestionError(f"The agreement does not encode what {atom.function} looks at.")
        return field

    def text(self, atom: Atom) -> TextCircuits:
        field = self.field(atom)
        if field not in self.texts:
            literals = [self.netlist.input(field.start + place) for place in range(field.size)]
            self.texts[field] = TextCircuits(self.netlist, [literals[i : i + 8] for i in range(0, field.size, 8)])
        return self.texts[field]

    def sounds_like(self, atom: Atom) -> Literal:
        return self.text(atom).has_word(words.phonetic_code(_needle(atom)), "exact")

    def between(self, atom: Atom) -> Literal:
        low, high = (words.hundredths(Fraction(bound)) for bound in atom.arguments[:2])
        present, within = self._number(atom, low, high)
        return self.netlist.and_(present, within)

    def far_from(self, atom: Atom) -> Literal:
        present, near = self._number(atom, *families.near(words.hundredths(Fraction(atom.arguments[0]))))
        return self.netlist.and_(present, negated(near))

    def _number(self, atom: Atom, low: int, high: int) -> tuple[Literal, Literal]:
        """Whether the text has a number, and whether it is from low to high, in hundredths."""
        field = self.field(atom)
        *number, present = [self.netlist.input(field.start + place) for place in range(field.size)]
        return present, predicates.within(self.netlist, number, low + NUMBER_OFFSET, high + NUMBER_OFFSET)


def _needle(atom: Atom) -> str:
    return str(atom.arguments[0])


def _distance(argument: Clear) -> int:
    return int(argument)


_CIRCUITS: dict[str, Callable[[_Build, Atom], Literal]] = {
    "is_in": lambda build, atom: build.text(atom).is_in(_needle(atom), atom.view.case),
    "starts_with": lambda build, atom: build.text(atom).starts_with(_needle(atom), atom.view.case),
    "ends_with": lambda build, atom: build.text(atom).ends_with(_needle(atom), atom.view.case),
    "equals": lambda build, atom: build.text(atom).equals(_needle(atom), atom.view.case),
    "has_word": lambda build, atom: build.text(atom).has_word(_needle(atom), atom.view.case),
    "is_empty": lambda build, atom: build.text(atom).is_empty(),
    "similar": lambda build, atom: build.text(atom).similar(
        _needle(atom), _distance(atom.arguments[1]), atom.view.case
    ),
    "sounds_like": _Build.sounds_like,
    "between": _Build.between,
    "far_from": _Build.far_from,
}
"""The circuit of every predicate. A new predicate without an entry here is refused with a sentence."""
