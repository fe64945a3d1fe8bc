"""Simulated oracles. Each sees one table's prepared records, never ids, the other table or the truth.

`suggested` is the method behind the editor's suggestions. The others are there to compare: the conjunction of rare
words, as in the publication's examples, and the plain weighted count from which the method started.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from blindlabel.language.formatter import quote
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.language.suggestions import Suggester
from blindlabel.language.suggestions.needles import words_in_order
from blindlabel_lab.experiments.simulation import NEEDLE_LENGTH, Oracle

Strategy = Callable[[Sequence[Record], Sequence[str]], Oracle]
"""From a table's records and the attributes to an oracle."""


class Suggested:
    """Asks what the suggester suggests."""

    def __init__(
        self,
        records: Sequence[Record],
        attributes: Sequence[str],
        *,
        whole: bool = True,
        single_attributes: bool = True,
    ) -> None:
        limits = Limits(needle_length=NEEDLE_LENGTH)
        self._suggester = Suggester(
            records,
            attributes,
            limits=limits,
            lowered=True,
            functions=("is_in", "equals", "has_word"),
            whole=whole,
            single_attributes=single_attributes,
        )

    def ask(self, record: Record, round: int) -> str:
        """The suggestion for the round."""
        return self._suggester.suggest(record, round).text


class RareWords:
    """The rarest words of a record by its own table, the start of the two simpler strategies."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._rows: Counter[str] = Counter()
        for record in records:
            self._rows.update(set(words_in_order(record.whole)))

    def rarest(self, record: Record, count: int) -> list[tuple[str, int]]:
        """So many words with the rows that have them, rarest first; words of one letter only where there are no
        others.
        """
        words = {word[:NEEDLE_LENGTH] for word in words_in_order(record.whole)}
        ordered = sorted(words, key=lambda word: (len(word) < 2, self._rows[word] or 1, word))
        return [(word, self._rows[word] or 1) for word in ordered[:count]]


class RareConjunction(RareWords):
    """All of the four rarest words, of three and of two when the record comes back."""

    def ask(self, record: Record, round: int) -> str:
        """The conjunction."""
        words = self.rarest(record, max(1, 5 - round))
        return "ret " + (" & ".join(f"is_in({quote(word)}, $r)" for word, _ in words) or "false")


class PlainCount(RareWords):
    """The eight rarest words with weights 3 to 1, and 50, 40, 30 % of their sum by round."""

    def ask(self, record: Record, round: int) -> str:
        """The weighted count."""
        words = self.rarest(record, 8)
        if not words:
            return "ret false"
        weights = [3 if rows <= 2 else 2 if rows <= 20 else 1 for _, rows in words]
        needed = max(1, round_up(sum(weights) * (0.6 - 0.1 * min(round, 3))))
        counted = " + ".join(f"{weight}*is_in({quote(word)}, $r)" for weight, (word, _) in zip(weights, words))
        return f"ret {counted} >= {needed}"


def round_up(value: float) -> int:
    """The next whole number, forgiving what floating point adds."""
    return int(-(-(value - 1e-9) // 1))


STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "suggested": Suggested,
        "suggested, whole record only": lambda records, attributes: Suggested(
            records, attributes, single_attributes=False
        ),
        "suggested, single attributes only": lambda records, attributes: Suggested(records, attributes, whole=False),
        "plain weighted count": lambda records, _attributes: PlainCount(records),
        "conjunction, as published": lambda records, _attributes: RareConjunction(records),
    }
)
"""Every strategy by the name it is shown with."""
