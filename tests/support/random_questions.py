"""Random, well-typed questions and hostile records, for property tests of every engine.

Questions are trees of every shape the language has; they may be constant, silly or large, but the checker takes them
(tests may still meet a limit, which then is the expected answer). Needles are often cut from the records, so that
answers are not all "no".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from blindlabel.language import tree
from blindlabel.language.record import Record
from blindlabel.language.words import words_of

ATTRIBUTES = ("title", "date of birth", "année")

_PIECES = (
    "canon", "Canon", "EOS", "24-70", "f/2.8", "l", "  ", " ", "|", " | ", '"', "\\", "\n", "\t", "\0", "é",
    "e\u0301", "É", "ß", "ẞ", "İ",
    "ı", "Σ", "ς", "σ", "日本", "🎉", "👩‍👩‍👧", "-5", "+3.25", "1999", "2.005", "smith", "Smyth", "jonson", "johnson",
    "'", "_", "a", "A",
    "K", "\uffff", "2000", "1980-05-17", "1981-05-17", "2001-02-03", "2001-03-02", "1980-02-30", "310/456-0488",
    "+13104560488", "4560488", "0",
)  # fmt: skip


def random_text(random: Random, longest: int = 40) -> str:
    """A text put together from plain and hostile pieces."""
    text = ""
    for _ in range(random.randint(0, 8)):
        text += random.choice(_PIECES)
        if random.random() < 0.5:
            text += " "
    return text[: random.randint(0, longest)] if random.random() < 0.3 else text[:longest]


def random_record(random: Random, attributes: Sequence[str] = ATTRIBUTES, longest: int = 40) -> Record:
    """A record; sometimes attributes are missing or empty."""
    values = {name: random_text(random, longest) if random.random() < 0.85 else "" for name in attributes}
    return Record.of(values)


@dataclass
class QuestionMaker:
    """Makes one random question about records like the given ones."""

    random: Random
    records: Sequence[Record]
    attributes: Sequence[str] = ATTRIBUTES
    needle_length: int = 16
    functions: Sequence[str] = (
        "is_in", "starts_with", "ends_with", "equals", "has_word", "is_empty", "sounds_like", "similar", "between",
        "far_from", "same_telephone", "near_date", "near_year",
    )  # fmt: skip
    similar_distance: int = 1
    _variables: dict[str, str] = field(default_factory=lambda: {"r": "record"})

    def question(self, statements: int | None = None) -> tree.Tree:
        """A question of a few statements."""
        made: list[tree.Statement] = []
        for _ in range(self.random.randint(0, 3) if statements is None else statements):
            kind = self.random.choice(["boolean", "boolean", "text", "record", "number"])
            name = (
                "r"
                if kind == "record" and self.random.random() < 0.5
                else self.random.choice("abcd") + self.random.choice(["", "1"])
            )
            value = getattr(self, kind)(2)
            made.append(tree.Assign(name, value))
            self._variables[name] = kind
        made.append(tree.Return(self.boolean(3)))
        return tree.Tree(tuple(made))

    def variable(self, kind: str) -> tree.Expression | None:
        names = [name for name, known in self._variables.items() if known == kind]
        return tree.Variable(self.random.choice(names)) if names else None

    def record(self, depth: int) -> tree.Expression:
        known = self.variable("record")
        chance = self.random.random()
        if known is None or (depth > 0 and chance < 0.4):
            inner = known or self.record_again(depth)
            return tree.Call(self.random.choice(["lower", "upper"]), (inner,))
        if depth > 0 and chance < 0.45:
            return tree.Call("choose", (self.boolean(depth - 1), self.record(depth - 1), self.record(depth - 1)))
        return known

    def record_again(self, depth: int) -> tree.Expression:
        # $r was overwritten with something else: there is no record left, so a text has to do as a text.
        raise NoRecordLeft

    def text(self, depth: int) -> tree.Expression:
        chance = self.random.random()
        try:
            if chance < 0.35:
                return tree.Attribute(self.record(depth), self.random.choice(list(self.attributes)))
            if chance < 0.75:
                return self.record(depth)
        except NoRecordLeft:
            pass
        known = self.variable("text")
        if known is not None and chance < 0.9:
            return known
        if depth > 0:
            return tree.Call("choose", (self.boolean(depth - 1), self.text(depth - 1), self.text(depth - 1)))
        return tree.Text(self.needle())

    def needle(self) -> str:
        record = self.random.choice(list(self.records))
        source = self.random.choice([record.whole, *record.attributes.values()])
        if not source or self.random.random() < 0.2:
            source = random_text(self.random)
        start = self.random.randint(0, len(source))
        found = source[start : start + self.random.choice([0, 1, 2, 3, 5, 8, self.needle_length])]
        found = self.random.choice([found, found, found.lower(), found.upper()])
        return found[: self.needle_length]

    def word(self) -> str:
        record = self.random.choice(list(self.records))
        found = sorted(words_of(record.whole))
        if not found or self.random.random() < 0.1:
            return self.needle()
        word = self.random.choice(found)
        if self.random.random() < 0.4:
            place = self.random.randint(0, len(word))
            word = self.random.choice(
                [word[:place] + word[place + 1 :], word[:place] + "x" + word[place:], word.lower(), word.upper()]
            )
        return word

    def clear_text(self, value: str, depth: int) -> tree.Expression:
        chance = self.random.random()
        if chance < 0.1:
            return tree.Call(self.random.choice(["lower", "upper"]), (tree.Text(value),))
        if depth > 0 and chance < 0.15:
            return tree.Call("choose", (self.boolean(depth - 1), tree.Text(value), tree.Text(self.needle())))
        return tree.Text(value)

    def predicate(self, depth: int) -> tree.Expression:
        name = self.random.choice(list(self.functions))
        text = self.text(depth)
        if name == "is_empty":
            return tree.Call(name, (text,))
        if name == "between":
            low = Fraction(self.random.choice([-500, 0, 190000, 199900, 200, 325]), 100)
            high = low + Fraction(self.random.choice([-1, 0, 1, 100, 1000, 123456]), 100)
            return tree.Call(name, (text, tree.Number(low), tree.Number(high)))
        if name == "far_from":
            number = Fraction(self.random.choice([-500, 0, 100, 325, 199900, 10**9]), 100)
            return tree.Call(name, (tree.Number(number), text))
        if name == "near_year":
            return tree.Call(name, (tree.Number(Fraction(self.random.choice([1000, 1981, 1998, 2000, 2999]))), text))
        if name in ("near_date", "same_telephone"):
            found = [piece for piece in _PIECES if len(piece) >= 7]
            return tree.Call(name, (self.clear_text(self.random.choice(found), depth), text))
        if name == "similar":
            distance = tree.Number(Fraction(self.random.randint(1, self.similar_distance)))
            return tree.Call(name, (self.clear_text(self.word()[:20], depth), text, distance))
        value = self.word() if name in ("has_word", "sounds_like") else self.needle()
        if name == "equals" and self.random.random() < 0.3:
            record = self.random.choice(list(self.records))
            value = self.random.choice([record.whole, *record.attributes.values()])
        return tree.Call(name, (self.clear_text(value, depth), text))

    def number(self, depth: int) -> tree.Expression:
        chance = self.random.random()
        if depth <= 0 or chance < 0.15:
            return tree.Number(Fraction(self.random.choice([-2, 0, 1, 2, 3, 5]), self.random.choice([1, 1, 1, 2, 4])))
        known = self.variable("number")
        if known is not None and chance < 0.3:
            return known
        if chance < 0.4:
            needles = " ".join(self.word() for _ in range(3))
            return tree.Call("common_words", (tree.Text(needles), self.text(depth - 1)))
        if chance < 0.45:
            return tree.Call("choose", (self.boolean(depth - 1), self.number(depth - 1), self.number(depth - 1)))
        if chance < 0.65:
            weight = tree.Number(Fraction(self.random.choice([1, 2, 3, -1, 4]), self.random.choice([1, 1, 2])))
            return tree.Operation("*", (weight, self.boolean(depth - 1)))
        parts = tuple(
            self.random.choice([self.number, self.boolean])(depth - 1) for _ in range(self.random.randint(2, 4))
        )
        return tree.Operation("+", parts)

    def boolean(self, depth: int) -> tree.Expression:
        chance = self.random.random()
        known = self.variable("boolean")
        if known is not None and chance < 0.15:
            return known
        if depth <= 0 or chance < 0.35:
            return tree.Boolean(self.random.random() < 0.5) if self.random.random() < 0.03 else self.predicate(depth)
        if chance < 0.5:
            return tree.Not(self.boolean(depth - 1))
        if chance < 0.65:
            operator = self.random.choice([">=", ">", "<=", "<", "=="])
            bound = tree.Number(Fraction(self.random.randint(-1, 5), self.random.choice([1, 1, 2])))
            sides = (self.number(depth), bound) if self.random.random() < 0.8 else (bound, self.number(depth))
            return tree.Compare(operator, *sides)  # type: ignore[arg-type]  # drawn from the literals
        if chance < 0.7:
            return tree.Call("choose", (self.boolean(depth - 1), self.boolean(depth - 1), self.boolean(depth - 1)))
        operator = "&" if self.random.random() < 0.5 else "|"
        parts = tuple(self.boolean(depth - 1) for _ in range(self.random.randint(2, 4)))
        return tree.Operation(operator, parts)  # type: ignore[arg-type]  # as above


class NoRecordLeft(Exception):
    """Every record variable of a random question was overwritten."""
