"""Pulls that belong to a stratum, stamped when they are handed out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns; what is there already has no stratum."""
    op.add_column("surepick_leases", sa.Column("stratum", sa.String(200)))
    op.add_column("surepick_tells", sa.Column("stratum", sa.String(200)))
