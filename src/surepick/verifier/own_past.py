"""Options whose rate moved while the others' did not, in reports of yes or no.

Two options at a time: of the successes both had in a period, the share of the first is ρn/(ρn + k),
where n and k are their visits and ρ the ratio of their rates. Three things must not be shown, each
at the level 0.01 over all looks: that some ρ left a range of ± 5 %; that one was above 1 and was
below 1; that an option without success has less than a quarter of the others' rate. Options that
came later are looked at from then on, and have 1/(j(j + 1)) of the level with the j-th addition.
Where further numbers are counted, all share the level alike.
Why these are bets is told in the library; the numbers must be the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_LIMIT = math.log(100.0)
_SLACK = 1e-6  # what is this close to an alarm may be none
_WIDTH, _FAR = 0.05, 40.0
_ALL, _FEW = 64, 4


def went_their_own_way(
    reports: list[tuple[np.ndarray, np.ndarray]],
    sizes: Sequence[int] = (),
    begun: Sequence[int] = (0,),
    shared: int = 1,
) -> str:
    """Why reports (visits, successes) speak against one of the three; empty: they do not.

    ``sizes`` has how many options there were at first, and with each addition; ``begun`` the first
    period with them. So many numbers share the level.
    """
    sizes = sizes or [len(reports[0][0])]
    for wave, (n_arms, first) in enumerate(zip(sizes, begun, strict=True)):
        own = [(visits[:n_arms], hits[:n_arms]) for visits, hits in reports[first:]]
        known = sizes[wave - 1] if wave else 0
        late = math.log(shared * (wave * (wave + 1) if wave else 1))
        found = _of_wave(own, n_arms, known, late)
        if found:
            return found
    return ""


def _of_wave(
    reports: list[tuple[np.ndarray, np.ndarray]], n_arms: int, known: int, late: float
) -> str:
    """Those that came together, each against its own past, beside so many there before."""
    limit = _LIMIT + _SLACK + late
    pairs = [(i, j) for i in range(n_arms) for j in range(max(i + 1, known), n_arms)]
    n_pairs = max(len(pairs), 1)
    if n_arms > _ALL:
        pairs = [pair for pair in pairs if pair[0] < _FEW]
    one, two = (np.array([pair[k] for pair in pairs], dtype=np.int64) for k in (0, 1))
    seen = _Pairs(one, two)
    silent = np.zeros(n_arms)
    for number, (visits, hits) in enumerate(reports):
        seen.take(visits, hits, number)
        if _log_sum(seen.evidence()) - math.log(n_pairs) >= limit:
            return f"its rate moved (period {number + 1})"
        both = np.minimum(seen.above, seen.below)
        if len(both) and both.max() - math.log(n_pairs) >= limit:
            return f"two options changed places (period {number + 1})"
        rest = np.maximum(visits.sum() - visits, 1.0)
        silent = silent + (hits.sum() - hits) * np.log(1.0 + visits / (4.0 * rest))
        silent = np.where((hits > 0) | (np.arange(n_arms) < known), -np.inf, silent)
        if _log_sum(silent) - math.log(n_arms - known) >= limit:
            return f"{int(np.argmax(silent))} has no success (period {number + 1})"
    return ""


class _Pairs:
    """All pairs, period by period."""

    def __init__(self, one: np.ndarray, two: np.ndarray) -> None:
        self.one, self.two = one, two
        self.won = self.all = self.odds = np.empty((0, len(one)))  # a row for each period
        self.periods = np.zeros(len(one))
        self.predicted = np.zeros(len(one))
        self.ups = self.downs = np.full(len(one), -np.inf)
        self.above = self.below = np.zeros(len(one))

    def take(self, visits: np.ndarray, hits: np.ndarray, number: int) -> None:
        n, k = visits[self.one], visits[self.two]
        here = (n > 0) & (k > 0)
        won = np.where(here, hits[self.one], 0.0)
        total = np.where(here, hits[self.one] + hits[self.two], 0.0)
        odds = np.log(np.maximum(n, 1.0)) - np.log(np.maximum(k, 1.0))
        step = self._prediction(won, total, odds)
        self.predicted = self.predicted + step
        for name, row in (("won", won), ("all", total), ("odds", odds)):
            setattr(self, name, np.vstack([getattr(self, name), row]))
        self.periods = self.periods + here
        alone = _shown(won, total, odds)
        weight = -math.log((number + 1) * (number + 2))
        of_up = step - _likelihood(won, total, np.minimum(alone, 0.0) + odds)
        of_down = step - _likelihood(won, total, np.maximum(alone, 0.0) + odds)
        self.ups = np.logaddexp(np.minimum(self.ups, 600.0), weight) + of_up
        self.downs = np.logaddexp(np.minimum(self.downs, 600.0), weight) + of_down
        self.above, self.below = (
            np.maximum(self.above, self.ups),
            np.maximum(self.below, self.downs),
        )

    def _prediction(self, won: np.ndarray, total: np.ndarray, odds: np.ndarray) -> np.ndarray:
        if not len(self.won):
            return _another(won, total, _chance(odds))
        before = self.all.sum(axis=0)
        usual = np.minimum(np.maximum(_chance(self._best(0.0, 0.5) + odds), 1e-9), 1.0 - 1e-9)
        same = _beta_binomial(won, total, (before + 1.0) * usual, (before + 1.0) * (1.0 - usual))
        another, h = _another(won, total, usual), 1.0 / (self.periods + 2.0)
        mixed = np.logaddexp(np.log(1.0 - h) + same, np.log(h) + another)
        return np.where(before > 0, mixed, another)

    def _best(self, width: float, prior: float) -> np.ndarray:
        """The log ratio whose likelihood is largest: where its slope changes sign."""
        alone = _shown(self.won, self.all, self.odds)
        low = np.full(len(self.one), -_FAR)
        high = -low
        while float((high - low).max(initial=0.0)) > 1e-9:
            x = 0.5 * (low + high)
            q = _chance(np.minimum(np.maximum(alone, x - width), x + width) + self.odds)
            up = (self.won - self.all * q).sum(axis=0) + prior * (1.0 - 2.0 * _chance(x)) > 0
            low, high = np.where(up, x, low), np.where(up, high, x)
        return 0.5 * (low + high)

    def evidence(self) -> np.ndarray:
        """Log likelihood of the predictions over the largest that ± 5 % allows."""
        alone, x = _shown(self.won, self.all, self.odds), self._best(_WIDTH, 0.0)
        at = np.minimum(np.maximum(alone, x - _WIDTH), x + _WIDTH)
        return self.predicted - _likelihood(self.won, self.all, at + self.odds).sum(axis=0)


def _shown(won: np.ndarray, total: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """The log ratio of the rates that a period shows by itself, if not beyond all bounds."""
    lost = total - won
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(won) - np.log(lost) - odds
    ratio = np.where(won + lost == 0, 0.0, ratio)
    return np.where(ratio == np.inf, _FAR, np.where(ratio == -np.inf, -_FAR, ratio))


def _likelihood(won: np.ndarray, total: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    return won * np.log(_chance(log_odds)) + (total - won) * np.log(_chance(-log_odds))


def _another(won: np.ndarray, total: np.ndarray, near: np.ndarray) -> np.ndarray:
    close = _beta_binomial(won, total, 12.0 * near, 12.0 * (1.0 - near))
    return np.logaddexp(close, _beta_binomial(won, total, 0.5, 0.5)) - math.log(2.0)


def _beta_binomial(won: np.ndarray, total: np.ndarray, a: object, b: object) -> np.ndarray:
    from scipy.special import gammaln

    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    rising = gammaln(a + won) - gammaln(a) + gammaln(b + total - won) - gammaln(b)
    return rising - gammaln(a + b + total) + gammaln(a + b)


def _chance(log_odds: np.ndarray) -> np.ndarray:
    from scipy.special import expit  # here: it takes a quarter of a second to load

    return expit(log_odds)


def _log_sum(logs: np.ndarray) -> float:
    top = float(logs.max(initial=-np.inf))
    return top if top == -np.inf else top + math.log(float(np.exp(logs - top).sum()))
