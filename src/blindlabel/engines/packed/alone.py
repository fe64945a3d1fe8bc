"""Evaluating a group of questions over a batch of records without any assist: linear forms, products, masks.

y = Σ_clauses Π_alternatives L, where every L is one row of the product by diagonals. Absent alternatives are 1 and absent clauses 0, so
all questions run the same steps. Every pair has a random non-zero mask, so the result is zero for yes and uniform non-zero for no; slots
that are no pair get uniform values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blindlabel.engines.packed import arithmetic, diagonals, parameters
from blindlabel.engines.packed.arithmetic import Words
from blindlabel.engines.packed.clauses import Alternative, ClausePlan
from blindlabel.engines.packed.material import Public
from blindlabel.engines.packed.seal import Cipher
from blindlabel.engines.packed.tables import Tables, asking


def forms(public: Public) -> int:
    """Linear forms that every question is given: clauses times alternatives."""
    terms = public.setting.terms
    return terms.clauses * parameters.alternatives(terms)


def form(public: Public, chunks: Sequence[Cipher], plans: Sequence[ClausePlan], index: int, size: int) -> Cipher:
    """Linear form `index` (clause, alternative) of all questions of a group."""
    setting = public.setting
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
    masks = np.ones((size, setting.layout.block), dtype=np.uint64)
    if alternative == 0:  # the mask of every pair rides on the first factor of the clause, at no cost
        masks = arithmetic.uniform_nonzero(masks.size, setting.ring.modulus).reshape(masks.shape)
    total = diagonals.product(setting.ring, setting.layout, chunks, weights, masks=masks, keys=public.galois)
    blocks = np.arange(setting.layout.stride) % size
    added = constants[blocks][:, None] * masks[blocks] % np.uint64(setting.ring.modulus)
    return setting.ring.add_plain(public.encryptor.zero() if total is None else total, setting.ring.slots(added.reshape(-1)))


def _order(alternative: Alternative) -> list[tuple[int, str]]:
    return sorted((probe.table.offset, probe.element) for probe in alternative)


def _row(tables: Tables, alternative: Alternative) -> tuple[Words, int]:
    """Weights and constant of Σ ρ·(<w, features> − fingerprint); nothing asked is zero: true."""
    t = np.uint64(tables.modulus)
    row = np.zeros(tables.features, dtype=np.uint64)
    constant = 0
    for probe, factor in zip(alternative, arithmetic.uniform_nonzero(len(alternative), tables.modulus).tolist()):
        weights, fingerprint = asking(tables, probe.table, probe.element)
        part = slice(probe.table.offset, probe.table.end)
        row[part] = (row[part] + weights * np.uint64(factor)) % t
        constant = (constant - factor * fingerprint) % tables.modulus
    return row, constant


def answers(public: Public, linear_forms: Sequence[Cipher], questions: int, records: int) -> Cipher:
    """The forms multiplied out and added up: a sanitised ciphertext that is zero where the answer is yes and uniform elsewhere."""
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
    block, record = np.divmod(np.arange(ring.degree), layout.block)
    pair = (block < questions) & (record < records)
    rest = np.where(pair, np.uint64(0), arithmetic.uniform(pair.size, ring.modulus))
    return public.encryptor.sanitised(ring.add_plain(total, ring.slots(rest)))
