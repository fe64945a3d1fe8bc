"""The coordinator's rules of a round: what owners send in it, when it is settled, and when it is void. See
`coordinator`.

A round asks every owner about its open records and has it serve them. In each direction of a pairing (an asker, and the
holder of the records) there pass, each once:

1. the holder's records, relayed to the asker;
2. the asker's answers, relayed to the holder, who opens them, with a commitment to the asker's list;
3. the asker's list (`listed`), which must open the commitment, and the holder's (`opened`), which names the answers
   that it opened. The coordinator compares the two.

A round is settled when all directions have their outcomes, so nobody learns anything of one direction before the other
is opened. Where something cannot be used (a holder or an asker refuses what came, a list does not fit its commitment or
the other list), the round is void for everybody: its number is never used again, and the same questions are
asked once more, under new keys. At most `MOST_VOID` rounds may be void.
"""

from __future__ import annotations

from collections.abc import Mapping

from blindlabel.engines.interface import Outcomes
from blindlabel.protocol import comparing, messages
from blindlabel.protocol import labels as labelling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import (
    RoundFacts,
    StudyState,
    StudyStep,
    blob_of,
    direction_of,
    directions,
    key_of,
    peer_facts,
    send,
    sides_of,
    with_owner,
)
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.messages import MOST_VOID, Signed
from blindlabel.protocol.refusals import NotFitting, TooEarly, WrongReceiver, WrongRound
from blindlabel.protocol.shape import Blob

MOST_LOOSE = 2
"""Rounds in which more than half of an owner's questions were too loose; then the study stops for people to look."""


def take_in(agreement: Agreement, state: StudyState, signed: Signed) -> StudyStep:
    """Take in a message of the current round."""
    message, body = signed.message, signed.message.body
    if message.round > state.round or not state.rounds:
        raise TooEarly(f"A {message.kind} message for round {message.round}; the study is in round {state.round}.")
    if message.round != state.round:
        raise WrongRound(f"A {message.kind} message for round {message.round}; the study is in round {state.round}.")
    if isinstance(body, messages.Records):
        return _records(state, signed, body)
    if isinstance(body, messages.Answers):
        return _answers(agreement, state, signed, body)
    if isinstance(body, messages.Refused):
        peer_facts(state, message.sender, body.peer)
        return void(agreement, state, message.round)
    if isinstance(body, messages.Listed):
        return _listed(agreement, state, message.sender, body)
    assert isinstance(body, messages.Opened)
    return _opened(state, message.sender, body)


def _records(state: StudyState, signed: Signed, records: messages.Records) -> StudyStep:
    message, current = signed.message, state.rounds[-1]
    if records.count != len(current.asked[message.sender]):
        raise NotFitting(
            f"{message.sender} sends {records.count} records; {len(current.asked[message.sender])} are open."
        )
    direction = direction_of(message.receiver, message.sender)
    state = _with_current(state, records={**current.records, direction: records})
    return send(StudyStep(state), message.receiver, message.round, messages.Relay(message=signed.wire.decode()))


def _answers(agreement: Agreement, state: StudyState, signed: Signed, answers: messages.Answers) -> StudyStep:
    message, current = signed.message, state.rounds[-1]
    peer_facts(state, message.sender, answers.peer)
    if message.receiver != answers.peer:
        raise WrongReceiver("The answers go to somebody else than the one who opens them.")
    size = (len(current.asked[message.sender]), len(current.asked[answers.peer]))
    if (answers.questions, answers.records) != size:
        raise NotFitting("The size of the answers is wrong for the round.")
    direction = direction_of(message.sender, answers.peer)
    if direction not in current.records:
        raise TooEarly(f"{message.sender} answers about records that have not been served.")
    if answers.served != current.records[direction].blob.hash:
        raise NotFitting(f"{message.sender} answers about other records than {answers.peer} served.")
    state = _with_current(
        state, answers={**current.answers, direction: answers}, answered={**current.answered, direction: signed.digest}
    )
    step = send(StudyStep(state), answers.peer, message.round, messages.Relay(message=signed.wire.decode()))
    return step if _is_committed(step.state, direction) else void(agreement, step.state, message.round)


