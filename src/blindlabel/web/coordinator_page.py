"""The coordinator's page: owners and their state, rounds, agreement, what the study waits for, exports. There are no
records and no questions here.

Plain pages made on the server, with a strict content policy: no inline script, nothing from elsewhere, no frame.
Signing in takes the code that lies in the coordinator's folder (`blindlabel coordinator code` prints it); a session is
a random cookie, HttpOnly and SameSite=Strict, forgotten when the server stops. Everything behind it only reads; the two
posts (sign in, sign out) must come from the page itself.
"""

from __future__ import annotations

import datetime
import hmac
import secrets
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from blindlabel.errors import InputError
from blindlabel.export.formats import FORMATS, archive_of
from blindlabel.export.truth import truths_of_coordinator
from blindlabel.parties.accounting import size
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.study import RoundStanding, standing
from blindlabel.protocol.figures import LATER, NOT_RECALL, Tally, advice, agreed_of_all, headline, so_far
from blindlabel.protocol.interfaces import SecretMissing, Traffic
from blindlabel.protocol.next_steps import ENDED
from blindlabel.transport.server_limits import RateLimit, TooManyRequests
from blindlabel.web.pages import agreement_plot, page, plot_in_words, said_as_page

_HERE = Path(__file__).parent
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all, browsers send no origin with our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
COOKIE = "blindlabel-coordinator"
SESSION_SECONDS = 8 * 3600.0
_LARGEST_FORM = 4096


def sign_in_code(coordinator: CoordinatorParty) -> str:
    """The code that the page asks for; made at the first call."""
    try:
        return coordinator.store.secret("", "page").decode()
    except SecretMissing:
        coordinator.store.keep_secret("", "page", secrets.token_urlsafe(18).encode())
        return coordinator.store.secret("", "page").decode()


class _Sessions:
    """Who has signed in."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._until: dict[str, float] = {}
        self._tries = RateLimit(0.5, 10.0)

    def sign_in(self, code: str, address: str) -> str | None:
        """A new session if the code is right."""
        self._tries.check(address)
        if not hmac.compare_digest(code.strip().encode(), self._code.encode()):
            return None
        now = time.monotonic()
        self._until = {known: until for known, until in self._until.items() if until > now}
        session = secrets.token_urlsafe(32)
        self._until[session] = now + SESSION_SECONDS
        return session

    def has(self, request: Request) -> bool:
        """Whether the request belongs to a session."""
        return self._until.get(request.cookies.get(COOKIE, ""), 0.0) > time.monotonic()

    def sign_out(self, request: Request) -> None:
        """Forget a session."""
        self._until.pop(request.cookies.get(COOKIE, ""), None)


def _shown(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(page(template, **values), status, _HEADERS)


def add_page(app: FastAPI, coordinator: CoordinatorParty) -> None:
    """Add the page to the coordinator's server."""
    sessions = _Sessions(sign_in_code(coordinator))
    _add_signing_in(app, sessions)
    _add_studies(app, coordinator, sessions)
    app.add_exception_handler(StarletteHTTPException, said_as_page)
    for name, kind in (("coordinator.css", "text/css"), ("coordinator.js", "text/javascript")):
        _add_file(app, name, kind)


def _add_file(app: FastAPI, name: str, kind: str) -> None:
    content = (_HERE / "browser" / name).read_bytes()

    @app.get(f"/page/{name}", include_in_schema=False)
    def file() -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)


def _add_signing_in(app: FastAPI, sessions: _Sessions) -> None:
    @app.get("/", include_in_schema=False)
    def home(request: Request) -> Response:
        return RedirectResponse("/studies" if sessions.has(request) else "/sign-in", 303, _HEADERS)

    @app.get("/sign-in", include_in_schema=False)
    def ask() -> Response:
        return _shown("sign_in.html", named=False, problem="")

    @app.post("/sign-in", include_in_schema=False)
    async def sign_in(request: Request) -> Response:
        _own_post(request)
        body = await request.body()
        fields = parse_qs(body[:_LARGEST_FORM].decode("utf-8", "replace"))
        try:
            session = sessions.sign_in(fields.get("code", [""])[0], request.client.host if request.client else "")
        except TooManyRequests:
            return _shown("sign_in.html", 429, named=False, problem="Too many tries. Wait a few seconds.")
        if session is None:
            return _shown("sign_in.html", 403, named=False, problem="This is not the code.")
        answer = RedirectResponse("/studies", 303, _HEADERS)
        answer.set_cookie(
            COOKIE, session, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/"
        )
        return answer

    @app.post("/sign-out", include_in_schema=False)
    def sign_out(request: Request) -> Response:
        _own_post(request)
        sessions.sign_out(request)
        answer = RedirectResponse("/sign-in", 303, _HEADERS)
        answer.delete_cookie(COOKIE, path="/")
        return answer


def _own_post(request: Request) -> None:
    """Refuse a post that another site caused."""
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if request.headers.get("origin", own) != own or request.headers.get("sec-fetch-site", "same-origin") not in (
        "same-origin",
        "none",
    ):
        raise HTTPException(403, "Another site cannot use this page.", _HEADERS)


