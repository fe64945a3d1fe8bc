"""The gates engine from an environment that cannot import OpenFHE: the same `Engine`, each call in a new process of an
environment that can.

The house needs Python 3.11, and OpenFHE's wheels import under 3.10 on most machines (docs/laboratory/gates-engine.md).
The other Python is the one that BLINDLABEL_GATES_PYTHON names, else `.venv-gates/bin/python` in the checkout, which
`make gates` makes. It is tried by really importing OpenFHE, since pip installs wheels that do not import. It runs these
very packages, which need not be installed there.

A call is one pickle on the process's standard input; what it gives comes back as pickles, each with a word for what it
is. Both ends are this module, so neither reads what others wrote.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import blindlabel
import blindlabel_lab
from blindlabel.engines.interface import (
    IN_THIS_PROCESS,
    Engine,
    EngineError,
    EngineUnavailable,
    Evaluated,
    KeyPair,
    Terms,
    Values,
    WorkerLost,
    Working,
)
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record
from blindlabel_lab.gates import GatesRules, binfhe
from blindlabel_lab.gates.bitwise import GatesEngine

PYTHON_VARIABLE = "BLINDLABEL_GATES_PYTHON"
_PACKAGES = [Path(str(package.__file__)).resolve().parent for package in (blindlabel, blindlabel_lab)]
_CHECKOUT = _PACKAGES[0].parents[1]

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
"""Runs a module of our packages under another Python. Not by PYTHONPATH: beside an installed package lie others, made
for our Python.
"""


def command(python: Path, module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of our packages under that Python."""
    return [str(python), "-c", _BOOT, os.pathsep.join(map(str, _PACKAGES)), module, *arguments]


def environment() -> dict[str, str]:
    """The environment variables of such a process: nothing of our Python's, and one thread, since it may fork."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def find_python() -> Path:
    """The Python in which OpenFHE imports, or `EngineUnavailable` with what was tried."""
    named = os.environ.get(PYTHON_VARIABLE)
    python = Path(named) if named else _CHECKOUT / ".venv-gates" / "bin" / "python"
    reason = _reason_against(python)
    if reason is None:
        return python
    raise EngineUnavailable(
        "The gates engine needs an environment with Python 3.10 (or 3.12 on a system as new as Ubuntu 24.04) on 64-bit"
        f" Linux in which openfhe imports. `make gates` makes one, or {PYTHON_VARIABLE} names its python. Tried:"
        f" {python} {reason}"
    )


@lru_cache(maxsize=8)
def _reason_against(python: Path) -> str | None:
    """Why OpenFHE cannot be used in this Python; None if it can."""
    if not python.is_file():
        return "is not there."
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the user named, or ours
            command(python, __name__, "--check"), env=environment(), capture_output=True, text=True, check=False
        )
    except OSError as error:
        return f"cannot be started ({error})."
    last = done.stderr.strip().splitlines()[-1:] or ["it says nothing"]
    return None if done.returncode == 0 else f"cannot use OpenFHE ({last[0]})."


class GatesElsewhere(GatesRules):
    """Implements `Engine` by another Python."""

    def __init__(self, python: Path) -> None:
        self._python = python

    def make_keys(self, terms: Terms) -> KeyPair:
        """New keys."""
        (keys,) = self._call("make_keys", terms)
        return keys  # type: ignore[no-any-return]

    def encrypt(
        self, terms: Terms, secret: bytes, records: Sequence[Record], questions: int, working: Working = IN_THIS_PROCESS
    ) -> Iterator[bytes]:
        """One parcel a record."""
        return self._call("encrypt", terms, secret, list(records), questions, working=working)

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """One parcel of answers for each record."""
        return self._call("evaluate", terms, public, list(parcels), list(questions), working=working)

    def open(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Values:
        """The bits that were sent."""
        (values,) = self._call("open", terms, secret, list(parcels), questions, records)
        return values  # type: ignore[no-any-return]

    def pad_values(self, terms: Terms, pads: Iterable[bytes], questions: int, records: int) -> Values:
        """The random bits, which need no OpenFHE."""
        return GatesEngine().pad_values(terms, pads, questions, records)

    def _call(self, method: str, *arguments: Any, working: Working | None = None) -> Iterator[Any]:
        """What the method gives there, as it comes; its errors are ours."""
        with (
            tempfile.TemporaryFile() as complaints,
            subprocess.Popen(  # noqa: S603
                command(self._python, __name__),
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                start_new_session=True,  # so that it can be ended together with the processes it forks
            ) as process,
        ):
            assert process.stdin is not None and process.stdout is not None
            try:
                pickle.dump((method, arguments, working and replace(working, progress=None)), process.stdin)
                process.stdin.close()
                while True:
                    what, content = pickle.load(process.stdout)  # noqa: S301 - written by this module
                    if what == "given":
                        yield content
                    elif what == "progress" and working is not None:
                        working.tell(*content)
                    elif what == "error":
                        raise content
                    elif what == "end":
                        return
            except (BrokenPipeError, EOFError, pickle.UnpicklingError) as error:
                process.wait()
                complaints.seek(0)
                said = complaints.read().decode(errors="replace").strip().splitlines()[-1:] or ["nothing"]
                raise WorkerLost(f"The process of the gates engine stopped ({said[0]}).") from error
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def serve(request: IO[bytes], reply: IO[bytes]) -> None:
    """The other end: answer one call."""

    def send(what: str, content: Any = None) -> None:
        pickle.dump((what, content), reply)
        reply.flush()

    method, arguments, working = pickle.load(request)  # noqa: S301 - written by this module
    try:
        if working is not None:
            arguments = (*arguments, replace(working, progress=lambda *told: send("progress", told)))
        given = getattr(GatesEngine(), method)(*arguments)
        for one in given if isinstance(given, Iterator) else [given]:
            send("given", one)
    except EngineError as error:
        send("error", error)
    send("end")


def gates_engine() -> Engine:
    """The engine in this process, or in one of another environment; `EngineUnavailable` where neither works."""
    try:
        binfhe.openfhe()
    except EngineUnavailable:
        return GatesElsewhere(find_python())
    return GatesEngine()


def main() -> int:
    """The program in the other environment."""
    if sys.argv[1:] == ["--check"]:
        try:
            binfhe.context()
        except EngineError as error:
            sys.stderr.write(f"{error}\n{error.__cause__ or error}\n")
            return 3
        return 0
    # Results leave by a descriptor of their own, so that nothing that OpenFHE prints can get between them.
    with os.fdopen(os.dup(1), "wb") as reply:
        os.dup2(2, 1)
        serve(sys.stdin.buffer, reply)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
