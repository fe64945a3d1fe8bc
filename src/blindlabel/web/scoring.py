"""A linkage judged on the owner's page after the end, where the agreement allows it: a file of predicted pairs goes in,
precision, recall and F come out, with what that costs in the account of bits.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from nicegui import run, ui

from blindlabel.errors import InputError, OutsideError
from blindlabel.export.asked_scores import cost, judged
from blindlabel.transport.connecting import connect
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import FilePicker, text

_SUFFIXES = (".csv", ".tsv")


class Scoring:
    """The part of one tab's end page. What it said last outlives the page's being built anew."""

    def __init__(self, app: OwnerApp, on_scored: Callable[[], None]) -> None:
        self._app, self._on_scored = app, on_scored
        self._said: list[str] = []

    @property
    def allowed(self) -> bool:
        """Whether there is anything to ask: all labels are here, or the agreement lets the coordinator be asked."""
        agreement = self._app.workspace.agreement
        return agreement.release == "labels" or agreement.budget.scores > 0

    def build(self) -> None:
        """The part, in the current place."""
        workspace = self._app.workspace
        peers = " or ".join(workspace.agreement.peers(workspace.name))
        asked = workspace.agreement.release != "labels"
        text("h3", "Score a linkage")
        text(
            "p",
            f"A CSV file of predicted matches: row positions from 0, in a column {workspace.name} and a column {peers}."
            + (" The coordinator sees those of sampled rows and tells three counts." if asked else ""),
        )
        FilePicker("Choose a file of pairs", ",".join(_SUFFIXES), self._chosen)
        with ui.element("div").props("role=status").classes("scored"):
            for line in (*self._said, *cost(workspace)):
                text("p", line)

    async def _chosen(self, tickets: list[str], problem: str) -> None:
        files = self._app.uploads.take(tickets)
        found = await run.io_bound(self._scored, *files[0]) if files else [problem]
        self._said = found or []
        self._on_scored()

    def _scored(self, name: str, content: bytes) -> list[str]:
        """What to say about a file; runs beside the page."""
        workspace, suffix = self._app.workspace, Path(name).suffix.lower()
        if suffix not in _SUFFIXES:
            return [f"{name} is no table of pairs: choose a file that ends in {' or '.join(_SUFFIXES)}."]
        with tempfile.TemporaryDirectory(prefix="blindlabel-pairs-") as folder:
            path = Path(folder) / f"pairs{suffix}"
            path.write_bytes(content)
            try:
                found = judged(workspace, path, lambda: connect(workspace, stays=False), lambda _: None)
            except (InputError, OutsideError) as error:
                return [str(error)]
        return [
            f"{' and '.join(pairing)}: precision {one.precision:.3f}, recall {one.recall:.3f}, F {one.f:.3f}."
            f" {one.right} of {one.predicted} predicted pairs are among the {one.matches} matches; left out:"
            f" {one.discarded} without agreement, {one.not_sampled} outside the sample."
            for pairing, one in found.items()
        ]
