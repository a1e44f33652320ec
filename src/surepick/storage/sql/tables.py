"""The tables, as the newest migration leaves them: those of studies have a record's fields."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

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

from surepick.storage.records import (
    BatchRecord,
    Event,
    Lease,
    Link,
    Period,
    Report,
    StudyProgress,
    StudyRecord,
    Summary,
    Tell,
)
from surepick.storage.sql.sums import summed

# SQLite counts up by itself only in a column of exactly this type.
_Id = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()


def _study() -> Column:
    return Column(
        "study", _Id, ForeignKey("surepick_studies.id", ondelete="CASCADE"), primary_key=True
    )


_KINDS = {int: BigInteger, float: Double, bool: Boolean, str: Text}
#: texts of these names are no longer than this
_LENGTHS = {"name": 200, "key": 32, "algorithm": 200, "claimed_by": 200, "kind": 20, "digest": 64}
_LENGTHS |= {"worker": 200, "last": 200, "second": 200, "stratum": 200}
_LENGTHS |= {"token": 16, "second_token": 16, "request": 64, "second_request": 64}
_USUAL: dict[str, Any] = {"revision": "0", "paused": false(), "ahead": "0", "early": "0"}
_USUAL |= {"since": "0", "count": "1"}


def _columns(record: type, *keys: str) -> list[Column]:
    """A column for each field of a record, but for those that are read or counted by a database."""
    found = []
    for name, kind in get_type_hints(record).items():
        plain, *others = get_args(kind) or (kind,)
        made = String(_LENGTHS[name]) if name in _LENGTHS else _KINDS[plain]
        if name in keys:
            found.append(Column(name, made, primary_key=True))
        elif name not in ("id", "now"):
            usual = _USUAL.get(name)
            found.append(Column(name, made, nullable=bool(others), server_default=usual))
    return found


def _table(name: str, record: type, *more: Any, key: str = "", **how: Any) -> Table:
    """A table of the rows that studies have of a record."""
    return Table(f"surepick_{name}", metadata, _study(), *_columns(record, key), *more, **how)


studies = Table(
    "surepick_studies",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    *_columns(StudyRecord),
    UniqueConstraint("name"),
    sqlite_autoincrement=True,  # the number of a deleted study is never given to another
)
progress = _table("progress", StudyProgress)
batches = _table("batches", BatchRecord, key="number")
summaries = _table("summaries", Summary)
snapshots = Table(
    "surepick_snapshots",
    metadata,
    _study(),
    Column("batch", BigInteger, nullable=False),
    Column("run", Text, nullable=False),
)
past = Table("surepick_past", metadata, _study(), Column("past", Text, nullable=False))
chain = _table("chain", Link, key="number")
leases = _table(
    "leases",
    Lease,
    Index("surepick_leases_worker", "study", "worker"),
    Index("surepick_leases_second", "study", "second"),
    Index("surepick_leases_until", "study", "until"),
    Index("surepick_leases_since", "study", "since"),
    Index("surepick_leases_token", "token"),
    key="pull",
    sqlite_with_rowid=False,
)
# The primary key makes it impossible to count a pull, or a period, twice.
tells = _table("tells", Tell, key="pull", sqlite_with_rowid=False)
events = Table(
    "surepick_events",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("study", _Id, ForeignKey("surepick_studies.id", ondelete="CASCADE"), nullable=False),
    *_columns(Event),
    Index("surepick_events_study", "study", "kind"),
    Index("surepick_events_pull", "study", "pull"),
)
_named_once = UniqueConstraint("study", "name", name="surepick_periods_name")
periods = _table("periods", Period, _named_once, key="number")
reports = _table("reports", Report, key="period")

# What studies say rests on these rows.
for _one in (
    *(studies, progress, batches, summaries, snapshots, past, chain, leases, tells, events),
    *(periods, reports),
):
    summed(_one)

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
