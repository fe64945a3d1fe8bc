"""The rules of assist calls, for both sides: exactly the calls that the agreement implies, in their order.

1. An evaluation makes the calls of its schedule (`engines.assisting`) and no others. Each names the owner whose records
   it is about and its place; kind, size and number must be those of the place.
2. Within a strand the calls follow each other, and the last strand of a group begins when the others are through.
3. A strand may be begun again from its first call, because an owner that has lost its journal makes everything anew
   that was not finished, and its last call may be made again, because the reply may have been lost. All calls of a
   round about one owner's records together are at most those of `beginnings` evaluations. An owner whose call is
   refused all the same (the coordinator was restored and has forgotten some) calls the round void.
4. Answers are read only where every strand was finished; otherwise the round is void.
5. The last call again (its reply was lost) is served again and not counted twice.

The owner holds itself, and the machines that work for it, to the same schedule, and takes no reply of another size.
"""

from __future__ import annotations

from blindlabel.engines.assisting import AssistCall, AssistPlace, AssistSchedule
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.errors import NotFitting, OverBudget, Replayed, WrongRound, WrongSender
from blindlabel.protocol.facts import OwnerFacts, RoundFacts, State, direction_of, peer_facts, with_owner
from blindlabel.protocol.messages import Signed

Progress = tuple[int, ...]
"""How many calls of each strand were made."""


def further(schedule: AssistSchedule, progress: Progress, place: AssistPlace, call: AssistCall) -> Progress:
    """The progress after one more call; `NotFitting` where it is not the one that is due."""
    _check(schedule, place, call)
    made = list(progress or (0,) * schedule.strands)
    strands = schedule.group_of(place.strand)
    last = strands[-1]
    if place.step not in (0, made[place.strand] - 1, made[place.strand]):
        raise NotFitting("The assist call is out of order.")
    if place.strand == last and any(made[strand] < len(schedule.steps(strand)) for strand in strands[:-1]):
        raise NotFitting("The assist call comes before others that it needs.")
    made[place.strand] = place.step + 1
    if place.strand != last:
        made[last] = 0
    return tuple(made)


def _check(schedule: AssistSchedule, place: AssistPlace, call: AssistCall) -> None:
    """A call is of the kind and size of its place."""
    if not 0 <= place.strand < schedule.strands:
        raise NotFitting("The assist call belongs to no part of this round's evaluation.")
    steps = schedule.steps(place.strand)
    if not 0 <= place.step < len(steps) or call != steps[place.step]:
        raise NotFitting("The assist call is not of the kind or the size that the agreement implies at its place.")


def is_complete(schedule: AssistSchedule, progress: Progress) -> bool:
    """Whether all calls of an evaluation were made."""
    if not schedule.calls:
        return not progress
    return len(progress) == schedule.strands and all(
        made == len(schedule.steps(strand)) for strand, made in enumerate(progress)
    )


def check(agreement: Agreement, state: State, signed: Signed) -> tuple[RoundFacts, OwnerFacts] | None:
    """What is known of the round and the owner of a call; None where it is the last one again. The message's signature
    has been checked.
    """
    message, assist = signed.message, signed.message.body
    if not isinstance(assist, messages.Assist):
        raise WrongSender("Only an assist message can be assisted.")
    if agreement.keys != "coordinator":
        raise NotFitting("Under this agreement nobody needs the coordinator's help.")
    facts = state.owners[message.sender]
    if assist.number == facts.assist_number and signed.digest == facts.assist_digest:
        return None
    if assist.number <= facts.assist_number:
        raise Replayed("The assist call has an old number.")
    if state.ended or not state.rounds or message.round != state.round:
        raise WrongRound(f"An assist call for round {message.round}, and the study is in round {state.round}.")
    peer_facts(state, message.sender, assist.peer)
    if all(direction_of(message.sender, peer) in state.rounds[-1].answers for peer in agreement.peers(message.sender)):
        raise WrongRound(f"{message.sender} has answered round {message.round} already.")
    return state.rounds[-1], facts


def count(
    agreement: Agreement, state: State, signed: Signed, schedule: AssistSchedule, place: AssistPlace, call: AssistCall
) -> State:
    """One assist call of an owner: due, counted, and within the budget."""
    known, assist, sender = check(agreement, state, signed), signed.message.body, signed.message.sender
    if known is None:
        return state
    assert isinstance(assist, messages.Assist)
    (current, facts), direction = known, direction_of(sender, assist.peer)
    if facts.assist_calls >= agreement.budget.assist_calls:
        raise OverBudget(
            f"{sender} has used all {agreement.budget.assist_calls} assist calls that the agreement allows."
        )
    so_far = current.assist_calls.get(direction, 0)
    if so_far >= schedule.beginnings * schedule.calls:
        raise OverBudget(
            f"{sender} has made all assist calls that round {state.round} can need: {schedule.calls} for one"
            f" evaluation, {schedule.beginnings} evaluations."
        )
    progress = current.assisted.get(direction, ())
    if direction in current.answers:  # an owner restored from a backup evaluates again; its first answers count
        _check(schedule, place, call)
    else:
        progress = further(schedule, progress, place, call)
    changed = current.model_copy(
        update={
            "assisted": {**current.assisted, direction: progress},
            "assist_calls": {**current.assist_calls, direction: so_far + 1},
        }
    )
    return with_owner(
        state.model_copy(update={"rounds": (*state.rounds[:-1], changed)}),
        sender,
        assist_calls=facts.assist_calls + 1,
        assist_number=assist.number,
        assist_digest=signed.digest,
    )
