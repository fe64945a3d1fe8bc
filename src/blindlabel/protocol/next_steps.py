"""Who has to do what next, decided in one place for every party: commands, pages and logs all say what stands here.

1. What this side can do itself goes first: a person's step ("you") and its machine's ("machine"). Both may be there at
   once: records can be encrypted while questions are written.
2. Others are named only where this side can do nothing: whoever is told to wait cannot help by acting.
3. Where the study is over there is no step.
4. The coordinator names owners by what it has not got from them yet, and its own machine where work waits for it.

An owner's step is true of what it knows; news that it has not fetched yet may change it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from blindlabel.protocol import coordinator_rules as coordinator
from blindlabel.protocol import facts
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import direction_of
from blindlabel.protocol.shape import COORDINATOR

Who = Literal["you", "machine", "others"]

_WORK = {
    "offer": "Your machine has to offer its blinded blocking keys to {peer}.",
    "blind": "Your machine has to blind the keys that {peer} offered.",
    "pick": "Your machine has to tell {peer} which of its keys were chosen.",
    "sample": "Your machine has to take its sample.",
    "carry": "Your machine has to take over your questions into the round that is asked again.",
    "serve": "Your machine has to encrypt your records for {peer}.",
    "evaluate": "Your machine has to ask your questions of {peer}'s encrypted records.",
    "open": "{peer} has handed in; your machine has to open its answers.",
}
SEND = "Your machine has to send what it has made."
_AHEAD = (
    "The coordinator does not know messages any more that it has sent: it was restored from an old backup. It may catch"
    " up when the other owners run. If it does not, it has to restore a newer backup, or begin the study again."
)
_RESTORED = (
    "an old backup was restored. Every owner has to run again, also one whose study is over; if that does not help,"
    " restore a newer backup"
)
_OF_OWNERS = {
    "join": "has to join",
    "confirm": "has to compare the verification words",
    "sample": "has to do its part in drawing the sample, which its machine does by itself",
    "records": "has to encrypt and send its records",
    "answers": "has to answer round {round}",
    "open": "has to open the answers of round {round}, which its machine does by itself",
}
_OF_COORDINATOR = {
    "choose": "has to choose for the samples",
    "read": "has to compare the answers of round {round}",
    "settle": "has to settle round {round}",
}


@dataclass(frozen=True)
class NextStep:
    """One thing that has to happen: who does it, a word for scripts, and a sentence for people."""

    who: str
    """For an owner one of `Who`; for the coordinator an owner's name, or "coordinator"."""
    what: str
    sentence: str


def of_owner(
    agreement: Agreement, state: owner.OwnerState, *, saved: int = 0, unsent: bool = False, ahead: bool = False
) -> list[NextStep]:
    """What has to happen next, as an owner sees it; empty when the study is over.

    `saved`: records of the current round that have a question. `unsent`: messages wait in the outbox. `ahead`: the
    coordinator has forgotten messages that came here. Others' messages may bring it forward again; where they were made
    after what is forgotten, every owner waits for the others.
    """
    if ahead:
        return [NextStep("others", "restored", _AHEAD)]
    if state.truth is not None:
        return []
    if state.join is None:
        return [NextStep("you", "join", "This workspace has not joined yet: run `blindlabel owner join`.")]
    own = list(_of_person(agreement, state, saved))
    own += [
        NextStep("machine", one.kind, _WORK[one.kind].format(peer=one.peer)) for one in owner.work(agreement, state)
    ]
    if unsent:
        own.append(NextStep("machine", "send", SEND))
    return own or [NextStep("others", what, sentence) for what, sentence in _of_others(agreement, state)]


def _of_person(agreement: Agreement, state: owner.OwnerState, saved: int) -> list[NextStep]:
    if state.keys is None:
        return []
    unconfirmed = [peer for peer in agreement.peers(state.name) if peer not in state.confirmed]
    if unconfirmed:
        return [
            NextStep(
                "you", "verify", f"You have to compare the verification words with {peer} (`blindlabel owner verify`)."
            )
            for peer in unconfirmed
        ]
    if not state.rounds or state.rounds[-1].handed_in or (state.rounds[-1].repeats and not state.rounds[-1].carried):
        return []
    asked, number = len(state.rounds[-1].ask), state.round
    if saved < asked:
        return [
            NextStep(
                "you",
                "write",
                f"You have to write the questions of round {number} and hand them in: {saved:,} of {asked:,} records"
                " have one (`blindlabel owner annotate`).",
            )
        ]
    return [
        NextStep(
            "you",
            "hand in",
            f"You have to hand in round {number}: all {asked:,} records have a question (in the web app, or with"
            " `blindlabel owner run --hand-in`).",
        )
    ]


