"""The m best: bets on who is not among them, designs for the boundary, and what is refused."""

import math

import numpy as np
import pytest
from tests.breadth import each_value

import surepick as sp
from surepick.algorithms.pooled.direct import direct_counts, pair_counts
from surepick.errors import InvalidInputError

MEANS = np.array([0.2, 0.9, 0.15, 0.85, 0.3, 0.7])
KINDS = {
    "unknown": "symmetric",
    "equal": "equal",
    "known": 0.3,
    "yes-no": "yes-no",
    "bounded": (-2, 3),
}
FEATURES = np.c_[np.ones(6), MEANS, [0.3, -0.1, 0.8, 0.5, -0.9, 0.2]]


def measurer(kind, means=MEANS, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "yes-no":
        return lambda arm: float(rng.random() < means[arm])
    return lambda arm: float(np.clip(means[arm] + 0.3 * rng.normal(), -2, 3))


@pytest.mark.some(2)
@pytest.mark.parametrize(("kind", "misfit"), each_value(list(KINDS), [0.0, 0.02, math.inf]))
def test_the_best_three_are_found_and_the_certificate_holds(kind, misfit):
    epsilon = 0.1 if misfit == 0.02 else 0.0
    problem = sp.Problem(FEATURES, noise=KINDS[kind], misfit=misfit, labels=list("abcdef"))
    answer = sp.identify(problem, measurer(kind), delta=0.05, epsilon=epsilon, top=3)
    assert set(answer.labels) == {"b", "d", "f"}
    assert answer.labels[0] == answer.label
    assert [problem.labels[arm] for arm in answer.arms] == list(answer.labels)
    assert answer.guarantee
    checked = sp.verify(answer.certificate(), replay=True)
    assert checked.replayed
    assert set(checked.candidates) == {1, 3, 5}


def test_closeness_ends_what_is_tied_at_the_boundary():
    means = np.array([1.0, 0.5, 0.5, 0.0])
    problem = sp.Problem(np.eye(4), noise=0.3)
    answer = sp.identify(problem, measurer("known", means), delta=0.05, epsilon=0.2, top=2)
    assert answer.guarantee.kind == "eps-pac"
    assert "at most 0.2 worse than the worst of the 2 best" in answer.guarantee
    assert answer.arms[0] == 0
    assert answer.arms[1] in (1, 2)
    assert set(answer.survivors) >= {0, 1, 2}
    assert sp.verify(answer.certificate()).guarantee == "eps-pac"


def test_no_capital_grows_against_options_that_are_among_the_best():
    """One option is far ahead, three are tied behind it: each of these is one of the two best."""
    problem, rng = sp.Problem(np.eye(4), noise=1.0), np.random.default_rng(11)
    means, found = np.array([2.0, 0.0, 0.0, 0.0]), []
    for _ in range(100):
        run = sp.algorithms.PooledPeleg(1e-6, top=2).start(problem)
        for _ in range(4):
            batch = run.ask()
            run.tell(batch, means[batch.arms] + rng.normal(size=batch.size))
        found.append(np.exp(run.state.question.purses.against()[1:]))
    every = np.array(found)
    assert every.mean() <= 1.0 + 3.0 * every.mean(axis=1).std() / math.sqrt(len(every))
    assert every.max() > 1.5  # bets were made


def test_a_run_goes_on_the_same_after_it_was_saved():
    problem = sp.Problem(FEATURES, noise=None)
    run = sp.algorithms.PooledPeleg(0.05, top=2, epsilon=0.1).start(problem)
    measure = measurer("unknown")
    for _ in range(4):
        batch = run.ask()
        run.tell(batch, [measure(arm) for arm in batch.arms])
    other = sp.Run.from_json(run.to_json())
    rng = np.random.default_rng(1)
    for _ in range(3):
        if run.stopped:
            break
        batch, again = run.ask(), other.ask()
        np.testing.assert_array_equal(batch.arms, again.arms)
        rewards = rng.normal(size=batch.size)
        run.tell(batch, rewards)
        other.tell(again, rewards)
    assert other.to_json() == run.to_json()


def test_one_is_what_it_always_was():
    problem, found = sp.Problem(FEATURES, noise=0.3), []
    for settings in ({}, {"top": 1}):
        config = sp.algorithms.PooledPeleg(0.05, **settings)
        run, measure = config.start(problem), measurer("known")
        while not run.stopped:
            batch = run.ask()
            run.tell(batch, [measure(arm) for arm in batch.arms])
        found.append(run.answer)
    assert found[0].certificate() == found[1].certificate()
    assert "top" not in str(found[0].certificate())
    assert found[0].arms == (1,)
    assert "arms" not in found[0].to_dict()


def test_pulls_for_pairs_are_about_the_fewest():
    """With one option ahead there is a formula; with two, nothing better nearby."""
    variances = np.array([1.0, 0.5, 2.0, 1.0])
    needs = np.array([30.0, 10.0, 5.0])
    exact = direct_counts(0, np.append(0.0, needs), variances)
    found = pair_counts((np.zeros(3, dtype=int), np.arange(1, 4)), needs, variances)
    assert exact.sum() <= found.sum() <= 1.04 * exact.sum()
    ahead, behind = np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3])
    needs = np.array([9.0, 4.0, 25.0, 16.0])
    best = pair_counts((ahead, behind), needs, variances)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        other = best * rng.uniform(0.7, 1.4, 4)
        takes = needs * (variances[ahead] / other[ahead] + variances[behind] / other[behind])
        assert best.sum() <= 1.04 * other.sum() * takes.max()


@pytest.mark.parametrize(
    ("arms", "settings", "said"),
    [
        (np.eye(3), {"top": 3}, "all of them; ask for fewer"),
        (np.eye(3), {"top": 0}, "top must be at least 1"),
        (np.eye(3), {"top": 2, "baseline": 0}, "leave one of them out"),
        ([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], {"top": 2}, "leave one of them out"),
        (np.ones((40_000, 1)) * np.arange(40_000)[:, None], {"top": 2}, "too many"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_cure(arms, settings, said):
    with pytest.raises(InvalidInputError, match=said):
        sp.algorithms.PooledPeleg(0.05, **settings).start(sp.Problem(arms))


def test_others_say_that_they_find_one_only():
    with pytest.raises(InvalidInputError, match="top: rage can only find the best option"):
        sp.identify(sp.Problem(np.eye(3), noise=1.0), float, algorithm="rage", top=2)
    for option in ({"top": 2}, {"baseline": 0}, {"threshold": 0.5}):
        with pytest.raises(InvalidInputError, match=f"leave out check_fit or {next(iter(option))}"):
            sp.algorithms.get("checked-fit", delta=0.05, options=option)
