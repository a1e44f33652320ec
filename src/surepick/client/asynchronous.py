"""The client for coroutines: the methods of the client that blocks, to be awaited."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from surepick.client.requests import ServiceRequests, Steps, StudyRequests, promised
from surepick.client.transport import AsyncTransport, OfService
from surepick.run import Answer
from surepick.study import StudyCore

P = ParamSpec("P")
R = TypeVar("R")


def _awaited(
    steps: Callable[Concatenate[Any, P], Steps[R]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """A method that walks through these steps, and lets others work meanwhile."""

    @functools.wraps(steps)
    async def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._transport.followed(steps(self._requests, *args, **kwargs))

    vars(method)["__signature__"] = promised(steps)
    return method


def _awaited_act(
    method: Callable[Concatenate[StudyCore, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """A method of studies that only calls ``act``, or lists acts: what it asks for is awaited."""
    return _awaited(cast("Callable[Concatenate[Any, P], Steps[R]]", method))


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


class AsyncClient(OfService[AsyncStudy]):
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

    _way, _study = AsyncTransport, AsyncStudy
    create_study = _awaited(ServiceRequests[AsyncStudy].create_study)
    store = _awaited(ServiceRequests[AsyncStudy].store)
    load_study = _awaited(ServiceRequests[AsyncStudy].load_study)
    list_studies = _awaited(ServiceRequests[AsyncStudy].list_studies)
    delete_study = _awaited(ServiceRequests[AsyncStudy].delete_study)
    make_token = _awaited(ServiceRequests[AsyncStudy].make_token)

    async def close(self) -> None:
        """Let go of connections; they come back when needed."""
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