def _of_others(agreement: Agreement, state: owner.OwnerState) -> list[tuple[str, str]]:
    peers = agreement.peers(state.name)
    if state.keys is None:
        return [("join", "The other owners have to join.")]
    if state.sample is None:
        if state.sampling.offers or state.sampling.chosen:
            return [("sample", f"{_have(peers)} to take part in drawing the sample, which machines do by themselves.")]
        return [("verify", f"{_have(peers)} to compare the verification words; then the sample is drawn.")]
    if not state.rounds:
        return [("round", "The coordinator has to begin the first round.")]
    current = state.rounds[-1]
    if current.refused:
        return [("round", "What came in this round cannot be used. The coordinator has to begin it again.")]
    missing = [peer for peer in peers if peer not in current.records]
    if missing:
        return [("records", f"{peer} has to send its encrypted records.") for peer in missing]
    unasked = [peer for peer in peers if peer not in current.to_open]
    if unasked:
        return [("answers", f"{peer} has to hand in; then your machine opens its answers.") for peer in unasked]
    return [("open", f"{_have(peers)} to open your answers; then the coordinator settles the round.")]


def _have(peers: Sequence[str]) -> str:
    return f"{' and '.join(peers)} {'has' if len(peers) == 1 else 'have'}"


def of_coordinator(agreement: Agreement, state: facts.StudyState, ahead: Collection[str] = ()) -> list[NextStep]:
    """What has to happen next, as the coordinator sees it; empty when the study is over. `ahead`: owners that have
    messages which it has forgotten.
    """
    if state.ended:
        return []
    found = [
        NextStep(name, "restored", f"{name} has messages that this coordinator has forgotten: {_RESTORED}")
        for name in sorted(ahead)
    ]
    for name in sorted(state.owners):
        what = _awaited(agreement, state, name)
        if what is not None:
            found.append(NextStep(name, what, f"{name} {_OF_OWNERS[what].format(round=state.round)}"))
    own = {one.kind for one in coordinator.work(agreement, state)}
    does = "the coordinator {}, which its server does by itself"
    return found + [
        NextStep(COORDINATOR, kind, does.format(_OF_COORDINATOR[kind].format(round=state.round)))
        for kind in _OF_COORDINATOR
        if kind in own
    ]


def _awaited(agreement: Agreement, state: facts.StudyState, name: str) -> str | None:
    known, peers = state.owners[name], agreement.peers(name)
    if known.join is None:
        return "join"
    if not state.keys_sent:
        return None
    if len(known.confirmed) < len(peers):
        return "confirm"
    if not state.rounds:
        return "sample" if agreement.sampling.by_keys and _is_to_sample(agreement, state, name) else None
    current = state.rounds[-1]
    if any(direction_of(peer, name) not in current.records for peer in peers):
        return "records"
    if any(direction_of(name, peer) not in current.answers.keys() & current.listed.keys() for peer in peers):
        return "answers"
    if any(direction_of(peer, name) in current.answers.keys() - current.opened.keys() for peer in peers):
        return "open"
    return None


def _is_to_sample(agreement: Agreement, state: facts.StudyState, name: str) -> bool:
    """Whether an owner's machine has the next step in drawing an enriched sample."""
    known, peers = state.owners[name], agreement.peers(name)
    if len(known.offered) < len(peers) or not facts.all_confirmed(agreement, state):
        return len(known.offered) < len(peers)
    if any(name in state.owners[peer].offered and peer not in known.blinded for peer in peers):
        return True
    if not state.uniform:
        return False
    waits_for_others = any(name not in state.owners[peer].picked for peer in peers)
    return len(known.picked) < len(peers) or not (known.sampled or waits_for_others)
