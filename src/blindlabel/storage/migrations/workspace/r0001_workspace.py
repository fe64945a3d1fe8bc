"""An owner's settings, state, outbox, records, questions and activity."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "setting", sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )
    op.create_table(
        "state",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.create_table(
        "outbox",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("wire", sa.LargeBinary, nullable=False),
        sa.Column("sent", sa.Boolean, nullable=False),
    )
    op.create_table(
        "record",
        sa.Column("record", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("row", sa.Text, nullable=False),
        sa.Column("prepared", sa.Text, nullable=False),
    )
    op.create_table(
        "question",
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("record", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("draft", sa.Text),
        sa.Column("question", sa.Text),
        sa.Column("source", sa.String(20)),
        sa.Column("updated", sa.Float),
    )
    op.create_table(
        "activity",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("phase", sa.String(40), nullable=False),
        sa.Column("share", sa.Float, nullable=False),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("began", sa.Float, nullable=False),
        sa.Column("updated", sa.Float, nullable=False),
    )
