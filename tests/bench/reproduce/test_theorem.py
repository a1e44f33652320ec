"""The paper's bounds as numbers, beside phases that are played."""

import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import Peleg
from surepick.bench.reproduce.theorem import first_phase, phase_bounds, theorem_1
from surepick.simulate import instances


def test_theorem_1_by_hand():
    # two arms: 1/D = 4/gap², C = 1, log2(1/gap) = 2, L = log(16/0.1):
    # 2048·2·64·L²·log 2 + 256·2·64·L
    L = math.log(2**2 * 2**2 / 0.1)
    by_hand = 2048 * 2 * 64 * L**2 * math.log(2) + 256 * 2 * 64 * L
    assert theorem_1(instances.standard(0.25, d=2), 0.1) == pytest.approx(by_hand, rel=2e-3)


def test_phase_bounds_by_hand():
    # 2 B (2^(m+1))² 8 log(K² m²/delta) + 1 with B = 2d: all arms are left until the last phase
    due = [2 * 4 * 4.0 ** (m + 1) * 8 * math.log(4 * m**2 / 0.1) + 1 for m in (1, 2)]
    assert phase_bounds(instances.standard(0.25, d=2), 0.1) == pytest.approx(due, rel=2e-3)


@pytest.mark.parametrize("learner", ["exponential", "adahedge"])
def test_phases_and_regret_stay_below_what_is_stated(learner):
    instance = instances.confounding(3)
    played = first_phase(instance.problem, 0.1, learner)
    settings = {} if learner == "exponential" else {"learner": learner}
    form = Peleg(0.1, constants="printed", **settings)
    assert played.pulls == form.start(instance.problem).ask().size
    assert played.pulls <= phase_bounds(instance, 0.1)[0]
    assert played.regret <= played.stated


def test_regret_is_that_of_the_best_arm_in_hindsight():
    """One arm alone tells about the only difference: the learner has to find it."""
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], candidates=[[1.0, 0.0], [-1.0, 0.0]], noise=1.0)
    played = first_phase(problem, 0.5, "adahedge")
    assert 0 < played.regret < played.goal
    assert np.isfinite(played.stated)
