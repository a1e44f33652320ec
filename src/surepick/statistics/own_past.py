"""Whether each option's rate kept its ratio to the others' from period to period; at every look.

A bot day, a conversion tag that dies, a novelty that wears off: one option's rate moves, and the
others' do not. What all options share (weekdays, campaigns) must not count, and neither must shares
that move. So options are looked at in pairs. Of the m successes that two of them had in a period,
with n and k visits, the first one's are binomial with the chance ρn/(ρn + k), where ρ is the ratio
of their rates, whatever their common level was (given m, independent rare events are exactly that;
with rates that are not small the true law varies less).

*Moved.* Under the null ρ stays within 5 % of one value. Against it stands a law that predicts
each period from those before: with probability 1 − h the ratio is what it was (β-binomial around
the estimate so far, as sure as the successes so far), with probability h it is another: one not far
from it, or any. Its
likelihood, over the null's *maximised* likelihood, is at most its ratio to the true law, which is a
martingale of mean 1. So the average over all pairs reaches 1/level with probability at most the
level, at any look (Ville). Pairs that are left out count as 0, which is safe.

*Changed sign.* Under "never ahead" every ratio is at most 1, period by period; the same predictions
over that null's maximised likelihood, begun in period s with the weight 1/((s + 1)(s + 2)), are a
bet as well, and so for "never behind". One of the two is true where leads keep their sign. So both
reach (number of pairs)/level for some pair with probability at most the level.

*Nothing ever.* An option whose rate is at least a quarter of the others' has none of their m
successes with probability at most Π (1 + n/(4k))^(−m), n and k visits of it and of all others.

*Newcomers* have no past. Those that come together are looked at from their first period on, with
all pairs that have one of them, in an account of its own: the j-th addition has 1/(j(j + 1)) of the
level. So all additions together, whatever they react to, raise a false alarm with probability at
most the level again (Σ 1/(j(j + 1)) ≤ 1), and the accounts of those who were there stay as they
are. (To share one account anew at each addition would not do: who adds options whenever there is
little evidence would have it begin again and again.)

*Further numbers* that are counted, such as refunds, are looked at in the same way. With c numbers
in all, each has 1/c of the level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surepick.arrays.types import FloatArray, IntArray

LEVEL = 0.01  # of ever raising a false alarm, for each of the three
TOLERANCE = 0.05  # by which log ρ may differ from its usual value
QUARTER = 4.0  # an option without any success is expected to have a quarter of the others' rate
_MOST = 64  # options of which all pairs are looked at; of more, those with a few of them
_PARTNERS = 4
_LEAST = 1e-9  # of a chance
_NEAR = 12.0  # successes that "not far from what it was" counts for
_FAR, _STEPS = 40.0, 34  # |log ρ| at most, and halvings of that range


@dataclass(frozen=True)
class Moved:
    """An option that went its own way, and where that was seen."""

    option: int
    other: int | None  #: whom it changed places with; None: its own rate moved, or is 0
    period: int
    dead: bool = False  #: it has had no success at all


class OwnPast:
    """Successes of options that are compared with their own past, period by period.

    Parameters
    ----------
    n
        Options that there are.
    known
        So many of them were there before this addition, and have accounts of their own.
    addition
        Which one it is: 1, 2, …; 0 for the options that were there at first.
    begun
        The first period with them.
    shared
        So many numbers share the level.
    """

    def __init__(
        self, n: int, known: int = 0, addition: int = 0, begun: int = 0, shared: int = 1
    ) -> None:
        first, second = np.triu_indices(n, 1)
        looked_at = second >= known
        if n > _MOST:
            looked_at &= first < _PARTNERS
        first, second = first[looked_at], second[looked_at]
        self._n, self._first, self._second = n, first, second
        self._known, self._begun = known, begun
        self._pairs = max((n * (n - 1) - known * (known - 1)) // 2, 1)
        self._late = math.log(shared * (addition * (addition + 1) if addition else 1))
        self._visits: list[FloatArray] = []
        self._hits: list[FloatArray] = []
        self._law = np.zeros(len(first))  # log likelihood of the predictions
        self._seen = np.zeros(len(first))  # periods in which both had visitors
        self._signs = np.zeros((2, len(first)))  # bets against "never ahead" and "never behind"
        self._most = np.zeros((2, len(first)))  # and the largest they ever were
        self._none = np.zeros(n)  # log evidence that an option without success is dead
        self._told: set[str] = set()
        self.log_evidence = 0.0  #: the largest there ever was, of any of the three
        self.found: list[Moved] = []  #: alarms, in the order in which they were raised

    def add(self, visits: IntArray | FloatArray, hits: IntArray | FloatArray) -> None:
        n, s = visits[: self._n].astype(np.float64), hits[: self._n].astype(np.float64)
        i, j = self._first, self._second
        both = (n[i] > 0) & (n[j] > 0)
        own, total = np.where(both, s[i], 0.0), np.where(both, s[i] + s[j], 0.0)
        shift = np.log(np.maximum(n[i], 1.0) / np.maximum(n[j], 1.0))
        step = self._predicted(own, total, shift)
        self._law += step
        self._visits.append(n)
        self._hits.append(s)
        self._seen += both
        evidence = self._law - self._likeliest()
        self._look(_mean_log(evidence, self._pairs), "moved", lambda: self._who(evidence))
        self._change_of_sign(step, own, total, shift)
        self._nothing_ever(n, s)

    def _look(self, log_evidence: float, what: str, who: Callable[[], Moved]) -> None:
        log_evidence -= self._late
        self.log_evidence = max(self.log_evidence, log_evidence)
        if log_evidence >= -math.log(LEVEL) and what not in self._told:
            self._told.add(what)
            self.found.append(who())

    # -- moved -----------------------------------------------------------------------------
    def _predicted(self, own: FloatArray, total: FloatArray, shift: FloatArray) -> FloatArray:
        """Log probability of what came, from the periods before."""
        if not self._visits:
            return _another(own, total, _sigmoid(shift))
        past = np.stack([self._columns(t)[1] for t in range(len(self._visits))]).sum(axis=0)
        usual = np.clip(_sigmoid(self._ratio(0.0, steady=True) + shift), _LEAST, 1.0 - _LEAST)
        strength = past + 1.0
        same = _log_beta_binomial(own, total, strength * usual, strength * (1.0 - usual))
        another, h = _another(own, total, usual), 1.0 / (self._seen + 2.0)
        mixed = np.logaddexp(np.log1p(-h) + same, np.log(h) + another)
        return np.where(past > 0, mixed, another)

    def _columns(self, t: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Successes of the first of each pair, of both, and the log ratio of their visits."""
        n, s = self._visits[t], self._hits[t]
        i, j = self._first, self._second
        both = (n[i] > 0) & (n[j] > 0)
        shift = np.log(np.maximum(n[i], 1.0) / np.maximum(n[j], 1.0))
        return np.where(both, s[i], 0.0), np.where(both, s[i] + s[j], 0.0), shift

    def _table(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """What :meth:`_columns` has for all periods, and the log ratio that each one shows."""
        columns = [self._columns(t) for t in range(len(self._visits))]
        own, total, shift = (np.stack(one) for one in zip(*columns, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            shown = np.log(own) - np.log(total - own) - shift
        return own, total, shift, np.nan_to_num(shown, nan=0.0, posinf=_FAR, neginf=-_FAR)

    def _ratio(self, tolerance: float, steady: bool = False) -> FloatArray:
        """The log ratio with the largest likelihood, by halving: the slope falls."""
        own, total, shift, shown = self._table()
        low, high = np.full(own.shape[1], -_FAR), np.full(own.shape[1], _FAR)
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            at = np.clip(shown, middle - tolerance, middle + tolerance)
            slope = (own - total * _sigmoid(at + shift)).sum(axis=0)
            if steady:  # half a success for either: neither is certain to have none
                slope += 0.5 - _sigmoid(middle)
            low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
        return 0.5 * (low + high)

    def _likeliest(self) -> FloatArray:
        """The largest log likelihood that the null gives to what came."""
        own, total, shift, shown = self._table()
        ratio = self._ratio(TOLERANCE)
        at = np.clip(shown, ratio - TOLERANCE, ratio + TOLERANCE)
        return _log_likelihood(own, total, at + shift).sum(axis=0)

    def _who(self, evidence: FloatArray) -> Moved:
        """The option that speaks most against all its partners together.

        With two options nobody can tell: the one whose own rate moved by the larger factor.
        """
        sums = np.full(self._n, -np.inf)
        for option in range(self._known, self._n):
            mine = (self._first == option) | (self._second == option)
            if mine.any():
                sums[option] = evidence[mine].mean()
        close = np.flatnonzero(sums >= sums.max() - 1e-9)
        moved = [self._own_move(int(option)) for option in close]
        return Moved(int(close[int(np.argmax(moved))]), None, self._last)

    @property
    def _last(self) -> int:
        return self._begun + len(self._hits) - 1

    def _own_move(self, option: int) -> float:
        """By how much an option's rate differs from what it was, as a logarithm."""
        n, s = (np.array([one[option] for one in rows]) for rows in (self._visits, self._hits))
        before = (s[:-1].sum() + 0.5) / (n[:-1].sum() + 1.0)
        return abs(math.log((s[-1] + 0.5) / (n[-1] + 1.0) / before))

    # -- changed sign ----------------------------------------------------------------------
    def _change_of_sign(
        self, step: FloatArray, own: FloatArray, total: FloatArray, shift: FloatArray
    ) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            shown = np.nan_to_num(np.log(own) - np.log(total - own) - shift, nan=0.0)
        s = len(self._visits) - 1
        weight = 1.0 / ((s + 1.0) * (s + 2.0))
        for side, null in enumerate((np.minimum(shown, 0.0), np.maximum(shown, 0.0))):
            null = np.clip(null, -_FAR, _FAR)
            factor = step - _log_likelihood(own, total, null + shift)
            begun = np.log(np.exp(np.minimum(self._signs[side], 600.0)) * (s > 0) + weight)
            self._signs[side] = begun + factor
            self._most[side] = np.maximum(self._most[side], self._signs[side])
        lesser = self._most.min(axis=0)
        if len(lesser):
            best = int(np.argmax(lesser))
            pair = (int(self._first[best]), int(self._second[best]))
            log_evidence = float(lesser[best]) - math.log(self._pairs)
            self._look(log_evidence, "sign", lambda: Moved(pair[0], pair[1], self._last))

    # -- nothing ever ----------------------------------------------------------------------
    def _nothing_ever(self, n: FloatArray, s: FloatArray) -> None:
        others, successes = n.sum() - n, s.sum() - s
        self._none += successes * np.log1p(n / (QUARTER * np.maximum(others, 1.0)))
        self._none[s > 0] = -np.inf
        self._none[: self._known] = -np.inf
        worst, last = int(np.argmax(self._none)), self._last
        found = _mean_log(self._none, self._n - self._known)
        self._look(found, "dead", lambda: Moved(worst, None, last, dead=True))


def _mean_log(logs: FloatArray, n: int) -> float:
    """Log of a sum of exponentials over n."""
    return float(np.logaddexp.reduce(logs)) - math.log(n)


def _sigmoid(x: FloatArray) -> FloatArray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _log_likelihood(own: FloatArray, total: FloatArray, log_odds: FloatArray) -> FloatArray:
    """Log probability of a series with so many successes of the first, less its coefficient."""
    rest = np.logaddexp(0.0, -log_odds)
    return -own * rest - (total - own) * (log_odds + rest)


def _another(own: FloatArray, total: FloatArray, near: FloatArray) -> FloatArray:
    """Log probability if the chance is not far from this one, or (as likely) anything."""
    close = _log_beta_binomial(own, total, _NEAR * near, _NEAR * (1.0 - near))
    return np.logaddexp(close, _log_beta_binomial(own, total, 0.5, 0.5)) - math.log(2.0)


def _log_beta_binomial(
    own: FloatArray, total: FloatArray, a: FloatArray | float, b: FloatArray | float
) -> FloatArray:
    """Log probability, but for a factor, if the chance is β-distributed."""
    from scipy.special import betaln

    return betaln(a + own, b + total - own) - betaln(a, b)
