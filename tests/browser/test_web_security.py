"""The owner's app lets in its own browser and nobody else, shows content as text only, and asks nobody outside for
anything.
"""

from __future__ import annotations

import csv
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from blindlabel.web.owner_page import GUIDE_SEEN
from blindlabel.web.rehearsal import Rehearsal, Wanted
from support.web_app import App, open_app, running, write

ATTACKS = (
    "<script>window.hit=1</script>",
    '"><img src=x onerror="window.hit=1">',
    "{{ window.hit = 1 }}",
    "`${window.hit=1}`",
    "</textarea><svg onload=window.hit=1>",
    "<a href=javascript:window.hit=1>x</a>",
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder: Path = tmp_path_factory.mktemp("security")
    tables = []
    for name in ("a", "b"):
        tables.append(folder / f"{name}<img src=x onerror=window.hit=1>.csv")
        with tables[-1].open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "title", "note"])
            writer.writerows([f"{name}{row}{attack}", attack, f"{attack} plain"] for row, attack in enumerate(ATTACKS))
    study = Rehearsal(
        folder / "study",
        Wanted(records=6, name="</title><script>window.hit=1</script>${window.hit=1}"),
        tables,
        criteria="<img src=x onerror=window.hit=1> " + ATTACKS[2],
    )
    study.begin()
    study.workspace("anna").remember(GUIDE_SEEN, "yes")
    with running(folder / "study" / "anna") as started:
        yield started


def upgrade(app: App, headers: dict[str, str]) -> str:
    """The first line of the answer to a websocket handshake."""
    place = urlsplit(app.address)
    assert place.hostname is not None and place.port is not None
    lines = [
        "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1",
        "Upgrade: websocket",
        "Connection: Upgrade",
    ]
    lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"]
    lines += [f"{name}: {value}" for name, value in ({"Host": place.netloc} | headers).items()]
    with socket.create_connection((place.hostname, place.port), 5) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection.recv(200).decode("latin-1").partition("\r\n")[0]


