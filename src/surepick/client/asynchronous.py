"""The client for coroutines: the same methods, to be awaited."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from surepick.algorithms.base import Algorithm
from surepick.algorithms.registry import DEFAULT
from surepick.arrays.validate import positive, real, whole
from surepick.client.awaited import AsyncTransport
from surepick.client.limiting import AwaitedLimits
from surepick.client.replies import (
    ahead_of,
    answer_of,
    ask_body,
    by_holder,
    changes_of,
    events_of,
    progress_of,
    pulls_of,
    refuse_known,
    reward_rows,
    rewards_of,
    told_of,
)
from surepick.client.study import LONGEST_WAIT, MOST_LETTERS
from surepick.client.transport import told_all
from surepick.client.turning import AwaitedOptions, said
from surepick.client.visitors import AwaitedTraffic
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.forecast import Ahead
from surepick.run.standing import Standing, as_table
from surepick.storage.records import Event, Rewards, StudyProgress
from surepick.study import StudySpec
from surepick.study.changes import Change
from surepick.study.checks.checks import Checks
from surepick.study.described import described
from surepick.study.pulls import (
    ONCE,
    Pull,
    Reward,
    Rewarded,
    Told,
    as_name,
    as_pull,
    as_reason,
    without_labels,
)


class AsyncStudy(AwaitedOptions, AwaitedLimits, AwaitedTraffic):
    """A study of a service, for coroutines; :meth:`surepick.AsyncClient.load_study` opens it.

    It has the methods of :class:`surepick.client.RemoteStudy`, to be awaited: also ``await
    study.finished`` and ``await study.answer``. Any number of coroutines may use it at once.
    """

    def __init__(self, transport: AsyncTransport, name: str) -> None:
        self.name = name
        self._transport = transport
        self._path = f"/api/v1/studies/{quote(name, safe='')}"
        self._held: dict[int, str] = {}  # pull -> whom this object asked for
        self._labels: dict[int, str] = {}  # pull -> what it is for

    async def _get(self, rest: str, **query: Any) -> Any:
        return await self._transport.get_json(f"{self._path}{rest}", **query)

    async def _post(self, rest: str, body: dict[str, Any], wait: float = 0.0) -> Any:
        return await self._transport.post_json(f"{self._path}{rest}", body, wait)

    async def definition(self) -> dict[str, Any]:
        """See :meth:`surepick.Study.definition`."""
        return await self._get("/definition")

    # -- ask, tell, fail -------------------------------------------------------------------
    async def ask(
        self,
        n: int = 1,
        worker: str | None = None,
        lease: float = 300.0,
        *,
        wait: float = 0.0,
        stratum: str | int | None = None,
        same: bool = False,
    ) -> list[Pull]:
        """See :meth:`surepick.Study.ask`; the service waits, not this end."""
        n, lease, left = whole(n, "n", least=1), positive(lease, "lease"), real(wait, "wait")
        if worker is not None:
            as_name(worker, "worker")
        # Even an ask without a name needs one, to get the same pulls when its answer is lost.
        holder = f"{ONCE}{uuid.uuid4().hex}" if worker is None else worker
        body = ask_body(n, holder, lease, None if stratum is None else str(stratum), same)
        while True:
            now = min(max(left, 0.0), LONGEST_WAIT)
            found = await self._post("/ask", body | {"wait": now}, wait=now)
            left -= now
            if found["pulls"] or found["finished"] or left <= 0:
                break
        pulls = pulls_of(found)
        self._held.update((pull.id, holder) for pull in pulls)
        self._labels.update((pull.id, pull.label) for pull in pulls)
        return pulls

    async def tell(
        self,
        pull_id: int,
        reward: float,
        worker: str | None = None,
        *,
        strict: bool = False,
        label: str | None = None,
    ) -> Told:
        """See :meth:`surepick.Study.tell`."""
        told = await self.tell_many([(pull_id, reward, label)], worker, strict=strict)
        return told[0].or_refuse(reward)

    async def tell_many(
        self,
        rewards: Rewarded,
        worker: str | None = None,
        *,
        strict: bool = False,
    ) -> list[Told]:
        """See :meth:`surepick.Study.tell_many`; rewards of several workers are several requests."""
        if worker is not None:
            as_name(worker, "worker")
        pairs, meant = without_labels(rewards)
        checked = [Reward.of(pair, worker) for pair in pairs]
        told: list[Told] = []
        parts = by_holder(checked, self._held)
        if len(parts) > 1:
            refuse_known(meant, self._labels)
        for holder, part in parts:
            body: dict[str, Any] = {"rewards": reward_rows(part, meant)}
            body |= ({} if holder is None else {"worker": holder}) | (
                {"strict": True} if strict else {}
            )
            path = f"{self._path}/tell"
            response = await self._transport.request("POST", path, body, fine=told_all)
            told += told_of(response.json()["told"])
        for reward in checked:
            self._held.pop(reward.pull, None)
            self._labels.pop(reward.pull, None)
        return told

    async def fail(self, pull_id: int, reason: str = "", worker: str | None = None) -> bool:
        """See :meth:`surepick.Study.fail`."""
        pull, reason = as_pull(pull_id), as_reason(reason)
        holder = self._held.pop(pull, None) if worker is None else as_name(worker, "worker")
        body: dict[str, Any] = {"pull": pull, "reason": reason[:MOST_LETTERS]}
        found = await self._post("/fail", body | ({} if holder is None else {"worker": holder}))
        return found["returned"]

    # -- correct, withdraw, pause, stop ----------------------------------------------------
    async def correct(
        self, pull_id: int, reward: float, *, reason: str, by: str | None = None
    ) -> Change:
        """See :meth:`surepick.Study.correct`."""
        body = {"pull": as_pull(pull_id), "reward": real(reward, "reward")}
        return changes_of(await self._post("/correct", body | said(reason, by)))[0]

    async def withdraw(self, pull_id: int, *, reason: str, by: str | None = None) -> Change:
        """See :meth:`surepick.Study.withdraw`."""
        body: dict[str, Any] = {"pull": as_pull(pull_id)}
        return changes_of(await self._post("/withdraw", body | said(reason, by)))[0]

    async def withdraw_token(
        self, token: str, *, reason: str, by: str | None = None
    ) -> list[Change]:
        """See :meth:`surepick.Study.withdraw_token`."""
        return changes_of(await self._post("/withdraw", {"token": token} | said(reason, by)))

    async def corrections(self) -> list[Change]:
        """See :meth:`surepick.Study.corrections`."""
        return changes_of(await self._get("/corrections"))

    async def pause(self, reason: str = "", by: str | None = None) -> bool:
        """See :meth:`surepick.Study.pause`."""
        return (await self._post("/pause", said(reason, by)))["changed"]

    async def resume(self, reason: str = "", by: str | None = None) -> bool:
        """See :meth:`surepick.Study.resume`."""
        return (await self._post("/resume", said(reason, by)))["changed"]

    async def stop(self, reason: str = "", by: str | None = None) -> Answer:
        """See :meth:`surepick.Study.stop`."""
        await self._post("/stop", said(reason, by))
        return await self.answer

    # -- where it stands -------------------------------------------------------------------
    @property
    async def finished(self) -> bool:
        """Whether there is an answer."""
        return (await self.progress()).finished

    @property
    async def answer(self) -> Answer:
        """The answer, once finished."""
        return answer_of(await self._get("/answer"), await self._get("/certificate"))

    async def progress(self) -> StudyProgress:
        """Where the study stands, in a few numbers."""
        return progress_of(await self._get("/progress"))

    async def standing(self) -> Any:
        """See :meth:`surepick.Study.standing`."""
        return as_table(Standing.from_dict((await self.status())["standing"]))

    async def forecast(self) -> Ahead:
        """See :meth:`surepick.Study.forecast`."""
        return ahead_of(await self._get("/forecast"))

    async def status(self) -> dict[str, Any]:
        """Where the study stands, with the checks and the outlook, as JSON-ready values."""
        return await self._get("")

    async def checks(self) -> Checks:
        """See :meth:`surepick.Study.checks`."""
        return Checks.from_dict((await self.status())["checks"])

    async def rewards(self) -> Rewards:
        """See :meth:`surepick.Study.rewards`."""
        return rewards_of(await self._get("/rewards"))

    async def events(self, *kinds: str) -> list[Event]:
        """See :meth:`surepick.Study.events`."""
        return events_of(await self._get("/events", kind=list(kinds)))

    async def history(self) -> list[dict[str, int]]:
        """See :meth:`surepick.Study.history`."""
        return (await self._get("/history"))["batches"]

    async def export(
        self, path: str | Path, form: str | None = None, what: str = "measurements"
    ) -> Path:
        """See :meth:`surepick.Study.export`."""
        path = Path(path)
        query = {"format": form or path.suffix[1:].lower(), "what": what}
        response = await self._transport.request("GET", f"{self._path}/export", query=query)
        await asyncio.to_thread(path.write_bytes, response.content)
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
        key = uuid.uuid4().hex  # by which this request is recognised if it comes twice
        await self._transport.post_json("/api/v1/studies", {**spec.to_dict(), "key": key})
        return AsyncStudy(self._transport, spec.name)

    async def load_study(self, name: str) -> AsyncStudy:
        """Open a study that is there."""
        study = AsyncStudy(self._transport, name)
        await study.progress()  # is it there, and may this token see it?
        return study

    async def list_studies(self) -> list[str]:
        """The names of the studies that the token is for, in the order of their creation."""
        found = await self._transport.get_json("/api/v1/studies")
        return [study["name"] for study in found["studies"]]

    async def delete_study(self, name: str) -> None:
        """Delete a study with everything that was measured for it."""
        path = f"/api/v1/studies/{quote(name, safe='')}"
        await self._transport.request("DELETE", path, gone_is_done=True)

    async def make_token(
        self,
        role: str,
        studies: Sequence[str] | None = None,
        *,
        expires_in: float | None = None,
        note: str = "",
    ) -> str:
        """See :meth:`surepick.Client.make_token`."""
        body: dict[str, Any] = {"role": role, "note": note, "expires_in": expires_in}
        body["studies"] = None if studies is None else list(studies)
        return (await self._transport.post_json("/api/v1/tokens", body))["token"]

    async def close(self) -> None:
        """Let go of connections; they come back when needed."""
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"
