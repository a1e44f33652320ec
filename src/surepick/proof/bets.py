"""Bets on a mean, and confidence sequences: tests that may be looked at after every reward.

Somebody who holds that a mean is at most m offers bets at prices that are fair if he is right. Who
bets against him starts with a capital of 1, stakes only what the rewards so far suggest, and has a
capital of at most 1 on average, at whatever moment he stops, as long as the mean *is* at most m.
So capital that ever reaches 20 refutes "at most m" at the level 0.05 (J. Ville, 1939), and nobody
has to say in advance when to look.

=================  ==========================================================================
:func:`yes_no`     rewards are 0 or 1
:func:`bounded`    rewards lie between two bounds
:func:`symmetric`  noise is symmetric around the mean, of any scale, which may change
:func:`t`          noise is normal, of one scale that nobody knows
:func:`gaussian`   noise is normal, or lighter in its tails, of a scale that is known
:func:`wins`       numbers of any kind, of two things: which of them usually wins
=================  ==========================================================================

Each takes rewards in the order in which they came, along the last axis, and returns the logarithm
of the capital after every one of them: an array of the same shape, so that thousands of simulated
series are one call. :func:`confidence_sequence` gives all means that are not refuted.

The algorithms of this library bet block by block on many means at once, with stakes that they plan
together with their measurements; the payoffs are those of :mod:`surepick.proof.payoffs`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from surepick.arrays.backend import HOST
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import positive, probability, real, whole
from surepick.errors import InvalidInputError
from surepick.proof.payoffs.normal import log_payoff
from surepick.proof.payoffs.student import log_student_payoff
from surepick.proof.payoffs.symmetric import array_log_tanh_bet
from surepick.proof.payoffs.wins import log_wins

__all__ = ["bounded", "confidence_sequence", "gaussian", "symmetric", "t", "wins", "yes_no"]

Alternative = Literal["greater", "less", "two-sided"]

_SHARES = np.geomspace(1e-4, 0.99, 48)  # of the largest stake that cannot lose everything
_WIN_SHARES = np.geomspace(0.01, 0.95, 16)  # where the stakes are on wins
_SIZES = np.geomspace(0.01, 4.0, 24)  # of leads, in units of the scatter so far
_FURTHEST = (
    1.5  # a reward that is further away leaves 1 − tanh(1.5) = 0.095 of the capital, not less
)
_TO_NORMAL = 1.4826  # median distance from the median × this = standard deviation of a normal
_HALVINGS = 60


def yes_no(rewards: ArrayLike, mean: float, *, alternative: Alternative = "greater") -> FloatArray:
    """Log capital of bets against "the share of ones is at most ``mean``".

    Parameters
    ----------
    rewards
        0 or 1, in the order in which they came, along the last axis.
    mean
        The share that is held to be the largest possible (with "less": the smallest).
    alternative
        What is bet on: "greater" than ``mean``, "less", or "two-sided" (half the capital each way).

    Examples
    --------
    >>> import surepick as sp
    >>> float(sp.bets.yes_no([1, 1, 1, 1, 1, 1, 1, 1], 0.5)[-1].round(2))
    2.45
    """
    told = _numbers(rewards)
    if not np.isin(told, (0.0, 1.0)).all():
        wrong = told[~np.isin(told, (0.0, 1.0))][0]
        raise InvalidInputError(f"rewards: expected 0 or 1 only, got {wrong:g}")
    return bounded(told, mean, alternative=alternative)


def bounded(
    rewards: ArrayLike,
    mean: float,
    *,
    low: float = 0.0,
    high: float = 1.0,
    alternative: Alternative = "greater",
) -> FloatArray:
    """Log capital of bets against "the mean is at most ``mean``", rewards between two bounds.

    A stake λ < 1/(mean − low) pays 1 + λ(Y − mean) for a reward Y: never less than 0, and 1 on
    average where the mean is ``mean``, whatever the rewards are otherwise. 48 stakes share
    the capital.

    Parameters
    ----------
    rewards
        One after the other.
    mean
        What is bet against.
    low
        The least reward that can occur.
    high
        The largest one.
    alternative
        ``"greater"`` bets on a larger mean, ``"less"`` on a smaller one, ``"two-sided"`` on both.

    Returns
    -------
    Log capital after each reward; beyond log(1/δ) the claim is refuted at level δ, at any
    time.

    Examples
    --------
    >>> import numpy as np, surepick as sp
    >>> rewards = np.random.default_rng(0).beta(6, 4, size=200)  # mean 0.6
    >>> bool(sp.bets.bounded(rewards, 0.5)[-1] > np.log(20))
    True
    """
    told, (low, high) = _numbers(rewards), _bounds(low, high)
    _inside(told, low, high)
    mean = real(mean, "mean")
    if not low < mean < high:
        raise InvalidInputError(
            f"mean: expected a number between {low:g} and {high:g}, got {mean:g}"
        )

    def above(seen: FloatArray, at: float, least: float) -> FloatArray:
        return _mixed(_SHARES, lambda c: np.cumsum(_log_share_bet(seen, at - least, least, c), -1))

    return _alternative(
        alternative,
        lambda: above(told, mean, low),
        lambda: above(-told, -mean, -high),
    )


def symmetric(
    rewards: ArrayLike, mean: float, *, alternative: Alternative = "greater"
) -> FloatArray:
    """Log capital of bets against "the mean is at most ``mean``", noise symmetric around it.

    Given the rewards before it, each reward has to scatter evenly around its mean; by how much may
    differ from one to the next, and tails may be as heavy as they like (they need not have a mean:
    the centre is what is bet on). A stake λ pays 1 + tanh(λ(Y − mean)), with rewards so far away
    that nearly everything would be lost taken for nearer ones. The stakes are in units of the
    scatter of the rewards so far, so nothing is bet on the first two.

    Parameters
    ----------
    rewards
        One after the other.
    mean
        What is bet against.
    alternative
        ``"greater"`` bets on a larger mean, ``"less"`` on a smaller one, ``"two-sided"`` on both.

    Returns
    -------
    Log capital after each reward; beyond log(1/δ) the claim is refuted at level δ, at any
    time.

    Examples
    --------
    >>> import numpy as np, surepick as sp
    >>> rewards = 1.0 + np.random.default_rng(0).standard_t(2, size=200)
    >>> bool(sp.bets.symmetric(rewards, 0.0)[-1] > np.log(20))
    True
    """
    told, mean = _numbers(rewards), real(mean, "mean")
    stakes = _one_over_scatter(told)
    return _alternative(
        alternative,
        lambda: _mixed(_SIZES, lambda g: np.cumsum(_log_tanh(g * stakes * (told - mean)), -1)),
        lambda: _mixed(_SIZES, lambda g: np.cumsum(_log_tanh(g * stakes * (mean - told)), -1)),
    )


def t(
    rewards: ArrayLike,
    mean: float,
    *,
    size: float = 0.5,
    alternative: Alternative = "greater",
) -> FloatArray:
    """Log capital of bets against "the mean is at most ``mean``", normal noise of unknown scale.

    It is the ratio of densities of Student's t, averaged over leads that are half-normal with a
    deviation of ``size`` noise scales: fair where the mean is ``mean``, whatever the scale is.
    Where the mean is below, every t is smaller than it would be if all rewards were moved
    up to ``mean``, and so is the capital.

    Parameters
    ----------
    rewards
        One after the other.
    mean
        What is bet against.
    size
        Leads that are expected, in units of the noise.
    alternative
        ``"greater"`` bets on a larger mean, ``"less"`` on a smaller one, ``"two-sided"`` on both.

    Returns
    -------
    Log capital after each reward; beyond log(1/δ) the claim is refuted at level δ, at any
    time.

    Examples
    --------
    The unit of the rewards does not matter:

    >>> import numpy as np, surepick as sp
    >>> rewards = np.random.default_rng(0).normal(1.0, 1.0, size=50)
    >>> [float(sp.bets.t(unit * rewards, 0.0)[-1].round(6)) for unit in (1.0, 1e6)]
    [19.957688, 19.957688]
    """
    told, mean, size = _numbers(rewards), real(mean, "mean"), positive(size, "size")
    near = told - told[..., :1]  # squares of large numbers would swallow what is left of them
    sums, squares = np.cumsum(near, -1), np.cumsum(near**2, -1)

    def paid(sign: float) -> FloatArray:
        found = np.zeros(told.shape)
        for i in range(1, told.shape[-1]):
            n = i + 1
            rest = np.maximum(squares[..., i] - sums[..., i] ** 2 / n, 0.0)
            lead = (told[..., 0] - mean) + sums[..., i] / n
            found[..., i] = _student(sign * lead, rest, n, size)
        return found

    return _alternative(alternative, lambda: paid(1.0), lambda: paid(-1.0))


def gaussian(
    rewards: ArrayLike,
    mean: float,
    *,
    scale: float,
    size: float = 0.5,
    alternative: Alternative = "greater",
) -> FloatArray:
    """Log capital of bets against "the mean is at most ``mean``", noise of a known scale.

    Leads that are bet on are half-normal with a deviation of ``size`` times ``scale``. Besides
    normal noise it serves any that is sub-Gaussian with this scale.

    Parameters
    ----------
    rewards
        One after the other.
    mean
        What is bet against.
    scale
        Standard deviation of a reward.
    size
        Leads that are expected, in units of the scale.
    alternative
        ``"greater"`` bets on a larger mean, ``"less"`` on a smaller one, ``"two-sided"`` on both.

    Returns
    -------
    Log capital after each reward; beyond log(1/δ) the claim is refuted at level δ, at any
    time.

    Examples
    --------
    >>> import numpy as np, surepick as sp
    >>> float(sp.bets.gaussian(np.ones(50), 0.0, scale=1.0)[-1].round(3))
    22.54
    """
    told, mean = _numbers(rewards), real(mean, "mean")
    scale, size = positive(scale, "scale"), positive(size, "size")
    scores = np.cumsum((told - mean) / scale, -1)
    n = np.arange(1.0, told.shape[-1] + 1.0)
    return _alternative(
        alternative,
        lambda: log_payoff(0.0, size**-2.0, scores, n),
        lambda: log_payoff(0.0, size**-2.0, -scores, n),
    )


def wins(
    first: ArrayLike,
    second: ArrayLike,
    share: float = 0.5,
    *,
    block: int = 16,
    alternative: Alternative = "greater",
) -> FloatArray:
    """Log capital of bets against "the first wins at most this share of comparisons".

    Nothing is assumed about the numbers but that those of a block are measured in an order drawn
    beforehand. One of the first is compared with one of the second; a tie counts half. What a
    stake pays for a block is averaged over all ways to pair its numbers, so every number meets
    every other one; 16 stakes share the capital. (With ``"less"``: "at least this share".)

    Parameters
    ----------
    first, second
        As many of one as of the other, in the order in which they came, along the last axis.
    share
        Of comparisons that the first is held to win at most; ½: "it does not usually win".
    block
        So many numbers of each are compared with each other; capital changes when a block ends.
    alternative
        What is bet on: "greater" than ``share``, "less", or "two-sided", half the capital each.

    Examples
    --------
    >>> import numpy as np, surepick as sp
    >>> draw = np.random.default_rng(0)
    >>> slow, quick = draw.lognormal(0.5, 1.0, 160), draw.lognormal(0.0, 1.0, 160)
    >>> bool(sp.bets.wins(slow, quick)[-1] > np.log(20))
    True
    """
    mine, theirs = _numbers(first), _numbers(second)
    if mine.shape != theirs.shape:
        raise InvalidInputError(
            f"second: expected as many numbers as there are in first, {mine.shape[-1]}; got "
            f"{theirs.shape[-1]}"
        )
    share, block = probability(share, "share"), whole(block, "block", least=1)

    def above(of: FloatArray, others: FloatArray, at: float) -> FloatArray:
        def capital(part: float) -> FloatArray:
            paid = np.zeros(of.shape)
            for series in np.ndindex(of.shape[:-1]):
                for end in range(block, of.shape[-1] + 1, block):
                    own = slice(end - block, end)
                    paid[(*series, end - 1)] = log_wins(
                        of[series][own], others[series][own], part / at, at
                    )
            return np.cumsum(paid, -1)

        return _mixed(_WIN_SHARES, capital)

    return _alternative(
        alternative,
        lambda: above(mine, theirs, share),
        lambda: above(theirs, mine, 1.0 - share),
    )


def confidence_sequence(
    rewards: ArrayLike,
    kind: str,
    *,
    level: float = 0.05,
    looks: ArrayLike | None = None,
    **settings: Any,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of all means that bets do not refute.

    The mean leaves its interval *ever*, at any look, with a probability of at most ``level``: half
    of it at each end.

    Parameters
    ----------
    rewards
        Along the last axis, in the order in which they came.
    kind
        "yes-no", "bounded", "symmetric", "t" or "gaussian".
    level
        Probability that the interval is ever wrong.
    looks
        Numbers of rewards after which intervals are wanted; by default after all of them.
    settings
        Of that kind: ``low`` and ``high``, ``scale``, ``size``.

    Returns
    -------
    low, high
        Their last axis is that of ``looks``.

    Examples
    --------
    >>> import numpy as np, surepick as sp
    >>> rewards = np.random.default_rng(0).random(1000) < 0.3
    >>> low, high = sp.bets.confidence_sequence(rewards, "yes-no", looks=[10, 100, 1000])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.02, 0.12, 0.23], [0.81, 0.42, 0.33])
    """
    told, level = _numbers(rewards), probability(level, "level")
    if kind not in _ENDS:
        raise InvalidInputError(f"kind: expected one of {', '.join(_ENDS)}, got {kind!r}")
    ends, takes, needs = _ENDS[kind]
    for name in settings:
        if name not in takes:
            accepted = " and ".join(takes) or "no settings"
            raise InvalidInputError(f"{name}: unknown here; {kind} takes {accepted}")
    for name in needs:
        if name not in settings:
            raise InvalidInputError(f"{name}: {kind} needs {name}=…")
    return ends(told, _looks(looks, told.shape[-1]), math.log(2.0 / level), **settings)


