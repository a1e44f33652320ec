"""A study that a service keeps, with the methods of one that is here."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.client.requests import Steps, StudyRequests, promised
from surepick.client.transport import Transport
from surepick.problem import Problem
from surepick.run import Answer
from surepick.study.core import StudyCore
from surepick.study.workers.measure import Measurement
from surepick.study.workers.run import run_study


def _blocking(steps: Callable[..., Steps[Any]]) -> Any:
    """A method that walks through these steps and returns when they are done."""

    @functools.wraps(steps)
    def method(self: RemoteStudy, *args: Any, **kwargs: Any) -> Any:
        return self._transport.follow(steps(self._requests, *args, **kwargs))

    vars(method)["__signature__"] = promised(steps)
    return method


class RemoteStudy(StudyCore):
    """A study of a service; :meth:`surepick.Client.load_study` opens it.

    It has the public core of :class:`surepick.Study`. Lost connections and a service that restarts
    are waited for; nothing is counted twice. May be used from several threads.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport = transport
        self._requests = StudyRequests(name)

    @property
    def problem(self) -> Problem:
        """The problem; do not change it."""
        return self._transport.follow(self._requests.made())[0]

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm and its settings."""
        return self._transport.follow(self._requests.made())[1]

    @property
    def meta(self) -> dict[str, Any]:
        """What the study was created with to keep."""
        return self.definition()["meta"]

    @property
    def finished(self) -> bool:
        """Whether there is an answer."""
        return self._transport.follow(self._requests.finished())

    @property
    def answer(self) -> Answer:
        """The answer, once finished; its guarantee is withdrawn where a check contradicts it."""
        return self._transport.follow(self._requests.answer())

    definition = _blocking(StudyRequests.definition)
    ask = _blocking(StudyRequests.ask)
    tell = _blocking(StudyRequests.tell)
    tell_many = _blocking(StudyRequests.tell_many)
    fail = _blocking(StudyRequests.fail)
    keep = _blocking(StudyRequests.keep)
    act = _blocking(StudyRequests.act)
    acts = _blocking(StudyRequests.acts)
    _records = _blocking(StudyRequests._records)
    split = _blocking(StudyRequests.split)
    periods = _blocking(StudyRequests.periods)
    progress = _blocking(StudyRequests.progress)
    standing = _blocking(StudyRequests.standing)
    forecast = _blocking(StudyRequests.forecast)
    status = _blocking(StudyRequests.status)
    checks = _blocking(StudyRequests.checks)
    rewards = _blocking(StudyRequests.rewards)
    events = _blocking(StudyRequests.events)
    history = _blocking(StudyRequests.history)
    judgements = _blocking(StudyRequests.judgements)

    def run(
        self,
        measure: Callable[[Measurement], Any],
        workers: int = 1,
        progress: bool = False,
        *,
        timeout: float = math.inf,
        retries: int = 2,
        name: str | None = None,
        stratum: str | None = None,
        per_minute: float | None = None,
    ) -> Answer:
        """See :meth:`surepick.Study.run`."""
        how = (workers, progress, timeout, retries, name, stratum, per_minute)
        return run_study(self, measure, *how)

    def export(self, path: str | Path, form: str | None = None, what: str = "measurements") -> Path:
        """Write what was measured to a file: CSV, JSON or Parquet, by its ending or ``form``."""
        path = Path(path)
        path.write_bytes(self._transport.follow(self._requests.exported(path, form, what)))
        return path

    def close(self) -> None:
        """Let go of connections."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"RemoteStudy({self.name!r}, {self._transport.url!r})"
