"""A running identification: ask for pulls, tell rewards, until it stops with an answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls, Told, set_run_starter
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import RunStateError
from surepick.problem import Problem
from surepick.run.ahead import Ahead
from surepick.run.answer import Answer
from surepick.run.batch import Batch, check_open
from surepick.run.codec import dumps
from surepick.run.concluding import Course, answer_of
from surepick.run.doubts import DRIFTED, Doubts, without_guarantee
from surepick.run.limits import LimitedRun, check_budget
from surepick.run.order import as_seed, piece, seed_of
from surepick.run.rewards import (
    check_one_of,
    check_rewards,
    check_size,
    check_sums,
    in_total,
    logged,
    spread_of,
    standardised,
    sums_of,
    unlogged,
)
from surepick.run.saved import check_columns, contents, read_saved, refusing_damage
from surepick.run.standing import Standing, standing_of
from surepick.run.strata import TextArray, check_strata, split_strata
from surepick.run.told_past import PastRun
from surepick.run.turning import TurningRun
from surepick.text import plural


class Run(TurningRun, PastRun, LimitedRun):
    """One identification in progress; made by ``algorithm.start(problem)``.

    Examples
    --------
    >>> import surepick as sp
    >>> run = sp.algorithms.Peleg(delta=0.1).start(sp.Problem([[1.0], [2.0]], noise=1.0))
    >>> while not run.stopped:
    ...     batch = run.ask()
    ...     run.tell(batch, [float(arm) for arm in batch.arms])
    >>> run.answer.arm
    1
    """

    def __init__(self, algorithm: Algorithm, problem: Problem, seed: Any = None) -> None:
        TurningRun.__init__(self)
        LimitedRun.__init__(self)
        self.algorithm, self.problem = algorithm, problem
        self.id = uuid.uuid4().hex  # names this run's batches; no decision depends on it
        algorithm.check_problem(problem)
        check_budget(problem, algorithm.budget)
        #: of the order in which pulls are handed out; None: arm by arm, as versions up to 0.2 did
        self.order_seed: int | None = seed_of(seed)
        # What an algorithm draws is the same each time, unless it is seeded.
        self.state = algorithm.begin(problem, np.random.default_rng(0 if seed is None else seed))
        self.pulls: IntArray = np.zeros(problem.n_arms, dtype=np.int64)
        self._made = 0  # all of them: adding up ten million takes time
        self.batches, self.skipped, self.ended = 0, list[int](), False  # ended: by hand
        self._sums: FloatArray = np.zeros(problem.n_arms)
        self._log: list[dict[str, Any]] = []
        self._past: dict[str, Any] | None = None
        self._open: Batch | None = None
        self._ahead = Ahead()
        self.doubts = Doubts()  #: what single rewards say against the kind of noise that was stated

    # -- where it stands -------------------------------------------------------------------
    @property
    def samples(self) -> int:
        """Pulls told so far."""
        return self._made

    @property
    def sums(self) -> FloatArray:
        """Sum of the rewards told for each arm."""
        return self._sums.copy()

    def totals(self) -> tuple[IntArray, FloatArray]:
        """Measurements of each arm that count as evidence (past ones too), and their sums."""
        counts, sums = self.pulls.copy(), self.sums
        for batch in self._past["batches"] if self._past and self._past["evidence"] else ():
            np.add.at(counts, batch["arms"], batch["counts"])
            np.add.at(sums, batch["arms"], batch["sums"])
        return counts, sums

    def told(self, first: int = 0) -> list[Told]:
        """What was told batch by batch, from this number on (where the algorithm keeps batches)."""
        return [unlogged(batch) for batch in self._log[first:]]

    @property
    def in_strata(self) -> bool:
        """Whether rewards belong to days, plates, …"""
        return bool(self._log) and "stratum" in self._log[-1]

    @property
    def active(self) -> tuple[int, ...]:
        """Candidates not ruled out (of equal candidates, the first stands for all)."""
        return tuple(int(i) for i in self.state.active)

    def standing(self) -> Standing:
        """What is known now about every option; it ends nothing."""
        return standing_of(self.algorithm, self.problem, self.state, self.totals(), self.pulls)

    @property
    def stopped(self) -> bool:
        """Whether there is an answer."""
        decided = self.state.finished and not self.waiting and not self.goes_on
        return decided or self.ended or self._spent_out

    def end(self) -> None:
        """Stop now, because somebody says so; what was not told yet is not counted."""
        self.ended |= not self.stopped

    @property
    def ahead(self) -> int:
        """Batches that were asked for after the open one."""
        return len(self._ahead)

    @property
    def _spent_out(self) -> bool:
        return self._pulls_left(self.limits) == 0

    # -- ask and tell ----------------------------------------------------------------------
    def ask(self) -> Batch:
        """The batch to measure now; the same one again until it has been told."""
        if self._open is None:
            if self.stopped:
                raise RunStateError("the run has stopped; its answer is in run.answer")
            self._open = self._ahead.next(self.batches, self.state)
            if self._open is None:
                limits = self.limits
                self.state.funds = self._funds(limits)
                seed = self.order_seed
                self.state.piece = None if seed is None else partial(piece, seed=seed)
                pulls = self.state.propose(self._pulls_left(limits))
                items = self.state.items_of(pulls)
                self._open = self._batch(pulls, items)
        return self._open

    def _batch(self, pulls: Pulls, items: IntArray | None, after: int | None = None) -> Batch:
        whose = (self.id, self.batches, pulls, self.problem.n_arms)
        return Batch(*whose, items, after, self.order_seed)

    def ask_ahead(self, put: Callable[[Pulls | None], Pulls | None] | None = None) -> Batch | None:
        """One batch more, to be measured while the open one is; None: it would be too early.

        Batches are told in the order in which they were asked for; :meth:`ask` gives the first. In
        replays ``put`` may put other pulls in the place of those that would be asked for.
        """
        if self.waiting:  # what is open is finished before options come and go
            return None
        told = self.batches - len(self.skipped)
        now, limits, out = self.ask(), self.limits, self._out()
        self.state.funds = self._funds(limits, out)
        return self._ahead.ask(now, self.state, self._pulls_left(limits, out), told, put)

    def put(self, pulls: Pulls) -> Batch:
        """Put other pulls in the place of those that are open; for replays."""
        after = None if self._open is None else self._open.after
        if self._open is None or not self._open.pulls.same(pulls):
            self.state.replace(pulls)
        self._open = self._batch(pulls, None, after)
        return self._open

    def skip(self) -> None:
        """Count a batch that says nothing any more, as its rewards were withdrawn."""
        self.skipped.append(self.batches)
        self.batches += 1

    def tell(
        self, batch: Batch, rewards: Any = None, *, sums: Any = None, strata: Any = None
    ) -> None:
        """Hand in the rewards of the open batch.

        Parameters
        ----------
        batch
            What :meth:`ask` returned.
        rewards
            One reward per pull, in the order of ``batch.arms``, which is the order in which to
            measure them: not sorted.
        sums
            Instead of rewards: their sum for each arm of the problem (0 where not pulled).
        strata
            With rewards: the name of the day, plate, operator, … that each pull belongs to. Levels
            in which these differ then cancel from all comparisons.
        """
        check_open(batch, self.id, self.batches, self._open)
        check_one_of(self.problem, rewards, sums, self.state.demands_spread)
        values = in_time = None
        if sums is None:
            in_time = check_rewards(self.problem, batch, batch.arms, rewards)
            values = batch.listed(in_time)
        names = check_strata(batch, strata, sums is not None, self._log)
        self._tell(batch, values, sums, None if names is None else batch.listed(names))
        if in_time is not None:
            self.doubts.keep(batch, in_time, names)

    def tell_listed(self, batch: Batch, rewards: FloatArray, strata: Any = None) -> None:
        """For studies: one reward per pull, in the order in which ``batch.pulls`` lists them."""
        check_open(batch, self.id, self.batches, self._open)
        arms = np.repeat(batch.pulls.arms, batch.pulls.counts)
        values = check_rewards(self.problem, batch, arms, rewards)
        self._tell(batch, values, None, check_strata(batch, strata, False, self._log))

    def _tell(
        self, batch: Batch, values: FloatArray | None, sums: Any, strata: TextArray | None
    ) -> None:
        with np.errstate(over="ignore"):
            totals = (
                check_sums(self.problem, batch, sums)
                if values is None
                else sums_of(batch.pulls, values)
            )
            check_size(self.problem, batch.pulls.arms, totals, self._sums)
            if strata is not None:
                assert values is not None
                split = split_strata(self.state, batch, values, strata)
                self.doubts.look(self.problem, batch, values, strata)
                self.take_strata(batch, split)
                return
            spread = None
            if self.state.needs_spread and values is not None:
                spread = spread_of(batch.pulls, values)
            if values is not None:
                self.doubts.look(self.problem, batch, values, None)
        self._take(batch, totals, spread)

    def tell_totals(self, batch: Batch, sums: FloatArray, spreads: FloatArray | None) -> None:
        """For simulators: sum and Σ (reward − mean)² for each row of ``batch.pulls``, unchecked."""
        check_open(batch, self.id, self.batches, self._open)
        self._take(batch, sums, spreads if self.state.needs_spread else None)

    def _take(self, batch: Batch, totals: FloatArray, spread: FloatArray | None) -> None:
        """Hand the rewards on; whatever refuses them has done so before anything changes."""
        pulls = batch.pulls
        own = standardised(self.problem, Told(pulls, totals, spread))
        self._open = None
        self.batches += 1
        self._add(pulls, totals)
        if self.state.needs_batches:
            self._log.append(logged(pulls, totals, spread, batch.after))
        if own.spreads is not None:
            self.state.observe_spread(pulls, own.spreads)
        self.state.observe(pulls, own.sums)
        self._turn()

    def take_strata(self, batch: Batch, strata: dict[str, Told]) -> None:
        """A batch told stratum by stratum; for :meth:`tell` and replays."""
        for name, told in strata.items():
            self._add(told.pulls, told.sums)
            self._log.append(logged(*told, batch.after) | {"stratum": name})
        self._open = None
        self.batches += 1
        own = [standardised(self.problem, told) for told in strata.values()]
        self.state.observe_strata(batch.pulls, own)
        self._turn()

    def _add(self, pulls: Pulls, totals: FloatArray) -> None:
        self._made += pulls.total
        np.add.at(self.pulls, pulls.arms, pulls.counts)
        np.add.at(self._sums, pulls.arms, totals)

    def record_pulls(self, pulls: IntArray, sums: FloatArray) -> None:
        """Count pulls that the state has taken in already (simulation's fast loop)."""
        made = int(pulls.sum())
        self.pulls += pulls
        self._sums += sums
        self._made += made
        self.batches += made

    # -- the answer ------------------------------------------------------------------------
    @property
    def answer(self) -> Answer:
        """The answer, once stopped."""
        return self.conclude()

    def conclude(
        self,
        changes: Sequence[dict[str, Any]] = (),
        hedged: int = 0,
        lost: int = 0,
        again: int = 0,
    ) -> Answer:
        """The answer, where these rewards were corrected or withdrawn after they were told.

        So many pulls were handed out twice, and so many were lost (they failed or came too late)
        and made again. So many readings were far from all before, and were made again by the rule
        of a study.
        """
        if not self.stopped:
            left = plural(len(self.active), "candidate is", "candidates are")
            left += f" still in after {plural(self.samples, 'pull')}"
            raise RunStateError(f"the run has not stopped yet: {left}")
        whole = [] if self.state.needs_batches else in_total(self.pulls, self._sums)
        answer = answer_of(
            *(self.algorithm, self.problem, self.state),
            Course(
                *(self.pulls, self.batches, self._log, whole, self._past, changes, self.ended),
                *(self.turns, self.retired, self.limits_certified(), hedged, lost),
                order=self.order_seed,
                again=again,
            ),
        )
        broken = self.doubts.broken(self.problem, self.told())
        if answer.guarantee:
            cancel = self.algorithm.levels_cancel(self.problem)
            broken += [DRIFTED] if self.doubts.drift(self.problem, self.batches, cancel) else []
        return without_guarantee(answer, " and ".join(broken))

    # -- save and load ---------------------------------------------------------------------
    def to_json(self) -> str:
        """The whole run as JSON text; exact, at any point, also with a batch open.

        A problem with very many arms (or with arms on a GPU) is not part of it: only its digest.
        """
        return dumps(
            contents(self.algorithm, self.problem)
            | {
                "id": self.id,
                "order": self.order_seed,
                "state": self.state.save(),
                "pulls": self.pulls,
                "sums": self._sums,
                "batches": self.batches,
                "log": self._log,
                "past": self._past,
                "skipped": self.skipped,
                "ended": self.ended,
                "turns": self.turns,
                "limits": self.limit_changes,
                "waiting": self.waiting,
                "open": None if self._open is None else self._open.pulls.columns(),
            }
            | self.doubts.save()
            | self._ahead.save(self._open)
        )

    @classmethod
    def from_json(cls, text: str | bytes, problem: Problem | None = None) -> Run:
        """The run that :meth:`to_json` saved, ready to go on.

        Parameters
        ----------
        text
            What was saved.
        problem
            The problem of the run. Needed where the text only refers to it: very many arms, or
            arms on a GPU. They may be on another backend than they were.
        """
        saved, problem = read_saved(text, problem)
        with refusing_damage():
            check_columns(saved, problem.n_arms)
            return cls._restore(saved, problem)

    @classmethod
    def _restore(cls, saved: dict[str, Any], problem: Problem) -> Run:
        run = cls(registry.get(saved["algorithm"], **saved["settings"]), problem)
        run.order_seed = as_seed(saved.get("order"))
        run.doubts.load(saved)
        run.id, run.batches, run._log = str(saved["id"]), int(saved["batches"]), saved["log"]
        run.skipped, run.ended = list(saved.get("skipped", ())), bool(saved.get("ended"))
        run.pulls, run._sums, run._past = saved["pulls"], saved["sums"], saved.get("past")
        run._made = int(run.pulls.sum())
        run.turns, run.waiting = list(saved.get("turns", ())), list(saved.get("waiting", ()))
        run.limit_changes = list(saved.get("limits", ()))
        run.state.load(saved["state"])
        if saved["open"] is not None or "ahead" in saved:
            own = (problem.n_arms, run.state, run.order_seed)
            run._open = run._ahead.load(saved, run.id, *own)
        return run

    def _repr_html_(self) -> str:
        from surepick import notebook

        said = notebook.text(self.answer.plain) if self.stopped else ""
        return notebook.panel(repr(self), said, self.standing().table())

    def __repr__(self) -> str:
        at = "stopped" if self.stopped else f"{len(self.active)} candidates left"
        return f"Run({self.algorithm.registered_name()}, {plural(self.samples, 'pull')}, {at})"


set_run_starter(Run)
