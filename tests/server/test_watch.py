"""Waiting for a study on a real event loop: who is woken, and how often the study is read."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.coroutines import completed
from tests.study import toy

import surepick as sp
from surepick.algorithms import registry
from surepick.server.watch import Position, Watch
from surepick.storage import open_storage
from surepick.storage.records import StudyProgress

ROOT = Path(__file__).resolve().parents[2]
LONG = 60.0  # seconds: a wait that ends by itself only where a test fails

NEWS = {"samples": 0, "batch": 0, "finished": False, "paused": False, "revision": 0}


@pytest.fixture
def url(database_folder):
    return f"sqlite:///{database_folder}/studies.db"


@pytest.fixture
def study(url, monkeypatch):
    """A study whose batches have six pulls and four; nothing is handed out."""
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))
    toy.register()
    return sp.create_study("s", toy.problem(3), toy.Toy(0.1, each=2), url)


class Reader:
    """Reads where a study stands, over connections of its own; ``reads`` says when."""

    def __init__(self, url):
        self.storage = open_storage(url)
        self.id = self.storage.read(lambda tx: tx.find_study("s")).id
        self.reads = []
        self.now = self.most = 0
        self.broken = False  # as if the database were out of reach

    async def __call__(self, most):
        def read(tx):
            if self.broken:
                raise sp.errors.StorageError("out of reach")
            at = tx.progress(self.id)
            return Position(at, at.size - at.asked + len(tx.waiting(self.id, at.now, most)))

        self.reads.append(time.monotonic())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await asyncio.to_thread(self.storage.read, read)
        finally:
            self.now -= 1

    async def again(self, n=1):
        """Come back after so many more reads."""
        end = len(self.reads) + n
        while len(self.reads) < end or self.now:
            await asyncio.sleep(0.01)


def run(url, scene):
    """Play a scene with a watch and its reader."""

    async def play():
        reader = Reader(url)
        watch = Watch(reader)
        try:
            async with asyncio.timeout(LONG):
                await scene(watch, reader)
        finally:
            await watch.close()
            reader.storage.close()

    completed(play())


def start(waits):
    return [asyncio.create_task(one) for one in waits]


async def elsewhere(work):
    """Do something over another connection, in another thread."""
    return await asyncio.to_thread(work)


# -- how often a study is read ---------------------------------------------------------------
def test_one_reader_serves_all_who_wait(study, url):
    study.ask(6, "busy")  # nothing is left

    async def scene(watch, reader):
        begun = time.monotonic()
        first = await watch.wait_for_news(None, LONG)
        waiting = start(watch.wait_for_work(LONG) for _ in range(50))
        waiting += start(watch.wait_for_news(first, LONG) for _ in range(50))
        await reader.again(3)
        assert watch.busy
        assert not any(one.done() for one in waiting)
        assert reader.most == 1
        # four times a second for workers, whatever their number
        assert len(reader.reads) <= 4 * (time.monotonic() - begun) + 2
        await watch.close()
        await asyncio.gather(*waiting)

    run(url, scene)


def test_pages_alone_are_served_once_a_second(study, url):
    async def scene(watch, reader):
        begun = time.monotonic()
        first = await watch.wait_for_news(None, LONG)
        waiting = start(watch.wait_for_news(first, LONG) for _ in range(20))
        await reader.again(1)
        assert len(reader.reads) <= (time.monotonic() - begun) + 2
        await watch.close()
        await asyncio.gather(*waiting)

    run(url, scene)


def test_hints_are_followed_soon_but_not_each_of_them(study, url):
    async def scene(watch, reader):
        first = await watch.wait_for_news(None, LONG)
        waiting = start([watch.wait_for_news(first, LONG)])
        pauses = []
        for _ in range(3):
            begun, known = time.monotonic(), len(reader.reads)
            watch.hint()
            await reader.again()
            pauses.append(reader.reads[known] - begun)
        assert min(pauses) < 0.9  # without a hint it is a second
        begun, known = time.monotonic(), len(reader.reads)
        while time.monotonic() < begun + 0.3:
            watch.hint()
            await asyncio.sleep(0)
        assert len(reader.reads) - known <= (time.monotonic() - begun) / 0.05 + 1
        await watch.close()
        await asyncio.gather(*waiting)

    run(url, scene)


def test_nothing_is_read_when_nobody_waits(study, url):
    study.ask(6, "busy")

    async def scene(watch, reader):
        assert not watch.busy
        page = asyncio.create_task(watch.wait_for_news(await watch.wait_for_news(None, 9), LONG))
        worker = asyncio.create_task(watch.wait_for_work(LONG))
        await reader.again()
        for gone in (page, worker):  # they close the connection
            gone.cancel()
        await asyncio.gather(page, worker, return_exceptions=True)
        while watch.busy:
            await asyncio.sleep(0.01)
        known = len(reader.reads)
        await asyncio.sleep(1.2)
        assert len(reader.reads) <= known + 1  # one may have been under way
        known = len(reader.reads)
        await watch.wait_for_work(0.3)  # and again once somebody comes
        assert len(reader.reads) > known

    run(url, scene)


# -- workers -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("at", "free", "woken"),
    [
        (StudyProgress(0, 0, 9, asked=9, told=3, now=50.0), 0, 0),
        (StudyProgress(0, 0, 9, asked=7, told=3, now=50.0), 2, 2),
        (StudyProgress(0, 0, 9, asked=0, told=0, now=50.0), 9, 3),
        # a complete batch: one may work out the next, unless somebody does
        (StudyProgress(0, 0, 9, asked=9, told=9, now=50.0), 0, 1),
        (StudyProgress(0, 0, 9, 9, 9, claimed_by="w", claimed_until=60.0, now=50.0), 0, 0),
        (StudyProgress(0, 0, 9, 9, 9, claimed_by="w", claimed_until=50.0, now=50.0), 0, 1),
        (StudyProgress(1, 9, 0, finished=True, now=50.0), 0, 3),
    ],
)
def test_as_many_workers_are_woken_as_there_is_work_for(at, free, woken):
    async def scene():
        often = asyncio.Semaphore(1)
        counted = []

        async def read(most):
            counted.append(most)
            await often.acquire()  # a second read would wake others
            return Position(at, free)

        watch = Watch(read)
        waiting = start(watch.wait_for_work(LONG) for _ in range(3))
        while len(counted) < (2 if woken < 3 else 1):
            await asyncio.sleep(0.01)
        if woken == 3:
            await asyncio.gather(*waiting)
        await asyncio.sleep(0)
        assert [one.done() for one in waiting] == [k < woken for k in range(3)]  # first come
        assert counted == [3, 3 - woken][: len(counted)]
        await watch.close()
        await asyncio.gather(*waiting)

    completed(scene())


def test_a_worker_that_waits_for_nothing_leaves_in_time(study, url):
    study.ask(6, "busy")

    async def scene(watch, reader):
        begun = time.monotonic()
        await watch.wait_for_work(0.3)
        assert 0.3 <= time.monotonic() - begun < 30
        assert not (await elsewhere(lambda: study.ask(1, "w")))

    run(url, scene)


def test_those_who_left_are_woken_no_more(study, url):
    study.ask(6, "busy")

    async def scene(watch, reader):
        gone = [asyncio.create_task(watch.wait_for_work(0.05)) for _ in range(3)]
        last = asyncio.create_task(watch.wait_for_work(LONG))
        await asyncio.gather(*gone)
        await elsewhere(lambda: study.fail(0, "back", "busy"))
        await last  # one pull, which is for the one who is there

    run(url, scene)


def test_those_who_left_take_nobodys_place():
    async def scene():
        reads, arrived = [], asyncio.Event()

        async def read(most):
            reads.append(most)
            await (arrived if len(reads) == 1 else asyncio.Event()).wait()  # only one comes back
            return Position(StudyProgress(0, 0, 9, asked=7, now=50.0), 2)

        watch = Watch(read)
        first, gone, last = start(watch.wait_for_work(LONG) for _ in range(3))
        await asyncio.sleep(0)  # all three stand in line
        gone.cancel()
        await asyncio.wait([gone])
        arrived.set()
        async with asyncio.timeout(LONG / 2):
            await asyncio.gather(first, last)
        await watch.close()

    completed(scene())


def test_a_change_by_another_connection_wakes(study, url):
    pulls = study.ask(6, "busy")
    other = sp.load_study("s", url)

    async def scene(watch, reader):
        worker = asyncio.create_task(watch.wait_for_work(LONG))
        page = asyncio.create_task(watch.wait_for_news(await watch.wait_for_news(None, 9), LONG))
        await reader.again(2)
        assert not worker.done()
        assert not page.done()
        await elsewhere(lambda: other.fail(pulls[0].id, "dark", "busy"))
        await worker
        assert not page.done()  # a failure is no news of the study
        await elsewhere(lambda: other.tell(pulls[1].id, 1.0, "busy"))
        assert (await page).news == NEWS | {"samples": 1}

    run(url, scene)


def test_a_change_by_another_process_wakes(study, url):
    study.ask(6, "busy")

    async def scene(watch, reader):
        worker = asyncio.create_task(watch.wait_for_work(LONG))
        script = f"import surepick as sp; sp.load_study('s', {url!r}).fail(0, 'dark')"
        command = [sys.executable, "-c", script]
        await elsewhere(lambda: subprocess.run(command, cwd=ROOT, check=True))
        await worker

    run(url, scene)


# -- pages -------------------------------------------------------------------------------------
def test_pages_hear_at_once_where_the_study_stands_and_then_what_changes(study, url):
    other = sp.load_study("s", url)

    async def scene(watch, reader):
        first = await watch.wait_for_news(None, LONG)
        assert first.news == NEWS | {"samples": 0}
        assert await watch.wait_for_news(first, 0.1) is None
        pull = (await elsewhere(lambda: other.ask(1, "w")))[0]
        await reader.again(0)
        pages = start(watch.wait_for_news(first, LONG) for _ in range(5))
        await reader.again()
        assert not any(page.done() for page in pages)  # handing out is no news
        await elsewhere(lambda: other.tell(pull.id, 1.0))
        watch.hint()
        found = await asyncio.gather(*pages)
        assert {one.samples for one in found} == {1}
        # Whoever comes later, knowing less, need not wait.
        assert (await watch.wait_for_news(first, LONG)).samples == 1

    run(url, scene)


def test_the_end_of_a_study_is_news_and_wakes_everybody(study, url):
    other = sp.load_study("s", url)
    mine = study.ask(6, "busy")

    def finish():
        pulls = mine
        while pulls:
            other.tell_many([(pull.id, 9.0 * pull.arm) for pull in pulls], "busy")
            pulls = other.ask(6, "busy")

    async def scene(watch, reader):
        workers = start(watch.wait_for_work(LONG) for _ in range(4))
        known = await watch.wait_for_news(None, LONG)
        await elsewhere(finish)
        while not known.news["finished"]:
            known = await watch.wait_for_news(known, LONG)
        await asyncio.gather(*workers)
        assert known.samples == len(other.rewards().pulls)

    run(url, scene)


# -- when things go wrong ------------------------------------------------------------------------
def test_when_the_study_is_deleted_elsewhere_everybody_is_sent_home(study, url):
    study.ask(6, "busy")

    async def scene(watch, reader):
        workers = start(watch.wait_for_work(LONG) for _ in range(3))
        known = await watch.wait_for_news(None, LONG)
        page = asyncio.create_task(watch.wait_for_news(known, LONG))
        await reader.again()
        assert not page.done()
        await elsewhere(lambda: sp.delete_study("s", url))
        await asyncio.gather(*workers)
        assert await page is None
        assert watch.closed
        assert not watch.busy
        with pytest.raises(sp.errors.UnknownStudyError):
            await reader(0)

    run(url, scene)


def test_a_database_that_cannot_be_read_for_a_while_is_read_again(study, url):
    async def scene(watch, reader):
        known = await watch.wait_for_news(None, LONG)
        page = asyncio.create_task(watch.wait_for_news(known, LONG))
        reader.broken = True
        watch.hint()
        await reader.again()
        assert not page.done()
        assert watch.busy
        reader.broken = False
        await elsewhere(lambda: study.tell(study.ask()[0].id, 1.0))
        assert (await page).samples == 1

    run(url, scene)


def test_closing_sends_everybody_home(study, url):
    study.ask(6, "busy")

    async def scene(watch, reader):
        workers = start(watch.wait_for_work(LONG) for _ in range(3))
        known = await watch.wait_for_news(None, LONG)
        pages = start(watch.wait_for_news(known, LONG) for _ in range(3))
        await reader.again()
        await watch.close()
        assert await asyncio.gather(*workers, *pages) == [None] * 6
        assert watch.closed
        # Nobody waits any more, and nothing is read.
        known = len(reader.reads)
        await watch.wait_for_work(LONG)
        assert await watch.wait_for_news(None, LONG) is None
        await asyncio.sleep(0.3)
        assert len(reader.reads) == known
        await watch.close()

    run(url, scene)
