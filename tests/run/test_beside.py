"""Options that change on their own: exact identities, and rates over whole runs."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import surepick as sp
from surepick.run.diagnostics import beside
from surepick.run.diagnostics.beside import Beside


def whole_run(seed, n_arms, drifts, *, over=16, level=None, scales=1.0, draw=None, most=300):
    """Evidence at its highest, and what it named; δ of a run with readings around 8 to 9.

    The last option rises from 8.3 to 13.3 while ``over`` pulls per option are made.
    """
    rng = np.random.default_rng([seed, n_arms])
    means = rng.uniform(7.5, 9.5, n_arms)
    draw = draw or (lambda size: rng.normal(size=size))
    scales = 0.3 * np.broadcast_to(scales, n_arms)
    problem = sp.Problem.unstructured(n_arms, noise="symmetric")
    run = sp.algorithms.PooledPeleg(0.05, max_samples=most).start(problem, seed)
    seen, made, found = Beside(n_arms), 0, None
    while not run.stopped:
        batch = run.ask()
        arms = rng.permutation(batch.arms)
        times = made + np.arange(len(arms))
        rewards = means[arms] + scales[arms] * draw(len(arms))
        rising = 8.3 + 5.0 * np.minimum(times / (over * n_arms), 1.0) - means[-1]
        rewards += np.where(drifts & (arms == n_arms - 1), rising, 0.0)
        rewards += 0.0 if level is None else level(times, rng)
        seen.add(times, arms, rewards)
        made += len(arms)
        told = {int(k): list(rewards[arms == k]) for k in np.unique(arms)}
        run.tell(batch, [told[int(k)].pop(0) for k in batch.arms])
        now = seen.evidence(True, 0.05)
        found = now if found is None or now.log_evidence > found.log_evidence else found
    return found


ALARM = math.log(20.0)


def test_one_option_that_drifts_is_found_and_named():
    found = [whole_run(seed, 6 + seed % 7, True) for seed in range(8)]
    assert sum(one.log_evidence >= ALARM for one in found) >= 6
    named = [one for one in found if one.arms]
    assert all(one.arms[0] == 5 + seed % 7 for seed, one in enumerate(found) if one.arms)
    assert all(2.0 < one.change < 8.0 for one in named)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "noise",
    [
        {},
        {"level": lambda times, rng: 5.0 * rng.normal()},
        {"level": lambda times, rng: 5.0 * times / 100},
        {"scales": [0.3, 1.0, 3.0, 9.0]},
        {"draw": lambda size: np.random.default_rng(size).standard_t(2, size)},
        {"draw": lambda size: np.random.default_rng(size).choice([-1.0, 1.0], size)},
    ],
)
def test_what_all_share_and_other_noise_raise_no_alarm(noise):
    found = [whole_run(seed, 4, False, most=150, **noise) for seed in range(6)]
    assert all(one.log_evidence < ALARM for one in found)


def test_the_evidence_is_the_ratio_that_the_proof_is_about():
    """One pair and one cell after the other, worked out with plain matrices."""
    rng, seen = np.random.default_rng(3), Beside(2)
    cells, made = [], 0
    for sizes in ((2, 2), (1, 3), (3, 1), (2, 4), (4, 2)):
        arms = rng.permutation(np.repeat([0, 1], sizes))
        times = made + np.arange(len(arms))
        rewards = rng.normal(size=len(arms)) + times * 0.2 * (arms == 0) + 7.0 * rng.normal()
        seen.add(times, arms, rewards)
        cells.append((times + 1.0, arms, rewards))
        made += len(arms)

    def contrasts(kappa):
        """The difference of means, that of slopes, and what rewards are off both."""
        rows, cov, shapes_of = [], [], []
        for times, arms, rewards in cells:
            V = np.diag(np.where(arms == 0, 1.0, kappa))
            both = [arms == k for k in (0, 1)]
            means = [own / own.sum() for own in both]
            lines = [own * (times - times[own].mean()) for own in both]
            sloped = min(own.sum() for own in both) > 1
            basis = [means[0] - means[1]]
            if sloped:
                basis += [lines[0] / (lines[0] @ lines[0]) - lines[1] / (lines[1] @ lines[1])]
            for own, line in zip(both, lines):
                away = [own.astype(float), line] if sloped else [own.astype(float)]
                away += [np.eye(len(arms))[i] for i in np.flatnonzero(~own)]
                basis += list(_orthogonal(np.array(away)))
            basis = np.array(basis).T
            rows.append((basis.T @ rewards, basis.T @ (arms == 0), basis))
            cov.append(basis.T @ V @ basis)
            shapes_of.append(beside.shapes(times))
        return rows, cov, shapes_of

    def log_q(kappa, shape, g, count):
        """Marginal density of the first cells under the drift, s and the mean integrated."""
        rows, cov, shapes_of = contrasts(kappa)
        y = np.concatenate([one[0] for one in rows[:count]])
        x = np.concatenate([one[1] for one in rows[:count]])
        f = []
        for (_, _, basis), (times, arms, _), own in zip(rows, cells, shapes_of):
            column = own[:, shape].copy()
            mine = arms == 0
            if min(mine.sum(), (~mine).sum()) < 2:
                column[mine] = column[mine].mean()
            else:  # along a straight line, as levels move
                line = np.polyfit(times[mine], column[mine], 1)
                column[mine] = np.polyval(line, times[mine])
            f.append(basis.T @ np.where(mine, column, 0.0))
        f = np.concatenate(f[:count])
        V = _blocks(cov[:count])
        V = V + g * np.outer(f, f)
        P = np.linalg.inv(V)
        W = x @ P @ x
        Q = y @ P @ y - (x @ P @ y) ** 2 / W
        half = 0.5 * (len(y) - 1)
        size = -0.5 * np.linalg.slogdet(V)[1] - 0.5 * math.log(W)
        return size + math.lgamma(half) - half * math.log(math.pi * Q)

    def log_p(kappa):
        rows, cov, _ = contrasts(kappa)
        y = np.concatenate([one[0] for one in rows[1:]])
        x = np.concatenate([one[1] for one in rows[1:]])
        V = _blocks(cov[1:])
        P = np.linalg.inv(V)
        m = (x @ P @ y) / (x @ P @ x)
        s = math.sqrt((y - m * x) @ P @ (y - m * x) / len(y))
        return multivariate_normal.logpdf(y, m * x, s * s * V)

    accounts = seen._pairs
    weights = accounts._likely
    logs = [
        log_q(kappa, shape, g, 5) - log_q(kappa, shape, g, 1) + math.log(share) + weight
        for kappa, weight in zip(beside._RATIOS, weights)
        for shape, g, share in beside._PRIORS
    ]
    expected = np.logaddexp.reduce(logs) - max(log_p(kappa) for kappa in beside._RATIOS)
    assert seen._paired == {0: 0, 1: 1} or seen._paired == {1: 0, 0: 1}
    own = seen._paired[seen._slots[0]] * 2 + seen._paired[seen._slots[1]]
    assert accounts.logs(np.array([own]))[0] == pytest.approx(expected, abs=1e-6)


def _orthogonal(vectors):
    """Orthonormal rows that are orthogonal to these."""
    rank = np.linalg.matrix_rank(vectors)
    return np.linalg.svd(vectors)[2][rank:]


def _blocks(parts):
    size = sum(map(len, parts))
    V, at = np.zeros((size, size)), 0
    for one in parts:
        V[at : at + len(one), at : at + len(one)] = one
        at += len(one)
    return V


def test_levels_scales_and_units_do_not_matter():
    def evidence(level, unit):
        rng, seen = np.random.default_rng(5), Beside(3)
        for batch in range(6):
            arms = rng.permutation(np.repeat(np.arange(3), 3))
            times = 9 * batch + np.arange(9)
            rewards = rng.normal(size=9) + 0.3 * times * (arms == 1)
            seen.add(times, arms, unit * (rewards + level * batch**2))
        return seen.evidence(True, 0.05).log_evidence

    assert evidence(50.0, 1.0) == pytest.approx(evidence(0.0, 1.0), abs=1e-6)
    assert evidence(0.0, 1e3) == pytest.approx(evidence(0.0, 1.0), abs=1e-6)
    assert evidence(0.0, 1.0) > 0


def test_a_copy_goes_on_alone():
    rng, seen = np.random.default_rng(6), Beside(3)
    arms = np.tile(np.arange(3), 4)
    for batch in range(3):
        seen.add(12 * batch + np.arange(12), arms, rng.normal(size=12))
    before = seen.evidence(True, 0.05)
    seen.copy().add(36 + np.arange(12), arms, 9.0 * (arms == 0) + rng.normal(size=12))
    assert seen.evidence(True, 0.05) == before


def test_more_options_than_are_looked_at():
    rng, seen = np.random.default_rng(7), Beside(600)
    for batch in range(2):
        seen.add(600 * batch + np.arange(600), np.arange(600), rng.normal(size=600))
    assert len(seen._slots) == beside.MOST_OPTIONS
    assert not seen._paired
    assert not seen.evidence(True, 0.05).arms


def test_rewards_that_repeat_are_set_apart_at_once_and_count_as_one_by_one(monkeypatch):
    rng = np.random.default_rng(4)
    arms = rng.integers(0, 3, 900)
    rewards = np.where(arms == 0, 2.0, 0.0)  # the first two never vary, the third does late
    rewards[(arms == 2) & (np.arange(900) > 700)] = rng.normal(size=900)[
        (arms == 2) & (np.arange(900) > 700)
    ]
    steps = []
    add = beside._Accounts.add
    monkeypatch.setattr(beside._Accounts, "add", lambda *given: (steps.append(1), add(*given)))
    together, one_by_one = Beside(3), Beside(3)
    together._by_itself(beside._Pulls(np.arange(900.0), arms, rewards))
    assert len(steps) < 10  # not one for every pull
    for at in range(900):
        one = slice(at, at + 1)
        one_by_one._by_itself(beside._Pulls(np.arange(900.0)[one], arms[one], rewards[one]))
    for name in ("sums", "origins", "trained", "shrunk"):
        both = (getattr(seen._alone, name) for seen in (together, one_by_one))
        if name == "origins":  # the last time is that of the last group, not of the last pull
            both = (found[:, :2] for found in both)
        np.testing.assert_allclose(*both, rtol=1e-9, atol=1e-9)
