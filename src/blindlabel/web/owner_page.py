"""The owner's page as one tab sees it: the head with progress and help, the list, the annotation window, and how the
study stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from blindlabel.errors import InputError
from blindlabel.web import bulk, question_files, reference
from blindlabel.web.annotation import Annotation
from blindlabel.web.components import text
from blindlabel.web.record_list import RecordList
from blindlabel.web.standing import Standing

if TYPE_CHECKING:
    from blindlabel.web.server import OwnerApp

GUIDE_SEEN = "web_guide_seen"


class OwnerPage:
    """One tab."""

    def __init__(self, app: OwnerApp, record: int | None) -> None:
        self._app = app
        self._desk = app.desk
        self._edition = -1
        self._client = ui.context.client
        self._build_dialogs()
        self._build_head()
        with ui.element("div").classes("page"):
            self._standing = Standing(app)
            self._list = RecordList(app, self._open, self._next_open)
            self._annotation = Annotation(
                app, on_leave=self._left, on_shown=self._shown, on_changed=self.refresh, on_list_key=self._list_key
            )
        self.refresh()
        ui.timer(1.0, self.tick)
        if record is not None and self._desk.task(record) is not None:
            self._annotation.open(record)
        elif app.workspace.remembered(GUIDE_SEEN) != "yes":
            self._guide.open()

    def _build_head(self) -> None:
        workspace = self._app.workspace
        with ui.element("header").classes("head"):
            with ui.element("div").classes("title"):
                text("h1", workspace.agreement.name)
                text("span", f"{workspace.name} · {workspace.table_name}", "quiet")
            with ui.element("div").classes("progress"):
                self._progress_text = text("span", "")
                self._progress_text.props("role=status")
                self._bar = ui.linear_progress(0, show_value=False, color=None).props(
                    'rounded instant-feedback aria-label="Saved questions"'
                )
            with ui.element("nav").classes("help").props('aria-label="Help"'):
                for label, opener in (
                    ("Criteria", self._criteria.open),
                    ("Language", self._language.open),
                    ("Keys", self._keys.open),
                    ("Guide", self._guide.open),
                ):
                    ui.button(label, color=None, on_click=opener).props("no-caps flat dense").classes("button")
            with ui.element("div").classes("round-actions"):
                self._bulk = (
                    ui.button("Many at once", color=None)
                    .props("no-caps outline dense icon-right=expand_more")
                    .classes("button")
                )
                with self._bulk, ui.menu().props("auto-close"):
                    ui.menu_item("Suggest for all open records…", self._suggest_all.open)
                    ui.menu_item("Apply a pattern…", self._pattern.open)
                    ui.menu_item("Import questions…", self._import.dialog.open)
                    ui.menu_item("Export questions", self._export_questions)
                self._hand_in = ui.button("Hand in the round", color=None, on_click=self._ask_hand_in).props(
                    "no-caps unelevated dense"
                )
                self._hand_in.classes("button main")

    def _build_dialogs(self) -> None:
        workspace = self._app.workspace
        self._criteria = reference.criteria_dialog(workspace)
        self._language = reference.language_dialog(workspace)
        self._keys = reference.keys_dialog()
        self._guide = reference.guide_dialog(lambda: workspace.remember(GUIDE_SEEN, "yes"))
        self._suggest_all = bulk.SuggestAll(self._app, self.refresh)
        self._pattern = bulk.ApplyPattern(self._app, self.refresh)
        self._import = bulk.ImportQuestions(self._app, self.refresh)
        with ui.dialog().props('aria-label="Hand in the round"') as self._confirm, ui.card().classes("sheet"):
            text("h2", "Hand in the round?")
            text(
                "p",
                "The questions of this round are then fixed and will be asked. Records that disagree come back in the"
                " next round.",
            )
            with ui.element("div").classes("actions"):
                ui.button("Hand in", color=None, on_click=self._do_hand_in).props(
                    "no-caps unelevated autofocus"
                ).classes("button main")
                ui.button("Not yet", color=None, on_click=self._confirm.close).props("no-caps outline").classes(
                    "button"
                )

    # What changes

    def tick(self) -> None:
        """Look whether another process or tab has changed something; a tab that is away needs nothing."""
        if not self._client.has_socket_connection:
            return
        self._desk.refresh()
        self.refresh()
        if not self._desk.writable:
            self._standing.refresh()

    def refresh(self) -> None:
        """Show what has changed."""
        if self._edition == self._desk.edition:
            return
        self._edition = self._desk.edition
        progress = self._desk.progress()
        self._bar.value = progress.saved / progress.asked if progress.asked else 0.0
        self._progress_text.text = self._progress_sentence()
        self._hand_in.set_visibility(self._desk.writable)
        self._hand_in.set_enabled(progress.asked > 0 and progress.saved == progress.asked)
        self._bulk.set_visibility(self._desk.writable)
        self._annotation.refresh()
        self._list.root.set_visibility(progress.asked > 0 and self._annotation.record is None)
        if self._annotation.record is None:
            self._list.refresh()
        self._standing.refresh()
        self._standing.root.classes(**({"remove": "beside"} if self._annotation.record is None else {"add": "beside"}))

    def _progress_sentence(self) -> str:
        progress = self._desk.progress()
        if progress.over:
            return f"The study is over after round {progress.round} of {progress.rounds}"
        if not progress.asked:
            return "No round has begun"
        counted = f"Round {progress.round} of {progress.rounds}: {progress.saved:,} of {progress.asked:,} saved"
        if progress.handed_in:
            return f"{counted}, handed in"
        drafts = "1 draft" if progress.drafts == 1 else f"{progress.drafts:,} drafts"
        return f"{counted}, {drafts}, {progress.open:,} open"

    # What the person does

    def _open(self, record: int) -> None:
        self._list.root.set_visibility(False)
        self._annotation.open(record)

    def _shown(self, record: int) -> None:
        ui.navigate.history.replace(f"/?record={record}")
        self._edition = -1
        self.refresh()

    def _left(self) -> None:
        ui.navigate.history.replace("/")
        self._edition = -1
        self.refresh()

    def _next_open(self) -> None:
        following = self._desk.next_unwritten(self._annotation.record) if self._desk.writable else None
        if following is None:
            ui.notify("No record is open.", position="bottom-right", timeout=1500)
        else:
            self._open(following)

    def _list_key(self, name: str) -> None:
        if name == "next-open":
            self._next_open()
        elif name == "search":
            self._annotation.editor.focus_element(".search-field")
        elif name == "help":
            self._keys.open()

    def _ask_hand_in(self) -> None:
        self._confirm.open()

    def _do_hand_in(self) -> None:
        self._confirm.close()
        try:
            self._desk.hand_in()
        except InputError as error:
            ui.notify(str(error), type="warning")
        self.refresh()

    def _export_questions(self) -> None:
        try:
            content = question_files.archive(self._desk)
        except InputError as error:
            ui.notify(str(error), type="warning")
            return
        ui.download.content(content, f"questions-round-{self._desk.state.round}.zip", "application/zip")
