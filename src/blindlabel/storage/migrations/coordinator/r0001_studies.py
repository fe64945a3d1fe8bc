"""Studies, tokens, messages in and out, what may be fetched, what has been moved."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _study() -> sa.Column[str]:
    return sa.Column("study", sa.String(64), sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True)


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "study",
        sa.Column("study", sa.String(64), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("agreement", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("worker", sa.String(64), nullable=False),
        sa.Column("worker_until", sa.Float, nullable=False),
    )
    op.create_table(
        "token",
        _study(),
        sa.Column("owner", sa.String(40), primary_key=True),
        sa.Column("token_hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "incoming",
        _study(),
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("sender", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("wire", sa.LargeBinary, nullable=False),
        sa.Column("received", sa.Float, nullable=False),
    )
    op.create_table(
        "outgoing",
        _study(),
        sa.Column("receiver", sa.String(40), primary_key=True),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("wire", sa.LargeBinary, nullable=False),
        sa.Column("made", sa.Float, nullable=False),
    )
    op.create_table(
        "fetchable",
        _study(),
        sa.Column("owner", sa.String(40), primary_key=True),
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("length", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "traffic",
        _study(),
        sa.Column("owner", sa.String(40), primary_key=True),
        sa.Column("kind", sa.String(20), primary_key=True),
        sa.Column("times", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
    )
