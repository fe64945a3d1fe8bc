"""An owner's ledger: what its tables may have given away over all studies, one entry per study. It does not lie in any
workspace, and outlasts them. It holds no record: a table is identified by a hash of its file and by where the file is.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from blindlabel.errors import InputError
from blindlabel.storage.files import failing_with_a_sentence, private_folder, write_atomically

PLACE = "BLINDLABEL_LEDGER"
"""The environment variable that names another place."""


@dataclass(frozen=True)
class LedgerEntry:
    """What one study may have given away about a table."""

    study: str
    agreement: str
    """Its hash."""
    owner: str
    path: str
    table: str
    """A hash of the file."""
    bits: int | None
    """Bits that all others together can learn by cheating, or None if nothing bounds them."""
    records: int
    """Records that are sampled, at most."""


def ledger_file() -> Path:
    """Where the ledger of this user is."""
    return Path(os.environ.get(PLACE) or Path.home() / ".blindlabel" / "ledger.json")


def table_hash(path: Path) -> str:
    """The name of a table in the ledger; empty if it cannot be read, which joining reports anyway."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
    except OSError:
        return ""


def entries() -> list[LedgerEntry]:
    """All entries, oldest first."""
    try:
        return [LedgerEntry(**one) for one in json.loads(ledger_file().read_text("utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"The ledger {ledger_file()} cannot be read ({error}). Restore it, or name another with {PLACE}."
        ) from error


def enter(entry: LedgerEntry, *, out: bool = False) -> bool:
    """Put the entry of a study into the ledger, or take it out; returns whether the ledger had one for this study."""
    file = ledger_file()
    with failing_with_a_sentence(file), (private_folder(file.parent) / ".ledger.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        others = _others(entry)
        had = len(others) < len(entries())
        kept = [asdict(one) for one in (others if out else [*others, entry])]
        write_atomically(file, json.dumps(kept, indent=1).encode())
    return had


def said_before(entry: LedgerEntry) -> str:
    """What other studies with this table (the same content or the same place) may have given away; empty if there are
    none.
    """
    earlier = [one for one in _others(entry) if one.table == entry.table or one.path == entry.path]
    bits, unbounded = sum(one.bits or 0 for one in earlier), sum(one.bits is None for one in earlier)
    named, records = ", ".join(dict.fromkeys(one.study for one in earlier)), sum(one.records for one in earlier)
    more = f" and, in {unbounded} of them, more without a bound" if unbounded else ""
    said = f"{bits:,} bits{more}, about {records:,} sampled records. This study comes on top."
    return f"Earlier studies with this table ({named}) may have given cheating owners {said}" if earlier else ""


def _others(entry: LedgerEntry) -> list[LedgerEntry]:
    return [one for one in entries() if (one.agreement, one.owner) != (entry.agreement, entry.owner)]
