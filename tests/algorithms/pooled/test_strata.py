"""Strata: levels of days, plates or operators cancel from all comparisons."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from tests.breadth import each_value

import surepick as sp
from surepick.algorithms.pooled.ledger import OpenBlock
from surepick.algorithms.pooled.levels import levelled
from surepick.errors import CertificateError

KINDS = ["symmetric", 1.0, "equal", "yes-no", (0.0, 1.0)]
K = 8
FEATURES = np.column_stack(
    [np.ones(K), np.linspace(-1, 1, K), np.linspace(-1, 1, K)[[3, 0, 6, 1, 7, 2, 5, 4]]]
)


def means(noise):
    value = FEATURES @ np.array([0.0, 0.9, -0.7])
    return 0.4 + 0.25 * value if noise in ("yes-no", (0.0, 1.0)) else value


def measured(noise, arms, levels, rng):
    value = means(noise)[arms] + levels
    if noise == "yes-no":
        return (rng.random(len(arms)) < value).astype(float)
    if noise == (0.0, 1.0):
        return np.clip(value + rng.uniform(-0.1, 0.1, len(arms)), 0, 1)
    return value + rng.normal(size=len(arms))


def finished(noise, misfit, *, rng=0, size=5.0, days=3, most=40_000, **settings):
    """A run with the level of each day far from that of the others, taken to its end."""
    rng = np.random.default_rng(rng)
    problem = sp.Problem(FEATURES, noise=noise, misfit=misfit)
    run = sp.algorithms.PooledPeleg(delta=0.05, max_samples=most, **settings).start(problem, 0)
    levels: dict[str, float] = {}
    size = 0.03 * size if noise in ("yes-no", (0.0, 1.0)) else size
    while not run.stopped:
        batch = run.ask()
        names = [f"day {d}" for d in rng.integers(0, days, len(batch)) + days * (run.batches // 2)]
        for name in names:
            levels.setdefault(name, size * rng.random())
        rewards = measured(noise, batch.arms, np.array([levels[n] for n in names]), rng)
        run.tell(batch, rewards, strata=names)
    return run


@pytest.mark.some(1)
@pytest.mark.parametrize(("noise", "misfit"), each_value(KINDS, [0.0, 0.05, math.inf]))
def test_levels_of_strata_do_no_harm_and_the_certificate_holds(noise, misfit):
    run = finished(noise, misfit)
    answer = run.answer
    assert answer.arm == int(np.argmax(means(noise)))
    assert answer.guarantee.kind == "pac"
    assert "the stratum a pull belongs to did not depend on rewards" in answer.guarantee
    found = sp.verify(answer.certificate(), replay=True)
    assert found.label == answer.label
    assert all("stratum" in batch for batch in answer.certificate()["batches"])


@pytest.mark.validation
@pytest.mark.parametrize("noise", ["symmetric", 1.0, "yes-no"])
def test_pulls_with_strata_are_few_whatever_their_levels(noise):
    """Levels five standard deviations apart, beside none: about as many pulls."""
    pulls = {
        size: sum(finished(noise, math.inf, rng=seed, size=size).samples for seed in range(4))
        for size in (0.0, 5.0)
    }
    assert pulls[5.0] < 2.0 * pulls[0.0]


def test_the_same_levels_told_without_strata_keep_a_study_from_ending():
    """What strata are for: a few hundred pulls with them, a hundred times as many without."""
    problem, ended = sp.Problem(FEATURES, noise="symmetric", misfit=math.inf), {True: 0, False: 0}
    for seed, within in itertools.product(range(4), ended):
        rng = np.random.default_rng(seed)
        run = sp.algorithms.PooledPeleg(delta=0.05, max_samples=1_500).start(problem, seed)
        while not run.stopped:
            batch = run.ask()
            days = rng.integers(0, 2, len(batch))
            rewards = 4.0 * means(None)[batch.arms] + 40.0 * days + rng.normal(size=len(batch))
            run.tell(batch, rewards, strata=[f"day {day}" for day in days] if within else None)
        ended[within] += run.state.finished
    assert ended[True] >= 3
    assert ended[False] == 0


BY_ARM = np.linspace(0.3, 1.5, K)


@pytest.mark.parametrize("noise", [1.0, BY_ARM], ids=["one scale", "scales by arm"])
def test_first_block_is_levelled_exactly_where_nothing_is_random(noise):
    problem = sp.Problem(FEATURES, noise=noise)
    run = sp.algorithms.PooledPeleg(delta=0.05).start(problem)
    rng, units = np.random.default_rng(0), noise * np.ones(K)
    block = OpenBlock()
    for level in (0.0, 100.0, -30.0):
        arms = np.sort(rng.integers(0, K, 12))
        block.strata.append(run.state.stratum(arms, (means(1.0)[arms] + level) / units[arms]))
    rows = levelled(problem, block)
    found = rows.sums / rows.counts * units[rows.arms] - means(1.0)[rows.arms]
    assert np.ptp(found) < 1e-9
    assert rows.spreads == pytest.approx(0.0, abs=1e-15)


def on_days(run, rng, value, newcomer=None):
    """Two days in every batch, the second of them five higher; perhaps somebody comes."""
    while not run.stopped:
        batch = run.ask()
        days = rng.integers(0, 2, len(batch))  # no option is on both days equally often
        scales = run.problem.noise * np.ones(run.problem.n_arms)
        noise = scales[batch.arms] * rng.normal(size=len(batch))
        names = [f"day {run.batches}.{day}" for day in days]
        run.tell(batch, value[batch.arms] + 5.0 * days + noise, strata=names)
        if newcomer is not None and run.batches >= 4 and run.problem.n_arms < len(value):
            assert not run.stopped
            run.add(*newcomer)
    return run.answer


@pytest.mark.parametrize("misfit", [0.0, math.inf])
def test_days_and_scales_by_arm_together(misfit):
    problem = sp.Problem(FEATURES, noise=BY_ARM, misfit=misfit)
    run = sp.algorithms.PooledPeleg(delta=0.05, max_samples=4_000).start(problem, 0)
    answer = on_days(run, np.random.default_rng(1), 4.0 * means(1.0))
    assert answer.arm == int(np.argmax(means(1.0)))
    assert answer.guarantee.kind == "pac"
    assert sp.verify(answer.certificate(), replay=True).replayed


def test_somebody_who_comes_is_made_known_on_all_days_before_bets():
    """Nothing is bet on a block that makes a newcomer known, whatever strata it has."""
    value = np.array([0.5, 0.3, 0.0, 1.5])
    problem = sp.Problem.unstructured(["a", "b", "c"], noise=1.0)
    run = sp.algorithms.PooledPeleg(delta=0.01, max_samples=4_000).start(problem, 0)
    answer = on_days(run, np.random.default_rng(1), value, (np.eye(4)[-1:], ["d"]))
    assert answer.label == "d"
    blocks = run.state.blocks
    opened = [block for block in blocks[1:] if not block["rivals"]]
    assert [block["batches"] for block in opened[:1]] == [2]
    assert sp.verify(answer.certificate(), replay=True).replayed


def test_saved_in_the_middle_of_a_block_it_goes_on_alike():
    problem = sp.Problem(FEATURES, noise="symmetric", misfit=math.inf)
    algorithm = sp.algorithms.PooledPeleg(delta=0.05, max_batch=10)
    runs = [algorithm.start(problem)]
    rng = np.random.default_rng(5)
    for _ in range(12):
        batch = runs[0].ask()
        names = [f"plate {i % 2}" for i in range(len(batch))]
        rewards = measured(None, batch.arms, 0.0, rng)
        for run in runs:
            run.tell(run.ask(), rewards, strata=names)
        runs = [runs[0], sp.Run.from_json(runs[0].to_json())]
        assert runs[0].ask().pulls.same(runs[1].ask().pulls)


def test_every_stratum_is_a_block_of_its_own_and_order_cannot_be_chosen():
    answer = finished("symmetric", math.inf).answer
    body = json.loads(json.dumps(answer.certificate()))
    blocks = body["evidence"]["blocks"]
    assert all(block["batches"] == 1 for block in blocks[1:] if block["rivals"])
    # Two strata of the second block change places: their names are no longer in order.
    first = blocks[0]["batches"]
    body["batches"][first : first + 2] = body["batches"][first : first + 2][::-1]
    with pytest.raises(CertificateError):
        sp.verify(sealed(body), replay=True)
    merged = json.loads(json.dumps(answer.certificate()))
    merged["evidence"]["blocks"][1]["batches"] = 2
    del merged["evidence"]["blocks"][2]
    with pytest.raises(CertificateError, match=r"of their own|log capital|rivals"):
        sp.verify(sealed(merged))


def sealed(body):
    from surepick.run.certificate import fingerprint

    return body | {"digest": fingerprint(body)}


def test_without_intercept_features_see_levels_and_strata_are_refused():
    run = sp.algorithms.PooledPeleg(delta=0.05).start(
        sp.Problem([[1.0, 0.2], [0.3, 1.0], [0.5, 0.5]])
    )
    batch = run.ask()
    with pytest.raises(sp.SurepickError, match="intercept"):
        run.tell(batch, np.zeros(len(batch)), strata=["a"] * len(batch))
    run.tell(batch, np.zeros(len(batch)))  # nothing was recorded before


@pytest.mark.parametrize(
    ("strata", "complaint"),
    [
        (["a"], "one entry per pull"),
        ("day", "one name per pull"),
        (lambda n: [""] * n, "printable"),
        (lambda n: [True] * n, "whole number"),
        (lambda n: ["a\n"] * n, "printable"),
    ],
)
def test_bad_strata_are_refused_and_the_batch_stays_open(strata, complaint):
    run = sp.algorithms.PooledPeleg(delta=0.05).start(sp.Problem(FEATURES))
    batch = run.ask()
    strata = strata(len(batch)) if callable(strata) else strata
    with pytest.raises(sp.SurepickError, match=complaint):
        run.tell(batch, np.zeros(len(batch)), strata=strata)
    assert run.ask() is batch
    assert run.samples == 0


def test_strata_with_every_batch_or_with_none():
    run = sp.algorithms.PooledPeleg(delta=0.05).start(sp.Problem(FEATURES))
    rng = np.random.default_rng(0)
    batch = run.ask()
    run.tell(batch, rng.normal(size=len(batch)), strata=["a"] * len(batch))
    batch = run.ask()
    with pytest.raises(sp.SurepickError, match="this one needs strata too"):
        run.tell(batch, rng.normal(size=len(batch)))


def test_other_algorithms_name_the_one_that_can():
    run = sp.algorithms.Rage(delta=0.05).start(sp.Problem(FEATURES, noise=1.0))
    batch = run.ask()
    with pytest.raises(sp.SurepickError, match="pooled-peleg"):
        run.tell(batch, np.zeros(len(batch)), strata=["a"] * len(batch))


@pytest.mark.parametrize("misfit", [0.0, math.inf])
def test_operators_side_by_side_get_blocks_that_are_large_enough_for_each(misfit):
    """Were blocks as small as for one stratum, nothing could be said within each (150 pulls)."""
    rng = np.random.default_rng(0)
    run = sp.algorithms.PooledPeleg(0.2).start(sp.Problem(FEATURES, noise="equal", misfit=misfit))
    while not run.stopped:
        batch = run.ask()
        operators = rng.permutation(np.arange(len(batch)) % 2)
        rewards = means(None)[batch.arms] + 2.0 * operators + 0.1 * rng.normal(size=len(batch))
        run.tell(batch, rewards, strata=[f"operator {one}" for one in operators])
        if run.batches == 1:
            assert sp.Run.from_json(run.to_json()).ask().arms.tolist() == run.ask().arms.tolist()
    assert run.samples <= 90
    assert run.answer.arm == int(np.argmax(means(None)))
