"""The account of bits: what each party of a study can learn at most, honest and cheating, from the agreement alone.

What a party can learn is bounded by the messages that reach it, whatever it computes. So the account counts outcomes of
those messages, not intentions. In one round an owner gets, for a pairing with n own open records and m of the other's:

1. for each record of either side one of three outcomes (settled, to be asked again, too loose): (n + m)·log₂3 bits;
2. the four totals of the round: 4·log₂(nm + 1) bits;
3. whether the round is void: one bit. Void rounds are repeated, at most `MOST_VOID` times in a study;

and at the end, after t rounds,

4. with `release = "matches"`, which pairs match. A pair is a match where both questions say yes, and the question about
   one of the other's records says yes to at most `most_yes` own ones in a round: m·log₂ Σ_{k ≤ t·most_yes} C(n, k)
   bits. With `"labels"`, one of three (match, no match, discarded) for every pair. With `"none"`, nothing;
5. for each score that it may ask for (`budget.scores`), three counts of pairs: 3·log₂(nm + 1) bits;
6. with enriched sampling, before the first round, which of its offered keys were chosen (at most c of M, half of them
   chosen because the other has them too) and in the end which of the other's sampled rows were: log₂ Σ_{k ≤ c} C(M, k)
   + m bits. Much of that is chance; the count is of all that the messages could say. It is about blocking keys of the
   table, and says nothing about an encryption key, which is made later.

*About a key* a cheating asker learns less. Its answers can be made to speak of the other's key instead of its records,
a zero test for each pair; but only pairs to which the other's own question says yes can show it the result as a match,
so a round tells `most_yes`·m bits in place of the fourth line (nm with `"labels"`); scores count here too. A key
can lose only so many bits before its ring has fewer than 128 left, and at most half of them may be spent under one key.
Where owners hold the keys, a key serves one asker in one round; the ring is the smallest that can bear two times what
such a round gives, and an agreement that no ring can bear is refused.

Where the coordinator holds the key, one key serves the whole study and every asker. The ring is again the smallest that
can bear two times what all rounds give one cheating owner, where there is one: then the bound holds as above. Where
there is none (with the assist from nine records on, and always on the gates engine, whose keys are not known to
have a bit to spare), nothing bounds a cheating owner, and the account says so in one sentence: `UNBOUNDED`.

The coordinator sees one outcome for each pair, direction and round: no, yes, or yes but for an exclusion; and with
enriched sampling how many of M offered keys two owners have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, comb, log2
from typing import Any, Literal

from blindlabel.protocol.labels import Release
from blindlabel.protocol.messages import MOST_VOID

OFFERS_PER_RECORD = 20
"""Blocking keys that an owner offers for each record of an enriched sample."""
SHARE = 2
"""A key must be able to lose so many times what is spent of it."""
UNBOUNDED = (
    "NO BOUND: the coordinator's one key cannot bear what comes back to owners in this study, so count every record as"
    ' readable by an owner that cheats; only keys = "owners" bounds what such an owner learns.'
)
"""Said where the account cannot be enforced."""
_EXACT = 2000
"""Records up to which choices are counted exactly: an agreement may name a thousand million."""


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
    scores: int = 0
    """Scores that an owner may ask for, of each pairing."""
    offers: int = 0
    """Blocking keys that an owner offers another, and how many of them are chosen; none without enriched sampling."""
    chosen: int = 0

    @property
    def outcome(self) -> float:
        """Bits of one answer."""
        return log2(3) if self.exclusions else 1.0


@dataclass(frozen=True)
class Entry:
    """One line of the account, for one pairing and the whole study."""

    party: str
    honest: int
    """Bits that somebody who follows the protocol can learn, rounded up."""
    cheating: int | None
    """Bits that somebody who does not can learn at most; None where nothing bounds it."""
    says: str
    """What the bits are about, in a sentence."""


@dataclass(frozen=True)
class KeyEntry:
    """What one key may lose: to whom, while it is used, and how much it can bear."""

    used: str
    spent: int
    """Bits about the key that come back to one cheating owner at most."""
    bears: int | None
    """Bits that it can lose and still have 128; None where nobody here knows."""

    @property
    def holds(self) -> bool | None:
        """Whether what is spent is at most half of what the key can bear."""
        return None if self.bears is None else SHARE * self.spent <= self.bears


@dataclass(frozen=True)
class Account:
    """The whole account."""

    entries: tuple[Entry, ...]
    key: KeyEntry

    def to_json(self) -> dict[str, Any]:
        """As commands print it."""
        return {
            "parties": [asdict(entry) for entry in self.entries],
            "key": asdict(self.key) | {"holds": self.key.holds},
        }

    def lines(self) -> list[str]:
        """As a person reads it."""
        found = ["bits that each can learn at most of one pairing, in the whole study (honest / cheating):"]
        for entry in self.entries:
            cheating = "no bound" if entry.cheating is None else f"{entry.cheating:,}"
            found.append(f"  {entry.party}: {entry.honest:,} / {cheating}. {entry.says}")
        bears = "" if self.key.bears is None else f" It can lose {self.key.bears:,} and have 128 bits of security left."
        found.append(f"  {self.key.used}: {self.key.spent:,} bits about it for a cheating owner.{bears}")
        if self.key.holds is False:
            found.append(f"  {UNBOUNDED}")
        return found


def _comes_back(own: int, others: int) -> float:
    """Bits of one round and pairing that come back to an owner, whatever is released."""
    return (own + others) * log2(3) + 4 * log2(own * others + 1) + 1


def key_bits(exposure: Exposure, own: int, others: int) -> int:
    """Bits about the other owner's key that a round of so many open records can give a cheating asker."""
    tests = {"labels": own * others, "matches": min(exposure.most_yes, own) * others, "none": 0}[exposure.release]
    return ceil(_comes_back(own, others) + tests + _scored(own, others, exposure.scores))


