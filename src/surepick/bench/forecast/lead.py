"""What a forecast is asked: which options, how large a lead, and what rewards are like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from surepick.ahead.kinds import DRAWINGS, Drawing
from surepick.ahead.noise import Noise
from surepick.algorithms.registry import DEFAULT
from surepick.arrays.validate import SEEDS, positive, probability, risk, whole
from surepick.bench.compare.plan import Contender
from surepick.bench.forecast.fixed import AB_TEST, fixed_sample
from surepick.bench.forecast.truths import Room, draw, draw_within, shrunk
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.problem.duplicates import first_equal, groups
from surepick.problem.noise import read_rewards, usual
from surepick.simulate.instance import Instance

#: what is compared unless the caller says otherwise: guarantees, and nothing to know in advance
ALGORITHMS = (DEFAULT, "peleg", "rage", "uniform")
ASKED, HALF_GAP, HALF_DELTA = "as asked", "half the gap", "half of delta"
_PATIENCE = 20  # times the pulls of an A/B/n test after which a simulated run gives up
_LEAST_PATIENCE = 20_000
_LEAST_LEAD, _MOST_LEAD = 1e-7, 1e30  # over how much measurements of one option differ


def study_noise(
    rewards: str | None, noise: float | None, noise_is: str
) -> tuple[Any, float | None]:
    """What a study of such rewards is told about noise, and what is left to guess for a forecast.

    ``rewards`` may be None: the study is told nothing, and takes what it takes then. ``noise_is``
    says what it is told beside: ``"guessed"`` (nothing), ``"equal"`` or ``"known"``.

    Examples
    --------
    >>> study_noise(None, 0.5, "guessed"), study_noise("symmetric", 0.5, "known")
    ((None, 0.5), (0.5, None))
    """
    kind = None if rewards is None else read_rewards(rewards)
    if noise_is == "guessed":
        return kind, noise
    if kind not in (None, usual(trusted=True)):
        raise InvalidInputError(
            f"noise_is: {noise_is!r} only applies to numbers without bounds; these rewards are "
            f"{rewards}"
        )
    if noise_is == "equal":
        return "equal", noise
    if noise_is != "known":
        raise InvalidInputError(f"noise_is must be guessed, equal or known; got {noise_is!r:.80}")
    if noise is None:
        raise InvalidInputError(
            "noise is missing: give it, because the study is supposed to know it"
        )
    return noise, None


@dataclass(frozen=True, eq=False)
class LeadToFind:
    """How many measurements will it take to find a lead of this size?

    Parameters
    ----------
    problem
        The options; its noise is what the study will be told, which decides how it measures.
    gap
        Lead of the best candidate over the second best that should be found out, in the units of
        the reward; not for yes/no rewards.
    delta
        Error probability.
    algorithms
        Names, with settings if any, as in :class:`surepick.bench.Plan`. Those that have to know
        the scale of the noise are left out where the problem has none.
    noise
        Where the problem does not say: a guess of how much repeated measurements of one option
        differ (their standard deviation). The simulated studies are not told. By default 1, or a
        quarter of the range of bounded rewards.
    base_rate, lift
        For yes/no rewards: the second best option says yes this often, the others at most as
        often, and the best ``1 + lift`` times as often. Where smaller is better, the others at
        least as often, and the best ``1 - lift`` times.
    trials, seed
        Simulated runs of each algorithm in each scenario, and the seed of them all.
    max_samples
        Pulls at which a simulated run gives up; by default 20 times those of an A/B/n test.
    seconds
        Processor time for all runs of one algorithm; what is not finished then is cut off.
    """

    problem: Problem
    gap: float | None = None
    delta: float = 0.05
    algorithms: Sequence[str] | None = None
    noise: float | None = field(default=None, kw_only=True)
    base_rate: float | None = field(default=None, kw_only=True)
    lift: float | None = field(default=None, kw_only=True)
    trials: int = field(default=30, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    max_samples: int | None = field(default=None, kw_only=True)
    seconds: float = field(default=10.0, kw_only=True)
    #: whether the forecast is made without features, as they cannot tell some options apart
    without_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.problem, Problem):
            raise InvalidTypeError(f"problem must be a surepick.Problem; got {self.problem!r:.80}")
        if len(self.problem.distinct) < 2:
            raise InvalidInputError("there is nothing to plan: all options are the same")
        if self.problem.costs is not None:
            raise InvalidInputError(
                "costs: a forecast counts measurements, not their costs; leave costs out"
            )
        self._tell_twins_apart()
        risk(self.delta, "delta")
        whole(self.trials, "trials", least=2)
        whole(self.seed, "seed", most=SEEDS)
        positive(self.seconds, "seconds")
        if self.max_samples is not None:
            whole(self.max_samples, "max_samples", least=1)
        self._check_lead()
        self._check_noise()
        self._check_in_reach()
        if not self.contenders:
            raise InvalidInputError("algorithms must name at least one")
        texts = [contender.text for contender in self.contenders]
        for i, text in enumerate(texts):
            if text in texts[:i]:
                raise InvalidInputError(f"algorithms: {text!r} is there twice")
        if len(self.left_out) == len(texts):
            raise InvalidInputError(next(iter(self.left_out.values())))

    def _tell_twins_apart(self) -> None:
        """Options of the same features may differ where these are not trusted.

        Truths are linear in the features, so such options would tie for ever. Where features only
        guide, a forecast without them is not far off.
        """
        twins = groups(first_equal(self.problem.candidates, self.problem.backend))
        if not (self.problem.misfit and twins):
            return
        if math.isfinite(self.problem.misfit):
            names = " and ".join(repr(self.problem.candidate_labels[i]) for i in twins[0][:2])
            raise InvalidInputError(
                f"misfit: {names} have the same features, and simulated rewards would be the same "
                "for both; add a feature in which they differ, or plan with misfit='any' or 0"
            )
        labels, noise = self.problem.labels, self.problem.noise
        free = Problem(np.eye(len(labels)), noise=noise, labels=labels)
        object.__setattr__(self, "problem", free.with_direction(self.problem.minimise))
        object.__setattr__(self, "without_features", True)

    def _check_lead(self) -> None:
        rates = {"base_rate": self.base_rate, "lift": self.lift}
        if not self._drawing.rates:
            for name, value in rates.items():
                if value is not None:
                    raise InvalidInputError(f"{name} is for yes/no rewards; give gap instead")
            if self.gap is None:
                raise InvalidInputError("gap is missing: give the lead that you want to detect")
            object.__setattr__(self, "gap", positive(self.gap, "gap"))
            return
        if self.gap is not None:
            raise InvalidInputError("gap: for yes/no rewards give base_rate and lift instead")
        for name, value in rates.items():
            if value is None:
                raise InvalidInputError(
                    f"{name} is missing: yes/no rewards need base_rate (how often the second best "
                    f"option says yes, as 0.02) and lift (0.2: the best one 20 % "
                    f"{'less' if self.problem.minimise else 'more'} often)"
                )
        base, lift = probability(self.base_rate, "base_rate"), positive(self.lift, "lift")
        times = 1 + self.problem.sign * lift
        if not 0 < base * times < 1:
            end = "above 0" if times <= 0 else "below 1"
            raise InvalidInputError(f"lift: {times:g} times a base_rate of {base:g} is not {end}")
        object.__setattr__(self, "gap", base * lift)

    def _check_noise(self) -> None:
        if self.noise is not None:
            positive(self.noise, "noise")
            self._drawing.check_guess(self.problem.noise_kind, self.noise)

    def _check_in_reach(self) -> None:
        """Refuse leads that nobody could ever measure, or that need no measuring."""
        gap, deviation = self.lead, self.deviation
        if self.base_rate is not None:
            deviation = math.sqrt(self.base_rate * (1 - self.base_rate))
        if not _LEAST_LEAD <= gap / deviation <= _MOST_LEAD:
            name = "gap" if self.base_rate is None else "lift"
            size = "small" if gap < deviation else "large"
            raise InvalidInputError(
                f"{name}: a lead of {gap:g} is too {size} to plan for when measurements of one "
                f"option differ by {deviation:g}"
            )

    # -- what is compared ------------------------------------------------------------------
    @cached_property
    def contenders(self) -> list[Contender]:
        """The algorithms, configured but for what depends on the instance."""
        names, kind = self.algorithms, self.problem.noise_kind
        if names is None:
            names = ALGORITHMS if kind.scale_known else (DEFAULT,)
            if self.problem.misfit:  # the others trust features
                names = (DEFAULT,)
            if not self._drawing.gaussian:  # single pulls are simulated fast for Gaussian rewards
                names = [name for name in names if name != "uniform"]
        return [Contender.named(text) for text in names]

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Algorithms that cannot work on this problem, and why."""
        found, example = {}, self.instance(ASKED, 0)
        for contender in self.contenders:
            algorithm = contender.configure(example, self.delta)
            try:
                algorithm.check_problem(self.problem)
            except InvalidInputError as error:
                found[contender.text] = str(error)
        return found

    @cached_property
    def simulated(self) -> list[Contender]:
        """Those that can."""
        return [one for one in self.contenders if one.text not in self.left_out]

    @property
    def size(self) -> int:
        """Simulated runs in all."""
        return len(self.simulated) * len(self.scenarios) * self.trials

    # -- scenarios -------------------------------------------------------------------------
    @property
    def lead(self) -> float:
        """The gap, given or worked out."""
        assert self.gap is not None
        return self.gap

    @property
    def scenarios(self) -> dict[str, tuple[float, float]]:
        """Gap and delta of each scenario."""
        return {
            ASKED: (self.lead, self.delta),
            HALF_GAP: (self.lead / 2, self.delta),
            HALF_DELTA: (self.lead, self.delta / 2),
        }

    def instance(self, scenario: str, trial: int) -> Instance:
        """The problem of one trial, with its drawn truth."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(trial,)))
        share = self.scenarios[scenario][0] / self.lead
        bounds = self.problem.noise_kind.bounds
        if bounds is None:
            return shrunk(draw(self.problem, self.lead, rng), share, None)
        drawn = draw_within(self.problem, self.lead, Room(*bounds, self.base_rate), rng)
        middle = 0.5 * (bounds[0] + bounds[1])
        return shrunk(drawn, share, middle if self.base_rate is None else self.base_rate)

    # -- rewards ---------------------------------------------------------------------------
    @property
    def _drawing(self) -> Drawing:
        return DRAWINGS.of(self.problem.noise_kind)

    @property
    def deviation(self) -> float:
        """Standard deviation of one measurement, known or guessed; not for yes/no rewards."""
        return self._drawing.deviation(self.problem, self.noise)

    @property
    def family(self) -> Noise | None:
        """How rewards are drawn; None: as the problem says."""
        return self._drawing.guessed(self.problem.noise_kind, self.deviation)

    def fixed_sample(self, scenario: str) -> dict[str, int]:
        """Measurements that tests with fixed numbers take."""
        gap, delta = self.scenarios[scenario]
        variance = 2 * self.deviation**2
        if self.base_rate is not None:
            best = self.base_rate + self.problem.sign * gap
            variance = best * (1 - best) + self.base_rate * (1 - self.base_rate)
        return fixed_sample(len(self.problem.distinct), variance, gap, delta)

    def sample_limit(self, scenario: str) -> int:
        """Pulls at which a simulated run gives up."""
        patience = _PATIENCE * self.fixed_sample(scenario)[AB_TEST]
        return self.max_samples or max(patience, _LEAST_PATIENCE)

    @property
    def words(self) -> str:
        """What was asked, in words."""
        kind, lead = self.problem.noise_kind, f"the best leads by {self.lead:g}"
        if self.base_rate is not None:
            best = self.base_rate + self.problem.sign * self.lead
            end = "at least" if self.problem.minimise else "at most"
            return (
                f"yes/no rewards, the best at {100 * best:.4g} %, "
                f"all others at {100 * self.base_rate:.4g} % {end}"
            )
        if self._drawing.told_scale:
            return f"{lead}, {kind}"
        guess = f"measurements of one option differ by about {self.deviation:g} (a guess)"
        return f"{lead}, {guess}" if kind.bounds is None else f"{lead}, {kind}, {guess}"
