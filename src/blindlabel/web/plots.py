"""Agreement over the rounds as a picture (SVG), for both the owner's app and the coordinator's page. It suits light and
dark themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from blindlabel.protocol.figures import Tally, agreed_of_all
from blindlabel.protocol.owner_rules import OwnerState

_WIDTH, _ROW, _LEFT, _RIGHT = 640, 44, 84, 150
_STYLE = """
text{font:13px system-ui,sans-serif;fill:#1d2733}.quiet{fill:#55606c}
.match{fill:#0b6e6e}.none{fill:#7ba7c9}.open{fill:#d8a657}
@media (prefers-color-scheme:dark){text{fill:#e3e8ee}.quiet{fill:#a9b4c0}
.match{fill:#4fc3b8}.none{fill:#44698a}.open{fill:#c9913a}}
"""


def agreement_plot(rounds: Sequence[Tally]) -> str:
    """One bar per round: pairs agreed as match, agreed as no match, and not settled. Bars are scaled so that few
    matches stay visible.
    """
    height = 40 + _ROW * max(1, len(rounds))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
        ' role="img">'
    ]
    parts.append(f"<title>{escape(plot_in_words(rounds))}</title><style>{_STYLE}</style>")
    for place, (kind, name) in enumerate(
        (("match", "agreed: match"), ("none", "agreed: no match"), ("open", "not settled"))
    ):
        x = _LEFT + 160 * place
        parts.append(
            f'<rect class="{kind}" x="{x}" y="8" width="12" height="12" rx="2"/><text x="{x + 18}" y="19">{name}</text>'
        )
    if not rounds:
        parts.append(f'<text class="quiet" x="{_LEFT}" y="56">No round has been settled yet.</text>')
    for number, tally in enumerate(rounds, start=1):
        parts.append(_bar(number, tally))
    return "".join([*parts, "</svg>"])


def _bar(number: int, tally: Tally) -> str:
    y = 36 + _ROW * (number - 1)
    room = _WIDTH - _LEFT - _RIGHT
    shares, every = (
        [("match", tally.both), ("none", tally.neither), ("open", _unsettled(tally))],
        tally.pairs + tally.loose,
    )
    least = 6.0
    shown = [(kind, max(least, room * count / every) if count else 0.0) for kind, count in shares if every]
    scale = room / sum(width for _, width in shown) if shown else 1.0
    x, drawn = float(_LEFT), [f'<text x="0" y="{y + 20}">Round {number}</text>']
    for kind, width in shown:
        if width:
            drawn.append(f'<rect class="{kind}" x="{x:.1f}" y="{y + 4}" width="{width * scale:.1f}" height="24"/>')
            x += width * scale
    kappa = "–" if tally.kappa is None else f"{tally.kappa:.2f}"
    words = f"{agreed_of_all(tally)}, kappa {kappa}"
    drawn.append(f'<text class="quiet" x="{_LEFT + room + 10}" y="{y + 20}">{words}</text>')
    return "".join(drawn)


def _unsettled(tally: Tally) -> int:
    return tally.disagreed + tally.loose


def plot_in_words(rounds: Sequence[Tally]) -> str:
    """The same as a sentence."""
    if not rounds:
        return "No round has been settled yet."
    return " ".join(
        f"Round {number}: {tally.both:,} pairs agreed as match, {tally.neither:,} as no match,"
        f" {_unsettled(tally):,} not settled."
        for number, tally in enumerate(rounds, start=1)
    )


def rounds_of_owner(state: OwnerState) -> list[Tally]:
    """How the settled rounds went, over all other owners."""
    if state.truth is not None:
        number = max((len(pairing.tallies) for pairing in state.truth.pairings), default=0)
        return [
            sum((pairing.tallies[place] for pairing in state.truth.pairings if place < len(pairing.tallies)), Tally())
            for place in range(number)
        ]
    return [sum(later.tallies.values(), Tally()) for later in state.rounds[1:]]
