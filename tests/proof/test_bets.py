"""Bets on a mean: fair to the last digit, by enumeration and quadrature; and their intervals."""

import itertools
import math
from typing import Any, cast

import numpy as np
import pytest

import surepick as sp
from surepick.errors import InvalidInputError, InvalidTypeError

KINDS = ["yes-no", "bounded", "symmetric", "t", "gaussian"]


def capital(kind, rewards, mean, **settings):
    if kind == "gaussian":
        settings.setdefault("scale", 2.0)
    return getattr(sp.bets, kind.replace("-", "_"))(rewards, mean, **settings)


def rewards_of(kind, shape, mean=0.4, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "yes-no":
        return (rng.random(shape) < mean).astype(float)
    if kind == "bounded":
        return rng.beta(4.0 * mean, 4.0 * (1.0 - mean), shape)
    return mean + 2.0 * rng.normal(size=shape)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("mean", [0.1, 0.5, 0.8])
def test_yes_no_is_fair_at_the_mean(mean, alternative):
    series = np.array(list(itertools.product((0.0, 1.0), repeat=7)))
    chance = np.where(series == 1.0, mean, 1.0 - mean)
    found = np.exp(sp.bets.yes_no(series, mean, alternative=alternative))
    for n in range(1, 8):
        assert (found[:, n - 1] * chance.prod(axis=1)).sum() == pytest.approx(1.0, abs=1e-12)


def test_yes_no_pays_less_where_the_mean_is_lower():
    series = np.array(list(itertools.product((0.0, 1.0), repeat=7)))
    found = np.exp(sp.bets.yes_no(series, 0.5))
    means = []
    for rate in (0.5, 0.4, 0.2):
        chance = np.where(series == 1.0, rate, 1.0 - rate).prod(axis=1)
        means.append((found[:, -1] * chance).sum())
    assert means[0] > means[1] > means[2]


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_bounded_is_fair_whatever_the_rewards_are(alternative):
    values, chances = np.array([-1.0, 0.3, 4.0]), np.array([0.5, 0.3, 0.2])
    mean = float(values @ chances)
    places = np.array(list(itertools.product(range(3), repeat=5)))
    paid = sp.bets.bounded(values[places], mean, low=-1.0, high=4.0, alternative=alternative)
    weights = chances[places].prod(axis=1)
    for n in range(5):
        assert (np.exp(paid[:, n]) * weights).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_symmetric_is_fair_for_every_scale(alternative):
    distances = np.array([0.3, 2.0, 1e4, 0.01, 5.0, 1.0, 0.2, 40.0])
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=8)))
    paid = np.exp(sp.bets.symmetric(7.0 + signs * distances, 7.0, alternative=alternative))
    assert np.allclose(paid[:, :2], 1.0, atol=1e-12)
    assert paid[:, 7].std() > 0.05
    for n in range(8):
        assert paid[:, n].mean() == pytest.approx(1.0, abs=1e-12)


def test_gaussian_is_fair():
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    first, second = np.meshgrid(nodes, nodes, indexing="ij")
    series = 3.0 + 2.0 * np.stack([first, second], axis=-1)
    paid = np.exp(sp.bets.gaussian(series, 3.0, scale=2.0))
    share = np.outer(weights, weights) / weights.sum() ** 2
    for n in range(2):
        assert (paid[..., n] * share).sum() == pytest.approx(1.0, abs=1e-9)


def test_t_is_fair_whatever_the_scale_is():
    # Of two or three normal rewards only the direction counts, and every direction is as likely.
    angles = (np.arange(4000) + 0.5) * (2.0 * np.pi / 4000)
    two = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    assert np.exp(sp.bets.t(two, 0.0)[:, 1]).mean() == pytest.approx(1.0, abs=1e-5)
    height, weights = np.polynomial.legendre.leggauss(200)
    turn = (np.arange(200) + 0.5) * (2.0 * np.pi / 200)
    h, phi = np.meshgrid(height, turn, indexing="ij")
    out = np.sqrt(1.0 - h * h)
    three = np.stack([out * np.cos(phi), out * np.sin(phi), h], axis=-1)
    paid = np.exp(sp.bets.t(5.0 + 1e-3 * three, 5.0)[..., 2])
    assert (paid.mean(axis=1) * weights).sum() / 2.0 == pytest.approx(1.0, abs=1e-4)


