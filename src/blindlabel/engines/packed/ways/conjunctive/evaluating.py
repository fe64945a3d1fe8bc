"""Evaluating a group of questions over a batch of records without any assist: linear forms, products, masks.

y = Σ_clauses Π_alternatives L, where every L is one row of the product by diagonals. Absent alternatives are 1 and
absent clauses 0, so all questions run the same steps. Every pair has a random non-zero mask, so the result is zero for
yes and uniform non-zero for no; slots that are no pair get uniform values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blindlabel.engines.packed.encoding.tables import Tables, asking
from blindlabel.engines.packed.keys import Public
from blindlabel.engines.packed.planning import parameters
from blindlabel.engines.packed.planning.setting import Setting
from blindlabel.engines.packed.seal import residues
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher
from blindlabel.engines.packed.ways.conjunctive import diagonals, many_records
from blindlabel.engines.packed.ways.conjunctive.clauses import Alternative, ClausePlan


def form_count(setting: Setting) -> int:
    """Linear forms that every question is given: clauses times alternatives."""
    return setting.terms.clauses * parameters.alternatives(setting.terms)


def weights_of(setting: Setting, plans: Sequence[ClausePlan], index: int, size: int) -> tuple[Residues, Residues]:
    """Linear form `index` (clause, alternative) of all questions of a group in clear: a row of weights a question, and
    constants.
    """
    clause, alternative = divmod(index, parameters.alternatives(setting.terms))
    weights = np.zeros((size, setting.tables.features), dtype=np.uint64)
    constants = np.zeros(size, dtype=np.uint64)
    for question, plan in enumerate(plans):
        if clause >= len(plan.clauses):  # an absent clause is zero: true
            continue
        asked = sorted(plan.clauses[clause], key=_order)
        if alternative < len(asked):
            weights[question], constants[question] = _row(setting.tables, asked[alternative])
        else:  # an absent alternative is one: false
            constants[question] = 1
    return weights, constants


def carries_mask(setting: Setting, index: int) -> bool:
    """Whether a linear form carries its clause's masks: the first of every clause does."""
    return index % parameters.alternatives(setting.terms) == 0


def form(public: Public, chunks: Sequence[Cipher], plans: Sequence[ClausePlan], index: int, size: int) -> Cipher:
    """Linear form `index` (clause, alternative) of all questions of a group."""
    setting = public.setting
    weights, constants = weights_of(setting, plans, index, size)
    masks = np.ones((size, setting.layout.block), dtype=np.uint64)
    if carries_mask(setting, index):  # the mask of every pair rides on the first factor of the clause, at no cost
        masks = residues.uniform_nonzero(masks.size, setting.ring.modulus).reshape(masks.shape)
    total = diagonals.product(setting.ring, setting.layout, chunks, weights, masks=masks, keys=public.galois)
    blocks = np.arange(setting.layout.stride) % size
    added = constants[blocks][:, None] * masks[blocks] % np.uint64(setting.ring.modulus)
    return setting.ring.add_plain(
        public.encryptor.zero() if total is None else total, setting.ring.slots(added.reshape(-1))
    )


def wide_forms(public: Public, batch: many_records.Opened, plans: Sequence[Sequence[ClausePlan]]) -> list[list[Cipher]]:
    """All linear forms of several groups, made together by one product of matrices."""
    setting, count = public.setting, form_count(public.setting)
    ring, layout = setting.ring, setting.layout
    made = [weights_of(setting, group, index, layout.stride) for group in plans for index in range(count)]
    totals = many_records.products(
        public.encryptor, layout, batch, np.stack([weights for weights, _ in made]), public.galois
    )
    result = []
    for index, (total, (_, constants)) in enumerate(zip(totals, made)):
        added = ring.slots(many_records.in_slots(layout, np.tile(constants, (layout.block, 1))))
        whole = ring.add_plain(total, added)
        result.append(many_records.masked(ring, whole) if carries_mask(setting, index % count) else whole)
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


def answers(public: Public, linear_forms: Sequence[Cipher], questions: int, records: int) -> Cipher:
    """The forms multiplied out and added up: a sanitised ciphertext that is zero where the answer is yes and uniform
    elsewhere.
    """
    setting = public.setting
    ring, layout = setting.ring, setting.layout
    width = parameters.alternatives(setting.terms)
    total: Cipher = None
    for clause in range(setting.terms.clauses):
        factors = list(linear_forms[clause * width : (clause + 1) * width])
        while len(factors) > 1:
            paired = [ring.multiply(a, b, public.relinearisation) for a, b in zip(factors[::2], factors[1::2])]
            factors = paired + factors[len(factors) - len(factors) % 2 :]
        total = factors[0] if total is None else ring.add(total, factors[0])
    record, question = np.mgrid[: layout.block, : layout.stride]
    is_pair = ((question < questions) & (record < records)).astype(np.uint64)
    pair = many_records.in_slots(layout, is_pair) if setting.chosen.wide else is_pair.T.reshape(-1)
    rest = np.where(pair == 1, np.uint64(0), residues.uniform(pair.size, ring.modulus))
    return public.encryptor.sanitised(ring.add_plain(total, ring.slots(rest)))
