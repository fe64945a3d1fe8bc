"""The way with the assist, behind the Protocol of both ways."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from blindlabel.engines.assisting import AssistCall, AssistPlace, AssistSchedule
from blindlabel.engines.interface import Terms
from blindlabel.engines.packed.encoding.layout import RecordLayout, block_of
from blindlabel.engines.packed.encoding.parcels import Kind
from blindlabel.engines.packed.encoding.tables import tables_of
from blindlabel.engines.packed.planning import explaining, noise
from blindlabel.engines.packed.planning.explaining import Explained
from blindlabel.engines.packed.planning.noise import Noise
from blindlabel.engines.packed.seal.parameters import ParameterSet, RingParameters
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Plain, open_ring
from blindlabel.engines.packed.ways.assisted import calls, inner_products
from blindlabel.engines.packed.ways.assisted.evaluating import AssistedEvaluation, fold_element
from blindlabel.engines.packed.ways.assisted.plans import Gate, Plan, Room, compile_question
from blindlabel.engines.packed.ways.assisted.polynomials import BIT_MODULUS
from blindlabel.engines.packed.ways.assisted.question_layout import QuestionLayout
from blindlabel.engines.packed.ways.interface import KeyNeeds, Public, Secret, Way, groups
from blindlabel.language.formula import Formula

_MOST_BLOCK = 1024
"""Records in a batch: more would leave too few columns for questions."""


class AssistedWay(Way[Plan]):
    """Probes become bits and bits become gates, each by a call to the holder of the secret key."""

    sets = (
        ParameterSet(
            "assisted-8192",
            (
                RingParameters(8192, (41, 54, 54, 54), plain_bits=29),
                RingParameters(8192, (32, 56, 56, 56), plain_modulus=BIT_MODULUS),
            ),
        ),
    )
    """Records in the first ring, bits in the second."""

    def __init__(self, terms: Terms, parameters: ParameterSet) -> None:
        self.terms, self.parameters, self.room = terms, parameters, Room.of(terms)
        ring = parameters.rings[0]
        self.tables = tables_of(terms, open_ring(ring).modulus)
        block = block_of(terms.records, self.tables.features, _MOST_BLOCK)
        self.layout = RecordLayout.of(self.tables, ring, block)

    def questions(self, asked: int) -> QuestionLayout:
        """How so many questions share packed ciphertexts."""
        return QuestionLayout.of(self.layout, asked, self.room.probes)

    def key_needs(self) -> tuple[KeyNeeds, ...]:
        """Packing in the ring of the records; folding in the ring of bits."""
        bits = self.answer_ring
        # One question leaves room for the most copies, so its folds contain those of all others.
        folds = tuple(fold_element(bits, step) for step in self.questions(1).folds())
        return KeyNeeds(self.ring, tuple(inner_products.automorphisms(self.layout))), KeyNeeds(bits, folds)

    def noise(self) -> dict[str, Noise]:
        """Of padded inner products, and of three kinds of padded or masked sums of bits."""
        room, (ring, bits) = self.room, self.parameters.rings
        inner = noise.fresh(ring) + noise.plain_product(ring, self.tables.modulus, self.layout.stride)
        inner += noise.sum_of(inner_products.span(self.layout, self.tables)) + math.log2(self.layout.stride)
        width = calls.difference_bits(self.ring)
        one = noise.fresh_symmetric() + noise.plain_product(bits, BIT_MODULUS)
        gate = one + noise.sum_of(max(width, room.inner_weight)) + noise.plain_product(bits, BIT_MODULUS)
        return {
            "digits": Noise(inner + noise.TAIL, ring),
            "differences": Noise(one + noise.sum_of(width) + noise.TAIL, bits),
            "gates": Noise(gate + noise.sum_of(room.sources) + 1 + noise.TAIL, bits),
            "answers": Noise(one + noise.sum_of(room.final_weight) + noise.TAIL, bits),
        }

    def plan(self, question: Formula) -> Plan:
        """Probes, inner gates and the last gate."""
        return compile_question(self.terms, self.tables, question)

    def plaintexts(self, features: Residues) -> Iterator[Plain]:
        """Features as coefficients."""
        for values in inner_products.record_polynomials(self.layout, features, self.ring.modulus):
            yield self.ring.polynomial(values)

    def group_size(self, questions: int) -> int:
        """As many as have columns."""
        return self.questions(questions).questions

    def shares_units(self) -> bool:
        """Most of the time goes into units."""
        return True

    def assist_schedule(self, questions: int, records: int) -> AssistSchedule:
        """Two calls for each unit of probes, then one for each gate."""
        layout, room, width = self.questions(questions), self.room, calls.difference_bits(self.ring)
        inner = calls.described(self, Kind.POWERS_REQUEST, room.inner_weight)
        return AssistSchedule(
            groups=self.layout.batches(records) * len(groups(questions, layout.questions)),
            units=layout.units(room.probes),
            unit=(
                calls.described(self, Kind.DIGITS_REQUEST, layout.copies),
                calls.described(self, Kind.POWERS_REQUEST, width),
            ),
            last=(
                *[inner] * (room.inner_gates * room.inner_levels),
                calls.described(self, Kind.POWERS_REQUEST, room.final_weight),
            ),
        )

    def assist_call(self, schedule: AssistSchedule, request: bytes) -> tuple[AssistPlace, AssistCall]:  # noqa: ARG002
        """By the header alone."""
        return calls.announced(self, request)

    def evaluation(
        self, public: Public, plans: Sequence[Plan], records: int, items: Sequence[bytes], index: int = 0
    ) -> AssistedEvaluation:
        """A batch with its ciphertexts in NTT form."""
        chunks = [self.ring.to_ntt(self.load_record(item)) for item in items]
        first = index * self.group_count(len(plans))
        return AssistedEvaluation(public, self.room, plans, self.questions(len(plans)), records, chunks, first)

    def serve(self, secret: Secret, request: bytes) -> bytes:
        """Bits or powers of what was padded."""
        return calls.serve(secret, self.room, request)

    def pairs(self, slots: Residues, questions: int) -> Residues:
        """The first copy of the question layout."""
        size = self.group_size(questions)
        return slots[: self.layout.block * size].reshape(self.layout.block, size).T

    # -- for a person

    def explain(self, plan: Plan) -> Explained:
        """Probes, gates, and what a round of as many questions as records costs."""
        records, room = self.terms.records, self.room
        asked = self.questions(records)
        rounds = self.layout.batches(records) * len(groups(records, asked.questions))
        replies = 2 * asked.units(room.probes) * calls.difference_bits(self.ring)
        replies += room.inner_gates * room.inner_levels * room.inner_weight + room.final_weight
        columns = min(records, asked.questions) * room.probes
        span = inner_products.span(self.layout, self.tables)
        linear = columns * (span * explaining.PRODUCT + explaining.ROTATION + 0.001)
        seconds = self.layout.batches(records) * self.layout.chunks * explaining.LOAD
        seconds += rounds * (linear + replies * explaining.REPLY)
        ring, bits = self.parameters.rings
        down = bits.degree * sum(bits.prime_bits[:-1]) // 8
        up = 2 * bits.degree * max(bits.prime_bits[0], ring.prime_bits[0]) // 8
        made = self.assist_schedule(records, records).calls
        return Explained(
            parameters=self.parameters.name,
            predicates=[explaining.shown(one) for one in plan.probes],
            gates=[f"{place}: {_shown(gate, room)}" for place, gate in _placed(plan, room)],
            zero_tests=room.probes,
            assist_calls=made,
            noise_left={stage: round(found.left, 1) for stage, found in self.noise().items()},
            seconds=round(seconds, 2),
            bytes=self.sizes() | {"assist": rounds * replies * down + made * up},
        )


def _placed(plan: Plan, room: Room) -> list[tuple[str, Gate]]:
    inner = [
        (str(room.probes + depth * room.inner_gates + place), gate)
        for depth, level in enumerate(plan.levels)
        for place, gate in enumerate(level)
    ]
    return [*inner, ("answer", plan.final)]


def _shown(gate: Gate, room: Room) -> str:
    terms = [str(gate.constant)] if gate.constant or not gate.weights else []
    terms += [f"{weight}·[{'gate ' if source >= room.probes else ''}{source}]" for source, weight in gate.weights]
    accepted = [str(value) for value, accepts in enumerate(gate.accepts) if accepts]
    return f"{' + '.join(terms)} in {{{', '.join(accepted)}}}"
