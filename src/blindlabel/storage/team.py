"""Several annotators of one owner: who is asked about which record, and which records two people are asked about.

Everybody is asked about every record unless records are *assigned*, one person each in turn. A share of the records is
*doubled*: two people write a question each without seeing the other's; the first one's is asked of the other side, the
second one's shows how far they agree. Which records these are follows from the number of the record alone, so that it
is the same in every process and round.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from blindlabel.errors import InputError
from blindlabel.storage.workspace import Workspace

_SETTING = "annotators"


@dataclass(frozen=True)
class Team:
    """The annotators of one owner."""

    names: tuple[str, ...] = ()
    assigned: bool = False
    doubled: float = 0.0
    """Share of the records that two people are asked about."""

    def is_doubled(self, record: int) -> bool:
        """Whether two people are asked about a record."""
        if len(self.names) < 2 or not self.doubled:
            return False
        digest = hashlib.blake2b(f"doubled {record}".encode(), digest_size=4).digest()
        return int.from_bytes(digest) < self.doubled * 2**32

    def first(self, record: int) -> str:
        """Who writes the question that is asked; empty where anybody may."""
        named = self.assigned or self.is_doubled(record)
        return self.names[record % len(self.names)] if self.names and named else ""

    def second(self, record: int) -> str:
        """Who writes the second question; empty where nobody does."""
        return self.names[(record + 1) % len(self.names)] if self.is_doubled(record) else ""

    def is_asked(self, name: str, record: int) -> bool:
        """Whether a person is asked about a record."""
        return self.first(record) in ("", name) or self.second(record) == name


def team_of(workspace: Workspace) -> Team:
    """The annotators as the owner named them; nobody in particular where it did not."""
    known = workspace.remembered(_SETTING)
    if known is None:
        return Team()
    values = json.loads(known)
    return Team(tuple(values["names"]), bool(values["assigned"]), float(values["doubled"]))


def name_team(workspace: Workspace, names: Sequence[str], *, assigned: bool, doubled: float) -> Team:
    """Keep who the annotators are."""
    cleaned = tuple(" ".join(name.split()) for name in names)
    if len(set(cleaned)) != len(cleaned) or not all(cleaned):
        raise InputError("Every annotator needs a name of its own.")
    if doubled and len(cleaned) < 2:
        raise InputError("Asking two people about a record needs two annotators.")
    team = Team(cleaned, assigned, doubled)
    workspace.remember(_SETTING, json.dumps(asdict(team)))
    return team
