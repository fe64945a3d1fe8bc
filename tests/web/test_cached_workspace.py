"""What the pages work with, without a browser: a cache over a workspace, trying questions on own records, patterns and
question files.
"""

from __future__ import annotations

import io
import zipfile
from functools import partial
from unittest.mock import patch

import pytest

from blindlabel.errors import InputError
from blindlabel.language import Record, interpret
from blindlabel.language.formula import evaluate
from blindlabel.parties.questions import check_question
from blindlabel.protocol.interfaces import BULK, PERSON
from blindlabel.storage.workspace import Workspace
from blindlabel.web import bulk
from blindlabel.web.app import CachedWorkspace, Seat
from blindlabel.web.bulk import check_pattern, fill_pattern
from blindlabel.web.judging import Judging
from blindlabel.web.local_study import Rehearsal, Wanted
from blindlabel.web.record_pane import asked_for, word_of


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    made = Rehearsal(tmp_path_factory.mktemp("cache"), Wanted(records=8))
    made.begin()
    return made


@pytest.fixture
def workspace(study: Rehearsal) -> Workspace:
    anna = study.workspace("anna")
    for task in anna.tasks():
        anna.discard(task.record)
    return anna


@pytest.fixture
def seat(workspace: Workspace) -> Seat:
    return Seat(CachedWorkspace(workspace), Judging(workspace), "Ada")


def test_desk_agrees_with_the_workspace_after_every_kind_of_writing(workspace: Workspace, seat: Seat) -> None:
    cache = seat.cache
    seat.save_draft(0, "ret is_i")
    seat.save(1, "ret true")
    seat.save(2, "ret nonsense")
    seat.save(3, "ret true")
    seat.save_draft(3, "ret tru")
    seat.save(4, "ret true")
    seat.discard(4)
    seat.save_draft(5, "x")
    seat.save_draft(5, "")
    cache.save_many({6: "ret false", 7: "ret true"}, BULK, "Ada")
    assert [cache.tasks.get(record) for record in range(8)] == workspace.tasks()
    assert cache.progress() == workspace.progress()
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


def test_what_another_process_writes_is_seen_also_when_the_clock_was_set_back(workspace: Workspace, seat: Seat) -> None:
    seat.save(0, "ret true")
    seat.cache.refresh()
    with patch("blindlabel.storage.round_questions.time.time", return_value=1000.0):
        Workspace.open(workspace.folder).save_draft(0, "ret fa")
    assert seat.cache.refresh() and [task.draft for task in [seat.task(0)] if task] == ["ret fa"]


def test_undo_brings_back_question_draft_source_and_author(workspace: Workspace, seat: Seat) -> None:
    seat.save(0, "ret true", BULK)
    seat.save_draft(0, "ret tru")
    before = seat.task(0)
    change = seat.discard(0)
    assert seat.take_back(change) == ""
    assert workspace.tasks()[0] == before == seat.task(0)
    assert before is not None and (before.source, before.author) == (BULK, "Ada")


def test_undo_of_many_leaves_alone_what_changed_since(workspace: Workspace, seat: Seat) -> None:
    cache = seat.cache
    changes = cache.save_many({0: "ret false", 1: "ret false", 2: "ret false"}, BULK, "Ada")
    seat.save(1, "ret true", PERSON)
    workspace.save_draft(2, "ret another process")
    assert cache.take_back(changes) == [1, 2]
    tasks = workspace.tasks()
    assert tasks[0].state == "open"
    assert (tasks[1].question, tasks[1].source) == ("ret true", PERSON)
    assert tasks[2].draft == "ret another process"


def test_next_unwritten_follows_the_list_goes_round_and_ends(seat: Seat) -> None:
    assert [seat.next_unwritten(None), seat.next_unwritten(3), seat.next_unwritten(7)] == [0, 4, 0]
    assert seat.next_unwritten(3, [5, 3, 1, 0]) == 1, "in the order of the list"
    assert seat.next_unwritten(0, [5, 3, 1, 0]) == 5, "from its start again"
    seat.cache.save_many(dict.fromkeys(range(7), "ret true"), PERSON)
    assert seat.next_unwritten(3) == 7
    assert seat.next_unwritten(3, [5, 3]) == 7, "what the list does not show is not forgotten"
    assert seat.next_unwritten(7) is None, "the record itself is not the next one"


def test_rows_are_searched_filtered_and_sorted(workspace: Workspace, seat: Seat) -> None:
    seat.save(2, "ret true")
    own = seat.cache.records[5]
    assert seat.listed(search=own.id) == [5]
    assert seat.listed(search=f"{own.row['surname'].upper()} {own.id}") == [5]
    assert seat.listed(shown="saved") == [2]
    assert seat.listed(sort="state", descending=True)[0] == 2
    names = [seat.cache.records[record].row["surname"].casefold() for record in seat.listed(sort="surname")]
    assert names == sorted(names)


