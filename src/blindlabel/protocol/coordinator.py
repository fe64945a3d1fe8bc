"""What the coordinator knows of a study, what a message adds to that, and what follows. No input, no output, no clock,
no keys.

The state is a set of facts; `handle` adds a message's fact and returns what follows from all facts together, so the
order in which owners' messages arrive does not matter:

1. A message must name this study, come from one of its owners and carry that owner's signature. The first key of an
   owner is believed because the join proves possession of the owner's one-time invitation; a second join with other
   keys is `Replayed`.
2. The same message again changes nothing. A different message in the same slot is `Replayed`. A message that needs
   another first is `TooEarly`.
3. When all owners have joined and the public key is made, every owner gets the key and the others' public keys.
4. When every owner has confirmed every other (and, for enriched sampling, sent its blocking hashes), the samples are
   drawn and round 1 begins.
5. Records for another owner are passed on as they came; the coordinator checks their count and cannot open them.
6. Answers count in the current round only, once for each asker and other owner, with one row for each asked record.
7. When all answers of a round are read, the round is settled by `labels.settle`; all pairs agreed, the last round, or a
   spent budget end the study; otherwise the next round asks exactly the records that stand on an open pair.
8. An owner's message is taken in only if the coordinator's message that it follows is one of this coordinator's
   history; otherwise the coordinator has forgotten something (an old backup was restored), and the message waits.
9. The leakage budget (questions asked, assist calls) is counted here and never exceeded.

What takes long or needs files is not done here but named by `work`: make keys, draw an enriched sample, read answers,
settle a round. The caller saves the new state together with the messages that follow, and only then lets anything
leave.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from blindlabel.engines.interface import Answers as Matrix
from blindlabel.envelope import KeyUnusable, PublicIdentity
from blindlabel.protocol import labels as labelling
from blindlabel.protocol import messages, proofs, sampling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.errors import (
    NotFitting,
    OverBudget,
    Replayed,
    TooEarly,
    WrongReceiver,
    WrongRound,
    WrongSender,
    WrongStudy,
)
from blindlabel.protocol.facts import (
    Reason,
    RoundFacts,
    State,
    Step,
    Work,
    all_blocking,
    all_confirmed,
    blob_of,
    key_of,
    peer_facts,
    sizes,
    with_owner,
)
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.shape import COORDINATOR, Blob

# Messages from owners


def handle(agreement: Agreement, state: State, signed: Signed, draw: sampling.Draw = secrets.randbelow) -> Step:
    """Take in one message of an owner."""
    message = signed.message
    check(state, signed)
    if state.seen.get(message.slot) == signed.digest or f"unusable {signed.digest}" in state.seen:
        return Step(state)
    if message.slot in state.seen:
        raise Replayed(
            f"There is already a different {message.kind} message of {message.sender} for this place in the study."
        )
    if state.ended and message.kind != "confirm":
        raise WrongRound("The study is over.")
    handler = _HANDLERS.get(message.kind)
    if handler is None:
        raise WrongSender(f"An owner cannot send a {message.kind} message here.")
    if message.round and message.kind != "answers":
        raise WrongRound(f"A {message.kind} message belongs to no round.")
    state, relayed = handler(agreement, state, signed)
    if message.kind != "join" and message.previous not in state.owners[message.sender].history:
        raise TooEarly(
            f"{message.sender} knows a message that this coordinator has not sent (yet). Was an old backup restored?"
        )
    state = state.model_copy(update={"seen": {**state.seen, message.slot: signed.digest}})
    return _follow(agreement, state, draw, relayed)


def check(state: State, signed: Signed) -> None:
    """Rule 1: study, sender, receiver and signature."""
    message = signed.message
    if message.study != state.study:
        raise WrongStudy("The message names another agreement than this study's.")
    facts = state.owners.get(message.sender)
    if facts is None:
        raise WrongSender(f"{message.sender} is no owner of this study.")
    receiver = message.receiver if message.kind == "records" else COORDINATOR
    if message.kind == "records" and (receiver not in state.owners or receiver == message.sender):
        raise WrongReceiver("Records go to another owner of the study.")
    if facts.join is not None:
        key = facts.join.signing_key
    elif isinstance(message.body, messages.Join):
        key = message.body.signing_key
    else:
        raise TooEarly(f"{message.sender} has not joined yet.")
    if isinstance(message.body, messages.Join) and not proofs.check_join_proof(
        bytes.fromhex(facts.invitation_key), state.study, message.sender, message.body
    ):
        raise WrongSender(f"The join of {message.sender} was not made with the invitation of this owner.")
    if facts.join is not None and isinstance(message.body, messages.Join) and message.body.signing_key != key:
        raise Replayed(f"{message.sender} has joined already, with other keys. An invitation holds once.")
    signed.check(study=state.study, receiver=receiver, signing_key=key)


_Handled = tuple[State, tuple[tuple[str, int, messages.Body], ...]]


def _join(agreement: Agreement, state: State, signed: Signed) -> _Handled:
    message, join = signed.message, signed.message.body
    assert isinstance(join, messages.Join)
    rows = agreement.sampling.rows.get(message.sender, ()) if agreement.sampling.method == "rows" else ()
    if any(position >= join.records for position in rows):
        raise NotFitting(f"The agreement names rows that the table of {message.sender} does not have.")
    try:
        PublicIdentity.from_bytes(bytes.fromhex(join.envelope_key + join.signing_key))
    except KeyUnusable as error:
        raise NotFitting(f"{message.sender} joins with keys that would give no secrecy.") from error
    others = [facts.join for facts in state.owners.values() if facts.join]
    if any(join.envelope_key == other.envelope_key or join.signing_key == other.signing_key for other in others):
        raise NotFitting("Two owners cannot have the same keys.")
    return with_owner(state, message.sender, join=join), ()


def _confirm(_agreement: Agreement, state: State, signed: Signed) -> _Handled:
    message, confirm = signed.message, signed.message.body
    assert isinstance(confirm, messages.Confirm)
    if not state.keys_sent:
        raise TooEarly("The owners' keys have not been exchanged yet.")
    peer = peer_facts(state, message.sender, confirm.peer).join
    if peer is None or peer.envelope_key != confirm.envelope_key:
        raise NotFitting(f"{message.sender} confirmed another key for {confirm.peer} than {confirm.peer} joined with.")
    facts = state.owners[message.sender]
    return with_owner(state, message.sender, confirmed=tuple(sorted({*facts.confirmed, confirm.peer}))), ()


def _blocking(agreement: Agreement, state: State, signed: Signed) -> _Handled:
    message, blocking = signed.message, signed.message.body
    assert isinstance(blocking, messages.Blocking)
    facts = state.owners[message.sender]
    peer_facts(state, message.sender, blocking.peer)
    assert facts.join is not None
    if agreement.sampling.method != "enriched":
        raise NotFitting("The agreement asks for no blocking hashes.")
    if blocking.blob.length != facts.join.records * sampling.KEYS_PER_ROW * sampling.HASH_BYTES:
        raise NotFitting("The size of the blocking hashes is wrong for the table.")
    return with_owner(state, message.sender, blocking={**facts.blocking, blocking.peer: blocking.blob}), ()


def _records(_agreement: Agreement, state: State, signed: Signed) -> _Handled:
    message, records = signed.message, signed.message.body
    assert isinstance(records, messages.Records)
    if not state.samples:
        raise TooEarly("The samples have not been drawn yet.")
    if records.count != len(state.samples[message.sender]):
        raise NotFitting(
            f"{message.sender} sends {records.count} records; its sample has {len(state.samples[message.sender])}."
        )
    facts = state.owners[message.sender]
    state = with_owner(state, message.sender, records={**facts.records, message.receiver: records})
    return state, ((message.receiver, 0, messages.Relay(message=signed.wire.decode())),)


def _answers(_agreement: Agreement, state: State, signed: Signed) -> _Handled:
    message, answers = signed.message, signed.message.body
    assert isinstance(answers, messages.Answers)
    if message.round > state.round:
        raise TooEarly(f"Answers for round {message.round}, and the study is in round {state.round}.")
    if message.round != state.round or not state.rounds:
        raise WrongRound(f"Answers for round {message.round}, and the study is in round {state.round}.")
    peer_facts(state, message.sender, answers.peer)
    current = state.rounds[-1]
    if answers.questions != len(current.asked[message.sender]) or answers.records != len(state.samples[answers.peer]):
        raise NotFitting("The size of the answers is wrong for the round.")
    place = f"{message.sender}>{answers.peer}"
    changed = current.model_copy(update={"answers": {**current.answers, place: answers}})
    return state.model_copy(update={"rounds": (*state.rounds[:-1], changed)}), ()


_HANDLERS = {"join": _join, "confirm": _confirm, "blocking": _blocking, "records": _records, "answers": _answers}


def count_assist(agreement: Agreement, state: State, signed: Signed) -> State:
    """One assist call of an owner: checked, counted, and within the budget. The last call again (its reply was lost) is
    not counted twice."""
    message, assist = signed.message, signed.message.body
    check(state, signed)
    if not isinstance(assist, messages.Assist):
        raise WrongSender("Only an assist message can be assisted.")
    facts = state.owners[message.sender]
    if assist.number == facts.assist_number and signed.digest == facts.assist_digest:
        return state
    if assist.number <= facts.assist_number:
        raise Replayed("The assist call has an old number.")
    if state.ended or not state.rounds or message.round != state.round:
        raise WrongRound(f"An assist call for round {message.round}, and the study is in round {state.round}.")
    current = state.rounds[-1]
    if all(f"{message.sender}>{peer}" in current.answers for peer in agreement.peers(message.sender)):
        raise WrongRound(f"{message.sender} has answered round {message.round} already.")
    if facts.assist_calls >= agreement.budget.assist_calls:
        raise OverBudget(
            f"{message.sender} has used all {agreement.budget.assist_calls} assist calls that the agreement allows."
        )
    return with_owner(
        state,
        message.sender,
        assist_calls=facts.assist_calls + 1,
        assist_number=assist.number,
        assist_digest=signed.digest,
    )


# Work done outside


def work(agreement: Agreement, state: State) -> list[Work]:
    """What is to be done now that no message can do."""
    if state.ended:
        return []
    if state.public_key is None:
        return [Work("keys")]
    if not state.samples and agreement.sampling.method == "enriched" and all_confirmed(agreement, state):
        return [Work("sample")] if all_blocking(agreement, state) else []
    if not state.rounds:
        return []
    current = state.rounds[-1]
    reading = []
    for place, answers in sorted(current.answers.items()):
        if place not in current.read:
            asker, _, peer = place.partition(">")
            reading.append(Work("read", state.round, asker, peer, answers.blob))
    if not reading and len(current.read) == 2 * len(agreement.pairings):
        return [Work("settle", state.round)]
    return reading


def keys_made(agreement: Agreement, state: State, public_key: Blob, draw: sampling.Draw = secrets.randbelow) -> Step:
    """The engine's keys exist."""
    if state.public_key is not None:
        return Step(state)
    return _follow(agreement, state.model_copy(update={"public_key": public_key}), draw)


