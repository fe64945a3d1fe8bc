"""Questions to an engine with all parties in this process: keys, encryption, evaluation, opening.

For dry runs, the public API, experiments, benchmarks and tests. It proves nothing about privacy, because everything is
in one place; it shows what an engine answers. A study takes the same steps, each at a different party
(`blindlabel.parties`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np

from blindlabel.engines.interface import (
    IN_THIS_PROCESS,
    AnswerMatrix,
    Engine,
    Evaluated,
    KeyPair,
    QuestionError,
    Terms,
    Working,
    is_yes,
    outcomes,
)
from blindlabel.language.formula import Formula, atoms_of
from blindlabel.language.record import Record


class EncryptedRecords:
    """Records under fresh keys, to ask questions about."""

    def __init__(
        self,
        engine: Engine,
        terms: Terms,
        records: Sequence[Record],
        *,
        keys: KeyPair | None = None,
        working: Working = IN_THIS_PROCESS,
    ) -> None:
        self.engine, self.terms, self.count, self.working = engine, terms, len(records), working
        self.keys = engine.make_keys(terms) if keys is None else keys
        self._tell("keys")
        self._records = records
        self.parcels: list[bytes] = []
        """Parcels of the last round: records are sent again in each round, with randomness for its answers."""

    def ask(self, questions: Sequence[Formula]) -> AnswerMatrix:
        """One row per question, one column per record."""
        if not questions:
            return np.zeros((0, self.count), dtype=np.bool_)
        for question in questions:
            reason = self.engine.refuse(self.terms, question)
            if reason is not None:
                raise QuestionError(reason)
        answers = self.open(self.evaluate(questions), len(questions))
        self._tell("open")
        return answers

    def evaluate(self, questions: Sequence[Formula]) -> list[Evaluated]:
        """The encrypted answers and their pads: the asking owner's part."""
        self.parcels = list(
            self.engine.encrypt(self.terms, self.keys.secret, self._records, len(questions), self.working)
        )
        self._tell("encrypt")
        answers = list(self.engine.evaluate(self.terms, self.keys.public, self.parcels, questions, self.working))
        self._tell("evaluate")
        return answers

    def open(self, answers: Sequence[Evaluated], questions: int) -> AnswerMatrix:
        """The owner of the records opens the answers, and somebody compares them with the pads."""
        parcels, pads = [one.parcel for one in answers], [one.pads for one in answers]
        opened = self.engine.open(self.terms, self.keys.secret, parcels, questions, self.count)
        return is_yes(outcomes(opened == self.engine.pad_values(self.terms, pads, questions, self.count)))

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
    """Terms that encode just what these questions ask about these records, with just the room that they need. (A study
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
) -> AnswerMatrix:
    """All questions over all records on one engine, from keys to answers."""
    terms = terms_for(engine, questions, records, attributes, lowered=lowered)
    return EncryptedRecords(engine, terms, records, working=working).ask(questions)
