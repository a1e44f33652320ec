"""What PELEG's Theorem 1 and its lemmas promise, as numbers beside what is measured.

Theorem 1 bounds the pulls of the whole run, the phase length bound those of one phase, the regret
bound what the learner loses in it. The proof of the phase length is not complete
(docs/paper-notes.md): the numbers are those that the paper states.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surepick.design import complexity
from surepick.problem import Problem
from surepick.research.designs import pair_design
from surepick.research.peleg import phase_constants
from surepick.simulate.instance import Instance


def theorem_1(instance: Instance, delta: float) -> float:
    """The bound of Theorem 1 on all pulls; it holds with probability 1 - delta.

    Examples
    --------
    >>> from surepick.simulate import instances
    >>> round(theorem_1(instances.standard(0.5, d=2), 0.1))
    324185
    """
    problem, K = instance.problem, instance.problem.n_arms
    log2_gap = _phases(instance)
    D = complexity(problem, instance.theta).D_star
    C = float(np.linalg.eigvalsh(problem.isometric[0].T @ problem.isometric[0])[0])
    log = math.log(log2_gap**2 * K**2 / delta)
    return 2048 * log2_gap / D * log**2 * math.log(K) / C**2 + 256 * log2_gap / D * log


def phase_bounds(instance: Instance, delta: float) -> list[float]:
    """The bound on the length of each phase of the experiments' form: 2 B_m (2^(m+1))² r_m² + 1.

    In phase m all arms are left whose gap is below 2^-(m-1), as the paper's corollary has it.
    """
    problem, found = instance.problem, []
    for m in range(1, math.ceil(_phases(instance)) + 1):
        left = problem.distinct[instance.gaps[problem.distinct] < 2.0 ** (1 - m)]
        active = problem.distinct if m == 1 else left
        if len(active) < 2:
            break
        B = pair_design(problem, active).rho
        r2 = 8 * math.log(len(problem.distinct) ** 2 * m**2 / delta)
        found.append(2 * B * 4.0 ** (m + 1) * r2 + 1)
    return found


def _phases(instance: Instance) -> float:
    """log2 of one over the smallest gap, and at least one."""
    smallest = float(instance.gaps[instance.gaps > 0].min())
    return max(math.log2(1 / smallest), 1.0)


class Played(NamedTuple):
    """One phase of Algorithm 1, played to its end."""

    pulls: int
    regret: float  #: of the learner: the best single arm's gains, minus its own
    stated: float  #: the paper's bound on it, D_m²/(√2 − 1)·sqrt(t log K)
    goal: float  #: r_m², what the phase has to gather: the regret matters where it is not far below


def first_phase(problem: Problem, delta: float, learner: str, ball: bool = False) -> Played:
    """The first phase, with the learner's regret.

    Parameters
    ----------
    learner
        ``"exponential"``, at the paper's rate, or ``"adahedge"``.
    ball
        As in the theorem.

    Examples
    --------
    >>> played = first_phase(Problem(np.eye(2), noise=1.0), 0.5, "exponential")
    >>> played.pulls, played.regret <= played.stated
    (1065, True)
    """
    from surepick.research.game import kernels
    from surepick.research.game.learners import AdaHedge, ExponentialWeights
    from surepick.research.game.loop import Phase

    arms, points = problem.isometric
    constants = phase_constants(arms, points, 1, delta, len(problem.distinct), ball)
    stated = ExponentialWeights(rate=1.0 / constants["D"] ** 2, offset=len(arms))
    eps, radius, goal = constants["eps"], constants["radius"], constants["r2"]
    phase = Phase(arms, points, AdaHedge() if learner == "adahedge" else stated, eps, radius, goal)
    K, own, last = len(arms), 0.0, np.zeros(len(arms))
    weights = np.empty(K)
    while True:
        code, rate, offset = phase.learner.code, *phase.learner.parameters
        kernels.learner_weights(code, rate, offset, phase.memory, weights)
        done = kernels.play_phase(*phase.arrays(phase.rounds + 1))
        gains = phase.memory[:K] - last
        own, last = own + float(weights @ gains), phase.memory[:K].copy()
        if done:
            break
    t = phase.rounds - K
    bound = constants["D"] ** 2 / (math.sqrt(2) - 1) * math.sqrt(t * math.log(K))
    return Played(phase.rounds, float(last.max()) - own, bound, goal)
