"""The conjunction-only ways, behind the Protocol of all ways: one layout for few records and one for many."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from blindlabel.engines.interface import Assist, Terms, TermsError
from blindlabel.engines.packed.encoding.layout import RecordLayout, block_of
from blindlabel.engines.packed.encoding.tables import tables_of
from blindlabel.engines.packed.planning import explaining, noise
from blindlabel.engines.packed.planning.explaining import Explained
from blindlabel.engines.packed.planning.noise import Noise
from blindlabel.engines.packed.planning.probing import Probe
from blindlabel.engines.packed.seal.parameters import ParameterSet, RingParameters
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Plain, open_ring
from blindlabel.engines.packed.ways.conjunctive import diagonals, evaluating, many_records
from blindlabel.engines.packed.ways.conjunctive.clauses import ClausePlan, alternatives, compile_question
from blindlabel.engines.packed.ways.interface import Evaluation, KeyNeeds, Public, Step, Way, groups
from blindlabel.language.formula import Formula

MANY_RECORDS = 128
"""Records per owner from which the layout for many of them is cheaper."""
_MOST_BLOCK = 1024

FEW_SETS = (
    ParameterSet("alone-8192-1", (RingParameters(8192, (38, 46, 45, 45, 36), plain_bits=24),), depth=1),
    ParameterSet("alone-16384-3", (RingParameters(16384, (42, 46, 46, 46, 46, 46, 46), plain_bits=28),), depth=3),
    ParameterSet(
        "alone-16384-5", (RingParameters(16384, (42, 45, 45, 45, 45, 45, 45, 45, 45), plain_bits=28),), depth=5
    ),
)
MANY_SETS = (
    ParameterSet("wide-16384-1", (RingParameters(16384, (38, 54, 54, 54, 55), plain_bits=24),), depth=1),
    ParameterSet("wide-16384-1-long", (RingParameters(16384, (38, 45, 45, 45, 45, 46), plain_bits=24),), depth=1),
    ParameterSet("wide-16384-3", (RingParameters(16384, (42, 54, 54, 54, 54, 54, 55), plain_bits=28),), depth=3),
)


class ConjunctiveWay(Way[ClausePlan]):
    """What both layouts share."""

    def plan(self, question: Formula) -> ClausePlan:
        """Clauses of alternatives."""
        return compile_question(self.terms, self.tables, question)

    def key_needs(self) -> tuple[KeyNeeds, ...]:
        """Rotations and products."""
        return (KeyNeeds(self.ring, tuple(self.rotations()), relinearisation=True),)

    def plaintexts(self, features: Residues) -> Iterator[Plain]:
        """Features as slots."""
        return (self.ring.slots(values) for values in self.record_slots(features))

    def noise(self) -> dict[str, Noise]:
        """Of the answers: linear forms multiplied out."""
        ring, t = self.parameters.rings[0], self.tables.modulus
        depth = (alternatives(self.terms) - 1).bit_length()
        bits = self.linear_noise() + depth * noise.product(ring, t) + noise.sum_of(self.terms.clauses) + noise.TAIL
        return {"answers": Noise(bits, ring)}

    def explain(self, plan: ClausePlan) -> Explained:
        """Clauses and what a round of as many questions as records costs."""
        probes = {probe for clause in plan.clauses for option in clause for probe in option}
        listed = [
            [" & ".join(explaining.shown(p) for p in sorted(option, key=_order)) or "always" for option in clause]
            for clause in plan.clauses
        ]
        records, layout, ring = self.terms.records, self.layout, self.parameters.rings[0]
        size, forms = self.group_size(records), evaluating.form_count(self)
        rounds = layout.batches(records) * len(groups(records, size))
        products = forms * size * (layout.chunks * 1.2 * explaining.PRODUCT + explaining.ROTATION + 0.001)
        seconds = layout.batches(records) * layout.chunks * explaining.LOAD
        seconds += rounds * (products + forms * 4 * explaining.ROTATION)
        return Explained(
            parameters=self.parameters.name,
            predicates=[explaining.shown(one) for one in sorted(probes, key=_order)],
            clauses=listed,
            noise_left={stage: round(found.left, 1) for stage, found in self.noise().items()},
            seconds=round(seconds * ring.degree / 8192 * ring.data_primes / 3, 2),
            bytes=self.sizes(),
        )

    @abstractmethod
    def rotations(self) -> list[int]:
        """Galois elements of the linear stage."""

    @abstractmethod
    def record_slots(self, features: Residues) -> list[Residues]:
        """The slots of a batch's plaintexts."""

    @abstractmethod
    def linear_noise(self) -> float:
        """Of a linear form."""

    @abstractmethod
    def in_slots(self, values: Residues) -> Residues:
        """values[record, question] as slots."""


