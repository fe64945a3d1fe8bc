"""A whole study through the owner's app: bulk work, handing in, a second round with what was asked before, the end and
its exports.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from blindlabel.web.owner_page import GUIDE_SEEN
from blindlabel.web.rehearsal import Rehearsal, Wanted
from support.web_app import App, expect_question, open_app, running


@dataclass
class Played:
    study: Rehearsal
    app: App


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    folder = tmp_path / "study"
    study = Rehearsal(folder, Wanted(records=6, rounds=2))
    study.begin()
    study.workspace("anna").remember(GUIDE_SEEN, "yes")
    with running(folder / "anna") as app:
        yield Played(study, app)


def answer_for_berta(study: Rehearsal, text: str) -> None:
    """The other side writes the same question for all its records and hands in; then everything moves as far as it
    can.
    """
    berta = study.workspace("berta")
    berta.save_questions({task.record: text for task in berta.tasks()}, "person")
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
    bulk_suggestions_are_reviewed_accepted_and_can_be_undone(played, context)
    pattern_fills_in_the_words_of_each_record(played, context)
    questions_go_out_as_files_and_come_in_again(played, context)
    handed_in_round_is_fixed_and_says_what_is_waited_for(played, context)
    second_round_shows_why_and_starts_from_the_question_before(played, context)
    end_of_the_study_shows_figures_and_exports(played, context)


def bulk_suggestions_are_reviewed_accepted_and_can_be_undone(played: Played, context: BrowserContext) -> None:
    anna = played.study.workspace("anna")
    page = open_app(context, played.app)
    expect(page.get_by_role("button", name="Hand in the round")).to_be_disabled()
    menu(page, "Suggest for all open records…")
    expect(page.locator(".review tbody tr")).to_have_count(6)
    page.get_by_role("checkbox", name=f"Record {anna.records()[0].id}").click()
    page.get_by_role("button", name="Accept 5 questions").click()
    expect(page.locator(".state-saved")).to_have_count(5)
    assert [task.state for task in anna.tasks()] == ["open", *["saved"] * 5]
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".state-saved")).to_have_count(0)
    assert {task.question for task in anna.tasks()} == {None}


def pattern_fills_in_the_words_of_each_record(played: Played, context: BrowserContext) -> None:
    anna = played.study.workspace("anna")
    page = open_app(context, played.app)
    menu(page, "Apply a pattern…")
    page.get_by_role("textbox", name="Pattern").fill("ret is_in({surnam 1}, $r)")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Did you mean {surname}?")).to_be_visible()
    page.get_by_role("textbox", name="Pattern").fill("ret is_in({surname 1}, $r) & is_in({given_name 1}, $r)")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text(re.compile(r"It fits \d of 6 records"))).to_be_visible()
    page.get_by_role("button", name=re.compile(r"Accept \d")).click()
    expect(page.locator(".state-saved").first).to_be_visible()
    own = {record.record: record.prepared.attributes for record in anna.records()}
    for task in anna.tasks():
        if task.question is not None:
            words = own[task.record]
            assert (
                task.question
                == f'ret is_in("{words["surname"].split()[0]}", $r) & is_in("{words["given_name"].split()[0]}", $r)'
            )
        else:
            assert not own[task.record]["surname"] or not own[task.record]["given_name"]


def questions_go_out_as_files_and_come_in_again(played: Played, context: BrowserContext) -> None:
    anna = played.study.workspace("anna")
    ids = [record.id for record in anna.records()]
    page = open_app(context, played.app)
    with page.expect_download() as download:
        menu(page, "Export questions")
    with zipfile.ZipFile(download.value.path()) as archive:
        names = archive.namelist()
        assert f"{ids[1]}.question" in names
        assert archive.read(f"{ids[1]}.question").decode() == anna.tasks()[1].draft
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ids:
            archive.writestr(f"{name}.question", "ret false")
        archive.writestr("nobody.question", "ret true")
    menu(page, "Import questions…")
    page.locator("input[type=file]").set_input_files(
        {"name": "all.zip", "mimeType": "application/zip", "buffer": buffer.getvalue()}
    )
    expect(page.get_by_text("6 questions saved, 0 kept as drafts")).to_be_visible()
    expect(page.get_by_text("1 files belong to no record of this round, nobody")).to_be_visible()
    assert {task.question for task in anna.tasks()} == {"ret false"}


def handed_in_round_is_fixed_and_says_what_is_waited_for(played: Played, context: BrowserContext) -> None:
    page = open_app(context, played.app)
    hand_in(page)
    expect(page.get_by_text("This machine has to ask your questions")).to_be_visible()
    anna = played.study.workspace("anna")
    anna.say("round 1: ask berta", 0.0, "round 1: ask berta")
    page.wait_for_timeout(2100)
    anna.say("round 1: ask berta", 0.5, "round 1: ask berta")
    expect(page.get_by_text("round 1: ask berta: 50%, about")).to_be_visible()
    expect(page.get_by_role("progressbar", name="round 1: ask berta")).to_be_visible()
    played.study.go_on()
    expect(page.get_by_text("The other owners have to answer this round")).to_be_visible()
    page.locator(".row-open").first.click()
    expect(page.get_by_role("button", name="Save and next")).to_be_disabled()
    page.keyboard.type("nothing of this")
    expect_question(page, "ret false")


def second_round_shows_why_and_starts_from_the_question_before(played: Played, context: BrowserContext) -> None:
    page = open_app(context, played.app)
    answer_for_berta(played.study, "ret true")  # disagrees with every "no" of the first round
    expect(page.get_by_text("Round 2 of 2: 0 of 6 saved")).to_be_visible()
    expect(page.locator("img[src^='/plot.svg']")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_text("Back in round 2: it disagreed with 6 records of the other side.")).to_be_visible()
    expect(page.locator(".previous pre")).to_have_text("ret false")
    page.get_by_role("button", name="Start from it").click()
    expect_question(page, "ret false")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Round 2 of 2: 1 of 6 saved")).to_be_visible()
    page.keyboard.press("Escape")
    menu(page, "Suggest for all open records…")
    page.get_by_role("button", name="Accept 5 questions").click()
    hand_in(page)


def end_of_the_study_shows_figures_and_exports(played: Played, context: BrowserContext) -> None:
    page = open_app(context, played.app)
    answer_for_berta(played.study, "ret false")
    expect(page.get_by_role("heading", name="The study is over")).to_be_visible()
    labels = played.study.workspace("anna").labels()["berta"]
    discarded, matches = int((labels == 0).sum()), int((labels & 1).sum())
    figures = page.locator(".figures div").all_inner_texts()
    assert [int(re.sub(r"\D", "", figure)) for figure in figures] == [
        matches,
        labels.size - discarded - matches,
        discarded,
    ]
    expect(page.locator(".plain tbody tr")).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("link", name="csv", exact=True).click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert sorted(archive.namelist()) == ["ground_truth.csv", "ground_truth.discarded.csv"]
        lines = archive.read("ground_truth.csv").decode().strip().splitlines()
    assert len(lines) == 1 + labels.size - discarded
    page.keyboard.press("n")
    expect(page.get_by_text("No record is open.")).to_be_visible()
