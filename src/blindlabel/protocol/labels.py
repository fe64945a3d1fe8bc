"""Labels of a pairing, and what a round of answers adds to them.

The labels of a pairing are a matrix of bytes, rows the first owner's sampled records, columns the second's: 0 is an
open pair, `ASIDE` one that was set aside, `NOT_DRAWN` one that is not to be labelled (pairs were drawn from a list, and
it is not among them); any other value v is an agreed pair with label v & 1, agreed in round v >> 1 (voided rounds do
not count). Rules:

1. A pair once agreed keeps its label and round, whatever later answers say.
2. An open pair is agreed in the round in which both owners' answers for it are equal; the label is that answer.
3. A record is asked about again if it is in an open pair. So a pair is open only if both its records are asked about
   again.
4. A record to which more than `most_yes` of the other's questions say yes is set aside: its open pairs get no label
   and are not asked again. So nobody can put many questions to one person.
5. A question that says yes to more than `most_yes` of the records that are not set aside is too loose: its answers
   label nothing, and it comes back to its own expert where one of its pairs is left. Nobody else has to write anything
   because of it: a record that is asked about again for no other reason keeps its earlier question.
6. If one owner's questions would set aside more than half of a sample, they are too loose together: nothing is set
   aside, and all of them come back.
7. An answer that is yes but for an exclusion is a no; if an exception gives the yes back, it is a yes.
8. A pair that is open after the last round, or set aside, is discarded: it has no label, and is reported as discarded,
   never as "no match".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from blindlabel.engines.interface import Outcomes, is_yes
from blindlabel.envelope.identity import blake2b
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.refusals import NotFitting
from blindlabel.protocol.shape import Locked, blob_of

Labels = npt.NDArray[np.uint8]

MOST_ROUNDS = 100
"""Rounds that an agreement may allow; a label's byte has room for 127."""

ASIDE = 2 * MOST_ROUNDS + 2
"""The byte of a pair that was set aside."""

NOT_DRAWN = ASIDE + 2
"""The byte of a pair that is not to be labelled."""

UNSAID = 127
"""Stands for a round that is not told."""

Release = Literal["matches", "labels", "none"]

STRIPE = 1 << 20
"""How many pairs are settled at a time."""


def pairings(owners: Iterable[str]) -> list[tuple[str, str]]:
    """Every two owners, each pairing once, the name that sorts first in front."""
    return list(itertools.combinations(sorted(owners), 2))


def no_labels(first: int, second: int, drawn: tuple[Sequence[int], Sequence[int]] | None = None) -> Labels:
    """All pairs open; or only those that were drawn, given by their places."""
    labels = np.full((first, second), np.uint8(0 if drawn is None else NOT_DRAWN))
    if drawn is not None:
        labels[list(drawn[0]), list(drawn[1])] = 0
    return labels


@dataclass(frozen=True)
class Settled:
    """The result of a round of one pairing."""

    labels: Labels
    tally: Tally
    loose: tuple[tuple[int, ...], tuple[int, ...]]
    """Records of the first and of the second owner whose questions were too loose and that still have open pairs."""
    aside: tuple[tuple[int, ...], tuple[int, ...]]
    """Records of the first and of the second owner that were set aside."""
    disagreed: tuple[tuple[int, ...], tuple[int, ...]]
    """Records of the first and of the second owner about which the two disagree."""


def is_agreed(labels: Labels) -> npt.NDArray[np.bool_]:
    """Which pairs have a label."""
    agreed: npt.NDArray[np.bool_] = ~is_discarded(labels) & (labels != NOT_DRAWN)
    return agreed


def is_discarded(labels: Labels) -> npt.NDArray[np.bool_]:
    """Which pairs were to be labelled and have no label."""
    without: npt.NDArray[np.bool_] = (labels == 0) | (labels == ASIDE)
    return without


def is_match(labels: Labels) -> npt.NDArray[np.bool_]:
    """Which pairs are labelled as match."""
    match: npt.NDArray[np.bool_] = (labels & 1) == 1
    return match


def byte_of(label: bool, round: int) -> int:
    """The byte of an agreed pair."""
    return 2 * round + label


def label_and_round(byte: int) -> tuple[bool, int]:
    """What the byte of an agreed pair says; the round may be `UNSAID`."""
    return bool(byte & 1), byte >> 1


def after_round(labels: Labels, round: int) -> Labels:
    """The labels as they were after an earlier round."""
    return np.where(labels >> 1 <= round, labels, np.uint8(0))


