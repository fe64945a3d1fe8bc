"""The coordinator's page in a real browser: signing in, how a study stands, keeping up to date, exports; and nothing
without the code.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.parties.study import standing
from blindlabel.protocol.figures import advice, headline, so_far
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.transport import server_limits
from blindlabel.web.coordinator_page import COOKIE, add_page, sign_in_code
from blindlabel.web.local_study import Rehearsal, Wanted
from support.axe import fits, no_violations
from support.study_parties import served
from support.web_app import new_context


@dataclass
class Coordinated:
    study: Rehearsal
    address: str
    code: str
    answered: bool = False


@pytest.fixture(scope="module")
def coordinated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Coordinated]:
    folder: Path = tmp_path_factory.mktemp("coordinated")
    study = Rehearsal(folder, Wanted(records=6, rounds=2))
    study.begin()
    with served(study.coordinator, add=lambda app: add_page(app, study.coordinator)) as address:
        yield Coordinated(study, address, sign_in_code(study.coordinator))


def sign_in(page: Page, coordinated: Coordinated) -> None:
    page.goto(coordinated.address)
    page.get_by_label("Code").fill(coordinated.code)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()


@pytest.mark.parametrize("look", ["light 1440", "dark 1024"])
def test_page_shows_how_a_study_stands_and_keeps_up(coordinated: Coordinated, browser: Browser, look: str) -> None:
    scheme, width = look.split()
    context = new_context(browser, viewport={"width": int(width), "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{coordinated.address}/nowhere")
    expect(page.locator("main")).to_contain_text("There is no such page.")
    no_violations(page, page.url)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.get_by_role("link", name="Back to the first page").click()
    expect(page.get_by_label("Code")).to_be_visible()
    no_violations(page, page.url)
    page.get_by_label("Code").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("This is not the code.")
    sign_in(page, coordinated)
    no_violations(page, page.url)
    page.goto(f"{coordinated.address}/studies/nonsense")
    expect(page.locator("main")).to_contain_text("There is no such study.")
    page.get_by_role("link", name="Back to the first page").click()
    page.get_by_role("link", name="Patients of two hospitals").click()
    page.wait_for_url("**/studies/*")
    if not coordinated.answered:
        expect(page.get_by_role("heading", name="Round 1 of 2")).to_be_visible()
        expect(page.get_by_text("Answered by 0 of 2 owners; 12 questions in this round.")).to_be_visible()
        expect(page.get_by_text("There is nothing to export before the first round is settled.")).to_be_visible()
        expect(page.get_by_text("anna has to answer round 1")).to_be_visible()
        anna = page.get_by_role("region", name="Owners").locator("tbody tr").first
        expect(anna.locator("td").first).to_have_text("answer round 1")
        expect(anna.locator("td").nth(2)).to_have_text(re.compile("just now|minute"))  # from the folder's file
        expect(anna).to_contain_text("0 of 6 written")
        coordinated.study.workspaces[0].save_questions({0: "ret true", 1: "ret false"}, "person")
        coordinated.study.go_on()
        expect(anna).to_contain_text("2 of 6 written")  # the page keeps up by itself
        expect(anna).to_contain_text(str(datetime.datetime.now().year))  # since when it is waited for
        expect(page.get_by_text("Agreement is not recall")).to_have_count(0)  # nothing is agreed yet
        no_violations(page, page.url)
        for workspace in coordinated.study.workspaces:
            SuggestedQuestions().provide(workspace)
        coordinated.study.go_on()
        coordinated.answered = True
        expect(page.get_by_role("region", name="Figures").locator("tbody tr").first).to_be_visible()
    page.reload()
    no_violations(page, page.url)
    fits(page, look)
    rounds = [one.total for one in standing(coordinated.study.coordinator, coordinated.study.agreement.hash).history]
    settled = so_far([one for one in rounds if one.pairs])
    history = standing(coordinated.study.coordinator, coordinated.study.agreement.hash).history
    told = advice(
        [one.total for one in history if one.settled],
        [one.pairings for one in history if one.settled],
        [one.asked for one in history],
    )
    heading = "For another study" if history[-1].settled else "Consider"
    expect(page.get_by_role("heading", name=heading)).to_have_count(1 if told else 0)
    expect(page.locator(".advice li")).to_have_text(told)
    expect(page.locator(".headline")).to_have_text(headline([one for one in rounds if one.pairs]))
    for cell in page.get_by_role("region", name="Account of bits").locator("td").all_inner_texts():
        learnt, allowed = (int(number.replace(",", "")) for number in cell.split(" of "))
        assert 0 < learnt <= allowed, "both count the same"
    cells = page.get_by_role("region", name="Figures").locator("tbody tr").last.locator("td")
    expect(cells.nth(4)).to_have_text(f"{settled[-1].agreed} of 36")
    expect(page.get_by_text("Agreement is not recall")).to_be_visible()
    expect(page.locator(".timeline li").first).to_contain_text("joining and keys")
    content = page.content()
    for workspace in coordinated.study.workspaces:
        for own in workspace.records():
            assert own.id not in content and (own.row["address_1"] or "-" * 9) not in content
    with page.expect_download() as download:
        page.get_by_role("link", name="csv", exact=True).click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert "ground_truth.csv" in archive.namelist()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{coordinated.address}/studies")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert all(url.startswith((coordinated.address, "blob:")) for url in requests)
    context.close()


def test_nothing_is_shown_without_the_code(coordinated: Coordinated) -> None:
    study = coordinated.study.agreement.hash
    with httpx.Client(base_url=coordinated.address, follow_redirects=False) as client:
        for path in (
            "/studies",
            f"/studies/{study}",
            f"/studies/{study}/plot.svg",
            f"/studies/{study}/export/anna/berta/csv",
        ):
            answer = client.get(path)
            assert answer.status_code == 303 and answer.headers["location"] == "/sign-in"
            assert client.get(path, headers={"cookie": f"{COOKIE}=guessed"}).status_code == 303


def test_session_cookie_is_strict_and_other_sites_cannot_post(coordinated: Coordinated) -> None:
    with httpx.Client(base_url=coordinated.address) as client:
        form = {"code": coordinated.code}
        foreign = client.post("/sign-in", data=form, headers={"origin": "http://evil.example"})
        assert foreign.status_code == 403 and "set-cookie" not in foreign.headers
        assert client.post("/sign-in", data=form, headers={"sec-fetch-site": "cross-site"}).status_code == 403
        mine = client.post("/sign-in", data=form, headers={"origin": coordinated.address})
        assert mine.status_code == 303
        cookie = mine.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie
        page = client.get("/studies")
        assert page.status_code == 200
        assert (
            "unsafe" not in page.headers["content-security-policy"]
            and "frame-ancestors 'none'" in page.headers["content-security-policy"]
        )


def test_guessing_the_code_is_slowed_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_limits, "time", SimpleNamespace(monotonic=lambda: 7.0))  # however long the machine takes
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    with (
        served(coordinator, add=lambda app: add_page(app, coordinator)) as address,
        httpx.Client(base_url=address) as client,
    ):
        answers = [client.post("/sign-in", data={"code": f"guess {number}"}).status_code for number in range(15)]
        assert answers[0] == 403 and answers[-1] == 429
        assert client.post("/sign-in", data={"code": sign_in_code(coordinator)}).status_code == 429