def signed_in(app: App) -> dict[str, str]:
    """The cookie that the start link gives."""
    answer = httpx.get(app.link, follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_listens_on_loopback_only(app: App) -> None:
    port = urlsplit(app.address).port
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    found = [fields[1] for fields in listening if fields[3] == "0A" and int(fields[1].partition(":")[2], 16) == port]
    assert found == [f"0100007F:{port:04X}"]
    everywhere = Path("/proc/net/tcp6").read_text() if Path("/proc/net/tcp6").exists() else ""
    assert f":{port:04X} 00000000000000000000000000000000:0000 0A" not in everywhere


def test_nothing_without_the_token_or_its_cookie(app: App) -> None:
    for path in ("", "static/app.css", "plot.svg", "_nicegui_ws/socket.io/?EIO=4&transport=polling"):
        assert httpx.get(app.address + path).status_code == 403
    assert httpx.get(app.address + "?token=guessed").status_code == 403
    assert httpx.get(app.address, headers={"cookie": signed_in(app)["cookie"][:-1]}).status_code == 403
    cookie = httpx.get(app.link, follow_redirects=False).headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and cookie.startswith("blindlabel-")
    assert httpx.get(app.address, headers=signed_in(app)).status_code == 200


def test_foreign_hosts_and_origins_are_refused(app: App) -> None:
    cookie = signed_in(app)
    host = urlsplit(app.address).netloc
    for headers in (
        {"host": "evil.example"},
        {"host": f"evil.example:{host.partition(':')[2]}"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    ):
        assert httpx.get(app.address, headers=cookie | headers).status_code == 403, headers
        assert httpx.post(app.address, headers=cookie | headers).status_code == 403, headers


def test_websocket_needs_host_origin_and_cookie(app: App) -> None:
    cookie = {"Cookie": signed_in(app)["cookie"]}
    own = {"Origin": app.address.rstrip("/")}
    assert "101" in upgrade(app, cookie | own)
    for headers in (own, cookie, cookie | {"Origin": "http://evil.example"}, cookie | own | {"Host": "evil.example"}):
        assert "403" in upgrade(app, headers), headers


def test_every_answer_carries_the_security_headers(app: App) -> None:
    cookie = signed_in(app)
    for answer in (
        httpx.get(app.address, headers=cookie),
        httpx.get(app.address + "static/app.css", headers=cookie),
        httpx.get(app.address),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "http://" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
    assert httpx.get(app.address, headers=cookie).headers["cache-control"] == "no-store"


def test_attacks_in_records_stay_text_and_no_request_leaves_the_machine(app: App, context: BrowserContext) -> None:
    requests: list[str] = []
    context.on("request", lambda request: requests.append(request.url))
    page = open_app(context, app)
    page.on("websocket", lambda websocket: requests.append(websocket.url))
    page.reload()
    expect(page.locator(".row-open").nth(5)).to_be_visible()
    expect(page).to_have_title(re.compile("^</title><script>"))
    assert ATTACKS[0] in page.locator(".records").inner_text()
    for number in range(len(ATTACKS)):
        page.locator(".row-open").nth(number).click()
        expect(page.locator(".record")).to_contain_text(ATTACKS[number].split()[0])
        page.locator(".record-word").first.click()
        expect(page.locator(".question-function-token").first).to_be_visible()
        page.keyboard.type(" & is_inn(")
        expect(page.locator(".finding-error").first).to_be_visible()
        page.keyboard.press("Alt+g")
        expect(page.locator(".why")).to_contain_text("Suggested")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(page.locator(".records")).to_be_visible()
    page.get_by_role("button", name="Criteria").click()
    expect(page.locator(".criteria")).to_contain_text("<img src=x onerror=window.hit=1>")
    page.get_by_role("button", name="Close").click()
    assert page.evaluate("window.hit") is None
    assert page.locator("img[src=x], svg[onload], a[href^=javascript]").count() == 0
    own = urlsplit(app.address).netloc
    assert requests and {urlsplit(url).netloc for url in requests if not url.startswith(("data:", "blob:"))} == {own}


def no_violations(page: Page, where: str) -> None:
    """Nothing that axe-core finds. Behind a dialog everything is inert, and has been looked at by itself."""
    page.wait_for_function("document.getAnimations().every((one) => one.playState !== 'running')")  # nothing fades
    found = Axe().run(page, ".q-dialog" if page.locator(".q-dialog").count() else None)
    assert found.violations_count == 0, f"{where}: {found.generate_report()}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_accessibility_violation_on_any_page(app: App, browser: Browser, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": 1366, "height": 768},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = open_app(context, app)
    expect(page.locator(".row-open").first).to_be_visible()
    no_violations(page, "list")
    dialogs = (("Criteria", "Close"), ("Language", "Close"), ("Keys", "Close"), ("Guide", "Skip the guide"))
    for name, close in dialogs if scheme == "light" else dialogs[1:2]:
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".q-dialog .sheet")).to_be_visible()
        expect(page.locator("#app[inert]")).to_be_attached()
        no_violations(page, name)
        page.get_by_role("button", name=close).click()
        expect(page.locator(".q-dialog")).to_have_count(0)
    for item in ("Suggest for all open records…", "Apply a pattern…", "Import questions…") if scheme == "light" else ():
        page.get_by_role("button", name="Many at once").click()
        page.get_by_text(item).click()
        expect(page.locator(".q-dialog .sheet")).to_be_visible()
        no_violations(page, item)
        page.keyboard.press("Escape")
        expect(page.locator(".q-dialog")).to_have_count(0)
    page.locator(".row-open").nth(1).click()
    write(page, 'ret is_in("x", $r) & $other')
    expect(page.locator(".finding-error")).to_be_visible()
    no_violations(page, "annotation")
    context.close()


def test_usable_at_two_hundred_percent(app: App, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 683, "height": 384}, device_scale_factor=2)
    page = open_app(context, app)
    expect(page.locator(".row-open").first).to_be_visible()
    page.locator(".row-open").nth(2).click()
    expect(page.locator(".cm-content")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 683
    for name in ("Save and next Ctrl+Enter", "Suggest Alt+G", "Back to the list Esc"):
        button = page.get_by_role("button", name=name)
        button.scroll_into_view_if_needed()
        box = button.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 683
    context.close()
