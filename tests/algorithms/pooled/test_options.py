"""Options that come and go: the capital rules, error rates, and what is refused."""

import math
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

import surepick as sp
from surepick.algorithms.pooled import options
from surepick.algorithms.pooled.options import GONE, NOBODY, entered, newcomers_start, retired
from surepick.errors import InvalidInputError, RunStateError, UnknownNameError

LOGS = st.floats(-9.0, 9.0)
DELTA = 0.2


# -- the rules -----------------------------------------------------------------------------
@st.composite
def memories(draw):
    """What bets on the best may have come to, with two leaders so far."""
    n = draw(st.integers(2, 5))
    dropped = draw(arrays(np.int64, n, elements=st.sampled_from([0, 0, 7, GONE])))
    dropped[draw(st.integers(0, n - 1))] = 0
    return {
        "capital": draw(arrays(float, (n, 2), elements=LOGS)),
        "dropped_at": dropped,
        "spare": draw(arrays(float, (2, n, 2), elements=LOGS)),
        "close": draw(arrays(bool, (2, n))),
        "leaders": [0, 1],
        "led": [3, "sums"],
        "behind": [-0.7, draw(arrays(float, n, elements=LOGS))],
    }


@given(memories(), st.integers(1, 3))
def test_a_newcomer_starts_no_higher_than_anyone_left_and_nobody_else_changes(memory, count):
    start, n = np.log([1 / 3, 2 / 3]), len(memory["dropped_at"])
    after, left = entered(memory, start, count), memory["dropped_at"] == 0
    for held, before in (
        (after["capital"], memory["capital"]),
        *zip(after["spare"], memory["spare"], strict=True),
    ):
        assert (held[:n] == before).all()
        assert (held[n:] <= start).all()
        assert (held[n:] <= before[left].min(axis=0)).all()
    assert (after["behind"][1][:n] == memory["behind"][1]).all()
    assert (after["behind"][1][n:] <= memory["behind"][1][left].min()).all()
    assert (after["dropped_at"][n:] == 0).all()
    assert not after["close"][:, n:].any()
    assert after["close"].shape == (2, n + count)
    assert after["led"] == [3]


@given(memories(), st.data())
def test_a_retirement_gives_nobody_more_than_the_retired_one_had(memory, data):
    place = data.draw(st.integers(0, len(memory["dropped_at"]) - 1))
    after, was = retired(memory, place), memory["dropped_at"][place]
    assert after["dropped_at"][place] == GONE
    if was != 0:  # it had been ruled out, or was gone: nothing else changes
        same = np.delete(after["dropped_at"], place) == np.delete(memory["dropped_at"], place)
        assert same.all()
        assert after["capital"] is memory["capital"]
        assert after["leaders"] == [0, 1]
        assert after["behind"] is memory["behind"]
        return
    behind = memory["behind"][1]
    assert (after["behind"][1] == np.minimum(behind, behind[place])).all()
    assert (after["capital"] == np.minimum(memory["capital"], memory["capital"][place])).all()
    assert set(after["dropped_at"]) <= {0, GONE}, "who was ruled out is back"
    assert after["leaders"] == [NOBODY, NOBODY]
    assert not after["close"].any()


def _error_of_all_paths(rule, rounds=14):
    """The exact probability that the best is ever dropped, with fair bets against it.

    Whenever the capital against the best is below what it began with, somebody adds one that is
    better still. Bets against all others win.
    """
    wrong = 0
    for wins in product((False, True), repeat=rounds):
        capital, best = np.zeros((2, 1)), 0
        for win in wins:
            capital += math.log(1.5)
            capital[best] += math.log(1.0 if win else 0.5 / 1.5)
            if capital[best, 0] >= -math.log(DELTA):
                wrong += 1
                break
            if capital[best, 0] < 0.0:
                capital = np.vstack([capital, rule(np.zeros(1), capital)])
                best = len(capital) - 1
    return wrong / 2**rounds


def test_exactly_one_newcomer_after_the_other_cannot_raise_the_error_rate():
    assert 0.05 < _error_of_all_paths(newcomers_start, 10) <= DELTA
    assert _error_of_all_paths(lambda start, left: start, 10) > DELTA, "the obvious rule is wrong"


# -- whole runs ----------------------------------------------------------------------------
def _moving_target(seed):
    """Whether the best is dropped, where all are tied, but for a slope that nobody can see.

    Whenever the capital against the best is low, a copy of it comes that is slightly better.
    """
    rng, n = np.random.default_rng(seed), 3
    problem = sp.Problem([[1.0, 0.0], [1.0, 0.5], [1.0, 1.0]], noise=1.0)
    run = sp.algorithms.PooledPeleg(DELTA, batch_growth=0.1, max_samples=700).start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, rng.normal(size=len(batch)))
        if n - 1 not in run.active:
            return True
        if run.state.question.against()[-1] < -0.05 and n < 23 and not run.stopped:
            run.add([[1.0, 1.0 + 0.01 * n]], [f"copy {n}"])
            n += 1
    return False


