import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepick.errors import SurepickError
from surepick.research.game import AdaHedge, ExponentialWeights

gains = st.integers(2, 6).flatmap(
    lambda k: st.lists(
        st.lists(st.floats(0, 1), min_size=k, max_size=k), min_size=1, max_size=60
    ).map(np.array)
)


def regret(learner, rounds):
    state = learner.start(rounds.shape[1])
    earned = 0.0
    for row in rounds:
        weights = state.weights()
        assert np.isclose(weights.sum(), 1)
        assert (weights >= 0).all()
        earned += weights @ row
        state.update(row)
    return rounds.sum(axis=0).max() - earned


@given(gains)
def test_exponential_weights_meets_its_regret_bound(rounds):
    # rate sqrt(8 log K / t), gains in [0, 1]: regret <= 2 sqrt(T log K / 2) + sqrt(log K / 8)
    T, K = rounds.shape
    bound = 2 * np.sqrt(T * np.log(K) / 2) + np.sqrt(np.log(K) / 8)
    assert regret(ExponentialWeights(), rounds) <= bound + 1e-9


@given(gains, st.sampled_from([1e-6, 1.0, 1e6]))
def test_adahedge_meets_its_regret_bound_at_any_scale(rounds, scale):
    # 2 sqrt(V log K) + (16/3) log K + 2, times the range; V <= T/4 (de Rooij et al., Theorem 8)
    T, K = rounds.shape
    bound = 2 * np.sqrt(T / 4 * np.log(K)) + 16 / 3 * np.log(K) + 2
    assert regret(AdaHedge(), rounds * scale) <= (bound + 1e-9) * scale


@given(gains, st.sampled_from([1e-6, 1e6]))
def test_adahedge_plays_the_same_at_any_scale(rounds, scale):
    a, b = AdaHedge().start(rounds.shape[1]), AdaHedge().start(rounds.shape[1])
    for row in rounds:
        assert np.allclose(a.weights(), b.weights(), atol=1e-6)
        a.update(row)
        b.update(row * scale)


def test_exponential_weights_refuses_a_rate_that_cannot_be():
    with pytest.raises(SurepickError, match="rate"):
        ExponentialWeights(rate=0.0)
