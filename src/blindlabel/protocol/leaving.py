"""What becomes of a study when an owner leaves it, or has lost its workspace and comes back. No input or output.

1. An owner that is gone is out of the round under way, with its pairings only; the others go on. A round in which
   nothing is left to ask is void.
2. The others get the keys of those that are left, and forget what they had in this round from the owner that is gone.
3. An owner that is *removed* gets its labels as they stand, and so do the others at the end. If fewer than two are
   left, the study ends.
4. An owner whose workspace is *lost* gets a new invitation; the old one, its keys and its token become void. It joins
   with new keys and a table of the same size; everybody compares new words with it. Then it gets a new sample, all its
   pairs are open, and it takes part from the next round on. Labels agreed earlier stand only until then.
5. Nobody learns more than the account says: all its rounds count, including those of the lost workspace. Its unsettled
   round is asked once more if no outcome of it could be known; otherwise that round counts too. If the agreed rounds or
   questions do not suffice, or an enriched sample was begun (whose account covers one drawing), it cannot come back.
"""

from __future__ import annotations

from blindlabel.errors import InputError
from blindlabel.protocol import labels as labelling
from blindlabel.protocol import messages, rounds, sampling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import (
    OwnerFacts,
    StudyState,
    StudyStep,
    drawn_for,
    key_of,
    of_owner,
    open_between,
    peers_in,
    present,
    send,
    sides_of,
    with_owner,
    without,
)
from blindlabel.protocol.messages import MOST_VOID


def invites_again(
    agreement: Agreement, state: StudyState, owner: str, invitation_key: str, *, lost: bool = False
) -> StudyStep:
    """An owner that has not joined, or lost its workspace, gets a new one-time code; the one before proves nothing."""
    facts = _facts(state, owner)
    if facts.join is None:
        return StudyStep(with_owner(state, owner, invitation_key=invitation_key))
    if not lost:
        raise InputError(
            f"{owner} has joined already. If its workspace is lost and there is no backup of it, say so with --lost: it"
            " then joins again, with new keys and words, and its pairings begin anew."
        )
    if any(one.offered for one in state.owners.values()):
        raise InputError("The account of an enriched sample bears one drawing, and it has begun. Begin a new study.")
    told = facts.asked
    if state.rounds and not state.rounds[-1].tallies and not _may_have_told(state, owner):
        told -= len(of_owner(state.rounds[-1].asked, owner))
    state = _without(state, owner)
    _check_account(agreement, state, owner, told)
    void = [slot for slot in state.seen if slot.startswith(f"{owner} ") or slot.endswith(f" 0 {owner}")]
    seen = {slot: digest for slot, digest in state.seen.items() if slot not in void}
    rows, since = facts.join.records, facts.since
    anew = OwnerFacts(invitation_key=invitation_key, asked=told, away="lost", since=since, rows=rows)
    state = state.model_copy(update={"owners": {**state.owners, owner: anew}, "seen": seen, "keys_sent": False})
    return _go_on(agreement, exchange_keys(StudyStep(state)))


def removes(agreement: Agreement, state: StudyState, owner: str) -> StudyStep:
    """An owner no longer takes part."""
    facts = _facts(state, owner)
    if len(present(state)) <= 2:
        return rounds.end(agreement, StudyStep(state), "left")
    step = StudyStep(_without(state, owner))
    if facts.join is not None:
        step = rounds.tell_truth(agreement, step, owner, "left")
    step = StudyStep(with_owner(step.state, owner, away="removed"), step.messages)
    return _go_on(agreement, exchange_keys(step))


def _go_on(agreement: Agreement, step: StudyStep) -> StudyStep:
    """If nothing is left of the round, begin the next one with whoever has come back in the meantime. If nobody has,
    and nobody is waited for, all pairs that are left have agreed.
    """
    state, here = step.state, [owner for owner in present(step.state) if not step.state.owners[owner].away]
    if not state.rounds or not state.rounds[-1].is_over:
        return step
    anew = [owner for owner in here if state.owners[owner].since == state.round]
    if len(here) < len(present(state)) and (not anew or len(here) < 2):
        return step
    return rounds.go_on(agreement, step, open_between({owner: state.samples[owner] for owner in here}, anew), {})


def _facts(state: StudyState, owner: str) -> OwnerFacts:
    if owner not in state.owners or state.owners[owner].away == "removed":
        raise InputError(f"{owner} is not an owner of this study. There are {', '.join(present(state))}.")
    if state.ended:
        raise InputError("The study is over.")
    return state.owners[owner]


def _without(state: StudyState, gone: str) -> StudyState:
    """The state without anything under way with this owner."""
    owners = {name: without(facts, {gone}) for name, facts in state.owners.items()}
    held = [messages.parse(wire.encode()).message for wire in state.held]
    kept = tuple(wire for wire, one in zip(state.held, held) if gone not in (one.sender, one.receiver))
    state = state.model_copy(update={"owners": owners, "held": kept})
    if not state.rounds or state.rounds[-1].is_over:
        return state
    left = {one: records for one, records in state.rounds[-1].asked.items() if gone not in sides_of(one)}
    cut = state.rounds[-1].model_copy(update={"asked": left} if any(left.values()) else {"void": True})
    return state.model_copy(update={"rounds": (*state.rounds[:-1], cut)})


