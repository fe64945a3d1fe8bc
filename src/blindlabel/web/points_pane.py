"""The points view of a question: the same question as the text, a line a condition. The text is what is kept; this
shows it as points where it is a points question, and writes it anew when a person changes something here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui.element import Element

from blindlabel.language import Question
from blindlabel.language.points import Condition, PointsQuestion, points_written, text_of
from blindlabel.language.record import View
from blindlabel.language.suggestions import Suggestion
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.storage.workspace import Workspace
from blindlabel.web import points_editing as editing
from blindlabel.web.judging import Judging
from blindlabel.web.record_words import asked_for, view_for

LABELS = {
    "is_in": "contains",
    "has_word": "has the word",
    "equals": "is exactly",
    "starts_with": "starts with",
    "ends_with": "ends with",
    "sounds_like": "sounds like",
}
NO_POINTS = "This question is more than conditions with points, so it stays text. Alt+V shows it."
NO_QUESTION = "The text cannot be read as a question yet. Alt+V shows it, with what is wrong."


class PointsView(Element, component="browser/points_view.js"):
    """A question as lines with points. Gives a new text of the question to the handler whenever it is changed here."""

    def __init__(
        self, workspace: Workspace, judging: Judging, on_text: Callable[[str], Any], on_undo: Callable[[bool], Any]
    ) -> None:
        super().__init__()
        self._workspace, self._judging, self._on_text = workspace, judging, on_text
        self._own: OwnRecord | None = None
        self._points: PointsQuestion | None = editing.NOTHING
        self._reasons: dict[str, str] = {}
        self._bar_is_ours = True
        """Whether the bar may follow the clicked words: nobody has set it."""
        terms = workspace.agreement.terms()
        offered = [{"name": name, "label": label} for name, label in LABELS.items() if name in terms.functions]
        fields = list(workspace.agreement.attributes) if terms.encode_attributes else []
        self._props["functions"] = offered
        self._props["fields"] = ["", *fields] if terms.encode_whole else fields
        self._props["mayExclude"] = True
        self._show(fixed=True, problem="")
        self.on("edit", lambda event: self._edit(event.args))
        self.on("undo", lambda _: on_undo(False))
        self.on("redo", lambda _: on_undo(True))

    @property
    def points(self) -> PointsQuestion | None:
        """The question as points; None where it is of another kind or cannot be read."""
        return self._points

    def open(self, own: OwnRecord, words: list[str], *, fixed: bool) -> None:
        """Begin with another record."""
        self._own, self._bar_is_ours, self._reasons = own, True, {}
        self._props["fixed"], self._props["words"] = fixed, words

    def explain(self, suggestion: Suggestion) -> None:
        """Say at each line why it was suggested."""
        self._reasons = {reason.condition: reason.sentence for reason in suggestion.reasons}

    def show(self, text: str, checked: Question | None) -> None:
        """Show a question. One that has an error, but was written here, stays as it is shown."""
        written_here = self._points is not None and text == self._written(self._points)
        if not text.strip():
            self._points, self._bar_is_ours = editing.NOTHING, True
        elif checked is not None and checked.formula is not None:
            limits = self._workspace.agreement.terms().limits
            self._points = points_written(checked.tree, checked.formula, limits)
            self._bar_is_ours = self._bar_is_ours and written_here
        elif not written_here:
            self._points = None
        problem = "" if self._points is not None else NO_QUESTION if checked is None or not checked.ok else NO_POINTS
        self._show(fixed=bool(self._props["fixed"]), problem=problem)

    def _show(self, *, fixed: bool, problem: str) -> None:
        own, judging = self._own, self._judging
        points = self._points or editing.NOTHING
        shown = editing.view_of(
            points, lambda atoms: judging.others(own, atoms) if own is not None else None, self._reasons
        )
        for name, value in (shown | {"fixed": fixed, "problem": problem}).items():
            self._props[name] = value
        self.update()

    def _written(self, points: PointsQuestion) -> str:
        return text_of(points, lowered=self._workspace.agreement.terms().case == "lower")

    def _put(self, points: PointsQuestion) -> None:
        self._points = points
        self._on_text(self._written(points) if points.conditions or points.exclusions else "")

    # What a person does

    def _edit(self, edit: Mapping[str, Any]) -> None:
        if self._points is None or self._own is None or self._props["fixed"]:
            return
        if edit["kind"] in ("add", "exclude"):
            self._add(str(edit["words"]), excluded=edit["kind"] == "exclude")
            return
        self._bar_is_ours = self._bar_is_ours and edit["kind"] in ("remove", "change")
        self._put(editing.edited(self._points, edit, self._view))

    def _view(self, field: str) -> View:
        return view_for(self._workspace, field)

    def _add(self, words: str, attribute: str = "", *, excluded: bool = False) -> None:
        assert self._points is not None and self._own is not None
        atom = asked_for(words, attribute, self._workspace)
        if excluded:
            self._put(PointsQuestion(self._points.conditions, self._points.bar, (*self._points.exclusions, atom)))
            return
        others = self._judging.others(self._own, (atom,))
        worth = editing.points_for(others, len(self._judging.rows[0]) if self._judging.ready else 0, words)
        self._put(self._with_bar(editing.with_condition(self._points, Condition((atom,), worth))))

    def _with_bar(self, points: PointsQuestion) -> PointsQuestion:
        if not self._bar_is_ours or not points.conditions:
            return editing.within(points)
        assert self._own is not None
        most = self._judging.most_points(self._own, points) if self._judging.ready else 0
        return PointsQuestion(points.conditions, editing.sensible_bar(points, most), points.exclusions)

    def click(self, word: str, attribute: str) -> bool:
        """A word of the record was clicked: ask for it, or no longer. False where the question is of another kind."""
        if self._points is None:
            return False
        asked = asked_for(word, attribute, self._workspace)
        place = editing.place_of(self._points, str(asked.arguments[0]))
        if place is None:
            self._add(word, attribute)
        else:
            kept = editing.edited(self._points, {"kind": "remove", "place": place}, self._view)
            self._put(self._with_bar(kept))
        return True
