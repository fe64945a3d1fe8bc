"""Who wrote a question, second questions, the annotation log, marks, and the names of browsers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables of what people do in the web app."""
    op.add_column("question", sa.Column("author", sa.Text))
    op.create_table(
        "second",
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("record", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("draft", sa.Text),
        sa.Column("question", sa.Text),
        sa.Column("source", sa.String(20)),
        sa.Column("updated", sa.Float),
        sa.Column("author", sa.Text),
    )
    op.create_table(
        "visit",
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
    op.create_table(
        "mark",
        sa.Column("record", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("unsure", sa.Boolean, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
    )
    op.create_table(
        "browser", sa.Column("browser", sa.String(64), primary_key=True), sa.Column("name", sa.Text, nullable=False)
    )
