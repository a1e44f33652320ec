"""How often rewards of a study were corrected, and whether it is paused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns; studies that are there were never corrected, and are not paused."""
    op.add_column(
        "surepick_progress",
        sa.Column("revision", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.add_column(
        "surepick_progress",
        sa.Column("paused", sa.Boolean, nullable=False, server_default=sa.false()),
    )
