"""The points way, behind the Protocol of both ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blindlabel.engines.interface import Terms, TermsError
from blindlabel.engines.packed.encoding.layout import RecordLayout, block_of
from blindlabel.engines.packed.encoding.tables import tables_of
from blindlabel.engines.packed.planning import explaining, noise
from blindlabel.engines.packed.planning.explaining import Explained
from blindlabel.engines.packed.planning.noise import Noise
from blindlabel.engines.packed.seal.parameters import ParameterSet, RingParameters
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Plain, open_ring
from blindlabel.engines.packed.ways.interface import KeyNeeds, Public, Way, groups
from blindlabel.engines.packed.ways.points import forms
from blindlabel.engines.packed.ways.points.columns import Columns
from blindlabel.engines.packed.ways.points.evaluating import PointsEvaluation, Room
from blindlabel.engines.packed.ways.points.expressions import Leaf
from blindlabel.engines.packed.ways.points.fitting import PointsPlan, compile_question
from blindlabel.engines.packed.ways.points.levels import Levels
from blindlabel.engines.packed.ways.points.shape import shape_of
from blindlabel.language.formula import Formula

_LEAST_BLOCK = 32
"""Records of a batch: fewer would make records hardly smaller, and the steps of the linear forms many."""
_ROTATION, _RESIDUES, _PRODUCT = 0.0085, 0.0045, 0.026
"""Processor seconds at degree 16384 and five primes, on a quiet machine: key switching, a ciphertext as residues or
back, a product of two with what goes with it.
"""
_SUMMAND, _PATTERN = 1.0e-4, 1.9e-9
"""The same for a summand of a product of matrices, and for transforming its pattern, times the stride squared."""
_WRONG = 1e-6
"""How likely a label may be wrong, at most."""
_MOST_ROTATED = 1 << 30
"""Bytes of rotated record ciphertexts that are held at once: those of one batch."""
_MOST_SUMS = 1 << 28
"""Bytes of sums that are held at once, unless one group has more."""


class PointsWay(Way[PointsPlan]):
    """Conditions on places, a bar and exclusions, without a call to anybody."""

    sets = (
        ParameterSet("points-16384-320", (RingParameters(16384, (48, 48, 56, 56, 56, 56), plain_bits=24),)),
        ParameterSet("points-16384-360", (RingParameters(16384, (60, 60, 60, 60, 60, 60), plain_bits=24),)),
        ParameterSet("points-16384-390", (RingParameters(16384, (54, 56, 56, 56, 56, 56, 56), plain_bits=24),)),
        ParameterSet("points-16384-414", (RingParameters(16384, (36, 54, 54, 54, 54, 54, 54, 54), plain_bits=24),)),
        ParameterSet("points-32768-360", (RingParameters(32768, (60, 60, 60, 60, 60, 60), plain_bits=24),)),
        ParameterSet("points-32768-414", (RingParameters(32768, (54, 60, 60, 60, 60, 60, 60), plain_bits=24),)),
    )
    """The number is the bits of all primes. The last are for keys that must be able to lose many bits."""

    def __init__(self, terms: Terms, parameters: ParameterSet) -> None:
        self.terms, self.parameters = terms, parameters
        self.shape = shape_of(terms.profile)
        self.values = 2 if terms.exclusions else 1
        ring = parameters.rings[0]
        self.tables = tables_of(terms, open_ring(ring).modulus)
        block = max(_LEAST_BLOCK, block_of(terms.records, self.tables.features, ring.degree // 4))
        self.layout = RecordLayout.of(self.tables, ring, block)
        if (self.places + 2) / self.tables.modulus > _WRONG:
            raise TermsError(
                f"The profile's {self.shape.places} places and {terms.exclusions} exclusions would let more than one"
                " label in a million be wrong. Agree on fewer."
            )
        once = self.layout.chunks * 8 * 2 * ring.data_primes * ring.degree
        columns = Columns.of(self.layout, terms.records, self.places)
        outputs = columns.outputs * len(groups(terms.records, columns.questions))
        self.steps = forms.Steps.of(self.layout, columns.width, outputs, _MOST_ROTATED // once)

    @property
    def places(self) -> int:
        """Linear forms of a question: its places and its exclusions."""
        return self.shape.places + self.terms.exclusions

    @property
    def room(self) -> Room:
        """What every question is given."""
        return Room(self.ring, self.tables, self.layout, self.shape, self.terms.exclusions, self.steps, self.levels)

    def columns(self, questions: int) -> Columns:
        """Where so many questions stand."""
        return Columns.of(self.layout, questions, self.places, self.steps.width)

    def _group_count(self) -> int:
        """Groups of a round of as many questions as records."""
        return len(groups(self.terms.records, self.columns(self.terms.records).questions))

    def key_needs(self) -> tuple[KeyNeeds, ...]:
        """Rotations by one and by a giant step, and products."""
        return (KeyNeeds(self.ring, tuple(forms.rotations(self.ring, self.steps)), relinearisation=True),)

    @property
    def levels(self) -> Levels:
        """When ciphertexts lose primes: the linear forms have the noise of a fresh ciphertext after its baby steps, a
        product with weights and their sum.
        """
        ring, t = self.parameters.rings[0], self.tables.modulus
        fresh = noise.fresh_symmetric() if self.terms.keys == "owners" else noise.fresh(ring)
        linear = noise.rotated(ring, fresh, self.steps.babies)
        linear += noise.plain_product(ring, t, 2 * self.layout.stride)
        linear += noise.sum_of(self.layout.chunks * self.steps.babies * self.steps.giants)
        linear += noise.sum_of(1 + self.steps.folds(self.layout))
        return Levels(ring, t, linear)

    def noise(self) -> dict[str, Noise]:
        """Of the answers: linear forms, the products of both halves, what is asked, a last product and, where they
        leave for the coordinator, masks.
        """
        ring, t, levels = self.parameters.rings[0], self.tables.modulus, self.levels
        combined = self.shape.combined(levels, self.layout)
        level, bits = levels.together(combined, levels.after(self.shape.depth[1]))
        bits += noise.product(ring, t) + noise.sum_of(self.shape.coefficients(self.shape.right)) + noise.TAIL
        if self.terms.keys == "coordinator":
            bits += noise.plain_product(ring, t) + noise.sum_of(self.values)
        return {"answers": Noise(bits, ring, level)}

    def plan(self, question: Formula) -> PointsPlan:
        """Conditions on places, where the question is false, and exclusions."""
        return compile_question(self.terms, self.tables, question)

    def plaintexts(self, features: Residues) -> Iterator[Plain]:
        """Features as slots, record by record."""
        return (self.ring.slots(values) for values in forms.record_slots(self.layout, self.steps, features))

    def group_size(self, questions: int) -> int:
        """As many as have columns."""
        return self.columns(questions).questions

    def groups_together(self) -> int:
        """As many as have room, since their matrices are multiplied together."""
        each = self.columns(self.terms.records).outputs * self.steps.giants
        return max(1, _MOST_SUMS // (each * 8 * 2 * self.parameters.rings[0].data_primes * self.ring.degree))

    def evaluation(
        self,
        public: Public,
        plans: Sequence[PointsPlan],
        records: int,
        items: Sequence[bytes],
        index: int = 0,  # noqa: ARG002
    ) -> PointsEvaluation:
        """A batch with its ciphertexts rotated."""
        ciphers = (self.load_record(item) for item in items)
        batch = forms.rotated(self.ring, self.layout, self.steps, ciphers, public.records.galois)
        return PointsEvaluation(self.room, public, plans, records, batch)

    def pairs(self, slots: Residues, questions: int) -> Residues:
        """The columns of the first copy."""
        return self.columns(questions).pairs(slots)

    def explain(self, plan: PointsPlan) -> Explained:
        """Conditions on places, exclusions, and what a round of as many questions as records costs."""
        leaves = dict.fromkeys(leaf for leaf in (*plan.places, *plan.exclusions) if leaf is not None)
        probes = sorted({probe for leaf in leaves for probe in leaf}, key=lambda one: (one.table.offset, one.element))
        numbers = {probe: number for number, probe in enumerate(probes)}

        def shown(leaf: Leaf) -> str:
            return " & ".join(f"[{number}]" for number in sorted(numbers[probe] for probe in leaf)) or "always"

        places = []
        for number, size in enumerate(self.shape.sizes):
            asked = [plan.places[place] for place in self.shape.places_of(number)]
            held = [shown(leaf) for leaf in asked if leaf is not None]
            places.append(f"class {number + 1} ({size} alike): {', '.join(held) or 'not used'}")
        if self.terms.exclusions:
            excluded = ", ".join(shown(leaf) for leaf in plan.exclusions) or "nothing"
            places.append(f"but not (room for {self.terms.exclusions}): {excluded}")
        return Explained(
            parameters=self.parameters.name,
            predicates=[explaining.shown(one) for one in probes],
            places=places,
            noise_left={stage: round(found.left, 1) for stage, found in self.noise().items()},
            seconds=round(self._seconds(), 1),
            bytes=self.sizes(),
        )

    def _seconds(self) -> float:
        """Of a round of as many questions as records, from the number of operations."""
        ring, steps, records = self.parameters.rings[0], self.steps, self.terms.records
        outputs = self.columns(records).outputs * self._group_count()
        inner = steps.babies * self.layout.chunks
        folds = outputs * steps.folds(self.layout) * steps.width // steps.babies
        rotated = inner * (_ROTATION + _RESIDUES) + folds * _ROTATION
        summand = _SUMMAND + _PATTERN * self.layout.stride**2 * 16384 / ring.degree
        made = outputs * steps.giants * (_ROTATION + _RESIDUES + summand * inner)
        aligned = self._group_count() * self.places * _ROTATION
        multiplied = self._group_count() * (self.shape.products + self.terms.exclusions + 2) * _PRODUCT
        scale = ring.data_primes / 5 * ring.degree / 16384
        return self.layout.batches(records) * scale * (rotated + made + aligned + multiplied)
