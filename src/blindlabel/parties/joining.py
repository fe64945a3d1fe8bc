"""Joining a study: whether a table fits an agreement; making a workspace from an invitation and a table, with its first
message ready to be sent; and confirming the other owners, by words that are read out here and words that are heard and
typed. Until then nothing is sampled, encrypted, asked, handed in or opened.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from blindlabel.envelope.identity import Context, Identity, new_identity, own_secret, sign_for
from blindlabel.envelope.spoken_words import COUNT, study_hash, verification_words
from blindlabel.errors import InputError
from blindlabel.language.record import Record
from blindlabel.parties.accounting import account_of
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import messages
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol import owner_rules as rules
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import Store
from blindlabel.protocol.invitation import Invitation, proved_join, token_hash
from blindlabel.protocol.letters import public_of
from blindlabel.protocol.messages import Message, Signed
from blindlabel.records.preparation import WHOLE, check_lengths, named_rows, sentence_about_cuts
from blindlabel.records.proposing import Proposal, day_first, proposals, readable
from blindlabel.records.tables import Fingerprint, Table, columns_of, near_name, read_table

S = TypeVar("S", bound=Store)

_IDENTITY, _TOKEN = "identity", "token"
"""The names of an owner's secrets in its store."""
_FINGERPRINT = "table_fingerprint"


@dataclass(frozen=True)
class TableOptions:
    """How an owner's table is to be read."""

    path: Path
    id_column: str | None = None
    columns: Mapping[str, str] | None = None
    """Attribute of the agreement to column of the table, if they differ, or to nothing if the table has none."""
    encoding: str | None = None
    delimiter: str | None = None


def read_own_table(agreement: Agreement, options: TableOptions) -> Table:
    """The owner's table with the agreement's attributes. Those that it lacks, according to `columns`, are empty."""
    wanted = _wanted(agreement, options)
    found = {attribute: column for attribute, column in wanted.items() if column}
    if not found:
        raise InputError("The table has none of the agreement's attributes, so nothing could be asked of it.")
    form = {"encoding": options.encoding, "delimiter": options.delimiter}
    table = read_table(options.path, id_column=options.id_column, attributes=found, **form)
    if len(found) == len(wanted):
        return table
    places = [table.attributes.index(attribute) if attribute in found else None for attribute in wanted]
    rows = tuple(tuple("" if place is None else row[place] for place in places) for row in table.rows)
    return replace(table, attributes=tuple(wanted), rows=rows)


