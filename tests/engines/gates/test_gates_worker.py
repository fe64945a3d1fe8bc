"""The gates engine from the main environment: what travels over the pipe, how a Python is found, and a tiny study
through the worker.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from blindlabel.engines.gates import remote, wire
from blindlabel.engines.interface import EngineUnavailable, ParcelError, QuestionError, RecordError, Terms, Working
from blindlabel.errors import OutsideError
from blindlabel.language import Question
from blindlabel.language.formula import Atom, Formula, evaluate, in_order
from blindlabel.language.formula_document import formula_document, read_formula
from blindlabel.language.record import Record, View
from support.random_formulas import questions, records


@settings(max_examples=200, deadline=None)
@given(questions, records)
def test_questions_and_records_survive_the_pipe(question: Formula, record: Record) -> None:
    again = read_formula(formula_document(question))
    assert wire.read_record(wire.record_document(record)) == record
    assert evaluate(again, record) == evaluate(question, record)
    assert [type(node) for node in in_order(again)] == [type(node) for node in in_order(question)]


def test_terms_survive_the_pipe() -> None:
    terms = Terms(("a", "b"), agreement_hash=bytes(range(32)), salt=b"s" * 16, record_length=7, functions=("is_in",))
    assert wire.read_terms(wire.terms_document(terms)) == terms


def test_frames_that_stop_early_are_an_error() -> None:
    stream = io.BytesIO()
    wire.send(stream, wire.BLOB, b"abc")
    wire.send(stream, wire.END)
    whole = stream.getvalue()
    assert list(wire.frames(io.BytesIO(whole))) == [(wire.BLOB, b"abc")]
    for end in range(len(whole)):
        with pytest.raises(wire.WireError):
            list(wire.frames(io.BytesIO(whole[:end])))
    with pytest.raises(wire.WireError):
        list(wire.frames(io.BytesIO(b"Q" + whole[1:])))


def test_a_worker_of_another_version_is_refused() -> None:
    with pytest.raises(wire.WireError, match="worker of this version"):
        wire.expect_greeting(io.BytesIO(b"blindlabel gates worker 99\n"))


def test_the_named_python_is_tried_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(remote.PYTHON_VARIABLE, str(tmp_path / "python"))
    assert remote.candidates()[0] == tmp_path / "python"
    assert remote.candidates()[-1] == Path(sys.executable)


def test_without_a_suitable_python_one_sentence_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"Python 3\.10 .* `make gates` makes one.*none/python is not there"):
        remote.find_python([tmp_path / "none" / "python"])


def test_a_python_that_cannot_import_openfhe_is_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'pyenv: python3.10: command not found' >&2\nexit 127\n")
    broken.chmod(0o755)
    with pytest.raises(EngineUnavailable, match=r"cannot use OpenFHE \(pyenv: python3\.10: command not found"):
        remote.find_python([broken])


def test_the_worker_says_why_when_openfhe_is_missing() -> None:
    if sys.version_info[:2] in ((3, 10), (3, 12)):
        pytest.skip("OpenFHE may import under this Python")
    done = subprocess.run(
        remote.command(Path(sys.executable), "blindlabel.engines.gates.worker", "--check"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "needs the library openfhe" in done.stderr and "Traceback" not in done.stderr
    assert "needs" not in done.stderr.splitlines()[-1], "the last line is the bare reason"


@pytest.mark.parametrize("says", ["echo hello", "echo 'blindlabel gates worker 1'"])
def test_a_worker_that_dies_is_said_in_a_sentence(says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    dying = tmp_path / "python"
    dying.write_text(f"#!/bin/sh\ncase \"$*\" in *--check) exit 0;; esac\n{says}\necho 'out of memory' >&2\nexit 1\n")
    dying.chmod(0o755)
    monkeypatch.setenv(remote.PYTHON_VARIABLE, str(dying))
    with pytest.raises(OutsideError, match=r"The gates worker stopped \(out of memory\)"):
        remote.RemoteGatesEngine().make_keys(Terms(("name",)))


@pytest.mark.slow
def test_a_tiny_study_runs_through_the_worker() -> None:
    try:
        remote.find_python()
    except EngineUnavailable as reason:
        pytest.skip(f"no gates environment here: {reason}")
    engine = remote.RemoteGatesEngine()
    terms = Terms(("name",), record_length=6, encode_attributes=False, functions=("is_in", "starts_with"), records=2)
    keys = engine.make_keys(terms)
    owned = [Record({}, "Canon"), Record({}, "sony")]
    asked = []
    for source in ('ret is_in("non", $r)', 'ret !starts_with("c", lower($r))'):
        formula = Question(source).formula
        assert formula is not None
        asked.append(formula)
    parcels = list(engine.encrypt(terms, keys.public, owned))
    heard: list[float] = []
    made = engine.evaluate(
        terms, keys.public, parcels, asked, lambda _: b"", Working(2, lambda _, share: heard.append(share))
    )
    answers = [one.parcel for one in made]
    found = engine.decrypt(terms, keys.secret, answers, len(asked), len(owned))
    assert found.tolist() == [[evaluate(question, record) for record in owned] for question in asked]
    assert heard == [0.5, 1.0]
    with pytest.raises(RecordError, match="ASCII only"):
        list(engine.encrypt(terms, keys.public, [Record({}, "é")]))
    with pytest.raises(ParcelError, match="answers about 1 records, and 2"):
        engine.decrypt(terms, keys.secret, answers[:1], len(asked), len(owned))
    with pytest.raises(QuestionError, match="does not encode equals"):
        engine.evaluate(terms, keys.public, parcels, [Atom("equals", ("a",), View())], lambda _: b"")
