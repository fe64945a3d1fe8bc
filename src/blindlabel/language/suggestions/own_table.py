"""An owner's own table, indexed: which rows a predicate or a whole question fits. Decides nothing.

Exact by the language's meaning, and fast enough for every key press: words are looked up, pieces of words are looked up
among the words, and only what cannot be (a value, a prefix, a number) is read from the texts. Memory is bounded by the
text of the table: the index holds each word once and each of its rows as four bytes.

The index has every different row once, ordered by what it says, whatever attributes are called and in whichever order
rows and attributes stand. So what is estimated from it is the same for a table that was sorted otherwise, or that has
rows twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache, partial, reduce

import numpy as np
import numpy.typing as npt

from blindlabel.language import words
from blindlabel.language.chain import Chain, Term
from blindlabel.language.formula import Atom, Bits, Formula, column
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import Record, View
from blindlabel.language.signatures import Clear

Positions = npt.NDArray[np.int32]
"""Positions of rows, ascending."""

REMEMBERED = 512
"""Predicates whose rows are kept: while a person types, most of a question stays as it was."""
BY_WORD = frozenset({"has_word", "sounds_like", "similar"})
"""Predicates that hold where they hold of one of the words."""


class Column:
    """One view of all rows: its texts, and where each word stands."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    @cached_property
    def _index(self) -> tuple[dict[str, int], Positions, npt.NDArray[np.int64]]:
        """Every word's number; the rows of all words, one word after the other; where each word's rows begin."""
        numbers: dict[str, int] = {}
        found: list[int] = []
        counts: list[int] = []
        for text in self.texts:
            own = [numbers.setdefault(word, len(numbers)) for word in words.words_of(text)]
            found += own
            counts.append(len(own))
        word_of = np.array(found, dtype=np.int32)
        row_of = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        order = np.argsort(word_of, kind="stable")
        starts = np.searchsorted(word_of[order], np.arange(len(numbers) + 1))
        return numbers, row_of[order], starts.astype(np.int64)

    @cached_property
    def _vocabulary(self) -> tuple[str, list[str], npt.NDArray[np.int64]]:
        """All words in one text, to look for pieces in, and where each begins."""
        vocabulary = list(self._index[0])
        lengths = np.array([len(word) + 1 for word in vocabulary], dtype=np.int64)
        return "\n".join(vocabulary), vocabulary, np.cumsum(lengths) - lengths

    def rows_of_word(self, word: str) -> Positions:
        """The rows that have the word."""
        numbers, rows, starts = self._index
        number = numbers.get(word)
        return rows[:0] if number is None else rows[starts[number] : starts[number + 1]]

    def rows_with(self, function: str, arguments: tuple[Clear, ...]) -> Positions:
        """The rows of which a predicate holds."""
        needle = arguments[0] if arguments else None
        if function == "has_word" and isinstance(needle, str):
            return self.rows_of_word(needle)
        if function == "is_in" and isinstance(needle, str) and words.is_word(needle):
            return self._union(self._words_containing(needle))
        meaning = PREDICATES[function].meaning
        if function in BY_WORD:
            return self._union([word for word in self._index[0] if meaning(word, arguments)])
        return np.flatnonzero([meaning(text, arguments) for text in self.texts]).astype(np.int32)

    def _words_containing(self, piece: str) -> list[str]:
        joined, vocabulary, begins = self._vocabulary
        places, place = [], joined.find(piece)  # many times as fast as a regular expression
        while place >= 0:
            places.append(place)
            place = joined.find(piece, place + 1)
        numbers = np.searchsorted(begins, places, side="right") - 1
        return [vocabulary[number] for number in dict.fromkeys(numbers.tolist())]

    def _union(self, several: Sequence[str]) -> Positions:
        found = [np.zeros(0, dtype=np.int32), *map(self.rows_of_word, several)]
        return found[1] if len(found) == 2 else np.unique(np.concatenate(found))


class OwnTable:
    """The rows of one table, prepared, to try questions on."""

    def __init__(self, records: Sequence[Record], attributes: Sequence[str]) -> None:
        self.records = records
        self.attributes = tuple(attributes)
        self.different, self._place = _in_order([tuple(one.attributes.values()) for one in records])
        self._columns: dict[View, Column] = {}
        self._found = lru_cache(REMEMBERED)(lambda view, *asked: self.column(view).rows_with(*asked))

    def __len__(self) -> int:
        return len(self.records)

    def column(self, view: View) -> Column:
        """The view of all rows; made when first needed."""
        if view not in self._columns:
            self._columns[view] = Column([self.records[row].text(view) for row in self.different])
        return self._columns[view]

    def rows_with(self, atom: Atom) -> Positions:
        """Which of the different rows a predicate holds of."""
        return self._found(atom.view, atom.function, atom.arguments)

    def count(self, atom: Atom) -> int:
        """How many rows a predicate holds of."""
        return int(self._copies[self.rows_with(atom)].sum())

    @cached_property
    def _copies(self) -> npt.NDArray[np.int64]:
        return np.bincount(self._place, minlength=len(self.different))

    @cached_property
    def once(self) -> Bits:
        """The first of all rows that say exactly the same."""
        return np.isin(np.arange(len(self)), self.different)

    def fitting(self, question: Formula | Chain) -> Bits:
        """Which rows a question fits."""
        if isinstance(question, Chain):
            return (self.points(question) >= question.bar) & ~self.kept_out(question)
        return column(question, len(self.different), lambda atom: self._holding([(atom,)]))[self._place]

    def points(self, chain: Chain) -> npt.NDArray[np.int64]:
        """The points that each row gets."""
        held = np.zeros(len(self.different), dtype=np.int64)
        for condition in chain.conditions:
            held += condition.points * self._holding(condition.any_of)
        return held[self._place]

    def kept_out(self, chain: Chain) -> Bits:
        """The rows that a question keeps out, whatever points they get."""
        return self.holding(chain.exclusions) & ~self.holding(chain.unless)

    def holding(self, terms: Iterable[Term]) -> Bits:
        """The rows in which any of these terms holds."""
        return self._holding(terms)[self._place]

    def _holding(self, terms: Iterable[Term]) -> Bits:
        found = np.zeros(len(self.different), dtype=np.bool_)
        for term in terms:
            found[reduce(partial(np.intersect1d, assume_unique=True), map(self.rows_with, term))] = True
        return found

    def same_as(self, record: Record) -> list[int]:
        """The rows that say exactly the same as this record."""
        return self._by_text.get(record.whole, [])

    @cached_property
    def _by_text(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, record in enumerate(self.records):
            found.setdefault(record.whole, []).append(row)
        return found


def _in_order(rows: Sequence[tuple[str, ...]]) -> tuple[list[int], npt.NDArray[np.intp]]:
    """The positions of the rows that differ, in order; and for each row, which of those it is."""
    first: dict[tuple[str, ...], int] = {}
    same = [first.setdefault(row, position) for position, row in enumerate(rows)]
    ordered = sorted(first.values(), key=lambda position: sorted(rows[position]))
    places = {position: place for place, position in enumerate(ordered)}
    return ordered, np.array([places[position] for position in same], dtype=np.intp)
