"""The paper's three families of instances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.validate import positive, real, whole
from surepick.problem import Problem
from surepick.simulate.instance import Instance


def standard(gap: float, d: int = 5, noise: float = 1.0) -> Instance:
    """Standard basis; the first arm is better than all others by ``gap``.

    Parameters
    ----------
    gap
        How far the best arm is ahead of the next.
    d
        Number of arms.
    noise
        Scale of the noise of one measurement.

    Examples
    --------
    >>> standard(0.3).problem.n_arms
    5
    """
    positive(gap, "gap")
    theta = np.zeros(whole(d, "d", least=2))
    theta[0] = gap
    return Instance(Problem(np.eye(d), noise=noise), theta, name=f"standard(gap={gap:g}, d={d})")


def unit_sphere(
    d: int, k: int = 100, gamma: float = 0.01, rng: Any = 0, noise: float = 1.0
) -> Instance:
    """``k`` arms uniform on the unit sphere; theta near the closest pair of them.

    With u, v the two closest arms, theta = u + gamma (v - u), which makes u the best arm and v
    its close rival.

    Parameters
    ----------
    d
        Number of features.
    k
        Number of arms.
    gamma
        Where theta lies between the two closest arms; 0: on the best one.
    rng
        Seed, or generator.
    noise
        Scale of the noise of one measurement.

    Examples
    --------
    >>> unit_sphere(10, rng=1).problem.rank
    10
    """
    rng = np.random.default_rng(rng)
    arms = rng.normal(size=(whole(k, "k", least=2), whole(d, "d", least=1)))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    products = arms @ arms.T
    np.fill_diagonal(products, -np.inf)
    u, v = np.unravel_index(np.argmax(products), products.shape)
    theta = arms[u] + real(gamma, "gamma") * (arms[v] - arms[u])
    return Instance(Problem(arms, noise=noise), theta, name=f"unit_sphere(d={d}, k={k})")


def confounding(d: int, omega: float = 0.1, scale: float = 1.0, noise: float = 1.0) -> Instance:
    """Standard basis plus one arm at angle ``omega`` from the best; theta = scale·e_1.

    Parameters
    ----------
    d
        Number of features.
    omega
        Angle between the best arm and its rival, in radians.
    scale
        Mean reward of the best arm.
    noise
        Scale of the noise of one measurement.

    Examples
    --------
    >>> confounding(5).problem.n_arms
    6
    """
    extra = np.zeros(whole(d, "d", least=2))
    extra[0], extra[1] = math.cos(real(omega, "omega")), math.sin(omega)
    theta = np.zeros(d)
    theta[0] = positive(scale, "scale")
    name = f"confounding(d={d}, omega={omega:g}" + (f", scale={scale:g})" if scale != 1 else ")")
    return Instance(Problem(np.vstack([np.eye(d), extra]), noise=noise), theta, name=name)
