"""Who has to do what next, decided in one place for every party: commands, pages and logs all say what is decided here.

1. What this side can do itself comes first: a person's step ("you") and its machine's ("machine"). Both may be there at
   once: records can be encrypted while questions are written.
2. Others are named only if this side can do nothing: whoever is told to wait cannot help by acting.
3. When the study is over, there is no step.
4. The coordinator names the owners from which something is missing, and its own machine if work waits for it.

An owner's step is true of what it knows; news that it has not fetched yet may change it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from blindlabel.protocol import coordinator_rules as coordinator
from blindlabel.protocol import facts
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import direction_of
from blindlabel.protocol.messages import EndReason
from blindlabel.protocol.shape import COORDINATOR

Who = Literal["you", "machine", "others"]

ENDED: Mapping[EndReason, str] = MappingProxyType(
    {
        "agreed": "Every pair has been agreed on.",
        "rounds": "The last round is over; pairs that still disagree are discarded.",
        "budget": "The agreed number of questions is used up; pairs that still disagree are discarded.",
        "closed": "The coordinator has closed the study; pairs that still disagree are discarded.",
        "left": "An owner left the study; what was agreed until then stands, the other pairs are discarded.",
        "loose": "Questions said yes to too many records again and again, so the study was stopped for people to look.",
        "void": "What came in a round could not be used, again and again, so the study was stopped for people to look.",
    }
)
"""Why a study is over, as people are told."""

_PERSON = {
    "verify": "You have to compare the verification words with {peer} (`blindlabel owner verify`).",
    "write": (
        "You have to write the questions of round {round} and hand them in: {saved:,} of {asked:,} records have one"
        " (`blindlabel owner annotate`)."
    ),
    "hand in": (
        "You have to hand in round {round}: all {asked:,} records have a question (in the web app, or with"
        " `blindlabel owner run --hand-in`)."
    ),
}
_WORK = {
    "offer": "Your machine has to offer its blinded blocking keys to {peer}.",
    "blind": "Your machine has to blind the keys that {peer} offered.",
    "pick": "Your machine has to tell {peer} which of its keys were chosen.",
    "sample": "Your machine has to take its sample.",
    "carry": "Your machine has to take over your questions into the round that asks them again.",
    "serve": "Your machine has to encrypt your records for {peer}.",
    "evaluate": "Your machine has to ask your questions of {peer}'s encrypted records.",
    "open": "{peer} has handed in; your machine has to open its answers.",
}
SEND = "Your machine has to send what it has made."
KEEP = "Your machine has to read the rows that were sampled from your table."
_CARRY = "Or your own messages still lie in the folder: then the coordinator has to get it, and to look into it."
AHEAD = (
    "The coordinator does not know messages any more that it has sent: it was restored from an old backup. It may catch"
    " up when the other owners run. If it does not, it has to restore a newer backup, or begin the study again."
)
_OTHERS_AHEAD = (
    "The coordinator was restored from an old backup and has forgotten messages that {0} {1}. {0} {1} to run; where it"
    " says that the study cannot go on, the coordinator has to restore a newer backup, or begin the study again."
)
_RESTORED = (
    "an old backup was restored. Every owner has to run again, also one whose study is over; if that does not help,"
    " restore a newer backup"
)
_AGAIN = "has to run again: what it sent is in no backup, and its machine sends it again"
_OF_OWNERS = {
    "join": "has to join",
    "join again": "has to join again, with its new invitation",
    "confirm": "has to compare the verification words",
    "sample": "has to do its part in drawing the sample, which its machine does once its words are compared",
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

    def by_folder(self) -> NextStep:
        """The same step if messages go by a folder: there nobody says whether what this side made has arrived."""
        return replace(self, sentence=f"{self.sentence} {_CARRY}") if self.who == "others" else self


def of_owner(
    agreement: Agreement,
    state: owner.OwnerState,
    *,
    saved: int = 0,
    kept: bool = True,
    unsent: bool = False,
    ahead: Collection[str] = (),
) -> list[NextStep]:
    """What has to happen next, as an owner sees it; empty when the study is over.

    `saved`: records of the current round that have a question. `kept`: the sampled rows are in the store. `unsent`:
    messages wait in the outbox. `ahead`: the owners that have messages which the coordinator has forgotten. Others'
    messages may bring it forward again; where they were made after what is forgotten, every owner waits for the others.
    """
    if state.name in ahead:
        return [NextStep("others", "restored", AHEAD)]
    if state.truth is not None:
        return []
    if state.join is None:
        return [NextStep("you", "join", "This workspace has not joined yet: run `blindlabel owner join`.")]
    if state.sample is not None and not kept:
        return [NextStep("machine", "keep", KEEP)]
    todo = owner.work(agreement, state)
    own = [*_of_person(state, saved)]
    own += [NextStep("machine", one.kind, _WORK[one.kind].format(peer=one.peer)) for one in todo]
    if unsent:
        own.append(NextStep("machine", "send", SEND))
    others = _of_others(agreement, state)
    if ahead:
        names = " and ".join(sorted(ahead))
        others = [("restored", _OTHERS_AHEAD.format(names, "have" if len(ahead) > 1 else "has"))]
    elif state.keys and state.keys.awaited:  # whether the others have done their part of the round is not known then
        joins = [("join", f"{peer} has to join again, with a new invitation of the coordinator.")
                 for peer in state.keys.awaited]  # fmt: skip
        others = [*joins, *(one for one in others if one[0] in ("records", "answers"))]
    return own or [NextStep("others", what, sentence) for what, sentence in others]


def _of_person(state: owner.OwnerState, saved: int) -> list[NextStep]:
    if state.keys is None:
        return []
    unconfirmed = [name for name in state.known if name not in state.confirmed]
    if unconfirmed:
        return [NextStep("you", "verify", _PERSON["verify"].format(peer=peer)) for peer in unconfirmed]
    if not state.peers or not state.rounds or state.rounds[-1].handed_in or state.is_to_carry:
        return []
    asked = len(state.rounds[-1].ask)
    what = "write" if saved < asked else "hand in"
    return [NextStep("you", what, _PERSON[what].format(round=state.round, saved=saved, asked=asked))]


def _of_others(agreement: Agreement, state: owner.OwnerState) -> list[tuple[str, str]]:
    peers = state.peers
    if state.keys is None:
        return [("join", "The other owners have to join.")]
    if state.sample is None:
        if state.sampling.offers or state.sampling.chosen:
            drawing = f"{_one_of(peers)} to do its part in drawing the sample, or the coordinator to choose for it"
            return [("sample", f"{drawing}; machines do that by themselves.")]
        if agreement.sampling.by_keys:
            return [("verify", f"{_one_of(peers)} to compare the verification words, or to run so that it takes part"
                               " in drawing the sample.")]  # fmt: skip
        return [("verify", f"{_one_of(peers)} to compare the verification words; then the sample is drawn.")]
    if not state.rounds:
        return [("round", "A round has to begin, when the one that others may be in is settled.")]
    if not peers:
        return [("verify", f"{_one_of(state.known)} to compare the verification words; then the next round begins.")]
    current = state.rounds[-1]
    if current.refused:
        return [("round", "What came in this round cannot be used. The coordinator has to begin it again.")]
    missing = [peer for peer in peers if peer not in current.records]
    if missing:
        return [("records", f"{peer} has to send its encrypted records.") for peer in missing]
    unasked = [peer for peer in peers if peer not in current.to_open]
    if unasked:
        return [("answers", f"{peer} has to hand in; then your machine opens its answers.") for peer in unasked]
    if len(peers) > 1:
        return [("finish", f"{_one_of(peers)} to finish the round; then the coordinator settles it.")]
    return [("open", f"{_one_of(peers)} to open your answers; then the coordinator settles the round.")]


def _one_of(peers: Sequence[str]) -> str:
    """An owner does not see what others send each other, so it only knows that one of them is next."""
    return f"{' or '.join(peers)} has"


def of_coordinator(
    agreement: Agreement, state: facts.StudyState, ahead: Collection[str] = (), lost: Collection[str] = ()
) -> list[NextStep]:
    """What has to happen next, as the coordinator sees it; empty when the study is over. `ahead`: owners that have
    messages which it has forgotten. What the others have to do is not known then: for them the study may be over.
    `lost`: owners whose bodies are needed and gone. Nobody can use them before they have come again.
    """
    if state.ended:
        return []
    found = [
        NextStep(name, "restored", f"{name} has messages that this coordinator has forgotten: {_RESTORED}")
        for name in sorted(ahead)
    ]
    found += [NextStep(name, "again", f"{name} {_AGAIN}") for name in sorted({*lost} - {*ahead})]
    for name in sorted(state.owners) if not found else ():
        what = _awaited(agreement, state, name)
        if what is not None:
            found.append(NextStep(name, what, f"{name} {_OF_OWNERS[what].format(round=state.round)}"))
    own = {one.kind for one in coordinator.work(agreement, state)} if not lost else ()
    does = "the coordinator {}, which its server does by itself"
    return found + [
        NextStep(COORDINATOR, kind, does.format(_OF_COORDINATOR[kind].format(round=state.round)))
        for kind in _OF_COORDINATOR
        if kind in own
    ]


def _awaited(agreement: Agreement, state: facts.StudyState, name: str) -> str | None:
    known, peers = state.owners[name], facts.peers_in(state, name)
    if known.away == "removed":
        return None
    if known.join is None:
        return "join again" if known.away else "join"
    if state.keys_sent and set(peers) - set(known.confirmed):
        return "confirm"
    if not state.rounds:
        return "sample" if agreement.sampling.by_keys and state.keys_sent and _is_to_sample(state, name) else None
    current = state.rounds[-1]
    if current.is_over:
        return None
    peers = [peer for peer in peers if direction_of(name, peer) in current.asked]
    if any(direction_of(peer, name) not in current.records for peer in peers):
        return "records"
    answered = current.answers.keys() & current.listed.keys()
    if any(direction_of(name, peer) in current.records.keys() - answered for peer in peers):
        return "answers"  # until the others' records are there, nothing can be answered
    if any(direction_of(peer, name) in current.answers.keys() - current.opened.keys() for peer in peers):
        return "open"
    return None


def _is_to_sample(state: facts.StudyState, name: str) -> bool:
    """Whether the next step in drawing an enriched sample is up to this owner's machine."""
    known, peers = state.owners[name], facts.peers_in(state, name)
    if len(known.offered) < len(peers) or not facts.all_confirmed(state):
        return len(known.offered) < len(peers)
    if any(name in state.owners[peer].offered and peer not in known.blinded for peer in peers):
        return True
    if not state.uniform:
        return False
    waits_for_others = any(name not in state.owners[peer].picked for peer in peers)
    return len(known.picked) < len(peers) or not (known.sampled or waits_for_others)
