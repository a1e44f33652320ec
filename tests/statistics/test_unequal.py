"""Evidence that some arms vary more than others: a bet that is fair while they do not."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from surepick.statistics.unequal import RATIOS, UnequalScales, log_ratio


@pytest.mark.parametrize("freedom", [(1, 1), (1, 9), (4, 30), (200, 3)])
@pytest.mark.parametrize("ratio", [*RATIOS, 1.7])
def test_the_mean_of_the_ratio_is_one_while_scales_are_equal(freedom, ratio):
    freedom = np.array(freedom, dtype=float)
    law = stats.beta(*freedom / 2)

    def paid(angle):  # shares sin² and cos², which takes the poles of the density away
        share, width = math.sin(angle) ** 2, math.sin(2 * angle)
        if width <= 0.0:
            return 0.0
        shares = np.array([share, 1 - share])
        return width * law.pdf(share) * math.exp(log_ratio(freedom, shares, np.array([ratio, 1.0])))

    middle = math.asin(math.sqrt(law.mean()))
    mean, _ = integrate.quad(paid, 0, math.pi / 2, points=[middle], limit=400, epsabs=1e-11)
    assert mean == pytest.approx(1.0, abs=1e-8)


def test_a_block_is_paid_for_what_earlier_ones_suggest_and_for_every_arm_alone():
    found = UnequalScales(3)
    blocks = [(np.array([0, 1, 2]), np.array([4, 6, 0]), np.array([3.0, 40.0, 0.0])),
              (np.array([1, 2]), np.array([5, 8]), np.array([90.0, 7.0]))]  # fmt: skip
    guessed, alone = 0.0, np.zeros((3, len(RATIOS)))
    for arms, freedom, squares in blocks:
        before = found.variances()
        found.add(arms, freedom, squares)
        seen = freedom > 0
        arms, freedom, shares = arms[seen], freedom[seen], squares[seen] / squares[seen].sum()
        guessed += log_ratio(freedom, shares, before[arms])
        for place, arm in enumerate(arms):
            for j, ratio in enumerate(RATIOS):
                variances = np.ones(len(arms))
                variances[place] = ratio
                alone[arm, j] += log_ratio(freedom, shares, variances)
    expected = math.log(0.5 * math.exp(guessed) + 0.5 * np.exp(alone).mean())
    assert found.log_evidence == pytest.approx(expected)


def test_scale_and_level_do_not_matter_and_single_arms_say_nothing():
    one, other = UnequalScales(2), UnequalScales(2)
    arms, freedom = np.array([0, 1]), np.array([9, 9])
    for _ in range(3):
        one.add(arms, freedom, np.array([5.0, 9.0]))
        other.add(arms, freedom, np.array([5e-18, 9e-18]))
    assert one.log_evidence == pytest.approx(other.log_evidence)
    silent = UnequalScales(2)
    silent.add(arms, np.array([9, 0]), np.array([5.0, 0.0]))
    silent.add(arms, freedom, np.zeros(2))
    assert silent.log_evidence == 0.0


def runs(scales, rng, blocks=30, pulls=5):
    """The largest evidence that 30 blocks of normal rewards ever come to."""
    found, most = UnequalScales(len(scales)), 0.0
    arms = np.arange(len(scales))
    for _ in range(blocks):
        rewards = scales[:, None] * rng.standard_normal((len(scales), pulls)) * rng.exponential()
        squares = ((rewards - rewards.mean(axis=1)[:, None]) ** 2).sum(axis=1)
        found.add(arms, np.full(len(scales), pulls - 1), squares)
        most = max(most, found.log_evidence)
    return most


@pytest.mark.validation
def test_it_is_rarely_wrong_over_all_looks_and_finds_what_matters():
    rng = np.random.default_rng(0)
    most = [runs(np.ones(6), rng) for _ in range(400)]
    wrong = sum(value >= math.log(20) for value in most)
    assert wrong <= stats.binom.ppf(0.999, 400, 0.05)
    assert wrong > 0  # it is not asleep
    one_loud = np.array([1.0, 1, 1, 1, 1, 3])
    halves = np.array([1.0, 1, 1, 2, 2, 2])
    for scales in (one_loud, halves, 1 / one_loud):
        assert sum(runs(scales, rng) >= math.log(1000) for _ in range(20)) >= 19
