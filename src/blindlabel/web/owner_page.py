"""The owner's page as one tab sees it: who sits here (a name, asked once, for the annotation log and for sharing the
work; it stays here), the header with progress and help, the offer to practise and its result, the list, the annotation
window, how the study stands, and handing in a round. A practice is the same page over its own workspace.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nicegui import run, ui

from blindlabel.errors import InputError
from blindlabel.language.suggestions import RISKIEST
from blindlabel.protocol.interfaces import BULK, CHANGED, PERSON, SUGGESTED
from blindlabel.storage.access import Access, Session
from blindlabel.storage.annotations import Team, Visit
from blindlabel.web import bulk, reference
from blindlabel.web.annotation import Annotation
from blindlabel.web.app import OwnerApp, Seat
from blindlabel.web.components import button, counted, tell, text, time_left
from blindlabel.web.question_pane import Written
from blindlabel.web.record_list import RecordList
from blindlabel.web.standing_panel import StandingPanel, Verifying

# How long the rest of a round will take a person, from that person's own pace

LONGEST_VISIT = 600.0
"""Seconds; a record that was open for longer was left alone, not worked on."""
LATEST_VISITS = 15
LEAST_VISITS = 3
"""With fewer records than this, nothing is said."""


def seconds_left(saved: Sequence[Visit], left: int) -> float | None:
    """Seconds until the last record, by the median of a person's latest saved ones, or None if that is not known."""
    taken = [one.saved - one.opened for one in saved if one.saved and one.saved - one.opened <= LONGEST_VISIT]
    return left * statistics.median(taken[-LATEST_VISITS:]) if len(taken) >= LEAST_VISITS and left else None


# Who sits here


class NameDialog:
    """The dialog that asks for the name."""

    def __init__(self, access: Access, browser: str, team: Team, on_named: Callable[[str], Any]) -> None:
        self._access, self._browser, self._on_named = access, browser, on_named
        with ui.dialog().props('aria-label="Your name"') as self.dialog, ui.card().classes("sheet"):
            text("h2", "Who are you?")
            text(
                "p",
                "Your name goes into this workspace's log of who wrote which question and how long it took. It is not"
                " sent to anybody. The coordinator is told how many questions are saved, and not by whom.",
            )
            if team.names:
                with ui.element("div").classes("actions"):
                    for name in team.names:
                        button(name, partial(self._named, name))
            else:
                field = ui.input(label="Name").props("outlined dense maxlength=60 autofocus")
                field.on("keydown.enter", lambda it: self._named(str(it.args)), js_handler="e => emit(e.target.value)")
                with ui.element("div").classes("actions"):
                    button("Begin", lambda: self._named(str(field.value or "")), "main")
            self._problem = text("p", "", "reason")
            self._problem.set_visibility(False)

    def _named(self, name: str) -> None:
        try:
            kept = self._access.name(self._browser, name)
        except InputError as error:
            self._problem.text = str(error)
            self._problem.set_visibility(True)
            return
        self.dialog.close()
        self._on_named(kept)


# Handing in

_KINDS = {
    "good": ("would probably find its partner and no other row", "would probably find their partner and no other row"),
    "strict": ("is strict", "are strict"),
    "few": ("is tried on too few rows", "are tried on too few rows"),
    "relatives": ("lets imagined relatives pass", "let imagined relatives pass"),
    "others": ("also fits other rows", "also fit other rows"),
    "too-strict": ("is too strict", "are too strict"),
    "loose": ("is far too loose", "are far too loose"),
    "not-itself": ("does not fit its own record", "do not fit their own record"),
    "never": ("says no to everything", "say no to everything"),
    "always": ("says yes to everything", "say yes to everything"),
}
"""The words for one question, and for several."""
_SOURCES = {
    SUGGESTED: "suggested and not edited",
    CHANGED: "suggested and changed",
    PERSON: "written by a person",
    BULK: "saved many at once",
}


