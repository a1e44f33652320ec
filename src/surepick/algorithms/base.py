"""The contract every algorithm fulfils: a frozen configuration builds a state.

A configuration (:class:`Algorithm`) is a value. ``begin(problem, rng)`` gives a fresh
:class:`State`, which proposes pulls and observes reward sums; it never sees the truth, the
noise scale (where one is known, rewards arrive divided by it) or the run around it.
"""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from surepick.algorithms.findings import Claims, Known
from surepick.algorithms.findings import Kept as KeptLimit
from surepick.algorithms.items import MEASURED_AGAIN, UNKNOWN_ORDER
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.algorithms.questions import Asked, Best
from surepick.algorithms.remembered import Remembered
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.arrays.validate import in_reach, positive, probability, real, whole
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind
from surepick.promise import Condition, Promise, Reason
from surepick.statistics.spending import Spent

#: what a state either keeps as an attribute or works out in a property: no type fits both
Kept = Any
# More pulls than anyone can make: what is not decided by then is called a tie.
TIED = 10**13
#: why an answer may be certain
CERTAIN = "everything that could change it was measured"
_NO_PAST = "past: this algorithm cannot use past measurements; use pooled-peleg, or leave them out"
_NO_CHANGES = "options: this algorithm needs to know all options from the start"
_NO_STRATA = (
    "strata: this algorithm does not compare within strata; use pooled-peleg, or leave strata out"
)


class TrafficPlan(Protocol):
    """What a state says about the next visitors of a site, from what it has settled."""

    def compared(self) -> BoolArray: ...  #: who is still shown: the undecided, and a baseline
    def wanted_shares(self) -> FloatArray: ...  #: one per option; they sum to 1
    def visits_missing(self) -> float | None: ...  #: about so many decide; None: nothing is known

    #: for each candidate: p-value of what still speaks against naming another one
    def doubts(self) -> FloatArray: ...


class Drawn(Protocol):
    """Random numbers of one batch, from the seed that certificates have."""

    @property
    def batch(self) -> int: ...  #: its number
    def words(self, stream: int, count: int) -> NDArray[np.uint64]: ...  #: of one of four streams
    def of(self, batch: int) -> Drawn: ...  #: those of another batch


