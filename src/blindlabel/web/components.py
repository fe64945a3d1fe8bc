"""Small parts of the pages: texts, buttons with their keys, and our browser components for lists and evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement


class FilePicker(Element, component="browser/file_picker.js"):
    """Lets files be chosen; the handler gets tickets for what was uploaded, or a sentence about what went wrong."""

    def __init__(self, label: str, accept: str, on_chosen: Callable[[list[str], str], Any]) -> None:
        super().__init__()
        self._props["label"] = label
        self._props["accept"] = accept
        self.on(
            "chosen", lambda event: on_chosen([str(one) for one in event.args["tickets"]], str(event.args["problem"]))
        )


class Evidence(Element, component="browser/evidence.js"):
    """Own rows that a question fits, with what it found in them marked."""

    def __init__(self) -> None:
        super().__init__()
        self.show([], "")

    def show(self, rows: Sequence[dict[str, Any]], more: str) -> None:
        """Show these rows, and how many there are beyond them."""
        self._props["rows"], self._props["more"] = list(rows), more
        self.update()


class ReviewCards(Element, component="browser/review_cards.js"):
    """Questions for many records, a card each; the handlers get the chosen records, and that they are accepted."""

    def __init__(self, on_chosen: Callable[[list[int]], Any], on_accept: Callable[[], Any]) -> None:
        super().__init__()
        self._props["cards"], self._props["edition"] = [], 0
        self.on("chosen", lambda event: on_chosen([int(one) for one in event.args]))
        self.on("accept", lambda _: on_accept())

    def show(self, cards: Sequence[dict[str, Any]]) -> None:
        """Show other cards; nothing of them is chosen yet."""
        self._props["cards"] = list(cards)
        self._props["edition"] += 1
        self.update()


def text(tag: str, content: str, classes: str = "") -> TextElement:
    """An element that holds nothing but text."""
    element = TextElement(tag=tag, text=content)
    if classes:
        element.classes(classes)
    return element


def sentence(content: str, classes: str = "") -> ui.element:
    """A paragraph in which commands between backticks look like commands."""
    with ui.element("p").classes(classes) as paragraph:
        for place, part in enumerate(content.split("`")):
            if part:
                text("code" if place % 2 else "span", part)
    return paragraph


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
