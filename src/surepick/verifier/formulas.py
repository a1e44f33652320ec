"""Purses, and what may be done with them: every question is a formula over these.

A purse holds capital bet against one null hypothesis, as logs: an account for each stake, which
began with fixed shares of it. Where the null is true, it grows on average in no block. That stays
so for a mixture, for a product over blocks, for the least of several (one of whose nulls is true),
for the average of several (all of whose are), and where capital is handed down.
"""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np

from surepick.verifier.estimate import log_sum

_LEAST_LIKELY = 1e-4
_ACCEPTING = 0.05  # fixed before anything was measured
_MOVED = 0.5  # of what is held at the moment when something is accepted from then on
RACING = math.log(1.0 - _ACCEPTING)  #: log of the share that rules options out
ACCEPTING = math.log(_ACCEPTING)  #: of the share that shows closeness


def averaged(logs: np.ndarray, axis: int = 0) -> np.ndarray:
    """Log of the average."""
    return np.logaddexp.reduce(logs, axis=axis) - math.log(logs.shape[axis])


def without_own(logs: np.ndarray, instead: float) -> np.ndarray:
    """Capital of pairs, (K, K): nobody is its own rival."""
    found = logs.copy()
    np.fill_diagonal(found, instead)
    return found


class Purses:
    """Many of them: log capital, (*shape, accounts)."""

    def __init__(self, shape: tuple[int, ...], start: np.ndarray) -> None:
        self.start, self.logs = start, np.tile(start, (*shape, 1))

    @property
    def total(self) -> np.ndarray:
        """The mixture over accounts."""
        return log_sum(self.logs)

    def pay(self, paid: np.ndarray) -> np.ndarray:
        """Pay all of them; by how much each has grown."""
        before = self.total
        self.logs = self.logs + paid
        return self.total - before

    def begin(self, capital: np.ndarray) -> Purses:
        found = Purses(capital.shape, self.start)
        found.logs += capital[..., None]
        return found

    def keep_at_most(self, most: np.ndarray) -> None:
        """Whoever has more gives the rest away, of every account alike."""
        self.logs = self.logs - np.maximum(self.total - most, 0.0)[..., None]


class NotAmong:
    """Against "x is one of the m best": the least of m purses, for each x.

    m − 1 candidates are *sure*: there is a purse for each of them, on "it beats x"; the last is on
    "one of the others beats x". If x is one of the m best, then either a sure candidate is none of
    them, and the purse on it does not grow, or all of the sure ones are, and none of the others
    beats x. Who is sure stays so while it is one of the m that look best; who comes in its place,
    and the last purse, go on with the least, and who stays keeps at most what was bet on who left.
    """

    def __init__(self, K: int, start: np.ndarray) -> None:
        self.others = Purses((K,), start)
        self.sure: dict[int, Purses] = {}

    def change(self, sure: list[int]) -> None:
        if not self.sure:
            self.sure = {one: self.others.begin(np.zeros(len(self.total()))) for one in sure}
        gone = [self._on(one) for one in self.sure if one not in sure]
        if not gone:
            return
        fresh, most, before = self.total(), np.min(gone, axis=0), self.sure
        self.sure = {one: before.get(one) or self.others.begin(fresh) for one in sure}
        for one in before.keys() & self.sure.keys():
            before[one].keep_at_most(most)
        self.others = self.others.begin(fresh)

    def total(self, some: np.ndarray | slice = slice(None)) -> np.ndarray:
        """What counts against some candidates."""
        found = log_sum(self.others.logs[some])
        return np.min([found, *(self._on(one)[some] for one in self.sure)], axis=0)

    def _on(self, one: int) -> np.ndarray:
        found = self.sure[one].total
        found[one] = math.inf
        return found


# -- close enough -----------------------------------------------------------------------------
# A share is set aside at the start; or what is close enough is named on the way, and half of what
# is held then goes to bets on closeness, which look at later data only. Either way all of it is one
# supermartingale that begins with 1 at most.
class Shares:
    """Logs of what rules options out, and of what is behind closeness against each of n."""

    def __init__(self, epsilon: float, n: int) -> None:
        self.racing = RACING if epsilon > 0 else 0.0
        self.behind = np.full(n, ACCEPTING)

    def accept(self, capital: np.ndarray) -> None:
        """Half of this log capital, as far as it counts, is behind closeness from now on."""
        self.behind = capital + self.racing + math.log(_MOVED)
        self.racing += math.log(1.0 - _MOVED)

    def enter(self, places: np.ndarray, left: np.ndarray) -> None:
        """Newcomers have no more behind them than anybody left."""
        self.behind[places] = min([0.0, *self.behind[left].tolist()])

    def leave(self, place: int) -> None:
        """Nobody has more behind it than the one that goes had."""
        self.behind = np.minimum(self.behind, self.behind[place])


def of_leader(number: int, several: int = 1) -> float:
    """Log of the part on closeness to one that led: the first is number 0.

    So many that lead at once have the same part; over all that ever lead they add up to all of it.
    """
    turn = 1 + number // several
    return -math.log(several * turn * (turn + 1))


def beside(racing: np.ndarray, close: np.ndarray) -> np.ndarray:
    """Both shares together, of the same moment: what settles an option beside one that is named."""
    return np.logaddexp(racing, close)


