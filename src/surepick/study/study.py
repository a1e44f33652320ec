"""A study: ask, tell, fail, answer; from as many processes as there are workers."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
import uuid
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from surepick.algorithms.base import Algorithm, Guarantee
from surepick.errors import (
    InvalidInputError,
    InvalidTypeError,
    RunStateError,
    SurepickError,
    TellConflictError,
    UnknownPullError,
)
from surepick.problem import Problem
from surepick.problem.validate import positive, real, whole
from surepick.run import Answer, Run
from surepick.storage import Storage, Transaction
from surepick.storage.records import Event, Progress, Rewards, StudyRecord
from surepick.study import leases, rebuild
from surepick.study.order import Order
from surepick.study.status import failure_warnings, status_of

_log = logging.getLogger(__name__)

_LARGEST = 1e130  # a reward, in units of the noise too: sums of any number of them stay finite
_ANONYMOUS = "~"  # begins the names that are made up for workers without one


@dataclass(frozen=True)
class Pull:
    """One measurement to make."""

    id: int  #: its number in the study; rewards are told for it
    arm: int
    label: str
    attempt: int = 1  #: above 1: handed out before, and failed or not told in time


@dataclass(frozen=True)
class Told:
    """What became of a reward.

    ``status`` is ``accepted``; ``duplicate``: the same reward had been told before, and counts
    once; ``late``: another worker had told this pull, and that reward stands; ``conflict``: the
    same worker had told another reward, and that one stands. All are recorded.
    """

    pull: int
    status: str
    value: float  #: the reward that counts

    @property
    def used(self) -> bool:
        """Whether the reward that counts is the one told."""
        return self.status in ("accepted", "duplicate")


class Study:
    """An identification that lives in a database; open it with ``load_study`` anywhere.

    What was told is kept before a call returns. A study object may be used from several
    threads; each process opens its own.
    """

    def __init__(self, storage: Storage, record: StudyRecord, *, owner: bool = False) -> None:
        self.storage = storage
        self.name = record.name
        self._record = record
        self._id = record.id
        self._who = _ANONYMOUS + uuid.uuid4().hex
        self._held: dict[int, str] = {}  # pull -> whom this object handed it to
        self._lock = threading.RLock()
        self._run: Run | None = None
        self._order: tuple[int, Order] | None = None
        self._finished = False
        if owner:  # nobody else can close it
            weakref.finalize(self, storage.close)

    # -- what it was created with ----------------------------------------------------------
    @cached_property
    def problem(self) -> Problem:
        """The problem; do not change it."""
        return rebuild.problem_of(self._record)

    @cached_property
    def algorithm(self) -> Algorithm:
        """The algorithm and its settings."""
        return rebuild.algorithm_of(self._record)

    @cached_property
    def meta(self) -> dict[str, Any]:
        """What ``create_study`` was given to keep."""
        return json.loads(self._record.meta)

    # -- ask -------------------------------------------------------------------------------
    def ask(
        self, n: int = 1, worker: str | None = None, lease: float = 300.0, *, wait: float = 0.0
    ) -> list[Pull]:
        """Up to ``n`` pulls to measure, leased for ``lease`` seconds.

        Fewer, or none, come back when the rest of the batch is with other workers, or when
        the study is finished (see :attr:`finished`): the next batch starts only when this
        one is complete. A pull that is not told in time goes to somebody else.

        Parameters
        ----------
        n
            How many, at most.
        worker
            A name of your own. A worker that comes back gets what it has not told yet first.
        lease
            Seconds until the pulls may be given to others, by the database's clock.
        wait
            Seconds to wait for a first pull, when there is none now.
        """
        n = whole(n, "n", least=1)
        lease, wait = positive(lease, "lease"), real(wait, "wait")
        named = worker is not None
        holder = as_name(worker, "worker") if named else _ANONYMOUS + uuid.uuid4().hex
        tries = 0

        def ask(tx: Transaction) -> leases.Asked:
            nonlocal tries
            tries += 1
            return leases.ask(
                tx,
                self._id,
                n,
                holder=holder,
                who=holder if named else self._who,
                lease=lease,
                back=named or tries > 1,
                order_of=self._order_of,
            )

        end = time.monotonic() + wait
        while True:
            asked = self.storage.write(ask)
            self._finished = asked.finished
            if asked.advance:
                self._advance()
            elif asked.leases or asked.finished or time.monotonic() >= end:
                break
            else:
                time.sleep(random.uniform(0.5, 1.0) * min(0.1, max(0.0, end - time.monotonic())))
        self._held.update((one.pull, holder) for one in asked.leases)
        labels = self.problem.labels
        return [Pull(x.pull, x.arm, labels[x.arm], x.attempts) for x in asked.leases]

    def _order_of(self, tx: Transaction, number: int) -> Order:
        if self._order is None or self._order[0] != number:
            batch = tx.batch(self._id, number)
            assert batch is not None
            self._order = (number, Order(number, rebuild.pulls_of(batch)))
        return self._order[1]

    # -- tell ------------------------------------------------------------------------------
    def tell(self, pull_id: int, reward: float, worker: str | None = None) -> Told:
        """Hand in the reward of a pull; once this returns, it is kept.

        The first reward told for a pull counts. The same again is fine. Another one is
        refused with ``TellConflictError``, unless it comes from a worker who was too late:
        see :class:`Told`. A pull may be told after its lease has run out.

        Parameters
        ----------
        pull_id
            The ``id`` of what :meth:`ask` returned.
        reward
            A finite number.
        worker
            Who measured it; not needed in the process that asked.
        """
        told = self.tell_many([(pull_id, reward)], worker)[0]
        if told.status == "conflict":
            raise TellConflictError(
                f"pull {told.pull} was told as {told.value!r} before, so {reward!r} is refused "
                f"(and recorded); the first reward counts"
            )
        return told

    def tell_many(
        self,
        rewards: Mapping[int, float] | Iterable[tuple[int, float]],
        worker: str | None = None,
    ) -> list[Told]:
        """Hand in many rewards at once: all are recorded, or (on an error) none.

        Rewards that contradict earlier ones raise nothing here; see :attr:`Told.status`.
        """
        if worker is not None:
            as_name(worker, "worker")
        pairs = list(rewards.items() if isinstance(rewards, Mapping) else rewards)
        told = []
        for pair in pairs:
            pull, reward = self._check_tell(pair)
            told.append((pull, reward, worker or self._held.get(pull)))
        if not told:
            return []
        holder = told[0][2]
        named = holder is not None and not holder.startswith(_ANONYMOUS)
        who = holder if named and holder else self._who
        outcomes, complete = self.storage.write(lambda tx: leases.tell(tx, self._id, told, who))
        for pull, _, _ in told:
            self._held.pop(pull, None)
        if complete:
            self._advance_quietly()
        return [Told(one.pull, one.status, one.value) for one in outcomes]

    def _check_tell(self, pair: Any) -> tuple[int, float]:
        try:
            pull, reward = pair
        except (TypeError, ValueError):
            raise InvalidTypeError(
                f"rewards must be (pull, reward) pairs; got {pair!r:.80}"
            ) from None
        pull = self._check_pull(pull)
        reward = real(reward, f"reward of pull {pull}")
        if abs(reward) / min(self.problem.noise, 1.0) >= _LARGEST:
            raise InvalidInputError(f"reward of pull {pull} is too large: {reward!r}")
        return pull, reward

    def _check_pull(self, pull: Any) -> int:
        pull = whole(pull, "pull_id")
        if pull >= 2**62:
            raise UnknownPullError(f"this study has handed out no pull {pull}")
        return pull

    def fail(self, pull_id: int, reason: str = "", worker: str | None = None) -> bool:
        """Say that a pull could not be measured: it goes back in line.

        Returns False when it was no longer this worker's to give back (told, or leased to
        someone else since); that is recorded, and changes nothing. Failures that have to do
        with the reward void the guarantee: see :meth:`status`.
        """
        pull = self._check_pull(pull_id)
        if worker is not None:
            as_name(worker, "worker")
        if not isinstance(reason, str):
            raise InvalidTypeError(f"reason must be a text; got {reason!r:.80}")
        reason = reason.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
        worker = worker or self._held.pop(pull, None)
        return self.storage.write(lambda tx: leases.fail(tx, self._id, pull, reason, worker))

    # -- going on --------------------------------------------------------------------------
    def _advance(self) -> None:
        """Go on from a complete batch to the next, unless somebody else has by now."""
        with self._lock:
            run, at = self._load()
            if not at.complete:
                return
            self._run = None  # until it is written, nothing of this counts
            if rebuild.advance(self.storage, self._record, run, at):
                self._run = run

    def _advance_quietly(self) -> None:
        """The same, after a tell that is recorded whatever becomes of this."""
        try:
            self._advance()
        except (SurepickError, ArithmeticError, ValueError) as problem:
            _log.warning(
                "study %r: the reward is recorded, but the next batch could not be worked out "
                "(%s); the next ask tries again",
                self.name,
                problem,
            )

    def _load(self) -> tuple[Run, Progress]:
        """The run at the open batch; from memory where that is what it stands at."""
        with self._lock:
            at = self._progress()
            if self._run is None or self._run.batches != at.batch:
                self._run, at = rebuild.load_run(self.storage, self._record)
            return self._run, at

    def _progress(self) -> Progress:
        at = self.storage.read(lambda tx: tx.progress(self._id))
        self._finished = at.finished
        return at

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether there is an answer."""
        return self._finished or self._progress().finished

    @property
    def run(self) -> Run:
        """The run as of the last complete batch, with the present batch open; only to look at."""
        return self._load()[0]

    @property
    def answer(self) -> Answer:
        """The answer, once finished; its guarantee is withdrawn where failures look uneven."""
        run, at = self._load()
        if not run.stopped:
            raise RunStateError(
                f"study {self.name!r} is not finished: {len(run.active)} candidates are still in, "
                f"after {at.first + at.told} pulls"
            )
        answer = run.answer
        found = failure_warnings(self.storage, self._id, run)
        if found and answer.guarantee.kind != "none":
            text = f"no guarantee: {'; '.join(found)}; otherwise it would be {answer.guarantee}"
            answer = replace(answer, guarantee=Guarantee("none", text))
        return answer

    def status(self) -> dict[str, Any]:
        """Where the study stands, as JSON-ready values."""
        run, at = self._load()
        return status_of(self.storage, self._record, run, at)

    def rewards(self) -> Rewards:
        """Every reward that counts, with pull, arm and time, in the order of the pulls."""
        return self.storage.read(lambda tx: tx.rewards(self._id, 0, 2**62))

    def events(self, *kinds: str) -> list[Event]:
        """Everything else that was said: duplicates, conflicts, late tells, failures."""
        return self.storage.read(lambda tx: tx.events(self._id, kinds or None))

    def rebuild(self) -> Run:
        """The run worked out again from the log alone: a check of everything else stored."""
        return self.storage.read(lambda tx: rebuild.replay(tx, self._record))[0]

    def close(self) -> None:
        """Let go of the database."""
        self.storage.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.storage.url!r})"


def as_name(name: Any, what: str) -> str:
    """A name that every database can keep, or an error."""
    if not isinstance(name, str):
        raise InvalidTypeError(f"{what} must be a text; got {name!r:.80}")
    fine = name.isprintable() and name.strip() == name and 0 < len(name) <= 200
    if not fine or name.startswith(_ANONYMOUS):
        raise InvalidInputError(
            f"{what} must be 1 to 200 printable characters, not begin with {_ANONYMOUS!r}, and "
            f"not begin or end with a space; got {name!r:.250}"
        )
    return name