def _may_have_told(state: StudyState, owner: str) -> bool:
    """Whether the coordinator could compare anything from this owner in a round that is not settled."""
    last = max((place for place, one in enumerate(state.rounds) if one.tallies), default=-1)
    unsettled = state.rounds[last + 1 :]
    return any(one.is_ready(direction) for one in unsettled for direction in one.listed if owner in sides_of(direction))


def _repeats(state: StudyState, back: list[str]) -> bool:
    """Whether the next round only repeats the void one, with the owner that is back in place of the lost workspace."""
    last = state.rounds[-1]
    others = [owner for owner in present(state) if owner not in back]
    whole = all(len(of_owner(last.asked, owner)) == len(state.samples[owner]) for owner in others)
    return last.void and whole and not any(_may_have_told(state, owner) for owner in back)


def _missed(state: StudyState) -> int:
    """Rounds that count for an owner that comes back as if its lost workspace had asked everything in them."""
    return sum(1 for one in state.rounds if not one.void)


def _check_account(agreement: Agreement, state: StudyState, owner: str, told: int) -> None:
    """Refuse if the agreement has no room for a new workspace."""
    if not state.rounds:
        return
    repeats, size = _repeats(state, [owner]), agreement.sampling.records
    used = state.asked_anew + (0 if repeats else 1)
    others = [] if repeats else [state.owners[peer].asked for peer in peers_in(state, owner)]
    asked = [max(told, _missed(state) * size), *others]
    if used > agreement.rounds or max(asked) + size > agreement.records_asked:
        raise InputError(
            f"The agreement has no room for a new workspace of {owner}: what the lost one could tell counts, and then"
            f" {agreement.rounds} rounds and {agreement.records_asked} questions of each owner do not suffice for one"
            f" more round. `coordinator remove` goes on without {owner}, or ends the study where only two take part."
        )
    if sum(1 for one in state.rounds if one.void) > MOST_VOID:
        raise InputError(f"More than {MOST_VOID} rounds would be void. Close the study, and begin a new one.")


def exchange_keys(step: StudyStep) -> StudyStep:
    """Everybody that takes part and has joined gets the others' keys: when all have joined, and again when that
    changes.
    """
    known = {owner: step.state.owners[owner].join for owner in present(step.state)}
    awaited = tuple(owner for owner, join in known.items() if join is None)
    if awaited and not any(step.state.owners[owner].history for owner in known):
        return step
    for owner in [owner for owner, join in known.items() if join is not None]:
        peers = tuple(
            messages.Peer(name=peer, records=join.records, envelope_key=join.envelope_key, signing_key=join.signing_key)
            for peer in peers_in(step.state, owner)
            if (join := known[peer]) is not None
        )
        step = send(step, owner, 0, messages.Keys(peers=peers, awaited=awaited))
    return StudyStep(step.state.model_copy(update={"keys_sent": not awaited}), step.messages, step.bodies)


def comes_back(agreement: Agreement, step: StudyStep, draw: sampling.Draw) -> StudyStep:
    """Everybody has confirmed the owner that was lost: it gets a sample, and takes part from the next round on."""
    state = step.state
    back = [owner for owner in present(state) if state.owners[owner].away == "lost"]
    drawn = {owner: drawn_for(agreement, state, owner, draw) for owner in back}
    samples, others = {**state.samples, **drawn}, [owner for owner in present(state) if owner not in back]
    pairs = [pair for pair in labelling.pairings(present(state)) if set(pair) & set(back)]
    repeats, kept = _repeats(state, back), state.rounds[-1].kept
    left: dict[str, object] = {"samples": samples}
    for what, made in (("labels", state.labels), ("released", state.released)):
        left[what] = {key: named for key, named in made.items() if not set(key.split()) & set(back)}
    state = state.model_copy(update=left)
    labelled = rounds.labelled(agreement, state, {key_of(a, b): state.unlabelled(a, b) for a, b in pairs})
    state = labelled.state
    for owner in back:
        asked = max(state.owners[owner].asked, _missed(state) * len(samples[owner]))
        state = with_owner(state, owner, away="", since=state.round, asked=asked)
    step = tell_samples(StudyStep(state, step.messages, (*step.bodies, *labelled.bodies)))
    if not state.rounds[-1].is_over:
        return step
    if not repeats:
        return _go_on(agreement, step)
    whole = open_between({owner: samples[owner] for owner in present(state)}, back)
    return rounds.begin(step, whole, {owner: kept.get(owner, ()) for owner in others}, repeats=others)


def tell_samples(step: StudyStep) -> StudyStep:
    """Tell everybody that takes part its sample, and how large the others' samples are."""
    samples = step.state.samples
    for owner in present(step.state):
        others = {peer: len(samples[peer]) for peer in peers_in(step.state, owner)}
        step = send(step, owner, 0, messages.Sample(positions=samples[owner], others=others))
    return step
