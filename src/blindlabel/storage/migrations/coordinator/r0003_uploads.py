"""Who uploads which body: for quotas, and so that an owner is told of its own uploads alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table of uploads."""
    op.create_table(
        "upload",
        sa.Column("study", sa.String(64), sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
        sa.Column("owner", sa.String(40), primary_key=True),
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("length", sa.BigInteger, nullable=False),
    )
