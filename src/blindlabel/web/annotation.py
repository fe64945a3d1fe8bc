"""The annotation window: one own record, the editor, what is wrong with the question, what it would match, and the
actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nicegui import run, ui

from blindlabel.errors import InputError
from blindlabel.language import Question
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.web.components import QuestionEditor, RecordWords, Written, condition_for, key_button, text, words_of
from blindlabel.web.what_if import cost_sentence

if TYPE_CHECKING:
    from blindlabel.web.server import OwnerApp


class Annotation:
    """The window of one tab; it is built once and filled for each record."""

    def __init__(
        self,
        app: OwnerApp,
        *,
        on_leave: Callable[[], Any],
        on_shown: Callable[[int], Any],
        on_changed: Callable[[], Any],
        on_list_key: Callable[[str], Any],
    ) -> None:
        self._app = app
        self._desk = app.desk
        self._on_leave, self._on_shown, self._on_changed, self._on_list_key = (
            on_leave,
            on_shown,
            on_changed,
            on_list_key,
        )
        self._record: int | None = None
        self._round = 0
        self._last = Written("", "", 0)
        self._build()

    @property
    def record(self) -> int | None:
        """The record that is open; None where the list is shown."""
        return self._record

    # What it looks like

    def _build(self) -> None:
        with ui.element("section").classes("annotation").props('aria-label="Annotation"') as self._root:
            with ui.element("div").classes("annotation-nav").props('role=group aria-label="Records"'):
                key_button("Back to the list", "Esc", lambda: self.editor.run_method("act", "leave"))
                key_button("Previous", "Alt+P", lambda: self.editor.run_method("act", "previous"))
                key_button("Next", "Alt+N", lambda: self.editor.run_method("act", "next"))
                self._place = text("span", "", "quiet")
            with ui.element("div").classes("pane own"):
                with ui.element("div").classes("pane-head"):
                    self._title = text("h2", "")
                    self._state = text("span", "", "state")
                self._back_reason = text("p", "", "reason")
                self._words = RecordWords(self._insert_word)
                with ui.element("div").classes("other"):
                    text("strong", "$r")
                    text(
                        "span",
                        "The other side's record. You do not see it; your question is asked of every one of them.",
                    )
                with ui.element("div").classes("previous") as self._previous:
                    text("h3", "Your question of the round before")
                    self._previous_text = text("pre", "")
                    self._previous_text.props("tabindex=0")
                    ui.button("Start from it", color=None, on_click=self._start_from_previous).props(
                        "no-caps outline"
                    ).classes("button")
            with ui.element("div").classes("pane question"):
                self.editor = QuestionEditor(self._app.workspace, self._typed, self._acted)
                with (
                    ui.element("div")
                    .classes("findings")
                    .props("role=status aria-live=polite aria-label=Findings") as self._findings
                ):
                    pass
                with ui.element("div").classes("what-if").props("role=status aria-live=polite"):
                    self._matches = text("span", "", "matches")
                    self._cost = text("span", "", "cost")
                self._why = text("p", "", "why")
                self._build_buttons()
        self._root.set_visibility(False)

    def _build_buttons(self) -> None:
        with ui.element("div").classes("actions").props('role=group aria-label="Actions"'):
            self._changing = [
                key_button(
                    "Save and next", "Ctrl+Enter", lambda: self.editor.run_method("act", "save-next"), kind="main"
                ),
                key_button("Save", "Ctrl+S", lambda: self.editor.run_method("act", "save")),
                key_button("Suggest", "Alt+G", lambda: self.editor.run_method("act", "suggest")),
                key_button("Discard", "", lambda: self.editor.run_method("act", "discard")),
            ]

    # Opening and leaving

    def open(self, record: int) -> None:
        """Show a record."""
        task = self._desk.task(record)
        if task is None:
            return
        own, fixed = self._desk.record(record), not self._desk.writable
        self._record, self._round = record, task.round
        agreement = self._app.workspace.agreement
        self._title.text = own.id
        place, of = self._desk.place(record)
        self._place.text = f"Record {place:,} of {of:,}"
        self._words.show(own, agreement.preparation.steps, fixed=fixed)
        self._show_state(task)
        self._show_reason(task)
        self._why.text = ""
        for button in self._changing:
            button.set_enabled(not fixed)
        key = f"{agreement.hash[:16]}/{self._app.workspace.name}/{task.round}/{record}"
        self._last = Written(key, task.draft, 0)
        checked = self._desk.check(task.draft) if task.draft.strip() else None
        words = words_of(own, agreement.terms().case == "lower")
        self.editor.load(key, task.draft, words, checked.problems if checked else (), fixed=fixed)
        self.editor.set_mode("annotate")
        self._root.set_visibility(True)
        self.editor.focus()
        self._show_checked(checked)
        self._on_shown(record)

    def close(self) -> None:
        """Back to the list."""
        self._record = None
        self._root.set_visibility(False)
        self.editor.set_mode("list")
        self._on_leave()

    def refresh(self) -> None:
        """The round has changed under us: leave a record that is not asked any more, and fix what is handed in."""
        if self._record is None:
            return
        task = self._desk.task(self._record)
        if task is None or task.round != self._round:
            self.close()
        elif not self._desk.writable and self._changing[0].enabled:
            self.open(self._record)

    def _show_state(self, task: Task) -> None:
        self._state.text = task.state
        self._state.classes(replace=f"state state-{task.state}")

    def _show_reason(self, task: Task) -> None:
        why = "its question was too loose: it said yes to too many records" if task.loose else "the two sides disagreed"
        self._back_reason.text = f"Back in round {task.round}: {why}."
        self._back_reason.set_visibility(task.disagreed or task.loose)
        self._previous.set_visibility(bool(task.previous))
        self._previous_text.text = task.previous[-1][1].rstrip("\n") if task.previous else ""

    # What the person does

    def _typed(self, written: Written) -> None:
        if self._is_stale(written):
            return
        self._last = written
        if not self._keep(written):
            return
        self._show_checked(self._desk.check(written.text) if written.text.strip() else None, written.version)

    def _is_stale(self, written: Written) -> bool:
        return self._record is None or written.key != self._last.key

    def _keep(self, written: Written) -> bool:
        assert self._record is not None
        try:
            self._desk.save_draft(self._record, written.text)
        except InputError as error:
            ui.notify(str(error), type="warning")
            return False
        self.editor.kept(written)
        self._show_state_now()
        return True

    def _show_state_now(self) -> None:
        task = self._desk.task(self._record) if self._record is not None else None
        if task is not None:
            self._show_state(task)
            self._on_changed()

    async def _acted(self, written: Written) -> None:
        name = written.action
        if self._record is None:
            self._on_list_key(name)
            return
        if name in ("save", "save-next", "suggest", "discard") and not self._desk.writable:
            return
        if name in ("save", "save-next"):
            self._save(written, then_next=name == "save-next")
        elif name == "suggest":
            await self._suggest()
        elif name == "discard":
            self._discard()
        elif name == "leave":
            self.close()
        elif name in ("next", "previous"):
            self._step(1 if name == "next" else -1)

    def _save(self, written: Written, *, then_next: bool) -> None:
        if self._is_stale(written):
            return
        assert self._record is not None
        try:
            checked = self._desk.save(self._record, written.text)
        except InputError as error:
            ui.notify(str(error), type="warning")
            return
        self.editor.kept(written)
        self._show_state_now()
        if not checked.ok:
            self._show_checked(checked, written.version)
            ui.notify("Kept as a draft: it has an error.", type="warning", position="bottom-right")
            return
        if not then_next:
            self._show_checked(checked, written.version)
            ui.notify("Saved.", type="positive", position="bottom-right", timeout=1200)
            return
        following = self._desk.next_unwritten(self._record)
        if following is None:
            ui.notify("Saved. Every record of this round has a question.", type="positive", position="bottom-right")
            self.close()
        else:
            self.open(following)

    async def _suggest(self) -> None:
        record = self._record
        assert record is not None
        task = self._desk.task(record)
        if task is None:
            return
        try:
            suggested = await run.io_bound(self._app.background.suggest, self._desk.record(record), task)
        except InputError as error:
            ui.notify(str(error), type="warning")
            return
        if record == self._record and suggested is not None:
            self._why.text = f"Suggested: {suggested.why}" if suggested.why else ""
            self.editor.replace(suggested.question)

    def _discard(self) -> None:
        record = self._record
        assert record is not None
        before = self._desk.task(record)
        if before is None or before.state == "open":
            return
        self._desk.discard(record)
        self.open(record)

        def undo() -> None:
            self._desk.restore(before)
            if self._record == record:
                self.open(record)

        self._app.offer_undo("Discarded.", undo)

    def _step(self, step: int) -> None:
        assert self._record is not None
        following = self._desk.neighbour(self._record, step)
        if following is None:
            ui.notify(
                "This is the last record." if step > 0 else "This is the first record.",
                position="bottom-right",
                timeout=1200,
            )
        else:
            self.open(following)

    def _insert_word(self, word: str) -> None:
        if self._desk.writable:
            self.editor.insert(condition_for(word, self._app.workspace))

    def _start_from_previous(self) -> None:
        if (
            self._record is not None
            and self._desk.writable
            and (task := self._desk.task(self._record))
            and task.previous
        ):
            self.editor.replace(task.previous[-1][1])

    # What is shown about the text

    def _show_checked(self, checked: Question | None, version: int | None = None) -> None:
        self._findings.clear()
        self._matches.text = self._cost.text = ""
        if checked is None:
            return
        if version is not None:
            self.editor.show(version, checked.problems)
        with self._findings:
            for one in checked.problems[:5]:
                place = f"Line {one.span.line}, column {one.span.column}"
                finding = ui.button(color=None, on_click=lambda start=one.span.start: self.editor.go(start)).props(
                    "no-caps flat dense align=left"
                )
                with finding.classes(f"finding finding-{one.severity}"):
                    text("span", place, "place")
                    text("span", one.message + (f" {one.hint}" if one.hint else ""))
            if len(checked.problems) > 5:
                text("span", f"and {len(checked.problems) - 5} more", "place")
        if checked.formula is not None and self._record is not None:
            self._cost.text = cost_sentence(checked.formula)
            self._try_on_own_records(checked, self._desk.record(self._record))

    def _try_on_own_records(self, checked: Question, own: OwnRecord) -> None:
        """Say how many own records match; at once where the table is ready, else when it is."""
        formula, last, record = checked.formula, self._last, self._record
        assert formula is not None
        background = self._app.background
        if not background.ready:
            self._matches.text = "Reading your table…"

        async def count() -> None:
            found = await run.io_bound(background.matches, formula, own.prepared)
            cost = await run.io_bound(background.cost, formula)
            if found is None or (last, record) != (self._last, self._record):
                return
            rows = f"{'a sample of ' if found.sampled else ''}your own {found.rows:,} records"
            itself = "this one included" if found.itself else "but not this one"
            self._cost.text = cost or ""
            self._matches.text = f"Matches {found.matches:,} of {rows}, {itself}."
            self._matches.classes(replace="matches" if found.itself else "matches warn")

        with self._root:
            ui.timer(0, count, once=True)
