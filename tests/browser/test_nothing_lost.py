"""What a person has typed is never lost, cut or overwritten: long words, a bar that was set, undo, two people at one
record, a server that is gone. One study whose records are as awkward as real ones: forty attributes, long texts, long
ids, capitals, a text from right to left.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from blindlabel.storage.annotations import Annotations
from blindlabel.storage.workspace import Workspace
from blindlabel.web.local_study import Rehearsal, Wanted
from support.axe import fits, no_violations
from support.web_app import App, expect_question, new_context, open_app, running, show_text, write

LONG_ID = "urn:record:" + "0123456789" * 6
TITLES = ("Vertical Class Partitioning of Belkin F8V", "Belkin Cable", "Sony Walkman NW", "Canon PowerShot", "Acer One")


@dataclass
class Desk:
    app: App
    workspace: Workspace


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder: Path = tmp_path_factory.mktemp("desk")
    names = ["title", "maker", *(f"field {number}" for number in range(2, 40))]
    tables = []
    for name in ("a", "b"):
        tables.append(folder / f"{name}.csv")
        with tables[-1].open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", *names])
            for row, title in enumerate(TITLES):
                filled = {"title": title, "maker": "שלום עולם" if row == 1 else f"Maker{row}", "field 39": "last"}
                filled["field 20"] = "long text " * 90 if row == 2 else ""
                writer.writerow([f"{LONG_ID}{row}", *(filled.get(one, "") for one in names)])
    study = Rehearsal(
        folder / "study",
        Wanted(records=5, name="Products of two shops"),
        tables,
        preparation={"steps": ["nfkc", "collapse_space"], "types": {}},
    )
    study.begin()
    with running(folder / "study" / "anna") as app:
        yield Desk(app, study.workspace("anna"))


def opened(browser: Browser, desk: Desk, record: int, width: int = 1440, scheme: str = "light") -> Page:
    context = new_context(browser, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = open_app(context, desk.app)
    page.locator(".row-open").nth(record).click()
    expect(page.get_by_role("heading", name=f"{LONG_ID}{record}")).to_be_visible()
    page.get_by_role("button", name="Points", exact=True).click()
    return page


def points(page: Page) -> list[str]:
    return [one.input_value() for one in page.locator(".points-words").all()]


def test_long_words_are_offered_in_pieces_a_set_bar_stays_and_undo_works_anywhere(desk: Desk, browser: Browser) -> None:
    page = opened(browser, desk, 0)
    page.get_by_label("Words to ask for").fill("vertical class partitioning")
    page.keyboard.press("Enter")
    offer = page.get_by_role("alert").filter(has_text="too long for one condition (27 characters)")
    expect(offer).to_contain_text("“vertical class” and “partitioning”")
    expect(page.locator(".points-table")).to_have_count(0)
    no_violations(page, "offer of pieces")
    page.get_by_role("button", name="Add 2 conditions").click()
    expect(page.locator(".points-words")).to_have_count(2)
    assert points(page) == ["vertical class", "partitioning"]
    expect(offer).to_have_count(0)
    follows = page.locator(".points-follows")
    expect(follows).to_contain_text("follows the points")
    belkin = page.locator(".record-word", has_text="Belkin")
    belkin.click()
    expect(belkin).to_have_attribute("aria-pressed", "true")  # though it is asked for in lower case
    expect(page.locator(".points-words")).to_have_count(3)
    expect(belkin).to_be_focused()
    page.keyboard.press("Control+z")
    expect(page.locator(".points-words")).to_have_count(2)
    expect(belkin).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("Control+Shift+z")
    expect(page.locator(".points-words")).to_have_count(3)
    expect(follows).to_contain_text("follows the points")
    page.get_by_role("slider").fill("2")
    expect(follows).to_contain_text("stays when words change")
    page.keyboard.press("Alt+l")
    page.locator(".row-open").nth(0).click()
    expect(page.locator(".points-bar strong")).to_have_text("2")
    expect(follows).to_contain_text("stays when words change")
    page.locator(".record-word", has_text="F8V").click()
    expect(page.locator(".points-words")).to_have_count(4)
    expect(page.locator(".points-bar strong")).to_have_text("2")
    page.get_by_role("button", name="Let it follow").click()
    expect(page.locator(".points-bar strong")).not_to_have_text("2")
    page.reload()
    expect(follows).to_contain_text("follows the points")
    page.get_by_label("Words to ask for").fill("cable")
    page.keyboard.press("Control+s")  # what stands in the field is saved, too
    expect(page.locator(".pane .state")).to_have_text("saved")
    assert 'has_word("cable"' in (desk.workspace.tasks()[0].question or "")
    page.context.close()


def test_two_people_at_one_record_see_both_texts_and_the_list_says_who_wrote_what(desk: Desk, browser: Browser) -> None:
    ada, ben = opened(browser, desk, 1), opened(browser, desk, 1)
    for page in (ada, ben):
        show_text(page)
    write(ada, 'ret contains("belkin", $r)')
    expect(ada.locator(".finding-error")).to_contain_text("Did you mean is_in(")
    write(ada, 'ret is_in("belkin", $r)')
    expect(ada.locator(".verdict-bad")).to_contain_text("only the capitals differ")
    ada.get_by_role("button", name="Discard").click()
    expect_question(ada, "")
    ben.reload()
    show_text(ben)
    write(ada, 'ret is_in("Cable", $r)')
    expect(ada.locator(".pane .state")).to_have_text("draft")
    both = ben.locator(".overtaken")
    expect(both).to_contain_text("Another tab of yours is writing a question for this record.")
    expect(both.locator("pre")).to_have_text(['ret is_in("Cable", $r)', "(no question)"])
    ben.get_by_role("button", name="Continue with the text there").click()
    expect(both).to_be_hidden()
    expect_question(ben, 'ret is_in("Cable", $r)')
    ada.keyboard.press("Control+s")
    expect(ada.locator(".pane .state")).to_have_text("saved")
    desk.workspace.save_questions({1: 'ret is_in("Belkin", $r)'}, "person", "Carl")  # another process
    ben.keyboard.press("End")
    ben.keyboard.type(" # mine")
    expect(both).to_contain_text("Carl has saved a question for this record.")
    expect(both.locator("pre")).to_have_text(['ret is_in("Belkin", $r)', 'ret is_in("Cable", $r) # mine'])
    ben.keyboard.press("Control+s")
    assert desk.workspace.tasks()[1].question == 'ret is_in("Belkin", $r)', "nothing is written over the other text"
    no_violations(ben, "two people")
    ben.reload()  # the tab has kept what is its own, and still asks
    expect(both).to_be_visible()
    expect(both.locator("pre")).to_have_text(['ret is_in("Belkin", $r)', 'ret is_in("Cable", $r) # mine'])
    ben.get_by_role("button", name="Keep mine instead").click()
    expect(both).to_be_hidden()
    ben.keyboard.press("Control+s")
    expect(ben.locator(".pane .state")).to_have_text("saved")
    assert desk.workspace.tasks()[1].question == 'ret is_in("Cable", $r) # mine'
    desk.workspace.save_questions({2: 'ret is_in("Sony", $r)'}, "person", "Carl")
    ada.keyboard.press("Alt+l")
    written = ada.locator("tbody tr").nth(1).locator(".cell-writer")
    expect(written).to_have_text("Ada")
    desk.workspace.save_questions({1: 'ret is_in("Belkin", $r)'}, "person", "Carl")
    expect(written).to_have_text("Carl")  # live
    ada.keyboard.press("n")
    expect(ada.locator(".annotation")).to_be_visible()
    ben.get_by_role("button", name="Continue with the text there").click()
    ben.get_by_label("A note for yourself").fill("ask Carl")
    ben.keyboard.press("Alt+u")
    expect(ben.get_by_role("checkbox", name="Not sure")).to_be_checked()
    assert Annotations(desk.workspace).marks()[1].note == "ask Carl"
    for page in (ada, ben):
        page.context.close()


def test_two_people_in_two_browsers_are_told_of_each_other_by_name(browser: Browser, tmp_path: Path) -> None:
    study = Rehearsal(tmp_path / "study", Wanted(records=4))
    study.begin()
    workspace = study.workspace("anna")
    surname = f'ret is_in("{workspace.records()[1].prepared.attributes["surname"]}", $r)'
    with running(workspace.folder, "--browsers", "2") as app:
        assert app.process.stdout is not None
        ada, ben = (new_context(browser).new_page() for _ in range(2))
        for page, name, link in ((ada, "Ada", app.link), (ben, "Ben", app.process.stdout.readline().strip())):
            page.goto(link)
            page.get_by_role("textbox", name="Name").fill(name)
            page.keyboard.press("Enter")
            expect(page.locator(".title")).to_contain_text(f"{name} for anna")
            page.locator(".row-open").nth(1).click()
            show_text(page)
        write(ada, 'ret is_in("x')
        theirs = ben.locator(".overtaken")
        expect(theirs).to_contain_text("Ada is writing a question for this record.")
        ben.get_by_role("button", name="Continue with the text there").click()
        expect_question(ben, 'ret is_in("x')
        write(ben, surname)
        ben.keyboard.press("Control+s")
        expect(ben.locator(".pane .state")).to_have_text("saved")
        mine = ada.locator(".overtaken")
        expect(mine).to_contain_text("Ben has saved a question for this record.")
        expect(mine.locator("pre")).to_have_text([surname, 'ret is_in("x'])
        ada.get_by_role("button", name="Continue with the text there").click()
        expect_question(ada, surname)
        ada.keyboard.press("Alt+n")
        expect(ada.get_by_role("heading", name=workspace.records()[2].id)).to_be_visible()
        ada.keyboard.press("Alt+g")
        expect(ada.locator(".why")).to_contain_text("Suggested")
        ada.keyboard.press("Alt+l")
        expect(ada.locator("tbody .cell-writer")).to_have_text(["", "Ben", "Ada", ""])
        ben.keyboard.press("Alt+l")
        expect(ben.locator("tbody .cell-writer")).to_have_text(["", "Ben", "Ada", ""])
        for page in (ada, ben):
            page.context.close()


def test_without_its_server_the_page_says_so_is_off_and_keeps_what_is_typed(desk: Desk, browser: Browser) -> None:
    page = opened(browser, desk, 3, scheme="dark")
    away = page.get_by_role("alert").filter(has_text="does not answer")
    expect(away).to_be_hidden()
    write(page, 'ret is_in("Canon", $r)')
    expect(page.locator(".pane .state")).to_have_text("draft")
    desk.app.kill()
    expect(away).to_be_visible()
    for off in (".own", ".actions", ".help", ".round-actions", ".annotation-nav", ".views"):
        assert page.locator(off).first.evaluate("one => one.inert"), off
    no_violations(page, "server gone")
    page.keyboard.press("End")
    page.keyboard.type(" & true")
    page.keyboard.press("Control+s")
    desk.app.restart()
    expect(away).to_be_hidden()
    expect(page.get_by_role("heading", name=f"{LONG_ID}3")).to_be_visible()
    expect_question(page, 'ret is_in("Canon", $r) & true')
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+s")
    expect(page.locator(".pane .state")).to_have_text("saved")
    assert desk.workspace.tasks()[3].question == 'ret is_in("Canon", $r) & true'
    page.context.close()


def test_a_key_that_is_lost_with_the_connection_holds_up_no_other(desk: Desk, browser: Browser) -> None:
    page = opened(browser, desk, 1)
    page.evaluate(
        """() => {
            const emit = window.socket.emit.bind(window.socket);
            window.socket.emit = (...said) => {
                if (!JSON.stringify(said).includes("serial")) return emit(...said);
                window.socket.emit = emit;  // what the key has asked for never arrives, and the line is cut
                window.socket.io.engine.close();
            };
            const seen = () => document.body.classList.contains("is-away") && (document.body.dataset.wasAway = "yes");
            new MutationObserver(seen).observe(document.body, { attributes: true, attributeFilter: ["class"] });
        }"""
    )
    page.keyboard.press("Alt+n")
    expect(page.locator("body[data-was-away]:not(.is-away)")).to_have_count(1)
    expect(page.get_by_role("heading", name=f"{LONG_ID}1")).to_be_visible()
    page.keyboard.press("Alt+n")
    expect(page.get_by_role("heading", name=f"{LONG_ID}2")).to_be_visible()
    page.context.close()


def test_long_records_and_keys(desk: Desk, browser: Browser) -> None:
    page = opened(browser, desk, 2, width=1024)
    fits(page, "long record, 1024")
    expect(page.locator(".record-folded")).to_contain_text("36 empty")
    page.locator(".record dd").last.scroll_into_view_if_needed()
    expect(page.get_by_role("button", name="Save and next")).to_be_in_viewport()
    page.mouse.move(900, 400)
    page.mouse.wheel(0, 9000)  # and beside a long question the record does
    expect(page.get_by_role("button", name="Edit a copy of your record")).to_be_in_viewport()
    expect(page.get_by_label("A note for yourself")).to_be_in_viewport()
    page.keyboard.press("Alt+w")
    expect(page.locator(".record-word").first).to_be_focused()
    page.keyboard.press("Alt+j")
    expect(page.locator(".verdict")).to_be_focused()
    page.keyboard.press("Alt+q")
    expect(page.get_by_label("Words to ask for")).to_be_focused()
    # Where Alt and a letter write a character, as on a Mac, a field gets it; elsewhere it is our key.
    typed = """field => field.dispatchEvent(new KeyboardEvent("keydown",
        { key: "ü", code: "KeyU", altKey: true, bubbles: true, cancelable: true }))"""
    assert page.get_by_label("A note for yourself").evaluate(typed), "nobody has taken the letter"
    assert not page.get_by_role("button", name="Suggest Alt+G").evaluate(typed)
    expect(page.get_by_role("checkbox", name="Not sure")).to_be_checked()
    button = page.get_by_role("button", name="Save and next")
    before = button.evaluate("one => getComputedStyle(one).boxShadow")
    button.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert before == "none" and button.evaluate("one => getComputedStyle(one).boxShadow") != "none"
    page.keyboard.press("Alt+l")
    expect(page.locator(".records")).to_be_visible()
    name = page.locator(".row-open").first
    assert name.evaluate("one => one.scrollWidth > one.clientWidth && getComputedStyle(one).textOverflow") == "ellipsis"
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="field 39", exact=True).click()
    page.get_by_role("checkbox", name="maker", exact=True).click()
    page.keyboard.press("Escape")
    page.reload()  # what was chosen stays
    expect(page.get_by_role("columnheader", name="field 39")).to_be_visible()
    expect(page.get_by_role("columnheader", name="maker")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("hebrew")
    expect(page.get_by_text("No record of this round fits the search and the filter.")).to_be_visible()
    page.keyboard.press("Control+a")
    page.keyboard.type("שלום")
    page.keyboard.press("Enter")  # at once: of the list as it was, this would open nothing
    expect(page.get_by_text("Record 1 of 1 shown; the round has 5")).to_be_visible()
    expect(page.locator(".record dd").nth(1)).to_have_css("direction", "rtl")
    page.get_by_role("button", name="Many at once").click()
    page.get_by_text("Suggest for all open records…").click()
    card = page.get_by_role("article", name=f"Record {LONG_ID}4")
    expect(card.locator(".card-question")).to_contain_text(' for "')
    card.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("heading", name=f"{LONG_ID}4")).to_be_visible()
    expect(page.locator(".points-table")).to_be_visible()
    assert desk.workspace.tasks()[4].question is None
    page.context.close()
