"""What every engine does, whatever its cryptography. Pure computation: no network, no files of its own choosing.

A study's life on an engine:

1. the key holder calls `make_keys(terms)`: the coordinator, who gives the public part to every owner, or under
   `keys = "owners"` the owner of the records, who gives it to the one who asks;
2. an owner calls `encrypt(terms, key, records)`, which yields parcels (bytes) for the other owner;
3. the other owner calls `evaluate(terms, public, parcels, questions, assist)`, which yields answer parcels for the
   key holder, and *pads* that it keeps; `assist` carries requests to whoever holds the secret key and brings back the
   reply;
4. the key holder serves `assist(terms, secret, request)` and opens the answers with `open(terms, secret, parcels, …)`;
   `pad_values` puts the pads in the same form. A value of a pair is zero exactly where the two are equal, which
   `outcomes` reads. Where the coordinator holds the key there are no pads, and `decrypt` does all of it.

Every parcel and key begins with a header that names engine, version, parameters and agreement, and is checked before
the bytes reach any cryptographic library. What is wrong with foreign bytes is always a `ParcelError`; what an owner may
correct is a `RecordError` or `QuestionError`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import Field, StringConstraints

from blindlabel.engines.assisting import NO_CALLS, AssistCall, AssistPlace, AssistSchedule
from blindlabel.errors import InputError, OutsideError
from blindlabel.language.formula import Formula
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.settings import Setting

Answers = npt.NDArray[np.bool_]
"""A matrix: one row a question, one column a record."""

Assist = Callable[[bytes], bytes]
"""Carries one request to the holder of the secret key and returns the reply."""

Progress = Callable[[str, float], None]
"""Called with the name of a phase and the share of it that is done, 0 to 1."""


@dataclass(frozen=True)
class Working:
    """How an engine works: in how many processes, and who is told how far it is."""

    workers: int = 1
    progress: Progress | None = None

    def tell(self, phase: str, done: float) -> None:
        """So much of a phase is done."""
        if self.progress is not None:
            self.progress(phase, done)


IN_THIS_PROCESS = Working()
"""In this process, and nobody watches."""

Values = npt.NDArray[np.uint64]
"""What was opened, or the pads that it was opened with: [value, question, record]."""


class Outcome(IntEnum):
    """What whoever compares opened values with pads learns about a pair."""

    NO = 0
    YES = 1
    EXCLUDED = 2
    """Yes, but for an exclusion ("but not")."""


Outcomes = npt.NDArray[np.uint8]
"""Of pairs: one row a question, one column a record."""


def outcomes(equal: npt.NDArray[np.bool_]) -> Outcomes:
    """What it means that values [value, question, record] are equal to their pads: the first for a yes, the second as
    well where an exclusion takes it back.
    """
    found = np.where(equal[0], np.uint8(Outcome.YES), np.uint8(Outcome.NO))
    if len(equal) > 1:
        found[equal[0] & equal[1]] = Outcome.EXCLUDED
    return found


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

    A further setting for an engine is one more field here: the agreement's file, its text and `Terms` follow.
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
    ] = ("is_in", "starts_with", "ends_with", "equals", "has_word", "is_empty", "sounds_like", "far_from")
    questions: Annotated[
        Literal["points", "any"],
        Setting(
            '"points": conditions with points, a bar and exclusions, without the assist; "any": all the language has.'
        ),
    ] = "points"
    profile: Annotated[
        tuple[Annotated[int, Field(ge=1, le=255)], ...],
        Setting("points: the places of one question by weight; conditions with the same points take places alike."),
    ] = (4, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1)
    exclusions: Annotated[int, Setting('points: conditions that one question may exclude ("but not").', 0, 8)] = 2
    probes: Annotated[
        int, Setting("any: needles that one question has room for; 0: 16, more for similar and between.", 0, 512)
    ] = 0  # more than 512 would bring the error of hashing beyond 1e-6 a label
    inner_gates: Annotated[
        int, Setting("any: nested counts or alternatives of one question, on each level.", 0, 16)
    ] = 3
    inner_levels: Annotated[int, Setting("any: levels of nested counts or alternatives.", 0, 8)] = 1
    inner_weight: Annotated[
        int, Setting("any: largest sum of weights in a nested count; 0: 31, more for similar and between.", 0, 255)
    ] = 0

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
    keys: Literal["coordinator", "owners"] = "coordinator"
    """Who holds the key to an owner's encrypted records: the coordinator, or that owner alone."""
    key_bits: int = 0
    """Bits about one key that cheating askers may learn while it is used; its ring is chosen so that it can lose them.
    """


