import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surepick as sp
from surepick.algorithms.base import Pulls
from surepick.algorithms.pooled.state import PooledState
from surepick.run.order import SEEDS, Order, piece, seed_after, seed_of
from surepick.verifier.order import rows_in_order


def make(counts, batch=0):
    return Order(batch, Pulls.from_counts(np.array(counts)), 3)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3000), min_size=1, max_size=6).filter(any), st.integers(0, 5))
def test_every_pull_is_handed_out_once(counts, batch):
    one = make(counts, batch)
    arms = one.arms(0, one.size)
    assert np.bincount(arms, minlength=len(counts)).tolist() == counts
    assert sorted(one.whole().tolist()) == list(range(one.size))
    assert one.arms_of(one.whole()).tolist() == arms.tolist()


@settings(max_examples=30)
@given(st.lists(st.integers(1, 2000), min_size=1, max_size=5), st.data())
def test_the_order_does_not_depend_on_how_it_is_asked_for(counts, data):
    one, whole = make(counts), make(counts)
    first = data.draw(st.integers(0, one.size))
    last = data.draw(st.integers(first, one.size))
    numbers = whole.whole()
    assert one.numbers(first, last).tolist() == numbers[first:last].tolist()
    assert one.arms(first, last).tolist() == whole.arms(0, one.size)[first:last].tolist()
    assert one.arms(0, first).tolist() == whole.arms_of(numbers[:first]).tolist()


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, 1500), min_size=1, max_size=4),
    st.integers(0, 9),
    st.integers(0, SEEDS - 1),
)
def test_the_verifier_deals_alike(counts, batch, seed):
    pulls = Pulls(np.arange(len(counts)), np.array(counts))
    rows = rows_in_order(counts, batch, seed)
    assert Order(batch, pulls, seed).arms(0, sum(counts)).tolist() == rows


def test_orders_are_the_same_on_every_machine():
    pulls = Pulls.from_counts(np.array([3, 2, 4]))
    assert Order(7, pulls, 5).whole().tolist() == [2, 7, 3, 6, 5, 1, 0, 4, 8]


def test_batches_and_seeds_differ():
    assert make([50, 50], 0).whole().tolist() != make([50, 50], 1).whole().tolist()
    pulls = Pulls.from_counts(np.array([50, 50]))
    assert Order(0, pulls, 1).whole().tolist() != Order(0, pulls, 2).whole().tolist()


def test_arms_are_spread_over_the_batch():
    arms = make([100_000, 10_000, 100]).arms(0, 110_100)
    for part in np.array_split(arms, 20):
        share = np.bincount(part, minlength=3) / len(part)
        assert share[0] == pytest.approx(100_000 / 110_100, rel=0.02)
        assert share[2] == pytest.approx(100 / 110_100, rel=1.0)


def test_huge_batches_cost_nothing_until_they_are_handed_out():
    one = make([10**12, 3 * 10**12, 7])
    middle = one.arms(2 * 10**12, 2 * 10**12 + 4000)
    assert np.bincount(middle)[0] == pytest.approx(1000, rel=0.1)
    assert len(one.arms(one.size - 5, one.size)) == 5


def test_every_pull_is_as_likely_in_every_place():
    """Each number in each place, and each pair of arms in the first two: as often as by chance."""
    pulls, n = Pulls(np.array([0, 0, 1]), np.array([2, 1, 2]), np.array([0, 1, 0])), 3000
    found = np.array([Order(0, pulls, seed).whole() for seed in range(n)])
    for place in range(5):
        share = np.bincount(found[:, place], minlength=5) / n
        assert np.abs(share - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / n)
    pairs = np.bincount(found[:, 0] * 5 + found[:, 1], minlength=25).reshape(5, 5) / n
    others = pairs[~np.eye(5, dtype=bool)]
    assert np.abs(others - 0.05).max() < 5 * np.sqrt(0.05 * 0.95 / n)


