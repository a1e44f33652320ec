"""Reports that the site's own database counts."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import surepick as sp
from surepick.errors import InvalidInputError, RunStateError
from surepick.storage import memory
from surepick.study.traffic import query
from surepick.study.traffic.query import query_report

SQLITE = """
WITH assigned AS (
  SELECT visitor, version, MIN(unixepoch(at)) AS at
  FROM events WHERE event = 'assigned' GROUP BY visitor
)
SELECT version AS label, COUNT(*) AS visits, SUM(EXISTS (
  SELECT 1 FROM events b WHERE b.visitor = a.visitor AND b.event = 'bought: yes'
  AND unixepoch(b.at) >= a.at AND unixepoch(b.at) < a.at + :window)) AS successes
FROM assigned a
WHERE a.at >= unixepoch(:since) AND a.at < unixepoch(:until)
GROUP BY version
"""
POSTGRES = """
WITH assigned AS (
  SELECT DISTINCT ON (visitor) visitor, version, at
  FROM events WHERE event = 'assigned' ORDER BY visitor, at
)
SELECT version AS label, COUNT(*) AS visits, SUM((EXISTS (
  SELECT 1 FROM events b WHERE b.visitor = a.visitor AND b.event = 'bought: yes'
  AND b.at >= a.at AND b.at < a.at + :window * interval '1 second'))::int) AS successes
