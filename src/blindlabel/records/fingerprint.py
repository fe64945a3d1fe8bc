"""What a table was when its owner joined, so that one that has changed since is noticed and what changed can be said.

A study names rows by their positions. A table whose rows were sorted anew, or whose columns were exchanged, reads as
well as before, and every label of it would be about other records. Only hashes are kept: of the ids in their order, of
the ids in any order, and of every attribute's prepared values. What preparation makes equal counts as equal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from blindlabel.language.record import Record


@dataclass(frozen=True)
class Fingerprint:
    """A table as it was read once."""

    rows: int
    ids: str
    ids_in_any_order: str
    attributes: Mapping[str, str]
    """The hash of its prepared values, by attribute."""

    @classmethod
    def of(cls, ids: Sequence[str], prepared: Sequence[Record]) -> Fingerprint:
        """The fingerprint of a table that was prepared as the agreement says, of any length."""
        names = list(prepared[0].attributes) if prepared else []
        columns = {name: _hash(record.attributes[name] for record in prepared) for name in names}
        return cls(len(ids), _hash(ids), _hash(sorted(ids)), columns)

    def to_text(self) -> str:
        """As it is kept."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Fingerprint:
        """Read it again."""
        return cls(**json.loads(text))

    def what_changed(self, now: Fingerprint) -> str | None:
        """A part of a sentence that says what differs, beginning with "it" or "its"; None where nothing does."""
        if now.rows != self.rows:
            return f"it had {self.rows:,} rows when you joined, and has {now.rows:,} now"
        if now.ids_in_any_order != self.ids_in_any_order:
            return "its ids are not those it had when you joined"
        if now.ids != self.ids:
            return "its rows stand in another order than when you joined"
        changed = [name for name, hashed in self.attributes.items() if now.attributes.get(name) != hashed]
        if changed:
            return f"its values of {', '.join(changed)} have changed since you joined"
        return None


def _hash(texts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(4, "little"))
        digest.update(content)
    return digest.hexdigest()
