"""One browser for all tests of a process; every test gets a context of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from blindlabel.parties import owner
from support.patience import PATIENCE
from support.web_app import launched, new_context

expect.set_options(timeout=1000 * PATIENCE)


@pytest.fixture(autouse=True, scope="module")
def _rows_in_their_order() -> Iterator[None]:
    """What is on the screen is the same in every run: a study takes the rows as they stand, in no secret order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, "secret_order", lambda _identity, _agreement, size: range(size))
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = launched(playwright)
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = new_context(browser, viewport={"width": 1366, "height": 768})
    yield made
    made.close()
