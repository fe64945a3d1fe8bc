"""Where the questions of a round come from when no person writes them in the web app: a folder of files, or
suggestions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from blindlabel.errors import InputError
from blindlabel.language import render
from blindlabel.language.suggestions import Suggester
from blindlabel.parties.asking import check_question
from blindlabel.parties.suggesting import suggester_for
from blindlabel.protocol.interfaces import BULK, SUGGESTED, Store, Task


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


class FolderQuestions:
    """Files `<id>.question` or `<position>.question`; those in `round-<n>` go before those beside it in round n."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder} is no folder.")
        self._folder = folder

    def provide(self, store: Store) -> str | None:
        """Save all questions of the current round and hand it in; or a sentence about what is missing."""
        tasks = open_tasks(store)
        if not tasks:
            return None
        files = self._files(tasks[0].round)
        records = store.records()
        texts, missing = {}, []
        for task in tasks:
            own = records[task.record]
            path = files.get(own.id) or files.get(str(own.position))
            if path is None:
                missing.append(own)
                continue
            texts[task.record] = _checked(store, path)
        if missing:
            first = missing[0]
            return (
                f"Round {tasks[0].round} needs {len(missing)} more question files in {self._folder}, "
                f"for instance {first.id}.question (the record at position {first.position})."
            )
        store.save_questions(texts, BULK)
        store.hand_in()
        return None

    def _files(self, round: int) -> dict[str, Path]:
        found = {path.stem: path for path in sorted(self._folder.glob("*.question"))}
        found |= {path.stem: path for path in sorted((self._folder / f"round-{round}").glob("*.question"))}
        return found


def _checked(store: Store, path: Path) -> str:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
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
        """Save the missing questions of the current round and hand it in."""
        if not open_tasks(store):
            return None
        tasks = [task for task in open_tasks(store) if self._replace or task.question is None]
        if self._suggester is None:
            self._suggester = suggester_for(store)
        records = store.records()
        texts = {}
        for task in tasks:
            previous = [text for _, text in task.previous]
            text = self._suggester.suggest(records[task.record].prepared, task.round, previous).text
            checked = check_question(store.agreement, text)
            if not checked.ok:
                raise InputError(
                    f"The suggestion for record {task.record + 1} cannot be used: {checked.problems[0].message}"
                )
            texts[task.record] = text
        store.save_questions(texts, SUGGESTED)
        store.hand_in()
        return None
