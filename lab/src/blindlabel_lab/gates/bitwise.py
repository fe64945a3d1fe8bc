"""The gates engine in this process: `Engine` over OpenFHE's BinFHE, one bootstrapped gate after the other.

The owner of the records encrypts with its secret key. Whoever asks draws a random bit for each pair, the pad, encrypts
it afresh under the public key, and puts it and the circuit's answer through one more gate: what leaves is NOT(answer)
XOR pad, so that the bit that is opened equals the pad exactly for a yes, and by itself says nothing. The pad enters
inside that gate, not by a negation behind it, which would turn the sign of the ciphertext's noise and might show. So
also a constant answer is a proper ciphertext, with the noise of a bootstrapping of fresh random input, whatever
circuit came before. That is a measure, not a proof of circuit privacy (docs/laboratory/gates-engine.md). How long
evaluation takes depends on the questions.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from blindlabel.engines.allowed import check_records
from blindlabel.engines.interface import (
    IN_THIS_PROCESS,
    Evaluated,
    KeyPair,
    ParcelError,
    Progress,
    Terms,
    Values,
    Working,
)
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record
from blindlabel_lab.gates import GatesRules, ciphertexts
from blindlabel_lab.gates.binfhe import EncryptedGates, context, in_forks
from blindlabel_lab.gates.ciphertexts import Content, Numbers
from blindlabel_lab.gates.circuits import run
from blindlabel_lab.gates.record_circuits import QuestionCircuits, RecordBits, compiled


class GatesEngine(GatesRules):
    """Implements `Engine`. Needs openfhe when it is used, not when it is made."""

    def make_keys(self, terms: Terms) -> KeyPair:
        """New keys; the public one has half a gigabyte."""
        public, secret = EncryptedGates().make_keys()
        key_id = ciphertexts.key_id_of(public)
        return KeyPair(
            ciphertexts.sealed(Content.PUBLIC, terms, key_id, public),
            ciphertexts.sealed(Content.SECRET, terms, key_id, secret),
        )

    def encrypt(
        self,
        terms: Terms,
        secret: bytes,
        records: Sequence[Record],
        questions: int,  # noqa: ARG002 - the asker makes its own randomness
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[bytes]:
        """One parcel a record."""
        check_records(terms, records)
        layout = RecordBits.of(terms)
        bits = [layout.bits(record) for record in records]  # what does not fit is said before any work
        key_id, body = ciphertexts.opened(Content.SECRET, terms, secret)
        library = context()
        key = library.secret_key(body)
        for number, record in enumerate(bits):
            numbers = library.numbers_of([library.encrypt(key, bit) for bit in record])
            working.tell("encrypt", (number + 1) / len(bits))
            yield ciphertexts.batch(Content.RECORD, terms, key_id, record=number, numbers=numbers)

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """One parcel of answers for each record."""
        circuits = compiled(terms, questions)
        key_id, library = _with_public_key(terms, public)
        work = _Evaluation(terms, key_id, circuits, library, working.tell if working.workers <= 1 else None)
        answered = in_forks(_answered, work, _tasks(work, parcels), working.workers)
        for number, one in enumerate(answered):
            working.tell("evaluate", min(1.0, (number + 1) / terms.records))
            yield one

    def open(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Values:
        """The bits that were sent: each is its pad for a yes, and the other one for a no."""
        key_id, body = ciphertexts.opened(Content.SECRET, terms, secret)
        library = context()
        key = library.secret_key(body)
        columns = []
        for number, parcel in enumerate(parcels):
            if number == records:
                raise ParcelError(f"There are answers about more than the {records} records.")
            numbers = ciphertexts.opened_batch(Content.ANSWERS, terms, parcel, key_id, record=number, count=questions)
            columns.append([library.decrypt(key, one) for one in library.ciphertexts_of(numbers)])
        return _values(columns, questions, records)

    def pad_values(self, terms: Terms, pads: Iterable[bytes], questions: int, records: int) -> Values:  # noqa: ARG002
        """The random bits, a byte each."""
        return _values(list(map(list, pads)), questions, records)


def _values(columns: Sequence[Sequence[int]], questions: int, records: int) -> Values:
    """One column a record, as values [1, question, record]."""
    if len(columns) != records or any(len(column) != questions for column in columns):
        raise ParcelError(
            f"{records} records and {questions} questions were asked about, and these are answers for"
            f" {len(columns)} records."
        )
    return np.array(columns, dtype=np.uint64).reshape(records, questions).T[None]


# -- evaluating one record


@dataclass(frozen=True)
class _Evaluation:
    """What is the same for all records."""

    terms: Terms
    key_id: bytes
    circuits: QuestionCircuits
    library: EncryptedGates
    progress: Progress | None
    """Told after every gate; None in forked processes, which cannot."""


@dataclass(frozen=True)
class _RecordTask:
    """One record, a random bit for each of its answers, and fresh encryptions of those."""

    number: int
    parcel: bytes
    pads: bytes
    encrypted_pads: Numbers


def _tasks(work: _Evaluation, parcels: Iterable[bytes]) -> Iterator[_RecordTask]:
    """Made outside any forked process: OpenFHE's random numbers must not be shared."""
    for number, parcel in enumerate(parcels):
        if number == work.terms.records:
            raise ParcelError(f"There are more encrypted records than the {work.terms.records} of the agreement.")
        pads = bytes(secrets.randbits(1) for _ in work.circuits.answers)
        fresh = work.library.numbers_of([work.library.encrypt_publicly(bool(pad)) for pad in pads])
        yield _RecordTask(number, parcel, pads, fresh)


def _answered(work: _Evaluation, task: _RecordTask) -> Evaluated:
    library, circuits = work.library, work.circuits
    size = RecordBits.of(work.terms).size
    numbers = ciphertexts.opened_batch(
        Content.RECORD, work.terms, task.parcel, work.key_id, record=task.number, count=size
    )
    wanted = circuits.netlist.inputs_of(circuits.answers)
    inputs = dict(zip(wanted, library.ciphertexts_of(numbers[wanted])))
    whole = max(1, circuits.gates * work.terms.records)

    def done(gates: int) -> None:
        if work.progress is not None:
            work.progress("evaluate", min(1.0, (task.number * circuits.gates + gates) / whole))

    outputs = run(circuits.netlist, circuits.answers, inputs, library, done)
    padded = [library.xnor(answer, pad) for answer, pad in zip(outputs, library.ciphertexts_of(task.encrypted_pads))]
    numbers = library.numbers_of(padded)
    parcel = ciphertexts.batch(Content.ANSWERS, work.terms, work.key_id, record=task.number, numbers=numbers)
    return Evaluated(parcel, task.pads)


# -- keys

_loaded: dict[bytes, EncryptedGates] = {}
"""The last public key used in this process: 0.9 GB that take seconds to load."""


def _with_public_key(terms: Terms, public: bytes) -> tuple[bytes, EncryptedGates]:
    key_id, body = ciphertexts.opened(Content.PUBLIC, terms, public)
    if key_id not in _loaded:
        library = EncryptedGates()
        library.load_public_key(body)
        _loaded.clear()
        _loaded[key_id] = library
    return key_id, _loaded[key_id]
