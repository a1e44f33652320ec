"""Which of many options beats everyone, or wins most, asked two at a time.

Guarantee: :mod:`surepick.algorithms.pairs.purses` has it, with its proof. Nothing has to be
known in advance about the judge. A Bradley–Terry fit guides whom to compare and how much to bet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Algorithm
from surepick.algorithms.pairs.asked import AskedOfPairs, CheapestUnbeaten, PreferredTo
from surepick.algorithms.pairs.comparing import OPPONENT, ORDER, PLAN, Comparing
from surepick.algorithms.pairs.plan import (
    against_all,
    along_cycle,
    first_pairs,
    refuters_of,
    shortest_cycle,
    top_two,
    words_for,
)
from surepick.algorithms.pairs.purses import (
    Comparisons,
    Everyone,
    Most,
    accepted,
    each_arrow,
    highest,
)
from surepick.algorithms.questions import Against, Best, Cheapest, Top, asked_by, candidate_of
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.arrays.validate import whole
from surepick.errors import InvalidInputError, RunStateError
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind
from surepick.problem.pairs import features_of
from surepick.promise import IF_ANY, NOBODY, Promise, Promised, in_a_circle
from surepick.statistics.spending import Spent, each_of_the_best

_BEST = {
    "everyone": "the one that beats every other, if there is one,",
    "most": "the one that wins most",
}
#: what is promised where more is shown of one option, or of all
BEATS_ALL = Promised("the one that beats every other", "{It} beats every other option.")
NO_ONE = Promised(
    "no option beats every other",
    "No option beats every other one.",
    wrong="are wrong about that",
    kind=NOBODY,
)


@dataclass(frozen=True)
class Beats(Best):
    """Which option beats every other one, or wins most?"""

    beats: str = "everyone"
    confirm: bool = True  #: whether it goes on until that is shown of the one that is left

    @property
    def best(self) -> str:
        return _BEST[self.beats]

    @property
    def words(self) -> str:
        return (
            "which option wins most" if self.beats == "most" else "which option beats every other"
        )

    def promised(self, epsilon: float | None, kind: NoiseKind, items: bool = False) -> Promised:
        if self.beats == "most":
            return self._wins_most(epsilon)
        if self.confirm:
            return BEATS_ALL if epsilon is None else self.close_to_all(epsilon)
        return self.if_any(epsilon)

    def if_any(self, epsilon: float | None = None) -> Promised:
        """What is promised where those who were ruled out may be preferred to the one named."""
        if epsilon is None:
            found = "If any option beats every other, it is {this}; that it does is not shown yet."
            return Promised(self.best, found, kind=IF_ANY)
        least, most = f"{0.5 - epsilon:.12g}", f"{0.5 + epsilon:.12g}"
        close = f"preferred in at least {least} of all comparisons to"
        return Promised(
            f"{close} {self.best}",
            "If any option beats every other, it is preferred to {this} in at most "
            f"{most} of all comparisons.",
            wrong="name one that is not so close",
            ahead="name an option to which one that beats every other, if there is one, is "
            f"preferred in more than {most} of all comparisons",
            kind=IF_ANY,
            close=f"{close} any that beats every other",
            others=f"wins at most {most}",
        )

    def _wins_most(self, epsilon: float | None) -> Promised:
        if epsilon is None:
            return Promised(self.best, "{It} wins most.")
        within = f"within {epsilon:.12g} of {self.best}"
        less = f"at most {epsilon:.12g} less often than the one that wins most"
        return Promised(
            within,
            f"{{It}} wins {less}.",
            ahead=f"name an option that does not win {less}",
            kind="eps-pac",
            close=within,
            others=f"wins at most {epsilon:.12g} more often",
        )

    def may_promise(self, epsilon: float, kind: NoiseKind, items: bool) -> list[Promised]:
        found = [*super().may_promise(epsilon, kind, items), BEATS_ALL, NO_ONE, self.if_any()]
        return [*found, self.if_any(epsilon), self.close_to_all(epsilon)] if epsilon else found

    def close_to_all(self, epsilon: float) -> Promised:
        """What is promised where every other option was looked at."""
        least = f"{0.5 - epsilon:.12g}"
        close = f"preferred in at least {least} of all comparisons to every other option"
        return Promised(
            close,
            f"{{It}} is {close}.",
            wrong="name one that is not",
            kind="eps-pac",
            close=close,
            others=f"preferred in at most {0.5 + epsilon:.12g}",
        )


@dataclass(frozen=True)
class WinMost(Top):
    """Which m options win most, in any order?"""

    @property
    def best(self) -> str:
        return f"the {self.m} that win most"

    @property
    def words(self) -> str:
        return f"which {self.m} options win most"

    def check_problem(self, problem: Problem, items: bool) -> None:
        n, m = problem.n_candidates, self.m
        if n <= m:
            raise InvalidInputError(
                f"top: there are {n} options, so the {m} that win most are all of them; ask for "
                "fewer"
            )

    def promised(self, epsilon: float | None, kind: NoiseKind, items: bool = False) -> Promised:
        if epsilon is None:
            return Promised(self.best, "They win most.", wrong=f"are wrong about {self.best}")
        less = f"at most {epsilon:.12g} less often than the last of {self.best}"
        return Promised(
            f"{self.m} options, each of which wins {less},",
            f"Each of them wins {less}.",
            wrong="name one that does not",
            ahead=f"name an option that does not win {less}",
            kind="eps-pac",
            close=f"one that wins {less}",
            others=f"wins at most {epsilon:.12g} more often",
        )


@dataclass(frozen=True)
class Pairs(Algorithm):
    """Options compared two at a time.

    Parameters
    ----------
    delta, max_samples, budget
        As for every algorithm.
    epsilon
        Accept an option to which the one that beats everyone is preferred in at most ½ + epsilon
        of all comparisons (with ``beats="most"``: which wins at most so much less often).
    beats
        ``"everyone"``: the option that is preferred to every other at least half of the time.
        ``"most"``: the one that wins most often against another one at random.
    top
        With ``beats="most"``: how many of those that win most to find.
    confirm
        Go on when one option is left, until it is shown that it beats everyone (with epsilon, that
        nobody is preferred to it in more than ½ + epsilon), or that nobody does; a cycle is then
        looked for with at most as many comparisons again. Without it an answer says "if any option
        beats every other, it is this one", and counts as not proven. Where options come or go
        that is all that can be said. None: with ``beats="everyone"``.
    block
        The least comparisons in a block, which can be judged at the same time.
    baseline, claims
        Find out which options are preferred to this one, a label or a number, and to which it is
        preferred (within epsilon: in ½ − epsilon to ½ + epsilon of all comparisons). How sure these
        claims are is up to ``claims``, as for PooledPeleg.
    cheapest, within
        Find the cheapest option, by the costs of the problem, that no other one beats in more than
        ½ + within of all comparisons.
    items
        Number of items, such as test questions, on which options are compared: each comparison is
        on one of them, drawn at random, and what is asked is about their average.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem.pairs(["tea", "milk", "water"])
    >>> answer = sp.identify(problem, judge=lambda first, second: float(first < second), seed=1)
    >>> answer.label
    'tea'
    """

    beats: str = field(default="everyone", kw_only=True)
    top: int = field(default=1, kw_only=True)
    confirm: bool | None = field(default=None, kw_only=True)
    block: int = field(default=8, kw_only=True)
    items: int | None = field(default=None, kw_only=True)
    baseline: str | int | None = field(default=None, kw_only=True)
    claims: str = field(default="all", kw_only=True)
    cheapest: bool = field(default=False, kw_only=True)
    within: float | None = field(default=None, kw_only=True)

    threshold: ClassVar[None] = None  #: a comparison says nothing of a number
    name: ClassVar[str] = "pairs"
    theorem: ClassVar[str] = (
        "the capital bet against whoever is the answer is a supermartingale; Ville's inequality"
    )
    follows: ClassVar[str] = "pulls"
    any_pulls: ClassVar[bool] = False
    any_history: ClassVar[bool] = True
    overlaps: ClassVar[bool] = True
    needs_scale: ClassVar[bool] = False
    trusts_features: ClassVar[bool] = False
    of_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beats not in _BEST:
            raise InvalidInputError(f"beats must be 'everyone' or 'most'; got {self.beats!r:.80}")
        object.__setattr__(self, "block", whole(self.block, "block", least=1))
        if self.items is not None:
            object.__setattr__(self, "items", whole(self.items, "items", least=1))
        if self.epsilon >= 0.5:
            raise InvalidInputError(
                f"epsilon: shares of comparisons differ by less than 0.5 from a half; got "
                f"{self.epsilon!r}"
            )
        if self._ask_otherwise():
            return
        if self.confirm is None:
            object.__setattr__(self, "confirm", self.beats == "everyone")
        if not isinstance(self.confirm, bool):
            raise InvalidInputError(f"confirm must be true or false; got {self.confirm!r:.80}")
        if self.confirm and self.beats == "most":
            raise InvalidInputError(
                "confirm: whoever is left wins most, so there is nothing more to show; leave it out"
            )
        object.__setattr__(self, "top", whole(self.top, "top", least=1))
        if self.top > 1 and self.beats != "most":
            raise InvalidInputError(
                "top: only one option can beat every other; to find several, ask which win most "
                "(beats='most', --borda)"
            )
        asked = Beats(self.beats, self.confirm) if self.top == 1 else WinMost(self.top)
        object.__setattr__(self, "asked", asked)

    def _ask_otherwise(self) -> bool:
        """Whether something else is asked than who beats everyone, or wins most."""
        given = (None, self.baseline, None, self.claims, 1, None, self.cheapest, self.within)
        asked = asked_by(*given)
        if asked == Best():
            return False
        if isinstance(asked, Against):
            asked = PreferredTo(asked.baseline, None, asked.claims)
            object.__setattr__(self, "baseline", asked.baseline)
            object.__setattr__(self, "overlaps", asked.overlaps)
        else:
            assert isinstance(asked, Cheapest)
            asked = CheapestUnbeaten(asked.enough)
            object.__setattr__(self, "within", asked.enough)
            if self.epsilon:
                raise InvalidInputError(
                    "epsilon: within says by how much the cheapest may be beaten; leave epsilon out"
                )
        usual = {"beats": "everyone", "top": 1, "confirm": None}
        for name, value in usual.items():
            if getattr(self, name) != value:
                other = "cheapest" if self.cheapest else "baseline"
                raise InvalidInputError(f"{name}: leave it out, or {other}: one thing is asked")
        object.__setattr__(self, "asked", asked)
        return True

    def check_problem(self, problem: Problem) -> None:
        super().check_problem(problem)
        if problem.pairing is None:
            raise InvalidInputError(
                "problem: 'pairs' compares options two at a time; make the problem with "
                "surepick.Problem.pairs(labels)"
            )
        if problem.minimise:
            raise InvalidInputError(
                "minimise: a comparison says which of two is better, whatever that means; leave it "
                "out"
            )
        self.asked.check_problem(problem, self.items is not None)

    def levels_cancel(self, problem: Problem) -> bool:
        return True

    def measured_on(self) -> int | None:
        return self.items

    def refuses_options(self, problem: Problem) -> str:
        if self.asked.refuses_options:
            return self.asked.refuses_options
        if self.epsilon:
            return (
                "with epsilon, what is shown of two options would have to hold for all that may "
                "still come and go, which takes far more comparisons; start a study without "
                "epsilon, or a new one with the options that there are"
            )
        return ""

    def baseline_in(self, problem: Problem) -> int | None:
        return None if self.baseline is None else candidate_of(problem, self.baseline)

    def refuses_accepting(self, problem: Problem) -> str:
        if self.asked.compares or self.asked.within:
            return (
                f"the question is {self.asked.words}, which takes epsilon into account from the "
                "start, or not at all; start a study that asks which option beats every other"
            )
        if self.confirm:
            return (
                "where it is to be confirmed that somebody beats every other one, epsilon takes a "
                "share of the error probability from the start; start a study with epsilon, or one "
                "that asks who wins most (--beats most), where it may be named on the way"
            )
        return ""

    def begin(self, problem: Problem, rng: np.random.Generator) -> Comparing:
        """A fresh state; what is drawn comes from the run's seed."""
        if self.asked.compares or self.asked.within:
            return AskedOfPairs(self, problem)
        return PairsState(self, problem)


