"""The tables of a coordinator; see `coordinator_store` for what they are for."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

study = sa.Table(
    "study",
    metadata,
    sa.Column("study", sa.String(64), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("agreement", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("ended", sa.Boolean, nullable=False, default=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("worker", sa.String(64), nullable=False, default=""),
    sa.Column("worker_until", sa.Float, nullable=False, default=0.0),
)
token = sa.Table(
    "token",
    metadata,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("owner", sa.String(40), primary_key=True),
    sa.Column("token_hash", sa.String(64), nullable=False),
)
incoming = sa.Table(
    "incoming",
    metadata,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("sender", sa.String(40), nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("round", sa.Integer, nullable=False),
    sa.Column("wire", sa.LargeBinary, nullable=False),
    sa.Column("received", sa.Float, nullable=False),
)
outgoing = sa.Table(
    "outgoing",
    metadata,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("receiver", sa.String(40), primary_key=True),
    sa.Column("sequence", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("wire", sa.LargeBinary, nullable=False),
    sa.Column("made", sa.Float, nullable=False),
)
fetchable = sa.Table(
    "fetchable",
    metadata,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("owner", sa.String(40), primary_key=True),
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("length", sa.BigInteger, nullable=False),
)
upload = sa.Table(
    "upload",
    metadata,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("owner", sa.String(40), primary_key=True),
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("length", sa.BigInteger, nullable=False),
)
traffic = sa.Table(
    "traffic",
    metadata,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("owner", sa.String(40), primary_key=True),
    sa.Column("kind", sa.String(20), primary_key=True),
    sa.Column("times", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
)
heard = sa.Table(
    "heard",
    metadata,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("owner", sa.String(40), primary_key=True),
    sa.Column("life", sa.String(64), nullable=False, default=""),
    sa.Column("rival", sa.String(64), nullable=False, default=""),
    sa.Column("since", sa.Float, nullable=False, default=0.0),
    sa.Column("ahead", sa.Boolean, nullable=False, default=False),
)
setting = sa.Table(
    "setting", metadata, sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