@pytest.mark.validation
def test_a_copy_of_the_leader_again_and_again(monkeypatch):
    trials = 12
    wrong = sum(_moving_target(seed) for seed in range(trials))
    assert wrong <= DELTA * trials
    monkeypatch.setattr(options, "newcomers_start", lambda start, left: start)
    obvious = sum(_moving_target(seed) for seed in range(trials))
    assert obvious > wrong, "with all of the capital at the start, more targets are hit"


def _after_the_best_is_gone(seed):
    """The best rules out the second best, and is then retired: is that one out at the end?"""
    rng, means = np.random.default_rng(seed), np.array([3.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    run = sp.algorithms.PooledPeleg(DELTA, max_samples=300).start(
        sp.Problem.unstructured(["first", "second", *"abcd"], noise=1.0)
    )
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, means[batch.arms] + rng.normal(size=len(batch)))
        if 1 not in run.active and not run.retired:
            run.retire("first", reason="sold out")
    return bool(run.retired) and 1 not in run.active


def test_the_second_best_is_back_once_the_best_is_retired(monkeypatch):
    trials = 12
    assert sum(_after_the_best_is_gone(seed) for seed in range(trials)) <= DELTA * trials

    def obvious(memory, place):
        dropped = memory["dropped_at"].copy()
        dropped[place] = GONE
        return memory | {"dropped_at": dropped}

    monkeypatch.setattr(options, "retired", obvious)
    assert sum(_after_the_best_is_gone(seed) for seed in range(trials)) > 0.6 * trials


def changing_run(noise="symmetric", misfit=0.0, epsilon=0.0, own_features=False, seed=0):
    """A run in which an option of a new kind comes, and two others go, one of them by features."""
    rng, K = np.random.default_rng(seed), 6
    arms = np.column_stack([np.ones(K), rng.normal(size=(K, 2))])
    arms[5] = arms[4]  # nothing can tell the two apart, if features are trusted
    new = np.array([[1.0, 0.3, -0.2, 1.0]])
    if own_features:
        arms, new = np.eye(K), np.eye(K + 1)[-1:]
    means = np.append(arms @ rng.normal(size=arms.shape[1]), 0.0)
    means[K] = means.max() + 0.5
    problem = sp.Problem(arms, noise=noise, misfit=misfit, labels=list("abcdef"))
    run = sp.algorithms.PooledPeleg(0.1, epsilon=epsilon, max_samples=8000).start(problem)
    while not run.stopped:
        batch = run.ask()
        if run.batches == 2:
            assert not run.add(new, ["new"], reason="Wednesday")
        if run.batches in (3, 5):
            run.retire("b" if run.batches == 3 else "e", reason="sold out")
        run.tell(batch, _rewards(rng, noise, means[batch.arms]))
        run = sp.run.Run.from_json(run.to_json())
    return run


def _rewards(rng, noise, means):
    if noise == "yes-no":
        return (rng.random(len(means)) < 1 / (1 + np.exp(-means))).astype(float)
    if noise == (0.0, 1.0):
        return np.clip(0.5 + 0.05 * means + rng.uniform(-0.1, 0.1, len(means)), 0.0, 1.0)
    return means + 0.5 * rng.normal(size=len(means))


KINDS = [
    ("symmetric", 0.0, 0.3, False),
    ("symmetric", 0.2, 0.0, False),
    ("symmetric", math.inf, 0.0, True),
    ("equal", 0.0, 0.0, False),
    ("equal", math.inf, 0.3, False),
    (0.5, 0.2, 0.3, False),
    ("yes-no", 0.0, 0.3, False),
    ("yes-no", math.inf, 0.0, False),
    ((0.0, 1.0), 0.2, 0.3, False),
    ((0.0, 1.0), 0.0, 0.0, True),
]


@pytest.mark.some(2)
@pytest.mark.parametrize(("noise", "misfit", "epsilon", "own"), KINDS)
def test_every_kind_of_noise_and_misfit_with_its_certificate(noise, misfit, epsilon, own):
    run = changing_run(noise, misfit, epsilon, own)
    answer = run.answer
    assert answer.guarantee
    assert answer.label == "new"
    assert answer.guarantee.endswith("among all options that were ever added and not retired")
    found = sp.verify(answer.certificate(), replay=True)
    assert found.replayed
    assert found.candidate == 6
    last = answer.certificate()["options"][-1]["batch"]
    for batch in answer.certificate()["batches"][last:]:
        assert not {1, 4} & set(batch["arms"]), "who is retired is not measured"


def test_what_is_refused_names_the_culprit_and_the_cure():
    problem = sp.Problem([[1.0, 0.0], [1.0, 1.0]], labels=["a", "b"])
    run = sp.algorithms.PooledPeleg(0.1).start(problem)
    for rows, labels, message in (
        ([[1.0]], ["c"], "1 features were given, but the existing options have 2"),
        ([[1.0, 2.0]], ["a"], "an option 'a' already exists"),
        ([[1.0, 2.0]], ["c", "d"], "one label per row"),
        ([[1.0, 1.0]], ["c"], "'c' has the same features as 'b'"),
        ([[0.0, 2.0]], ["c"], "have an intercept"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            run.add(rows, labels)
    with pytest.raises(InvalidInputError, match="leave it out here"):
        run.add([[1.0, 2.0]], ["c"], noise=[1.0])
    with pytest.raises(UnknownNameError, match="unknown option 'c'"):
        run.retire("c")
    assert run.retire("a")
    assert run.stopped, "one is left, and that is the answer"
    with pytest.raises(InvalidInputError, match="'a' was already retired"):
        run.retire("a")
    with pytest.raises(InvalidInputError, match="the only option left; add another one first"):
        run.retire("b")
    assert run.add([[1.0, 2.0]], ["c"])
    assert not run.stopped
    run.ask()
    assert not run.add([[1.0, 3.0]], ["d"]), "what is open is finished first"
    with pytest.raises(RunStateError, match="joins with the next batch; retire it then"):
        run.retire("d")
    run.end()  # for good
    with pytest.raises(RunStateError, match="stopped for good"):
        run.add([[1.0, 4.0]], ["e"])


@pytest.mark.parametrize(
    ("algorithm", "problem", "message"),
    [
        (
            sp.algorithms.Peleg(0.1),
            sp.Problem([[1.0], [2.0]], noise=1.0),
            "with pooled-peleg they can change",
        ),
        (
            sp.algorithms.PooledPeleg(0.1, baseline=0),
            sp.Problem([[1.0], [2.0]]),
            "compared with a baseline",
        ),
        (
            sp.algorithms.PooledPeleg(0.1, items=5),
            sp.Problem([[1.0], [2.0]]),
            "measured on the same items",
        ),
        (
            sp.algorithms.PooledPeleg(0.1),
            sp.Problem([[1.0], [2.0]], candidates=[[3.0]]),
            "leave candidates out",
        ),
    ],
)
def test_where_options_cannot_come_and_go(algorithm, problem, message):
    run = algorithm.start(problem)
    with pytest.raises(InvalidInputError, match=message):
        run.add([[3.0]], ["new"])
    with pytest.raises(InvalidInputError, match=message):
        run.retire("0")


@pytest.mark.some(1)
@pytest.mark.parametrize("evidence", [True, False])
def test_options_come_and_go_after_past_measurements(evidence):
    problem = sp.Problem(
        np.column_stack([np.ones(4), np.arange(4.0)]), noise="symmetric", misfit=math.inf
    )
    run, rng = sp.algorithms.PooledPeleg(0.1).start(problem), np.random.default_rng(2)
    arms = np.arange(40) % 4
    run.tell_past(arms, 0.2 * arms + rng.normal(size=40), chosen_in_advance=evidence)
    while not run.stopped:
        batch = run.ask()
        if run.batches == 1:
            run.add([[1.0, 9.0, 1.0]], ["new"])
            run.retire("3", reason="sold out")
        run.tell(batch, 0.5 * batch.arms + rng.normal(size=len(batch)))
    assert run.answer.label == "new"
    assert sp.verify(run.answer.certificate(), replay=True).replayed


def test_every_option_has_a_scale_of_its_own():
    problem = sp.Problem(np.eye(3), noise=[0.5, 1.0, 2.0])
    run = sp.algorithms.PooledPeleg(0.1).start(problem)
    with pytest.raises(InvalidInputError, match="give one for each of the 1 new options"):
        run.add(np.eye(4)[-1:], ["new"])
    rng, means, scales = np.random.default_rng(1), np.array([0, 1, 2, 3.0]), [0.5, 1, 2, 0.1]
    while not run.stopped:
        batch = run.ask()
        if not run.batches:
            run.add(np.eye(4)[-1:], ["new"], noise=[0.1])
        run.tell(
            batch, means[batch.arms] + rng.normal(size=len(batch)) * np.array(scales)[batch.arms]
        )
    assert run.answer.label == "new"
    assert sp.verify(run.answer.certificate(), replay=True)


def test_with_pieces_and_strata_a_change_waits_for_the_end_of_the_block():
    problem = sp.Problem([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], noise=1.0)
    run = sp.algorithms.PooledPeleg(0.1, min_batch=2, max_batch=2).start(problem)
    rng, seen = np.random.default_rng(0), []
    while not run.stopped:
        batch = run.ask()
        if run.batches == 4:
            run.add([[1.0, 3.0, 1.0]], ["new"])
        run.tell(batch, 0.3 * batch.arms + rng.normal(size=len(batch)))
        seen.append((run.state.at_rest, len(run.option_changes)))
    assert (False, 0) in seen[4:], "it waited"
    assert sp.verify(run.answer.certificate(), replay=True).replayed

    run = sp.algorithms.PooledPeleg(0.1).start(sp.Problem([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]))
    while not run.stopped:
        batch = run.ask()
        if run.batches == 2:
            run.add([[1.0, 3.0, 1.0]], ["new"])
        days = [f"day {i % 2}" for i in range(len(batch))]
        level = 5.0 * (np.arange(len(batch)) % 2)
        run.tell(batch, batch.arms + level + 0.3 * rng.normal(size=len(batch)), strata=days)
    assert run.answer.label == "new"
    assert sp.verify(run.answer.certificate(), replay=True).replayed
