"""Evaluating a group of questions over a batch of records with the assist.

Three steps, the same for every question: (1) *units*: the probes' inner products, padded, become bits in the slots of
the second ring; (2) inner gates, level by level; (3) the last gate, which leaves zero for yes and a uniform non-zero
value for no. docs/packed-engine.md follows a question through them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from blindlabel.engines.interface import Assist
from blindlabel.engines.packed.encoding.parcels import Kind
from blindlabel.engines.packed.planning.probing import Probe
from blindlabel.engines.packed.seal import residues
from blindlabel.engines.packed.seal.holders import Encryptor
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Ring
from blindlabel.engines.packed.ways.assisted import inner_products, polynomials
from blindlabel.engines.packed.ways.assisted.calls import Calls, ask, difference_bits
from blindlabel.engines.packed.ways.assisted.plans import Gate, Plan, Room
from blindlabel.engines.packed.ways.assisted.polynomials import BIT_MODULUS
from blindlabel.engines.packed.ways.assisted.question_layout import QuestionLayout
from blindlabel.engines.packed.ways.interface import EvaluationInUnits, Public, groups

_P = np.uint64(BIT_MODULUS)
_NOTHING = Gate((), 0, (False,))
"""Fills the room that a question does not use."""


@dataclass(frozen=True, eq=False)
class AssistedEvaluation(EvaluationInUnits):
    """A batch of `records` records, its ciphertexts in NTT form, and the compiled questions of a round."""

    public: Public
    room: Room
    plans: Sequence[Plan]
    layout: QuestionLayout
    records: int
    chunks: Sequence[Cipher]
    first: int = 0
    """How many groups there are over the batches before."""

    def units(self) -> int:
        """Packed ciphertexts that the probes of a group take."""
        return self.layout.units(self.room.probes)

    def unit(self, group: int, unit: int, assist: Assist) -> Cipher:
        """One unit of probes as bits."""
        return _unit_bits(self._group(group), self.chunks, unit, Calls(assist, group, unit, self._strand(group, unit)))

    def joined(self, group: int, units: Sequence[Cipher], assist: Assist) -> tuple[Cipher, ...]:
        """All gates."""
        return (
            _gates(self._group(group), units, Calls(assist, group, self.units(), self._strand(group, self.units()))),
        )

    def _strand(self, group: int, unit: int) -> int:
        return (self.first + group) * (self.units() + 1) + unit

    def _group(self, group: int) -> _Group:
        asked = groups(len(self.plans), self.layout.questions)[group]
        plans = self.plans[asked.start : asked.stop]
        return _Group(self.public, self.room, plans, self.layout, self.records)


@dataclass(frozen=True, eq=False)
class _Group:
    """A group of compiled questions, asked of a batch of `records` records."""

    public: Public
    room: Room
    plans: Sequence[Plan]
    layout: QuestionLayout
    records: int

    @property
    def encryptor(self) -> Encryptor:
        """Encrypts in the ring for bits."""
        return self.public.answers.encryptor

    @property
    def ring(self) -> Ring:
        """The ring for bits."""
        return self.encryptor.ring


def fold_element(ring: Ring, step: int) -> int:
    """The Galois element of one fold of a question layout."""
    return ring.rotation(step) if step else ring.swap


# -- step 1: bits


def _unit_bits(group: _Group, chunks: Sequence[Cipher], unit: int, calls: Calls) -> Cipher:
    """The answers to one unit of probes as bits: slot (copy, record, question) is 1 where probe unit·copies + copy
    holds.
    """
    way, layout, keys = group.public.way, group.layout, group.public.records
    ring = way.ring
    fingerprints = np.zeros(layout.stride, dtype=np.uint64)

    def column(index: int) -> Cipher | None:
        copy, question = divmod(index, layout.questions)
        number = unit * layout.copies + copy
        if number >= group.room.probes or question >= len(group.plans):
            return None
        asked = group.plans[question].probes
        # A question with fewer probes asks something all the same; no gate looks at the answer.
        probe = asked[number] if number < len(asked) else Probe(way.tables.tables[0], "")
        cipher, fingerprints[index] = inner_products.inner_product(ring, way.layout, way.tables, chunks, probe)
        return cipher

    packed = inner_products.pack(ring, way.layout, layout.stride, column, keys.galois)
    pad = calls.pad(layout.degree, ring.modulus)
    t = np.uint64(ring.modulus)
    added = (pad + t - np.tile(fingerprints, layout.block)) % t
    request = keys.encryptor.sanitised(ring.add_plain(packed, ring.polynomial(added)))
    return _is_zero(group, request, pad, calls)


def _is_zero(group: _Group, request: Cipher, pad: Residues, calls: Calls) -> Cipher:
    """Bits that say where the padded values were zero."""
    count = difference_bits(group.public.way.ring)
    slots = np.empty_like(pad)
    slots[group.layout.slot_of_coefficient()] = pad
    pad_bits = polynomials.bits(slots, count)
    reply = ask(group.public, calls, Kind.DIGITS_REQUEST, request, number=group.layout.copies, expected=count)
    differences = _weighted(group, zip(reply, polynomials.signs(pad_bits)), pad_bits.sum(axis=0))
    equal = polynomials.coefficients([(True,)], count)
    return _function(group, differences, lambda pads: polynomials.shifted(equal, pads[None, :])[:, 0, :], count, calls)


# -- step 2 and 3: gates


def _gates(group: _Group, bits: Sequence[Cipher], calls: Calls) -> Cipher:
    """All gates of all questions: zero where the answer is yes and uniform everywhere else."""
    ring = group.ring
    units = [ring.to_ntt(cipher) for cipher in bits]
    inner: list[Cipher] = []
    for level in range(group.room.inner_levels):
        made = []
        for place in range(group.room.inner_gates):
            members = [
                plan.levels[level][place] if place < len(plan.levels[level]) else _NOTHING for plan in group.plans
            ]
            made.append(ring.to_ntt(_gate(group, units, inner, members, calls, final=False)))
        inner += made
    last = [plan.final for plan in group.plans]
    return _gate(group, units, inner, last, calls, final=True)


def _gate(
    group: _Group,
    units: Sequence[Cipher],
    inner: Sequence[Cipher],
    members: Sequence[Gate],
    calls: Calls,
    *,
    final: bool,
) -> Cipher:
    """One gate of every question."""
    degree = group.room.final_weight if final else group.room.inner_weight
    ring, layout = group.ring, group.layout
    copy, _, question = layout.slots()
    weights = np.zeros((group.room.sources, layout.questions), dtype=np.int64)
    constants = np.zeros(layout.questions, dtype=np.int64)
    for place, member in enumerate(members):
        constants[place] = member.constant
        for source, weight in member.weights:
            weights[source, place] = weight
    residues = (weights % BIT_MODULUS).astype(np.uint64)
    padded = np.zeros((len(units) * layout.copies, layout.questions), dtype=np.uint64)
    padded[: group.room.probes] = residues[: group.room.probes]
    by_unit = ((cipher, padded[unit * layout.copies + copy, question]) for unit, cipher in enumerate(units))
    total = _weighted(group, by_unit, np.zeros(layout.degree, dtype=np.uint64))
    for step in layout.folds():
        total = ring.add(total, ring.automorphism(total, fold_element(ring, step), group.public.answers.galois))
    constant = (constants % BIT_MODULUS).astype(np.uint64)[question]
    by_gate = ((cipher, residues[group.room.probes + index, question]) for index, cipher in enumerate(inner))
    total = ring.add(total, _weighted(group, by_gate, constant))
    tables: list[tuple[bool, ...]] = [member.accepts for member in members] + [()] * (layout.questions - len(members))
    accepting = polynomials.coefficients(tables, degree)

    def in_powers(pads: Residues) -> Residues:
        arranged = (
            pads.reshape(layout.copies, layout.block, layout.questions).transpose(2, 0, 1).reshape(layout.questions, -1)
        )
        shifted = polynomials.shifted(accepting, arranged)
        back = shifted.reshape(degree + 1, layout.questions, layout.copies, layout.block).transpose(0, 2, 3, 1)
        flat = back.reshape(degree + 1, layout.degree)
        return _as_answers(group, flat) if final else flat

    return _function(group, total, in_powers, degree, calls)


def _as_answers(group: _Group, powers: Residues) -> Residues:
    """Turn f into a random multiple of f − 1: zero for yes, uniform non-zero for no; and uniform in every slot that is
    no pair.
    """
    copy, record, question = group.layout.slots()
    pair = (copy == 0) & (record < group.records) & (question < len(group.plans))
    powers = powers.copy()
    powers[0] = (powers[0] + _P - np.uint64(1)) % _P
    powers = powers * np.where(pair, residues.uniform_nonzero(pair.size, BIT_MODULUS), np.uint64(0))[None, :] % _P
    powers[0] = np.where(pair, powers[0], residues.uniform(pair.size, BIT_MODULUS))
    return powers


# -- what all steps share


def _function(
    group: _Group, value: Cipher, in_powers: Callable[[Residues], Residues], degree: int, calls: Calls
) -> Cipher:
    """A function of an encrypted value, slot by slot: pad it, have the powers of the padded value, combine them."""
    ring = group.ring
    pad = calls.pad(group.layout.degree, BIT_MODULUS)
    request = group.encryptor.sanitised(ring.add_plain(value, ring.slots(pad)))
    reply = ask(group.public, calls, Kind.POWERS_REQUEST, request, number=degree, expected=degree)
    combined = in_powers(pad)
    return _weighted(group, zip(reply, combined[1:]), combined[0])


def _weighted(group: _Group, pairs: Iterable[tuple[Cipher, Residues]], constant: Residues) -> Cipher:
    """The sum of ciphertexts (in NTT form) times clear values, slot by slot, plus clear values."""
    ring = group.ring
    ones = np.ones(ring.degree, dtype=np.uint64)
    total: Cipher = None
    for cipher, values in pairs:
        idle = not values.any()  # SEAL refuses to multiply by zero; the time is spent all the same
        product = ring.multiply_plain(cipher, ring.transformed(ring.slots(ones if idle else values)))
        if idle:
            continue
        if total is None:
            total = product
        else:
            ring.add_into(total, product)
    whole = ring.from_ntt(total) if total is not None else group.encryptor.zero()
    return ring.add_plain(whole, ring.slots(constant))
