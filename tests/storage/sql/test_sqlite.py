"""SQLite files: journals, and everything that can be wrong with a file."""

import dataclasses
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from sqlalchemy import create_engine, event
from tests.storage.sql.shape import shape

from surepick import errors
from surepick.storage import open_storage
from surepick.storage.records import StudyProgress, StudyRecord
from surepick.storage.sql import migrate, sqlite, sums
from surepick.storage.sql.sqlite import wal_is_safe
from surepick.storage.sql.tables import metadata

RECORD = StudyRecord(0, "a", "key", "toy", "{}", "{}", 0, "{}")
START = StudyProgress(0, 0, 10)


@pytest.fixture
def path(database_folder):
    return database_folder / "studies.db"


@pytest.fixture
def url(path):
    return f"sqlite:///{path}"


def ours(version, path):
    """A database with our tables, marked with this version."""
    open_storage(f"sqlite:///{path}").close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {migrate.VERSION_TABLE} SET version_num = '{version}'")
    connection.close()


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 0), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_the_write_ahead_log_is_used_only_where_it_is_safe(version, safe):
    assert wal_is_safe(version) is safe


@pytest.mark.parametrize(("safe", "mode"), [(True, "wal"), (False, "delete")])
def test_new_files_get_the_journal_that_is_safe(url, path, monkeypatch, safe, mode):
    monkeypatch.setattr(sqlite, "wal_is_safe", lambda _: safe)
    storage = open_storage(url)
    storage.write(lambda tx: tx.add_study(RECORD, START))
    storage.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == (mode,)
    connection.close()


def test_a_log_that_is_not_safe_here_is_given_up(url, path, monkeypatch):
    monkeypatch.setattr(sqlite, "wal_is_safe", lambda _: True)
    open_storage(url).close()
    monkeypatch.setattr(sqlite, "wal_is_safe", lambda _: False)
    storage = open_storage(url)
    storage.write(lambda tx: tx.add_study(RECORD, START))
    storage.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()
    monkeypatch.setattr(sqlite, "wal_is_safe", lambda _: True)
    open_storage(url).close()  # and nobody turns it on again behind the other's back
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


@pytest.mark.parametrize("mode", ["wal", "delete"])
@pytest.mark.parametrize("safe", [True, False])
def test_who_looks_waits_for_nobody_who_writes(url, path, monkeypatch, safe, mode):
    monkeypatch.setattr(sqlite, "wal_is_safe", lambda _: True)
    storage = open_storage(url)
    storage.write(lambda tx: tx.add_study(RECORD, START))
    storage.close()
    monkeypatch.setattr(sqlite, "wal_is_safe", lambda _: safe)
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    writer = sqlite3.connect(path, isolation_level=None)
    assert writer.execute(f"PRAGMA journal_mode = {mode}").fetchone() == (mode,)
    writer.execute("BEGIN IMMEDIATE")
    storage = open_storage(url, create=False)
    assert [one.name for one in storage.read(lambda tx: tx.studies())] == [RECORD.name]
    with pytest.raises(errors.StorageLockedError):
        storage.write(lambda tx: None)
    storage.close()
    writer.close()


def test_commits_are_on_the_disk(url):
    storage = open_storage(url)
    with storage._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3  # EXTRA
    storage.close()


def test_a_file_that_is_not_there_is_not_made_by_looking(url, path):
    with pytest.raises(errors.UnknownStudyError, match="no such file"):
        open_storage(url, create=False)
    assert not path.exists()


