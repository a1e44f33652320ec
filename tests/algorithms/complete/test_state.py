"""Options on a finite set of items: exact over all orders, never more than the table, ties."""

import itertools
import json
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.complete.scores import Scale
from surepick.algorithms.complete.state import CompleteState
from surepick.errors import InvalidInputError, RunStateError
from surepick.proof.accepting import RACING


def start(table, delta=0.1, noise="yes-no", seed=0, **settings):
    problem = sp.Problem.unstructured([f"o{i}" for i in range(len(table))], noise=noise)
    algorithm = sp.algorithms.PooledPeleg(delta, complete=table.shape[1], **settings)
    return algorithm.start(problem, seed)


def walk(run, table, blocks=None):
    """Tell scores of a table until it stops, or so many batches were told."""
    seen = run.__dict__.setdefault("seen", set())
    while not run.stopped and (blocks is None or run.batches < blocks):
        batch = run.ask()
        cells = list(zip(batch.arms.tolist(), batch.items.tolist()))
        assert not seen & set(cells)
        assert len(set(cells)) == len(cells)
        seen.update(cells)
        run.tell(batch, table[batch.arms, batch.items])
    return run


def some_table(seed=0, options=6, items=80, gap=0.3):
    rng = np.random.default_rng(seed)
    rates = np.linspace(0.4, 0.4 + gap, options)[:, None]
    return (rng.random((options, items)) < rates).astype(float)


SMALL = [
    [[1, 1, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 1, 1, 0]],  # ahead by one
    [[1, 1, 0, 0, 1], [0, 0, 1, 1, 1], [1, 0, 0, 0, 0]],  # the first two tie
]


def raced(table, order, delta, epsilon=0.0, known=0, **settings):
    """The state at its end, with items in this order; without a run around it, which takes time.

    On the first so many of them everything is known beforehand.
    """
    settings |= {"complete": table.shape[1], "epsilon": epsilon}
    algorithm = sp.algorithms.PooledPeleg(delta, **settings)
    problem = sp.Problem.unstructured([f"o{i}" for i in range(len(table))], noise="yes-no")
    state = algorithm.begin(problem, np.random.default_rng(0))
    if known:
        state.begin_with(order[:known])
    state.order = np.array(order)
    while not state.finished:
        pulls = state.propose(1000)
        state.observe(pulls, table[pulls.arms, state.items_of(pulls)] / 0.5)
    return state


@pytest.mark.some(3)
@pytest.mark.parametrize("delta", [0.3, 0.7])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("rows", SMALL)
def test_over_all_orders_the_error_is_at_most_delta(rows, epsilon, delta):
    table, wrong, orders = np.array(rows, dtype=float), 0, 0
    totals = table.sum(axis=1)
    for order in itertools.permutations(range(5)):
        state = raced(table, order, delta, epsilon)
        wrong += totals[state.leader()] < totals.max() - 5 * epsilon - 1e-9
        orders += 1
    assert wrong <= delta * orders


@pytest.mark.parametrize("rows", SMALL)
@pytest.mark.parametrize("known", [(0, 2), (1, 3), (4, 0)])
def test_over_all_orders_of_the_rest_the_error_is_at_most_delta_whatever_was_known(rows, known):
    # What is known may have been chosen by its scores: only the order of the rest is random.
    table, wrong, orders = np.array(rows, dtype=float), 0, 0
    totals, rest = table.sum(axis=1), [item for item in range(5) if item not in known]
    for order in itertools.permutations(rest):
        state = raced(table, [*known, *order], 0.3, known=2)
        wrong += totals[state.leader()] < totals.max()
        orders += 1
    assert wrong <= 0.3 * orders


