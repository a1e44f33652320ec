"""Studies of traffic: periods with their shares, and reports of what came of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def _study() -> sa.Column:
    return sa.Column(
        "study",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        sa.ForeignKey("surepick_studies.id", ondelete="CASCADE"),
        primary_key=True,
        nullable=False,
    )


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "surepick_periods",
        _study(),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("name", sa.String(200)),
        sa.Column("shares", sa.Text, nullable=False),
        sa.Column("settled", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.UniqueConstraint("study", "name", name="surepick_periods_name"),
    )
    op.create_table(
        "surepick_reports",
        _study(),
        sa.Column("period", sa.BigInteger, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("token", sa.String(16)),
    )
