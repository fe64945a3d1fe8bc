"""The gates engine from an environment that cannot import OpenFHE: the same `Engine`, by a worker in an environment
that can.

The worker's Python is looked for in this order: the environment variable BLINDLABEL_GATES_PYTHON,
`.venv-gates/bin/python` in the checkout (what `make gates` makes), and this very Python. Each is tried by really
importing OpenFHE in it, since pip installs wheels that do not import. The worker runs this very package, which need not
be installed in its environment.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from blindlabel.engines import interface
from blindlabel.engines.allowed import check_records
from blindlabel.engines.gates import wire
from blindlabel.engines.gates.base import AnyGatesEngine, Asked
from blindlabel.engines.gates.layout import Layout
from blindlabel.engines.interface import (
    IN_THIS_PROCESS,
    Answers,
    EngineError,
    EngineUnavailable,
    Keys,
    Progress,
    Terms,
    Working,
)
from blindlabel.language.formula_document import formula_document
from blindlabel.language.record import Record

PYTHON_VARIABLE = "BLINDLABEL_GATES_PYTHON"
_PACKAGE = Path(__file__).resolve().parents[2]
_CHECKOUT = _PACKAGE.parents[1]
_WORKER = "blindlabel.engines.gates.worker"
_CHECK_SECONDS = 120
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Threads do not survive a fork, and evaluation may fork."""


def candidates() -> list[Path]:
    """Where a Python with OpenFHE may be, in the order they are tried."""
    named = os.environ.get(PYTHON_VARIABLE)
    found = [Path(named)] if named else []
    return [*found, _CHECKOUT / ".venv-gates" / "bin" / "python", Path(sys.executable)]


_BOOT = """
import importlib.util, os, runpy, sys
folders, module = sys.argv[1].split(os.pathsep), sys.argv[2]
for folder in folders:
    name, start = os.path.basename(folder), folder + "/__init__.py"
    spec = importlib.util.spec_from_file_location(name, start, submodule_search_locations=[folder])
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
sys.argv[:3] = [module]
runpy.run_module(module, run_name="__main__", alter_sys=False)
"""
"""Runs a module of this package under another Python. Not by PYTHONPATH: beside an installed package lie others, made
for our Python.
"""


def command(python: Path, module: str, *arguments: str, beside: Sequence[Path] = ()) -> list[str]:
    """The command line that runs a module of this package, or of one in a folder beside it, under that Python."""
    folders = os.pathsep.join(map(str, (_PACKAGE, *beside)))
    return [str(python), "-c", _BOOT, folders, module, *arguments]