class Closeness:
    """Purses on "x is not more than epsilon better than a", for all a that ever led.

    x is close to a as soon as that and what is bet against x are enough together.
    """

    def __init__(
        self, K: int, start: np.ndarray, several: int, goal: float, epsilon: float
    ) -> None:
        self._K, self._start, self._several, self._goal = K, start, several, goal
        self.shares = Shares(epsilon, K)
        self._led: list[tuple[int, Purses, np.ndarray]] = []  # who, purses, where it was shown

    def to(self, leader: int) -> Purses:
        """The purses on one, whose turn comes when it leads for the first time."""
        found = next((own for one, own, _ in self._led if one == leader), None)
        if found is None:
            found = Purses((self._K,), self._start)
            self._led.append((leader, found, np.zeros(self._K, dtype=bool)))
        return found

    def look(self, leader: int, racing: np.ndarray, some: np.ndarray) -> None:
        """Whether it is shown by now of some candidates, against which so much is bet."""
        for number, (one, own, shown) in enumerate(self._led):
            if one == leader:
                part = self.shares.behind[some] + of_leader(number, self._several)
                close = log_sum(own.logs[some]) + part
                shown[some] |= beside(racing, close) >= self._goal - 1e-9

    def certain(self, leader: int, some: np.ndarray) -> None:
        """Nothing that is to come can change it of these."""
        next(shown for one, _, shown in self._led if one == leader)[some] = True

    def shown(self) -> dict[int, np.ndarray]:
        """Who is close to each that led."""
        return {one: shown for one, _, shown in self._led if one >= 0}

    def accept(self, capital: np.ndarray) -> None:
        """From now on more is close enough: half of this capital goes to showing that, anew."""
        self.shares.accept(capital)
        self._led = []

    def purses(self) -> list[np.ndarray]:
        """Of all that led."""
        return [own.logs for _, own, _ in self._led]

    def leave(self, place: int) -> None:
        """One goes: nobody is close to anybody any more; the numbers of those that led go on."""
        self.shares.leave(place)
        none = np.zeros(self._K, dtype=bool)
        self._led = [(-1, own, none.copy()) for _, own, _ in self._led]


# -- several claims, all of them right ----------------------------------------------------------
class Closed:
    """How much a claim takes if all are to be right together.

    The weighted sum of capital against all true statements is a supermartingale, and reaches
    1/delta times their weight with probability at most delta. A claim refutes a statement: it is
    safe if the sum over every set with that statement, which may be the true set if all earlier
    claims are right, has come so far.

    Parameters
    ----------
    weights : array, (kinds, n)
        Of the statements about each candidate, fixed before anything is bet.
    sets : list
        Which kinds of statements about one candidate may be true together.
    """

    def __init__(self, weights: np.ndarray, sets: list[tuple[int, ...]]) -> None:
        self.weights, self.sets = weights, sets

    def needed(self, reached: np.ndarray, made: list[int | None], kind: int, place: int) -> float:
        """Log capital over 1/delta that a claim of this kind about this candidate takes.

        ``reached`` is how much there is against each statement, in the same terms, (kinds, n);
        ``made`` what was claimed about each candidate.
        """
        lack = self.weights * np.maximum(1.0 - np.exp(np.minimum(reached, 0.0)), 0.0)
        total = 0.0
        for x, own in enumerate(lack.T):
            own = own.tolist()
            if x == place:
                may = [[j for j in one if j != kind] for one in self.sets if kind in one]
            else:
                may = [list(one) for one in self.sets if made[x] not in one]
            total += max(sum(own[j] for j in one) for one in may)
        return math.log1p(total / self.weights[kind, place])


class Steps(Closed):
    """Claims against a baseline: "not better", "not worse" and, with epsilon, "not close".

    One of the first two is true at least, and never all three. Weights are what the block without
    bets said.

    Parameters
    ----------
    lifts, variances, units : array, (n,)
        What candidates seemed to be ahead of the baseline before anything was bet; and what a pull
        of each would tell about it.
    near : float
        What is close enough; 0: nothing is.
    """

    def __init__(
        self, lifts: np.ndarray, variances: np.ndarray, units: np.ndarray, near: float
    ) -> None:
        error = np.sqrt(variances)
        short = [-lifts, lifts] if near == 0 else [-lifts, lifts, np.abs(lifts) - near]
        takes = np.sqrt(lifts**2 + 1.5 * variances)
        weights = np.array([odds(tail(by / error)) for by in short]) * takes.min() / takes
        super().__init__(weights, true_together(len(weights)))
        square = statistics.median(lifts**2 * units) / 0.455 - statistics.median(variances * units)
        self.prior = 1.0 / min(max(10.0 * square, 1.0), 20.0)

    def accounts(self, start: np.ndarray) -> np.ndarray:
        """What is added to the log capital of the two accounts of each way, at the start."""
        turned = min(-math.log(self.prior) / math.log(4.0), 1.0)
        shares = np.array([1 + turned, 2 - turned]) / 3
        return np.log(shares / (start[:2] / start[:2].sum()))


def true_together(kinds: int) -> list[tuple[int, ...]]:
    """Which statements about one candidate may be true together, against a baseline."""
    found = [rest for n in (1, 2) for rest in itertools.combinations(range(kinds), n)]
    return [rest for rest in found if 0 in rest or 1 in rest]


def tail(z: np.ndarray) -> np.ndarray:
    """How likely more than z standard errors are, with long tails as variances are estimates."""
    found = 0.5 / (1.0 + z * z)
    return np.where(z > 0, found, 1.0 - found)


def odds(likely: np.ndarray) -> np.ndarray:
    """Of something that is so likely, neither certain nor impossible."""
    likely = np.clip(likely, _LEAST_LIKELY, 1.0 - _LEAST_LIKELY)
    return likely / (1.0 - likely)
