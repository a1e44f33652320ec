"""Where pulls go: to what is missing before an option is ruled out, or shown to keep the limits.

An option is ruled out when it is shown to break a limit, or when somebody is shown to keep them all
*and* to be better. What seems cheaper is served; of the two parts of the second way the one that
is missing. No guarantee rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surepick.algorithms.limits.capital import (
    AVERAGE,
    BROKEN,
    LED,
    PURSE,
    Capital,
    Heading,
    Surest,
)
from surepick.algorithms.limits.marks import Mark
from surepick.algorithms.limits.measured import Measured
from surepick.algorithms.limits.purses import OF_PURSE, Purses
from surepick.arrays.grid import coarse, level
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.led import NOBODY, Led
from surepick.proof.purses import total

_CAUTION = 1.5  # squared standard errors added to a squared gap: it may seem small by chance
_LEAST = 0.5  # log capital that everything is taken to lack at least
_PATIENCE = 10.0  # pulls that an option is taken to lack at most, over those of the clearest
_LEADS = 2.0 ** np.arange(0, 48, 0.5)  # pulls of the leader that are tried
_MOST = 1e15  # pulls of anything: more are all the same
_SUREST = 1e6  # squared standard errors: more are all the same
_AT_LIMIT = -1e-9  # deviations of one measurement: what seems to be exactly at its limit keeps it


class Seems(NamedTuple):
    """How far options seem to be inside of limits, (L, K), in deviations of one measurement."""

    margins: FloatArray
    errors: FloatArray  #: variances of these
    tolerances: FloatArray  #: by how much limits may be missed

    @property
    def kept(self) -> BoolArray:
        """Who seems to keep them all."""
        return self.margins.min(axis=0) >= _AT_LIMIT


def seems(marks: tuple[Mark, ...], measured: list[Measured]) -> Seems:
    """By all settled blocks."""
    margins, errors, tolerances = [], [], []
    for mark in marks:
        known = measured[mark.column]
        means, doubt, noise = known.means, known.errors, known.noise
        apart = means - mark.mark
        if mark.reference < len(means):
            apart = apart - means[mark.reference]
            doubt, noise = doubt + doubt[mark.reference], noise + noise[mark.reference]
        apart = np.where(mark.certain, -mark.mark, apart)
        margins.append((apart if mark.up else -apart) / np.sqrt(noise))
        errors.append(doubt / noise)
        tolerances.append(mark.tolerance / np.sqrt(noise))
    return Seems(np.array(margins), np.array(errors), np.array(tolerances))


def leaders(alive: BoolArray, rewards: FloatArray, margins: FloatArray, count: int) -> list[int]:
    """Who seem to be the best of those that seem to keep the limits, so many of those left.

    Where nobody else seems to keep them, who is nearest to it.
    """
    found, rest, worst = list[int](), alive.copy(), margins.min(axis=0)
    while len(found) < count and rest.any():
        inside = rest & (worst >= _AT_LIMIT)
        among, score = (inside, rewards) if inside.any() else (rest, worst)
        places = np.flatnonzero(among)
        found.append(int(places[np.argmax(level(score[places]))]))
        rest[found[-1]] = False
    return found


def surest(
    marks: tuple[Mark, ...],
    reward: Measured,
    known: Seems,
    alive: BoolArray,
    purses: Led,
    m: int,
    by: float = 0.0,
) -> Surest:
    """What purses are to bet on: "x breaks a limit", or "its rival keeps them and is better by".

    Shares go by likelihood ratios, exp(±½ (estimate / its standard error)²).
    """
    found = leaders(alive, reward.means, known.margins, m + 1)
    places, second = purses.places(found[:m]), (found[m:] or [NOBODY])[0]
    inside, everyone = _inside(marks, known), np.arange(len(alive))
    first = places[-1] if places else NOBODY
    means, errors = reward.means, reward.errors
    rivals = np.where(everyone == first, second, first)
    sure = [np.full_like(everyone, one) for one in places[:-1]]
    apart = []
    for other in (rivals, *sure):
        ahead = _squared(means[other] - means - by, errors[other] + errors)
        both = np.minimum(inside.min(axis=0)[other], ahead)
        apart.append(0.5 * (both + inside.min(axis=0)))
    rivals[places[:-1]] = NOBODY  # nothing is bet on who would be better than one that is sure
    if len(found) <= m:
        rivals[:] = NOBODY
    shares = -np.logaddexp(0.0, apart), -np.logaddexp(0.0, -np.array(apart))
    return Surest(places, second, rivals, *shares, _shares(inside))


def heading(
    marks: tuple[Mark, ...], reward: Measured, known: Seems, head: int, apart: float
) -> Heading:
    """What is bet on the head: that it is not that far below s, or that s breaks a limit."""
    means, errors = reward.means, reward.errors
    near = _squared(means[head] - means + apart, errors[head] + errors)
    odds = 0.5 * (near + _inside(marks, known).min(axis=0))
    return Heading(head, -np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds))


def shares_of(marks: tuple[Mark, ...], known: Seems) -> FloatArray:
    """Log shares of a purse on "it breaks a mark", of each mark, (L, K)."""
    return _shares(_inside(marks, known))


def _inside(marks: tuple[Mark, ...], known: Seems) -> FloatArray:
    """How far options seem to be inside of marks, in squared standard errors."""
    found = _squared(known.margins, known.errors)
    for number, mark in enumerate(marks):
        found[number, mark.certain] = _SUREST if mark.itself else -_SUREST
    return found


def _shares(inside: FloatArray) -> FloatArray:
    return -0.5 * inside - np.logaddexp.reduce(-0.5 * inside, axis=0)


def _squared(apart: FloatArray, errors: FloatArray) -> FloatArray:
    """In squared standard errors, with their sign; 0 where nothing is known."""
    found = np.divide(
        apart * np.abs(apart), errors, out=np.zeros_like(apart), where=np.isfinite(errors)
    )
    return np.clip(found, -_SUREST, _SUREST)


class Goals(NamedTuple):
    """Log capital that decides."""

    racing: float  #: what rules out, and shows that somebody keeps the limits
    accepting: float


def counts_of(
    capital: Capital,
    reward: Measured,
    known: Seems,
    bet_on: Surest,
    alive: BoolArray,
    goals: Goals,
    prices: FloatArray,
    loose: bool,
) -> FloatArray:
    """About how many pulls of each option are missing."""
    K = len(alive)
    counts, out = np.zeros(K), alive.copy()
    out[bet_on.places] = False
    others = np.flatnonzero(out)
    breaking, of_reference = _to_break(capital, known, goals)
    for place, one in enumerate(bet_on.places, 1):
        place %= len(bet_on.places)  # the last is the first purse
        beaten = others[bet_on.beaten[place, others] >= bet_on.broken[place, others]]
        own = _to_keep(capital, known, one, beaten, goals, loose)
        if known.margins[:, one].min() < _AT_LIMIT:
            own = float(breaking[one])
        if len(others):
            needs = _to_beat(capital, reward, one, others, goals, loose)
            each, own = _cheapest(
                *(needs, reward.noise[others], float(reward.noise[one]), np.zeros(len(others))),
                *(breaking[others], own, prices[others], float(prices[one])),
            )
            counts[others] = np.maximum(counts[others], each)
        counts[one] = own
    return _served(counts, capital.marks, of_reference, alive)


def counts_of_cheapest(
    capital: Capital,
    headed: Led,
    reward: Measured,
    known: Seems,
    bet_on: Surest,
    alive: BoolArray,
    goals: Goals,
    prices: FloatArray,
    order: IntArray,
    apart: float,
) -> FloatArray:
    """The same where the cheapest that is good enough is looked for.

    Those that are cheaper than the head are to be far below the leader, or to break a limit; the
    head is to keep the limits, and to be near everybody who keeps them.
    """
    K, counts = len(alive), np.zeros(len(alive))
    assert bet_on.heading is not None
    head, first = bet_on.heading.head, bet_on.first
    breaking, of_reference = _to_break(capital, known, goals)
    place = np.argsort(order, kind="stable")
    nobody = np.array([], dtype=np.int64)

    def serve(one: int, others: IntArray, needs: FloatArray) -> None:
        own = _to_keep(capital, known, one, nobody, goals, False)
        if not known.kept[one]:
            own = float(breaking[one])
        each, own = _cheapest(
            *(needs, reward.noise[others], float(reward.noise[one]), np.zeros(len(others))),
            *(breaking[others], own, prices[others], float(prices[one])),
        )
        counts[others] = np.maximum(counts[others], each)
        counts[one] = max(counts[one], own)

    cheaper = np.flatnonzero(alive & (place < place[head]) & (np.arange(K) != first))
    serve(first, cheaper, _to_beat(capital, reward, first, cheaper, goals, False, apart))
    if (alive & (place > place[head])).any():
        others = np.delete(np.arange(K), head)
        sides = headed.on(head)[0][0]
        gap = level(reward.means)[head] - level(reward.means)[others] + apart
        lack = goals.racing + math.log(4.0) - sides[len(known.margins) :][others]
        doubt = reward.errors[head] + reward.errors[others]
        serve(head, others, _pulls(lack, np.maximum(gap, 0.0), doubt))
    return _served(counts, capital.marks, of_reference, alive)


def _served(
    counts: FloatArray, marks: Sequence[Mark], of_reference: IntArray, open_: BoolArray
) -> FloatArray:
    """Pulls of everybody, those that others are compared with among them, none too many.

    ``of_reference`` is which mark decides about each option, by its number.
    """
    K = len(counts)
    for number, mark in enumerate(marks):  # whom others are compared with
        if mark.reference < K:
            own = np.where(of_reference == number, counts, 0.0)
            counts[mark.reference] = max(counts[mark.reference], float(own.max()))
    shown = counts > 0
    if shown.any():
        counts = np.minimum(counts, _PATIENCE * max(float(counts[shown].min()), 1.0))
    counts[open_] = np.maximum(counts[open_], 1.0)
    return coarse(counts)


def _pulls(lack: FloatArray, gap: FloatArray, errors: FloatArray) -> FloatArray:
    """Pulls, of variance one, that so much log capital takes."""
    return 2.0 * np.maximum(lack, _LEAST) / (gap**2 + _CAUTION * errors)


def _to_break(capital: Capital, known: Seems, goals: Goals) -> tuple[FloatArray, IntArray]:
    """Pulls that show each option to break a limit, and which limit that is."""
    alone = goals.racing - math.log(BROKEN / len(capital.marks)) - capital.all_break()
    lack = np.minimum(alone, goals.racing - math.log(PURSE) - capital.led.total())
    pulls = _pulls(lack, known.margins, known.errors)
    pulls = np.where(known.margins < 0, pulls, math.inf)
    return pulls.min(axis=0), pulls.argmin(axis=0)


def _to_keep(
    capital: Capital, known: Seems, first: int, others: IntArray, goals: Goals, loose: bool
) -> float:
    """Pulls of the leader that show it to keep all limits."""
    sides, rest = capital.led.on(first)
    lack = goals.racing - math.log(LED) - capital.somebody.on(first)[0][0]
    purses = goals.racing - math.log(PURSE) - (rest[:, None] + sides[:, :-1])[others]
    lack = np.maximum(lack, purses.max(axis=0, initial=-math.inf))
    margins, errors = known.margins[:, first], known.errors[:, first]
    needed = np.where(lack <= 0, 0.0, _pulls(lack, np.maximum(margins, 0.0), errors))
    if loose:
        within = capital.all_within()[:, first]
        wider = np.maximum(margins + known.tolerances[:, first], 0.0)
        easier = _pulls(goals.accepting - within, wider, errors)
        needed = np.minimum(needed, np.where(within >= goals.accepting, 0.0, easier))
    return float(needed.max(initial=0.0))


def _to_beat(
    capital: Capital,
    reward: Measured,
    first: int,
    others: IntArray,
    goals: Goals,
    loose: bool,
    by: float = 0.0,
) -> FloatArray:
    """What 1/(variance of the lead over each other option) has to be."""
    gap = level(reward.means)[first] - level(reward.means)[others] - by
    doubt = reward.errors[first] + reward.errors[others]
    sides, rest = capital.led.on(first)
    of_it = math.log(AVERAGE / max(len(capital.met) - 1, 1))
    all_of_it = goals.racing - of_it - total(capital.ahead)[others, first]
    purses = goals.racing - math.log(PURSE) - (rest + sides[:, -1])[others]
    lack = np.minimum(purses, all_of_it)
    needs = _pulls(lack, np.maximum(gap, 0.0), doubt)
    if loose:
        close = total(capital.close)[others, first]
        wider = np.maximum(gap + capital.epsilon, 0.0)
        easier = _pulls(goals.accepting - close, wider, doubt)
        needs = np.minimum(needs, easier)
    return needs


def _cheapest(
    needs: FloatArray,
    noise: FloatArray,
    own: float,
    also: FloatArray,
    instead: FloatArray,
    keeping: float,
    prices: FloatArray,
    price: float,
) -> tuple[FloatArray, float]:
    """Pulls of the others and of the leader, for least money.

    The lead over x takes needs_x (v_L/n_L + v_x/n_x) ≤ 1, and so many pulls of x that it also has
    to have; unless x is shown to break a limit, which takes those ``instead``.
    """
    least = max(keeping, 1.0)
    leads = np.append(least, _LEADS[least < _LEADS])
    room = 1.0 - needs * own / leads[:, None]  # (tried, n)
    beaten = np.where(room > 0, needs * noise / np.where(room > 0, room, 1.0), _MOST)
    counts = np.minimum(np.minimum(np.maximum(beaten, also), instead), _MOST)
    best = int(np.argmin(coarse(price * leads + (counts * prices).sum(axis=1))))
    return counts[best], float(leads[best])


class Missing(NamedTuple):
    """By which it is worked out what claims about options lack."""

    capital: Purses
    known: Seems  #: of all marks, that of the baseline first
    reward: Measured
    about: int  #: the baseline; behind all options: a number
    still: IntArray  #: who is not decided
    prices: FloatArray


def counts_for_claims(at: Missing, goals: FloatArray, sooner: FloatArray) -> FloatArray:
    """About how many pulls of each option are missing for claims.

    Parameters
    ----------
    goals
        Log capital that claims take once the others are made, (2, K): better, ruled out.
    sooner
        The same of a claim that is the next one. It counts for the option that is nearest to it: if
        all waited for all others, one that ties might keep them waiting for ever.
    """
    K, still = len(goals[0]), at.still
    counts, deciding = np.zeros(K), np.zeros(K, dtype=np.int64)
    if not len(still):
        return _served(counts, at.capital.marks, deciding, np.zeros(K, dtype=bool))
    first = still[int(np.argmin(coarse(_alone(_lacks(at, sooner), still))))]
    goals = goals.copy()
    goals[:, first] = sooner[:, first]
    lead, also, instead, deciding = _lacks(at, goals)
    noise, open_ = at.reward.noise, np.zeros(K, dtype=bool)
    open_[still] = True
    if at.about == K:
        counts[still] = _alone((lead, also, instead, deciding), still)
    else:
        own = noise[still] + noise[at.about]
        needs = np.minimum(lead, _MOST)[still] / own  # what 1/(variance of the lead) has to be
        patience = _PATIENCE * float(needs.min())
        counts[still], counts[at.about] = _cheapest(
            *(np.minimum(needs, patience), noise[still], float(noise[at.about]), also[still]),
            *(instead[still], 0.0, at.prices[still], float(at.prices[at.about])),
        )
    return _served(counts, at.capital.marks[1:], deciding - 1, open_)


_Lacks = tuple[FloatArray, FloatArray, FloatArray, IntArray]


def _alone(lacks: _Lacks, still: IntArray) -> FloatArray:
    """Pulls of each, if nothing but its own are missing."""
    lead, also, instead, _ = lacks
    return np.minimum(np.minimum(np.maximum(lead, also), instead), _MOST)[still]


def _lacks(at: Missing, goals: FloatArray) -> _Lacks:
    """Pulls that the lead takes, that limits take as well, or instead; and which mark decides.

    Whether an option is to be shown to be better, or ruled out, goes by what it seems to be.
    """
    capital, (margins, errors, tolerances) = at.capital, at.known
    better, out = goals
    kept = capital.all_within() if capital.loose else capital.all_keep()
    wider = margins + (tolerances if capital.loose else 0.0)
    keeping = _pulls(better - kept, np.maximum(wider, 0.0), errors)
    keeping = np.where(kept >= better, 0.0, keeping)
    alone = out - math.log((1.0 - OF_PURSE) / len(capital.marks)) - capital.all_break()
    lack = np.minimum(alone, out - math.log(OF_PURSE) - capital.purse)
    breaking = np.where(margins < 0, _pulls(lack, margins, errors), _MOST)
    good = (wider >= _AT_LIMIT).all(axis=0)
    lead = np.where(good, keeping[0], breaking[0])
    limits = keeping[1:], breaking[1:]
    also = np.where(good, limits[0].max(axis=0), 0.0)
    instead = np.where(good, math.inf, limits[1].min(axis=0))
    deciding = np.where(good, limits[0].argmax(axis=0), limits[1].argmin(axis=0))
    return lead, also, instead, deciding + 1
