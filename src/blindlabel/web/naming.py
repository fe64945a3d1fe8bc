"""Who sits at this browser: a name, asked once, for the annotation log and for sharing the work. It stays here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from blindlabel.errors import InputError
from blindlabel.storage.annotations import Annotations
from blindlabel.storage.team import Team
from blindlabel.web.components import text


class Naming:
    """The dialog that asks for the name."""

    def __init__(self, annotations: Annotations, browser: str, team: Team, on_named: Callable[[str], Any]) -> None:
        self._annotations, self._browser, self._on_named = annotations, browser, on_named
        with ui.dialog().props('aria-label="Your name"') as self.dialog, ui.card().classes("sheet"):
            text("h2", "Who are you?")
            text(
                "p",
                "Your name goes into this workspace's log of who wrote which question and how long it took. It is not"
                " sent to anybody.",
            )
            if team.names:
                with ui.element("div").classes("actions"):
                    for name in team.names:
                        ui.button(name, color=None, on_click=lambda name=name: self._named(name)).props(
                            "no-caps outline"
                        ).classes("button")
            else:
                field = ui.input(label="Name").props("outlined dense maxlength=60 autofocus")
                field.on("keydown.enter", lambda: self._named(str(field.value or "")))
                with ui.element("div").classes("actions"):
                    begin = ui.button("Begin", color=None, on_click=lambda: self._named(str(field.value or "")))
                    begin.props("no-caps unelevated").classes("button main")
            self._problem = text("p", "", "reason")
            self._problem.set_visibility(False)

    def _named(self, name: str) -> None:
        try:
            kept = self._annotations.name(self._browser, name)
        except InputError as error:
            self._problem.text = str(error)
            self._problem.set_visibility(True)
            return
        self.dialog.close()
        self._on_named(kept)
