"""What the owner's app and the coordinator's page have in common: plain pages made on the server (signing in, and what
went wrong), and agreement over the rounds as a picture (SVG). All suit light and dark themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any

import jinja2
from fastapi.exception_handlers import http_exception_handler
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from blindlabel.protocol.figures import Tally, agreed_of_all
from blindlabel.protocol.owner_rules import OwnerState

# Pages

_HERE = Path(__file__).parent
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
)
STYLE = (_HERE / "browser" / "coordinator.css").read_text("utf-8")
"""For pages whose browser may not fetch any file yet."""


def page(template: str, *, style: str = "", **values: Any) -> str:
    """A page from one of our templates, with everything escaped; with `style` in it, or else with the style sheet."""
    return _TEMPLATES.get_template(template).render(style=style, **values)


async def said_as_page(request: Request, error: Exception, *, style: str = "") -> Response:
    """What went wrong, as a page for a person at a browser, who can do nothing with JSON; programs get that."""
    assert isinstance(error, HTTPException)
    if error.status_code < 400 or "text/html" not in request.headers.get("accept", ""):
        return await http_exception_handler(request, error)
    content = error.detail if error.detail != "Not Found" else "There is no such page."
    made = page("message.html", style=style, title="This does not work", content=content, home="/")
    return HTMLResponse(made, error.status_code, error.headers)


# The picture

_LEFT, _ROOM, _LEAST = 84, 406, 6.0
"""Where bars begin, and how wide a whole one and its smallest part are."""


def agreement_plot(rounds: Sequence[Tally]) -> str:
    """One bar per round: pairs agreed as match, agreed as no match, and not settled. Bars are scaled so that few
    matches stay visible.
    """
    return page("plot.svg", words=plot_in_words(rounds), left=_LEFT, bars=[_bar(tally) for tally in rounds])


def _bar(tally: Tally) -> dict[str, Any]:
    counts = {"match": tally.both, "none": tally.neither, "open": tally.unsettled}
    wide = {kind: max(_LEAST, _ROOM * count / tally.asked) for kind, count in counts.items() if count}
    scale = _ROOM / sum(wide.values()) if wide else 1.0
    ends = accumulate(wide.values(), initial=0.0)
    return {
        "parts": [(kind, _LEFT + scale * start, scale * wide[kind]) for kind, start in zip(wide, ends)],
        "said": f"{agreed_of_all(tally)}, kappa {'–' if tally.kappa is None else f'{tally.kappa:.2f}'}",
    }


def plot_in_words(rounds: Sequence[Tally]) -> str:
    """The same as a sentence."""
    return " ".join(
        f"Round {number}: {tally.both:,} pairs agreed as match, {tally.neither:,} as no match,"
        f" {tally.unsettled:,} not settled."
        for number, tally in enumerate(rounds, start=1)
    ) or ("No round has been settled yet.")


def rounds_of_owner(state: OwnerState) -> list[Tally]:
    """How the settled rounds went, over all other owners."""
    if state.truth is not None:
        together = zip_longest(*(pairing.tallies for pairing in state.truth.pairings), fillvalue=Tally())
        return [sum(one, Tally()) for one in together]
    return [sum(later.tallies.values(), Tally()) for later in state.rounds[1:]]
