"""Instances from other people's papers, as their own programs build them.

Some are here already under other names: the instance that nearly every paper on linear bandits has
since M. Soare, A. Lazaric and R. Munos (2014) is ``instances.confounding`` (the "classic" one of
Réda et al. with m = 1 is its ``d=2, omega=0.1, noise=0.5``), and arms on a sphere with theta near
the closest pair are ``instances.unit_sphere`` (C. Tao, S. Blanco, Y. Zhou, 2018).

Two that others use are not here: music (Last.fm), which needs a table that no package carries, and
confounding with logistic rewards, which no algorithm here is made for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.arrays.validate import positive, real, whole
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.simulate.instance import Instance

# Mean of the 18 scores that the authors' repository (github.com/clreda/linear-top-m, file
# DR_Data/rewards_cosine_10drugs_18samples.csv, MIT licence) has of each drug, to four places.
_DRUGS = {
    "Hydroxyzine": 0.4915,
    "Acetazolamide": 0.4849,
    "Pentobarbital": 0.4817,
    "Topiramate": 0.4780,
    "Diazepam": 0.4650,
    "DMCM": 0.3818,
    "Brucine": 0.3826,
    "Fipronil": 0.3927,
    "Flumazenil": 0.3968,
    "FG-7142": 0.3986,
}
_SPREAD = 0.0443  # standard deviation of the scores of one drug, the same way


def many_arms(k: int = 1000, rng: Any = 0, noise: float = 1.0) -> Instance:
    """A crowd of ``k`` − 2 arms in the plane that are all nearly second best.

    They lie at angles of 0.78 to 0.88 from the best arm, e_1 = theta; one more, at about 3π/4, is
    the one to measure. T. Fiez, L. Jain, K. Jamieson and L. Ratliff, "Sequential experimental
    design for transductive linear bandits" (2019), ``run_many_arms.py`` of the repository
    github.com/fiezt/Transductive-Linear-Bandit-Code.

    Examples
    --------
    >>> many_arms(50).best
    48
    """
    angles = 0.78 + 0.1 * np.random.default_rng(rng).random(whole(k, "k", least=3) - 2)
    crowd = np.column_stack([np.cos(angles), np.sin(angles)])
    arms = np.vstack([crowd, [1.0, 0.0], [-0.707, 0.707]])
    return Instance(Problem(arms, noise=noise), _first(2), name=f"many_arms(k={k})")


def transductive(d: int = 20, omega: float = 0.1, noise: float = 1.0) -> Instance:
    """``d`` quantities and a turned copy of each are compared; 2 ``d`` unrelated ones are measured.

    The candidates are e_1 … e_d and their copies, cos(omega)·e_i + sin(omega)·e_(d+i); theta is
    e_1. From the same paper, ``run_transductive.py``.

    Examples
    --------
    >>> problem = transductive(4).problem
    >>> problem.n_arms, len(problem.candidates), problem.transductive
    (8, 8, True)
    """
    eye = np.eye(2 * whole(d, "d", least=1))
    copies = math.cos(real(omega, "omega")) * eye[:d] + math.sin(omega) * eye[d:]
    problem = Problem(eye, np.vstack([eye[:d], copies]), noise=noise)
    return Instance(problem, _first(2 * d), name=f"transductive(d={d}, omega={omega:g})")


def end_of_optimism(d: int = 2, epsilon: float = 0.2, noise: float = 1.0) -> Instance:
    """Standard basis, and d − 1 arms (1 − epsilon)·e_1 + 2·epsilon·e_i; theta = e_1.

    An arm that is far from the best tells most about those that are close to it: T. Lattimore and
    C. Szepesvári, "The end of optimism?" (2017), with more dimensions as in the repository
    github.com/panxulab/optimal-batched-linear-bandits.

    Examples
    --------
    >>> end_of_optimism(3).problem.n_arms
    5
    """
    eye = np.eye(whole(d, "d", least=2))
    if not 0.0 < real(epsilon, "epsilon") < 1.0:
        raise InvalidInputError(f"epsilon must lie between 0 and 1; got {epsilon}")
    close = (1.0 - epsilon) * eye[0] + 2.0 * epsilon * eye[1:]
    name = f"end_of_optimism(d={d}, epsilon={epsilon:g})"
    return Instance(Problem(np.vstack([eye, close]), noise=noise), _first(d), name=name)


def random_features(d: int = 5, k: int = 10, rng: Any = 0, noise: float = 0.5) -> Instance:
    """``k`` arms with normal entries, divided by the largest singular value of all; theta = e_1.

    C. Réda, E. Kaufmann and A. Delahaye-Duriez, "Top-m identification for linear bandits" (2021),
    ``data.py`` of the authors' repository. Gaps are whatever chance makes them.

    Examples
    --------
    >>> round(float(np.linalg.norm(random_features().problem.arms, 2)), 12)
    1.0
    """
    shape = (whole(k, "k", least=2), whole(d, "d", least=1))
    arms = np.random.default_rng(rng).normal(size=shape)
    arms /= np.linalg.norm(arms, 2)
    return Instance(Problem(arms, noise=noise), _first(d), name=f"random_features(d={d}, k={k})")


def drugs(noise: float = _SPREAD) -> Instance:
    """Ten drugs, five against epilepsy and five that cause fits, by real scores; unrelated arms.

    The means are those of 18 scores each, which the same paper's authors recorded for its task of
    drug repurposing (18 samples, a simulated network of genes). There, features come from gene
    expression, and the five best are sought.

    Examples
    --------
    >>> instance = drugs()
    >>> instance.problem.labels[instance.best]
    'Hydroxyzine'
    """
    means = np.array(list(_DRUGS.values()))
    problem = Problem(np.eye(len(means)), noise=positive(noise, "noise"), labels=list(_DRUGS))
    return Instance(problem, means, name="drugs")


def _first(d: int) -> FloatArray:
    """e_1."""
    return np.eye(1, d)[0]