def test_what_is_known_beforehand_comes_first_and_nothing_is_bet_on_it():
    table, run = some_table(), start(some_table())
    known = [7, 3, 60, 21]
    run.state.begin_with(known)
    batch = run.ask()
    assert sorted(set(batch.items.tolist())) == sorted(known)
    run.tell(batch, table[batch.arms, batch.items])
    walk(run, table, blocks=4)
    again = walk(sp.Run.from_json(run.to_json()), table)
    assert walk(run, table).answer.certificate() == again.answer.certificate()
    assert [block["bets"] for block in again.state.evidence()["blocks"][:2]] == [False, True]
    assert sorted(again.state.order.tolist()) == list(range(80))
    answer = again.answer
    assert answer.on_items["sampled"] == answer.on_items["met"] - len(known)
    assert sp.verify(json.loads(json.dumps(answer.certificate())), replay=True).replayed


def test_tied_rows_are_never_ruled_out_for_certain():
    # Each is ahead by all that is left in some orders: calling that certain would drop the other.
    table = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], dtype=float)
    for first in itertools.combinations(range(6), 3):
        order = [*first, *(i for i in range(6) if i not in first)]
        state = raced(table, order, delta=1e-6)
        assert state.named() == [0, 1]
        assert state.certain
    answer = walk(start(table, delta=1e-6), table).answer
    assert answer.labels == ("o0", "o1")
    assert "for certain" in answer.guarantee
    assert answer.on_items["tied"] == ["o0", "o1"]
    assert answer.plain.count("tie: they have the same total") == 1


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(3))
def test_the_best_is_found_with_less_than_the_table_and_verified(seed):
    table = some_table(seed, items=200, gap=0.4)
    answer = walk(start(table, seed=seed), table).answer
    assert answer.arm == int(table.sum(axis=1).argmax())
    assert answer.samples < 0.8 * table.size
    found = sp.verify(json.loads(json.dumps(answer.certificate())), replay=True)
    assert (found.guarantee, found.replay) == ("pac", "every batch is what the algorithm asks for")
    assert found.unknown == ()


def test_alike_options_take_the_whole_table_and_no_more():
    table = np.tile(some_table(items=40)[0], (4, 1))
    answer = walk(start(table), table).answer
    assert answer.samples == table.size
    assert answer.labels == ("o0", "o1", "o2", "o3")
    assert "for certain" in answer.guarantee
    assert sp.verify(answer.certificate(), replay=True).replayed


def test_items_are_met_in_one_order_by_all_who_are_in():
    table, run = some_table(), None
    run = start(table)
    met = 0
    while not run.stopped:
        state, batch = run.state, run.ask()
        who = set(state.active.tolist())
        places = sorted(set(batch.pulls.parts.tolist()))
        assert places == list(range(met, met + len(places)))
        assert {(a, p) for a in who for p in places} == set(
            zip(batch.pulls.arms.tolist(), batch.pulls.parts.tolist())
        )
        met += len(places)
        run.tell(batch, table[batch.arms, batch.items])
    assert sorted(run.state.order.tolist()) == list(range(table.shape[1]))


def test_a_block_is_completed_before_anything_is_decided():
    table = some_table(options=8)
    run = start(table, max_batch=3)
    while not run.stopped:
        before = run.active
        batch = run.ask()
        assert len(batch) <= 3
        run.tell(batch, table[batch.arms, batch.items])
        if not run.state.at_rest:
            assert run.active == before
    assert sp.verify(run.answer.certificate(), replay=True).replayed


