"""The owner's workspace as the web app uses it: drafts, questions, rounds; two processes at once."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from blindlabel.envelope.identity import new_identity
from blindlabel.errors import InputError
from blindlabel.language.record import Record
from blindlabel.parties.joining import signed_by
from blindlabel.parties.questions import save_question
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import messages
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.protocol.owner_facts import OwnRound
from blindlabel.storage.workspace import Workspace

GOOD, BAD = 'ret is_in("miller", lower($r))', 'ret is_in("miller", $x)'


def in_round(folder: Path, *asks: list[int], engine: str = "plain") -> Workspace:
    """A workspace with four records in a study whose rounds asked these records."""
    agreement = agreements.new("s", ["anna", "berta"], ["name"], sampling={"records": 4}, encoding={"engine": engine})
    rounds = tuple(OwnRound(ask=tuple(ask), handed_in=number < len(asks) - 1) for number, ask in enumerate(asks))
    sample = messages.Sample(positions=(3, 5, 7, 9), others={"berta": 4})
    state = owner.OwnerState(study=agreement.hash, name="anna", coordinator_key="00" * 64, sample=sample, rounds=rounds)
    settings = {
        "agreement": to_text(agreement),
        "owner": "anna",
        "table": "/data/people.csv",
        "table_options": "{}",
        "via": "",
    }
    workspace = Workspace.create(folder)
    identity = new_identity()
    workspace.begin(settings, {}, owner.OwnerStep(state), lambda message: signed_by(identity, message))
    rows = [
        OwnRecord(n, p, f"id-{p}", {"name": f"Miller {n}"}, Record.of({"name": f"Miller {n}"}))
        for n, p in enumerate(sample.positions)
    ]
    workspace.store_records(rows)
    workspace.store_records(rows)  # twice is harmless
    return workspace


def test_records_come_back_with_ids_positions_and_rows(tmp_path: Path) -> None:
    workspace = in_round(tmp_path / "w", [0, 1, 2, 3])
    records = Workspace.open(tmp_path / "w").records()
    assert [(record.record, record.position, record.id) for record in records] == [
        (n, p, f"id-{p}") for n, p in enumerate((3, 5, 7, 9))
    ]
    assert records[2].row == {"name": "Miller 2"}
    assert records[2].prepared.whole == "Miller 2"
    assert workspace.table_name == "people.csv"


def test_draft_is_kept_and_an_erroneous_question_stays_a_draft(tmp_path: Path) -> None:
    workspace = in_round(tmp_path / "w", [0, 1, 2, 3])
    workspace.save_draft(0, "ret is_")
    assert not save_question(workspace, 1, BAD).ok
    assert save_question(workspace, 2, GOOD).ok
    tasks = Workspace.open(tmp_path / "w").tasks()
    assert [(task.state, task.draft, task.question) for task in tasks] == [
        ("draft", "ret is_", None),
        ("draft", BAD, None),
        ("saved", GOOD, GOOD),
        ("open", "", None),
    ]
    workspace.save_draft(2, GOOD + " # more")
    task = workspace.tasks()[2]
    assert (task.state, task.question) == ("draft", GOOD)
    workspace.discard(2)
    assert workspace.tasks()[2].state == "open"
    progress = workspace.progress()
    assert (progress.open, progress.drafts, progress.saved, progress.asked) == (2, 2, 0, 4)


def test_round_is_handed_in_only_when_complete_and_then_fixed(tmp_path: Path) -> None:
    workspace = in_round(tmp_path / "w", [0, 2])
    save_question(workspace, 0, GOOD)
    with pytest.raises(InputError, match="1 records of round 1 have no saved question yet, record 3"):
        workspace.hand_in()
    save_question(workspace, 2, GOOD)
    workspace.hand_in()
    workspace.hand_in()  # twice is harmless
    assert workspace.progress().handed_in
    for change in (
        lambda: workspace.save_draft(0, "x"),
        lambda: workspace.discard(0),
        lambda: save_question(workspace, 0, GOOD),
    ):
        with pytest.raises(InputError, match="handed in"):
            change()


def test_later_round_shows_earlier_questions_and_why_a_record_comes_back(tmp_path: Path) -> None:
    workspace = in_round(tmp_path / "w", [0, 1])
    workspace.save_questions({0: GOOD, 1: GOOD}, "suggested")
    state = workspace.state()
    more = OwnRound(ask=(1,), loose=(1,))
    later = state.model_copy(update={"rounds": (state.rounds[0].model_copy(update={"handed_in": True}), more)})
    workspace.change(lambda _: owner.OwnerStep(later))
    (task,) = workspace.tasks()
    assert (task.record, task.round, task.state, task.back, task.previous) == (1, 2, "open", "loose", ((1, GOOD),))
    assert [task.question for task in workspace.tasks(1)] == [GOOD, GOOD]
    with pytest.raises(InputError, match="Record 1 is not asked in round 2"):
        workspace.save_draft(0, "x")


def test_question_that_the_engine_cannot_answer_is_an_error_at_save_time(tmp_path: Path) -> None:
    workspace = in_round(tmp_path / "w", [0], engine="packed")
    checked = save_question(workspace, 0, 'ret similar("miller", $r, 1)')
    assert not checked.ok
    assert checked.problems[-1].code == "not-encoded"


def test_no_second_workspace_in_one_folder_and_no_workspace_elsewhere(tmp_path: Path) -> None:
    in_round(tmp_path / "w", [0])
    with pytest.raises(InputError, match="already"):
        in_round(tmp_path / "w", [0])
    with pytest.raises(InputError, match="not a workspace"):
        Workspace.open(tmp_path / "nothing")


def test_one_process_runs_at_a_time(tmp_path: Path) -> None:
    workspace = in_round(tmp_path / "w", [0])
    with (
        workspace.locked_for("owner run"),
        pytest.raises(InputError, match="Another"),
        Workspace.open(tmp_path / "w").locked_for("owner run"),
    ):
        pass
    with workspace.locked_for("owner run"):
        pass


def write_many(folder: Path, record: int) -> None:
    workspace = Workspace.open(folder)
    for number in range(25):
        workspace.save_draft(record, f"# {number}\n{GOOD}")
        workspace.change(lambda state: owner.OwnerStep(state.model_copy(update={"sent": state.sent + 1})))
        workspace.say("work", number / 25, "working")


@pytest.mark.slow
def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    workspace = in_round(tmp_path / "w", [0, 1])
    before = workspace.state().sent
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=write_many, args=(tmp_path / "w", record)) for record in (0, 1)]
    for process in others:
        process.start()
    for process in others:
        process.join(120)
        assert process.exitcode == 0
    assert workspace.state().sent == before + 50
    assert all(task.draft.startswith("# 24\n") for task in workspace.tasks())
    activity = workspace.activity()
    assert activity is not None
    assert activity.phase == "work"


def test_half_finished_work_of_one_round_is_gone_in_another(tmp_path: Path) -> None:
    workspace = in_round(tmp_path / "w", [0])
    workspace.journal.mkdir(exist_ok=True)
    for name, kept in (("round 1, berta", False), ("round 1, berta", True), ("round 2, berta", False)):
        workspace.begin_journal(name)
        assert (workspace.journal / "0-0-ab.answers").exists() == kept
        (workspace.journal / "0-0-ab.answers").write_bytes(b"answers")
