"""Questions to an engine with all parties in this process: keys, encryption, evaluation, decryption.

For dry runs, the public API, experiments, benchmarks and tests. It proves nothing about privacy, since everything is
here; it shows what an engine answers. A study does the same steps, each at another party (`blindlabel.parties`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np

from blindlabel.engines.interface import (
    IN_THIS_PROCESS,
    Answers,
    Engine,
    Evaluated,
    Keys,
    Outcome,
    QuestionError,
    Terms,
    Working,
    outcomes,
)
from blindlabel.language.formula import Formula, atoms_of
from blindlabel.language.record import Record


class EncryptedRecords:
    """Records under fresh keys, to ask questions about. `traffic` counts the bytes that the assist moved."""

    def __init__(
        self,
        engine: Engine,
        terms: Terms,
        records: Sequence[Record],
        *,
        keys: Keys | None = None,
        working: Working = IN_THIS_PROCESS,
    ) -> None:
        self.engine, self.terms, self.count, self.working = engine, terms, len(records), working
        self.keys = engine.make_keys(terms) if keys is None else keys
        self._tell("keys")
        self._records = records
        # Where their owner holds the key, records go out anew for every round, with randomness for its answers.
        self.parcels = self._encrypted(self.keys.public) if terms.keys == "coordinator" else []
        self.traffic = 0

    def _encrypted(self, key: bytes, questions: int = 0) -> list[bytes]:
        parcels = list(self.engine.encrypt(self.terms, key, self._records, questions, self.working))
        self._tell("encrypt")
        return parcels

    def ask(self, questions: Sequence[Formula]) -> Answers:
        """One row a question, one column a record."""
        if not questions:
            return np.zeros((0, self.count), dtype=np.bool_)
        for question in questions:
            reason = self.engine.refuse(self.terms, question)
            if reason is not None:
                raise QuestionError(reason)
        answers = self.decrypt(self.evaluate(questions), len(questions))
        self._tell("decrypt")
        return answers

    def evaluate(self, questions: Sequence[Formula]) -> list[Evaluated]:
        """The encrypted answers and their pads: the asking owner's part."""
        if self.terms.keys == "owners":
            self.parcels = self._encrypted(self.keys.secret, len(questions))
        evaluated = self.engine.evaluate(
            self.terms, self.keys.public, self.parcels, questions, self.assist, self.working
        )
        answers = list(evaluated)
        self._tell("evaluate")
        return answers

    def assist(self, request: bytes) -> bytes:
        """The coordinator's part of an evaluation."""
        reply = self.engine.assist(self.terms, self.keys.secret, request)
        self.traffic += len(request) + len(reply)
        return reply

    def decrypt(self, answers: Sequence[Evaluated], questions: int) -> Answers:
        """The key holder opens, and the coordinator compares with the pads."""
        parcels, pads = [one.parcel for one in answers], [one.pads for one in answers]
        opened = self.engine.open(self.terms, self.keys.secret, parcels, questions, self.count)
        padded = self.engine.pad_values(self.terms, pads, questions, self.count)
        found: Answers = outcomes(opened == padded) == Outcome.YES
        return found

    def _tell(self, phase: str) -> None:
        self.working.tell(phase, 1.0)


def terms_for(
    engine: Engine,
    questions: Sequence[Formula],
    records: Sequence[Record],
    attributes: Sequence[str],
    *,
    lowered: bool = False,
) -> Terms:
    """Terms that encode just what these questions ask of these records, with just the room that they take. (A study
    fixes its terms before any question is known.) `lowered` says that the records are in lower case.
    """
    asked = [atom for question in questions for atom in atoms_of(question)]
    views = {atom.view.attribute for atom in asked}
    encoded = Terms(
        attributes=tuple(attributes),
        agreement_hash=secrets.token_bytes(32),
        salt=secrets.token_bytes(16),
        record_length=max([1, *(len(record.whole) for record in records)]),
        attribute_length=max([1, *(len(text) for record in records for text in record.attributes.values())]),
        encode_whole=None in views or not views,
        encode_attributes=bool(views - {None}),
        case="lower" if lowered else "both",
        functions=tuple(sorted({atom.function for atom in asked} or {"is_in"})),
        records=max(1, len(records), len(questions)),  # columns are laid out for as many questions as records
    )
    return engine.least_terms(encoded, questions)


def ask(
    engine: Engine,
    questions: Sequence[Formula],
    records: Sequence[Record],
    attributes: Sequence[str],
    *,
    lowered: bool = False,
    working: Working = IN_THIS_PROCESS,
) -> Answers:
    """All questions over all records on one engine, from keys to answers."""
    terms = terms_for(engine, questions, records, attributes, lowered=lowered)
    return EncryptedRecords(engine, terms, records, working=working).ask(questions)
