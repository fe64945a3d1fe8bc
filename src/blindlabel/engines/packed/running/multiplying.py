"""The products: from the places of a group of questions to one value per pair, which is zero for yes.

Every step is taken for every question. A sum of products is switched down and relinearised once. What a question asks
for (S of `shape`) is the same for all records, so Σ S·A is a product of matrices on words (`periodic`).

With few questions, places share a ciphertext, each in a column of its own. x·y, y two columns on, is then a product
with the ciphertext moved by two, and has this product for all other pairs of places that are two apart: classes of one
size are multiplied at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from blindlabel.engines.packed.planning.places import merged
from blindlabel.engines.packed.planning.room import Room
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.running import periodic
from blindlabel.engines.packed.seal.holders import Encryptor
from blindlabel.engines.packed.seal.ring import Cipher, Ring


@dataclass(frozen=True, eq=False)
class Node:
    """A value in a ciphertext: in which of a question's columns, and how many products in a row made it."""

    cipher: Cipher
    column: int = 0
    depth: int = 0


Coefficients = dict[tuple[int, ...], Node]
"""By the vector of how many places of each class do not hold. The constant 1, the vector of zeros, is left out."""


@dataclass(frozen=True, eq=False)
class ProductTree:
    """What the products of a group are made with."""

    room: Room
    encryptor: Encryptor
    keys: Any
    """Relinearisation keys."""
    galois: Any
    _made: dict[Any, Any] = field(default_factory=dict)
    """What was made from the same ciphertexts before."""

    @property
    def ring(self) -> Ring:
        """The ring of the records."""
        return self.encryptor.ring

    def missed(self, places: Sequence[Node], support: Residues) -> Cipher:
        """Y = Σ B · (Σ S·A): zero if the question is true, else not (but for an accident). `support` is S: [left,
        right, column]. It stands in the first column, as do other values that leave.
        """
        ring, shape = self.ring, self.room.shape
        lefts, rights = self._half(shape.left, places), self._half(shape.right, places)
        sums = self._sums(lefts, support)
        level = self.room.last.level
        alone, *factors = (ring.switched(one, level) for one in sums)
        if not rights:
            return alone
        total = _sum_of_products(
            ring, [(ring.switched(right.cipher, level), factor) for right, factor in zip(rights, factors, strict=True)]
        )
        return ring.add(ring.relinearised(total, self.keys), alone)

    def product_of(self, factors: Sequence[Node]) -> Cipher:
        """All factors multiplied, by twos."""
        nodes = list(factors)
        while len(nodes) > 1:
            pairs = [self._combined([(one, other)]) for one, other in zip(nodes[::2], nodes[1::2])]
            nodes = [*pairs, *nodes[len(pairs) * 2 :]]
        return self._at(nodes[0], 0, nodes[0].depth)

    def _sums(self, lefts: Sequence[Node], support: Residues) -> list[Cipher]:
        """Σ S·A for every coefficient of the right half."""
        ring, layout = self.ring, self.room.layout
        level = self.room.levels.after(self.room.shape.depth[0]).level
        words = np.stack([ring.residues(ring.to_ntt(ring.switched(node.cipher, level))) for node in lefts])
        made = periodic.sums(ring, layout, support[1:].transpose(1, 0, 2), words)
        zero = self.encryptor.zero(level)
        found = []
        for rows, constant in zip(made, support[0], strict=True):
            plain = ring.slots(layout.in_slots(np.tile(constant, (layout.block, 1))))
            found.append(ring.add_plain(_nonzero(ring, rows, words[0], zero), plain))
        return found

    def _half(self, classes: Sequence[int], places: Sequence[Node]) -> list[Node]:
        """The coefficients of a half but the constant, in the order of the support's axis."""
        lists: dict[int, Coefficients] = {}
        for position, number in enumerate(classes):
            alike = self._alike([places[place] for place in self.room.shape.places_of(number)])
            depths = [max(node.depth, min(1, len(alike) - 1)) for node in alike]
            made = [Node(self._at(node, 0, depth), depth=depth) for node, depth in zip(alike, depths)]
            before, after = (0,) * position, (0,) * (len(classes) - position - 1)
            lists[number] = {(*before, count, *after): node for count, node in enumerate(made, start=1)}
        following = max(classes, default=-1) + 1
        for one, other in merged([((self.room.shape.sizes[number] - 1).bit_length(), number) for number in classes]):
            first, second = lists.pop(one), lists.pop(other)
            both = {
                tuple(a + b for a, b in zip(left, right)): self._combined([(first[left], second[right])])
                for left in first
                for right in second
            }
            lists[following] = {**first, **second, **both}
            following += 1
        found = lists.popitem()[1] if lists else {}
        return [found[vector] for vector in sorted(found)]

    def _alike(self, places: Sequence[Node]) -> list[Node]:
        """The elementary symmetric polynomials e_1, e_2, … of these places."""
        if len(places) == 1:
            return list(places)
        middle = (len(places) + 1) // 2
        first, second = self._alike(places[:middle]), self._alike(places[middle:])
        found = []
        for degree in range(1, len(places) + 1):
            counts = range(max(1, degree - len(second)), min(degree - 1, len(first)) + 1)
            products = [(first[count - 1], second[degree - count - 1]) for count in counts]
            found.append(self._combined(products, [one[degree - 1] for one in (first, second) if degree <= len(one)]))
        return found

    def _combined(self, products: Sequence[tuple[Node, Node]], added: Sequence[Node] = ()) -> Node:
        """A sum of products and of other nodes, at the level that the plan has for its depth, in the first column that
        any of them has. Of nodes in the same columns, but for a common distance, it is made once.
        """
        ring, nodes = self.ring, [*chain(*products), *added]
        start = min(node.column for node in nodes)
        depth = max([max(one.depth, other.depth) + 1 for one, other in products] + [node.depth for node in added])
        name = (len(products), *((node.cipher, node.column - start) for node in nodes))
        if name not in self._made:
            total: Cipher = None
            if products:
                factors = [(self._at(a, start, depth - 1), self._at(b, start, depth - 1)) for a, b in products]
                lower = ring.switched(_sum_of_products(ring, factors), self.room.levels.after(depth).level)
                total = ring.relinearised(lower, self.keys)
            for node in added:
                more = self._at(node, start, depth)
                total = more if total is None else ring.add(total, more)
            self._made[name] = total
        return Node(self._made[name], start, depth)

    def _at(self, node: Node, column: int, depth: int) -> Cipher:
        """A node's value brought to a column before it, at the level that the plan has for this depth."""
        return self._moved(node.cipher, node.column - column, self.room.levels.after(depth).level)

    def _moved(self, cipher: Cipher, columns: int, level: int) -> Cipher:
        name = (cipher, columns, level)
        if name not in self._made and columns:
            step = 1 if columns % self.room.steps.babies else self.room.steps.babies
            before = self._moved(cipher, columns - step, level)
            self._made[name] = self.ring.automorphism(before, self.ring.rotation(step), self.galois)
        elif name not in self._made:
            self._made[name] = self.ring.switched(cipher, level)
        return self._made[name]


def _sum_of_products(ring: Ring, factors: Sequence[tuple[Cipher, Cipher]]) -> Cipher:
    """Of three parts."""
    (one, other), *rest = factors
    total = ring.product(one, other)
    for one, other in rest:
        ring.add_into(total, ring.product(one, other))
    return total


def _nonzero(ring: Ring, rows: Residues, other: Residues, zero: Cipher) -> Cipher:
    """The ciphertext of these residues plus an encrypted zero; SEAL refuses residues that are all zero."""
    idle = not rows.any()
    added = ring.add(zero, ring.from_ntt(ring.of_residues(other if idle else rows, transformed=True)))
    return zero if idle else added
