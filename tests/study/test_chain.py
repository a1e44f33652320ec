"""A study's chain: whatever is changed in the database is found."""

import json
import sqlite3

import numpy as np
import pytest
from click.testing import CliRunner
from sqlalchemy import create_engine, event, text
from tests.breadth import each_value

import surepick as sp
from surepick.cli import cli
from surepick.errors import StudyDamagedError
from surepick.storage import open_storage
from surepick.storage.records import Link
from surepick.storage.sql import sums
from surepick.study import chain

PROBLEM = sp.Problem(np.eye(3), noise=1.0, labels=["a", "b", "c"])
PAST = {"label": ["a", "b", "c"] * 2, "reward": [0.4, 0.3, 1.9, -0.6, 1.5, 2.1]}


def head(study):
    return chain.head_of(study.storage, study._record)


def check(study, noted=None):
    return chain.check_chain(study.storage, study._record, noted)


def work(study, batches=None):
    """Measure so many batches, or all that are left."""
    draws = np.random.default_rng(0)
    while not study.finished and (batches is None or study.progress().batch < batches):
        pulls = study.ask(4, worker="ann")
        study.tell_many([(pull.id, 0.8 * pull.arm + draws.normal()) for pull in pulls])


def make(url, name="s", **fields):
    import pandas as pd

    past = {"past": pd.DataFrame(PAST), "past_chosen": "in advance"}
    return sp.create_study(name, PROBLEM, storage=url, delta=0.1, **past | fields)


def test_every_step_is_a_link(storage_url):
    study = make(storage_url)
    heads = [head(study)]
    while not study.finished:
        work(study, study.progress().batch + 1)
        heads.append(head(study))
    kinds = [link.kind for link in study.storage.read(lambda tx: tx.links(study._record.id))]
    batches = study.current_run.batches
    assert kinds == ["created", *["proposed", "told"] * batches, "answered"]
    assert [one["links"] for one in heads] == [2, *range(4, 2 * batches + 3, 2)]
    times = [one["at"] for one in heads]
    assert times == sorted(times)
    assert study.status()["chain"] == heads[-1]
    assert study.answer.certificate()["chain"] == heads[-1]
    assert sp.verify(study.answer.certificate()).replayed
    for one in heads:  # whoever noted one of them finds it again
        assert check(study, one["head"]) == heads[-1]
    with pytest.raises(StudyDamagedError, match="does not contain"):
        check(study, "0" * 64)


def test_links_are_what_they_are_said_to_be():
    """Worked out again by hand: SHA-256 of JSON, from the digest before."""
    import hashlib

    study = make("memory://by hand")
    work(study, 1)
    before = "0" * 64
    for place, link in enumerate(study.storage.read(lambda tx: tx.links(study._record.id))):
        row = json.dumps([before, place, link.kind, link.content, link.at], separators=(",", ":"))
        before = hashlib.sha256(row.encode()).hexdigest()
        assert link.digest == before
    tells = study.storage.read(lambda tx: tx.tells(study._record.id, range(100)))
    rows = [json.dumps([t.pull, t.arm, t.value, t.worker, t.at]) + "\n" for t in tells.values()]
    size = study.storage.read(lambda tx: tx.batch(study._record.id, 0)).size
    told = hashlib.sha256("".join(rows[:size]).encode()).hexdigest()
    links = study.storage.read(lambda tx: tx.links(study._record.id))
    assert json.loads(links[2].content) == {"batch": 0, "rewards": told}


# -- tampering -------------------------------------------------------------------------------
#: tables, what tells their rows apart, and columns that are changed one by one
CHANGED = {
    "surepick_studies": ("id", "algorithm settings problem seed meta created"),
    "surepick_progress": ("study", "batch first size told finished"),
    "surepick_batches": ("number", "number first size pulls"),
    "surepick_snapshots": ("study", "batch run"),
    "surepick_past": ("study", "past"),
    "surepick_tells": ("pull", "pull arm value worker at"),
    "surepick_chain": ("number", "number kind content at digest"),
}