def _add_studies(app: FastAPI, coordinator: CoordinatorParty, sessions: _Sessions) -> None:
    def known(request: Request, study: str) -> None:
        if not sessions.has(request):
            raise HTTPException(303, headers={"Location": "/sign-in", **_HEADERS})
        if study and coordinator.store.agreement(study) is None:
            raise HTTPException(404, "There is no such study.", _HEADERS)

    @app.get("/studies", include_in_schema=False)
    async def studies(request: Request) -> Response:
        known(request, "")
        rows = await run_in_threadpool(
            lambda: [standing(coordinator, row.study) for row in coordinator.store.studies()]
        )
        return _shown("studies.html", studies=rows, ended=ENDED)

    @app.get("/studies/{study}", include_in_schema=False)
    async def study_page(request: Request, study: str) -> Response:
        known(request, study)
        return await run_in_threadpool(lambda: _shown("study.html", **_study_values(coordinator, study)))

    @app.get("/studies/{study}/plot.svg", include_in_schema=False)
    async def plot(request: Request, study: str) -> Response:
        known(request, study)
        picture = await run_in_threadpool(lambda: agreement_plot(so_far(_settled(coordinator, study))))
        # The picture carries its own style element, which the pages' policy would not allow.
        policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return Response(picture, media_type="image/svg+xml", headers=_HEADERS | policy)

    @app.get("/studies/{study}/export/{first}/{second}/{format}", include_in_schema=False)
    async def export(request: Request, study: str, first: str, second: str, format: str) -> Response:
        known(request, study)
        try:
            truths = await run_in_threadpool(truths_of_coordinator, coordinator, study)
        except InputError as error:
            raise HTTPException(409, str(error), _HEADERS) from error
        if (first, second) not in truths or format not in FORMATS:
            raise HTTPException(404, "There is no such export.", _HEADERS)
        content = await run_in_threadpool(archive_of, truths[(first, second)], format)
        headers = {"Content-Disposition": f'attachment; filename="ground-truth-{first}-{second}-{format}.zip"'}
        return Response(content, media_type="application/zip", headers=_HEADERS | headers)


def _settled(coordinator: CoordinatorParty, study: str) -> list[Tally]:
    state = coordinator.load(study).state
    return [sum(facts.tallies.values(), Tally()) for facts in state.rounds if facts.tallies]


def _study_values(coordinator: CoordinatorParty, study: str) -> dict[str, Any]:
    """Everything that a study's page shows."""
    agreement, rounds = coordinator.agreement(study), _settled(coordinator, study)
    stand, since = standing(coordinator, study), coordinator.store.waited_since(study)
    settled = [one for one in stand.history if one.settled]
    after = [] if stand.ended else [one for one in stand.history[-1:] if not one.settled]
    return {
        "study": stand,
        "agreement": agreement,
        "owners": [
            {
                "name": name,
                "facts": facts,
                "doing": [step.sentence.removeprefix(f"{name} has to ") for step in stand.waiting if step.who == name],
                "contact": _contact(coordinator.heard.get((study, name), 0.0)),
                "since": _time(since[name]) if name in since else "",
                "questions": _questions(after[0], name, coordinator.written.get((study, name))) if after else "–",
            }
            for name, facts in stand.owners.items()
        ],
        "plot_words": plot_in_words(so_far(rounds)),
        "settled": list(zip(settled, so_far(rounds), strict=True)),
        "ended": ENDED[stand.ended] if stand.ended else "",
        "headline": headline(rounds, over=bool(stand.ended)),
        "advice": advice(rounds, [one.pairings for one in settled], [one.asked for one in [*settled, *after]]),
        "later": LATER if any(tally.both for tally in rounds[1:]) else "",
        "not_recall": NOT_RECALL,
        "agreed_of_all": agreed_of_all,
        "timeline": [(_time(at), name) for name, at in coordinator.store.milestones(study)],
        "progress": _progress(stand.history[-1]) if stand.history else "",
        "pairings": agreement.pairings if rounds else [],
        "formats": {name: one.description for name, one in FORMATS.items()},
        "moved": _moved(stand.traffic),
    }


def _time(at: float) -> str:
    """A time of this machine's clock."""
    return datetime.datetime.fromtimestamp(at).astimezone().strftime("%d %B %Y, %H:%M")


def _contact(heard: float) -> str:
    """When an owner's machine was last heard from, in words."""
    if not heard:
        return "none since the server started"
    minutes = round((time.time() - heard) / 60)
    if not minutes:
        return "just now"
    return f"{minutes} min ago" if minutes < 90 else f"{minutes / 60:.0f} h ago"


def _questions(current: RoundStanding, owner: str, told: tuple[int, int] | None) -> str:
    """How far an owner is with its questions of a round, if it has said so."""
    asked = current.asked.get(owner, 0)
    if owner in current.answered:
        return f"all {asked:,} handed in"
    if told is None or told[0] != current.round:
        return f"of {asked:,}, not told yet"
    return f"{told[1]:,} of {asked:,} written"


def _progress(current: RoundStanding) -> str:
    """How far the current round is."""
    questions = sum(current.asked.values())
    return f"Answered by {len(current.answered)} of {len(current.asked)} owners; {questions:,} questions in this round."


def _moved(traffic: Iterable[Traffic]) -> list[tuple[str, str]]:
    """Bytes moved for each owner, readable."""
    totals: Counter[str] = Counter()
    for row in traffic:
        totals[row.owner] += row.bytes
    return [(owner, size(count)) for owner, count in totals.items()]