class HandIn:
    """The dialog."""

    def __init__(self, app: OwnerApp, on_open: Callable[[int], Any], on_done: Callable[[], Any]) -> None:
        self._app, self._on_open, self._on_done = app, on_open, on_done
        with ui.dialog().props('aria-label="Hand in the round"') as self._dialog, ui.card().classes("sheet wide"):
            self._body = ui.element("div")

    async def open(self) -> None:
        """Show what would be handed in."""
        self._body.clear()
        with self._body:
            text("h2", "Hand in the round?")
            text("p", "Judging the questions…", "quiet")
        self._dialog.open()
        self._app.cache.reread()
        await run.io_bound(self._app.judge_saved)
        self._body.clear()
        with self._body:
            self._build()

    def _build(self) -> None:
        cache = self._app.cache
        missing = [task for task in cache.tasks.values() if task.question is None]
        changed = [task for task in cache.tasks.values() if task.question is not None and task.state == "draft"]
        text("h2", "Hand in the round?" if not missing else "The round is not complete")
        if missing:
            text("p", f"There is no saved question yet for {counted(len(missing), 'record')}.")
            self._buttons(main=("Go to the first", lambda: self._go(missing[0].record)))
            return
        self._build_figures()
        if changed:
            text("p", f"{len(changed):,} have a draft that is newer than the saved question; the saved one is asked.")
        text("p", "The questions are then fixed and will be asked. Records that disagree come back in the next round.")
        self._buttons(main=("Hand in", self._hand_in))

    def _build_figures(self) -> None:
        cache, judging = self._app.cache, self._app.judging
        verdicts = {record: judging.known_verdict(record, task.question) for record, task in cache.tasks.items()}
        kinds = Counter(verdict.kind for verdict in verdicts.values() if verdict is not None)
        sources = Counter(task.source or PERSON for task in cache.tasks.values())
        text("p", said([(kinds[kind], _KINDS[kind][kinds[kind] != 1]) for kind in reversed(RISKIEST)]), "handing-in")
        text("p", said([(sources[name], _SOURCES.get(name, name)) for name in sources]), "handing-in")
        dubious = [(record, one) for record, one in verdicts.items() if one is not None and one.level == "bad"]
        dubious.sort(key=lambda one: RISKIEST.index(one[1].kind))
        if dubious:
            text("h3", "Look at these once more")
            with (
                ui.element("div").classes("dubious").props('tabindex=0 role=region aria-label="Dubious questions"'),
                ui.element("ul"),
            ):
                for record, verdict in dubious:
                    with ui.element("li"):
                        button(cache.records[record].id, partial(self._go, record), "flat dense")
                        text("span", verdict.headline, f"chip chip-{verdict.level}")

    def _buttons(self, main: tuple[str, Callable[[], Any]]) -> None:
        with ui.element("div").classes("actions"):
            button(*main, "main autofocus")
            button("Not yet", self._dialog.close)

    def _go(self, record: int) -> Any:
        self._dialog.close()
        return self._on_open(record)

    def _hand_in(self) -> None:
        self._dialog.close()
        try:
            self._app.cache.hand_in()
        except InputError as error:
            tell(str(error), "problem")
        self._on_done()


def said(figures: list[tuple[int, str]]) -> str:
    """Figures as a sentence, without those that are zero."""
    found = [f"{number:,} {sentence}" for number, sentence in figures if number]
    return (", ".join(found) + ".") if found else ""


# Practice

OFFERED = "practice_offered_to"
"""The prefix under which it is remembered that a person said no, before the name."""


class PracticePanel:
    """In a study that is not over, offers practice to each person once; in a practice, says how it went."""

    def __init__(self, app: OwnerApp, seat: Seat) -> None:
        self._app, self._seat = app, seat
        with ui.element("section").classes("standing practice").props('aria-label="Practice"') as self._root:
            self._title = text("h2", "New here? Practise first" if app.practice is None else "Your practice")
            self._said = text("p", "")
            with ui.element("div").classes("actions") as self._actions:
                button("Practise", self.begin, "main")
                button("Not now", self._decline)
        self._actions.set_visibility(app.practice is None)
        self.refresh(writing=False)

    def refresh(self, *, writing: bool) -> None:
        """Show what applies now."""
        if self._app.practice is not None:
            self._said.text = self._app.practice.result().sentence
            self._root.set_visibility(not writing)
            return
        waiting = self._app.cache.progress().round == 0
        offered = not writing and self._seat.name and (self._app.cache.writable or waiting)
        self._root.set_visibility(bool(offered) and not self._is_no_newcomer())
        self._said.text = (
            "Eight invented records whose partners are known, on these same screens. After each question you see the"
            " truth: whether it finds the partner, and who else passes. None of it is sent to anybody."
        )

    def _is_no_newcomer(self) -> bool:
        """Whether this person has declined, practised, or saved a question already."""
        name, workspace = self._seat.name, self._app.workspace
        declined = workspace.remembered(f"{OFFERED} {name}") or self._app.practice_of(name)
        return bool(declined or self._app.cache.annotations.latest(name, 1))

    async def begin(self) -> None:
        """Go to this person's practice; made where there is none."""
        self._said.text = "Inventing eight records …"
        await run.io_bound(self._app.practice_of, self._seat.name, make=True)
        ui.navigate.to("/practice")

    def _decline(self) -> None:
        self._app.workspace.remember(f"{OFFERED} {self._seat.name}", "yes")
        self._root.set_visibility(False)


# The page

AWAY = (
    "The app does not answer. Nothing is lost: what you have typed is kept in this tab, and it goes on here as soon as"
    " blindlabel owner annotate runs again."
)
UNENCRYPTED = "Rehearsal: the plain engine encrypts nothing. Use invented records only."
PRACTISING = "Practice: every record here is invented, and nothing is sent to anybody."


