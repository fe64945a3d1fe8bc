"""Questions out of a study as a folder and in again: nothing is lost, and what cannot be used is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.errors import InputError
from blindlabel.parties.question_folders import file_name, read_folder, write_folder
from blindlabel.parties.questions import SuggestedQuestions, take_in_folder
from blindlabel.protocol.interfaces import PERSON, SUGGESTED, SavedQuestion
from blindlabel.storage.annotations import questions_asked
from blindlabel.storage.workspace import Workspace
from blindlabel.web.local_study import Rehearsal, Wanted


@pytest.fixture
def workspaces(tmp_path: Path) -> list[Workspace]:
    study = Rehearsal(tmp_path / "study", Wanted(records=3))
    study.begin()
    return study.workspaces


def written(workspace: Workspace) -> None:
    workspace.save_questions({0: 'ret is_in("müller", $r)\n', 2: "ret false"}, PERSON, "Ada")
    workspace.save_questions({1: "ret true"}, SUGGESTED)


def test_exported_folder_holds_every_question_with_source_author_and_time(
    workspaces: list[Workspace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anna = workspaces[0]
    written(anna)
    folder = tmp_path / "questions"
    assert run(["owner", "questions", "export", "--at", str(anna.folder), "--to", str(folder)]) == 0
    found = read_folder(folder)
    assert (found.owner, found.agreement) == ("anna", anna.agreement)
    asked = questions_asked(anna)
    assert [(one.text, one.source, one.author) for one in asked] == [
        ('ret is_in("müller", $r)\n', PERSON, "Ada"),
        ("ret true", SUGGESTED, ""),
        ("ret false", PERSON, "Ada"),
    ]
    by_position = {one.position: one for one in found.questions}
    for one in asked:
        read = by_position[one.position]
        assert (read.round, read.id, read.text, read.source, read.author) == (
            1, one.id, one.text, one.source, one.author,
        )  # fmt: skip
        assert read.saved is not None and one.saved is not None and abs(read.saved - one.saved) < 1
        assert (folder / "round-1" / f"{one.id}.question").read_text("utf-8") == one.text
    assert (folder / "log.csv").read_text().startswith("visit,annotator,round,record")
    assert run(["owner", "questions", "export", "--at", str(anna.folder), "--to", str(folder)]) == 1
    capsys.readouterr()
    assert run(["owner", "questions", "list", "--at", str(anna.folder), "--json"]) == 0
    assert [one["text"] for one in json.loads(capsys.readouterr().out)] == [one.text for one in asked]


def test_import_brings_back_what_was_exported_and_names_the_rest(
    workspaces: list[Workspace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anna = workspaces[0]
    written(anna)
    before = questions_asked(anna)
    folder = tmp_path / "questions"
    write_folder(folder, "anna", anna.agreement, before)
    for record in range(3):
        anna.discard(record)
    broken = folder / "round-1" / f"{before[1].id}.question"
    broken.write_text("ret is_in(")
    (folder / "round-1" / f"{before[2].id}.question").unlink()
    (folder / "nobody.question").write_text("ret true")
    assert run(["owner", "questions", "import", str(folder), "--at", str(anna.folder), "--json"]) == 1
    assert "There is no file" in capsys.readouterr().err
    (folder / "about.json").unlink()  # as written by hand from here on
    assert run(["owner", "questions", "import", str(folder), "--at", str(anna.folder), "--json"]) == 0
    taken = json.loads(capsys.readouterr().out)
    drafts = taken["drafts"]
    assert drafts[before[1].id].startswith("line 1: ")
    assert taken == {
        "round": 1,
        "saved": 1,
        "drafts": {before[1].id: drafts[before[1].id]},
        "missing": [before[2].id],
        "unknown": ["nobody.question"],
    }
    assert [task.state for task in anna.tasks()] == ["saved", "draft", "open"]


def test_source_and_author_come_back_with_an_exported_folder(workspaces: list[Workspace], tmp_path: Path) -> None:
    anna = workspaces[0]
    written(anna)
    before = [(task.question, task.source, task.author) for task in anna.tasks()]
    write_folder(tmp_path / "questions", "anna", anna.agreement, questions_asked(anna))
    for record in range(3):
        anna.discard(record)
    take_in_folder(anna, tmp_path / "questions")
    assert [(task.question, task.source, task.author) for task in anna.tasks()] == before


def test_record_whose_id_is_no_file_name_goes_by_its_position(workspaces: list[Workspace], tmp_path: Path) -> None:
    assert file_name(4, "a/b", {"a/b"}) == "4.question"
    assert file_name(4, "x", {"x"}) == "x.question"
    with pytest.raises(InputError, match="position 4"):
        file_name(4, "a/b", {"a/b", "4"})
    agreement = workspaces[0].agreement
    write_folder(tmp_path / "q", "anna", agreement, [SavedQuestion(1, 4, "../../x", "ret true")])
    assert [path.name for path in (tmp_path / "q" / "round-1").iterdir()] == ["4.question"]
    listing = tmp_path / "q" / "questions.csv"
    listing.write_text(listing.read_text().replace("round-1/4.question", "../secret"))
    with pytest.raises(InputError, match="outside the folder"):
        read_folder(tmp_path / "q")


def test_suggestions_leave_alone_what_a_person_has_begun_to_write(workspaces: list[Workspace]) -> None:
    anna = workspaces[0]
    anna.save_draft(1, "ret is_in(")
    said = SuggestedQuestions().provide(anna)
    assert said is not None and anna.records()[1].id in said
    assert [task.state for task in anna.tasks()] == ["open", "draft", "open"]
    assert SuggestedQuestions(replace=True).provide(anna) is None
    assert anna.state().rounds[-1].handed_in


@pytest.mark.parametrize("way", ["--hand-in", "--questions", "--auto"])
def test_command_hands_in_nothing_that_is_red_unless_told_to(
    workspaces: list[Workspace], tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    anna, folder = workspaces[0], tmp_path / "written"
    texts = {0: "ret true", 1: 'ret is_in("##", $r)', 2: "ret true"}
    if way == "--questions":
        saved = [SavedQuestion(1, own.position, own.id, texts[own.record]) for own in anna.records()]
        write_folder(folder, "anna", anna.agreement, saved)
    else:
        anna.save_questions(texts, PERSON)
    command = ["owner", "run", "--at", str(anna.folder), "--once", "--via", f"folder:{tmp_path}", way]
    command += [str(folder)] if way == "--questions" else []
    assert run(command) == 1
    said = capsys.readouterr().err
    assert "3 of 3 questions look wrong, and nothing was handed in" in said and "--anyway" in said
    assert all(f"{own.id}: " in said for own in anna.records()) and "Always yes" in said
    assert not anna.state().rounds[-1].handed_in
    assert run([*command, "--anyway"]) == 0
    said = capsys.readouterr().err
    assert f"NOTE: the question of {anna.records()[1].id} is handed in as it is: Not even this one." in said
    assert "Round 1 is handed in, with 3 questions." in said
    assert anna.state().rounds[-1].handed_in


def test_folder_that_comes_too_late_is_said_to_be_unused(
    workspaces: list[Workspace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anna, folder = workspaces[0], tmp_path / "corrected"
    folder.mkdir()
    command = ["owner", "run", "--at", str(anna.folder), "--once", "--via", f"folder:{tmp_path}"]
    assert run([*command, "--auto"]) == 0
    said = capsys.readouterr().err
    assert "Round 1 is handed in, with 3 questions." in said and "not used" not in said
    before = questions_asked(anna)
    assert run([*command, "--questions", str(folder)]) == 0
    assert f"round 1 was handed in earlier and does not change: {folder} is not used" in capsys.readouterr().err
    assert questions_asked(anna) == before


def test_suggestions_go_to_files_are_edited_and_come_back(
    workspaces: list[Workspace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anna, folder = workspaces[0], tmp_path / "suggested"
    ids = [own.id for own in anna.records()]
    suggest = ["owner", "questions", "suggest", "--at", str(anna.folder), "--to", str(folder)]
    anna.save_questions({0: 'ret is_in("x", $r)'}, PERSON)
    assert run(suggest) == 0
    files = {path.stem: path for path in (folder / "round-1").iterdir()}
    assert set(files) == set(ids[1:]), "what is saved is left alone"
    assert [task.state for task in anna.tasks()] == ["saved", "open", "open"], "nothing is saved by that"
    assert run(suggest) == 1, "never over what was edited"
    files[ids[1]].write_text("ret is_in(")
    capsys.readouterr()
    assert run(["owner", "questions", "import", str(folder), "--at", str(anna.folder)]) == 0
    said = capsys.readouterr()
    assert f"{ids[1]} has an error and is kept as a draft: line 1: " in said.err
    assert [task.state for task in anna.tasks()] == ["saved", "draft", "saved"]
    SuggestedQuestions(replace=True).provide(anna)
    assert run([*suggest[:-1], str(tmp_path / "late")]) == 1
    assert "nothing to suggest" in capsys.readouterr().err


def test_table_that_moved_is_pointed_to_again(
    workspaces: list[Workspace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anna, moved = workspaces[0], tmp_path / "moved.csv"
    Path(anna.settings["table"]).rename(moved)
    run_it = ["owner", "run", "--at", str(anna.folder), "--once", "--auto", "--via", f"folder:{tmp_path}"]
    assert run(run_it) == 1
    assert "any more. Put it back, or say where it is now with `blindlabel owner table`" in capsys.readouterr().err
    other = tmp_path / "other.csv"
    other.write_text("".join(reversed(moved.read_text().splitlines(keepends=True)[1:])))
    other.write_text(moved.read_text().splitlines(keepends=True)[0] + other.read_text())
    assert run(["owner", "table", str(other), "--at", str(anna.folder)]) == 1
    assert "is another table now" in capsys.readouterr().err
    assert run(["owner", "table", str(moved), "--at", str(anna.folder)]) == 0
    assert run(run_it) == 0


def test_empty_fields_are_listed_as_empty(workspaces: list[Workspace], capsys: pytest.CaptureFixture[str]) -> None:
    anna = workspaces[0]
    assert run(["owner", "records", "--at", str(anna.folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for own, line in zip(anna.records(), lines):
        assert line.count(" | ") == len(own.row) - 1
        assert line.count("(empty)") == sum(1 for value in own.row.values() if not value)
    assert any("(empty)" in line for line in lines), "the example has an empty field"
