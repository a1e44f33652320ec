"""The client for coroutines: the methods of the client that blocks, to be awaited."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from surepick.algorithms.base import Algorithm
from surepick.algorithms.registry import DEFAULT
from surepick.client import requests
from surepick.client.requests import Steps, StudyRequests, promised
from surepick.client.transport import AsyncTransport
from surepick.problem import Problem
from surepick.run import Answer
from surepick.study import StudyCore, StudySpec
from surepick.study.spec import described

P = ParamSpec("P")
R = TypeVar("R")


def _awaited(
    steps: Callable[Concatenate[StudyRequests, P], Steps[R]],
) -> Callable[Concatenate[AsyncStudy, P], Coroutine[Any, Any, R]]:
    """A method that walks through these steps, and lets others work meanwhile."""

    @functools.wraps(steps)
    async def method(self: AsyncStudy, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._transport.followed(steps(self._requests, *args, **kwargs))

    vars(method)["__signature__"] = promised(steps)
    return method


def _awaited_act(
    method: Callable[Concatenate[StudyCore, P], R],
) -> Callable[Concatenate[AsyncStudy, P], Coroutine[Any, Any, R]]:
    """A method of studies that only calls ``act``, or lists acts: what it asks for is awaited."""
    return _awaited(cast("Callable[Concatenate[StudyRequests, P], Steps[R]]", method))


class AsyncStudy:
    """A study of a service, for coroutines; :meth:`surepick.AsyncClient.load_study` opens it.

    It has the methods of :class:`surepick.client.RemoteStudy`, to be awaited: also ``await
    study.finished`` and ``await study.answer``. Any number of coroutines may use it at once.
    """

    def __init__(self, transport: AsyncTransport, name: str) -> None:
        self.name = name
        self._transport = transport
        self._requests = StudyRequests(name)

    @property
    async def finished(self) -> bool:
        """Whether there is an answer."""
        return await self._transport.followed(self._requests.finished())

    @property
    async def answer(self) -> Answer:
        """The answer, once finished."""
        return await self._transport.followed(self._requests.answer())

    definition = _awaited(StudyRequests.definition)
    ask = _awaited(StudyRequests.ask)
    tell = _awaited(StudyRequests.tell)
    tell_many = _awaited(StudyRequests.tell_many)
    fail = _awaited(StudyRequests.fail)
    keep = _awaited(StudyRequests.keep)
    canary = _awaited(StudyRequests.canary)
    act = _awaited(StudyRequests.act)
    acts = _awaited(StudyRequests.acts)
    correct = _awaited_act(StudyCore.correct)
    accept = _awaited_act(StudyCore.accept)
    set_aside = _awaited_act(StudyCore.set_aside)
    withdraw = _awaited_act(StudyCore.withdraw)
    withdraw_token = _awaited_act(StudyCore.withdraw_token)
    corrections = _awaited_act(StudyCore.corrections)
    add = _awaited_act(StudyCore.add)
    retire = _awaited_act(StudyCore.retire)
    option_changes = _awaited_act(StudyCore.option_changes)
    limit = _awaited_act(StudyCore.limit)
    limit_changes = _awaited_act(StudyCore.limit_changes)
    pause = _awaited_act(StudyCore.pause)
    resume = _awaited_act(StudyCore.resume)
    stop = _awaited(StudyRequests.stop)
    split = _awaited(StudyRequests.split)
    periods = _awaited(StudyRequests.periods)
    record = _awaited_act(StudyCore.record)
    correct_report = _awaited_act(StudyCore.correct_report)
    report_changes = _awaited_act(StudyCore.report_changes)
    progress = _awaited(StudyRequests.progress)
    standing = _awaited(StudyRequests.standing)
    forecast = _awaited(StudyRequests.forecast)
    status = _awaited(StudyRequests.status)
    checks = _awaited(StudyRequests.checks)
    rewards = _awaited(StudyRequests.rewards)
    events = _awaited(StudyRequests.events)
    history = _awaited(StudyRequests.history)
    judgements = _awaited(StudyRequests.judgements)

    async def export(
        self, path: str | Path, form: str | None = None, what: str = "measurements"
    ) -> Path:
        """See :meth:`surepick.Study.export`."""
        path = Path(path)
        found = await self._transport.followed(self._requests.exported(path, form, what))
        await asyncio.to_thread(path.write_bytes, found)
        return path

    def __repr__(self) -> str:
        return f"AsyncStudy({self.name!r}, {self._transport.url!r})"


class AsyncClient:
    """A service's studies, for coroutines; the parameters are those of :class:`surepick.Client`.

    Examples
    --------
    Eight at a time, in one thread::

        async def work(study, name):
            while not await study.finished:
                for pull in await study.ask(worker=name, wait=60):
                    await study.tell(pull.id, await measure(pull.label), name)

        async with surepick.AsyncClient("http://127.0.0.1:8421", token) as client:
            study = await client.load_study("prompts")
            await asyncio.gather(*(work(study, f"w{k}") for k in range(8)))
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
        how: dict[str, Any] = {"patience": patience, "timeout": timeout, "verify": verify}
        self._transport = AsyncTransport(url, token, **how)

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._transport.url

    async def create_study(
        self,
        name: str,
        problem: Problem | None = None,
        algorithm: Algorithm | str = DEFAULT,
        *,
        table: Any = None,
        **fields: Any,
    ) -> AsyncStudy:
        """See :meth:`surepick.Client.create_study`."""
        return await self.store(described(name, problem, algorithm, table, fields))

    async def store(self, spec: StudySpec) -> AsyncStudy:
        """See :meth:`surepick.Client.store`."""
        await self._transport.followed(requests.store(spec))
        return AsyncStudy(self._transport, spec.name)

    async def load_study(self, name: str) -> AsyncStudy:
        """Open a study that is there."""
        study = AsyncStudy(self._transport, name)
        await study.progress()  # is it there, and may this token see it?
        return study

    async def list_studies(self) -> list[str]:
        """The names of the studies that the token is for, in the order of their creation."""
        return await self._transport.followed(requests.list_studies())

    async def delete_study(self, name: str) -> None:
        """Delete a study with everything that was measured for it."""
        await self._transport.followed(requests.delete_study(name))

    async def make_token(
        self,
        role: str,
        studies: Sequence[str] | None = None,
        *,
        expires_in: float | None = None,
        note: str = "",
    ) -> str:
        """See :meth:`surepick.Client.make_token`."""
        return await self._transport.followed(requests.make_token(role, studies, expires_in, note))

    async def close(self) -> None:
        """Let go of connections; they come back when needed."""
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"
