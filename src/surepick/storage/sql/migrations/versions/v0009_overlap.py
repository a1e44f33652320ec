"""Batches that are asked for while earlier ones are being measured."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the columns; in studies that are there, every batch came after the one before."""
    for name in ("ahead", "early"):
        op.add_column(
            "surepick_progress",
            sa.Column(name, sa.BigInteger, nullable=False, server_default="0"),
        )
    op.add_column("surepick_batches", sa.Column("after", sa.BigInteger))
