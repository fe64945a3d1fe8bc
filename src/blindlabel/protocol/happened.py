"""What happened in a study between two of its states, in the words that people use: who joined, who confirmed whom,
when the sample was drawn, when a round was handed in, evaluated, opened and settled, and when the study ended. For
logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from blindlabel.protocol.facts import RoundFacts, StudyState, sides_of
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.owner_facts import OwnRound
from blindlabel.protocol.owner_rules import OwnerState


@dataclass(frozen=True)
class Happened:
    """One thing that happened, and facts about it; never any content."""

    what: str
    facts: dict[str, object]


def at_owner(before: OwnerState, after: OwnerState) -> Iterator[Happened]:
    """What happened as an owner sees it."""
    if after.keys is not None and before.keys is None:
        yield Happened("joined", {"peers": [peer.name for peer in after.keys.peers]})
    for peer in sorted({*after.confirmed} - {*before.confirmed}):
        yield Happened("words confirmed", {"peer": peer})
    if after.sample is not None and before.sample is None:
        yield Happened("sample drawn", {"records": len(after.sample.positions)})
    for number, now in enumerate(after.rounds, start=1):
        then = before.rounds[number - 1] if number <= before.round else OwnRound(ask=now.ask)
        if now.tallies and number > before.round:
            yield _settled(number - 1, now.tallies)
        if now.handed_in and not then.handed_in:
            yield Happened("handed in", {"round": number, "questions": len(now.ask)})
        for what, old, new in (("evaluated", then.answers, now.answers), ("opened", then.opened, now.opened)):
            for peer in new.keys() - old.keys():
                yield Happened(what, {"round": number, "peer": peer})
    if after.truth is not None and before.truth is None:
        yield Happened("over", {"rounds": after.round})


def at_coordinator(before: StudyState, after: StudyState) -> Iterator[Happened]:
    """What happened as the coordinator sees it."""
    for owner, facts in after.owners.items():
        if facts.join is not None and before.owners[owner].join is None:
            yield Happened("joined", {"owner": owner, "rows": facts.join.records})
        for peer in sorted({*facts.confirmed} - {*before.owners[owner].confirmed}):
            yield Happened("words confirmed", {"owner": owner, "peer": peer})
    if after.samples and not before.samples:
        yield Happened("sample drawn", {"records": {owner: len(rows) for owner, rows in after.samples.items()}})
    for number, now in enumerate(after.rounds, start=1):
        then = before.rounds[number - 1] if number <= before.round else RoundFacts(asked={})
        for direction in now.answers.keys() - then.answers.keys():
            yield Happened("evaluated", {"round": number, "owner": sides_of(direction)[0]})
        for direction in now.opened.keys() - then.opened.keys():
            yield Happened("opened", {"round": number, "owner": sides_of(direction)[1]})
        if now.tallies and not then.tallies:
            yield _settled(number, now.tallies)
        if now.void and not then.void:
            yield Happened("round void", {"round": number})
    if after.ended and not before.ended:
        yield Happened("over", {"rounds": after.round, "reason": after.ended})


def _settled(round: int, tallies: Mapping[str, Tally]) -> Happened:
    total = sum(tallies.values(), Tally())
    figures = {"pairs": total.pairs, "agreed": total.agreed, "matches": total.both, "too_loose": total.loose}
    return Happened("settled", {"round": round, **figures})
