"""A running identification: ask for pulls, tell rewards, until it stops with an answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls, ToldPulls, set_run_starter
from surepick.arrays.types import FloatArray, IntArray
from surepick.conditions import joined, read_stated, stated, written
from surepick.errors import InvalidInputError, RunStateError
from surepick.problem import Problem
from surepick.promise import Condition, Promise
from surepick.run.answer import Answer, answer_of
from surepick.run.assumed import ASSUMED
from surepick.run.batch import Batch, PendingBatches, check_open
from surepick.run.changes import (
    ACCEPTED,
    Limits,
    Options,
    Remaining,
    addition,
    check_added,
    check_budget,
    retirement,
    said,
    take_effect,
)
from surepick.run.codec import check_columns, contents, dumps, read_saved, refusing_damage
from surepick.run.details import Unmeasured, counted
from surepick.run.doubts import DRIFTED, Doubts, without_guarantee
from surepick.run.guarantee import looked_again, promise_ahead, rests_of
from surepick.run.order import Draws, as_seed, fresh_seed, piece, seed_for
from surepick.run.past import Past, split_past
from surepick.run.rewards import (
    SINGLY,
    Record,
    TextArray,
    check_numbers,
    check_one_of,
    check_rewards,
    check_size,
    check_strata,
    check_sums,
    further_sums,
    logged,
    separated,
    split_strata,
    spread_of,
    standardised,
    sums_of,
)
from surepick.run.standing import Standing, standing_of
from surepick.run.waiting import NOT_AGAIN, Waiting
from surepick.statistics.spending import Spent
from surepick.text import plural


class Run:
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
        self.algorithm, self.problem = algorithm, problem
        self.id = uuid.uuid4().hex  # names this run's batches; no decision depends on it
        algorithm.check_problem(problem)
        check_budget(problem, algorithm.budget)
        #: of the order in which pulls are handed out; None: of visitors, who come in no order
        self.order_seed: int | None = seed_for(algorithm, problem, seed)
        if algorithm.measured_on() is not None:
            seed = self.order_seed
        elif seed is None:  # what an algorithm draws is the same each time, but for items
            seed = 0
        self.state = algorithm.begin(problem, np.random.default_rng(seed))
        self.batches, self.skipped, self.ended = 0, list[int](), False  # ended: by hand
        self.goes_on = False  # in replays: options will come, or go
        self._record = Record(problem.n_arms)
        self._pending = PendingBatches()
        self.waiting: list[dict[str, Any]] = []  #: changes of options, for the end of the block
        #: options that came and went, as certificates list them
        self.option_changes: list[dict[str, Any]] = []
        #: what was accepted as close enough from some moment on, likewise
        self.accepted: list[dict[str, Any]] = []
        #: changes of what may be measured, likewise
        self.limit_changes: list[dict[str, Any]] = []
        self._past: dict[str, Any] | None = None
        self.waits: Waiting | None = None  #: what an answer waits for; only in reports of traffic
        self.conditions: tuple[Condition, ...] = ()  #: of its promise, beside what the record shows
        self.doubts = Doubts()  #: what single rewards say against the kind of noise that was stated

    # -- where it stands -------------------------------------------------------------------
    @property
    def samples(self) -> int:
        """Pulls told so far."""
        return self._record.samples

    @property
    def pulls(self) -> IntArray:
        """Pulls told so far of each arm."""
        return self._record.pulls

    @property
    def sums(self) -> FloatArray:
        """Sum of the rewards told for each arm."""
        return self._record.sums.copy()

    def totals(self) -> tuple[IntArray, FloatArray]:
        """Measurements of each arm that count as evidence (past ones too), and their sums."""
        counts = self._past is not None and self._past["evidence"]
        return self._record.with_past(self._past["batches"] if self._past and counts else [])

    def told(self, first: int = 0) -> list[ToldPulls]:
        """What was told batch by batch, from this number on (where the algorithm keeps batches)."""
        return self._record.told(first)

    @property
    def in_strata(self) -> bool:
        """Whether rewards belong to days, plates, …"""
        return self._record.in_strata

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
        if decided and self.waits is not None:
            decided = self.waits.done(self)
        return decided or self.ended or self._spent_out

    def end(self) -> None:
        """Stop now, because somebody says so; what was not told yet is not counted."""
        self.ended |= not self.stopped

    @property
    def ahead(self) -> int:
        """Batches that were asked for after the open one."""
        return self._pending.ahead

    @property
    def asked(self) -> int:
        """How many batches have been asked for, told ones too."""
        return self.batches + len(self._pending)

    # -- ask and tell ----------------------------------------------------------------------
    def ask(self) -> Batch:
        """The batch to measure now; the same one again until it has been told."""
        if self._pending.open is not None:
            return self._pending.open
        if self.stopped:
            raise RunStateError("the run has stopped; its answer is in run.answer")
        batch = self._pending.open_next(self.batches, self.state)
        if batch is None:
            left, seed = self._left(), self.order_seed
            self.state.funds = left.funds
            self.state.piece = None if seed is None else partial(piece, seed=seed)
            self._let_draw()
            pulls = self.state.propose(self._pulls_in(left))
            batch = self._pending.open = self._batch(pulls, self.state.items_of(pulls))
        return batch

    def _let_draw(self) -> None:
        """Random numbers of the batch that is asked for now, or told."""
        seed = self.order_seed
        self.state.draws = None if seed is None else Draws(seed, self.batches)

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
        now, left = self.ask(), self._left(beside_pending=True)
        self.state.funds = left.funds
        self._let_draw()
        return self._pending.ask_ahead(now, self.state, self._pulls_in(left), told, put)

    def put(self, pulls: Pulls) -> Batch:
        """Put other pulls in the place of those that are open; for replays."""
        now = self._pending.open
        if now is None or not now.pulls.same(pulls):
            self.state.replace(pulls)
        self._let_draw()
        items = self.state.items_of(pulls)
        batch = self._batch(pulls, items, None if now is None else now.after)
        self._pending.open = batch
        return batch

    def skip(self) -> None:
        """Count a batch that says nothing, as its rewards were withdrawn, or it was set aside."""
        self.skipped.append(self.batches)
        self.batches += 1
        self._let_options_change()

    def tell(
        self,
        batch: Batch,
        rewards: Any = None,
        *,
        sums: Any = None,
        strata: Any = None,
        numbers: Any = None,
    ) -> None:
        """Hand in the rewards of the open batch.

        Parameters
        ----------
        batch
            What :meth:`ask` returned.
        rewards
            One reward per pull, in the order of ``batch.arms``, which is the order in which to
            measure them: not sorted. Where a measurement has further numbers, each may be a dict
            of all of them: ``{"reward": 0.9, "latency": 31.0}``.
        sums
            Instead of rewards: their sum for each arm of the problem (0 where not pulled).
        strata
            With rewards: the name of the day, plate, operator, … that each pull belongs to. Levels
            in which these differ then cancel from all comparisons.
        numbers
            With rewards: further numbers by their names, one per pull each.
        """
        check_open(batch, self.id, self.batches, self._pending.open)
        check_one_of(self.problem, rewards, sums, self.state.singly or self.state.demands_spread)
        values = in_time = more = None
        if sums is None:
            rewards, numbers = separated(rewards, numbers)
            in_time = check_rewards(self.problem, batch, batch.arms, rewards)
            values = batch.listed(in_time)
            told = check_numbers(self.problem, self.state, batch.size, batch.arms, numbers)
            more = {name: batch.listed(own) for name, own in told.items()}
        elif self.state.further or numbers is not None:
            raise InvalidInputError(SINGLY)
        names = check_strata(batch, strata, sums is not None, self._record.log)
        self._tell(batch, values, sums, None if names is None else batch.listed(names), more)
        if in_time is not None:
            self.doubts.keep(batch, in_time, names)

    def tell_listed(
        self, batch: Batch, rewards: FloatArray, strata: Any = None, numbers: Any = None
    ) -> None:
        """For studies: one reward per pull, in the order in which ``batch.pulls`` lists them."""
        check_open(batch, self.id, self.batches, self._pending.open)
        arms = np.repeat(batch.pulls.arms, batch.pulls.counts)
        values = check_rewards(self.problem, batch, arms, rewards)
        more = check_numbers(self.problem, self.state, batch.size, arms, numbers)
        names = check_strata(batch, strata, False, self._record.log)
        self._tell(batch, values, None, names, more)

    def _tell(
        self,
        batch: Batch,
        values: FloatArray | None,
        sums: Any,
        strata: TextArray | None,
        numbers: dict[str, FloatArray] | None = None,
    ) -> None:
        with np.errstate(over="ignore"):
            totals = (
                check_sums(self.problem, batch, sums)
                if values is None
                else sums_of(batch.pulls, values)
            )
            check_size(self.problem, batch.pulls.arms, totals, self._record.sums)
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
            further = further_sums(self.state, batch.pulls, numbers)
        self._take(batch, totals, spread, further)

    def tell_totals(
        self,
        batch: Batch,
        sums: FloatArray,
        spreads: FloatArray | None,
        numbers: dict[str, list[Any]] | None = None,
    ) -> None:
        """For simulators: sum and Σ (reward − mean)² for each row of ``batch.pulls``, unchecked."""
        check_open(batch, self.id, self.batches, self._pending.open)
        self._take(batch, sums, spreads if self.state.needs_spread else None, numbers)

    def _take(
        self,
        batch: Batch,
        totals: FloatArray,
        spread: FloatArray | None,
        numbers: dict[str, list[Any]] | None = None,
    ) -> None:
        """Hand the rewards on; whatever refuses them has done so before anything changes."""
        told = ToldPulls(batch.pulls, totals, spread, numbers)
        own = standardised(self.problem, told)
        self._let_draw()
        self._close()
        self._record.add(told)
        if self.state.needs_batches:
            self._record.keep(told, batch.after)
        if own.spreads is not None:
            self.state.observe_spread(batch.pulls, own.spreads)
        if numbers is not None:
            self.state.observe_numbers(batch.pulls, numbers)
        self.state.observe(batch.pulls, own.sums)
        self._let_options_change()

    def take_strata(self, batch: Batch, strata: dict[str, ToldPulls]) -> None:
        """A batch told stratum by stratum; for :meth:`tell` and replays."""
        for name, told in strata.items():
            self._record.add(told)
            self._record.keep(told, batch.after, name)
        self._close()
        own = [standardised(self.problem, told) for told in strata.values()]
        self.state.observe_strata(batch.pulls, own)
        self._let_options_change()

    def _close(self) -> None:
        self._pending.open = None
        self.batches += 1

    def record_pulls(self, pulls: IntArray, sums: FloatArray) -> None:
        """Count pulls that the state has taken in already (simulation's fast loop)."""
        self.batches += self._record.add_totals(pulls, sums)

    # -- measurements made before the run --------------------------------------------------
    @property
    def past(self) -> Past | None:
        """Measurements made before the run, if any were told."""
        return None if self._past is None else Past(**self._past)

    def tell_past(
        self,
        arms: Any,
        rewards: Any,
        *,
        chosen_in_advance: bool,
        numbers: Any = None,
    ) -> None:
        """Hand in measurements that were made before the run; only before the first :meth:`ask`.

        They cost nothing: they are not among ``pulls`` and ``samples``.

        Parameters
        ----------
        arms, rewards
            Arm and reward of each measurement.
        chosen_in_advance
            Whether what was measured, and how often, was decided without looking at rewards. Then
            they count as evidence, and the guarantee rests on this. Otherwise their averages
            are biased: they only guide what is measured first.
        numbers
            Further numbers, by their names, where options have to keep limits on them: a list for
            each, with an entry for every measurement.
        """
        if self._past is not None or self.asked:
            raise RunStateError("past measurements can be told once, before the first ask")
        own = (arms, rewards, chosen_in_advance, numbers)
        split, measurements = split_past(self.problem, self.state, *own)
        self.take_past(split, bool(chosen_in_advance), measurements)

    def take_past(self, split: list[ToldPulls], evidence: bool, measurements: int) -> None:
        """Past measurements as they were dealt into blocks; for :meth:`tell_past` and replays."""
        batches = [logged(*told) for told in split]
        self._past = {"evidence": evidence, "measurements": measurements, "batches": batches}
        self.state.observe_past([standardised(self.problem, told) for told in split], evidence)

    # -- options that come and go ----------------------------------------------------------
    @property
    def retired(self) -> tuple[int, ...]:
        """Options that were retired."""
        gone = self.state.retired
        return () if gone is None else tuple(int(arm) for arm in np.flatnonzero(gone))

    @property
    def problem_ahead(self) -> Problem:
        """The problem as it is once all that waits is in effect."""
        return self._options_ahead().problem

    def _options_ahead(self) -> Options:
        return Options(self.problem, frozenset(self.retired)).after(self.waiting)

    def add(
        self,
        rows: Any,
        labels: Any,
        *,
        noise: Any = None,
        costs: Any = None,
        seed: int | None = None,
        after: int = 0,
        reason: str = "",
        **who: Any,
    ) -> bool:
        """Add options; the answer is then the best of all that were not retired.

        Parameters
        ----------
        rows
            One row of features for each, in the order of the problem's own. Further features
            behind those are new ones, which are 0 for all options so far. None where options are
            compared two at a time.
        labels
            What they are called.
        noise
            Their noise scales, where the problem has one for each option.
        costs
            What a measurement of each costs, where options cost different amounts.
        seed
            Of what is drawn anew when options come (the order of the items left, on a complete
            table); by default it is drawn now.
        after
            Not before so many batches were told: reports are to come of visitors who were sent by
            shares without these options.
        reason
            Why; it is kept, and part of the certificate.

        Returns
        -------
        Whether they are there already: not while a block is under way, which is finished first.

        Examples
        --------
        >>> import surepick as sp
        >>> run = sp.algorithms.PooledPeleg(0.05).start(sp.Problem([[1.0], [2.0]]))
        >>> run.add([[3.0]], ["new"])
        True
        >>> run.problem.labels
        ('0', '1', 'new')
        """
        change = addition(rows, labels, noise, costs, paired=self.problem.pairing is not None)
        if self.algorithm.redraws:
            change["seed"] = fresh_seed() if seed is None else as_seed(seed)
        self.check_changeable()
        before = self._options_ahead()
        grown = before.after([change])
        self.check_changeable(grown.problem)
        check_added(before.problem, grown.problem)
        return self._change_options(change | said(reason, who), after)

    def retire(self, label: str, *, after: int = 0, reason: str = "", **who: Any) -> bool:
        """Retire an option: it is not measured any more, and cannot be the answer.

        Options that had been ruled out may be the best of those that are left, so all of them are
        back in the race, unless the retired one had been ruled out itself.

        Parameters
        ----------
        label
            Which one.
        after
            Not before so many batches were told; see :meth:`add`.
        reason
            Why; it is kept, and part of the certificate.

        Returns
        -------
        Whether it is gone already: not while a block is under way, which is finished first.
        """
        self.check_changeable()
        change = retirement(label, self.problem, self._options_ahead())
        if why := self.algorithm.asked.refuses_retirement(label):
            raise InvalidInputError(f"label: {label!r} cannot be retired: {why}")
        return self._change_options(change | said(reason, who), after)

    @property
    def epsilon_ahead(self) -> float:
        """What is close enough once all that waits is in effect."""
        waiting = [one["epsilon"] for one in self.waiting if one["change"] == ACCEPTED]
        return max([self.algorithm.epsilon, *waiting])

    def accept(self, epsilon: float, *, after: int = 0, reason: str = "", **who: Any) -> bool:
        """Accept from now on what is within epsilon of the best; the guarantee stands.

        What was found so far may be the reason for it: evidence of closeness is what is told after
        it only (:mod:`surepick.proof.accepting` has the proof).

        Parameters
        ----------
        epsilon
            How much worse the answer may be, in the units of rewards.
        after
            Not before so many batches were told; see :meth:`add`.
        reason
            Why; it is kept, and part of the certificate.

        Returns
        -------
        Whether it holds already: not while a block is under way, which is finished first.

        Examples
        --------
        >>> import surepick as sp
        >>> run = sp.algorithms.PooledPeleg(0.05).start(sp.Problem([[1.0], [2.0]]))
        >>> run.accept(0.1)
        True
        >>> run.algorithm.epsilon
        0.1
        """
        why = self.algorithm.refuses_accepting(self.problem)
        if why:
            raise InvalidInputError(f"epsilon: it cannot be named on the way here: {why}")
        now, new = self.epsilon_ahead, self._accepting(epsilon)
        if new.epsilon <= now:
            raise InvalidInputError(
                f"epsilon must be larger than {now:g}, which is accepted already; got {epsilon!r}"
            )
        self._check_going_on()
        if self.state.finished:
            raise RunStateError("it is decided already: nothing is left to be accepted")
        change = {"change": ACCEPTED, "epsilon": new.epsilon}
        return self._change_options(change | said(reason, who), after)

    def _accepting(self, epsilon: float) -> Algorithm:
        found = replace(self.algorithm, epsilon=epsilon)
        found.check_problem(self.problem)
        return found

    def check_changeable(self, problem: Problem | None = None) -> None:
        """Raise where options cannot be added to this problem, or retired."""
        why = self.algorithm.refuses_options(problem or self.problem)
        if why:
            raise InvalidInputError(f"options cannot be added or retired here: {why}")
        self._check_going_on()

    def _check_going_on(self) -> None:
        if self.ended:
            raise RunStateError("it was stopped for good: start a new study")
        if self._spent_out and not self.goes_on:  # in replays: it was done before the last batch
            raise RunStateError("the limit of measurements is reached: allow more first (limit)")

    def _change_options(self, change: dict[str, Any], after: int) -> bool:
        self.waiting.append(change | ({"after": after} if after > self.batches else {}))
        self._let_options_change()
        return not self.waiting

    def all_changed(self) -> Run:
        """A copy in which all changes that wait are in effect; to look at."""
        copy = Run.from_json(self.to_json(), self.problem)
        for change in copy.waiting:
            change.pop("after", None)
        copy._let_options_change()
        return copy

    def _let_options_change(self) -> None:
        """Let changes that wait take effect, if nothing is open."""
        while self.waiting and not self._pending and self.state.at_rest:
            if self.waiting[0].get("after", 0) > self.batches:
                return
            change, told = self.waiting.pop(0), len(self._record.log)
            if change["change"] == ACCEPTED:
                if not self.state.finished:  # else it is decided without that
                    self._accept_now(change, told)
                continue
            self.state.fresh = change.get("seed")
            before = (self.problem, self.state.retired)
            self.problem, gone, listed = take_effect(change, *before, told)
            self.option_changes.append(listed)
            self._record.grow(self.problem.n_arms - len(self.pulls))
            self.state.turn(self.problem, gone)
            if self.waits is not None and not self.state.finished:
                self.waits.reopen()

    def _accept_now(self, change: dict[str, Any], told: int) -> None:
        steps = [self.algorithm.epsilon, change["epsilon"]]
        listed = {name: change[name] for name in ("reason", "by", "at")}
        listed |= {"epsilon": steps, "batch": told, "changes": len(self.option_changes)}
        self.accepted.append(listed)
        self.algorithm = self._accepting(change["epsilon"])
        self.state.accept(self.algorithm)

    # -- how much may be measured ----------------------------------------------------------
    @property
    def limits(self) -> Limits:
        """Those that hold now."""
        for change in reversed(self.limit_changes):
            if change["asked"] <= self.asked:  # in replays all changes are known in advance
                return Limits.of(change)
        return Limits(self.algorithm.max_samples, self.algorithm.budget)

    @property
    def spent(self) -> float:
        """What all pulls cost that were told: their number, where they cost the same."""
        return self.problem.cost_of(self.pulls)

    def _left(self, limits: Limits | None = None, beside_pending: bool = False) -> Remaining:
        """What limits leave, those that hold now or others; beside what is out, or with it."""
        counts, samples = self.pulls, self.samples
        if beside_pending:
            out = self._pending.pulls(self.problem.n_arms)
            counts, samples = counts + out, samples + int(out.sum())
        return Remaining(self.limits if limits is None else limits, self.problem, counts, samples)

    def _pulls_in(self, room: Remaining) -> int:
        return room.pulls(self.algorithm.tied_after(), self.state.minds_costs)

    @property
    def _spent_out(self) -> bool:
        return self._pulls_in(self._left()) == 0

    def limit(
        self,
        *,
        max_samples: int | float | str | None = None,
        budget: float | str | None = None,
        reason: str = "",
        **who: Any,
    ) -> Limits:
        """Change how much may be measured; it holds for all batches asked for from now on.

        A run that has ended because a limit was reached goes on where the new one allows it.

        Parameters
        ----------
        max_samples, budget
            The most that may be measured, and what it may cost, in all. None leaves a limit as it
            is, ``"none"`` (or infinity) takes it away.
        reason
            Why; it is kept, and part of the certificate.

        Returns
        -------
        The limits that hold now.

        Examples
        --------
        >>> import surepick as sp
        >>> algorithm = sp.algorithms.PooledPeleg(0.05, max_samples=100)
        >>> run = algorithm.start(sp.Problem([[1.0], [2.0]]))
        >>> run.limit(budget=250, max_samples="none")
        Limits(max_samples=None, budget=250.0)
        """
        new = self.limits.but(max_samples, budget)
        if self.ended:
            raise RunStateError("it was stopped for good and cannot continue: start a new study")
        if self.state.finished and not self.waiting:  # other options may have it go on
            raise RunStateError("it has its answer and needs no more measurements")
        if new == self.limits:
            raise InvalidInputError("max_samples, budget: the study already has these limits")
        self._left(new, beside_pending=True).check(out=bool(self._pending))
        change = {"asked": self.asked, **new._asdict(), **said(reason, who)}
        self.limit_changes.append(change)
        return new

    # -- what its promise rests on ---------------------------------------------------------
    def rest_on(self, name: str, **fields: Any) -> None:
        """State a condition of the promise that only those know who measure.

        It is kept with the run and in its certificate, and every rendering of the promise says it.

        Parameters
        ----------
        name
            One of :data:`surepick.conditions.CONDITIONS`.
        fields
            What has to be said with it.

        Examples
        --------
        >>> import surepick as sp
        >>> run = sp.algorithms.PooledPeleg(0.05).start(sp.Problem([[1.0], [2.0]]))
        >>> run.rest_on("lost", pulls=3)
        >>> run.conditions[0].plain[:41]
        'if measurements fail, or come too late, f'
        """
        self.conditions = joined(self.conditions, [stated(name, **fields)])

    # -- the answer ------------------------------------------------------------------------
    @property
    def answer(self) -> Answer:
        """The answer, once stopped."""
        return self.conclude()

    def promised(
        self, changes: Sequence[dict[str, Any]] = (), conditions: Iterable[Condition] = ()
    ) -> Promise:
        """What is promised ahead of an answer, as things stand; as for :meth:`conclude`."""
        past = self._past or {"batches": [], "evidence": False}
        rests = rests_of(
            *(self.algorithm, self.problem, past["batches"] + self._record.log),
            *(past["evidence"], looked_again(changes), bool(self.option_changes)),
            joined(self.conditions, conditions),
        )
        return promise_ahead(self.algorithm, self.state, rests, self.problem.noise_kind)

    def risks(self) -> list[Spent]:
        """What is said together at one risk, and the shares of it that its parts have."""
        promise = self.promised()
        answer = Spent(
            "the answer", promise.delta, self.state.spent() or {promise.kind: promise.delta}
        )
        return [answer, *self.state.risks()]

    def conclude(
        self,
        changes: Sequence[dict[str, Any]] = (),
        conditions: Iterable[Condition] = (),
    ) -> Answer:
        """The answer, where these rewards were corrected or withdrawn after they were told.

        Beside what was stated with :meth:`rest_on` it rests on these conditions.
        """
        if not self.stopped:
            left = plural(len(self.active), "candidate is", "candidates are")
            left += f" still in after {plural(self.samples, 'pull')}"
            raise RunStateError(f"the run has not stopped yet: {left}")
        record, skipped = self._record, self.skipped
        answer = answer_of(
            *(self.algorithm, self.problem, self.state, joined(self.conditions, conditions)),
            record={
                "batches": list(record.log) if self.state.needs_batches else record.as_one(),
                "past": self._past,
                "order": self.order_seed,
                "stopped": "by hand" if self.ended else None,
                "corrections": list(changes),
                "options": list(self.option_changes),
                "accepted": list(self.accepted),
                "limits": [  # by batches that say something: the others have no number
                    change | {"asked": change["asked"] - sum(n < change["asked"] for n in skipped)}
                    for change in self.limit_changes
                ],
            },
            pulls=record.pulls,
            batches=self.batches,
            retired=self.retired,
        )
        broken = self.doubts.broken(self.problem, self.told())
        if self.waits is not None and self.state.finished and not self.waits.well(self):
            broken.append(NOT_AGAIN)
        if answer.guarantee and ASSUMED.of(self.problem.noise_kind).steady:
            cancel = self.algorithm.levels_cancel(self.problem)
            broken += [DRIFTED] if self.doubts.drift(self.problem, self.batches, cancel) else []
        broken += self.doubts.not_afresh()
        return without_guarantee(answer, " and ".join(broken))

    def without(self, answer: Answer, cells: Sequence[Unmeasured]) -> Answer:
        """An answer of this run that lists cells which could not be measured."""
        return answer.without(counted(cells, self.problem, self.state, self.told()))

    # -- save and load ---------------------------------------------------------------------
    def to_json(self) -> str:
        """The whole run as JSON text; exact, at any point, also with a batch open.

        A problem with very many arms (or with arms on a GPU) is not part of it: only its digest.
        """
        now = self._pending.open
        return dumps(
            contents(self.algorithm, self.problem)
            | {
                "id": self.id,
                "order": self.order_seed,
                "state": self.state.save(),
                "pulls": self._record.pulls,
                "sums": self._record.sums,
                "batches": self.batches,
                "log": self._record.log,
                "past": self._past,
                "skipped": self.skipped,
                "ended": self.ended,
                "turns": self.option_changes,
                "limits": self.limit_changes,
                "accepted": self.accepted,
                "waiting": self.waiting,
                "open": None if now is None else now.pulls.columns(),
                "waits": None if self.waits is None else self.waits.save(),
                "conditions": written(self.conditions),
            }
            | self.doubts.save()
            | self._pending.save()
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
        run.order_seed = as_seed(saved["order"])
        run.doubts.load(saved)
        run.id, run.batches = str(saved["id"]), int(saved["batches"])
        run.skipped, run.ended = list(saved["skipped"]), bool(saved["ended"])
        run._record.load(saved["pulls"], saved["sums"], saved["log"])
        run._past = saved["past"]
        run.waits = Waiting.of(saved["waits"])
        run.conditions = read_stated(saved["conditions"])
        run.option_changes = list(saved["turns"])
        run.accepted = list(saved["accepted"])
        run.waiting = list(saved["waiting"])
        run.limit_changes = list(saved["limits"])
        run.state.load(saved["state"])
        if saved["open"] is not None or saved["ahead"]:
            own = (problem.n_arms, run.state, run.order_seed)
            run._let_draw()
            run._pending.load(saved, run.id, *own)
        return run

    def _repr_html_(self) -> str:
        from surepick import notebook

        said = notebook.text(self.answer.plain) if self.stopped else ""
        return notebook.panel(repr(self), said, self.standing().table())

    def __repr__(self) -> str:
        at = "stopped" if self.stopped else f"{len(self.active)} candidates left"
        return f"Run({self.algorithm.registered_name()}, {plural(self.samples, 'pull')}, {at})"


set_run_starter(Run)
