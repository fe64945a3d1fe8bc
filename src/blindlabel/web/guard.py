"""The guard of the owner's app: an ASGI application around it that lets in only whom the owner lets in.

1. The `Host` must be one of the app's own addresses: a page that rebinds its name to 127.0.0.1 comes with its own name
   and is refused.
2. A request that names an `Origin`, or whose `Sec-Fetch-Site` says that another site caused it, must come from the
   app's own address; the one exception is following a link to a page, which carries no rights until rule 4 is met.
   Websockets need their `Origin`.
3. An app that is served to other machines accepts connections only from its proxies.
4. Every request needs a session, which ends (`storage.access`). On this machine a start link is exchanged for one by
   the first browser that opens it, and by no other. Behind a proxy people sign in with a password; or the proxy says in
   a header who they are, which is believed because of rule 3, and no cookie is given.
5. A websocket ends with the session that began it; one that a proxy vouched for after an hour, so that the proxy is
   asked again.

The cookie is HttpOnly and SameSite=Strict, Secure behind a proxy, and named after the instance, since all ports of
127.0.0.1 share their cookies. The app's answers get headers that forbid framing, sniffing, referrers, other sites'
content and storing pages.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie
from ipaddress import IPv4Network, IPv6Network, ip_address
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blindlabel.errors import InputError
from blindlabel.storage.access import LINK_SECONDS, SIGNED_IN_SECONDS, Access, Session, cleaned_name
from blindlabel.transport.server_limits import RateLimit, TooManyRequests
from blindlabel.web.pages import STYLE, page

TOKEN = "token"  # noqa: S105 - the name of the parameter
SESSION = "blindlabel.session"
"""The key of the session in the scope of a request."""
SOCKET_SECONDS = 3600.0
_LARGEST_FORM = 4096

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
# The framework compiles its templates in the browser, hence the two 'unsafe'; nothing can be loaded from or sent to
# anywhere else.
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src"
    " 'self' data:; font-src 'self' data:; connect-src 'self' {sockets}; form-action 'self'; frame-ancestors 'none';"
    " base-uri 'none'; object-src 'none'"
)
NO_LINK = (
    "This browser has not been let in yet, or its 30 days are over. Open the link that `blindlabel owner"
    " annotate` printed in its window; it begins with this address and carries a token. If the window is gone,"
    " stop the app and start it again: it prints a new link."
)
USED_LINK = (
    "This link has been used: it lets one browser in. Go on in the browser that opened it first. For another browser,"
    " stop the app and start `blindlabel owner annotate` again, with `--browsers 2` for two."
    " Nothing that was written is lost."
)
NOBODY = "The proxy did not say who you are. Sign in where it asks you to, or tell whoever runs it."
SIGNED_OUT = "Sign in first; a session ends by itself after half a day."


@dataclass(frozen=True)
class Door:
    """Where browsers find the app, and how they are let in."""

    origins: frozenset[str]
    proxies: tuple[IPv4Network | IPv6Network, ...] | None = None
    """Whose connections are accepted if it is served to other machines, or None if it is not."""
    header: str = ""
    """The header in which the proxy says who it is; without it people sign in here."""

    @property
    def signs_in(self) -> bool:
        """Whether people sign in here with a password."""
        return self.proxies is not None and not self.header


class Guard:
    """Wraps an application; see the rules above."""

    def __init__(self, app: ASGIApp, access: Access, door: Door, *, instance: str, tokens: Iterable[str] = ()) -> None:
        self.app, self.door = app, door
        self.hosts = frozenset(origin.partition("//")[2] for origin in door.origins)
        self.cookie = ("__Host-" if door.proxies is not None else "") + f"blindlabel-{instance}"
        self._access = access
        self._tokens = list(tokens)
        self._used: list[str] = []
        self._tries = RateLimit(0.2, 6.0)
        sockets = " ".join(f"ws{origin.removeprefix('http')}" for origin in sorted(door.origins))
        self._headers = _HEADERS | {"content-security-policy": _POLICY.format(sockets=sockets)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if refusal := self._refusal(scope):
            await self._refuse(scope, receive, send, refusal)
            return
        session, token, path = self._session(scope), self._token(scope), scope["path"]
        if self.door.signs_in and scope["type"] == "http" and path == "/sign-in":
            await self._sign_in(scope, receive, send)
        elif token is not None and (session is not None or token not in self._used):
            await self._exchange(send, token, session)
        elif session is None and self.door.signs_in and path == "/":
            await self._send_to(send, "/sign-in")
        elif session is None:
            served = NOBODY if self.door.header else SIGNED_OUT if self.door.signs_in else ""
            help_ = served or (NO_LINK if token is None else USED_LINK)
            title = "This browser has not been let in"
            made = page("message.html", style=STYLE, title=title, content=help_, home="")
            await self._refuse(scope, receive, send, made)
        elif session.signs_out and path == "/sign-out":
            self._access.sign_out(browser=session.browser)
            await self._send_to(send, "/sign-in")
        elif scope["type"] == "websocket":
            await self._talk({**scope, SESSION: session}, receive, send)
        else:
            await self.app({**scope, SESSION: session}, receive, self._with_headers(scope, send))

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, refusal: str) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            kind = "html" if refusal.startswith("<!doctype") else "plain"
            await _answer(send, 403, refusal, self._headers | {"content-type": f"text/{kind}; charset=utf-8"})

    async def _send_to(self, send: Send, path: str, cookie: str = "") -> None:
        answer = {"location": path, "cache-control": "no-store"} | ({"set-cookie": cookie} if cookie else {})
        await _answer(send, 303, "", self._headers | answer)

    # Who it is

    def _refusal(self, scope: Scope) -> str | None:
        """Why this request does not come from the app's own pages, or None if it may."""
        if self.door.proxies is not None and not _is_of(scope, self.door.proxies):
            return "This app is reached through its proxy alone."
        if _all(scope, "host") not in ([host] for host in self.hosts):
            return "This address is not the app's own."
        origins = _all(scope, "origin")
        if any(origin not in self.door.origins for origin in origins) or (scope["type"] == "websocket" and not origins):
            return "Another site cannot use this app."
        caused_by = (_all(scope, "sec-fetch-site") or ["none"])[-1]
        followed_link = scope.get("method") == "GET" and _all(scope, "sec-fetch-mode") == ["navigate"]
        if caused_by not in ("none", "same-origin") and not (
            followed_link and _all(scope, "sec-fetch-dest") == ["document"]
        ):
            return "Another site cannot use this app."
        return None

    def _session(self, scope: Scope) -> Session | None:
        """The session to which a request belongs."""
        if self.door.header:
            try:
                (said,) = _values(scope, self.door.header)
                name = cleaned_name(said.encode("latin-1").decode("utf-8"))
            except (ValueError, InputError):  # none, two, or no name
                return None
            return Session("", name, time.time() + SOCKET_SECONDS)
        for header in _values(scope, "cookie"):
            cookies: SimpleCookie = SimpleCookie()
            try:
                cookies.load(header)
            except CookieError:
                continue
            if self.cookie in cookies and (found := self._access.session(cookies[self.cookie].value)) is not None:
                return replace(found, signs_out=self.door.signs_in)
        return None

    # Getting in

    def _token(self, scope: Scope) -> str | None:
        """The start link's token that a request carries, used or not."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != "/":
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get(TOKEN, [""])[-1].encode()
        return next(
            (token for token in [*self._tokens, *self._used] if hmac.compare_digest(given, token.encode())), None
        )

    async def _exchange(self, send: Send, token: str, session: Session | None) -> None:
        """Give a browser its cookie, once, and take the token out of its address bar."""
        cookie = ""
        if session is None:
            self._tokens.remove(token)
            self._used.append(token)
            cookie = self._cookie(self._access.let_in(LINK_SECONDS), LINK_SECONDS)
        await self._send_to(send, "/", cookie)

    async def _sign_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The form, and what is sent with it."""
        headers = self._headers | {"content-type": "text/html; charset=utf-8", "cache-control": "no-store"}
        headers["referrer-policy"] = "same-origin"  # with none at all, browsers send no origin with our own form
        if scope["method"] != "POST" or not _all(scope, "origin"):
            await _answer(send, 200, page("sign_in.html", style=STYLE, named=True, problem=""), headers)
            return
        fields = parse_qs((await _body(receive)).decode("utf-8", "replace"))
        name = " ".join(fields.get("name", [""])[0].split())
        try:
            for caller in (f"name {name[:100]}", f"from {_caller(scope)}"):
                self._tries.check(caller)
        except TooManyRequests:
            problem, status = "Too many tries. Wait a few seconds.", 429
        else:
            if await run_in_threadpool(self._access.password_is, name, fields.get("password", [""])[0]):
                cookie = self._cookie(self._access.let_in(SIGNED_IN_SECONDS, name), SIGNED_IN_SECONDS)
                await self._send_to(send, "/", cookie)
                return
            problem, status = "Name or password is wrong.", 403
        await _answer(send, status, page("sign_in.html", style=STYLE, named=True, problem=problem), headers)

    def _cookie(self, value: str, seconds: float) -> str:
        secure = "; Secure" if self.door.proxies is not None else ""
        return f"{self.cookie}={value}; Path=/; Max-Age={seconds:.0f}; HttpOnly; SameSite=Strict{secure}"

    # Being in

    async def _talk(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A websocket, for as long as the session lasts."""
        ended = False

        async def heard() -> Message:
            nonlocal ended
            message = await receive()
            session = scope[SESSION] if self.door.header else self._session(scope)
            if message["type"] != "websocket.receive" or (session is not None and session.until > time.time()):
                return message
            await send({"type": "websocket.close", "code": 1008})
            ended = True
            return {"type": "websocket.disconnect", "code": 1008}

        async def said(message: Message) -> None:
            if not ended:
                await send(message)

        await self.app(scope, heard, said)

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        stored = scope["path"].startswith("/_nicegui/") or scope["path"].startswith("/static/")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = self._headers if stored else self._headers | {"cache-control": "no-store"}
                kept = [
                    (name, value)
                    for name, value in message.get("headers", [])
                    if name.decode("latin-1").lower() not in extra
                ]
                message = {**message, "headers": kept + _encoded(extra)}
            await send(message)

        return guarded


def _is_of(scope: Scope, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Whether a connection comes from one of these networks. One through a socket in the file system does: its mode
    guards it.
    """
    if not scope.get("client"):
        return True
    address = ip_address(scope["client"][0])
    return any(address in network for network in networks)


def _caller(scope: Scope) -> str:
    """The address that the proxy names, or its own."""
    named = [one.strip() for value in _values(scope, "x-forwarded-for") for one in value.split(",")]
    return named[-1] if named else str((scope.get("client") or ("",))[0])


def _values(scope: Scope, name: str) -> list[str]:
    """Every value of a header."""
    wanted = name.lower().encode()
    return [value.decode("latin-1") for key, value in scope.get("headers", []) if key.lower() == wanted]


def _all(scope: Scope, name: str) -> list[str]:
    """Every value of a header, in lower case."""
    return [value.strip().lower() for value in _values(scope, name)]


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _body(receive: Receive) -> bytes:
    """The body of a request, as much of it as a form has."""
    body, more = b"", True
    while more and len(body) <= _LARGEST_FORM:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body[:_LARGEST_FORM]


async def _answer(send: Send, status: int, text: str, headers: dict[str, str]) -> None:
    body = text.encode()
    fields = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), **headers}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(fields)})
    await send({"type": "http.response.body", "body": body})
