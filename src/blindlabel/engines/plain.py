"""The plain engine: no encryption at all. The reference that every other engine is held to, and the one for dry runs
and tests.

Its "ciphertexts" are readable, so it protects nothing; an agreement that names it tells everybody. It has the shape of
the other engines: keys, parcels with headers, answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from blindlabel.engines.allowed import check_record, refuse_question
from blindlabel.engines.interface import (
    IN_THIS_PROCESS,
    Evaluated,
    Explained,
    KeyPair,
    ParcelError,
    Terms,
    Values,
    Working,
)
from blindlabel.language.formula import Formula, evaluate
from blindlabel.language.record import Record

_MAGIC = b"blindlabel plain 1\n"


def _pack(terms: Terms, kind: str, content: Any) -> bytes:
    document = {"agreement": terms.agreement_hash.hex(), "kind": kind, "content": content}
    return _MAGIC + json.dumps(document, ensure_ascii=True, sort_keys=True).encode("ascii")


def _unpack(terms: Terms, kind: str, parcel: bytes) -> Any:
    if not parcel.startswith(_MAGIC):
        raise ParcelError("These bytes are not a parcel of the plain engine.")
    try:
        document = json.loads(parcel[len(_MAGIC) :])
        if document["agreement"] != terms.agreement_hash.hex():
            raise ParcelError("This parcel belongs to another agreement.")
        if document["kind"] != kind:
            raise ParcelError(f"This parcel holds {document['kind']}, not {kind}.")
        return document["content"]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise ParcelError("This parcel is damaged.") from problem


def _encoded(terms: Terms, record: Record) -> list[Any]:
    """What the agreement encodes of a record, and nothing else."""
    attributes = dict(record.attributes) if terms.encode_attributes else {}
    return [attributes, record.whole if terms.encode_whole else ""]


class PlainEngine:
    """Answers questions on clear records, through the interface of all engines. It is its own rules."""

    name = "plain"
    unbounded = "NO BOUND: the plain engine encrypts nothing, so whoever asks can read every record that is asked."
    engine = "blindlabel.engines.plain:PlainEngine"

    def outcomes(self, terms: Terms) -> int:  # noqa: ARG002
        """No and yes."""
        return 2

    def least_terms(self, terms: Terms, questions: Sequence[Formula]) -> Terms:  # noqa: ARG002
        """The terms as they are: there is always room."""
        return terms

    def zero_tests(self, terms: Terms) -> int:  # noqa: ARG002
        """0: there is no key."""
        return 0

    def explain(self, terms: Terms, question: Formula) -> Explained | None:  # noqa: ARG002
        """Nothing to explain."""
        return None

    def refuse(self, terms: Terms, question: Formula) -> str | None:
        """The plain engine only refuses what the agreement does not encode."""
        return refuse_question(terms, question)

    def make_keys(self, terms: Terms) -> KeyPair:
        """Keys that keep nothing secret."""
        return KeyPair(public=_pack(terms, "public key", None), secret=_pack(terms, "secret key", None))

    def encrypt(
        self,
        terms: Terms,
        secret: bytes,
        records: Sequence[Record],
        questions: int,  # noqa: ARG002
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[bytes]:
        """The records, readable."""
        _unpack(terms, "secret key", secret)
        for number, record in enumerate(records, start=1):
            check_record(terms, record, number)
        yield _pack(terms, "records", [_encoded(terms, record) for record in records])
        working.tell("encrypt", 1.0)

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """The answers, readable: one parcel for each parcel of records."""
        _unpack(terms, "public key", public)
        for parcel in parcels:
            try:
                records = [
                    Record({str(k): str(v) for k, v in one.items()}, str(whole))
                    for one, whole in _unpack(terms, "records", parcel)
                ]
            except (ValueError, TypeError, AttributeError) as problem:
                raise ParcelError("This parcel is damaged.") from problem
            answers = []
            for i, question in enumerate(questions):
                answers.append("".join("1" if evaluate(question, record) else "0" for record in records))
                working.tell("evaluate", (i + 1) / len(questions))
            yield Evaluated(_pack(terms, "answers", answers))

    def open(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Values:
        """Zero for yes and one for no."""
        _unpack(terms, "secret key", secret)
        blocks = []
        for parcel in parcels:
            rows = _unpack(terms, "answers", parcel)
            lengths = (
                {len(row) for row in rows}
                if isinstance(rows, list) and all(isinstance(row, str) for row in rows)
                else {-1}
            )
            if len(rows) != questions or len(lengths) > 1 or -1 in lengths:
                raise ParcelError("These answers have another shape than was asked for.")
            said = [[character != "1" for character in row] for row in rows]
            blocks.append(np.array(said, dtype=np.uint64).reshape(questions, -1))
        values = np.concatenate(blocks, axis=1) if blocks else np.zeros((questions, 0), dtype=np.uint64)
        if values.shape != (questions, records):
            raise ParcelError("These answers have another shape than was asked for.")
        return values[None]

    def pad_values(self, terms: Terms, pads: Iterable[bytes], questions: int, records: int) -> Values:  # noqa: ARG002
        """Zeros: nothing is padded."""
        return np.zeros((1, questions, records), dtype=np.uint64)
