"""The account of bits: what each party of a study can learn at most, honest and cheating, from the agreement alone.

What a party can learn is bounded by the messages that reach it, whatever it computes. So the account counts outcomes of
those messages, not intentions. For one pairing of n and m sampled records and one round, an owner gets

1. for each record of either side one of three outcomes (settled, to be asked again, too loose): (n + m)·log₂3 bits;
2. the four totals of the round: 4·log₂(nm + 1) bits;
3. with `release = "matches"`, which of the other's records match its own: at most `most_yes` for each of the other's m
   records, so m·log₂ Σ_{k ≤ most_yes} C(n, k) bits about contents. With `"labels"`, label and round of every pair. With
   `"none"`, nothing.

*About a key* a cheating asker learns less than that: a match is one zero test that came out as zero, and a zero test
that did not says next to nothing, so `most_yes`·m tests stand in place of the third line. A key can lose only so many
zero tests before its ring has fewer than 128 bits left; at most half of them may be spent under one key. If a whole
study spends less, one key serves; else the key is renewed each round; else the agreement is refused.

The coordinator sees one outcome for each pair, direction and round: no, yes, or yes but for an exclusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, comb, log2
from typing import Literal

Release = Literal["matches", "labels", "none"]
Renewal = Literal["study", "round"]

SHARE = 0.5
"""Of the zero tests that a key can lose, how many an agreement may spend."""


@dataclass(frozen=True)
class Exposure:
    """The settings of an agreement on which the account depends."""

    records: int
    """Sampled records of each owner, at most."""
    owners: int
    rounds: int
    most_yes: int
    release: Release
    exclusions: bool
    """Whether an answer has three outcomes instead of two."""
    keys: Literal["owners", "coordinator"]

    @property
    def pairs(self) -> int:
        """Pairs of one pairing."""
        return self.records * self.records


@dataclass(frozen=True)
class Entry:
    """One line of the account."""

    party: str
    honest: int
    """Bits that somebody who follows the protocol can learn, rounded up."""
    cheating: int | None
    """Bits that somebody who does not can learn at most; None where nothing bounds it."""
    says: str
    """What the bits are about, in a sentence."""


def _back_to_owner(exposure: Exposure, matches: float) -> float:
    """Bits of one round and pairing that come back to an owner, with so many for what is released."""
    n = exposure.records
    return 2 * n * log2(3) + 4 * log2(exposure.pairs + 1) + matches


def key_bits_of_round(exposure: Exposure) -> int:
    """Zero tests about the other owner's key that one round can give a cheating asker."""
    if exposure.release == "labels":
        tests = float(exposure.pairs)
    elif exposure.release == "matches":
        tests = float(min(exposure.most_yes, exposure.records) * exposure.records)
    else:
        tests = 0.0
    return ceil(_back_to_owner(exposure, tests))


def content_bits_of_round(exposure: Exposure) -> int:
    """Bits about the other owner's records that one round can give an asker."""
    n = exposure.records
    if exposure.release == "labels":
        released = exposure.pairs * log2(2 * exposure.rounds + 1)
    elif exposure.release == "matches":
        released = n * log2(sum(comb(n, k) for k in range(min(exposure.most_yes, n) + 1)))
    else:
        released = 0.0
    return ceil(_back_to_owner(exposure, released))


def renewal(exposure: Exposure, zero_tests: int) -> Renewal | None:
    """How long one key may serve, where it can lose so many zero tests; None: not even for one round."""
    spent = key_bits_of_round(exposure)
    if exposure.rounds * spent <= SHARE * zero_tests:
        return "study"
    return "round" if spent <= SHARE * zero_tests else None


def account(exposure: Exposure) -> tuple[Entry, ...]:
    """What each party, and each two together, can learn of one pairing over the whole study."""
    outcome = log2(3) if exposure.exclusions else 1.0
    seen = ceil(2 * exposure.pairs * outcome)
    everything = ceil(2 * exposure.rounds * exposure.pairs * outcome)
    contents = exposure.rounds * content_bits_of_round(exposure)
    entries = [
        Entry(
            "coordinator",
            seen,
            everything,
            "Outcomes of pairs, one for each direction and round in which a pair is open. It reads no record and no"
            " question.",
        ),
        Entry(
            "an owner that asks",
            contents,
            contents,
            "What the rounds and the result tell it about the other's records; a cheating owner chooses what the bits"
            " are about, not how many there are.",
        ),
    ]
    if exposure.keys == "owners":
        entries += [
            Entry(
                "an owner whose records are asked",
                contents,
                contents,
                "What the rounds and the result tell it about the other's questions. It can force a no and undo an"
                " exclusion.",
            ),
            Entry(
                "the coordinator and an owner",
                everything,
                None,
                "One outcome for each pair and round, where both followed the protocol. Both cheating in a round can"
                " have the records of that round.",
            ),
        ]
    else:
        entries.append(
            Entry(
                "the coordinator and an owner",
                everything,
                None,
                "The coordinator holds the key and the owner the other's encrypted records: together they can read"
                " them.",
            )
        )
    return tuple(entries)
