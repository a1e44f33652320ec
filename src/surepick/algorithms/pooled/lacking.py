"""How much evidence is still missing, lead by lead, and the pulls that it would take."""

from __future__ import annotations

from typing import Any, NamedTuple

from surepick.algorithms.pooled.market import Market
from surepick.arrays.backend import Backend
from surepick.arrays.grid import coarse
from surepick.arrays.types import FloatArray, IntArray
from surepick.proof.claims import CAUTION
from surepick.proof.closeness import Closeness

RECHECK = 4.0  # after so many times the pulls, a drop should look more certain than it did
LEAST = 0.5  # log capital that each lead is taken to lack at least


class BetsSoFar(NamedTuple):
    """Where the bets stand."""

    evidence: Any  #: log capital against each candidate
    dropped_at: Any  #: pulls after which it was dropped; 0: still in; below 0: retired
    goal: float  #: log capital that drops a candidate
    pulls: int  #: so far
    epsilon: float  #: in the state's unit
    closeness: Closeness


class Lacking(NamedTuple):
    """What the leader's lead over each candidate lacks; arrays (M,).

    With ``pairs`` the leads of several: of each ``pairs[0][i]`` over ``pairs[1][i]``.
    """

    pulls: Any  #: for a variance of one per pull
    nats: Any  #: log capital
    pairs: tuple[IntArray, IntArray] | None = None
    counts: FloatArray | None = None  #: pulls of each option, where the question says them itself


def evenly(missing: Lacking) -> Lacking:
    """What leads lack, as if every lead lacked equally much evidence.

    For a guess: it does not matter how much there is against whom, only that the best of all comes
    out on top in the end.
    """
    return missing._replace(pulls=missing.pulls / _at_least(missing.nats))


def _at_least(nats: Any) -> Any:
    return nats.clip(LEAST, None)


def lacking(backend: Backend, market: Market, at: BetsSoFar) -> Lacking:
    """What is missing, with a variance of one for each pull.

    With variance a per pull, a lead of g makes the log capital grow by g²/(2a) per pull.
    """
    xp, leader = backend.xp, int(market.rivals[0])
    gone = at.dropped_at > 0
    nats = xp.clip(at.goal - at.evidence, LEAST, None)
    if bool(xp.any(gone)):
        nats = xp.where(gone, at.goal - _assurance(xp, market, at), nats)
    noise = xp.clip(CAUTION * market.variances, 1e-300, None)
    noise[leader] = 1.0  # its lead over itself is none, and takes none
    pulls = nats / (market.gaps**2 + noise)
    if at.epsilon > 0 and not bool(gone[leader]):
        # showing that x is not more than epsilon better will do as well
        wide = market.gaps + at.epsilon
        spare = xp.clip(at.goal - at.closeness.together(leader, at.evidence), LEAST, None)
        spare = xp.where(at.closeness.shown(leader), xp.zeros_like(spare), spare)
        by_closeness = spare / (wide**2 + noise)
        easier = ~gone & (coarse(by_closeness, xp) < coarse(pulls, xp))
        pulls, nats = xp.where(easier, by_closeness, pulls), xp.where(easier, spare, nats)
    pulls[leader] = 0.0
    pulls = xp.where(at.dropped_at < 0, xp.zeros_like(pulls), pulls)  # retired
    return Lacking(coarse(pulls, xp), coarse(nats, xp))


def _assurance(xp: Any, market: Market, at: BetsSoFar) -> Any:
    """Evidence that dropped candidates were dropped rightly, less what it should have grown.

    One of them is the best with probability up to delta. Unless it is measured now and
    then, the run would go on among the rest for very long, who may be all alike.
    """
    dropped = xp.clip(xp.astype(at.dropped_at, xp.float64), 1.0, None)
    late = xp.log(xp.clip(float(at.pulls) / (RECHECK * dropped), 1.0, None))
    return market.gaps**2 / xp.clip(2.0 * market.variances, 1e-300, None) - late