class PairsState(Comparing):
    """What is known of each option, and of each two."""

    saved: ClassVar[tuple[str, ...]] = (
        *Comparing.saved,
        *("inside", "out_at", "retired", "changed"),
    )

    def __init__(self, config: Pairs, problem: Problem) -> None:
        super().__init__(config, problem)
        self.config, K = config, self.pairing.options
        self.serves = config.beats == "most"
        self.inside: BoolArray = np.ones(K, dtype=bool)
        most, epsilon = config.beats == "most", config.epsilon
        self.purses = Most(K, epsilon, config.top) if most else Everyone(K, epsilon)
        self.out_at = 0  # after how many comparisons nobody was left
        self.retired = np.zeros(K, dtype=bool)
        self.changed = False  # whether options came or went

    # -- where it stands -------------------------------------------------------------------
    @property
    def active(self) -> IntArray:
        return np.flatnonzero(self.inside)

    @property
    def accepted(self) -> IntArray:
        """Who is close enough, where epsilon says what is."""
        if self.config.confirm:
            close = self.purses.close_to_all(self.config.delta)
            return np.flatnonzero(close & self.inside)
        return np.flatnonzero(accepted(self.purses, self.inside, self.config.delta))

    @property
    def finished(self) -> bool:
        left = int(self.inside.sum())
        if left > self.config.top:
            return len(self.accepted) > 0
        if not self.config.confirm or (left and self.changed):
            return True
        if left:
            return self.shown or len(self.accepted) > 0
        # There may be none: whoever beats everybody is ruled out with probability delta.
        return self.samples >= 2 * self.out_at or bool(self.circle())

    @property
    def shown(self) -> bool:
        """Whether it is shown that the only one left beats everyone."""
        left = self.active
        alone = len(left) == 1 and not self.changed
        return alone and self.purses.shown(int(left[0]), self.config.delta)

    def circle(self) -> list[int]:
        """Options each of which is shown to beat the next one, and the last the first; or none."""
        if self.inside.any() or self.changed:
            return []
        return shortest_cycle(self.purses.arrows(self.config.delta))

    def named(self) -> list[int]:
        if self.config.top == 1:
            return [self.leader()]
        return highest(self.scores(), self.inside, self.config.top).tolist()

    def leader(self) -> int:
        if self.config.top > 1:
            return self.named()[0]
        accepted = self.accepted
        among = accepted if len(accepted) else self.active
        among = among if len(among) else np.flatnonzero(~self.retired)
        return int(among[int(np.argmax(np.round(self.scores()[among], 9)))])

    def scores(self) -> FloatArray:
        if isinstance(self.purses, Most):
            return self.purses.shares
        return self.fitted.scores()

    # -- blocks ----------------------------------------------------------------------------
    @property
    def least(self) -> int:
        return max(super().least, 2 * self.pairing.options if self.serves else 0)

    def pairs(self, size: int, out: int) -> tuple[IntArray, IntArray]:
        return self._served(size) if self.serves else self._planned(size, out)

    def settle(self, block: Comparisons) -> None:
        self.purses.settle(block, self.record, self.fitted, self.inside)

    def concluded(self) -> None:
        self.inside = self.inside & (self.purses.peaks < self._goal)
        if not self.inside.any() and not self.out_at:
            self.out_at = self.samples

    def _planned(self, size: int, out: int) -> tuple[IntArray, IntArray]:
        """Two options for each comparison, the lower number first."""
        K, delta, left = self.pairing.options, self.config.delta, self.active
        gone = self.retired
        assert self.draws is not None
        purses = self.purses
        if not self.samples:
            pairs = first_pairs(K, size, out)
        elif (near := self._nearly_close()) is not None:
            pairs = against_all(*near, size)
        elif len(left) > 1:
            words = self.draws.words(PLAN, words_for(K, size))
            preferred = self.record.preferred(self.fitted)
            preferred[gone] = 0.0  # nobody has to fear them
            lost = ~self.inside & ~gone
            refuters = refuters_of(self.record.met, self.record.won, lost)
            pairs = top_two(self.fitted, preferred, refuters, self.inside, size, words)
        elif len(left) == 1:
            x = int(left[0])
            pairs = against_all(x, purses.pair_peaks[:, x], math.log(K / delta), size)
        else:
            enough = math.log(K * (K - 1) / delta)
            preferred = self.record.preferred(self.fitted)
            pairs = along_cycle(preferred, purses.pair_peaks, self.leader(), enough, size)
        return np.minimum(*pairs), np.maximum(*pairs)

    def _nearly_close(self) -> tuple[int, FloatArray, float] | None:
        """With epsilon: the leader, where it is close to all that are in, but not to all others."""
        config, purses = self.config, self.purses
        if not (config.epsilon and config.confirm) or not self.inside.any():
            return None
        enough, leader = purses.enough_close(config.delta), self.leader()
        assert isinstance(purses, Everyone)
        shown = purses.close_peaks[leader]
        far = shown < enough
        far[leader] = False
        others = self.inside & (np.arange(len(far)) != leader)
        if not far.any() or far[others].any():
            return None
        return leader, shown, enough

    def _served(self, size: int) -> tuple[IntArray, IntArray]:
        """Options that are in, equally often, each with an opponent at random."""
        assert self.draws is not None
        left = self.active
        if isinstance(self.purses, Most) and self.config.top > 1:
            # Who leads by enough need not be measured again before the others are decided.
            m, K = self.config.top, self.purses.K
            enough = self._goal + math.log(K - m)
            leading = np.array(self.named())
            left = left[~self.purses.settled(leading, self.inside, enough)[left]]
        each = max(1, size // len(left))
        served = np.tile(left, each)[: max(size, 1)] if size < len(left) else np.tile(left, each)
        words = self.draws.words(OPPONENT, len(served))
        there = np.flatnonzero(~self.retired)
        place = (words % np.uint64(len(there) - 1)).astype(np.int64)
        return served, there[place + (place >= np.searchsorted(there, served))]

    @property
    def _goal(self) -> float:
        """Log capital that rules an option out."""
        return math.log(self.config.top / self.config.delta) - self.purses.moved.racing

    def served(
        self,
        first: IntArray,
        second: IntArray,
        parts: IntArray | None,
        order: IntArray,
        number: int,
    ) -> IntArray:
        if not self.serves:
            return first
        if parts is None or self.draws is None:
            raise RunStateError("pairs: it is not known whom each comparison served")
        words = self.draws.of(number).words(ORDER, int(parts.max()) + 1)
        coins = words[parts[order]] >> np.uint64(63)
        return np.where(coins.astype(bool), second, first)

    # -- options that come and go ----------------------------------------------------------
    def turn(self, problem: Problem, retired: BoolArray) -> None:
        """Between two blocks: other options than before."""
        assert problem.pairing is not None
        count = problem.pairing.options - len(self.inside)
        self.problem, self.pairing = problem, problem.pairing
        self.features, self._fitted = features_of(problem.candidates), None
        anew = self.config.beats == "most"  # what is asked has changed for everybody
        if count:
            self.purses.enter(count, self.inside)
            self.record.grow(len(self.inside) + count)
            self.inside = np.append(self.inside, np.ones(count, dtype=bool))
            self.retired = np.append(self.retired, np.zeros(count, dtype=bool))
        for w in np.flatnonzero(retired & ~self.retired):
            self.purses.leave(int(w), self.inside)
            anew = True
        self.retired = retired.copy()
        if anew:
            self.inside = ~self.retired
        self.changed, self.out_at = True, 0

    def accept(self, config: Pairs) -> None:
        self.config = config
        self.purses.accept(config.epsilon)

    # -- what is said of it ----------------------------------------------------------------
    def spent(self) -> dict[str, float]:
        config, K = self.config, self.purses.K
        if config.beats == "most":
            return each_of_the_best(config.top, config.delta)
        return {f"against option {i}": config.delta / K for i in range(K)}

    def risks(self) -> list[Spent]:
        """Of a circle: of two options one is ahead, so one of two statements can be false."""
        if self.config.beats == "most":
            return []
        delta, K = self.config.delta, self.purses.K
        each = each_arrow(K, delta)
        pairs = {f"{i}, {j}": each for i in range(K) for j in range(i)}
        return [Spent("a circle", delta / 2, pairs, own=True)]

    def promise(self) -> Promise | None:
        config, left = self.config, len(self.active)
        if config.beats == "most":
            return None
        if config.confirm and left and not self.shown and len(self.accepted):
            assert isinstance(config.asked, Beats)
            return Promise(config.delta, config.asked.close_to_all(config.epsilon), config.theorem)
        if left > 1:
            return None
        if left == 1:
            assert isinstance(config.asked, Beats)
            what = BEATS_ALL if self.shown else config.asked.if_any()
            return Promise(config.delta, what, config.theorem)
        labels = self.problem.candidate_labels
        found = [labels[i] for i in self.circle()]
        beaten = [f"{a!r} beats {b!r}" for a, b in zip(found, [*found[1:], *found[:1]])]
        (circle,) = self.risks()
        also = Promise(circle.risk, in_a_circle(", ".join(beaten))) if found else None
        return Promise(config.delta, NO_ONE, config.theorem, also=also)

    def p_values(self) -> FloatArray:
        return np.minimum(1.0, self.config.top * np.exp(-self.purses.peaks))

    def progress(self) -> FloatArray:
        return np.clip(self.purses.peaks / self._goal, 0.0, 1.0)

    def evidence(self) -> dict[str, Any]:
        purses, leader = self.purses, self.leader()
        found: dict[str, Any] = {
            "rule": "pairs",
            "beats": self.config.beats,
            "blocks": list(self.blocks),
            "log_capital": purses.peaks,
        }
        if self.config.beats == "everyone":
            found |= {"against": purses.pair_peaks[:, leader], "cycle": self.circle()}
        if self.config.top > 1:
            found["question"] = {"top": self.config.top}
        elif self.config.epsilon:
            found["near"] = purses.near_peaks[leader]
        return found

    # -- saving ----------------------------------------------------------------------------
    def save(self) -> dict[str, Any]:
        own = {f"purse_{name}": getattr(self.purses, name) for name in self.purses.saved}
        return super().save() | own

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        for name in self.purses.saved:
            setattr(self.purses, name, memory[f"purse_{name}"])
