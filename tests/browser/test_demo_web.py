"""`blindlabel demo --web`: a newcomer clicks through a whole round alone, with all parties as processes of their
own.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from support.patience import Patience
from support.study_parties import is_served
from support.web_app import SOURCE, new_context


@contextlib.contextmanager
def demo(folder: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """`demo --web`, with its temporary files in a folder of its own."""
    command = [sys.executable, "-m", "blindlabel.cli.main", "demo", "--web", "--no-browser", "--engine", "plain"]
    folder.mkdir()
    process = subprocess.Popen(
        [*command, "--records", "6", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE), "TMPDIR": str(folder)},
    )
    try:
        with process:
            yield process
            process.kill()  # where it goes on
    finally:
        process.kill()


def links_of(process: subprocess.Popen[str]) -> dict[str, str]:
    """What it prints once all parties are there."""
    assert process.stdout is not None
    return dict(process.stdout.readline().strip().split(": ", 1) for _ in range(3))


def parties(folder: Path) -> list[str]:
    """The commands of the processes that work in a folder."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            command = one.read_bytes().decode(errors="replace").replace("\0", " ")
            found += [command] if f" {folder}/" in command else []
    return found


@pytest.fixture
def links(tmp_path: Path) -> Iterator[dict[str, str]]:
    with demo(tmp_path / "made", "--keep", str(tmp_path / "demo")) as process:
        found = links_of(process)
        yield found
        process.kill()  # it cannot tidy up then, and its parties end all the same
        process.wait()
        ports = [urlsplit(link.split()[0]).port for link in found.values()]
        Patience().wait_until(lambda: not any(is_served(port) for port in ports if port))


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_demo_ends_with_all_of_its_processes_however_it_is_told_to(tmp_path: Path, kind: signal.Signals) -> None:
    folder, patience = tmp_path / "made", Patience()
    with demo(folder) as process:
        if kind == signal.SIGHUP:
            links_of(process)
            assert len(parties(folder)) > 3, "a coordinator, two apps, and what they run"
        else:  # while it is still making its tables
            assert process.stderr is not None and "Making two tables" in process.stderr.readline()
        process.send_signal(kind)
        patience.wait_until(lambda: process.poll() is not None)
        patience.wait_until(lambda: not parties(folder), lambda: parties(folder))
        assert list(folder.iterdir()) == [], "its temporary files are gone, too"


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
