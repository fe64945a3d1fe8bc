"""Evaluating groups of questions over a batch of records: linear forms, products, and what leaves.

All questions run the same steps whatever they ask: as many places, exclusions and exceptions as the agreement gives
room for, the same products. Y is zero if the points are reached, V (the product of the exclusions) where one holds,
W (that of the exceptions) where one of those does. `opening` mixes them with randomness of both sides and pads them,
and nothing else leaves. An evaluation that is begun again starts from its beginning with fresh randomness.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from blindlabel.engines.interface import Evaluated, ParcelError
from blindlabel.engines.packed import residues
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.features import Tables, asking
from blindlabel.engines.packed.encoding.parcels import Parcel, ParcelKind
from blindlabel.engines.packed.planning.fitting import Leaf, Plan
from blindlabel.engines.packed.planning.room import QuestionColumns, Room, groups
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.running import linear, multiplying, opening
from blindlabel.engines.packed.running.keys import Public
from blindlabel.engines.packed.running.records import Batch
from blindlabel.engines.packed.seal.ring import Cipher
from blindlabel.errors import OutsideError

OnGroup = Callable[[int, float], None]
"""Called with a group and the share of it that is done."""


@dataclass(frozen=True, eq=False)
class OpenedBatch:
    """A batch of records, its ciphertexts rotated, and the questions of a round."""

    public: Public
    batch: Batch
    plans: Sequence[Plan]
    words: Residues

    @classmethod
    def of(cls, public: Public, plans: Sequence[Plan], batch: Batch) -> OpenedBatch:
        """Open a batch: from its ciphertexts, which are then no longer needed, or from what others have rotated."""
        if batch.words is not None:
            return cls(public, batch, plans, words_in(public, batch, "r"))
        words = np.empty(_shape(public.room), dtype=np.uint64)
        rotate(public, batch, words, range(len(batch.items)))
        return cls(public, replace(batch, items=()), plans, words)

    def answer(self, group: int, tell: OnGroup = lambda _group, _share: None) -> Evaluated:
        """The answers of a group. Numbers of an answers parcel: batch, group, questions in all, records in all."""
        made = self.forms(group, range(self._columns.outputs))
        tell(group, 0.5)
        answer = self.finished(group, made)
        tell(group, 1.0)
        return answer

    def forms(self, group: int, outputs: Sequence[int]) -> list[Cipher]:
        """Some of the ciphertexts of a group's linear forms."""
        public, room = self.public, self.public.room
        with _one_sentence():
            constants: list[Residues] = []

            def weights() -> Iterator[Residues]:
                for output in outputs:  # made when they are wanted: those of all outputs are large
                    made, constant = self._weights(group, output)
                    constants.append(constant)
                    yield made

            found = []
            totals = linear.products(public.encryptor, room.layout, room.steps, self.words, weights(), public.galois)
            for place, total in enumerate(totals):
                added = room.layout.in_slots(np.tile(constants[place], (room.layout.block, 1)))
                found.append(public.ring.add_plain(total, public.ring.slots(added)))
            return found

    def finished(self, group: int, forms: Sequence[Cipher]) -> Evaluated:
        """The answers of a group whose linear forms are there."""
        with _one_sentence():
            return self._leaving(group, self.values(group, forms))

    def share(self, group: int, part: float) -> float:
        """How much of the whole evaluation is done when so much of a group is."""
        in_all = self.public.room.group_count(len(self.plans))
        return (self.batch.index + (group + part) / in_all) / self.batch.batches

    @property
    def _columns(self) -> QuestionColumns:
        return self.public.room.columns(len(self.plans))

    def _group(self, group: int) -> Sequence[Plan]:
        return [self.plans[place] for place in groups(len(self.plans), self._columns.questions)[group]]

    def values(self, group: int, outputs: Sequence[Cipher]) -> list[Cipher]:
        """Y, V and W of a group's questions, as far as the agreement has them, not masked: a value in every slot of a
        pair, other slots hold anything.
        """
        public, room = self.public, self.public.room
        products = multiplying.ProductTree(room, public.encryptor, public.relinearisation, public.galois)
        copies = self._columns.copies
        forms = [multiplying.Node(outputs[form // copies], form % copies) for form in range(room.forms)]
        support = np.stack([plan.support for plan in self._group(group)], axis=-1).astype(np.uint64)
        count, (exclusions, unless) = room.shape.places, room.below
        made = [products.missed(forms[:count], self._columns.spread(support))]
        for start, below in ((count, exclusions), (count + exclusions, unless)):
            made += [products.product_of(forms[start : start + below])] if below else []
        return made

    def _leaving(self, group: int, values: Sequence[Cipher]) -> Evaluated:
        """Values of a group's pairs, ready to leave: mixed with the key holder's randomness and padded."""
        public, count = self.public, self.public.room.values
        shares = self.batch.shares[group * count : (group + 1) * count]
        mixed = opening.mixed(public.ring, values, shares, public.relinearisation)
        padded = [opening.padded(public.encryptor, value) for value in mixed]
        numbers = (self.batch.index, group, len(self.plans), self.batch.total)
        answers = Parcel(ParcelKind.ANSWERS, public.study, numbers, tuple(one.cipher for one in padded))
        kept = tuple(one.pad.astype("<u4").tobytes() for one in padded)
        return Evaluated(parcels.write(answers), parcels.write(Parcel(ParcelKind.PADS, public.study, numbers, kept)))

    def _weights(self, group: int, output: int) -> tuple[Residues, Residues]:
        """The clear weights [column, feature] and constants [column] of one ciphertext of forms."""
        room, columns = self.public.room, self._columns
        weights = np.zeros((columns.width, room.tables.features), dtype=np.uint64)
        constants = np.ones(room.layout.stride, dtype=np.uint64)
        for copy in range(columns.copies):
            form = output * columns.copies + copy
            for question, plan in enumerate(self._group(group)):
                asked = _asked(plan, form, room.below[0])
                if asked is not None:
                    column = columns.column(copy, question)
                    weights[column], constants[column] = _row(room.tables, asked)
        return weights, constants


def _shape(room: Room) -> tuple[int, int, int, int]:
    return linear.rotated_shape(room.layout, room.steps, room.levels.first)


def rotate(public: Public, batch: Batch, words: Residues, chunks: Iterable[int]) -> None:
    """Some ciphertexts of a batch, rotated, as words at their places."""
    with _one_sentence():
        ciphers = ((chunk, public.ring.load_seeded(batch.items[chunk])) for chunk in chunks)
        linear.rotate(public.ring, public.room.steps, ciphers, public.galois, words)


def make_room(room: Room, path: Path) -> None:
    """A file for the rotated words of a batch."""
    size = 8 * math.prod(_shape(room))
    try:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as problem:
        raise OutsideError(
            f"Worker processes share {size / 1e6:.0f} MB in {path.parent.parent}, where there is no room for it"
            f" ({problem.strerror}). Make room, name another folder with TMPDIR, or work with one process."
        ) from problem


def words_in(public: Public, batch: Batch, mode: Literal["r", "r+"]) -> Residues:
    """The file of a batch's rotated words."""
    assert batch.words is not None
    return np.memmap(batch.words, dtype=np.uint64, mode=mode, shape=_shape(public.room))


def _asked(plan: Plan, form: int, exclusions: int) -> Leaf | None:
    """What a question asks with a form: its conditions come first, then its exclusions, then its exceptions."""
    asked: list[Leaf | None] = [*plan.places, *plan.exclusions]
    asked += [None] * (exclusions - len(plan.exclusions)) + [*plan.unless]
    return asked[form] if form < len(asked) else None


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


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Whatever goes wrong while computing ends with the same words: what SEAL says might depend on the questions."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError, ArithmeticError) as problem:
        raise ParcelError(
            "These records cannot be evaluated: they, or the keys that came with them, are not as they should be."
        ) from problem
