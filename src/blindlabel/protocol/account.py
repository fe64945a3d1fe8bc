"""The account of bits: what each party of a study can learn at most, honest and cheating, from the agreement alone.

What a party can learn is bounded by the messages that reach it, whatever it computes. So the account counts what these
can say, not intentions: every field of every message declares how much that is (`telling`), and the account is the sum.
An owner gets the others' table sizes once, a `round` for each settled round, one bit more for each of at most
`MOST_VOID` void rounds, and in the end the `truth`, with what is released:

- `"matches"`: which pairs match. A pair is a match if both questions say yes, and the question about one of the other's
  records says yes to at most `most_yes` of this owner's in a round: m·log₂ Σ_{k ≤ t·most_yes} C(n, k) bits after t
  rounds. `"labels"`: one of three (match, no match, discarded) for every pair. `"none"`: nothing.
- Where pairs are drawn from a linkage's list, which of its N rows stand in one of at most n drawn pairs: log₂ Σ_{k ≤ n}
  C(N, k) bits. All pairs of the sampled rows are answered: the coordinator sees outcomes of more than the drawn ones.
- With enriched sampling, which of its offered keys were chosen (at most c of M) and which of the other's sampled
  records were: log₂ Σ_{k ≤ c} C(M, k) + m bits. Much of that is chance. It is about blocking keys of the table, and
  says nothing about an encryption key, which is made later.

*About one record* an owner learns less. What is told of a record follows from which of the asker's questions say yes to
it, a subset of at most `most_yes` or "too many", and from which of the asker's records its own question says yes to.
That can be any subset: a yes more can set a record of the asker aside, to which others say yes as often as they may. So
n + log₂(1 + Σ_{k ≤ most_yes} C(n, k)) bits a round, all that a sample tells, and a record that is shown in clear.

*About a key* a cheating asker learns less. Its answers can be made to speak of the other's key instead of its records,
a zero test for each pair; but only pairs to which the other's own question says yes can show it the result as a match,
so a round tells `most_yes`·m bits in place of the fourth line (nm with `"labels"`). A key can lose some number of bits
before its ring has fewer than 128 left, and at most half of them may be spent under one key. A key is one owner's, for
one asker and one round; the ring is the smallest that can bear two times what such a round gives, and an agreement that
no ring can bear is refused. Where an engine's keys are not known to have a bit to spare, nothing bounds a cheating
owner, in either direction, and the account says so in the engine's own sentence.

The coordinator sees one outcome for each pair, direction and round (no, yes, yes but for an exclusion, yes all the
same: how many there are belongs to the engine); and with enriched sampling how many of M offered keys two owners have
in common. A third owner sees whether rounds follow, are void, and why the study ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import ceil, comb, log2
from typing import Any

from blindlabel.protocol import messages
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.labels import Release
from blindlabel.protocol.messages import MOST_VOID
from blindlabel.protocol.telling import Sizes, bits

OFFERS_PER_RECORD = 20
"""Blocking keys that an owner offers for each record of an enriched sample."""
SHARE = 2
"""A key must be able to lose this many times the bits that are spent of it."""
LATER_COPY = "owner with a later copy of the coordinator's folder"
_EXACT = 2000
"""Up to this many records, choices are counted exactly; an agreement may name a thousand million."""


@dataclass(frozen=True)
class Exposure:
    """The settings of an agreement that the account depends on."""

    records: int
    """Sampled records of each owner, at most."""
    owners: int
    rounds: int
    most_yes: int
    release: Release
    outcomes: int = 2
    """Outcomes that one answer can have; the engine knows how many."""
    unbounded: str = ""
    """The engine's sentence if nothing bounds a cheating owner."""
    offers: int = 0
    """Blocking keys that one owner offers another, and (`chosen`) how many of them are chosen; 0 unless sampling is
    enriched.
    """
    chosen: int = 0
    named: int = 0
    """Bits about which rows are sampled, for whoever knows their numbers; 0 if nobody does."""
    named_to: str = "everybody, from the agreement"
    """Who that is."""
    shown: int = 0
    """Records of each owner that are shown to the other in clear, and (`shown_bits`) the bits of one."""
    shown_bits: float = 0.0
    listed: int = 0
    """Rows of a linkage's table, if samples are drawn from its list."""

    @property
    def outcome(self) -> float:
        """Bits of one answer."""
        return log2(self.outcomes)


@dataclass(frozen=True)
class Entry:
    """One line of the account, for one pairing and the whole study."""

    party: str
    honest: int
    """Bits that somebody who follows the protocol can learn, rounded up."""
    cheating: int | None
    """Bits that somebody who does not can learn at most, or None if nothing bounds it."""
    says: str
    """What the bits are about, in a sentence."""


@dataclass(frozen=True)
class KeyEntry:
    """What one key may lose, and how much it can bear."""

    used: str
    spent: int
    """Bits about the key that come back to one cheating owner at most."""
    bears: int
    """Bits that it can lose and still have 128."""


