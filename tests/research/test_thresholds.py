import math

import numpy as np
import pytest
from scipy.stats import norm

import surepick as sp
from surepick.research.thresholds import (
    Determinant,
    Heuristic,
    Pairwise,
    Regularised,
    RoundRobin,
    SelfNormalised,
)

RNG = np.random.default_rng(3)
ARMS = RNG.normal(size=(7, 3))
PROBLEM = sp.Problem(ARMS, noise=0.5)
PULLS = np.array([4, 0, 3, 9, 1, 0, 20])


def gram(problem, pulls):
    return (problem.features.T * pulls) @ problem.features


def half_log_det(matrix):
    return 0.5 * np.linalg.slogdet(matrix)[1]


def levels(rule, delta=0.1, problem=PROBLEM, pulls=PULLS, first=None):
    parameters = rule.parameters(delta, problem, first)
    arms, _ = rule.coordinates(problem)
    V = (arms.T * pulls) @ arms + rule.prior * np.eye(arms.shape[1])
    return rule.levels(parameters, V, int(pulls.sum()))


def test_heuristic_formula():
    assert levels(Heuristic()) == pytest.approx(np.array([[0, math.log((1 + math.log(37)) / 0.1)]]))
    assert Heuristic().theorem == ""


def test_self_normalised_formula():
    rule = SelfNormalised(scales=(2.0, 50.0))
    V = gram(PROBLEM, PULLS)
    expected = [
        [rho, math.log(2 / 0.1) + half_log_det(np.eye(3) + V / rho)] for rho in (6.0, 150.0)
    ]
    assert levels(rule) == pytest.approx(np.array(expected))


@pytest.mark.parametrize(
    "problem",
    [
        sp.Problem(np.eye(6), noise=1.0),  # planes of pairs hold all of V⁻¹y
        sp.Problem(ARMS, noise=0.5),
        sp.Problem(np.vstack([np.eye(2), [[0.5, 0.0]]]), noise=1.0),  # two in one line
    ],
)
def test_pairwise_stops_once_every_rival_is_ruled_out_by_the_formula(problem):
    """Both bounds from their whole precision matrices, at the last pull and at the one before."""
    theta = np.zeros(problem.n_features)
    theta[0] = 1.0
    instance = sp.simulate.Instance(problem, theta)
    run = sp.algorithms.get("top-two", delta=0.05).start(problem, 1)
    rewards, ruled_out = np.random.default_rng(2), []
    pulls, sums = np.zeros(problem.n_arms), np.zeros(problem.n_arms)
    while not run.stopped:
        batch = run.ask()
        told = instance.means[batch.arms] + problem.unit * rewards.normal(size=batch.size)
        run.tell(batch, told)
        pulls += batch.counts
        np.add.at(sums, batch.arms, told / problem.unit)
        ruled_out.append(_all_ruled_out(problem, pulls, sums, 0.05))
    assert ruled_out[-1]
    assert not any(ruled_out[:-1])
    assert sp.verify(run.answer.certificate()).guarantee == "pac"


def _all_ruled_out(problem, pulls, sums, delta):
    X, Z, d = problem.features, problem.targets, problem.rank
    V = (X.T * pulls) @ X
    if np.linalg.matrix_rank(V) < d:
        return False
    theta = np.linalg.solve(V, X.T @ sums)
    leader, rivals = int(np.argmax(Z @ theta)), len(Z) - 1
    for other in set(range(len(Z))) - {leader}:
        y = Z[leader] - Z[other]
        u, needed = np.linalg.solve(V, y), []
        plane, _ = np.linalg.qr(Z[[leader, other]].T)
        plane = plane[:, : np.linalg.matrix_rank(Z[[leader, other]])]
        for log, scales, kappa in (
            (math.log(6 / delta), (8.0, 64.0, 1024.0), 1.0),
            (math.log(6 * rivals / delta), (4.0, 32.0, 256.0), 100.0),
        ):
            for scale in scales:
                inside = plane @ plane.T
                prior = d * scale * (inside + kappa * (np.eye(d) - inside))
                level = log + half_log_det(np.eye(d) + np.linalg.solve(prior, V))
                needed.append(2 * level * (y @ u + u @ prior @ u))
        if (theta @ y) ** 2 <= min(needed):
            return False
    return True


def test_pairwise_levels_for_all_pairs_share_half_of_delta():
    rule = Pairwise()
    V = gram(PROBLEM, PULLS)
    expected = [
        [3 * scale, math.log(6 / 0.1) + half_log_det(np.eye(3) + V / (3 * scale))]
        for scale in rule.scales
    ]
    assert levels(rule) == pytest.approx(np.array(expected))


