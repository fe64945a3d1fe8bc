"""A study in one process: a sample, two oracles, t rounds by the protocol's rules, with answers in clear or through an
engine.

The rules are the protocol's own (`protocol.labels`): a pair once agreed keeps its label, only records on an open pair
are asked again, and what is open after the last round is discarded. The sample is drawn as in the publication: matches
at random, and the records on either side of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

import numpy as np

from blindlabel.engines.interface import Answers, Engine, Progress, Terms
from blindlabel.language import read_question
from blindlabel.language.formula import Atom, Conjunction, Constant, Disjunction, Formula, Negation, in_order
from blindlabel.language.functions import PREDICATES
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.protocol.labels import Labels, no_labels, open_counts, settle
from blindlabel_lab.experiments.datasets import Dataset
from blindlabel_lab.experiments.metrics import Scores, Truth, scores

NEEDLE_LENGTH = 8
"""Longest needle in simulated studies: suggested needles are no longer, and shorter encodings are smaller."""


@dataclass(frozen=True)
class Sample:
    """The sampled rows of both tables, by position, and which pairs of them are true."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    truth: Truth


class Oracle(Protocol):
    """Writes questions about records of one table."""

    def ask(self, record: Record, round: int) -> str:
        """The question for a record in a round counted from 1."""
        ...


Answering = Callable[[int, Sequence[Formula], Sequence[Record]], Answers]
"""(0: the first owner asks, 1: the second; its questions; the other's records) to the answers, one row a question."""


@dataclass(frozen=True)
class Run:
    """What a simulated study left: labels after each round, scores, and all questions asked."""

    labels: tuple[Labels, ...]
    rounds: tuple[Scores, ...]
    questions: tuple[str, ...] = field(repr=False, default=())


def draw(dataset: Dataset, seed: int, size: int = 50) -> Sample:
    """So many matches at random, the records on either side, and the truth among all their pairs."""
    chosen = Random(f"sample {seed}").sample(range(len(dataset.matches)), min(size, len(dataset.matches)))  # noqa: S311 (nothing secret)
    a = tuple(sorted({dataset.matches[i][0] for i in chosen}))
    b = tuple(sorted({dataset.matches[i][1] for i in chosen}))
    where_a, where_b = {p: i for i, p in enumerate(a)}, {p: j for j, p in enumerate(b)}
    truth = np.zeros((len(a), len(b)), dtype=np.bool_)
    for first, second in dataset.matches:
        if first in where_a and second in where_b:
            truth[where_a[first], where_b[second]] = True
    return Sample(a, b, truth)


def simulate(
    records: tuple[Sequence[Record], Sequence[Record]],
    truth: Truth,
    oracles: tuple[Oracle, Oracle],
    answering: Answering,
    *,
    attributes: Sequence[str],
    rounds: int = 3,
) -> Run:
    """All rounds of a study on these records. Ends early where all pairs are agreed; later rounds then repeat the last
    state.
    """
    labels = no_labels(len(records[0]), len(records[1]))
    after: list[Labels] = []
    asked_all: list[str] = []
    for number in range(1, rounds + 1):
        if (labels == 0).any():
            asked: list[list[int]] = []
            answers: list[Answers] = []
            for side in (0, 1):
                again = [int(i) for i in np.flatnonzero(open_counts(labels, axis=side))]
                sources = [oracles[side].ask(records[side][i], number) for i in again]
                asked.append(again)
                asked_all += sources
                answers.append(
                    answering(side, [formula_of(source, attributes) for source in sources], records[1 - side])
                )
            labels, _ = settle(labels, number, asked[0], answers[0], asked[1], answers[1])
        after.append(labels)
    return Run(tuple(after), tuple(scores(state, truth) for state in after), tuple(asked_all))


def formula_of(source: str, attributes: Sequence[str]) -> Formula:
    """The formula of an oracle's question. One that cannot be read is a defect of the oracle."""
    checked = read_question(source, attributes=attributes, lowered=True)
    if checked.formula is None:
        raise ValueError(f"a simulated oracle wrote a question that cannot be read: {source!r}")
    return checked.formula


