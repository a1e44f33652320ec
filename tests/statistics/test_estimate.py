import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepick.arrays import cutoffs
from surepick.arrays.backend import HOST
from surepick.statistics.estimate import LeastSquares


def random_design(seed, n=6, d=3):
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(n, d))
    counts = rng.integers(1, 50, size=n)
    theta = rng.normal(size=d)
    sums = counts * (arms @ theta) + np.sqrt(counts) * rng.normal(size=n)
    return arms, counts, sums


@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(1, 3))
def test_it_is_weighted_least_squares(seed, n, d):
    arms, counts, sums = random_design(seed, n, d)
    fit = LeastSquares(arms, counts, sums)
    root = np.sqrt(counts)
    expected = np.linalg.lstsq(arms * root[:, None], sums / root)[0]
    np.testing.assert_allclose(fit.theta, expected, rtol=1e-7, atol=1e-9)
    V = (arms.T * counts) @ arms
    Y = np.random.default_rng(seed).normal(size=(5, d))
    np.testing.assert_allclose(
        fit.variances(Y), np.einsum("pi,ij,pj->p", Y, np.linalg.inv(V), Y), rtol=1e-7
    )
    assert fit.spans


def test_pulls_that_do_not_span_say_so():
    arms = np.array([[1.0, 0.0], [2.0, 0.0]])
    fit = LeastSquares(arms, np.array([3, 1]), np.array([3.0, 2.0]))
    assert not fit.spans
    np.testing.assert_allclose(fit.theta, [1.0, 0.0])
    none = LeastSquares(np.zeros((1, 2)), np.array([5]), np.array([1.0]))
    assert not none.spans
    assert none.theta.tolist() == [0.0, 0.0]


def test_very_unequal_counts_keep_their_precision():
    counts = np.array([1, 10**10])
    fit = LeastSquares(np.array([[1.0, 1.0], [1.0, -1.0]]), counts, counts * np.array([3.0, -1.0]))
    assert fit.spans
    np.testing.assert_allclose(fit.theta, [1.0, 2.0], rtol=1e-5)
    np.testing.assert_allclose(fit.variances(np.array([[1.0, -1.0]])), [1e-10], rtol=1e-5)


def test_widths_are_one_sided_gaussian_bounds():
    """A deviation beyond the width has probability at most the level (and not far less)."""
    rng = np.random.default_rng(0)
    arms, counts, _ = random_design(1)
    y, level = np.array([1.0, -1.0, 0.5]), 0.05
    errors = []
    for _ in range(4000):
        noise = LeastSquares(arms, counts, np.sqrt(counts) * rng.normal(size=len(arms)))
        errors.append(noise.theta @ y)
    width = noise.widths(noise.variances(y[None]), level)[0]
    assert np.std(errors) == pytest.approx(np.sqrt(noise.variances(y[None])[0]), rel=0.05)
    assert 0.001 < np.mean(np.array(errors) > width) <= level


def brute_force(fit, points, level, threshold):
    """Per point: the best margin (gap - width) over all others, pair by pair."""
    margins = np.full(len(points), -np.inf)
    for i, x in enumerate(points):
        for j, z in enumerate(points):
            if i != j:
                y = z - x
                width = threshold
                if width is None:
                    width = float(np.sqrt(2 * fit.variances(y[None])[0] * np.log(1 / level)))
                margins[i] = max(margins[i], float(fit.theta @ y) - width)
    return margins


@pytest.mark.parametrize("threshold", [None, 0.3])
@pytest.mark.parametrize("seed", range(10))
def test_beaten_agrees_with_all_pairs(seed, threshold):
    arms, counts, sums = random_design(seed)
    fit = LeastSquares(arms, counts, sums)
    points = np.random.default_rng(seed + 100).normal(size=(9, 3))
    beaten, by, gap, width = fit.beaten(points, 0.01, threshold)
    margins = brute_force(fit, points, 0.01, threshold)
    assert (beaten == (margins > 0)).all()
    assert not beaten[np.argmax(points @ fit.theta)]
    at = np.flatnonzero(beaten)
    np.testing.assert_allclose((gap - width)[at], margins[at], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(gap, (points[by] - points) @ fit.theta, atol=1e-12)


def test_beaten_works_in_blocks():
    arms, counts, sums = random_design(3)
    fit = LeastSquares(arms, counts, sums)
    points = np.random.default_rng(0).normal(size=(1500, 3))
    beaten, by, *_ = fit.beaten(points, 0.01)
    one_by_one = [
        bool((fit.theta @ (points - x).T > fit.widths(fit.variances(points - x), 0.01)).any())
        for x in points
    ]
    assert beaten.tolist() == one_by_one
    assert 0 < beaten.sum() < 1500
    assert by.max() < 1500


def test_close_points_are_compared_without_cancellation():
    """Two points that differ in the ninth digit: the width is that of their difference."""
    fit = LeastSquares(np.eye(2) * 1e3, np.array([1, 1]), np.array([1e3, 2e3]))
    points = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])
    _, by, gap, width = fit.beaten(points, 0.1)
    assert by[0] == 1
    assert gap[0] == pytest.approx(2e-9, rel=1e-6)
    step = points[1, 1] - points[0, 1]
    assert width[0] == pytest.approx(step * 1e-3 * np.sqrt(2 * np.log(10)), rel=1e-9)