class State(Remembered, ABC):
    """A running algorithm. ``saved`` names the attributes that make up its whole memory.

    Examples
    --------
    Made by an algorithm, and used by a run; here by hand:

    >>> import surepick as sp
    >>> problem = sp.Problem([[1.0], [2.0]], noise=1.0)
    >>> state = sp.algorithms.Peleg(delta=0.1).begin(problem, np.random.default_rng(0))
    >>> pulls = state.propose(budget=100)
    >>> state.observe(pulls, 9.0 * pulls.arms * pulls.counts)
    >>> state.finished, state.leader()
    (True, 1)
    """

    #: whether the certificate needs every batch, or the totals per arm are enough
    needs_batches: ClassVar[bool] = True

    #: whether :meth:`observe_spread` is of use to it
    needs_spread: bool = False
    #: whether it cannot do without
    demands_spread: bool = False

    #: the noise scale in use, in units of the problem's; None: not known yet
    noise_factor: Kept = 1.0
    #: whether that is an estimate, on which the guarantee may or may not rest
    scale_estimated: Kept = False

    #: whether the best is who usually wins, instead of who has the largest mean
    by_wins: bool = False
    #: whether every single reward must be told: sums of them do not say enough
    singly: bool = False

    #: further numbers that it needs of every measurement, beside the reward
    further: tuple[Any, ...] = ()

    #: what the pulls of the next batch may cost, set before it is asked for them
    funds: float = math.inf
    #: whether it keeps to that by itself; otherwise it is asked for so few pulls that it does
    minds_costs: bool = False

    #: where a block of pulls needs several batches: those of block ``number`` from one place to
    #: another, set before it is asked; None: of visitors, who come as they are
    piece: Callable[[int, Pulls, int, int], Pulls] | None = None

    #: random numbers of the next batch, set before it is asked; None: nothing can be drawn
    draws: Drawn | None = None

    #: arms that are not there any more, as a mask; None: no algorithm that lets options go
    retired: Any = None
    at_rest: Kept = False  #: whether options may come and go now: it stands between two blocks
    #: a seed drawn after options were recorded, set before they come; see ``Algorithm.redraws``
    fresh: int | None = None

    #: whether it takes in reports after its answer, on which it bets nothing
    waits: ClassVar[bool] = False

    #: whether its answer is a matter of arithmetic by now, and not of chance
    certain: Kept = False

    active: Kept  #: candidates not ruled out yet, an array of their numbers
    finished: Kept  #: whether the stopping rule has fired

    @abstractmethod
    def propose(self, budget: int) -> Pulls:
        """The pulls of the next batch, at most ``budget`` of them; called once per batch."""

    @abstractmethod
    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        """Take in the sum of the (standardised) rewards of each row of the pulls."""

    def as_recorded(self, evidence: dict[str, Any]) -> None:
        """Before anything is asked: draw what this evidence says was drawn."""

    def deal_by(self, seed: str) -> None:
        """Deal the first batch into two after it came in; see :mod:`surepick.statistics.dealing`.

        Before anything is told; nothing is done where rewards cannot be dealt.
        """

    def propose_ahead(self, budget: int, out: int) -> Pulls | None:
        """One batch more, while so many pulls that were asked for have not been observed.

        None where that would be too far ahead; see ``Algorithm.overlaps``.
        """
        return None

    def note_ahead(self, pulls: Pulls) -> None:
        """These are asked for ahead: what was proposed, or other pulls in its place."""

    def replace(self, pulls: Pulls) -> None:
        """Other pulls come in the place of those asked for; see ``Algorithm.any_history``."""

    def fewer(self, pulls: Pulls, counts: IntArray) -> Pulls:
        """What is left of a batch once rewards were withdrawn: so many pulls of each arm."""
        return Pulls.from_counts(counts)

    def observe_spread(self, pulls: Pulls, spread: FloatArray) -> None:
        """Take in Σ (reward − mean)² of each row of the pulls, where single rewards are known.

        Comes before :meth:`observe` of the same batch.
        """

    def observe_numbers(self, pulls: Pulls, numbers: dict[str, Any]) -> None:
        """Take in sums (and spreads, or None) of further numbers for each row, by their names.

        As they were measured, in their own units. Comes before :meth:`observe` of the same batch.
        """

    def split_past(self, arms: IntArray, rewards: FloatArray, evidence: bool) -> list[ToldPulls]:
        """Measurements made before the run, as the batches that :meth:`observe_past` takes.

        ``evidence`` says whether they may count: what was measured did not depend on rewards.
        """
        raise InvalidInputError(_NO_PAST)

    def observe_past(self, batches: list[ToldPulls], evidence: bool) -> None:
        """Take in what :meth:`split_past` returned, standardised, before any pull."""
        raise InvalidInputError(_NO_PAST)

    def items_of(self, pulls: Pulls, later: int = 0) -> IntArray | None:
        """Which item each row of the pulls is for, where options are measured on items.

        They are the next batch, or one so many batches later.
        """
        return None

    def on_items(self) -> Any:
        """What an answer on a finite set of items says beside its promise; None: nothing."""
        return None

    def stratum(self, arms: IntArray, rewards: FloatArray) -> ToldPulls:
        """Measurements that share a level, those of each arm in the order of their pulls."""
        raise InvalidInputError(_NO_STRATA)

    def observe_strata(self, pulls: Pulls, strata: list[ToldPulls]) -> None:
        """Take in a batch stratum by stratum, each as :meth:`stratum` made it, standardised."""
        raise InvalidInputError(_NO_STRATA)

    def turn(self, problem: Problem, retired: BoolArray) -> None:
        """Go on with other options: more of them, or without those of a mask (of arms)."""
        raise InvalidInputError(_NO_CHANGES)

    def accept(self, config: Any) -> None:
        """Go on with this configuration, of another epsilon: from now on, by later data."""
        raise InvalidInputError(_NO_CHANGES)

    def traffic(self) -> TrafficPlan | None:
        """How visitors of a site should be shared out; None where it cannot say."""
        return None

    def enough(self, told: list[ToldPulls], problem: Problem) -> int | None:
        """How many of the pulls it was told would have been enough, had it been on this problem.

        ``told`` is all of them, batch by batch. None: they were not, it cannot say, or finding
        out would take long.
        """
        return None

    def left(self) -> int:
        """How many different candidates are not decided; :attr:`active` always names one."""
        return len(self.active)

    @abstractmethod
    def leader(self) -> int:
        """The candidate that looks best now."""

    def named(self) -> list[int]:
        """All candidates that would be named now, best first: one, unless more are asked for."""
        return [self.leader()]

    @abstractmethod
    def evidence(self) -> dict[str, Any]:
        """Why the dropped candidates were dropped, in the terms of a verifier's rule."""

    def reward_scale(self) -> float | FloatArray | None:
        """How much a single reward varies, as far as is known: one number, or one for each arm.

        In the units in which rewards arrive; None: nothing is known yet.
        """
        return self.noise_factor

    def progress(self) -> FloatArray | None:
        """For each candidate, how much of the evidence that drops it is there (1: dropped).

        None where the rule has no such number.
        """
        return None

    @property
    def level_is_free(self) -> bool:
        """Whether estimates say how far options are apart, and nothing of where they all are."""
        return False

    def won(self) -> FloatArray | None:
        """The share that the leader won of its comparisons with each candidate; None: of none."""
        return None

    def circle(self) -> list[int]:
        """Where no candidate is the answer: those of which each is shown to beat the next one."""
        return []

    def promise(self) -> Promise | None:
        """What an answer promises, where that depends on what was shown; None: as always."""
        return None

    def spent(self) -> dict[str, float]:
        """The shares of delta that parts of the answer have; empty: it has one."""
        return {}

    def risks(self) -> list[Spent]:
        """Beside the answer: what is said together at one risk, and the shares of its parts."""
        return []

    def claims(self) -> Claims | None:
        """What is claimed now, where candidates are compared with a baseline; else None."""
        return None

    def limits_kept(self) -> list[KeptLimit]:
        """How options stand to each limit, where they have to keep some."""
        return []

    def not_beaten(self) -> BoolArray | None:
        """Where there are limits: whom nobody seems to beat on all numbers at once; no proof."""
        return None

    def p_value(self) -> float | None:
        """Of "not the one that would be named is the best", valid at any time; None: not known."""
        return None

    def now(self) -> Known | None:
        """What is known now; None where nothing is, or the algorithm has no such numbers."""
        return None


