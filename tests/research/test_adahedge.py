"""Algorithm 1 with AdaHedge: the phases of a slow, plain implementation, pull by pull."""

import math

import numpy as np
import pytest
from tests.breadth import first

import surepick as sp
from surepick.algorithms import Peleg
from surepick.errors import InvalidInputError
from surepick.simulate import instances


def mix_loss(weights, losses, eta):
    """−log Σ w exp(−η loss) / η; where η is infinite, the least loss of those with weight."""
    low = losses[weights > 0].min()
    if math.isinf(eta):
        return low
    return low - math.log(weights @ np.exp(-eta * (losses - low))) / eta


def plain_phase(arms, active, m, delta):
    """One phase in the plainest NumPy, with losses instead of gains, by their textbook rule."""
    K, d = arms.shape
    r2, eps = 8 * math.log(K**2 * m**2 / delta), 2.0 ** -(m + 1)
    first, second = np.triu_indices(len(active), 1)
    Y = arms[np.array(active)[first]] - arms[np.array(active)[second]]

    def farthest(matrix):
        inverse = np.linalg.inv(matrix)
        a = np.einsum("pi,ij,pj->p", Y, inverse, Y)
        return eps * inverse @ Y[a.argmax()] / a.max(), a.max()

    n, W, V = np.ones(K), np.ones(K), arms.T @ arms
    lost, gap = np.zeros(K), 0.0  # total losses, and what mixing lost so far
    while eps**2 / farthest(V)[1] <= r2:
        eta = math.log(K) / gap if gap > 0 else math.inf
        ahead = lost - lost.min()
        w = np.exp(-eta * ahead) if gap > 0 else (ahead == 0).astype(float)
        w /= w.sum()
        matrix = (arms.T * w) @ arms
        if np.linalg.matrix_rank(matrix) < d:
            matrix = (1 - 1e-6) * matrix + 1e-6 * arms.T @ arms / K
        losses = -((arms @ farthest(matrix)[0]) ** 2)
        gap += max(0.0, w @ losses - mix_loss(w, losses, eta))
        lost += losses
        W += w
        k = int(np.argmin(n / W))
        n[k] += 1
        V += np.outer(arms[k], arms[k])
    return n.astype(int)


#: pulls of each arm in the first phases, by the implementation above, at delta = 0.1
GOLDEN = {
    "standard": (instances.standard(0.3), [[1414, 1414, 1414, 1413, 1414]]),
    "confounding": (
        instances.confounding(5),
        [
            [1482, 1509, 1509, 1509, 1509, 29],
            [4, 38, 2, 2, 2, 2],
            [11, 171, 2, 2, 2, 2],
            [39, 740, 2, 2, 2, 2],
        ],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_first_phases_are_those_of_the_plain_implementation(name):
    instance, golden = GOLDEN[name]
    arms = np.asarray(instance.problem.arms)
    run = Peleg(0.1, learner="adahedge").start(instance.problem)
    for m, expected in enumerate(golden, 1):
        batch = run.ask()
        assert batch.counts.tolist() == expected
        if sum(expected) < 2000:  # the slow one takes seconds for more
            assert plain_phase(arms, list(run.active), m, 0.1).tolist() == expected
        run.tell(batch, sums=batch.counts * instance.means)


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", first(2, range(4)))
def test_phases_match_where_features_are_drawn(seed):
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(int(rng.integers(3, 9)), 3))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    run = sp.algorithms.get("peleg-adahedge", delta=0.5).start(sp.Problem(arms, noise=1.0))
    assert run.ask().counts.tolist() == plain_phase(arms, list(run.active), 1, 0.5).tolist()


def test_it_needs_a_fraction_of_the_pulls_where_the_stated_rate_stops_learning():
    instance, pulls = instances.confounding(5), {}
    for name in ("peleg-paper", "peleg-adahedge"):
        run = sp.algorithms.get(name, delta=0.1).start(instance.problem)
        while not run.stopped:
            batch = run.ask()
            run.tell(batch, sums=batch.counts * instance.means)
        assert run.answer.arm == instance.best
        pulls[name] = run.answer.samples
    assert pulls["peleg-adahedge"] < 0.3 * pulls["peleg-paper"]


def test_its_name_and_settings_make_it_again():
    for algorithm in (Peleg.adahedge(0.1), Peleg(0.2, learner="adahedge", ball=True)):
        name, settings = algorithm.registered_name(), algorithm.settings()
        assert sp.algorithms.get(name, **settings) == algorithm
    assert Peleg.adahedge(0.1) == sp.algorithms.get("peleg-adahedge", delta=0.1)
    assert Peleg.adahedge(0.1).settings() == {"delta": 0.1}
    with pytest.raises(InvalidInputError, match="'exponential' or 'adahedge'"):
        Peleg(0.1, learner="hedge")


def test_certificates_hold():
    instance = instances.confounding(3, omega=0.5)
    run = sp.algorithms.get("peleg-adahedge", delta=0.1).start(instance.problem)
    rng = np.random.default_rng(0)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, instance.means[batch.arms] + rng.normal(size=len(batch)))
    assert sp.verify(run.answer.certificate(), replay=True).candidate == instance.best
