"""Measurements that were made before a study."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "surepick_past",
        sa.Column(
            "study",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            sa.ForeignKey("surepick_studies.id", ondelete="CASCADE"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("past", sa.Text, nullable=False),
    )
