"""Shares with exact limits, and what follows from them: totals over pieces of a list, quotients, precision, recall, F.

1. In a piece of N pairs of which n were drawn and x are matches, the share has the limits of Clopper and Pearson, drawn
   towards x/n by √(1 − n/N): if all were drawn, nothing is uncertain. x may be a fraction, as an expected number is.
2. Below the line matches do not get more frequent as the score falls, so the upper limit of better pieces together with
   this one holds here as well.
3. Totals are joined by MOVER (the distances from the value add up as squares), quotients by that of Donner and Zou
   (2012). Precision is T₁/n₁, recall 1/(1 + T₀/T₁), F 2/(1 + (T₀ + n₁)/T₁): T₁ and T₀ are the matches above and below,
   n₁ the linked pairs.

Nothing here is ever NaN, and every value lies between its limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, hypot, inf, lgamma, log, log1p, sqrt

Bounds = tuple[float, float, float]
"""A value, its lower limit and its upper one."""

TAIL = 0.025
"""The probability in each tail of a 95 % interval."""
DUST = 1e-9
"""Differences smaller than this come from rounding."""


@dataclass(frozen=True)
class Piece:
    """Pairs on one side of the line with scores near each other."""

    size: float
    drawn: float
    matches: float
    """Matches among the drawn ones."""


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function by its continued fraction (Lentz)."""
    if turned := x > (a + 1) / (a + b + 2):
        x, a, b = 1 - x, b, a
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    fraction = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / ((1 + term * d) or tiny), (1 + term / c) or tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    share = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) * fraction / a
    return 1 - share if turned else share


@lru_cache(maxsize=100_000)
def beta_quantile(share: float, a: float, b: float) -> float:
    """Below it lies this share of a beta distribution."""
    low, high = 0.0, 1.0
    for _ in range(44):
        middle = (low + high) / 2
        low, high = (middle, high) if _beta(middle, a, b) < share else (low, middle)
    return (low + high) / 2


def exact(matches: float, drawn: float, tail: float = TAIL) -> tuple[float, float]:
    """The limits of Clopper and Pearson for a share."""
    low = beta_quantile(tail, matches, drawn - matches + 1) if matches > DUST else 0.0
    return low, beta_quantile(1 - tail, matches + 1, drawn - matches) if drawn - matches > DUST else 1.0


def total(pieces: Sequence[Piece], bounded: bool, further: tuple[float, float] = (0.0, 0.0)) -> Bounds:
    """The matches in these pieces, best first; `further` is what else moves the limits down and up."""
    value, (down, up) = 0.0, further
    for place, piece in enumerate(pieces):
        share = piece.matches / piece.drawn if piece.drawn else 0.0
        low, high = exact(piece.matches, piece.drawn)
        for first in range(place if bounded else 0):
            better = pieces[first : place + 1]
            together = exact(sum(one.matches for one in better), sum(one.drawn for one in better))[1]
            high = min(high, max(share, together))
        rest = piece.size * sqrt(max(0.0, 1 - piece.drawn / piece.size))
        value += piece.size * share
        down, up = hypot(down, rest * (share - low)), hypot(up, rest * (high - share))
    size = sum(piece.size for piece in pieces)
    return value, max(0.0, value - down), min(size, value + up)


def quotient(top: Bounds, bottom: Bounds) -> tuple[float, float]:
    """The limits of top / bottom, which are independent, or infinite if the bottom may be nothing."""
    (a, a_low, a_high), (b, b_low, b_high) = top, bottom
    first, second = a_low * (2 * a - a_low), b_high * (2 * b - b_high)
    under = a * b + sqrt(max(0.0, (a * b) ** 2 - first * second))
    low = max(0.0, first / under) if under > 0 else 0.0
    third, fourth = a_high * (2 * a - a_high), b_low * (2 * b - b_low)
    return low, (a * b + sqrt(max(0.0, (a * b) ** 2 - third * fourth))) / fourth if fourth > 0 else inf


def measures(above: Bounds, below: Bounds, linked: float) -> tuple[Bounds, Bounds, Bounds]:
    """Precision, recall and F from the matches above and below the line and the number of linked pairs."""
    value = above[0] / (above[0] + below[0]) if above[0] + below[0] else 0.0
    low, high = quotient(below, above)
    recall = value, 1 / (1 + high), 1 / (1 + low)
    low, high = quotient((below[0] + linked, below[1] + linked, below[2] + linked), above)
    both = 2 * above[0] / (linked + above[0] + below[0]), 2 / (1 + high), 2 / (1 + low)
    return (
        _within((above[0] / linked, above[1] / linked, above[2] / linked)),
        _within(recall if above[2] + below[2] > 0 else (0.0, 0.0, 1.0)),
        _within(both),
    )


def _within(found: Bounds) -> Bounds:
    """The same, with the value between its limits and the limits between 0 and 1."""
    value = min(1.0, max(0.0, found[0]))
    return value, max(0.0, min(value, found[1])), min(1.0, max(value, found[2]))
