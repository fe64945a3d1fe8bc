"""A whole study through the owner's app: bulk work, handing in, a second round with what was asked before, the end and
its exports.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from blindlabel.language.words import words_of
from blindlabel.parties.questions import check_question
from blindlabel.protocol.interfaces import Task
from blindlabel.transport.connecting import VIA
from blindlabel.web.judging import Judging
from blindlabel.web.local_study import Rehearsal, Wanted
from support.web_app import App, expect_question, expect_told, open_app, running, show_text


@dataclass
class Played:
    study: Rehearsal
    app: App


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    folder = tmp_path / "study"
    study = Rehearsal(folder, Wanted(records=56, rounds=2))
    study.workspace("anna").remember(VIA, f"folder:{study.shared}")
    with running(folder / "anna") as app:
        yield Played(study, app)


def answer_for_berta(study: Rehearsal, text: Callable[[int], str]) -> None:
    """The other side writes a question for each of its records and hands in; then everything moves as far as it can."""
    berta = study.workspace("berta")
    berta.save_questions({task.record: text(task.record) for task in berta.tasks()}, "person")
    berta.hand_in()
    study.go_on()


def menu(page: Page, item: str) -> None:
    page.get_by_role("button", name="Many at once").click()
    page.get_by_text(item).click()


def hand_in(page: Page) -> None:
    page.get_by_role("button", name="Hand in the round").click()
    page.get_by_role("button", name="Hand in", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("is handed in"))).to_be_visible()


def test_whole_study_from_the_first_question_to_the_export(played: Played, context: BrowserContext) -> None:
    """The steps below, in the order in which a study goes through them."""
    tab_before_the_round_shows_it_when_it_begins(played, context)
    bulk_suggestions_are_seen_accepted_and_undone_but_for_what_changed_since(played, context)
    pattern_fills_in_the_words_of_each_record(played, context)
    questions_go_out_as_files_and_come_in_again(played, context)
    handed_in_round_is_fixed_and_says_what_is_waited_for(played, context)
    second_round_begins_with_the_question_before_and_offers_others(played, context)
    end_of_the_study_shows_figures_and_exports(played, context)


def tab_before_the_round_shows_it_when_it_begins(played: Played, context: BrowserContext) -> None:
    page = open_app(context, played.app)
    expect(page.get_by_role("heading", name="Nothing to write yet")).to_be_visible()
    expect(page.locator("p", has_text="blindlabel owner run is not running on this machine")).to_be_visible()
    played.study.begin()
    expect(page.locator(".row-open")).to_have_count(50)
    page.get_by_role("button", name="Next page").click()
    expect(page.locator(".row-open")).to_have_count(6)
    expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    expect(page.get_by_role("button", name="Next page")).to_be_disabled()


def bulk_suggestions_are_seen_accepted_and_undone_but_for_what_changed_since(
    played: Played, context: BrowserContext
) -> None:
    anna = played.study.workspace("anna")
    page = open_app(context, played.app)
    page.get_by_role("button", name="Hand in the round").click()
    expect(page.get_by_text("There is no saved question yet for 56 records.")).to_be_visible()
    page.get_by_role("button", name="Not yet").click()
    page.evaluate(
        """() => { window.said = []; new MutationObserver(() => window.said.push(document.body.innerText))
            .observe(document.body, { childList: true, characterData: true, subtree: true }); }"""
    )
    menu(page, "Suggest for all open records…")
    expect(page.locator(".card")).to_have_count(50)
    for work in ("Suggesting", "Judging"):  # how far it is
        assert page.evaluate("work => window.said.some((one) => RegExp(work + ': [0-9]+ of 56').test(one))", work)
    chosen = page.locator(".card input:checked")
    page.evaluate(
        """() => { for (let times = 0; times < 60; times += 1)
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true })); }"""
    )
    expect(page.locator(".card").last).to_have_class(re.compile("current"))
    expect(chosen.last).to_be_visible()
    assert chosen.count() < 15, "what is only scrolled past is not chosen"
    for _ in range(50):
        page.keyboard.press("k")
    levels = page.locator(".card .chip").evaluate_all("chips => chips.map(one => one.className.split('-').pop())")
    assert levels == sorted(levels, key=["bad", "warn", "good"].index), "the riskiest come first"
    first = page.locator(".card").first
    expect(first.locator("mark").first).to_be_visible()
    expect(first).to_have_class(re.compile("current"))
    page.keyboard.press("j")
    expect(page.locator(".card").nth(1)).to_have_class(re.compile("current"))
    page.keyboard.press("k")
    page.keyboard.press(" ")
    expect(first.locator("input")).to_be_checked(checked=levels[0] != "good")
    page.keyboard.press("Enter")
    expect(page.locator(".card")).to_have_count(6)
    page.get_by_role("button", name="Close").click()
    saved = [task.record for task in anna.tasks() if task.state == "saved"]
    assert saved and {anna.tasks()[record].source for record in saved} == {"bulk"}
    anna.save_questions({saved[0]: "ret false"}, "person", "Ben")
    page.get_by_role("button", name="Undo").click()
    expect_told(page, "Changed since, and left as it is now: 1 question.")
    tasks = anna.tasks()
    assert tasks[saved[0]].question == "ret false" and all(tasks[record].question is None for record in saved[1:])


def pattern_fills_in_the_words_of_each_record(played: Played, context: BrowserContext) -> None:
    anna = played.study.workspace("anna")
    page = open_app(context, played.app)
    menu(page, "Apply a pattern…")
    page.get_by_role("textbox", name="Pattern").fill("ret is_in({surnam 1}, $r)")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Did you mean {surname}?")).to_be_visible()
    page.get_by_role("textbox", name="Pattern").fill("ret is_in({surname 1}, $r) & is_in({given_name 1}, $r)")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text(re.compile(r"It can be filled for \d+ of 55 records"))).to_be_visible()
    for place in range(2):
        page.locator(".card").nth(place).locator("input").check()
    page.get_by_role("button", name=re.compile(r"Accept ([2-9]|\d\d)")).click()  # others may be chosen by themselves
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_text(re.compile(r": ([3-9]|\d\d) of 56 saved"))).to_be_visible()
    own = {record.record: record.prepared.attributes for record in anna.records()}
    for task in anna.tasks():
        if task.question is not None and task.source == "bulk":
            words = own[task.record]
            assert (
                task.question
                == f'ret is_in("{words["surname"].split()[0]}", $r) & is_in("{words["given_name"].split()[0]}", $r)'
            )


def questions_go_out_as_files_and_come_in_again(played: Played, context: BrowserContext) -> None:
    anna = played.study.workspace("anna")
    ids = [record.id for record in anna.records()]
    page = open_app(context, played.app)
    with page.expect_download() as download:
        menu(page, "Export questions")
    with zipfile.ZipFile(download.value.path()) as archive:
        names = archive.namelist()
        for task in anna.tasks():
            assert (f"{ids[task.record]}.question" in names) == bool(task.draft)
            if task.draft:
                assert archive.read(f"{ids[task.record]}.question").decode() == task.draft
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ids:
            archive.writestr(f"{name}.question", "ret false")
        archive.writestr("nobody.question", "ret true")
    menu(page, "Import questions…")
    page.locator("input[type=file]").set_input_files(
        {"name": "all.zip", "mimeType": "application/zip", "buffer": buffer.getvalue()}
    )
    expect(page.get_by_text("56 questions saved, 0 kept as drafts")).to_be_visible()
    expect(page.get_by_text("Without a record of this round: 1 file, nobody the first.")).to_be_visible()
    assert {task.question for task in anna.tasks()} == {"ret false"}


def handed_in_round_is_fixed_and_says_what_is_waited_for(played: Played, context: BrowserContext) -> None:
    page = open_app(context, played.app)
    anna = played.study.workspace("anna")
    page.get_by_role("button", name="Hand in the round").click()
    expect(page.get_by_text("56 say no to everything.")).to_be_visible()
    expect(page.get_by_text("56 saved many at once.")).to_be_visible()
    named = page.get_by_role("region", name="Dubious questions")
    expect(named.locator("li")).to_have_count(56)
    expect(named).to_contain_text(anna.records()[55].id)
    page.get_by_role("button", name="Hand in", exact=True).click()
    expect(page.get_by_role("heading", name="Round 1 is handed in")).to_be_visible()
    expect(page.get_by_text("Your machine has to ask your questions of berta")).to_be_visible()
    with anna.locked_for("owner run"):
        expect(page.locator("p", has_text="blindlabel owner run is at work on this machine.")).to_be_visible()
        anna.say("round 1: ask berta", 0.0, "round 1: ask berta")
        page.wait_for_timeout(2100)
        anna.say("round 1: ask berta", 0.5, "round 1: ask berta")
        expect(page.get_by_text("round 1: ask berta: 50%, less than a minute left")).to_be_visible()
        expect(page.get_by_role("progressbar", name="round 1: ask berta")).to_be_visible()
    played.study.go_on()
    expect(page.get_by_text("berta has to hand in; then your machine opens its answers.")).to_be_visible()
    page.locator(".row-open").first.click()
    expect(page.get_by_text("Round 1 has been handed in; its questions are fixed.")).to_be_visible()
    expect(page.get_by_role("button", name="Save and next")).to_be_hidden()
    show_text(page)
    page.keyboard.type("nothing of this")
    expect_question(page, "ret false")


def second_round_begins_with_the_question_before_and_offers_others(played: Played, context: BrowserContext) -> None:
    page = open_app(context, played.app)
    berta = {
        own.record: own.prepared.attributes["surname"] or "qq" for own in played.study.workspace("berta").records()
    }
    answer_for_berta(played.study, lambda record: f'ret is_in("{berta[record]}", $r)')
    expect(page.get_by_text("Round 2 of 2: 0 of")).to_be_visible()
    expect(page.locator("img[src^='/plot.svg']")).to_be_visible()
    anna = played.study.workspace("anna")
    asked = len(anna.tasks())
    page.keyboard.press("n")
    expect(page.get_by_text("Back in round 2: the two sides disagreed.")).to_be_visible()
    show_text(page)
    expect_question(page, "ret false")
    choices = page.locator(".choice")
    expect(choices).to_have_count(2)
    expect(page.locator(".earlier li")).to_have_text(["Round 1:ret falseCame back: the two sides disagreed."])
    expect(choices.first).to_contain_text("Keep it")
    expect(choices.last).to_contain_text("Suggest another")
    expect(choices.last.locator(".chip")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Always no")
    page.keyboard.press("Alt+2")
    expect(page.locator(".verdict-good, .verdict-warn")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text(f"Round 2 of 2: 1 of {asked} saved")).to_be_visible()
    assert next(task for task in anna.tasks() if task.question).source == "suggested"
    played.study.write_all("anna")
    page.keyboard.press("Alt+l")
    hand_in(page)


def end_of_the_study_shows_figures_and_exports(played: Played, context: BrowserContext) -> None:
    page = open_app(context, played.app)
    answer_for_berta(played.study, lambda _: "ret false")
    expect(page.get_by_role("heading", name="The study is over")).to_be_visible()
    study = played.study
    labels = study.coordinator.labels(study.agreement.hash)["anna", "berta"]  # the owner itself is told of matches only
    discarded, matches = int((labels == 0).sum()), int((labels & 1).sum())
    expect(page.locator(".plot .plain tbody tr")).to_have_count(2)
    expect(page.locator(".settled")).to_contain_text(f"{matches:,} match")
    expect(page.locator(".settled")).to_contain_text(f", {labels.size - discarded - matches:,} settled as no match")
    expect(page.locator(".settled")).to_contain_text(f"; {discarded:,} of {labels.size:,} pairs were discarded.")
    expect(page.get_by_role("region", name="Your records").locator("tbody tr")).to_have_count(56)
    expect(page.get_by_text("End of the list: 56 records.")).to_be_visible()
    expect(page.get_by_text("The agreement releases matches to you and nothing else.")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Pairs not settled")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("link", name="csv", exact=True).click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.namelist() == ["ground_truth.csv"]
        lines = archive.read("ground_truth.csv").decode().strip().splitlines()
    assert len(lines) == 1 + matches
    page.keyboard.press("n")
    expect_told(page, "No record is open.")


def test_third_round_shows_both_earlier_questions_and_what_was_asked_before(
    tmp_path: Path, context: BrowserContext
) -> None:
    study = Rehearsal(tmp_path / "study", Wanted(records=12, rounds=3))
    study.begin()
    anna, berta = study.workspaces
    own, others = ({one.id: one for one in workspace.records()} for workspace in (anna, berta))
    with (tmp_path / "study" / "tables" / "matches.csv").open(newline="") as file:
        pairs = [(own[row["id_a"]], others[row["id_b"]]) for row in csv.DictReader(file)]
    shared = {one.record: words_of(one.prepared.whole) & words_of(other.prepared.whole) for one, other in pairs}
    judging = Judging(anna)

    def first_asked(task: Task, second: str) -> str:
        """The stricter version of what will be asked in round 2, which is offered again in round 3."""
        chain = check_question(anna.agreement, second).chain
        assert chain is not None
        return judging.neighbours(anna.records()[task.record], replace(task, round=3), chain)["Stricter"].text

    for number in (1, 2):
        for task in anna.tasks():
            two = sorted(shared.get(task.record, []), key=lambda word: (len(word), word))[-2:]
            asked = "ret " + (" & ".join(f'is_in("{word}", $r)' for word in two) or "false")
            anna.save_questions({task.record: first_asked(task, asked) if number == 1 and two else asked}, "person")
        berta.save_questions({task.record: "ret false" for task in berta.tasks()}, "person")
        for workspace in (anna, berta):
            workspace.hand_in()
        study.go_on()
    assert anna.state().round == 3
    with running(anna.folder) as app:
        page = open_app(context, app)
        expect(page.get_by_text(f" of {len(anna.tasks())} saved")).to_be_visible()
        expect(page.locator("tbody .cell-again").filter(has_text="disagreed").first).to_be_visible()
        page.keyboard.press("n")
        expect(page.get_by_text("Back in round 3: the two sides disagreed.")).to_be_visible()
        earlier = page.locator(".earlier li")
        expect(earlier).to_have_count(2)
        for number, line in enumerate(earlier.all(), 1):
            expect(line).to_contain_text(f"Round {number}:")
            expect(line).to_contain_text("Came back:")
        choices = page.locator(".choice")
        expect(choices.first).to_contain_text("Keep it")
        expect(choices.filter(has_text="Stricter")).to_contain_text("asked in round 1")
        expect(choices.filter(has_text="Suggest another")).not_to_contain_text("asked in round")
