"""The tables of an owner's workspace; see `workspace` for what they are for."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

setting = sa.Table(
    "setting", metadata, sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.Text, nullable=False)
)

state = sa.Table(
    "state",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
)
outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("wire", sa.LargeBinary, nullable=False),
    sa.Column("sent", sa.Boolean, nullable=False),
)
record = sa.Table(
    "record",
    metadata,
    sa.Column("record", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("row", sa.Text, nullable=False),
    sa.Column("prepared", sa.Text, nullable=False),
)


def _questions(name: str) -> sa.Table:
    """One question for each record of a round."""
    return sa.Table(
        name,
        metadata,
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("record", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("draft", sa.Text),
        sa.Column("question", sa.Text),
        sa.Column("source", sa.String(20)),
        sa.Column("updated", sa.Float),
        sa.Column("author", sa.Text),
    )


question, second = _questions("question"), _questions("second")
visit = sa.Table(
    "visit",
    metadata,
    sa.Column("visit", sa.Integer, primary_key=True),
    sa.Column("annotator", sa.Text, nullable=False),
    sa.Column("round", sa.Integer, nullable=False),
    sa.Column("record", sa.Integer, nullable=False),
    sa.Column("opened", sa.Float, nullable=False),
    sa.Column("typed", sa.Float),
    sa.Column("suggested", sa.Float),
    sa.Column("suggestion", sa.Text),
    sa.Column("saved", sa.Float),
    sa.Column("question", sa.Text),
    sa.Column("source", sa.String(20)),
    sa.Column("changed", sa.Float),
    sa.Column("verdict", sa.String(20)),
)
mark = sa.Table(
    "mark",
    metadata,
    sa.Column("record", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("unsure", sa.Boolean, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
)
browser = sa.Table(
    "browser",
    metadata,
    sa.Column("browser", sa.String(64), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("until", sa.Float, nullable=False),
)
account = sa.Table(
    "account", metadata, sa.Column("name", sa.Text, primary_key=True), sa.Column("password", sa.Text, nullable=False)
)
activity = sa.Table(
    "activity",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("phase", sa.String(40), nullable=False),
    sa.Column("share", sa.Float, nullable=False),
    sa.Column("sentence", sa.Text, nullable=False),
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("updated", sa.Float, nullable=False),
)
