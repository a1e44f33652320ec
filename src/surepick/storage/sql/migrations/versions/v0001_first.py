"""The first tables.

They are still the newest ones, so they stand in ``tables`` alone. Who changes a table there writes
here what it was: ``tests/data/format_1`` has a database of this version, which must still open.
"""

from __future__ import annotations

from alembic import op

from surepick.storage.sql.tables import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    metadata.create_all(op.get_bind())
