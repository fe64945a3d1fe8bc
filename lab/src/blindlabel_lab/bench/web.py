"""How quick the owner's app is with many records: opening one, checking while typing, saving; in Python, and as a
browser sees it.

The browser's figures are from the key or click to the moment the page shows the result, so they hold everything: both
ways through the connection, the work, and drawing. They need Playwright and chromium and are left out where those are
missing. On a busy machine most of that is waiting for a turn, so processor time is measured beside it: app and page are
what a person waits for, the browser's other processes (drawing) and Playwright's run beside them on another core.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blindlabel.web.app import CachedWorkspace, Seat
from blindlabel.web.judging import Judging
from blindlabel.web.local_study import Rehearsal, Wanted
from blindlabel_lab.bench.machine import machine

TARGET_MS = 100.0


@dataclass(frozen=True)
class WebFigures:
    """Medians in milliseconds."""

    records: int
    machine: str
    list_ms: float
    check_ms: float
    verdict_ms: float
    save_ms: float
    suggest_ms: float
    browser: dict[str, float] | None
    """open_ms, check_ms, save_and_next_ms as a person sees them; ending in processor_ms: mean processor time of app,
    page and others; and first_row_ms of loading the page. None without a browser.
    """
    target_ms: float = TARGET_MS

    def to_json(self) -> dict[str, Any]:
        """As the command prints it."""
        return {"bench": "web", **asdict(self)}


def measure(records: int = 5000, repeats: int = 15) -> WebFigures:
    """Make a study with this many sampled records and measure."""
    with tempfile.TemporaryDirectory(prefix="blindlabel-bench-") as folder:
        study = Rehearsal(Path(folder) / "study", Wanted(records=records))
        study.begin()
        workspace = study.workspace("anna")
        cache, judging = CachedWorkspace(workspace), Judging(workspace)
        seat = Seat(cache, judging, "bench")
        judging.warm_up()
        own, tasks = cache.records, workspace.tasks()
        questions = [judging.suggest(own[place], tasks[place]).text for place in range(repeats)]
        figures = {
            "list_ms": _median(lambda _: seat.listed("street", "open", "surname"), repeats),
            "check_ms": _median(lambda place: cache.check(questions[place]), repeats),
            "verdict_ms": _median(lambda place: judging.verdict(cache.records[place], questions[place]), repeats),
            "suggest_ms": _median(lambda place: judging.suggest(own[-1 - place], tasks[-1 - place]), repeats),
            "save_ms": _median(lambda place: seat.save(place, questions[place]), repeats),
        }
        seen = _in_browser(workspace.folder, repeats)
        return WebFigures(records=records, machine=machine(), browser=seen, **figures)


def _median(work: Callable[[int], object], repeats: int) -> float:
    taken = []
    for place in range(repeats):
        began = time.perf_counter()
        work(place)
        taken.append(time.perf_counter() - began)
    return round(1000 * statistics.median(taken), 2)


def _in_browser(workspace: Path, repeats: int) -> dict[str, float] | None:
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only developers have it
    except ModuleNotFoundError:
        return None
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        return None
    command = [sys.executable, "-m", "blindlabel.cli.main", "owner", "annotate", "--at", str(workspace), "--no-browser"]
    app = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ.copy())  # noqa: S603
    try:
        assert app.stdout is not None
        link = app.stdout.readline().strip()
        with (
            sync_playwright() as playwright,
            contextlib.closing(
                playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
                )
            ) as browser,
        ):
            page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
            return _seen(page, link, repeats)
    finally:
        app.terminate()
        app.wait(20)


def _seen(page: Any, link: str, repeats: int) -> dict[str, float]:
    """Measured inside the page, from the event to the frame in which its result stands."""
    began = time.perf_counter()
    page.goto(link)
    page.get_by_role("textbox", name="Name").fill("bench")
    page.keyboard.press("Enter")
    page.locator(".row-open").first.wait_for()
    first_row = time.perf_counter() - began
    page.locator(".row-open").nth(20).click()
    page.get_by_role("button", name="Text", exact=True).click()
    page.locator(".cm-content").wait_for()
    page.wait_for_timeout(1500)  # until the table has been read in the background
    page.evaluate(_WATCH)
    taken: dict[str, list[float]] = {"open": [], "check": [], "save_and_next": []}
    spent: dict[str, float] = {}

    def measured(name: str, script: str) -> None:
        before = _processor_ms()
        taken[name].append(page.evaluate(f"() => measured({script})"))
        for kind, now in _processor_ms().items():
            spent[f"{name}_{kind}"] = spent.get(f"{name}_{kind}", 0.0) + now - before[kind]

    for place in range(repeats):
        measured("open", "'h2', () => act('next')")
        page.wait_for_timeout(200)  # until everything about the record before has gone
        measured("check", """'.verdict', () => type('ret is_in("y", $r)')""")
        page.wait_for_timeout(200)
        page.keyboard.press("Alt+g")  # what was typed is too loose to be saved at once
        page.locator(".why", has_text="Suggested").wait_for()
        page.wait_for_timeout(200)
        measured("save_and_next", "'h2', () => act('save-next')")
        page.wait_for_timeout(50 if place else 300)
    return {
        "first_row_ms": round(1000 * first_row, 1),
        **{f"{name}_ms": round(statistics.median(times), 1) for name, times in taken.items()},
        **{f"{name}_processor_ms": round(total / repeats, 1) for name, total in spent.items()},
    }


def _processor_ms() -> dict[str, float]:
    """Processor time so far of the app, of the page's process, and of the browser's and Playwright's other processes,
    which draw and drive beside them. All are children of this process, or theirs.
    """
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    kinds: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
            pid = int(folder.name)
            parents[pid], ticks[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
            kinds[pid] = "page" if b"--type=renderer" in command else "app" if b"annotate" in command else "others"
    family, more = {os.getpid()}, {os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        family |= more
    spent = dict.fromkeys(("app", "page", "others"), 0.0)
    for pid in family - {os.getpid()}:
        spent[kinds[pid]] += 1000 * ticks[pid] / os.sysconf("SC_CLK_TCK")
    return spent


_WATCH = """() => {
  window.act = (name) => {
    const keys = {
      next: { key: "n", code: "KeyN", keyCode: 78, altKey: true },
      "save-next": { key: "Enter", code: "Enter", keyCode: 13, ctrlKey: true },
    };
    const key = keys[name];
    const pressed = new KeyboardEvent("keydown", { ...key, bubbles: true, cancelable: true });
    document.querySelector(".cm-content").dispatchEvent(pressed);
  };
  window.type = (text) => {
    document.querySelector(".cm-content").focus();
    document.execCommand("insertText", false, text);
  };
  window.measured = (selector, begin) => new Promise((done, fail) => {
    setTimeout(() => fail(new Error(`nothing happened at ${selector}`)), 10000);
    const watched = document.querySelector(`.annotation ${selector}`);
    const before = watched.textContent;
    const start = performance.now();
    const watch = new MutationObserver(() => {
      if (watched.textContent === before || !watched.textContent) return;
      watch.disconnect();
      requestAnimationFrame(() => done(performance.now() - start));
    });
    watch.observe(watched, { childList: true, characterData: true, subtree: true });
    begin();
  });
}"""
