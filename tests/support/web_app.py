"""Starting the owner's app as a process of its own, as a person does, and a browser that looks at it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect

from blindlabel.storage.access import Access
from blindlabel.storage.workspace import Workspace
from support.patience import PATIENCE

NAME = "Ada"
"""Who sits at the tests' browsers."""
SOURCE = Path(__file__).parents[2] / "src"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


def chromium() -> str:
    """The browser of the machine."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "No chromium here: run scripts/ensure-chromium."
    return found


def launched(playwright: Playwright) -> Browser:
    """A headless browser."""
    return playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)


TOLD = """
window.told = [];
new MutationObserver((changes) => {
  for (const node of changes.flatMap((change) => [...change.addedNodes])) {
    if (node.matches?.(".told") || node.querySelector?.(".told")) window.told.push(node.textContent);
  }
}).observe(document, { childList: true, subtree: true });
"""
"""Keeps what the page tells: some messages go after a second, and a browser may be looked at less often."""


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A window of its own, with as much patience as all tests have."""
    made = browser.new_context(**options)
    made.set_default_timeout(1000 * PATIENCE)
    made.add_init_script(TOLD)
    return made


def expect_told(page: Page, message: str) -> None:
    """Wait until the page has told this, whether the message still stands there or not."""
    page.wait_for_function("message => window.told.some((one) => one.includes(message))", arg=message)


class App:
    """A running app: its process and the link that it printed."""

    def __init__(self, workspace: Path, *more: str) -> None:
        self.workspace = workspace
        self.given = ""
        self._start(*more)

    def _start(self, *more: str) -> None:
        command = [
            sys.executable,
            "-m",
            "blindlabel.cli.main",
            "owner",
            "annotate",
            "--at",
            str(self.workspace),
            "--no-browser",
            *more,
        ]
        environment = os.environ | {"PYTHONPATH": str(SOURCE)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        if "--serve" in more:  # people sign in, so there is no link
            assert "People open" in self.process.stderr.readline()
            return
        self.link = self.process.stdout.readline().strip()
        assert self.link.startswith("http://127.0.0.1:"), self.process.stderr.read()

    def signed_in(self) -> str:
        """The cookie that the start link gives once, with a name for whoever has it."""
        if not self.given:
            answer = httpx.get(self.link, follow_redirects=False)
            assert answer.status_code == 303 and answer.headers["location"] == "/"
            self.given = answer.headers["set-cookie"]
            access = Access(Workspace.open(self.workspace).database)
            session = access.session(self.given.partition("=")[2].partition(";")[0])
            assert session is not None
            access.name(session.browser, NAME)
        return self.given.partition(";")[0]

    def let_in(self, context: BrowserContext) -> None:
        """Let a browser in. A link lets one in; the tests' browsers share its cookie, as tabs of one browser do."""
        name, _, value = self.signed_in().partition("=")
        host = str(urlsplit(self.link).hostname)
        context.add_cookies([{"name": name, "value": value, "domain": host, "path": "/", "sameSite": "Strict"}])

    @property
    def address(self) -> str:
        """Without the token."""
        return self.link.partition("?")[0]

    def kill(self) -> None:
        """As a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self._finish()

    def restart(self) -> None:
        """Start again; it chooses the port of last time by itself."""
        self._start()

    def stop(self) -> None:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGTERM)
        self._finish()

    def _finish(self) -> None:
        self.process.wait(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@contextlib.contextmanager
def running(workspace: Path, *more: str) -> Iterator[App]:
    """The app while the block runs."""
    app = App(workspace, *more)
    try:
        yield app
    finally:
        if app.process.poll() is None:
            app.stop()


def open_app(context: BrowserContext, app: App) -> Page:
    """A tab with the app, of a person whose name is known."""
    app.let_in(context)
    page = context.new_page()
    page.goto(app.address)
    expect(page.locator(".head")).to_be_visible()
    return page


def show_text(page: Page) -> None:
    """Show the question as text, and put the cursor there."""
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator(".cm-content")).to_be_focused()


def write(page: Page, text: str) -> None:
    """Replace the question in the editor by typing, without closing brackets and quotes for us."""
    show_text(page)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def question(page: Page) -> str:
    """The text in the editor."""
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def expect_question(page: Page, text: str) -> None:
    """Wait until the editor holds this text."""
    if text:
        expect(page.locator(".cm-line")).to_have_text(text.split("\n"))
    else:
        expect(page.locator(".cm-placeholder")).to_be_visible()


def take_completion(page: Page, key: str = "Enter") -> None:
    """Accept the marked completion; CodeMirror takes no key for one that has only just appeared."""
    expect(page.locator(".cm-tooltip-autocomplete li[aria-selected]")).to_be_visible()
    page.wait_for_timeout(150)
    page.keyboard.press(key)
