"""Whether an option changed over time otherwise than those that were measured beside it.

What all options of a batch share may change as it likes, so an option k is compared with a
reference from the same batch and stratum (a *cell*): another option, or the mean of all others that
are measured cell after cell. The null hypothesis: rewards of an option are normal, with a mean and
a scale of its own that stay, plus a level that is the same for all options of a cell. Nothing is
known of all these numbers. In each cell, then, the n rewards of k less the mean of the reference
have one mean m, whatever the level; the covariance s²(I + κ/q·11ᵀ), as the reference is the mean of
q values of variance κs²; and these q values differ among themselves by κs². What is measured
depends on the past only.

*The evidence against it.* Let y be all of this, f(t) one of the shapes of drift below, and the
first cells set apart, up to the first that says how much rewards vary:

    E = average over κ of q(y | y apart) / max over (m, s, κ) of p(y),

both for the y that are not set apart; p is the density above, and q what y = a + b·f(t) + noise
predicts for the option, b ~ N(0, g s²), with flat priors of a and log s, which the y set apart make
proper. *Proof.* For the true (m, s, κ) the ratio of q to the density of the y of a cell given all
before has mean 1 given the past, so the product of these ratios is a nonnegative martingale that
starts at 1, for any rule that chooses what is measured and any time to stop; the largest p makes E
smaller than that. So does the average over shapes, sizes g, options and references, with weights
that are fixed beforehand and sum to 1: by Ville's inequality it ever reaches 1/level with
probability at most level. ∎ (The largest p is that over a grid of κ, which numerator and
denominator share. Where options are added, those that join start at 1, and all weights are those of
the larger number: the level is then that of the time since the last one joined.)

Nothing is paid for the number of moments at which a change may begin but the weight of its shape,
nor for means and levels of all options: only for m, s and κ of one of them. In closed form, with
w = n / (1 + κ n/q) the weight of a cell's mean, S_yy, S_ff and S_fy sums of squares about the mean,
and W the sum of the w:

    Q = S_yy − g S_fy² / (1 + g S_ff),
    log q(y) = log Γ((n−1)/2) − (n−1)/2 · log(π Q) − ½ log(W (1 + g S_ff)) − ½ Σ log(1 + κ n/q).

Within a cell, what rewards of k rise by over time counts less what those of another option do, in
case the level moves meanwhile; that difference, in place of the two slopes, has a variance of
s²(1/T + κ/U), T and U being Σ (time − mean)² of the one and the other.

*Noise that is not normal.* E depends on the y through ratios of sums of squares only, and grows by
how much smaller they are about a drift than about a mean. An outlier makes both large: heavy tails
make the check blind rather than loud. ``benchmarks/drift_power.py`` has the rates.

Where levels do not cancel, an option is looked at by itself: y is its reward, and κ = 0.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.statistics.gamma import log_gamma

MOST_OPTIONS = 512  #: that are looked at: those that were measured first
_MOST_PAIRED = 16  # options that are compared one by one
_PAIRED = 0.75  # the share of these; others are compared with the mean of all
_SIZE = 10.0  # of drifts that are looked for, in standard deviations
_STARTS = tuple(8.0 * 2.0**j for j in range(16))  # pulls after which a change may begin
_SPANS = tuple(32.0 * 4.0**j for j in range(8))  # pulls over which a steady drift may take place
_SHAPES = 1 + len(_STARTS)
_RATIOS = tuple(0.02 * 2.0**j for j in range(11))  # κ: the reference's variance in units of s²
_MOST_CELLS = 64  # that are looked at of those that come together: more take too long
_EACH, _MOST_PIECES = 8, 32  # pulls of an option in a part of a large cell; parts
_EITHER = 0.9  # of what speaks for one option speaks for another: it may be either
_MISSED = 2  # cells in a row without all of the reference's options, after which it is another one
_PRICE = 2.0  # log of what shapes and sizes take at least of the evidence, by their weights
_ROUNDING = 1e-9  # of the sum of squares: below, differences are rounding errors


def shapes(time: FloatArray) -> FloatArray:
    """What drifts may look like at these times (in pulls), a column for each shape.

    A steady one; and one for each start, from there to four times that, straight in log time.
    """
    late = np.log(np.maximum(time[:, None], 1.0) / np.array(_STARTS)) / math.log(4.0)
    return np.column_stack([time, np.clip(late, 0.0, 1.0)])


def may_drift(
    numbers: Any, arms: Any, rewards: Any, batches: Any, levels_cancel: bool, level: float
) -> bool:
    """Whether it is worth looking for an option that drifts, by a look that takes hardly any time.

    Rewards less the mean of their option, and less the level of their batch where that cancels, are
    correlated with each shape, option by option. With a correlation r of n rewards, of which two
    are set apart and one pays for the mean, a drift of that shape makes them about
    (1 − r²)^(−(n−3)/2) times as likely, if it is known to the point. For an alarm that has to be
    1/level times the number of options, and more, as shapes and sizes have weights as well. Who is
    not looked at raises no alarm, so this keeps the level.
    """
    own = np.unique(arms, return_inverse=True)[1].ravel()
    n = np.bincount(own).astype(float)
    left = rewards - (np.bincount(own, rewards) / n)[own]
    most = float(np.abs(left).max(initial=0.0))
    if most == 0.0:  # they are all the same
        return False
    left = left / most
    if levels_cancel:  # a level is told best by options that vary little
        weight = (n / np.maximum(np.bincount(own, left * left), 1e-12))[own]
        shared = np.bincount(batches, weight * left) / np.bincount(batches, weight)
        left = left - shared[batches]
    order = np.argsort(own, kind="stable")
    first = np.r_[0, np.cumsum(n)[:-1]].astype(np.int64)
    left, f = left[order], shapes(numbers[order] + 1.0)
    left = left - np.repeat(np.add.reduceat(left, first) / n, n.astype(np.int64))
    yy, fy = np.add.reduceat(left * left, first), _sums(f * left[:, None], first)
    ff = _sums(f * f, first) - _sums(f, first) ** 2 / n[:, None]
    size = np.maximum(yy[:, None] * ff, 1e-300)
    rest = np.maximum(1.0 - fy * fy / size, 1e-12)
    gains = np.where(ff > 0, -0.5 * np.maximum(n - 3.0, 0.0)[:, None] * np.log(rest), 0.0)
    return float(gains.max()) > math.log(len(n) / level) + _PRICE


def _priors() -> list[tuple[int, float, float]]:
    """(shape, variance g of its size, weight) of everything that is averaged."""
    steady = [(0, (_SIZE / span) ** 2) for span in _SPANS]
    late = [(1 + j, _SIZE**2) for j in range(len(_STARTS))]
    found = []
    for family in (steady, late):
        shares = np.array([1.0 / ((j + 1) * (j + 2)) for j in range(len(family))])
        shares *= 0.5 / shares.sum()
        found += [(*one, float(share)) for one, share in zip(family, shares)]
    return found


_PRIORS = _priors()


class Evidence(NamedTuple):
    """What speaks for options that changed on their own."""

    log_evidence: float
    arms: tuple[int, ...]  #: those that did, the clearest first
    change: float  #: of the first of them, over the time it was looked at
    blind: bool  #: nothing was compared yet
    clearest: float = 0.0  #: log of the evidence of the comparison that speaks for it most
    unsure: bool = False  #: one of the options named changed beside the other, or the other did


class _Pulls(NamedTuple):
    """Pulls in the order of time."""

    numbers: FloatArray
    slots: IntArray
    rewards: FloatArray

    def of(self, which: Any) -> _Pulls:
        return _Pulls(self.numbers[which], self.slots[which], self.rewards[which])


class _Cell(NamedTuple):
    """The rewards of one option in a cell, of several options a row each."""

    n: FloatArray
    mean: FloatArray
    square: FloatArray  #: Σ (reward − mean)²
    f: FloatArray  #: means of the shapes; their squares and products with rewards about these
    ff: FloatArray
    fy: FloatArray
    time: FloatArray
    tt: FloatArray  #: Σ (time − mean)²
    ty: FloatArray  #: and its products with rewards and shapes
    tf: FloatArray

    def of(self, rows: Any) -> _Cell:
        return _Cell(*(column[rows] for column in self))


class _Reference(NamedTuple):
    """What options are compared with in a cell."""

    mean: FloatArray
    q: FloatArray
    square: FloatArray  #: Σ (R − mean)² of its q values
    tt: FloatArray | None = None  #: of times, as in a cell
    ty: FloatArray | None = None


class _Accounts:
    """Sums of options with one reference each; an account has them for every κ, apart and not."""

    def __init__(self, size: int, ratios: tuple[float, ...]) -> None:
        self._ratios = np.array(ratios)
        likely = 1.0 / (
            1.0 + np.log2(np.maximum(self._ratios, 1e-9)) ** 2
        )  # scales are often alike
        self._likely = np.log(likely / likely.sum())
        self.sums = np.zeros((size, len(ratios), 2, 4 + 3 * _SHAPES))
        self.shrunk = np.zeros((size, len(ratios)))  # Σ log(1 + κ n/q), of what is not set apart
        self.origins = np.zeros((size, 3))  # first difference, first and last time
        self.trained = np.zeros(size, dtype=bool)

    def copy(self) -> _Accounts:
        other = _Accounts(0, tuple(self._ratios))
        for name in ("sums", "shrunk", "origins", "trained"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def add(self, at: IntArray, cell: _Cell, reference: _Reference | None) -> None:
        fresh = self.sums[at, 0, :, 0].sum(axis=1) == 0
        y = cell.mean if reference is None else cell.mean - reference.mean
        self.origins[at[fresh], 0] = y[fresh]
        self.origins[at[fresh], 1] = cell.time[fresh]
        self.origins[at, 2] = cell.time
        y = (y - self.origins[at, 0])[:, None]
        f = cell.f.copy()
        f[:, 0] -= self.origins[at, 1]
        grown = np.ones((len(at), len(self._ratios)))
        if reference is not None:
            grown += self._ratios * (cell.n / reference.q)[:, None]
        w = cell.n[:, None] / grown
        columns = np.empty((len(at), len(self._ratios), self.sums.shape[3]))
        columns[..., 0] = cell.n[:, None]
        columns[..., 1], columns[..., 2] = w, w * y
        columns[..., 3] = cell.square[:, None] + w * y * y
        v, f = w[..., None], f[:, None, :]
        columns[..., 4 : 4 + _SHAPES] = v * f
        columns[..., 4 + _SHAPES : 4 + 2 * _SHAPES] = v * f * f
        columns[..., 4 + 2 * _SHAPES :] = v * f * y[..., None]
        logs = np.log(grown)
        if reference is None:
            columns[..., 4 + _SHAPES : 4 + 2 * _SHAPES] += cell.ff[:, None, :]
            columns[..., 4 + 2 * _SHAPES :] += cell.fy[:, None, :]
        else:
            columns[..., 0] += reference.q[:, None] - 1.0
            columns[..., 3] += reference.square[:, None] / self._ratios
            logs += (reference.q[:, None] - 1.0) * np.log(self._ratios)
            self._add_slopes(columns, logs, cell, reference)
        apart = ~self.trained[at]
        self.sums[at, :, np.where(apart, 0, 1)] += columns
        self.shrunk[at] += np.where(apart[:, None], 0.0, logs)
        self.trained[at[apart]] = _about_mean(self.sums[at[apart], 0, 0]) > 0

    def _add_slopes(
        self, columns: FloatArray, logs: FloatArray, cell: _Cell, reference: _Reference
    ) -> None:
        """What rewards rise by within the cell, less what those of the reference do.

        That difference, in place of the two slopes, has the variance s²(1/T + κ/U), T and U being
        Σ (time − mean)² of the option and of the reference.
        """
        if reference.tt is None or reference.ty is None:
            return
        rows = np.flatnonzero((cell.tt > 0) & (reference.tt > 0))
        T, U = cell.tt[rows, None], reference.tt[rows, None]
        own, other = cell.ty[rows, None] / T, reference.ty[rows, None] / U
        variance = 1.0 / T + self._ratios / U
        columns[rows, :, 0] -= 1.0
        columns[rows, :, 3] += (own - other) ** 2 / variance
        columns[rows, :, 3] -= T * own**2 + U * other**2 / self._ratios
        logs[rows] += np.log(variance) - np.log(self._ratios)
        rise, w = (cell.tf[rows] / T)[:, None, :], 1.0 / variance[..., None]
        columns[rows, :, 4 + _SHAPES : 4 + 2 * _SHAPES] += w * rise * rise
        columns[rows, :, 4 + 2 * _SHAPES :] += w * rise * (own - other)[..., None]

    def reset(self, at: IntArray) -> None:
        for array in (self.sums, self.shrunk, self.origins, self.trained):
            array[at] = 0

    def begun(self, at: IntArray) -> BoolArray:
        """Whether there is anything to say."""
        return self.trained[at] & (self.sums[at, 0, 1, 0] > 1)

    def logs(self, at: IntArray) -> FloatArray:
        """log E of these accounts; 0 where nothing can be said yet."""
        found, begun = np.zeros(len(at)), self.begun(at)
        if not begun.any():
            return found
        at = at[begun]
        apart, rest = self.sums[at, :, 0], self.sums[at, :, 1]
        both, half = apart + rest, 0.5 * self.shrunk[at]
        n, left = rest[..., 0], _about_mean(rest)
        fine = left > _ROUNDING * rest[..., 3]
        scale = 2.0 * math.pi * np.where(fine, left, 1.0) / n
        best = (-0.5 * n * (np.log(scale) + 1.0) - half).max(axis=1)
        total = np.full(len(at), -np.inf)
        for shape, g, weight in _PRIORS:
            one = _marginal(both, shape, g) - _marginal(apart, shape, g) - half
            one = np.logaddexp.reduce(one + self._likely, axis=1) + math.log(weight)
            total = np.logaddexp(total, one)
        found[begun] = np.where(fine.all(axis=1), total - best, -np.inf)
        return found

    def change(self, account: int) -> float:
        """By how much rewards rose, by a straight line from the first to the last of them."""
        sums = self.sums[account, len(self._ratios) // 2].sum(axis=0)
        ff = sums[4 + _SHAPES] - sums[4] ** 2 / sums[1]
        fy = sums[4 + 2 * _SHAPES] - sums[4] * sums[2] / sums[1]
        first, last = self.origins[account, 1:]
        return float(fy / ff * (last - first)) if ff > 0 else 0.0


class Beside:
    """Options beside each other, and by themselves, in the order of time."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        self._slots: dict[int, int] = {}  # of arms that are looked at
        self._paired: dict[int, int] = {}  # of slots that are compared one by one
        size, few = min(n_arms, MOST_OPTIONS), min(n_arms, _MOST_PAIRED)
        self._alone = _Accounts(size, (0.0,))
        self._others = _Accounts(size, _RATIOS)
        self._pairs, self._few = _Accounts(few * few, _RATIOS), few
        self._home: tuple[int, ...] = ()  # slots that the mean of all others is made of
        self._homes, self._missed = 0, 0
        self._kept = np.zeros((size, 2))  # weight and capital of earlier references

    def copy(self) -> Beside:
        other = Beside(self.n_arms)
        other._slots, other._paired = dict(self._slots), dict(self._paired)
        for name in ("_alone", "_others", "_pairs", "_kept"):
            setattr(other, name, getattr(self, name).copy())
        other._home, other._homes, other._missed = self._home, self._homes, self._missed
        return other

    # -- what was measured -----------------------------------------------------------------
    def add(
        self, numbers: Any, arms: Any, rewards: Any, batches: Any = None, strata: Any = None
    ) -> None:
        """Pulls of complete batches, by their numbers in the order of time.

        ``batches`` and ``strata`` say which were measured side by side; by default all.
        """
        order = np.argsort(numbers, kind="stable")
        numbers = np.asarray(numbers, dtype=float)[order]
        arms = np.asarray(arms, dtype=np.int64)[order]
        for k in arms[np.sort(np.unique(arms, return_index=True)[1])].tolist():
            if len(self._slots) < min(self.n_arms, MOST_OPTIONS):
                self._slots.setdefault(k, len(self._slots))
        slots = np.array([self._slots.get(k, -1) for k in arms.tolist()], dtype=np.int64)
        known = slots >= 0
        pulls = _Pulls(numbers, slots, np.asarray(rewards, dtype=float)[order]).of(known)
        self._by_itself(pulls)
        batches = np.zeros(len(order)) if batches is None else np.asarray(batches)[order]
        starts = np.flatnonzero(np.diff(batches[known])) + 1
        names = None if strata is None else np.asarray(strata)[order][known]
        for batch in np.split(np.arange(len(pulls.slots)), starts):
            if len(batch) > 1:
                self._add_batch(pulls.of(batch), None if names is None else names[batch])

    def _by_itself(self, pulls: _Pulls) -> None:
        """Until enough is set apart pull by pull, all that repeat the first at once; then the rest.

        Sums do not depend on how pulls are grouped, and an option whose rewards never differ would
        take as many steps as it has pulls.
        """
        while True:
            fresh = np.flatnonzero(~self._alone.trained[pulls.slots])
            if not len(fresh):
                break
            next_ones = self._set_apart_next(pulls.of(fresh))
            self._alone.add(*_cell(pulls.of(fresh[next_ones]))[:2], None)
            pulls = pulls.of(np.delete(np.arange(len(pulls.slots)), fresh[next_ones]))
        if len(pulls.slots):
            self._alone.add(*_cell(pulls)[:2], None)

    def _set_apart_next(self, pulls: _Pulls) -> IntArray:
        """Of each option the first pull, or all up to the first reward that differs from before."""
        order = np.argsort(pulls.slots, kind="stable")
        slots = pulls.slots[order]
        first = np.flatnonzero(np.r_[True, np.diff(slots) > 0])
        seen = self._alone.sums[slots, 0, 0, 0] > 0
        again = seen & (pulls.rewards[order] == self._alone.origins[slots, 0])
        ends = np.minimum.reduceat(np.where(again, len(slots), np.arange(len(slots))), first)
        ends = np.minimum(ends, np.r_[first[1:], len(slots)])
        chosen = np.arange(len(slots)) < np.repeat(
            np.maximum(ends, first + 1), np.diff(np.r_[first, len(slots)])
        )
        return np.sort(order[chosen])

    def _add_batch(self, pulls: _Pulls, strata: Any) -> None:
        parts = [np.arange(len(pulls.slots))]
        if strata is not None:
            of = np.unique(strata, return_inverse=True)[1].ravel()
            order = np.argsort(of, kind="stable")
            parts = np.split(order, np.flatnonzero(np.diff(of[order])) + 1)
        for part in parts[:: math.ceil(len(parts) / _MOST_CELLS)]:
            cell = pulls.of(part)
            for piece in _pieces(len(part), len(np.unique(cell.slots))):
                self._side_by_side(cell.of(piece))

    def _side_by_side(self, pulls: _Pulls) -> None:
        present, cell, rewards, first = _cell(pulls)
        if len(present) > 1:
            self._one_by_one(present, cell)
            self._with_all(present, rewards, cell, first)

    def _one_by_one(self, slots: IntArray, cell: _Cell) -> None:
        """Each option beside each other one, once there are few enough."""
        if len(slots) > _MOST_PAIRED:
            return
        for slot in slots.tolist():
            if len(self._paired) < _MOST_PAIRED:
                self._paired.setdefault(slot, len(self._paired))
        rows = np.array([i for i, k in enumerate(slots.tolist()) if k in self._paired], dtype=int)
        own = np.array([self._paired[k] for k in slots[rows].tolist()], dtype=np.int64)
        i, j = np.nonzero(~np.eye(len(rows), dtype=bool))
        if len(i):
            other = cell.of(rows[j])
            reference = _Reference(other.mean, other.n, other.square, other.tt, other.ty)
            self._pairs.add(own[i] * self._few + own[j], cell.of(rows[i]), reference)

    def _with_all(self, slots: IntArray, rewards: FloatArray, cell: _Cell, first: IntArray) -> None:
        """Each option beside the mean of all others of a fixed set."""
        here = dict(zip(slots.tolist(), range(len(slots))))
        self._missed = 0 if self._home and set(self._home) <= set(here) else self._missed + 1
        if self._missed:
            if self._missed < _MISSED and self._home:
                return
            self._move(tuple(sorted(here)))
        if len(self._home) < 2:
            return
        rows = np.array([here[slot] for slot in self._home])
        q = int(cell.n[rows].min())  # as many of each, so that all parts of the mean vary alike
        each = np.stack([rewards[first[row] : first[row] + q] for row in rows])
        others = (each.sum(axis=0) - each) / (len(rows) - 1)
        mean = others.mean(axis=1)
        square = ((others - mean[:, None]) ** 2).sum(axis=1)
        reference = _Reference(mean, np.full(len(rows), float(q)), square)
        self._others.add(np.array(self._home), cell.of(rows), reference)

    def _move(self, home: tuple[int, ...]) -> None:
        """The mean of all others is that of other options from now on."""
        if self._home:
            at = np.array(self._home)
            weight = 1.0 / (self._homes * (self._homes + 1))
            self._kept[at, 0] += weight
            self._kept[at, 1] += weight * np.exp(np.minimum(self._others.logs(at), 600.0))
            self._others.reset(at)
        self._home, self._missed, self._homes = home, 0, self._homes + 1

    # -- what it says ----------------------------------------------------------------------
    def evidence(self, levels_cancel: bool, level: float) -> Evidence:
        """For changes of single options; compared with others, or by themselves."""
        views = self._compared() if levels_cancel else self._by_themselves()
        if not views.begun.any():
            return Evidence(0.0, (), 0.0, True)
        left, named = np.ones(len(views.who), dtype=bool), list[int]()
        found, needed, unsure = views.together(left), math.log(1.0 / level), False
        while left.any() and views.together(left) >= needed:
            best = views.clearest(left, len(self._slots))
            unsure |= len(best) > 1
            named += best
            gone = np.array([*best, _ALL])
            left &= ~np.isin(views.who, gone) & ~np.isin(views.other, gone)
        change = 0.0
        if named:
            mine = np.flatnonzero(views.who == named[0])
            clearest = int(mine[np.argmax(views.logs[mine])])
            change = views.accounts[clearest][0].change(views.accounts[clearest][1])
        arms = np.array(list(self._slots), dtype=np.int64)
        most = float(views.logs[views.begun].max())
        who = tuple(int(arms[k]) for k in named)
        return Evidence(found, who, change, False, most, unsure)

    def _by_themselves(self) -> _Views:
        every = np.arange(len(self._slots))
        shares = np.full(len(every), 1.0 / min(self.n_arms, MOST_OPTIONS))
        logs, begun = self._alone.logs(every), self._alone.begun(every)
        nobody = np.full(len(every), _NOBODY)
        return _Views(every, nobody, logs, shares, begun, [(self._alone, int(k)) for k in every])

    def _compared(self) -> _Views:
        every, few = np.arange(len(self._slots)), self._few
        now = 1.0 / max(self._homes * (self._homes + 1), 1) * np.isin(every, self._home)
        kept, capital = self._kept[every].T
        logs = self._others.logs(every)
        capital = capital + now * np.exp(np.minimum(logs, 600.0)) + 1.0 - kept - now
        begun = self._others.begun(every) | (kept > 0)
        accounts = [(self._others, int(k)) for k in every]
        i, j = np.nonzero(~np.eye(len(self._paired), dtype=bool))
        at = i * few + j
        slots = np.array(list(self._paired), dtype=np.int64)
        total = max(few * (few - 1), 1)
        return _Views(
            np.r_[every, slots[i]],
            np.r_[np.full(len(every), _ALL), slots[j]],
            np.r_[np.log(np.maximum(capital, 1e-300)), self._pairs.logs(at)],
            np.r_[
                np.full(len(every), (1.0 - _PAIRED) / min(self.n_arms, MOST_OPTIONS)),
                np.full(len(i), _PAIRED / total),
            ],
            np.r_[begun, self._pairs.begun(at)],
            accounts + [(self._pairs, int(k)) for k in at],
        )


