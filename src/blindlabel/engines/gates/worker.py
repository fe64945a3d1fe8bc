"""The gates engine as a small program for its own environment: one call over standard input and output, then it ends.

    python -m blindlabel.engines.gates.worker

`blindlabel.engines.gates.remote` starts it and speaks `blindlabel.engines.gates.wire` with it. With the single argument
`--check` it only says whether OpenFHE can be used (exit code 0) or why not (3, with the bare reason on the last line).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from blindlabel.engines.gates import library, wire
from blindlabel.engines.gates.engine import LocalGatesEngine
from blindlabel.engines.interface import EngineError, Working
from blindlabel.language.formula_document import read_formula


def _no_assist(_: bytes) -> bytes:
    raise EngineError("The gates engine needs no assist.")


def _blobs(frames: Iterator[tuple[bytes, bytes]]) -> Iterator[bytes]:
    for kind, content in frames:
        if kind != wire.BLOB:
            raise wire.WireError("Expected keys or parcels here.")
        yield content


def _answers(call: dict[str, Any], blobs: Iterator[bytes], reply: IO[bytes]) -> Iterator[bytes]:
    """The results of one call, as they come."""
    engine = LocalGatesEngine()
    terms = wire.read_terms(call["terms"])

    def progress(phase: str, share: float) -> None:
        wire.send_json(reply, wire.PROGRESS, [phase, share])

    if call["call"] == "make_keys":
        keys = engine.make_keys(terms)
        yield from (keys.public, keys.secret)
    elif call["call"] == "encrypt":
        records = [wire.read_record(document) for document in call["records"]]
        yield from engine.encrypt(terms, next(blobs), records, working=Working(call["workers"], progress))
    elif call["call"] == "evaluate":
        questions = [read_formula(documents) for documents in call["questions"]]
        working = Working(call["workers"], progress)
        evaluated = engine.evaluate(terms, next(blobs), blobs, questions, _no_assist, working)
        yield from (one.parcel for one in evaluated)
    elif call["call"] == "decrypt":
        yield np.packbits(engine.decrypt(terms, next(blobs), blobs, call["questions"], call["records"])).tobytes()
    else:
        raise wire.WireError(f"The gates worker has no call {call['call']}.")


def serve(request: IO[bytes], reply: IO[bytes]) -> None:
    """Answer one call."""
    wire.greet(reply)
    try:
        wire.expect_greeting(request)
        frames = wire.frames(request)
        kind, content = next(frames)
        if kind != wire.CALL:
            raise wire.WireError("The first frame must be a call.")
        for result in _answers(json.loads(content), _blobs(frames), reply):
            wire.send(reply, wire.BLOB, result)
    except EngineError as error:
        wire.send_json(reply, wire.ERROR, [type(error).__name__, str(error)])
    wire.send(reply, wire.END)


def main() -> int:
    """The program."""
    if sys.argv[1:] == ["--check"]:
        try:
            library.context()
        except EngineError as error:
            sys.stderr.write(f"{error}\n{error.__cause__ or error}\n")
            return 3
        return 0
    # Results leave by a descriptor of their own, so that nothing that OpenFHE prints can get between them.
    reply = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with reply:
        serve(sys.stdin.buffer, reply)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
