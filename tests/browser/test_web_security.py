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
from playwright.sync_api import BrowserContext, expect

from blindlabel.web.local_study import Rehearsal, Wanted
from support.axe import no_violations
from support.patience import PATIENCE
from support.web_app import App, open_app, running, show_text

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
    with socket.create_connection((place.hostname, place.port), PATIENCE) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection.recv(200).decode("latin-1").partition("\r\n")[0]


def signed_in(app: App) -> dict[str, str]:
    """The cookie that the start link gives."""
    return {"cookie": app.signed_in()}


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
    assert "HttpOnly" in app.given and "SameSite=Strict" in app.given and app.given.startswith("blindlabel-")
    assert httpx.get(app.address, headers=signed_in(app)).status_code == 200
    used = httpx.get(app.link, follow_redirects=False)
    assert used.status_code == 403 and "set-cookie" not in used.headers, "a link lets one browser in"
    forged = signed_in(app)["cookie"].partition("=")[0] + "=" + "0" * 43
    assert httpx.get(app.address, headers={"cookie": forged}).status_code == 403


def test_what_goes_wrong_is_a_page_for_people_and_short_for_programs(app: App, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(app.address)
    expect(page.get_by_role("heading", name="This browser has not been let in")).to_be_visible()
    no_violations(page, "not let in")
    page.goto(app.address + "?token=guessed")
    no_violations(page, "wrong link")
    app.let_in(context)
    for path, said in (("nowhere", "There is no such page."), ("export/nobody/csv", "There is no such export.")):
        page.goto(app.address + path)
        expect(page.locator("main")).to_contain_text(said)
        no_violations(page, path)
        assert httpx.get(app.address + path, headers=signed_in(app)).headers["content-type"] == "application/json"
    page.get_by_role("link", name="Back to the first page").click()
    expect(page.locator(".head")).to_be_visible()


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
        page.locator(".row-open", has_text=f"a{number}").click()
        expect(page.locator(".record")).to_contain_text(ATTACKS[number].split()[0])
        page.locator(".record-word").first.click()
        offer = page.locator(".points-problem")
        expect(page.locator(".points-table tbody tr").or_(offer).first).to_be_visible()
        if offer.count():  # too long for one condition: its pieces are asked for
            expect(offer).to_contain_text("is too long for one condition")
            offer.get_by_role("button").click()
        expect(page.locator(".points-table tbody tr")).not_to_have_count(0)
        expect(page.locator(".verdict strong")).not_to_have_text("")
        show_text(page)
        expect(page.locator(".question-function-token").first).to_be_visible()
        page.keyboard.type(" & is_inn(")
        expect(page.locator(".finding-error").first).to_be_visible()
        page.keyboard.press("Alt+g")
        expect(page.locator(".why")).to_contain_text("Suggested")
        page.get_by_role("button", name="Points", exact=True).click()
        page.get_by_label("A note for yourself").fill(ATTACKS[number])
        page.keyboard.press("Alt+l")
        expect(page.locator(".records")).to_be_visible()
    page.get_by_role("button", name="Many at once").click()
    page.get_by_text("Suggest for all open records…").click()
    expect(page.get_by_text("No record is open.")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Criteria").click()
    expect(page.locator(".q-dialog .criteria")).to_contain_text("<img src=x onerror=window.hit=1>")
    page.get_by_role("button", name="Close").click()
    assert page.evaluate("window.hit") is None
    assert page.locator("img[src=x], svg[onload], a[href^=javascript]").count() == 0
    own = urlsplit(app.address).netloc
    assert requests and {urlsplit(url).netloc for url in requests if not url.startswith(("data:", "blob:"))} == {own}
