"""All questions of a workspace, round by round, with who saved them, how and when: what `owner questions` shows."""

from __future__ import annotations

import sqlalchemy as sa

from blindlabel.protocol.interfaces import Asked
from blindlabel.protocol.owner import OwnerState
from blindlabel.storage import workspace_tables as tables
from blindlabel.storage.workspace import Workspace


def questions_asked(workspace: Workspace) -> list[Asked]:
    """Every saved question, by round and place in the sample. A void round and the one that repeats it are one."""
    records = workspace.records()
    counted = _counted(workspace.state())
    with workspace.database.read() as connection:
        query = sa.select(tables.question).where(tables.question.c.question.is_not(None))
        rows = connection.execute(query.order_by(tables.question.c.round, tables.question.c.record)).all()
    found: dict[tuple[int, int], Asked] = {}
    for row in rows:
        own, key = records[row.record], (counted[row.round], row.record)
        if key in found and found[key].text == row.question:
            continue  # carried over from the void round: who wrote it, and when, stands there
        found[key] = Asked(key[0], own.position, own.id, row.question, row.source or "", row.author or "", row.updated)
    return [found[key] for key in sorted(found)]


def _counted(state: OwnerState) -> dict[int, int]:
    """The number of a round as it is sent, to its number without repetitions."""
    numbers, anew = {}, 0
    for number, one in enumerate(state.rounds, start=1):
        anew += 0 if one.repeats else 1
        numbers[number] = anew
    return numbers
