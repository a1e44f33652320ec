"""A study that a service keeps, with the methods of one that is here."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Guarantee
from surepick.arrays.validate import positive, real, whole
from surepick.client.transport import Transport
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.answer import COMPARED, Lift
from surepick.run.codec import decode
from surepick.run.standing import Standing, as_table
from surepick.storage.records import Event, Rewards, StudyProgress
from surepick.study.checks.checks import Checks
from surepick.study.core import StudyCore
from surepick.study.pulls import Pull, Reward, Told, as_name, as_pull, as_reason
from surepick.study.strata import check_stratum

_LONGEST_WAIT = 20.0  # seconds of one request; longer waits are several
_MOST = 10_000  # pulls or rewards in one request that the service takes
_MOST_LETTERS = 2_000  # of a reason


@dataclass(frozen=True, eq=False)
class RemoteAnswer(Answer):
    """An answer whose certificate came from the service."""

    _certificate: dict[str, Any] = field(default_factory=dict, repr=False)

    def certificate(self) -> dict[str, Any]:
        """See :class:`surepick.Answer`."""
        return self._certificate


def _compared(found: dict[str, Any]) -> dict[str, Any]:
    """What an answer says about options compared with a baseline, if they were."""
    if "lifts" not in found:
        return {}
    ends = (math.nan, -math.inf, math.inf)  # what null stands for
    lifts = {
        label: Lift(*(end if one is None else one for one, end in zip(row, ends)))
        for label, row in found["lifts"].items()
    }
    return {name: tuple(found[name]) for name in COMPARED} | {"lifts": lifts}


class RemoteStudy(StudyCore):
    """A study of a service; :meth:`surepick.Client.load_study` opens it.

    It has the public core of :class:`surepick.Study`. Lost connections and a service that restarts
    are waited for; nothing is counted twice. May be used from several threads.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport = transport
        self._path = f"/api/v1/studies/{quote(name, safe='')}"
        self._held: dict[int, str] = {}  # pull -> whom this object asked for
        self._finished = False

    # -- what it was created with ----------------------------------------------------------
    @cached_property
    def _definition(self) -> dict[str, Any]:
        return self._transport.get(f"{self._path}/definition")

    @cached_property
    def _problem_and_algorithm(self) -> tuple[Problem, Algorithm]:
        made = self._definition
        algorithm = registry.get(made["algorithm"], **decode(made["settings"]))
        return Problem.from_dict(decode(made["problem"])), algorithm

    @property
    def problem(self) -> Problem:
        """The problem; do not change it."""
        return self._problem_and_algorithm[0]

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm and its settings."""
        return self._problem_and_algorithm[1]

    @property
    def meta(self) -> dict[str, Any]:
        """What the study was created with to keep."""
        return self._definition["meta"]

    def definition(self) -> dict[str, Any]:
        """See :meth:`surepick.Study.definition`."""
        return self._definition

    # -- ask, tell, fail -------------------------------------------------------------------
    def ask(
        self,
        n: int = 1,
        worker: str | None = None,
        lease: float = 300.0,
        *,
        wait: float = 0.0,
        stratum: str | int | None = None,
    ) -> list[Pull]:
        """See :meth:`surepick.Study.ask`; the service waits, not this end."""
        belongs = check_stratum(self.strata, stratum)
        n, lease = whole(n, "n", least=1), positive(lease, "lease")
        left = real(wait, "wait")
        if worker is not None:
            as_name(worker, "worker")
        # Even an ask without a name needs one, to get the same pulls when its answer is lost.
        holder = f"once-{uuid.uuid4().hex}" if worker is None else worker
        while True:
            now = min(max(left, 0.0), _LONGEST_WAIT)
            body = {"n": min(n, _MOST), "worker": holder, "lease": lease, "wait": now}
            if belongs is not None:
                body["stratum"] = belongs
            found = self._transport.post(f"{self._path}/ask", body, wait=now)
            left -= now
            if found["pulls"] or found["finished"] or left <= 0:
                break
        self._finished = found["finished"]
        keys = Pull.__dataclass_fields__
        pulls = [Pull(**{key: one.get(key) for key in keys}) for one in found["pulls"]]
        self._held.update((pull.id, holder) for pull in pulls)
        return pulls

    def tell_many(
        self,
        rewards: Mapping[int, float] | Iterable[tuple[int, float]],
        worker: str | None = None,
    ) -> list[Told]:
        """See :meth:`surepick.Study.tell_many`."""
        if worker is not None:
            as_name(worker, "worker")
        pairs = rewards.items() if isinstance(rewards, Mapping) else rewards
        checked = [Reward.of(pair, worker) for pair in pairs]
        told: list[Told] = []
        parts = self._by_holder(checked)
        if len(parts) > 1:  # several requests: what the service would refuse must not come later
            checked = [reward.possible(self.problem.noise_kind) for reward in checked]
        for holder, part in parts:
            body: dict[str, Any] = {"rewards": [{"pull": r.pull, "reward": r.value} for r in part]}
            if holder is not None:
                body["worker"] = holder
            found = self._transport.tell(f"{self._path}/tell", body)["told"]
            told += [Told(one["pull"], one["status"], one["value"]) for one in found]
        for reward in checked:
            self._held.pop(reward.pull, None)
        return told

    def _by_holder(self, rewards: list[Reward]) -> list[tuple[str | None, list[Reward]]]:
        """The rewards in the order given, cut where another asked for the pull."""
        parts: list[tuple[str | None, list[Reward]]] = []
        for reward in rewards:
            holder = reward.worker or self._held.get(reward.pull)
            if not parts or parts[-1][0] != holder or len(parts[-1][1]) == _MOST:
                parts.append((holder, []))
            parts[-1][1].append(reward)
        return parts

    def fail(self, pull_id: int, reason: str = "", worker: str | None = None) -> bool:
        """See :meth:`surepick.Study.fail`."""
        pull, reason = as_pull(pull_id), as_reason(reason)
        if worker is not None:
            as_name(worker, "worker")
        body: dict[str, Any] = {"pull": pull, "reason": reason[:_MOST_LETTERS]}
        holder = worker or self._held.pop(pull, None)
        if holder is not None:
            body["worker"] = holder
        return self._transport.post(f"{self._path}/fail", body)["returned"]

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether there is an answer."""
        if not self._finished:
            self._finished = self.progress().finished
        return self._finished

    def progress(self) -> StudyProgress:
        """Where the study stands, in a few numbers."""
        found = self._transport.get(f"{self._path}/progress")
        keys = ("batch", "first", "size", "asked", "told", "finished")
        return StudyProgress(**{key: found[key] for key in keys})

    def standing(self) -> Any:
        """See :meth:`surepick.Study.standing`."""
        return as_table(Standing.from_dict(self.status()["standing"]))

    def status(self) -> dict[str, Any]:
        """Where the study stands, with the checks and the outlook, as JSON-ready values."""
        return self._transport.get(self._path)

    def checks(self) -> Checks:
        """See :meth:`surepick.Study.checks`."""
        return Checks.from_dict(self.status()["checks"])

    @property
    def answer(self) -> Answer:
        """The answer, once finished; its guarantee is withdrawn where a check contradicts it."""
        found = self._transport.get(f"{self._path}/answer")
        guarantee = found["guarantee"]
        return RemoteAnswer(
            arm=found["arm"],
            label=found["label"],
            samples=found["samples"],
            pulls=np.array(found["pulls"], dtype=np.int64),
            guarantee=Guarantee(guarantee["kind"], guarantee["text"]),
            survivors=tuple(found["survivors"]),
            equivalent=tuple(found["equivalent"]),
            batches=found["batches"],
            algorithm=found["algorithm"],
            delta=found["delta"],
            epsilon=found["epsilon"],
            **_compared(found),
            _record={},
            _certificate=self._transport.get(f"{self._path}/certificate"),
        )

    def rewards(self) -> Rewards:
        """See :meth:`surepick.Study.rewards`."""
        found = self._transport.get(f"{self._path}/rewards")
        return Rewards(
            np.array(found["pulls"], dtype=np.int64),
            np.array(found["arms"], dtype=np.int64),
            np.array(found["values"], dtype=np.float64),
            np.array(found["times"], dtype=np.float64),
            None if found.get("strata") is None else np.array(found["strata"], dtype=np.str_),
        )

    def events(self, *kinds: str) -> list[Event]:
        """See :meth:`surepick.Study.events`."""
        found = self._transport.get(f"{self._path}/events", kind=list(kinds))
        keys = Event.__dataclass_fields__
        return [Event(**{key: row[key] for key in keys}) for row in found["events"]]

    def history(self) -> list[dict[str, int]]:
        """A row for each complete batch: its number, samples so far, survivors after it."""
        return self._transport.get(f"{self._path}/history")["batches"]

    def export(self, path: str | Path, form: str | None = None, what: str = "measurements") -> Path:
        """Write what was measured to a file: CSV, JSON or Parquet, by its ending or ``form``."""
        path = Path(path)
        query = {"format": form or path.suffix[1:].lower(), "what": what}
        response = self._transport.send("GET", f"{self._path}/export", query=query)
        path.write_bytes(response.content)
        return path

    def close(self) -> None:
        """Let go of connections."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"RemoteStudy({self.name!r}, {self._transport.url!r})"
