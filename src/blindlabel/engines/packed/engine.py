"""The packed engine through the interface of all engines. Every way into the package goes through here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from blindlabel.engines.allowed import check_records
from blindlabel.engines.assisting import AssistCall, AssistPlace, AssistSchedule
from blindlabel.engines.interface import (
    IN_THIS_PROCESS,
    Answers,
    Assist,
    EngineError,
    Evaluated,
    Keys,
    Outcome,
    Outcomes,
    QuestionError,
    Terms,
    Values,
    Working,
    outcomes,
)
from blindlabel.engines.packed import keys
from blindlabel.engines.packed.advice import advice, least_terms
from blindlabel.engines.packed.encoding.tables import check_sharing, features_of
from blindlabel.engines.packed.planning import security
from blindlabel.engines.packed.planning.explaining import Explained
from blindlabel.engines.packed.questions import plan_of
from blindlabel.engines.packed.records import encrypt_batch, share_parcels
from blindlabel.engines.packed.running import here, processes
from blindlabel.engines.packed.running.answers import open_answers, pad_values
from blindlabel.engines.packed.running.finished import FinishedAnswers
from blindlabel.engines.packed.running.kept_calls import KeptCalls
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.engines.packed.ways.interface import Public, Secret
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record


class PackedEngine:
    """Answers all questions of a round over all encrypted records in one pass."""

    name = "packed"

    def __init__(self, journal: Path | None = None) -> None:
        self.journal = journal
        """A folder for finished answers, so that a stopped evaluation goes on where it was."""

    def refuse(self, terms: Terms, question: Formula) -> str | None:
        """Why this question cannot be answered under these terms, and which would answer it; None where these can."""
        try:
            plan_of(way_of(terms), question)
        except QuestionError as problem:
            return f"{problem} {advice(terms, question)}".rstrip()
        except EngineError as problem:
            return str(problem)
        return None

    def least_terms(self, terms: Terms, questions: Sequence[Formula]) -> Terms:
        """Terms with places and exclusions for just these questions; of any form only where points do not do."""
        return least_terms(terms, questions)

    def make_keys(self, terms: Terms) -> Keys:
        """New keys for a study."""
        return keys.make_keys(terms)

    def encrypt(
        self,
        terms: Terms,
        key: bytes,
        records: Sequence[Record],
        questions: int = 0,
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[bytes]:
        """The records as parcels; nothing is encrypted where one of them does not fit. Under `keys = "owners"` with the
        secret key, and with randomness for the answers to so many questions.
        """
        opened: Public | Secret
        opened = keys.open_secret(terms, key) if terms.keys == "owners" else keys.open_public(terms, key)
        check_records(terms, records)
        check_sharing(terms, records)
        workers = working.workers
        block = opened.way.layout.block
        for batch in range(opened.way.layout.batches(len(records))):
            part = records[batch * block : (batch + 1) * block]
            made = processes.features(terms, part, workers) if workers > 1 else features_of(opened.way.tables, part)
            yield from encrypt_batch(opened, made, batch, len(records))
            if isinstance(opened, Secret):
                yield from share_parcels(opened, batch, questions, len(records))
            working.tell("encrypt", min(1.0, (batch + 1) * block / len(records)))

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        assist: Assist,
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """All questions over all records: parcels of encrypted answers, ready to leave, with their pads. What is
        finished in the journal is not made again.
        """
        opened = keys.open_public(terms, public)
        kept = FinishedAnswers(self.journal, terms, opened.study, questions) if self.journal is not None else None
        calls = KeptCalls(assist, kept)
        if working.workers > 1:
            return processes.evaluate(opened, public, parcels, questions, calls, working, kept)
        return here.evaluate(opened, parcels, questions, calls, working.tell, kept)

    def assist(self, terms: Terms, secret: bytes, request: bytes) -> bytes:
        """The coordinator's side of one assist call."""
        opened = keys.open_secret(terms, secret)
        return opened.way.serve(opened, request)

    def assist_schedule(self, terms: Terms, questions: int, records: int) -> AssistSchedule:
        """The calls of one `evaluate` for so many questions and records, whatever the questions are."""
        return way_of(terms).assist_schedule(questions, records)

    def assist_call(self, terms: Terms, schedule: AssistSchedule, request: bytes) -> tuple[AssistPlace, AssistCall]:
        """Where a call says that it belongs, and what it is."""
        return way_of(terms).assist_call(schedule, request)

    def open(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Values:
        """The values of all pairs, each with its pad added."""
        return open_answers(keys.open_secret(terms, secret), parcels, questions, records)

    def pad_values(self, terms: Terms, pads: Iterable[bytes], questions: int, records: int) -> Values:
        """The pads of all pairs, in the form of what was opened; zero where there are none."""
        way = way_of(terms)
        return pad_values(way, way.study(b""), pads, questions, records)

    def decrypt(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Answers:
        """The answers, one row a question and one column a record, where there are no pads."""
        answers: Answers = self.outcomes(terms, secret, parcels, questions, records) == Outcome.YES
        return answers

    def outcomes(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Outcomes:
        """The answers with a yes that an exclusion took back told from a no."""
        return outcomes(self.open(terms, secret, parcels, questions, records) == 0)

    def zero_tests(self, terms: Terms) -> int:
        """How many bits about a key made for these terms may be lost before it has fewer than 128 left."""
        return security.zero_tests(way_of(terms).parameters)

    def explain(self, terms: Terms, question: Formula) -> Explained:
        """The plan of a question under these terms, and what a round of such questions costs."""
        way = way_of(terms)
        return way.explain(plan_of(way, question))
