"""Many records at once: suggest for all open ones, apply a pattern, take questions in from files. Everything is
reviewed before it is saved, and can be undone after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import run, ui

from blindlabel.errors import InputError
from blindlabel.web import patterns, question_files
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import FilePicker, text
from blindlabel.web.review import Review, offer_undo_of
from blindlabel.web.seats import Seat


class SuggestAll(Review):
    """Suggestions for all records without a saved question."""

    def __init__(self, app: OwnerApp, seat: Callable[[], Seat], on_saved: Callable[[], Any]) -> None:
        super().__init__(app, "Suggest for all open records", on_saved, lambda: seat().name)
        self._seat = seat

    async def open(self) -> None:
        """Make the suggestions and show them."""
        app, seat = self._app, self._seat()
        waiting = [task for task in seat.unwritten() if task.state == "open" and not seat.is_second(task.record)]
        await self.show({}, f"Making {len(waiting):,} suggestions…")
        self.dialog.open()
        try:
            made = await run.io_bound(
                lambda: [app.judging.suggest(app.cache.record(one.record), one) for one in waiting]
            )
        except InputError as error:
            self.note.text = str(error)
            return
        texts = {task.record: one.text for task, one in zip(waiting, made or [], strict=False)}
        note = "The riskiest come first. Records that you leave out stay open; drafts are not touched."
        await self.show(texts, note if texts else "No record is open.")


class ApplyPattern(Review):
    """One pattern for many records."""

    def __init__(self, app: OwnerApp, seat: Callable[[], Seat], on_saved: Callable[[], Any]) -> None:
        super().__init__(app, "Apply a pattern", on_saved, lambda: seat().name)
        self._seat = seat
        attributes = app.workspace.agreement.attributes
        with self.head:
            first = f"{{{attributes[0]} 1}}"
            text(
                "p",
                f"A pattern is a question in which {{{attributes[0]}}} stands for the record's own value, {first} for"
                " its first word, and {words} for all its words.",
            )
            self._field = (
                ui.textarea(label="Pattern", value=f"ret is_in({first}, $r)").props("outlined autogrow").classes("code")
            )
            with ui.row():
                self._all = ui.checkbox("Also records that have a question or draft already")
                ui.button("Preview", color=None, on_click=self._preview).props("no-caps outline").classes("button")

    async def open(self) -> None:
        """Show the dialog."""
        await self.show({}, "")
        self.dialog.open()

    async def _preview(self) -> None:
        pattern, app, seat = str(self._field.value or ""), self._app, self._seat()
        mine = [task for record, task in app.cache.tasks.items() if seat.is_mine(record) and not seat.is_second(record)]
        chosen = [task.record for task in mine if self._all.value or task.state == "open"]
        try:
            patterns.check_pattern(pattern, app.workspace.agreement.attributes)
        except InputError as error:
            await self.show({}, str(error))
            return
        filled = await run.io_bound(
            lambda: [
                patterns.fill(pattern, record, app.cache.record(record).prepared, app.cache.check) for record in chosen
            ]
        )
        good = {one.record: one.question for one in filled or [] if not one.problem}
        bad = [one for one in filled or [] if one.problem]
        note = f"It can be filled for {len(good):,} of {len(chosen):,} records."
        if bad:
            note += f" {app.cache.record(bad[0].record).id} is left out: {bad[0].problem}"
        await self.show(good, note)


class ImportQuestions:
    """Questions from files."""

    def __init__(self, app: OwnerApp, seat: Callable[[], Seat], on_saved: Callable[[], Any]) -> None:
        self._app, self._seat, self._on_saved = app, seat, on_saved
        with ui.dialog().props('aria-label="Import questions"') as self.dialog, ui.card().classes("sheet"):
            text("h2", "Import questions")
            text(
                "p", "Files named by record id, such as 1234.question, or a ZIP archive of them as it is exported here."
            )
            FilePicker("Choose files", ".question,.zip", self._chosen)
            self._note = text("p", "", "quiet")
            self._note.props("role=status")
            with ui.element("div").classes("actions"):
                ui.button("Close", color=None, on_click=self.dialog.close).props("no-caps outline").classes("button")

    def _chosen(self, tickets: list[str], problem: str) -> None:
        if problem:
            self._note.text = problem
            return
        try:
            texts = question_files.unpacked(self._app.uploads.take(tickets))
            done = question_files.take_in(self._app.cache, self._seat(), texts)
        except InputError as error:
            self._note.text = str(error)
            return
        one = len(done.unknown) == 1
        unknown = (
            f" {len(done.unknown):,} file{' belongs' if one else 's belong'} to no record of this round,"
            f" {done.unknown[0]} the first."
            if done.unknown
            else ""
        )
        self._note.text = (
            f"{done.saved:,} questions saved, {done.drafts:,} kept as drafts because they have errors.{unknown}"
        )
        self._on_saved()
        if done.changes:
            changed = f"Imported {len(done.changes):,} question{'' if len(done.changes) == 1 else 's'}."
            offer_undo_of(self._app, list(done.changes), changed, self._on_saved)
