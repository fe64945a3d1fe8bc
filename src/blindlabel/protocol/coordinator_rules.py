"""What the coordinator knows of a study, what a message adds to that, and what follows. No input, no output, no clock,
no keys.

The state is a set of facts; `handle` adds a message's fact and returns what follows from all facts together, so the
order in which owners' messages arrive does not matter:

1. A message must name this study, come from one of its owners and carry that owner's signature. The first key of an
   owner is believed because the join proves possession of the owner's one-time invitation; a second join with other
   keys is `Replayed`.
2. The same message again changes nothing. A different message in the same slot is `Replayed`. A message that needs
   another first is `TooEarly`.
3. When all owners have joined, every owner gets the others' public keys. `leaving` says what happens when an owner is
   gone or comes back.
4. When every owner has confirmed every other, the samples are drawn (enriched ones by the rules in `blocking`) and
   round 1 begins.
5. What belongs to a round follows the rules in `rounds`.
6. When all outcomes of a round are there, it is settled by `labels.settle`; all pairs agreed, the last round, a spent
   budget, or questions that stay too loose end the study; otherwise the next round asks and serves exactly the records
   in an open pair; if only somebody else's question was too loose, a record's earlier question stands.
7. An owner's message is accepted only if the coordinator's message that it follows is in this coordinator's history.
   Otherwise the coordinator has forgotten something (an old backup was restored), and the message waits.
8. The leakage budget (questions asked) is counted and never exceeded.

What takes long or needs files is not done here; `work` names it: choose for an enriched sample, compare the lists of
a direction, settle a round. The caller saves the new state together with the messages that follow, and only then lets
anything leave.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from blindlabel.envelope.identity import KeyUnusable
from blindlabel.protocol import blocking, leaving, messages, rounds, sampling
from blindlabel.protocol import labels as labelling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import (
    StudyState,
    StudyStep,
    StudyWork,
    all_confirmed,
    drawn_for,
    key_of,
    open_between,
    peer_facts,
    present,
    sides_of,
    with_owner,
)
from blindlabel.protocol.invitation import check_join_proof
from blindlabel.protocol.letters import public_of
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.refusals import (
    NotFitting,
    Replayed,
    TooEarly,
    WrongReceiver,
    WrongRound,
    WrongSender,
    WrongStudy,
)
from blindlabel.protocol.shape import COORDINATOR, Blob

# Messages from owners


def handle(
    agreement: Agreement, state: StudyState, signed: Signed, draw: sampling.Draw = secrets.randbelow
) -> StudyStep:
    """Accept one message of an owner."""
    message = signed.message
    check(state, signed)
    if state.seen.get(message.slot) == signed.digest:
        return StudyStep(state)
    if message.slot in state.seen:
        raise Replayed(
            f"There is already a different {message.kind} message of {message.sender} for this place in the study."
        )
    if state.ended and message.kind != "confirm":
        raise WrongRound("The study is over.")
    if state.owners[message.sender].away == "removed":
        raise WrongRound(f"{message.sender} no longer takes part.")
    step = _taken_in(agreement, state, signed, draw)
    if message.kind != "join" and message.previous not in state.owners[message.sender].history:
        raise TooEarly(
            f"{message.sender} knows a message that this coordinator has not sent (yet). Was an old backup restored?"
        )
    return step


def _taken_in(agreement: Agreement, state: StudyState, signed: Signed, draw: sampling.Draw) -> StudyStep:
    message = signed.message
    seen = {**state.seen, message.slot: signed.digest}
    if message.kind in messages.IN_ROUNDS:
        step = rounds.take_in(agreement, state, signed)
        return StudyStep(step.state.model_copy(update={"seen": seen}), step.messages, step.bodies)
    handler = _HANDLERS.get(message.kind)
    if handler is None and message.kind not in messages.SAMPLING:
        raise WrongSender(f"An owner cannot send a {message.kind} message here.")
    if message.round:
        raise WrongRound(f"A {message.kind} message belongs to no round.")
    if handler is None:
        step = blocking.take_in(agreement, state, signed)
        then = _follow(agreement, step.state.model_copy(update={"seen": seen}), draw)
        return StudyStep(then.state, step.messages + then.messages, then.bodies)
    return _follow(agreement, handler(agreement, state, message, message.body).model_copy(update={"seen": seen}), draw)


def check(state: StudyState, signed: Signed) -> None:
    """Rule 1: study, sender, receiver and signature."""
    message = signed.message
    if message.study != state.study:
        raise WrongStudy("The message names another agreement than this study's.")
    facts = state.owners.get(message.sender)
    if facts is None:
        raise WrongSender(f"{message.sender} is not an owner of this study.")
    receiver = message.receiver if message.kind in messages.TO_OWNERS else COORDINATOR
    if message.kind in messages.TO_OWNERS and (receiver not in state.owners or receiver == message.sender):
        raise WrongReceiver("The message has to go to another owner of the study.")
    if facts.join is not None:
        key = facts.join.signing_key
    elif isinstance(message.body, messages.Join):
        key = message.body.signing_key
    else:
        raise TooEarly(f"{message.sender} has not joined yet.")
    if isinstance(message.body, messages.Join) and not check_join_proof(
        bytes.fromhex(facts.invitation_key), state.study, message.sender, message.body
    ):
        raise WrongSender(f"The join of {message.sender} was not made with the invitation of this owner.")
    if facts.join is not None and isinstance(message.body, messages.Join) and message.body.signing_key != key:
        raise Replayed(f"{message.sender} has joined already, with other keys. An invitation can be used only once.")
    signed.check(study=state.study, receiver=receiver, signing_key=key)


def _join(agreement: Agreement, state: StudyState, message: Message, join: messages.Join) -> StudyState:
    if any(position >= join.records for position in agreement.sampling.named(message.sender)):
        raise NotFitting(f"The agreement names rows that the table of {message.sender} does not have.")
    if misfit := agreement.sampling.misfit(message.sender, join.records):
        raise NotFitting(misfit)
    if state.owners[message.sender].rows not in (0, join.records):
        raise NotFitting(f"{message.sender} joined with another table before, of another size. It has to be the same.")
    try:
        public_of(join)
    except KeyUnusable as error:
        raise NotFitting(f"{message.sender} joins with keys that would give no secrecy.") from error
    others = [facts.join for facts in state.owners.values() if facts.join]
    if any(join.envelope_key == other.envelope_key or join.signing_key == other.signing_key for other in others):
        raise NotFitting("Two owners cannot have the same keys.")
    return with_owner(state, message.sender, join=join)


def _confirm(_agreement: Agreement, state: StudyState, message: Message, confirm: messages.Confirm) -> StudyState:
    if not state.keys_sent:
        raise TooEarly("The owners' keys have not been exchanged yet.")
    known = peer_facts(state, message.sender, confirm.peer)
    other = known.join is None or known.join.envelope_key != confirm.envelope_key
    if known.away == "removed" or other:
        if known.away:
            raise WrongRound(f"{confirm.peer} no longer takes part with the key that {message.sender} confirmed.")
        raise NotFitting(f"{message.sender} confirmed another key for {confirm.peer} than {confirm.peer} joined with.")
    facts = state.owners[message.sender]
    return with_owner(state, message.sender, confirmed=tuple(sorted({*facts.confirmed, confirm.peer})))


_HANDLERS: dict[str, Callable[[Agreement, StudyState, Message, Any], StudyState]] = {"join": _join, "confirm": _confirm}


# Work done outside


def work(agreement: Agreement, state: StudyState) -> list[StudyWork]:
    """What has to be done now, apart from messages."""
    if state.ended:
        return []
    if blocking.is_to_choose(agreement, state):
        return [StudyWork("choose")]
    if not state.rounds or state.rounds[-1].is_over:
        return []
    reading = [sides_of(direction) for direction in rounds.unread(state)]
    if not reading and state.rounds[-1].asked.keys() <= state.rounds[-1].read.keys():
        return [StudyWork("settle", state.round)]
    return [StudyWork("read", state.round, asker, holder) for asker, holder in reading]


def lists_for(state: StudyState, todo: StudyWork) -> list[Blob]:
    """The owners' lists that some work needs."""
    if todo.kind == "choose":
        return [blob for facts in state.owners.values() for blob in facts.blinded.values()]
    if todo.kind != "read":
        return []
    return [sent[todo.direction].blob for sent in (state.rounds[-1].listed, state.rounds[-1].opened)]


