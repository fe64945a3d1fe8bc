"""A cheating coordinator and the assist calls that an owner keeps: it cuts the line at every call, says something else
each time it is asked again, and has the owner begin anew. Under one pad it must never see two requests: their
difference would be the asker's own value.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed import PackedEngine
from blindlabel.errors import OutsideError
from blindlabel.language import Limits, Question, Record
from support.packed_rounds import ENGINE, keys_of

TERMS = Terms(
    (), questions="any", keys="coordinator", encode_attributes=False, record_length=12, records=2, case="lower",
    functions=("equals",), limits=Limits(needle_length=4, total_weight=3), probes=2, inner_gates=1,
)  # fmt: skip


@pytest.mark.slow
def test_coordinator_that_replies_differently_each_time_sees_one_request_for_each_place(tmp_path: Path) -> None:
    keys = keys_of(TERMS)
    records = [Record.of({"name": name}) for name in ("x", "y")]
    sent = list(ENGINE.encrypt(TERMS, keys.public, records))
    questions = [Question('ret equals("x", $r) | !equals("y", $r)', attributes=()).usable()]
    schedule = ENGINE.assist_schedule(TERMS, 1, 2)
    lies: dict[object, bytes] = {}
    seen: dict[object, set[bytes]] = {}
    turns = 0

    def noted(request: bytes) -> bytes:
        place, _ = ENGINE.assist_call(TERMS, schedule, request)
        return lies.setdefault(place, ENGINE.assist(TERMS, keys.secret, request))

    list(ENGINE.evaluate(TERMS, keys.public, sent, questions, noted))

    def assist(request: bytes) -> bytes:
        """In turn: nothing, the reply of another evaluation at this place, the truth."""
        nonlocal turns
        turns += 1
        place, _ = ENGINE.assist_call(TERMS, schedule, request)
        seen.setdefault(place, set()).add(request)
        if turns % 3 == 1:
            raise OutsideError("The line was cut.")
        return lies[place] if turns % 3 == 2 else ENGINE.assist(TERMS, keys.secret, request)

    finished = False
    while not finished:
        with suppress(OutsideError):
            finished = bool(list(PackedEngine(journal=tmp_path).evaluate(TERMS, keys.public, sent, questions, assist)))
    print(f"{turns} calls at {len(seen)} places, {sum(map(len, seen.values()))} different requests")
    assert len(seen) == schedule.calls < turns
    assert all(len(requests) == 1 for requests in seen.values())
