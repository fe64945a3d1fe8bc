"""The right half of the annotation window: the question as points or as text, what is wrong with it, the verdict, and
the actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from blindlabel.language import Question
from blindlabel.language.formula import Formula, atoms_of
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import key_button, text
from blindlabel.web.editor import QuestionEditor, Written
from blindlabel.web.points_pane import PointsView
from blindlabel.web.record_words import RecordWords, completion_words
from blindlabel.web.verdict_pane import VerdictPane
from blindlabel.web.verdicts import Judged

VIEW = "web_view"
MOST_FINDINGS = 5


class QuestionPane:
    """The question of one record, in both views."""

    def __init__(self, app: OwnerApp, on_typed: Callable[[Written], Any], on_acted: Callable[[Written], Any]) -> None:
        self._app = app
        self._as_points = app.workspace.remembered(VIEW) != "text"
        self._words: RecordWords | None = None
        with ui.element("section").classes("pane question").props('aria-label="Question"'):
            with ui.element("div").classes("views").props('role=group aria-label="View"'):
                self._points_button = key_button("Points", "", lambda: self.switch(as_points=True))
                self._text_button = key_button("Text", "", lambda: self.switch(as_points=False))
                text("kbd", "Alt+V")
                text(
                    "span", "$r is any record of the other side; your question is asked of every one of them.", "quiet"
                )
            self.points = PointsView(app.workspace, app.judging, self._replace, self._undo)
            # What is not visible itself is not heard, so the editor is hidden by what it stands in.
            with ui.element("div") as self._text_view:
                self.editor = QuestionEditor(app.workspace, on_typed, on_acted)
            with (
                ui.element("div").classes("findings").props("role=status aria-live=polite aria-label=Findings") as found
            ):
                self._findings = found
            self.verdict = VerdictPane(app.judging)
            self._why = text("p", "", "why")
            self._build_confirmation()
            self._build_buttons()
        self._show_view()

    def _build_buttons(self) -> None:
        def act(name: str) -> Callable[[], Any]:
            return lambda: self.editor.act(name)

        with ui.element("div").classes("actions").props('role=group aria-label="Actions"') as self._actions:
            key_button("Save and next", "Ctrl+Enter", act("save-next"), kind="main")
            key_button("Save", "Ctrl+S", act("save"))
            key_button("Suggest", "Alt+G", act("suggest"))
            key_button("Discard", "", act("discard"))
        self._fixed = text("p", "", "reason")
        self._fixed.set_visibility(False)

    def _build_confirmation(self) -> None:
        with ui.element("div").classes("confirmation").props("role=alert") as self._confirmation:
            self._confirmation_text = text("span", "")
        self._confirmation.set_visibility(False)

    # The two views

    def switch(self, *, as_points: bool | None = None, focus: bool = True) -> None:
        """Show the question as points or as text; the other one where nothing is said."""
        self._as_points = not self._as_points if as_points is None else as_points
        self._app.workspace.remember(VIEW, "points" if self._as_points else "text")
        self._show_view()
        if focus:
            self.focus()

    def _show_view(self) -> None:
        self.points.set_visibility(self._as_points)
        self._text_view.set_visibility(not self._as_points)
        for button, pressed in ((self._points_button, self._as_points), (self._text_button, not self._as_points)):
            button.props(f"aria-pressed={'true' if pressed else 'false'}")
            button.classes(**({"add": "pressed"} if pressed else {"remove": "pressed"}))

    def focus(self) -> None:
        """Put the cursor where one writes."""
        if self._as_points:
            self.editor.focus_element(".points-new")
        else:
            self.editor.focus()

    def _replace(self, question: str) -> None:
        self.editor.replace(question, quietly=True)

    def _undo(self, again: bool) -> None:
        if again:
            self.editor.redo()
        else:
            self.editor.undo()

    # What is shown

    def load(
        self, key: str, serial: int, question: str, own: OwnRecord, words: RecordWords, fixed: str
    ) -> Question | None:
        """Begin with a record's question; `fixed` says why it cannot be changed."""
        self._words = words
        checked = self._app.cache.check(question) if question.strip() else None
        offered = completion_words(own, self._app.workspace.agreement.terms().case == "lower")
        self.points.open(own, offered, fixed=bool(fixed))
        self.editor.load(key, serial, question, offered, checked.problems if checked else (), fixed=bool(fixed))
        self._actions.set_visibility(not fixed)
        self._fixed.text = fixed
        self._fixed.set_visibility(bool(fixed))
        self.explain("")
        self.confirm("")
        return checked

    def show(self, question: str, checked: Question | None, version: int | None = None) -> None:
        """Show what was found in a text; the verdict follows."""
        self.points.show(question, checked)
        formula = checked.formula if checked is not None else None
        if self._words is not None:
            self._words.underline(atoms_of(formula) if formula is not None else ())
        self._findings.clear()
        if checked is None:
            self.verdict.clear()
        elif formula is None:
            self.verdict.clear("It cannot be asked yet.")
        if checked is None:
            return
        if version is not None:
            self.editor.show(version, checked.problems)
        with self._findings:
            for one in checked.problems[:MOST_FINDINGS]:
                start = one.span.start
                finding = ui.button(color=None, on_click=lambda start=start: self._go(start)).props(
                    "no-caps flat dense align=left"
                )
                with finding.classes(f"finding finding-{one.severity}"):
                    text("span", f"Line {one.span.line}, column {one.span.column}", "place")
                    text("span", one.message + (f" {one.hint}" if one.hint else ""))
            if len(checked.problems) > MOST_FINDINGS:
                text("span", f"and {len(checked.problems) - MOST_FINDINGS} more", "place")

    def _go(self, start: int) -> None:
        self.switch(as_points=False, focus=False)  # what is typed at once must not come before the cursor is there
        self.editor.go(start)

    def show_verdict(self, verdict: Judged, formula: Formula, cost: str) -> None:
        """Show what is to be thought of the question."""
        self.verdict.show(verdict, formula, cost)

    def explain(self, why: str) -> None:
        """Say why a question was suggested."""
        self._why.text = why
        self._why.set_visibility(bool(why))

    def confirm(self, sentence: str) -> None:
        """Ask once more before saving; nothing to ask with an empty sentence."""
        self._confirmation_text.text = sentence
        self._confirmation.set_visibility(bool(sentence))
