"""Which text to continue with: versions of a question side by side, each with its verdict and with what it does
differently, in a later round below everything that was asked before; and both texts if two people wrote about one
record.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nicegui import run, ui
from nicegui.elements.mixins.text_element import TextElement

from blindlabel.errors import InputError
from blindlabel.language.chain import Chain
from blindlabel.language.suggestions import Verdict
from blindlabel.language.suggestions.judgement import CHANCES
from blindlabel.parties.questions import check_question
from blindlabel.protocol.interfaces import OwnRecord, Task, TaskState
from blindlabel.web import points_pane as editing
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import KEYS, button, reveal, text
from blindlabel.web.record_pane import WHY


@dataclass(frozen=True)
class WayToGoOn:
    """One version of a question, or in a later round one way to continue."""

    name: str
    question: str
    verdict: Verdict
    difference: str
    suggested: bool = False


class Choices:
    """Versions of a question side by side, each with its verdict, the best of them marked: in a later round what to do
    with the question that was asked, and whenever a person compares.
    """

    def __init__(self, app: OwnerApp, on_choice: Callable[..., Any]) -> None:
        self._app, self._on_choice = app, on_choice
        self._choices: list[WayToGoOn] = []
        self._shown: tuple[int, int] | None = None
        self._comparing = False
        with ui.element("section").classes("pane choices").props('aria-label="Versions of the question"') as self._root:
            self._title = text("h3", "")
            self._earlier = ui.element("ol").classes("earlier")
            self._list = ui.element("div").classes("choice-list")
        self._root.set_visibility(False)

    async def show(self, own: OwnRecord, task: Task, *, fixed: bool, mine: str = "") -> None:
        """Show the choices for a record that came back, or the versions of a question of one's own."""
        self._shown, self._comparing = (own.record, task.round), False
        before = mine or (task.previous[-1][1] if task.previous else "")
        self._root.set_visibility(bool(before) and not fixed)
        self._title.text = "Side by side; take one" if mine else "What was asked before, and how to go on"
        self._show_earlier(task, shown=not mine)
        self._list.clear()
        self._choices = []
        if not before or fixed:
            return
        made = await run.io_bound(self._made, own, task, "Mine" if mine else "Keep it", before)
        if made is None or self._shown != (own.record, task.round):
            return
        self._comparing = bool(mine)
        self._choices, best = made, best_of([choice.verdict for choice in made])
        with self._list:
            for place, choice in enumerate(made):
                self._build(place, choice, best=place == best)
        if mine:
            reveal(self._root)

    def follow(self, question: str) -> None:
        """What is compared goes with a text that is none of it: nothing said of "mine" would be about that."""
        if self._comparing and question not in [choice.question for choice in self._choices]:
            self.hide()

    def hide(self) -> None:
        """Offer nothing: what was offered is not about what is shown now."""
        self._shown, self._comparing, self._choices = None, False, []
        self._root.set_visibility(False)

    def _show_earlier(self, task: Task, *, shown: bool) -> None:
        """Show all questions of earlier rounds about the record, with the result of each."""
        self._earlier.clear()
        with self._earlier:
            for number, question in task.previous if shown else ():
                chain = check_question(self._app.workspace.agreement, question).chain
                with ui.element("li"):
                    text("strong", f"Round {number}:")
                    text(
                        "span",
                        " ".join(question.split()) if chain is None or not chain.conditions else editing.summary(chain),
                    ).props("dir=auto")
                    text("span", f"Came back: {WHY[self._app.cache.back(number + 1, task.record)]}.", "quiet")

    def _build(self, place: int, choice: WayToGoOn, *, best: bool) -> None:
        offered = ui.button(color=None, on_click=lambda: self.take(place)).props("no-caps flat align=left")
        with offered.classes("choice"):
            with ui.element("span").classes("choice-name"):
                text("strong", choice.name)
                text("kbd", KEYS[f"option-{place + 1}"][0])
            text("span", choice.verdict.headline, f"chip chip-{choice.verdict.level}")
            text("span", ("The best of these: " if best else "") + choice.difference, "choice-difference")

    def take(self, place: int) -> None:
        """Take one of the choices."""
        if place < len(self._choices):
            choice = self._choices[place]
            self._on_choice(choice.question, suggested=choice.suggested)

    def _made(self, own: OwnRecord, task: Task, called: str, question: str) -> list[WayToGoOn]:
        checked = check_question(self._app.workspace.agreement, question)
        before = checked.chain
        wanted = [(called, question, False)]
        if before is not None and before.conditions:
            found = self._app.judging.neighbours(own, task, before)
            wanted += [(name, made.text, False) for name, made in found.items()]
        with contextlib.suppress(InputError):  # a suggestion that cannot be used does not count; the others remain
            another = "Suggest another" if called == "Keep it" else "Suggested"
            wanted.append((another, self._app.judging.suggest(own, task).text, True))
        asked = {self._meaning(text): number for number, text in task.previous}
        ways: dict[object, WayToGoOn] = {}
        for one in wanted:
            choice, key = self._choice(own, before, *one), self._meaning(one[1])
            if choice is None or key in ways:
                continue  # the same question under another name is not another way
            said = f"{choice.difference}; asked in round {asked[key]}" if key in asked and ways else choice.difference
            ways[key] = replace(choice, difference=said)
        return list(ways.values())

    def _meaning(self, question: str) -> object:
        """Equal for two questions that ask the same."""
        chain = check_question(self._app.workspace.agreement, question).chain
        if chain is None:
            return " ".join(question.split())
        return frozenset(chain.conditions), chain.bar, frozenset(chain.exclusions), frozenset(chain.unless)

    def _choice(
        self, own: OwnRecord, before: Chain | None, name: str, question: str, suggested: bool
    ) -> WayToGoOn | None:
        checked = check_question(self._app.workspace.agreement, question)
        if checked.formula is None:
            return None
        after = checked.chain
        verdict = self._app.judging.verdict(own, question)
        said = editing.difference(before, after) if before and after else "written differently"
        own_words = {"Keep it": "as it was asked", "Mine": "as it is now"}
        return WayToGoOn(name, question, verdict, own_words.get(name, said), suggested)


