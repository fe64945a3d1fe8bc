"""Evaluating groups of questions over a batch of records: linear forms, products, masks.

All questions run the same steps whatever they ask: as many places and exclusions as the agreement gives room for, the
same products, the same number of masks. Y is zero where the points are reached, V (the product of the exclusions) where
an exclusion holds. What leaves is, with ρ, ρ' and ρ'' uniform and fresh for every pair, ρ'' not zero,

    y = ρ·Y        v' = ρ''·V + ρ'·Y

so where Y is not zero v' says nothing, and where it is, v' says whether an exclusion holds. Slots that are no pair get
uniform values. Where an owner holds the key, Y and V are given to `opening`, which masks them with randomness of both
sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from blindlabel.engines.interface import Assist
from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.encoding.tables import Tables, asking
from blindlabel.engines.packed.seal import residues
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Ring
from blindlabel.engines.packed.ways.interface import Evaluation, Public, Step, groups
from blindlabel.engines.packed.ways.points import forms, periodic, tree
from blindlabel.engines.packed.ways.points.columns import Columns
from blindlabel.engines.packed.ways.points.expressions import Leaf
from blindlabel.engines.packed.ways.points.fitting import PointsPlan
from blindlabel.engines.packed.ways.points.levels import Levels
from blindlabel.engines.packed.ways.points.shape import Shape


@dataclass(frozen=True, eq=False)
class Room:
    """What every question of an agreement is given."""

    ring: Ring
    tables: Tables
    layout: RecordLayout
    shape: Shape
    exclusions: int
    steps: forms.Steps
    levels: Levels

    def columns(self, questions: int) -> Columns:
        """Where so many questions stand."""
        return Columns.of(self.layout, questions, self.shape.places + self.exclusions, self.steps.width)


class PointsEvaluation(Evaluation):
    """One batch of records and the questions of a round."""

    def __init__(
        self, room: Room, public: Public, plans: Sequence[PointsPlan], records: int, batch: forms.Rotated
    ) -> None:
        self.room, self.public, self.records, self.batch = room, public, records, batch
        self.columns = room.columns(len(plans))
        self.groups = [[plans[i] for i in group] for group in groups(len(plans), self.columns.questions)]

    def answers(self, groups: Sequence[int], assist: Assist, step: Step) -> Iterator[tuple[Cipher, ...]]:  # noqa: ARG002
        """Some groups, whose linear forms are made together."""
        outputs = self.columns.outputs
        made = self._outputs([self._weights(group, output) for group in groups for output in range(outputs)])
        for position, group in enumerate(groups):
            step(group, 0.5)
            yield self._values_of(group, made[position * outputs : (position + 1) * outputs])

    def _values_of(self, group: int, outputs: Sequence[Cipher]) -> tuple[Cipher, ...]:
        """The values that leave, from the ciphertexts of a group's places."""
        missed, excluded = self.points(group, outputs)
        keys, ring = self.public.records, self.room.ring
        if self.public.way.terms.keys == "owners":  # `opening` masks them
            return (missed,) if excluded is None else (missed, excluded)
        pairs = self.columns.pair_slots(len(self.groups[group]), self.records)

        def masked(cipher: Cipher, masks: Residues) -> Cipher:
            return tree.times(keys.encryptor, cipher, masks * pairs)

        def filled(cipher: Cipher) -> Cipher:
            return ring.add_plain(cipher, ring.slots(residues.uniform(ring.degree, ring.modulus) * ~pairs))

        reached = filled(masked(missed, residues.uniform(ring.degree, ring.modulus)))
        if excluded is None:
            return (reached,)
        both = masked(missed, residues.uniform(ring.degree, ring.modulus))
        excluded = ring.switched(excluded, missed.coeff_modulus_size())
        return reached, filled(ring.add(both, masked(excluded, residues.uniform_nonzero(ring.degree, ring.modulus))))

    def points(self, group: int, outputs: Sequence[Cipher]) -> tuple[Cipher, Cipher]:
        """Y and V of a group's questions, not masked: a value in every slot of a pair, other slots hold anything. V is
        None where the agreement has no exclusions.
        """
        room, keys, plans = self.room, self.public.records, self.groups[group]
        products = tree.Tree(keys.encryptor, room.layout, room.shape, room.levels, keys.relinearisation)
        places = self.columns.aligned(room.ring, list(outputs), keys.galois)
        count = room.shape.places
        support = self.columns.spread(np.stack([plan.support for plan in plans], axis=-1).astype(np.uint64))
        missed = products.missed(places[:count], support)
        return missed, products.product_of(places[count:]) if room.exclusions else None

    def _outputs(self, asked: Sequence[tuple[Residues, Residues]]) -> list[Cipher]:
        room, keys = self.room, self.public.records
        totals = forms.products(
            keys.encryptor,
            room.layout,
            room.steps,
            self.batch,
            np.stack([weights for weights, _ in asked]),
            keys.galois,
        )
        found = []
        for total, (_, constants) in zip(totals, asked):
            added = periodic.in_slots(room.layout, np.tile(constants, (room.layout.block, 1)))
            found.append(room.ring.add_plain(total, room.ring.slots(added)))
        return found

    def _weights(self, group: int, output: int) -> tuple[Residues, Residues]:
        """The clear weights [column, feature] and constants [column] of one ciphertext of places."""
        room, columns = self.room, self.columns
        weights = np.zeros((columns.width, room.tables.features), dtype=np.uint64)
        constants = np.ones(room.layout.stride, dtype=np.uint64)
        for copy in range(columns.copies):
            place = output * columns.copies + copy
            for question, plan in enumerate(self.groups[group]):
                asked = _asked(plan, place)
                if asked is not None:
                    column = columns.column(copy, question)
                    weights[column], constants[column] = _row(room.tables, asked)
        return weights, constants


def _asked(plan: PointsPlan, place: int) -> Leaf | None:
    """What a question asks at a place: its conditions come first, then its exclusions."""
    if place < len(plan.places):
        return plan.places[place]
    excluded = place - len(plan.places)
    return plan.exclusions[excluded] if excluded < len(plan.exclusions) else None


def _row(tables: Tables, leaf: Leaf) -> tuple[Residues, int]:
    """Weights and constant of Σ ρ·(<w, features> − fingerprint), ρ random and not zero; nothing asked is zero: true."""
    t = np.uint64(tables.modulus)
    row = np.zeros(tables.features, dtype=np.uint64)
    constant = 0
    for probe, factor in zip(leaf, residues.uniform_nonzero(len(leaf), tables.modulus).tolist(), strict=True):
        weights, fingerprint = asking(tables, probe.table, probe.element)
        part = slice(probe.table.offset, probe.table.end)
        row[part] = (row[part] + weights * np.uint64(factor)) % t
        constant = (constant - factor * fingerprint) % tables.modulus
    return row, constant
