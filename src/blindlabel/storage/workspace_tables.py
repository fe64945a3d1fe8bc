"""The tables of an owner's workspace; see `workspace` for what they are for."""

from __future__ import annotations

import sqlalchemy as sa

from blindlabel.storage.database import filled, keys, nullable

metadata = sa.MetaData()

setting = sa.Table("setting", metadata, *keys(name=sa.String(40)), *filled(value=sa.Text))
state = sa.Table(
    "state", metadata, sa.Column("id", sa.Integer, primary_key=True), *filled(state=sa.Text, version=sa.Integer)
)
outbox = sa.Table(
    "outbox", metadata, *keys(sequence=sa.Integer), *filled(kind=sa.String(20), wire=sa.LargeBinary, sent=sa.Boolean)
)
record = sa.Table(
    "record",
    metadata,
    *keys(record=sa.Integer),
    *filled(position=sa.BigInteger, id=sa.Text, row=sa.Text, prepared=sa.Text),
)


def _questions(name: str) -> sa.Table:
    """One question for each record of a round."""
    texts = {"draft": sa.Text, "question": sa.Text, "source": sa.String(20), "updated": sa.Float, "author": sa.Text}
    return sa.Table(name, metadata, *keys(round=sa.Integer, record=sa.Integer), *nullable(**texts))


question, second = _questions("question"), _questions("second")
visit = sa.Table(
    "visit",
    metadata,
    sa.Column("visit", sa.Integer, primary_key=True),
    *filled(annotator=sa.Text, round=sa.Integer, record=sa.Integer, opened=sa.Float),
    *nullable(typed=sa.Float, suggested=sa.Float, suggestion=sa.Text, saved=sa.Float, question=sa.Text),
    *nullable(source=sa.String(20), changed=sa.Float, verdict=sa.String(20)),
)
mark = sa.Table("mark", metadata, *keys(record=sa.Integer), *filled(unsure=sa.Boolean, note=sa.Text))
browser = sa.Table("browser", metadata, *keys(browser=sa.String(64)), *filled(name=sa.Text, until=sa.Float))
account = sa.Table("account", metadata, *keys(name=sa.Text), *filled(password=sa.Text))
