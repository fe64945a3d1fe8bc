"""What several ANDs have in common, found and computed once. Pure: an AND is a set of numbers that stand for its
literals.

A gate takes up to three literals, so an AND of k literals takes k // 2 gates. To compute three of its literals apart
saves a gate, and so does computing two apart where their number is even; where several ANDs have the same two or three,
they pay for them once. The choice is greedy: always the two or three that most ANDs gain by. Finding the best choice is
a hard problem, and the gain over this one is small.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

Few = tuple[int, ...]
"""Two or three literals, in ascending order."""


def shared(ands: Mapping[int, frozenset[int]], new: Callable[[Few], int]) -> dict[int, frozenset[int]]:
    """The same ANDs, with what they have in common replaced by new literals, which `new` makes."""
    search = _Search(ands)
    while (few := search.best()) is not None:
        search.replace(few, new(few))
    return search.ands


def _candidates(literals: frozenset[int]) -> Iterator[Few]:
    """What computing apart saves this AND a gate."""
    ordered = sorted(literals)
    yield from combinations(ordered, 3)
    if len(ordered) % 2 == 0:
        yield from combinations(ordered, 2)


class _Search:
    """The ANDs as they are now, and who would gain by what."""

    def __init__(self, ands: Mapping[int, frozenset[int]]) -> None:
        self.ands = dict(ands)
        self._gaining: dict[Few, set[int]] = {}
        for number, literals in self.ands.items():
            for few in _candidates(literals):
                self._gaining.setdefault(few, set()).add(number)
        self._queue = [(-len(numbers), -len(few), few) for few, numbers in self._gaining.items() if len(numbers) > 1]
        heapq.heapify(self._queue)

    def best(self) -> Few | None:
        """What most ANDs gain by, at least two of them; of equals three literals before two. Counts in the queue may be
        out of date.
        """
        while self._queue:
            gain, size, few = heapq.heappop(self._queue)
            now = len(self._gaining.get(few, ()))
            if now == -gain:
                return few
            if now > 1:
                heapq.heappush(self._queue, (-now, size, few))
        return None

    def replace(self, few: Few, literal: int) -> None:
        for number in sorted(self._gaining[few]):
            before = self.ands[number]
            for candidate in _candidates(before):
                self._gaining[candidate].discard(number)
            self.ands[number] = (before - set(few)) | {literal}
            for candidate in _candidates(self.ands[number]):
                gaining = self._gaining.setdefault(candidate, set())
                gaining.add(number)
                if len(gaining) > 1:
                    heapq.heappush(self._queue, (-len(gaining), -len(candidate), candidate))