def missing_columns(agreement: Agreement, options: TableOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of the owner's table, and the attributes that have none."""
    columns = tuple(columns_of(options.path, options.encoding, options.delimiter))
    wanted = _wanted(agreement, options)
    return columns, tuple(attribute for attribute, column in wanted.items() if column and column not in columns)


def _wanted(agreement: Agreement, options: TableOptions) -> dict[str, str]:
    """The column of every attribute; empty if the table has none."""
    columns = dict(options.columns or {})
    unknown = [attribute for attribute in columns if attribute not in agreement.attributes]
    if unknown:
        raise InputError(f"The agreement has no attribute {unknown[0]!r}. It has: {', '.join(agreement.attributes)}.")
    return {attribute: columns.get(attribute, attribute) for attribute in agreement.attributes}


def join(store: S, invitation: Invitation, options: TableOptions, line: Mapping[str, str] | None = None) -> S:
    """Begin an invited owner's side of a study in a new store; the join message is then in its outbox. The store
    remembers how to reach the coordinator: as `line` says, else as the invitation says.
    """
    agreement = invited_to(invitation)
    settings = {
        "table": str(options.path.resolve()),
        "table_options": json.dumps({name: value for name, value in asdict(options).items() if name != "path"}),
        "via": invitation.address,
        **(line or {}),
    }
    begin_study(store, invitation, read_own_table(agreement, options), settings)
    return store


def begin_study(store: Store, invitation: Invitation, table: Table, settings: Mapping[str, str]) -> None:
    """Check the table against the agreement, make keys, and put the join message into the outbox."""
    agreement = invited_to(invitation)
    account_of(agreement)
    prepared = agreement.recipe.rows(table, agreement.attributes)
    cut = check_lengths(prepared, agreement.lengths())
    if misfit := agreement.sampling.misfit(invitation.owner, len(table), table.fingerprint):
        raise InputError(misfit)
    identity, token = new_identity(), secrets.token_urlsafe(32)
    state = owner.OwnerState(study=agreement.hash, name=invitation.owner, coordinator_key=invitation.coordinator_key)
    keys = {name: getattr(identity.public, name).hex() for name in ("envelope_key", "signing_key")}
    said = {"records": len(table), "token_hash": token_hash(token), **keys}
    join = proved_join(bytes.fromhex(invitation.code), agreement.hash, invitation.owner, **said)
    begin = owner.joins(state, join)
    kept = {_IDENTITY: identity.to_bytes(), _TOKEN: token.encode()}
    known = {
        **settings,
        "agreement": invitation.agreement,
        "owner": invitation.owner,
        "cut": sentence_about_cuts(cut),
        "unread": ", ".join(f"{name} in {_rows(count)}" for name, count in agreement.recipe.unread(table).items()),
        "without_ids": "" if table.has_ids else "yes",
        _FINGERPRINT: Fingerprint.of(table.ids, prepared).to_text(),
    }
    store.begin(known, kept, begin, lambda message: signed_by(identity, message))


def invited_to(invitation: Invitation) -> Agreement:
    """The agreement that an invitation is for."""
    agreement = agreements.from_text(invitation.agreement, source="The agreement in the invitation")
    if invitation.owner not in agreement.owners:
        raise InputError(f"The invitation is for {invitation.owner}, whom its agreement does not name.")
    return agreement


def signed_by(identity: Identity, message: Message) -> Signed:
    """A message with this identity's signature."""
    return messages.sign(message, lambda data: sign_for(identity, b"", data))


def own_identity(store: Store) -> Identity:
    """The owner's secret keys."""
    return Identity.from_bytes(store.secret(_IDENTITY))


def secret_order(identity: Identity, agreement: Agreement, size: int) -> Sequence[int]:
    """The rows of an owner's table in an order that follows from its secret keys: position p, drawn by the coordinator,
    means the p-th of these. So nobody else knows which row a sampled record is, and no coordinator can choose one, nor
    the order of the sample. If the agreement names rows, or has the coordinator draw them by number, positions are
    rows.
    """
    if agreement.sampling.method == "rows" or agreement.sampling.by_row:
        return range(size)
    secret = own_secret(identity, Context(bytes.fromhex(agreement.hash), "rows"), identity.public)
    keys = np.frombuffer(hashlib.shake_256(secret).digest(8 * size), dtype="<u8")
    order: list[int] = np.argsort(keys, kind="stable").tolist()
    return order


def in_order(table: Table, order: Sequence[int]) -> Table:
    """The table with its rows in another order."""
    return replace(table, ids=tuple(table.ids[row] for row in order), rows=tuple(table.rows[row] for row in order))


def own_table(store: Store) -> Table:
    """The owner's table, read again from where it is; refused if it is not what it was when joining."""
    options = _table_options(store)
    if not options.path.exists():
        raise InputError(
            f"Your table is not at {options.path} any more. Put it back, or say where it is now with `blindlabel owner"
            " table`."
        )
    return _same_table(store, options)


def point_to(store: Store, path: Path) -> None:
    """The owner's table has moved; it must be the same table."""
    _same_table(store, replace(_table_options(store), path=path))
    store.remember("table", str(path.resolve()))


def _table_options(store: Store) -> TableOptions:
    return TableOptions(Path(store.settings["table"]), **json.loads(store.settings["table_options"]))


def _same_table(store: Store, options: TableOptions) -> Table:
    table, agreement = read_own_table(store.agreement, options), store.agreement
    prepared = agreement.recipe.rows(table, agreement.attributes)
    changed = Fingerprint.from_text(store.settings[_FINGERPRINT]).what_changed(Fingerprint.of(table.ids, prepared))
    if changed is not None:
        raise InputError(
            f"{options.path} is another table now: {changed}. Labels would be about other records, so nothing goes on"
            " with it. Restore the file as it was; a changed table needs a new study."
        )
    return table


# Before anybody joins. This only reads; it makes nothing and tells nobody


_SHARES = (("median", 0.5), ("95 of 100", 0.95), ("99 of 100", 0.99), ("longest", 1.0))

_FEW_MATCHES = 10
"""With fewer matches in a sample, nothing is said about recall."""


@dataclass(frozen=True)
class TableFit:
    """How a table fits."""

    fits: bool
    """Whether `owner join` would take it."""
    rows: int
    columns: tuple[str, ...]
    missing: tuple[str, ...]
    """Attributes without a column."""
    has_ids: bool
    lengths: dict[str, dict[str, int]]
    """Characters after preparation, of every attribute and of the whole record: median to longest."""
    too_long: int
    """Rows beyond the agreed lengths."""
    longest_rows: str
    limit_that_would_do: dict[str, int]
    """For what is too long: the limit that would accept every row."""
    empty: dict[str, int]
    """Rows without a value, by attribute."""
    lost: dict[str, int]
    """Number of values of which preparation leaves nothing, by attribute."""
    unread: dict[str, int]
    """Number of values that cannot be read as the agreed type, by attribute; they stay text."""
    types: dict[str, Proposal]
    """Types that attributes seem to have, if none was agreed."""
    readable: dict[str, list[str]]
    """Types as which nearly all values of an attribute can be read, for comparison with other owners' proposals."""
    day_first: bool | None
    """Whether dates have the day first, or None if that cannot be told."""
    duplicates: int
    """Rows that read like an earlier row after preparation."""
    enough: bool
    """Whether there are as many rows as the sample takes."""
    expected_matches: dict[str, float]
    """In the sample, by sampling method, on average and at most: see `Sampling.expected_matches`."""
    fingerprint: str = ""
    misfit: str = ""
    """Why it is not the table that the linkage was made from, or empty if nothing speaks against it."""

    def lines(self, agreement: Agreement) -> Iterator[str]:
        """As a person reads it."""
        if self.missing:
            yield f"There is no column for {', '.join(self.missing)}. The table has: {', '.join(self.columns)}."
            yield "Name one with --column attribute=column; --column attribute= says that the table has none."
            near = {name: found for name in self.missing if (found := near_name(name, self.columns))}
            if near:
                yield "Perhaps: " + " ".join(f"--column {shlex.quote(f'{one}={found}')}" for one, found in near.items())
            return
        yield f"{self.rows:,} rows" + (
            "." if self.enough else f", fewer than the {agreement.sampling.records:,} that the sample takes."
        )
        if not self.has_ids:
            near_id = near_name("id", self.columns)
            yield "There is no id column, so rows are named by position. Name one with --id-column, or add `id`." + (
                f" Is it {near_id!r}?" if near_id else ""
            )
        for what, shares in self.lengths.items():
            yield f"Characters of {what}: " + ", ".join(f"{name} {count:,}" for name, count in shares.items()) + "."
        if self.too_long:
            done = "are refused" if agreement.preparation.too_long == "refuse" else "are cut"
            would = ", ".join(f"{count:,} for {what}" for what, count in self.limit_that_would_do.items())
            yield f"{self.too_long:,} rows are too long and {done}: {self.longest_rows}. Limits that would do: {would}."
        for name, count in self.empty.items():
            yield f"{name} is empty in {_rows(count)}."
        for name, count in self.lost.items():
            yield f"Preparation leaves nothing of {name} in {_rows(count)}."
        for name, count in self.unread.items():
            yield f"{name} cannot be read as its type in {_rows(count)}: these stay text."
        for proposal in self.types.values():
            yield f"{proposal} Agree on it with `coordinator new --type {proposal.attribute}={proposal.type}`."
        if self.day_first is not None and self.day_first != agreement.preparation.day_first:
            yield f"Dates have the {'day' if self.day_first else 'month'} first: agree on preparation.day_first."
        if self.duplicates:
            read = "reads" if self.duplicates == 1 else "read"
            yield f"{_rows(self.duplicates)} {read} like an earlier one: what is asked of one fits the others too."
        matches = ", ".join(f"{method} {count:.3g}" for method, count in self.expected_matches.items())
        few = self.expected_matches.get(agreement.sampling.method, _FEW_MATCHES) < _FEW_MATCHES
        yield (
            f"Matches in a sample of {agreement.sampling.records:,}, on average, at most, by method: {matches} (if"
            " every row had a match in a table as large, every key found one, and all linked pairs were matches)."
            + (" That is too few to judge a linkage by: `blindlabel help planning` says what to choose." if few else "")
        )
        yield f"The table's fingerprint is {self.fingerprint}."
        if self.misfit:
            yield self.misfit
        yield "The table fits the agreement." if self.fits else "The table does not fit the agreement yet."


def fit_of(agreement: Agreement, options: TableOptions) -> TableFit:
    """Look at a table as an agreement requires."""
    columns, missing = missing_columns(agreement, options)
    if missing:
        return TableFit(False, 0, columns, missing, False, {}, 0, "", {}, {}, {}, {}, {}, {}, None, 0, False, {})
    table = read_own_table(agreement, options)
    prepared, lost = _prepared(agreement, table)
    lengths = agreement.lengths()
    measured = {name: [len(record.attributes[name]) for record in prepared] for name in agreement.attributes}
    if lengths.encode_whole:
        measured[WHOLE] = [len(record.whole) for record in prepared]
    excess = check_lengths(prepared, lengths, refuse=False)
    longest: dict[str, int] = {}
    for one in excess:
        longest[one.what] = max(longest.get(one.what, 0), one.length)
    too_long = len({one.position for one in excess})
    seen = Counter(record.whole for record in prepared)
    near = agreement.sampling.tables.values()
    misfit = "" if not near or len(table) in near else "The linkage's tables have other numbers of rows."
    empty = {name: measured[name].count(0) for name in agreement.attributes}
    agreed = dict(agreement.recipe.types)
    proposed = {one.attribute: one for one in proposals(table, agreement.recipe) if one.attribute not in agreed}
    kinds = agreed | {name: one.type for name, one in proposed.items()}
    return TableFit(
        fits=not (too_long and lengths.too_long == "refuse") and not misfit,
        rows=len(table),
        columns=columns,
        missing=(),
        has_ids=table.has_ids,
        lengths={what: _spread(sizes) for what, sizes in measured.items()},
        too_long=too_long,
        longest_rows=named_rows(excess) if excess else "",
        limit_that_would_do=longest,
        empty={name: count for name, count in empty.items() if count},
        lost=lost,
        unread=agreement.recipe.unread(table),
        types=proposed,
        readable=readable(table, agreement.recipe),
        day_first=day_first(table, [name for name, kind in kinds.items() if kind == "date"]),
        duplicates=len(prepared) - len(seen),
        enough=len(table) >= agreement.sampling.records,
        expected_matches=agreement.sampling.expected_matches(len(table)),
        fingerprint=table.fingerprint,
        misfit=misfit,
    )


def _prepared(agreement: Agreement, table: Table) -> tuple[list[Record], dict[str, int]]:
    """Every row as a record; and, by attribute, how many values are empty after preparation although they were not
    before.
    """
    recipe, names = agreement.recipe, agreement.attributes
    lost: Counter[str] = Counter()
    prepared = []
    for row in table.rows:
        texts = {name: recipe.value(name, text) for name, text in zip(table.attributes, row)}
        lost.update(name for name, text in zip(table.attributes, row) if text.strip() and not texts[name])
        prepared.append(Record.of({name: texts[name] for name in names}))
    return prepared, dict(lost)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _spread(sizes: list[int]) -> dict[str, int]:
    ordered = sorted(sizes)
    return {name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in _SHARES}


# Confirming the others


def words_to_read_out(store: Store, peer: str) -> tuple[str, ...]:
    """What this owner's person reads to the other's."""
    return _words(store, peer, spoken_here=True)


def confirm_heard(store: Store, peer: str, heard: str) -> None:
    """Confirm another owner by the words that its person read out; refused if they are the wrong words."""
    typed = re.findall(r"[a-z]+", heard.lower())
    if len(typed) != COUNT:
        raise InputError(f"{peer} reads out {COUNT} words; these are {len(typed)}. Nothing was confirmed.")
    if tuple(typed) == words_to_read_out(store, peer):
        raise InputError(
            f"These are the words that you read to {peer}. Type those that {peer} reads to you. Nothing was confirmed."
        )
    if tuple(typed) != _words(store, peer, spoken_here=False):
        raise InputError(
            f"These are not the words that {peer} would read out if nobody stood between you. Nothing was confirmed."
            " Let them be read once more, in case one was misheard; if they differ again, do not go on."
        )
    confirm_unheard(store, peer)


def confirm_unheard(store: Store, peer: str) -> None:
    """Confirm without words, for rehearsals, demonstrations and simulations, in which one person is all parties."""
    identity = own_identity(store)
    store.change(lambda state: rules.confirms(state, peer), lambda message: signed_by(identity, message))


def _words(store: Store, peer: str, *, spoken_here: bool) -> tuple[str, ...]:
    state = store.state()
    own, other = own_identity(store).public, public_of(state.peer(peer))
    study = study_hash(store.agreement.hash, state.coordinator_key)
    return verification_words(own, other, study) if spoken_here else verification_words(other, own, study)
