"""The verdict about the question on the page, and the evidence for it: the other own rows that it fits."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from blindlabel.language.formula import Formula, atoms_of
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.web.components import Evidence, text
from blindlabel.web.hits import marked
from blindlabel.web.judging import Judging
from blindlabel.web.verdicts import Judged


class VerdictPane:
    """Says what is to be thought of the question."""

    def __init__(self, judging: Judging) -> None:
        self._judging = judging
        with ui.element("div").classes("verdict").props("role=status aria-live=polite") as self._root:
            self._headline = text("strong", "")
            self._detail = text("span", "")
            self._cost = text("span", "", "cost")

    def build_evidence(self) -> None:
        """Where the rows stand that the question fits."""
        with ui.element("section").classes("pane evidence-pane").props('aria-label="Rows that fit"') as self._rows:
            self._rows_title = text("h3", "")
            self._evidence = Evidence()

    def clear(self, sentence: str = "No question yet.") -> None:
        """Nothing is known about the question."""
        self._headline.text, self._detail.text, self._cost.text = "", sentence, ""
        self._root.classes(replace="verdict")
        self._rows.set_visibility(False)

    def show(self, verdict: Judged, formula: Formula, cost: str) -> None:
        """Show a verdict with its evidence."""
        self._headline.text, self._detail.text, self._cost.text = verdict.headline, verdict.detail, cost
        self._root.classes(replace=f"verdict verdict-{verdict.level}")
        self._rows.set_visibility(bool(verdict.also))
        if verdict.also:
            rows = "row" if verdict.others == 1 else "rows"
            self._rows_title.text = f"{verdict.others:,} other {rows} of yours that it fits"
            self._evidence.show(
                evidence_of(self._judging, verdict, formula),
                f"and {verdict.others - len(verdict.also):,} more" if verdict.others > len(verdict.also) else "",
            )


def evidence_of(judging: Judging, verdict: Judged, formula: Formula) -> list[dict[str, Any]]:
    """The rows that a question fits, with what it found in them."""
    (records, ids), atoms = judging.rows, atoms_of(formula)
    return [{"id": ids[place], "attributes": marked(records[place], atoms)} for place in verdict.also]


def record_with_hits(own: OwnRecord, formula: Formula) -> list[dict[str, object]]:
    """An own record with what its question finds in it."""
    return marked(own.prepared, atoms_of(formula))
