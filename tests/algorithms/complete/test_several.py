"""The m best on a finite set of items, and options beside a baseline or a number."""

import itertools

import numpy as np
import pytest
from tests.algorithms.complete.test_state import raced, some_table, start, walk

import surepick as sp

SMALL = [
    [[1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 1, 0, 1]],
    [[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [1, 0, 1, 0, 0], [0, 0, 0, 0, 1]],
]


def verified(run):
    found = sp.verify(run.answer.certificate(), replay=True)
    assert found.replayed
    assert found.unknown == ()
    return found


@pytest.mark.some(2)
@pytest.mark.parametrize("delta", [0.3, 0.8])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("rows", SMALL)
def test_over_all_orders_the_error_of_two_is_at_most_delta(rows, epsilon, delta):
    table, wrong, orders = np.array(rows, dtype=float), 0, 0
    totals = table.sum(axis=1)
    edge = np.sort(totals)[-2]
    for order in itertools.islice(itertools.permutations(range(5)), 0, None, 2):
        state = raced(table, order, delta, epsilon, top=2)
        assert len(state.named()) == 2
        wrong += totals[state.named()].min() < edge - 5 * epsilon - 1e-9
        orders += 1
    assert wrong <= delta * orders


@pytest.mark.some(1)
@pytest.mark.parametrize("settings", [{}, {"epsilon": 0.05}, {"max_batch": 5}, {"min_batch": 40}])
@pytest.mark.parametrize("m", [2, 4])
def test_the_m_best_are_found_and_verified(m, settings):
    table = some_table(3, options=7, items=200, gap=0.6)
    run = walk(start(table, top=m, **settings), table)
    totals = table.sum(axis=1)
    slack = 200 * settings.get("epsilon", 0.0)
    assert totals[list(run.answer.arms)].min() >= np.sort(totals)[-m] - slack
    assert run.answer.samples < table.size
    assert verified(run).guarantee in ("pac", "eps-pac")


def test_who_ties_for_the_last_place_is_said():
    table = np.array([[1] * 6, [1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0] * 6], dtype=float)
    run = walk(start(table, delta=1e-6, top=2), table)
    assert run.answer.labels == ("o0", "o1")
    assert run.answer.on_items["tied"] == ["o1", "o2"]
    assert "o1 and o2 tie for the last place" in run.answer.plain
    assert "for certain" in run.answer.guarantee
    assert verified(run).guarantee == "pac"


# -- beside a baseline ---------------------------------------------------------------------
def sides(table, level):
    totals = table.sum(axis=1)
    return totals > level, totals < level


@pytest.mark.some(2)
@pytest.mark.parametrize("claims", ["all", "fdr"])
@pytest.mark.parametrize("settings", [{"baseline": 2}, {"threshold": 0.6}])
@pytest.mark.parametrize("noise", ["yes-no", (0.0, 2.0)])
def test_every_option_is_told_from_a_baseline(settings, claims, noise):
    table = some_table(1, options=6, items=150, gap=0.5)
    level = table[2].sum() if "baseline" in settings else 0.6 * 150
    run = walk(start(table, noise=noise, claims=claims, **settings), table)
    better, worse = sides(table, level)
    answer = run.answer
    assert set(answer.better) <= {f"o{i}" for i in np.flatnonzero(better)}
    assert set(answer.worse) <= {f"o{i}" for i in np.flatnonzero(worse)}
    ties = int((table.sum(axis=1) == level).sum()) - ("baseline" in settings)
    assert len(answer.better) + len(answer.worse) == 6 - ("baseline" in settings) - ties
    assert answer.samples < table.size
    assert verified(run).guarantee == ("claims" if claims == "all" else "fdr")


@pytest.mark.some(2)
@pytest.mark.parametrize("delta", [0.3, 0.8])
@pytest.mark.parametrize("settings", [{"baseline": 0}, {"threshold": 0.4}])
def test_over_all_orders_wrong_claims_are_rare(settings, delta):
    table = np.array([[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 1, 1, 1]], dtype=float)
    better, worse = sides(table, 2)
    wrong = orders = 0
    for order in itertools.permutations(range(5)):
        claims = raced(table, order, delta, **settings).claims()
        wrong += not (better[claims.better].all() and worse[claims.worse].all())
        orders += 1
    assert wrong <= delta * orders


def test_who_has_the_same_total_is_neither_better_nor_worse_and_that_is_the_end():
    table = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1]], dtype=float)
    for settings in ({"baseline": 0}, {"threshold": 0.5}):
        run = walk(start(table, delta=1e-6, **settings), table)
        assert run.answer.better == ("o2",)
        assert "o1" in run.answer.undecided
        assert "o1" in run.answer.on_items["tied"]
        assert "the same total as" in run.answer.plain
        assert verified(run).guarantee == "claims"


def test_close_to_a_baseline_counts_with_epsilon():
    table = some_table(5, options=4, items=300, gap=0.4)
    table[1] = table[0]
    table[1, np.flatnonzero(table[0])[:2]] = 0.0
    run = walk(start(table, baseline=0, epsilon=0.1), table)
    assert "o1" in run.answer.close
    assert verified(run).guarantee == "claims"