# The run layer sits below this one and hands itself in here, so that `algorithm.start(problem)`
# reads well although algorithms know nothing of runs.
_start_run: Callable[[Algorithm, Problem, Any], Any] | None = None


def set_run_starter(starter: Callable[[Algorithm, Problem, Any], Any]) -> None:
    """Tell algorithms how a run is started (called once, by the run layer)."""
    global _start_run
    _start_run = starter


@dataclass(frozen=True)
class Algorithm(ABC):
    """Settings shared by all algorithms.

    Parameters
    ----------
    delta
        Largest acceptable probability of a wrong answer.
    epsilon
        Accept any candidate within this much of the best (in units of the reward).
    max_samples
        Stop after this many pulls at the latest, without a guarantee.
    budget
        The same with what pulls cost, where the problem has costs (else they cost 1 each): stop
        when what is left does not pay for one more pull of the dearest arm.

    Examples
    --------
    >>> import surepick as sp
    >>> algorithm = sp.algorithms.get("rage", delta=0.1, max_samples=500)
    >>> isinstance(algorithm, Algorithm), algorithm.settings()
    (True, {'delta': 0.1, 'max_samples': 500})
    """

    delta: float
    epsilon: float = field(default=0.0, kw_only=True)
    max_samples: int | None = field(default=None, kw_only=True)
    budget: float | None = field(default=None, kw_only=True)

    #: registry name of the class's default form
    name: ClassVar[str]
    #: the theorem behind the guarantee; empty where the threshold is a heuristic
    theorem: ClassVar[str] = ""
    #: whether it also works where the arms are an array of PyTorch or CuPy
    any_backend: ClassVar[bool] = False
    #: what of a batch follows from what came before it, so that a certificate's run can be made
    #: again: its "pulls", its "size" where they are drawn, or "nothing" (also: nobody knows)
    follows: ClassVar[str] = "nothing"
    #: whether a state takes in other pulls than it asked for, as long as they are as many
    any_pulls: ClassVar[bool] = False
    #: whether its guarantee and its states take any batches, of any size, that were chosen before
    #: their rewards were seen: then rewards that have been counted can be corrected
    any_history: ClassVar[bool] = False
    #: whether a batch can be asked for while earlier ones are being measured
    overlaps: ClassVar[bool] = False
    #: whether something is drawn anew when options come
    redraws: ClassVar[bool] = False
    #: whether every run ends by itself, also where options tie
    ends: ClassVar[bool] = False
    #: whether no option may be measured twice on an item
    each_once: ClassVar[bool] = False
    #: whether its guarantee rests on a noise scale that is known
    needs_scale: ClassVar[bool] = True
    #: whether its guarantee rests on rewards that are exactly linear in the features
    trusts_features: ClassVar[bool] = True
    #: whether it compares two options in each measurement, instead of measuring one
    of_pairs: ClassVar[bool] = False
    #: whether it can be told reports of visitors, segment by segment
    reads_reports: ClassVar[bool] = False
    #: what it can be asked: "best", "baseline", "top", "guess"
    questions: ClassVar[tuple[str, ...]] = ("best",)
    asked: ClassVar[Asked] = Best()  #: what it is asked

    def __post_init__(self) -> None:
        # Plain floats and ints, whatever kind of number was given: settings are saved as JSON.
        object.__setattr__(self, "delta", probability(self.delta, "delta"))
        object.__setattr__(self, "epsilon", in_reach(real(self.epsilon, "epsilon"), "epsilon"))
        if self.epsilon < 0:
            raise InvalidInputError(f"epsilon must be at least 0; got {self.epsilon!r}")
        if self.max_samples is not None:
            object.__setattr__(self, "max_samples", whole(self.max_samples, "max_samples", least=1))
        if self.budget is not None:
            object.__setattr__(self, "budget", in_reach(positive(self.budget, "budget"), "budget"))

    def sample_limit(self) -> int:
        """Pulls after which a run stops in any case."""
        return self.max_samples or self.tied_after()

    def tied_after(self) -> int:
        """Pulls after which a run stops that has no limit.

        Candidates that are exactly tied can never be told apart (tied losers too, once the
        best was lost): without epsilon or max_samples such a run would go on for ever.
        """
        return TIED

    def check_problem(self, problem: Problem) -> None:
        """Refuse a problem that this algorithm cannot work on, before anything is computed."""
        if not (problem.backend.plain or self.any_backend):
            raise InvalidInputError(
                f"problem: {self.registered_name()} works on NumPy arrays only, and the arms are "
                f"on {problem.backend}; build the problem with backend='numpy', or use "
                f"pooled-peleg, peleg or rage"
            )
        if problem.noise_kind.of_pairs and not self.of_pairs:
            raise InvalidInputError(
                f"algorithm: {self.registered_name()} measures options one by one, and this "
                "problem compares two at a time; use the algorithm 'pairs', or leave algorithm out"
            )
        if problem.noise_kind.reports_only and not self.reads_reports:
            raise InvalidInputError(
                f"segments: {self.registered_name()} cannot compare visitors segment by segment; "
                "use pooled-peleg"
            )
        if self.needs_scale and not problem.noise_kind.scale_known:
            raise InvalidInputError(
                f"noise: {self.registered_name()} needs to know the scale of the noise, and this "
                "problem does not give it: set noise=…, or use pooled-peleg, which does not need "
                "it"
            )
        if self.trusts_features and problem.misfit:
            raise InvalidInputError(
                f"misfit: {self.registered_name()} assumes that rewards are exactly linear in the "
                "features, but this problem says they may not be: set misfit=0 to trust the "
                "features, or use pooled-peleg, which need not"
            )

    def levels_cancel(self, problem: Problem) -> bool:
        """Whether its guarantee survives a level that all rewards of a batch share."""
        return False

    def takes_strata(self, problem: Problem) -> bool:
        """Whether it compares within strata, so that their levels cancel."""
        return False

    def refuses_options(self, problem: Problem) -> str:
        """Why options cannot be added and retired while it runs; empty where they can."""
        return (
            f"{self.registered_name()} needs to know all options from the start; with "
            "pooled-peleg they can change"
        )

    def refuses_accepting(self, problem: Problem) -> str:
        """Why epsilon cannot be named while it runs; empty where it can."""
        return (
            f"{self.registered_name()} has to know it from the start; with pooled-peleg it may be "
            "named on the way"
        )

    def refuses_withdrawal(self) -> str:
        """Why rewards that were counted cannot be withdrawn; empty where they can."""
        return ""

    def measured_on(self) -> int | None:
        """How many items options are measured on, such as test questions; None: on none."""
        return None

    def worst_score(self, problem: Problem) -> float | None:
        """What a measurement counts as that cannot be made; None: nothing, it has to be made."""
        return None

    def about_items(self) -> Condition:
        """What being the best means where options are measured on items."""
        average = f"on average over all {self.measured_on()} items"
        holds = f"if {MEASURED_AGAIN}, and {UNKNOWN_ORDER}"
        means = f"“Best” is meant {average}."
        return Condition(f"best {average}, {holds}", holds, meaning=means)

    def needs(self) -> tuple[Condition, ...]:
        """What its theorem rests on beside the model."""
        return ()

    def baseline_in(self, problem: Problem) -> int | None:
        """The candidate that the others are compared with; None: there is none."""
        return None

    @abstractmethod
    def begin(self, problem: Problem, rng: np.random.Generator) -> State:
        """A fresh state for this problem."""

    def registered_name(self) -> str:
        """The name under which the registry builds this configuration."""
        return self.name

    def settings(self) -> dict[str, Any]:
        """The fields that differ from their defaults: with the name, the whole configuration."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        given = {k: list(v) if isinstance(v, tuple) else v for k, v in given.items()}  # as JSON
        default = {f.name: f.default for f in fields(self) if f.default is not MISSING}
        return {k: v for k, v in given.items() if k not in default or default[k] != v}

    def start(self, problem: Problem, seed: Any = None) -> Any:
        """Start a run on ``problem``.

        ``seed`` is a whole number or a ``numpy.random.Generator``. It decides
        in which order the pulls of a batch are handed out, and what algorithms draw that draw.
        Without one that order is drawn afresh; it is kept with the run and its certificate.
        """
        if not isinstance(problem, Problem):
            raise InvalidTypeError(f"problem must be a surepick.Problem; got {problem!r:.80}")
        if _start_run is None:  # runs stand above algorithms, and say how they are started
            importlib.import_module("surepick.run")
        start: Any = _start_run
        return start(self, problem, seed)

    def promise(self, kind: NoiseKind, epsilon_used: bool) -> Promise:
        """What an answer reached by the stopping rule promises, with such noise."""
        if not self.theorem:
            why = f"{self.registered_name()} stops by a heuristic threshold"
            return Promise(self.delta, why=Reason(why))
        on_items = self.measured_on() is not None
        epsilon = self.epsilon if epsilon_used else None
        what = self.asked.promised(epsilon, kind, on_items)
        theorem = f"{self.theorem}{self.asked.union}"
        return Promise(self.delta, what, theorem, self.needs())

    def promise_for_certain(self, kind: NoiseKind) -> Promise:
        """What an answer promises that is no matter of chance."""
        what = self.asked.promised(None, kind).certain(
            "It is certain: everything that could change the answer was measured."
        )
        return Promise(self.delta, what, CERTAIN)

    def promise_of_claims(self, baseline: str) -> Promise:
        """What claims against a baseline promise, whenever they are made."""
        return self.asked.promise_of_claims(self.delta, baseline)