def environment() -> dict[str, str]:
    """The worker's environment variables: nothing of our Python's, and one thread, since it may fork."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    return {**{name: value for name, value in os.environ.items() if name not in ours}, **ONE_THREAD}


@lru_cache(maxsize=8)
def _reason_against(python: Path) -> str | None:
    """Why OpenFHE cannot be used in this Python; None where it can."""
    if not python.is_file():
        return "is not there"
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the user named, or ours
            command(python, _WORKER, "--check"),
            env=environment(),
            capture_output=True,
            text=True,
            timeout=_CHECK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be started ({error})"
    if done.returncode == 0:
        return None
    last = done.stderr.strip().splitlines()[-1:] or ["it says nothing"]
    return f"cannot use OpenFHE ({last[0]})"


def find_python(pythons: Sequence[Path] | None = None) -> Path:
    """The first of these (else of `candidates`) in which OpenFHE imports, or EngineUnavailable with what was tried."""
    reasons = []
    for python in candidates() if pythons is None else pythons:
        reason = _reason_against(python)
        if reason is None:
            return python
        reasons.append(f"{python} {reason}")
    raise EngineUnavailable(
        "The gates engine needs an environment with Python 3.10 (or 3.12 on a system as new as Ubuntu 24.04) on 64-bit"
        f" Linux in which openfhe imports. `make gates` makes one, or {PYTHON_VARIABLE} names its python. Tried:"
        f" {'; '.join(reasons)}"
    )


class RemoteGatesEngine(AnyGatesEngine):
    """Implements `Engine`; every call but `refuse` starts a worker."""

    def make_keys(self, terms: Terms) -> Keys:
        public, secret = _call({"call": "make_keys", "terms": wire.terms_document(terms)}, ())
        return Keys(public, secret)

    def encrypt(
        self,
        terms: Terms,
        key: bytes,
        records: Sequence[Record],
        questions: int = 0,  # noqa: ARG002
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[bytes]:
        check_records(terms, records)
        for record in records:
            Layout.of(terms).bits(record)  # what does not fit is said before a worker starts
        documents = [wire.record_document(record) for record in records]
        call = {"call": "encrypt", "terms": wire.terms_document(terms), "records": documents}
        return _call(call | {"workers": working.workers}, (key,), working.tell)

    def answered(self, terms: Terms, public: bytes, parcels: Iterable[bytes], asked: Asked) -> Iterator[bytes]:
        working = asked.working
        call: dict[str, Any] = {"call": "evaluate", "terms": wire.terms_document(terms), "workers": working.workers}
        call["questions"] = [formula_document(question) for question in asked.questions]
        return _call(call, chain([public], parcels), working.tell)

    def decrypt(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Answers:
        call = {"call": "decrypt", "terms": wire.terms_document(terms), "questions": questions, "records": records}
        (packed,) = _call(call, chain([secret], parcels))
        bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=questions * records)
        return bits.reshape(questions, records).astype(np.bool_)


def _call(call: dict[str, Any], blobs: Iterable[bytes], progress: Progress | None = None) -> Iterator[bytes]:
    """One call to a new worker: its results as they come, its errors as ours."""
    python = find_python()
    with tempfile.TemporaryFile() as complaints:
        worker = subprocess.Popen(  # noqa: S603
            command(python, _WORKER),
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,  # so that it can be ended together with the processes it forks
        )
        assert worker.stdin is not None and worker.stdout is not None
        speaker = _Speaker(worker.stdin, call, blobs)
        speaker.start()
        finished = False
        try:
            wire.expect_greeting(worker.stdout)
            for kind, content in wire.frames(worker.stdout):
                if kind == wire.ERROR:
                    raise _error(*json.loads(content))
                if kind == wire.BLOB:
                    yield content
                elif progress is not None:
                    progress(*json.loads(content))
            finished = True
        except wire.WireError as error:
            speaker.join(timeout=5)
            if speaker.failure is not None:
                raise speaker.failure from error
            with contextlib.suppress(subprocess.TimeoutExpired):  # its last words may come after its last frame
                worker.wait(timeout=5)
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip().splitlines()[-1:] or ["nothing"]
            raise wire.WireError(f"The gates worker stopped ({said[0]}).") from error
        finally:
            if not finished:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(worker.pid, signal.SIGKILL)
            worker.stdout.close()
            worker.wait()
            speaker.join()


class _Speaker(threading.Thread):
    """Writes the request while the results are being read, so that neither side waits for the other with full pipes."""

    def __init__(self, stream: IO[bytes], call: dict[str, Any], blobs: Iterable[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream, self._call, self._blobs = stream, call, blobs
        self.failure: Exception | None = None
        """What went wrong with the parcels on our side."""

    def run(self) -> None:
        try:
            wire.greet(self._stream)
            wire.send_json(self._stream, wire.CALL, self._call)
            for blob in self._blobs:
                wire.send(self._stream, wire.BLOB, blob)
            wire.send(self._stream, wire.END)
        except BrokenPipeError:
            pass  # the worker has ended; why is in its answer
        except Exception as failure:
            self.failure = failure
        finally:
            with contextlib.suppress(BrokenPipeError):
                self._stream.close()


_ERRORS: dict[str, type[EngineError]] = {
    error.__name__: error
    for error in (interface.ParcelError, interface.RecordError, interface.QuestionError, interface.EngineUnavailable)
}


def _error(kind: str, message: str) -> EngineError:
    return _ERRORS.get(kind, EngineError)(message)
