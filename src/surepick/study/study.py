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
from functools import cached_property
from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.arrays.validate import positive, real, whole
from surepick.errors import (
    InvalidInputError,
    InvalidTypeError,
    RunStateError,
    SurepickError,
    UnknownPullError,
)
from surepick.problem import Problem
from surepick.run import Answer, Run
from surepick.storage import Storage, Transaction
from surepick.storage.records import Event, Progress, Rewards, StudyRecord
from surepick.study.checks.checks import Checks, qualified, without_guarantee
from surepick.study.checks.findings import Findings
from surepick.study.desk import leases, rebuild
from surepick.study.desk.order import Order
from surepick.study.pulls import ANONYMOUS, Pull, Told, as_name
from surepick.study.status import failure_warnings, status_of

_log = logging.getLogger(__name__)

_LARGEST = 1e130  # a reward, in units of the noise too: sums of any number of them stay finite
_AHEAD = 64  # pulls that others may have been handed since one last asked


class Study:
    """An identification that lives in a database; open it with ``load_study`` anywhere.

    What was told is kept before a call returns. A study object may be used from several
    threads; each process opens its own.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("race", sp.Problem([[1.0], [2.0]]), storage="memory://")
    >>> while not study.finished:
    ...     for pull in study.ask(8, worker="me"):
    ...         _ = study.tell(pull.id, 9.0 * pull.arm)
    >>> study.answer.arm
    1
    """

    def __init__(self, storage: Storage, record: StudyRecord, *, owner: bool = False) -> None:
        self.storage = storage
        self.name = record.name
        self._record = record
        self._id = record.id
        self._who = ANONYMOUS + uuid.uuid4().hex
        self._held: dict[int, str] = {}  # pull -> whom this object handed it to
        self._lock = threading.RLock()
        self._run: Run | None = None
        self._order: tuple[int, Order] | None = None
        self._place: tuple[int, int] | None = None  # batch, and its pulls handed out at least
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

    @cached_property
    def _findings(self) -> Findings:
        return Findings(self.storage, self._id, self.problem)

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
        holder = as_name(worker, "worker") if named else ANONYMOUS + uuid.uuid4().hex
        quick = self._ask_one(holder, lease) if n == 1 and self._place is not None else None
        if quick is not None:
            return [quick]
        tries = 0 if self._place is None else 1  # an attempt of unknown end is one, too

        def ask(tx: Transaction) -> leases.Asked:
            nonlocal tries
            tries += 1
            return self._take(tx, n, holder, lease, again=tries > 1)

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
        known = self._order is not None and self._order[0] == asked.batch
        self._place = (asked.batch, asked.place) if known else None
        self._held.update((one.pull, holder) for one in asked.leases)
        labels = self.problem.labels
        return [Pull(x.pull, x.arm, labels[x.arm], x.attempts) for x in asked.leases]

    def _take(
        self, tx: Transaction, n: int, holder: str, lease: float, again: bool
    ) -> leases.Asked:
        """Lease pulls to a holder; ``again`` after an attempt whose end is not known."""
        named = not holder.startswith(ANONYMOUS)
        return leases.ask(
            tx,
            self._id,
            n,
            holder=holder,
            who=holder if named else self._who,
            lease=lease,
            back=named or again,
            order_of=self._order_of,
        )

    def _ask_one(self, holder: str, lease: float) -> Pull | None:
        """The next pull of the batch in one step, where the storage can do that."""
        order, place = self._order, self._place
        if order is None or place is None or order[0] != place[0]:
            return None
        arms = order[1].arms(place[1], min(place[1] + _AHEAD, order[1].size)).tolist()
        given = self.storage.ask_one(self._id, *place, arms, holder, lease) if arms else None
        if given is None:
            return None
        self._place = (place[0], given[0] + 1)
        pull, arm = given[1].pull, given[1].arm
        self._held[pull] = holder
        return Pull(pull, arm, self.problem.labels[arm])

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
        return self.tell_many([(pull_id, reward)], worker)[0].or_refuse(reward)

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
        if len(told) == 1 and self.storage.tell_one(self._id, *told[0]):
            self._held.pop(told[0][0], None)
            return [Told(told[0][0], "accepted", told[0][1])]
        holder = told[0][2]
        named = holder is not None and not holder.startswith(ANONYMOUS)
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
        except (SurepickError, ArithmeticError, ValueError) as error:
            _log.warning(
                "study %r: the reward is recorded, but the next batch could not be worked out "
                "(%s); the next ask tries again",
                self.name,
                error,
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

    def checks(self) -> Checks:
        """Whether what the study rests on holds: the model, the noise scale, rewards that stay."""
        return self._findings.checks(self._load()[0].state.noise_factor)

    @property
    def answer(self) -> Answer:
        """The answer, once finished.

        Its guarantee is withdrawn where the measurements contradict what it rests on (see
        :meth:`checks`), and where failures look uneven.
        """
        run, at = self._load()
        if not run.stopped:
            raise RunStateError(
                f"study {self.name!r} is not finished: {len(run.active)} candidates are still in, "
                f"after {at.first + at.told} pulls"
            )
        failed = "; ".join(failure_warnings(self.storage, self._id, run))
        return qualified(without_guarantee(run.answer, failed), self.checks())

    def status(self) -> dict[str, Any]:
        """Where the study stands, as JSON-ready values."""
        run, at = self._load()
        return status_of(self.storage, self._record, run, at, self.checks())

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
