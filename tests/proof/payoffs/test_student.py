import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from surepick.arrays.backend import backend_named
from surepick.proof.payoffs.kernels import student_payoffs
from surepick.proof.payoffs.normal import log_payoff
from surepick.proof.payoffs.student import (
    array_log_student_payoff,
    legendre,
    log_constant,
    log_student_payoff,
)

# b, p, estimate, I, RSS, ν, log payoff; worked out independently
KNOWN = [
    (0, 1, 1, 9, 10, 10, 2.590272),
    (0, 1, 1, 9, 40, 10, 0.447915),
    (6, 4, 1.2, 9, 10, 10, 3.807320),
    (6, 4, 1.2, 9, 3, 3, 2.467357),
    (0, 1, 1, 9, 1000, 1000, 3.573698),
    (6, 4, -0.5, 9, 10, 10, -5.276817),
]
STAKES = [(0, 1), (6, 4), (-6, 4), (30, 10), (-30, 10), (0, 100), (3, 0.1), (-3, 0.1)]


@pytest.mark.parametrize("row", KNOWN)
def test_known_values(row):
    assert float(log_student_payoff(*row[:-1])) == pytest.approx(row[-1], abs=1e-5)


# Twenty nodes on each of 400 pieces of where w may be.
_ENDS = np.geomspace(1e-4, 1e4, 401)
_HALF = np.diff(_ENDS)[:, None] / 2
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
W, DW = _ENDS[:-1, None] + _HALF * (1 + _NODES), _HALF * _WEIGHTS


def by_definition(b, p, estimate, information, squares, freedom):
    """The same average over w, by a rule that knows nothing of where the integrand is."""
    z = math.sqrt(information) * estimate
    q, after = z / math.sqrt(squares + z * z), p + information
    x = (b + W * q * math.sqrt(information)) / math.sqrt(after)
    log = freedom * np.log(W) - W * W / 2 + x * x / 2 + log_ndtr(x)
    total = float((DW * np.exp(log - log.max())).sum())
    constant = (freedom - 1) / 2 * math.log(2) + math.lgamma((freedom + 1) / 2)
    prior = b * b / (2 * p) + log_ndtr(b / math.sqrt(p))
    return math.log(total) + log.max() - constant - prior - 0.5 * math.log(after / p)


@pytest.mark.some(5)
@pytest.mark.parametrize("freedom", [1, 7, 60])
@pytest.mark.parametrize(("b", "p"), STAKES[1:])
def test_quadrature_follows_the_integrand(freedom, b, p):
    for information in (0.5, 30.0, 400.0):
        for z in (-4.0, 0.3, 2.0, 50.0):
            row = (b, p, z / math.sqrt(information), information, 1.0, freedom)
            assert float(log_student_payoff(*row)) == pytest.approx(by_definition(*row), abs=1e-7)


NODES = np.polynomial.legendre.leggauss(400)  # once: it takes longer than all the rest


@pytest.mark.some(4)
@pytest.mark.parametrize("freedom", [1, 3, 100])
@pytest.mark.parametrize("information", [0.1, 10.0, 1000.0])
def test_the_mean_under_the_null_is_one(freedom, information):
    """With q = sin t the density of q at a mean of 0 is cos^{ν−1} t, up to a constant.

    Near t = π/2 the payoff is steep: nodes are spread evenly in log(π/2 − |t|) out there.
    """
    x, weights = NODES
    left = np.exp(0.5 * (x + 1.0) * (math.log(math.pi / 2) - math.log(1e-14)) + math.log(1e-14))
    mass = left * weights * np.sin(left) ** (freedom - 1)  # left = π/2 − |t|
    z = 1.0 / np.tan(left)
    for b, p in STAKES:
        pays = [
            np.exp(
                log_student_payoff(b, p, side * z / math.sqrt(information), information, 1, freedom)
            )
            for side in (1.0, -1.0)
        ]
        mean = float((mass * (pays[0] + pays[1])).sum() / (2.0 * mass.sum()))
        assert mean == pytest.approx(1.0, abs=1e-8)


@given(
    b=st.floats(-20, 20),
    p=st.floats(0.1, 100),
    estimate=st.floats(-5, 5),
    more=st.floats(1e-3, 5),
    freedom=st.integers(1, 60),
)
@settings(max_examples=80, deadline=None)
def test_more_evidence_pays_more_and_more_noise_pays_less(b, p, estimate, more, freedom):
    here = float(log_student_payoff(b, p, estimate, 4.0, 3.0, freedom))
    assert float(log_student_payoff(b, p, estimate + more, 4.0, 3.0, freedom)) >= here - 1e-9
    if estimate > 0:
        assert float(log_student_payoff(b, p, estimate, 4.0, 3.0 + more, freedom)) <= here + 1e-9


@given(scale=st.floats(-140, 140), freedom=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_the_unit_of_rewards_does_not_matter(scale, freedom):
    unit = 10.0**scale
    here = float(log_student_payoff(2.0, 4.0, 0.7, 5.0, 3.0, freedom))
    there = float(log_student_payoff(2.0, 4.0, 0.7 * unit, 5.0, 3.0 * unit * unit, freedom))
    assert there == pytest.approx(here, abs=1e-9)


def test_with_many_residuals_it_is_the_bet_of_known_scale():
    known = float(log_payoff(6.0, 4.0, 9.0 * 1.2, 9.0))
    found = [
        float(log_student_payoff(6.0, 4.0, 1.2, 9.0, float(freedom), freedom))
        for freedom in (10**2, 10**4, 10**6)
    ]
    assert found[-1] == pytest.approx(known, abs=1e-4)
    assert abs(found[0] - known) > abs(found[1] - known) > abs(found[2] - known)


def test_a_block_without_residuals_says_nothing():
    assert float(log_student_payoff(1.0, 1.0, 3.0, 9.0, 0.0, 4)) == 0.0
    assert float(log_student_payoff(1.0, 1.0, 3.0, 9.0, 2.0, 0)) == 0.0


def test_arrays_of_other_libraries_give_the_same():
    there = backend_named("torch")
    parts = [np.array([0.0, 6.0, -3.0]), np.array([1.0, 4.0, 0.5]), np.array([1.0, -0.5, 2.0])]
    information = np.array([9.0, 9.0, 40.0])
    found = array_log_student_payoff(there, *map(there.put, [*parts, information]), 10.0, 10)
    np.testing.assert_allclose(
        there.host(found), log_student_payoff(*parts, information, 10.0, 10), rtol=1e-10
    )


@pytest.mark.parametrize("freedom", [1, 20, 500])
def test_clear_leads_do_not_drown_in_rounding(freedom):
    """With leads of very many standard errors all that is left is growth by ν per factor e."""
    row = np.array([[4.0], [1.0]]) * 10.0 ** np.arange(4, 14)
    found = log_student_payoff(row[0], 4.0, row[1], 9.0, float(freedom), freedom)
    np.testing.assert_allclose(np.diff(found), freedom * math.log(10), rtol=1e-3)
    bets = (row[0][:, None] / 4.0, np.full((10, 1), 4.0), np.zeros((10, 1)))
    news = (row[1][:, None], np.full((10, 1), 9.0))
    scale = (float(freedom), float(freedom), *legendre(), log_constant(freedom))
    compiled = student_payoffs(bets, news, np.array([1.0]), *scale)
    np.testing.assert_allclose(compiled[:, 0, 0], found, rtol=1e-10)
