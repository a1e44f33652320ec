"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from surepick.storage.sql.sums import sum_column

revision = "0001"
down_revision = None

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "surepick_studies",
        sa.Column("id", _Id, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("algorithm", sa.String(length=200), nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("meta", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sum_column(
            "id", "name", "key", "algorithm", "settings", "problem", "seed", "meta", "created"
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "surepick_tokens",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("studies", sa.Text),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("session_of", sa.String(length=16)),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash"),
    )
    op.create_index("surepick_tokens_session_of", "surepick_tokens", ["session_of"])
    op.create_table(
        "surepick_batches",
        sa.Column("study", _Id, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("pulls", sa.Text, nullable=False),
        sa.Column("survivors", sa.BigInteger),
        sa.Column("after", sa.BigInteger),
        sum_column("study", "number", "first", "size", "pulls", "survivors", "after"),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study", "number"),
    )
    op.create_table(
        "surepick_chain",
        sa.Column("study", _Id, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sum_column("study", "number", "kind", "content", "at", "digest"),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study", "number"),
    )
    op.create_table(
        "surepick_events",
        sa.Column("id", _Id, autoincrement=True, nullable=False),
        sa.Column("study", _Id, nullable=False),
        sa.Column("pull", sa.BigInteger, nullable=False),
        sa.Column("arm", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("worker", sa.String(length=200)),
        sa.Column("value", sa.Double),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("token", sa.String(length=16)),
        sa.Column("count", sa.BigInteger, server_default="1", nullable=False),
        sum_column(
            "id", "study", "pull", "arm", "kind", "worker", "value", "note", "at", "token", "count"
        ),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("surepick_events_pull", "surepick_events", ["study", "pull"])
    op.create_index("surepick_events_study", "surepick_events", ["study", "kind"])
    op.create_table(
        "surepick_leases",
        sa.Column("study", _Id, nullable=False),
        sa.Column("pull", sa.BigInteger, nullable=False),
        sa.Column("arm", sa.BigInteger, nullable=False),
        sa.Column("worker", sa.String(length=200)),
        sa.Column("until", sa.Double, nullable=False),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("token", sa.String(length=16)),
        sa.Column("since", sa.Double, server_default="0", nullable=False),
        sa.Column("last", sa.String(length=200)),
        sa.Column("stratum", sa.String(length=200)),
        sa.Column("second", sa.String(length=200)),
        sa.Column("second_token", sa.String(length=16)),
        sa.Column("request", sa.String(length=64)),
        sa.Column("second_request", sa.String(length=64)),
        sum_column(
            "study",
            "pull",
            "arm",
            "worker",
            "until",
            "attempts",
            "token",
            "since",
            "last",
            "stratum",
            "second",
            "second_token",
            "request",
            "second_request",
        ),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study", "pull"),
        sqlite_with_rowid=False,
    )
    op.create_index("surepick_leases_second", "surepick_leases", ["study", "second"])
    op.create_index("surepick_leases_since", "surepick_leases", ["study", "since"])
    op.create_index("surepick_leases_token", "surepick_leases", ["token"])
    op.create_index("surepick_leases_until", "surepick_leases", ["study", "until"])
    op.create_index("surepick_leases_worker", "surepick_leases", ["study", "worker"])
    op.create_table(
        "surepick_past",
        sa.Column("study", _Id, nullable=False),
        sa.Column("past", sa.Text, nullable=False),
        sum_column("study", "past"),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study"),
    )
    op.create_table(
        "surepick_periods",
        sa.Column("study", _Id, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("name", sa.String(length=200)),
        sa.Column("shares", sa.Text, nullable=False),
        sa.Column("settled", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sum_column("study", "number", "name", "shares", "settled", "at"),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study", "number"),
        sa.UniqueConstraint("study", "name", name="surepick_periods_name"),
    )
    op.create_table(
        "surepick_progress",
        sa.Column("study", _Id, nullable=False),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("asked", sa.BigInteger, nullable=False),
        sa.Column("told", sa.BigInteger, nullable=False),
        sa.Column("finished", sa.Boolean, nullable=False),
        sa.Column("claimed_by", sa.String(length=200)),
        sa.Column("claimed_until", sa.Double, nullable=False),
        sa.Column("revision", sa.BigInteger, server_default="0", nullable=False),
        sa.Column("paused", sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column("ahead", sa.BigInteger, server_default="0", nullable=False),
        sa.Column("early", sa.BigInteger, server_default="0", nullable=False),
        sum_column(
            "study",
            "batch",
            "first",
            "size",
            "asked",
            "told",
            "finished",
            "claimed_by",
            "claimed_until",
            "revision",
            "paused",
            "ahead",
            "early",
        ),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study"),
    )
    op.create_table(
        "surepick_reports",
        sa.Column("study", _Id, nullable=False),
        sa.Column("period", sa.BigInteger, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("token", sa.String(length=16)),
        sum_column("study", "period", "content", "at", "token"),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study", "period"),
    )
    op.create_table(
        "surepick_snapshots",
        sa.Column("study", _Id, nullable=False),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sum_column("study", "batch", "run"),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study"),
    )
    op.create_table(
        "surepick_summaries",
        sa.Column("study", _Id, nullable=False),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("options", sa.BigInteger, nullable=False),
        sa.Column("survivors", sa.BigInteger, nullable=False),
        sa.Column("answer", sa.Text),
        sum_column("study", "batch", "options", "survivors", "answer"),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study"),
    )
    op.create_table(
        "surepick_tells",
        sa.Column("study", _Id, nullable=False),
        sa.Column("pull", sa.BigInteger, nullable=False),
        sa.Column("arm", sa.BigInteger, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("worker", sa.String(length=200)),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("token", sa.String(length=16)),
        sa.Column("stratum", sa.String(length=200)),
        sa.Column("numbers", sa.Text),
        sum_column("study", "pull", "arm", "value", "worker", "at", "token", "stratum", "numbers"),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study", "pull"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "surepick_webhooks",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("study", _Id, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("kinds", sa.Text, nullable=False),
        sa.Column("private", sa.Boolean, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(["study"], ["surepick_studies.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("surepick_webhooks_study", "surepick_webhooks", ["study"])
    op.create_table(
        "surepick_deliveries",
        sa.Column("webhook", sa.String(length=16), nullable=False),
        sa.Column("event", sa.String(length=40), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("due", sa.Double),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("delivered", sa.Double),
        sa.Column("error", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["webhook"], ["surepick_webhooks.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("webhook", "event"),
    )
    op.create_index("surepick_deliveries_due", "surepick_deliveries", ["due"])
