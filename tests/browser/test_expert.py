"""An expert goes through fifty records of products: every suggestion is judged by its verdict, ten are changed in the
points view, doubtful ones are made stricter. Counts keys and clicks, which is what a record costs a person.

The records are abt-buy's where that benchmark lies here (BLINDLABEL_DATA, or ../shared/data beside the repository),
else generated products.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from blindlabel.protocol.interfaces import CHANGED, SUGGESTED
from blindlabel.records.generator import Size, generate
from blindlabel.records.generator import write as write_tables
from blindlabel.storage.annotations import Annotations
from blindlabel.storage.workspace import Workspace
from blindlabel.web.local_study import Rehearsal, Wanted
from support.patience import Patience
from support.web_app import App, expect_told, open_app, running

RECORDS, CHANGES = 50, 10
DATA = Path(os.environ.get("BLINDLABEL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data") / "abt-buy"
KEY, CLICK, LOOK = 0.28, 1.3, 1.35
"""Seconds of a keystroke, of pointing and clicking, and of a decision, by the keystroke-level model."""


CUT = "cells => cells.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"


@dataclass
class Expert:
    """Presses keys and clicks, and counts them."""

    page: Page
    keys: int = 0
    clicks: int = 0
    changed: set[int] = field(default_factory=set)

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.keys += 1

    def suggest(self) -> str:
        """Let a question be suggested; what its verdict says first."""
        self.press("Alt+g")
        expect(self.page.locator(".why")).to_contain_text("Suggested")
        return self.verdict()

    def verdict(self) -> str:
        said = self.page.locator(".verdict-good strong, .verdict-warn strong, .verdict-bad strong")
        expect(said).to_be_visible()
        return said.inner_text()

    def save(self, record: str) -> None:
        """Save and go on; once more where nothing better can be asked about the record."""
        self.press("Control+Enter")
        still, doubt = self.page.get_by_role("heading", name=record, exact=True), self.page.locator(".confirmation")
        Patience().wait_until(lambda: doubt.is_visible() or not still.count())
        if doubt.is_visible():
            self.press("Control+Enter")

    def raise_bar(self) -> bool:
        """Ask for one point more, in the points view; False where all points are asked for."""
        bar = self.page.get_by_role("slider")
        if not bar.count() or bar.input_value() == bar.get_attribute("max"):
            return False
        wanted = str(int(bar.input_value()) + 1)
        bar.focus()
        self.clicks += 1
        self.press("ArrowRight")
        expect(self.page.locator(".points-bar strong")).to_have_text(wanted)
        expect(self.page.locator(".why")).to_be_hidden()
        return True


@pytest.fixture
def study(tmp_path: Path) -> Rehearsal:
    if DATA.is_dir():
        tables = [DATA / "a.csv", DATA / "b.csv"]
    else:
        tables = list(write_tables(generate("products", Size(400, 200), 3), tmp_path / "tables")[:2])
    made = Rehearsal(tmp_path / "study", Wanted(records=RECORDS, name="Products of two shops"), tables)
    made.begin()
    assert "person" not in made.agreement.criteria
    return made


@pytest.fixture
def app(study: Rehearsal, tmp_path: Path) -> Iterator[App]:
    with running(tmp_path / "study" / "anna") as started:
        yield started


def test_expert_judges_fifty_suggestions(
    study: Rehearsal, app: App, context: BrowserContext, record_property: Callable[[str, object], None]
) -> None:
    anna: Workspace = study.workspace("anna")
    page = open_app(context, app)
    page.set_viewport_size({"width": 1024, "height": 768})
    price = list(anna.records()[0].row).index("price") + 4  # behind state, verdict and record
    expect(page.locator("thead th").nth(price - 1)).to_have_text("price")
    assert page.locator(f"tbody td:nth-child({price})").evaluate_all(CUT) == [], "a price is cut off"
    page.set_viewport_size({"width": 1366, "height": 768})
    expert = Expert(page)
    expert.press("n")
    for own in anna.records():
        expect(page.get_by_role("heading", name=own.id, exact=True)).to_be_visible()
        said = expert.suggest()
        while (
            "other" in said
            or "relatives" in said
            or (own.record % (RECORDS // CHANGES) == 0 and own.record not in expert.changed)
        ) and (expert.raise_bar()):
            expert.changed.add(own.record)
            said = expert.verdict()
        expert.save(own.id)
    expect_told(page, "Every record of this round has a question.")
    tasks, log = anna.tasks(), Annotations(anna).log()
    assert {task.state for task in tasks} == {"saved"}
    assert {task.record for task in tasks if task.source == CHANGED} == expert.changed
    assert {task.source for task in tasks} <= {SUGGESTED, CHANGED}
    assert len(expert.changed) >= CHANGES - 2, "nearly every question has a bar that can be raised"
    assert len({visit.record for visit in log if visit.saved is not None and visit.suggested is not None}) == RECORDS
    seconds = expert.keys * KEY + expert.clicks * CLICK + RECORDS * LOOK
    told = f"{expert.keys / RECORDS:.1f} keys, {expert.clicks / RECORDS:.1f} clicks, {seconds / RECORDS:.1f} s a record"
    record_property("effort", told)
    assert expert.keys / RECORDS < 6 and expert.clicks / RECORDS < 3
