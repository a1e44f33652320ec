"""Webhooks, and what was sent to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "surepick_webhooks",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column(
            "study", _ID, sa.ForeignKey("surepick_studies.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("kinds", sa.Text, nullable=False),
        sa.Column("private", sa.Boolean, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
    )
    op.create_index("surepick_webhooks_study", "surepick_webhooks", ["study"])
    op.create_table(
        "surepick_deliveries",
        sa.Column(
            "webhook",
            sa.String(16),
            sa.ForeignKey("surepick_webhooks.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("event", sa.String(40), primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("due", sa.Double),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("delivered", sa.Double),
        sa.Column("error", sa.Text, nullable=False),
    )
    op.create_index("surepick_deliveries_due", "surepick_deliveries", ["due"])
