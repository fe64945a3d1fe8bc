"""What an agreement may say and yet is worth a second look before anybody is invited. Nothing here is refused."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from blindlabel.protocol.agreement import DEFAULT_CRITERIA, Agreement
from blindlabel.protocol.deadline import is_overdue


def advice(agreement: Agreement, today: datetime.date) -> Iterator[str]:
    """A sentence for each point."""
    if agreement.criteria.strip() == DEFAULT_CRITERIA:
        yield (
            "The criteria are the ones that stand there by default. Owners will judge by them: say when two records of"
            " these tables match."
        )
    if is_overdue(agreement, today):
        yield f"The deadline {agreement.deadline} has passed already."
    if agreement.encoding.engine == "plain":
        yield "The plain engine encrypts nothing. It is for rehearsals only."
    if agreement.preparation.too_long == "cut":
        yield "What is too long is cut, and a match can be lost that way; `owner check` says how many rows that meets."
    if agreement.release == "labels":
        yield 'Owners get all labels (release = "labels"), which say more about the other table than matches do.'
