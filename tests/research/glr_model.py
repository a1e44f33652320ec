"""The GLR stop written out in plain NumPy, on the features as given."""

import math

import numpy as np

import surepick as sp

# Published means on this instance (NeurIPS 2021 paper on Frank-Wolfe sampling, 1000 runs each).
CONFOUNDING = sp.simulate.instances.confounding(6, 0.1, scale=2.0)
PUBLISHED = {
    ("uniform-heuristic", 0.1): 5451,
    ("uniform-heuristic", 1e-4): 15314,
    ("lingame-heuristic", 0.1): 2319,
    ("lingame-heuristic", 1e-4): 5120,
    ("lingame-c-heuristic", 0.1): 2498,
    ("fws-heuristic", 0.1): 1030,
    ("fws-heuristic", 1e-4): 2839,
}


def ratio_to_published(name, delta, n, seed=0):
    """Mean pulls of ``n`` trials over the published mean."""
    t = sp.simulate.trials(sp.algorithms.get(name, delta=delta), CONFOUNDING, n=n, seed=seed)
    return t["samples"].mean() / PUBLISHED[name, delta]


def play(algorithm, instance, seed=0, stop=None, look=None):
    """Ask and tell with Gaussian rewards; ``look(run, arm)`` sees the run before every tell."""
    run = algorithm.start(instance.problem)
    rng, scale = np.random.default_rng(seed), instance.problem.noise
    while not run.stopped and (stop is None or run.samples < stop):
        batch = run.ask()
        arm = int(batch.arms[0])
        if look is not None:
            look(run, arm)
        run.tell(batch, [instance.means[arm] + scale * rng.standard_normal()])
    return run


class Model:
    """Totals, least squares and the GLR statistic, recomputed from scratch whenever asked."""

    def __init__(self, problem, pulls, sums, lam=0.0):
        self.arms, self.points = problem.arms, problem.candidates[problem.distinct]
        self.t = int(pulls.sum())
        self.V = (self.arms.T * pulls) @ self.arms + lam * np.eye(self.arms.shape[1])
        self.inverse = np.linalg.inv(self.V)
        self.theta = self.inverse @ (self.arms.T @ (sums / problem.noise))
        values = self.points @ self.theta
        self.leader = int(np.argmax(values))
        self.rivals = [m for m in range(len(values)) if m != self.leader]
        self.Y = self.points[self.leader] - self.points  # (M, d)
        self.gaps = self.Y @ self.theta

    def variances(self, inverse=None):
        inverse = self.inverse if inverse is None else inverse
        return np.einsum("mi,ij,mj->m", self.Y, inverse, self.Y)

    def statistic(self, epsilon=0.0):
        """min over rivals of (θ̂ᵀy + ε)² / (2 a_y)."""
        rivals = self.rivals
        return ((self.gaps + epsilon)[rivals] ** 2 / (2 * self.variances()[rivals])).min()

    def heuristic(self, delta):
        return math.log((1 + math.log(self.t)) / delta)

    def shift(self, inverse, rival, epsilon=0.0):
        """θ̂ - λ for the closest λ under which ``rival`` is ε better; metric's inverse given."""
        y = self.Y[rival]
        return (self.gaps[rival] + epsilon) / (y @ inverse @ y) * (inverse @ y)
