"""Capital bet against "this option is the answer", from comparisons of two.

**Beats everyone.** If x is preferred at least half of the time to every other option, every rival
has a mean of at most ½ against x, whoever it is. With y = 1 where the rival is preferred, ½ for a
tie, 0 otherwise, each comparison of x has the factor

    1 + λ (y − ½),    0 ≤ λ < 2, λ chosen before the block,

of mean at most 1 given all before. So the factors of *all* comparisons of x multiply: one purse for
each candidate, W_x = Π (1 + λ (y − ½)), is a non-negative supermartingale from 1, and by
Ville's inequality it ever reaches 1/δ with probability at most δ. An option is out once its purse
has. Only the option that beats everyone needs protecting, so no union over options is paid; nothing
else is assumed, no Bradley–Terry model, no transitivity. An average over stakes j, with weights
that sum to 1 and never change, Σ_j w_j Π (1 + λ_j (y − ½)), is such a purse, too.

*What is shown.* One is left: "if any option beats everyone, it is this one". That it does is shown
only if for **every** other r, ruled out or not, the capital E of "x is preferred to r", bet on
their comparisons alone, has reached K/δ. (In a cycle one may be left, too.) Both hold at once: if
x* beats everyone, another one is named only if x* was ruled out, which has probability at most δ.
If nobody does, every x has an r with P(x preferred to r) < ½, and K options at δ/K make δ.
All are out: **nobody beats everybody**, with the same probability: whoever did was ruled out with
probability at most δ. Who beats whom in a cycle is shown arrow by arrow, at K (K − 1)/δ each:
all arrows together are right with probability at least 1 − δ/2, as of two directions one is true.

*Close enough, if anyone beats everyone.* With ε, x̂ is accepted once for every x that is in
P(x preferred to x̂) > ½ + ε is ruled out, by factors 1 + λ (y − ½ + ε) with y = 1 where x̂ is
preferred. A share s of the capital is for that, and of it 1/(K − 1) for each other that could be
accepted wrongly; what is bet on ruling x out counts with it
(:mod:`surepick.proof.accepting`). It may be moved there on the way, of what is held then, with
bets that begin anew: what is shown is about the purse of the one that beats everyone.

*Close to everyone.* With ``confirm`` x̂ is accepted instead once for **every** r, ruled out or not,
the factors on "P(r preferred to x̂) ≤ ½ + ε" alone have reached K/(sδ). What has been ruled out
counts for nothing then, as r may be preferred to x̂ and lose to others. If somebody is preferred to
x̂ by more, it is accepted with probability sδ/K, so with sδ over all x̂; ruling out the one that
beats everyone, and saying of another one that it does, have (1 − s)δ: 1/((1 − s)δ), K/((1 − s)δ).
Not on the way: where nobody beats everyone no purse is a bet against what is true of all, of which
something could be moved; what would have to be shared is δ, and that is spent by then.

**Wins most.** The largest mean against an opponent drawn uniformly from all others. Such a
comparison serves x alone: its result says y_x ∈ {0, ½, 1} with the mean that is asked for. (To
let it serve the opponent as well would be wrong: of two options y_r = 1 − y_x, and the same luck
would count twice.) In a block, the i-th comparison of r is set against the i-th of x: factors
1 + λ (y_r − y_x), 0 ≤ λ < 1, have a mean of at most 1 where x wins most, as the two are
independent given all before. W_x = ½ (bets on the rival that led before the block) + ½ (average
over all rivals). ε: 1 + λ (y_x̂ − y_x + ε), thresholds as above.

*The m that win most.* Let E_{x,r} be the capital bet on "r wins more than x", as above. If x is one
of the m, at most m − 1 rivals win more: K − m others, at least, do not, and their E are
supermartingales from 1. So is their average, and the average of the K − m **smallest** E is never
above it, whoever they are. That is W_x; x is out once it reaches m/δ, and m are left. An answer is
wrong only if one of the m was ruled out: m events of probability at most δ/m each. ε: m that are
named are accepted once each of them is shown to be close to each other one that is in. If one of
them, a, wins less by more than ε than the last of the m, one of the m is not named, so that it was
ruled out, or the closeness of a to it was shown wrongly, by a capital of its own that begins with
1: each of the K − m that it could be has s/(K − m) of it. It takes m/δ.

**Options that come and go.** Let B be the capital against the option that beats everyone among
those that are there, while there is one, and what it was when there last was one otherwise. Account
by account (one for each stake), with a *floor* that begins with 1 and never rises:

- A newcomer begins with the floor, or with the least that is held against anyone who is in, if that
  is less; this is the new floor. All others keep what is held against them: with one rival more,
  nobody becomes the one who beats everyone but the newcomer.
- When w is retired, nobody has more held against it than the floor, nor than w had, if w was in;
  this is the new floor, and all that are there are back in. (Also where w had been ruled out:
  somebody whom only w beats may beat everyone now, and was ruled out rightly before.)

B never rises at a change: if x* beat everyone before, it keeps what it has, or somebody else begins
with at most that (a newcomer, as x* was in; or who comes after w = x*). If nobody did, the floor is
at most what B was when x* was dethroned: by a newcomer, when the floor fell to the least against
anyone in, or by retiring it. So B is a supermartingale that begins with 1, whatever the changes
react to. After a change only "if any option beats everyone, it is this one" is said. In "wins most"
a change alters what is asked of everybody, so all begin anew with the floor, which falls to the
least that is held against anyone who is in. (Comparisons without w would be evidence on those that
stay when w goes: given that the opponent was not w, it was drawn uniformly from the others. But
whoever retires options has seen the results. For each of K possible w that evidence can be large by
chance against who wins most without w, and to let it count, some of δ would have to be set aside
for each w from the start. With half of δ for all of them, every study pays log 2, nearly a quarter
of the log 20 that decides at δ = 0.05, for what few need.)

*Not with ε.* What it shows is about two options, x̂ and whoever is in, or any other one. That is
right with probability 1 − δ for a fixed set, by a union over K options. Where people choose by the
results who stays, the one that refutes x̂ may be the one that was retired: it would take a union
over all pairs of all options that ever come, and a share of δ for racing, as what beats everyone
among those left may be any of them. So changes are refused there. With ``confirm`` they are not,
but nothing more than "if any option beats everyone" is shown after one.

**Order.** Judges may favour a position. The order of each pair is drawn by a fair coin once the
pair is chosen, so y is averaged over both orders, and whoever plans cannot see the coin (a planner
that does can rule out the best by showing it second). Every comparison that was handed out counts.

**Stakes** are chosen by a fit and the pair's own record, from blocks before: one that follows the
evidence, λ = 3.6 (p̂ − ½), about nine tenths of Kelly's; and fixed ones, where p̂ does not
say that the rival is clearly worse. Half of the weight is on the first.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.accepting import ACCEPTING, Shares
from surepick.statistics.strengths import Strengths

#: weights of the stakes, the one that follows the evidence first
WEIGHTS = np.array([0.5, 0.125, 0.125, 0.125, 0.125])
FIXED = np.array([0.1, 0.3, 0.7, 1.2])
SLOPE = 3.6
CAP = 0.9  # of the largest stake that cannot lose everything
FROM = 0.47  # of p̂, below which nothing is bet on a rival
OWN = 10.0  # comparisons that the fit counts for, beside a pair's own

#: the same for differences of two shares, in "wins most"
FIXED_LEADS = np.array([0.05, 0.15, 0.35, 0.6])
SHARE, MOST = 0.9, 0.9
FROM_LEAD = -0.0131


class Comparisons(NamedTuple):
    """Comparisons of one block, in the order in which they were planned."""

    first: IntArray
    second: IntArray
    result: FloatArray  #: 1 where the first is preferred, 0 the second, ½ neither
    served: IntArray  #: in "wins most": whose opponent was drawn; else the first


class Record:
    """How often which option was shown first with which other, and how that came out."""

    def __init__(self, K: int) -> None:
        self.counts, self.sums = np.zeros((K, K)), np.zeros((K, K))

    def grow(self, K: int) -> None:
        """Have place for so many options."""
        self.counts, self.sums = _grown(self.counts, (K, K)), _grown(self.sums, (K, K))

    def add(self, block: Comparisons) -> None:
        """One block more."""
        np.add.at(self.counts, (block.first, block.second), 1.0)
        np.add.at(self.sums, (block.first, block.second), block.result)

    @property
    def met(self) -> FloatArray:
        """Comparisons of each two."""
        return self.counts + self.counts.T

    @property
    def won(self) -> FloatArray:
        """How many of them the row won; ties count half."""
        return self.sums + (self.counts - self.sums).T

    def shares(self) -> FloatArray:
        """How often the row is preferred to the column, as it seems, drawn a little towards ½."""
        return (self.won + 1.0) / (self.met + 2.0)

    def preferred(self, fitted: Strengths) -> FloatArray:
        """p̂ of "the row is preferred to the column": the fit, and their own comparisons."""
        return (self.won + OWN * fitted.preferred()) / (self.met + OWN)


class Round:
    """A block of comparisons, with stakes on rivals that are preferred as often as it seems."""

    def __init__(self, block: Comparisons, preferred: FloatArray) -> None:
        self._xs = np.concatenate([block.first, block.second])
        self._rs = np.concatenate([block.second, block.first])
        self._won = np.concatenate([1.0 - block.result, block.result])  # by the rival
        self._preferred = preferred  # the row to the column

    def beats(self, by: float = 0.0) -> FloatArray:
        """Log payoffs of "r is preferred to x in more than ½ − ``by``", (x, r, stake)."""
        found = np.zeros((*self._preferred.shape, len(WEIGHTS)))
        stakes = _stakes(self._preferred[self._rs, self._xs] + by, by)
        gained = np.log1p(stakes * (self._won - 0.5 + by)[:, None])
        np.add.at(found, (self._xs, self._rs), gained)
        return found

    def between(self, xs: IntArray, rs: IntArray) -> Between:
        """Bets on each of ``rs`` (columns) against each of ``xs`` (rows)."""
        return Between(self, xs, rs)


class Between:
    """Bets between some options, before it is said how much more one has to be preferred."""

    def __init__(self, round: Round, xs: IntArray, rs: IntArray) -> None:
        self._round, self._some = round, np.ix_(xs, rs)

    def paid(self, by: float = 0.0, prior: float = 1.0) -> FloatArray:
        """Log payoffs of "r is preferred to x in more than ½ − ``by``", (xs, rs, stakes)."""
        return self._round.beats(by)[self._some]


def each_arrow(K: int, delta: float) -> float:
    """The share of delta of "i beats j"; of two options one does, so half of all can be false."""
    return delta / (K * (K - 1))


class _Purses(ABC):
    """What both questions have in common."""

    K: int
    m: int
    moved: Shares  #: what rules options out, and what is behind closeness
    epsilon: float
    near: FloatArray
    near_peaks: FloatArray
    close_peaks: FloatArray

    @property
    def behind(self) -> list[Any]:
        """What rules options out, and what is behind closeness."""
        return self.moved.save()

    @behind.setter
    def behind(self, saved: list[Any]) -> None:
        self.moved.load(saved)

    @abstractmethod
    def against(self) -> FloatArray:
        """Log capital against each option."""

    def accept(self, epsilon: float) -> None:
        """From now on accept what is close enough by this."""
        self.epsilon = epsilon
        self.moved.accept(self.against())
        K = self.K
        self.near, self.near_peaks = np.zeros((K, K, len(WEIGHTS))), np.zeros((K, K))
        self.close_peaks = np.zeros((K, K))

    def _settled_beside(self, held: FloatArray, near: FloatArray) -> FloatArray:
        """Log capital that settles options (columns) beside those that may be named (rows)."""
        racing, share = held + self.moved.racing, self.moved.behind - math.log(self.K - self.m)
        return np.logaddexp(racing[None], near + share)


class Everyone(_Purses):
    """Purses for "beats everyone"."""

    m = 1

    saved = ("pairs", "near", "peaks", "pair_peaks", "near_peaks", "close_peaks", "begun", "floor")
    saved += ("behind",)

    def __init__(self, K: int, epsilon: float) -> None:
        self.K, self.epsilon, self.moved = K, epsilon, Shares(epsilon)
        J = len(WEIGHTS)
        #: log capital of "r is preferred to x", by x, r and stake
        self.pairs = np.zeros((K, K, J))
        self.begun = np.zeros((K, J))  #: what was there before, beside that
        self.floor = np.zeros(J)
        self.near = np.zeros((K, K, J) if epsilon else (0, 0, 0))  #: "x is within epsilon of c"
        self.peaks = np.zeros(K)  #: the most that each log W was after a block
        self.pair_peaks, self.near_peaks = np.zeros((K, K)), np.zeros((K, K))
        self.close_peaks = np.zeros((K, K))  #: of ``near`` alone

    def settle(
        self, block: Comparisons, before: Record, fitted: Strengths, here: BoolArray
    ) -> None:
        """Bet on a block, by what was known before it."""
        round = Round(block, before.preferred(fitted))
        self.pairs += round.beats()
        if self.epsilon:
            self.near += np.swapaxes(round.beats(self.epsilon), 0, 1)
        held = _log_average(self._held())
        self.peaks = np.maximum(self.peaks, held)
        self.pair_peaks = np.maximum(self.pair_peaks, _log_average(self.pairs))
        if self.epsilon:
            near = _log_average(self.near)
            self.close_peaks = np.maximum(self.close_peaks, near)
            both = self._settled_beside(held, near)
            self.near_peaks = np.maximum(self.near_peaks, both)

    def against(self) -> FloatArray:
        """Log capital against each option."""
        return _log_average(self._held())

    def _held(self) -> FloatArray:
        """Log capital against each option, by stake."""
        return self.begun + self.pairs.sum(axis=1)

    def enter(self, count: int, inside: BoolArray) -> None:
        """So many options come; ``inside`` are those that are in before."""
        held = self._held()[inside]
        self.floor = np.minimum(self.floor, held.min(axis=0, initial=math.inf))
        self._grow(count)
        self.begun[-count:] = self.floor
        self.peaks[-count:] = _log_average(self.begun[-count:])

    def leave(self, w: int, inside: BoolArray) -> None:
        """One option goes; ``inside`` are those that are in before."""
        held = self._held()
        if inside[w]:
            self.floor = np.minimum(self.floor, held[w])
        self.begun += np.minimum(0.0, self.floor - held)
        self.peaks = _log_average(self._held())

    def _grow(self, count: int) -> None:
        K = self.K = self.K + count
        self.pairs = _grown(self.pairs, (K, K))
        self.begun, self.peaks = _grown(self.begun, (K,)), _grown(self.peaks, (K,))
        self.pair_peaks = _grown(self.pair_peaks, (K, K))
        self.near_peaks = _grown(self.near_peaks, (K, K))
        self.close_peaks = _grown(self.close_peaks, (K, K))

    def shown(self, x: int, delta: float) -> bool:
        """Whether it is shown that x beats everyone."""
        against = np.delete(self.pair_peaks[:, x], x)
        return bool(against.min() >= math.log(self.K / delta) - self.moved.racing)

    def enough_close(self, delta: float) -> float:
        """Log capital that shows of one option that another one is not preferred to it by more."""
        return math.log(self.K / (ACCEPTING * delta))

    def close_to_all(self, delta: float) -> BoolArray:
        """To whom nobody, ruled out or not, is preferred by more than epsilon."""
        close = self.close_peaks >= self.enough_close(delta)
        np.fill_diagonal(close, True)
        return np.logical_and(close.all(axis=1), self.epsilon > 0)

    def arrows(self, delta: float) -> BoolArray:
        """Whom it is shown that each option (row) beats."""
        return (self.pair_peaks >= -math.log(each_arrow(self.K, delta))).T


class Most(_Purses):
    """Purses for "wins most"."""

    saved = ("pairs", "near", "peaks", "pair_peaks", "near_peaks", "floor", "leads")
    saved += ("counts", "sums", "behind")

    def __init__(self, K: int, epsilon: float, m: int = 1) -> None:
        self.K, self.epsilon, self.m, self.moved = K, epsilon, m, Shares(epsilon)
        J = len(WEIGHTS)
        self.pairs = np.zeros((K, K, J))  #: log capital of "r wins more than x", by x, r, stake
        self.near = np.zeros((K, K, J) if epsilon else (0, 0, 0))
        self.leads = np.zeros((K, J))  #: the same against whoever led before each block
        self.counts, self.sums = np.zeros(K), np.zeros(K)  #: of comparisons that served each
        self.floor = 0.0  #: log of what everybody began with
        self.peaks = np.zeros(K)
        self.pair_peaks, self.near_peaks = np.zeros((K, K)), np.zeros((K, K))

    @property
    def shares(self) -> FloatArray:
        """Of its comparisons that each option won, drawn a little towards ½."""
        return (self.sums + 1.0) / (self.counts + 2.0)

    def settle(
        self, block: Comparisons, before: Record, fitted: Strengths, here: BoolArray
    ) -> None:
        """Bet on a block, by what was known before it; ``here`` are those in at its start."""
        won = np.where(block.served == block.first, block.result, 1.0 - block.result)
        K, most = self.K, int(np.bincount(block.served, minlength=self.K).max())
        table = np.full((K, most), math.nan)  # the i-th result of each
        place = np.zeros(K, dtype=np.int64)
        for who, y in zip(block.served.tolist(), won.tolist()):
            table[who, place[who]] = y
            place[who] += 1
        lead = np.nan_to_num(table[None] - table[:, None])  # (x, r, i); 0 where one is missing
        both = ~np.isnan(table[None] - table[:, None])
        m = self.shares
        edge = m[None] - m[:, None]  # of r over x
        spread = (m * (1 - m))[None] + (m * (1 - m))[:, None]
        gained = np.zeros((K, K, len(WEIGHTS)))
        stakes = _lead_stakes(edge, spread)
        for j in range(len(WEIGHTS)):
            gained[..., j] = np.log1p(stakes[..., j, None] * lead).sum(axis=2)
        self.pairs += gained
        for x in range(K):
            others = np.flatnonzero(here & (np.arange(K) != x))
            if len(others):
                self.leads[x] += gained[x, others[int(np.argmax(m[others]))]]
        if self.epsilon:
            stakes = _lead_stakes(edge.T + self.epsilon, spread)  # of c over x, by c and x
            ahead = np.where(both, -lead + self.epsilon, 0.0)
            for j in range(len(WEIGHTS)):
                self.near[..., j] += np.log1p(stakes[..., j, None] * ahead).sum(axis=2)
            both = self._settled_beside(self._held(), _log_average(self.near))
            self.near_peaks = np.maximum(self.near_peaks, both)
        np.add.at(self.counts, block.served, 1.0)
        np.add.at(self.sums, block.served, won)
        self.pair_peaks = np.maximum(self.pair_peaks, _log_average(self.pairs))
        self.peaks = np.maximum(self.peaks, self._held())

    def against(self) -> FloatArray:
        return self._held()

    def _held(self) -> FloatArray:
        """Log capital against each option."""
        pairs = _log_average(self.pairs)
        if self.m > 1:
            np.fill_diagonal(pairs, math.inf)
            least = np.sort(pairs, axis=1)[:, : self.K - self.m]
            return np.logaddexp.reduce(least, axis=1) - math.log(self.K - self.m)
        np.fill_diagonal(pairs, -math.inf)
        every = np.logaddexp.reduce(pairs, axis=1) - math.log(self.K - 1)
        return self.floor + np.logaddexp(_log_average(self.leads), every) - math.log(2.0)

    def settled(self, leading: IntArray, inside: BoolArray, enough: float) -> BoolArray:
        """Of the m that lead, who has shown enough over everybody else that is in."""
        others = inside.copy()
        others[leading] = False
        found = np.zeros(self.K, dtype=bool)
        found[leading] = (_log_average(self.pairs)[others][:, leading] >= enough).all(axis=0)
        return found

    def enter(self, count: int, inside: BoolArray) -> None:
        """So many options come; ``inside`` are those that are in before."""
        self._begin_anew(count, inside)

    def leave(self, w: int, inside: BoolArray) -> None:
        """One option goes; ``inside`` are those that are in before."""
        self._begin_anew(0, inside)

    def _begin_anew(self, count: int, inside: BoolArray) -> None:
        self.floor = min(self.floor, float(self._held()[inside].min(initial=math.inf)))
        K = self.K = self.K + count
        J = len(WEIGHTS)
        self.pairs, self.leads = np.zeros((K, K, J)), np.zeros((K, J))
        self.counts, self.sums = _grown(self.counts, (K,)), _grown(self.sums, (K,))
        self.peaks, self.pair_peaks = np.full(K, self.floor), np.zeros((K, K))
        self.near_peaks = np.zeros((K, K))

    def shown(self, x: int, delta: float) -> bool:
        """Whoever is left wins most."""
        return True

    def enough_close(self, delta: float) -> float:
        """Nothing is looked for after that."""
        return math.inf

    def close_to_all(self, delta: float) -> BoolArray:
        """Whoever is in is all that counts."""
        return np.zeros(self.K, dtype=bool)

    def arrows(self, delta: float) -> BoolArray:
        """Nothing is said of two options alone."""
        return np.zeros((self.K, self.K), dtype=bool)


def accepted(purses: Everyone | Most, inside: BoolArray, delta: float) -> BoolArray:
    """Who is shown to be close enough to every other one that is in; of those in.

    Where m are asked for: the m that lead, if each of them is close to all others that are in.
    """
    if not purses.epsilon:
        return np.zeros(purses.K, dtype=bool)
    m = purses.m
    close = purses.near_peaks >= math.log(m / delta)
    np.fill_diagonal(close, True)
    if m == 1 or not isinstance(purses, Most):
        return inside & close[:, inside].all(axis=1)
    found = np.zeros(purses.K, dtype=bool)
    leading = highest(purses.shares, inside, m)
    found[leading] = close[leading][:, inside & ~np.isin(np.arange(purses.K), leading)].all()
    return found


def highest(shares: FloatArray, inside: BoolArray, m: int) -> IntArray:
    """The m with the largest shares among those that are in, best first; others if these are few.

    Examples
    --------
    >>> highest(np.array([0.2, 0.9, 0.7]), np.array([True, False, True]), 2).tolist()
    [2, 0]
    """
    return np.lexsort((-np.round(shares, 9), ~inside))[:m]


def _grown(table: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """A table with zeros behind it, up to this shape in its first axes."""
    found = np.zeros((*shape, *table.shape[len(shape) :]))
    found[tuple(slice(n) for n in table.shape[: len(shape)])] = table
    return found


def _stakes(p: FloatArray, by: float) -> FloatArray:
    """Stakes on rivals that are preferred with these probabilities, (n, J); none loses all."""
    follows = np.clip(SLOPE * (p - 0.5), 0.0, SLOPE / 2)
    fixed = np.where((p > FROM)[:, None], FIXED, 0.0)
    return np.minimum(np.column_stack([follows, fixed]), CAP / (0.5 - min(by, 0.0)))


def _lead_stakes(edge: FloatArray, spread: FloatArray) -> FloatArray:
    """Stakes on leads of this size, which vary by so much, (K, K, J)."""
    follows = np.clip(SHARE * edge / (spread + edge**2), 0.0, MOST)
    fixed = np.where((edge > FROM_LEAD)[..., None], FIXED_LEADS, 0.0)
    return np.concatenate([follows[..., None], fixed], axis=-1)


def _log_average(logs: FloatArray) -> FloatArray:
    """log Σ_j w_j exp(logs_j), over the last axis."""
    return np.logaddexp.reduce(logs + np.log(WEIGHTS), axis=-1)
