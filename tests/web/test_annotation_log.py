"""Who did what when: the annotation log, sources, notes, names, several annotators; and that --auto keeps what people
saved.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.errors import InputError
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.protocol.interfaces import BULK, CHANGED, PERSON, SUGGESTED
from blindlabel.storage.annotations import Annotations, Mark, Team, difference, name_team, source_of
from blindlabel.storage.workspace import Workspace
from blindlabel.web import owner_page
from blindlabel.web.app import CachedWorkspace, Seat
from blindlabel.web.components import time_left
from blindlabel.web.judging import Judging
from blindlabel.web.local_study import Rehearsal, Wanted


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    study = Rehearsal(tmp_path / "study", Wanted(records=8))
    study.begin()
    return study.workspace("anna")


def test_source_of_a_question_is_true() -> None:
    suggestion = 'ret 3*is_in("a", $r) + is_in("b", $r) >= 3\n'
    assert source_of(suggestion, None) == PERSON
    assert source_of(suggestion.strip(), suggestion) == SUGGESTED
    assert source_of(suggestion.replace(">= 3", ">= 4"), suggestion) == CHANGED
    assert source_of("something else entirely", suggestion) == PERSON
    assert difference(suggestion, suggestion) == 0 and 0 < difference(suggestion, suggestion + " & c") < 0.5


def test_visit_keeps_the_first_key_and_what_was_saved(workspace: Workspace) -> None:
    log = Annotations(workspace)
    visit = log.opened("Ada", 1, 3)
    log.suggested(visit, "ret true")
    log.typed(visit)
    first = log.log()[0].typed
    log.typed(visit)
    log.saved(visit, "ret false", CHANGED, 0.5, "never")
    found = log.log()[0]
    assert found.typed == first is not None and found.opened <= first
    assert (found.suggestion, found.question, found.source, found.changed) == ("ret true", "ret false", CHANGED, 0.5)
    assert log.last_suggestion(1, 3) == "ret true" and log.last_suggestion(2, 3) is None


def test_pace_is_that_of_the_person(workspace: Workspace) -> None:
    log = Annotations(workspace)
    for record in range(3):
        log.saved(log.opened("Ada", 1, record), "ret true", PERSON, None, "always")
    assert owner_page.seconds_left(log.latest("Ben"), 5) is None
    left = owner_page.seconds_left(log.latest("Ada"), 5)
    assert left is not None and left < 60 and time_left(left) == ", less than a minute left"
    assert time_left(840) == ", about 14 minutes left" and time_left(None) == ""


def test_marks_stay_with_the_record(workspace: Workspace) -> None:
    cache = CachedWorkspace(workspace)
    cache.set_mark(2, Mark(unsure=True, note="ask Ben"))
    assert CachedWorkspace(workspace).mark(2) == Mark(unsure=True, note="ask Ben")
    cache.set_mark(2, Mark())
    assert Annotations(workspace).marks() == {}
    with pytest.raises(InputError, match="at most 2,000"):
        cache.set_mark(2, Mark(note="x" * 2001))


def test_auto_keeps_saved_questions_unless_told_to_replace_them(workspace: Workspace) -> None:
    workspace.save_questions({0: "ret true"}, PERSON, "Ada")
    SuggestedQuestions().provide(workspace)
    tasks = workspace.tasks()
    assert (tasks[0].question, tasks[0].source, tasks[0].author) == ("ret true", PERSON, "Ada")
    assert {task.source for task in tasks[1:]} == {SUGGESTED}
    assert workspace.progress().handed_in


def test_auto_with_replace_writes_every_question(workspace: Workspace) -> None:
    workspace.save_questions({0: "ret true"}, PERSON)
    SuggestedQuestions(replace=True).provide(workspace)
    assert {task.source for task in workspace.tasks()} == {SUGGESTED}


def test_replace_without_auto_is_refused(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["owner", "run", "--at", str(workspace.folder), "--replace", "--once"]) == 1
    assert "use it with --auto" in capsys.readouterr().err


def test_log_is_exported_as_csv_and_json(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Annotations(workspace)
    log.saved(log.opened("Ada", 1, 3), 'ret is_in("ü, x", $r)', BULK, None, "only")
    target = tmp_path / "log.csv"
    assert run(["owner", "log", "export", "--at", str(workspace.folder), "--to", str(target)]) == 0
    rows = list(csv.DictReader(io.StringIO(target.read_text("utf-8"))))
    assert rows[0]["annotator"] == "Ada" and rows[0]["id"] == workspace.records()[3].id
    assert rows[0]["question"] == 'ret is_in("ü, x", $r)' and rows[0]["typed"] == ""
    capsys.readouterr()
    assert run(["owner", "log", "export", "--at", str(workspace.folder), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["visits"][0]["record"] == 3 and document["visits"][0]["source"] == BULK
    assert document["study"] == workspace.agreement.name


def test_assigned_records_go_round_and_doubled_ones_have_two_people() -> None:
    team = Team(("Ada", "Ben", "Cleo"), assigned=True, doubled=0.25)
    assert [team.first(record) for record in range(4)] == ["Ada", "Ben", "Cleo", "Ada"]
    doubled = [record for record in range(400) if team.is_doubled(record)]
    assert 60 < len(doubled) < 140
    for record in doubled:
        assert team.second(record) not in ("", team.first(record))
        assert team.is_asked(team.second(record), record)
    assert Team().is_asked("anybody", 5) and not Team().is_doubled(5)


def test_second_question_is_not_seen_by_the_first_nor_asked(workspace: Workspace) -> None:
    name_team(workspace, ["Ada", "Ben"], assigned=True, doubled=1.0)
    cache, judging = CachedWorkspace(workspace), Judging(workspace)
    ada, ben = Seat(cache, judging, "Ada"), Seat(cache, judging, "Ben")
    ada.save(0, "ret true")
    assert ben.is_second(0) and not ada.is_second(0)
    before = ben.task(0)
    assert before is not None and before.draft == "", "the second does not see the first one's question"
    ben.save(0, "ret false")
    assert workspace.tasks()[0].question == "ret true"
    change = ben.discard(0)
    assert ben.take_back(change) == ""
    again = Seat(CachedWorkspace(workspace), judging, "Ben").task(0)
    assert again is not None and (again.question, again.author) == ("ret false", "Ben")


def test_agreement_between_annotators_is_shown_to_the_owner(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    at = str(workspace.folder)
    assert run(["owner", "annotators", "Ada", "Ben", "--at", at, "--assigned", "--doubled", "1.0"]) == 0
    cache, judging = CachedWorkspace(workspace), Judging(workspace)
    for record in range(4):
        first, second = cache.team.first(record), cache.team.second(record)
        Seat(cache, judging, first).save(record, 'ret is_in("a", $r)')
        Seat(cache, judging, second).save(record, 'ret is_in("a", $r)' if record else "ret false")
    capsys.readouterr()
    assert run(["owner", "annotators", "--at", at, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["names"] == ["Ada", "Ben"] and told["doubled"]["records"] == 8 and told["doubled"]["both"] == 4
    assert told["doubled"]["same_answers"] < told["doubled"]["answers"]
    assert run(["owner", "annotators", "Ada", "--at", at, "--doubled", "0.5"]) == 1
    assert "needs two annotators" in capsys.readouterr().err