FROM assigned a
WHERE a.at >= :since AND a.at < :until
GROUP BY version
"""


@pytest.fixture
def clock(monkeypatch):
    at = SimpleNamespace(now=0.0)
    at.time = at.monotonic = lambda: at.now
    monkeypatch.setattr(memory, "time", at)
    return at


def make_study(name, **rules):
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="yes-no")
    return sp.create_study(name, problem, storage="memory://query", traffic=rules or True)


@pytest.fixture(params=["sqlite", "postgresql"])
def events(request, tmp_path):
    """An empty table of events, as sites have it, and the query for it."""
    if request.param == "sqlite":
        url, sql, kind = f"sqlite:///{tmp_path}/shop.db", SQLITE, "text"
    else:
        url, sql = request.getfixturevalue("postgres").url(), POSTGRES
        kind = "timestamp"
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as tx:
        tx.execute(text("DROP TABLE IF EXISTS events"))
        tx.execute(text(f"CREATE TABLE events (visitor text, version text, event text, at {kind})"))

    def add(*rows):
        with engine.begin() as tx:
            for visitor, version, event, seconds in rows:
                at = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
                row = {"v": visitor, "o": version, "e": event}
                words = "INSERT INTO events VALUES (:v, :o, :e, :at)"
                shown = f"{at:%Y-%m-%d %H:%M:%S}" if kind == "text" else at
                tx.execute(text(words), row | {"at": shown})

    yield url, sql, add
    engine.dispose()


def counted(sheet):
    columns = [sheet.columns[name] for name in ("label", "visits", "successes")]
    return {label: (int(n), int(hits)) for label, n, hits in zip(*columns, strict=True)}


def test_everybody_counts_once_by_the_first_assignment_and_within_the_window(events, clock):
    url, sql, add = events
    study = make_study(f"shop at {url}", window="10s")
    add(
        ("early", "a", "assigned", 500),  # before the period
        ("early", "b", "assigned", 1001),  # came back: was counted before
        ("ann", "a", "assigned", 1001),
        ("ann", "b", "assigned", 1002),  # somebody let her switch: the first counts
        ("ann", None, "bought: yes", 1005),
        ("ann", None, "bought: yes", 1006),  # one success is a success
        ("bob", "b", "assigned", 1001),
        ("bob", None, "bought: yes", 1012),  # too late
        ("cleo", "a", "assigned", 1001),
        ("dan", "b", "assigned", 1099),  # the last of the period
        ("dan", None, "bought: yes", 1108),
        ("eve", "b", "assigned", 1100),  # after it
    )
    for clock.now, name in ((1000.0, "monday"), (1100.0, "tuesday")):
        study.split(period=name)
    clock.now = 1111.0
    sheet = query_report(study, sql, url, "monday")
    assert counted(sheet) == {"a": (2, 1), "b": (2, 1), "c": (0, 0)}
    assert study.record(sheet, "monday").visits == 4
    clock.now = 5000.0
    assert study.record(query_report(study, sql, url, "monday"), "monday").status == "duplicate"


def test_a_query_cannot_write(events, clock):
    url, _, add = events
    study = make_study(f"unwritten at {url}")
    study.split(period="monday")
    for words in ("DELETE FROM events", "DELETE FROM events RETURNING version AS label"):
        add(("ann", "a", "assigned", 1))
        with pytest.raises(InvalidInputError, match="sql: "):
            query_report(study, words, url, "monday")
        with create_engine(url, poolclass=NullPool).connect() as connection:
            assert connection.execute(text("SELECT COUNT(*) FROM events")).scalar()


@pytest.mark.some(6)
@pytest.mark.parametrize(
    "words",
    [
        "SELECT 'a' AS label; COMMIT; DELETE FROM events",
        "COMMIT; DELETE FROM events; SELECT 'a' AS label",
        r"SELECT E'\''; COMMIT; DELETE FROM events; SELECT '' AS label",  # a ; that looks quoted
        "WITH gone AS (DELETE FROM events RETURNING version) SELECT version AS label FROM gone",
        "ATTACH 'other.db' AS other",
        "PRAGMA journal_mode = WAL",
        "COPY events TO PROGRAM 'true'",
        "EXPLAIN ANALYZE SELECT 1",
        "/* SELECT */ CREATE TABLE x (a int)",
        " -- nothing",
        ";",
    ],
)
def test_only_one_select_is_run(words, events, clock, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url, _, add = events
    add(("ann", "a", "assigned", 1))
    before = sorted(tmp_path.iterdir())
    study = make_study(f"only looks at {url} by {words}")
    study.split(period="monday")
    with pytest.raises(InvalidInputError, match="sql: "):
        query_report(study, words, url, "monday")
    with create_engine(url, poolclass=NullPool).connect() as connection:
        assert connection.execute(text("SELECT COUNT(*) FROM events")).scalar() == 1
    assert sorted(tmp_path.iterdir()) == before


ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) "


def test_too_many_rows_are_an_error_and_not_the_first_of_them(events, clock, monkeypatch):
    url, _, _ = events
    monkeypatch.setattr(query, "_MOST", 16 * 5_000)
    study = make_study(f"endless rows at {url}")
    study.split(period="monday")
    sql = f"{ENDLESS} SELECT i AS label, 1 AS visits, 0 AS successes FROM r"
    if url.startswith("postgresql"):  # a recursive query there is worked out before its first row
        sql = "SELECT 'a' AS label, i AS visits, 0 AS successes FROM generate_series(1, 20000) i"
    with pytest.raises(InvalidInputError, match=r"sql: the query gives too much.*group by it"):
        query_report(study, sql, url, "monday")


def test_a_query_does_not_go_on_for_ever(events, clock, monkeypatch):
    url, _, _ = events
    monkeypatch.setattr(query, "_SECONDS", 0.2)
    study = make_study(f"endless at {url}")
    study.split(period="monday")
    with pytest.raises(InvalidInputError, match=r"interrupted|statement timeout"):
        query_report(study, f"{ENDLESS} SELECT MAX(i) AS label FROM r", url, "monday")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("x'00ff'", "column 'label' has bytes"),
        ("hex(zeroblob(600000))", "too big"),
        ("zeroblob(1000000000)", "too big"),
        ("'a' || char(0)", "label"),
        ("9e999", "label"),
    ],
)
def test_what_a_hostile_database_holds_is_refused_by_name(cell, said, tmp_path, clock):
    (tmp_path / "shop.db").touch()
    study = make_study(f"hostile {cell}")
    study.split(period="monday")
    sql = f"SELECT {cell} AS label, 1 AS visits, 0 AS successes"
    with pytest.raises(InvalidInputError, match=said):
        study.record(query_report(study, sql, f"sqlite:///{tmp_path}/shop.db", "monday"), "monday")


@pytest.mark.parametrize(
    "count", ["9e999", "-1", "9223372036854775807", "0.5", "NULL", "'NaN'", "'1e400'"]
)
def test_counts_that_are_none_are_refused_by_name(count, tmp_path, clock):
    (tmp_path / "shop.db").touch()
    study = make_study(f"counts {count}")
    study.split(period="monday")
    sql = f"SELECT 'a' AS label, {count} AS visits, 0 AS successes"
    with pytest.raises(InvalidInputError, match="visits"):
        study.record(query_report(study, sql, f"sqlite:///{tmp_path}/shop.db", "monday"), "monday")


def test_names_of_values_in_texts_and_casts_are_left_alone(events, clock):
    url, _, _ = events
    study = make_study(f"quoted at {url}")
    study.split(period="monday")
    sql = "SELECT :period AS label, 0 AS visits, 0 AS successes WHERE ':foo' <> '' -- :bar"
    sheet = query_report(study, sql, url, "monday")
    assert sheet.columns["label"][0] == "monday"


@pytest.mark.parametrize(
    ("sql", "database", "said"),
    [
        ("SELECT :foo", "sqlite:///{}/shop.db", "nothing is known for :foo"),
        ("SELECT :window", "sqlite:///{}/shop.db", "told no window"),
        ("SELECT 1", "sqlite:///{}/other.db", "there is no file"),
        ("SELECT 1", "nonsense", "an address such as"),
        ("SELECT 1", "nonsense://x", "an address such as"),
        ("SELECT FROM", "sqlite:///{}/shop.db", "refused the query"),
        ("SELECT 1 AS x, 2 AS x", "sqlite:///{}/shop.db", "same name"),
        ("SELECT 'a' AS label", "sqlite:///{}/shop.db", "has no column 'visits'"),
    ],
)
def test_mistakes_are_named(sql, database, said, tmp_path, clock):
    (tmp_path / "shop.db").touch()
    study = make_study(f"mistaken {sql} {database}")
    study.split(period="monday")
    with pytest.raises(InvalidInputError, match=said):
        study.record(query_report(study, sql, database.format(tmp_path), "monday"), "monday")


def test_there_must_be_shares(tmp_path, clock):
    study = make_study("no shares yet")
    with pytest.raises(RunStateError, match="no shares were stored"):
        query_report(study, "SELECT 1", f"sqlite:///{tmp_path}/x.db", "monday")
