"""What every engine does, whatever its cryptography. Pure computation: no network, no files of its own choosing.

A round's life on an engine:

1. the owner of the records calls `make_keys(terms)` and gives the public part to the asker;
2. it calls `encrypt(terms, secret, records, questions)`, which yields parcels (bytes) for the asker;
3. the asker calls `evaluate(terms, public, parcels, questions)`, which yields answer parcels for the owner of the
   records, and *pads* that it keeps;
4. the owner of the records opens the answers with `open(terms, secret, parcels, …)`, and `pad_values` puts the asker's
   pads in the same form. Somebody else compares the values of a pair and learns which are equal; `outcomes` says what
   that means.

What needs no key and no homomorphic library is an engine's `Rules`: which questions it takes, what its keys can bear,
what a round costs. The coordinator has nothing more than that.

Every parcel and key begins with a header that names engine, version, parameters and agreement, and is checked before
the bytes reach any cryptographic library. Whatever is wrong with bytes from others is a `ParcelError`; what an owner
can correct is a `RecordError` or `QuestionError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import Field, StringConstraints

from blindlabel.errors import InputError, OutsideError
from blindlabel.language.formula import Formula
from blindlabel.language.limits import DEFAULT_FUNCTIONS, DEFAULT_PROFILE, Limits
from blindlabel.language.record import Record
from blindlabel.settings import Setting

AnswerMatrix = npt.NDArray[np.bool_]
"""A matrix: one row per question, one column per record."""

Progress = Callable[[str, float], None]
"""Called with the name of a phase and the share of it that is done, 0 to 1."""


@dataclass(frozen=True)
class Working:
    """How an engine works: where, whom it tells how far it is, and where it keeps finished answers."""

    workers: int = 1
    """Processes on this machine."""
    progress: Progress | None = None
    journal: Path | None = None
    """A folder, so that a stopped evaluation continues where it was; None: nothing is kept."""
    cluster: str = ""
    """Address of a cluster whose machines evaluate; empty: none."""

    def tell(self, phase: str, done: float) -> None:
        """Say how much of a phase is done."""
        if self.progress is not None:
            self.progress(phase, done)


IN_THIS_PROCESS = Working()
"""In this process, and nobody watches."""

Values = npt.NDArray[np.uint64]
"""What was opened, or the pads that it was opened with: [value, question, record]."""


class Outcome(IntEnum):
    """What the comparison of opened values with pads says about a pair."""

    NO = 0
    YES = 1
    EXCLUDED = 2
    """Yes, but for an exclusion ("but not")."""
    RESTORED = 3
    """Yes, and an exclusion does not hold because of an exception to it ("unless")."""


Outcomes = npt.NDArray[np.uint8]
"""Outcomes of pairs: one row per question, one column per record."""


def outcomes(equal: npt.NDArray[np.bool_]) -> Outcomes:
    """What it means that values [value, question, record] are equal to their pads: the first for a yes, the second as
    well unless an exclusion takes the yes back, the third as well unless an exception gives it back.
    """
    found = np.zeros(equal.shape[1:], dtype=np.uint8)
    so_far = np.ones(equal.shape[1:], dtype=np.bool_)
    for outcome, one in zip((Outcome.YES, Outcome.EXCLUDED, Outcome.RESTORED), equal):
        so_far = so_far & one
        found[so_far] = outcome
    return found


def is_yes(found: Outcomes) -> AnswerMatrix:
    """Which outcomes are a yes."""
    answers: AnswerMatrix = (found == Outcome.YES) | (found == Outcome.RESTORED)
    return answers


class EngineError(Exception):
    """The engine cannot go on. The message is a sentence for a person."""


class TermsError(EngineError, InputError):
    """The agreement asks for something that the engine cannot give."""


class ParcelError(EngineError, OutsideError):
    """Bytes from outside are not what they should be: damaged, of another study, of other keys or parameters."""


class RecordError(EngineError, InputError):
    """A record does not fit what the agreement encodes."""


class QuestionError(EngineError, InputError):
    """A question needs something the agreement does not encode or allow."""


class WorkerLost(EngineError, OutsideError):
    """A process that worked for the engine was killed, or died for want of memory. Trying again may help."""


class EngineUnavailable(EngineError, OutsideError):
    """The library behind this engine cannot be used on this machine."""


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """The settings of an agreement that engines need: what is encrypted of a record, and the room a question has.

    A new setting for an engine is a new field here: the agreement's file, its text and `Terms` follow.
    """

    record_length: Annotated[int, Setting("Longest whole record in characters, after preparation.", 1, 100_000)] = 148
    attribute_length: Annotated[int | None, Setting("Longest single attribute; absent: as the record.", 1, 100_000)] = (
        None
    )
    encode_whole: Annotated[
        bool, Field(alias="whole"), Setting("Whether questions may look at the whole record ($r).")
    ] = True
    encode_attributes: Annotated[
        bool, Field(alias="attributes"), Setting("Whether questions may look at single attributes ($r.name).")
    ] = True
    functions: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...],
        Setting("The functions that can be asked; each makes the encrypted records larger."),
    ] = DEFAULT_FUNCTIONS
    profile: Annotated[
        tuple[Annotated[int, Field(ge=1, le=255)], ...],
        Setting("The places of one question by weight; conditions with the same points take places alike."),
    ] = DEFAULT_PROFILE
    exclusions: Annotated[int, Setting('Conditions of one question that take a yes back ("but not").', 0, 8)] = 2
    unless: Annotated[int, Setting('Conditions of one question that give it back ("unless").', 0, 8)] = 2

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}


@dataclass(frozen=True)
class Terms(Encoded):
    """The part of an agreement that engines need. Everything in it is public."""

    attributes: tuple[str, ...]
    agreement_hash: bytes = bytes(32)
    salt: bytes = bytes(16)
    """Public, chosen at random for each study; hashing is salted with it."""
    case: str = "both"
    """`both`: exact and lower (and with it upper) can be asked; `lower`: prepared records are in lower case, so one
    view serves both.
    """
    limits: Limits = field(default_factory=Limits)
    records: int = 50
    """Records per owner in the sample, at most."""
    key_bits: int = 0
    """Bits about one key that cheating askers may learn while it is used; the ring is chosen so that it can lose them.
    """


@dataclass(frozen=True)
class KeyPair:
    """Keys: the public part goes to whoever asks, the secret never leaves the owner of the records. Neither is shown
    when keys are printed: one is secret, and the other has hundreds of megabytes.
    """

    public: bytes = field(repr=False)
    secret: bytes = field(repr=False)


@dataclass(frozen=True)
class Evaluated:
    """Some answers: `parcel` leaves for the owner of the records, `pads` stay with whoever asked."""

    parcel: bytes = field(repr=False)
    pads: bytes = field(repr=False, default=b"")


@dataclass(frozen=True)
class Explained:
    """What an engine makes of a question, and what a round of such questions costs, judged by the agreement alone."""

    parameters: str
    predicates: list[str]
    """What is asked of the encrypted records, numbered from 0."""
    places: list[str]
    """What is on the question's places, then its exclusions, then its exceptions."""
    wrong: float
    """The probability that a label is wrong, at most."""
    seconds: float
    """Seconds of one core for a round with as many questions as records."""
    bytes: dict[str, int]
    """Bytes of one direction of such a round: keys, records, answers."""


