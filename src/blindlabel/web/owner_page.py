"""The owner's page as one tab sees it: the head with progress and help, the list, the annotation window, and how the
study stands.
"""

from __future__ import annotations

from nicegui import run, ui

from blindlabel.errors import InputError
from blindlabel.web import bulk, pace, question_files, reference
from blindlabel.web.annotation import Annotation
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import text
from blindlabel.web.editor import Written
from blindlabel.web.hand_in import HandIn
from blindlabel.web.naming import Naming
from blindlabel.web.record_list import RecordList
from blindlabel.web.standing import Standing
from blindlabel.web.telling import tell
from blindlabel.web.verifying import Verifying

GUIDE_SEEN = "web_guide_seen"
UNENCRYPTED = "Rehearsal: the plain engine encrypts nothing. Use invented records only."


class OwnerPage:
    """One tab."""

    def __init__(self, app: OwnerApp, browser: str, record: int | None) -> None:
        self._app, self._cache = app, app.cache
        self._client = ui.context.client
        self._edition: object = None
        self._seat = app.seat(self._cache.annotations.name_of(browser))
        self._build_dialogs(browser)
        self._build_head()
        with ui.element("div").classes("page"):
            self._verifying = Verifying(app)
            self._standing = Standing(app)
            self._list = RecordList(app, self._seat, self._open, self._next_open)
            self._annotation = Annotation(
                app,
                self._seat,
                on_leave=self._left,
                on_shown=self._shown,
                on_changed=self._show_progress,
                on_list_key=self._list_key,
            )
        self._show_all()
        ui.timer(1.0, self.tick)
        self._first = record if record is not None and self._cache.task(record) is not None else None
        if not self._seat.name:
            self._naming.dialog.open()
        else:
            self._begin()

    def _begin(self) -> None:
        """Once the name is known: the record in the address, or the guide at the first visit."""
        if self._first is not None:
            first = self._first
            ui.timer(0, lambda: self._annotation.open(first, self._list.order), once=True)
        elif self._app.workspace.remembered(GUIDE_SEEN) != "yes":
            self._guide.open()

    def _named(self, name: str) -> None:
        self._seat.name = name
        self._who.text = self._who_sentence()
        self._show_all()
        self._begin()

    # What it looks like

    def _build_head(self) -> None:
        workspace = self._app.workspace
        if workspace.agreement.encoding.engine == "plain":
            text("div", UNENCRYPTED, "banner").props("role=note")
        self._problem = text("div", "", "banner").props("role=alert")
        with ui.element("header").classes("head"):
            with ui.element("div").classes("title"):
                text("h1", workspace.agreement.name)
                self._who = text("span", self._who_sentence(), "quiet")
            with ui.element("div").classes("progress"):
                self._progress_text = text("span", "")
                self._progress_text.props("role=status")
                self._bar = ui.linear_progress(0, show_value=False, color=None).props(
                    'rounded instant-feedback aria-label="Saved questions"'
                )
            with ui.element("nav").classes("help").props('aria-label="Help"'):
                for label, opener in (
                    ("Criteria", self._agreed.open),
                    ("Language", self._language.open),
                    ("Keys", self._keys.open),
                    ("Guide", self._guide.open),
                ):
                    ui.button(label, color=None, on_click=opener).props("no-caps flat dense").classes("button")
            self._build_round_actions()

    def _who_sentence(self) -> str:
        workspace = self._app.workspace
        return f"{self._seat.name or 'somebody'} for {workspace.name} · {workspace.table_name}"

    def _build_round_actions(self) -> None:
        with ui.element("div").classes("round-actions") as self._round_actions:
            many = ui.button("Many at once", color=None).props("no-caps outline dense icon-right=expand_more")
            with many.classes("button"), ui.menu().props("auto-close"):
                ui.menu_item("Suggest for all open records…", self._suggest_all.open)
                ui.menu_item("Apply a pattern…", self._pattern.open)
                ui.menu_item("Import questions…", self._import.dialog.open)
                ui.menu_item("Export questions", self._export_questions)
            self._hand_in_button = ui.button("Hand in the round", color=None, on_click=self._hand_in.open)
            self._hand_in_button.props("no-caps unelevated dense").classes("button main")

    def _build_dialogs(self, browser: str) -> None:
        workspace = self._app.workspace
        self._agreed = reference.agreed_dialog(workspace)
        self._language = reference.language_dialog(workspace)
        self._keys = reference.keys_dialog()
        self._guide = reference.guide_dialog(lambda: workspace.remember(GUIDE_SEEN, "yes"))
        self._suggest_all = bulk.SuggestAll(self._app, lambda: self._seat, self._show_all)
        self._pattern = bulk.ApplyPattern(self._app, lambda: self._seat, self._show_all)
        self._import = bulk.ImportQuestions(self._app, lambda: self._seat, self._show_all)
        self._hand_in = HandIn(self._app, self._open, self._show_all)
        self._naming = Naming(self._cache.annotations, browser, self._cache.team, self._named)

    # What changes

    async def tick(self) -> None:
        """Look whether another process or tab has changed something; a tab that is away needs nothing."""
        if not self._client.has_socket_connection:
            return
        self._cache.refresh()
        if self._edition != self._shown_edition():
            await self._annotation.refresh()
            self._show_all()
            await run.io_bound(self._app.judge_saved)
        self._verifying.refresh()
        self._standing.refresh()

    def _shown_edition(self) -> object:
        return self._cache.edition, self._app.judging.edition, self._app.judging.problem, self._annotation.record

    def _show_all(self) -> None:
        """Show what has changed."""
        self._edition = self._shown_edition()
        self._problem.text = self._app.judging.problem
        self._problem.set_visibility(bool(self._problem.text))
        self._show_progress()
        writing = self._annotation.record is not None
        self._round_actions.set_visibility(self._cache.writable)
        self._list.root.set_visibility(bool(self._cache.tasks) and not writing)
        if not writing:
            self._list.refresh()
        self._verifying.refresh()
        self._standing.refresh()
        self._standing.root.classes(**({"add": "beside"} if writing else {"remove": "beside"}))

    def _show_progress(self) -> None:
        progress = self._cache.progress()
        self._bar.value = progress.saved / progress.asked if progress.asked else 0.0
        self._progress_text.text = self._progress_sentence()

    def _progress_sentence(self) -> str:
        progress = self._cache.progress()
        if progress.over:
            return f"The study is over after round {progress.round} of {progress.rounds}"
        if not progress.asked:
            return "Nothing is asked of you now" if progress.round else "No round has begun"
        counted = f"Round {progress.round} of {progress.rounds}: {progress.saved:,} of {progress.asked:,}"
        if progress.handed_in:
            return f"{counted} saved and handed in"
        drafts = "" if not progress.drafts else f", {progress.drafts:,} draft{'' if progress.drafts == 1 else 's'}"
        left = len(self._seat.unwritten())
        return f"{counted} saved{drafts}{pace.in_words(self._seconds_left(left))}"

    def _seconds_left(self, left: int) -> float | None:
        return pace.seconds_left(self._cache.annotations.latest(self._seat.name), self._seat.name, left)

    # What the person does

    async def _open(self, record: int) -> None:
        self._list.root.set_visibility(False)
        ui.navigate.history.push(f"/?record={record}")
        await self._annotation.open(record, self._list.order)

    def _shown(self, record: int) -> None:
        ui.navigate.history.replace(f"/?record={record}")
        self._show_all()

    def _left(self) -> None:
        self._show_all()

    async def _next_open(self) -> None:
        following = self._seat.next_unwritten(None, self._list.order) if self._cache.writable else None
        if following is None:
            tell("No record is open.")
        else:
            await self._open(following)

    async def _list_key(self, written: Written) -> None:
        if written.action == "next-open":
            await self._next_open()
        elif written.action == "search":
            self._annotation.focus_search()
        elif written.action == "help":
            self._keys.open()

    def _export_questions(self) -> None:
        try:
            content = question_files.archive(self._cache)
        except InputError as error:
            tell(str(error), "problem")
            return
        ui.download.content(content, f"questions-round-{self._cache.state.round}.zip", "application/zip")
