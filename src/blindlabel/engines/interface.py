"""What every engine does, whatever its cryptography. Pure computation: no network, no files of its own choosing.

A study's life on an engine:

1. the coordinator calls `make_keys(terms)` and gives the public part to every owner;
2. an owner calls `encrypt(terms, public, records)`, which yields parcels (bytes) for the other owner;
3. the other owner calls `evaluate(terms, public, parcels, questions, assist)`, which yields answer parcels for the
   coordinator; `assist` carries requests to whoever holds the secret key and brings back the reply;
4. the coordinator serves `assist(terms, secret, request)` and reads the answers with `decrypt(terms, secret, parcels,
   …)`.

Every parcel and key begins with a header that names engine, version, parameters and agreement, and is checked before
the bytes reach any cryptographic library. What is wrong with foreign bytes is always a `ParcelError`; what an owner may
correct is a `RecordError` or `QuestionError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import Field, StringConstraints

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
    ] = ("is_in", "starts_with", "ends_with", "equals", "has_word", "is_empty", "sounds_like")
    questions: Annotated[
        Literal["points", "any"],
        Setting(
            '"points": conditions with points, a bar and exclusions, without the assist; "any": all the language has.'
        ),
    ] = "any"
    profile: Annotated[
        tuple[Annotated[int, Field(ge=1, le=255)], ...],
        Setting("points: the places of one question by weight; conditions with the same points take places alike."),
    ] = (4, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1)
    exclusions: Annotated[int, Setting('points: conditions that one question may exclude ("but not").', 0, 8)] = 2
    counting: Annotated[
        bool, Setting("Whether questions may count (3*is_in(...) + is_in(...) >= 3); needs the assist.")
    ] = True
    negation: Annotated[bool, Setting("Whether questions may negate; needs the assist.")] = True
    probes: Annotated[
        int, Setting("packed: needles that one question has room for; 0: 16, more for similar and between.", 0, 512)
    ] = 0  # more than 512 would bring the error of hashing beyond 1e-6 a label
    inner_gates: Annotated[
        int, Setting("packed: nested counts or alternatives of one question, on each level.", 0, 16)
    ] = 3
    inner_levels: Annotated[int, Setting("packed: levels of nested counts or alternatives.", 0, 8)] = 1
    inner_weight: Annotated[
        int,
        Setting("packed: largest sum of weights in a nested count; 0: 31, more for similar and between.", 0, 255),
    ] = 0
    alternatives: Annotated[
        int, Setting("packed without counting and negation: what one clause may multiply out to (2: one OR).", 1, 32)
    ] = 2
    clauses: Annotated[
        int, Setting("packed without counting and negation: clauses, all of which must hold.", 1, 16)
    ] = 1

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


@dataclass(frozen=True)
class Keys:
    """A study's keys: the public part goes to all owners, the secret never leaves the coordinator. Neither is shown
    where keys are printed: one is secret, and the other has hundreds of megabytes.
    """

    public: bytes = field(repr=False)
    secret: bytes = field(repr=False)


class Engine(Protocol):
    """One way to answer questions about records without seeing them."""

    name: str

    def refuse(self, terms: Terms, question: Formula) -> str | None:
        """Why this engine cannot answer this question under these terms, as a sentence; None where it can."""
        ...

    def make_keys(self, terms: Terms) -> Keys:
        """New keys for a study."""
        ...

    def encrypt(
        self,
        terms: Terms,
        public: bytes,
        records: Sequence[Record],
        *,
        workers: int = 1,
        progress: Progress | None = None,
    ) -> Iterator[bytes]:
        """The records as parcels that only the evaluation of questions can use."""
        ...

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        assist: Assist,
        *,
        workers: int = 1,
        progress: Progress | None = None,
    ) -> Iterator[bytes]:
        """All questions over all records: parcels of encrypted answers, ready to leave."""
        ...

    def assist(self, terms: Terms, secret: bytes, request: bytes) -> bytes:
        """The coordinator's side of one assist call."""
        ...

    def decrypt(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Answers:
        """The answers, one row a question and one column a record."""
        ...