class Rules(Protocol):
    """What is known about an engine without keys."""

    name: str
    unbounded: str
    """What to say if nothing bounds what a cheating owner learns; empty if the account of bits does."""
    engine: str
    """Where the engine itself is, as module:factory; importing it may need a homomorphic library."""

    def outcomes(self, terms: Terms) -> int:
        """How many outcomes a pair can have for whoever compares its values."""

    def refuse(self, terms: Terms, question: Formula) -> str | None:
        """Why this engine cannot answer this question under these terms, as a sentence, or None if it can."""

    def least_terms(self, terms: Terms, questions: Sequence[Formula]) -> Terms:
        """The terms with just the room that these questions need, for callers that know them before keys are made. If
        no room would do, `refuse` says why.
        """

    def zero_tests(self, terms: Terms) -> int:
        """How many bits about a key made for these terms may be lost before it has fewer than 128 left. `TermsError` if
        no key can bear what the terms say.
        """

    def explain(self, terms: Terms, question: Formula) -> Explained | None:
        """The plan of a question under these terms, and what a round of such questions costs; None: not known."""


class Engine(Rules, Protocol):
    """One way to answer questions about records without seeing them."""

    def make_keys(self, terms: Terms) -> KeyPair:
        """New keys, for one asker and one round."""

    def encrypt(
        self, terms: Terms, secret: bytes, records: Sequence[Record], questions: int, working: Working = IN_THIS_PROCESS
    ) -> Iterator[bytes]:
        """The records as parcels that only the evaluation of questions can use, and randomness for the answers to this
        many questions.
        """

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """All questions over all records: parcels of encrypted answers, ready to leave, with their pads."""

    def open(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Values:
        """The values of all pairs, each with its pad added."""

    def pad_values(self, terms: Terms, pads: Iterable[bytes], questions: int, records: int) -> Values:
        """The pads of all pairs, in the form of what was opened."""
