import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from surepick.proof.payoffs.normal import log_payoff, log_psi

scores = st.floats(-30, 30)
sizes = st.floats(-6, 6).map(math.exp)


def expected_payoff(b, p, information, mean):
    """E[payoff] over S ~ N(I·mean, I), by quadrature over the standardised estimate."""
    root = math.sqrt(information)

    def integrand(z):
        score = information * mean + root * z
        return math.exp(float(log_payoff(b, p, score, information)) - 0.5 * z * z)

    # the payoff shifts the mass by about the stake's size
    reach = 12 + root * (abs(b) / p + 12 / math.sqrt(p))
    points = np.linspace(-12, reach, 9)
    parts = [quad(integrand, lo, hi, limit=200)[0] for lo, hi in itertools.pairwise(points)]
    return sum(parts) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("b", [-4.0, -0.5, 0.0, 1.0, 6.0])
@pytest.mark.parametrize(("p", "information"), [(1.0, 1.0), (5.0, 0.3), (0.5, 4.0)])
def test_a_bet_is_fair_at_zero_and_worse_below(b, p, information):
    assert expected_payoff(b, p, information, 0.0) == pytest.approx(1.0, abs=1e-7)
    assert expected_payoff(b, p, information, -0.3) < 1.0
    assert expected_payoff(b, p, information, 0.3) > 1.0


@given(scores, sizes, st.tuples(scores, scores), st.tuples(sizes, sizes))
def test_bets_in_a_row_are_one_bet_on_the_sums(b, p, new, information):
    one = log_payoff(b, p, new[0], information[0])
    two = log_payoff(b + new[0], p + information[0], new[1], information[1])
    both = log_payoff(b, p, sum(new), sum(information))
    assert float(one + two) == pytest.approx(float(both), rel=1e-9, abs=1e-9)


@given(scores, sizes)
def test_nothing_new_pays_nothing(b, p):
    assert float(log_payoff(b, p, 0.0, 0.0)) == 0.0


def test_payoff_is_the_mixture_it_claims_to_be():
    b, p, score, information = 1.3, 2.0, 4.0, 3.0

    def stakes(mu):
        return math.exp(-0.5 * p * (mu - b / p) ** 2)

    top = quad(lambda mu: stakes(mu) * math.exp(mu * score - mu**2 * information / 2), 0, 20)[0]
    assert float(log_payoff(b, p, score, information)) == pytest.approx(
        math.log(top / quad(stakes, 0, 20)[0]), rel=1e-9
    )


def test_log_psi_far_out_on_both_sides():
    # left tail: e^{z²/2}Φ(z) = (1 − 1/z² + 3/z⁴ − …) / (|z| sqrt(2 pi))
    z = -1e4
    assert float(log_psi(z)) == pytest.approx(-math.log(-z * math.sqrt(2 * math.pi)), abs=2e-8)
    assert float(log_psi(1e4)) == pytest.approx(5e7, rel=1e-15)
    assert float(log_psi(-1e-9)) == pytest.approx(float(log_psi(1e-9)), abs=1e-8)
    values = log_psi(np.linspace(-50, 50, 2001))
    assert (np.diff(values) > 0).all()


def test_capital_ever_reaches_one_over_the_level_at_most_at_that_rate():
    rng = np.random.default_rng(5)
    information = np.cumsum(np.full(400, 0.25))
    paths = np.cumsum(0.5 * rng.standard_normal((4000, 400)), axis=1)
    capital = log_payoff(0.0, 2.0, paths, information)
    crossed = (capital >= math.log(1 / 0.2)).any(axis=1).mean()
    assert 0.1 < crossed < 0.2 + 3 * math.sqrt(0.16 / 4000)


# -- symmetric noise of unknown scales -----------------------------------------------------
@pytest.mark.parametrize("scales", [(1.0,), (0.3, 5.0), (1e-9, 1.0, 40.0), (2.0, 2.0, 2.0, 0.1)])
@pytest.mark.parametrize(("b", "p"), [(0.0, 1.0), (3.0, 0.5), (-4.0, 2.0), (0.2, 0.001)])
def test_contrasts_of_any_scale_are_fair_bets_or_worse(scales, b, p):
    """All signs enumerated: whatever the sizes of symmetric contrasts, given them it is fair."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(scales))))
    contrasts = signs * np.array(scales)
    pays = np.exp(log_payoff(b, p, contrasts.sum(axis=1), (contrasts**2).sum(axis=1)))
    assert pays.mean() <= 1 + 1e-12
    lower = contrasts - 0.4  # a mean below 0
    pays = np.exp(log_payoff(b, p, lower.sum(axis=1), (lower**2).sum(axis=1)))
    assert pays.mean() <= 1 + 1e-12


def test_contrasts_that_are_many_and_small_cost_little():
    """A lead of g standard deviations of a group grows by g²/(2(g² + 1)) instead of g²/2."""
    rng = np.random.default_rng(0)
    lead, n = 0.3, 4000
    contrasts = lead + rng.standard_normal(n)
    known = float(log_payoff(1.0, 4.0, contrasts.sum(), n))
    found = float(log_payoff(1.0, 4.0, contrasts.sum(), (contrasts**2).sum()))
    assert found == pytest.approx(known / (1 + lead**2), rel=0.05)
