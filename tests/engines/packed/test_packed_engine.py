"""The packed engine answers what the interpreter answers, encrypted all the way, whoever does the work."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from blindlabel.engines.interface import (
    AnswerMatrix,
    EngineError,
    Evaluated,
    Outcome,
    ParcelError,
    QuestionError,
    RecordError,
    Terms,
    TermsError,
    WorkerLost,
    Working,
    is_yes,
)
from blindlabel.engines.packed.encoding import layout, parcels
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.engines.packed.rings import SEED
from blindlabel.engines.packed.running.keys import Secret, open_secret
from blindlabel.engines.packed.seal.holders import KeyHolder
from blindlabel.errors import OutsideError
from blindlabel.language import Limits, Record, interpret
from blindlabel.language.builder import FormulaTooLarge
from blindlabel.language.formula import Formula
from blindlabel.language.rewriting import rewritten
from support.packed_rounds import ENGINE, Round, agree, asked, compared, in_clear, keys_of, parcel_of
from support.patience import Patience
from support.random_questions import ATTRIBUTES, NoRecordLeft, QuestionMaker, random_record

SMALL = Terms(
    ("a",), record_length=24, records=12, case="lower", encode_attributes=False, functions=("is_in",),
    limits=Limits(needle_length=3), profile=(2, 1, 1), exclusions=1, unless=1,
)  # fmt: skip
RECORDS = [Record.of({"a": f"w{i % 3} common x{i}"}) for i in range(12)]
QUESTIONS = asked(
    'ret 2*is_in("w1", $r) + is_in("x1", $r) + is_in("com", $r) >= 3',
    'ret 2*is_in("w1", $r) + is_in("x1", $r) + is_in("com", $r) >= 1',
    'ret 2*is_in("w1", $r) + is_in("x1", $r) + is_in("com", $r) >= 4',
    'ret is_in("com", $r) & (!is_in("w2", $r) | is_in("x5", $r))',
    'ret is_in("w2", $r) | is_in("x3", $r)',
)
MANY = replace(
    SMALL, records=4096, record_length=14, limits=Limits(needle_length=1), profile=(1,), exclusions=0, unless=0
)
"""Room for this many records makes groups of four questions."""


def random_round(
    terms: Terms, seed: int, records: int, questions: int
) -> tuple[list[Record], list[Formula], AnswerMatrix]:
    """Random hostile records, random questions that the terms allow, and what the interpreter says."""
    random = Random(seed)
    rows = [random_record(random, terms.attributes, 12) for _ in range(records - 3)]
    first, *rest = terms.attributes
    rows += [Record.of(dict.fromkeys(terms.attributes, text)) for text in ("", "🎉\0\"'é")]
    rows += [Record.of({first: "a"} | dict.fromkeys(rest, ""))]
    found: list[Formula] = []
    answers = []
    while len(found) < questions:
        functions = [function for function in terms.functions if function != "common_words"]
        maker = QuestionMaker(
            random, rows, terms.attributes, terms.limits.needle_length, functions, similar_distance=1
        )  # fmt: skip
        try:
            question = maker.question()
            formula = rewritten(question, terms.limits).formula
        except (NoRecordLeft, FormulaTooLarge):
            continue
        if ENGINE.refuse(terms, formula) is None:
            found.append(formula)
            answers.append([interpret(question, record) for record in rows])
    return rows, found, np.array(answers, dtype=np.bool_)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "profile"), [(0, (2, 2, 1, 1)), (2, Terms(()).profile)])
def test_random_questions_about_hostile_records_are_answered_as_the_interpreter_does(
    seed: int, profile: tuple[int, ...]
) -> None:
    terms = Terms(
        ATTRIBUTES, record_length=46, attribute_length=12, records=9, limits=Limits(needle_length=4), profile=profile
    )
    records, questions, expected = random_round(terms, seed, 9, 20)
    assert (Round(terms).run(records, questions) == expected).all()
    assert expected.any()
    assert not expected.all()


@pytest.mark.slow
def test_similar_and_between_work_where_an_agreement_lists_them() -> None:
    terms = Terms(
        ("name",), record_length=24, records=8, case="both", encode_attributes=False,
        functions=("similar", "between", "has_word"), limits=Limits(similar_distance=1), profile=(1,) * 13,
        exclusions=1, unless=0,
    )  # fmt: skip
    texts = ("jonson 1999", "johnson 12.50", "Jonsen -3", "ionson", "", "2001 a space", "x", "jjonson 7")
    records = [Record.of({"name": text}) for text in texts]
    questions = asked(
        'ret similar("jonson", $r, 1)',
        'ret similar("johnson", lower($r), 1) & !has_word("jonson", $r)',
        "ret between($r, 1998, 2001)",
        'ret between($r, -777.77, 1999.13) & has_word("1999", $r)',
        "ret between($r, -4.3, 777.7)",
        'ret similar("JONSON", upper($r), 1)',
    )
    found = Round(terms).run(records, questions)
    assert (found == in_clear(records, questions)).all()
    assert found.sum() >= 10


@pytest.mark.parametrize(("records", "questions"), [(1, 1), (2, 65), (64, 3), (65, 2)])
def test_batches_of_any_size(records: int, questions: int) -> None:
    terms = replace(SMALL, record_length=10, records=max(records, questions), functions=("has_word",), profile=(1,))
    rows = [Record.of({"a": f"w{i % 7} v{i % 5}"}) for i in range(records)]
    wanted = asked(*(f'ret has_word("w{i % 7}", $r) & has_word("v{i % 5}", $r)' for i in range(questions)))
    assert (Round(terms).run(rows, wanted) == in_clear(rows, wanted)).all()


@pytest.mark.slow
def test_samples_larger_than_a_batch_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Many features make the engine hold fewer records at a time; a small memory does so here: three batches of 512.
    monkeypatch.setattr(layout, "_MOST_FEATURES", 1 << 12)
    terms = replace(SMALL, record_length=9, records=1100, functions=("has_word",), profile=(1,), exclusions=0)
    rows = [Record.of({"a": f"w{i % 11}"}) for i in range(1100)]
    wanted = asked(*(f'ret has_word("w{i}", $r)' for i in range(9)))
    one = Round(terms)
    assert (one.run(rows, wanted) == in_clear(rows, wanted)).all()
    assert len(one.answers) == 3


@pytest.mark.slow
def test_questions_beyond_a_group_are_answered_group_by_group() -> None:
    terms = replace(SMALL, records=4096, record_length=8, limits=Limits(needle_length=2))
    rows = [Record.of({"a": "".join(Random(i).choices("abc ", k=5))}) for i in range(40)]
    wanted = asked(
        'ret 2*is_in("a", $r) + is_in("b", $r) + is_in("c", $r) >= 3',
        'ret is_in("ab", $r) & !is_in("c", $r)',
        'ret is_in("a", $r) + is_in("b", $r) + is_in("c", $r) >= 2',
        'ret is_in("b", $r) | is_in("cc", $r)',
        "ret true",
    )
    assert room_of(terms).group_count(len(wanted)) > 1
    assert (Round(terms).run(rows, wanted) == in_clear(rows, wanted)).all()


def test_an_exclusion_is_told_from_a_no_and_an_exception_from_a_yes() -> None:
    """Bars of one and of all points included; what is below the points shows only where they are reached."""
    one = Round(SMALL)
    assert (one.run(RECORDS, QUESTIONS) == in_clear(RECORDS, QUESTIONS)).all()
    found = compared(SMALL, list(map(Evaluated, one.answers, one.pads)), len(QUESTIONS), len(RECORDS))
    excluded, restored = (np.array([needle in record.whole for record in RECORDS]) for needle in ("w2", "x5"))
    below = np.where(excluded, np.where(restored, Outcome.RESTORED, Outcome.EXCLUDED), Outcome.YES)
    assert (found[3] == below).all() and set(below) == {Outcome.YES, Outcome.EXCLUDED, Outcome.RESTORED}
    assert np.isin(found[[0, 1, 2, 4]], (Outcome.NO, Outcome.YES)).all()


def test_opened_values_alone_and_pads_alone_say_nothing() -> None:
    one = Round(SMALL)
    labels = one.run(RECORDS, QUESTIONS)
    shape = (len(QUESTIONS), len(RECORDS))
    opened = ENGINE.open(SMALL, one.keys.secret, one.answers, *shape)
    pads = ENGINE.pad_values(SMALL, one.pads, *shape)
    assert agree((opened == pads)[0] & ~(opened == pads)[1] | (opened == pads).all(axis=0), labels)
    for values in (opened, pads):  # 180 of 24 bits: two are the same in one run of a thousand, three pairs never
        assert np.count_nonzero(values == 0) <= 1 and len(np.unique(values)) >= values.size - 2


# -- who works


@pytest.mark.slow
def test_workers_that_share_a_tile_change_no_answer() -> None:
    """Where there are more tiles, each makes some: see the killed worker below."""
    terms, wanted = replace(SMALL, records=4096), QUESTIONS[:4]
    room = room_of(terms)
    assert room.group_count(4) == 1 and room.columns(4).outputs > 1
    one = Round(terms, Working(workers=2))
    assert (one.run(RECORDS[:5], wanted) == in_clear(RECORDS[:5], wanted)).all()


@pytest.mark.slow
def test_processes_that_have_worked_before_answer_what_is_asked_now() -> None:
    keys, working = keys_of(SMALL), Working(workers=2)
    for question in QUESTIONS[:2]:
        sent = list(ENGINE.encrypt(SMALL, keys.secret, RECORDS, 1, working))
        made = list(ENGINE.evaluate(SMALL, keys.public, sent, [question], working))
        assert agree(is_yes(compared(SMALL, made, 1, len(RECORDS))), in_clear(RECORDS, [question]))


@pytest.mark.slow
def test_worker_processes_rest_and_end_with_whoever_started_them(tmp_path: Path) -> None:
    script = tmp_path / "owner.py"
    script.write_text(
        "import multiprocessing, os, sys\n"
        "from blindlabel.engines.packed.running import workers\n"
        "if __name__ == '__main__':\n"
        "    for _ in range(2):\n"
        "        with workers._processes(1) as executor:\n"
        "            print(executor.submit(os.getpid).result(), flush=True)\n"
        "    sys.stdin.read()\n"
    )
    owner = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    first, second = int(owner.stdout.readline()), int(owner.stdout.readline())
    assert first == second, "the second time nobody is started"
    owner.kill()
    owner.communicate()
    Patience().wait_until(lambda: _gone(first))


def _gone(process: int) -> bool:
    try:
        return (
            Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"
        )  # whoever takes orphans in has not looked yet
    except OSError:
        return True


def test_no_room_for_what_workers_share_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    one = Round(SMALL, Working(workers=2))
    with pytest.raises(OutsideError, match=r"share .* MB in .* no room for it \(No space left on device\)"):
        one.run(RECORDS, QUESTIONS)


def test_an_error_in_a_worker_is_the_same_error() -> None:
    keys, (question, *_) = keys_of(SMALL), QUESTIONS
    sent = list(ENGINE.encrypt(SMALL, keys.secret, RECORDS, 1))
    opened = parcel_of(SMALL, sent[0])
    item = opened.items[0]
    beyond = item[:SEED] + b"\xff" * (len(item) - SEED)
    sent[0] = parcels.write(replace(opened, items=(beyond, *opened.items[1:])))
    said = []
    for workers in (1, 2):
        with pytest.raises(ParcelError) as problem:
            list(ENGINE.evaluate(SMALL, keys.public, sent, [question], Working(workers)))
        said.append(str(problem.value))
    assert said[0] == said[1]


@pytest.mark.slow
def test_a_killed_worker_is_an_error_that_trying_again_helps(tmp_path: Path) -> None:
    keys = keys_of(MANY)
    wanted = asked(*(f'ret is_in("{letter}", $r)' for letter in "abcdefghijklmnopqrstuvwxyz"))
    sent = list(ENGINE.encrypt(MANY, keys.secret, RECORDS, len(wanted)))

    def deadly(phase: str, _: float) -> None:
        for process in multiprocessing.active_children():
            if phase == "evaluate":
                process.kill()

    with pytest.raises(WorkerLost, match="Start again") as caught:
        list(ENGINE.evaluate(MANY, keys.public, sent, wanted, Working(2, deadly, tmp_path)))
    assert isinstance(caught.value, OutsideError)
    kept = {path.read_bytes() for path in tmp_path.glob("*.answers")}
    assert 0 < len(kept) < room_of(MANY).group_count(len(wanted))
    again = list(ENGINE.evaluate(MANY, keys.public, sent, wanted, Working(2, journal=tmp_path)))
    assert kept < {path.read_bytes() for path in tmp_path.glob("*.answers")}
    labels = is_yes(compared(MANY, again, len(wanted), len(RECORDS)))
    assert agree(labels, in_clear(RECORDS, wanted))


def test_progress_is_told_and_ends_at_one() -> None:
    told: list[tuple[str, float]] = []
    Round(SMALL, Working(progress=lambda *step: told.append(step))).run(RECORDS, QUESTIONS)
    for phase in ("encrypt", "prepare", "evaluate"):
        shares = [share for name, share in told if name == phase]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_a_stopped_evaluation_goes_on_where_it_was(tmp_path: Path) -> None:
    keys = keys_of(MANY)
    wanted = asked(*(f'ret is_in("{letter}", $r)' for letter in "anberx"))
    sent, fewer = (list(ENGINE.encrypt(MANY, keys.secret, RECORDS, count)) for count in (len(wanted), 1))

    def evaluate(content: list[bytes], questions: list[Formula]) -> Iterator[Evaluated]:
        return ENGINE.evaluate(MANY, keys.public, content, questions, Working(journal=tmp_path))

    stopped = evaluate(sent, wanted)
    first = [next(stopped), next(stopped)]
    del stopped
    damaged = sorted(tmp_path.glob("*.answers"))[1]
    damaged.write_bytes(damaged.read_bytes()[:-1])  # of its pads: neither half of it is used again
    again = list(evaluate(sent, wanted))
    assert again[0] == first[0]  # kept: made again it would have other pads
    assert first[1].parcel not in [one.parcel for one in again] and first[1].pads not in [one.pads for one in again]
    assert agree(is_yes(compared(MANY, again, len(wanted), len(RECORDS))), in_clear(RECORDS, wanted))
    assert list(evaluate(sent, wanted)) == again
    assert len(list(evaluate(fewer, wanted[:1]))) == len(list(tmp_path.glob("*.answers"))) == 1  # of other questions


# -- keys and randomness


def test_nothing_keeps_a_secret_key_that_was_dropped() -> None:
    """Whoever throws a round's secret away is rid of it, though keys are opened again and again."""

    def held() -> int:
        gc.collect()
        return sum(isinstance(one, (Secret, KeyHolder)) for one in gc.get_objects())

    before, keys = held(), ENGINE.make_keys(SMALL)
    sent = list(ENGINE.encrypt(SMALL, keys.secret, RECORDS[:2], 1))
    made = list(ENGINE.evaluate(SMALL, keys.public, sent, QUESTIONS[:1]))
    ENGINE.open(SMALL, keys.secret, [one.parcel for one in made], 1, 2)
    assert held() == before
    opened = open_secret(SMALL, keys.secret)
    assert held() == before + 2, "one that is held would have been seen"
    del opened
    assert held() == before