def test_smaller_may_be_better():
    table = some_table(1, options=5, items=120, gap=0.5)
    problem = sp.Problem.unstructured([f"o{i}" for i in range(5)], noise="yes-no", minimise=True)
    for settings in ({"baseline": 2}, {"threshold": 0.6}, {"top": 2}):
        run = sp.algorithms.PooledPeleg(0.1, complete=120, **settings).start(problem, 0)
        answer = walk(run, table).answer
        if "top" in settings:
            assert table.sum(axis=1)[list(answer.arms)].max() <= np.sort(table.sum(axis=1))[1]
        else:
            level = table[2].sum() if "baseline" in settings else 72
            less = {f"o{i}" for i in np.flatnonzero(table.sum(axis=1) < level)}
            assert answer.better
            assert set(answer.better) <= less
        assert "where smaller is better" in answer.guarantee
        verified(run)


def test_stopped_by_hand_claims_stand():
    table = some_table(1, options=6, items=150, gap=0.8)
    run = start(table, baseline=2)
    while len(run.active) > 3:
        walk(run, table, run.batches + 1)
    run.end()
    assert run.answer.undecided
    assert "stopped by hand" in run.answer.guarantee
    verified(run)


# -- the next items, while others are measured ---------------------------------------------
@pytest.mark.some(1)
@pytest.mark.parametrize("settings", [{}, {"top": 2}, {"baseline": 2}, {"epsilon": 0.05}])
def test_items_are_asked_for_ahead(settings):
    table = some_table(2, options=6, items=160, gap=0.6)
    run = start(table, **settings)
    most, seen = 0, set()
    while not run.stopped:
        batches = [run.ask()]
        while (more := run.ask_ahead()) is not None:
            batches.append(more)
        most = max(most, run.ahead)
        for batch in batches:
            cells = set(zip(batch.arms.tolist(), batch.items.tolist()))
            assert not seen & cells
        batch = run.ask()
        seen |= set(zip(batch.arms.tolist(), batch.items.tolist()))
        run = sp.Run.from_json(run.to_json())  # it goes on as it would have
        batch = run.ask()
        run.tell(batch, table[batch.arms, batch.items])
    assert most >= 2
    assert verified(run).guarantee
    plain = walk(start(table, **settings), table)
    assert run.state.blocks == plain.state.blocks  # nothing is decided by what was asked ahead
    assert run.answer.labels == plain.answer.labels
    assert run.samples <= 1.1 * plain.samples + 64  # what may be asked for ahead


# -- settings that meet --------------------------------------------------------------------
NOISES = {"yes or no": "yes-no", "bounds": (0.0, 2.0), "shifted": (-3.0, 5.0)}
QUESTIONS = {
    "best": {},
    "close": {"epsilon": 0.2},
    "top": {"top": 2},
    "top, close": {"top": 2, "epsilon": 0.1},
    "baseline": {"baseline": "o1"},
    "baseline, close": {"baseline": "o1", "epsilon": 0.2},
    "fdr": {"baseline": "o1", "claims": "fdr"},
    "threshold": {"threshold": 0.5},
}
LIMITS = {
    "none": {},
    "few": {"max_samples": 70},
    "money": {"budget": 90.0},
    "plates": {"max_batch": 7},
}


@pytest.mark.some(1)
@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("noise", NOISES)
def test_settings_that_meet(asked, noise):
    """Smaller or larger, dear or cheap, limits and pieces: never a cell twice, always verified."""
    rng = np.random.default_rng(7)
    table = (rng.random((5, 40)) < np.linspace(0.2, 0.9, 5)[:, None]).astype(float)
    for number, (limit, minimise) in enumerate(itertools.product(LIMITS, (False, True))):
        if noise != "yes or no" and number % 2:  # half of them will do
            continue
        problem = sp.Problem(
            np.eye(5),
            labels=[f"o{i}" for i in range(5)],
            noise=NOISES[noise],
            costs=[1.0, 2.0, 1.0, 3.0, 1.0] if number % 3 else None,
            minimise=minimise,
        )
        settings = QUESTIONS[asked] | LIMITS[limit]
        run = sp.algorithms.PooledPeleg(0.2, complete=40, **settings).start(problem, number)
        walk(run, table)
        cost = run.answer.samples if problem.costs is None else run.answer.cost
        assert cost <= settings.get("budget", 1e9)
        assert run.samples <= settings.get("max_samples", table.size)
        verified(run)


@pytest.mark.some(1)
@pytest.mark.parametrize("asked", ["best", "top", "threshold"])
def test_scores_beyond_a_cap_count_as_the_cap(asked):
    rng = np.random.default_rng(7)
    table = rng.integers(0, 6, (5, 40)) * np.linspace(0.2, 1.0, 5)[:, None]
    problem = sp.Problem.unstructured([f"o{i}" for i in range(5)], noise=(0.0, 9.0), cap=2.0)
    run = sp.algorithms.PooledPeleg(0.2, complete=40, **QUESTIONS[asked]).start(problem, 3)
    walk(run, table)
    totals = np.minimum(table, 2.0).sum(axis=1)
    if asked == "threshold":
        assert set(run.answer.better) <= {f"o{i}" for i in np.flatnonzero(totals > 20)}
    else:
        m = len(run.answer.arms)
        assert totals[list(run.answer.arms)].min() >= np.sort(totals)[-m] - 1e-6
    verified(run)
