"""Checked pairs: some pairs of a finished study, shown to both owners' experts side by side, with the owners' consent.
They show how often labels are wrong, so that an estimate has a value and not only a band.

1. The coordinator draws as many pairs of every class as the agreement says, once, and writes a file for each owner: the
   numbers of the pairs, in random order, and the owner's own record in each.
2. An owner that consents seals its records of these pairs, as they were prepared, for the other owner, whose program
   puts both side by side. The coordinator sees none. No owner shows the records of a second file with other pairs.
3. Experts enter in their file whether each pair is a match (1) or not (0) and return it. The files count if both say
   the same about every pair: leaving out pairs on which they disagree would be a choice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from blindlabel.envelope.identity import Context, EnvelopeError
from blindlabel.envelope.stream import open_, seal
from blindlabel.errors import InputError
from blindlabel.parties.joining import own_identity
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import OwnRecord, Store
from blindlabel.protocol.letters import public_of
from blindlabel.records.table_files import write_csv
from blindlabel.records.tables import read_table

Cell = tuple[int, int]
"""The places of a pair's two records in the samples; first that of the owner whose name sorts first."""


def write_pairs(agreement: Agreement, pairs: Sequence[Cell], folder: Path) -> list[Path]:
    """Write a file for each owner."""
    paths = []
    for side, owner in enumerate(sorted(agreement.owners)):
        paths.append(folder / f"checked-{owner}.csv")
        lines = ((number, pair[side], "", agreement.hash) for number, pair in enumerate(pairs, start=1))
        write_csv(paths[-1], ("pair", f"record_{owner}", "match", "study"), lines)
    return paths


def _lines(agreement: Agreement, path: Path) -> dict[str, dict[str, str]]:
    """The lines of such a file by pair."""
    table = read_table(path)
    found = {row.get("pair", ""): row for row in table}
    if not found or {row.get("study") for row in found.values()} != {agreement.hash}:
        raise InputError(f"{path.name} does not name checked pairs of this study.")
    if len(found) > agreement.sampling.most_checked:
        raise InputError(f"{path.name} has {len(found)} pairs; {agreement.sampling.most_checked} were agreed on.")
    return found


def own_records(store: Store, path: Path) -> dict[str, OwnRecord]:
    """An owner's records in a file of the coordinator, by pair; refused if records of another file have been shown."""
    places = {pair: row.get(f"record_{store.name}", "") for pair, row in _lines(store.agreement, path).items()}
    records, before = {str(one.record): one for one in store.records()}, store.remembered("checked")
    if set(places.values()) - records.keys():
        raise InputError(f"{path.name} has no records of {store.name}.")
    if before not in (None, json.dumps(places)):
        raise InputError(f"You have shown the records of other pairs than those in {path.name}. Nothing more is shown.")
    return {pair: records[place] for pair, place in places.items()}


def write_shown(store: Store, path: Path, to: Path) -> None:
    """The owner consents: its records of these pairs, sealed for the other owner."""
    records = own_records(store, path)
    store.remember("checked", json.dumps({pair: str(one.record) for pair, one in records.items()}))
    content = json.dumps({pair: dict(one.prepared.attributes) for pair, one in records.items()}).encode()
    (peer,) = store.state().peers
    pieces = seal(own_identity(store), public_of(store.state().peer(peer)), _context(store), [content])
    to.write_bytes(b"".join(pieces))


def write_side_by_side(store: Store, path: Path, sealed: Path, to: Path) -> None:
    """Both owners' records of every pair, for this owner's expert."""
    records, (peer,), names = own_records(store, path), store.state().peers, store.agreement.attributes
    try:
        pieces = open_(own_identity(store), public_of(store.state().peer(peer)), _context(store), [sealed.read_bytes()])
        theirs: Mapping[str, Mapping[str, str]] = json.loads(b"".join(pieces))
        if theirs.keys() != records.keys():
            raise ValueError("other pairs")
    except (EnvelopeError, ValueError) as error:
        raise InputError(f"{sealed.name} does not hold {peer}'s records of these pairs, sealed for you.") from error
    header = [f"{name}_{owner}" for name in names for owner in (store.name, peer)]
    sides = ((pair, own.prepared.attributes, theirs[pair]) for pair, own in records.items())
    write_csv(to, ("pair", *header), ((pair, *(one[name] for name in names for one in both)) for pair, *both in sides))


def settled(agreement: Agreement, pairs: Sequence[Cell], files: Sequence[Path]) -> dict[Cell, bool]:
    """What both owners' experts say about every pair; refused unless they agree."""
    said = [{pair: row.get("match", "") for pair, row in _lines(agreement, path).items()} for path in files]
    owners = {owner for path in files for owner in agreement.owners if f"record_{owner}" in read_table(path).attributes}
    every = {str(number) for number in range(1, len(pairs) + 1)}
    if len(files) != 2 or len(owners) != 2 or any(one.keys() != every for one in said):
        raise InputError("Checked pairs are settled by the files of both owners, with all pairs in them.")
    open_pairs = [pair for pair, one in said[0].items() if one not in ("0", "1") or said[1][pair] != one]
    if open_pairs:
        raise InputError(
            f"{len(open_pairs)} checked pairs are not settled: of {', '.join(open_pairs[:10])} the owners say different"
            " things, or nothing. Let their experts settle them together; leaving them out would be a choice."
        )
    return {pair: said[0][str(number)] == "1" for number, pair in enumerate(pairs, start=1)}


def _context(store: Store) -> Context:
    return Context(bytes.fromhex(store.agreement.hash), "shown")
