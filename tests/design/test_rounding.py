"""From weights to pulls, and from many arms to few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepick.design import prune, round_design
from surepick.errors import InvalidInputError, SurepickError

weights = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1.0)), min_size=1, max_size=30).filter(
    lambda w: sum(w) > 0
)


@settings(deadline=None, max_examples=300)
@given(weights, st.integers(0, 500), st.integers(0, 3))
def test_rounding_keeps_its_promises(values, n, minimum):
    w = np.array(values)
    pulls = round_design(w, n, minimum)
    assert pulls.sum() == n
    assert (pulls >= 0).all()
    assert (pulls[w == 0] == 0).all()
    support = int((w > 0).sum())
    if n >= minimum * support:
        assert (pulls[w > 0] >= minimum).all()
    if minimum == 1 and n >= support:
        # Pukelsheim and Rieder: no arm is more than one pull from its share of n ± s/2
        share = w / w.sum()
        assert (pulls <= np.ceil((n + support / 2) * share) + 1e-9)[w > 0].all()


@settings(deadline=None, max_examples=100)
@given(weights, st.integers(1, 300))
def test_rounding_is_efficient(values, n):
    w = np.array(values)
    share, support = w / w.sum(), int((w > 0).sum())
    if n >= support:
        pulls = round_design(w, n)[w > 0]
        # the rounded design keeps 1 − s/n of the information in every direction
        assert (pulls / (n * share[w > 0])).min() >= 1 - support / n - 1e-9


def test_too_few_pulls_go_to_the_heaviest():
    assert round_design([0.1, 0.4, 0.3, 0.2], 2).tolist() == [0, 1, 1, 0]
    assert round_design([0.25] * 4, 2).tolist() == [1, 1, 0, 0]
    assert round_design([0.25] * 4, 6).tolist() == [2, 2, 1, 1]
    assert round_design([0.5, 0.5], 3, minimum=5).tolist() == [3, 0]
    assert round_design([0.5, 0.5], 0).tolist() == [0, 0]


@pytest.mark.parametrize("bad", [([], 3), ([-1.0], 3), ([np.nan], 3), ([1.0], -1), ([1.0], 2.5)])
def test_bad_rounding_input(bad):
    with pytest.raises(SurepickError, match=r"weights|n must"):
        round_design(*bad)


@pytest.mark.parametrize("seed", range(12))
def test_pruning_keeps_the_information(seed):
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 400)), int(rng.integers(1, 8))
    arms = rng.normal(size=(k, d)) * 10.0 ** rng.uniform(-2, 2, size=d)
    rank = d
    if seed % 3 == 0:
        arms[:, -1] = arms[:, 0]
        rank = max(1, d - 1)
    w = rng.dirichlet(np.ones(k))
    w[rng.random(k) < 0.2] = 0.0
    w[0] += 1e-3
    w /= w.sum()
    few = prune(arms, w)
    assert (few >= 0).all()
    assert (few[w == 0] == 0).all()
    assert (few > 0).sum() <= rank * (rank + 1) // 2 + 1
    assert few.sum() == pytest.approx(1.0, abs=1e-12)
    scale = np.abs(arms).max(axis=0)
    x = arms / scale
    np.testing.assert_allclose((x.T * few) @ x, (x.T * w) @ x, atol=1e-10)


def test_pruning_needs_a_weight_per_arm():
    with pytest.raises(InvalidInputError, match="2 numbers"):
        prune([[1.0], [2.0]], [1.0])
