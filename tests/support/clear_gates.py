"""The gates of the gates engine on clear bits."""

from __future__ import annotations

from collections import Counter


class ClearGates:
    """Gates on clear bits, counting every two-input gate by kind."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """Two-input gates evaluated so far."""
        return sum(self.counts.values())

    def constant(self, value: bool) -> bool:
        return value

    def not_(self, a: bool) -> bool:
        return not a

    def and_(self, a: bool, b: bool) -> bool:
        self.counts["and"] += 1
        return a and b

    def or_(self, a: bool, b: bool) -> bool:
        self.counts["or"] += 1
        return a or b

    def xor(self, a: bool, b: bool) -> bool:
        self.counts["xor"] += 1
        return a != b

    def xnor(self, a: bool, b: bool) -> bool:
        self.counts["xnor"] += 1
        return a == b
