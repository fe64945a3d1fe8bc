"""The tables of a coordinator; see `coordinator_store` for what they are for."""

from __future__ import annotations

import sqlalchemy as sa

from blindlabel.storage.database import filled, keys

metadata = sa.MetaData()


def _of_study(name: str, *columns: sa.Column[object]) -> sa.Table:
    """A table whose rows belong to a study and are deleted with it."""
    key: sa.Column[str] = sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True)
    return sa.Table(name, metadata, key, *columns)


study = sa.Table(
    "study",
    metadata,
    *keys(study=sa.String(64)),
    *filled(name=sa.Text, agreement=sa.Text, state=sa.Text, version=sa.Integer),
    sa.Column("ended", sa.Boolean, nullable=False, default=False),
    *filled(created=sa.Float),
)
token = _of_study("token", *keys(owner=sa.String(40)), *filled(token_hash=sa.String(64)))
incoming = _of_study(
    "incoming",
    *keys(digest=sa.String(64)),
    *filled(sender=sa.String(40), kind=sa.String(20), wire=sa.LargeBinary, received=sa.Float, size=sa.BigInteger),
)
outgoing = _of_study(
    "outgoing",
    *keys(receiver=sa.String(40), sequence=sa.Integer),
    *filled(kind=sa.String(20), wire=sa.LargeBinary, made=sa.Float, size=sa.BigInteger),
)
fetchable = _of_study("fetchable", *keys(owner=sa.String(40), hash=sa.String(64)), *filled(length=sa.BigInteger))
upload = _of_study("upload", *keys(owner=sa.String(40), hash=sa.String(64)), *filled(length=sa.BigInteger))
heard = _of_study(
    "heard",
    *keys(owner=sa.String(40)),
    sa.Column("life", sa.String(64), nullable=False, default=""),
    sa.Column("rival", sa.String(64), nullable=False, default=""),
    sa.Column("since", sa.Float, nullable=False, default=0.0),
    sa.Column("received", sa.Integer, nullable=False, default=0),
    sa.Column("latest", sa.String(64), nullable=False, default=""),
)
setting = sa.Table("setting", metadata, *keys(name=sa.String(40)), *filled(value=sa.Text))