def settle(
    labels: Labels,
    round: int,
    first_asked: Sequence[int],
    first_says: Outcomes,
    second_asked: Sequence[int],
    second_says: Outcomes,
    most_yes: int,
) -> Settled:
    """The labels after a round, and how its open pairs were answered.

    `first_says` has a row for each of `first_asked` and a column for each of `second_asked`; `second_says` the other
    way round. It works in stripes of rows, so that a large study needs memory for labels and answers and little more.
    """
    rows, columns = np.asarray(first_asked, dtype=np.intp), np.asarray(second_asked, dtype=np.intp)
    if first_says.shape != (len(rows), len(columns)) or second_says.shape != (len(columns), len(rows)):
        raise NotFitting("The size of a round's answers is wrong for its questions and records.")
    if np.count_nonzero(labels == 0) != np.count_nonzero(labels[np.ix_(rows, columns)] == 0):
        raise NotFitting("A pair without agreement has a record that was not asked again.")
    first_loose, second_aside = _beyond(is_yes(first_says), most_yes, labels.shape[1])
    second_loose, first_aside = _beyond(is_yes(second_says), most_yes, labels.shape[0])
    disagreed, left = ((np.zeros(len(rows), np.bool_), np.zeros(len(columns), np.bool_)) for _ in range(2))
    after, tally = labels.copy(), Tally()
    height = max(1, STRIPE // max(1, len(columns)))
    for start in range(0, len(rows), height):
        stripe = slice(start, start + height)
        place = np.ix_(rows[stripe], columns)
        is_open = labels[place] == 0
        aside = is_open & (first_aside[stripe, None] | second_aside)
        compared = is_open & ~aside & ~first_loose[stripe, None] & ~second_loose
        one, other = is_yes(first_says[stripe]), is_yes(second_says[:, stripe].T)
        tally += Tally(
            both=int(np.count_nonzero(compared & one & other)),
            first_only=int(np.count_nonzero(compared & one & ~other)),
            second_only=int(np.count_nonzero(compared & ~one & other)),
            neither=int(np.count_nonzero(compared & ~one & ~other)),
            loose=int(np.count_nonzero(is_open & ~compared)),
        )
        agreed, differ = compared & (one == other), compared & (one != other)
        settled = np.where(agreed, np.uint8(2 * round) + one.astype(np.uint8), labels[place])
        after[place] = np.where(aside, np.uint8(ASIDE), settled)
        for found, where in ((disagreed, differ), (left, after[place] == 0)):
            found[0][stripe] = where.any(axis=1)
            found[1][:] |= where.any(axis=0)

    def places(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return tuple(rows[first].tolist()), tuple(columns[second].tolist())

    loose, aside_ = places(first_loose & left[0], second_loose & left[1]), places(first_aside, second_aside)
    return Settled(after, tally, loose, aside_, places(*disagreed))


def _beyond(
    yes: npt.NDArray[np.bool_], most_yes: int, sampled: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which of the questions (rows) are too loose, and which of the records (columns) are set aside: rules 4 to 6."""
    aside: npt.NDArray[np.bool_] = np.count_nonzero(yes, axis=0) > most_yes
    if 2 * np.count_nonzero(aside) > sampled:
        return np.ones(len(yes), dtype=np.bool_), np.zeros_like(aside)
    loose: npt.NDArray[np.bool_] = np.count_nonzero(yes[:, ~aside], axis=1) > most_yes
    return loose, aside


def open_counts(labels: Labels, *, axis: int) -> npt.NDArray[np.int64]:
    """For each record of one side (axis 0: first owner, 1: second), how many open pairs it is in."""
    counts: npt.NDArray[np.int64] = labels.shape[1 - axis] - np.count_nonzero(labels, axis=1 - axis).astype(np.int64)
    return counts


def released(labels: Labels, release: Release) -> Labels:
    """The labels as owners get them. The round of a single pair is told to nobody: it is `UNSAID`."""
    if release == "none":
        return np.zeros_like(labels)
    meant = is_match(labels) if release == "matches" else is_agreed(labels)
    return np.where(meant, np.uint8(2 * UNSAID) + (labels & 1), np.uint8(0)).astype(np.uint8)


LOCK_BYTES = SecretBox.MACBYTES
"""Bytes that a lock adds to its content."""
_ONCE = bytes(SecretBox.NONCE_SIZE)


def locked(content: bytes, salt: bytes, about: str) -> tuple[Locked, bytes]:
    """A body with this content that says nothing without its key, and how it is named. The key follows from the salt,
    from what it is about and from the content. So it locks nothing else, and a restored coordinator makes it again.
    """
    key = blake2b(about.encode() + b"\0" + content, b"blindlabel-lock", key=salt)
    body = SecretBox(key).encrypt(content, _ONCE).ciphertext
    return Locked(blob=blob_of(body), key=key.hex()), body


def unlocked(named: Locked, body: bytes) -> bytes:
    """The content again."""
    try:
        return SecretBox(bytes.fromhex(named.key)).decrypt(body, _ONCE)
    except CryptoError as error:
        raise NotFitting("The labels were changed on their way: their key does not open them.") from error


def from_bytes(data: bytes, first: int, second: int) -> Labels:
    """Labels row by row, one byte a pair; the size must be right and every round possible."""
    if len(data) != first * second:
        raise NotFitting("The size of the labels is wrong for the samples.")
    labels = np.frombuffer(data, dtype=np.uint8).reshape(first, second)
    if np.any(labels == 1) or np.any((labels > ASIDE) & (labels != NOT_DRAWN) & (labels >> 1 != UNSAID)):
        raise NotFitting("The labels hold a value that no round can give.")
    return labels