def removes(agreement: Agreement, state: StudyState, owner: str, draw: sampling.Draw = secrets.randbelow) -> StudyStep:
    """An owner no longer takes part; what waited for it goes on."""
    step = leaving.removes(agreement, state, owner)
    return step if step.state.ended else _go_on(agreement, step, draw)


def close(agreement: Agreement, state: StudyState) -> StudyStep:
    """End the study as it is: what agreed so far is the truth, the rest is discarded."""
    if state.ended:
        return StudyStep(state)
    return rounds.end(agreement, StudyStep(state), "closed")


# What follows


def _follow(agreement: Agreement, state: StudyState, draw: sampling.Draw) -> StudyStep:
    step = StudyStep(state)
    return _go_on(agreement, step if state.keys_sent else leaving.exchange_keys(step), draw)


def _go_on(agreement: Agreement, step: StudyStep, draw: sampling.Draw) -> StudyStep:
    if not all_confirmed(step.state):
        return step
    if step.state.samples:
        is_back = any(facts.away == "lost" for facts in step.state.owners.values())
        return leaving.comes_back(agreement, step, draw) if is_back else step
    step = blocking.relay_held(step)
    drawn = _drawn(agreement, step.state, draw)
    if drawn is not None:
        begun = _begin(agreement, step.state, drawn)
        return StudyStep(begun.state, step.messages + begun.messages, begun.bodies)
    return step


def _drawn(agreement: Agreement, state: StudyState, draw: sampling.Draw) -> Mapping[str, tuple[int, ...]] | None:
    if agreement.sampling.by_keys:
        return blocking.drawn(state)
    return {owner: drawn_for(agreement, state, owner, draw) for owner in present(state)}


def _begin(agreement: Agreement, state: StudyState, drawn: Mapping[str, tuple[int, ...]]) -> StudyStep:
    state = state.model_copy(update={"samples": dict(drawn)})
    nothing = {key_of(a, b): state.unlabelled(a, b) for a, b in labelling.pairings(drawn)}
    for owner in drawn:
        state = with_owner(state, owner, away="")
    step = rounds.labelled(agreement, state, nothing)
    step = leaving.tell_samples(step)
    return rounds.begin(step, open_between(drawn, drawn))