def _scored(own: int, others: int, scores: int) -> float:
    """Bits of so many scores: each is three counts of pairs."""
    return scores * 3 * log2(own * others + 1)


def score_bits(own: int, others: int) -> int:
    """Bits of one score, for owners with so many sampled records."""
    return ceil(_scored(own, others, 1))


def sampling_bits(exposure: Exposure) -> int:
    """Bits about the other owner's blocking keys that an enriched sample gives an owner."""
    return ceil(_choices(exposure.offers, exposure.chosen) + exposure.records) if exposure.chosen else 0


def _choices(among: int, most: int) -> float:
    """Bits that say which of so many were chosen, at most so many: exact, and for many by the entropy bound."""
    if 2 * most >= among:
        return float(among)
    if among <= _EXACT:
        return log2(sum(comb(among, k) for k in range(most + 1)))
    share = most / among
    return -among * (share * log2(share) + (1 - share) * log2(1 - share)) if most else 0.0


def content_bits(exposure: Exposure, rounds: Sequence[tuple[int, int]], scores: int = 0) -> int:
    """Bits about the other owner's records, or questions, that an owner gets of settled rounds with so many open
    records, its own and the other's, of what is released in the end, and of so many scores.
    """
    if not rounds:
        return 0
    own, others = rounds[0]  # later rounds have no others
    released = 0.0
    if exposure.release == "labels":
        released = own * others * log2(3)
    elif exposure.release == "matches":
        released = others * _choices(own, exposure.most_yes * len(rounds))
    return ceil(sum(_comes_back(*sizes) for sizes in rounds) + released + _scored(own, others, scores))


def key_bits_of_round(exposure: Exposure) -> int:
    """`key_bits` where all records are open."""
    return key_bits(exposure, exposure.records, exposure.records)


def key_must_bear(exposure: Exposure) -> int:
    """Bits that a key of this agreement must be able to lose; where the coordinator holds it: should, see above."""
    return SHARE * _spent(exposure)


def account(exposure: Exposure, bears: int | None = None) -> Account:
    """What each party, and each two together, can learn; `bears` is what one key can lose, where that is known."""
    pairs = exposure.records * exposure.records
    seen = ceil(2 * pairs * exposure.outcome)
    everything = ceil(2 * exposure.rounds * pairs * exposure.outcome)
    shared = ceil(log2(exposure.offers + 1))
    contents = content_bits(exposure, [(exposure.records, exposure.records)] * exposure.rounds, exposure.scores)
    contents += MOST_VOID + sampling_bits(exposure)
    key = _key(exposure, bears)
    asker = contents if key.holds or exposure.keys == "owners" else None
    entries = [
        Entry(
            "coordinator",
            seen + shared,
            everything + shared,
            "Outcomes of pairs: one for each direction, more where pairs are asked again. No record and no question.",
        ),
        Entry(
            "owner that asks",
            contents,
            asker,
            "About the other's records. One that cheats chooses what the bits are about, not how many there are."
            if asker is not None
            else "About the other's records. One that cheats can take the coordinator's key and read every record.",
        ),
        Entry(
            "owner whose records are asked",
            contents,
            contents,
            "About the other's questions. One that cheats can force a no and undo an exclusion.",
        ),
    ]
    if exposure.owners > 2:
        bounded = exposure.keys == "owners" or (bears is not None and 2 * SHARE * key.spent <= bears)
        says = "Each has its own key to learn about." if exposure.keys == "owners" else "Both learn about one key."
        entries.append(Entry("two owners, of a third", 2 * contents, 2 * contents if bounded else None, says))
    together = (
        "One outcome for each pair and round where both followed the protocol; both cheating in a round can have the"
        " records of that round."
        if exposure.keys == "owners"
        else "One holds the key and the other the encrypted records: together they can read them."
    )
    entries.append(Entry("coordinator and an owner", everything + shared, None, together))
    return Account(tuple(entries), key)


def _spent(exposure: Exposure) -> int:
    """Bits about one key that come back to one cheating owner at most."""
    round_ = key_bits_of_round(exposure)
    return round_ if exposure.keys == "owners" else exposure.rounds * (exposure.owners - 1) * round_ + MOST_VOID


def _key(exposure: Exposure, bears: int | None) -> KeyEntry:
    owned = exposure.keys == "owners"
    used = "a key of one owner for one asker and one round" if owned else "the coordinator's key, for the whole study"
    return KeyEntry(used, _spent(exposure), bears)


@dataclass(frozen=True)
class Use:
    """What a study has given away so far, of one pairing: the same counts, with the records that were really open."""

    coordinator: int
    owner: int
    """The most that one of the two owners got."""
    key: int
    """The most about one key."""


def used(
    exposure: Exposure, rounds: Sequence[tuple[int, int]], void: int = 0, *, scores: int = 0, sampled: bool = False
) -> Use:
    """The use of a pairing whose settled rounds had so many open records on either side, of which an owner had so many
    scores, and whose sample was drawn or not.
    """
    exposure, agreed = replace(exposure, scores=scores), exposure
    sides = [list(rounds), [(other, one) for one, other in rounds]]
    keys = [[key_bits(exposure, *sizes) for sizes in side] for side in sides]
    return Use(
        coordinator=ceil(sum(2 * one * other * exposure.outcome for one, other in rounds))
        + (ceil(log2(agreed.offers + 1)) if sampled else 0),
        owner=void
        + max(content_bits(exposure, side, scores) for side in sides)
        + (sampling_bits(agreed) if sampled else 0),
        key=max(max(side, default=0) if exposure.keys == "owners" else sum(side) + void for side in keys),
    )
