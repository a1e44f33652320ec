"""PooledPeleg: every measurement counts, at the price of a one-dimensional test. Our own.

Guarantee: delta-PAC for every rule that chooses pulls, rivals and stakes from the past, whatever
the number of blocks and the stopping time (``docs/pooled-peleg.md`` has the proof, in short:)

- Pulls come in blocks that are fixed before their rewards are seen. Least squares on block l
  alone estimates any difference y = x' − x with a sub-Gaussian error of known variance s_l²(y).
- Against each candidate x some capital, 1 at first, is bet on "a rival beats x". The rival
  and the stakes of block l depend on earlier blocks only. While x is the best, yᵀθ* <= 0 and no
  bet has a positive expectation: the capital is a nonnegative supermartingale.
- x is dropped when the capital against it reaches 1/delta. The answer is wrong only if the best
  candidate was dropped, which by Ville's inequality has probability at most delta. There is no
  union bound over candidates, rivals, dimensions or time.

Known in advance: the noise scale only.

Where it comes from: phased elimination (PELEG) forgets what earlier phases measured, because a
design that depends on data voids fixed-design widths for pooled least squares. Bets on one
difference at a time pool the evidence of all blocks without that. Rivals are the candidates that
lead or nearly lead after the earlier blocks; stakes are their estimated leads (pooled least squares
on all data: fine for a stake, since any stake will do) under two prior precisions; the pulls of a
block are a min-max design for the leads that still lack evidence. The number of pulls is measured,
not bounded by a theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms import combinations
from surepick.algorithms.base import Algorithm, State
from surepick.algorithms.complete.scores import Scale
from surepick.algorithms.complete.state import (
    NO_WITHDRAWAL,
    QUESTIONS,
    CompleteState,
)
from surepick.algorithms.items import SEEDS, UNKNOWN_ORDER
from surepick.algorithms.limits.question import Keeping, KeepingAgainst, KeepingCheapest, KeepingTop
from surepick.algorithms.limits.state import KeepingState
from surepick.algorithms.pooled.evidence import ways_of
from surepick.algorithms.pooled.kinds import READINGS
from surepick.algorithms.pooled.state import PooledState
from surepick.algorithms.pooled.strata import levels_cancel
from surepick.algorithms.questions import (
    Against,
    Asked,
    Best,
    Cheapest,
    Top,
    asked_by,
    candidate_of,
)
from surepick.arrays.validate import positive, whole
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.promise import Condition

_MOST_CELLS = 20_000_000  # of a table that can be filled in
_ON_A_TABLE = (
    "items in random order, each cell measured once; the capital bet against the best option is a "
    "supermartingale; Ville's inequality"
)

_WITH_LIMITS = (
    "the capital bet against the best option that keeps the limits is a supermartingale; Ville's "
    "inequality"
)


def on_these(items: int, compares: bool) -> Condition:
    """What being the best means on a complete table, or better than a baseline."""
    same = f"if a score is the same whenever it is measured, and {UNKNOWN_ORDER}"
    better = "better" if compares else "best"
    where = f"on these {items} items" if items > 1 else "on this item"
    means = f"“{better.capitalize()}” means {better} {where}."
    return Condition(f"{better} {where}, {same}", same, meaning=means)


@dataclass(frozen=True)
class PooledPeleg(Algorithm):
    """Elimination by bets that pool the evidence of all blocks.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    batch_growth
        Largest block of pulls decided at once, as a fraction of the pulls so far. Small
        values adapt more often and compute more.
    min_batch
        Pulls in a batch at least.
    max_batch
        Pulls in a batch at most, such as the places on a plate. Blocks that are larger are asked
        for in pieces, and filled up to whole pieces.
    baseline
        Instead of the best: which candidates are better, and which are worse, than this one (its
        label, or its number)?
    threshold
        The same with a number in place of a candidate.
    claims
        How sure claims against the baseline are: ``"all"`` of them are right with probability at
        least 1 - delta; or ``"fdr"``: of those made, a share of at most delta is wrong on average.
    top
        Instead of the best: so many of the best, in any order.
    question
        Instead of the best: another question, such as one of another package; the value, or its
        name with its fields, as ``"top:m=3"``.
    quantile
        Instead of the best mean, or of who usually wins: the option with the best quantile of its
        measurements, such as 0.5 (the median) or 0.95 (the 95th percentile). For numbers of any
        kind.
    guess
        Make the best of a budget: all that ``max_samples`` or ``budget`` allows is measured, shared
        out for the best guess at the end, unless that is proven before. The bets are the same, so
        is the guarantee where it is earned; ``answer.p_value`` says how close it came.
    items
        Measure options on items, such as test questions, of which there are so many: every block
        draws some, with replacement, and ``batch.items`` says which pull is for which. The best is
        then the one with the largest mean over all items; how hard an item is cancels. That is
        about questions like these.
    complete
        The same for a finite set of so many items, of which no option meets one twice: items come
        in one random order, and the best is the one with the largest total over **these** items.
        It never takes more than the whole table, and ends where options tie: ``answer.labels`` then
        has all of them. Scores are yes or no, or lie between bounds, and a cell must have the same
        score whenever it is measured. ``batch_growth`` has no part in it.
    cheapest, within
        Instead of the best: the cheapest option, by the costs of the problem, of those that are
        at most ``within`` below the best (with numbers of any kind: that no other one beats in more
        than ½ + ``within`` of direct comparisons). ``epsilon`` is the tolerance of that.
    keep
        Limits that the answer has to keep, on further numbers of the problem: the best of those is
        looked for that keep all of them, such as ``["latency <= 50", "errors <= control + 1%"]``.
        A tolerance stands behind a limit: ``"latency <= 50 ± 2"``. With ``baseline`` or
        ``threshold``: all options are looked for that are better than that and keep them; with
        ``top``: so many of the best that keep them, or all, where fewer do. With ``cheapest``: the
        cheapest of those that keep them, and that is within ``within`` of the best of these.

    Examples
    --------
    >>> PooledPeleg(delta=0.05).batch_growth
    0.4
    """

    batch_growth: float = field(default=0.4, kw_only=True)
    min_batch: int = field(default=1, kw_only=True)
    max_batch: int | None = field(default=None, kw_only=True)
    baseline: str | int | None = field(default=None, kw_only=True)
    threshold: float | None = field(default=None, kw_only=True)
    claims: str = field(default="all", kw_only=True)
    top: int = field(default=1, kw_only=True)
    quantile: float | None = field(default=None, kw_only=True)
    question: Any = field(default=None, kw_only=True)
    guess: bool = field(default=False, kw_only=True)
    items: int | None = field(default=None, kw_only=True)
    complete: int | None = field(default=None, kw_only=True)
    keep: Any = field(default=None, kw_only=True)
    cheapest: bool = field(default=False, kw_only=True)
    within: float | None = field(default=None, kw_only=True)

    name: ClassVar[str] = "pooled-peleg"
    any_backend: ClassVar[bool] = True
    follows: ClassVar[str] = "pulls"
    needs_scale: ClassVar[bool] = False
    trusts_features: ClassVar[bool] = False
    reads_reports: ClassVar[bool] = True
    questions: ClassVar[tuple[str, ...]] = (
        "best",
        "baseline",
        "top",
        "quantile",
        "guess",
        "cheapest",
    )
    theorem: ClassVar[str] = (
        "the capital bet against the best candidate is a supermartingale; Ville's inequality"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.batch_growth, "batch_growth")
        whole(self.min_batch, "min_batch", least=1)
        if self.items is not None:
            whole(self.items, "items", least=1)
        if self.max_batch is not None:
            whole(self.max_batch, "max_batch", least=1)
            if self.max_batch < self.min_batch:
                raise InvalidInputError(
                    f"max_batch must be at least min_batch = {self.min_batch}; got {self.max_batch}"
                )
        if self.complete is not None:
            whole(self.complete, "complete", least=1)
            if self.items is not None:
                raise InvalidInputError(
                    "complete: items are either drawn (items=…, about questions like these) or "
                    "gone through (complete=…, about these questions); leave one of them out"
                )
        given = (self.question, self.baseline, self.threshold, self.claims, self.top)
        given += (self.quantile, self.cheapest, self.within)
        object.__setattr__(self, "asked", self._asked(given))
        for name, value in ({"question": None} | self.asked.settings()).items():
            object.__setattr__(self, name, value)
        self._check_guess()
        # Other pulls than it asked for are taken in, but not where blocks come in pieces; any
        # batches, where it is plain what makes up a block, or an item. Blocks may overlap, as all
        # that a bet rests on is fixed by the blocks before its own; but a share of wrong claims is
        # limited only for whoever stops without having seen later rewards.
        whole_blocks = self.max_batch is None
        object.__setattr__(self, "any_pulls", whole_blocks)
        object.__setattr__(self, "any_history", whole_blocks and self.items is None)
        object.__setattr__(self, "overlaps", whole_blocks and self.asked.overlaps)
        if self.complete is not None:
            for name in ("redraws", "ends", "each_once"):
                object.__setattr__(self, name, True)
            object.__setattr__(self, "any_pulls", False)
            object.__setattr__(self, "theorem", _ON_A_TABLE)
        if self.keep is not None:
            object.__setattr__(self, "any_pulls", True)
            object.__setattr__(self, "any_history", True)
            object.__setattr__(self, "theorem", _WITH_LIMITS)

    def _asked(self, given: tuple[Any, ...]) -> Asked:
        asked = asked_by(*given)
        if self.keep is None:
            return asked
        for name, shape in (("items", "items"), ("complete", "table")):
            if getattr(self, name) is not None:
                combinations.check("keep", shape)
        if self.guess:
            raise InvalidInputError("guess: limits are shown to be kept; leave guess or keep out")
        if asked == Best():
            return Keeping(self.keep)
        if isinstance(asked, Top):
            found = KeepingTop(asked.m, self.keep)
        elif isinstance(asked, Cheapest):
            found = KeepingCheapest(asked.enough, self.keep)
        elif isinstance(asked, Against):
            found = KeepingAgainst(asked.baseline, asked.threshold, asked.claims, self.keep)
        else:
            raise InvalidInputError(
                "keep: the best options that keep limits are looked for, or all that are better "
                f"than a baseline, not {asked.words or asked.name}; leave one of them out"
            )
        found.check_epsilon(self.epsilon)
        return found

    def _check_cheapest(self, problem: Problem) -> None:
        """What else ``cheapest`` cannot be asked with."""
        if self.guess:
            raise InvalidInputError("guess: it is a guess of the best option; leave cheapest out")
        most = self.asked.within + self.epsilon if self.asked.within else 0.0
        if problem.noise_kind.wins and most >= 0.5:
            raise InvalidInputError(
                "epsilon: with numbers of any kind, within and epsilon are shares of direct "
                f"comparisons and must be below 0.5 together; got {most:g}"
            )

    def _check_guess(self) -> None:
        if not isinstance(self.guess, bool):
            raise InvalidInputError(f"guess must be True or False; got {self.guess!r:.80}")
        if not self.guess:
            return
        if self.asked.compares:
            raise InvalidInputError("guess: it is a guess of the best option; leave baseline out")
        if self.max_samples is None and self.budget is None:
            raise InvalidInputError(
                "guess: say how much you can spend, with max_samples=… or budget=…"
            )

    def measured_on(self) -> int | None:
        return self.items if self.complete is None else self.complete

    def refuses_withdrawal(self) -> str:
        return "" if self.complete is None else NO_WITHDRAWAL

    def worst_score(self, problem: Problem) -> float | None:
        return None if self.complete is None else problem.sign * Scale.of(problem).low

    def about_items(self) -> Condition:
        if self.complete is None:
            return super().about_items()
        return on_these(self.complete, self.asked.compares)

    def baseline_in(self, problem: Problem) -> int | None:
        return None if self.baseline is None else candidate_of(problem, self.baseline)

    def levels_cancel(self, problem: Problem) -> bool:
        """Blocks are compared within themselves; without an intercept features see a level.

        With ``max_batch`` a block may come in several batches, each with a level of its own; and a
        number that options are compared with does not move with them.
        """
        if self.measured_on() is not None:
            return True
        if self.max_batch is not None or not self.asked.levels_cancel:
            return False
        return levels_cancel(problem, ways_of(problem))

    def takes_strata(self, problem: Problem) -> bool:
        """A stratum is a block of its own, also where batches are small."""
        alone, moves = self.measured_on() is None, self.asked.levels_cancel  # a number does not
        alone &= self.keep is None
        return alone and moves and levels_cancel(problem, ways_of(problem))

    def refuses_accepting(self, problem: Problem) -> str:
        """Only where the best is asked for, or the m best."""
        if self.keep is not None:
            return (
                "options are to keep limits, and what is close enough is then shown of each limit, "
                "too; set it when the study is made"
            )
        if ("table" if self.complete else "pulls") in self.asked.accepts_later:
            return ""
        return (
            f"the question is {self.asked.words}, whose levels are shared out at the start; set it "
            "when the study is made"
        )

    def refuses_options(self, problem: Problem) -> str:
        """Only where the best is asked for, among options that are measured themselves."""
        if self.asked.refuses_options:
            return self.asked.refuses_options
        if self.keep is not None and self.epsilon > 0:
            return "options are to keep limits and may be close to the best; leave epsilon out"
        if self.items is not None:
            return "all options are measured on the same items; leave items out"
        if problem.transductive:
            return "the candidates differ from the arms; leave candidates out"
        if problem.large or problem.by_reference:
            return f"{problem.n_arms:,} options are too many for that; start with fewer"
        return ""

    def check_problem(self, problem: Problem) -> None:
        """Options on items are compared one by one, by what they show on the same ones."""
        super().check_problem(problem)
        if problem.noise_kind.reports_only:
            self._check_segments(problem)
        if self.complete is not None:
            self._check_table(problem)
            return
        self.asked.check_problem(problem, self.items is not None)
        if self.asked.quantile is not None:
            self._check_quantile(problem)
        if self.asked.within is not None:
            self._check_cheapest(problem)
        if not READINGS.of(problem.noise_kind).about_means:
            self._check_wins(problem)
        if self.items is None:
            return
        if problem.transductive or not problem.backend.plain:
            raise InvalidInputError(
                "items: options can be compared on items only without separate candidates and "
                "without a backend; leave both out"
            )
        if READINGS.of(problem.noise_kind).on_items is None:
            raise InvalidInputError(
                "items: rewards differ from item to item, which is not noise of one scale; leave "
                "noise out, or give noise='yes-no' or bounds"
            )

    def _check_segments(self, problem: Problem) -> None:
        """Visitors who are counted by segment compare options, each by its own visitors."""
        for name, given in (("items", self.items), ("complete", self.complete)):
            if given is not None:
                raise InvalidInputError(
                    f"{name}: not possible where visitors are weighed by segment; leave {name} or "
                    "segments out"
                )
        if ways_of(problem) != ("direct",):
            raise InvalidInputError(
                "segments: options are compared by their own visitors, whatever their features "
                "say; do not trust the features (misfit=math.inf)"
            )

    def _check_quantile(self, problem: Problem) -> None:
        """Quantiles are seen from every single reward of an option."""
        if not READINGS.of(problem.noise_kind).singly:
            raise InvalidInputError(
                "quantile: quantiles are those of numbers of any kind, and this problem says "
                f"more about its rewards ({problem.noise_kind}); give noise='any', or leave out "
                "quantile"
            )
        if self.epsilon > 0:
            raise InvalidInputError(
                "epsilon: options whose quantiles are close cannot be accepted for now; leave out "
                "epsilon or quantile"
            )

    def _check_table(self, problem: Problem) -> None:
        """A table has a row for each option, and scores between bounds."""
        combinations.check("guess" if self.guess else self.asked.name, "table")
        scale = Scale.of(problem)
        if self.asked.name not in QUESTIONS:
            raise InvalidInputError(
                f"complete: a complete table does not say {self.asked.words or self.asked.name}; "
                "leave that out, or complete"
            )
        self.asked.check_problem(problem, items=False)
        if self.asked.within is not None and self.epsilon > 0:
            raise InvalidInputError(
                "epsilon: on a complete table the cheapest that is good enough is found exactly, "
                "for now; leave epsilon out"
            )
        number = self.asked.number
        if number is not None and not 0.0 <= scale.share(problem.sign * number) <= 1.0:
            low, high = problem.noise_kind.bounds or (0.0, 1.0)
            raise InvalidInputError(
                f"threshold: scores lie between {low:g} and {high:g}, so that all are on one side "
                f"of {number:g}; give a number between these"
            )
        if problem.transductive or not problem.backend.plain:
            raise InvalidInputError(
                "complete: options have rows of a table only without separate candidates and "
                "without a backend; leave both out"
            )
        if len(problem.distinct) < problem.n_arms:
            raise InvalidInputError(
                "complete: some options have the same features, and features are trusted; leave "
                "features out, or do not trust them (misfit=math.inf)"
            )
        cells = problem.n_arms * (self.complete or 0)
        if cells > _MOST_CELLS:
            raise InvalidInputError(
                f"complete: a table of {problem.n_arms:,} options on {self.complete:,} items has "
                f"{cells:,} cells, and at most {_MOST_CELLS:,} can be kept; draw items instead "
                "(items=…), or leave options out"
            )

    def _check_wins(self, problem: Problem) -> None:
        """Who usually wins is seen from options' own rewards, two at a time."""
        instead = (
            "say what a measurement is: yes or no, a number between bounds, or a reading as likely "
            "too high as too low (noise='yes-no', (0, 10) or 'symmetric'; --rewards yes-no, 0..10 "
            "or symmetric)"
        )
        if ways_of(problem, self.items) not in (("direct",), ("paired",)):
            raise InvalidInputError(
                "noise: with numbers of any kind options are compared one by one, so features "
                "cannot be trusted; leave them out, let them guide only (misfit=math.inf), or "
                f"{instead}"
            )
        if self.epsilon >= 0.5:
            raise InvalidInputError(
                "epsilon: with numbers of any kind it is a share of direct comparisons, below 0.5 "
                "(with 0.05, an option is accepted that the best beats in at most 55 % of them); "
                f"got {self.epsilon:g}. For a difference of means, {instead}"
            )
        if self.asked.number is not None:
            raise InvalidInputError(
                "threshold: with numbers of any kind options are compared with each other, not "
                f"with a number; {instead}, or compare with an option (baseline)"
            )

    def begin(self, problem: Problem, rng: np.random.Generator) -> State:
        """A fresh state; nothing is drawn at random but items, or their order."""
        if self.keep is not None:
            return KeepingState(self, problem)
        if self.complete is not None:
            return CompleteState(self, problem, self.asked.name, int(rng.integers(SEEDS)))
        return PooledState(self, problem, 0 if self.items is None else int(rng.integers(SEEDS)))
