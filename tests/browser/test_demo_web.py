"""`blindlabel demo --web`: a newcomer clicks through a whole round alone, with all parties as processes of their
own.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from support.patience import Patience
from support.web_app import SOURCE, new_context


def answers(link: str) -> bool:
    """Whether somebody listens there."""
    place = urlsplit(link.split()[0])
    with socket.socket() as trying:
        return trying.connect_ex((str(place.hostname), int(place.port or 0))) == 0


@pytest.fixture
def links(tmp_path: Path) -> Iterator[dict[str, str]]:
    command = [
        sys.executable,
        "-m",
        "blindlabel.cli.main",
        "demo",
        "--web",
        "--no-browser",
        "--engine",
        "plain",
        "--records",
        "6",
    ]
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    process = subprocess.Popen(
        [*command, "--keep", str(tmp_path / "demo")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    found = dict(process.stdout.readline().strip().split(": ", 1) for _ in range(3))
    try:
        yield found
        process.kill()  # it cannot tidy up then, and its parties end all the same
        process.wait()
        Patience().wait_until(lambda: not [link for link in found.values() if answers(link)])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_newcomer_clicks_through_a_round_alone(links: dict[str, str], browser: Browser) -> None:
    context = new_context(browser, viewport={"width": 1366, "height": 768})
    for owner in ("anna", "berta"):
        page = context.new_page()
        page.goto(links[owner])
        page.get_by_role("textbox", name="Name").fill("Ada")
        page.keyboard.press("Enter")
        expect(page.locator(".state-saved")).to_have_count(3)
        page.get_by_role("button", name="Many at once").click()
        page.get_by_text("Suggest for all open records…").click()
        cards = page.locator(".card")
        expect(cards).to_have_count(3)
        for card in cards.all():  # whatever the verdict, take them all
            card.scroll_into_view_if_needed()
            if card.locator(".chip-good").count():
                expect(card.locator("input")).to_be_checked()  # by itself, once it has been on the screen
            else:
                card.locator("input").check()
        page.get_by_role("button", name="Accept 3 questions").click()
        page.get_by_role("button", name="Hand in the round").click()
        page.get_by_role("button", name="Hand in", exact=True).click()
    told = re.fullmatch(r"(\S+) \(code (\S+)\)", links["coordinator"])
    assert told is not None
    address, code = told.groups()
    page = context.new_page()
    page.goto(address)
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Patients of two hospitals").click()
    expect(page.get_by_role("region", name="Figures").locator("tbody tr").first).to_be_visible()
    context.close()
