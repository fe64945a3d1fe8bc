"""What a person can do about a record that came back: keep the question, ask for less or for more, or let another be
suggested; each with its verdict and with what it does differently.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nicegui import run, ui

from blindlabel.errors import InputError
from blindlabel.language import Question
from blindlabel.language.points import PointsQuestion, points_written
from blindlabel.parties.asking import check_question
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.web import points_editing as editing
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import text
from blindlabel.web.verdicts import Judged


@dataclass(frozen=True)
class Choice:
    """One way to go on."""

    name: str
    question: str
    verdict: Judged
    difference: str
    suggested: bool = False


class Choices:
    """The choices of a later round; not shown in the first."""

    def __init__(self, app: OwnerApp, on_choice: Callable[..., Any]) -> None:
        self._app, self._on_choice = app, on_choice
        self._choices: list[Choice] = []
        self._shown: tuple[int, int] | None = None
        with ui.element("section").classes("pane choices").props('aria-label="Ways to go on"') as self._root:
            text("h3", "You asked before; what now?")
            self._list = ui.element("div").classes("choice-list")
        self._root.set_visibility(False)

    async def show(self, own: OwnRecord, task: Task, *, fixed: bool) -> None:
        """Show the choices for a record."""
        self._shown = (own.record, task.round)
        self._root.set_visibility(bool(task.previous) and not fixed)
        self._list.clear()
        self._choices = []
        if not task.previous or fixed:
            return
        made = await run.io_bound(self._made, own, task)
        if made is None or self._shown != (own.record, task.round):
            return
        self._choices = made
        with self._list:
            for place, choice in enumerate(made):
                self._build(place, choice)

    def _build(self, place: int, choice: Choice) -> None:
        button = ui.button(color=None, on_click=lambda: self.take(place)).props("no-caps flat align=left")
        with button.classes("choice"):
            with ui.element("span").classes("choice-name"):
                text("strong", choice.name)
                text("kbd", f"Alt+{place + 1}")
            text("span", choice.verdict.brief, f"chip chip-{choice.verdict.level}")
            text("span", choice.difference, "choice-difference")

    def take(self, place: int) -> None:
        """Take one of the choices."""
        if place < len(self._choices):
            choice = self._choices[place]
            self._on_choice(choice.question, suggested=choice.suggested)

    def _made(self, own: OwnRecord, task: Task) -> list[Choice]:
        previous = task.previous[-1][1]
        checked = check_question(self._app.workspace.agreement, previous)
        before = self._points(checked)
        wanted = [("Keep it", previous, False)]
        if before is not None and before.conditions:
            found = self._app.judging.neighbours(own, task, before)
            wanted += [(name, made.text, False) for name, made in found.items()]
        with contextlib.suppress(InputError):  # a suggestion that cannot be used is none; the others remain
            wanted.append(("Suggest another", self._app.judging.suggest(own, task).text, True))
        choices = [self._choice(own, before, *one) for one in wanted]
        return [one for one in choices if one is not None]

    def _choice(
        self, own: OwnRecord, before: PointsQuestion | None, name: str, question: str, suggested: bool
    ) -> Choice | None:
        checked = check_question(self._app.workspace.agreement, question)
        if checked.formula is None:
            return None
        after = self._points(checked)
        verdict = self._app.judging.verdict(own, question, checked.formula)
        said = editing.difference(before, after) if before and after else "written differently"
        return Choice(name, question, verdict, "as it was asked" if name == "Keep it" else said, suggested)

    def _points(self, checked: Question) -> PointsQuestion | None:
        if checked.formula is None:
            return None
        return points_written(checked.tree, checked.formula, self._app.workspace.agreement.terms().limits)