def _listed(agreement: Agreement, state: StudyState, sender: str, listed: messages.Listed) -> StudyStep:
    peer_facts(state, sender, listed.peer)
    current, direction = state.rounds[-1], direction_of(sender, listed.peer)
    _check_size(state, direction, listed.blob)
    state = _with_current(state, listed={**current.listed, direction: listed})
    return StudyStep(state) if _is_committed(state, direction) else void(agreement, state, state.round)


def _is_committed(state: StudyState, direction: str) -> bool:
    """Whether list and answers of a direction belong together, as far as both are here."""
    listed, answers = state.rounds[-1].listed.get(direction), state.rounds[-1].answers.get(direction)
    if listed is None or answers is None:
        return True
    return comparing.commitment(bytes.fromhex(listed.salt), listed.blob) == answers.commitment


def _opened(state: StudyState, sender: str, opened: messages.Opened) -> StudyStep:
    peer_facts(state, sender, opened.peer)
    current, direction = state.rounds[-1], direction_of(opened.peer, sender)
    if direction not in current.answered:
        raise TooEarly(f"{opened.peer} has not handed in answers that {sender} could open.")
    if opened.answers != current.answered[direction]:
        raise NotFitting(f"{sender} opened other answers than {opened.peer} handed in.")
    _check_size(state, direction, opened.blob)
    return StudyStep(_with_current(state, opened={**current.opened, direction: opened}))


def _check_size(state: StudyState, direction: str, blob: Blob) -> None:
    asker, holder = sides_of(direction)
    current = state.rounds[-1]
    if not comparing.fits(blob.length, len(current.asked[asker]), len(current.asked[holder])):
        raise NotFitting("The size of the list is wrong for the round.")


def read(state: StudyState, round: int, direction: str, outcomes: Blob) -> StudyState:
    """The outcomes of a direction are there."""
    if round != state.round or state.ended or direction not in state.rounds[-1].answers:
        return state
    return _with_current(state, read={**state.rounds[-1].read, direction: outcomes})


def void(agreement: Agreement, state: StudyState, round: int) -> StudyStep:
    """Something of this round cannot be used: forget all of it, and ask the same once more."""
    if round != state.round or state.ended or not state.rounds or state.rounds[-1].tallies:
        return StudyStep(state)
    state = _with_current(state, void=True)
    if sum(1 for facts in state.rounds if facts.void) > MOST_VOID:
        return end(agreement, StudyStep(state), "void")
    return begin(agreement, StudyStep(state), state.rounds[-1].asked, repeats=True)


def settle(
    agreement: Agreement,
    state: StudyState,
    round: int,
    outcomes: Mapping[str, Outcomes],
    labels: Mapping[str, labelling.Labels],
) -> StudyStep:
    """Settle the current round: `outcomes` by direction, `labels` (before the round) by pairing."""
    if round != state.round or state.ended or state.rounds[-1].tallies:
        return StudyStep(state)
    current, number = state.rounds[-1], len(state.settled) + 1
    after: dict[str, labelling.Labels] = {}
    tallies: dict[str, Tally] = {}
    loose: dict[str, set[int]] = {owner: set() for owner in current.asked}
    for first, second in agreement.pairings:
        key = key_of(first, second)
        found = labelling.settle(
            labels[key],
            number,
            current.asked[first],
            outcomes[direction_of(first, second)],
            current.asked[second],
            outcomes[direction_of(second, first)],
            agreement.budget.most_yes,
        )
        after[key], tallies[key] = found.labels, found.tally
        loose[first].update(found.loose[0])
        loose[second].update(found.loose[1])
    state = _with_current(
        state, tallies=tallies, loose={owner: tuple(sorted(places)) for owner, places in loose.items()}
    )
    return _next(agreement, labelled(agreement, state, after), _still_open(agreement, state, after))


def labelled(agreement: Agreement, state: StudyState, labels: Mapping[str, labelling.Labels]) -> StudyStep:
    """The state with these labels, and with what of them goes to owners."""
    salt = bytes.fromhex(state.salt)
    released = {key: labelling.released(matrix, agreement.release) for key, matrix in labels.items()}
    kept = {key: labelling.to_bytes(matrix, salt) for key, matrix in labels.items()}
    given = {key: labelling.to_bytes(matrix, salt) for key, matrix in released.items()}
    named = {"labels": _named(kept), "released": _named(given)}
    return StudyStep(state.model_copy(update=named), (), (*kept.values(), *given.values()))


