"""A sitting of a study with people, as both participants see it: consent, practice, the blind part, pairs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from blindlabel.cli.main import run
from blindlabel.protocol.interfaces import PERSON, SUGGESTED
from blindlabel.records.generator import Size, generate, write
from blindlabel.storage.annotations import Annotations
from blindlabel.storage.workspace import Workspace
from blindlabel.web.practice import Practice, practice_folder
from blindlabel_lab.experiments.arms import score_study
from blindlabel_lab.experiments.participants import BESIDE, BLIND, PeopleStudy, read_study
from blindlabel_lab.experiments.seat import answers_in
from support.web_app import new_context

PARTICIPANTS = ("P01", "P02")


@pytest.fixture
def study(tmp_path: Path) -> PeopleStudy:
    write(generate("products", Size(40, 20), 3), tmp_path / "products")
    command = ["experiment", "prepare", str(tmp_path / "products"), "--participants", "2", "--matches", "2"]
    assert run([*command, "--rounds", "1", "--engine", "plain", "--out", str(tmp_path / "study"), "--published"]) == 0
    return read_study(tmp_path / "study")


@pytest.fixture
def links(study: PeopleStudy) -> Iterator[dict[str, str]]:
    command = [sys.executable, "-m", "blindlabel.cli.main", "experiment", "session", str(study.folder)]
    process = subprocess.Popen([*command, "--couple", "1"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = [process.stdout.readline().strip().partition(": ") for _ in PARTICIPANTS]
    yield {name: link for name, _, link in said}
    process.terminate()
    process.wait()
    process.stdout.close()


def practise(study: PeopleStudy, participant: str, page: Page) -> None:
    """One question at the screen, the others saved beside it."""
    page.get_by_role("link", name="To the practice").click()
    expect(page.get_by_text("Practice: every record here is invented")).to_be_visible()
    page.locator(".row-open").first.click()
    expect(page.get_by_role("button", name="Points", exact=True)).to_be_hidden()
    write_in_editor(page, "ret false")
    expect(page.locator(".confirmation")).to_contain_text("save once more")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Missed: the partner gets a no.")).to_be_visible()
    page.get_by_role("link", name="Go on").click()
    expect(page.get_by_role("status")).to_contain_text("7 records are left")

    workspace = Workspace.open(study.workspace_folder(participant, "products"))
    made = Practice(practice_folder(workspace, participant))
    questions = {}
    for record in made.workspace.records():
        partner = made._others[made._partners[record.id]]
        values = {name: value[:16] for name, value in partner.attributes.items() if value}
        questions[record.record] = "ret " + " & ".join(f'is_in("{v}", $r.{n})' for n, v in values.items())
    made.workspace.save_questions(questions, PERSON)
    page.reload()
    expect(page.get_by_role("heading", name="Part 1 of 2")).to_be_visible()


def write_in_editor(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    page.keyboard.press("Control+s")


def ask(study: PeopleStudy, participant: str, page: Page) -> None:
    """One question at the screen, under the pseudonym, the others saved beside it; then the round is handed in."""
    page.get_by_role("link", name="To the records").click()
    expect(page.get_by_text(f"{participant} for owner-")).to_be_visible()
    page.locator(".row-open").first.click()
    expect(page.get_by_role("region", name="Your record")).to_be_visible()
    page.keyboard.press("Alt+g")
    expect(page.locator(".why")).to_contain_text("must have all of them")
    page.keyboard.press("Control+s")
    workspace = Workspace.open(study.workspace_folder(participant, "products"))
    expect(page.locator(".state-saved, .chip, .verdict strong").first).to_be_visible()
    left = [task for task in workspace.tasks() if task.question is None]
    workspace.save_questions({task.record: 'ret is_in("a", $r)' for task in left}, SUGGESTED)
    page.goto(re.sub(r"(:\d+/).*", r"\1", page.url))
    page.get_by_role("button", name="Hand in the round").click()
    page.get_by_role("button", name="Hand in", exact=True).click()
    expect(page.get_by_text("saved and handed in")).to_be_visible()
    page.get_by_role("link", name="Go on").click()


def compare(page: Page) -> None:
    """Answers by key; the first one twice."""
    expect(page.get_by_role("status")).to_contain_text("Pair 1 of")
    page.keyboard.press("y")
    expect(page.get_by_role("status")).to_contain_text("Pair 2 of")
    page.keyboard.press("b")
    expect(page.get_by_role("status")).to_contain_text("Pair 1 of")
    count = int(page.get_by_role("status").inner_text().split()[-1])
    for place in range(1, count + 1):
        expect(page.get_by_role("status")).to_contain_text(f"Pair {place} of")
        page.keyboard.press("n")


def test_two_participants_go_through_a_sitting(study: PeopleStudy, links: dict[str, str], browser: Browser) -> None:
    pages = {}
    for one in PARTICIPANTS:
        pages[one] = page = new_context(browser, viewport={"width": 1366, "height": 768}).new_page()
        page.goto(links[one])
        expect(page.get_by_role("heading", name="Before you begin")).to_be_visible()
        page.get_by_role("button", name="I agree").click()
        expect(page.get_by_role("heading", name="Practise first")).to_be_visible()
        practise(study, one, page)
    for part in study.sitting(1, "products").parts:
        for one, page in pages.items():
            if part == BLIND:
                ask(study, one, page)
            else:
                compare(page)
    for page in pages.values():
        expect(page.get_by_role("heading", name="That was all")).to_be_visible()
        page.context.close()
    found = score_study(study)
    assert found["unfinished"] == [] and set(found["practice"]) == set(PARTICIPANTS)
    for one in PARTICIPANTS:
        workspace = Workspace.open(study.workspace_folder(one, "products"))
        assert {visit.annotator for visit in Annotations(workspace).log()} == {one}
        answers = answers_in(study.own_folder(one))
        assert [answer["match"] for answer in answers[:2]] == ["yes", "no"]
        assert {answer["pair"] for answer in answers[:2]} == {"0"}
    assert all(one["final"]["true_positives"] == 0 for one in found["parts"][BESIDE].values()), "everything was a no"
