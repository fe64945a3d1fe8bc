"""Precision and recall by threshold as a picture (SVG): bands between the limits, lines where values are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blindlabel.estimates.estimating import AtThreshold, Figure

_WIDTH, _HEIGHT, _EDGE = 640, 360, 48
_STYLE = "text{font:13px sans-serif;fill:#555}.p{fill:#0b6e6e;stroke:#0b6e6e}.r{fill:#b3590a;stroke:#b3590a}"


def write_plot(path: Path, curve: Sequence[AtThreshold]) -> None:
    """Write the curve of an estimate."""
    scores = [point.threshold for point in curve] or [0.0]
    least, range_ = min(scores), (max(scores) - min(scores)) or 1.0

    def place(score: float, share: float) -> str:
        x = _EDGE + (score - least) / range_ * (_WIDTH - 2 * _EDGE)
        return f"{x:.1f},{_HEIGHT - _EDGE - share * (_HEIGHT - 2 * _EDGE):.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"><style>{_STYLE}</style>']
    for kind, name, x in (("p", "precision", _EDGE), ("r", "recall", _EDGE + 120)):
        figures: list[tuple[float, Figure]] = [(point.threshold, getattr(point, name)) for point in curve]
        said = [(score, one.low, one.high, one.value) for score, one in figures if one.low is not None]
        edge = [place(score, high or 0.0) for score, _, high, _ in said]
        edge += [place(score, low) for score, low, _, _ in reversed(said)]
        parts.append(f'<polygon class="{kind}" points="{" ".join(edge)}" fill-opacity="0.25" stroke-opacity="0.4"/>')
        line = " ".join(place(score, value) for score, _, _, value in said if value is not None)
        parts.append(f'<polyline class="{kind}" points="{line}" style="fill:none"/>')
        parts.append(f'<text x="{x}" y="20"><tspan class="{kind}" stroke="none">■</tspan> {name}</text>')
    for share in (0.0, 0.5, 1.0):
        parts.append(f'<text x="16" y="{place(least, share).split(",")[1]}">{share:g}</text>')
    parts += [f'<text x="{_EDGE}" y="{_HEIGHT - 16}">threshold from {least:g} to {max(scores):g}</text></svg>']
    path.write_text("".join(parts), encoding="utf-8")
