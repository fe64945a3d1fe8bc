"""Whom the owner's web app lets in: one browser by its link; behind a proxy whoever signs in, or whom the proxy names;
nothing that another site causes, and nobody whose session has ended.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.types import Message, Receive, Scope, Send

from blindlabel.cli.main import run
from blindlabel.errors import InputError
from blindlabel.storage.access import LINK_SECONDS, SIGNED_IN_SECONDS, Access
from blindlabel.storage.workspace import Workspace
from blindlabel.web.guard import SESSION, SOCKET_SECONDS, Door, Guard
from blindlabel.web.local_study import Rehearsal, Wanted
from support.asynchronous import finished

LINK = b"token=" + b"T" * 32


NAME, PASSWORD = "Ada Byron", "difference engine"
OUTSIDE = "annotate.example"
PROXY = ("10.0.0.7", 40000)


async def inside(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": "heard"})
        await send({"type": "websocket.send", "text": "too late"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"who", scope[SESSION].name.encode())]})
    await send({"type": "http.response.body", "body": b"in"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Rehearsal(tmp_path_factory.mktemp("guard") / "study", Wanted(records=3))
    return made.workspace("anna").folder


@pytest.fixture
def access(folder: Path) -> Iterator[Access]:
    database = Workspace.open(folder).database
    kept = Access(database)
    yield kept
    kept.sign_out()
    for name in kept.accounts():
        kept.remove(name)
    database.close()


def guard(access: Access, port: int = 5000) -> Guard:
    door = Door(frozenset({f"http://127.0.0.1:{port}", f"http://localhost:{port}"}))
    return Guard(inside, access, door, tokens=["T" * 32], instance="abcd")


def served(access: Access, header: str = "") -> Guard:
    door = Door(frozenset({f"https://{OUTSIDE}"}), (ip_network("10.0.0.7"),), header)
    return Guard(inside, access, door, instance="abcd")


def asked(
    app: Guard,
    *headers: tuple[str, str],
    query: bytes = b"",
    host: str = "127.0.0.1:5000",
    body: bytes = b"",
    **more: Any,
) -> Message:
    """The beginning of the app's answer to a request."""
    said: list[Message] = []

    async def send(message: Message) -> None:
        said.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    given = [(b"host", host.encode()), *((name.encode(), value.encode()) for name, value in headers)]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": query, "headers": given, **more}
    finished(app(scope, receive, send))
    return said[0]


def through_the_proxy(app: Guard, *headers: tuple[str, str], **more: Any) -> Message:
    return asked(app, *headers, **({"host": OUTSIDE, "client": PROXY} | more))


def field(answer: Message, name: str) -> str:
    return str(dict(answer["headers"]).get(name.encode(), b"").decode())


def let_in(app: Guard) -> tuple[str, str]:
    """The cookie of the browser that used the link."""
    return "cookie", field(asked(app, query=LINK), "set-cookie").partition(";")[0]


def sign_in(app: Guard, name: str = NAME, password: str = PASSWORD, **more: Any) -> Message:
    form = urlencode({"name": name, "password": password}).encode()
    own = ("origin", f"https://{OUTSIDE}")
    return through_the_proxy(app, own, path="/sign-in", method="POST", body=form, **more)


def signed_in(app: Guard) -> tuple[str, str]:
    answer = sign_in(app)
    assert answer["status"] == 303 and field(answer, "location") == "/"
    return "cookie", field(answer, "set-cookie").partition(";")[0]


def test_link_lets_one_browser_in(access: Access) -> None:
    app = guard(access)
    cookie = let_in(app)
    assert asked(app, cookie)["status"] == 200
    assert asked(app)["status"] == 403
    assert asked(app, query=LINK)["status"] == 403, "the link has been used"
    again = guard(access, 6001)
    assert asked(again, cookie, host="127.0.0.1:6001")["status"] == 200, "after a restart, on another port"


def test_name_of_a_browser_is_asked_once(access: Access) -> None:
    session = access.session(access.let_in(LINK_SECONDS))
    assert session is not None and session.name == ""
    assert access.name(session.browser, "  Ada   Byron ") == NAME
    for bad in ("", " ", "x" * 61, "a\x00b"):
        with pytest.raises(InputError):
            access.name(session.browser, bad)


def test_cookie_of_a_link_ends_after_its_time_and_when_it_is_revoked(
    access: Access, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = guard(access)
    cookie = let_in(app)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + LINK_SECONDS - 60)
    assert asked(app, cookie)["status"] == 200
    monkeypatch.setattr(time, "time", lambda: now + LINK_SECONDS + 60)
    assert asked(app, cookie)["status"] == 403
    monkeypatch.undo()
    assert asked(app, cookie)["status"] == 200
    assert run(["owner", "accounts", "sign-out", "--at", str(folder)]) == 0
    assert asked(app, cookie)["status"] == 403


