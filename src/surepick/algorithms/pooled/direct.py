"""Where the pulls of a block go when options are compared by their own rewards.

The lead of the leader over x has variance v_L/n_L + v_x/n_x, so the best numbers of pulls solve an
equation in one unknown, n_L. The first block is a design for the features, which guide.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.guide import squared_units
from surepick.algorithms.pooled.lacking import Lacking
from surepick.algorithms.pooled.parts import PART_COST
from surepick.algorithms.pooled.planner import BlockDesign, Planner
from surepick.algorithms.pooled.prices import prices
from surepick.arrays.grid import coarse
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem

_LEANS = 4.0  # times the misfit that comparisons by features have to allow for, about
_STEPS = 60  # halvings of the interval of n_L
_ROUNDS = 200  # in which weights of pairs move, at most,
_PARTS = 2.0**20  # of a pull, to which it is rounded what an arm is due
_CLOSE_TO = 1.03  # times the pulls that are needed in any case


class DirectPlanner(Planner):
    """As :class:`Planner`; with a finite misfit, features may be the cheaper way.

    ``shares`` hold what each arm was due in earlier blocks and has not got, a fraction of a pull,
    and behind that the shares of directions in designs for features.
    """

    def __init__(
        self,
        problem: Problem,
        features: Planner,
        in_parts: bool,
        misfit: float = math.inf,
    ) -> None:
        self.problem, self._features, self._misfit = problem, features, misfit
        self._part_cost = PART_COST if in_parts else 0.0
        self._squared, self._prices = squared_units(problem), prices(problem)
        self._variances: FloatArray = self._squared * self._prices  # of a reward, per money

    def weigh(self, scales: Scales) -> None:
        self._features.weigh(scales)
        each = coarse(scales.of(np.arange(len(self._squared))))
        self._variances = self._squared * each * self._prices

    def first_shares(self) -> FloatArray:
        return np.append(np.zeros(self.problem.n_arms), self._features.first_shares())

    def first(self) -> BlockDesign:
        return self._features.first()

    def next(
        self, leader: int, missing: Lacking, weights: FloatArray, shares: FloatArray
    ) -> BlockDesign:
        K = self.problem.n_arms
        due, directions = shares[:K], shares[K:]
        wanted = np.clip(missing.pulls, 0.0, None)  # with a variance of one for each pull
        if missing.counts is not None:
            counts, others = missing.counts * self._prices, missing.counts > 0
        elif missing.pairs is not None:
            counts = self._of_pairs(wanted, missing)
            others = wanted > 0
        else:
            wanted[leader] = 0.0
            if leader == K:  # a number, which is not measured
                wanted, missing = wanted[:K], Lacking(missing.pulls[:K], missing.nats[:K])
                counts = 2.0 * wanted * self._variances
            else:
                counts = direct_counts(leader, 2.0 * wanted, self._variances)
            others = wanted > 0
            least = np.broadcast_to(self._prices, len(counts))[others]
            counts[others] += self._part_cost * missing.nats[others] * least
            counts[others] = np.maximum(counts[others], least)
            if leader < K:
                nats = float(missing.nats[others].max(initial=0.0))
                counts[leader] = max(float(counts[leader]), self._led(leader, nats))
        total = float(counts.sum())
        direct = BlockDesign(counts / total, total, np.zeros((0, 0)), due, missing.nats)
        if math.isinf(self._misfit):
            return direct
        # A lead g that is worth nats/g² pulls is worth less by what has to be allowed for.
        leads = np.sqrt(missing.nats[others] / wanted[others])
        leads = np.maximum(leads - _LEANS * self._misfit, 1e-3 * leads)
        wanted[others] = missing.nats[others] / leads**2
        less = missing._replace(pulls=wanted)
        by_features = self._features.next(leader, less, weights, directions)
        return by_features if coarse(by_features.value) < coarse(total) else direct

    def _led(self, arm: int, nats: float) -> float:
        """What is spent at least on an arm that leads others, of which one lacks so much evidence.

        Whoever is compared with it in so many parts needs it in as many. Without that, a lead so
        clear that hardly any pull seems to be missing is not measured at all.
        """
        price = float(np.broadcast_to(self._prices, self.problem.n_arms)[arm])
        return max(self._part_cost * nats, 1.0) * price

    def _of_pairs(self, wanted: FloatArray, missing: Lacking) -> FloatArray:
        """What to spend on each arm for the leads of several over others."""
        assert missing.pairs is not None
        counts = pair_counts(missing.pairs, 2.0 * wanted, self._variances)
        nats = np.zeros(len(counts))
        np.maximum.at(nats, missing.pairs[1], missing.nats)
        out = nats > 0
        least = np.broadcast_to(self._prices, len(counts))[out]
        counts[out] = np.maximum(counts[out] + self._part_cost * nats[out] * least, least)
        for arm in np.unique(missing.pairs[0]):
            most = float(missing.nats[missing.pairs[0] == arm].max())
            counts[arm] = max(float(counts[arm]), self._led(int(arm), most))
        return counts

    def whole_pulls(
        self, weights: FloatArray, n: int, judges: BlockDesign, must_span: bool
    ) -> IntArray:
        """What each arm is due, with what it was due before; the rest of a pull is kept in mind."""
        if len(judges.directions):
            return self._features.whole_pulls(weights, n, judges, must_span)
        # To a grid of absolute width: what is due is a whole number now and then.
        due = np.round((weights * n + judges.shares) * _PARTS) / _PARTS
        counts = np.clip(np.floor(due), 0, None).astype(np.int64)
        order = np.argsort(counts - due, kind="stable")  # most of a pull first
        missing = n - int(counts.sum())
        if missing >= 0:
            rounds, rest = divmod(missing, len(order))
            counts[order] += rounds
            counts[order[:rest]] += 1
        while missing < 0:
            counts[np.argmax(counts)] -= 1
            missing += 1
        judges.shares[:] = np.clip(due - counts, -1.0, 1.0)
        return counts

    def pulls_in_parts(
        self, weights: FloatArray, n: int, judges: BlockDesign
    ) -> tuple[IntArray, int]:
        return self.whole_pulls(weights, n, judges, must_span=False), 1  # parts are each arm's own


def direct_counts(leader: int, needs: FloatArray, variances: FloatArray) -> FloatArray:
    """Fewest pulls n with needs_x · (v_L/n_L + v_x/n_x) ≤ 1 for all x, as fractions.

    For a given n_L the others are n_x = needs_x v_x / (1 − needs_x v_L/n_L), and the sum of all is
    convex in n_L.
    """
    own, others = variances[leader], needs > 0
    s, v = needs[others], variances[others]
    counts = np.zeros(len(needs))
    if not len(s):
        counts[leader] = 1.0
        return counts
    # What is the same in all steps is worked out before them.
    floor, least, each = float(s.max()) * own, s * own, s**2 * v * own
    low, high = 0.0, float(np.sqrt(each.sum()))  # of n_L − floor
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        slope = 1.0 - float(np.add.reduce(each / np.square(floor + middle - least)))
        low, high = (middle, high) if slope < 0 else (low, middle)
    counts[leader] = floor + high
    counts[others] = s * v / (1.0 - s * own / counts[leader])
    return counts


def pair_counts(
    pairs: tuple[IntArray, IntArray], needs: FloatArray, variances: FloatArray
) -> FloatArray:
    """About the fewest pulls n with needs_p · (v_a/n_a + v_x/n_x) ≤ 1 for all pairs p = (a, x).

    For given weights of the pairs the best shares of the arms have a closed form; the weights move
    towards the pairs that are worst off.
    """
    ahead, behind = pairs
    mixed = np.full(len(needs), 1.0 / len(needs))
    best, found = math.inf, np.ones(len(variances))
    for _ in range(_ROUNDS):
        both = mixed * needs
        cost = variances * (
            np.bincount(ahead, both, len(variances)) + np.bincount(behind, both, len(variances))
        )
        shares = np.sqrt(cost) / np.sqrt(cost).sum()
        each = np.divide(variances, shares, out=np.zeros_like(shares), where=shares > 0)
        takes = needs * (each[ahead] + each[behind])
        worst = float(takes.max())
        if worst < best:
            best, found = worst, shares * worst
        if worst <= _CLOSE_TO * float((mixed * takes).sum()):  # which no shares can be below
            break
        mixed = np.maximum(mixed * takes / worst, 1e-12)
        mixed /= mixed.sum()
    return found
