"""The verifier's own payoffs: known values, and those of the algorithm to many digits."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import truncnorm
from tests.verifier.kinds import KINDS, as_json, finished

from surepick.proof.payoffs.bounded import log_capped_payoff
from surepick.proof.payoffs.stakes import normal_stakes
from surepick.proof.payoffs.student import log_student_payoff
from surepick.proof.payoffs.symmetric import log_symmetric_payoff
from surepick.verifier.check import Check
from surepick.verifier.guide import Guide
from surepick.verifier.payoffs import payoff_of
from surepick.verifier.payoffs.base import STAKES, cut_normal_stakes, normal_quantile
from surepick.verifier.payoffs.bounded import Results
from surepick.verifier.payoffs.student import log_student_bet
from surepick.verifier.payoffs.symmetric import log_tanh_bet
from surepick.verifier.questions.best import Best

CHECKS = {name: Check(as_json(finished(name, max_samples=1))) for name in ("yes-no", "bounded")}


def student(*row):
    *arrays, squares, freedom = row
    with np.errstate(all="ignore"):
        return float(log_student_bet(*(np.array([float(v)]) for v in arrays), squares, freedom)[0])


# -- Student's bets ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((0, 1, 1, 9, 10, 10), 2.590272),
        ((0, 1, 1, 9, 40, 10), 0.447915),
        ((6, 4, 1.2, 9, 10, 10), 3.807320),
        ((6, 4, 1.2, 9, 3, 3), 2.467357),
        ((0, 1, 1, 9, 1000, 1000), 3.573698),
        ((6, 4, -0.5, 9, 10, 10), -5.276817),
    ],
)
def test_student_bets_of_known_value(row, expected):
    assert student(*row) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("freedom", [1, 4, 50])
@pytest.mark.parametrize(("b", "p"), [(0.0, 1.0), (6.0, 4.0), (-6.0, 4.0), (30.0, 10.0)])
def test_a_student_bet_is_fair_at_a_lead_of_zero(freedom, b, p):
    """With q = sin t the density of q is cos^{ν−1} t, up to a constant.

    Where |q| is nearly 1 the payoff is steep: nodes are even in log(π/2 − |t|).
    """
    x, weights = np.polynomial.legendre.leggauss(400)
    left = np.exp(math.log(1e-14) + 0.5 * (x + 1.0) * math.log(math.pi / 2 * 1e14))
    mass, z = left * weights * np.sin(left) ** (freedom - 1), 1.0 / np.tan(left)
    for information in (0.3, 30.0):
        rows = [np.full_like(z, value) for value in (b, p, information)]
        with np.errstate(all="ignore"):
            paid = [
                np.exp(log_student_bet(*rows[:2], side * z / rows[2] ** 0.5, rows[2], 1.0, freedom))
                for side in (1.0, -1.0)
            ]
        mean = float((mass * (paid[0] + paid[1])).sum() / (2.0 * mass.sum()))
        assert mean == pytest.approx(1.0, abs=1e-9)


@given(
    b=st.floats(-50, 50),
    p=st.floats(0.05, 100),
    z=st.floats(-20, 20),
    information=st.floats(0.01, 100),
    freedom=st.integers(1, 2000),
    luck=st.floats(-1, 1),
)
@settings(max_examples=150, deadline=None)
def test_student_bets_are_those_of_the_algorithm(b, p, z, information, freedom, luck):
    row = (b, p, z / math.sqrt(information), information, freedom * math.exp(luck), freedom)
    assert student(*row) == pytest.approx(float(log_student_payoff(*row)), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("size", [1e4, 1e8, 1e13])
@pytest.mark.parametrize("freedom", [1, 20, 500])
def test_clear_leads_do_not_drown_in_rounding(size, freedom):
    """A lead of very many standard errors pays the same, in the limit, however many there are."""
    row = [size * 4.0, 4.0, size, 9.0, float(freedom), freedom]
    found, other = student(*row), float(log_student_payoff(*row))
    assert found == pytest.approx(other, rel=1e-9)
    # Per tenfold lead the payoff grows by ν·log 10 as long as ν is all there is to learn of it.
    row[0], row[2] = 10 * row[0], 10 * row[2]
    assert student(*row) - found == pytest.approx(freedom * math.log(10), rel=1e-3)


# -- stakes --------------------------------------------------------------------------------
def test_stakes_are_quantiles_of_the_cut_normal():
    score, precision = np.array([8.0, -3.0, 0.0]), np.array([4.0, 0.5, 100.0])
    found = cut_normal_stakes(score, precision)
    for i in range(3):
        mean, deviation = score[i] / precision[i], 1 / math.sqrt(precision[i])
        shares = 1 - (np.arange(STAKES) + 0.5) / STAKES
        cut = truncnorm(-mean / deviation, math.inf, mean, deviation)
        np.testing.assert_allclose(found[i], cut.ppf(shares), rtol=1e-9)


@given(score=st.floats(-1e4, 1e4), precision=st.floats(1e-6, 1e6))
@settings(max_examples=200, deadline=None)
def test_stakes_are_those_of_the_algorithm(score, precision):
    found = cut_normal_stakes(np.array(score), np.array(precision))
    np.testing.assert_allclose(found, normal_stakes(score, precision), rtol=1e-9)
    assert (found > 0).all()


def test_quantiles_of_the_normal():
    shares = np.geomspace(1e-9, 0.95, 200)
    np.testing.assert_allclose(normal_quantile(np.log(shares)), ndtri(shares), atol=1e-12)


# -- symmetric and bounded bets ------------------------------------------------------------
@given(stake=st.floats(0, 50), contrasts=st.lists(st.floats(-20, 20), min_size=1, max_size=8))
def test_symmetric_bets_are_those_of_the_algorithm(stake, contrasts):
    own = log_tanh_bet(stake * np.array(contrasts)).sum()
    assert own == pytest.approx(float(log_symmetric_payoff(stake, np.array(contrasts))), abs=1e-9)


@given(data=st.data(), arms=st.integers(1, 6), share=st.floats(0.01, 0.7))
@settings(max_examples=100, deadline=None)
def test_bounded_bets_are_those_of_the_algorithm(data, arms, share):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    counts = rng.integers(1, 50, size=arms).astype(float)
    c = rng.normal(size=arms) / counts
    for name, check in CHECKS.items():
        payoff: Any = payoff_of(check.kind)(Guide(check, False), [1.0])
        low, high = payoff._ends
        width = high - low
        means = low + width * rng.random(arms)
        sums = counts * low + width * rng.binomial(counts.astype(int), 0.3)
        squares = rng.random(arms) * counts * width**2
        facts = Results(counts, sums, squares, means)
        stake = share * payoff._largest_stake(c, facts)
        own = payoff._log_bets(np.array([[[stake]]]), c[None, None], facts, 0.3)[0, 0, 0]
        other = log_capped_payoff(stake, c, tuple(facts), (low, high, name == "yes-no"), 0.3)
        assert own == pytest.approx(float(other), rel=1e-8, abs=1e-8)


# -- whole runs ----------------------------------------------------------------------------
ANY_WAY = given(
    seed=st.integers(0, 10**6),
    epsilon=st.sampled_from([0.0, 0.1]),
    past=st.sampled_from([0, 9, 80]),
    in_advance=st.booleans(),
    max_batch=st.sampled_from([None, 7]),
    large=st.booleans(),
)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", KINDS)
@ANY_WAY
@settings(max_examples=3, deadline=None)
def test_capital_is_that_of_the_algorithm(name, **way):
    """Against every candidate, in every account, after runs that may go any way."""
    compare_capital(name, **way)


@pytest.mark.validation
@pytest.mark.parametrize("name", KINDS)
@ANY_WAY
@settings(max_examples=50, deadline=None)
def test_capital_is_that_of_the_algorithm_in_many_runs(name, **way):
    compare_capital(name, **way)


def compare_capital(name, seed, epsilon, past, in_advance, max_batch, large):
    run = finished(
        name,
        seed,
        past=past,
        in_advance=in_advance,
        large=large,
        epsilon=epsilon,
        max_batch=max_batch,
        max_samples=600,
    )
    check = Check(as_json(run))
    with np.errstate(all="ignore"):
        check.check_record()
        race = Best(check, np.array(check.distinct()))
        race.follow()
    capital = race.against.others.logs
    np.testing.assert_allclose(capital, run.state.question.capital, rtol=1e-8, atol=1e-8)
    assert list(race.close.shown()) == run.state.question.closeness.leaders
    for held, own in zip(race.close.purses(), run.state.question.closeness.logs, strict=True):
        np.testing.assert_allclose(held, own, rtol=1e-8, atol=1e-8)
