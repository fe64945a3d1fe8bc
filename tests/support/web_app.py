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

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect

from support.patience import PATIENCE

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


class App:
    """A running app: its process and the link that it printed."""

    def __init__(self, workspace: Path, port: int | None = None) -> None:
        self.workspace = workspace
        self._start(port)

    def _start(self, port: int | None) -> None:
        command = [
            sys.executable,
            "-m",
            "blindlabel.cli.main",
            "owner",
            "annotate",
            "--at",
            str(self.workspace),
            "--no-browser",
        ]
        command += [] if port is None else ["--port", str(port)]
        environment = os.environ | {"PYTHONPATH": str(SOURCE)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        self.link = self.process.stdout.readline().strip()
        assert self.link.startswith("http://127.0.0.1:"), self.process.stderr.read()

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
        self._start(None)

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
def running(workspace: Path) -> Iterator[App]:
    """The app while the block runs."""
    app = App(workspace)
    try:
        yield app
    finally:
        if app.process.poll() is None:
            app.stop()


def open_app(context: BrowserContext, app: App) -> Page:
    """A tab with the app."""
    page = context.new_page()
    page.goto(app.link)
    expect(page.locator(".head")).to_be_visible()
    return page


def write(page: Page, text: str) -> None:
    """Replace the question in the editor by typing, without closing brackets and quotes for us."""
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


def take_completion(page: Page) -> None:
    """Accept the marked completion; CodeMirror takes no key for one that has only just appeared."""
    expect(page.locator(".cm-tooltip-autocomplete li[aria-selected]")).to_be_visible()
    page.wait_for_timeout(150)
    page.keyboard.press("Enter")
