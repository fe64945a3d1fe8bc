"""Elements of the page that have code in the browser, and short messages: what was done, what could not be done, and
the button that undoes something.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from blindlabel.errors import InputError

LIST_KEYS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"next-open": ("N", "next open record"), "search": ("/", "search"), "help": ("?", "all keys")}
)
KEYS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "save-next": ("Ctrl+Enter", "save and next open record"),
        "save": ("Ctrl+S", "save"),
        "suggest": ("Alt+G", "suggest a question"),
        "compare": ("Alt+C", "looser, stricter and suggested versions side by side"),
        "view": ("Alt+V", "points or text"),
        "next": ("Alt+N", "next record of the list"),
        "previous": ("Alt+P", "previous record of the list"),
        "words": ("Alt+W", "to the words of your record"),
        "question": ("Alt+Q", "to the question"),
        "verdict": ("Alt+J", "to the verdict"),
        "leave": ("Alt+L", "back to the list; so does the browser's own back"),
        "unsure": ("Alt+U", "not sure, or sure again"),
        **{f"option-{n}": (f"Alt+{n}", "take that one of the versions that are shown") for n in range(1, 5)},
    }
)
"""What keys do, in the list and at a record: the action with its key, as the page writes it, and what it does.
"""


def show_in(element: Element, **props: Any) -> None:
    """Let an element of ours show other things."""
    for name, value in props.items():
        element._props[name] = value
    element.update()


class EvidenceRows(Element, component="browser/evidence.js"):
    """Rows of the table that a question fits, with what it found in them marked; each with a button if something can be
    done with it.
    """

    def __init__(self, action: str = "", on_action: Callable[[int], Any] | None = None) -> None:
        super().__init__()
        self._props["action"] = action
        if on_action is not None:
            self.on("act", lambda event: on_action(int(event.args)))
        self.show([], "")

    def show(self, rows: Sequence[dict[str, Any]], more: str) -> None:
        """Show these rows, and how many there are beyond them."""
        show_in(self, rows=list(rows), more=more)


class ReviewCards(Element, component="browser/review_cards.js"):
    """Questions for many records, one card each; the handlers get the selected records, that they are accepted, and
    which one to edit.
    """

    def __init__(
        self, on_chosen: Callable[[list[int]], Any], on_accept: Callable[[], Any], on_edit: Callable[[int], Any]
    ) -> None:
        super().__init__()
        self.on("edit", lambda event: on_edit(int(event.args)))
        self._props["cards"], self._props["edition"] = [], 0
        self.on("chosen", lambda event: on_chosen([int(one) for one in event.args]))
        self.on("accept", lambda _: on_accept())

    def show(self, cards: Sequence[dict[str, Any]]) -> None:
        """Show other cards; none of them is selected yet."""
        show_in(self, cards=list(cards), edition=self._props["edition"] + 1)


def counted(number: float, noun: str) -> str:
    """A number of things: "1 record", "2,000 records"."""
    return f"{round(number):,} {noun}{'' if round(number) == 1 else 's'}"


def time_left(seconds: float | None) -> str:
    """The words that follow how far something is; empty if nothing is known."""
    if seconds is None:
        return ""
    return ", less than a minute left" if seconds < 60 else f", about {counted(seconds / 60, 'minute')} left"


def text(tag: str, content: str, classes: str = "") -> TextElement:
    """An element with nothing but text."""
    element = TextElement(tag=tag, text=content)
    if classes:
        element.classes(classes)
    return element


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table of texts; the first of a row names it."""
    with ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            for name in columns:
                text("th", name).props("scope=col")
        with ui.element("tbody"):
            for first, *others in rows:
                with ui.element("tr"):
                    text("th", first).props("scope=row")
                    for one in others:
                        text("td", one)


def sentence(content: str, classes: str = "") -> ui.element:
    """A paragraph in which commands between backticks look like commands."""
    with ui.element("p").classes(classes) as paragraph:
        for place, part in enumerate(content.split("`")):
            if part:
                text("code" if place % 2 else "span", part)
    return paragraph


def button(label: str, handler: Callable[..., Any] | None = None, look: str = "outline") -> ui.button:
    """A button in one of the framework's looks, or `main`: the one that most people press."""
    made = ui.button(label, color=None, on_click=handler).props(f"no-caps {look.replace('main', 'unelevated')}")
    return made.classes("button main" if "main" in look else "button")


def key_button(label: str, action: str, handler: Callable[[], Any], look: str = "outline") -> ui.button:
    """A button with the key of the same action, if it has one."""
    with button("", handler, look) as made:
        text("span", label)
        if key := {**LIST_KEYS, **KEYS}.get(action):
            text("kbd", key[0])
    return made


def reveal(element: Element) -> None:
    """Show an element, and bring it into view: what a key has brought must not stand below the window."""
    element.set_visibility(True)
    element.run_method("scrollIntoView", {"block": "nearest"})


UNDO_SECONDS = 12.0


def tell(message: str, kind: Literal["done", "problem"] = "done") -> None:
    """A message that disappears by itself."""
    seconds = 1.6 if kind == "done" else 6.0
    ui.notify(
        message, position="bottom-right", timeout=1000 * seconds, classes=f"told told-{kind}", color="told", group=True
    )


def offer_undo(message: str, undo: Callable[[], Awaitable[str | None]]) -> None:
    """Say what was done, with a button that undoes it; `undo` may say what it could not undo."""
    with ui.context.client.content, ui.element("div").classes("toast").props("role=status") as toast:
        text("span", message)

        async def undone() -> None:
            toast.set_visibility(False)
            try:
                said = await undo()
            except InputError as error:
                said = str(error)
            if said:
                tell(said, "problem")
            toast.delete()

        button("Undo", undone, "flat dense")
        ui.timer(UNDO_SECONDS, lambda: toast.set_visibility(False), once=True)
