"""What is asked of a service, step by step: the one table behind both clients.

Each method of :class:`StudyRequests` is a conversation. It yields requests, is sent what the
service answers to each, and returns what the method of a study here would return. Nothing is sent
from here: the client that blocks and the client for coroutines both walk through these steps, so
they cannot come to differ.
"""

from __future__ import annotations

import inspect
import math
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm
from surepick.arrays.validate import TEN_YEARS, positive, real, whole
from surepick.client.replies import (
    MOST,
    ahead_of,
    answer_of,
    by_holder,
    events_of,
    progress_of,
    pulls_of,
    refuse_known,
    reward_rows,
    rewards_of,
    split_of,
    told_of,
)
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.codec import decode
from surepick.run.forecast import FORECAST_SECONDS, Ahead
from surepick.run.standing import Standing
from surepick.storage.records import Event, Rewards, StudyProgress
from surepick.study import StudySpec
from surepick.study.acts import Act
from surepick.study.acts import registry as registry_of_acts
from surepick.study.checks.checks import Checks
from surepick.study.pulls import (
    ONCE,
    OneReward,
    Pull,
    Reward,
    Rewarded,
    Told,
    as_failure,
    as_name,
    as_pull,
    without_labels,
)
from surepick.study.spec import described
from surepick.study.traffic.results import Split
from surepick.study.workers.measure import Measurement
from surepick.text import as_passage

LONGEST_WAIT = 20.0  # seconds of one request; longer waits are several
MOST_LETTERS = 2_000  # of a reason
STUDIES = "/api/v1/studies"


@dataclass(frozen=True)
class Request:
    """One request to a service."""

    method: str
    path: str
    body: dict[str, Any] | None = None
    query: dict[str, Any] = field(default_factory=dict)
    wait: float = 0.0  #: seconds that the answer may take longer than others
    gone_is_done: bool = False  #: what is gone at a second try was removed by the first
    says_of_each: bool = False  #: a refusal that says what became of each reward is an answer
    raw: bool = False  #: the answer is a file, not JSON
    until: float = -math.inf  #: by the monotonic clock: it is worth trying as long as this


R = TypeVar("R")
Steps = Generator[Request, Any, R]  #: requests that end in a result


def promised(steps: Callable[..., Steps[Any]]) -> inspect.Signature:
    """The signature of a method that walks through these steps: it returns their result."""
    found = inspect.signature(steps)
    result = str(found.return_annotation).removeprefix("Steps[").removesuffix("]")
    return found.replace(return_annotation=result)


# -- the service -------------------------------------------------------------------------------
Study = TypeVar("Study")


class ServiceRequests(Generic[Study]):
    """What is asked of a service about its studies, each of which ``opened`` makes of its name."""

    def __init__(self, opened: Callable[[str], Study]) -> None:
        self._opened = opened

    def create_study(
        self,
        name: str,
        problem: Problem | None = None,
        algorithm: Algorithm | str = registry.DEFAULT,
        *,
        table: Any = None,
        **fields: Any,
    ) -> Steps[Study]:
        """Create a study, from a problem or from a table of options.

        Parameters
        ----------
        name, problem, algorithm, table, **fields
            See :func:`surepick.create_study`.
        """
        return (yield from self.store(described(name, problem, algorithm, table, fields)))

    def store(self, spec: StudySpec) -> Steps[Study]:
        """Create the study that a spec describes."""
        if spec.each:
            raise InvalidInputError(
                "segments: without shares there is an answer for each segment, so this makes "
                "several studies: begin such a test on the page, or where the database is "
                "(surepick new, surepick.study.SegmentStudies); its studies "
                f"({', '.join(one.name for one in spec.each)}) can be loaded from here"
            )
        key = uuid.uuid4().hex  # by which this request is recognised if it comes twice
        yield Request("POST", STUDIES, {**spec.to_dict(), "key": key})
        return self._opened(spec.name)

    def load_study(self, name: str) -> Steps[Study]:
        """Open a study that is there."""
        yield from StudyRequests(name).progress()  # is it there, and may this token see it?
        return self._opened(name)

    def list_studies(self) -> Steps[list[str]]:
        """The names of the studies that the token is for, in the order of their creation."""
        return [study["name"] for study in (yield Request("GET", STUDIES))["studies"]]

    def delete_study(self, name: str) -> Steps[None]:
        """Delete a study with everything that was measured for it."""
        yield Request("DELETE", _path(name), gone_is_done=True, raw=True)

    def make_token(
        self,
        role: str,
        studies: Sequence[str] | None = None,
        *,
        expires_in: float | None = None,
        note: str = "",
    ) -> Steps[str]:
        """A new token (``admin``, ``worker``, …); the service does not keep it."""
        body: dict[str, Any] = {"role": role, "note": note, "expires_in": expires_in}
        body["studies"] = None if studies is None else list(studies)
        return (yield Request("POST", "/api/v1/tokens", body))["token"]


# -- one of its studies ------------------------------------------------------------------------


