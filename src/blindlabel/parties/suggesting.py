"""Questions that write themselves, for `owner run --auto` and the demo. One small function in front of the suggestion oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from blindlabel.language.record import Record

THRESHOLDS = (0.5, 0.4, 0.3)
"""Share of the total weight that must be found, by round."""
WORDS = 8


class Suggestions:
    """Suggests questions about one owner's records, from that owner's table alone."""

    def __init__(self, records: Sequence[Record], needle_length: int, *, counting: bool = True) -> None:
        self._needle_length = needle_length
        self._counting = counting
        self._rows = Counter(word for record in records for word in set(_words(record)))

    def suggest(self, record: Record, round: int) -> str:
        """A question for a record: its rarest words, weighted by rarity; later rounds ask for less."""
        words = [
            word for word in dict.fromkeys(_words(record)) if len(word) <= self._needle_length and '"' not in word and "\\" not in word
        ]
        rarest = sorted(words, key=lambda word: (self._rows[word], -len(word)))[:WORDS]
        if not rarest:
            return "ret is_empty($r)"
        if not self._counting:
            return "ret " + " & ".join(f'is_in("{word}", lower($r))' for word in rarest[: max(1, 4 - round)])
        weights = [3 if number < 3 else 2 if number < 5 else 1 for number in range(len(rarest))]
        least = max(1, round_half_up(sum(weights) * THRESHOLDS[min(round, len(THRESHOLDS)) - 1]))
        terms = " + ".join(f'{weight}*is_in("{word}", lower($r))' for word, weight in zip(rarest, weights))
        return f"ret {terms} >= {least}"


def round_half_up(value: float) -> int:
    """The nearest whole number, halves upwards."""
    return int(value + 0.5)


def _words(record: Record) -> list[str]:
    return [word for text in record.attributes.values() for word in text.lower().split() if len(word) >= 2]
