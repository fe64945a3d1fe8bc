"""Facts about the coordinator itself: which folder belongs to the database, where bodies are kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table of settings."""
    op.create_table(
        "setting", sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )
