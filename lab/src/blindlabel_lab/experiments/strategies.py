"""Simulated oracles. Each sees one table's prepared records, never ids, the other table or the truth.

`suggested` is the method behind the editor's suggestions. The others are there to compare: a conjunction of rare words,
which has the form of the publication's examples but is a rule of ours, and the plain weighted count from which the
method started.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from blindlabel.language.formatter import quote
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.language.suggestions import Suggester
from blindlabel.language.words import lower, words_in_order
from blindlabel_lab.experiments.simulation import Oracle, Wording

Strategy = Callable[[Sequence[Record], Sequence[str], Wording], Oracle]
"""From a table's records, the attributes and what is to be known of the texts to an oracle."""


class Suggested:
    """Asks what the suggester suggests."""

    def __init__(self, records: Sequence[Record], attributes: Sequence[str], wording: Wording, **views: Any) -> None:
        self._suggester = Suggester(
            records,
            attributes,
            limits=Limits(needle_length=wording.needle_length),
            lowered=wording.lowered,
            functions=("is_in", "equals", "has_word"),
            matching=wording.matching,
            **views,
        )

    def ask(self, record: Record, round: int) -> str:
        """The suggestion for the round."""
        return self._suggester.suggest(record, round).text


class RareWords:
    """The rarest words of a record by its own table, the start of the two simpler strategies. Case is left alone where
    the records have but one, else taken away in the question, as the publication's people did.
    """

    def __init__(self, records: Sequence[Record], wording: Wording) -> None:
        self._longest = wording.needle_length
        self.before = "" if wording.lowered else "$r = lower($r)\n"
        self._rows: Counter[str] = Counter()
        for record in records:
            self._rows.update(set(words_in_order(lower(record.whole))))

    def rarest(self, record: Record, count: int) -> list[tuple[str, int]]:
        """This many words with the rows that have them, rarest first; words of one letter only where there are no
        others.
        """
        words = {word[: self._longest] for word in words_in_order(lower(record.whole))}
        ordered = sorted(words, key=lambda word: (len(word) < 2, self._rows[word] or 1, word))
        return [(word, self._rows[word] or 1) for word in ordered[:count]]


class RareConjunction(RareWords):
    """All of the four rarest words, of three and of two when the record comes back."""

    def ask(self, record: Record, round: int) -> str:
        """The conjunction."""
        words = self.rarest(record, max(1, 5 - round))
        return f"{self.before}ret " + (" & ".join(f"is_in({quote(word)}, $r)" for word, _ in words) or "false")


class PlainCount(RareWords):
    """The eight rarest words with weights 3 to 1, and 50, 40, 30 % of their sum by round."""

    def ask(self, record: Record, round: int) -> str:
        """The weighted count."""
        words = self.rarest(record, 8)
        if not words:
            return "ret false"
        weights = [3 if rows <= 2 else 2 if rows <= 20 else 1 for _, rows in words]
        needed = max(1, math.ceil(sum(weights) * (6 - min(round, 3)) / 10))
        counted = " + ".join(f"{weight}*is_in({quote(word)}, $r)" for weight, (word, _) in zip(weights, words))
        return f"{self.before}ret {counted} >= {needed}"


STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "suggested": Suggested,
        "suggested, whole record only": partial(Suggested, single_attributes=False),
        "suggested, single attributes only": partial(Suggested, whole=False),
        "plain weighted count": lambda records, _attributes, wording: PlainCount(records, wording),
        "rare words, all of them (ours)": lambda records, _attributes, wording: RareConjunction(records, wording),
    }
)
"""Every strategy by the name it is shown with."""
