"""The `blindlabel` command with a plain engine that takes its time, so that a test can kill a process in the middle of
its work.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from blindlabel.cli.main import run
from blindlabel.engines import plain
from blindlabel.engines.interface import Evaluated, KeyPair, Terms, Values


class SlowEngine(plain.PlainEngine):
    """The plain engine, waiting a little everywhere."""

    pause = 0.0

    def make_keys(self, terms: Terms) -> KeyPair:
        time.sleep(self.pause)
        return super().make_keys(terms)

    def encrypt(self, *given: Any, **named: Any) -> Iterator[bytes]:
        time.sleep(self.pause)
        yield from super().encrypt(*given, **named)
        time.sleep(self.pause)

    def evaluate(self, *given: Any, **named: Any) -> Iterator[Evaluated]:
        time.sleep(self.pause)
        yield from super().evaluate(*given, **named)
        time.sleep(self.pause)

    def open(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Values:
        time.sleep(self.pause)
        return super().open(terms, secret, parcels, questions, records)


def run_slowly(pause: float, arguments: list[str], log: Path) -> None:
    """One command line in this process, its words in the log."""
    SlowEngine.pause = pause
    plain.PlainEngine = SlowEngine  # type: ignore[misc]
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    raise SystemExit(run(arguments))