def test_scores_between_bounds_and_in_thirds():
    scale = Scale.of(sp.Problem.unstructured(["a", "b"], noise=(-1.0, 2.0)))
    thirds = scale.units(np.array([-1.0, 0.0, 1.0, 2.0]))
    assert thirds.tolist() == [0, scale.unit // 3, 2 * scale.unit // 3, scale.unit]
    fine = Scale.of(sp.Problem.unstructured(["a", "b"], noise=(0.0, 1.0)))
    parts = fine.units(np.array([0.1, 0.2, 0.3]))
    assert parts[0] + parts[1] == parts[2]  # 0.1 + 0.2 ties with 0.3
    table = np.array([[0.1, 0.2, 0.7], [0.3, 0.0, 0.7], [0.1, 0.1, 0.1]])
    answer = walk(start(table, noise=(0.0, 1.0)), table).answer
    assert answer.labels == ("o0", "o1")
    assert sp.verify(answer.certificate(), replay=True).replayed


def test_epsilon_ends_earlier_with_what_is_close_enough():
    table = some_table(seed=4, items=300)
    table[4] = table[5]
    table[4, np.flatnonzero(table[5])[:6]] = 0.0  # behind by 2 %
    exact = walk(start(table, seed=1), table)
    close = walk(start(table, seed=1, epsilon=0.1), table)
    assert close.samples < exact.samples
    totals = table.mean(axis=1)
    assert totals[close.answer.arm] >= totals.max() - 0.1
    assert close.answer.guarantee.kind == "eps-pac"
    assert sp.verify(close.answer.certificate(), replay=True).guarantee == "eps-pac"


def test_where_closeness_is_accepted_racing_has_the_rest_of_the_capital():
    table = some_table()
    assert start(table).state.question.against()[:2].tolist() == pytest.approx([0.0, 0.0])
    run = start(table, epsilon=0.1)
    assert run.state.question.against()[:2].tolist() == pytest.approx([math.log(RACING)] * 2)


def test_it_is_saved_and_goes_on_as_it_would_have():
    table = some_table(seed=2)
    run = walk(start(table), table, blocks=5)
    run.ask()
    again = sp.Run.from_json(run.to_json())
    assert again.ask() == run.ask()
    assert again.ask().items.tolist() == run.ask().items.tolist()
    seen = set(run.seen)
    again.seen = seen
    assert walk(again, table).answer == walk(run, table).answer


# -- options that come and go --------------------------------------------------------------
def held(state, arms):
    logs = state.question.purses.logs[0, arms]
    return np.log(np.exp(logs).sum(axis=1))


def test_who_joins_is_caught_up_and_starts_with_the_least_capital():
    table = some_table(options=7, seed=1)
    run = walk(start(table[:6]), table, blocks=8)
    met, before = run.state.grid.met, run.state.order.copy()
    least = min(0.0, held(run.state, run.state.active).min())
    run.add([[0.0] * 6 + [1.0]], ["late"], seed=99)
    assert held(run.state, [6])[0] == pytest.approx(least)
    assert run.state.order[:met].tolist() == before[:met].tolist()
    assert run.state.order[met:].tolist() != before[met:].tolist()
    batch = run.ask()
    assert set(batch.pulls.arms.tolist()) == {6}
    assert batch.pulls.parts.tolist() == list(range(met))
    run.tell(batch, table[batch.arms, batch.items])
    assert held(run.state, [6])[0] == pytest.approx(least)  # what is known is not bet on
    answer = walk(run, table).answer
    assert table[answer.arm].sum() == table.sum(axis=1).max()
    assert sp.verify(answer.certificate(), replay=True).replayed
    # Items that were met before it came say nothing of new ones: it may have been made for them.
    assert answer.on_items["ahead"] == "late"
    assert 0 < answer.on_items["sampled"] <= answer.on_items["met"] - met


def test_the_items_left_get_an_order_that_nobody_knew(drawn_orders):
    orders = []
    for _ in range(2):
        run = walk(start(some_table()[:5], seed=3), some_table(), blocks=4)
        run.add([[0.0] * 5 + [1.0]], ["late"])
        orders.append(run.state.order.tolist())
    met = run.state.grid.met
    assert orders[0][:met] == orders[1][:met]
    assert orders[0] != orders[1]


def test_runs_without_a_seed_have_orders_of_their_own(drawn_orders):
    table = some_table()
    first, second = (start(table, seed=None).state.order.tolist() for _ in range(2))
    assert first != second


def test_when_one_is_retired_nobody_keeps_more_capital_than_it_had():
    table = some_table(seed=1, gap=0.5)
    run = start(table, delta=0.2)
    while len(run.active) > 3:
        walk(run, table, run.batches + 1)
    gone = run.state.leader()
    limit = held(run.state, [gone])[0]
    run.retire(f"o{gone}", reason="not for sale")
    back = run.state.active
    assert gone not in back
    assert len(back) > 2  # who was ruled out is back, but for those that cannot catch up
    assert (held(run.state, back) <= limit + 1e-12).all()
    answer = walk(run, table).answer
    left = np.delete(np.arange(6), gone)
    assert answer.arm == left[table[left].sum(axis=1).argmax()]
    assert sp.verify(answer.certificate(), replay=True).replayed


def test_retiring_who_was_out_changes_nothing():
    table = some_table(gap=0.5)
    run = start(table)
    while len(run.active) == 6:
        walk(run, table, run.batches + 1)
    out = next(i for i in range(6) if i not in run.active)
    before = run.state.question.purses.logs.copy(), run.active
    run.retire(f"o{out}", reason="of no use")
    assert (run.state.question.purses.logs == before[0]).all()
    assert run.active == before[1]


# -- limits --------------------------------------------------------------------------------
def test_costs_count_and_a_budget_ends_it():
    table = some_table()
    problem = sp.Problem.unstructured([f"o{i}" for i in range(6)], noise="yes-no")
    problem = sp.Problem(problem.arms, noise="yes-no", labels=problem.labels, costs=range(1, 7))
    run = sp.algorithms.PooledPeleg(0.1, complete=80, budget=210).start(problem, 0)
    answer = walk(run, table).answer
    assert 190 < answer.cost <= 210
    assert answer.guarantee.kind == "none"
    assert sp.verify(answer.certificate(), replay=True).replayed


def test_stopped_by_hand_it_says_who_is_left():
    table = some_table(gap=0.6)
    run = start(table)
    while len(run.active) > 4:
        walk(run, table, run.batches + 1)
    run.end()
    assert "and the best is among those" in run.answer.guarantee
    assert sp.verify(run.answer.certificate(), replay=True).guarantee == "none"


@pytest.mark.parametrize(
    ("settings", "noise", "word"),
    [
        ({"top": 6}, "yes-no", "all of them"),
        ({"baseline": 7}, "yes-no", "baseline"),
        ({"threshold": 1.5}, "yes-no", "between"),
        ({"quantile": 0.5}, "yes-no", "complete"),
        ({"guess": True, "max_samples": 9}, "yes-no", "guess"),
        ({}, "any", "complete"),
        ({}, 1.0, "complete"),
    ],
)
def test_what_it_cannot_do_is_refused(settings, noise, word):
    with pytest.raises(InvalidInputError, match=word):
        start(some_table(), noise=noise, **settings)


def test_items_are_drawn_or_gone_through():
    with pytest.raises(InvalidInputError, match="leave one of them out"):
        sp.algorithms.PooledPeleg(0.1, items=5, complete=5)
    with pytest.raises(InvalidInputError, match="past"):
        start(some_table()).tell_past([0, 1], [0.0, 1.0], chosen_in_advance=True)


def test_one_option_needs_no_measurement():
    run = start(some_table()[:1])
    assert run.stopped
    assert run.answer.samples == 0


def test_what_stands_of_each_is_of_its_own_measurements():
    table = some_table()
    run = walk(start(table), table, blocks=12)
    now = run.standing()
    for i, label in enumerate(now["option"]):
        own = [item for arm, item in run.seen if arm == i]
        assert now["pulls"][i] == len(own)
        assert now["estimate"][i] == pytest.approx(table[i, own].mean()), label
    assert now["behind"][run.state.leader()] == 0
    with pytest.raises(RunStateError):
        run.answer  # noqa: B018
    assert isinstance(run.state, CompleteState)