# -- answers in clear


def in_clear(_side: int, questions: Sequence[Formula], records: Sequence[Record]) -> Answers:
    """All questions over all records by clear evaluation, each different predicate once a record."""
    known: dict[tuple[object, ...], Answers] = {}
    texts: dict[object, list[str]] = {}

    def atom(node: Atom) -> Answers:
        key = (node.function, node.arguments, node.view)
        if key not in known:
            if node.view not in texts:
                texts[node.view] = [record.text(node.view) for record in records]
            meaning = PREDICATES[node.function].meaning
            found = (meaning(text, node.arguments) for text in texts[node.view])
            known[key] = np.fromiter(found, dtype=np.bool_, count=len(records))
        return known[key]

    answers = np.zeros((len(questions), len(records)), dtype=np.bool_)
    for row, question in enumerate(questions):
        answers[row] = _evaluated(question, len(records), atom)
    return answers


def _evaluated(question: Formula, records: int, atom: Callable[[Atom], Answers]) -> Answers:
    """One formula over all records at once."""
    values: dict[int, Answers] = {}
    for node in in_order(question):
        if isinstance(node, Constant):
            value = np.full(records, node.value, dtype=np.bool_)
        elif isinstance(node, Atom):
            value = atom(node)
        elif isinstance(node, Negation):
            value = ~values[id(node.part)]
        elif isinstance(node, Conjunction):
            value = np.logical_and.reduce([values[id(part)] for part in node.parts])
        elif isinstance(node, Disjunction):
            value = np.logical_or.reduce([values[id(part)] for part in node.parts])
        else:
            total = np.zeros(records, dtype=np.int64)
            for weight, part in zip(node.weights, node.parts):
                total += weight * values[id(part)]
            value = (node.low <= total) & (total <= node.high)
        values[id(node)] = value
    return values[id(question)]


# -- answers through an engine


def terms_for(records: Sequence[Record], attributes: Sequence[str], functions: Sequence[str]) -> Terms:
    """Terms that fit these records: what the simulated questions use is encoded, and nothing else."""
    longest = max((len(record.whole) for record in records), default=1)
    longest_attribute = max((len(text) for record in records for text in record.attributes.values()), default=1)
    return Terms(
        attributes=tuple(attributes),
        record_length=max(1, longest),
        attribute_length=max(1, longest_attribute),
        encode_attributes=len(attributes) > 1,
        case="lower",
        functions=tuple(functions),
        limits=Limits(needle_length=NEEDLE_LENGTH),
        records=len(records),
    )


class ThroughEngine:
    """Answers through an engine's keys, encryption, evaluation, assist and decryption, all in this process. Keeps what
    is public of the records encrypted between rounds, as the protocol does."""

    def __init__(
        self,
        engine: Engine,
        records: tuple[Sequence[Record], Sequence[Record]],
        attributes: Sequence[str],
        progress: Progress | None = None,
    ) -> None:
        self.engine = engine
        self.progress = progress
        self.terms = terms_for([*records[0], *records[1]], attributes, ("is_in", "equals", "has_word"))
        self.keys = engine.make_keys(self.terms)
        self.parcels = [list(engine.encrypt(self.terms, self.keys.public, side)) for side in records]
        self.sizes = (len(records[0]), len(records[1]))

    def __call__(self, side: int, questions: Sequence[Formula], records: Sequence[Record]) -> Answers:
        """The answers; `records` only says how many there are: the encrypted ones are used."""
        if not questions:
            return np.zeros((0, len(records)), dtype=np.bool_)
        answered = self.engine.evaluate(
            self.terms, self.keys.public, self.parcels[1 - side], questions, self._assist, progress=self.progress
        )
        return self.engine.decrypt(self.terms, self.keys.secret, list(answered), len(questions), self.sizes[1 - side])

    def _assist(self, request: bytes) -> bytes:
        return self.engine.assist(self.terms, self.keys.secret, request)
