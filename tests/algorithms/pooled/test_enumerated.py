"""Capital against what is true has a mean of 1 at most: over all outcomes, in exact fractions.

Chances are fractions and are summed up as such; capital is as the run has it, a float, which is a
fraction as well. Whatever else bets do, this is what the guarantee is.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pooled import dealing
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.run.report import tell_report

ROUNDING = Fraction(1, 10**9)  # of floats and their logarithms


def binomial(n, p):
    """All numbers of yes of n visitors, with their chances."""
    return [(s, math.comb(n, s) * p**s * (1 - p) ** (n - s)) for s in range(n + 1)]


def hypergeometric(n, s, m):
    """How many of s yes are among m of n visitors, with the chances."""
    ways = math.comb(n, s)
    drawn = [(j, math.comb(m, j) * math.comb(n - m, s - j)) for j in range(min(m, s) + 1)]
    return [(j, Fraction(some, ways)) for j, some in drawn if some]


def means(outcomes, capital_of):
    """The exact mean of the capital against each option, given all outcomes with their chances."""
    found, mass = None, Fraction(0)
    for outcome, chance in outcomes:
        logs = capital_of(outcome)
        found = [Fraction(0)] * len(logs) if found is None else found
        for k, log in enumerate(logs):
            found[k] += chance * Fraction(math.exp(log))
        mass += chance
    assert mass == 1
    return found


def every(parts):
    """All outcomes of independent parts, with their chances."""
    for combined in itertools.product(*parts):
        yield tuple(one for one, _ in combined), math.prod((p for _, p in combined), start=1)


def reported(run, visits, yes, parts=None, deal=None):
    arms = np.arange(len(visits)) if parts is None else np.repeat(np.arange(2), 2)
    pulls = Pulls(arms, np.array(visits), None if parts is None else np.array(parts))
    tell_report(run, ToldPulls(pulls, np.array(yes, dtype=float)), deal=deal)
    return run


def started(n, noise="yes-no", **asked):
    return sp.algorithms.PooledPeleg(1e-9, **asked).start(sp.Problem.unstructured(n, noise=noise))


def against(run):
    return run.state.question.against().tolist()


@pytest.mark.parametrize(
    ("first", "level", "epsilon"),
    [
        ((40, 10), Fraction(1, 10), 0.0),
        ((10, 40), Fraction(1, 2), 0.0),
        ((25, 25), Fraction(1, 2), 0.05),
    ],
)
def test_reports_that_are_bet_on_as_a_whole(first, level, epsilon):
    """Three options, the best two alike; what each report may be, and a level of the day."""
    rates, visits = (level, level, level / 2), (2, 2, 1)
    begun = reported(started(3, epsilon=epsilon), (60, 60, 60), (*first, 20)).to_json()

    def capital_of(yes):
        return against(reported(sp.Run.from_json(begun), visits, yes))

    outcomes = every(binomial(n, p) for n, p in zip(visits, rates))
    best, alike, _ = means(outcomes, capital_of)
    assert best <= 1 + ROUNDING
    assert alike <= 1 + ROUNDING


def test_two_reports_whose_shares_follow_the_first():
    """Whatever the second is made to be by what the first one came to."""
    p = Fraction(1, 3)
    begun = reported(started(2), (30, 30), (8, 12)).to_json()

    def outcomes():
        for first, chance in every([binomial(2, p)] * 2):
            visits = (3, 1) if first[0] > first[1] else (1, 3)  # the rates of this day are others
            for second, after in every([binomial(n, p / 2) for n in visits]):
                yield (first, visits, second), chance * after

    def capital_of(outcome):
        first, visits, second = outcome
        run = reported(sp.Run.from_json(begun), (2, 2), first)
        return against(reported(run, visits, second))

    assert max(means(outcomes(), capital_of)) <= 1 + ROUNDING


@pytest.mark.parametrize("p", [Fraction(1, 20), Fraction(1, 2)])
def test_a_report_that_is_dealt_into_two(p, monkeypatch):
    """All numbers of yes, and all ways to deal them: a tenth guides, the rest is bet on."""
    n, m = 5, 1
    single = [
        ((s, j), chance * drawn)
        for s, chance in binomial(n, p)
        for j, drawn in hypergeometric(n, s, m)
    ]
    drawn = {}
    monkeypatch.setattr(dealing, "dealt", lambda seed, arm, visits, yes: drawn[arm])

    def capital_of(outcome):
        drawn.update({arm: j for arm, (_, j) in enumerate(outcome)})
        return against(reported(started(2), (n, n), [s for s, _ in outcome], deal="seed"))

    assert dealing.guiding(n) == m
    assert max(means(every([single] * 2), capital_of)) <= 1 + ROUNDING


@pytest.mark.parametrize("first", [(10, 10, 10, 10), (2, 18, 15, 4)])
def test_reports_by_segment(first):
    """Two options that are alike in the mix, though in no segment."""
    kind = {"segments": {"phone": 0.25, "desk": 0.75}}
    rates = (Fraction(3, 5), Fraction(1, 5), Fraction(0), Fraction(2, 5))
    mix = [a / 4 + 3 * b / 4 for a, b in (rates[:2], rates[2:])]
    assert mix[0] == mix[1]
    parts, visits = [0, 1, 0, 1], (1, 2, 1, 2)
    begun = reported(started(2, kind), (30, 30, 30, 30), first, parts).to_json()

    def capital_of(yes):
        return against(reported(sp.Run.from_json(begun), visits, yes, parts))

    outcomes = every(binomial(n, p) for n, p in zip(visits, rates))
    assert max(means(outcomes, capital_of)) <= 1 + ROUNDING


def test_reports_with_bounds():
    """Amounts of 0, ½ or 1, of which reports have sums and sums of squares."""
    chances = [(0.0, Fraction(1, 2)), (0.5, Fraction(1, 4)), (1.0, Fraction(1, 4))]
    run = started(2, (0, 1))
    told = ToldPulls(
        Pulls(np.arange(2), np.full(2, 30)), np.array([9.0, 14.0]), np.array([3.0, 4.0])
    )
    tell_report(run, told)
    begun = run.to_json()

    def capital_of(amounts):
        own = np.array(amounts).reshape(2, 2)
        sums, spreads = own.sum(axis=1), 2 * own.var(axis=1)
        again = sp.Run.from_json(begun)
        tell_report(again, ToldPulls(Pulls(np.arange(2), np.full(2, 2)), sums, spreads))
        return against(again)

    assert max(means(every([chances] * 4), capital_of)) <= 1 + ROUNDING


def test_the_means_are_those_of_bets_and_not_of_nothing():
    """An option that is worse has capital against it that grows."""
    begun = reported(started(2), (60, 60), (12, 36)).to_json()

    def capital_of(yes):
        return against(reported(sp.Run.from_json(begun), (4, 4), yes))

    outcomes = every([binomial(4, Fraction(1, 5)), binomial(4, Fraction(3, 5))])
    worse, better = means(outcomes, capital_of)
    assert worse > 1 > better
