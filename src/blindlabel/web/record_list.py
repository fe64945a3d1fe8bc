"""The list of the round's records: search, filter, sort and page, all done in Python so that thousands of records stay
quick.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from nicegui import ui
from nicegui.events import GenericEventArguments

from blindlabel.web.components import key_button, text
from blindlabel.web.desk import Filter, Sort

if TYPE_CHECKING:
    from blindlabel.web.server import OwnerApp

PAGE_SIZE = 50

# Static templates: what a record holds is bound as text, never part of a template.
_STATE_CELL = """<q-td :props="props"><span :class="'state state-' + props.value">{{ props.value }}</span></q-td>"""
_ID_CELL = """<q-td :props="props"><button type="button" class="row-open"
  @click.stop="$parent.$emit('open', props.row.record)">{{ props.value }}</button></q-td>"""
_BRIEF_CELL = """<q-td :props="props" class="brief"><span>{{ props.value }}</span></q-td>"""
_DISAGREED_CELL = """<q-td :props="props">{{ props.value ? 'with ' + props.value : '' }}</q-td>"""


class RecordList:
    """The list of one tab."""

    def __init__(self, app: OwnerApp, on_open: Callable[[int], Any], on_next: Callable[[], Any]) -> None:
        self._desk = app.desk
        self._on_open = on_open
        self._shown: Filter = "all"
        self._search = ""
        self._shape: dict[str, Any] = {"page": 1, "rowsPerPage": PAGE_SIZE, "sortBy": "record", "descending": False}
        self._edition = -1
        with ui.element("section").classes("record-list").props('aria-label="Records"') as self.root:
            self._build_tools(on_next)
            self._build_table(app.workspace.table_name)
        self.refresh()

    def _build_tools(self, on_next: Callable[[], Any]) -> None:
        with ui.element("div").classes("tools"):
            self._next = key_button("Next open record", "N", on_next, kind="main")
            field = ui.input(placeholder="Search", on_change=self._searched).props(
                "dense outlined clearable debounce=150"
            )
            field.classes("search").props('aria-label="Search records" input-class=search-field')
            with field.add_slot("append"):
                text("kbd", "/")
            choices = {"all": "All", "open": "Open", "draft": "Drafts", "saved": "Saved"}
            self._choice = (
                ui.toggle(choices, value="all", on_change=self._filtered)
                .props("no-caps unelevated dense")
                .classes("filter")
            )
            self._count = text("span", "", "count")
            self._count.props("role=status")

    def _build_table(self, table_name: str) -> None:
        columns: list[dict[str, Any]] = [
            {"name": "state", "label": "State", "field": "state", "align": "left", "sortable": True},
            {"name": "id", "label": "Record", "field": "id", "align": "left", "sortable": True},
            {"name": "brief", "label": f"Content ({table_name})", "field": "brief", "align": "left", "sortable": True},
            {"name": "disagreed", "label": "Disagreed", "field": "disagreed", "align": "left", "sortable": True},
            {"name": "round", "label": "Round", "field": "round", "align": "right"},
        ]
        table = ui.table(columns=columns, rows=[], row_key="record", pagination=self._shape)
        self._table = table.props("flat dense square binary-state-sort :rows-per-page-options=[25,50,100,500]").classes(
            "records"
        )
        for name, template in (
            ("state", _STATE_CELL),
            ("id", _ID_CELL),
            ("brief", _BRIEF_CELL),
            ("disagreed", _DISAGREED_CELL),
        ):
            table.add_slot(f"body-cell-{name}", template)
        table.on("open", lambda event: self._on_open(int(event.args)))
        table.on("row-click", lambda event: self._on_open(int(event.args[1]["record"])), [[], ["record"], None])
        table.on("request", self._requested)

    # What the person does

    def _searched(self, event: Any) -> None:
        self._search = str(event.value or "")
        self._again()

    def _filtered(self, event: Any) -> None:
        self._shown = cast(Filter, event.value)
        self._again()

    def _requested(self, event: GenericEventArguments) -> None:
        asked = event.args["pagination"]
        sort = asked.get("sortBy") or "record"
        self._shape = {
            "page": int(asked["page"]),
            "rowsPerPage": max(1, int(asked["rowsPerPage"]) or PAGE_SIZE),
            "sortBy": sort if sort in ("state", "id", "brief", "disagreed") else "record",
            "descending": bool(asked.get("descending")),
        }
        self._again(page=self._shape["page"])

    def _again(self, page: int = 1) -> None:
        self._shape["page"] = page
        self._edition = -1
        self.refresh()

    # What is shown

    def refresh(self) -> None:
        """Show the list as it is now, if it has changed."""
        if self._edition == self._desk.edition:
            return
        self._edition = self._desk.edition
        found = self._desk.rows(self._search, self._shown, cast(Sort, self._shape["sortBy"]), self._shape["descending"])
        size = self._shape["rowsPerPage"]
        pages = max(1, -(-len(found) // size))
        self._shape["page"] = min(self._shape["page"], pages)
        start = (self._shape["page"] - 1) * size
        progress = self._desk.progress()
        rows = [row.to_json() | {"round": progress.round} for row in found[start : start + size]]
        self._table._props["pagination"] = self._shape | {"rowsNumber": len(found)}
        self._table._props["rows"] = rows
        self._table.update()
        self._count.text = (
            f"{len(found):,} of {progress.asked:,} records"
            if len(found) != progress.asked
            else f"{progress.asked:,} records"
        )
        self._next.set_enabled(self._desk.writable and progress.saved < progress.asked)
