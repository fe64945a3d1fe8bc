"""Writing questions in a real browser: by hand, by suggestion, by keyboard, and nothing is lost whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from blindlabel.storage.workspace import Workspace
from blindlabel.web.owner_page import GUIDE_SEEN
from blindlabel.web.rehearsal import Rehearsal, Wanted
from support.web_app import App, expect_question, open_app, question, running, take_completion, write


@dataclass
class Desk:
    app: App
    workspace: Workspace

    def task(self, record: int) -> tuple[str, str | None]:
        """Draft and question of a record."""
        task = self.workspace.tasks()[record]
        return task.draft, task.question


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder: Path = tmp_path_factory.mktemp("annotating")
    study = Rehearsal(folder, Wanted(records=16))
    study.begin()
    study.workspace("anna").remember(GUIDE_SEEN, "yes")
    with running(folder / "anna") as app:
        yield Desk(app, study.workspace("anna"))


def open_record(page: Page, number: int) -> None:
    page.locator(".row-open").nth(number).click()
    expect(page.locator(".cm-content")).to_be_focused()


def test_guide_greets_the_first_visit_and_only_that(desk: Desk, context: BrowserContext) -> None:
    desk.workspace.remember(GUIDE_SEEN, "no")
    page = open_app(context, desk.app)
    expect(page.get_by_text("Step 1 of 5")).to_be_visible()
    for _ in range(4):
        page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_role("button", name="Begin").click()
    expect(page.locator(".q-dialog")).to_have_count(0)
    page.reload()
    expect(page.locator(".row-open").first).to_be_visible()
    page.wait_for_timeout(300)
    expect(page.locator(".q-dialog")).to_have_count(0)


def test_annotate_a_record_by_hand(desk: Desk, context: BrowserContext) -> None:
    desk.workspace.discard(0)
    page = open_app(context, desk.app)
    expect(page.locator(".row-open")).to_have_count(16)
    page.keyboard.press("n")
    own = desk.workspace.records()[0]
    expect(page.get_by_role("heading", name=own.id)).to_be_visible()
    word = own.row["surname"].split()[0]
    page.get_by_role("button", name=word, exact=True).first.click()
    expect_question(page, f'ret is_in("{word}", $r)')
    page.keyboard.type(" | $r")
    page.keyboard.type(".sur", delay=20)
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("surname")
    take_completion(page)
    expect_question(page, f'ret is_in("{word}", $r) | $r.surname')
    for _ in range(len(" | $r.surname")):
        page.keyboard.press("Backspace")
    expect(page.locator(".matches")).to_contain_text("of your own 16 records, this one included")
    page.get_by_role("button", name="Save Ctrl+S").click()
    expect(page.locator(".pane .state")).to_have_text("saved")
    assert desk.task(0) == (f'ret is_in("{word}", $r)',) * 2


def test_error_is_shown_at_its_place_and_kept_as_draft(desk: Desk, context: BrowserContext) -> None:
    page = open_app(context, desk.app)
    open_record(page, 1)
    write(page, '# 🦉\nret is_inn("smith", $r)')
    expect(page.locator(".question-error")).to_have_text("is_inn")
    finding = page.locator(".finding-error")
    expect(finding).to_contain_text("Line 2, column 5")
    expect(finding).to_contain_text("is_in")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Kept as a draft")).to_be_visible()
    assert desk.task(1) == ('# 🦉\nret is_inn("smith", $r)', None)
    page.keyboard.press("Alt+n")
    expect(page.locator(".question-error")).to_have_count(0)
    page.keyboard.press("Alt+p")
    expect(page.locator(".question-error")).to_have_text("is_inn")
    page.locator(".question-error").hover()
    expect(page.locator(".question-tooltip")).to_contain_text("is_inn")


def test_suggest_then_save_and_next_by_keyboard(desk: Desk, context: BrowserContext) -> None:
    page = open_app(context, desk.app)
    open_record(page, 2)
    page.keyboard.press("Alt+g")
    expect(page.locator(".why")).to_contain_text("Suggested")
    expect(page.locator(".matches")).to_contain_text("Matches 1 of")
    suggested = question(page)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name=desk.workspace.records()[3].id)).to_be_visible()
    expect_question(page, "")
    draft, saved = desk.task(2)
    assert saved is not None and saved == draft
    assert saved.split() == suggested.split()
    page.keyboard.press("Control+z")
    expect_question(page, "")  # undo must not bring back another record's text


def test_reload_keeps_the_draft_and_the_place(desk: Desk, context: BrowserContext) -> None:
    page = open_app(context, desk.app)
    open_record(page, 4)
    write(page, 'ret is_in("unfinis')
    page.reload()
    expect(page.get_by_role("heading", name=desk.workspace.records()[4].id)).to_be_visible()
    expect_question(page, 'ret is_in("unfinis')
    page.keyboard.press("Escape")
    expect(page.locator("tr", has_text=desk.workspace.records()[4].id).locator(".state")).to_have_text("draft")


def test_killed_server_loses_nothing_not_even_what_is_typed_meanwhile(desk: Desk, context: BrowserContext) -> None:
    page = open_app(context, desk.app)
    open_record(page, 5)
    write(page, "ret is_empty($r)")
    expect(page.locator(".cost")).to_contain_text("1 predicate")
    before = [task.draft for task in desk.workspace.tasks() if task.record != 5]
    desk.app.kill()
    page.keyboard.type(" & is_empty($r.age")
    desk.app.restart()
    page.goto(desk.app.address + "?record=5")
    expect(page.get_by_role("heading", name=desk.workspace.records()[5].id)).to_be_visible()
    expect(page.locator(".cm-content")).to_contain_text("is_empty($r) & is_empty($r.age")
    expect(page.locator(".cost")).to_contain_text("2 predicates")
    assert desk.task(5)[0].startswith("ret is_empty($r) & is_empty($r.age")
    assert [task.draft for task in desk.workspace.tasks() if task.record != 5] == before


def test_discarded_question_comes_back_with_undo(desk: Desk, context: BrowserContext) -> None:
    page = open_app(context, desk.app)
    open_record(page, 6)
    write(page, 'ret is_in("kept", $r)')
    page.keyboard.press("Control+s")
    expect(page.locator(".pane .state")).to_have_text("saved")
    page.get_by_role("button", name="Discard").click()
    expect(page.locator(".pane .state")).to_have_text("open")
    assert desk.task(6) == ("", None)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".pane .state")).to_have_text("saved")
    assert desk.task(6) == ('ret is_in("kept", $r)',) * 2


def test_completion_and_help(desk: Desk, context: BrowserContext) -> None:
    page = open_app(context, desk.app)
    open_record(page, 7)
    own = desk.workspace.records()[7]
    page.keyboard.type("ret is_i")
    expect(page.locator(".cm-completionInfo")).to_contain_text("Whether the needle occurs anywhere")
    take_completion(page)
    expect_question(page, 'ret is_in("", $r)')
    word = own.prepared.attributes["address_1"].split()[0]
    page.keyboard.type(word[:2], delay=20)
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text(word)
    page.keyboard.press("Escape")
    page.locator(".question-function-token").hover()
    expect(page.locator(".question-help").first).to_contain_text("is_in(needle, text)")


def test_search_filter_and_keys_of_the_list(desk: Desk, context: BrowserContext) -> None:
    page = open_app(context, desk.app)
    own = desk.workspace.records()[8]
    page.keyboard.press("/")
    expect(page.locator(".search-field")).to_be_focused()
    page.keyboard.type(own.id)
    expect(page.locator(".row-open")).to_have_count(1)
    expect(page.locator(".count")).to_have_text("1 of 16 records")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.locator(".row-open")).to_have_count(16)
    page.get_by_role("button", name="Saved", exact=True).click()
    expect(page.locator(".row-open")).to_have_count(
        len([task for task in desk.workspace.tasks() if task.state == "saved"])
    )
    page.locator(".records th", has_text="Record").click()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