class StudyRequests:
    """What is asked of a service about one study."""

    def __init__(self, name: str) -> None:
        self._path = _path(name)
        self._held: dict[int, str] = {}  # pull -> whom this object asked for
        self._leases: dict[int, float] = {}  # pull -> when its lease ends
        self._labels: dict[int, str] = {}  # pull -> what it is for
        self._definition: dict[str, Any] | None = None
        self._made: tuple[Problem, Algorithm] | None = None

    def _get(self, rest: str, **query: Any) -> Steps[Any]:
        return (yield Request("GET", self._path + rest, query=query))

    def _post(self, rest: str, body: dict[str, Any], **how: Any) -> Steps[Any]:
        return (yield Request("POST", self._path + rest, body, **how))

    # -- what it was created with ----------------------------------------------------------
    def definition(self) -> Steps[dict[str, Any]]:
        """See :meth:`surepick.Study.definition`."""
        if self._definition is None:
            found: dict[str, Any] = yield from self._get("/definition")
            self._definition = found
        return self._definition

    def made(self) -> Steps[tuple[Problem, Algorithm]]:
        """The problem and the algorithm."""
        if self._made is None:
            said = yield from self.definition()
            algorithm = registry.get(said["algorithm"], **decode(said["settings"]))
            self._made = Problem.from_dict(decode(said["problem"])), algorithm
        return self._made

    def _forget(self) -> None:
        """Options have come: what is known of the study is asked for again."""
        self._definition = self._made = None

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
    ) -> Steps[list[Pull]]:
        """See :meth:`surepick.Study.ask`; the service waits, not this end."""
        n, lease, left = (
            whole(n, "n", least=1),
            positive(lease, "lease", TEN_YEARS),
            real(wait, "wait"),
        )
        # By its id an ask gets the same pulls when its answer is lost; without a name it needs one.
        request = uuid.uuid4().hex
        holder = f"{ONCE}{request}" if worker is None else as_name(worker, "worker")
        body: dict[str, Any] = {"n": min(n, MOST), "worker": holder, "lease": lease}
        body["request"] = request
        if stratum is not None:
            body["stratum"] = str(stratum)
        if same:
            body["same"] = True
        while True:
            now = min(max(left, 0.0), LONGEST_WAIT)
            found = yield from self._post("/ask", body | {"wait": now}, wait=now)
            left -= now
            if found["pulls"] or found["finished"] or left <= 0:
                break
        pulls, ends = pulls_of(found), time.monotonic() + lease
        self._leases.update((pull.id, ends) for pull in pulls)
        known = self._definition
        if known is not None and any(p.arm >= len(known["problem"]["labels"]) for p in pulls):
            self._forget()
        self._held.update((pull.id, holder) for pull in pulls)
        self._labels.update((pull.id, pull.label) for pull in pulls)
        return pulls

    def tell(
        self,
        pull_id: int,
        reward: OneReward,
        worker: str | None = None,
        *,
        strict: bool = False,
        label: str | None = None,
    ) -> Steps[Told]:
        """See :meth:`surepick.Study.tell`."""
        told = yield from self.tell_many([(pull_id, reward, label)], worker, strict=strict)
        return told[0].or_refuse(reward)

    def tell_many(
        self, rewards: Rewarded, worker: str | None = None, *, strict: bool = False
    ) -> Steps[list[Told]]:
        """See :meth:`surepick.Study.tell_many`; rewards of several workers are several requests."""
        if worker is not None:
            as_name(worker, "worker")
        pairs, said = without_labels(rewards)
        checked = [Reward.of(pair, worker) for pair in pairs]
        parts = by_holder(checked, self._held)
        if len(parts) > 1:  # what the service would refuse must not come after what it has taken
            kind = (yield from self.made())[0].noise_kind
            checked = [reward.possible(kind) for reward in checked]
            refuse_known(said, self._labels)
        told: list[Told] = []
        for holder, part in parts:
            body: dict[str, Any] = {"rewards": reward_rows(part, said)}
            body |= {} if holder is None else {"worker": holder}
            body |= {"strict": True} if strict else {}
            until = max((self._leases.get(one.pull, -math.inf) for one in part), default=-math.inf)
            how: dict[str, Any] = {"says_of_each": True, "until": until}
            told += told_of((yield from self._post("/tell", body, **how))["told"])
        for reward in checked:
            self._held.pop(reward.pull, None)
            self._leases.pop(reward.pull, None)
            self._labels.pop(reward.pull, None)
        return told

    def fail(
        self, pull_id: int, reason: str = "", worker: str | None = None, *, final: bool = False
    ) -> Steps[bool]:
        """See :meth:`surepick.Study.fail`."""
        pull, reason = as_pull(pull_id), as_failure(reason)
        holder = self._held.pop(pull, None) if worker is None else as_name(worker, "worker")
        body: dict[str, Any] = {"pull": pull, "reason": reason[:MOST_LETTERS]}
        body |= {} if holder is None else {"worker": holder}
        body |= {"final": True} if final else {}
        until = self._leases.pop(pull, -math.inf)
        return (yield from self._post("/fail", body, until=until))["returned"]

    def keep(
        self, held: Mapping[str, Sequence[int]], lease: float = 300.0
    ) -> Steps[dict[str, list[int]]]:
        """See :meth:`surepick.Study.keep`."""
        pulls = {as_name(who, "worker"): [as_pull(x) for x in own] for who, own in held.items()}
        body = {"held": pulls, "lease": positive(lease, "lease", TEN_YEARS)}
        found = (yield from self._post("/keep", body))["held"]
        ends = time.monotonic() + lease
        self._leases.update((pull, ends) for own in pulls.values() for pull in own)
        return found

    def canary(self) -> Steps[Measurement | None]:
        """See :meth:`surepick.Study.canary`."""
        for one in (yield from self._get("/canary"))["pulls"]:
            own = (one[name] for name in ("id", "arm", "label", "attempt", "features"))
            return Measurement(*own, item=one["item"])
        return None

    # -- what people do to it: the methods of a study for single kinds go through these -----
    def act(
        self, kind: str, /, *, reason: str = "", by: str | None = None, **fields: Any
    ) -> Steps[Any]:
        """See :meth:`surepick.Study.act`."""
        body = {name: value for name, value in fields.items() if value is not None}
        body |= {"reason": as_passage(reason, "reason")} | (
            {} if by is None else {"by": as_name(by, "by")}
        )
        found = yield from self._post(f"/acts/{quote(kind, safe='')}", body)
        self._forget()
        made = None if found["act"] is None else Act.from_dict(found["act"])
        return registry_of_acts.or_plain(kind).result(made, fields)

    def acts(self, *kinds: str) -> Steps[list[Act]]:
        """See :meth:`surepick.Study.acts`."""
        found = yield from self._get("/acts", kind=list(kinds))
        return [Act.from_dict(one) for one in found["acts"]]

    def _records(self, *kinds: str) -> Steps[list[Any]]:
        found = yield from self.acts(*kinds)
        return [one for act in found for one in registry_of_acts.get(act.kind).records(act)]

    def stop(self, reason: str = "", by: str | None = None) -> Steps[Answer]:
        """See :meth:`surepick.Study.stop`."""
        yield from self.act("stop", reason=reason, by=by)
        return (yield from self.answer())

    # -- traffic ---------------------------------------------------------------------------
    def split(self, visits: int | None = None, period: str | None = None) -> Steps[Split]:
        """See :meth:`surepick.Study.split`."""
        body: dict[str, Any] = {}
        if visits is not None:
            body["visits"] = whole(visits, "visits", least=1)
        if period is not None:
            body["period"] = as_name(period, "period")
        return split_of((yield from self._post("/split", body)))

    def periods(self) -> Steps[list[dict[str, Any]]]:
        """See :meth:`surepick.Study.periods`."""
        return (yield from self._get("/periods"))["periods"]

    # -- where it stands -------------------------------------------------------------------
    def finished(self) -> Steps[bool]:
        """Whether there is an answer."""
        return (yield from self.progress()).finished

    def answer(self) -> Steps[Answer]:
        """The answer, once finished; its guarantee is withdrawn where a check contradicts it."""
        found = yield from self._get("/answer")
        return answer_of(found, (yield from self._get("/certificate")))

    def progress(self) -> Steps[StudyProgress]:
        """Where the study stands, in a few numbers."""
        return progress_of((yield from self._get("/progress")))

    def standing(self) -> Steps[Standing]:
        """See :meth:`surepick.Study.standing`."""
        return Standing.from_dict((yield from self.status())["standing"])

    def forecast(
        self, seconds: float = FORECAST_SECONDS, *, epsilon: float | None = None
    ) -> Steps[Ahead]:
        """See :meth:`surepick.Study.forecast`."""
        given = {} if epsilon is None else {"epsilon": epsilon}
        return ahead_of((yield from self._get("/forecast", seconds=seconds, **given)))

    def status(self) -> Steps[dict[str, Any]]:
        """Where the study stands, with the checks and the outlook, as JSON-ready values."""
        return (yield from self._get(""))

    def checks(self) -> Steps[Checks]:
        """See :meth:`surepick.Study.checks`."""
        return Checks.from_dict((yield from self.status())["checks"])

    def rewards(self) -> Steps[Rewards]:
        """See :meth:`surepick.Study.rewards`."""
        return rewards_of((yield from self._get("/rewards")))

    def events(self, *kinds: str) -> Steps[list[Event]]:
        """See :meth:`surepick.Study.events`."""
        return events_of((yield from self._get("/events", kind=list(kinds))))

    def history(self) -> Steps[list[dict[str, int]]]:
        """A row for each complete batch: its number, samples so far, survivors after it."""
        return (yield from self._get("/history"))["batches"]

    def judgements(self) -> Steps[dict[str, Any]]:
        """See :meth:`surepick.Study.judgements`."""
        return (yield from self._get("/judgements"))

    def exported(self, path: Path, form: str | None, what: str) -> Steps[bytes]:
        """What was measured, as the contents of a file."""
        query = {"format": form or path.suffix[1:].lower(), "what": what}
        return (yield Request("GET", f"{self._path}/export", query=query, raw=True))


def _path(name: str) -> str:
    return f"{STUDIES}/{quote(name, safe='')}"
