"""Orders of items: drawn once options and known scores are there, so that none is known before."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.items import for_options, mixed
from surepick.problem.grown import with_more
from surepick.proof.payoffs.table import WEIGHTS, stakes
from surepick.proof.purses import total

N, LOOKED_AT = 5, 2
OLD = [[1, 1, 0, 1, 0], [0, 1, 1, 0, 0]]  # the first is the best; a newcomer may come to its total
TOTAL = 3


def newcomer(met, items=N):
    """Made by looking at these items: it has them all, and in all as many as the best."""
    row = np.zeros(items, dtype=int)
    rest = [item for item in range(items) if item not in met]
    row[[*met, *rest][:TOTAL]] = 1
    assert row.sum() == sum(OLD[0][:items])
    return row


@functools.cache
def capital(leads, known):
    """Bet on "the newcomer has the larger total", in fractions; so many leads are known before."""
    held = [Fraction(float(weight)) for weight in WEIGHTS]
    for t in range(known, N):
        S, squares = sum(leads[:t]), sum(lead**2 for lead in leads[:t])
        mean = Fraction(-S, N - t)
        own = stakes(*(np.array(float(one)) for one in (mean, S, squares)), t)
        held = [money * (1 + Fraction(float(s)) * (leads[t] - mean)) for money, s in zip(held, own)]
        assert min(held) >= 0
    return sum(held)


def expected(order_of_decision, known):
    """Its mean over all orders by which the newcomer's maker met items, and all that follow."""
    found = []
    for first in itertools.permutations(range(N)):
        met = first[:LOOKED_AT]
        leads = (newcomer(met) - OLD[0]).tolist()
        for order in order_of_decision(first, met):
            found.append(capital(tuple(leads[item] for item in order), known))
    return sum(found) / len(found) / Fraction(float(WEIGHTS.sum()))


def rest_anew(first, met):
    return [(*met, *rest) for rest in itertools.permutations(first[LOOKED_AT:])]


def test_capital_against_the_best_does_not_grow_however_a_newcomer_was_made():
    """In exact fractions: E = 1 where it ties with the best, by an order that is drawn after it."""
    assert expected(rest_anew, known=LOOKED_AT) <= 1
    assert expected(lambda first, met: itertools.permutations(range(N)), known=0) <= 1
    # By the order that its maker has met, and by items that are bet on again, it does.
    assert expected(lambda first, met: [first], known=0) > Fraction(6, 5)
    assert expected(rest_anew, known=0) > Fraction(6, 5)


@pytest.mark.parametrize("items", [4, pytest.param(N, marks=pytest.mark.validation)])
def test_nor_does_that_of_a_table_that_an_option_joins(items):
    """The state itself, with a rival: over all orders before it joined, and after."""
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    held = []
    for met in itertools.permutations(range(items), LOOKED_AT):
        rows = np.array([*(row[:items] for row in OLD), newcomer(met, items)])
        rest = [item for item in range(items) if item not in met]
        for after in itertools.permutations(rest):
            algorithm = sp.algorithms.PooledPeleg(1e-9, complete=items)
            state = algorithm.begin(problem, np.random.default_rng(0))
            state.order, state.fresh = np.array([*met, *rest]), 1
            while not state.finished:
                if state.grid.met == LOOKED_AT and len(state.retired) == 2:
                    state.turn(with_more(problem, [[0, 0, 1]], ["n"]), np.zeros(3, dtype=bool))
                    state.order = np.array([*met, *after])
                pulls = state.propose(3)
                scores = rows[pulls.arms, state.items_of(pulls)]
                state.observe(pulls, scores / state.problem.noise_kind.units(pulls.arms))
            held.append(float(np.exp(total(state.question.purses.logs[0, 0]))))
    assert len(held) == math.factorial(items)
    assert np.mean(held) <= 1 + 1e-9


def test_a_seed_comes_to_another_order_where_anything_else_is_compared(drawn_orders):
    assert mixed(0, "a", "b") not in (mixed(0, "ab"), mixed(0, "b", "a"), mixed(1, "a", "b"))
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    other = sp.Problem.unstructured(["a", "c"], noise="yes-no")
    assert for_options(3, problem) == for_options(3, problem) != for_options(3, other)
    for settings in ({"complete": 40}, {"items": 40}):
        algorithm = sp.algorithms.PooledPeleg(0.1, **settings)
        same, again, third = (
            algorithm.start(one, 3).ask().items.tolist() for one in (problem, problem, other)
        )
        assert same == again != third
        drawn = [algorithm.start(problem).ask().items.tolist() for _ in range(5)]
        assert len(set(map(str, drawn))) > 1  # afresh, where no seed is given


@pytest.mark.parametrize("settings", [{"complete": 40}, {"items": 40}])
def test_the_promise_says_that_nobody_knew_the_order(settings):
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    run = sp.algorithms.PooledPeleg(0.1, **settings).start(problem, 3)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, batch.arms.astype(float))
    certificate = run.answer.certificate()
    said = "and nobody who made an option knew in which order items would come"
    assert said in run.answer.plain
    assert said in sp.verify(certificate, replay=True).statement
