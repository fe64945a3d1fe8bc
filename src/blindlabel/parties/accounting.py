"""What a study will cost and give away, before anybody is invited: the account of bits with what the agreement's engine
knows of its keys (`protocol.account` does the counting); bytes, time, memory, disk, and how often a folder is carried.

Bytes follow from the agreement; they are those of a first round, in which every sampled record is open. Time is the
engine's own estimate from the number of operations, scaled by a short measurement of this machine. Memory is what
evaluation was seen to need, plus its largest parts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from blindlabel.engines.registry import rules_named
from blindlabel.language import Question
from blindlabel.protocol.account import Account, Exposure, Use, account, used
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.comparing import HASH_BYTES
from blindlabel.protocol.facts import StudyState, key_of


def account_of(agreement: Agreement) -> Account:
    """The account of an agreement; an `InputError` if there is no such engine, or no key can bear what comes back to
    owners. Called before a study begins and before an owner joins.
    """
    bears = rules_named(agreement.encoding.engine).zero_tests(agreement.terms())
    return account(exposure_of(agreement), bears)


def use_of(agreement: Agreement, state: StudyState) -> dict[str, Use]:
    """What has been given away in each pairing of a study, by its two names."""
    exposure, found = exposure_of(agreement), {}
    for first, second in agreement.pairings:
        both = [one for one in state.settled if key_of(first, second) in one.tallies]
        void = sum(1 for one in state.rounds if one.is_over) - len(both)  # also if one of the two was gone
        open_ = [one.size(first, second) for one in both]
        found[f"{first} {second}"] = used(exposure, open_, void, sampled=bool(state.samples))
    return found


def exposure_of(agreement: Agreement) -> Exposure:
    """The agreement's exposure, with what its engine says."""
    rules = rules_named(agreement.encoding.engine)
    return replace(agreement.exposure, outcomes=rules.outcomes(agreement.terms()), unbounded=rules.unbounded)


_REFERENCE = 0.030
"""Processor seconds that the sum in `machine_speed` took on the machine on which the engines' estimates were made."""
MINUTES = 1.5
"""Minutes that an expert needs for one question, with suggestions: assumed, not measured."""
_PROGRAM, _ROTATED, _MOST_ROTATED = 400_000_000, 8, 1_400_000_000
"""Memory: bytes of the program and one tile; how many rotated copies of the records are held; and the limit of that. It
was measured: 50 × 50 × 148 characters took 537 MB.
"""


@dataclass(frozen=True)
class Costs:
    """The costs of a study of two or more owners, in bytes and seconds."""

    engine: str
    upload: int
    """Bytes that one owner sends in a full round."""
    relay: int
    """Bytes that the coordinator takes in and passes on in a full round."""
    seconds: float | None
    """For one owner to ask all its questions in a full round, on one core of this machine; None: not estimated."""
    memory: int
    disk_of_owner: int
    disk_of_coordinator: int
    questions: int
    """Questions of each owner in a full round, at most."""
    expert_hours: float
    """Hours of each owner's expert for the questions of round 1, at `MINUTES` each."""
    trips: int
    """How often a folder is carried to the coordinator and back, without a network, if all rounds are needed."""

    def lines(self) -> list[str]:
        """As a person reads it."""
        found = [
            f"an owner sends {size(self.upload)} in a full round; the coordinator relays {size(self.relay)}",
            f"memory about {size(self.memory)} at an owner; disk {size(self.disk_of_owner)} at an owner,"
            f" {size(self.disk_of_coordinator)} at the coordinator",
            f"up to {self.questions:,} questions of each owner in round 1: {self.expert_hours:.1f} hours of one expert"
            f" at {MINUTES} minutes each",
            f"by carried folder: {self.trips} trips to the coordinator and back, if all rounds are needed",
        ]
        if self.seconds is not None:
            lasts = f"{self.seconds:,.0f} s" if self.seconds < 120 else f"{self.seconds / 60:,.0f} minutes"
            found.insert(1, f"a full round takes about {lasts} of one core like this machine's at each owner")
        return found


def size(count: int) -> str:
    """Bytes for people."""
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= least:
            return f"{count / least:,.1f} {unit}"
    return f"{count} bytes"


def costs_of(agreement: Agreement, speed: float | None = None) -> Costs:
    """The costs of a study under an agreement; `speed` is that of the machine beside the reference (default:
    measured here).
    """
    keys, records, answers, seconds = of_engine(agreement, agreement.sampling.records)
    peers, sampled = len(agreement.owners) - 1, agreement.sampling.records
    values = rules_named(agreement.encoding.engine).outcomes(agreement.terms()) - 1
    lists = 2 * sampled * sampled * HASH_BYTES * values
    upload = peers * (keys + records + answers + lists)
    relay = len(agreement.owners) * upload
    measured = None if seconds is None else seconds * peers * (machine_speed() if speed is None else speed)
    return Costs(
        engine=agreement.encoding.engine,
        upload=upload,
        relay=relay,
        seconds=measured,
        memory=_PROGRAM + 3 * keys + min(_ROTATED * records, _MOST_ROTATED),
        disk_of_owner=2 * upload,
        disk_of_coordinator=relay + len(agreement.pairings) * 4 * sampled**2,
        questions=sampled,
        expert_hours=sampled * MINUTES / 60,
        trips=trips_of(agreement, agreement.rounds),
    )


def trips_of(agreement: Agreement, rounds: int) -> int:
    """How often a folder goes to the coordinator and back: to join, to confirm, four times for blinded keys where the
    sample is enriched; in a round for records, for answers, and for what came out.
    """
    return 2 + (4 if agreement.sampling.by_keys else 0) + 3 * rounds


def machine_speed() -> float:
    """How much longer this machine takes than the reference, measured with a sum like those of engines; 1.0 is the
    same.
    """
    best, numbers = float("inf"), np.arange(2**20, dtype=np.uint64)
    for _ in range(3):
        began = time.process_time()
        for _ in range(10):
            numbers = (numbers * np.uint64(2654435761) + np.uint64(12345)) % np.uint64(4294967291)
        best = min(best, time.process_time() - began)
    return best / _REFERENCE


def of_engine(agreement: Agreement, records: int) -> tuple[int, int, int, float | None]:
    """Bytes of keys, records and answers of one direction, for this many records and as many questions; and seconds."""
    length = agreement.encoding.record_length
    text = "ret true" if not agreement.encoding.encode_whole else f'ret is_in("{"a" * 3}", $r)'
    question = Question(text, attributes=agreement.attributes).formula
    assert question is not None
    plan = rules_named(agreement.encoding.engine).explain(replace(agreement.terms(), records=records), question)
    if plan is None:
        return 0, records * length * 2, records * records, None
    return plan.bytes["keys"], plan.bytes["records"], plan.bytes["answers"], plan.seconds
