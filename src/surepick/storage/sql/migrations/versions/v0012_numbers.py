"""Measurements with further numbers beside the reward."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the column; what is there already has none."""
    op.add_column("surepick_tells", sa.Column("numbers", sa.Text()))
