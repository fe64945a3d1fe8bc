"""Many records at once: suggest for all open ones, apply a pattern, take questions in from files. Everything is
reviewed before it is saved, and can be undone after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nicegui import run, ui

from blindlabel.errors import InputError
from blindlabel.protocol.interfaces import Task
from blindlabel.web import patterns, question_files
from blindlabel.web.components import FilePicker, text
from blindlabel.web.desk import brief

if TYPE_CHECKING:
    from blindlabel.web.server import OwnerApp

_QUESTION_CELL = '<q-td :props="props" class="code"><span>{{ props.value }}</span></q-td>'


class Review:
    """A dialog that shows questions for many records, to be accepted all or in part."""

    def __init__(self, app: OwnerApp, title: str, source: str, on_saved: Callable[[], Any]) -> None:
        self._app, self._source, self._on_saved = app, source, on_saved
        self._texts: dict[int, str] = {}
        with ui.dialog().props(f'aria-label="{title}"') as self.dialog, ui.card().classes("sheet widest"):
            text("h2", title)
            self.head = ui.element("div").classes("review-head")
            self.note = text("p", "", "quiet")
            self.note.props("role=status")
            columns = [
                {"name": "id", "label": "Record", "field": "id", "align": "left"},
                {"name": "brief", "label": "Content", "field": "brief", "align": "left"},
                {"name": "question", "label": "Question", "field": "question", "align": "left"},
            ]
            table = ui.table(
                columns=columns,
                rows=[],
                row_key="record",
                selection="multiple",
                pagination=25,
                on_select=self._selected,
            )
            self._table = table.props("flat dense square").classes("review")
            table.add_slot("body-cell-question", _QUESTION_CELL)
            table.add_slot(
                "body-cell-brief", '<q-td :props="props" class="brief"><span>{{ props.value }}</span></q-td>'
            )
            table.add_slot("header-selection", '<q-checkbox v-model="props.selected" dense aria-label="All records" />')
            table.add_slot(
                "body-selection",
                """<q-checkbox v-model="props.selected" dense :aria-label="'Record ' + props.row.id" />""",
            )
            with ui.element("div").classes("actions"):
                self._accept = (
                    ui.button("Accept", color=None, on_click=self._save)
                    .props("no-caps unelevated")
                    .classes("button main")
                )
                ui.button("Cancel", color=None, on_click=self.dialog.close).props("no-caps outline").classes("button")

    def show(self, texts: dict[int, str], note: str) -> None:
        """Show these questions, all chosen."""
        self._texts = texts
        self.note.text = note
        rows = [
            {"record": record, "id": own.id, "brief": brief(own), "question": question}
            for record, question in texts.items()
            for own in (self._app.desk.record(record),)
        ]
        self._table.rows = rows
        self._table.selected = list(rows)
        self._table.update()
        self._selected()

    def _selected(self, _event: object = None) -> None:
        chosen = len(self._table.selected)
        self._accept.text = f"Accept {chosen:,} question{'' if chosen == 1 else 's'}"
        self._accept.set_enabled(chosen > 0)

    def _save(self) -> None:
        desk = self._app.desk
        chosen = {row["record"]: self._texts[row["record"]] for row in self._table.selected}
        before = [task for record in chosen if (task := desk.task(record)) is not None]
        try:
            desk.save_many(chosen, self._source)
        except InputError as error:
            ui.notify(str(error), type="warning")
            return
        self.dialog.close()
        self._on_saved()
        offer_undo_of(self._app, before, f"Saved {len(chosen):,} questions.", self._on_saved)


def offer_undo_of(app: OwnerApp, before: Sequence[Task], message: str, after: Callable[[], Any]) -> None:
    """Offer to bring many tasks back to what they were."""

    def undo() -> None:
        for task in before:
            app.desk.restore(task)
        after()

    app.offer_undo(message, undo)


class SuggestAll(Review):
    """Suggestions for all records without a saved question."""

    def __init__(self, app: OwnerApp, on_saved: Callable[[], Any]) -> None:
        super().__init__(app, "Suggest for all open records", "suggested", on_saved)

    async def open(self) -> None:
        """Make the suggestions and show them."""
        desk = self._app.desk
        waiting = [(desk.record(task.record), task) for task in desk.unwritten() if task.state == "open"]
        self.show({}, f"Making {len(waiting):,} suggestions…")
        self.dialog.open()
        try:
            made = await run.io_bound(lambda: [self._app.background.suggest(own, task) for own, task in waiting])
        except InputError as error:
            self.note.text = str(error)
            return
        texts = {one.record: one.question for one in made or []}
        self.show(texts, "Look through them; records that you leave out stay open. Drafts are not touched.")


class ApplyPattern(Review):
    """One pattern for many records."""

    def __init__(self, app: OwnerApp, on_saved: Callable[[], Any]) -> None:
        super().__init__(app, "Apply a pattern", "pattern", on_saved)
        attributes = app.workspace.agreement.attributes
        with self.head:
            first = f"{{{attributes[0]} 1}}"
            text(
                "p",
                f"A pattern is a question in which {{{attributes[0]}}} stands for the record's own value, {first} for"
                " its first word, and {words} for all its words.",
            )
            self._field = (
                ui.textarea(label="Pattern", value=f"ret is_in({first}, lower($r))")
                .props("outlined autogrow")
                .classes("code")
            )
            with ui.row():
                self._all = ui.checkbox("Also records that have a question or draft already")
                ui.button("Preview", color=None, on_click=self._preview).props("no-caps outline").classes("button")

    def open(self) -> None:
        """Show the dialog."""
        self.show({}, "")
        self.dialog.open()

    async def _preview(self) -> None:
        pattern, desk = str(self._field.value or ""), self._app.desk
        chosen = [row.record for row in desk.rows() if self._all.value or row.state == "open"]
        try:
            patterns.check_pattern(pattern, self._app.workspace.agreement.attributes)
        except InputError as error:
            self.show({}, str(error))
            return
        filled = await run.io_bound(
            lambda: [patterns.fill(pattern, record, desk.record(record).prepared, desk.check) for record in chosen]
        )
        good = {one.record: one.question for one in filled or [] if not one.problem}
        bad = [one for one in filled or [] if one.problem]
        note = f"It fits {len(good):,} of {len(chosen):,} records."
        if bad:
            note += f" {desk.record(bad[0].record).id} is left out: {bad[0].problem}"
        self.show(good, note)


class ImportQuestions:
    """Questions from files."""

    def __init__(self, app: OwnerApp, on_saved: Callable[[], Any]) -> None:
        self._app, self._on_saved = app, on_saved
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
        desk = self._app.desk
        if problem:
            self._note.text = problem
            return
        try:
            texts = question_files.unpacked(self._app.uploads.take(tickets))
            before = [task for row in desk.rows() if (task := desk.task(row.record)) is not None]
            done = question_files.take_in(desk, texts)
        except InputError as error:
            self._note.text = str(error)
            return
        unknown = (
            f" {len(done.unknown)} files belong to no record of this round, {done.unknown[0]} the first."
            if done.unknown
            else ""
        )
        self._note.text = (
            f"{done.saved} questions saved, {done.drafts} kept as drafts because they have errors.{unknown}"
        )
        self._on_saved()
        changed = [task for task in before if desk.task(task.record) != task]
        if changed:
            offer_undo_of(self._app, changed, f"Imported {len(changed)} questions.", self._on_saved)
