"""A study that a service keeps, with the methods of one that is here."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm
from surepick.arrays.validate import positive, real, whole
from surepick.client.limiting import limit_body, limit_changes_of
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
from surepick.client.transport import Transport
from surepick.client.turning import add_body, option_changes_of, retire_body
from surepick.client.visitors import RemoteTraffic
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.codec import decode
from surepick.run.forecast import Ahead
from surepick.run.standing import Standing, as_table
from surepick.storage.records import Event, Rewards, StudyProgress
from surepick.study.changes import Change
from surepick.study.checks.checks import Checks
from surepick.study.core import StudyCore
from surepick.study.limits import LimitChange
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
from surepick.study.strata import check_stratum
from surepick.study.turns import OptionChange
from surepick.study.workers.measure import Measurement
from surepick.study.workers.run import run_study

LONGEST_WAIT = 20.0  # seconds of one request; longer waits are several
MOST_LETTERS = 2_000  # of a reason


class RemoteStudy(RemoteTraffic, StudyCore):
    """A study of a service; :meth:`surepick.Client.load_study` opens it.

    It has the public core of :class:`surepick.Study`. Lost connections and a service that restarts
    are waited for; nothing is counted twice. May be used from several threads.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport = transport
        self._path = f"/api/v1/studies/{quote(name, safe='')}"
        self._held: dict[int, str] = {}  # pull -> whom this object asked for
        self._labels: dict[int, str] = {}  # pull -> what it is for

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
        same: bool = False,
    ) -> list[Pull]:
        """See :meth:`surepick.Study.ask`; the service waits, not this end."""
        belongs = check_stratum(self.strata, stratum)
        n, lease = whole(n, "n", least=1), positive(lease, "lease")
        left = real(wait, "wait")
        if worker is not None:
            as_name(worker, "worker")
        # Even an ask without a name needs one, to get the same pulls when its answer is lost.
        holder = f"{ONCE}{uuid.uuid4().hex}" if worker is None else worker
        body = ask_body(n, holder, lease, belongs, same)
        while True:
            now = min(max(left, 0.0), LONGEST_WAIT)
            found = self._transport.post(f"{self._path}/ask", body | {"wait": now}, wait=now)
            left -= now
            if found["pulls"] or found["finished"] or left <= 0:
                break
        pulls = pulls_of(found)
        known = vars(self).get("_definition")
        if known is not None and any(p.arm >= len(known["problem"]["labels"]) for p in pulls):
            self._forget()
        self._held.update((pull.id, holder) for pull in pulls)
        self._labels.update((pull.id, pull.label) for pull in pulls)
        return pulls

    def tell_many(
        self,
        rewards: Rewarded,
        worker: str | None = None,
        *,
        strict: bool = False,
    ) -> list[Told]:
        """See :meth:`surepick.Study.tell_many`."""
        if worker is not None:
            as_name(worker, "worker")
        pairs, said = without_labels(rewards)
        checked = [Reward.of(pair, worker) for pair in pairs]
        told: list[Told] = []
        parts = by_holder(checked, self._held)
        if len(parts) > 1:  # several requests: what the service would refuse must not come later
            checked = [reward.possible(self.problem.noise_kind) for reward in checked]
            refuse_known(said, self._labels)
        for holder, part in parts:
            body: dict[str, Any] = {"rewards": reward_rows(part, said)}
            if holder is not None:
                body["worker"] = holder
            if strict:
                body["strict"] = True
            found = self._transport.tell(f"{self._path}/tell", body)["told"]
            told += told_of(found)
        for reward in checked:
            self._held.pop(reward.pull, None)
            self._labels.pop(reward.pull, None)
        return told

    def fail(self, pull_id: int, reason: str = "", worker: str | None = None) -> bool:
        """See :meth:`surepick.Study.fail`."""
        pull, reason = as_pull(pull_id), as_reason(reason)
        if worker is not None:
            as_name(worker, "worker")
        body: dict[str, Any] = {"pull": pull, "reason": reason[:MOST_LETTERS]}
        holder = worker or self._held.pop(pull, None)
        if holder is not None:
            body["worker"] = holder
        return self._transport.post(f"{self._path}/fail", body)["returned"]

    # -- measuring with a function ---------------------------------------------------------
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
    ) -> Answer:
        """See :meth:`surepick.Study.run`."""
        return run_study(self, measure, workers, progress, timeout, retries, name, stratum)

    # -- correct, withdraw -----------------------------------------------------------------
    def correct(self, pull_id: int, reward: float, *, reason: str, by: str | None = None) -> Change:
        """See :meth:`surepick.Study.correct`."""
        body = {"pull": as_pull(pull_id), "reward": real(reward, "reward")}
        return self._change("correct", body, reason, by)[0]

    def withdraw(self, pull_id: int, *, reason: str, by: str | None = None) -> Change:
        """See :meth:`surepick.Study.withdraw`."""
        return self._change("withdraw", {"pull": as_pull(pull_id)}, reason, by)[0]

    def withdraw_token(self, token: str, *, reason: str, by: str | None = None) -> list[Change]:
        """See :meth:`surepick.Study.withdraw_token`."""
        return self._change("withdraw", {"token": token}, reason, by)

    def _change(self, verb: str, body: dict[str, Any], reason: str, by: str | None) -> list[Change]:
        body |= {"reason": as_reason(reason)} | ({} if by is None else {"by": as_name(by, "by")})
        return changes_of(self._transport.post(f"{self._path}/{verb}", body))

    def corrections(self) -> list[Change]:
        """See :meth:`surepick.Study.corrections`."""
        return changes_of(self._transport.get(f"{self._path}/corrections"))

    # -- add, retire -----------------------------------------------------------------------
    def add(self, options: Any, *, reason: str = "", by: str | None = None) -> OptionChange:
        """See :meth:`surepick.Study.add`."""
        return self._turn("options", add_body(options, reason, by))

    def retire(self, label: str, *, reason: str, by: str | None = None) -> OptionChange:
        """See :meth:`surepick.Study.retire`."""
        return self._turn("retire", retire_body(label, reason, by))

    def _turn(self, verb: str, body: dict[str, Any]) -> OptionChange:
        found = option_changes_of(self._transport.post(f"{self._path}/{verb}", body))
        self._forget()
        return found[0]

    def option_changes(self) -> list[OptionChange]:
        """See :meth:`surepick.Study.option_changes`."""
        return option_changes_of(self._transport.get(f"{self._path}/options"))

    def _forget(self) -> None:
        """Options have come: what is known of the study is asked for again."""
        for name in ("_definition", "_problem_and_algorithm"):
            vars(self).pop(name, None)

    # -- limits ----------------------------------------------------------------------------
    def limit(
        self,
        *,
        max_samples: int | float | str | None = None,
        budget: float | str | None = None,
        reason: str = "",
        by: str | None = None,
    ) -> LimitChange:
        """See :meth:`surepick.Study.limit`."""
        body = limit_body(max_samples, budget, reason, by)
        return limit_changes_of(self._transport.post(f"{self._path}/limits", body))[0]

    def limit_changes(self) -> list[LimitChange]:
        """See :meth:`surepick.Study.limit_changes`."""
        return limit_changes_of(self._transport.get(f"{self._path}/limits"))

    # -- pause, resume, stop ---------------------------------------------------------------
    def pause(self, reason: str = "", by: str | None = None) -> bool:
        """See :meth:`surepick.Study.pause`."""
        return self._steer("pause", reason, by)

    def resume(self, reason: str = "", by: str | None = None) -> bool:
        """See :meth:`surepick.Study.resume`."""
        return self._steer("resume", reason, by)

    def stop(self, reason: str = "", by: str | None = None) -> Answer:
        """See :meth:`surepick.Study.stop`."""
        self._steer("stop", reason, by)
        return self.answer

    def _steer(self, verb: str, reason: str, by: str | None) -> bool:
        body = {"reason": as_reason(reason)} | ({} if by is None else {"by": as_name(by, "by")})
        return self._transport.post(f"{self._path}/{verb}", body)["changed"]

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether there is an answer."""
        return self.progress().finished

    def progress(self) -> StudyProgress:
        """Where the study stands, in a few numbers."""
        found = self._transport.get(f"{self._path}/progress")
        return progress_of(found)

    def standing(self) -> Any:
        """See :meth:`surepick.Study.standing`."""
        return as_table(Standing.from_dict(self.status()["standing"]))

    def forecast(self) -> Ahead:
        """See :meth:`surepick.Study.forecast`."""
        return ahead_of(self._transport.get(f"{self._path}/forecast"))

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
        return answer_of(found, self._transport.get(f"{self._path}/certificate"))

    def rewards(self) -> Rewards:
        """See :meth:`surepick.Study.rewards`."""
        found = self._transport.get(f"{self._path}/rewards")
        return rewards_of(found)

    def events(self, *kinds: str) -> list[Event]:
        """See :meth:`surepick.Study.events`."""
        found = self._transport.get(f"{self._path}/events", kind=list(kinds))
        return events_of(found)

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
