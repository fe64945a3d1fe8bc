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
from typing import Protocol

import numpy as np
import numpy.typing as npt

from blindlabel.errors import InputError, OutsideError
from blindlabel.language.formula import Formula
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record

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


@dataclass(frozen=True)
class Terms:
    """The part of an agreement that engines need. Everything in it is public."""

    attributes: tuple[str, ...]
    agreement_hash: bytes = bytes(32)
    salt: bytes = bytes(16)
    """Public, chosen at random for each study; hashing is salted with it."""
    record_length: int = 148
    """Longest whole record, in characters, after preparation."""
    attribute_length: int | None = None
    """Longest single attribute; None: as the record."""
    encode_whole: bool = True
    """Whether questions may look at $r as one text."""
    encode_attributes: bool = True
    """Whether questions may look at single attributes."""
    case: str = "both"
    """`both`: exact and lower (and with it upper) can be asked; `lower`: prepared records are in lower case, so one
    view serves both.
    """
    functions: tuple[str, ...] = ("is_in", "starts_with", "ends_with", "equals", "has_word", "is_empty", "sounds_like")
    """The predicates that can be asked; `common_words` needs has_word and counting."""
    counting: bool = True
    """Whether counts may be asked (they need the assist)."""
    negation: bool = True
    """Whether negation may be asked (it needs the assist)."""
    limits: Limits = field(default_factory=Limits)
    records: int = 50
    """Records per owner in the sample, at most."""
    probes: int = 0
    """Packed engine: set elements that one question may ask about (a needle is one); 0: 16, and more where `similar` or
    `between` are listed.
    """
    inner_gates: int = 3
    """Packed engine: parts of one question, a level, that are worked out on their own before the last step (counts
    inside counts, …).
    """
    inner_levels: int = 1
    """Packed engine: levels of such parts."""
    inner_weight: int = 0
    """Packed engine: largest sum of weights of such a part; 0: 31, and more where `similar` or `between` are listed."""
    alternatives: int = 2
    """Packed engine without counting and negation: alternatives that one clause may multiply out to (2: one OR)."""
    clauses: int = 1
    """Packed engine without counting and negation: clauses, all of which must hold."""


@dataclass(frozen=True)
class Keys:
    """A study's keys: the public part goes to all owners, the secret never leaves the coordinator."""

    public: bytes
    secret: bytes


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
