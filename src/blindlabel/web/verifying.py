"""The panel in which an owner's person confirms the other owners: words to read out, and a field for words heard."""

from __future__ import annotations

from nicegui import run, ui
from nicegui.elements.mixins.text_element import TextElement

from blindlabel.errors import InputError
from blindlabel.parties.verifying import confirm_heard, words_to_read_out
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import text
from blindlabel.web.telling import tell


class Verifying:
    """Shown while another owner is not confirmed. It is built anew only when somebody was confirmed, so that nothing
    typed is lost.
    """

    def __init__(self, app: OwnerApp) -> None:
        self._app = app
        self._shown: tuple[str, ...] = ()
        with ui.element("section").classes("standing").props('aria-label="Confirm the other owners"') as self.root:
            pass
        self.root.set_visibility(False)

    def refresh(self) -> None:
        """Show whom there is to confirm."""
        state = self._app.cache.state
        peers = self._app.workspace.agreement.peers(self._app.workspace.name) if state.keys else []
        waiting = tuple(peer for peer in peers if peer not in state.confirmed)
        if waiting == self._shown:
            return
        self._shown = waiting
        self.root.set_visibility(bool(waiting))
        self.root.clear()
        with self.root:
            text("h2", "Confirm the other owners")
            text(
                "p",
                "Telephone each other. Read your words out, and type the words that you hear. Only then can you be sure"
                " that nobody stands between you; nothing is sampled, encrypted or asked before.",
            )
            for peer in waiting:
                self._build(peer)

    def _build(self, peer: str) -> None:
        text("h3", peer)
        own = text("p", f"Your words for {peer} are being worked out …")
        ui.timer(0, lambda: self._show_words(peer, own), once=True)
        field = ui.input(label=f"Words that {peer} reads to you").props("outlined dense autocomplete=off")
        field.classes("words-heard")
        problem = text("p", "", "reason").props("role=alert")
        problem.set_visibility(False)

        async def confirm() -> None:
            try:
                await run.io_bound(confirm_heard, self._app.workspace, peer, str(field.value or ""))
            except InputError as error:
                problem.text = str(error)
                problem.set_visibility(True)
                return
            tell(f"{peer} is confirmed.")

        field.on("keydown.enter", confirm)
        ui.button(f"Confirm {peer}", color=None, on_click=confirm).props("no-caps unelevated").classes("button main")

    async def _show_words(self, peer: str, place: TextElement) -> None:
        words = await run.io_bound(words_to_read_out, self._app.workspace, peer)
        if words is not None and not place.is_deleted:
            place.text = f"Read to {peer}: {' '.join(words)}"
            place.classes("words-own")
