"""Both sides of the assist hold an evaluation to its schedule: an owner its own and the machines that work for it, the
coordinator every owner.
"""

from __future__ import annotations

from blindlabel.engines.assisting import NO_CALLS, AssistPlace, AssistSchedule
from blindlabel.engines.interface import Assist, Engine, ParcelError, Terms
from blindlabel.protocol import assisting
from blindlabel.protocol import coordinator as rules
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.errors import NotFitting, OverBudget
from blindlabel.protocol.facts import RoundFacts, State, sides_of
from blindlabel.protocol.messages import Assist as Call
from blindlabel.protocol.messages import Signed


class Scheduled:
    """The assist of one evaluation: carries the calls that are due, in their order, and takes replies of their size."""

    def __init__(self, engine: Engine, terms: Terms, questions: int, records: int, carry: Assist) -> None:
        self._engine, self._terms, self._carry = engine, terms, carry
        self._schedule = engine.assist_schedule(terms, questions, records)
        self._progress: dict[int, int] = {}
        self._made = 0

    def __call__(self, request: bytes) -> bytes:
        place, call = self._engine.assist_call(self._terms, self._schedule, request)
        self._progress[place.strand] = assisting.further(self._schedule, self._before(place), place, call)[place.strand]
        self._made += 1
        if self._made > self._schedule.beginnings * self._schedule.calls:
            raise OverBudget("This evaluation calls for assistance more often than the agreement implies.")
        reply = self._carry(request)
        if len(reply) != call.reply:
            raise ParcelError("The size of the coordinator's reply is not the one that the agreement implies.")
        return reply

    def _before(self, place: AssistPlace) -> assisting.Progress:
        """The calls of each strand before this one. Those of an earlier life have their replies in the journal and are
        not made again: a strand begins here with whichever call comes first, and one without any is through.
        """
        schedule, made = self._schedule, self._progress
        known = [made.get(strand, len(schedule.steps(strand))) for strand in range(schedule.strands)]
        if 0 <= place.strand < schedule.strands:
            known[place.strand] = made.get(place.strand, place.step)
        return tuple(known)


def counted(agreement: Agreement, engine: Engine, state: State, signed: Signed, body: bytes) -> State:
    """The coordinator's state after an assist call, which must be the one that is due."""
    rules.check(state, signed)
    known, assist = assisting.check(agreement, state, signed), signed.message.body
    if known is None:
        return state
    assert isinstance(assist, Call)
    schedule = _schedule(agreement, engine, known[0], signed.message.sender, assist.peer)
    try:
        place, call = engine.assist_call(agreement.terms(), schedule, body)
    except ParcelError as error:
        raise NotFitting(f"The assist call cannot be served: {error}") from error
    return assisting.count(agreement, state, signed, schedule, place, call)


def require_complete(agreement: Agreement, engine: Engine, facts: RoundFacts, direction: str) -> None:
    """Refuse answers that were made without all the assist calls that the agreement implies."""
    asker, holder = sides_of(direction)
    schedule = _schedule(agreement, engine, facts, asker, holder)
    if not assisting.is_complete(schedule, facts.assisted.get(direction, ())):
        raise NotFitting("These answers were made without all the assist calls that they need.")


def _schedule(agreement: Agreement, engine: Engine, facts: RoundFacts, asker: str, holder: str) -> AssistSchedule:
    """The assist calls of one direction of a round."""
    questions, records = len(facts.asked[asker]), len(facts.asked[holder])
    if not questions or not records:
        return NO_CALLS
    return engine.assist_schedule(agreement.terms(), questions, records)
