"""Who the owner's web app lets in: one browser by its link, and nothing that another site causes."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from blindlabel.web.owner_server import Guard
from support.asynchronous import finished

LINK = b"token=" + b"T" * 32


async def inside(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"in"})


def guard(port: int = 5000) -> Guard:
    return Guard(inside, port=port, tokens=["T" * 32], key="K" * 43, instance="abcd")


def asked(
    app: Guard, *headers: tuple[str, str], query: bytes = b"", host: str = "127.0.0.1:5000", **more: Any
) -> Message:
    """The beginning of the app's answer to a request."""
    said: list[Message] = []

    async def send(message: Message) -> None:
        said.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    given = [(b"host", host.encode()), *((name.encode(), value.encode()) for name, value in headers)]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": query, "headers": given, **more}
    finished(app(scope, receive, send))
    return said[0]


def let_in(app: Guard) -> tuple[str, str]:
    """The cookie of the browser that used the link."""
    cookie = dict(asked(app, query=LINK)["headers"])[b"set-cookie"].decode()
    return "cookie", cookie.partition(";")[0]


def test_link_lets_one_browser_in() -> None:
    app = guard()
    cookie = let_in(app)
    assert asked(app, cookie)["status"] == 200
    assert asked(app)["status"] == 403
    assert asked(app, query=LINK)["status"] == 403, "the link has been used"
    assert asked(guard(6001), cookie, host="127.0.0.1:6001")["status"] == 200, "after a restart, on another port"


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
def test_what_another_site_causes_is_refused_with_the_cookie_too(host: str, headers: list[tuple[str, str]]) -> None:
    app = guard()
    cookie = let_in(app)
    assert asked(app, cookie, *headers, host=host)["status"] == 403


def test_followed_link_from_another_site_is_a_persons_own_doing() -> None:
    app = guard()
    followed = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
    assert asked(app, let_in(app), *followed)["status"] == 200
    assert asked(app, let_in(guard()), *followed, method="POST")["status"] == 403
