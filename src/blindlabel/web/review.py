"""Questions for many records, looked through before they are saved: the riskiest first, each with its record, its
verdict and what it asks for, and nothing chosen that has not been on the screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import run, ui

from blindlabel.errors import InputError
from blindlabel.language.points import points_written
from blindlabel.parties.asking import check_question
from blindlabel.protocol.interfaces import BULK, Task
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import ReviewCards, text
from blindlabel.web.points_editing import summary
from blindlabel.web.telling import offer_undo, tell
from blindlabel.web.verdict_pane import record_with_hits
from blindlabel.web.verdicts import RISKIEST

AT_ONCE = 50
"""Cards that are shown together; the next ones follow when these are done."""


class Review:
    """A dialog that shows questions for many records, to be accepted all or in part."""

    def __init__(self, app: OwnerApp, title: str, on_saved: Callable[[], Any], author: Callable[[], str]) -> None:
        self._app, self._on_saved, self._author = app, on_saved, author
        self._texts: dict[int, str] = {}
        self._waiting: list[dict[str, Any]] = []
        self._chosen: list[int] = []
        with ui.dialog().props(f'aria-label="{title}"') as self.dialog, ui.card().classes("sheet widest"):
            text("h2", title)
            self.head = ui.element("div").classes("review-head")
            self.note = text("p", "", "quiet")
            self.note.props("role=status")
            self._cards = ReviewCards(self._choose, self._save)
            with ui.element("div").classes("actions"):
                self._accept = (
                    ui.button("Accept", color=None, on_click=self._save)
                    .props("no-caps unelevated")
                    .classes("button main")
                )
                ui.button("Close", color=None, on_click=self.dialog.close).props("no-caps outline").classes("button")
                text("span", "J and K move, space chooses, enter accepts.", "quiet")

    async def show(self, texts: dict[int, str], note: str) -> None:
        """Show these questions; those that fit only their record are chosen once they have been seen."""
        self._texts, self._waiting = texts, []
        self.note.text = note
        self._show_next()
        if texts:
            made = await run.io_bound(lambda: [self._card(record, question) for record, question in texts.items()])
            self._waiting = sorted(made or [], key=lambda card: card["risk"])
            self._show_next()

    def _show_next(self) -> None:
        self._cards.show(self._waiting[:AT_ONCE])
        self._choose([])

    def _card(self, record: int, question: str) -> dict[str, Any]:
        own, workspace = self._app.cache.record(record), self._app.workspace
        checked = check_question(workspace.agreement, question)
        assert checked.formula is not None
        verdict = self._app.judging.verdict(own, question, checked.formula)
        points = points_written(checked.tree, checked.formula, workspace.agreement.terms().limits)
        return {
            "record": record,
            "id": own.id,
            "attributes": record_with_hits(own, checked.formula),
            "summary": summary(points) if points is not None else " ".join(question.split()),
            "verdict": verdict.headline,
            "level": verdict.level,
            "risk": (RISKIEST.index(verdict.kind), -verdict.others, record),
        }

    def _choose(self, records: list[int]) -> None:
        self._chosen = records
        left = len(self._waiting) - len(self._waiting[:AT_ONCE])
        later = f"; {left:,} more follow" if left else ""
        self._accept.text = f"Accept {len(records):,} question{'' if len(records) == 1 else 's'}{later}"
        self._accept.set_enabled(bool(records) or left > 0)

    def _save(self) -> None:
        chosen = {record: self._texts[record] for record in self._chosen if record in self._texts}
        try:
            changes = self._app.cache.save_many(chosen, BULK, self._author()) if chosen else []
        except InputError as error:
            tell(str(error), "problem")
            return
        self._waiting = self._waiting[AT_ONCE:]
        if self._waiting:
            self._show_next()
        else:
            self.dialog.close()
        self._on_saved()
        if changes:
            offer_undo_of(self._app, changes, f"Saved {len(changes):,} questions.", self._on_saved)


def offer_undo_of(app: OwnerApp, changes: list[tuple[Task, Task]], message: str, after: Callable[[], Any]) -> None:
    """Offer to bring many tasks back to what they were, but for those that changed since."""

    async def undo() -> str:
        kept = app.cache.take_back(changes)
        after()
        if not kept:
            return ""
        one = len(kept) == 1
        return f"{len(kept):,} question{' has' if one else 's have'} changed since and stay{'s' if one else ''}."

    offer_undo(message, undo)
