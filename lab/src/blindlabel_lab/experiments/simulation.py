"""A study in one process: a sample, two oracles, t rounds by the protocol's rules, with answers in clear or through an
engine.

The rounds are those of `blindlabel.parties.rehearsal`, which go by the protocol's own rules. The sample is drawn as in
the publication: matches at random, and the records on either side of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol

import numpy as np
import numpy.typing as npt

from blindlabel.api.ground_truth import Scores, scores
from blindlabel.engines.ask import EncryptedRecords
from blindlabel.engines.interface import AnswerMatrix, Engine, Terms
from blindlabel.errors import InputError
from blindlabel.language import Question
from blindlabel.language.formula import Formula, atoms_of
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.parties.rehearsal import Answering, rehearse
from blindlabel.protocol.labels import Labels
from blindlabel.records.preparation import Recipe
from blindlabel_lab.experiments.datasets import Dataset

NEEDLE_LENGTH = Limits().needle_length
"""Longest needle in simulated studies: as an agreement has it by default."""


@dataclass(frozen=True)
class Wording:
    """What oracles have to know of the texts."""

    lowered: bool = True
    """Whether records are in lower case."""
    needle_length: int = NEEDLE_LENGTH
    matching: float | None = None
    """The share of all pairs that is expected to match; None: as in whole tables."""


@dataclass(frozen=True)
class Sample:
    """The sampled rows of both tables, by position, and which pairs of them are true."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    truth: npt.NDArray[np.bool_]


class Oracle(Protocol):
    """Writes questions about records of one table."""

    def ask(self, record: Record, round: int) -> str:
        """The question for a record in a round counted from 1."""


@dataclass(frozen=True)
class Run:
    """What a simulated study left: labels after each round, scores, and all questions asked."""

    labels: tuple[Labels, ...]
    rounds: tuple[Scores, ...]
    questions: tuple[str, ...] = field(repr=False, default=())


def draw(dataset: Dataset, seed: int, size: int = 50) -> Sample:
    """This many matches at random, the records on either side, and the truth among all their pairs."""
    chosen = Random(f"sample {seed}").sample(range(len(dataset.matches)), min(size, len(dataset.matches)))  # noqa: S311 (nothing secret)
    a = tuple(sorted({dataset.matches[i][0] for i in chosen}))
    b = tuple(sorted({dataset.matches[i][1] for i in chosen}))
    return sample_of(dataset, a, b)


def two_samples(dataset: Dataset, seed: int, size: int) -> tuple[Sample, Sample]:
    """Two samples that have no record in common."""
    first = draw(dataset, seed, size)
    taken = set(first.a), set(first.b)
    others = tuple((i, j) for i, j in dataset.matches if i not in taken[0] and j not in taken[1])
    if len(others) < size:
        raise InputError(f"{dataset.name} has {len(dataset.matches)} matches: too few for two samples of {size}.")
    second = draw(replace(dataset, matches=others), seed, size)
    return first, sample_of(dataset, second.a, second.b)


def sample_of(dataset: Dataset, a: Sequence[int], b: Sequence[int]) -> Sample:
    """These rows, and the truth among all their pairs."""
    where_a, where_b = {p: i for i, p in enumerate(a)}, {p: j for j, p in enumerate(b)}
    truth = np.zeros((len(a), len(b)), dtype=np.bool_)
    for first, second in dataset.matches:
        if first in where_a and second in where_b:
            truth[where_a[first], where_b[second]] = True
    return Sample(tuple(a), tuple(b), truth)


def simulate(
    records: tuple[Sequence[Record], Sequence[Record]],
    truth: npt.NDArray[np.bool_],
    oracles: tuple[Oracle, Oracle],
    answering: Answering,
    *,
    attributes: Sequence[str],
    rounds: int = 3,
    recipe: Recipe | None = None,
    most_yes: int | None = None,
) -> Run:
    """All rounds of a study on these records, and the scores after each."""

    def writing(oracle: Oracle) -> Callable[[Record, int], Question]:
        return lambda record, number: question_of(oracle.ask(record, number), attributes, recipe)

    done = rehearse(records, (writing(oracles[0]), writing(oracles[1])), answering, rounds, most_yes)
    asked = tuple(question.text for question in done.questions)
    return Run(done.labels, tuple(scores(state, truth) for state in done.labels), asked)


def question_of(source: str, attributes: Sequence[str], recipe: Recipe | None = None) -> Question:
    """An oracle's question. One that cannot be read is a defect of the oracle."""
    question = Question(source, attributes=attributes, recipe=recipe)
    if not question.ok:
        raise ValueError(f"a simulated oracle wrote a question that cannot be read: {source!r}")
    return question


def needles_of(questions: Iterable[str], dataset: Dataset) -> list[str]:
    """Every needle of questions, as often as it is asked."""
    needles = (
        atom.arguments[0]
        for source in questions
        for atom in atoms_of(question_of(source, dataset.attributes, dataset.recipe).usable())
    )
    return [needle for needle in needles if isinstance(needle, str)]


# -- answers through an engine


def check_engine(name: str) -> None:
    """Refuse an engine that there is not."""
    if name not in (known := ("packed", "gates", "plain")):
        raise InputError(f"There is no engine {name}; there are {', '.join(known)}.")


def terms_for(
    records: Sequence[Record], attributes: Sequence[str], functions: Sequence[str], wording: Wording | None = None
) -> Terms:
    """Terms that fit these records: what the simulated questions use is encoded, and nothing else."""
    wording = wording or Wording()
    longest = max((len(record.whole) for record in records), default=1)
    longest_attribute = max((len(text) for record in records for text in record.attributes.values()), default=1)
    return Terms(
        attributes=tuple(attributes),
        record_length=max(1, longest),
        attribute_length=max(1, longest_attribute),
        encode_attributes=len(attributes) > 1,
        case="lower" if wording.lowered else "both",
        functions=tuple(functions),
        limits=Limits(needle_length=wording.needle_length),
        records=len(records),
    )


class ThroughEngine:
    """Answers through an engine, all in this process. The records of both sides are encrypted once, under one key,
    as the protocol does."""

    def __init__(self, engine: Engine, records: tuple[Sequence[Record], Sequence[Record]], terms: Terms) -> None:
        keys = engine.make_keys(terms)
        self._sides = [EncryptedRecords(engine, terms, side, keys=keys) for side in records]

    def __call__(self, side: int, questions: Sequence[Formula], records: Sequence[Record]) -> AnswerMatrix:  # noqa: ARG002
        """The answers, about the encrypted records of the other side."""
        return self._sides[1 - side].ask(questions)