@dataclass(frozen=True)
class Account:
    """The whole account."""

    entries: tuple[Entry, ...]
    key: KeyEntry
    unbounded: str = ""
    """Said if the account cannot be enforced."""

    def to_json(self) -> dict[str, Any]:
        """As commands print it."""
        return {
            "parties": [asdict(entry) for entry in self.entries],
            "key": asdict(self.key),
            "unbounded": self.unbounded,
        }

    def lines(self) -> list[str]:
        """As a person reads it."""
        found = ["bits that each can learn at most of one pairing, in the whole study (honest / cheating):"]
        for entry in self.entries:
            cheating = "no bound" if entry.cheating is None else f"{entry.cheating:,}"
            found.append(f"  {entry.party}: {entry.honest:,} / {cheating}. {entry.says}")
        if self.unbounded:
            found.append(f"  {self.unbounded}")
        else:
            found.append(
                f"  {self.key.used}: {self.key.spent:,} bits about it for a cheating owner. It can lose"
                f" {self.key.bears:,} and have 128 bits of security left."
            )
        return found


def key_bits(exposure: Exposure, own: int, others: int) -> int:
    """Bits about the other owner's key that a round of this many open records can give a cheating asker."""
    tests = {"labels": own * others, "matches": min(exposure.most_yes, own) * others, "none": 0}[exposure.release]
    return ceil(bits(messages.Round, Sizes(own, others)) + tests)


def sampling_bits(exposure: Exposure) -> int:
    """Bits about the other owner's table that a sample gives an owner: about its blocking keys, or which rows of the
    table have a candidate in it.
    """
    if not exposure.chosen:
        return ceil(bits(messages.Sample, Sizes(0, 0, listed=choices(exposure.listed, exposure.records))))
    sizes = Sizes(0, exposure.records, offers=exposure.offers, choice=choices(exposure.offers, exposure.chosen))
    drawing = (messages.Offered, messages.Chosen, messages.Picked, messages.Sample)
    return ceil(sum(bits(kind, sizes) for kind in drawing) + bits(messages.Pairing, sizes))


def choices(among: int, most: int) -> float:
    """Bits that say which of `among` were chosen, at most `most`: exact, or by the entropy bound if there are many."""
    if 2 * most >= among:
        return float(among)
    if among <= _EXACT:
        return log2(sum(comb(among, k) for k in range(most + 1)))
    share = most / among
    return -among * (share * log2(share) + (1 - share) * log2(1 - share)) if most else 0.0


def content_bits(exposure: Exposure, rounds: Sequence[tuple[int, int]]) -> int:
    """Bits about the other owner's records, or questions, that an owner gets of settled rounds with this many open
    records, its own and the other's, and of what is released in the end.
    """
    if not rounds:
        return 0
    own, others = rounds[0]  # later rounds have no others
    released = 0.0
    if exposure.release == "labels":
        released = own * others * log2(3)
    elif exposure.release == "matches":
        released = others * choices(own, exposure.most_yes * len(rounds))
    in_round = (messages.Round, messages.Records, messages.Answers)
    once = bits(messages.Keys, Sizes(own, others)) + bits(messages.Truth, Sizes(own, others, released))
    return ceil(sum(bits(kind, Sizes(*sizes)) for sizes in rounds for kind in in_round) + once)


def record_bits(exposure: Exposure) -> int:
    """Bits about any one record of the other owner, and about the question for it."""
    few, clear = choices(exposure.records, exposure.most_yes), exposure.shown_bits
    return ceil(exposure.rounds * (exposure.records + few + log2(1 + 2.0**-few)) + clear) + sampling_bits(exposure)


def outcome_bits(exposure: Exposure, rounds: Sequence[tuple[int, int]], void: int, offers: int) -> int:
    """Bits that the coordinator gets of a pairing whose rounds had this many open records on either side."""
    each = (bits(messages.Opened, Sizes(*sizes, outcome=exposure.outcome)) for sizes in rounds)
    tables, shared = bits(messages.Join, Sizes(0, 0)), bits(messages.Blinded, Sizes(0, 0, offers=offers))
    return ceil(2 * sum(each) + (2 * tables if rounds else 0) + shared + void * bits(messages.Refused, Sizes(0, 0)))


def stored_bits(exposure: Exposure) -> tuple[int, int]:
    """Bits of a pairing that a coordinator still has after the rounds, and those of them that can be about one key: a
    label and its round for each pair, or that it is open, set aside or not drawn; of each round its totals, which
    questions were too loose, and which records were set aside.
    """
    pairs, states = exposure.records**2, 2 * exposure.rounds + 2 + bool(exposure.listed)
    of_round = 4 * exposure.records + bits(Tally, Sizes(exposure.records, exposure.records))
    once = outcome_bits(exposure, [(0, 0)], MOST_VOID, exposure.offers)
    return ceil(pairs * log2(states) + exposure.rounds * of_round + once), ceil(pairs + of_round)