class FewRecords(ConjunctiveWay):
    """Products by diagonals, a plaintext encoded for each."""

    @classmethod
    def candidates(cls, terms: Terms) -> Sequence[ParameterSet]:
        """Deep enough for the alternatives."""
        return _deep_enough(terms, FEW_SETS)

    def __init__(self, terms: Terms, parameters: ParameterSet) -> None:
        self.terms, self.parameters = terms, parameters
        ring = parameters.rings[0]
        self.tables = tables_of(terms, open_ring(ring).modulus)
        block = block_of(terms.records, self.tables.features, _MOST_BLOCK) * ring.degree // 8192
        self.layout = RecordLayout.of(self.tables, ring, block)

    def rotations(self) -> list[int]:
        """Of the diagonals."""
        return diagonals.rotations(self.ring, self.layout)

    def record_slots(self, features: Residues) -> list[Residues]:
        """Feature by feature."""
        return diagonals.record_slots(self.layout, features)

    def linear_noise(self) -> float:
        """A result is the sum of all features' products, whatever the number of questions."""
        ring, layout = self.parameters.rings[0], self.layout
        products = noise.plain_product(ring, self.tables.modulus) + noise.sum_of(layout.chunks * layout.stride)
        return noise.fresh(ring) + products + 0.5

    def in_slots(self, values: Residues) -> Residues:
        """Question by question."""
        return values.T.reshape(-1)

    def group_size(self, questions: int) -> int:
        """At most one a block."""
        return diagonals.group_size(self.layout, questions)

    def evaluation(
        self,
        public: Public,
        plans: Sequence[ClausePlan],
        records: int,
        items: Sequence[bytes],
        index: int = 0,  # noqa: ARG002
    ) -> Evaluation:
        """A batch with its ciphertexts in NTT form."""
        chunks = [self.ring.to_ntt(self.load_record(item)) for item in items]
        return _FewEvaluation(self, public, plans, records, chunks)

    def pairs(self, slots: Residues, questions: int) -> Residues:  # noqa: ARG002
        """Question by question."""
        return slots.reshape(self.layout.stride, self.layout.block)


