"""What the pages work with, without a browser: the desk over a workspace, trying questions on own records, patterns and
question files.
"""

from __future__ import annotations

import io
import zipfile
from functools import partial
from random import Random

import pytest

from blindlabel.errors import InputError
from blindlabel.language import Question, Record, format_question, interpret
from blindlabel.parties.asking import check_question
from blindlabel.storage.workspace import Workspace
from blindlabel.web import question_files
from blindlabel.web.components import condition_for, word_of
from blindlabel.web.desk import Desk
from blindlabel.web.patterns import check_pattern, fill
from blindlabel.web.rehearsal import Rehearsal, Wanted
from blindlabel.web.suggesting import Background
from blindlabel.web.what_if import OwnRecords, cost_sentence
from support.random_questions import NoRecordLeft, QuestionMaker, random_record


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    made = Rehearsal(tmp_path_factory.mktemp("desk"), Wanted(records=8))
    made.begin()
    return made


@pytest.fixture
def workspace(study: Rehearsal) -> Workspace:
    anna = study.workspace("anna")
    for task in anna.tasks():
        anna.discard(task.record)
    return anna


def test_desk_agrees_with_the_workspace_after_every_kind_of_writing(workspace: Workspace) -> None:
    desk = Desk(workspace)
    desk.save_draft(0, "ret is_i")
    desk.save(1, "ret true")
    desk.save(2, "ret nonsense")
    desk.save(3, "ret true")
    desk.save_draft(3, "ret tru")
    desk.save(4, "ret true")
    desk.discard(4)
    desk.save_draft(5, "x")
    desk.save_draft(5, "")
    desk.save_many({6: "ret false", 7: "ret true"}, "pattern")
    assert [desk.task(record) for record in range(8)] == workspace.tasks()
    assert desk.progress() == workspace.progress()
    assert [task.state for task in workspace.tasks()] == [
        "draft",
        "saved",
        "draft",
        "draft",
        "open",
        "open",
        "saved",
        "saved",
    ]
    assert workspace.tasks()[3].question == "ret true", "a draft does not touch the question that was saved before"


def test_restore_undoes_any_change(workspace: Workspace) -> None:
    desk = Desk(workspace)
    desk.save(0, "ret true")
    desk.save_draft(0, "ret tru")
    before = desk.task(0)
    assert before is not None
    desk.discard(0)
    desk.restore(before)
    assert workspace.tasks()[0] == before == desk.task(0)


def test_next_unwritten_goes_round_and_ends(workspace: Workspace) -> None:
    desk = Desk(workspace)
    assert [desk.next_unwritten(None), desk.next_unwritten(3), desk.next_unwritten(7)] == [0, 4, 0]
    desk.save_many(dict.fromkeys(range(7), "ret true"), "person")
    assert desk.next_unwritten(3) == 7
    assert desk.next_unwritten(7) is None, "the record itself is not the next one"
    assert (desk.neighbour(0, -1), desk.neighbour(0, 1), desk.neighbour(7, 1)) == (None, 1, None)


def test_rows_are_searched_filtered_and_sorted(workspace: Workspace) -> None:
    desk = Desk(workspace)
    desk.save(2, "ret true")
    own = desk.record(5)
    assert [row.record for row in desk.rows(search=own.id)] == [5]
    assert [row.record for row in desk.rows(search=f"{own.row['surname'].upper()} {own.id}")] == [5]
    assert [row.record for row in desk.rows(shown="saved")] == [2]
    assert desk.rows(sort="state", descending=True)[0].record == 2
    ids = [row.id for row in desk.rows(sort="id")]
    assert ids == sorted(ids)


def test_blank_question_is_no_question(workspace: Workspace) -> None:
    checked = Desk(workspace).save(0, "  \n")
    assert not checked.ok and checked.problems[0].message == "There is no question yet."


def test_trying_on_own_records_counts_what_the_interpreter_says() -> None:
    chance = Random(7)
    records = [random_record(chance) for _ in range(30)]
    own = OwnRecords(records)
    tried = 0
    for _ in range(60):
        try:
            source = format_question(QuestionMaker(chance, records).question())
        except NoRecordLeft:
            continue
        checked = Question(source)
        if checked.formula is None:
            continue
        tried += 1
        expected = [interpret(checked.tree, record) for record in records]
        found = own.matches(checked.formula, records[0])
        assert (found.matches, found.itself) == (sum(expected), expected[0]), source
        assert cost_sentence(checked.formula)
    assert tried > 20


