"""LinGapE and GLUCB written down naively: everything from scratch in every round."""

import math

import numpy as np
from scipy.optimize import linprog


class Model:
    """Next arm after the pulls so far, straight from the definitions; unit noise."""

    def __init__(self, arms, candidates, level, norm_bound, lam=1.0, epsilon=0.0):
        self.arms, self.candidates = np.asarray(arms, float), np.asarray(candidates, float)
        self.level, self.norm_bound, self.lam, self.epsilon = level, norm_bound, lam, epsilon
        self.counts, self.sums = np.zeros(len(self.arms)), np.zeros(len(self.arms))
        self.shares = {}

    def tell(self, arm, reward):
        self.counts[arm] += 1
        self.sums[arm] += reward

    def look(self):
        """A, leader, challenger, and the upper bounds on every advantage over the leader."""
        d = self.arms.shape[1]
        A = self.lam * np.eye(d) + (self.arms.T * self.counts) @ self.arms
        theta = np.linalg.solve(A, self.arms.T @ self.sums)
        leader = int(np.argmax(self.candidates @ theta))
        Y = self.candidates - self.candidates[leader]
        logdet = np.linalg.slogdet(A)[1] - d * math.log(self.lam)
        C = math.sqrt(logdet - 2 * math.log(self.level)) + math.sqrt(self.lam) * self.norm_bound
        bounds = Y @ theta + C * np.sqrt(np.einsum("ij,ij->i", Y, np.linalg.solve(A, Y.T).T))
        others = bounds.copy()
        others[leader] = -np.inf
        return A, leader, int(np.argmax(others)), bounds

    def ratio(self):
        """The analysed rule: the acceptable arms (several on ties); None to stop."""
        _, i, j, bounds = self.look()
        if bounds[j] <= self.epsilon:
            return None
        if (i, j) not in self.shares:
            X, n = self.arms, len(self.arms)
            y = self.candidates[i] - self.candidates[j]
            found = linprog(np.ones(2 * n), A_eq=np.hstack([X.T, -X.T]), b_eq=y)
            self.shares[i, j] = np.abs(found.x[:n] - found.x[n:])
        p = self.shares[i, j]
        progress = np.where(p > 1e-9, self.counts / np.maximum(p, 1e-9), np.inf)
        return {k for k, v in enumerate(progress) if v <= progress.min() * (1 + 1e-9)}

    def greedy(self, guarded):
        """The greedy rule and its guard: the acceptable arms (several on ties); None to stop."""
        A, i, j, bounds = self.look()
        if bounds[j] <= self.epsilon:
            return None
        t = int(self.counts.sum())
        if math.isqrt(t) ** 2 == t:
            starved = guarded[int(np.argmin(self.counts[guarded]))]
            if self.counts[starved] < math.sqrt(t) / len(guarded):
                return {starved}
        y = self.candidates[i] - self.candidates[j]
        after = [y @ np.linalg.solve(A + np.outer(x, x), y) for x in self.arms]
        return {k for k, v in enumerate(after) if v <= min(after) * (1 + 1e-9)}