class OwnerPage:
    """One tab."""

    def __init__(self, app: OwnerApp, session: Session, record: int | None) -> None:
        self._app, self._cache, self._session = app, app.cache, session
        self._client = ui.context.client
        self._edition: object = None
        self._seat = app.seat(session.name)
        self._build_dialogs()
        self._build_head()
        with ui.element("div").classes("page"):
            self._practice = PracticePanel(app, self._seat)
            with ui.element("div").classes("study") as study:
                self._verifying = Verifying(app)
                self._standing = StandingPanel(app)
            study.set_visibility(app.practice is None)
            self._list = RecordList(app, self._seat, self._open, self._next_open)
            self._annotation = Annotation(
                app,
                self._seat,
                on_leave=self._show_all,
                on_shown=self._shown,
                on_changed=self._show_progress,
                on_list_key=self._list_key,
            )
        self._show_all()
        ui.timer(1.0, self.tick)
        self._first = record if record is not None and self._cache.tasks.get(record) is not None else None
        if not self._seat.name:
            self._naming.dialog.open()
        else:
            self._begin()

    def _begin(self) -> None:
        """Once the name is known: the record in the address."""
        if self._first is not None:
            first = self._first
            ui.timer(0, lambda: self._annotation.open(first, self._list.order), once=True)

    def _named(self, name: str) -> None:
        self._seat.name = name
        self._who.text = self._who_sentence()
        self._show_all()
        self._begin()

    # What it looks like

    def _build_head(self) -> None:
        workspace = self._app.workspace
        practising = self._app.practice is not None
        if practising or workspace.agreement.encoding.engine == "plain":
            text("div", PRACTISING if practising else UNENCRYPTED, "banner").props("role=note")
        self._problem = text("div", "", "banner").props("role=alert")
        text("div", AWAY, "banner away").props("role=alert")
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
                for label, dialog in (("Criteria", self._agreed), ("Language", self._language), ("Keys", self._keys)):
                    button(label, dialog.open, "flat dense")
                if not practising:
                    button("Practice", self._practise, "flat dense")
                elif self._app.base != "/":
                    button("Back to the study", lambda: ui.navigate.to("/"), "flat dense")
                if self._session.signs_out:
                    button("Sign out", lambda: ui.navigate.to("/sign-out"), "flat dense")
            self._build_round_actions()

    def _who_sentence(self) -> str:
        workspace, name = self._app.workspace, self._seat.name
        for_whom = f"for {workspace.name} · {workspace.table_name}"
        return f"{name}, practising" if self._app.practice is not None else f"{name} {for_whom}".strip()

    def _build_round_actions(self) -> None:
        with ui.element("div").classes("round-actions") as self._round_actions:
            many = button("Many at once", look="outline dense icon-right=expand_more")
            with many, ui.menu().props("auto-close"):
                ui.menu_item("Suggest for all open records…", self._suggest_all.open)
                ui.menu_item("Apply a pattern…", self._pattern.open)
                ui.menu_item("Import questions…", self._import.dialog.open)
                ui.menu_item("Export questions", self._export_questions)
            self._hand_in_button = button("Hand in the round", self._hand_in.open, "main dense")

    def _build_dialogs(self) -> None:
        workspace = self._app.workspace
        self._agreed = reference.agreed_dialog(workspace)
        self._language = reference.language_dialog(workspace)
        self._keys = reference.keys_dialog()
        self._suggest_all = bulk.SuggestAll(self._app, lambda: self._seat, self._show_all, self._edit)
        self._pattern = bulk.ApplyPattern(self._app, lambda: self._seat, self._show_all, self._edit)
        self._import = bulk.ImportQuestions(self._app, lambda: self._seat, self._show_all)
        self._hand_in = HandIn(self._app, self._open, self._show_all)
        self._naming = NameDialog(Access(workspace.database), self._session.browser, self._cache.team, self._named)

    # What changes

    async def tick(self) -> None:
        """Look whether another process or tab has changed something; a disconnected tab needs nothing."""
        if not self._client.has_socket_connection:
            return
        self._cache.refresh()
        if self._edition != self._shown_edition():
            self._annotation.refresh()
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
        self._round_actions.set_visibility(self._cache.writable and self._app.practice is None)
        self._practice.refresh(writing=writing)
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
        so_far = f"Round {progress.round} of {progress.rounds}: {progress.saved:,} of {progress.asked:,}"
        if progress.handed_in:
            return f"{so_far} saved and handed in"
        drafts = f", {counted(progress.drafts, 'draft')}" if progress.drafts else ""
        left = len(self._seat.unwritten())
        seconds = seconds_left(self._cache.annotations.latest(self._seat.name), left)
        return f"{so_far} saved{drafts}{time_left(seconds)}"

    # What the person does

    async def _practise(self) -> None:
        await self._practice.begin()

    async def _open(self, record: int) -> None:
        self._list.root.set_visibility(False)
        ui.navigate.history.push(f"{self._app.base}?record={record}")
        self._annotation.open(record, self._list.order)

    async def _edit(self, record: int, question: str) -> None:
        await self._open(record)
        self._annotation.put(question)

    def _shown(self, record: int) -> None:
        ui.navigate.history.replace(f"{self._app.base}?record={record}")
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
        elif written.action == "help":
            self._keys.open()

    def _export_questions(self) -> None:
        try:
            content = bulk.archive_of_questions(self._cache)
        except InputError as error:
            tell(str(error), "problem")
            return
        ui.download.content(content, f"questions-round-{self._cache.state.round}.zip", "application/zip")