_NOBODY, _ALL = -1, -2  # who an option is compared with, where that is no other option


class _Views(NamedTuple):
    """All that is averaged: an option beside another one, beside all others, or by itself."""

    who: IntArray
    other: IntArray
    logs: FloatArray
    shares: FloatArray
    begun: BoolArray
    accounts: list[tuple[_Accounts, int]]

    def together(self, left: BoolArray) -> float:
        """log of the average; what has not begun, or is left out, counts with what it had."""
        cash = max(1.0 - float(self.shares[left].sum()), 1e-300)
        return float(
            np.logaddexp.reduce(np.r_[self.logs[left] + np.log(self.shares[left]), math.log(cash)])
        )

    def clearest(self, left: BoolArray, options: int) -> list[int]:
        """The option that stands out most: one that drifts does so beside all others.

        Where two were compared with hardly anybody else, it may be either.
        """
        gains = np.where(left, np.maximum(self.logs, 0.0), 0.0)
        score = np.bincount(self.who, gains, options)
        beside = self.other >= 0
        score += np.bincount(self.other[beside], gains[beside], options)
        return [
            int(k)
            for k in np.argsort(-score, kind="stable")[:2]
            if score[k] >= _EITHER * score.max()
        ]


def _pieces(count: int, options: int) -> list[slice]:
    """Parts of a large cell in time: a level may move while it is measured."""
    parts = min(max(count // (_EACH * options), 1), _MOST_PIECES)
    ends = [count * i // parts for i in range(parts + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def _cell(pulls: _Pulls) -> tuple[IntArray, _Cell, FloatArray, IntArray]:
    """Options that are in a cell, their rows, all rewards by option, and where each begins."""
    numbers, slots, rewards = pulls
    order = np.lexsort((numbers, slots))
    present, first, counts = np.unique(slots[order], return_index=True, return_counts=True)
    rewards, f, n = rewards[order], shapes(numbers[order] + 1.0), counts.astype(float)
    mean, f_mean = np.add.reduceat(rewards, first) / n, _sums(f, first) / n[:, None]
    y, f = rewards - np.repeat(mean, counts), f - np.repeat(f_mean, counts, axis=0)
    squares = (np.add.reduceat(y * y, first), f_mean, _sums(f * f, first))
    t = f[:, :1]  # the first shape is time itself
    of_time = (_sums(t * t, first)[:, 0], _sums(t[:, 0] * y, first), _sums(t * f, first))
    rows = _Cell(n, mean, *squares, _sums(f * y[:, None], first), f_mean[:, 0], *of_time)
    return present, rows, rewards, first


def _sums(columns: FloatArray, first: IntArray) -> FloatArray:
    return np.add.reduceat(columns, first, axis=0)


def _about_mean(sums: FloatArray) -> FloatArray:
    """Σ y² about the mean."""
    return np.maximum(sums[..., 3] - sums[..., 2] ** 2 / np.maximum(sums[..., 1], 1e-300), 0.0)


def _marginal(sums: FloatArray, shape: int, g: float) -> FloatArray:
    """log q of all of these, up to what does not depend on the shape."""
    at, W = 4 + shape, sums[..., 1]
    ff = np.maximum(sums[..., at + _SHAPES] - sums[..., at] ** 2 / W, 0.0)
    fy = sums[..., at + 2 * _SHAPES] - sums[..., at] * sums[..., 2] / W
    yy = _about_mean(sums)
    grown = 1.0 + g * ff
    left = np.maximum(yy - g * fy * fy / grown, _ROUNDING * yy)
    half = 0.5 * (sums[..., 0] - 1.0)
    return log_gamma(half) - half * np.log(math.pi * left) - 0.5 * np.log(W * grown)
