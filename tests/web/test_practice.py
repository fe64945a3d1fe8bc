"""Practice: the truth about questions on invented records, by plain evaluation; who practised, and what it came to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.language.chain import text_of
from blindlabel.parties.questions import check_question
from blindlabel.protocol.interfaces import PERSON, Task
from blindlabel.storage.annotations import Annotations
from blindlabel.web.app import OwnerApp
from blindlabel.web.local_study import Rehearsal, Wanted
from blindlabel.web.practice import RECORDS, ROWS, Practice, PracticeResult, nearer, practice_folder


@pytest.fixture(scope="module")
def practice(tmp_path_factory: pytest.TempPathFactory) -> Practice:
    return Practice(tmp_path_factory.mktemp("practice") / "one", "products")


def task_of(practice: Practice, record: int) -> Task:
    return next(task for task in practice.workspace.tasks() if task.record == record)


def test_eight_records_with_partners_among_rows_that_have_relatives(practice: Practice) -> None:
    own = practice.workspace.records()
    assert len(own) == len(practice.workspace.tasks()) == RECORDS
    assert len(practice.judging.rows[0]) == ROWS
    for one in own:
        truth = practice.told(one, task_of_text(practice, one.record, "ret true"))[0]
        assert truth.found and len(truth.passed) == 299, "everybody but the partner"
        assert truth.partner not in truth.passed


def task_of_text(practice: Practice, record: int, text: str) -> Task:
    practice.workspace.save_questions({record: text}, PERSON)
    return task_of(practice, record)


def test_truth_is_what_the_interpreter_says_of_partner_and_others(practice: Practice) -> None:
    own = practice.workspace.records()[0]
    truth, better = practice.told(own, task_of_text(practice, 0, "ret false"))
    assert not truth.found and truth.passed == () and truth.sentence == "Missed: the partner gets a no."
    assert better is not None and better(truth.partner), "what is better finds the partner"
    word = max(truth.partner.whole.replace("|", " ").split(), key=len)
    truth, _ = practice.told(own, task_of_text(practice, 0, f'ret is_in("{word}", $r)'))
    assert truth.found
    assert all(word in one.whole for one in truth.passed)


def test_a_better_question_does_more_than_the_one_it_is_offered_for(practice: Practice) -> None:
    for own in practice.workspace.records():
        for text in ("ret true", "ret false", practice.judging.suggest(own, task_of(practice, own.record)).text):
            truth, better = practice.told(own, task_of_text(practice, own.record, text))
            if better is not None:
                assert practice.truth(own, better).worth > truth.worth
            if truth.is_right:
                assert better is None


def test_a_better_question_is_looked_for_further_than_one_step(tmp_path: Path) -> None:
    """All conditions asked for: one step looser still misses a damaged partner, a few steps find it."""
    made = Practice(tmp_path / "one", "persons")
    further = 0
    for own in made.workspace.records():
        task = task_of(made, own.record)
        chain = made.judging.suggest(own, task).chain
        strict = replace(chain, bar=chain.total)
        question = check_question(made.workspace.agreement, text_of(strict, lowered=True))
        if made.truth(own, question).found:
            continue
        better = made.better(own, task, question)
        one_step = [one.text for one in made.judging.neighbours(own, task, strict).values()]
        further += bool(better) and better not in one_step
    assert further


def test_the_result_counts_saved_questions_only(practice: Practice) -> None:
    for task in practice.workspace.tasks():
        practice.workspace.discard(task.record)
    assert practice.result() == PracticeResult(0, 0, 0) and practice.result().sentence == "No question yet."
    practice.workspace.save_questions({0: "ret true", 1: "ret false"}, PERSON)
    practice.workspace.save_draft(2, "ret true")
    assert practice.result() == PracticeResult(2, 1, 1)
    assert practice.result().sentence == (
        "1 of 2 partners found; 1 of 2 questions let a wrong record pass. 6 records are left."
    )
    assert Practice(practice.folder).result() == practice.result(), "it goes on where it was"


def test_records_are_of_the_kind_that_is_nearer_to_the_study() -> None:
    assert nearer(["name", "brand", "price"]) == "products"
    assert nearer(["given_name", "surname", "date_of_birth"]) == "persons"


def test_owner_sees_who_practised_and_the_log_has_the_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = Rehearsal(tmp_path / "study", Wanted(records=4))
    study.begin()
    anna, at = study.workspace("anna"), str(tmp_path / "study" / "anna")
    app = OwnerApp(anna)
    assert app.practice_of("Ada") is None, "nothing is made before somebody wants it"
    made = app.practice_of("Ada", make=True)
    assert made is not None and made.practice is not None and app.practice_of("Ben") is None
    assert practice_folder(anna, "Ada") != practice_folder(anna, "Ben")
    log = Annotations(made.workspace)
    made.seat("Ada").save(0, "ret true")
    log.saved(log.opened("Ada", 1, 0), "ret true", PERSON, None, "always")
    capsys.readouterr()
    assert run(["owner", "annotators", "--at", at]) == 0
    assert "Ada practised: 1 of 1 partners found; 1 of 1 questions let a wrong record pass." in capsys.readouterr().out
    assert run(["owner", "log", "export", "--at", at, "--json"]) == 0
    (visit,) = json.loads(capsys.readouterr().out)["visits"]
    assert (visit["round"], visit["annotator"], visit["question"]) == (0, "Ada", "ret true")
    assert visit["saved"] >= visit["opened"]


def test_practice_without_a_study_says_at_the_end_what_it_came_to(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "blindlabel.cli.main", "practice", "--at", str(tmp_path / "here"), "--no-browser"]
    process = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("http://127.0.0.1:"), "the link is not the result"
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(said) == {"asked": 0, "found": 0, "clean": 0, "records": 8}
    assert run(["practice", "horses", "--no-browser"]) == 1
