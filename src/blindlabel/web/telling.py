"""Short messages of the page: what was done, what could not be done, and the button that takes something back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from nicegui import ui

from blindlabel.errors import InputError
from blindlabel.web.components import text

UNDO_SECONDS = 12.0


def tell(message: str, kind: Literal["done", "problem"] = "done") -> None:
    """A message that goes by itself."""
    seconds = 1.6 if kind == "done" else 6.0
    ui.notify(
        message, position="bottom-right", timeout=1000 * seconds, classes=f"told told-{kind}", color="told", group=True
    )


def offer_undo(message: str, undo: Callable[[], Awaitable[str | None]]) -> None:
    """Tell what was done, with a button that takes it back; `undo` may say what it could not take back."""
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

        ui.button("Undo", color=None, on_click=undone).props("no-caps flat dense").classes("button")
        ui.timer(UNDO_SECONDS, lambda: toast.set_visibility(False), once=True)
