"""The way to a service."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, cast

from surepick.algorithms.base import Algorithm
from surepick.client.requests import R, ServiceRequests, Steps, StudyRequests, promised
from surepick.client.transport import OfService, Transport
from surepick.problem import Problem
from surepick.run import Answer
from surepick.study import Study, manage
from surepick.study.core import StudyCore
from surepick.study.workers.run import run_study

P = ParamSpec("P")


def _blocking(
    steps: Callable[Concatenate[Any, P], Steps[R]],
) -> Callable[Concatenate[Any, P], R]:
    """A method that walks through these steps and returns when they are done."""

    @functools.wraps(steps)
    def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._transport.follow(steps(self._requests, *args, **kwargs))

    vars(method)["__signature__"] = promised(steps)
    return method


#: for methods whose types are those of StudyCore
_of_core = cast("Callable[[Any], Any]", _blocking)


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

    canary = _of_core(StudyRequests.canary)
    definition = _of_core(StudyRequests.definition)
    ask = _of_core(StudyRequests.ask)
    tell = _of_core(StudyRequests.tell)
    tell_many = _of_core(StudyRequests.tell_many)
    fail = _of_core(StudyRequests.fail)
    keep = _of_core(StudyRequests.keep)
    act = _of_core(StudyRequests.act)
    acts = _of_core(StudyRequests.acts)
    _records = _of_core(StudyRequests._records)
    split = _of_core(StudyRequests.split)
    periods = _of_core(StudyRequests.periods)
    progress = _of_core(StudyRequests.progress)
    standing = _of_core(StudyRequests.standing)
    forecast = _of_core(StudyRequests.forecast)
    status = _of_core(StudyRequests.status)
    checks = _of_core(StudyRequests.checks)
    rewards = _of_core(StudyRequests.rewards)
    events = _of_core(StudyRequests.events)
    history = _of_core(StudyRequests.history)
    judgements = _of_core(StudyRequests.judgements)
    run = run_study

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


class Here:
    """The studies of a database, with the methods of a client.

    Examples
    --------
    >>> import surepick as sp
    >>> here = Here("memory://of a client")
    >>> here.create_study("tea", problem=sp.Problem([[1.0], [2.0]])).name, here.list_studies()
    ('tea', ['tea'])
    """

    def __init__(self, storage: str) -> None:
        self.storage = storage

    def create_study(self, name: str, **fields: Any) -> Study:
        return manage.create_study(name, storage=self.storage, **fields)

    def load_study(self, name: str) -> Study:
        return manage.load_study(name, self.storage)

    def list_studies(self) -> list[str]:
        return manage.list_studies(self.storage)

    def delete_study(self, name: str) -> None:
        manage.delete_study(name, self.storage)


class Client(OfService[RemoteStudy]):
    """A service's studies: create, load, list, delete.

    Parameters
    ----------
    url
        Where ``surepick serve`` is reached: ``https://surepick.example.org``.
    token
        Who asks; its role and studies decide what is allowed.
    patience
        Seconds for which requests are tried again while the service is away or busy.
    timeout
        Seconds without an answer after which a connection counts as lost.
    verify
        File with the certificate to trust, where the service's is not signed by a known authority.

    Examples
    --------
    A worker::

        study = surepick.Client("http://127.0.0.1:8421", token).load_study("layouts")
        while not study.finished:
            for pull in study.ask(worker="lab-1", wait=60):
                study.tell(pull.id, measure(pull.label), "lab-1")
    """

    _way, _study = Transport, RemoteStudy
    create_study = _blocking(ServiceRequests[RemoteStudy].create_study)
    store = _blocking(ServiceRequests[RemoteStudy].store)
    load_study = _blocking(ServiceRequests[RemoteStudy].load_study)
    list_studies = _blocking(ServiceRequests[RemoteStudy].list_studies)
    delete_study = _blocking(ServiceRequests[RemoteStudy].delete_study)
    make_token = _blocking(ServiceRequests[RemoteStudy].make_token)

    def close(self) -> None:
        """Let go of connections; they come back when needed."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
