"""Comparing two lists: how a coordinator without any key learns one outcome per pair. No input or output; keeps no
keys.

The asking owner has the pads of its answers, the records' owner what it opened; a value of a pair is zero (true)
exactly where the two are equal. Neither list leaves in clear:

1. Each owner sends a keyed hash (BLAKE2b, 64 bits) of every value, under a secret that only the two owners can derive.
2. What is hashed with a value: the agreement, the round, who asks whom, both lists of open records in their order, the
   body with the records' owner's keys and records, the body with the asker's ciphertexts, the places of question and
   record in their lists, and which value of the pair it is. Lists that were made for anything else have no equal hash.
3. The asker commits to its list beside its ciphertexts, with 32 random bytes that only the coordinator gets: a bare
   hash of a list about few pairs could be searched.
4. The coordinator compares the lists entry by entry and learns for every pair: no, yes, yes but for an exclusion, or
   yes all the same. If the lists differ in size, nothing is compared.

Two values that differ have equal hashes with probability 2^-64.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

import numpy as np

from blindlabel.engines.interface import Outcomes, Values, outcomes
from blindlabel.protocol.refusals import NotFitting
from blindlabel.protocol.shape import Blob, canonical

HASH_BYTES = 8
MOST_VALUES = 3
"""Values of one pair: what was asked, what takes a yes back, and what gives it back."""
SALT_BYTES = 32


@dataclass(frozen=True)
class Direction:
    """What the hashes of one round are bound to, in one direction of a pairing."""

    agreement: str
    round: int
    asker: str
    holder: str
    """The records' owner."""
    asked: tuple[int, ...]
    """The asker's open records, in order: one question each."""
    served: tuple[int, ...]
    """The records' owner's open records, in order."""
    records: Blob
    """The body with the records' owner's keys and records."""
    answers: Blob
    """The body with the asker's ciphertexts."""

    @property
    def context(self) -> bytes:
        """32 bytes that stand for all of it."""
        between = [self.agreement, self.round, self.asker, self.holder, list(self.asked), list(self.served)]
        bodies = [body.model_dump(mode="json") for body in (self.records, self.answers)]
        document = ["blindlabel comparing 1", *between, *bodies]
        return hashlib.blake2b(canonical(document), digest_size=32, person=b"bl-comparing").digest()


def hashes(values: Values, secret: bytes, direction: Direction) -> bytes:
    """The list of one side: a hash for each value, question and record, in this order."""
    if values.shape[1:] != (len(direction.asked), len(direction.served)) or not 1 <= len(values) <= MOST_VALUES:
        raise ValueError(f"values of shape {values.shape} do not fit the direction")
    begun = hashlib.blake2b(direction.context, digest_size=HASH_BYTES, key=secret, person=b"bl-comparing")
    made = bytearray()
    for which, matrix in enumerate(values.tolist()):
        for i, row in enumerate(matrix):
            for j, value in enumerate(row):
                one = begun.copy()
                one.update(struct.pack(">BIIQ", which, i, j, value))
                made += one.digest()
    return bytes(made)


def commitment(salt: bytes, listed: Blob) -> str:
    """The commitment to the asker's list that goes with the ciphertexts."""
    claim = canonical(listed.model_dump(mode="json"))
    return hashlib.blake2b(claim, key=salt, digest_size=32, person=b"bl-commitment").hexdigest()


def lengths(questions: int, records: int) -> set[int]:
    """The sizes in bytes that a list about this many questions and records can have."""
    return {values * questions * records * HASH_BYTES for values in range(1, MOST_VALUES + 1)}


def compared(one: bytes, other: bytes, questions: int, records: int) -> Outcomes:
    """One outcome per pair, from the two lists."""
    if len(one) != len(other) or len(one) not in lengths(questions, records):
        raise NotFitting("The size of a list is wrong for the questions and records of its round.")
    if not one:
        return np.zeros((questions, records), dtype=np.uint8)
    shape = (-1, questions, records)
    equal = np.frombuffer(one, dtype=">u8").reshape(shape) == np.frombuffer(other, dtype=">u8").reshape(shape)
    return outcomes(equal)
