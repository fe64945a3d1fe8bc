"""The two browser components of ours, as Python sees them: the question editor and the record whose words can be
clicked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement
from nicegui.events import GenericEventArguments

from blindlabel.language import Diagnostic
from blindlabel.language.formatter import attribute_access, quote
from blindlabel.language.functions import FUNCTIONS
from blindlabel.language.signatures import Function
from blindlabel.language.words import is_word, is_word_character
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.records.preparation import prepare
from blindlabel.storage.workspace import Workspace

_ = ui.codemirror  # its import registers the CodeMirror bundle that our editor is built on


@dataclass(frozen=True)
class Written:
    """What the editor tells: which text it holds, in which version, for which record."""

    key: str
    text: str
    version: int
    action: str = ""


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

    def load(
        self, key: str, text: str, words: Sequence[str], diagnostics: Sequence[Diagnostic], *, fixed: bool
    ) -> None:
        """Begin with a text and what was found in it, without the history of the one before."""
        self.run_method("load", key, text, list(words), fixed, [one.to_json() for one in diagnostics])

    def replace(self, text: str) -> None:
        """Put another text in, so that it can be undone."""
        self.run_method("replace", text)

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
    forms = {"lower", "upper", "choose"} | (
        {"common_words"} if encoding.counting and "has_word" in encoding.functions else set()
    )
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
    return Written(
        str(event.args["key"]), str(event.args["text"]), int(event.args["version"]), str(event.args.get("name", ""))
    )


class RecordWords(Element, component="browser/record_words.js"):
    """A record of one's own, attribute by attribute; clicking a word gives it to the handler."""

    def __init__(self, on_word: Callable[[str], Any]) -> None:
        super().__init__()
        self._props["attributes"] = []
        self._props["fixed"] = False
        self.on("word", lambda event: on_word(str(event.args["word"])))

    def show(self, own: OwnRecord, steps: Sequence[str], *, fixed: bool) -> None:
        """Show a record as it stands in the table."""
        self._props["attributes"] = [
            {"name": name, "parts": [_part(token, steps) for token in _tokens(value)]}
            for name, value in own.row.items()
        ]
        self._props["fixed"] = fixed
        self.update()


class FilePicker(Element, component="browser/file_picker.js"):
    """Lets files be chosen; the handler gets tickets for what was uploaded, or a sentence about what went wrong."""

    def __init__(self, label: str, accept: str, on_chosen: Callable[[list[str], str], Any]) -> None:
        super().__init__()
        self._props["label"] = label
        self._props["accept"] = accept
        self.on(
            "chosen", lambda event: on_chosen([str(one) for one in event.args["tickets"]], str(event.args["problem"]))
        )


def _tokens(value: str) -> list[str]:
    """Runs of white space and of everything else, in order."""
    tokens: list[str] = []
    for character in value:
        if tokens and tokens[-1][-1].isspace() == character.isspace():
            tokens[-1] += character
        else:
            tokens.append(character)
    return tokens


def _part(token: str, steps: Sequence[str]) -> dict[str, str]:
    word = word_of(token, steps)
    return {"text": token, "word": word, "title": f"Ask for {word}" if word else ""}


def word_of(token: str, steps: Sequence[str]) -> str:
    """What a question would look for: the token as records are prepared, without punctuation around it."""
    prepared = prepare({"token": token}, ["token"], steps).attributes["token"].strip()
    places = [place for place, character in enumerate(prepared) if is_word_character(character)]
    return prepared[places[0] : places[-1] + 1] if places else ""


def condition_for(word: str, workspace: Workspace) -> str:
    """The condition that a clicked word becomes. Upper and lower case do not matter in it."""
    limits, lowered = workspace.agreement.limits, workspace.agreement.terms().case == "lower"
    small = word if lowered else word.lower() if word.isascii() else word
    record = "$r" if lowered or small.upper() == small.lower() or not word.isascii() else "lower($r)"
    if len(word) <= limits.needle_length:
        return f"is_in({quote(small)}, {record})"
    if is_word(word) and "has_word" in workspace.agreement.encoding.functions:
        return f"has_word({quote(small)}, {record})"
    return f"is_in({quote(small[: limits.needle_length])}, {record})"


def words_of(own: OwnRecord, lowered: bool) -> list[str]:
    """The words of a record for completion, each once."""
    found = dict.fromkeys(word for text in own.prepared.attributes.values() for word in text.split())
    if not lowered:
        found |= dict.fromkeys(word.lower() for word in list(found))
    return list(found)


def text(tag: str, content: str, classes: str = "") -> TextElement:
    """An element that holds nothing but text."""
    element = TextElement(tag=tag, text=content)
    if classes:
        element.classes(classes)
    return element


def key_button(label: str, key: str, handler: Callable[[], Any], *, kind: str = "") -> ui.button:
    """A button with the key that does the same."""
    button = (
        ui.button(color=None, on_click=handler)
        .props("no-caps unelevated" if kind == "main" else "no-caps outline")
        .classes(f"button {kind}")
    )
    with button:
        text("span", label)
        if key:
            text("kbd", key)
    return button
