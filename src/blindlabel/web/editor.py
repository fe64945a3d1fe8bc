"""The question editor as Python sees it, and the functions that it offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from blindlabel.language import Diagnostic
from blindlabel.language.formatter import attribute_access
from blindlabel.language.functions import FUNCTIONS
from blindlabel.language.signatures import Function
from blindlabel.storage.workspace import Workspace

_ = ui.codemirror  # its import registers the CodeMirror bundle that our editor is built on


@dataclass(frozen=True)
class Written:
    """What the editor tells: which text it holds, in which version, for which record."""

    key: str
    serial: int
    text: str
    version: int
    action: str = ""
    detail: str = ""


class QuestionEditor(Element, component="browser/question_editor.js", esm={"blindlabel-question": "browser/question"}):
    """The editor. It sends texts as they are typed and actions (keys) with the text at that moment."""

    def __init__(
        self, workspace: Workspace, on_change: Callable[[Written], Any], on_action: Callable[[Written], Any]
    ) -> None:
        super().__init__()
        allowed = [one for one in FUNCTIONS.values() if one.name in offered_functions(workspace)]
        self._props["functions"] = [_offered(one) for one in allowed]
        self._props["keywords"] = ["ret", "true", "false"]
        self._props["attributes"] = [
            {"label": name, "access": attribute_access(name)} for name in workspace.agreement.attributes
        ]
        self._props["label"] = "Question about the other record"
        self.on("change", lambda event: on_change(_written(event)))
        self.on("action", lambda event: on_action(_written(event)))
        self.on("ask", lambda event: self.act(str(event.args)))

    def load(
        self, key: str, serial: int, text: str, words: Sequence[str], diagnostics: Sequence[Diagnostic], *, fixed: bool
    ) -> None:
        """Begin with a text and what was found in it, without the history of the one before. What the editor tells of
        it carries the serial number, so that what was on its way is not taken for it.
        """
        self.run_method("load", key, serial, text, list(words), fixed, [one.to_json() for one in diagnostics])

    def replace(self, text: str, *, quietly: bool = False) -> None:
        """Put another text in, so that it can be undone; quietly: without taking the focus."""
        self.run_method("replace", text, quietly)

    def act(self, name: str) -> None:
        """Let the editor tell an action, with its text after all that it was given before."""
        self.run_method("act", name)

    def undo(self) -> None:
        """Undo the last change."""
        self.run_method("undo")

    def redo(self) -> None:
        """Do again what was undone."""
        self.run_method("redo")

    def insert(self, expression: str) -> None:
        """Add a condition where the cursor is."""
        self.run_method("insert", expression)

    def show(self, version: int, diagnostics: Sequence[Diagnostic]) -> None:
        """Mark findings in the text of this version."""
        self.run_method("show", version, [one.to_json() for one in diagnostics])

    def kept(self, written: Written) -> None:
        """The text of this version is safe on disk."""
        self.run_method("kept", written.key, written.version)

    def go(self, start: int) -> None:
        """Put the cursor at a place."""
        self.run_method("go", start)

    def focus(self) -> None:
        """Put the cursor into the editor."""
        self.run_method("focusEditor")

    def set_mode(self, mode: str) -> None:
        """Which keys are heard: those of the list or those of the annotation."""
        self.run_method("setMode", mode)

    def focus_element(self, selector: str) -> None:
        """Put the focus on another element of the page."""
        self.run_method("focusElement", selector)


def offered_functions(workspace: Workspace) -> set[str]:
    """The functions that questions of this study can use."""
    encoding = workspace.agreement.encoding
    forms = {"lower", "upper", "choose"} | ({"common_words"} if "has_word" in encoding.functions else set())
    return set(encoding.functions) | forms


def _offered(function: Function) -> dict[str, object]:
    """A function for completion: what is inserted, and where the cursor goes."""
    written = []
    for parameter in function.parameters:
        if parameter.clear:
            written.append('""' if parameter.type.value == "text" else "1")
        else:
            written.append("$r" if not parameter.any_type and parameter.type.value == "text" else "")
    template = f"{function.name}({', '.join(written)})"
    place = template.find('""')
    cursor = place + 1 if place >= 0 else len(template) if "$r" in written else len(function.name) + 1
    return {
        "name": function.name,
        "signature": function.signature,
        "summary": function.summary,
        "details": function.details,
        "example": function.example,
        "template": template,
        "cursor": cursor,
    }


def _written(event: GenericEventArguments) -> Written:
    told = event.args
    action, detail = str(told.get("name", "")), str(told.get("detail", ""))
    return Written(str(told["key"]), int(told["serial"]), str(told["text"]), int(told["version"]), action, detail)
