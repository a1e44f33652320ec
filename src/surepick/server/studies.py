"""The studies that this process has open, and everything it does with them."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from surepick.algorithms.base import Algorithm
from surepick.errors import SurepickError, UnknownStudyError
from surepick.server import metrics
from surepick.server.replies import in_rows
from surepick.server.watch import Position, Watch
from surepick.storage import open_storage
from surepick.study import Study, Told, load_study
from surepick.study.desk.crowd import Ask, Crowd, Handed, rehearse
from surepick.study.pulls import Pull, Reward, Said, as_failure, as_name, as_pull
from surepick.study.traffic.desk import TrafficDesk

T = TypeVar("T")


class Threads:
    """Quick work for the database, and slow work, which must not hold up the quick."""

    def __init__(self, quick: int, slow: int = 4) -> None:
        self._quick = ThreadPoolExecutor(quick, "surepick-quick")
        self._slow = ThreadPoolExecutor(slow, "surepick-slow")

    async def quick(self, work: Callable[[], T]) -> T:
        """Run a transaction or two."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, work)

    async def slow(self, work: Callable[[], T]) -> T:
        """Run something that may take a while."""
        return await asyncio.get_running_loop().run_in_executor(self._slow, work)

    def close(self) -> None:
        self._quick.shutdown()
        self._slow.shutdown()


T = TypeVar("T")
Line = list[tuple[Any, "asyncio.Future[Any]"]]  # what is asked or told, and where the answer goes
_FRESH = 2.0  # seconds that a status may be old: failures told to other processes do not renew it


class Given(NamedTuple):
    """What an ask came to, as it is answered."""

    pulls: int
    finished: bool
    content: bytes


class Opened:
    """One study: at most one thread works on it for all workers, and one looks at it for all."""

    def __init__(self, study: Study, threads: Threads, pictures_from: tuple[str, ...] = ()) -> None:
        self.study, self._pictures_from = study, pictures_from
        self.watch = Watch(self._position)
        self._threads = threads
        self._crowd = Crowd(study.desk)
        self._tells: Line = []
        self._asks: Line = []
        self._serving: asyncio.Task[None] | None = None
        self._changes = 0  # made through this process
        self._looking = asyncio.Lock()
        self._looked: tuple[Any, float, bytes] | None = None

    @property
    def of_pairs(self) -> bool:
        return self.study.desk.problem.pairing is not None

    @property
    def busy(self) -> bool:
        serving = self._serving is not None and not self._serving.done()
        return serving or self._looking.locked() or self.watch.busy

    # -- work -------------------------------------------------------------------------------
    async def ask(self, ask: Ask) -> Given:
        return await self._take_turn(self._asks, ask)

    async def tell(self, rewards: list[Reward]) -> list[Told]:
        told = await self._take_turn(self._tells, rewards)
        self.watch.hint()
        return told

    async def refuse_unusual(self, rewards: list[Reward]) -> None:
        await self._threads.quick(lambda: self.study.desk.look.refuse(rewards))

    async def refuse_others(self, said: list[Said]) -> None:
        """Raise where a reward is said to be of another option than its pull was for."""
        await self._threads.quick(lambda: self.study.desk.refuse_others(said))

    async def fail(
        self, pull: int, reason: str, worker: str | None, token: str, final: bool = False
    ) -> bool:
        """Take back a pull, or what stands for one that cannot be measured."""
        self._changes += 1
        if worker is not None:
            as_name(worker, "worker")
        pull, reason = as_pull(pull), as_failure(reason)
        desk = self.study.desk
        told = desk.fail_for_good if final else desk.fail
        threads = self._threads.slow if final else self._threads.quick  # it may end a batch
        returned = await threads(lambda: told(pull, reason, worker, token))
        self.watch.hint()
        return returned

    async def keep(
        self, held: Mapping[str, Sequence[int]], lease: float, token: str, longest: float
    ) -> dict[str, list[int]]:
        """Let workers have their pulls for longer; then, who has what."""
        return await self._threads.quick(lambda: self.study.desk.keep(held, lease, token, longest))

    async def of_traffic(self, work: Callable[[TrafficDesk], T]) -> T:
        self._changes += 1
        done = await self._threads.slow(lambda: work(self.study.traffic.desk))
        self._changes += 1
        self.watch.hint()
        return done

    async def _take_turn(self, line: Line, what: Ask | list[Reward]) -> Any:
        """Stand in line; whoever stands there when it is their turn is served together."""
        answer = asyncio.get_running_loop().create_future()
        line.append((what, answer))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.get_running_loop().create_task(self._serve())
        return await answer

    async def _serve(self) -> None:
        while self._tells or self._asks:
            tells, self._tells = self._tells, []
            asks, self._asks = self._asks, []
            self._changes += 1

            def work(tells: Line = tells, asks: Line = asks) -> list[Any]:
                try:
                    told, given = self._crowd.exchange(
                        [what for what, _ in tells], [what for what, _ in asks]
                    )
                    return [*told, *(self._written(one) for one in given)]
                except Exception as error:  # an error of the database concerns all of them
                    return [error] * (len(tells) + len(asks))

            results = await self._threads.quick(work)
            for (_, answer), result in zip(tells + asks, results):
                if answer.cancelled():
                    continue
                if isinstance(result, Exception):
                    answer.set_exception(result)
                else:
                    answer.set_result(result)

    def _written(self, handed: Handed | SurepickError) -> Given | SurepickError:
        """An answer in full; reading the options' cells and writing many rows takes time."""
        if isinstance(handed, SurepickError):
            return handed
        cells = self.study.features_by_arm(pull.arm for pull in handed.pulls)
        seen = self._shown(handed.pulls)
        rows = (
            vars(pull) | {"features": cells[pull.arm]} | one
            for pull, one in zip(handed.pulls, seen)
        )
        end = f'],"finished":{str(handed.finished).lower()}}}'
        return Given(len(handed.pulls), handed.finished, in_rows('{"pulls":[', rows, end))

    def _shown(self, pulls: list[Pull]) -> list[dict[str, Any]]:
        if not self.of_pairs:
            return [{}] * len(pulls)
        return [{"shown": one} for one in self.study.shown(pulls, self._pictures_from)]

    async def written(self, work: Callable[[], T]) -> T:
        return await self._threads.quick(work)

    # -- looking ----------------------------------------------------------------------------
    async def status(self, work_out: Callable[[], Awaitable[bytes]]) -> bytes:
        """The study at a glance; worked out once for all who look at the same state."""
        async with self._looking:
            at = (await self._position(0)).at
            state = (self._changes, *vars(replace(at, now=0.0)).values())
            if self._looked is not None:
                known, when, content = self._looked
                if known == state and time.monotonic() - when < _FRESH:
                    return content
            content = await work_out()
            self._looked = (state, time.monotonic(), content)
            return content

    async def position(self) -> Position:
        return await self._position(0)

    async def _position(self, most: int) -> Position:
        return Position(*await self._threads.quick(lambda: self.study.desk.free(most)))


