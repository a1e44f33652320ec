"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _study(primary_key: bool = True) -> sa.Column:
    return sa.Column(
        "study",
        _Id,
        sa.ForeignKey("surepick_studies.id", ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=False,
    )


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "surepick_studies",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("algorithm", sa.String(200), nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("meta", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "surepick_progress",
        _study(),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("asked", sa.BigInteger, nullable=False),
        sa.Column("told", sa.BigInteger, nullable=False),
        sa.Column("finished", sa.Boolean, nullable=False),
        sa.Column("claimed_by", sa.String(200)),
        sa.Column("claimed_until", sa.Double, nullable=False),
    )
    op.create_table(
        "surepick_batches",
        _study(),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("pulls", sa.Text, nullable=False),
    )
    op.create_table(
        "surepick_snapshots",
        _study(),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
    )
    op.create_table(
        "surepick_leases",
        _study(),
        sa.Column("pull", sa.BigInteger, primary_key=True),
        sa.Column("arm", sa.BigInteger, nullable=False),
        sa.Column("worker", sa.String(200)),
        sa.Column("until", sa.Double, nullable=False),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("surepick_leases_worker", "surepick_leases", ["study", "worker"])
    op.create_index("surepick_leases_until", "surepick_leases", ["study", "until"])
    op.create_table(
        "surepick_tells",
        _study(),
        sa.Column("pull", sa.BigInteger, primary_key=True),
        sa.Column("arm", sa.BigInteger, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("worker", sa.String(200)),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "surepick_events",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        _study(primary_key=False),
        sa.Column("pull", sa.BigInteger, nullable=False),
        sa.Column("arm", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("worker", sa.String(200)),
        sa.Column("value", sa.Double),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("surepick_events_study", "surepick_events", ["study", "kind"])