class ManyRecords(ConjunctiveWay):
    """Products of matrices on words."""

    @classmethod
    def candidates(cls, terms: Terms) -> Sequence[ParameterSet]:
        """Deep enough for the alternatives."""
        return _deep_enough(terms, MANY_SETS)

    def __init__(self, terms: Terms, parameters: ParameterSet) -> None:
        self.terms, self.parameters = terms, parameters
        ring = parameters.rings[0]
        self.tables = tables_of(terms, open_ring(ring).modulus)
        self.layout = RecordLayout.of(
            self.tables, ring, block_of(terms.records, self.tables.features, ring.degree // 4)
        )

    def rotations(self) -> list[int]:
        """By one place, and back."""
        return many_records.rotations(self.ring, self.layout)

    def record_slots(self, features: Residues) -> list[Residues]:
        """Record by record."""
        return many_records.record_slots(self.layout, features)

    def linear_noise(self) -> float:
        """Weights are polynomials of `stride` terms; up to two diagonals a feature; then the masks."""
        ring, layout, t = self.parameters.rings[0], self.layout, self.tables.modulus
        weights = noise.plain_product(ring, t, layout.stride) + noise.sum_of(2 * layout.chunks * layout.stride)
        return noise.fresh(ring) + weights + 0.5 + noise.plain_product(ring, t)

    def in_slots(self, values: Residues) -> Residues:
        """Record by record."""
        return many_records.in_slots(self.layout, values)

    def group_size(self, questions: int) -> int:  # noqa: ARG002
        """One a column."""
        return self.layout.stride

    def groups_together(self) -> int:
        """As many as have room, since their matrices are multiplied together."""
        return max(1, many_records.matrices_together(self.ring, self.layout) // evaluating.form_count(self))

    def shares_units(self) -> bool:
        """A tile is one product of matrices."""
        return False

    def evaluation(
        self,
        public: Public,
        plans: Sequence[ClausePlan],
        records: int,
        items: Sequence[bytes],
        index: int = 0,  # noqa: ARG002
    ) -> Evaluation:
        """A batch as words."""
        return _ManyEvaluation(self, public, plans, records, many_records.opened(self.ring, items))

    def pairs(self, slots: Residues, questions: int) -> Residues:  # noqa: ARG002
        """Record by record."""
        return many_records.from_slots(self.layout, slots).T


class _ConjunctiveEvaluation(Evaluation):
    def __init__(
        self, way: ConjunctiveWay, public: Public, plans: Sequence[ClausePlan], records: int, opened: Any
    ) -> None:
        self.way, self.public, self.records, self.opened = way, public, records, opened
        self.size = way.group_size(len(plans))
        self.groups = [plans[asked.start : asked.stop] for asked in groups(len(plans), self.size)]

    def units(self) -> int:
        """Linear forms."""
        return evaluating.form_count(self.way)

    def joined(self, group: int, units: Sequence[Cipher], assist: Assist) -> tuple[Cipher, ...]:  # noqa: ARG002
        """Multiplied out and added up."""
        record, question = np.mgrid[: self.way.layout.block, : self.way.layout.stride]
        is_pair = ((question < len(self.groups[group])) & (record < self.records)).astype(np.uint64)
        return (evaluating.joined(self.public, units, self.way.in_slots(is_pair)),)


class _FewEvaluation(_ConjunctiveEvaluation):
    def unit(self, group: int, unit: int, assist: Assist) -> Cipher:  # noqa: ARG002
        """One linear form."""
        return evaluating.form(self.public, self.opened, self.groups[group], unit, self.size)


class _ManyEvaluation(_ConjunctiveEvaluation):
    def unit(self, group: int, unit: int, assist: Assist) -> Cipher:  # noqa: ARG002
        """One linear form; seldom made alone."""
        return evaluating.forms_together(self.public, self.opened, [self.groups[group]])[0][unit]

    def answers(self, groups: Sequence[int], assist: Assist, step: Step) -> Iterator[tuple[Cipher, ...]]:  # noqa: ARG002
        """All forms of all groups by one product of matrices."""
        wanted = [self.groups[group] for group in groups]
        for group, made in zip(groups, evaluating.forms_together(self.public, self.opened, wanted)):
            yield self.joined(group, made, assist)


def _deep_enough(terms: Terms, sets: Sequence[ParameterSet]) -> Sequence[ParameterSet]:
    needed = (alternatives(terms) - 1).bit_length()
    if needed > FEW_SETS[-1].depth:
        raise TermsError(
            f"The packed engine multiplies out at most {1 << FEW_SETS[-1].depth} alternatives without the assist, and"
            f" this agreement wants {alternatives(terms)}. Agree on fewer, or allow counting or negation."
        )
    return [one for one in sets if needed <= one.depth]


def _order(probe: Probe) -> tuple[int, str]:
    return probe.table.offset, probe.element