def test_blank_question_is_no_question(seat: Seat) -> None:
    checked = seat.save(0, "  \n")
    assert not checked.ok and checked.problems[0].message == "There is no question yet."


def test_clicked_words_become_conditions_that_hold_for_their_record(workspace: Workspace) -> None:
    recipe = workspace.agreement.recipe
    assert word_of("surname", "(Sony),", recipe) == "sony"
    assert word_of("surname", "24-70mm", recipe) == "24-70mm"
    assert word_of("surname", "--", recipe) == ""
    for own in workspace.records():
        for name, value in own.row.items():
            for token in value.split():
                for atom in asked_for(word_of(name, token, recipe), name, workspace):
                    assert evaluate(atom, own.prepared), atom
    long = "a" * 30
    assert asked_for(long, "surname", workspace)[0].function == "has_word"
    assert asked_for("m", "sex", workspace)[0].view.attribute == "sex", "a letter says something only in its attribute"
    typed = "vertical class partitioning, and a supercalifragilistic-expialidocious end"
    pieces = [str(atom.arguments[0]) for atom in asked_for(typed, "surname", workspace)]
    assert "".join(pieces).replace(" ", "") == typed.replace(" ", ""), "nothing of it is left out"
    assert max(map(len, pieces)) <= workspace.agreement.terms().limits.needle_length


def test_pattern_with_unknown_attribute_is_refused_with_a_hint(workspace: Workspace) -> None:
    with pytest.raises(InputError, match=r"Did you mean \{surname\}\?"):
        check_pattern("ret is_in({surnam 1}, $r)", workspace.agreement.attributes)
    with pytest.raises(InputError, match="Write a pattern first"):
        check_pattern(" ", workspace.agreement.attributes)


def test_pattern_values_are_quoted_and_missing_ones_leave_the_record_out(workspace: Workspace) -> None:
    record = Record.of({"surname": 'o"neil \\ co', "title": ""})
    check = partial(check_question, workspace.agreement)
    filled = fill_pattern("ret equals({surname}, $r.surname)", 3, record, check)
    assert filled.problem == ""
    checked = check_question(workspace.agreement, filled.question)
    assert interpret(checked.tree, record)
    assert fill_pattern("ret is_in({surname 2}, $r)", 3, record, check).question == 'ret is_in("neil", $r)'
    assert "nothing for {title}" in fill_pattern("ret is_in({title}, $r)", 3, record, check).problem
    assert fill_pattern("ret is_in({surname}, $r) & nonsense", 3, record, check).problem


def test_questions_survive_going_out_and_coming_in(workspace: Workspace, seat: Seat) -> None:
    cache = seat.cache
    texts = {0: "ret true", 3: "ret is_in(", 5: '# ü\nret is_in("é", $r)'}
    for record, text in texts.items():
        seat.save(record, text, BULK)
    packed = bulk.archive_of_questions(cache)
    before = workspace.tasks()
    for record in texts:
        seat.discard(record)
    done = bulk.take_in_questions(cache, seat, bulk.unpacked([("all.zip", packed)]))
    assert (done.saved, done.drafts, done.unknown, len(done.changes)) == (2, 1, (), 3)
    assert workspace.tasks() == before


def test_names_of_question_files_mean_ids_before_positions(workspace: Workspace, seat: Seat) -> None:
    cache = seat.cache
    own = cache.records[4]
    done = bulk.take_in_questions(
        cache, seat, {own.id: "ret true", str(cache.records[6].position): "ret false", "nobody": "ret true"}
    )
    assert (done.saved, done.unknown) == (2, ("nobody",))
    assert workspace.tasks()[4].question == "ret true" and workspace.tasks()[6].question == "ret false"


def test_unreadable_files_are_refused_with_a_sentence() -> None:
    with pytest.raises(InputError, match="no ZIP archive"):
        bulk.unpacked([("x.zip", b"not a zip")])
    with pytest.raises(InputError, match="neither"):
        bulk.unpacked([("x.txt", b"ret true")])
    with pytest.raises(InputError, match="not UTF-8"):
        bulk.unpacked([("x.question", b"\xff\xfe")])
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.question", b" " * (65 * 2**20))
    with pytest.raises(InputError, match="unpacks to more than"):
        bulk.unpacked([("bomb.zip", bomb.getvalue())])


def test_suggestions_can_be_used_as_they_are(workspace: Workspace) -> None:
    judging = Judging(workspace)
    ready = [judging.ready]
    judging.warm_up()
    assert [*ready, judging.ready] == [False, True]
    for own, task in zip(workspace.records(), workspace.tasks(), strict=True):
        suggested = judging.suggest(own, task)
        checked = check_question(workspace.agreement, suggested.text)
        assert checked.formula is not None and suggested.why
        assert judging.verdict(own, suggested.text).level in ("good", "warn")