def sample_enriched(
    agreement: Agreement, state: State, hashes: Mapping[tuple[str, str], bytes], draw: sampling.Draw = secrets.randbelow
) -> Step:
    """Draw the enriched samples from what the owners sent."""
    if state.samples:
        return Step(state)
    drawn = sampling.enriched(sizes(state), hashes, agreement.sampling.records, agreement.sampling.share, draw)
    return _begin(agreement, state, drawn)


def answers_read(state: State, round: int, asker: str, peer: str, answers: Blob, read: Blob) -> State:
    """These answers have been decrypted; `read` names the result."""
    place = f"{asker}>{peer}"
    if (
        round != state.round
        or state.rounds[-1].answers.get(place) is None
        or state.rounds[-1].answers[place].blob != answers
    ):
        return state
    current = state.rounds[-1]
    changed = current.model_copy(update={"read": {**current.read, place: read}})
    return state.model_copy(update={"rounds": (*state.rounds[:-1], changed)})


def answers_unreadable(state: State, round: int, asker: str, peer: str, answers: Blob) -> Step:
    """These answers are no answers: forget them and ask their owner to evaluate again."""
    place, current = f"{asker}>{peer}", state.rounds[-1] if state.rounds else None
    if (
        current is None
        or round != state.round
        or place not in current.answers
        or current.answers[place].blob != answers
    ):
        return Step(state)
    slot = f"{asker} answers {round} {peer}"
    digest = state.seen[slot]
    seen = {other: value for other, value in state.seen.items() if other != slot} | {f"unusable {digest}": digest}
    changed = current.model_copy(
        update={"answers": {other: value for other, value in current.answers.items() if other != place}}
    )
    state = state.model_copy(update={"rounds": (*state.rounds[:-1], changed), "seen": seen})
    return _send(Step(state), asker, round, messages.Again(peer=peer, digest=digest))


