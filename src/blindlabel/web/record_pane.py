"""The left half of the annotation window: one own record with its words to click, why it came back, when records match,
and what a person notes about it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import run, ui

from blindlabel.errors import InputError
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.storage.annotations import Mark
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import text
from blindlabel.web.record_words import RecordWords, asked_for
from blindlabel.web.telling import tell


class RecordPane:
    """Shows one record."""

    def __init__(self, app: OwnerApp, on_word: Callable[[str, str], Any]) -> None:
        self._app = app
        self._own: OwnRecord | None = None
        with ui.element("section").classes("pane own").props('aria-label="Your record"'):
            with ui.element("div").classes("pane-head"):
                self._title = text("h2", "")
                self._state = text("span", "", "state")
            self._reason = text("p", "", "reason")
            self.words = RecordWords(app.workspace, on_word)
            text("p", "The darker a word, the fewer of your other rows have it. Click it to ask for it.", "legend")
            with ui.element("div").classes("criteria-pinned"):
                text("strong", "When two records match")
                text("p", app.workspace.agreement.criteria, "criteria").props("tabindex=0")
            self._build_mark()

    def _build_mark(self) -> None:
        with ui.element("div").classes("mark").props('role=group aria-label="For yourself"'):
            self._unsure = ui.checkbox("Not sure", on_change=self._noted).props("dense")
            self._note = ui.input(placeholder="A note for yourself", on_change=self._noted).props(
                'dense outlined maxlength=2000 aria-label="A note for yourself"'
            )

    def show(self, own: OwnRecord, task: Task, *, fixed: bool) -> None:
        """Show a record."""
        self._own = None  # what follows is no note
        mark = self._app.cache.mark(own.record)
        self._unsure.value, self._note.value = mark.unsure, mark.note
        self._own = own
        self._title.text = own.id
        self.show_state(task)
        self._show_reason(task)
        self.words.show(own, fixed=fixed)

    def show_state(self, task: Task) -> None:
        """Show whether the question is saved."""
        self._state.text = task.state
        self._state.classes(replace=f"state state-{task.state}")

    def _show_reason(self, task: Task) -> None:
        why = "its question was too loose: it said yes to too many records" if task.loose else "the two sides disagreed"
        self._reason.text = f"Back in round {task.round}: {why}."
        self._reason.set_visibility(task.disagreed or task.loose)

    async def shade(self) -> None:
        """Shade the words by their rarity once the table has been read."""
        own = self._own
        if own is None:
            return
        wanted = self.words.words
        found = await run.io_bound(self._others, own, wanted)
        if found is not None and self._own is own:
            self.words.shade(found, len(self._app.judging.rows[0]))

    def _others(self, own: OwnRecord, words: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
        self._app.judging.warm_up()
        found = {}
        for word, attribute in words:
            others = self._app.judging.others(own, (asked_for(word, attribute, self._app.workspace),))
            if others is not None:
                found[(word, attribute)] = others
        return found

    def toggle_unsure(self) -> None:
        """Mark the record as not sure, or no longer."""
        self._unsure.value = not self._unsure.value

    def _noted(self, _event: object) -> None:
        if self._own is None:
            return
        mark = Mark(bool(self._unsure.value), str(self._note.value or ""))
        if mark == self._app.cache.mark(self._own.record):
            return
        try:
            self._app.cache.set_mark(self._own.record, mark)
        except InputError as error:
            tell(str(error), "problem")
