"""Handing in a round: what the questions are like, which of them are dubious, and then they are fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from nicegui import run, ui

from blindlabel.errors import InputError
from blindlabel.protocol.interfaces import BULK, CHANGED, PERSON, SUGGESTED
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import text
from blindlabel.web.telling import tell
from blindlabel.web.verdicts import RISKIEST, Judged

_KINDS = {
    "only": ("fits only its own record", "fit only their own record"),
    "others": ("also fits other rows", "also fit other rows"),
    "loose": ("is far too loose", "are far too loose"),
    "not-itself": ("does not fit its own record", "do not fit their own record"),
    "never": ("says no to everything", "say no to everything"),
    "always": ("says yes to everything", "say yes to everything"),
}
"""What is said of one question, and of several."""
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
            one = len(missing) == 1
            text("p", f"{len(missing):,} record{' has' if one else 's have'} no saved question yet.")
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
                    self._build_dubious(record, verdict)

    def _build_dubious(self, record: int, verdict: Judged) -> None:
        with ui.element("li"):
            ui.button(self._app.cache.record(record).id, color=None, on_click=lambda: self._go(record)).props(
                "no-caps flat dense"
            ).classes("button")
            text("span", verdict.headline, f"chip chip-{verdict.level}")

    def _buttons(self, main: tuple[str, Callable[[], Any]]) -> None:
        with ui.element("div").classes("actions"):
            ui.button(main[0], color=None, on_click=main[1]).props("no-caps unelevated autofocus").classes(
                "button main"
            )
            ui.button("Not yet", color=None, on_click=self._dialog.close).props("no-caps outline").classes("button")

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
    """Figures as a sentence, those that are zero left out."""
    found = [f"{number:,} {sentence}" for number, sentence in figures if number]
    return (", ".join(found) + ".") if found else ""