def test_parts_of_an_arm_are_not_in_the_order_of_time():
    """Were they, the signs of the differences of two options would hang together under drift."""
    pulls = Pulls.in_parts(np.array([32, 32]), 8)
    alike = 0
    for seed in range(400):
        numbers = Order(0, pulls, seed).whole()
        when = np.empty(64)
        when[numbers] = np.arange(64)
        means = when.reshape(2, 8, 4).mean(axis=2)
        alike += abs(np.sign(means[0] - means[1]).sum()) == 8
    assert alike <= 12  # 2 in 2^8 by chance; one in five where numbers are in the order of time


# -- blocks that need several batches ----------------------------------------------------------
def pieces_of(block, sizes, seed=3, number=2):
    ends = np.cumsum([0, *sizes])
    return [piece(number, block, int(a), int(b), seed=seed) for a, b in itertools.pairwise(ends)]


@settings(max_examples=30)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=5), st.integers(1, 700))
def test_pieces_make_up_the_block(counts, size):
    block = Pulls.in_own_parts(np.array(counts), 8)
    total = block.total
    sizes = [size] * (total // size) + [total % size] * (total % size > 0)
    made = np.zeros((len(counts), 8), dtype=int)
    for one, due in zip(pieces_of(block, sizes), sizes, strict=True):
        assert one.total == due
        assert one.counts.min() > 0
        assert np.all(np.diff(one.arms * 8 + one.parts) > 0)
        made[one.arms, one.parts] += one.counts
    assert made.sum() == total
    assert (made[block.arms, block.parts] == block.counts).all()


@pytest.mark.validation
def test_every_pull_is_as_likely_in_every_piece():
    block, n = Pulls.from_counts(np.ones(8, dtype=int)), 2000
    found = np.zeros((4, 8))
    for seed in range(n):
        for place, one in enumerate(pieces_of(block, [2] * 4, seed)):
            found[place, one.arms] += 1 / n
    assert np.abs(found - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / n)


def test_pieces_are_dealt_otherwise_than_batches_are_ordered():
    block = Pulls.from_counts(np.ones(400, dtype=int))
    first = piece(0, block, 0, 200, seed=4).arms
    assert len(np.intersect1d(first, Order(0, block, 4).whole()[:200])) < 130  # 100 by chance


def test_an_option_is_in_all_batches_of_a_block():
    """By a run: without a deal the first batches would have the first options alone."""
    problem = sp.Problem.unstructured(12, noise="symmetric")
    places = np.zeros(12)
    for seed in range(30):
        run = sp.algorithms.PooledPeleg(0.1, max_batch=6).start(problem, seed)
        for number in range(4):  # the first block has 24 pulls
            batch = run.ask()
            places += number * batch.counts
            run.tell(batch, np.zeros(6) + 0.1 * batch.arms)
        assert [block["batches"] for block in run.state.blocks] == [4]
    assert np.ptp(places / 60) < 1.2  # 1.5 is the middle; from 0 to 3 if filled up in their order


def test_a_run_saved_between_two_pieces_goes_on():
    problem = sp.Problem.unstructured(5, noise="symmetric")
    run = sp.algorithms.PooledPeleg(0.1, max_batch=3).start(problem, 3)
    again = sp.algorithms.PooledPeleg(0.1, max_batch=3).start(problem, 3)
    for _ in range(9):
        again = sp.Run.from_json(again.to_json())
        batch, other = run.ask(), again.ask()
        assert batch.arms.tolist() == other.arms.tolist()
        for one in (run, again):
            one.tell(one.ask(), 0.1 * np.arange(3) * batch.arms)


def test_the_checks_after_the_end_are_dealt_too():
    problem = sp.Problem(np.column_stack([np.ones(10), np.arange(10.0)]), noise=0.1)
    options = {"max_batch": 4}
    run = sp.algorithms.get("checked-fit", delta=0.1, options=options).start(problem, 5)
    while not run.state.inner.finished:
        batch = run.ask()
        run.tell(batch, 1.0 * batch.arms)
    assert run.ask().arms.tolist() != sorted(np.flatnonzero(run.state.missing)[:4].tolist())


# -- seeds -------------------------------------------------------------------------------------
def test_seeds_of_orders():
    assert seed_of(np.int64(4)) == 4
    assert 0 <= seed_of(2**80) < SEEDS
    assert seed_of([1, 2]) == seed_of([1, 2]) != seed_of([2, 1])
    drawn = np.random.default_rng(5)
    seed_of(drawn)
    assert drawn.random() == np.random.default_rng(5).random()  # nothing was drawn from it


PROBLEM = sp.Problem.unstructured(["a", "b", "c"], noise="symmetric")


def test_runs_draw_their_own_order(drawn_orders):
    firsts = {tuple(sp.algorithms.PooledPeleg(0.1).start(PROBLEM).ask().arms) for _ in range(20)}
    assert len(firsts) > 10


def test_a_seed_fixes_the_order():
    algorithm = sp.algorithms.PooledPeleg(0.1)
    batches = [algorithm.start(PROBLEM, seed=3).ask(), algorithm.start(PROBLEM, 3).ask()]
    assert len({tuple(batch.arms.tolist()) for batch in batches}) == 1


def test_rewards_are_told_in_the_order_of_measuring():
    """Each option's own rewards reach it, in the part that they were dealt to."""
    run = sp.algorithms.PooledPeleg(0.1).start(PROBLEM)
    while not run.stopped:
        batch = run.ask()
        assert sorted(batch.arms.tolist()) == np.repeat(np.arange(3), batch.counts).tolist()
        run.tell(batch, [10.0 * arm + 1e-3 * (place % 2) for place, arm in enumerate(batch.arms)])
        means = run.sums / run.pulls
        assert np.abs(means - 10.0 * np.arange(3)).max() < 1e-2
    assert run.answer.arm == 2


def test_a_saved_run_keeps_its_order():
    run = sp.algorithms.PooledPeleg(0.1).start(PROBLEM)
    batch = run.ask()
    again = sp.Run.from_json(run.to_json())
    assert again.order_seed == run.order_seed
    assert again.ask().arms.tolist() == batch.arms.tolist()


def test_items_follow_the_order_of_arms():
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="yes-no")
    run = sp.algorithms.PooledPeleg(0.1, items=50).start(problem, seed=2)
    batch = run.ask()
    pairs = sorted(zip(batch.arms.tolist(), batch.items.tolist()))
    listed = zip(np.repeat(batch.pulls.arms, batch.pulls.counts), batch.row_items)
    assert pairs == sorted((int(arm), int(item)) for arm, item in listed)
    assert batch.arms.tolist() != sorted(batch.arms.tolist())


