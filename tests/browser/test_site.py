"""The documentation as a site: it builds, pictures and diagrams are there, and no request leaves the machine."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

ROOT = Path(__file__).resolve().parents[2]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """A test's server has nothing to tell."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site as `make docs` builds it, served on this machine. A link that leads nowhere fails the build."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_every_page_draws_its_pictures_and_diagrams_and_asks_no_other_host(site: str, context: BrowserContext) -> None:
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    diagrams = pictures = 0
    for path in sorted((ROOT / "docs").glob("*/*.md")):
        if path.parent.name == "decisions":
            continue
        page.goto(f"{site}/{path.parent.name}/{path.stem}.html")
        for at in range(page.locator(".diagram").count()):
            drawn = page.locator(".diagram").nth(at).locator("svg")
            expect(drawn).to_be_visible()
            assert drawn.get_attribute("aria-roledescription") != "error", f"{path.name} has a diagram with a mistake"
            diagrams += 1
        widths = page.eval_on_selector_all("article img", "images => images.map(image => image.naturalWidth)")
        assert all(widths), f"{path.name} has a picture that is not there"
        pictures += len(widths)
    assert diagrams and pictures
    assert not [url for url in asked if not url.startswith(site) and not url.startswith("data:")]


def test_search_finds_a_word_of_the_glossary(site: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{site}/index.html")
    page.keyboard.press("/")
    page.keyboard.type("impostor")
    expect(page.locator(".md-search-result__link").first).to_be_visible()
