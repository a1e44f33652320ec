"""The tables, as the newest migration leaves them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from surepick.storage.sql.sums import summed

# SQLite counts up by itself only in a column of exactly this type.
_Id = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()


def _study() -> Column:
    return Column(
        "study", _Id, ForeignKey("surepick_studies.id", ondelete="CASCADE"), primary_key=True
    )


studies = Table(
    "surepick_studies",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("key", String(32), nullable=False),
    Column("algorithm", String(200), nullable=False),
    Column("settings", Text, nullable=False),
    Column("problem", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("meta", Text, nullable=False),
    Column("created", Double, nullable=False),
    sqlite_autoincrement=True,  # the number of a deleted study is never given to another
)

progress = Table(
    "surepick_progress",
    metadata,
    _study(),
    Column("batch", BigInteger, nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("asked", BigInteger, nullable=False),
    Column("told", BigInteger, nullable=False),
    Column("finished", Boolean, nullable=False),
    Column("claimed_by", String(200)),
    Column("claimed_until", Double, nullable=False),
    Column("revision", BigInteger, nullable=False, server_default="0"),
    Column("paused", Boolean, nullable=False, server_default=false()),
    Column("ahead", BigInteger, nullable=False, server_default="0"),
    Column("early", BigInteger, nullable=False, server_default="0"),
)

batches = Table(
    "surepick_batches",
    metadata,
    _study(),
    Column("number", BigInteger, primary_key=True),
    Column("first", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("pulls", Text, nullable=False),
    Column("survivors", BigInteger),
    Column("after", BigInteger),
)

# What lists show, so that they need not load all of a study.
summaries = Table(
    "surepick_summaries",
    metadata,
    _study(),
    Column("batch", BigInteger, nullable=False),
    Column("options", BigInteger, nullable=False),
    Column("survivors", BigInteger, nullable=False),
    Column("answer", Text),
)

snapshots = Table(
    "surepick_snapshots",
    metadata,
    _study(),
    Column("batch", BigInteger, nullable=False),
    Column("run", Text, nullable=False),
)

# What was measured before the study; written once.
past = Table(
    "surepick_past",
    metadata,
    _study(),
    Column("past", Text, nullable=False),
)

# What happened to the study, each link with the digest of all before it; only added to.
chain = Table(
    "surepick_chain",
    metadata,
    _study(),
    Column("number", BigInteger, primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("content", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("digest", String(64), nullable=False),
)

leases = Table(
    "surepick_leases",
    metadata,
    _study(),
    Column("pull", BigInteger, primary_key=True),
    Column("arm", BigInteger, nullable=False),
    Column("worker", String(200)),
    Column("until", Double, nullable=False),
    Column("attempts", BigInteger, nullable=False),
    Column("token", String(16)),
    Column("since", Double, nullable=False, server_default="0"),
    Column("last", String(200)),
    Column("stratum", String(200)),
    Column("second", String(200)),
    Column("second_token", String(16)),
    Column("request", String(64)),
    Column("second_request", String(64)),
    Index("surepick_leases_worker", "study", "worker"),
    Index("surepick_leases_second", "study", "second"),
    Index("surepick_leases_until", "study", "until"),
    Index("surepick_leases_since", "study", "since"),
    Index("surepick_leases_token", "token"),
    sqlite_with_rowid=False,
)

# The rewards that count. The primary key makes it impossible to count a pull twice.
tells = Table(
    "surepick_tells",
    metadata,
    _study(),
    Column("pull", BigInteger, primary_key=True),
    Column("arm", BigInteger, nullable=False),
    Column("value", Double, nullable=False),
    Column("worker", String(200)),
    Column("at", Double, nullable=False),
    Column("token", String(16)),
    Column("stratum", String(200)),
    Column("numbers", Text),
    sqlite_with_rowid=False,
)

events = Table(
    "surepick_events",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("study", _Id, ForeignKey("surepick_studies.id", ondelete="CASCADE"), nullable=False),
    Column("pull", BigInteger, nullable=False),
    Column("arm", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("worker", String(200)),
    Column("value", Double),
    Column("note", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("token", String(16)),
    Column("count", BigInteger, nullable=False, server_default="1"),
    Index("surepick_events_study", "study", "kind"),
    Index("surepick_events_pull", "study", "pull"),
)

# Shares of visitors, stored before they are shown; only added to, but for a name.
periods = Table(
    "surepick_periods",
    metadata,
    _study(),
    Column("number", BigInteger, primary_key=True),
    Column("name", String(200)),
    Column("shares", Text, nullable=False),
    Column("settled", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    UniqueConstraint("study", "name", name="surepick_periods_name"),
)

# What came of periods. The primary key makes it impossible to count one twice.
reports = Table(
    "surepick_reports",
    metadata,
    _study(),
    Column("period", BigInteger, primary_key=True),
    Column("content", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("token", String(16)),
)

# What studies say rests on these rows.
for _table in (
    *(studies, progress, batches, summaries, snapshots, past, chain, leases, tells, events),
    *(periods, reports),
):
    summed(_table)

# Who may use the service. Only hashes of tokens are kept.
tokens = Table(
    "surepick_tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("studies", Text),
    Column("created", Double, nullable=False),
    Column("expires", Double),
    Column("note", Text, nullable=False),
    Column("session_of", String(16)),
    Index("surepick_tokens_session_of", "session_of"),
)

# Where notices of a study are sent; the secret signs them.
webhooks = Table(
    "surepick_webhooks",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("study", _Id, ForeignKey("surepick_studies.id", ondelete="CASCADE"), nullable=False),
    Column("url", Text, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("private", Boolean, nullable=False),
    Column("secret", Text, nullable=False),
    Column("created", Double, nullable=False),
    Index("surepick_webhooks_study", "study"),
)

# What was sent, or is to be. The primary key makes it impossible to note an event twice.
deliveries = Table(
    "surepick_deliveries",
    metadata,
    Column(
        "webhook",
        String(16),
        ForeignKey("surepick_webhooks.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("event", String(40), primary_key=True),
    Column("body", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("due", Double),
    Column("attempts", BigInteger, nullable=False),
    Column("delivered", Double),
    Column("error", Text, nullable=False),
    Index("surepick_deliveries_due", "due"),
)
