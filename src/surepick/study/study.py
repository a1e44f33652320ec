"""A study: ask, tell, fail, answer; from as many processes as there are workers.

It is one file because it is what everybody who uses a study has in hand.
"""

from __future__ import annotations

import json
import random
import threading
import time
import uuid
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from surepick import conditions
from surepick.algorithms.base import Algorithm
from surepick.algorithms.findings import Guarantee
from surepick.arrays.validate import TEN_YEARS, positive, real, whole
from surepick.conditions import joined, read_stated, stated
from surepick.errors import RunStateError
from surepick.problem import Problem
from surepick.promise import Condition, Reason
from surepick.run import Answer, Run
from surepick.run.codec import encode
from surepick.run.forecast import FORECAST_SECONDS, Ahead
from surepick.run.standing import Standing
from surepick.storage import Storage, Transaction
from surepick.storage.records import Event, Holder, Rewards, StudyProgress, StudyRecord
from surepick.study import chain, export
from surepick.study.acts import aside, options, registry, rewards, write
from surepick.study.acts.base import Act, who_of
from surepick.study.acts.canaries import due, found_in
from surepick.study.again import AGAIN
from surepick.study.canaries import CANARIES, Found
from surepick.study.checks.checks import Checks, qualified, without_guarantee
from surepick.study.checks.findings import Findings
from surepick.study.core import StudyCore
from surepick.study.desk import rebuild
from surepick.study.desk.asking import RENEWED, Wanted
from surepick.study.desk.desk import Desk
from surepick.study.desk.leases import FAILURES, UNMEASURED
from surepick.study.hedge import HEDGED
from surepick.study.judgements import judgements
from surepick.study.pulls import (
    ANONYMOUS,
    Pull,
    Rewarded,
    Told,
    as_failure,
    as_name,
    as_pull,
    without_labels,
)
from surepick.study.segments import PART
from surepick.study.settings import CONDITIONS
from surepick.study.status import (
    failure_warnings,
    promise_of,
    status_of,
    unmeasured_in,
    wins_of,
)
from surepick.study.strata import check_stratum
from surepick.study.traffic.look import Traffic
from surepick.study.traffic.results import Split
from surepick.study.traffic.rules import DEAL, sends_traffic
from surepick.study.workers.measure import Measurement
from surepick.study.workers.run import run_study
from surepick.text import plural


