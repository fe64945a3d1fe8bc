"""The coordinator's rules for a round: what owners send in it, when it is settled, and when it is void. See
`coordinator_rules`.

A round has every owner ask about its open records, and serve them. In each direction of a pairing (an asker, and the
holder of the records) these are sent, each once:

1. the holder's records, relayed to the asker;
2. the asker's answers, relayed to the holder, who opens them, with a commitment to the asker's list;
3. the asker's list (`listed`), which must open the commitment, and the holder's (`opened`), which names the answers
   that it opened. The coordinator compares the two.

A round is settled when all directions have their outcomes, so nobody learns anything about one direction before the
other is opened. If something cannot be used (a holder or an asker refuses what came, a list does not fit its commitment
or the other list), the round is void for everybody: its number is never used again, and the same questions are asked
once more, under new keys. At most `MOST_VOID` rounds may be void.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from blindlabel.engines.interface import Outcomes
from blindlabel.envelope.stream import sealed_size
from blindlabel.protocol import comparing, messages
from blindlabel.protocol import labels as labelling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import (
    RoundFacts,
    StudyState,
    StudyStep,
    askers,
    direction_of,
    key_of,
    of_owner,
    peer_facts,
    present,
    send,
    sides_of,
    with_owner,
)
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.messages import MOST_VOID, Signed
from blindlabel.protocol.refusals import NotFitting, TooEarly, WrongReceiver, WrongRound
from blindlabel.protocol.shape import Blob, Locked

MOST_LOOSE = 2
"""After this many rounds in which more than half of an owner's questions were too loose, the study stops, so that
people can have a look.
"""


def take_in(agreement: Agreement, state: StudyState, signed: Signed) -> StudyStep:
    """Accept a message of the current round."""
    message, body = signed.message, signed.message.body
    if message.round > state.round or not state.rounds:
        raise TooEarly(f"A {message.kind} message for round {message.round}; the study is in round {state.round}.")
    if message.round != state.round:
        raise WrongRound(f"A {message.kind} message for round {message.round}; the study is in round {state.round}.")
    current, other = state.rounds[-1], getattr(body, "peer", "") or message.receiver
    is_left = not current.is_over and direction_of(message.sender, other) in current.asked
    if other in state.owners and other != message.sender and not is_left:
        raise WrongRound(f"{message.sender} and {other} no longer take part in round {message.round}.")
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
    direction, open_ = direction_of(message.receiver, message.sender), current.size(message.sender, message.receiver)[0]
    if records.count != open_:
        raise NotFitting(f"{message.sender} sends {records.count} records; {open_} are open.")
    state = _with_current(state, records={**current.records, direction: records})
    return send(StudyStep(state), message.receiver, message.round, messages.Relay(message=signed.wire.decode()))


def _answers(agreement: Agreement, state: StudyState, signed: Signed, answers: messages.Answers) -> StudyStep:
    message, current = signed.message, state.rounds[-1]
    peer_facts(state, message.sender, answers.peer)
    if message.receiver != answers.peer:
        raise WrongReceiver("The answers go to an owner who cannot open them.")
    if (answers.questions, answers.records) != current.size(message.sender, answers.peer):
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
    _check_size(state, direction, "listed", listed.blob)
    state = _with_current(state, listed={**current.listed, direction: listed})
    return StudyStep(state) if _is_committed(state, direction) else void(agreement, state, state.round)


def _is_committed(state: StudyState, direction: str) -> bool:
    """Whether the list and the answers of a direction belong together, if both are here."""
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
    _check_size(state, direction, "opened", opened.blob)
    return StudyStep(_with_current(state, opened={**current.opened, direction: opened}))


def _check_size(state: StudyState, direction: str, kind: str, blob: Blob) -> None:
    lengths = comparing.lengths(*state.rounds[-1].size(*sides_of(direction)))
    if blob.length not in {sealed_size(kind, length) for length in lengths}:
        raise NotFitting("The size of the list is wrong for the round.")


def read(state: StudyState, round: int, direction: str, outcomes: Locked) -> StudyState:
    """The outcomes of a direction have been made."""
    if round != state.round or state.ended or direction not in state.rounds[-1].answers:
        return state
    return _with_current(state, read={**state.rounds[-1].read, direction: outcomes})


def forget(state: StudyState, round: int, lost: Collection[str]) -> StudyState:
    """The outcomes of these directions are lost (no backup has them): the lists must be compared once more."""
    if round != state.round or state.ended or state.rounds[-1].is_over:
        return state
    return _with_current(state, read={key: made for key, made in state.rounds[-1].read.items() if key not in lost})


def void(agreement: Agreement, state: StudyState, round: int) -> StudyStep:
    """Something of this round cannot be used: forget all of it, and ask the same once more."""
    if round != state.round or state.ended or not state.rounds or state.rounds[-1].is_over:
        return StudyStep(state)
    state = _with_current(state, void=True)
    if sum(1 for facts in state.rounds if facts.void) > MOST_VOID:
        return end(agreement, StudyStep(state), "void")
    asked = state.rounds[-1].asked
    return begin(StudyStep(state), asked, state.rounds[-1].kept, repeats=askers(asked))


def settle(
    agreement: Agreement,
    state: StudyState,
    round: int,
    outcomes: Mapping[str, Outcomes],
    labels: Mapping[str, labelling.Labels],
) -> StudyStep:
    """Settle the current round: `outcomes` by direction, `labels` (before the round) by pairing."""
    if round != state.round or state.ended or state.rounds[-1].is_over:
        return StudyStep(state)
    current, number = state.rounds[-1], len(state.settled) + 1
    after: dict[str, labelling.Labels] = {}
    tallies: dict[str, Tally] = {}
    loose: dict[str, tuple[int, ...]] = {}
    aside: dict[str, tuple[int, ...]] = {}
    anew: dict[str, set[int]] = {owner: set() for owner in askers(current.asked)}
    for first, second in labelling.pairings(anew):
        key, there, back = key_of(first, second), direction_of(first, second), direction_of(second, first)
        found = labelling.settle(
            labels[key],
            number,
            current.asked[there],
            outcomes[there],
            current.asked[back],
            outcomes[back],
            agreement.budget.most_yes,
        )
        after[key], tallies[key] = found.labels, found.tally
        loose[there], loose[back] = found.loose
        aside[back], aside[there] = found.aside
        for owner, *places in zip((first, second), found.loose, found.disagreed):
            anew[owner].update(*places)
    state = _with_current(state, tallies=tallies, loose=loose, aside=aside)
    kept = {owner: tuple(one for one in of_owner(current.asked, owner) if one not in anew[owner]) for owner in anew}
    return go_on(agreement, labelled(agreement, state, after), _still_open(state, {**labels, **after}), kept)


def labelled(agreement: Agreement, state: StudyState, labels: Mapping[str, labelling.Labels]) -> StudyStep:
    """The state with these labels, and with the part of them that goes to owners."""
    salt = bytes.fromhex(state.salt)
    named = {"labels": dict(state.labels), "released": dict(state.released)}
    bodies: list[bytes] = []
    for key, matrix in labels.items():
        for what, made in (("labels", matrix), ("released", labelling.released(matrix, agreement.release))):
            named[what][key], body = labelling.locked(made.tobytes(), salt, f"{what} {key}")
            bodies.append(body)
    return StudyStep(state.model_copy(update=named), (), tuple(bodies))


def go_on(
    agreement: Agreement,
    step: StudyStep,
    still_open: Mapping[str, tuple[int, ...]],
    kept: Mapping[str, tuple[int, ...]],
) -> StudyStep:
    """End the study, or begin the next round."""
    state = step.state
    waits = any(facts.away == "lost" for facts in state.owners.values())
    if not any(still_open.values()) and not (waits and state.asked_anew < agreement.rounds):
        return end(agreement, step, "agreed")
    if not any(still_open.values()):
        return step  # the next round begins when the lost owner is back
    if state.asked_anew >= agreement.rounds:
        return end(agreement, step, "rounds")
    for owner in askers(still_open):
        shares = [(len(of_owner(one.loose, owner)), len(of_owner(one.asked, owner))) for one in state.settled]
        if sum(1 for loose, asked in shares if 2 * loose > asked) >= MOST_LOOSE:
            return end(agreement, step, "loose")
    more = {owner: len(of_owner(still_open, owner)) for owner in state.owners}
    if any(facts.asked + more[owner] > agreement.records_asked for owner, facts in state.owners.items()):
        return end(agreement, step, "budget")
    return begin(step, still_open, kept)


def begin(
    step: StudyStep,
    still_open: Mapping[str, tuple[int, ...]],
    kept: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
    *,
    repeats: Collection[str] = (),
) -> StudyStep:
    """Begin the next round: everybody asks about, and serves, its open records, in each pairing separately. For those
    in `kept` the earlier question stands; owners named in `repeats` ask the same as in the void round.
    """
    asked = dict(sorted(still_open.items()))
    own = {owner: of_owner(asked, owner) for owner in askers(asked)}
    stands = {owner: tuple(sorted({*kept.get(owner, ())} & {*records})) for owner, records in own.items()}
    begun = RoundFacts(asked=asked, kept=stands, repeats=bool(repeats))
    state = step.state.model_copy(update={"rounds": (*step.state.rounds, begun)})
    for owner, records in own.items():
        more = 0 if owner in repeats else len(records)
        state = with_owner(state, owner, asked=state.owners[owner].asked + more)
    step = StudyStep(state, step.messages, step.bodies)
    voided = tuple(number for number, one in enumerate(state.rounds, start=1) if one.void)
    last = max((number for number, one in enumerate(state.rounds, start=1) if one.tallies), default=0)
    for owner, records in own.items():
        tallies, said = _tallies(state, last, owner), state.rounds[last - 1]
        loose = {one for peer in tallies for one in said.loose[direction_of(owner, peer)]}
        body = messages.Round(
            open={
                peer: messages.Open(own=asked[direction_of(owner, peer)], others=asked[direction_of(peer, owner)])
                for peer in own
                if peer != owner
            },
            repeats=owner in repeats,
            loose=tuple(one for one in records if one in loose),
            aside={peer: said.aside[direction_of(peer, owner)] for peer in tallies},
            kept=stands[owner],
            others_loose={peer: len(said.loose[direction_of(peer, owner)]) for peer in tallies},
            tallies=tallies,
            voided=voided,
        )
        step = send(step, owner, state.round, body)
    return step


def end(agreement: Agreement, step: StudyStep, reason: messages.EndReason) -> StudyStep:
    """The study is over: every owner gets its truth."""
    step = StudyStep(step.state.model_copy(update={"ended": reason}), step.messages, step.bodies)
    for owner in present(step.state):
        step = tell_truth(agreement, step, owner, reason)
    return step


def tell_truth(agreement: Agreement, step: StudyStep, owner: str, reason: messages.EndReason) -> StudyStep:
    """The study is over for this owner: it gets its labels as they stand, if its sample has been drawn."""
    state, results = step.state, []
    for peer in agreement.peers(owner) if state.owners[owner].away != "lost" else ():
        if (key := key_of(owner, peer)) not in state.released:
            continue
        tallies = {number: _tallies(state, number, owner).get(peer) for number in range(1, state.round + 1)}
        aside = [
            state.rounds[number - 1].aside[direction_of(peer, owner)]
            for number, one in tallies.items()
            if one is not None
        ]
        results.append(
            messages.Pairing(
                peer=peer,
                enriched=state.enriched(peer),
                labels=state.released[key],
                aside=tuple(sorted(place for places in aside for place in places)),
                tallies=tuple(one for one in tallies.values() if one is not None),
            )
        )
    return send(step, owner, state.round, messages.Truth(reason=reason, pairings=tuple(results)))


def _tallies(state: StudyState, number: int, owner: str) -> dict[str, Tally]:
    """How a settled round went for an owner, by the others that took part in it with the workspaces that they
    have now.
    """
    since, tallies = state.owners[owner].since, state.rounds[number - 1].tallies if number else {}
    return {
        peer: tallies[key]
        for peer, facts in state.owners.items()
        if (key := key_of(owner, peer)) in tallies and number > max(since, facts.since)
    }


def _still_open(state: StudyState, labels: Mapping[str, labelling.Labels]) -> dict[str, tuple[int, ...]]:
    """By direction, the asker's sampled records that are in an open pair with the holder, for all owners that take
    part.
    """
    found: dict[str, tuple[int, ...]] = {}
    for first, second in labelling.pairings(owner for owner in state.samples if not state.owners[owner].away):
        for axis, (owner, peer) in enumerate(((first, second), (second, first))):
            counts = labelling.open_counts(labels[key_of(first, second)], axis=axis)
            found[direction_of(owner, peer)] = tuple(counts.nonzero()[0].tolist())
    return found


def unread(state: StudyState) -> list[str]:
    """Directions of the current round whose outcomes can be made now."""
    current = state.rounds[-1]
    return [one for one in current.asked if one not in current.read and current.is_ready(one)]


def _with_current(state: StudyState, **changes: object) -> StudyState:
    changed = state.rounds[-1].model_copy(update=changes)
    return state.model_copy(update={"rounds": (*state.rounds[:-1], changed)})
