"""Where tasks run: in this process, in a pool of processes, or on a Dask cluster.

An engine takes a function and tasks and yields ``(task, result)`` as they finish, in any order.
Tasks are taken one by one, while results come in; a cluster takes all at once. They are
deterministic, so it does not matter where, when or how often one is run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, cast

from surepick.errors import InvalidInputError, MissingExtraError, SurepickError, UnknownNameError

_log = logging.getLogger(__name__)


class WorkerDiedError(SurepickError, RuntimeError):
    """Workers kept dying; what was finished before is kept."""


class Engine(Protocol):
    """Runs tasks somewhere."""

    @property
    def jobs(self) -> int:
        """Tasks that run at a time, as far as is known beforehand."""
        ...

    def run(
        self, function: Callable[[Any], Any], tasks: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield each task with its result, as they finish."""
        ...


class Serial:
    """One task after the other, here."""

    jobs = 1

    def run(
        self, function: Callable[[Any], Any], tasks: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        for task in tasks:
            yield task, function(task)


class Processes:
    """joblib's process pool; a pool that loses a worker is replaced, its open tasks run again.

    Parameters
    ----------
    jobs
        Processes; as in joblib, -1 stands for all cores.
    attempts
        Pools to try; when the last one loses a worker too, the tasks are taken to be the cause.
    """

    def __init__(self, jobs: int, attempts: int = 5) -> None:
        self.jobs, self.attempts = jobs, attempts

    def run(
        self, function: Callable[[Any], Any], tasks: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        from joblib import Parallel, delayed, parallel_config
        from joblib.externals.loky.process_executor import BrokenProcessPool

        source, left = enumerate(tasks), {}  # left: handed out, and not finished

        def hand_out(again: list[int]) -> Iterator[Any]:
            for i in again:
                yield delayed(_numbered)(function, i, left[i])
            for i, task in source:
                left[i] = task
                yield delayed(_numbered)(function, i, task)

        died: BrokenProcessPool | None = None
        for attempt in range(self.attempts):
            # One BLAS thread per process: small matrices, and the processes fill the cores.
            with parallel_config(backend="loky", inner_max_num_threads=1):
                pool = Parallel(
                    n_jobs=self.jobs, return_as="generator_unordered", batch_size="auto"
                )
                try:
                    results = pool(hand_out(list(left)))
                    for i, result in cast("Iterator[tuple[int, Any]]", results):
                        yield left.pop(i), result
                    return
                except BrokenProcessPool as error:
                    died = error
                    _log.warning(
                        "a worker process died; %d open tasks go to a new pool (attempt %d)",
                        len(left),
                        attempt + 2,
                    )
        raise WorkerDiedError(
            f"worker processes died {self.attempts} times (out of memory?); run the same command "
            "again, perhaps with fewer --jobs: finished work is kept and not repeated"
        ) from died


class Dask:
    """A Dask cluster; its scheduler hands the tasks of a dead worker to the others."""

    jobs = 1  # workers come and go

    def __init__(self, scheduler: str, timeout: str = "20s") -> None:
        self.scheduler, self.timeout = scheduler, timeout

    def run(
        self, function: Callable[[Any], Any], tasks: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        try:
            from distributed import Client, as_completed
        except ImportError:
            raise MissingExtraError("the dask engine needs Dask: install surepick[dask]") from None
        try:
            client = Client(self.scheduler, timeout=self.timeout, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InvalidInputError(
                f"no Dask scheduler answers at {self.scheduler!r}: {error}"
            ) from None
        with client:
            futures = {
                # a killed worker may have held several tasks, which need not be the cause
                client.submit(function, task, pure=False, retries=5): task
                for task in tasks
            }
            for future in as_completed(list(futures), loop=client.loop):
                yield futures.pop(future), future.result()


def engine(name: str, *, jobs: int = 1, scheduler: str | None = None) -> Engine:
    """The engine of this name: ``processes`` (or ``serial`` with one job) or ``dask``."""
    if name == "dask":
        if not scheduler:
            raise InvalidInputError("--engine dask needs --scheduler ADDRESS (tcp://host:port)")
        return Dask(scheduler)
    if name != "processes":
        raise UnknownNameError.among("engine", name, ("processes", "dask"))
    if jobs < 1:
        raise InvalidInputError(f"jobs must be at least 1; got {jobs}")
    return local(jobs)


def local(jobs: int) -> Engine:
    """So many processes of this machine, -1 for all cores; this process itself for one."""
    return Serial() if jobs == 1 else Processes(jobs)


def _numbered(function: Callable[[Any], Any], i: int, task: Any) -> tuple[int, Any]:
    return i, function(task)