def key_bits_of_round(exposure: Exposure) -> int:
    """`key_bits` if all records are open."""
    return key_bits(exposure, exposure.records, exposure.records)


def key_must_bear(exposure: Exposure) -> int:
    """Bits that a key of this agreement must be able to lose."""
    return SHARE * key_bits_of_round(exposure)


def account(exposure: Exposure, bears: int = 0) -> Account:
    """What each party, and each two together, can learn; `bears` is what one key can lose."""
    entries = [*_alone(exposure), *(_of_three(exposure) if exposure.owners > 2 else ()), *_together(exposure, bears)]
    if exposure.named:
        says = "Which rows of a table its sampled records are: no owner keeps that secret from it."
        entries.append(Entry(exposure.named_to, exposure.named, exposure.named, says))
    if exposure.shown:
        clear = ceil(exposure.shown * exposure.shown_bits)
        says = f"Up to {exposure.shown} records of each, in clear, with its owner's consent."
        entries.append(Entry("owner, from checked pairs", clear, clear, says))
    used_ = "a key of one owner for one asker and one round"
    return Account(tuple(entries), KeyEntry(used_, key_bits_of_round(exposure), bears), exposure.unbounded)


def _contents(exposure: Exposure) -> int:
    whole = [(exposure.records, exposure.records)] * exposure.rounds
    return content_bits(exposure, whole) + MOST_VOID + sampling_bits(exposure)


def _outcomes(exposure: Exposure, rounds: int) -> int:
    return outcome_bits(exposure, [(exposure.records, exposure.records)] * rounds, MOST_VOID, exposure.offers)


def _alone(exposure: Exposure) -> Iterator[Entry]:
    says = "Outcomes of pairs: one for each direction, more where pairs are asked again. No record and no question."
    yield Entry("coordinator", _outcomes(exposure, 1), _outcomes(exposure, exposure.rounds), says)
    contents, of_record = _contents(exposure), record_bits(exposure)
    asks = "About the other's records. One that cheats chooses what the bits are about, not how many there are."
    asked = "About the other's questions. One that cheats can force a no, and undo an exclusion or an exception to it."
    aside = f"A record to which more than {exposure.most_yes} questions say yes is set aside."
    if exposure.unbounded:
        asks = "About the other's records. Count every record as readable by one that cheats."
        asked = "About the other's questions. Count every question as readable by one that cheats."
    yield Entry("owner that asks", contents, None if exposure.unbounded else contents, asks)
    yield Entry("owner whose records are asked", contents, None if exposure.unbounded else contents, asked)
    yield Entry("owner, about one record", of_record, None if exposure.unbounded else of_record, aside)


def _of_three(exposure: Exposure) -> Iterator[Entry]:
    both, goes_on = 2 * _contents(exposure), ceil(exposure.rounds + MOST_VOID + bits(messages.Truth, Sizes(0, 0)))
    says = "Each has its own key to learn about."
    yield Entry("two owners, of a third", both, None if exposure.unbounded else both, says)
    says = "Whether rounds follow and are void, and why the study ends."
    yield Entry("owner, of a pairing of two others", goes_on, goes_on, says)


def _together(exposure: Exposure, bears: int) -> Iterator[Entry]:
    says = (
        "One outcome for each pair and round where both followed the protocol. A cheating owner with the lists of a"
        " round (from a cheating coordinator, or a copy of its folder and keys in that round) can have the records"
        " of that round."
    )
    yield Entry("coordinator and an owner", _outcomes(exposure, exposure.rounds), None, says)
    kept, of_key = stored_bits(exposure)
    says = "A label and its round for each pair; lists and single outcomes are gone."
    if of_key > bears:
        says += f" One that cheats can have {of_key:,} bits of each key, more than it can lose: count records as read."
    yield Entry(LATER_COPY, kept, None if exposure.unbounded or of_key > bears else kept, says)


@dataclass(frozen=True)
class Use:
    """What a study has given away so far, of one pairing: the same counts, with the records that were really open."""

    coordinator: int
    owner: int
    """The most that one of the two owners got."""
    key: int
    """The most about one key."""


def used(exposure: Exposure, rounds: Sequence[tuple[int, int]], void: int = 0, *, sampled: bool = False) -> Use:
    """The use of a pairing whose settled rounds had this many open records on either side, and whose sample was drawn
    or not.
    """
    sides = [list(rounds), [(other, one) for one, other in rounds]]
    return Use(
        coordinator=outcome_bits(exposure, rounds, void, exposure.offers if sampled else 0),
        owner=void + max(content_bits(exposure, side) for side in sides) + (sampling_bits(exposure) if sampled else 0),
        key=max((key_bits(exposure, *sizes) for side in sides for sizes in side), default=0),
    )
