"""Looking for what makes a page hard to use for some people."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

STILL = """() => {
  const running = document.getAnimations().filter((one) => one.playState === "running");
  for (const one of running) {
    try { one.finish(); } catch { one.cancel(); }  // what goes on for ever has no end to go to
  }
  return running.length === 0;
}"""
"""Nothing fades any more. Animations are brought to their end: a browser that draws no frame never comes to it."""


def no_violations(page: Page, where: str) -> None:
    """Nothing that axe-core finds. Behind a dialog everything is inert, and has been looked at by itself."""
    page.wait_for_function(STILL, polling=100)
    found = Axe().run(page, ".q-dialog" if page.locator(".q-dialog").count() else None)
    assert found.violations_count == 0, f"{where}: {found.generate_report()}"


def fits(page: Page, where: str) -> None:
    """Nothing is cut off at the right."""
    width = page.viewport_size["width"] if page.viewport_size else 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width, where
    # All in one look: what is shown may be drawn again between two.
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.className)"
    places = page.locator(".records-scroll:visible, .points:visible, .points-words:visible")
    assert places.evaluate_all(cut) == [], where