def _named(bodies: Mapping[str, bytes]) -> dict[str, Blob]:
    return {key: blob_of(body) for key, body in bodies.items()}


def _next(agreement: Agreement, step: StudyStep, still_open: Mapping[str, tuple[int, ...]]) -> StudyStep:
    """End the study, or begin the next round."""
    state = step.state
    if not any(still_open.values()):
        return end(agreement, step, "agreed")
    if len(state.settled) >= agreement.rounds:
        return end(agreement, step, "rounds")
    for owner in still_open:
        carefree = [facts for facts in state.settled if 2 * len(facts.loose[owner]) > len(facts.asked[owner])]
        if len(carefree) >= MOST_LOOSE:
            return end(agreement, step, "loose")
    if any(state.owners[owner].asked + len(more) > agreement.records_asked for owner, more in still_open.items()):
        return end(agreement, step, "budget")
    return begin(agreement, step, still_open)


def begin(
    agreement: Agreement, step: StudyStep, still_open: Mapping[str, tuple[int, ...]], *, repeats: bool = False
) -> StudyStep:
    """Begin the next round: everybody asks about, and serves, its open records."""
    asked = dict(sorted(still_open.items()))
    last = step.state.settled[-1] if step.state.settled else None
    state = step.state.model_copy(update={"rounds": (*step.state.rounds, RoundFacts(asked=asked, repeats=repeats))})
    for owner, records in asked.items():
        state = with_owner(state, owner, asked=state.owners[owner].asked + (0 if repeats else len(records)))
    step = StudyStep(state, step.messages, step.bodies)
    for owner, records in asked.items():
        peers = agreement.peers(owner)
        body = messages.Round(
            open=asked,
            repeats=repeats,
            loose=tuple(record for record in last.loose[owner] if record in records) if last else (),
            others_loose={peer: len(last.loose[peer]) for peer in peers} if last else {},
            tallies={peer: last.tallies[key_of(owner, peer)] for peer in peers} if last else {},
        )
        step = send(step, owner, state.round, body)
    return step


def end(agreement: Agreement, step: StudyStep, reason: messages.EndReason) -> StudyStep:
    """The study is over: every owner gets its truth."""
    state = step.state.model_copy(update={"ended": reason})
    step = StudyStep(state, step.messages, step.bodies)
    for owner in sorted(agreement.owners):
        results = tuple(
            messages.Pairing(
                peer=peer,
                positions=state.samples[peer],
                enriched=state.enriched(peer),
                labels=state.released[key_of(owner, peer)],
                tallies=tuple(facts.tallies[key_of(owner, peer)] for facts in state.settled),
            )
            for peer in agreement.peers(owner)
            if state.samples
        )
        step = send(step, owner, state.round, messages.Truth(reason=reason, pairings=results))
    return step


def _still_open(
    agreement: Agreement, state: StudyState, labels: Mapping[str, labelling.Labels]
) -> dict[str, tuple[int, ...]]:
    """For every owner, its sampled records that stand on an open pair."""
    found: dict[str, set[int]] = {owner: set() for owner in state.samples}
    for first, second in agreement.pairings:
        for axis, owner in enumerate((first, second)):
            counts = labelling.open_counts(labels[key_of(first, second)], axis=axis)
            found[owner].update(counts.nonzero()[0].tolist())
    return {owner: tuple(sorted(places)) for owner, places in found.items()}


def unread(agreement: Agreement, state: StudyState) -> list[str]:
    """Directions of the current round whose outcomes can be made now."""
    current = state.rounds[-1]
    return [
        direction
        for direction in directions(agreement)
        if direction not in current.read and current.is_ready(direction)
    ]


def _with_current(state: StudyState, **changes: object) -> StudyState:
    changed = state.rounds[-1].model_copy(update=changes)
    return state.model_copy(update={"rounds": (*state.rounds[:-1], changed)})
