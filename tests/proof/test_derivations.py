"""The steps of the proofs on the pages about PooledPeleg, noise and misfit, by computer algebra.

Each test is one step: SymPy works it out with symbols, and where the library has a formula for the
result, its numbers are compared with what SymPy evaluates to thirty digits. Read from top to
bottom it is the argument that capital bet against the best option is a supermartingale: each
factor has a mean of at most 1 while the option is the best.
"""

import numpy as np
import pytest
import sympy as sp
from sympy import Rational as R

from surepick.proof.payoffs import bounded, student, symmetric
from surepick.proof.payoffs import normal as payoffs

mu, info, p = sp.symbols("mu I p", positive=True)
lead, b, s = sp.symbols("lead b S", real=True)


def normal(x, mean, variance):
    return sp.exp(-((x - mean) ** 2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)


def psi(z):
    return sp.exp(z**2 / 2) * (1 + sp.erf(z / sp.sqrt(2))) / 2


def is_zero(expression):
    return sp.simplify(expression) == 0


# -- noise of known scale --------------------------------------------------------------------
@pytest.mark.validation
def test_a_gaussian_bet_has_the_mean_that_the_proof_says():
    # S is the information times an estimate with mean `lead` and variance 1/I.
    bet = sp.exp(mu * s - mu**2 * info / 2)
    mean = sp.integrate(bet * normal(s, info * lead, info), (s, -sp.oo, sp.oo))
    assert is_zero(mean - sp.exp(mu * info * lead))  # at most 1 while the lead is at most 0


def test_bets_averaged_over_cut_normal_stakes_pay_the_closed_form():
    # The exponents of stake and bet together are those of a normal with b + S and p + I …
    joint = b * mu - p * mu**2 / 2 + mu * s - mu**2 * info / 2
    centre, precision = (b + s) / (p + info), p + info
    square = -precision * (mu - centre) ** 2 / 2 + (b + s) ** 2 / (2 * precision)
    assert is_zero(sp.expand(joint - square))
    # … and a normal cut at 0 weighs Φ of its centre over its scale: this is where psi comes from.
    t, root = sp.symbols("t r", positive=True)
    for sign in (1, -1):
        weight = sp.integrate(sp.exp(-(t**2) / 2 + sign * root * t), (t, 0, sp.oo))
        assert is_zero((weight - sp.sqrt(2 * sp.pi) * psi(sign * root)).rewrite(sp.erf))


@pytest.mark.parametrize(
    "values", [(0, 1, 9, 9), (6, 4, -4, 9), (-3, 2, 5, 1), (R(1, 2), R(1, 3), 40, 25)]
)
def test_the_library_pays_the_gaussian_closed_form(values):
    start, precision, new, told = map(sp.S, values)
    after = precision + told
    exact = sp.sqrt(precision / after) * psi((start + new) / sp.sqrt(after))
    exact = sp.log(exact / psi(start / sp.sqrt(precision))).evalf(30)
    paid = payoffs.log_payoff(*map(float, values))
    assert float(paid) == pytest.approx(float(exact), abs=1e-11)


# -- normal noise of unknown scale -------------------------------------------------------------
def test_the_scale_leaves_the_density_of_q_as_a_factor_of_its_own():
    w, nu = sp.symbols("w nu", positive=True)
    q, delta = sp.symbols("q Delta", real=True)
    z, r = w * q, w * sp.sqrt(1 - q**2)  # polar: r is the root of the residual sum of squares
    jacobian = sp.Matrix([z, r]).jacobian([w, q]).det()
    assert is_zero(jacobian**2 - w**2 / (1 - q**2))
    # Of the joint density of z and r (r has the χ law with ν degrees), what depends on w and q:
    joint = sp.exp(-((z - delta) ** 2) / 2) * r ** (nu - 1) * sp.exp(-(r**2) / 2)
    polar = joint * w / sp.sqrt(1 - q**2)
    at_zero = polar.subs(delta, 0)
    ratio = sp.simplify(sp.expand_log(sp.log(polar / at_zero), force=True))
    assert is_zero(ratio - (w * q * delta - delta**2 / 2))
    # At a lead of 0 the radius knows nothing of q, and has the χ law with ν + 1 degrees:
    alone = w**nu * sp.exp(-(w**2) / 2)
    rest = sp.simplify(sp.expand_log(sp.log(at_zero / alone), force=True))
    assert is_zero(sp.diff(rest, w))


def test_the_radius_has_the_chi_law_with_one_more_degree():
    w, nu = sp.symbols("w nu", positive=True)
    weight = sp.integrate(w**nu * sp.exp(-(w**2) / 2), (w, 0, sp.oo))
    assert is_zero(sp.gammasimp(weight / (2 ** ((nu - 1) / 2) * sp.gamma((nu + 1) / 2))) - 1)


@pytest.mark.parametrize(
    "values", [(0, 1, 1, 9, 10, 10), (6, 4, R(6, 5), 9, 3, 3), (6, 4, R(-1, 2), 9, 10, 10)]
)
def test_the_library_pays_the_average_over_the_radius(values):
    import mpmath

    start, precision, estimate, told, squares, nu = values
    with mpmath.workdps(30):
        start, precision, told = mpmath.mpf(start), mpmath.mpf(precision), mpmath.mpf(told)
        z = mpmath.sqrt(told) * mpmath.mpf(float(estimate))
        q = z / mpmath.sqrt(squares + z**2)

        def mp_psi(x):
            return mpmath.exp(x**2 / 2) * mpmath.ncdf(x)

        def integrand(w):
            inner = (start + w * q * mpmath.sqrt(told)) / mpmath.sqrt(precision + told)
            return w**nu * mpmath.exp(-(w**2) / 2) * mp_psi(inner)

        mean = mpmath.quad(integrand, [0, 2, 4, 8, 16, 32, mpmath.inf])
        mean /= mpmath.mpf(2) ** ((nu - 1) / mpmath.mpf(2)) * mpmath.gamma((nu + 1) / mpmath.mpf(2))
        share = mpmath.sqrt(precision / (precision + told)) / mp_psi(start / mpmath.sqrt(precision))
        exact = float(mpmath.log(share * mean))
    paid = student.log_student_payoff(*map(float, values[:4]), float(values[4]), values[5])
    assert float(paid) == pytest.approx(exact, abs=1e-8)


# -- symmetric noise -----------------------------------------------------------------------------
def test_a_bet_on_a_sign_is_fair_where_noise_is_symmetric_and_grows_with_the_lead():
    x, stake = sp.symbols("xi lambda", real=True)
    bet = 1 + sp.tanh(stake * x)
    assert is_zero((bet + bet.subs(x, -x)) / 2 - 1)
    assert is_zero(sp.diff(bet, x) - stake * (1 - sp.tanh(stake * x) ** 2))  # not negative


def test_it_is_the_likelihood_ratio_against_both_signs():
    d, g = sp.symbols("D g", real=True)
    scale = sp.symbols("s", positive=True)
    both = (normal(d, g, scale**2) + normal(d, -g, scale**2)) / 2
    ratio = normal(d, g, scale**2) / both
    assert is_zero((ratio - 1 - sp.tanh(g * d / scale**2)).rewrite(sp.exp))


def test_the_library_pays_the_product_over_parts():
    contrasts = [R(3, 10), R(-1, 5), R(7, 5), R(2, 5)]
    exact = sum(sp.log(1 + sp.tanh(R(3, 2) * d)) for d in contrasts).evalf(30)
    paid = symmetric.log_symmetric_payoff(1.5, np.array(list(map(float, contrasts))))
    assert float(np.ravel(paid)[0]) == pytest.approx(float(exact), abs=1e-12)


# -- rewards between bounds ------------------------------------------------------------------------
def test_one_plus_u_is_at_most_its_exponential():
    u = sp.symbols("u", real=True)
    loss = sp.log(1 + u) - u  # of a factor of the bet, compared with the exponential of the mean
    assert is_zero(sp.diff(loss, u) + u / (1 + u))  # grows up to u = 0, falls from there
    assert loss.subs(u, 0) == 0


def test_a_pull_pays_its_mean_whatever_its_variance():
    y, m, c, stake, low, high, chance = sp.symbols("y m c lambda l h pi", real=True)
    factor = 1 + stake * c * (y - m)
    mean = chance * factor.subs(y, high) + (1 - chance) * factor.subs(y, low)
    own = chance * high + (1 - chance) * low
    assert is_zero(mean - (1 + stake * c * (own - m)))


def test_the_lower_bound_of_a_logarithm_holds_from_the_largest_loss_on():
    x = sp.symbols("x", real=True)
    share = (x - sp.log(1 + x)) / x**2  # the bound says: nowhere larger than at the largest loss
    slope = sp.together(sp.diff(share, x))
    above = sp.simplify(slope * x**3)
    # Its sign is that of `above` over x³; `above` is 0 at 0 and falls everywhere: share falls.
    assert sp.limit(above, x, 0) == 0
    assert is_zero(sp.diff(above, x) + x**2 / (1 + x) ** 2)
    loss = sp.symbols("u", positive=True)
    assert is_zero(share.subs(x, -loss) * loss**2 - (-sp.log(1 - loss) - loss))


def test_the_library_pays_the_product_over_pulls():
    hits, counts, rates, c = (3, 1), (5, 4), (R(1, 2), R(2, 5)), (R(1, 5), R(-1, 4))
    stake = R(3, 10)
    exact = stake * sum(n * a * m for n, a, m in zip(counts, c, rates))
    for h, n, m, a in zip(hits, counts, rates, c):
        exact += h * sp.log(1 + stake * a * (1 - m)) + (n - h) * sp.log(1 - stake * a * m)
    results = tuple(np.array(list(map(float, part))) for part in (counts, hits))
    spread = results[1] * (1 - results[1] / results[0])
    paid = bounded.log_capped_payoff(
        0.3,
        np.array(list(map(float, c))),
        (results[0], results[1], spread, np.array(list(map(float, rates)))),
    )
    assert float(np.ravel(paid)[0]) == pytest.approx(float(exact.evalf(30)), abs=1e-12)


# -- features that are nearly right ---------------------------------------------------------------
def test_what_misfit_adds_to_an_estimate_is_what_the_allowance_counts():
    options, features = 4, 2
    x = sp.Matrix(options, features, sp.symbols(f"x:{options * features}"))
    theta = sp.Matrix(sp.symbols(f"theta:{features}"))
    eta, a = sp.symbols(f"eta:{options}"), list(sp.symbols(f"a:{options}"))
    rival, candidate = 0, 1
    # Coefficients that estimate the lead without bias: solved for two of them.
    unbiased = [
        sum(a[k] * x[k, j] for k in range(options)) - x[rival, j] + x[candidate, j]
        for j in range(features)
    ]
    solved = sp.solve(unbiased, a[2:], dict=True)[0]
    means = [(x[k, :] * theta)[0] + eta[k] for k in range(options)]
    error = sum(a[k] * means[k] for k in range(options)) - (means[rival] - means[candidate])
    counted = sum(
        eta[k] * (a[k] + int(k == candidate) - int(k == rival)) for k in range(options)
    )  # at most ζ Σ |a_k + 1[k = x] − 1[k = r]|
    assert is_zero((error - counted).subs(solved))
