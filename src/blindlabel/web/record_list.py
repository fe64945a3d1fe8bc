"""The list of the round's records: search, filter, sort and page, all done in Python so that thousands of records stay
quick.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from nicegui import ui
from nicegui.element import Element

from blindlabel.web.app import Filter, OwnerApp, Seat
from blindlabel.web.components import button, counted, key_button, show_in, text

PAGE_SIZE = 50
MOST_ATTRIBUTES = 8
"""Attributes that have a column by default; if there are more, the first ones."""
COLUMNS = "web_columns"


class RecordTable(Element, component="browser/record_table.js"):
    """The table itself."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._props["label"] = label
        self.show([], [], {"sort": "record", "descending": False, "page": 1, "pages": 1, "empty": ""})

    def show(self, columns: list[dict[str, Any]], rows: list[dict[str, Any]], shape: dict[str, Any]) -> None:
        """Show one page."""
        show_in(self, columns=columns, rows=rows, **shape)


class RecordList:
    """The list of one tab."""

    def __init__(self, app: OwnerApp, seat: Seat, on_open: Callable[[int], Any], on_next: Callable[[], Any]) -> None:
        self._app, self._cache, self.seat = app, app.cache, seat
        self._on_open = on_open
        self._shown: Filter = "mine" if app.cache.team.assigned else "all"
        self._search = ""
        self._sort, self._descending, self._page = "record", False, 1
        self._edition: tuple[int, int, str] | None = None
        self.order: list[int] = []
        """The records in the order of the list, all pages."""
        with ui.element("section").classes("record-list").props('aria-label="Records"') as self.root:
            self._build_tools(on_next)
            self._table = RecordTable("Records of this round")
            self._table.on("open", lambda event: on_open(int(event.args)))
            self._table.on("sort", lambda event: self._sorted(str(event.args)))
            self._table.on("page", lambda event: self._again(int(event.args)))
        self.refresh()

    def _build_tools(self, on_next: Callable[[], Any]) -> None:
        with ui.element("div").classes("tools"):
            self._next = key_button("Next open record", "next-open", on_next, "main")
            field = ui.input(placeholder="Search", on_change=self._searched).props(
                "dense outlined clearable debounce=150"
            )
            field.classes("search").props('aria-label="Search records" input-class=search-field')
            field.on("keydown.enter", self._entered, js_handler="(event) => emit(event.target.value)")
            with field.add_slot("append"):
                text("kbd", "/")
            choices = {"all": "All", "open": "Open", "draft": "Drafts", "saved": "Saved", "unsure": "Not sure"}
            if self._cache.team.names:
                choices = {"all": "All", "mine": "Mine"} | choices
            toggle = ui.toggle(choices, value=self._shown, on_change=self._filtered)
            toggle.props("no-caps unelevated dense").classes("filter")
            self._build_columns()
            self._count = text("span", "", "count")
            self._count.props("role=status")

    def _build_columns(self) -> None:
        names, chosen = list(self._app.workspace.agreement.attributes), self._chosen_columns()
        with button("Columns", look="outline dense icon-right=expand_more"), ui.menu().classes("columns"):
            for name in names:
                ui.checkbox(name, value=name in chosen, on_change=lambda event, name=name: self._column(name, event))

    def _chosen_columns(self) -> list[str]:
        names, kept = list(self._app.workspace.agreement.attributes), self._app.workspace.remembered(COLUMNS)
        return names[:MOST_ATTRIBUTES] if kept is None else [name for name in names if name in json.loads(kept)]

    def _column(self, name: str, event: Any) -> None:
        chosen = [one for one in self._chosen_columns() if one != name] + [name] * bool(event.value)
        self._app.workspace.remember(COLUMNS, json.dumps(chosen))
        self._again(self._page)

    # What the person does

    def _searched(self, event: Any) -> None:
        self._search = str(event.value or "")
        self._again()

    def _entered(self, event: Any) -> Any:
        """Open the first record that fits what stands in the field, which may not have come by itself yet."""
        self._search = str(event.args or "")
        self._again()
        return self._on_open(self.order[0]) if self.order else None

    def _filtered(self, event: Any) -> None:
        self._shown = cast(Filter, event.value)
        self._again()

    def _sorted(self, column: str) -> None:
        self._descending = not self._descending if column == self._sort else False
        self._sort = column
        self._again()

    def _again(self, page: int = 1) -> None:
        self._page, self._edition = page, None
        self.refresh()

    # What is shown

    def refresh(self) -> None:
        """Show the list as it is now, if it has changed."""
        edition = (self._cache.edition, self._app.judging.edition, self.seat.name)
        if self._edition == edition:
            return
        self._edition = edition
        found = self.order = self.seat.listed(self._search, self._shown, self._sort, self._descending)
        pages = max(1, -(-len(found) // PAGE_SIZE))
        self._page = min(self._page, pages)
        start = (self._page - 1) * PAGE_SIZE
        shape = {"sort": self._sort, "descending": self._descending, "page": self._page, "pages": pages}
        rows = [self.seat.line(record) for record in found[start : start + PAGE_SIZE]]
        self._table.show(self._columns(), rows, shape | {"empty": self._empty()})
        asked = len(self._cache.tasks)
        shown = "" if len(found) == asked else f"{len(found):,} of "
        self._count.text = shown + counted(asked, "record")
        left = len(self.seat.unwritten())
        self._next.set_visibility(self._cache.writable and left > 0)

    def _empty(self) -> str:
        if self._search or self._shown != "all":
            return "No record of this round fits the search and the filter. Clear the search, or show all."
        return "No record is asked in this round."

    def _columns(self) -> list[dict[str, Any]]:
        columns: list[dict[str, Any]] = [
            {"name": "state", "label": "State", "kind": "state", "width": "5.4rem"},
            {"name": "verdict", "label": "Verdict", "kind": "verdict", "width": "8.7rem"},
            {"name": "id", "label": "Record", "kind": "id", "width": "7.5rem"},
        ]
        records = self._cache.records
        names, all_names = self._chosen_columns() if records else [], list(records[0].row) if records else []
        weights = [_weight(name, [len(own.row[name]) for own in records[:200]]) for name in names]
        columns += [
            {
                "name": name,
                "label": name,
                "kind": "value",
                "place": all_names.index(name),
                "width": f"{100 * weight / sum(weights):.1f}%",
            }
            for name, weight in zip(names, weights, strict=True)
        ]
        if self._cache.state.round > 1:
            columns.append({"name": "disagreed", "label": "Came back", "kind": "again", "width": "6.2rem"})
        if self._cache.team.names:
            columns.append({"name": "asked", "label": "Asked", "kind": "asked", "width": "7rem"})
        if {self._cache.writer(record) for record in self._cache.tasks} - {"", self.seat.name}:
            columns.append({"name": "writer", "label": "Written by", "kind": "writer", "width": "7rem"})
        columns.append({"name": "mark", "label": "Note", "kind": "mark", "width": "5.8rem", "sortable": False})
        return [{"sortable": True} | column for column in columns]


def _weight(name: str, lengths: list[int]) -> float:
    """How wide an attribute's column is relative to the others: wide enough for its name and for all of its values
    where they are short, else for nine of ten; but a long text leaves room for short ones.
    """
    usual = max(lengths) if max(lengths) <= 12 else sorted(lengths)[9 * len(lengths) // 10]
    return min(max(usual + 3.0, len(name) * 1.3, 5.0), 30.0)