def test_records_encrypted_again_have_other_bytes_throughout() -> None:
    keys = keys_of(SMALL)
    first, again = (list(ENGINE.encrypt(SMALL, keys.secret, RECORDS, len(QUESTIONS))) for _ in range(2))
    assert [len(one) for one in again] == [len(one) for one in first]
    seeds = [item[:SEED] for content in (*first, *again) for item in parcel_of(SMALL, content).items]
    assert len(set(seeds)) == len(seeds)


# -- what is refused


def test_records_beyond_the_agreement_are_refused_before_anything_is_encrypted() -> None:
    secret = keys_of(SMALL).secret
    for text in ("x" * 25, "x" * 10_000):
        with pytest.raises(RecordError, match="characters"):
            list(ENGINE.encrypt(SMALL, secret, [Record.of({"a": "ok"}), Record.of({"a": text})], 1))
    with pytest.raises(RecordError, match="13 records"):
        list(ENGINE.encrypt(SMALL, secret, [Record.of({"a": "ok"})] * 13, 1))
    with pytest.raises(RecordError, match="no record"):
        list(ENGINE.encrypt(SMALL, secret, [], 1))


def test_a_question_beyond_the_agreement_is_refused_and_named() -> None:
    long = asked('ret is_in("abcdefghijkl", $r)')
    assert "the agreement allows at most" in (ENGINE.refuse(SMALL, long[0]) or "")
    with pytest.raises(QuestionError, match="Question 2: "):
        list(ENGINE.evaluate(SMALL, keys_of(SMALL).public, [], [QUESTIONS[0], *long]))


def test_randomness_for_other_questions_is_refused() -> None:
    keys = keys_of(SMALL)
    sent = list(ENGINE.encrypt(SMALL, keys.secret, RECORDS, len(QUESTIONS)))
    with pytest.raises(EngineError, match="for other questions"):
        list(ENGINE.evaluate(SMALL, keys.public, sent, QUESTIONS[:2]))


@pytest.mark.parametrize(
    "terms",
    [
        replace(SMALL, records=0), replace(SMALL, functions=()), replace(SMALL, agreement_hash=b"x"),
        replace(SMALL, case="upper"), replace(SMALL, limits=Limits(total_weight=400)), replace(SMALL, unless=9),
        replace(SMALL, profile=(1,) * 15), replace(SMALL, profile=(2,) * 6 + (1,) * 6, exclusions=8),
    ],
)  # fmt: skip
def test_terms_that_cannot_be_served_are_refused_with_a_sentence(terms: Terms) -> None:
    with pytest.raises(TermsError, match=r"[a-z].*\."):
        ENGINE.make_keys(terms)
