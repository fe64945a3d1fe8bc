"""Joining a study: from an invitation and a table to a workspace whose first message waits to be sent."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from blindlabel.envelope import Identity, new_identity
from blindlabel.envelope.identity import sign_for
from blindlabel.errors import InputError
from blindlabel.parties.accounting import account_of
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import messages, owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import Store
from blindlabel.protocol.invitation import Invitation, join_proof, token_hash
from blindlabel.protocol.messages import Message, Signed
from blindlabel.records.preparation import check_lengths, prepare_rows, sentence_about_cuts
from blindlabel.records.tables import Fingerprint, Table, columns_of, read_table

S = TypeVar("S", bound=Store)

_IDENTITY, _TOKEN = "identity", "token"
"""What an owner's secrets are called in its store."""
_FINGERPRINT = "table_fingerprint"


@dataclass(frozen=True)
class TableOptions:
    """How an owner's table is to be read."""

    path: Path
    id_column: str | None = None
    columns: Mapping[str, str] | None = None
    """Attribute of the agreement to column of the table, where they differ; to nothing where the table has none."""
    encoding: str | None = None


def read_own_table(agreement: Agreement, options: TableOptions) -> Table:
    """The owner's table with the agreement's attributes; those that it lacks, as `columns` says, are empty."""
    wanted = _wanted(agreement, options)
    found = {attribute: column for attribute, column in wanted.items() if column}
    if not found:
        raise InputError("The table has none of the agreement's attributes, so nothing could be asked of it.")
    table = read_table(options.path, id_column=options.id_column, attributes=found, encoding=options.encoding)
    if len(found) == len(wanted):
        return table
    places = [table.attributes.index(attribute) if attribute in found else None for attribute in wanted]
    rows = tuple(tuple("" if place is None else row[place] for place in places) for row in table.rows)
    return replace(table, attributes=tuple(wanted), rows=rows)


def missing_columns(agreement: Agreement, options: TableOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of the owner's table, and the attributes for which none is there."""
    columns = tuple(columns_of(options.path, options.encoding))
    wanted = _wanted(agreement, options)
    return columns, tuple(attribute for attribute, column in wanted.items() if column and column not in columns)


def _wanted(agreement: Agreement, options: TableOptions) -> dict[str, str]:
    """The column of every attribute; nothing where the table has none."""
    columns = dict(options.columns or {})
    unknown = [attribute for attribute in columns if attribute not in agreement.attributes]
    if unknown:
        raise InputError(f"The agreement has no attribute {unknown[0]!r}. It has: {', '.join(agreement.attributes)}.")
    return {attribute: columns.get(attribute, attribute) for attribute in agreement.attributes}


def join(store: S, invitation: Invitation, options: TableOptions, *, via: str = "", authority: str = "") -> S:
    """Begin an invited owner's side of a study in a new store. The join message is in its outbox. How the coordinator
    is reached (`via`, else as the invitation says) and which certificate is trusted (its text) is remembered.
    """
    agreement = invited_to(invitation)
    settings = {
        "table": str(options.path.resolve()),
        "table_options": json.dumps(
            {
                "id_column": options.id_column,
                "columns": dict(options.columns or {}) or None,
                "encoding": options.encoding,
            }
        ),
        "via": via or invitation.address,
        "authority": authority,
    }
    begin_study(store, invitation, read_own_table(agreement, options), settings)
    return store


def begin_study(store: Store, invitation: Invitation, table: Table, settings: Mapping[str, str]) -> None:
    """Check the table against the agreement, make keys, and put the join message into the outbox."""
    agreement = invited_to(invitation)
    account_of(agreement)
    prepared = prepare_rows(table, agreement.attributes, agreement.preparation.steps)
    cut = check_lengths(prepared, agreement.lengths())
    identity, token = new_identity(), secrets.token_urlsafe(32)
    state = owner.OwnerState(study=agreement.hash, name=invitation.owner, coordinator_key=invitation.coordinator_key)
    begin = owner.joins(state, _join_body(agreement, invitation, len(table), identity, token))
    kept = {_IDENTITY: identity.to_bytes(), _TOKEN: token.encode()}
    known = {
        **settings,
        "agreement": invitation.agreement,
        "owner": invitation.owner,
        "cut": sentence_about_cuts(cut),
        "without_ids": "" if table.has_ids else "yes",
        _FINGERPRINT: Fingerprint.of(table.ids, prepared).to_text(),
    }
    store.found(known, kept, begin, lambda message: signed_by(identity, message))


def invited_to(invitation: Invitation) -> Agreement:
    """The agreement that an invitation is for."""
    agreement = agreements.from_text(invitation.agreement, source="The agreement in the invitation")
    if invitation.owner not in agreement.owners:
        raise InputError(f"The invitation is for {invitation.owner}, whom its agreement does not name.")
    return agreement


def _join_body(
    agreement: Agreement, invitation: Invitation, records: int, identity: Identity, token: str
) -> messages.Join:
    envelope_key, signing_key = identity.public.envelope_key.hex(), identity.public.signing_key.hex()
    code, hashed = bytes.fromhex(invitation.code), token_hash(token)
    proof = join_proof(code, agreement.hash, invitation.owner, records, envelope_key, signing_key, hashed)
    return messages.Join(
        records=records, envelope_key=envelope_key, signing_key=signing_key, token_hash=hashed, proof=proof
    )


def signed_by(identity: Identity, message: Message) -> Signed:
    """A message with this identity's signature."""
    return messages.sign(message, lambda data: sign_for(identity, b"", data))


def own_identity(store: Store) -> Identity:
    """The owner's secret keys."""
    return Identity.from_bytes(store.secret(_IDENTITY))


def own_table(store: Store) -> Table:
    """The owner's table, read again from where it is; refuses one that is not what it was when joining."""
    settings = store.settings
    options = TableOptions(Path(settings["table"]), **json.loads(settings["table_options"]))
    table, agreement = read_own_table(store.agreement, options), store.agreement
    prepared = prepare_rows(table, agreement.attributes, agreement.preparation.steps)
    changed = Fingerprint.from_text(settings[_FINGERPRINT]).what_changed(Fingerprint.of(table.ids, prepared))
    if changed is not None:
        raise InputError(
            f"{options.path} is another table now: {changed}. Labels would be about other records, so nothing goes on"
            " with it. Restore the file as it was; a changed table needs a new study."
        )
    return table
