"""Writing questions in a real browser: by clicking, as points, as text, by suggestion, by keyboard; every question is
judged, and nothing is lost whatever happens.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect

from blindlabel.protocol.interfaces import CHANGED, PERSON, SUGGESTED
from blindlabel.storage.annotations import Annotations, Mark
from blindlabel.storage.workspace import Workspace
from blindlabel.web.local_study import Rehearsal, Wanted
from blindlabel.web.tried_records import tried_records
from support.patience import Patience
from support.web_app import (
    App,
    expect_question,
    expect_told,
    new_context,
    open_app,
    question,
    running,
    show_text,
    take_completion,
    write,
)


@dataclass
class Expert:
    app: App
    workspace: Workspace

    def task(self, record: int) -> tuple[str, str | None]:
        """Draft and question of a record."""
        task = self.workspace.tasks()[record]
        return task.draft, task.question


@pytest.fixture(scope="module")
def expert(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Expert]:
    folder: Path = tmp_path_factory.mktemp("annotating")
    study = Rehearsal(folder, Wanted(records=16))
    study.begin()
    with running(folder / "anna") as app:
        yield Expert(app, study.workspace("anna"))


def open_record(page: Page, number: int) -> None:
    page.locator(".row-open").nth(number).click()
    expect(page.locator(".annotation")).to_be_visible()


def words(page: Page, *texts: str) -> None:
    for text in texts:
        page.locator(".record-word", has_text=text).first.click()


def test_first_visit_asks_for_the_name_offers_practice_and_lets_no_second_browser_in(
    expert: Expert, browser: Browser, tmp_path: Path
) -> None:
    study = Rehearsal(tmp_path / "study", Wanted(records=4))
    study.begin()
    with running(tmp_path / "study" / "anna") as app:
        first = new_context(browser)
        page = first.new_page()
        page.goto(app.link)
        expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
        page.get_by_role("textbox", name="Name").fill(" Ada  Byron ")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="New here? Practise first")).to_be_visible()
        page.get_by_role("button", name="Not now").click()
        page.goto(app.link)  # the same browser may use its link again
        expect(page.locator(".title")).to_contain_text("Ada Byron for anna")
        expect(page.locator(".practice")).to_be_hidden()
        study.workspace("anna").remember("practice_offered_to Ada Byron", "")
        page.reload()
        expect(page.locator(".practice")).to_be_visible()
        open_record(page, 0)
        page.keyboard.press("Alt+g")
        expect(page.locator(".why")).to_contain_text("Suggested")
        page.keyboard.press("Control+s")
        expect(page.locator(".pane .state").or_(page.locator(".confirmation")).first).to_be_visible()
        page.keyboard.press("Control+s")
        expect(page.locator(".pane .state")).to_have_text("saved")
        page.keyboard.press("Alt+l")
        expect(page.locator(".records")).to_be_visible()
        expect(page.locator(".practice")).to_be_hidden()  # whoever has saved a question is not new here
        expect(page.locator(".q-dialog")).to_have_count(0)
        second = new_context(browser)
        refused = second.new_page()
        refused.goto(app.link)
        expect(refused.locator("body")).to_contain_text("This link has been used: it lets one browser in.")
        refused.goto(app.address)  # and without one, what lets a browser in is said
        expect(refused.locator("body")).to_contain_text("Open the link that blindlabel owner annotate printed")
        first.close()
        second.close()


def test_a_question_is_tried_on_records_of_ones_own_making(expert: Expert, context: BrowserContext) -> None:
    """Yes or no as one types; kept for one record and for all; what is kept answers as the question changes."""
    page = open_app(context, expert.app)
    own = expert.workspace.records()[3]
    page.locator(".row-open").nth(3).click()
    expect(page.get_by_role("heading", name=own.id)).to_be_visible()
    given = own.prepared.attributes["given_name"].split()[0]
    write(page, f'ret is_in("{given}", $r.given_name)')
    expect(page.locator(".verdict strong")).not_to_be_empty()
    tried = page.locator(".tried")
    tried.get_by_role("button", name="Edit a copy of your record").click()
    expect(tried.get_by_text("Yes: it passes.")).to_be_visible()
    page.get_by_label("given_name", exact=True).fill("Zebedee")
    expect(tried.get_by_text("No.", exact=True)).to_be_visible()
    tried.get_by_role("button", name="Keep: it should be found").click()
    expect(tried.locator("li")).to_contain_text("Your partner: missed")
    tried.get_by_role("button", name="Edit a copy of your record").click()
    tried.get_by_role("button", name="Keep for all records: it should not pass").click()
    expect(tried.locator("li").nth(1)).to_contain_text("Your other: let pass")
    write(page, 'ret is_in("zebedee", $r)')
    expect(tried.locator("li").first).to_contain_text("Your partner: found")
    expect(tried.locator("li").nth(1)).to_contain_text("Your other: kept out")
    page.keyboard.press("Alt+n")
    expect(page.get_by_role("heading", name=expert.workspace.records()[4].id)).to_be_visible()
    expect(tried.locator("li")).to_have_count(1)
    tried.get_by_role("button", name="Remove").click()
    expect(tried.locator("li")).to_have_count(0)
    assert [one.partner for one in tried_records(expert.workspace)] == [True], "that of the other record stays"


def test_versions_stand_side_by_side_and_the_best_is_marked(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    page.locator(".row-open").nth(5).click()
    page.get_by_role("button", name="Points", exact=True).click()
    page.keyboard.press("Alt+c")
    expect_told(page, "There is nothing to compare yet")
    page.keyboard.press("Alt+g")
    expect(page.locator(".why")).to_contain_text("Suggested")
    bar = page.get_by_role("slider")
    bar.fill(str(bar.get_attribute("max")))
    expect(page.locator(".verdict-bad strong, .verdict-warn strong")).to_contain_text("strict")
    page.get_by_role("button", name="Edit a copy of your record").scroll_into_view_if_needed()
    page.keyboard.press("Alt+c")
    choices = page.locator(".choice")
    expect(choices.first).to_contain_text("Mine")
    expect(page.locator(".choices")).to_be_in_viewport()  # though what was looked at is below them
    expect(choices.first).to_contain_text("strict")
    expect(choices.filter(has_text="The best of these")).to_have_count(1)
    expect(choices.first).not_to_contain_text("The best of these")
    told = [one.removeprefix("The best of these: ") for one in choices.locator(".choice-difference").all_inner_texts()]
    assert len(set(told)) == len(told), "no version is there twice"
    page.keyboard.press("Alt+2")
    expect(page.locator(".points-bar strong")).not_to_have_text(str(bar.get_attribute("max")))
    expect(choices.first).to_be_visible()
    write(page, 'ret is_in("a", $r)')
    expect(page.locator(".choices")).to_be_hidden()  # what was said of "mine" is not about this


def test_clicked_words_become_points_and_are_judged(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    own = expert.workspace.records()[0]
    surname, given = own.row["surname"].split()[0], own.row["given_name"].split()[0]
    expect(page.locator(".row-open")).to_have_count(16)
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name=own.id)).to_be_visible()
    page.get_by_role("button", name="Points", exact=True).click()
    expect(page.locator(".rare-3").first).to_be_visible()
    words(page, surname, given)
    expect(page.locator(".points-table tbody tr")).to_have_count(2)
    expect(page.locator(".record-word.asked")).to_have_count(2)
    expect(page.locator(".verdict strong")).to_contain_text("ound about")
    words(page, given)
    expect(page.locator(".points-table tbody tr")).to_have_count(1)
    page.get_by_label("Words to ask for").fill("lane")
    page.keyboard.press("Enter")
    expect(page.locator(".points-table tbody tr")).to_have_count(2)
    page.get_by_label("Points of lane").fill("2")
    page.get_by_label("How to look for lane").select_option("is_in")
    page.keyboard.press("Alt+v")
    expect(page.locator(".cm-content")).to_contain_text('2*is_in("lane", $r)')
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Control+z")
    page.keyboard.press("Alt+v")
    expect(page.get_by_label("How to look for lane")).to_have_value("has_word")
    page.get_by_role("button", name="Remove lane").click()
    page.keyboard.press("Control+s")
    expect(page.locator(".pane .state")).to_have_text("saved")
    assert expert.task(0) == (f'ret has_word("{surname}", $r)\n',) * 2
    assert expert.workspace.tasks()[0].source == PERSON


AT_FIRST_SIGHT = """
([heading, letter]) => {
  new MutationObserver((_, watching) => {
    const shown = [...document.querySelectorAll("h2")].find((one) => one.textContent === heading);
    if (!shown?.checkVisibility()) return;
    watching.disconnect();
    const key = { key: letter, code: `Key${letter.toUpperCase()}`, altKey: true, bubbles: true, cancelable: true };
    (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", key));
  }).observe(document.body, { childList: true, subtree: true, characterData: true, attributes: true });
}
"""
"""Presses Alt and a letter in the instant in which a heading stands there, before anything else can happen."""


def test_a_key_pressed_at_the_sight_of_a_record_is_heard(browser: Browser, tmp_path: Path) -> None:
    study = Rehearsal(tmp_path / "study", Wanted(records=8))
    study.begin()
    anna = study.workspace("anna")
    with running(tmp_path / "study" / "anna") as app:
        page = open_app(new_context(browser), app)
        for own in anna.records():  # from the list
            page.evaluate(AT_FIRST_SIGHT, [own.id, "g"])
            page.locator(".row-open").nth(own.record).click()
            expect(page.get_by_role("heading", name=own.id, exact=True)).to_be_visible()
            expect(page.locator(".why")).to_contain_text("Suggested")
            page.keyboard.press("Alt+l")
            expect(page.locator(".annotation")).to_be_hidden()
        assert {task.state for task in anna.tasks()} == {"draft"}
        open_record(page, 0)
        for one, following in pairwise(anna.records()):  # from the record before, in the text and in the points
            page.evaluate(AT_FIRST_SIGHT, [following.id, "u"])
            expect(page.get_by_role("heading", name=one.id, exact=True)).to_be_visible()
            page.keyboard.press("Alt+v")
            page.keyboard.press("Alt+n")
            expect(page.get_by_role("heading", name=following.id, exact=True)).to_be_visible()
            expect(page.get_by_role("checkbox", name="Not sure")).to_be_checked()
        page.context.close()
    assert [Annotations(anna).marks()[own.record].unsure for own in anna.records()[1:]] == [True] * 7


AT_ONCE = """(text) => {
  const seen = new MutationObserver(() => {
    const editor = [...document.querySelectorAll(".cm-content")].find((one) => one.checkVisibility());
    if (!editor) return;
    seen.disconnect();
    editor.focus();
    document.execCommand("insertText", false, text);
  });
  seen.observe(document.body, { subtree: true, childList: true, attributes: true });
}"""
"""Types into the question as soon as it is seen, which is before its text has come from the app."""


def test_what_is_typed_at_the_sight_of_a_record_is_kept(browser: Browser, tmp_path: Path) -> None:
    study = Rehearsal(tmp_path / "study", Wanted(records=8))
    study.begin()
    anna = study.workspace("anna")
    anna.save_questions({1: 'ret is_in("a", $r)'}, PERSON)
    with running(tmp_path / "study" / "anna") as app:
        page = open_app(new_context(browser), app)
        open_record(page, 0)
        if page.get_by_role("button", name="Text", exact=True).is_visible():
            page.get_by_role("button", name="Text", exact=True).click()
        for record, written in ((2, "ret false"), (1, 'ret is_in("a", $r) | false')):
            page.keyboard.press("Alt+l")
            expect(page.locator(".annotation")).to_be_hidden()
            page.evaluate(AT_ONCE, written.removeprefix('ret is_in("a", $r)'))
            page.locator(".row-open").nth(record).click()
            expect(page.locator(".cm-content")).to_have_text(written)
            patience = Patience()
            while anna.tasks()[record].draft != written:
                patience.check()
        assert anna.tasks()[0].draft == "" and anna.tasks()[1].question == 'ret is_in("a", $r)'
        page.context.close()


ALT_Q = """() => {
  const key = { key: "q", code: "KeyQ", altKey: true, bubbles: true, cancelable: true };
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", key));
  return document.activeElement.className;
}"""
"""Presses Alt+Q, and looks at once where the next letter would go."""


def test_what_is_typed_right_after_alt_q_goes_into_the_question(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    open_record(page, 13)
    for view, field in (("Points", "points-new"), ("Text", "cm-content")):
        page.get_by_role("button", name=view, exact=True).click()
        expect(page.locator(f".{field}")).to_be_focused()
        page.keyboard.press("Alt+w")
        assert field in page.evaluate(ALT_Q).split(), view


def test_rare_words_are_worth_the_same_in_whatever_order_they_are_clicked(
    expert: Expert, context: BrowserContext
) -> None:
    page = open_app(context, expert.app)
    own = expert.workspace.records()[14]
    clicked = [own.row["surname"].split()[0], own.row["given_name"].split()[0]]
    found = []
    for order in (clicked, clicked[::-1]):
        page.goto(expert.app.address)
        open_record(page, 14)
        page.get_by_role("button", name="Points", exact=True).click()
        expect(page.locator(".rare-3").first).to_be_visible()  # the table has been read
        words(page, *order)
        expect(page.locator(".points-table tbody tr")).to_have_count(2)
        found.append({word: page.get_by_label(f"Points of {word}").input_value() for word in order})
        page.get_by_role("button", name="Discard").click()
        expect(page.locator(".points-empty")).to_be_visible()
    assert found[0] == found[1] and "1" not in found[0].values(), found


def test_a_key_pressed_right_after_a_click_saves_what_was_clicked(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    own = expert.workspace.records()[12]
    surname, given = own.row["surname"].split()[0], own.row["given_name"].split()[0]
    open_record(page, 12)
    page.get_by_role("button", name="Points", exact=True).click()
    words(page, surname, given)
    expect(page.locator(".points-table tbody tr")).to_have_count(2)
    expect(page.locator(".verdict strong")).to_contain_text("ound about")
    page.get_by_role("button", name=f"Remove {given}").evaluate(
        """button => {
            button.click();
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "s", ctrlKey: true, bubbles: true }));
        }"""
    )
    expect(page.locator(".pane .state")).to_have_text("saved")
    assert expert.task(12) == (f'ret has_word("{surname}", $r)\n',) * 2


def test_red_needs_to_be_saved_twice_and_shows_the_rows_that_fit(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    open_record(page, 1)
    write(page, 'ret !is_in("qqq", $r)')
    expect(page.locator(".verdict-bad strong")).to_have_text("15 of 15 others: far too loose")
    expect(page.locator(".evidence li")).to_have_count(10)
    page.keyboard.press("Control+s")
    expect(page.get_by_role("alert")).to_contain_text("save once more")
    assert expert.task(1)[1] is None
    page.keyboard.press("Control+s")
    expect(page.locator(".pane .state")).to_have_text("saved")
    assert expert.task(1)[1] == 'ret !is_in("qqq", $r)'
    for text, said in (
        ("ret true", "Always yes"),
        ("ret false", "Always no"),
        ('ret is_in("qqq", $r)', "Not even this one"),
    ):
        write(page, text)
        expect(page.locator(".verdict-bad strong")).to_have_text(said)
    own = expert.workspace.records()[1]
    write(page, f'ret is_in("{own.prepared.attributes["surname"]}", $r)')
    expect(page.locator(".verdict strong")).to_contain_text("ound about")
    page.keyboard.press("Alt+l")
    expect(page.locator("tbody tr", has_text=own.id)).to_contain_text("15 others")
    page.get_by_role("button", name="Verdict").click()
    expect(page.locator("tbody tr").first).to_contain_text(own.id)


def test_error_is_shown_at_its_place_and_kept_as_draft(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    open_record(page, 2)
    write(page, '# 🦉\nret is_inn("smith", $r)')
    expect(page.locator(".question-error")).to_have_text("is_inn")
    finding = page.locator(".finding-error")
    expect(finding).to_contain_text("Line 2, column 5")
    page.keyboard.press("Control+s")
    expect_told(page, "Not saved: it has an error.")
    assert expert.task(2) == ('# 🦉\nret is_inn("smith", $r)', None)
    page.keyboard.press("Alt+v")
    expect(page.locator(".points-problem")).to_contain_text("cannot be read as a question yet")
    finding.click()
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Control+a")
    four = " + ".join(f'is_in("{letter}", $r)' for letter in "abcd")
    page.keyboard.insert_text(f"$n = {four}\nret $n == 1 | $n == 3")  # needs an exception to an exception
    expect(page.locator(".question-error")).to_have_count(0)
    page.keyboard.press("Alt+v")
    expect(page.locator(".points-problem")).to_contain_text("so it stays text")
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_text("Discarded.")).to_be_visible()  # it comes after the editor has been emptied
    expect(page.locator(".points-empty")).to_be_visible()
    page.keyboard.press("Control+s")
    expect_told(page, "There is nothing to save yet")


def test_suggestion_is_accepted_or_changed_and_the_log_says_which(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    open_record(page, 3)
    show_text(page)
    page.keyboard.press("Alt+g")
    expect(page.locator(".why")).to_contain_text("points are enough")
    expect(page.locator(".verdict strong")).to_contain_text("ound about")
    suggested = question(page)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name=expert.workspace.records()[4].id)).to_be_visible()
    expect_question(page, "")
    assert (expert.task(3)[1] or "").split() == suggested.split()
    page.keyboard.press("Control+z")
    expect_question(page, "")  # undo must not bring back another record's text
    page.keyboard.press("Alt+g")
    expect(page.locator(".why")).to_contain_text("points are enough")
    page.keyboard.press("Alt+v")
    bar = page.get_by_role("slider")
    bar.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".why")).to_be_hidden()  # it is no longer what was suggested
    page.keyboard.press("Alt+u")
    page.get_by_label("A note for yourself").fill("ask Ben")
    page.keyboard.press("Control+s")
    expect(page.locator(".pane .state")).to_have_text("saved")
    tasks, log = expert.workspace.tasks(), Annotations(expert.workspace)
    assert [tasks[3].source, tasks[4].source] == [SUGGESTED, CHANGED]
    first, second = [visit for visit in log.log() if visit.saved is not None and visit.record in (3, 4)]
    assert (first.annotator, first.changed) == ("Ada", 0.0) and second.changed is not None and second.changed > 0
    assert first.suggested is not None and first.typed is not None and first.opened <= first.typed
    expect(page.locator(".mark .q-checkbox")).to_have_attribute("aria-checked", "true")
    page.keyboard.press("Alt+l")
    expect(page.locator("tbody tr", has_text=expert.workspace.records()[4].id)).to_contain_text("not sure")
    assert log.marks()[4] == Mark(unsure=True, note="ask Ben")


def test_reload_back_and_the_order_of_the_list(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    own = expert.workspace.records()
    page.get_by_role("button", name="surname").click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("surname")
    order = [record.id for record in sorted(own, key=lambda record: record.row["surname"] or "")]
    expect(page.locator(".row-open")).to_have_text(order)
    open_record(page, 6)
    expect(page.get_by_text("Record 7 of 16")).to_be_visible()
    page.get_by_role("group", name="Records").get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name=order[7])).to_be_visible()
    page.wait_for_url(f"**record={next(record.record for record in own if record.id == order[7])}")
    page.go_back()
    expect(page.locator(".row-open").first).to_be_visible()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("surname")
    page.go_forward()
    expect(page.get_by_role("heading", name=order[7])).to_be_visible()
    write(page, 'ret is_in("unfinis')
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(".cm-content")).to_be_visible()  # it closes what pops up and leaves nothing
    page.reload()
    expect(page.get_by_role("heading", name=order[7])).to_be_visible()
    expect_question(page, 'ret is_in("unfinis')
    page.keyboard.press("Alt+l")
    expect(page.locator("tr", has_text=order[7]).locator(".state")).to_have_text("draft")
    assert len(own) == len(order)


def test_killed_server_loses_nothing_not_even_what_is_typed_meanwhile(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    open_record(page, 8)
    write(page, "ret is_empty($r)")
    expect(page.locator(".verdict-bad strong")).to_have_text("Not even this one")
    before = [task.draft for task in expert.workspace.tasks() if task.record != 8]
    expert.app.kill()
    page.keyboard.type(" & is_empty($r.age")
    expert.app.restart()
    with contextlib.suppress(Error):  # the page may be loading itself again at this moment
        page.goto(expert.app.address + "?record=8")
    expect(page.get_by_role("heading", name=expert.workspace.records()[8].id)).to_be_visible()
    expect(page.locator(".cm-content")).to_contain_text("is_empty($r) & is_empty($r.age")
    Patience().wait_until(lambda: expert.task(8)[0].startswith("ret is_empty($r) & is_empty($r.age"))
    assert [task.draft for task in expert.workspace.tasks() if task.record != 8] == before


def test_discarded_question_comes_back_with_undo(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    open_record(page, 9)
    surname = expert.workspace.records()[9].prepared.attributes["surname"]
    write(page, f'ret is_in("{surname}", $r)')
    page.keyboard.press("Control+s")
    expect(page.locator(".pane .state")).to_have_text("saved")
    page.get_by_role("button", name="Discard").click()
    expect(page.locator(".pane .state")).to_have_text("open")
    assert expert.task(9) == ("", None)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".pane .state")).to_have_text("saved")
    assert expert.task(9) == (f'ret is_in("{surname}", $r)',) * 2


def test_completion_and_help(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    open_record(page, 10)
    own = expert.workspace.records()[10]
    show_text(page)
    page.keyboard.type("ret is_i")
    expect(page.locator(".cm-completionInfo")).to_contain_text("Whether this part occurs anywhere")
    take_completion(page, "Tab")
    expect_question(page, 'ret is_in("", $r)')
    word = own.prepared.attributes["address_1"].split()[0]
    page.keyboard.type(word[:2], delay=20)
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text(word)
    page.keyboard.press("Escape")
    page.locator(".question-function-token").hover()
    expect(page.locator(".question-help").first).to_contain_text("is_in(part, text)")
    page.keyboard.press("Alt+v")
    offered = page.locator("datalist option").evaluate_all("options => options.map(one => one.value)")
    assert word in offered  # the words of the record complete the fields of the points view as well


FINDINGS_GO = """(editor) => {
  const app = getElement(Number(editor.id.slice(1)));
  app.show(app.version, [{ start: 4, end: app.view.state.doc.length, severity: "warning", message: "Soon gone" }]);
  const word = editor.querySelector(".question-function-token"), place = word.getBoundingClientRect();
  const at = { clientX: place.x + place.width / 2, clientY: place.y + place.height / 2, bubbles: true };
  word.dispatchEvent(new MouseEvent("mousemove", at));
  app.show(app.version, []);
  return word.isConnected;
}"""
"""Points at a word, and lets its finding go before its help is there, which draws it anew."""


def test_help_comes_though_a_finding_goes_from_under_a_pointer_that_rests(
    expert: Expert, context: BrowserContext
) -> None:
    page = open_app(context, expert.app)
    open_record(page, 11)
    write(page, 'ret is_in("smith", $r)')
    expect(page.locator(".verdict strong")).not_to_be_empty()
    assert not page.locator(".question-editor").evaluate(FINDINGS_GO), "the word is no longer the one pointed at"
    expect(page.locator(".question-help").first).to_contain_text("is_in(part, text)")


def test_keys_pressed_at_once_are_heard_one_after_the_other(browser: Browser, tmp_path: Path) -> None:
    """Each is about what the one before it shows, also where that is not there yet: N and Alt+G, Ctrl+Enter and Alt+G.
    A save is about what was seen: pressed twice at once it does not save what comes next.
    """
    study = Rehearsal(tmp_path / "study", Wanted(records=8))
    study.begin()
    anna = study.workspace("anna")
    anna.save_questions({1: 'ret is_in("a", $r)'}, PERSON)
    with running(tmp_path / "study" / "anna") as app:
        page = open_app(new_context(browser), app)
        expect(page.locator(".row-open")).to_have_count(8)
        press_at_once(page, "n", "Alt+g")
        for record in (0, 2, 3, 4):
            expect(page.get_by_role("heading", name=anna.records()[record].id, exact=True)).to_be_visible()
            expect(page.locator(".why")).to_contain_text("Suggested")
            page.get_by_role("button", name="Text", exact=True).click()
            suggested = question(page)
            if record != 4:
                press_at_once(page, "Control+Enter", "Control+Enter", "Alt+g", "Alt+u")
            patience = Patience()
            while anna.tasks()[record].draft.split() != suggested.split():
                patience.check()
        expect(page.get_by_role("checkbox", name="Not sure")).to_be_checked()
        assert [task.state for task in anna.tasks()] == ["saved"] * 4 + ["draft"] + ["open"] * 3
        page.keyboard.press("Alt+l")
        page.locator(".row-open").nth(6).wait_for()
        press_at_once(page, "n", "Alt+q")
        expect(page.locator(".cm-content")).to_be_focused()
        page.context.close()
    assert [record for record, mark in Annotations(anna).marks().items() if mark.unsure] == [2, 3, 4]


PRESSED = """(keys) => {
  for (const pressed of keys) {
    const [key, held] = pressed.split("+").reverse();
    const code = `Key${key.toUpperCase()}`, init = { key, code, altKey: held === "Alt", ctrlKey: held === "Control" };
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { ...init, bubbles: true, cancelable: true }));
  }
}"""


def press_at_once(page: Page, *keys: str) -> None:
    """Press keys faster than anything can be shown between them."""
    page.evaluate(PRESSED, list(keys))


CLICK_MEANWHILE = """(words) => {
  const emit = window.socket.emit, click = () => {
    const next = words.shift();
    [...document.querySelectorAll(".record-word")].find((one) => one.textContent === next)?.click();
  };
  window.socket.emit = function (name, told, ...more) {
    if (String(told?.args?.[0]).includes('"version":')) click();
    return emit.call(this, name, told, ...more);
  };
  click();
}"""
"""Clicks words one after the other, each at the moment at which the text with the one before it is told to the app."""


def test_no_click_is_lost_while_an_older_text_is_under_way(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    open_record(page, 15)
    page.get_by_role("button", name="Points", exact=True).click()
    expect(page.locator(".rare-3").first).to_be_visible()
    row = expert.workspace.records()[15].row
    wanted = [row[name].split()[0] for name in ("surname", "given_name", "address_1")]
    page.evaluate(CLICK_MEANWHILE, list(wanted))
    expect(page.locator(".points-table tbody tr")).to_have_count(len(wanted))
    expect(page.locator(".record-word.asked")).to_have_count(len(wanted))


def test_words_left_in_a_field_stay_with_their_record(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    own = expert.workspace.records()
    expert.workspace.save_questions({7: 'ret has_word("seven", $r)'}, PERSON)
    open_record(page, 6)
    page.get_by_role("button", name="Points", exact=True).click()
    page.get_by_label("Words to ask for").fill("first")
    page.keyboard.press("Enter")
    expect(page.locator(".points-words")).to_have_count(1)
    page.get_by_label("Words to ask for").fill("left")
    page.get_by_label("Words of condition 1").fill("changed")
    page.keyboard.press("Alt+n")  # before the change has been taken over
    expect(page.get_by_role("heading", name=own[7].id)).to_be_visible()
    expect(page.get_by_label("Words to ask for")).to_have_value("")
    page.keyboard.press("Alt+p")
    expect(page.get_by_role("heading", name=own[6].id)).to_be_visible()
    expect(page.get_by_label("Words to ask for")).to_have_value("left")
    expect(page.get_by_label("Words of condition 1")).to_have_value("changed")
    assert expert.task(7)[0] == 'ret has_word("seven", $r)'


TYPE_WHILE_SAVING = """(editor) => {
  const emit = window.socket.emit;
  window.socket.emit = function (name, told, ...more) {
    if (String(told?.args?.[0]).includes('{"name":"save"') && told.args[0].includes('"text"')) {
      window.socket.emit = emit;
      getElement(Number(editor.id.slice(1))).insert("# more");
      document.dispatchEvent(new Event("visibilitychange"));
    }
    return emit.call(this, name, told, ...more);
  };
}"""
"""Types on while a text is being saved: the app hears of what is newer before it has saved what is older."""


def test_what_is_typed_while_a_question_is_saved_stays(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    open_record(page, 13)
    surname = expert.workspace.records()[13].prepared.attributes["surname"]
    write(page, f'ret is_in("{surname}", $r)')
    expect(page.locator(".verdict strong")).not_to_be_empty()
    page.keyboard.press("End")
    page.keyboard.type(" ")  # about this text nothing is known
    page.locator(".question-editor").evaluate(TYPE_WHILE_SAVING)
    page.keyboard.press("Control+s")
    expect(page.locator(".cm-content")).to_contain_text("# more")
    Patience().wait_until(lambda: (expert.task(13)[1] or "").startswith("ret"))
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("# more")
    Patience().wait_until(lambda: expert.task(13)[0].endswith("# more"))


def test_search_filter_and_keys_of_the_list(expert: Expert, context: BrowserContext) -> None:
    page = open_app(context, expert.app)
    own = expert.workspace.records()[8]
    page.keyboard.press("/")
    expect(page.locator(".search-field")).to_be_focused()
    page.keyboard.type(own.id)
    expect(page.locator(".row-open")).to_have_count(1)
    expect(page.locator(".count")).to_have_text("1 of 16 records")
    page.keyboard.type("zzz")
    expect(page.get_by_text("No record of this round fits the search and the filter.")).to_be_visible()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.locator(".row-open")).to_have_count(16)
    page.get_by_role("button", name="Saved", exact=True).click()
    saved = [task for task in expert.workspace.tasks() if task.state == "saved"]
    expect(page.locator(".row-open")).to_have_count(len(saved))
    page.locator("th", has_text="Record").first.click()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
