"""The layout for many records: exact matrix products, the same answers, noise within its estimate, and evaluations that
can be resumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from blindlabel.engines.interface import Evaluated, Terms
from blindlabel.engines.packed import PackedEngine
from blindlabel.engines.packed.encoding.tables import features_of
from blindlabel.engines.packed.keys import open_public, open_secret
from blindlabel.engines.packed.planning import noise
from blindlabel.engines.packed.records import encrypt_batch, read_batches
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.engines.packed.ways.conjunctive import evaluating as conjunctive
from blindlabel.engines.packed.ways.conjunctive import many_records
from blindlabel.engines.packed.ways.conjunctive.clauses import compile_question
from blindlabel.engines.packed.ways.conjunctive.way import ManyRecords
from blindlabel.language import Limits, Question, Record
from blindlabel.language.formula import Formula
from support.noise import noise_bits
from support.packed_rounds import ENGINE, Round, in_clear, keys_of

TERMS = Terms(
    ("name",),
    questions="any",
    encode_attributes=False,
    record_length=20,
    functions=("is_in", "has_word"),
    limits=Limits(needle_length=4),
    counting=False,
    negation=False,
    clauses=2,
    records=4096,
)
RECORDS = [Record.of({"name": text}) for text in ("Anna Berg", "bert ahorn", "carla BIRKE", "", "a")]


def formulas(*sources: str) -> list[Formula]:
    found = [Question(source).formula for source in sources]
    assert all(formula is not None for formula in found)
    return [formula for formula in found if formula is not None]


ASKED = formulas(
    'ret is_in("an", lower($r)) & (is_in("ber", lower($r)) | is_in("rn", $r))',
    'ret is_in("IRK", upper($r)) | has_word("ahorn", $r)',
    'ret is_in("a", $r)',
    "ret 1 == 1",
    "ret 1 == 2",
    'ret (is_in("a", $r) | is_in("x", $r)) & (is_in("B", $r) | is_in("h", $r))',
)


@pytest.mark.slow
@pytest.mark.parametrize("records", [512, 4096])
def test_answers_are_those_of_the_interpreter(records: int) -> None:
    terms = replace(TERMS, records=records)
    assert isinstance(way_of(terms), ManyRecords)
    asked = ASKED * 2
    assert (Round(terms).run(RECORDS, asked) == in_clear(RECORDS, asked)).all()


@pytest.mark.slow
def test_worker_processes_share_out_the_tiles() -> None:
    asked = ASKED[:2] * 12
    assert (Round(TERMS).run(RECORDS, asked, workers=2) == in_clear(RECORDS, asked)).all()


@pytest.mark.slow
def test_noise_stays_within_the_estimate() -> None:
    keys = keys_of(TERMS)
    public, secret = open_public(TERMS, keys.public), open_secret(TERMS, keys.secret)
    way, ring = public.way, public.way.ring
    random = Random(3)
    records = [Record.of({"name": "".join(random.choices("abcdefgh ", k=20))}) for _ in range(way.layout.block)]
    made = encrypt_batch(public, features_of(way.tables, records), 0, len(records))
    batch = next(iter(read_batches(public, made, len(ASKED))))
    plan = compile_question(TERMS, way.tables, ASKED[0])
    forms = conjunctive.forms_together(public, many_records.opened(ring, batch.items), [[plan] * way.layout.stride])[0]
    product = ring.multiply(forms[0], forms[1], public.records.relinearisation)
    estimate = way.noise()["answers"].bits
    assert estimate - 12 <= noise_bits(secret.records, product) <= estimate
    assert way.noise()["answers"].left <= -noise.HIDDEN


@pytest.mark.slow
def test_a_stopped_evaluation_goes_on_where_it_was(tmp_path: Path) -> None:
    folder, keys = tmp_path / "journal", keys_of(TERMS)
    parcels = list(ENGINE.encrypt(TERMS, keys.public, RECORDS))
    asked = ASKED * 4

    def evaluate(questions: list[Formula]) -> Iterator[Evaluated]:
        return PackedEngine(journal=folder).evaluate(TERMS, keys.public, parcels, questions, lambda _: b"")

    stopped = evaluate(asked)
    first = [next(stopped), next(stopped)]
    del stopped
    damaged = sorted(folder.glob("*.answers"))[1]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    again = list(evaluate(asked))
    assert again[0] == first[0]  # kept: made again it would have other masks
    assert first[1] not in again
    answers = [one.parcel for one in again]
    assert (ENGINE.decrypt(TERMS, keys.secret, answers, len(asked), len(RECORDS)) == in_clear(RECORDS, asked)).all()
    assert sorted(one.parcel for one in evaluate(asked)) == sorted(answers)
    other = list(evaluate(ASKED[:1]))
    assert len(other) == 1
    assert len(list(folder.glob("*.answers"))) == 1
