"""The gates engine in this process: `Engine` over OpenFHE's BinFHE, one bootstrapped gate after the other, with no
assist.

What the coordinator gets for an answer is the circuit's output put through one more gate, AND with a fresh encryption
of true. So also a constant answer is a proper ciphertext, and every answer has the noise of one bootstrapping of a
fresh random mask, whatever circuit came before it. That is a measure, not a proof of circuit privacy
(docs/gates-engine.md). How long evaluation takes depends on the questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from blindlabel.engines.allowed import check_records
from blindlabel.engines.gates import parcels
from blindlabel.engines.gates.base import AnyGatesEngine, Asked
from blindlabel.engines.gates.circuit import run
from blindlabel.engines.gates.compiling import Compiled
from blindlabel.engines.gates.forking import in_forks
from blindlabel.engines.gates.layout import Layout
from blindlabel.engines.gates.library import EncryptedGates, context
from blindlabel.engines.gates.parcels import Kind, Values
from blindlabel.engines.interface import IN_THIS_PROCESS, Answers, Keys, ParcelError, Progress, Terms, Working
from blindlabel.language.record import Record


class LocalGatesEngine(AnyGatesEngine):
    """Implements `Engine`. Needs openfhe when it is used, not when it is made."""

    def make_keys(self, terms: Terms) -> Keys:
        fresh = EncryptedGates()
        public, secret = fresh.make_keys()
        key_id = parcels.key_id_of(public)
        _remember(key_id, fresh)
        return Keys(
            parcels.sealed(Kind.PUBLIC, terms, key_id, public), parcels.sealed(Kind.SECRET, terms, key_id, secret)
        )

    def encrypt(
        self,
        terms: Terms,
        key: bytes,
        records: Sequence[Record],
        questions: int = 0,  # noqa: ARG002
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[bytes]:
        check_records(terms, records)
        layout = Layout.of(terms)
        bits = [layout.bits(record) for record in records]  # what does not fit is said before any work
        key_id, library = _with_public_key(terms, key)
        for number, record in enumerate(bits):  # in this process: it is little work, and a forked one must not encrypt
            values = library.values_of([library.encrypt(bit) for bit in record])
            working.tell("encrypt", (number + 1) / len(bits))
            yield parcels.batch(Kind.RECORD, terms, key_id, record=number, values=values)

    def answered(self, terms: Terms, public: bytes, parcels: Iterable[bytes], asked: Asked) -> Iterator[bytes]:
        key_id, library = _with_public_key(terms, public)
        progress, workers = asked.working.tell, asked.working.workers
        work = _Work(terms, key_id, asked.circuit, library, progress if workers <= 1 else None)

        def tasks() -> Iterator[_Task]:
            for number, parcel in enumerate(parcels):
                if number == terms.records:
                    raise ParcelError(f"There are more encrypted records than the {terms.records} of the agreement.")
                # Made here, before and outside any forked process: OpenFHE's random numbers must not be shared.
                masks = library.values_of([library.encrypt(True) for _ in asked.questions])
                yield _Task(number, parcel, masks)

        for number, answers in enumerate(in_forks(_answered, work, tasks(), workers)):
            progress("evaluate", min(1.0, (number + 1) / max(1, terms.records)))
            yield answers

    def decrypt(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Answers:
        return _decrypted(terms, secret, parcels, questions, records)


def _decrypted(terms: Terms, secret: bytes, answers: Iterable[bytes], questions: int, records: int) -> Answers:
    key_id, body = parcels.opened(Kind.SECRET, terms, secret)
    library = context()
    key = library.secret_key(body)
    result = np.zeros((questions, records), dtype=np.bool_)
    count = 0
    for parcel in answers:
        if count == records:
            raise ParcelError(f"There are answers about more than the {records} records.")
        values = parcels.opened_batch(Kind.ANSWERS, terms, parcel, key_id, record=count, count=questions)
        result[:, count] = [library.decrypt(key, ciphertext) for ciphertext in library.ciphertexts_of(values)]
        count += 1
    if count != records:
        raise ParcelError(f"There are answers about {count} records, and {records} were asked about.")
    return result


# -- evaluating one record


@dataclass(frozen=True)
class _Work:
    """What is the same for all records."""

    terms: Terms
    key_id: bytes
    circuit: Compiled
    library: EncryptedGates
    progress: Progress | None
    """Told after every gate; None in forked processes, which cannot."""


@dataclass(frozen=True)
class _Task:
    """One record, and an encryption of true for each of its answers."""

    number: int
    parcel: bytes
    masks: Values


def _answered(work: _Work, task: _Task) -> bytes:
    library, circuit = work.library, work.circuit
    size = Layout.of(work.terms).size
    values = parcels.opened_batch(Kind.RECORD, work.terms, task.parcel, work.key_id, record=task.number, count=size)
    wanted = circuit.netlist.inputs_of(circuit.answers)
    inputs = dict(zip(wanted, library.ciphertexts_of(values[wanted])))
    whole = max(1, circuit.gates * work.terms.records)

    def done(gates: int) -> None:
        if work.progress is not None:
            work.progress("evaluate", min(1.0, (task.number * circuit.gates + gates) / whole))

    outputs = run(circuit.netlist, circuit.answers, inputs, library, done)
    masked = [library.and_(output, mask) for output, mask in zip(outputs, library.ciphertexts_of(task.masks))]
    return parcels.batch(Kind.ANSWERS, work.terms, work.key_id, record=task.number, values=library.values_of(masked))


# -- keys

_loaded: dict[bytes, EncryptedGates] = {}
"""The last public key used in this process: 0.9 GB that take seconds to load."""


def _remember(key_id: bytes, library: EncryptedGates) -> None:
    _loaded.clear()
    _loaded[key_id] = library


def _with_public_key(terms: Terms, public: bytes) -> tuple[bytes, EncryptedGates]:
    key_id, body = parcels.opened(Kind.PUBLIC, terms, public)
    if key_id not in _loaded:
        library = EncryptedGates()
        library.load_public_key(body)
        _remember(key_id, library)
    return key_id, _loaded[key_id]
