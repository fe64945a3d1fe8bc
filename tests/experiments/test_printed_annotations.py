"""Under the agreement that `experiment prepare` writes, every printed annotation keeps its meaning, on every engine."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from blindlabel.engines.ask import EncryptedRecords
from blindlabel.engines.registry import engine_named
from blindlabel.language import Record
from blindlabel.language.formula import Formula
from blindlabel.parties.questions import check_question
from blindlabel.protocol.agreement import Agreement
from blindlabel_lab.experiments.datasets import read_files
from blindlabel_lab.experiments.prepared import prepare
from blindlabel_lab.gates.circuits import run
from blindlabel_lab.gates.record_circuits import RecordBits, compiled
from support.clear_gates import ClearGates
from support.publication import ANSWERED


@pytest.fixture
def agreement(tmp_path: Path) -> Agreement:
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "matches.csv")]
    rows = [(f"r{place}", text) for place, (_, text, _) in enumerate(ANSWERED)]
    for path, head, content in zip(paths, (("id", "name"), ("id", "name"), ("id_a", "id_b")), (rows, rows, [])):
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([head, *(content or [(own, own) for own, _ in rows])])
    return prepare(read_files(paths, "printed", ["name"]), tmp_path / "study", seed=1, size=5).agreement


def asked(agreement: Agreement) -> tuple[list[Formula], list[Record]]:
    formulas = [check_question(agreement, question).usable() for question, _, _ in ANSWERED]
    return formulas, [agreement.recipe.record({"name": text}, ["name"]) for _, text, _ in ANSWERED]


@pytest.mark.parametrize("engine", ["plain", "packed"])
def test_printed_annotations_keep_their_meaning(agreement: Agreement, engine: str) -> None:
    formulas, records = asked(agreement)
    terms = replace(agreement.terms(), records=len(records), record_length=160, key_bits=0)
    answers = EncryptedRecords(engine_named(engine), terms, records).ask(formulas)
    assert [bool(answers[place, place]) for place in range(len(ANSWERED))] == [answer for _, _, answer in ANSWERED]


def test_printed_annotations_keep_their_meaning_in_gates(agreement: Agreement) -> None:
    """The circuits on clear bits; what OpenFHE makes of a circuit is tested where it is installed."""
    terms = replace(agreement.terms(), functions=("is_in",), encode_attributes=False, record_length=160)
    for question, record, (_, _, answer) in zip(*asked(agreement), ANSWERED):
        circuit = compiled(terms, [question])
        inputs = dict(enumerate(RecordBits.of(terms).bits(record)))
        assert run(circuit.netlist, circuit.answers, inputs, ClearGates()) == [answer]
