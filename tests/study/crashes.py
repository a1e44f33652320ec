"""Processes that die at the worst moments, and what is left of a study afterwards.

Run as a program (``python -m tests.study.crashes points URL``) it stays single-threaded and
forks its victims from itself, so that hundreds of them cost seconds; the result is printed as
JSON. The tests run it with small sizes, ``benchmarks/study_crashes.py`` with full ones.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import uuid
from functools import cache, partial
from pathlib import Path

import alembic.command  # noqa: F401  # here, so that no victim has to load it
import psycopg
from sqlalchemy import Engine, Pool, event, make_url
from tests.study import toy

import surepick as sp
from surepick.errors import StorageConnectionError, SurepickError, UnknownStudyError
from surepick.storage import open_storage
from surepick.study.desk import leases

DEATH = 9


# -- victims -------------------------------------------------------------------------------
def fork(work):
    """Run ``work`` in a child that ends with its result as exit code; the child's number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        code = work() or 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def ended(child):
    """How a child ended: its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(point):
    """Have this process killed at its n-th contact with the database.

    Contacts are: before and after every statement, before every commit, and when a connection
    is handed back after one.
    """
    left = [point]

    def contact(*_):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", contact)
    event.listen(Engine, "after_cursor_execute", contact)
    event.listen(Engine, "commit", contact)
    event.listen(Pool, "checkin", contact)
    return left


class Acknowledged:
    """Files to which workers add every tell that was acknowledged to them, one for each process.

    Not every file system keeps lines apart that several processes append to one file.
    """

    def __init__(self, path):
        self._path = Path(path)

    def add(self, pull, value):
        own = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        file = os.open(own, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{pull} {value!r}\n".encode())
        os.close(file)

    def __iter__(self):
        for path in sorted(self._path.parent.glob(f"{self._path.name}.*")):
            for line in path.read_text().splitlines():
                pull, value = line.split()
                yield int(pull), float(value)


def work(url, name, worker, acknowledged, waits=None, n=1):
    """One worker, until the study is finished."""
    study = sp.load_study(name, url)
    while not study.finished:
        start = time.monotonic()
        pulls = study.ask(n, worker, wait=0.0)
        if waits is not None:
            waits.append(time.monotonic() - start)
        if not pulls:
            time.sleep(random.uniform(0.005, 0.03))
        for pull in pulls:
            start = time.monotonic()
            study.tell(pull.id, toy.reward(pull))
            if waits is not None:
                waits.append(time.monotonic() - start)
            acknowledged.add(pull.id, toy.reward(pull))


def work_ahead(url, name, acknowledged):
    """Two workers, of whom one is so slow that the other begins two batches meanwhile.

    Then it gets what the slow one has, too; and it takes pulls of one option at a time.
    """
    study = sp.load_study(name, url)

    def tell(pull):
        study.tell(pull.id, toy.reward(pull))
        acknowledged.add(pull.id, toy.reward(pull))

    while not study.finished:
        held = study.ask(1, "slow", wait=5.0)
        while pulls := study.ask(2, "quick", same=True):
            for pull in pulls:
                tell(pull)
        for pull in held:
            tell(pull)


def check(url, name, acknowledged, n_arms, each, kind=toy.Toy):
    """What is wrong with a finished study: lost and doubled tells, batches, the answer."""
    study = sp.load_study(name, url)
    rewards = study.rewards()
    log = dict(zip(rewards.pulls.tolist(), rewards.values.tolist()))
    toy.check_whole(study)
    single = alone(n_arms, each, kind)
    found = {
        "lost": sum(log.get(pull) != value for pull, value in acknowledged),
        "twice": len(rewards.pulls) - len(log),
        "batches": abs(study.current_run.batches - single.current_run.batches),
        "wrong": int(_said(study) != _said(single)),
    }
    study.close()
    return found


def _said(study):
    """The answer, without what it says about corrections."""
    said = study.answer.to_dict()
    return said | {"guarantee": said["guarantee"]["text"].partition("; provided")[0]}


@cache
def alone(n_arms, each, kind=toy.Toy):
    return toy.alone(n_arms, each, kind)


def add(total, part):
    return total | {key: total.get(key, 0) + value for key, value in part.items()}


# -- kill at every contact -----------------------------------------------------------------
def ahead(url, folder, step=1):
    """Kill at every contact of a study with several batches open, and pulls handed out twice."""
    found = {"study": 0, "lost": 0, "twice": 0, "batches": 0, "wrong": 0, "failed": 0}
    open_storage(url).close()
    for point in range(1, 10_000, step):
        told, name = Acknowledged(folder / f"ahead-{point}"), f"ahead {point}"
        algorithm = toy.ToyAhead(0.1, each=1)
        sp.create_study(name, toy.problem(3), algorithm, url, hedge=True).close()
        if ended(fork(partial(whole_ahead, url, name, told, point))) == 0:
            break
        found["study"] += 1
        recovered = ended(fork(partial(whole_ahead, url, name, told, 0)))
        found["failed"] += recovered != 0
        if recovered == 0:
            found = add(found, check(url, name, told, 3, 1, toy.ToyAhead))
    return found


def whole_ahead(url, name, told, point):
    kill_at(point)
    work_ahead(url, name, told)
    study = sp.load_study(name, url)
    arm = int(study.rewards().arms[4])
    value = toy.reward(sp.Pull(4, arm, ""))
    study.correct(4, value + 9.0, reason="read wrongly")
    study.correct(4, value, reason="it was right")
    return 0


def points(url, fresh, folder, first=1, step=1):
    """Kill at every contact: of opening a database that has no tables, then of a whole study."""
    found = {"opening": 0, "study": 0, "lost": 0, "twice": 0, "batches": 0, "wrong": 0, "failed": 0}
    for point in range(1, 10_000, min(step, 13)):  # opening takes few
        place = fresh()
        if ended(fork(partial(opening, place, point))) == 0:
            break
        found["opening"] += 1
        found["failed"] += ended(fork(partial(opening, place, 0))) != 0
    open_storage(url).close()
    for point in range(first, 10_000, step):
        told = Acknowledged(folder / f"points-{point}")
        name = f"study {point}"
        if ended(fork(partial(whole, url, name, told, point))) == 0:
            break
        found["study"] += 1
        recovered = ended(fork(partial(whole, url, name, told, 0)))
        found["failed"] += recovered != 0
        if recovered == 0:
            found = add(found, check(url, name, told, 3, 1))
    return found


def opening(url, point):
    kill_at(point)
    open_storage(url).close()
    return 0


def whole(url, name, told, point):
    """A study from its creation (where that is still to be done) to its end."""
    kill_at(point)
    try:
        sp.load_study(name, url).close()
    except UnknownStudyError:
        sp.create_study(name, toy.problem(3), toy.Toy(0.1, each=1), url).close()
    work(url, name, "w", told, n=2)
    changes_of_mind(sp.load_study(name, url))
    return 0


def changes_of_mind(study):
    """Correct a reward and withdraw another, and take both back."""
    arms = alone(3, 1).rewards().arms
    first, last = (toy.reward(sp.Pull(pull, int(arms[pull]), "")) for pull in (0, 3))
    study.correct(0, first + 9.0, reason="read wrongly")
    study.correct(0, first, reason="it was right")
    study.withdraw(3, reason="the door was open")
    study.correct(3, last, reason="another door")


# -- kill at every contact of adding and retiring ------------------------------------------
def turns(url, folder, step=1):
    """Kill at every contact while options come and go."""
    found = {"turns": 0, "lost": 0, "twice": 0, "batches": 0, "wrong": 0, "failed": 0}
    expected = {}
    for point in [0, *range(1, 10_000, step)]:
        name, told = f"turns {point}", Acknowledged(folder / f"turns-{point}")
        died = ended(fork(partial(coming_and_going, url, name, told, point)))
        if died:
            found["turns"] += 1
            found["failed"] += ended(fork(partial(coming_and_going, url, name, told, 0))) != 0
        study = sp.load_study(name, url)
        toy.check_whole(study)
        rewards = study.rewards()
        log = dict(zip(rewards.pulls.tolist(), rewards.values.tolist()))
        said = _said(study) | {"changes": [one.labels for one in study.option_changes()]}
        expected = expected or said
        wrong = {"lost": sum(log.get(pull) != value for pull, value in told)}
        found = add(found, wrong | {"wrong": int(said != expected)})
        study.close()
        if point and not died:
            break
    return found


def coming_and_going(url, name, told, point):
    """A study in which an option comes while a batch is open, and the answer is retired."""
    try:
        study = sp.load_study(name, url)
    except UnknownStudyError:
        study = sp.create_study(name, toy.problem(3), toy.Toy(0.1, each=1), url)
        for pull in study.ask(2, "w"):
            study.tell(pull.id, toy.reward(pull))
    left = kill_at(point)
    study.add(["late"], reason="the new catalogue")
    contacts, left[0] = left[0], -1  # workers are killed elsewhere
    work(url, name, "w", told, n=4)
    left[0] = contacts
    study.retire("late", reason="sold out")
    left[0] = -1
    work(url, name, "w", told, n=4)
    study.close()
    return 0


# -- kill at random times ------------------------------------------------------------------
def kills(url, folder, count, workers=3, each=40, seed=0):
    """Kill workers at random times, and start them again, until ``count`` have died."""
    draws = random.Random(seed)
    found = {"kills": 0, "studies": 0, "failed": 0}
    while found["kills"] < count:
        name = f"random {found['studies']}"
        told = Acknowledged(folder / f"kills-{found['studies']}")
        sp.create_study(name, toy.problem(3), toy.Toy(0.1, each=each), url).close()
        crew = {w: fork(partial(work, url, name, f"w{w}", told)) for w in range(workers)}
        while crew:
            time.sleep(draws.expovariate(1 / 0.03))
            for w, child in list(crew.items()):
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    found["failed"] += os.waitstatus_to_exitcode(status) != 0
                    del crew[w]
            if crew and found["kills"] < count:
                w = draws.choice(list(crew))
                os.kill(crew[w], signal.SIGKILL)
                if ended(crew[w]) == -DEATH:
                    found["kills"] += 1
                crew[w] = fork(partial(work, url, name, f"w{w}", told))
        found = add(found, check(url, name, told, 3, each))
        found["studies"] += 1
    return found


# -- many at once --------------------------------------------------------------------------
def crowd(url, folder, workers, each_worker, name="crowd", meanwhile=None):
    """Many workers at once on one study of ``workers * each_worker`` pulls."""
    each = workers * each_worker // 5  # the toy's batches have 3 * each and 2 * each pulls
    told = Acknowledged(folder / name)
    sp.create_study(name, toy.problem(3), toy.Toy(0.1, each=each), url).close()
    start = time.monotonic()
    crew = [
        fork(partial(member, url, name, f"w{w}", told, folder / f"waits-{w}"))
        for w in range(workers)
    ]
    found = {"workers": workers, "errors": 0, "cuts": 0}
    while crew:
        for child in list(crew):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                found["errors"] += os.waitstatus_to_exitcode(status) != 0
                crew.remove(child)
        if meanwhile is not None:
            found["cuts"] += meanwhile()
        time.sleep(0.02)
    seconds = time.monotonic() - start
    waits = [float((folder / f"waits-{w}").read_text().split()[0]) for w in range(workers)]
    clean = sum(int((folder / f"waits-{w}").read_text().split()[1]) for w in range(workers))
    found |= {
        "pulls": 5 * each,
        "per_second": round(5 * each / seconds, 1),
        "worst_wait": round(max(waits), 3),
        "clean_errors": clean,
    }
    return add(found, check(url, name, told, 3, each))


def member(url, name, worker, told, report):
    """One of many; a lost connection is an error it may get, and it then goes on."""
    waits, clean = [0.0], 0
    while True:
        try:
            work(url, name, worker, told, waits)
        except StorageConnectionError:
            clean += 1
            continue
        report.write_text(f"{max(waits)} {clean}")
        return 0


# -- cut connections -----------------------------------------------------------------------
def cuts(url, folder, workers, each_worker, count):
    """Crowds whose connections are cut in the middle of transactions, ``count`` times at least.

    No longer: on a busy machine every transaction would be cut, and none would ever end.
    """
    cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE xact_start "
    cut += "IS NOT NULL AND usename = current_user AND pid <> pg_backend_pid()"
    total: dict = {"cuts": 0, "studies": 0}
    with login(url) as connection:

        def meanwhile():
            if total["cuts"] >= count:
                return 0
            done = connection.execute(cut).fetchone()[0]
            total["cuts"] += done
            return done

        while total["cuts"] < count:
            found = crowd(url, folder, workers, each_worker, f"cuts {total['studies']}", meanwhile)
            total |= add(total, {key: found[key] for key in KEPT if key != "cuts"})
            total["studies"] += 1
    return total


KEPT = ("cuts", "errors", "clean_errors", "pulls", "lost", "twice", "batches", "wrong")


# -- as a program --------------------------------------------------------------------------
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["points", "ahead", "turns", "kills", "crowd", "cuts"])
    parser.add_argument("url")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--each", type=int, default=25)
    asked = parser.parse_args()
    toy.register()
    leases.CLAIM = 2.0  # the dead do not come back under the same name in every case
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if asked.what == "points":
            place = partial(fresh, asked.url, folder)
            found = points(asked.url, place, folder, asked.first, asked.step)
        elif asked.what == "turns":
            found = turns(asked.url, folder, asked.step)
        elif asked.what == "ahead":
            found = ahead(asked.url, folder, asked.step)
        elif asked.what == "kills":
            found = kills(asked.url, folder, asked.count, seed=asked.seed)
        elif asked.what == "cuts":
            found = cuts(asked.url, folder, asked.workers, asked.each, asked.count)
        else:
            found = crowd(asked.url, folder, asked.workers, asked.each)
    print(json.dumps(found))


def login(url):
    """A plain connection to the server behind ``url``."""
    address = make_url(url)
    return psycopg.connect(
        host=address.query["host"],
        user=address.username,
        dbname=address.database,
        autocommit=True,
    )


def fresh(url, folder):
    """The address of a database without tables, of the same kind as ``url``."""
    name = f"fresh_{uuid.uuid4().hex}"
    if url.startswith("sqlite"):
        return f"sqlite:///{folder}/{name}.db"
    with login(url) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return url.rsplit("%3D", 1)[0] + "%3D" + name


if __name__ == "__main__":
    try:
        main()
    except SurepickError as error:
        sys.exit(f"{type(error).__name__}: {error}")