def test_nothing_of_a_cookie_or_password_is_kept_in_clear(access: Access, folder: Path) -> None:
    access.set_password(NAME, PASSWORD)
    cookie = access.let_in(LINK_SECONDS, NAME)
    access._database.close()
    kept = b"".join(path.read_bytes() for path in folder.glob("workspace.sqlite*"))
    assert b"argon2id" in kept and cookie.encode() not in kept and PASSWORD.encode() not in kept


def test_account_signs_in_behind_the_proxy_and_out_again(access: Access) -> None:
    access.set_password(NAME, PASSWORD)
    app = served(access)
    assert field(through_the_proxy(app), "location") == "/sign-in"
    assert through_the_proxy(app, path="/static/app.css")["status"] == 403
    answer = sign_in(app)
    cookie = field(answer, "set-cookie")
    assert cookie.startswith("__Host-") and {"Secure", "HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
    inside = through_the_proxy(app, ("cookie", cookie.partition(";")[0]))
    assert (inside["status"], field(inside, "who")) == (200, NAME)
    assert (
        field(through_the_proxy(app, ("cookie", cookie.partition(";")[0]), path="/sign-out"), "location") == "/sign-in"
    )
    assert field(through_the_proxy(app, ("cookie", cookie.partition(";")[0])), "location") == "/sign-in"


@pytest.mark.parametrize(("name", "password"), [(NAME, "difference engin"), ("Nobody", PASSWORD), ("", "")])
def test_wrong_name_or_password_is_told_alike_and_lets_nobody_in(access: Access, name: str, password: str) -> None:
    access.set_password(NAME, PASSWORD)
    answer = sign_in(served(access), name, password)
    assert answer["status"] == 403 and not field(answer, "set-cookie")


def test_tries_are_slowed_by_name_and_by_address(access: Access) -> None:
    access.set_password(NAME, PASSWORD)
    by_name, by_address = served(access), served(access)
    names = [sign_in(by_name, NAME, f"guess number {number}")["status"] for number in range(9)]
    assert names[0] == 403 and names[-1] == 429
    assert sign_in(by_name)["status"] == 429, "also the right one, while somebody guesses"
    tries = [sign_in(by_address, f"person {number}")["status"] for number in range(9)]
    assert tries[0] == 403 and tries[-1] == 429


def test_session_of_an_account_ends_by_time_by_command_by_a_new_password_and_with_the_account(
    access: Access, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access.set_password(NAME, PASSWORD)
    app = served(access)
    cookie = signed_in(app)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + SIGNED_IN_SECONDS + 60)
    assert through_the_proxy(app, cookie)["status"] == 303
    monkeypatch.undo()
    for end in (
        lambda: run(["owner", "accounts", "sign-out", NAME, "--at", str(folder)]),
        lambda: access.set_password(NAME, PASSWORD),
        lambda: run(["owner", "accounts", "remove", NAME, "--at", str(folder)]),
    ):
        cookie = signed_in(app)
        assert through_the_proxy(app, cookie)["status"] == 200
        end()
        assert through_the_proxy(app, cookie)["status"] == 303
    assert sign_in(app)["status"] == 403, "no account any more"


@pytest.mark.parametrize("header", ["", "X-Remote-User"], ids=["accounts", "single sign-on"])
def test_only_the_proxy_is_believed(access: Access, header: str) -> None:
    access.set_password(NAME, PASSWORD)
    app = served(access, header)
    named = [("x-remote-user", NAME), ("cookie", f"{app.cookie}={access.let_in(SIGNED_IN_SECONDS, NAME)}")]
    assert through_the_proxy(app, *named)["status"] == 200
    assert through_the_proxy(app, *named, client=("10.0.0.8", 1))["status"] == 403
    assert through_the_proxy(app, *named, client=("127.0.0.1", 1))["status"] == 403
    assert through_the_proxy(app, *named, host="127.0.0.1:5000")["status"] == 403
    assert through_the_proxy(app, *named, ("origin", "https://evil.example"))["status"] == 403
    assert through_the_proxy(app, *named, client=None)["status"] == 200, "a socket, which its mode guards"


def test_person_is_whom_the_proxy_names_in_one_header(access: Access) -> None:
    app = served(access, "X-Remote-User")
    said = through_the_proxy(app, ("X-REMOTE-USER", " Ämilie "))
    assert (said["status"], field(said, "who")) == (200, "Ämilie")
    assert through_the_proxy(app)["status"] == 403
    assert through_the_proxy(app, ("x-remote-user", ""))["status"] == 403
    assert through_the_proxy(app, ("x-remote-user", "ada"), ("x-remote-user", "eve"))["status"] == 403
    cookie = ("cookie", f"{app.cookie}={access.let_in(SIGNED_IN_SECONDS, NAME)}")
    assert through_the_proxy(app, cookie)["status"] == 403, "no cookie takes the header's place"
    assert through_the_proxy(app, ("x-remote-user", "ada"), path="/sign-in")["status"] == 200, "there is no such page"
    assert asked(guard(access), ("x-remote-user", "ada"))["status"] == 403, "nobody is believed on this machine"


def talked(app: Guard, *headers: tuple[str, str], meanwhile: Any) -> list[str]:
    """What a websocket says that hears two messages, something happening between them."""
    said: list[str] = []
    heard = iter([{"type": "websocket.connect"}, *[{"type": "websocket.receive", "text": "hello"}] * 2])

    async def send(message: Message) -> None:
        said.append(message["type"])

    async def receive() -> Message:
        if len(said) == 2:
            meanwhile()
        return next(heard, {"type": "websocket.disconnect"})

    given = [("host", OUTSIDE), ("origin", f"https://{OUTSIDE}"), *headers]
    encoded = [(name.encode(), value.encode()) for name, value in given]
    finished(app({"type": "websocket", "path": "/ws", "headers": encoded, "client": PROXY}, receive, send))
    return said


def test_open_page_ends_with_its_session(access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    access.set_password(NAME, PASSWORD)
    app, single = served(access), served(access, "X-Remote-User")
    lasting = ["websocket.accept", "websocket.send", "websocket.send", "websocket.send"]
    assert talked(app, signed_in(app), meanwhile=lambda: None) == lasting
    ended = talked(app, signed_in(app), meanwhile=lambda: access.sign_out(name=NAME))
    assert ended == ["websocket.accept", "websocket.send", "websocket.close"]
    person, now = ("x-remote-user", NAME), time.time()

    def later() -> None:
        monkeypatch.setattr(time, "time", lambda: now + SOCKET_SECONDS + 60)

    assert talked(single, person, meanwhile=lambda: None) == lasting
    assert talked(single, person, meanwhile=later) == ended, "the proxy is asked again"


def test_accounts_are_kept_by_command(
    folder: Path, access: Access, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def accounts(*words: str, typed: str = "") -> int:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        return run(["owner", "accounts", *words, "--at", str(folder)])

    assert accounts("add", NAME, typed="short\n") == 1
    assert "A password has 12 to 200 characters." in capsys.readouterr().err
    assert accounts("add", " Ada  Byron ", typed=f"{PASSWORD}\n") == 0
    access.let_in(SIGNED_IN_SECONDS, NAME)
    assert accounts("list") == 0
    assert capsys.readouterr().out == "Ada Byron: 1 session\n"
    assert accounts("remove", "Nobody") == 1
    assert accounts("remove", NAME) == 0
    assert access.accounts() == {}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--serve", "http://annotate.example"], "--serve takes the address that people open"),
        (["--serve", "https://annotate.example/path"], "--serve takes the address that people open"),
        (["--serve", "https://annotate.example"], "Nobody could sign in."),
        (
            ["--serve", "https://annotate.example", "--user-header", "X-User", "--proxy", "here"],
            "--proxy takes an address",
        ),
        (["--user-header", "X-User"], "add --serve"),
        (["--host", "0.0.0.0"], "add --serve"),
    ],
)
def test_app_is_not_served_to_others_by_mistake(
    folder: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["owner", "annotate", "--at", str(folder), *words]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "headers"),
    [
        ("evil.example:5000", []),
        ("localhost.:5000", []),
        ("127.0.0.1", []),
        ("127.0.0.1:5000", [("host", "evil.example")]),
        ("127.0.0.1:5000", [("origin", "null")]),
        ("127.0.0.1:5000", [("origin", "http://127.0.0.1:6000")]),
        ("127.0.0.1:5000", [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]),
        ("127.0.0.1:5000", [("sec-fetch-site", "same-site")]),
        (
            "127.0.0.1:5000",
            [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")],
        ),
    ],
    ids=[
        "another name",
        "a dot",
        "no port",
        "two hosts",
        "no origin",
        "another port",
        "a picture",
        "a sister",
        "a frame",
    ],
)
def test_what_another_site_causes_is_refused_with_the_cookie_too(
    access: Access, host: str, headers: list[tuple[str, str]]
) -> None:
    app = guard(access)
    cookie = let_in(app)
    assert asked(app, cookie, *headers, host=host)["status"] == 403


def test_followed_link_from_another_site_is_a_persons_own_doing(access: Access) -> None:
    app = guard(access)
    followed = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
    assert asked(app, let_in(app), *followed)["status"] == 200
    assert asked(app, let_in(guard(access)), *followed, method="POST")["status"] == 403
