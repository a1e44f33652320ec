"""The prior of the misfit check, where only some arms have been measured."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surepick as sp
from surepick.design.misfit import PRECISIONS
from surepick.run.diagnostics import lack_of_fit


def smallest(groups, rewards, nuisance, rho):
    """log of the average over shifts N(0, I/rho) of some groups, at the best means in a space."""
    G = groups.T @ groups
    root = np.linalg.cholesky(np.linalg.inv(G + rho * np.eye(len(G)))).T @ groups.T
    fit = np.linalg.lstsq(root @ nuisance, root @ rewards, rcond=None)[0]
    z = groups.T @ (rewards - nuisance @ fit)
    inner = np.linalg.solve(G + rho * np.eye(len(G)), z)
    return 0.5 * z @ inner - 0.5 * np.linalg.slogdet(np.eye(len(G)) + G / rho)[1]


@given(st.integers(0, 10**6), st.integers(0, 30))
def test_arms_not_measured_yet_keep_their_share(seed, others):
    """One arm of all is odd, each alike: what was measured so far must not change the prior."""
    rng = np.random.default_rng(seed)
    total = 5 + others
    problem = sp.Problem(np.column_stack([np.ones(total), rng.normal(size=total)]), noise=1.0)
    arms = np.concatenate([np.arange(5), rng.integers(0, 5, size=40)])
    rewards = rng.normal(size=45) + rng.normal(size=5)[arms]
    one_hot = np.eye(5)[arms]
    X = problem.features[arms]
    logs = [smallest(one_hot, rewards, X, rho) for rho in PRECISIONS]
    weights = [1 / (2 * len(PRECISIONS))] * len(logs)
    for rho, k in itertools.product(PRECISIONS, range(5)):
        groups = np.column_stack([X / math.sqrt(2), one_hot[:, k]])
        logs.append(smallest(groups, rewards, X, rho))
        weights.append(1 / (2 * len(PRECISIONS) * total))
    expected = float(np.log(np.dot(weights, np.exp(logs))))
    counts, sums = np.zeros(total), np.zeros(total)
    counts[:5], sums[:5] = one_hot.sum(axis=0), one_hot.T @ rewards
    assert lack_of_fit(problem, counts, sums).log_evidence == pytest.approx(expected, abs=1e-7)
