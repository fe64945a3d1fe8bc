"""The rule of the deadline, in one place: it reminds people, and nothing is closed or refused by itself."""

from __future__ import annotations

import datetime

from blindlabel.protocol.agreement import Agreement


def is_overdue(agreement: Agreement, today: datetime.date) -> bool:
    """Whether the day of the deadline has passed."""
    return bool(agreement.deadline) and today > datetime.date.fromisoformat(agreement.deadline)
