"""The suggester: built once from a table, then asked for one record and round at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from blindlabel.language import read_question
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.language.suggestions import writing
from blindlabel.language.suggestions.background import Background, texts_of, whole_of
from blindlabel.language.suggestions.needles import Needle, needles_of
from blindlabel.language.suggestions.thresholds import threshold
from blindlabel.language.suggestions.weighing import Count, weigh, with_exclusions

DEFAULT_FUNCTIONS = ("is_in", "starts_with", "ends_with", "equals", "has_word", "is_empty", "sounds_like")
"""What can be asked where nothing else is said: what an agreement encodes by default."""

_KEPT = 4096


@dataclass(frozen=True)
class Suggestion:
    """A question to keep or change, and why it was suggested."""

    question: str
    why: str


class Suggester:
    """Proposes questions about the records of one table.

    `records` is the whole own table, prepared; `lowered` says that preparation made it lower case; `functions` are the
    predicates that the agreement encodes; `counting`, `negation` and the two views say what else it allows, and
    `alternatives` how many conjunctions a question without counting may have.
    """

    def __init__(
        self,
        records: Sequence[Record],
        attributes: Sequence[str],
        *,
        limits: Limits | None = None,
        lowered: bool = False,
        functions: Collection[str] | None = None,
        counting: bool = True,
        negation: bool = True,
        whole: bool = True,
        single_attributes: bool = True,
        alternatives: int = 1,
    ) -> None:
        self.attributes = tuple(attributes)
        self.limits = limits or Limits()
        self.lowered = lowered
        self.functions = frozenset(DEFAULT_FUNCTIONS if functions is None else functions)
        self.counting = counting
        self.negation = negation
        self.whole = whole
        self.single_attributes = single_attributes
        self.alternatives = alternatives
        self._background = Background(records, self.attributes)
        self._counts: dict[tuple[bool, tuple[str, ...]], Count] = {}

    def suggest(self, record: Record, round: int = 1, previous: Sequence[str] = ()) -> Suggestion:
        """A question about the partner of this record. `previous` are those asked in earlier rounds: none of them is
        suggested again while there is anything left to relax."""
        count = self._count(record, finer=round > 1)
        needed = threshold(count, round)
        question = self._question(count, needed)
        while question in previous and needed > 1:
            needed -= 1
            question = self._question(count, needed)
        return Suggestion(question, writing.why(count, needed, round, len(self._background)))

    def _question(self, count: Count, needed: int) -> str:
        return writing.question_of(
            count, needed, lowered=self.lowered, counting=self.counting, alternatives=self.alternatives
        )

    def _count(self, record: Record, *, finer: bool) -> Count:
        """The record's count: the same in all rounds after the first, so kept."""
        texts = texts_of(record, self.attributes)
        key = (finer, tuple(texts.values()))
        known = self._counts.get(key)
        if known is None:
            if len(self._counts) >= _KEPT:
                self._counts.clear()
            known = weigh(
                self._needles(texts, finer),
                whole_of(texts),
                self._background,
                self.limits.total_weight,
                self.limits.predicates,
            )
            known = self._told_apart(known, whole_of(texts), finer)
            self._counts[key] = known = self._within_limits(known)
        return known

    def _needles(self, texts: Mapping[str, str], finer: bool) -> dict[Needle, tuple[str, ...]]:
        return needles_of(
            texts, self.functions, self.limits, whole=self.whole, attributes=self.single_attributes, finer=finer
        )

    def _told_apart(self, count: Count, whole: str, finer: bool) -> Count:
        """The count with what speaks for a similar row instead, where the agreement has room for it."""
        room = self.limits.predicates - len(count.asked)
        if not (self.counting and self.negation) or len(count.asked) < 2 or room < 1:
            return count
        told = with_exclusions(count, whole, self._background, lambda row: self._needles(row, finer), room)
        return told if told.total + told.penalty <= self.limits.total_weight else count

    def _within_limits(self, count: Count) -> Count:
        """The count, without its lightest needles as long as the question would be refused (contrived limits only)."""
        while count.asked:
            checked = read_question(
                self._question(count, 1), attributes=self.attributes, limits=self.limits, lowered=self.lowered
            )
            if checked.ok:
                break
            count = Count(count.asked[:-1], count.neighbours) if not count.excluded else replace(count, excluded=())
        return count