# -- certificates ------------------------------------------------------------------------------
def test_certificates_have_the_order():
    answer = sp.identify(PROBLEM, lambda arm: [0.0, 3.0, 1.0][arm], seed=11)
    certificate = answer.certificate()
    assert certificate["order"] == {"rule": "shuffled", "seed": 11}
    assert sp.verify(certificate, replay=True).replayed


# -- what it is for ----------------------------------------------------------------------------
def wrong_under(drift, runs, shuffled=True, most=200, **settings):
    """How often one of two equal options is named, where all rewards rise with every pull."""
    named = 0
    for seed in range(runs):
        draws, problem = (
            np.random.default_rng(seed),
            sp.Problem.unstructured(["a", "b"], noise="symmetric"),
        )
        run = sp.algorithms.PooledPeleg(0.05, max_samples=most, **settings).start(problem, seed)
        if not shuffled:
            run.order_seed = None
        made = 0
        while not run.stopped:
            batch = run.ask()
            made, moments = made + len(batch), made + np.arange(len(batch))
            run.tell(batch, drift * moments + draws.normal(size=len(batch)))
        named += run.state.finished
    return named / runs


def test_equal_options_are_not_told_apart_by_a_drift_of_all():
    assert wrong_under(0.1, 20) <= 0.05
    assert wrong_under(0.1, 10, shuffled=False) > 0.5


@pytest.mark.validation
def test_nor_where_blocks_come_in_several_batches(monkeypatch):
    assert wrong_under(0.1, 20, max_batch=8) <= 0.05

    def filled_up(self, size):
        return self.block.left.capped(size)

    monkeypatch.setattr(PooledState, "_next", filled_up)
    assert wrong_under(0.1, 10, max_batch=8) > 0.5


def test_a_seed_comes_to_another_one_after_something_else(drawn_orders):
    assert seed_after(1, "a") == seed_after(1, "a") != seed_after(1, "b")
    assert seed_after(None, "a") != seed_after(None, "a")