# -- the ends of intervals ---------------------------------------------------------------------


def _bounded_ends(
    told: FloatArray, looks: IntArray, goal: float, low: float = 0.0, high: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    low, high = _bounds(low, high)
    _inside(told, low, high)

    def lower(seen: FloatArray, least: float, most: float) -> FloatArray:
        def capital(seen: FloatArray, means: FloatArray) -> FloatArray:
            # A mean at the bound itself would be divided by.
            room = np.maximum(means - least, 1e-15 * (most - least))[..., None]
            return _mixed(_SHARES, lambda c: _log_share_bet(seen, room, least, c).sum(-1))

        return _largest_refuted(seen, looks, goal, capital, (least, most))

    return lower(told, low, high), -lower(-told, -high, -low)


def _yes_no_ends(told: FloatArray, looks: IntArray, goal: float) -> tuple[FloatArray, FloatArray]:
    yes_no(told, 0.5)  # checks them
    return _bounded_ends(told, looks, goal)


def _symmetric_ends(
    told: FloatArray, looks: IntArray, goal: float
) -> tuple[FloatArray, FloatArray]:
    def lower(seen: FloatArray) -> FloatArray:
        stakes = _one_over_scatter(seen)

        def capital(seen: FloatArray, means: FloatArray) -> FloatArray:
            bets = stakes[..., : seen.shape[-1]] * (seen - means[..., None])
            return _mixed(_SIZES, lambda g: _log_tanh(g * bets).sum(-1))

        spread = float(np.ptp(seen)) or 1.0
        span = (float(seen.min()) - spread, float(seen.max()) + spread)
        found = _largest_refuted(seen, looks, goal, capital, span)
        return np.where(found <= span[0] + 1e-9 * spread, -math.inf, found)

    return lower(told), -lower(-told)


def _t_ends(
    told: FloatArray, looks: IntArray, goal: float, size: float = 0.5
) -> tuple[FloatArray, FloatArray]:
    size = positive(size, "size")
    centres, margins = [], []
    for n in looks.tolist():
        seen = told[..., :n]
        centre = seen.mean(-1)
        centres.append(centre)
        # The capital depends on the mean through t alone: one t is the largest not refuted.
        deviation = seen.std(-1, ddof=1) if n > 1 else np.zeros(centre.shape)
        most = _largest_t(n, goal, size) if np.any(deviation > 0) else 0.0
        margins.append(np.where(deviation > 0, most * deviation, math.inf))
    middle, margin = np.stack(centres, -1), np.stack(margins, -1)
    return middle - margin, middle + margin


def _gaussian_ends(
    told: FloatArray, looks: IntArray, goal: float, *, scale: float, size: float = 0.5
) -> tuple[FloatArray, FloatArray]:
    scale, size = positive(scale, "scale"), positive(size, "size")
    middle = np.stack([told[..., :n].mean(-1) for n in looks.tolist()], -1)
    margin = np.array([_largest_z(n, goal, size) for n in looks.tolist()])
    return middle - scale * margin, middle + scale * margin


def _largest_t(n: int, goal: float, size: float) -> float:
    """The largest lead, in standard deviations of the rewards, that is not refuted."""
    return _root(lambda lead: float(_student(lead, n - 1.0, n, size)), goal)


def _largest_z(n: int, goal: float, size: float) -> float:
    """The largest lead, in units of the noise, that is not refuted."""
    return _root(lambda lead: float(log_payoff(0.0, size**-2.0, n * lead, float(n))), goal)


# What gives the ends, which settings it takes, and which of them it cannot do without.
_Ends = Callable[..., tuple[FloatArray, FloatArray]]
_ENDS: dict[str, tuple[_Ends, tuple[str, ...], tuple[str, ...]]] = {
    "yes-no": (_yes_no_ends, (), ()),
    "bounded": (_bounded_ends, ("low", "high"), ()),
    "symmetric": (_symmetric_ends, (), ()),
    "t": (_t_ends, ("size",), ()),
    "gaussian": (_gaussian_ends, ("scale", "size"), ("scale",)),
}


def _largest_refuted(
    told: FloatArray,
    looks: IntArray,
    goal: float,
    capital: Callable[[FloatArray, FloatArray], FloatArray],
    span: tuple[float, float],
) -> FloatArray:
    """The largest mean that is refuted, which all smaller ones are as well."""
    found = []
    for n in looks.tolist():
        seen = told[..., :n]
        below, above = (np.full(seen.shape[:-1], end) for end in span)
        for _ in range(_HALVINGS):
            middle = 0.5 * (below + above)
            refuted = capital(seen, middle) >= goal
            below, above = np.where(refuted, middle, below), np.where(refuted, above, middle)
        found.append(below)
    return np.stack(found, -1)


def _root(capital: Callable[[float], float], goal: float) -> float:
    """Where a function that grows with its argument reaches a goal."""
    below, above = 0.0, 1.0
    while capital(above) < goal:
        below, above = above, 2.0 * above
        if above > 1e12:
            return math.inf
    for _ in range(_HALVINGS):
        middle = 0.5 * (below + above)
        below, above = (below, middle) if capital(middle) >= goal else (middle, above)
    return above


# -- bets on single rewards --------------------------------------------------------------------


def _log_share_bet(told: FloatArray, room: Any, least: float, share: float) -> FloatArray:
    """log(1 + λ(Y − m)) with λ = share/(m − least), and room = m − least; it falls with m."""
    return np.log1p(share * ((told - least) / room - 1.0))


def _log_tanh(bets: FloatArray) -> FloatArray:
    return array_log_tanh_bet(HOST, np.clip(bets, -_FURTHEST, _FURTHEST))


def _student(mean: Any, squares: Any, n: int, size: float) -> FloatArray:
    """Log of the average ratio of densities of t, with n rewards and so large a rest."""
    means, rests = np.broadcast_arrays(np.asarray(mean, dtype=float), squares)
    safe = np.where(rests > 0, rests, 1.0)
    # In units of the rest, as the payoff takes one for all.
    found = log_student_payoff(0.0, size**-2.0, means / np.sqrt(safe), float(n), 1.0, n - 1)
    return np.where(rests > 0, found, 0.0)


def _one_over_scatter(told: FloatArray) -> FloatArray:
    """One over the scatter of the rewards before each one; 0 where there is none to be seen."""
    found, start = np.zeros(told.shape), 2
    while start < told.shape[-1]:
        seen, stop = told[..., :start], start + max(1, start // 2)
        distances = np.abs(seen - np.median(seen, axis=-1, keepdims=True))
        scatter = _TO_NORMAL * np.median(distances, axis=-1)
        scatter = np.where(scatter > 0, scatter, distances.mean(-1))
        found[..., start:stop] = np.where(
            scatter > 0, 1.0 / np.where(scatter > 0, scatter, 1.0), 0.0
        )[..., None]
        start = stop
    return found


def _mixed(stakes: FloatArray, log_capital: Callable[[float], FloatArray]) -> FloatArray:
    """Log of the mean capital over stakes."""
    total: FloatArray | None = None
    for stake in stakes.tolist():
        own = log_capital(stake)
        total = own if total is None else np.logaddexp(total, own)
    assert total is not None
    return total - math.log(len(stakes))


def _alternative(
    alternative: str, greater: Callable[[], FloatArray], less: Callable[[], FloatArray]
) -> FloatArray:
    if alternative == "greater":
        return greater()
    if alternative == "less":
        return less()
    if alternative == "two-sided":
        return np.logaddexp(greater(), less()) - math.log(2.0)
    raise InvalidInputError(
        f"alternative: expected 'greater', 'less' or 'two-sided', got {alternative!r}"
    )


# -- what comes in -----------------------------------------------------------------------------


def _numbers(rewards: ArrayLike) -> FloatArray:
    try:
        told = np.asarray(rewards, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError("rewards: expected an array of numbers") from None
    if told.ndim == 0 or told.shape[-1] == 0:
        raise InvalidInputError("rewards: expected at least one, along the last axis")
    if not np.isfinite(told).all():
        raise InvalidInputError("rewards: expected finite numbers only")
    return told


def _bounds(low: float, high: float) -> tuple[float, float]:
    low, high = real(low, "low"), real(high, "high")
    if not low < high:
        raise InvalidInputError(f"low: expected less than high = {high:g}, got {low:g}")
    return low, high


def _inside(told: FloatArray, low: float, high: float) -> None:
    outside = (told < low) | (told > high)
    if outside.any():
        raise InvalidInputError(
            f"rewards: expected numbers from {low:g} to {high:g}, got {told[outside][0]:g}"
        )


def _looks(looks: ArrayLike | None, n: int) -> IntArray:
    wanted = np.array([n]) if looks is None else np.asarray(looks)
    if wanted.ndim != 1 or not len(wanted) or not np.issubdtype(wanted.dtype, np.integer):
        raise InvalidInputError("looks: expected a list of whole numbers")
    if wanted.min() < 1 or wanted.max() > n:
        raise InvalidInputError(f"looks: expected numbers of rewards from 1 to {n}")
    return wanted.astype(np.int64)