def test_a_file_without_our_tables_has_no_studies(url, path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(errors.UnknownStudyError, match="there are no studies"):
        open_storage(url, create=False)
    storage = open_storage(url)  # and it may hold studies beside what else is in it
    assert storage.read(lambda tx: tx.studies()) == []
    storage.close()


def test_not_a_database(url, path):
    path.write_bytes(b"these are the options, not a database\n" * 100)
    for create in (True, False):
        with pytest.raises(errors.NotADatabaseError, match="not a database"):
            open_storage(url, create=create)
    assert path.read_bytes().startswith(b"these are")


def test_a_folder_that_is_not_there(database_folder):
    with pytest.raises(errors.StorageError, match="check that the folder exists"):
        open_storage(f"sqlite:///{database_folder}/missing/studies.db")


def test_from_a_newer_version(url, path):
    ours("9999", path)
    for create in (True, False):
        with pytest.raises(errors.StorageVersionError, match=r"newer version.*upgrade surepick"):
            open_storage(url, create=create)


def test_read_only(url, path):
    open_storage(url).close()
    storage = open_storage(f"sqlite:///file:{path}?mode=ro&uri=true", create=False)
    assert storage.read(lambda tx: tx.studies()) == []
    with pytest.raises(errors.StorageReadOnlyError, match="readonly"):
        storage.write(lambda tx: tx.add_study(RECORD, START))
    storage.close()


def test_full(url):
    storage = open_storage(url)
    study = storage.write(lambda tx: tx.add_study(RECORD, START)).id
    with storage._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(errors.StorageFullError, match="nothing of this step was recorded"):
        storage.write(lambda tx: tx.set_snapshot(study, 0, "x" * 100_000))
    assert storage.read(lambda tx: tx.snapshot(study)) is None
    storage.write(lambda tx: tx.set_snapshot(study, 0, "x"))
    storage.close()


def test_locked(url, path, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0.1)
    storage = open_storage(url)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    start = time.monotonic()
    with pytest.raises(errors.StorageLockedError, match="another process has held it too long"):
        storage.write(lambda tx: tx.add_study(RECORD, START))
    assert 0.05 < time.monotonic() - start < 30
    other.execute("ROLLBACK")
    other.close()
    storage.write(lambda tx: tx.add_study(RECORD, START))
    storage.close()


def test_waits_for_others(url, path):
    storage = open_storage(url)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
    timer.start()
    storage.write(lambda tx: tx.add_study(RECORD, START))
    timer.join()
    other.close()
    storage.close()


def test_many_may_open_a_new_file_at_once(url):
    code = f"""
from surepick.storage import open_storage
storage = open_storage({url!r})
print(len(storage.read(lambda tx: tx.studies())))
"""
    children = [
        subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, text=True)
        for _ in range(3)
    ]
    for child in children:
        out, err = child.communicate(timeout=120)
        assert (child.returncode, out) == (0, "0\n"), err


def test_a_percent_sign_in_the_path_does_no_harm(database_folder):
    folder = database_folder / "100% sure"
    folder.mkdir()
    storage = open_storage(f"sqlite:///{folder}/studies.db")
    assert storage.read(lambda tx: tx.studies()) == []
    storage.close()


def test_migrations_lead_to_the_tables_that_new_databases_have(url, path, tmp_path):
    open_storage(url).close()
    old = tmp_path / "old.db"
    found = {}
    for file, way in ((path, None), (old, migrate.migrate)):
        engine = create_engine(f"sqlite:///{file}")
        event.listen(engine, "connect", sums.provide)
        with engine.begin() as connection:
            if way is not None:
                way(connection)
            found[file] = shape(connection), migrate.version(connection)
        engine.dispose()
    assert found[old] == found[path]
    for file in found:
        database = sqlite3.connect(file)
        made = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
        database.close()
        assert set(metadata.tables) <= made.keys()
        assert "AUTOINCREMENT" in made["surepick_studies"]
        assert "WITHOUT ROWID" in made["surepick_tells"]


def test_threads_of_one_process_find_the_file_free_when_it_is_their_turn(url, monkeypatch):
    # Looking for the lock again and again, a thread would sleep while it is free.
    waits, plain = [], sqlite.time.sleep
    monkeypatch.setattr(sqlite.time, "sleep", lambda seconds: waits.append(seconds) or plain(0))
    storage = open_storage(url)
    study = storage.write(lambda tx: tx.add_study(RECORD, START))

    def work(tx):
        at = tx.progress(study.id, lock=True)
        plain(0.002)
        tx.set_progress(study.id, dataclasses.replace(at, told=at.told + 1))

    threads = [threading.Thread(target=lambda: storage.write(work)) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert storage.read(lambda tx: tx.progress(study.id)).told == 8
    assert not waits
