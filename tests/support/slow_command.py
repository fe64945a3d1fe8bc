"""The `blindlabel` command with a plain engine that takes its time, so that a test can kill a process in the middle of
its work.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from blindlabel.cli.main import run
from blindlabel.engines import plain
from blindlabel.engines.assisting import NO_CALLS, AssistCall, AssistPlace, AssistSchedule
from blindlabel.engines.interface import IN_THIS_PROCESS, Answers, Assist, Evaluated, Keys, Terms, Working
from blindlabel.language.formula import Formula


class SlowEngine(plain.PlainEngine):
    """The plain engine, waiting a little everywhere; it also calls the assist, so that such calls are interrupted
    too.
    """

    pause = 0.0

    def make_keys(self, terms: Terms) -> Keys:
        time.sleep(self.pause)
        return super().make_keys(terms)

    def encrypt(self, *given: Any, **named: Any) -> Iterator[bytes]:
        time.sleep(self.pause)
        yield from super().encrypt(*given, **named)
        time.sleep(self.pause)

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        assist: Assist,
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        for number in range(self.assist_schedule(terms, len(questions), 1).calls):
            time.sleep(self.pause)
            if assist(b"please %d" % number) != b"PLEASE %d" % number:
                raise AssertionError("the assist was not served")
        yield from super().evaluate(terms, public, parcels, questions, assist, working)
        time.sleep(self.pause)

    def assist_schedule(self, terms: Terms, questions: int, records: int) -> AssistSchedule:
        calls = (AssistCall("slow", 0, request=8, reply=8),) * 4
        return AssistSchedule(groups=1, last=calls, beginnings=100) if terms.keys == "coordinator" else NO_CALLS

    def assist_call(self, terms: Terms, schedule: AssistSchedule, request: bytes) -> tuple[AssistPlace, AssistCall]:
        return AssistPlace(0, int(request[-1:])), AssistCall("slow", 0, request=len(request), reply=8)

    def assist(self, terms: Terms, secret: bytes, request: bytes) -> bytes:
        return request.upper()

    def decrypt(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Answers:
        time.sleep(self.pause)
        return super().decrypt(terms, secret, parcels, questions, records)


def run_slowly(pause: float, arguments: list[str], log: Path) -> None:
    """One command line in this process, its words in the log."""
    SlowEngine.pause = pause
    plain.PlainEngine = SlowEngine  # type: ignore[misc]
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    raise SystemExit(run(arguments))
