"""Pulls that are handed out a second time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the columns; in studies that are there, every pull is with one worker at most."""
    op.add_column("surepick_leases", sa.Column("second", sa.String(200)))
    op.add_column("surepick_leases", sa.Column("second_token", sa.String(16)))
    op.create_index("surepick_leases_second", "surepick_leases", ["study", "second"])