def test_determinant_formula():
    first = PROBLEM.spanning_arms
    rows = PROBLEM.features[first]
    c = np.linalg.eigvalsh(rows.T @ rows)[0]
    inside = np.eye(3) + gram(PROBLEM, PULLS) / (0.1 * c)
    expected = 1.1 * (math.log(10) + half_log_det(inside))
    assert levels(Determinant(), first=first)[0, 1] == pytest.approx(expected)
    with pytest.raises(sp.SurepickError, match="pulled first"):
        levels(Determinant())


def test_regularised_formula_is_below_the_printed_bound():
    rule = Regularised(norm_bound=1.5, regularisation=0.7)
    V = (ARMS.T * PULLS) @ ARMS
    content = math.log(10) + half_log_det(np.eye(3) + V / 0.7)
    expected = (math.sqrt(content) + 1.5 / 0.5 * math.sqrt(0.35)) ** 2
    longest = (ARMS**2).sum(axis=1).max()
    printed = math.log(10) + 1.5 * math.log(1 + 37 * longest / (0.7 * 3))
    assert levels(rule)[0, 1] == pytest.approx(expected)
    assert content < printed


@pytest.mark.parametrize("rounds", [1, 2, 10, 1000])
@pytest.mark.parametrize("delta", [0.9, 0.1, 1e-9])
def test_round_robin_crosses_the_mixture_boundary(rounds, delta):
    """At the threshold the half-normal mixture has reached (M - 1)/delta, and not by much."""
    rule = RoundRobin()
    level = levels(rule, delta, pulls=np.full(7, rounds))[0, 1]
    s = math.sqrt(2 * level * rounds / (rounds + rule.rounds))
    log_mixture = (
        math.log(2 * norm.cdf(s)) + 0.5 * math.log(rule.rounds / (rounds + rule.rounds)) + s**2 / 2
    )
    assert -1e-9 < log_mixture - math.log(6 / delta) < 0.1
    assert levels(rule, delta, pulls=np.array([rounds + 1] + 6 * [rounds]))[0, 1] == math.inf


def test_nothing_depends_on_the_units_of_the_features():
    scaled = sp.Problem(ARMS * [1e-3, 1.0, 50.0] @ RNG.normal(size=(3, 3)), noise=0.5)
    for rule in (SelfNormalised(), Determinant()):
        first = PROBLEM.spanning_arms
        assert levels(rule, first=first) == pytest.approx(
            levels(rule, problem=scaled, first=first), rel=1e-9
        )


def test_round_robin_error_is_near_its_level():
    """One rival: the share of noise paths that ever cross must be below delta, yet not idle."""
    problem, delta, paths, rounds = sp.Problem(np.eye(2), noise=1.0), 0.2, 4000, 400
    noise = np.random.default_rng(0).standard_normal((paths, rounds, 2))
    total = np.cumsum(noise[:, :, 0] - noise[:, :, 1], axis=1)
    rule = RoundRobin()
    boundary = np.array(
        [levels(rule, delta, problem, np.array([n, n]))[0, 1] for n in range(1, 401)]
    )
    n = np.arange(1, 401)
    crossed = (total > 0) & (total**2 / (2 * 2 * n) > boundary)
    share = crossed.any(axis=1).mean()
    assert 0.03 < share <= delta


@pytest.mark.validation
def test_self_normalised_bound_holds_along_adversarial_sampling():
    """Sampling that always pulls where the noise has been largest: the bound must still hold."""
    rule, delta, d, paths = SelfNormalised(scales=(16.0,)), 0.5, 3, 150
    problem = sp.Problem(np.vstack([np.eye(d), -np.ones((1, d)) + np.eye(d)[:1]]), noise=1.0)
    X, rng = problem.features, np.random.default_rng(5)
    parameters, failed = rule.parameters(delta, problem), 0
    for _ in range(paths):
        V, b = X.T @ X, X.T @ rng.standard_normal(len(X))
        for t in range(len(X), 250):
            arm = int(np.argmax((X @ np.linalg.solve(V, b)) ** 2))
            V += np.outer(X[arm], X[arm])
            b += X[arm] * rng.standard_normal()
            if t % 5 == 0:
                met = rule.levels(parameters, V, t + 1)
                size = [0.5 * b @ np.linalg.solve(V + rho * np.eye(d), b) for rho, _ in met]
                if (np.array(size) > met[:, 1]).any():
                    failed += 1
                    break
    assert 0.1 * paths < failed <= delta * paths  # half the determinant's term would not do


@pytest.mark.parametrize("settings", [{"norm_bound": 0.0}, {"norm_bound": 1, "regularisation": -1}])
def test_bad_settings(settings):
    with pytest.raises(sp.SurepickError, match="must be above 0"):
        Regularised(**settings)