def _loaded_for_good(algorithm: Algorithm) -> None:
    """Load what it takes to work out a batch, and keep it out of the way of garbage collection.

    Modules and compiled code are half a million objects: looking through them takes a tenth of a
    second each time, in which nobody is served.
    """
    rehearse(algorithm)
    gc.freeze()


class Studies:
    """The studies of a storage, opened when they are needed; ``most`` of them are kept open."""

    def __init__(
        self, url: str, threads: int, most: int, pictures_from: tuple[str, ...] = ()
    ) -> None:
        self._pictures_from = pictures_from
        self.storage = open_storage(url, later=True)
        self.threads = Threads(threads)
        self._most = most
        self._opened: OrderedDict[str, Opened] = OrderedDict()
        self._opening: dict[str, asyncio.Task[Opened]] = {}
        self._rehearsing: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._opened)

    async def get(self, name: str) -> Opened:
        found = self._opened.get(name)
        if found is not None:
            self._opened.move_to_end(name)
            return found
        task = self._opening.get(name)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._open(name))
            self._opening[name] = task
            task.add_done_callback(lambda _: self._opening.pop(name, None))
        return await asyncio.shield(task)

    async def _open(self, name: str) -> Opened:
        study = await self.threads.slow(lambda: load_study(name, self.storage))
        opened = Opened(study, self.threads, self._pictures_from)
        self._opened[name] = opened
        idle = [other for other, one in self._opened.items() if not one.busy]
        for other in idle[: len(self._opened) - self._most]:
            if other != name:
                del self._opened[other]
        metrics.studies_open.set(len(self._opened))
        self.rehearse(study.algorithm)
        return opened

    def rehearse(self, algorithm: Algorithm) -> None:
        """Load what it takes to work out a batch, in the background and once."""
        name = algorithm.registered_name()  # forms of one class may take different code
        if name not in self._rehearsing:
            work = self.threads.slow(lambda: _loaded_for_good(algorithm))
            self._rehearsing[name] = asyncio.get_running_loop().create_task(work)

    async def use(self, name: str, work: Callable[[Opened], Any]) -> Any:
        """Do something with a study; again, where another one has taken its name since."""
        opened = await self.get(name)
        try:
            return await work(opened)
        except UnknownStudyError:
            await self.forget(name, opened)
        return await work(await self.get(name))

    async def forget(self, name: str, opened: Opened | None = None) -> None:
        """Open the study anew next time; it has been deleted."""
        known = self._opened.get(name)
        if known is not None and opened in (None, known):
            del self._opened[name]
            metrics.studies_open.set(len(self._opened))
            await known.watch.close()

    async def stop_waiting(self) -> None:
        for opened in list(self._opened.values()):
            await opened.watch.close()

    def close(self) -> None:
        self.threads.close()
        self.storage.close()
