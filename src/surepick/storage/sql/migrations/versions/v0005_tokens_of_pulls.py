"""Whose token a pull and a reward came with, what lists and histories show."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns and the table; what is there already has no token."""
    op.add_column("surepick_leases", sa.Column("token", sa.String(16)))
    op.add_column(
        "surepick_leases", sa.Column("since", sa.Double, nullable=False, server_default="0")
    )
    op.add_column("surepick_leases", sa.Column("last", sa.String(200)))
    op.create_index("surepick_leases_since", "surepick_leases", ["study", "since"])
    op.create_index("surepick_leases_token", "surepick_leases", ["token"])
    op.add_column("surepick_tells", sa.Column("token", sa.String(16)))
    op.add_column("surepick_events", sa.Column("token", sa.String(16)))
    op.add_column(
        "surepick_events", sa.Column("count", sa.BigInteger, nullable=False, server_default="1")
    )
    op.create_index("surepick_events_pull", "surepick_events", ["study", "pull"])
    op.add_column("surepick_batches", sa.Column("survivors", sa.BigInteger))
    op.create_table(
        "surepick_summaries",
        sa.Column(
            "study",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            sa.ForeignKey("surepick_studies.id", ondelete="CASCADE"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("options", sa.BigInteger, nullable=False),
        sa.Column("survivors", sa.BigInteger, nullable=False),
        sa.Column("answer", sa.Text),
    )
