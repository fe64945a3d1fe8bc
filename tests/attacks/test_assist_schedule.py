"""Calls for assistance on the real engine: the schedule is kept by whoever is honest, and holds whoever is not."""

from __future__ import annotations

import pytest

from blindlabel.engines.assisting import AssistCall, AssistPlace, AssistSchedule
from blindlabel.engines.interface import ParcelError, Terms
from blindlabel.language import Limits, Question, Record
from blindlabel.parties.assisting import Scheduled
from blindlabel.protocol import assisting
from blindlabel.protocol.errors import NotFitting
from support.packed_rounds import ENGINE, Round, in_clear

TERMS = Terms(
    (), questions="any", keys="coordinator", encode_attributes=False, record_length=12, records=3,
    functions=("is_in",), limits=Limits(needle_length=4, total_weight=3), probes=2, inner_gates=1,
)  # fmt: skip
RECORDS = [Record.of({"name": name}) for name in ("anna", "bert", "carl")]
QUESTIONS = [
    Question(text, attributes=()).usable() for text in ('ret is_in("an", $r)', 'ret !is_in("ar", $r) & is_in("b", $r)')
]


def test_the_real_engine_keeps_to_its_schedule_of_assist_calls() -> None:
    one = Round(TERMS)
    asked = Scheduled(ENGINE, TERMS, len(QUESTIONS), len(RECORDS), one.assist)
    held = Round(TERMS)
    held.assist = asked  # type: ignore[method-assign]
    assert (held.run(RECORDS, QUESTIONS) == in_clear(RECORDS, QUESTIONS)).all()
    schedule = ENGINE.assist_schedule(TERMS, len(QUESTIONS), len(RECORDS))
    assert len(one.requests) == schedule.calls > 3
    places = [ENGINE.assist_call(TERMS, schedule, request) for request in one.requests]
    progress: assisting.Progress = ()
    for place, call in places:
        assert not assisting.is_complete(schedule, progress)
        progress = assisting.further(schedule, progress, place, call)
    assert assisting.is_complete(schedule, progress)
    assert [call.reply for _, call in places] == [len(reply) for reply in one.replies]
    _refused(schedule, places)
    with pytest.raises(ParcelError, match="size"):
        Scheduled(ENGINE, TERMS, len(QUESTIONS), len(RECORDS), lambda _: one.replies[0] + b"x")(one.requests[0])
    with pytest.raises(ParcelError):
        ENGINE.assist_call(TERMS, schedule, one.requests[0][:-1])


def _refused(schedule: AssistSchedule, places: list[tuple[AssistPlace, AssistCall]]) -> None:
    """A cheating owner that has made some calls may make the next one of each strand, or its first, and no other."""
    progress: assisting.Progress = ()
    for number, (place, call) in enumerate(places):
        made = progress or (0,) * schedule.strands
        for other, called in places[number + 1 :]:
            due = other.step in (0, made[other.strand])
            strands = schedule.group_of(other.strand)
            waits = other.strand == strands[-1] and any(
                made[strand] < len(schedule.steps(strand)) for strand in strands[:-1]
            )
            if not due or waits:
                with pytest.raises(NotFitting):
                    assisting.further(schedule, progress, other, called)
        progress = assisting.further(schedule, progress, place, call)
