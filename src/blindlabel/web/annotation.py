"""The annotation window: one of the owner's records, its question, the verdict on it, and going from record to
record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nicegui import background_tasks, run, ui

from blindlabel.errors import InputError
from blindlabel.language import Question
from blindlabel.language.chain import term_text
from blindlabel.language.suggestions import Verdict
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.storage.annotations import difference, source_of
from blindlabel.storage.round_questions import WrittenMeanwhile
from blindlabel.web.app import OwnerApp, Seat
from blindlabel.web.choices import Choices, Overtaken
from blindlabel.web.components import key_button, offer_undo, tell, text
from blindlabel.web.question_pane import QuestionPane, TruthPane, Written
from blindlabel.web.record_pane import RecordPane, asked_for


class Annotation:
    """The window of one tab; it is built once and filled for each record."""

    def __init__(
        self,
        app: OwnerApp,
        seat: Seat,
        *,
        on_leave: Callable[[], Any],
        on_shown: Callable[[int], Any],
        on_changed: Callable[[], Any],
        on_list_key: Callable[[Written], Any],
    ) -> None:
        self._app, self._cache, self.seat = app, app.cache, seat
        self._on_leave, self._on_shown, self._on_changed = on_leave, on_shown, on_changed
        self._on_list_key = on_list_key
        self._record: int | None = None
        self._order: Sequence[int] = ()
        self._round = 0
        self._visit: int | None = None
        self._suggestion: str | None = None
        self._loaded = ""
        self._base = ""
        """The newest text about the record that this tab knows: it only overwrites this text, no other."""
        self._last = Written("", 0, "", 0)
        self._confirming = ""
        """The text that will be saved despite a bad verdict when the person saves again."""
        self._build()

    @property
    def record(self) -> int | None:
        """The record that is open, or None if the list is shown."""
        return self._record

    def _build(self) -> None:
        with ui.element("section").classes("annotation").props('aria-label="Annotation"') as self._root:
            with ui.element("div").classes("annotation-nav").props('role=group aria-label="Records"'):
                for label, name in (("Back to the list", "leave"), ("Previous", "previous"), ("Next", "next")):
                    key_button(label, name, partial(self._act, name))
                self._place = text("span", "", "quiet")
            self._own = RecordPane(self._app, self._word_clicked)
            with ui.element("div").classes("right"):
                self._overtaken = Overtaken(self._take_theirs, self._keep_mine)
                self._choices = Choices(self._app, self._chosen)
                self._pane = QuestionPane(self._app, self._typed, self._acted)
                self._truth = TruthPane(self._chosen)
                self._pane.verdict.build_evidence()
        self._root.set_visibility(False)

    def _act(self, name: str) -> None:
        self._pane.editor.act(name)

    # Opening and leaving

    def open(self, record: int, order: Sequence[int] | None = None) -> None:
        """Show a record; `order` is the order of the list, for going on from here. What takes a while follows."""
        task = self.seat.task(record)
        if task is None:
            return
        self._order = self._order if order is None else order
        own, fixed = self._cache.records[record], self._why_fixed(record)
        self._record, self._round, self._confirming, self._base = record, task.round, "", task.draft
        self._overtaken.hide()
        self._truth.clear()
        self._choices.hide()
        self._own.show(own, task, fixed=bool(fixed))
        self._show_place()
        shown = (task.question or "") if fixed else task.draft
        if not fixed and task.state == "open" and task.previous:
            shown = task.previous[-1][1]
        key = f"{self._app.workspace.agreement.hash[:16]}/{self._app.workspace.name}/{self.seat.name}"
        self._last = Written(f"{key}/{task.round}/{record}", self._last.serial + 1, shown, 0)
        self._loaded = shown
        checked = self._pane.load(self._last.key, self._last.serial, shown, own, self._own.words, fixed)
        self._pane.editor.listen(annotating=True)
        self._root.set_visibility(True)
        self._pane.show(shown, checked)
        self._pane.focus()
        self._begin_visit(task, fixed=bool(fixed))
        self._on_shown(record)
        background_tasks.create(self._follow(self._last, own, task, checked))

    async def _follow(self, shown: Written, own: OwnRecord, task: Task, checked: Question | None) -> None:
        with self._root:
            if self._last == shown:
                await self._judge(checked, shown.text)
            await self._tell_truth(own, task)
            await self._own.shade()
            if self._last.serial == shown.serial:
                if not self._pane.editor.is_behind:
                    self._pane.points.show(self._last.text, self._cache.check(self._last.text))
                await self._choices.show(own, task, fixed=bool(self._why_fixed(own.record)))

    def _why_fixed(self, record: int) -> str:
        if not self._cache.writable:
            return f"Round {self._cache.state.round} has been handed in; its questions are fixed."
        first = self._cache.team.first(record)
        if not self.seat.is_mine(record):
            return f"{first} is asked about this record, so it is not yours to write."
        return ""

    def _begin_visit(self, task: Task, *, fixed: bool) -> None:
        self._visit, self._suggestion = None, None
        if not fixed:
            self._visit = self._cache.annotations.opened(self.seat.name, task.round, task.record)
            self._suggestion = self._cache.annotations.last_suggestion(task.round, task.record)

    def _around(self) -> tuple[Sequence[int], int]:
        """The records among which the open one stands, and its place."""
        assert self._record is not None
        order = self._order if self._record in self._order else list(self._cache.tasks)
        return order, order.index(self._record)

    def _show_place(self) -> None:
        order, place = self._around()
        here, all_of_them = len(order), len(self._cache.tasks)
        shown = "" if here == all_of_them else f" shown; the round has {all_of_them:,}"
        self._place.text = f"Record {place + 1:,} of {here:,}{shown}"

    def put(self, question: str) -> None:
        """Put a question in, like a suggestion, to be changed here."""
        self._show_suggestion(question, "")

    def close(self, *, by_history: bool = False) -> None:
        """Back to the list."""
        self._record = None
        self._root.set_visibility(False)
        self._pane.editor.listen(annotating=False)
        if not by_history:
            ui.navigate.history.replace(self._app.base)
        self._on_leave()

    def refresh(self) -> None:
        """The round has changed: leave a record that is no longer asked about, and lock what is handed in."""
        if self._record is None:
            return
        task = self.seat.task(self._record)
        if task is None or task.round != self._round:
            self.close()
        elif self._visit is not None and self._why_fixed(self._record):
            self.open(self._record)
        else:
            self._own.show_mark()
            if task.draft not in (self._base, self._last.text) or self._overtaken.now not in (None, task):
                self._tell_overtaken(task)

    # What the person does

    async def _typed(self, written: Written) -> None:
        if self._is_stale(written):
            return
        self._last = written
        self._choices.follow(written.text)
        if written.text != self._confirming:
            self._confirming = ""
            self._pane.confirm("")
        if written.text != self._suggestion:
            self._pane.explain("")
        if written.overtaken:
            self._tell_overtaken(self.seat.task(self._record or 0))
        if written.text != self._loaded:
            self._keep(written)
        checked = self._cache.check(written.text) if written.text.strip() else None
        self._pane.show(written.text, checked, written.version)
        await self._judge(checked, written.text)

    def _is_stale(self, written: Written) -> bool:
        return self._record is None or (written.key, written.serial) != (self._last.key, self._last.serial)

    def _keep(self, written: Written) -> None:
        """Keep what is typed, unless somebody else has written in the meantime and nothing is decided: then it waits in
        the tab.
        """
        assert self._record is not None
        if self._overtaken.now is not None:
            self._tell_overtaken(self._overtaken.now)
            return
        try:
            self.seat.save_draft(self._record, written.text, self._base)
            if self._visit is not None:
                self._cache.annotations.typed(self._visit)
                self._loaded = "\0"  # from now on every text is a change
        except WrittenMeanwhile as meanwhile:
            self._tell_overtaken(meanwhile.task_now)
            return
        except InputError as error:
            tell(str(error), "problem")
            return
        self._kept(written)

    def _kept(self, written: Written) -> None:
        self._base = written.text
        self._pane.editor.kept(written)
        self._show_state()

    # Somebody else at the same record

    def _tell_overtaken(self, now: Task | None) -> None:
        if now is not None:
            self._cache.refresh()
            second = self.seat.is_second(now.record)
            writer = self.seat.name if second else self._cache.writer(now.record)
            self._overtaken.show(now, writer, self.seat.name, self._last.text)

    def _take_theirs(self) -> None:
        now = self._overtaken.now
        if now is not None:
            self._base = now.draft
            self._overtaken.hide()
            self._pane.editor.replace(now.draft)

    def _keep_mine(self) -> None:
        now = self._overtaken.now
        if now is not None:
            self._base = now.draft
            self._overtaken.hide()
            self._keep(self._last)

    def _show_state(self) -> None:
        task = self.seat.task(self._record) if self._record is not None else None
        if task is not None:
            self._own.show_state(task)
            self._on_changed()

    async def _acted(self, written: Written) -> None:
        name = written.action
        if name == "go":
            self._go(written.detail)
        elif self._record is None:
            await self._on_list_key(written)
        elif name in ("save", "save-next"):
            await self._save(written, then_next=name == "save-next")
        elif name == "suggest":
            await self._suggest()
        elif name == "compare":
            await self._compare(written.text)
        elif name == "discard" and not self._is_stale(written):
            self._discard()
        elif name == "leave":
            self.close()
        elif name == "view":
            self._pane.switch()
        elif name == "unsure":
            self._own.toggle_unsure()
        elif name.startswith("option-"):
            self._choices.take(int(name[-1]) - 1)
        elif name in ("next", "previous"):
            self._step(1 if name == "next" else -1)

    def _go(self, record: str) -> None:
        """Forward and back in the browser."""
        if record.isdecimal() and self.seat.task(int(record)) is not None:
            self.open(int(record))
        elif self._record is not None:
            self.close(by_history=True)

    async def _save(self, written: Written, *, then_next: bool) -> None:
        if self._is_stale(written) or self._record is None or self._why_fixed(self._record):
            return
        record, question = self._record, written.text
        if not question.strip():
            tell("There is nothing to save yet: click a word of your record, or ask for a suggestion.", "problem")
            return
        checked = self._cache.check(question)
        verdict = await self._verdict_of(checked, question)
        if self._is_stale(written):
            return
        if verdict is not None and verdict.level == "bad" and self._confirming != question:
            self._confirming = question
            self._pane.confirm(f"{verdict.headline}. To save it all the same, save once more.")
            return
        try:
            source = source_of(question, self._suggestion)
            if self._suggestion is None:
                source = self._cache.source_before(record, question) or source
            self.seat.save(record, question, source, self._base)
            self._log_saved(question, source, verdict)
        except WrittenMeanwhile as meanwhile:
            self._tell_overtaken(meanwhile.task_now)
            return
        except InputError as error:
            tell(str(error), "problem")
            return
        self._kept(written)
        if self._last.version > written.version:  # typed since
            self._keep(self._last)
        self._pane.confirm("")
        if checked.ok and await self._tell_truth(self._cache.records[record], self.seat.task(record)):
            return
        if not checked.ok:
            self._pane.show(question, checked, written.version)
            tell("Not saved: it has an error. The text is kept as a draft.", "problem")
        elif then_next:
            self._go_on(record)
        else:
            tell("Saved.")

    async def _tell_truth(self, own: OwnRecord, task: Task | None) -> bool:
        """In practice: show what the saved question does; returns whether that was not shown before."""
        practice = self._app.practice
        if practice is None or task is None or task.question is None or task.question == self._truth.told:
            return False
        found = await run.io_bound(practice.told, own, task)
        if found is not None and own.record == self._record:
            self._truth.show(found, own, task.question)
        return True

    def _log_saved(self, question: str, source: str, verdict: Verdict | None) -> None:
        if self._visit is not None and verdict is not None:
            changed = None if self._suggestion is None else difference(self._suggestion, question)
            self._cache.annotations.saved(self._visit, question, source, changed, verdict.kind)

    def _go_on(self, record: int) -> None:
        following = self.seat.next_unwritten(record, self._order)
        if following is None:
            tell("Saved. Every record of this round has a question.")
            self.close()
        else:
            self.open(following)

    async def _suggest(self) -> None:
        record = self._record
        task = self.seat.task(record) if record is not None else None
        if record is None or task is None or self._why_fixed(record):
            return
        try:
            suggested = await run.io_bound(self._app.judging.suggest, self._cache.records[record], task)
        except InputError as error:
            tell(str(error), "problem")
            return
        if record == self._record and suggested is not None:
            points = suggested.chain
            enough = f"{points.bar} of {points.total} points are enough" if points.conditions else suggested.why
            self._pane.points.explain(suggested)
            self._show_suggestion(suggested.text, f"Suggested: {enough.rstrip('.')}. {suggested.history}".rstrip())

    async def _compare(self, question: str) -> None:
        """Show versions of the question side by side."""
        task = self.seat.task(self._record) if self._record is not None else None
        if task is None or not question.strip() or self._why_fixed(task.record):
            tell("There is nothing to compare yet: write a question, or ask for a suggestion.", "problem")
        else:
            await self._choices.show(self._cache.records[task.record], task, fixed=False, mine=question)

    def _show_suggestion(self, question: str, why: str) -> None:
        self._suggestion = question
        if self._visit is not None:
            self._cache.annotations.suggested(self._visit, question)
        self._pane.explain(why)
        self._pane.editor.replace(question, quietly=True)

    def _chosen(self, question: str, *, suggested: bool = False) -> None:
        """Somebody took one of the choices of a later round, or the better question of a practice."""
        if self._record is None or self._why_fixed(self._record):
            return
        if suggested:
            self._show_suggestion(question, "")
        else:
            self._pane.editor.replace(question, quietly=True)

    def _discard(self) -> None:
        record = self._record
        before = self.seat.task(record) if record is not None else None
        if record is None or before is None or before.state == "open" or self._why_fixed(record):
            return
        try:
            change = self.seat.discard(record, self._base)
        except WrittenMeanwhile as meanwhile:
            self._tell_overtaken(meanwhile.task_now)
            return
        self.open(record)

        async def undo() -> str:
            said = self.seat.take_back(change)
            if self._record == record:
                self.open(record)
            return said

        offer_undo("Discarded.", undo)

    def _step(self, step: int) -> None:
        order, here = self._around()
        place = here + step
        if 0 <= place < len(order) and self.seat.task(order[place]) is not None:
            self.open(order[place])
        else:
            tell("This is the last record." if step > 0 else "This is the first record.")

    def _word_clicked(self, word: str, attribute: str) -> None:
        if self._record is None or self._why_fixed(self._record):
            return
        if not self._pane.points.click(word, attribute):
            lowered = self._app.workspace.agreement.terms().case == "lower"
            self._pane.editor.run_method(
                "insert", term_text(asked_for(word, attribute, self._app.workspace), plain=lowered)
            )

    # The verdict

    async def _judge(self, checked: Question | None, question: str) -> None:
        """Show the verdict: at once if the table is ready, otherwise as soon as it is."""
        if checked is None or checked.formula is None:
            return
        if not self._app.judging.ready:
            self._pane.verdict.clear("Reading your table…")
        last, record = self._last, self._record
        verdict = await self._verdict_of(checked, question)
        if verdict is not None and record is not None and (last, record) == (self._last, self._record):
            self._pane.verdict.show(verdict, self._cache.records[record], checked)

    async def _verdict_of(self, checked: Question, question: str) -> Verdict | None:
        if checked.formula is None or self._record is None:
            return None
        own = self._cache.records[self._record]
        return await run.io_bound(self._app.judging.verdict, own, question)
