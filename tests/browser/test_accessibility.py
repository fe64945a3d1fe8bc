"""Every screen of the owner's app, light and dark, wide and narrow: nothing that axe-core finds, nothing cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from blindlabel.protocol.interfaces import PERSON
from blindlabel.storage.workspace import Workspace
from blindlabel.web.local_study import Rehearsal, Wanted
from support.axe import fits, no_violations
from support.web_app import App, new_context, open_app, running, write

LOOKS = [("light", 1440), ("dark", 1024)]  # colours do not depend on the width, nor places on colours
STRICT = 'ret is_in("{0}", $r.surname) & is_in("{1}", $r.given_name)'


@pytest.fixture
def study(tmp_path: Path) -> Rehearsal:
    made = Rehearsal(tmp_path / "study", Wanted(records=20, rounds=2, seed=11))
    made.begin()
    anna = made.workspace("anna")
    for own in anna.records()[:10]:
        words = own.prepared.attributes
        anna.save_questions({own.record: STRICT.format(words["surname"], words["given_name"])}, PERSON)
    anna.save_questions({0: "ret true"}, PERSON)
    return made


@pytest.fixture
def app(study: Rehearsal, tmp_path: Path) -> Iterator[App]:
    with running(tmp_path / "study" / "anna") as started:
        yield started


@pytest.fixture
def page(browser: Browser, app: App) -> Iterator[Page]:
    context = new_context(browser, viewport={"width": 1440, "height": 800}, reduced_motion="reduce")
    yield open_app(context, app)
    context.close()


def seen(page: Page, where: str, check: Callable[[Page, str], None] = fits) -> None:
    """In every look, on the spot: what is on the screen stays as it is while its width and colours change."""
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator("body.body--dark")).to_have_count(1 if scheme == "dark" else 0)
        check(page, f"{where}, {scheme} {width}")
        no_violations(page, f"{where}, {scheme} {width}")


def dialog(page: Page, where: str, close: str = "Close") -> None:
    expect(page.locator(".q-dialog .sheet")).to_be_visible()
    seen(page, where, lambda page, where: None)
    page.get_by_role("button", name=close).click()
    expect(page.locator(".q-dialog")).to_have_count(0)


def first_round(page: Page) -> None:
    expect(page.locator(".chip-bad")).to_have_count(1)
    seen(page, "list")
    for name, close in (("Criteria", "Close"), ("Language", "Close"), ("Keys", "Close")):
        page.get_by_role("button", name=name, exact=True).click()
        dialog(page, name, close)
    for item in ("Suggest for all open records…", "Apply a pattern…", "Import questions…"):
        page.get_by_role("button", name="Many at once").click()
        page.get_by_text(item).click()
        if "Suggest" in item:
            expect(page.locator(".card").first).to_be_visible()
        dialog(page, item)
    page.get_by_role("button", name="Hand in the round").click()
    expect(page.get_by_role("button", name="Go to the first")).to_be_visible()
    dialog(page, "hand in", "Not yet")
    page.locator(".row-open").nth(12).click()
    page.get_by_role("button", name="Points", exact=True).click()
    page.keyboard.press("Alt+g")
    expect(page.locator(".verdict-good, .verdict-warn")).to_be_visible()
    expect(page.locator(".rare-3").first).to_be_visible()
    seen(page, "points")
    page.keyboard.press("Alt+c")
    expect(page.locator(".choice").nth(1)).to_be_visible()
    page.get_by_role("button", name="Edit a copy of your record").click()
    page.get_by_role("button", name="Keep: it should be found").click()
    page.locator(".evidence-action").first.click()
    expect(page.locator(".tried-form")).to_be_visible()
    seen(page, "versions and tried records")
    write(page, 'ret is_in("a", $r)')
    expect(page.locator(".evidence li").first).to_be_visible()
    page.keyboard.press("Control+s")
    expect(page.get_by_role("alert")).to_be_visible()
    seen(page, "too loose")
    write(page, 'ret is_in("x", $r) & $other')
    expect(page.locator(".finding-error")).to_be_visible()
    page.keyboard.press("Control+s")
    expect(page.locator(".told")).to_be_visible()
    seen(page, "error")


def complete_round(page: Page) -> None:
    page.get_by_role("button", name="Hand in the round").click()
    expect(page.get_by_text("Look at these once more")).to_be_visible()
    dialog(page, "complete", "Not yet")


def waiting(page: Page) -> None:
    expect(page.get_by_role("heading", name="Round 1 is handed in")).to_be_visible()
    seen(page, "waiting")


def second_round(page: Page) -> None:
    expect(page.locator(".plot")).to_be_visible()
    seen(page, "second round")
    page.locator(".row-open").first.click()
    expect(page.locator(".choice").nth(1)).to_be_visible()
    seen(page, "choices")


def over(page: Page) -> None:
    expect(page.get_by_role("heading", name="The study is over")).to_be_visible()
    expect(page.locator(".practice")).to_be_hidden()
    seen(page, "end")


def hand_in(study: Rehearsal) -> None:
    for workspace in study.workspaces:
        study.write_all(workspace.name)
        workspace.hand_in()


def test_every_screen_in_every_look(study: Rehearsal, app: App, page: Page) -> None:
    anna: Workspace = study.workspace("anna")
    first_round(page)
    study.write_all("anna")
    page.goto(app.address)
    complete_round(page)
    hand_in(study)
    page.goto(app.address)
    waiting(page)
    study.go_on()
    assert anna.state().round == 2
    page.goto(app.address)
    second_round(page)
    hand_in(study)
    study.go_on()
    page.goto(app.address)
    over(page)


def test_words_to_compare_in_every_look(tmp_path: Path, context: BrowserContext) -> None:
    made = Rehearsal(tmp_path / "study", Wanted(records=4))
    made.go_on()
    with running(tmp_path / "study" / "anna") as started:
        page = open_app(context, started)
        expect(page.get_by_text("Read to berta:")).to_be_visible()
        page.get_by_role("textbox", name="Words that berta reads to you").fill("wrong words")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("these are 2")
        seen(page, "words")


def test_practice_in_every_look_and_by_keyboard_alone(study: Rehearsal, app: App, page: Page) -> None:
    """Offered on the first page; after each question the truth; at the end the result, and never offered again."""
    expect(page.get_by_role("heading", name="New here? Practise first")).to_be_visible()
    seen(page, "offer")
    page.get_by_role("button", name="Practise", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".row-open")).to_have_count(8)
    expect(page).to_have_url(f"{app.address}practice")
    expect(page.get_by_text("No question yet.")).to_be_visible()
    page.keyboard.press("n")
    for place in range(8):
        expect(page.get_by_text(f"Record {place + 1} of 8")).to_be_visible()
        page.keyboard.press("Alt+g")
        expect(page.locator(".why")).to_contain_text("Suggested")
        expect(page.locator(".truth")).to_be_hidden()
        page.set_viewport_size({"width": 1024, "height": 600})
        save_in_practice(page)
        if place in (0, 7):
            seen(page, f"truth {place}")
        page.keyboard.press("Control+Enter")
    expect(page.locator(".practice")).to_contain_text("of 8 partners found")
    expect(page.locator(".practice")).not_to_contain_text("left")
    seen(page, "result")
    page.get_by_role("button", name="Back to the study").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Hand in the round")).to_be_visible()
    expect(page.locator(".practice")).to_be_hidden()
    page.go_back()
    expect(page.locator(".state-saved")).to_have_count(8)


def save_in_practice(page: Page) -> None:
    """Save, once more where the verdict is bad; what the truth says stands there then."""
    page.keyboard.press("Control+Enter")
    truth, doubt = page.locator(".truth"), page.locator(".confirmation")
    expect(truth.or_(doubt).locator("visible=true").first).to_be_visible()
    if doubt.is_visible():
        page.keyboard.press("Control+Enter")
    expect(truth).to_contain_text("artner: ")
    expect(truth).to_be_in_viewport()  # it stands below the question, which fills a small screen


FOCUSED = """async () => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const shown = [one, one.closest(".q-field__control, .q-checkbox, .question-editor")].filter(Boolean);
  const of = (each, part) => {
    const style = getComputedStyle(each, part);
    return [style.outline, style.boxShadow, style.borderColor, style.transform].join(" ");
  };
  const look = () => shown.map((each) => of(each) + of(each, "::after")).join();
  const focused = look();
  one.blur();
  await new Promise((done) => setTimeout(done));  // the framework marks a field's focus beside it
  const plain = look();
  one.focus();
  return [one.outerHTML.slice(0, 120), focused !== plain];
}"""
"""What has the focus, and whether that can be seen."""


def test_every_control_shows_that_it_has_the_focus(app: App, page: Page) -> None:
    for where, first in (("list", ".row-open"), ("record", ".record-word")):
        if where == "record":
            page.locator(".row-open").nth(12).click()
            page.get_by_role("button", name="Points", exact=True).click()
            page.keyboard.press("Alt+g")
            expect(page.locator(".verdict-good, .verdict-warn")).to_be_visible()
        expect(page.locator(first).first).to_be_visible()
        page.locator("body").evaluate("() => document.activeElement.blur()")
        seen_with: dict[str, bool] = {}
        for _ in range(90):  # past the end, the first one follows
            page.keyboard.press("Tab")
            if found := page.evaluate(FOCUSED):
                seen_with[found[0]] = found[1] and seen_with.get(found[0], True)
        assert len(seen_with) > 20, where
        assert [control for control, is_seen in seen_with.items() if not is_seen] == [], where


SHADES = """() => {
  const seen = document.createElement("div");
  document.body.append(seen);
  const light = (name) => {
    seen.style.color = `var(--${name})`;
    const [red, green, blue] = getComputedStyle(seen).color.match(/[0-9.]+/g).map(Number);
    return 0.299 * red + 0.587 * green + 0.114 * blue;
  };
  return ["rare-1", "rare-2", "rare-3"].map((name) => Math.abs(light(name) - light("sheet")));
}"""
"""How far each shade of rare words is from the sheet on which they stand."""


def test_the_rarer_a_word_the_stronger_its_colour_in_light_and_dark(app: App, page: Page) -> None:
    for scheme, _ in LOOKS:
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        expect(page.locator("body.body--dark")).to_have_count(1 if scheme == "dark" else 0)
        one, two, three = page.evaluate(SHADES)
        assert 0 < one < two < three, scheme


def test_usable_at_two_hundred_percent(study: Rehearsal, app: App, browser: Browser) -> None:
    """What is to be read and pressed is within the width, on every screen of a round."""
    context = new_context(browser, viewport={"width": 512, "height": 384}, device_scale_factor=2)  # a screen of 1024
    page = open_app(context, app)
    for name in ("Next open record N", "Hand in the round", "Many at once"):
        reachable(page, name)
    page.locator(".row-open").nth(12).click()
    page.get_by_role("button", name="Points", exact=True).click()
    page.keyboard.press("Alt+g")
    expect(page.locator(".verdict-good, .verdict-warn")).to_be_visible()
    for name in ("Save and next Ctrl+Enter", "Suggest Alt+G", "Back to the list Alt+L", "Add", "But not"):
        reachable(page, name)
    page.keyboard.press("Alt+c")
    expect(page.locator(".choice").nth(1)).to_be_visible()
    fits(page, "versions")
    page.keyboard.press("Alt+l")
    page.get_by_role("button", name="Many at once").click()
    page.get_by_text("Suggest for all open records…").click()
    expect(page.locator(".card").first).to_be_visible()
    reachable(page, "Close")
    page.get_by_role("button", name="Close").click()
    study.write_all("anna")
    page.reload()
    page.get_by_role("button", name="Hand in the round").click()
    expect(page.get_by_text("Look at these once more")).to_be_visible()
    reachable(page, "Not yet")
    context.close()


def reachable(page: Page, name: str) -> None:
    """A button that is wholly within the width, which the page does not exceed; a wide table scrolls by itself."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    button = page.get_by_role("button", name=name, exact=True)
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box is not None and page.viewport_size is not None
    assert box["x"] >= 0 and box["x"] + box["width"] <= page.viewport_size["width"], name


def test_what_goes_on_below_shows_it_and_what_ends_says_so(app: App, page: Page) -> None:
    """A shadow at the lower end of a list that can be scrolled, which its own end covers."""
    page.set_viewport_size({"width": 1440, "height": 500})
    table = page.locator(".records-scroll")
    expect(page.locator(".row-open").first).to_be_visible()

    def lower_end() -> bytes:
        box = table.bounding_box()
        assert box is not None
        return page.screenshot(clip={"x": box["x"] + 2, "y": box["y"] + box["height"] - 5, "width": 8, "height": 3})

    page.get_by_text("End of the list.").scroll_into_view_if_needed()
    plain = lower_end()
    table.evaluate("one => one.style.background = 'none'")
    assert lower_end() == plain, "at the end there is no shadow"
    table.evaluate("one => one.scrollTo(0, 20)")
    without = lower_end()
    table.evaluate("one => one.style.background = ''")
    assert lower_end() != without, "before it there is one"
