"""Everything that follows from an agreement's terms alone: ring, tables, where records and questions stand, noise,
sizes, and how likely a label is wrong. No SEAL and no key; checking questions and counting bits needs no more than
this.

A label is wrong where a pair that is truly yes or truly no comes out otherwise. Y is zero by accident with probability
at most (m + 1)/t for m places; V, or W, where its level is not empty, with max(n, u)/t for n exclusions and u
exceptions, since a pair meets one of the two accidents and not both; the randomness of both sides is zero with 1/t. And
each of the values that leave is opened wrongly with probability 2^-b. So a label is wrong with probability

    (m + 1 + max(n, u) + 1)/t + values · 2^-b        at most,

which must not be beyond one in a million. That, and that no ciphertext is opened wrongly more often than 2^-`OPENED`,
chooses the ring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from blindlabel.engines.interface import Encoded, Explained, Terms, TermsError
from blindlabel.engines.packed import rings
from blindlabel.engines.packed.encoding.features import tables_of
from blindlabel.engines.packed.encoding.layout import RecordLayout, block_of
from blindlabel.engines.packed.encoding.parcels import Study
from blindlabel.engines.packed.planning import noise
from blindlabel.engines.packed.planning.fitting import Leaf, Plan, compile_question
from blindlabel.engines.packed.planning.noise import At, Levels
from blindlabel.engines.packed.planning.places import shape_of
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.rings import RINGS, RingParameters
from blindlabel.language.formula import Formula
from blindlabel.settings import declared

WRONG = 1e-6
"""The probability that a label is wrong, at most."""
_LEAST_BLOCK = 16
"""The fewest records of a batch. With fewer, records would hardly get smaller, and there would be many stretches to add
up.
"""
_ROTATION, _RESIDUES, _PRODUCT = 0.0085, 0.003, 0.026
"""Processor seconds at degree 16384 and five primes, on a quiet machine: key switching, a ciphertext as residues or
back, a product of two with what goes with it.
"""
_SUMMAND, _PATTERN = 2.0e-5, 4.0e-8
"""The same for a summand of a product of matrices by the kernel in C, and for transforming its pattern, times the
stride.
"""
_WORDS, _BACK, _SUMMED = 0.45, 0.4, 0.0035
"""In rotations: a ciphertext as words, words as a ciphertext, a summand of a product of matrices."""
_MOST_ROTATED = 800 << 20
"""Bytes of rotated record ciphertexts that are held at once: those of one batch."""
_RANGES: dict[str, tuple[int, int]] = {"records": (1, 1_000_000)} | {
    found.field: (found.setting.least, found.setting.most)
    for found in declared(Encoded)
    if found.setting.least is not None and found.setting.most is not None
}


@dataclass(frozen=True)
class QuestionColumns:
    """Where the linear forms of a group of questions stand: columns of a record's slots.

    With many questions a column is a question, and every form has a ciphertext of its own. With few, several forms
    share one, `copies` of them, side by side.
    """

    layout: RecordLayout
    forms: int
    copies: int
    width: int
    """Columns that can be used: the first of a record's slots."""

    @classmethod
    def of(cls, layout: RecordLayout, questions: int, forms: int, width: int) -> QuestionColumns:
        """As many copies as this many questions leave room for, and no more than the fewest ciphertexts need."""
        room = max(1, min(width // max(1, questions), forms))
        return cls(layout, forms, -(-forms // -(-forms // room)), width)

    @property
    def questions(self) -> int:
        """Questions of a group, at most."""
        return self.width // self.copies

    @property
    def outputs(self) -> int:
        """Ciphertexts that the forms of a group take."""
        return -(-self.forms // self.copies)

    def column(self, copy: int, question: int) -> int:
        """The column of a question's form."""
        return question * self.copies + copy

    def spread(self, values: Residues) -> Residues:
        """values[…, question] as values[…, column], zero in other columns."""
        result = np.zeros((*values.shape[:-1], self.layout.stride), dtype=np.uint64)
        result[..., [self.column(0, question) for question in range(values.shape[-1])]] = values
        return result

    def pairs(self, slots: Residues) -> Residues:
        """The slots of an answer as [question, record]."""
        columns = [self.column(0, question) for question in range(self.questions)]
        return self.layout.from_slots(slots)[:, columns].T


@dataclass(frozen=True)
class Steps:
    """The steps of the linear forms (`running.linear`), and how they are divided."""

    babies: int
    giants: int
    width: int
    """Columns of a stretch, a power of two."""
    back: int
    """Steps that go backwards."""

    def folds(self, layout: RecordLayout) -> int:
        """How often a stretch is added to the one before it."""
        return layout.stride // self.width - 1

    def moves(self, layout: RecordLayout) -> list[int]:
        """By how many slots ciphertexts are rotated."""
        return sorted({1, self.babies} | ({self.width} if self.folds(layout) else set()))


Arrangement = tuple[RecordLayout, QuestionColumns, Steps]


def arranged(fewest: RecordLayout, questions: int, forms: int, most_words: int) -> Arrangement:
    """The cheapest arrangement of this many questions over a batch, beginning with the fewest ciphertexts: records that
    are a fifth larger have to save a tenth of the time. Of the rotated record ciphertexts this many are held, at most.
    Steps beyond those wanted multiply by zeros.
    """
    layout, stride, found = fewest, fewest.stride, []
    asked = min(questions, stride)
    for copies in range(1, min(forms, stride // asked) + 1):
        columns = QuestionColumns.of(layout, asked, forms, asked * copies)
        outputs = columns.outputs * len(groups(questions, columns.questions))
        widths = [1 << power for power in range(stride.bit_length()) if columns.width <= 1 << power <= stride]
        for chunks in range(fewest.chunks, fewest.chunks * 5 // 4 + 2):
            margin = min(columns.width - 1, stride - -(-layout.features // chunks))
            layout = replace(fewest, margin=margin)
            for width in widths:
                back = columns.width - 1 - margin
                most = max(1, min(width + back, most_words // chunks))
                best = min(most, max(1, round(math.sqrt(outputs * (width + back) / chunks))))
                steps = Steps(best, -(-(width + back) // best), width, back)
                cost = _rotations(layout, steps, outputs) * math.sqrt(chunks)
                found.append((cost, layout, replace(columns, layout=layout), steps))
    return min(found, key=lambda one: one[0])[1:]


def _rotations(layout: RecordLayout, steps: Steps, outputs: int) -> float:
    prepared = layout.chunks * (steps.babies - 1 + _WORDS * steps.babies)
    sums = steps.giants - 1 + _BACK * steps.giants + steps.folds(layout)
    return prepared + outputs * (sums + _SUMMED * layout.chunks * steps.babies * steps.giants)


class Room:
    """What every question of an agreement is given, in one ring."""

    def __init__(self, terms: Terms, ring: RingParameters) -> None:
        self.terms, self.ring = terms, ring
        self.shape = shape_of(terms.profile)
        self.below = (terms.exclusions, terms.unless if terms.exclusions else 0)
        """Conditions that take a yes back, and that give it back."""
        self.values = 1 + sum(count > 0 for count in self.below)
        """Values of a pair that leave."""
        self.forms = self.shape.places + sum(self.below)
        """Linear forms of a question: its places, exclusions and exceptions."""
        self.tables = tables_of(terms, ring.modulus)
        block = max(_LEAST_BLOCK, block_of(terms.records, self.tables.features, ring.degree // 4))
        most_words = _MOST_ROTATED // (8 * 2 * ring.data_primes * ring.degree)
        made = arranged(RecordLayout.of(self.tables, ring, block), terms.records, self.forms, most_words)
        self.layout, self._columns, self.steps = made
        for first in range(noise.MIXED, ring.data_primes + 1):  # as few primes as labels can be right with
            self.levels = self._levels(first)
            if self.fits:
                break

    def study(self, key_id: bytes) -> Study:
        """The header of this study's parcels."""
        return Study(self.ring.name, self.terms.agreement_hash, key_id)

    # -- where questions stand

    def columns(self, questions: int) -> QuestionColumns:
        """Where this many questions stand."""
        return QuestionColumns.of(self.layout, questions, self.forms, self._columns.width)

    def group_size(self, questions: int) -> int:
        """Questions answered together, where this many are asked in all: as many as have columns."""
        return self.columns(questions).questions

    def group_count(self, questions: int) -> int:
        """Groups that this many questions make."""
        return len(groups(questions, self.group_size(questions)))

    # -- noise and error

    def _levels(self, first: int) -> Levels:
        """When ciphertexts lose primes, beginning with this many: the linear forms have the noise of a record's
        ciphertext after its baby steps, a product with weights and their sum.
        """
        ring = self.ring
        linear = noise.rotated(ring, noise.taken(ring, first), self.steps.babies)
        linear += noise.plain_product(ring, 2 * self.layout.stride)
        linear += noise.sum_of(self.layout.chunks * self.steps.babies * self.steps.giants)
        linear += noise.sum_of(1 + self.steps.folds(self.layout))
        return Levels(ring, first, linear)

    @property
    def last(self) -> At:
        """Where the two halves of the places are multiplied."""
        combined = self.shape.combined(self.levels, self.layout.stride)
        return self.levels.together(combined, self.levels.after(self.shape.depth[1]))

    def noise(self) -> list[At]:
        """Of the values of a pair before `opening`, in their order. Y: linear forms, the products of both halves, what
        is asked, and a last product; V and W: products by twos.
        """
        level, bits = self.last
        if self.shape.right:
            bits += noise.product(self.ring) + noise.sum_of(self.shape.coefficients(self.shape.right))
        return [At(level, bits), *(self.levels.after((count - 1).bit_length()) for count in self.below if count)]

    @property
    def opened_right(self) -> float:
        """A ciphertext of answers is opened wrongly with probability 2^-b, b being this, at most."""
        return noise.opened_right(self.ring, self.noise())

    @property
    def wrong(self) -> float:
        """How likely a label is wrong, at most."""
        return self._by_chance + self.values * 2**-self.opened_right

    @property
    def _by_chance(self) -> float:
        return (self.shape.places + 1 + max(self.below) + 1) / self.ring.modulus

    def check(self) -> None:
        """Refuse terms for which no ring would do."""
        if not self.tables.tables:
            raise TermsError(
                "This agreement encodes nothing: list at least one function and encode whole records or attributes."
            )
        if self._by_chance > WRONG:
            raise TermsError(
                f"{self.shape.places} places, {self.below[0]} exclusions and unless = {self.below[1]} would let more"
                " than one label in a million be wrong. Agree on fewer."
            )

    @property
    def fits(self) -> bool:
        """Whether labels are wrong rarely enough."""
        return self.wrong <= WRONG and self.opened_right >= noise.OPENED

    # -- questions

    @lru_cache(maxsize=1 << 14)  # noqa: B019 - a room lives as long as its agreement is used
    def plan(self, question: Formula) -> Plan:
        """The compiled question; `QuestionError` with a sentence if there is no room for it. Compiled once for each
        formula object, also when a question is checked and then asked.
        """
        return compile_question(self.terms, self.tables, question)

    def explain(self, plan: Plan) -> Explained:
        """Conditions on places, what is below, and what a round of as many questions as records costs."""
        asked = (*plan.places, *plan.exclusions, *plan.unless)
        probes = sorted(
            {probe for leaf in asked if leaf is not None for probe in leaf},
            key=lambda one: (one.table.offset, one.element),
        )
        numbers = {probe: number for number, probe in enumerate(probes)}

        def shown(leaves: Sequence[Leaf | None], otherwise: str) -> str:
            joined = [
                " & ".join(f"[{number}]" for number in sorted(numbers[probe] for probe in leaf)) or "always"
                for leaf in leaves
                if leaf is not None
            ]
            return ", ".join(joined) or otherwise

        places = [
            f"class {number + 1} ({size} alike): "
            + shown([plan.places[place] for place in self.shape.places_of(number)], "not used")
            for number, size in enumerate(self.shape.sizes)
        ]
        for name, room, leaves in zip(("but not", "unless"), self.below, (plan.exclusions, plan.unless)):
            places += [f"{name} (room for {room}): {shown(leaves, 'nothing')}"] if room else []
        return Explained(
            parameters=self.ring.name,
            predicates=[str(probe) for probe in probes],
            places=places,
            wrong=self.wrong,
            seconds=round(self.seconds(), 1),
            bytes=self.sizes(),
        )

    # -- costs

    def sizes(self) -> dict[str, int]:
        """Bytes of a round of as many questions as records, by what they are for."""
        ring, records = self.ring, self.terms.records
        batches = self.layout.batches(records)
        ciphers = batches * self.group_count(records) * self.values
        return {
            "keys": ring.key_bytes(len(self.steps.moves(self.layout))),
            "records": batches * self.layout.chunks * ring.seeded_bytes(ring.data_primes)
            + ciphers * ring.seeded_bytes(noise.MIXED),
            "answers": ciphers * ring.cipher_bytes(noise.PADDED),
        }

    def seconds(self) -> float:
        """Seconds for a round with as many questions as records, from the number of operations."""
        ring, steps, records = self.ring, self.steps, self.terms.records
        group_count = self.group_count(records)
        outputs = self.columns(records).outputs * group_count
        inner = steps.babies * self.layout.chunks
        folds = outputs * steps.folds(self.layout)
        rotated = inner * (_ROTATION + _RESIDUES) + folds * _ROTATION
        summand = _SUMMAND + _PATTERN * self.layout.stride * 16384 / ring.degree
        made = outputs * steps.giants * (_ROTATION + _RESIDUES + summand * inner)
        aligned = group_count * self.forms * _ROTATION
        multiplied = group_count * (self.shape.products + sum(self.below) + 3) * _PRODUCT
        scale = self.levels.first / 5 * ring.degree / 16384
        return self.layout.batches(records) * scale * (rotated + made + aligned + multiplied)


@lru_cache(maxsize=16)
def room_of(terms: Terms) -> Room:
    """The room of an agreement: in the first ring whose key can lose what it may and whose labels are right."""
    check_terms(terms)
    Room(terms, RINGS[0]).check()
    for ring in RINGS:
        if terms.key_bits <= rings.zero_tests(ring):
            room = Room(terms, ring)
            if room.fits:
                return room
    if terms.key_bits > max(map(rings.zero_tests, RINGS)):
        raise TermsError(
            f"A key would have to withstand the loss of {terms.key_bits} bits, more than any ring of this engine can."
            " Agree on fewer records or rounds, or release less."
        )
    raise TermsError(
        "This agreement encodes more than the packed engine can open the answers of. Encode fewer attributes or shorter"
        " texts, or agree on fewer records."
    )


def check_terms(terms: Terms) -> None:
    """Refuse terms that make no sense for this engine, with a sentence."""
    for name, (low, high) in _RANGES.items():
        value = getattr(terms, name)
        if value is not None and not low <= value <= high:
            raise TermsError(f"The agreement says {name} = {value}; the packed engine takes {low} to {high}.")
    if not 1 <= terms.limits.total_weight <= 255:
        raise TermsError(
            f"The agreement allows a total weight of {terms.limits.total_weight}; the packed engine takes 1 to 255."
        )
    if terms.case not in ("both", "lower"):
        raise TermsError(f"The agreement says case = {terms.case}; the packed engine takes both or lower.")
    if len(terms.agreement_hash) != 32:
        raise TermsError("An agreement's hash has 32 bytes.")


def groups(questions: int, size: int) -> list[range]:
    """The questions of each group."""
    return [range(start, min(start + size, questions)) for start in range(0, questions, size)]
