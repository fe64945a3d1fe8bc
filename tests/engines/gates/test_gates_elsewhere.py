"""The gates engine from the main environment: found by its entry point, its Python found or missed with a sentence, and
a tiny round in the other environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from blindlabel.engines.ask import EncryptedRecords
from blindlabel.engines.interface import EngineUnavailable, QuestionError, RecordError, Terms, WorkerLost, Working
from blindlabel.engines.registry import rules_named
from blindlabel.language import Question
from blindlabel.language.formula import Atom, Constant, evaluate
from blindlabel.language.record import Record, View
from blindlabel_lab.gates import elsewhere
from blindlabel_lab.gates.binfhe import in_forks
from blindlabel_lab.gates.elsewhere import GatesElsewhere

TERMS = Terms(("name",), record_length=6, encode_attributes=False, functions=("is_in", "starts_with"), records=2)


def test_rules_are_found_and_need_neither_homomorphic_library() -> None:
    said = (
        "import sys; from blindlabel.engines.registry import rules_named; rules = rules_named('gates');"
        "print(rules.unbounded); print({'openfhe', 'tenseal'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("NO BOUND:") and done.stdout.endswith("set()\n")
    rules = rules_named("gates")
    assert (rules.outcomes(TERMS), rules.zero_tests(TERMS), rules.explain(TERMS, Constant(True))) == (2, 0, None)
    assert rules.least_terms(TERMS, [Constant(True)]) == TERMS


def made(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_without_a_suitable_python_one_sentence_says_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(elsewhere.PYTHON_VARIABLE, str(tmp_path / "python"))
    with pytest.raises(EngineUnavailable, match=r"Python 3\.10 .* `make gates` makes one.*/python is not there"):
        elsewhere.find_python()
    broken = made(tmp_path / "broken", "echo 'pyenv: python3.10: command not found' >&2\nexit 127")
    monkeypatch.setenv(elsewhere.PYTHON_VARIABLE, str(broken))
    with pytest.raises(EngineUnavailable, match=r"cannot use OpenFHE \(pyenv: python3\.10: command not found"):
        elsewhere.find_python()


@pytest.mark.skipif(sys.version_info[:2] in ((3, 10), (3, 12)), reason="OpenFHE may import under this Python")
def test_a_python_without_openfhe_says_why_on_its_last_line() -> None:
    checking = elsewhere.command(Path(sys.executable), "blindlabel_lab.gates.elsewhere", "--check")
    done = subprocess.run(checking, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "needs the library openfhe" in done.stderr and "Traceback" not in done.stderr
    assert "needs" not in done.stderr.splitlines()[-1], "the last line is the bare reason"


@pytest.mark.parametrize("says", ["echo hello", "true"])
def test_a_process_that_dies_is_said_in_a_sentence(says: str, tmp_path: Path) -> None:
    dying = made(tmp_path / "python", f"cat >/dev/null\n{says}\necho 'out of memory' >&2\nexit 1")
    with pytest.raises(WorkerLost, match=r"The process of the gates engine stopped \(out of memory\)"):
        GatesElsewhere(dying).make_keys(TERMS)


def _squared_or_killed(shared: int, task: int) -> int:
    if task == shared:
        os.kill(os.getpid(), signal.SIGKILL)
    return task * task


@pytest.mark.parametrize("workers", [1, 2])
def test_results_of_forks_come_in_order(workers: int) -> None:
    assert list(in_forks(_squared_or_killed, -1, range(7), workers)) == [task * task for task in range(7)]


def test_a_killed_fork_is_an_error() -> None:
    with pytest.raises(WorkerLost, match="was killed"):
        list(in_forks(_squared_or_killed, 3, range(7), 2))


@pytest.fixture
def engine() -> GatesElsewhere:
    try:
        return GatesElsewhere(elsewhere.find_python())
    except EngineUnavailable as reason:
        pytest.skip(f"no gates environment here: {reason}")


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_tiny_round_runs_in_the_other_environment(engine: GatesElsewhere) -> None:
    owned = [Record({}, "Canon"), Record({}, "sony")]
    asked = [Question(source).formula for source in ('ret is_in("non", $r)', 'ret !starts_with("c", lower($r))')]
    questions = [one for one in asked if one is not None]
    heard: list[str] = []
    working = Working(2, lambda phase, _: heard.append(phase))
    records = EncryptedRecords(engine, TERMS, owned, working=working)
    assert records.ask(questions).tolist() == [[evaluate(one, record) for record in owned] for one in questions]
    assert heard.count("evaluate") >= 2
    with pytest.raises(RecordError, match="ASCII only"):
        list(engine.encrypt(TERMS, records.keys.secret, [Record({}, "é")], 1))
    with pytest.raises(QuestionError, match="does not encode equals"):
        list(engine.evaluate(TERMS, b"", [], [Atom("equals", ("a",), View())]))