@pytest.mark.parametrize("threshold", [None, 0.2])
def test_lead_bounds_hold_the_truth_on_top_of_the_estimate(threshold):
    arms, counts, sums = random_design(5)
    fit = LeastSquares(arms, counts, sums)
    points = np.random.default_rng(1).normal(size=(4, 3))
    bounds = fit.lead_bounds(points, points[2], 0.05, threshold)
    for i, bound in enumerate(bounds):
        y = points[i] - points[2]
        width = threshold if threshold else fit.widths(fit.variances(y[None]), 0.05)[0]
        assert bound == pytest.approx(fit.theta @ y + (width if i != 2 else 0.0))
    assert bounds[2] == 0.0


# -- among very many -----------------------------------------------------------------------
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "torch"], indirect=True)


@pytest.fixture
def few(monkeypatch):
    """As if some dozen points were very many."""
    monkeypatch.setattr(cutoffs, "EVERY_PAIR", 12)
    monkeypatch.setattr(cutoffs, "LEADERS", (1, 4, 4))


@pytest.mark.some(20)
@BACKENDS
@pytest.mark.parametrize("threshold", [None, 0.4])
@pytest.mark.parametrize("seed", range(10))
def test_leaders_beat_only_whom_some_point_beats(few, backend, threshold, seed):
    arms, counts, sums = random_design(seed)
    fit = LeastSquares(arms, counts, sums)
    points = np.random.default_rng(seed).normal(size=(150, 3))
    found = fit.beaten(backend.put(points), 0.01, threshold)
    gaps = (points[None, :] - points[:, None]) @ fit.theta  # [i, j]: how far j is ahead of i
    widths = fit.widths(fit.variances((points[None, :] - points[:, None]).reshape(-1, 3)), 0.01)
    widths = widths.reshape(150, 150) if threshold is None else np.full((150, 150), threshold)
    everyone, top = np.arange(150), int(np.argmax(points @ fit.theta))
    np.testing.assert_allclose(found.gap, gaps[everyone, found.by], atol=1e-12)
    np.testing.assert_allclose(found.width, widths[everyone, found.by], atol=1e-12)
    assert np.array_equal(found.beaten, found.gap > found.width)
    assert not found.beaten[top]
    # whom the highest estimate beats is out, and those left are compared in pairs if they are few
    assert found.beaten[gaps[:, top] > widths[:, top] + 1e-12].all()
    left = np.flatnonzero(~found.beaten)
    if len(left) <= 12:
        inside = np.ix_(left, left)
        assert (gaps[inside] <= widths[inside] + 1e-12).all()


@pytest.mark.parametrize("level", [0.01, 0.999])
@pytest.mark.parametrize("seed", range(10))
def test_nobody_beats_itself(few, level, seed):
    """Rounding gives the same point different estimates in a table and on its own."""
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(60, 24))
    counts = rng.integers(10**6, 10**7, size=60)
    fit = LeastSquares(arms, counts, counts * (arms @ rng.normal(size=24)))
    points = rng.normal(size=(200, 24))
    found = fit.beaten(points, level)
    assert not found.beaten[np.argmax(points @ fit.theta)]
    assert not (found.beaten & (found.by == np.arange(200))).any()


def test_what_all_widths_allow_to_drop_is_dropped(few):
    """Widths of at most eps: a gap above 2·eps to the best one is enough."""
    dropped = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arms, theta = rng.normal(size=(8, 3)), rng.normal(size=3)
        counts = rng.integers(200, 400, size=8)
        noise = rng.normal(size=8) * np.sqrt(counts)
        fit = LeastSquares(arms, counts, counts * (arms @ theta) + noise)
        points = rng.normal(size=(80, 3))
        apart = (points[None, :] - points[:, None]).reshape(-1, 3)
        eps = fit.widths(fit.variances(apart), 1e-4).max()
        assert np.abs(apart @ (fit.theta - theta)).max() <= eps  # the estimate is a good one
        far = (points @ theta).max() - points @ theta > 2 * eps
        assert fit.beaten(points, 1e-4).beaten[far].all()
        dropped += far.sum()
    assert dropped > 100


@BACKENDS
@pytest.mark.parametrize("threshold", [None, 0.4])
def test_many_points_are_compared_alike_on_all_libraries(backend, threshold):
    arms, counts, sums = random_design(3)
    fit = LeastSquares(arms, counts, sums)
    points = np.random.default_rng(0).normal(size=(5000, 3))
    expected, found = (fit.beaten(b.put(points), 0.01, threshold) for b in (HOST, backend))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
    best = points[np.argmax(points @ fit.theta)]
    np.testing.assert_allclose(
        fit.lead_bounds(backend.put(points), best, 0.05, threshold),
        fit.lead_bounds(points, best, 0.05, threshold),
        rtol=1e-9,
        atol=1e-12,
    )
