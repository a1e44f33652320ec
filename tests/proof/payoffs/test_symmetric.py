import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepick.arrays.backend import backend_named
from surepick.proof.payoffs.normal import log_payoff
from surepick.proof.payoffs.symmetric import array_log_tanh_bet, log_symmetric_payoff

contrasts = st.lists(st.floats(-50, 50), min_size=1, max_size=6).map(np.array)
stakes = st.floats(0, 20)


@given(contrasts, stakes)
def test_fair_whatever_the_scales_of_symmetric_noise(sizes, stake):
    """All signs enumerated: the mean is 1 for every choice of sizes."""
    signs = itertools.product((-1.0, 1.0), repeat=len(sizes))
    paid = [math.exp(log_symmetric_payoff(stake, np.array(s) * sizes)) for s in signs]
    assert np.mean(paid) == pytest.approx(1.0, rel=1e-9)


@given(contrasts, stakes, st.floats(0, 3))
def test_worse_below_zero(sizes, stake, below):
    signs = itertools.product((-1.0, 1.0), repeat=len(sizes))
    paid = [math.exp(log_symmetric_payoff(stake, np.array(s) * sizes - below)) for s in signs]
    assert np.mean(paid) <= 1 + 1e-9


@given(contrasts, st.floats(0, 5), st.floats(0, 2))
def test_larger_contrasts_pay_more_and_never_more_than_two_each(values, stake, more):
    paid = log_symmetric_payoff(stake, values)
    assert paid <= log_symmetric_payoff(stake, values + more) + 1e-12
    assert paid <= len(values) * math.log(2) + 1e-12


@given(contrasts, st.floats(0, 5))
def test_never_less_than_the_bet_on_sums_of_squares(values, stake):
    """exp(u − u²/2) ≤ 1 + tanh u: the closed form with S = ΣD and I = ΣD² is the weaker bet."""
    weaker = (stake * values - (stake * values) ** 2 / 2).sum()
    assert log_symmetric_payoff(stake, values) >= weaker - 1e-9


def test_the_closed_form_is_a_mixture_of_those_weaker_bets():
    values, p = np.array([0.5, 1.0, -0.2]), 3.0
    mu = np.linspace(0, 20, 200_001)
    prior = np.exp(-0.5 * p * (mu - 0.4) ** 2)
    bets = np.exp(mu * values.sum() - mu**2 / 2 * (values**2).sum())
    assert log_payoff(0.4 * p, p, values.sum(), (values**2).sum()) == pytest.approx(
        math.log((prior * bets).sum() / prior.sum()), abs=1e-4
    )


def test_nothing_overflows():
    assert log_symmetric_payoff(1e200, np.array([1e100])) == pytest.approx(math.log(2))
    assert log_symmetric_payoff(1.0, np.array([-1e300])) == pytest.approx(-2e300)
    assert log_symmetric_payoff(1.0, np.array([0.0])) == 0.0


def test_the_same_on_another_library():
    torch = backend_named("torch")
    bets = np.linspace(-40, 40, 101)
    found = torch.host(array_log_tanh_bet(torch, torch.put(bets)))
    np.testing.assert_allclose(found, [log_symmetric_payoff(1.0, b[None]) for b in bets])