def test_clicked_words_become_conditions_that_hold_for_their_record(workspace: Workspace) -> None:
    steps = workspace.agreement.preparation.steps
    assert word_of("(Sony),", steps) == "sony"
    assert word_of("24-70mm", steps) == "24-70mm"
    assert word_of("--", steps) == ""
    for own in workspace.records():
        for value in own.row.values():
            for token in value.split():
                condition = condition_for(word_of(token, steps), workspace)
                checked = check_question(workspace.agreement, f"ret {condition}")
                assert checked.ok and interpret(checked.tree, own.prepared), condition
    long = "a" * 30
    assert condition_for(long, workspace) == f'has_word("{long}", $r)'


def test_pattern_with_unknown_attribute_is_refused_with_a_hint(workspace: Workspace) -> None:
    with pytest.raises(InputError, match=r"Did you mean \{surname\}\?"):
        check_pattern("ret is_in({surnam 1}, $r)", workspace.agreement.attributes)
    with pytest.raises(InputError, match="Write a pattern first"):
        check_pattern(" ", workspace.agreement.attributes)


def test_pattern_values_are_quoted_and_missing_ones_leave_the_record_out(workspace: Workspace) -> None:
    check = partial(check_question, workspace.agreement)
    record = Record.of({"surname": 'o"neil \\ co', "title": ""})
    filled = fill("ret equals({surname}, $r.surname)", 3, record, check)
    assert filled.problem == ""
    checked = check_question(workspace.agreement, filled.question)
    assert interpret(checked.tree, record)
    assert fill("ret is_in({surname 2}, $r)", 3, record, check).question == 'ret is_in("neil", $r)'
    assert "nothing for {title}" in fill("ret is_in({title}, $r)", 3, record, check).problem
    assert fill("ret is_in({surname}, $r) & nonsense", 3, record, check).problem


def test_questions_survive_going_out_and_coming_in(workspace: Workspace) -> None:
    desk = Desk(workspace)
    texts = {0: "ret true", 3: "ret is_in(", 5: '# ü\nret is_in("é", $r)'}
    for record, text in texts.items():
        desk.save(record, text)
    packed = question_files.archive(desk)
    before = workspace.tasks()
    for record in texts:
        desk.discard(record)
    done = question_files.take_in(desk, question_files.unpacked([("all.zip", packed)]))
    assert (done.saved, done.drafts, done.unknown) == (2, 1, ())
    assert workspace.tasks() == before


def test_names_of_question_files_mean_ids_before_positions(workspace: Workspace) -> None:
    desk = Desk(workspace)
    own = desk.record(4)
    done = question_files.take_in(
        desk, {own.id: "ret true", str(desk.record(6).position): "ret false", "nobody": "ret true"}
    )
    assert (done.saved, done.unknown) == (2, ("nobody",))
    assert workspace.tasks()[4].question == "ret true" and workspace.tasks()[6].question == "ret false"


def test_unreadable_files_are_refused_with_a_sentence() -> None:
    with pytest.raises(InputError, match="no ZIP archive"):
        question_files.unpacked([("x.zip", b"not a zip")])
    with pytest.raises(InputError, match="neither"):
        question_files.unpacked([("x.txt", b"ret true")])
    with pytest.raises(InputError, match="not UTF-8"):
        question_files.unpacked([("x.question", b"\xff\xfe")])
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.question", b" " * (65 * 2**20))
    with pytest.raises(InputError, match="unpacks to more than"):
        question_files.unpacked([("bomb.zip", bomb.getvalue())])


def test_suggestions_can_be_used_as_they_are(workspace: Workspace) -> None:
    background = Background(workspace)
    ready = [background.ready]
    background.warm_up()
    assert [*ready, background.ready] == [False, True]
    for own, task in zip(workspace.records(), workspace.tasks()):
        suggested = background.suggest(own, task)
        checked = check_question(workspace.agreement, suggested.question)
        assert checked.formula is not None and suggested.why
        assert background.matches(checked.formula, own.prepared).itself