def settle(
    agreement: Agreement,
    state: State,
    round: int,
    answers: Mapping[str, Matrix],
    labels: Mapping[str, labelling.Labels],
) -> Step:
    """Settle the current round: `answers` by `asker>peer`, `labels` (before the round) by pairing."""
    if round != state.round or state.ended or state.rounds[-1].tallies:
        return Step(state)
    current = state.rounds[-1]
    after: dict[str, labelling.Labels] = {}
    tallies: dict[str, Tally] = {}
    for first, second in agreement.pairings:
        key = key_of(first, second)
        after[key], tallies[key] = labelling.settle(
            labels[key],
            round,
            current.asked[first],
            answers[f"{first}>{second}"],
            current.asked[second],
            answers[f"{second}>{first}"],
        )
    bodies = tuple(labelling.to_bytes(matrix) for matrix in after.values())
    named = {key: blob_of(body) for key, body in zip(after, bodies)}
    changed = current.model_copy(update={"tallies": tallies})
    state = state.model_copy(update={"labels": named, "rounds": (*state.rounds[:-1], changed)})
    counts = _open_counts(agreement, state, after)
    step = Step(state, (), bodies)
    if not any(any(record) for record in counts.values()):
        return _end(agreement, step, "agreed")
    if round >= agreement.rounds:
        return _end(agreement, step, "rounds")
    again = {owner: sum(1 for count in record if count) for owner, record in counts.items()}
    if any(state.owners[owner].asked + more > agreement.records_asked for owner, more in again.items()):
        return _end(agreement, step, "budget")
    return _ask(agreement, step, counts)


