"""Simulated rewards are in units of the reward, however an algorithm is driven."""

import numpy as np
import pytest

import surepick as sp
from surepick.ahead.feed import feed
from surepick.ahead.noise import Gaussian
from surepick.simulate.trials import drive


@pytest.mark.some(3)
@pytest.mark.parametrize("noise", [0.5, 4.0])
@pytest.mark.parametrize("algorithm", ["lucb", "lingame", "uniform", "peleg", "pooled-peleg"])
def test_the_sums_of_a_run_are_those_of_its_rewards(algorithm, noise):
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]], noise=noise)
    instance = sp.simulate.Instance(problem, [2.0 * noise, noise])
    run = sp.algorithms.get(algorithm, delta=0.1).start(problem)
    drive(run, instance, np.random.default_rng(0), Gaussian())
    pulled = run.pulls > 0
    apart = run.sums - run.pulls * instance.means
    assert (np.abs(apart[pulled]) < 5 * noise * np.sqrt(run.pulls[pulled])).all()
    assert sp.verify(run.answer.certificate()).candidate == run.answer.arm


def test_each_arm_has_the_scale_that_is_its_own():
    """Also where a batch is not of the first arms."""
    told = []

    class Kept(Gaussian):
        def sums(self, rng, means, counts, scale):
            told.append((means.tolist(), np.asarray(scale).tolist()))
            return super().sums(rng, means, counts, scale)

    problem = sp.Problem(np.eye(4), noise=[1.0, 2.0, 3.0, 4.0])
    run = sp.algorithms.get("lingape", delta=0.1, max_samples=60).start(problem)
    feed(run, np.arange(4.0), Kept(), np.arange(1.0, 5.0), np.random.default_rng(0))
    assert any(0.0 not in means for means, _ in told)
    for means, scales in told:
        assert scales == [mean + 1.0 for mean in means]
