"""The way to a service."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.algorithms.registry import DEFAULT
from surepick.client import requests
from surepick.client.requests import Steps, StudyRequests, promised
from surepick.client.transport import Transport
from surepick.problem import Problem
from surepick.run import Answer
from surepick.study import StudySpec
from surepick.study.core import StudyCore
from surepick.study.spec import described
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
    canary = _blocking(StudyRequests.canary)
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


class Client:
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

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience: float = 300.0,
        timeout: float = 30.0,
        verify: bool | str = True,
    ) -> None:
        self._transport = Transport(url, token, patience=patience, timeout=timeout, verify=verify)

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._transport.url

    def create_study(
        self,
        name: str,
        problem: Problem | None = None,
        algorithm: Algorithm | str = DEFAULT,
        *,
        table: Any = None,
        **fields: Any,
    ) -> RemoteStudy:
        """Create a study, from a problem or from a table of options.

        Parameters
        ----------
        name, problem, algorithm, table, **fields
            See :func:`surepick.create_study`.
        """
        return self.store(described(name, problem, algorithm, table, fields))

    def store(self, spec: StudySpec) -> RemoteStudy:
        """Create the study that a spec describes."""
        self._transport.follow(requests.store(spec))
        return RemoteStudy(self._transport, spec.name)

    def load_study(self, name: str) -> RemoteStudy:
        """Open a study that is there."""
        study = RemoteStudy(self._transport, name)
        _ = study.finished  # is it there, and may this token see it?
        return study

    def list_studies(self) -> list[str]:
        """The names of the studies that the token is for, in the order of their creation."""
        return self._transport.follow(requests.list_studies())

    def delete_study(self, name: str) -> None:
        """Delete a study with everything that was measured for it."""
        self._transport.follow(requests.delete_study(name))

    def make_token(
        self,
        role: str,
        studies: Sequence[str] | None = None,
        *,
        expires_in: float | None = None,
        note: str = "",
    ) -> str:
        """A new token (``admin``, ``worker`` or ``viewer``); the service does not keep it."""
        return self._transport.follow(requests.make_token(role, studies, expires_in, note))

    def close(self) -> None:
        """Let go of connections; they come back when needed."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"
