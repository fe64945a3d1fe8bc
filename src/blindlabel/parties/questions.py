"""Where the questions of a round come from when no person writes them in the web app: a folder of files, or
suggestions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from blindlabel.errors import InputError
from blindlabel.language import render
from blindlabel.language.suggestions import Suggester
from blindlabel.parties.asking import check_question
from blindlabel.parties.question_folders import files_of_round, is_exported, question_text, read_folder
from blindlabel.parties.suggesting import suggester_for
from blindlabel.protocol.interfaces import BULK, SUGGESTED, OwnRecord, Store, Task


class QuestionSource(Protocol):
    """Provides the questions of the current round."""

    def provide(self, store: Store) -> str | None:
        """Save all questions of the current round and hand it in; or a sentence about what is missing."""
        ...


def open_tasks(store: Store) -> list[Task]:
    """The records of the current round, where it is not handed in; empty otherwise."""
    state = store.state()
    if state.truth is not None or not state.rounds or state.rounds[-1].handed_in or not store.records():
        return []
    return store.tasks()


_MOST_NAMED = 20
"""Records that a sentence names one by one."""


class FolderQuestions:
    """Files `<id>.question` or `<position>.question`: those of the first round in the folder itself, those of a later
    round n in its folder `round-n`. A question that was asked before is never asked again unless it is there.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder} is no folder.")
        self._folder = folder

    def provide(self, store: Store) -> str | None:
        """Save all questions of the current round and hand it in; an `InputError` names every file that is missing."""
        tasks = open_tasks(store)
        if not tasks:
            return None
        number, records = tasks[0].round, store.records()
        files = files_of_round(self._folder, number)
        texts, missing = {}, []
        for task in tasks:
            own = records[task.record]
            path = _file_of(files, own)
            if path is None:
                missing.append(own)
                continue
            texts[task.record] = _checked(store, path)
        if missing:
            raise InputError(self._needed(number, len(tasks), missing))
        _save(store, self._folder, texts)
        store.hand_in()
        return None

    def _needed(self, round: int, asked: int, missing: Sequence[OwnRecord]) -> str:
        where = self._folder if round == 1 else self._folder / f"round-{round}"
        named = ", ".join(f"{own.id}.question (row {own.position + 1})" for own in missing[:_MOST_NAMED])
        more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
        before = " The questions of earlier rounds are not asked again by themselves." if round > 1 else ""
        return (
            f"Round {round} asks about {asked:,} records, and {where} has no question for {len(missing):,} of them:"
            f" {named}{more}.{before} Write these files and run again."
        )


@dataclass(frozen=True)
class TakenIn:
    """What a folder brought to the current round. Records are named by their ids."""

    round: int
    saved: int
    drafts: tuple[str, ...]
    """Records whose question has an error."""
    missing: tuple[str, ...]
    """Records of the round without a file."""
    unknown: tuple[str, ...]
    """Files of no record of the round."""


def take_in_folder(store: Store, folder: Path) -> TakenIn:
    """Save the questions that a folder has for the current round, as drafts where they have an error."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder.")
    tasks, records = open_tasks(store), store.records()
    if not tasks:
        raise InputError("There is no round to write questions for: none is open.")
    files = files_of_round(folder, tasks[0].round)
    paths = {task.record: _file_of(files, records[task.record]) for task in tasks}
    texts = {record: question_text(path) for record, path in paths.items() if path is not None}
    right = {record: text for record, text in texts.items() if check_question(store.agreement, text).ok}
    _save(store, folder, right)
    for record in texts.keys() - right.keys():
        store.save_draft(record, texts[record])
    return TakenIn(
        tasks[0].round,
        len(right),
        tuple(records[record].id for record in texts if record not in right),
        tuple(records[record].id for record, path in paths.items() if path is None),
        tuple(sorted(path.name for path in set(files.values()) - set(paths.values()))),
    )


def _file_of(files: Mapping[str, Path], own: OwnRecord) -> Path | None:
    return files.get(own.id) or files.get(str(own.position))


def _save(store: Store, folder: Path, texts: Mapping[int, str]) -> None:
    """Save the questions of the current round with the source and author that an exported folder names."""
    listed = read_folder(folder).questions if is_exported(folder) else ()
    known = {(one.position, one.text): (one.source or BULK, one.author) for one in listed}
    positions = {own.record: own.position for own in store.records()}
    together: dict[tuple[str, str], dict[int, str]] = {}
    for record, text in texts.items():
        together.setdefault(known.get((positions[record], text), (BULK, "")), {})[record] = text
    for (source, author), some in together.items():
        store.save_questions(some, source, author)


def _checked(store: Store, path: Path) -> str:
    text = question_text(path)
    checked = check_question(store.agreement, text)
    if not checked.ok:
        found = "\n".join(render(diagnostic, text, str(path)) for diagnostic in checked.problems)
        raise InputError(f"The question in {path.name} cannot be used:\n{found}")
    return text


class SuggestedQuestions:
    """Asks the suggestion oracle for every record that has no saved question; with `replace`, for every record."""

    def __init__(self, *, replace: bool = False) -> None:
        self._suggester: Suggester | None = None
        self._replace = replace

    def provide(self, store: Store) -> str | None:
        """Save the missing questions of the current round and hand it in; not before what a person has begun to write
        is saved or discarded.
        """
        if not open_tasks(store):
            return None
        tasks = [task for task in open_tasks(store) if self._replace or task.question is None]
        begun = [store.records()[task.record].id for task in tasks if task.draft] if not self._replace else []
        if begun:
            return (
                f"Somebody has begun to write {len(begun):,} questions that are not saved: {', '.join(begun[:10])}."
                " They are left alone. Save or discard them in the web app, or let --replace write all questions anew."
            )
        if self._suggester is None:
            self._suggester = suggester_for(store)
        records = store.records()
        texts = {}
        for task in tasks:
            previous = [text for _, text in task.previous]
            text = self._suggester.suggest(records[task.record].prepared, task.round, previous, loose=task.loose).text
            checked = check_question(store.agreement, text)
            if not checked.ok:
                raise InputError(
                    f"The suggestion for record {task.record + 1} cannot be used: {checked.problems[0].message}"
                )
            texts[task.record] = text
        store.save_questions(texts, SUGGESTED)
        store.hand_in()
        return None
