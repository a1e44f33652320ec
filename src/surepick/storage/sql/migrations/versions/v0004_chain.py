"""The chain of what happened to a study, link by link."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "surepick_chain",
        sa.Column(
            "study",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            sa.ForeignKey("surepick_studies.id", ondelete="CASCADE"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("number", sa.BigInteger, primary_key=True, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
    )
