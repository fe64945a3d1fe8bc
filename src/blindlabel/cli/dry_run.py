"""A whole evaluation with all parties in one process, for `try` and `demo`: keys, encryption, questions, answers.

It proves nothing about privacy, since everything is here; it shows what an engine answers.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from rich.progress import Progress as Bar

from blindlabel.engines.interface import Answers, Engine, QuestionError, Terms
from blindlabel.language.formula import Count as CountNode
from blindlabel.language.formula import Formula, Negation, atoms_of, in_order
from blindlabel.language.record import Record


def terms_for(
    questions: Sequence[Formula], records: Sequence[Record], attributes: Sequence[str], *, lowered: bool
) -> Terms:
    """Terms that encode just what these questions ask of these records. (A study fixes its terms before any question is
    known.)
    """
    asked = [atom for question in questions for atom in atoms_of(question)]
    nodes = [node for question in questions for node in in_order(question)]
    views = {atom.view.attribute for atom in asked}
    return Terms(
        attributes=tuple(attributes),
        agreement_hash=secrets.token_bytes(32),
        salt=secrets.token_bytes(16),
        record_length=max(1, *(len(record.whole) for record in records)),
        attribute_length=max([1, *(len(text) for record in records for text in record.attributes.values())]),
        encode_whole=None in views or not views,
        encode_attributes=bool(views - {None}),
        case="lower" if lowered else "both",
        functions=tuple(sorted({atom.function for atom in asked} or {"is_in"})),
        counting=any(isinstance(node, CountNode) for node in nodes),
        negation=any(isinstance(node, Negation) for node in nodes),
        records=len(records),
    )


def answers_of(
    engine: Engine,
    questions: Sequence[Formula],
    records: Sequence[Record],
    attributes: Sequence[str],
    *,
    lowered: bool = False,
    workers: int = 1,
    bar: Bar | None = None,
) -> Answers:
    """All questions over all records on one engine, from keys to answers."""
    terms = terms_for(questions, records, attributes, lowered=lowered)
    for question in questions:
        reason = engine.refuse(terms, question)
        if reason is not None:
            raise QuestionError(reason)
    tasks = (
        {phase: bar.add_task(phase, total=1.0) for phase in ("keys", "encrypt", "evaluate", "decrypt")} if bar else {}
    )

    def progress(phase: str, share: float) -> None:
        if bar and phase in tasks:
            bar.update(tasks[phase], completed=share)

    keys = engine.make_keys(terms)
    progress("keys", 1.0)
    parcels = list(engine.encrypt(terms, keys.public, records, workers=workers, progress=progress))
    progress("encrypt", 1.0)
    assist = lambda request: engine.assist(terms, keys.secret, request)  # noqa: E731 - the channel is this process itself
    answers = list(engine.evaluate(terms, keys.public, parcels, questions, assist, workers=workers, progress=progress))
    progress("evaluate", 1.0)
    decrypted = engine.decrypt(terms, keys.secret, answers, len(questions), len(records))
    progress("decrypt", 1.0)
    return decrypted
