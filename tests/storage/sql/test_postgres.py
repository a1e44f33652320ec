"""PostgreSQL: what can be wrong with a server, and connections that are cut."""

import os
import subprocess
import sys

import pytest
from sqlalchemy import create_engine, event, text
from tests.storage.sql.shape import shape

import surepick as sp
from surepick import errors
from surepick.storage import open_storage
from surepick.storage.records import StudyProgress, StudyRecord
from surepick.storage.sql import migrate
from surepick.storage.sql import postgres as module

RECORD = StudyRecord(0, "a", "key", "toy", "{}", "{}", 0, "{}")
START = StudyProgress(0, 0, 10)


@pytest.fixture
def url(postgres):
    return postgres.url()


@pytest.fixture
def storage(url):
    storage = open_storage(url)
    yield storage
    storage.close()


def test_short_forms_of_the_address_are_understood(url):
    for scheme in ("postgresql", "postgres"):
        storage = open_storage(url.replace("postgresql+psycopg", scheme))
        assert storage.url.startswith("postgresql+psycopg://tester@/postgres")
        storage.close()


@pytest.mark.validation
def test_passwords_are_not_shown():
    with pytest.raises(errors.StorageConnectionError) as caught:
        open_storage("postgresql://me:secret@/postgres?host=/nowhere")
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value, ConnectionError)


def test_a_database_that_is_not_there(url):
    with pytest.raises(errors.NotADatabaseError, match="does not exist"):
        open_storage(url.replace("/postgres?", "/nothing?"))


def test_from_a_newer_version(storage, url):
    newer = text(f"UPDATE {migrate.VERSION_TABLE} SET version_num = '9999'")
    storage._try(lambda tx: tx.connection.execute(newer), write=True)
    with pytest.raises(errors.StorageVersionError, match="newer version"):
        open_storage(url)


def test_read_only(storage, url):
    reader = open_storage(url + "%20-cdefault_transaction_read_only%3Don")
    assert reader.read(lambda tx: tx.studies()) == []
    with pytest.raises(errors.StorageReadOnlyError, match="read-only"):
        reader.write(lambda tx: tx.add_study(RECORD, START))
    reader.close()


def test_locked(storage, url, monkeypatch):
    study = storage.write(lambda tx: tx.add_study(RECORD, START)).id
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    impatient = open_storage(url)

    def blocked(tx):
        tx.progress(study, lock=True)
        with pytest.raises(errors.StorageLockedError, match="held it too long"):
            impatient.write(lambda other: other.progress(study, lock=True))

    storage.write(blocked)
    assert impatient.write(lambda tx: tx.progress(study, lock=True)).size == 10
    impatient.close()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_cut_in_a_transaction_is_made_again(storage, url, when):
    study = storage.write(lambda tx: tx.add_study(RECORD, START)).id
    other = open_storage(url)
    tries = []

    def work(tx):
        at = tx.progress(study, lock=True)
        number = tx._run(text("SELECT pg_backend_pid()")).scalar()
        if when == "after":
            tx.set_progress(study, StudyProgress(0, 0, 10, asked=at.asked + 1))
        tries.append(number)
        if len(tries) < 3:
            kill = text("SELECT pg_terminate_backend(:n)")
            other._try(lambda tx: tx.connection.execute(kill, {"n": number}), write=True)
        if when == "before":
            tx.set_progress(study, StudyProgress(0, 0, 10, asked=at.asked + 1))
        return at.asked

    assert storage.write(work) == 0
    assert len(set(tries)) == 3
    assert storage.read(lambda tx: tx.progress(study)).asked == 1
    other.close()


def test_a_connection_that_is_cut_every_time_is_a_clean_error(storage, monkeypatch):
    monkeypatch.setattr("surepick.storage.sql.storage._TRIES", 2)

    def work(tx):
        tx._run(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    with pytest.raises(errors.StorageConnectionError, match="terminating connection"):
        storage.write(work)
    assert storage.read(lambda tx: tx.studies()) == []


def test_idle_connections_that_were_cut_do_no_harm(storage, postgres):
    assert storage.read(lambda tx: tx.studies()) == []
    postgres.kill_connections()
    assert storage.read(lambda tx: tx.studies()) == []


def test_a_forked_child_makes_its_own_connection(url):
    code = f"""
import os
from surepick.storage import open_storage
storage = open_storage({url!r})
child = os.fork()
for _ in range(20):
    assert storage.read(lambda tx: tx.studies()) == []
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
storage.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_migrations_lead_to_the_tables_that_new_databases_have(storage, url, postgres):
    found = []
    for place, way in ((url, None), (postgres.url(), migrate.migrate)):
        engine = create_engine(place)
        with engine.begin() as connection:
            if way is not None:
                way(connection)
            found.append((shape(connection), migrate.version(connection)))
        engine.dispose()
    assert found[0] == found[1]


def test_the_extra_is_named_where_it_is_missing(url, tmp_path):
    (tmp_path / "psycopg.py").write_text("raise ImportError\n")
    code = f"import surepick.storage as s; s.open_storage({url!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    assert "MissingExtraError" in done.stderr
    assert "surepick[postgres]" in done.stderr


def test_the_usual_ask_and_tell_take_one_statement_each(url):
    study = sp.create_study("s", sp.Problem([[1.0], [2.0]], noise=1.0), "peleg-paper", url)
    study.tell(study.ask()[0].id, 1.0)
    said = []

    def note(*arguments):
        said.append(arguments[2].split()[0])

    engine = study.storage._engine
    event.listen(engine, "before_cursor_execute", note)
    for worker in (None, "w"):
        (pull,) = study.ask(1, worker)
        assert study.tell(pull.id, 1.0, worker).status == "accepted"
    event.remove(engine, "before_cursor_execute", note)
    study.close()
    assert said == ["WITH"] * 4
