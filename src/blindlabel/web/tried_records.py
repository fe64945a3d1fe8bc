"""Trying a question on a record that the person makes up ("what about her sister?"): an imagined one or the owner's
record, edited, with yes or no while typing; kept for this record or for all, and tried on every question from then on.

What is kept stays in the workspace. It is never asked or sent, and no verdict counts it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from nicegui import ui

from blindlabel.language import Question, Record
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.storage.workspace import Workspace
from blindlabel.web.components import EvidenceRows, button, reveal, text
from blindlabel.web.record_pane import marked_apart

_SETTING = "web_tried_records"


@dataclass(frozen=True)
class TriedRecord:
    """A record that is kept."""

    values: Mapping[str, str]
    """The values as they were typed."""
    partner: bool
    """Whether a question should find it; otherwise it is somebody else's, and should not pass."""
    record: int | None
    """The owner's record that it belongs to; None: all of them."""

    def outcome(self, yes: bool) -> str:
        """What a question does with it, in the words used for imagined records."""
        if self.partner:
            return "Your partner: found" if yes else "Your partner: missed"
        return "Your other: let pass" if yes else "Your other: kept out"


def tried_records(workspace: Workspace) -> list[TriedRecord]:
    """All records that are kept."""
    return [TriedRecord(**one) for one in json.loads(workspace.remembered(_SETTING) or "[]")]


def keep_tried(workspace: Workspace, kept: list[TriedRecord]) -> None:
    """Keep these, and no others."""
    workspace.remember(_SETTING, json.dumps([asdict(one) for one in kept]))


class TriedPane:
    """The records that are kept for the open record, and a form to make another."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._recipe = workspace, workspace.agreement.recipe
        self._own: OwnRecord | None = None
        self._question: Question | None = None
        self._root = ui.element("section").classes("pane evidence-pane tried").props('aria-label="Try it on this"')
        with self._root:
            text("h3", "Try it on this")
            self._rows = EvidenceRows("Remove", self._drop)
            self._begin = button("Edit a copy of your record", lambda: self.edit(None))
            with ui.element("div").classes("tried-form") as self._form:
                self._fields = {
                    name: ui.textarea(label=name, on_change=self._show_answer).props("dense outlined autogrow")
                    for name in workspace.agreement.attributes
                }
                self._answer = text("p", "").props("role=status")
                with ui.element("div").classes("actions"):
                    button("Keep: it should be found", lambda: self._keep(partner=True, for_all=False))
                    button("Keep: it should not pass", lambda: self._keep(partner=False, for_all=False))
                    button("Keep for all records: it should not pass", lambda: self._keep(partner=False, for_all=True))
                    button("Close", self._close, "flat")
        self._close()

    def show(self, own: OwnRecord | None, question: Question | None) -> None:
        """Try the kept records on a question about this record; without one, about the same record as before."""
        own = own or self._own
        if own is None:
            return
        if self._own is None or own.record != self._own.record:
            self._close()
        self._own, self._question = own, question if question is not None and question.formula is not None else None
        self._show_answer()
        shown = [
            {"id": self._said(one), "attributes": marked_apart(own.prepared, self._prepared(one.values))}
            for one in self._here()
        ]
        self._rows.show(shown, "")

    def edit(self, values: Mapping[str, str] | None) -> None:
        """Open the form with these values, or the owner's record's."""
        if self._own is None:
            return
        for name, field in self._fields.items():
            field.value = (self._own.row if values is None else values).get(name, "")
        self._begin.set_visibility(False)
        self._show_answer()
        self._form.set_visibility(True)
        reveal(self._root)

    def _close(self) -> None:
        self._form.set_visibility(False)
        self._begin.set_visibility(True)

    def _prepared(self, values: Mapping[str, str]) -> Record:
        return Record.of({name: self._recipe.value(name, values.get(name, "")) for name in self._fields})

    def _typed(self) -> dict[str, str]:
        return {name: str(field.value or "") for name, field in self._fields.items()}

    def _said(self, one: TriedRecord) -> str:
        return "Not tried yet" if self._question is None else one.outcome(self._question(self._prepared(one.values)))

    def _show_answer(self) -> None:
        if self._question is None:
            self._answer.text = "There is no question to try yet."
        else:
            self._answer.text = "Yes: it passes." if self._question(self._prepared(self._typed())) else "No."

    def _here(self) -> list[TriedRecord]:
        own = self._own.record if self._own is not None else None
        return [one for one in tried_records(self._workspace) if one.record in (None, own)]

    def _keep(self, *, partner: bool, for_all: bool) -> None:
        if self._own is None:
            return
        made = TriedRecord(self._typed(), partner, None if for_all else self._own.record)
        keep_tried(self._workspace, [*tried_records(self._workspace), made])
        self._close()
        self.show(None, self._question)

    def _drop(self, place: int) -> None:
        gone = self._here()[place]
        keep_tried(self._workspace, [one for one in tried_records(self._workspace) if one != gone])
        self.show(None, self._question)