class Study(StudyCore):
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
        self.desk = Desk(storage, record)  #: where its pulls are handed out
        self._record = record
        self._held: dict[int, str] = {}  # pull -> whom this object handed it to
        #: by what is accepted from now on: where the study stood, seconds, and the forecast
        self._forecasts: dict[float | None, tuple[tuple[int, int], float, Ahead]] = {}
        self._forecasting = threading.Lock()
        if owner:  # the storage was opened for this object, so it is closed with it
            weakref.finalize(self, storage.close)

    # -- what it was created with ----------------------------------------------------------
    @property
    def problem(self) -> Problem:
        """The problem, with all options that there are now; do not change it."""
        return self.desk.current()

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm and its settings."""
        return self._algorithm_and_meta[0]

    @property
    def meta(self) -> dict[str, Any]:
        """What ``create_study`` was given to keep, with the cells of options that came since."""
        meta = self._algorithm_and_meta[1]
        if not meta.get("columns"):
            return meta
        made = self.storage.read(lambda tx: options.read(tx, self._record.id))
        return meta | {"columns": options.grown_columns(meta["columns"], made)} if made else meta

    @cached_property
    def _algorithm_and_meta(self) -> tuple[Algorithm, dict[str, Any]]:
        meta = json.loads(self._record.meta)
        for own in (rebuild.ORDER, DEAL):  # the study's own
            meta.pop(own, None)
        return rebuild.algorithm_of(self._record), meta

    def definition(self) -> dict[str, Any]:
        record = self._record
        return {
            "name": record.name,
            "algorithm": record.algorithm,
            "settings": json.loads(record.settings),
            "problem": encode(self.problem.to_dict()),
            "meta": self.meta,
            "seed": record.seed,
            "order_seed": rebuild.order_seed(record),
            "created": record.created,
        }

    @cached_property
    def _findings(self) -> Findings:
        return Findings(self.storage, self._record.id)

    @cached_property
    def _sends_traffic(self) -> bool:
        return sends_traffic(self._record)

    # -- ask -------------------------------------------------------------------------------
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
        """Up to ``n`` pulls to measure, leased for ``lease`` seconds.

        Fewer, or none, come back when the rest of the batch is with other workers, or when
        the study is finished (see :attr:`finished`). Who has a name and would get none begins
        the next batch, where batches overlap. A pull not told in time goes to somebody else.

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
        stratum
            In a study with strata: the plate, operator, … that the pulls are for. It must not be
            chosen by rewards. Days need not be named.
        same
            Pulls of one option only, to be measured together: as many as the open batches have
            of it, so perhaps fewer than ``n``. Others are handed out later.
        """
        belongs = check_stratum(self.desk.strata, stratum)
        n = min(whole(n, "n", least=1), 2**31)  # fewer may be handed out anyway
        lease, wait = positive(lease, "lease", TEN_YEARS), real(wait, "wait")
        named = worker is not None
        desk, request = self.desk, uuid.uuid4().hex
        holder = Holder(as_name(worker, "worker") if named else ANONYMOUS + request)
        unsure = desk.in_line  # an attempt that was cut off may have handed out a pull
        quick = desk.lease_next(holder, lease, request) if n == 1 else None
        if quick is not None:
            self._held[quick.pull] = holder.worker
            return desk.pulls([quick])

        wanted = Wanted(n, holder, lease, stratum=belongs, same=bool(same), request=request)
        end = time.monotonic() + wait
        while True:
            asked = desk.ask({0: wanted}, unsure)[0]
            if asked.leases or asked.finished or time.monotonic() >= end:
                break
            time.sleep(random.uniform(0.5, 1.0) * min(0.1, max(0.0, end - time.monotonic())))
        desk.note_place(asked)
        self._held.update((one.pull, holder.worker) for one in asked.leases)
        return desk.pulls(asked.leases)

    # -- tell ------------------------------------------------------------------------------
    def tell_many(
        self,
        rewards: Rewarded,
        worker: str | None = None,
        *,
        strict: bool = False,
    ) -> list[Told]:
        """Hand in many rewards at once: all are recorded, or (on an error) none.

        They are pairs of a pull and its reward, or have the label of the option that was measured
        as well: all are refused where it is another one than the pull was for. Rewards that
        contradict earlier ones raise nothing here; see :attr:`Told.status`. With ``strict``, those
        that are far from all that was measured before are refused.
        """
        if worker is not None:
            as_name(worker, "worker")
        pairs, said = without_labels(rewards)
        self.desk.refuse_others(said)
        checked = []
        for pair in pairs:
            reward = self.desk.check_reward(pair, worker)
            checked.append(reward._replace(worker=worker or self._held.get(reward.pull)))
        if not checked:
            return []
        if strict:
            self.desk.look.refuse(checked)
        told = self.desk.tell(checked)
        for reward in checked:
            self._held.pop(reward.pull, None)
        return told

    def fail(
        self, pull_id: int, reason: str = "", worker: str | None = None, *, final: bool = False
    ) -> bool:
        """Say that a pull could not be measured: it goes back in line.

        Returns False when it was no longer this worker's to give back (told, or leased to
        someone else since); that is recorded, and changes nothing. Failures that have to do
        with the reward void the guarantee: see :meth:`status`.

        With ``final`` it cannot be measured at all. Where a finite table is filled in
        (``complete``) it then counts as the worst score, and is listed with the answer;
        :meth:`correct` can change that later. Elsewhere it is refused.
        """
        pull, reason = as_pull(pull_id), as_failure(reason)
        if worker is not None:
            as_name(worker, "worker")
        holder = worker or self._held.pop(pull, None)
        return (self.desk.fail_for_good if final else self.desk.fail)(pull, reason, holder)

    def keep(self, held: Mapping[str, Sequence[int]], lease: float = 300.0) -> dict[str, list[int]]:
        return self.desk.keep(held, lease)

    # -- what people do to it --------------------------------------------------------------
    def act(self, kind: str, /, *, reason: str = "", by: str | None = None, **fields: Any) -> Any:
        own = registry.get(kind)
        made = write.perform(self.desk, own, fields, who_of(own, reason, by))
        return own.result(made, fields)

    def acts(self, *kinds: str) -> list[Act]:
        return write.read(self.desk, kinds)

    def _records(self, *kinds: str) -> list[Any]:
        return [one for act in self.acts(*kinds) for one in registry.get(act.kind).records(act)]

    @cached_property
    def traffic(self) -> Traffic:
        """Shares and reports, where the study is one of traffic."""
        return Traffic(self.desk)

    def split(self, visits: int | None = None, period: str | None = None) -> Split:
        return self.traffic.desk.split(visits, period)

    def periods(self) -> list[dict[str, Any]]:
        return self.traffic.desk.listed()

    # -- measuring with a function ---------------------------------------------------------
    run = run_study

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        return self.progress().finished

    def progress(self) -> StudyProgress:
        return self.desk.progress()

    @property
    def current_run(self) -> Run:
        """The run as of the last complete batch, with the present batch open; only to look at."""
        return self.desk.load()[0]

    def checks(self) -> Checks:
        if self._sends_traffic:
            return self.traffic.checks()
        found = None
        while found is None:  # unless other options came between the two
            run, at = self.desk.load()
            found = self._findings.checks(run, at.revision)
        return found.with_canaries(self._asked_again())

    def _asked_again(self) -> Found | None:
        """What cells say that were asked again, where the study does that."""
        if not self.meta.get(CANARIES):
            return None
        return self.storage.read(lambda tx: found_in(tx, self._record))

    def canary(self) -> Measurement | None:
        """See :meth:`surepick.study.core.StudyCore.canary`."""

        def next_one(tx: Transaction) -> tuple[int, int, int] | None:
            pull = due(tx, self._record) if self.meta.get(CANARIES) else None
            if pull is None:
                return None
            told = tx.rewards(self._record.id, pull, pull + 1)
            assert told.strata is not None
            return pull, int(told.arms[0]), int(told.strata[0])

        found = self.storage.read(next_one)
        if found is None:
            return None
        pull, arm, item = found
        label, cells = self.problem.option_labels[arm], self.features_of(arm)
        return Measurement(pull, arm, label, 2, cells, None, item)

    @property
    def answer(self) -> Answer:
        """The answer, once finished.

        Its guarantee is withdrawn where the measurements contradict what it rests on (see
        :meth:`checks`), and where failures look uneven.
        """
        run, at = self.desk.load()
        if not run.stopped:
            raise RunStateError(
                f"study {self.name!r} is not finished: "
                f"{plural(len(run.active), 'candidate is', 'candidates are')} still in after "
                f"{plural(at.measured, 'pull')}"
            )
        return self._concluded(run, self.checks())

    def _concluded(self, run: Run, checks: Checks) -> Answer:
        """The answer of a run that has stopped, as far as the checks leave it standing."""
        failed = "; ".join(failure_warnings(self.storage, self._record.id, run))
        found = run.conclude(self._changes(run), self._conditions())
        lacking = unmeasured_in(self.storage, self._record.id, self.problem)
        found = run.without(found, lacking).leaving_out(self._left_out(run))
        head = chain.head_of(self.storage, self._record)
        found = found.recorded(chain=head, segment=self.meta.get(PART))
        if self._sends_traffic:
            found = found.reported(self.traffic.record_of_shares())
        if run.ended and (failed or checks.broken):
            best = found.guarantee.promise.looks_best()
            found = replace(found, guarantee=Guarantee.of(best))
        if failed or checks.broken:
            found = replace(found, p_value=None)
        return qualified(without_guarantee(found, failed), checks)

    def _changes(self, run: Run) -> list[dict[str, Any]]:
        """What was corrected or withdrawn, as certificates have it."""
        made = self.storage.read(lambda tx: rewards.read(tx, self._record.id))
        changes = [one.certified(run.skipped) for one in made]
        reports = [one for one in self.report_changes() if one.number not in run.skipped]
        return changes + [one.certified(run.skipped) for one in reports]

    def _left_out(self, run: Run) -> list[dict[str, Any]]:
        """What was set aside, as certificates have it."""
        number = self._record.id
        made = self.storage.read(lambda tx: aside.read(tx, number))
        periods = self.storage.read(lambda tx: tx.periods(number)) if made else []
        return [one.certified(periods, run.skipped) for one in made]

    def _conditions(self) -> tuple[Condition, ...]:
        """What the promise rests on that no run can see: said at the start, and what happened."""
        kinds = ((HEDGED,), FAILURES, (RENEWED,), (AGAIN,), (UNMEASURED,))
        twice, lost, renewed, again, lacking = self.storage.read(
            lambda tx: tuple(tx.events(self._record.id, one) for one in kinds)
        )
        pulls = {one.pull for one in lost} - {one.pull for one in lacking}
        second = sum(one.count for one in twice)
        back = len({one.pull for one in renewed})
        counts = {"hedged": second, "lost": len(pulls), "renewed": back, "again": len(again)}
        happened = [stated(name, pulls=count) for name, count in counts.items() if count]
        return joined(read_stated(self.meta.get(CONDITIONS, ())), happened)

    def standing(self) -> Standing:
        return self.desk.load()[0].standing()

    def forecast(self, seconds: float = FORECAST_SECONDS, *, epsilon: float | None = None) -> Ahead:
        from surepick.ahead.copies import ahead

        run, at = self.desk.load()
        if epsilon is not None:
            run = Run.from_json(run.to_json(), run.problem)
            run.accept(epsilon)
        key = (at.batch, at.revision)
        with self._forecasting:  # one that had at least as much time is taken again
            there, most, found = self._forecasts.get(epsilon, (None, 0.0, Ahead(0, 0, 0, 0)))
            if there != key or most < seconds:
                own = self.traffic.periods_ahead if self._sends_traffic else ahead
                found = own(run, seconds=seconds)
                kept = {k: one for k, one in self._forecasts.items() if one[0] == key}
                self._forecasts = kept | {epsilon: (key, seconds, found)}
        return found if run.stopped else found.less(at.told)  # what was told since is taken off

    def status(self) -> dict[str, Any]:
        run, at = self.desk.load()
        checks = self.checks()
        known = None if self._sends_traffic else self._findings.open_totals(at)
        found = status_of(self.storage, self._record, run, at, checks, known)
        failed = failure_warnings(self.storage, self._record.id, run)
        against = " and ".join([*failed, *checks.broken])
        answer = self._concluded(run, checks) if run.stopped else None
        if answer is not None:
            promise = answer.guarantee.promise
        else:
            rests = joined(self._conditions(), conditions.aside(self._left_out(run)))
            promise = run.promised(self._changes(run), rests)
            promise = promise.withdrawn(Reason(against)) if against else promise
        found["promise"], found["wins"] = promise_of(run, promise, answer), wins_of(run, answer)
        ends = promise if at.finished else None
        return found | {"traffic": self.traffic.status(ends) if self._sends_traffic else None}

    def rewards(self) -> Rewards:
        return self.storage.read(lambda tx: tx.rewards(self._record.id, 0, 2**62))

    def events(self, *kinds: str) -> list[Event]:
        return self.storage.read(lambda tx: tx.events(self._record.id, kinds or None))

    def history(self) -> list[dict[str, int]]:
        own = self._record.id
        closed = self.storage.read(lambda tx: tx.closed_batches(own, tx.progress(own).batch))
        return [
            {"batch": one.number, "samples": one.samples, "survivors": one.survivors}
            for one in closed
        ]

    def judgements(self) -> dict[str, Any]:
        states = self.standing()["state"]
        return judgements(self.desk.told(), self.problem, states, self.algorithm.delta)

    def export(self, path: str | Path, form: str | None = None, what: str = "measurements") -> Path:
        path = Path(path)
        parts = export.stream(self, what, form or path.suffix[1:].lower())
        with path.open("wb") as file:
            file.writelines(parts)
        return path

    def rebuild(self) -> Run:
        """The run worked out again from the log alone: a check of everything else stored."""
        return self.storage.read(lambda tx: rebuild.replay(tx, self._record))[0]

    def close(self) -> None:
        self.storage.close()

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.storage.url!r})"