def test_t_never_pays_more_where_all_rewards_are_lower():
    series = rewards_of("t", (50, 40))
    assert np.all(sp.bets.t(series - 1.0, 0.4) <= sp.bets.t(series, 0.4) + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_capital_does_not_depend_on_what_comes_later(kind):
    series = rewards_of(kind, 30)
    assert np.array_equal(capital(kind, series, 0.4)[:20], capital(kind, series[:20], 0.4))
    other = series.copy()
    other[20:] = series[20:][::-1]
    assert np.array_equal(capital(kind, series, 0.4)[:20], capital(kind, other, 0.4)[:20])


@pytest.mark.parametrize("kind", KINDS)
def test_many_series_are_one_call(kind):
    series = rewards_of(kind, (2, 3, 25))
    found = capital(kind, series, 0.4)
    assert found.shape == series.shape
    assert np.allclose(found[1, 2], capital(kind, series[1, 2], 0.4), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_capital_grows_where_the_mean_is_larger(kind):
    series = rewards_of(kind, (20, 200), mean=0.6)
    wins = capital(kind, series, 0.15 if kind in ("yes-no", "bounded") else -0.6)[:, -1]
    assert np.median(wins) > math.log(20)


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", KINDS)
def test_ends_are_where_half_the_level_is_reached(kind):
    series, settings = rewards_of(kind, (2, 60)), {"scale": 2.0} if kind == "gaussian" else {}
    looks = [10, 60]
    low, high = sp.bets.confidence_sequence(series, kind, level=0.1, looks=looks, **settings)
    assert low.shape == high.shape == (2, 2)
    assert np.all(low < high)
    for i, j in itertools.product(range(2), range(2)):
        seen = series[i, : looks[j]]
        up = capital(kind, seen, low[i, j])[-1]
        down = capital(kind, seen, high[i, j], alternative="less")[-1]
        assert up == pytest.approx(math.log(20.0), abs=1e-6)
        assert down == pytest.approx(math.log(20.0), abs=1e-6)


@pytest.mark.parametrize("kind", ["yes-no", "bounded", "symmetric", "t", "gaussian"])
def test_intervals_mirror(kind):
    series = rewards_of(kind, 50)
    settings = {"scale": 2.0} if kind == "gaussian" else {}
    low, high = sp.bets.confidence_sequence(series, kind, **settings)
    turned = sp.bets.confidence_sequence(1.0 - series, kind, **settings)
    assert np.allclose(turned[0], 1.0 - high, atol=1e-9)
    assert np.allclose(turned[1], 1.0 - low, atol=1e-9)


@pytest.mark.validation
@pytest.mark.parametrize("kind", KINDS)
def test_an_interval_leaves_the_mean_out_as_rarely_as_it_says(kind):
    looks = [2, 5, 10, 20, 40]
    settings = {"scale": 2.0} if kind == "gaussian" else {}
    series = rewards_of(kind, (200, 40))
    low, high = sp.bets.confidence_sequence(series, kind, level=0.1, looks=looks, **settings)
    missed = ((low > 0.4) | (high < 0.4)).any(axis=1).sum()
    assert missed <= 35  # 200 at 0.1: more with probability 0.0004


def test_few_rewards_say_little():
    low, high = sp.bets.confidence_sequence([3.0], "t")
    assert (low[0], high[0]) == (-math.inf, math.inf)
    low, high = sp.bets.confidence_sequence([3.0, 5.0], "symmetric")
    assert (low[0], high[0]) == (-math.inf, math.inf)
    low, high = sp.bets.confidence_sequence([2.0, 2.0, 2.0], "t")
    assert (low[0], high[0]) == (-math.inf, math.inf)
    assert np.all(sp.bets.t([2.0, 2.0, 2.0], 1.0) == 0.0)


def test_large_offsets_do_not_hide_what_rewards_say():
    series = rewards_of("t", 50, mean=2.0)
    far = sp.bets.t(1e8 + series, 1e8)
    assert np.allclose(far, sp.bets.t(series, 0.0), atol=1e-4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sp.bets.yes_no([0, 2], 0.5), "expected 0 or 1 only, got 2"),
        (lambda: sp.bets.bounded([0.2, 3.0], 0.5), "expected numbers from 0 to 1, got 3"),
        (lambda: sp.bets.bounded([0.2], 1.0), "mean: expected a number between 0 and 1"),
        (lambda: sp.bets.bounded([0.2], 0.5, low=1.0, high=0.0), "low: expected less than high"),
        (lambda: sp.bets.t([], 0.5), "at least one"),
        (lambda: sp.bets.t([1.0, math.nan], 0.5), "finite"),
        (
            lambda: sp.bets.t([1.0, 2.0], 0.5, alternative=cast(Any, "up")),
            "'greater', 'less' or 'two-sided'",
        ),
        (lambda: sp.bets.gaussian([1.0], 0.5, scale=0.0), "scale must be above 0"),
        (lambda: sp.bets.confidence_sequence([1.0], "normal"), "kind: expected one of yes-no"),
        (lambda: sp.bets.confidence_sequence([1.0], "t", looks=[2]), "from 1 to 1"),
        (lambda: sp.bets.confidence_sequence([1.0], "t", looks=[0.5]), "whole numbers"),
        (lambda: sp.bets.confidence_sequence([1.0], "t", level=1.0), "strictly between 0 and 1"),
        (lambda: sp.bets.confidence_sequence([1.0], "t", scale=1.0), "t takes size"),
        (lambda: sp.bets.confidence_sequence([1.0], "gaussian"), "gaussian needs scale"),
        (lambda: sp.bets.t(["a"], 0.5), "array of numbers"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(call, words):
    with pytest.raises((InvalidInputError, InvalidTypeError), match=words):
        call()


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_wins_are_fair_for_every_order_of_alike_numbers(alternative):
    # Both are drawn from the same numbers, ties among them: all 70 ways to share them out.
    numbers = np.array([0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 5.0, 900.0])
    paid = []
    for chosen in itertools.combinations(range(8), 4):
        other = [i for i in range(8) if i not in chosen]
        told = sp.bets.wins(numbers[list(chosen)], numbers[other], block=4, alternative=alternative)
        paid.append(np.exp(told[-1]))
    assert np.mean(paid) == pytest.approx(1.0)


def test_wins_grow_block_by_block_whatever_the_numbers_are():
    draw = np.random.default_rng(3)
    first, second = np.exp(draw.normal(0.8, 3.0, (2, 100))), np.exp(draw.normal(0.0, 3.0, (2, 100)))
    told = sp.bets.wins(first, second, block=10)
    assert told.shape == (2, 100)
    assert (told[:, :9] == 0.0).all()
    assert (told == sp.bets.wins(np.log(first), np.log(second), block=10)).all()
    assert (told[0] == sp.bets.wins(first[0], second[0], block=10)).all()


def test_wins_need_as_many_of_both():
    with pytest.raises(InvalidInputError, match="second: expected as many numbers"):
        sp.bets.wins([1.0, 2.0], [1.0])
