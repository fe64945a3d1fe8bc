"""Evaluating a group of questions over a batch of records without any assist: linear forms, products, masks.

y = Σ_clauses Π_alternatives L, where every L is one row of the product by diagonals. Absent alternatives are 1 and
absent clauses 0, so all questions run the same steps. Every pair has a random non-zero mask, so the result is zero for
yes and uniform non-zero for no; slots that are no pair get uniform values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blindlabel.engines.packed.encoding.tables import Tables, asking
from blindlabel.engines.packed.seal import residues
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher
from blindlabel.engines.packed.ways.conjunctive import diagonals, many_records
from blindlabel.engines.packed.ways.conjunctive.clauses import Alternative, ClausePlan, alternatives
from blindlabel.engines.packed.ways.interface import AnyWay, Public


def form_count(way: AnyWay) -> int:
    """Linear forms that every question is given: clauses times alternatives."""
    return way.terms.clauses * alternatives(way.terms)


def weights_of(way: AnyWay, plans: Sequence[ClausePlan], index: int, size: int) -> tuple[Residues, Residues]:
    """Linear form `index` (clause, alternative) of all questions of a group in clear: a row of weights a question, and
    constants.
    """
    clause, alternative = divmod(index, alternatives(way.terms))
    weights = np.zeros((size, way.tables.features), dtype=np.uint64)
    constants = np.zeros(size, dtype=np.uint64)
    for question, plan in enumerate(plans):
        if clause >= len(plan.clauses):  # an absent clause is zero: true
            continue
        asked = sorted(plan.clauses[clause], key=_order)
        if alternative < len(asked):
            weights[question], constants[question] = _row(way.tables, asked[alternative])
        else:  # an absent alternative is one: false
            constants[question] = 1
    return weights, constants


def carries_mask(way: AnyWay, index: int) -> bool:
    """Whether a linear form carries its clause's masks: the first of every clause does."""
    return index % alternatives(way.terms) == 0


def form(public: Public, chunks: Sequence[Cipher], plans: Sequence[ClausePlan], index: int, size: int) -> Cipher:
    """Linear form `index` (clause, alternative) of all questions of a group."""
    way = public.way
    weights, constants = weights_of(way, plans, index, size)
    masks = np.ones((size, way.layout.block), dtype=np.uint64)
    if carries_mask(way, index):  # the mask of every pair rides on the first factor of the clause, at no cost
        masks = residues.uniform_nonzero(masks.size, way.ring.modulus).reshape(masks.shape)
    total = diagonals.product(way.ring, way.layout, chunks, weights, masks=masks, keys=public.records.galois)
    blocks = np.arange(way.layout.stride) % size
    added = constants[blocks][:, None] * masks[blocks] % np.uint64(way.ring.modulus)
    return way.ring.add_plain(
        public.records.encryptor.zero() if total is None else total, way.ring.slots(added.reshape(-1))
    )


def forms_together(
    public: Public, batch: many_records.Opened, plans: Sequence[Sequence[ClausePlan]]
) -> list[list[Cipher]]:
    """All linear forms of several groups, made together by one product of matrices."""
    way, count = public.way, form_count(public.way)
    ring, layout = way.ring, way.layout
    made = [weights_of(way, group, index, layout.stride) for group in plans for index in range(count)]
    totals = many_records.products(
        public.records.encryptor, layout, batch, np.stack([weights for weights, _ in made]), public.records.galois
    )
    result = []
    for index, (total, (_, constants)) in enumerate(zip(totals, made)):
        added = ring.slots(many_records.in_slots(layout, np.tile(constants, (layout.block, 1))))
        whole = ring.add_plain(total, added)
        result.append(many_records.masked(ring, whole) if carries_mask(way, index % count) else whole)
    return [result[start : start + count] for start in range(0, len(result), count)]


def _order(alternative: Alternative) -> list[tuple[int, str]]:
    return sorted((probe.table.offset, probe.element) for probe in alternative)


def _row(tables: Tables, alternative: Alternative) -> tuple[Residues, int]:
    """Weights and constant of Σ ρ·(<w, features> − fingerprint); nothing asked is zero: true."""
    t = np.uint64(tables.modulus)
    row = np.zeros(tables.features, dtype=np.uint64)
    constant = 0
    for probe, factor in zip(alternative, residues.uniform_nonzero(len(alternative), tables.modulus).tolist()):
        weights, fingerprint = asking(tables, probe.table, probe.element)
        part = slice(probe.table.offset, probe.table.end)
        row[part] = (row[part] + weights * np.uint64(factor)) % t
        constant = (constant - factor * fingerprint) % tables.modulus
    return row, constant


def joined(public: Public, linear_forms: Sequence[Cipher], pairs: Residues) -> Cipher:
    """The forms multiplied out and added up: zero where the answer is yes and uniform elsewhere. `pairs` is 1 in slots
    that are a pair.
    """
    way = public.way
    ring, width = way.ring, alternatives(way.terms)
    total: Cipher = None
    for clause in range(way.terms.clauses):
        factors = list(linear_forms[clause * width : (clause + 1) * width])
        while len(factors) > 1:
            paired = [ring.multiply(a, b, public.records.relinearisation) for a, b in zip(factors[::2], factors[1::2])]
            factors = paired + factors[len(factors) - len(factors) % 2 :]
        total = factors[0] if total is None else ring.add(total, factors[0])
    rest = np.where(pairs == 1, np.uint64(0), residues.uniform(pairs.size, ring.modulus))
    return ring.add_plain(total, ring.slots(rest))