def close(agreement: Agreement, state: State) -> Step:
    """End the study as it is: what agreed so far is the truth, the rest is discarded."""
    if state.ended:
        return Step(state)
    return _end(agreement, Step(state), "closed")


# What follows


def _follow(
    agreement: Agreement, state: State, draw: sampling.Draw, relayed: tuple[tuple[str, int, messages.Body], ...] = ()
) -> Step:
    step = Step(state)
    for receiver, number, body in relayed:
        step = _send(step, receiver, number, body)
    if state.public_key and not state.keys_sent and all(facts.join for facts in state.owners.values()):
        step = _send_keys(agreement, step)
    if not step.state.samples and agreement.sampling.method != "enriched" and all_confirmed(agreement, step.state):
        if agreement.sampling.method == "rows":
            drawn = {owner: tuple(sorted(agreement.sampling.rows[owner])) for owner in step.state.owners}
        else:
            drawn = {
                owner: sampling.uniform(size, agreement.sampling.records, draw)
                for owner, size in sizes(step.state).items()
            }
        begun = _begin(agreement, step.state, drawn)
        step = Step(begun.state, step.messages + begun.messages, begun.bodies)
    return step


def _send_keys(agreement: Agreement, step: Step) -> Step:
    known = {owner: facts.join for owner, facts in step.state.owners.items()}
    assert step.state.public_key is not None
    for owner in sorted(agreement.owners):
        peers = tuple(
            messages.Peer(name=peer, records=join.records, envelope_key=join.envelope_key, signing_key=join.signing_key)
            for peer in agreement.peers(owner)
            if (join := known[peer]) is not None
        )
        step = _send(step, owner, 0, messages.Keys(peers=peers, public_key=step.state.public_key))
    return Step(step.state.model_copy(update={"keys_sent": True}), step.messages, step.bodies)