def another(value):
    """Something else of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    for digit, other in ("12", "23", "34", "45"):
        if digit in value:
            return value.replace(digit, other, 1)
    return f"{value} "  # (PostgreSQL takes a space off the end of a digest)


def found(url, name="s"):
    """Whether the command finds that something was changed."""
    done = CliRunner().invoke(cli, ["verify", name, "--storage", url, "--json", "--no-replay"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return True  # so much was changed that the study cannot even be opened
    return done.exit_code == 1 and not json.loads(done.output)["holds"]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("shared_url", "finish"),
    each_value(["sqlite", "postgresql"], [True, False]),
    indirect=["shared_url"],
)
def test_tampering_with_one_row_is_found(shared_url, finish):
    study = make(shared_url)
    work(study, None if finish else 2)
    if not finish:
        study.tell(study.ask(1, worker="bob")[0].id, 0.5)
    beyond = study.progress().first  # rewards of the open batch are not part of the chain yet
    study.close()
    assert not found(shared_url)
    engine = create_engine(shared_url)
    if engine.dialect.name == "sqlite":  # whoever forges has the program, too
        event.listen(engine, "connect", sums.provide)

    def run(statement, **values):
        with engine.begin() as tx:
            done = tx.execute(text(statement), values)
            return done.mappings().all() if done.returns_rows else []

    tried = 0
    for table, (key, columns) in CHANGED.items():
        rows = run(f"SELECT * FROM {table} ORDER BY {key}")
        rows = [row for row in rows if key != "pull" or row["pull"] < beyond]
        for row in (rows[0], rows[-1]):
            for column in columns.split():
                old, new = row[column], another(row[column])
                if column == "finished":
                    old, new = bool(old), not old
                elif column == key:
                    new = old + 1000  # a number that no other row has
                change = f"UPDATE {table} SET {column} = :new WHERE {key} = :key"
                run(change, new=new, key=row[key])
                assert found(shared_url), (table, column, row[key])
                run(change, new=old, key=new if column == key else row[key])
                tried += 1
            if key in ("number", "pull"):
                run(f"DELETE FROM {table} WHERE {key} = :key", key=row[key])
                assert found(shared_url), (table, row[key])
                kept = {name: value for name, value in row.items() if name != "sum"}
                names, values = ", ".join(kept), ", ".join(f":{name}" for name in kept)
                run(f"INSERT INTO {table} ({names}) VALUES ({values})", **kept)
    assert tried > 40
    assert not found(shared_url)
    engine.dispose()


def test_whoever_rewrites_the_chain_too_is_found_by_a_head_that_was_noted(database_folder):
    url = f"sqlite:///{database_folder}/studies.db"
    study = make(url)
    work(study, 2)
    noted = head(study)["head"]
    work(study)
    study.close()
    forged = sp.load_study("s", url)
    answer = forged.answer
    with sqlite3.connect(f"{database_folder}/studies.db") as database:
        sums.provide(database)
        database.execute("UPDATE surepick_tells SET value = value + 1 WHERE pull = 0")
        database.execute("DELETE FROM surepick_chain")
    record, storage = forged._record, forged.storage

    def rewrite(tx):
        at = tx.progress(record.id, lock=True)
        chain.begin(tx, record, tx.past(record.id), at.now)
        run = "as it was"
        for number in range(at.batch):
            batch = tx.batch(record.id, number)
            chain.propose(tx, record.id, batch, run, at.now)
            chain.tell(tx, record, batch, at.now)
        chain.answer(tx, record.id, answer, tx.snapshot(record.id)[1], at.now)

    storage.write(rewrite)
    check(forged)  # by itself it is whole
    done = CliRunner().invoke(cli, ["verify", "s", "--storage", url, "--head", noted])
    assert done.exit_code == 1
    assert "what happened before was changed" in done.output
    forged.close()


@pytest.mark.parametrize("finish", [False, True])
@pytest.mark.parametrize("which", ["", " WHERE number = 0"])
def test_a_study_whose_chain_is_gone_is_refused(storage_url, finish, which):
    """A chain that began again with whatever is there would vouch for what was changed."""
    study = make(storage_url)
    work(study, None if finish else 2)
    if not storage_url.startswith("memory"):
        engine = create_engine(storage_url)
        with engine.begin() as tx:
            tx.execute(text(f"DELETE FROM surepick_chain{which}"))
        engine.dispose()
    elif which:
        del study.storage._studies[study._record.id].rows[Link][0]
    else:
        study.storage._studies[study._record.id].rows[Link].clear()
    refused = pytest.raises(StudyDamagedError, match=r"'s' was changed: .*chain")
    with refused:
        check(study)
    again = sp.load_study("s", study.storage)
    with refused:  # whoever opens it, and looks how it stands
        _ = again.answer if finish else again.current_run
    if not which:
        with refused:
            head(study)
        with pytest.raises(StudyDamagedError, match="chain is gone"):  # who had opened it before
            study.correct(0, 2.0, reason="read again")


def test_a_study_whose_chain_goes_under_way_goes_no_further():
    study = make("memory://under way")
    work(study, 1)
    study.storage._studies[study._record.id].rows[Link].clear()
    with pytest.raises(StudyDamagedError, match="chain is gone"):
        work(study)


def test_a_study_that_the_past_decides_is_created_and_answered():
    import pandas as pd

    many = pd.DataFrame({"label": ["a", "c"] * 300, "reward": [0.0, 9.0] * 300})
    problem = sp.Problem(np.eye(3)[[0, 2]], noise=1.0, labels=["a", "c"])
    study = sp.create_study(
        "s", problem, storage="memory://past decides", past=many, past_chosen="in advance"
    )
    assert study.finished
    assert check(study)["links"] == 2


def test_the_command_says_where_the_chain_stands(database_folder):
    url = f"sqlite:///{database_folder}/studies.db"
    study = make(url)
    call = lambda *more: CliRunner().invoke(cli, [*more, "--storage", url])  # noqa: E731
    running = call("verify", "s")
    assert running.exit_code == 4  # nothing is proven yet
    assert (
        "2 links of its chain fit. Write down the head of the chain, to check against it later: "
        + head(study)["head"]
        in running.output
    )
    work(study)
    study.close()
    done = call("verify", "s")
    assert done.exit_code == 0
    assert "The database is unchanged" in done.output
    assert "The certificate holds: the answer is c." in done.output
    assert json.loads(call("status", "s", "--json").output)["chain"]["head"] in done.output
    assert call("verify", "missing").exit_code != 0
    missing = CliRunner().invoke(cli, ["verify", "missing.json"])
    assert "does not exist" in missing.output


def test_links_belong_to_their_study(storage_url):
    storage = open_storage(storage_url)
    one, other = make(storage, "one"), make(storage, "other")
    assert head(one)["head"] != head(other)["head"]
    work(one)
    assert head(other)["links"] == 2
    sp.delete_study("one", storage)
    assert check(other)["links"] == 2
    storage.close()


def test_a_batch_that_is_read_in_pieces_has_the_same_link(storage_url, monkeypatch):
    monkeypatch.setattr(chain, "_PIECE", 3)  # rewards that are read together
    study = make(storage_url)
    work(study, 2)
    assert study.storage.read(lambda tx: tx.batch(study._record.id, 0)).size > 3
    in_pieces = check(study)
    monkeypatch.setattr(chain, "_PIECE", 10_000)
    assert check(study) == in_pieces == head(study)