@dataclass(frozen=True)
class Keys:
    """Keys: the public part goes to whoever asks, the secret never leaves the key holder. Neither is shown where keys
    are printed: one is secret, and the other has hundreds of megabytes.
    """

    public: bytes = field(repr=False)
    secret: bytes = field(repr=False)


@dataclass(frozen=True)
class Evaluated:
    """Some answers: `parcel` leaves for the key holder, `pads` stay with whoever asked (empty where there are none)."""

    parcel: bytes = field(repr=False)
    pads: bytes = field(repr=False, default=b"")


class Engine(Protocol):
    """One way to answer questions about records without seeing them."""

    name: str

    def refuse(self, terms: Terms, question: Formula) -> str | None:
        """Why this engine cannot answer this question under these terms, as a sentence; None where it can."""
        ...

    def least_terms(self, terms: Terms, questions: Sequence[Formula]) -> Terms:
        """The terms with just the room that these questions take, for whoever knows them before it makes keys. Where no
        room would do, `refuse` says why.
        """
        ...

    def make_keys(self, terms: Terms) -> Keys:
        """New keys for a study."""
        ...

    def encrypt(
        self,
        terms: Terms,
        key: bytes,
        records: Sequence[Record],
        questions: int = 0,
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[bytes]:
        """The records as parcels that only the evaluation of questions can use. The key is the public one, or under
        `keys = "owners"` the secret one, and then `questions` says how many will be asked.
        """
        ...

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        assist: Assist,
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """All questions over all records: parcels of encrypted answers, ready to leave, with their pads."""
        ...

    def assist(self, terms: Terms, secret: bytes, request: bytes) -> bytes:
        """The coordinator's side of one assist call."""
        ...

    def assist_schedule(self, terms: Terms, questions: int, records: int) -> AssistSchedule:
        """The calls of one `evaluate` for so many questions and records, whatever the questions are."""
        ...

    def assist_call(self, terms: Terms, schedule: AssistSchedule, request: bytes) -> tuple[AssistPlace, AssistCall]:
        """Where a call says that it belongs, and what it is; nothing of it is decrypted."""
        ...

    def open(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Values:
        """The values of all pairs, each with its pad added."""
        ...

    def pad_values(self, terms: Terms, pads: Iterable[bytes], questions: int, records: int) -> Values:
        """The pads of all pairs, in the form of what was opened; zero where there are none."""
        ...

    def decrypt(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Answers:
        """The answers, one row a question and one column a record."""
        ...

    def zero_tests(self, terms: Terms) -> int:
        """How many bits about a key made for these terms may be lost before it has fewer than 128 left. `TermsError`
        where no key can bear what the terms say.
        """
        ...


class WithoutPads(ABC):
    """For engines whose answers are not padded: what is opened is zero for yes and one for no. They have room for
    whatever the terms allow.
    """

    def least_terms(self, terms: Terms, questions: Sequence[Formula]) -> Terms:  # noqa: ARG002
        """As they are."""
        return terms

    @abstractmethod
    def decrypt(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Answers:
        """The answers, one row a question and one column a record."""

    def open(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Values:
        """The values of all pairs."""
        return (~self.decrypt(terms, secret, parcels, questions, records))[None].astype(np.uint64)

    def pad_values(self, terms: Terms, pads: Iterable[bytes], questions: int, records: int) -> Values:  # noqa: ARG002
        """Zeros."""
        return np.zeros((1, questions, records), dtype=np.uint64)

    def assist_schedule(self, terms: Terms, questions: int, records: int) -> AssistSchedule:  # noqa: ARG002
        """Never."""
        return NO_CALLS

    def assist_call(self, terms: Terms, schedule: AssistSchedule, request: bytes) -> tuple[AssistPlace, AssistCall]:  # noqa: ARG002
        """There is none."""
        raise ParcelError("This engine needs no assist.")

    def zero_tests(self, terms: Terms) -> int:  # noqa: ARG002
        """None: there is no key, or it has no bit to spare."""
        return 0