def best_of(verdicts: Sequence[Verdict]) -> int | None:
    """The place of the best verdict, or None if no other is worse."""

    def worth(one: Verdict) -> tuple[int, int, float]:
        kinds = ("bad", "warn", "good")
        return kinds.index(one.level), [chance.words for chance in reversed(CHANCES)].index(one.chance), -one.risk

    best = max(range(len(verdicts)), key=lambda place: worth(verdicts[place]), default=None)
    same = best is None or all(worth(one) == worth(verdicts[best]) for one in verdicts)
    return None if same else best


_DONE: dict[TaskState, str] = {
    "saved": "has saved a question",
    "draft": "is writing a question",
    "open": "has discarded the question",
}


class Overtaken:
    """Shown if somebody else has written about the record that is open here: both texts, and which one to continue
    with. Until that is decided, nothing from this tab overwrites the other text.
    """

    def __init__(self, on_take: Callable[[], Any], on_keep: Callable[[], Any]) -> None:
        self.now: Task | None = None
        """What is there now, until it is decided."""
        with ui.element("section").classes("pane overtaken").props("role=alert") as self._root:
            self._said = text("strong", "")
            with ui.element("div").classes("both-texts"):
                self._theirs, self._mine = self._text("The text there now"), self._text("Your text in this tab")
            with ui.element("div").classes("actions"):
                button("Continue with the text there", on_take)
                button("Keep mine instead", on_keep)
        self.hide()

    def _text(self, title: str) -> TextElement:
        with ui.element("div"):
            text("h3", title)
            return text("pre", "").props("dir=auto tabindex=0")

    def show(self, now: Task, writer: str, name: str, mine: str) -> None:
        """Ask which of two texts to keep: what somebody else (perhaps with the same name, in another tab) wrote, or
        mine.
        """
        who = "Another tab of yours" if writer == name else writer or "Somebody else"
        self._said.text = f"{who} {_DONE[now.state]} for this record. Neither text is lost."
        self._theirs.text, self._mine.text = now.draft or "(no question)", mine or "(no question)"
        self.now = now
        self._root.set_visibility(True)

    def hide(self) -> None:
        """It is decided."""
        self.now = None
        self._root.set_visibility(False)