def _begin(agreement: Agreement, state: State, drawn: Mapping[str, tuple[int, ...]]) -> Step:
    bodies = {
        key_of(a, b): labelling.to_bytes(labelling.no_labels(len(drawn[a]), len(drawn[b])))
        for a, b in agreement.pairings
    }
    state = state.model_copy(
        update={"samples": dict(drawn), "labels": {key: blob_of(body) for key, body in bodies.items()}}
    )
    step = Step(state, (), tuple(bodies.values()))
    for owner in sorted(drawn):
        others = {peer: len(drawn[peer]) for peer in agreement.peers(owner)}
        step = _send(step, owner, 0, messages.Sample(positions=tuple(drawn[owner]), others=others))
    return _ask(agreement, step, {owner: [0] * len(positions) for owner, positions in drawn.items()}, everything=True)


def _ask(agreement: Agreement, step: Step, counts: Mapping[str, list[int]], *, everything: bool = False) -> Step:
    """Begin the next round: ask the records with a count above 0, or all of them."""
    previous = step.state.rounds[-1].tallies if step.state.rounds else {}
    asked = {
        owner: tuple(record for record, count in enumerate(records) if everything or count)
        for owner, records in sorted(counts.items())
    }
    state = step.state.model_copy(update={"rounds": (*step.state.rounds, RoundFacts(asked=asked))})
    for owner, records in asked.items():
        state = with_owner(state, owner, asked=state.owners[owner].asked + len(records))
    step = Step(state, step.messages, step.bodies)
    for owner, records in asked.items():
        ask = tuple(messages.Asked(record=record, disagreed=int(counts[owner][record])) for record in records)
        tallies = {peer: previous[key_of(owner, peer)] for peer in agreement.peers(owner) if previous}
        step = _send(step, owner, state.round, messages.Round(ask=ask, tallies=tallies))
    return step


def _end(agreement: Agreement, step: Step, reason: Reason) -> Step:
    state = step.state.model_copy(update={"ended": reason})
    step = Step(state, step.messages, step.bodies)
    settled = [facts for facts in state.rounds if facts.tallies]
    for owner in sorted(agreement.owners):
        results = tuple(
            messages.Pairing(
                peer=peer,
                positions=state.samples[peer],
                labels=state.labels[key_of(owner, peer)],
                tallies=tuple(facts.tallies[key_of(owner, peer)] for facts in settled),
            )
            for peer in agreement.peers(owner)
            if state.samples
        )
        step = _send(step, owner, state.round, messages.Truth(reason=reason, pairings=results))
    return step


def _send(step: Step, receiver: str, round: int, body: messages.Body) -> Step:
    facts = step.state.owners[receiver]
    previous = facts.history[-1] if facts.history else ""
    message = Message(step.state.study, COORDINATOR, receiver, round, facts.sent + 1, body, previous)
    state = with_owner(step.state, receiver, sent=facts.sent + 1, history=(*facts.history, message.digest))
    return Step(state, (*step.messages, message), step.bodies)


def _open_counts(agreement: Agreement, state: State, labels: Mapping[str, labelling.Labels]) -> dict[str, list[int]]:
    """For every owner and sampled record, on how many open pairs it stands."""
    counts = {owner: [0] * len(positions) for owner, positions in state.samples.items()}
    for first, second in agreement.pairings:
        for axis, owner in enumerate((first, second)):
            more = labelling.open_counts(labels[key_of(first, second)], axis=axis)
            counts[owner] = [have + int(new) for have, new in zip(counts[owner], more)]
    return counts
