"""Tokens of the service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "surepick_tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("studies", sa.Text),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("session_of", sa.String(16)),
    )
    op.create_index("surepick_tokens_session_of", "surepick_tokens", ["session_of"])
