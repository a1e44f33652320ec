import contextlib
import copy
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import surepick as sp
from surepick.algorithms import Peleg
from surepick.errors import (
    BatchError,
    FormatError,
    InvalidInputError,
    InvalidTypeError,
    RunStateError,
    SurepickError,
    UnknownNameError,
)

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.95, 0.3], [-1.0, 0.2]])
THETA = np.array([1.0, 0.1])
PROBLEM = sp.Problem(ARMS, noise=0.5, labels=["a", "b", "c", "d"])
MEANS = ARMS @ THETA

# The exact forms are given a problem with large gaps: their phases are long.
EASY = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=0.2)
FORMS = {
    "default": (Peleg(0.1), PROBLEM, MEANS),
    "epsilon": (Peleg(0.1, epsilon=0.3), PROBLEM, MEANS),
    "budget": (Peleg(0.1, max_samples=300), PROBLEM, MEANS),
    "paper": (Peleg.paper(0.1), EASY, np.array([1.0, 0.0])),
    "ball": (Peleg(0.3, ball=True, max_samples=20_000), EASY, np.array([1.0, 0.0])),
}


def draw(batch, means, seed=0, noise=0.5):
    """Rewards of one batch that depend on its number only."""
    rng = np.random.default_rng([seed, batch.number])
    return means[batch.arms] + noise * rng.standard_normal(batch.size)


def finish(run, means, seed=0):
    """Take a run to its stop; what it asked for on the way."""
    asks = []
    while not run.stopped:
        batch = run.ask()
        asks.append(batch.counts.tolist())
        run.tell(batch, draw(batch, means, seed))
    return asks


# -- ask -----------------------------------------------------------------------------------
def test_ask_gives_the_same_batch_until_it_is_told():
    run = Peleg(0.1).start(PROBLEM)
    batch = run.ask()
    assert run.ask() is batch
    assert (batch.number, batch.run) == (0, run.id)
    assert len(batch) == batch.size == batch.counts.sum() == len(batch.arms)
    assert batch.counts.tolist() == np.bincount(batch.arms, minlength=4).tolist()
    assert (np.diff(batch.arms) < 0).any()  # not arm by arm
    assert (run.samples, run.batches, run.pulls.tolist()) == (0, 0, [0, 0, 0, 0])
    run.tell(batch, draw(batch, MEANS))
    assert (run.samples, run.batches) == (batch.size, 1)
    assert run.pulls.tolist() == batch.counts.tolist()
    assert "Run(peleg" in repr(run)
    assert "Batch(number=0" in repr(batch)


def test_rewards_and_sums_are_equivalent():
    one, two = Peleg(0.1).start(PROBLEM), Peleg(0.1).start(PROBLEM)
    while not one.stopped:
        batch, twin = one.ask(), two.ask()
        assert twin.counts.tolist() == batch.counts.tolist()
        rewards = np.round(draw(batch, MEANS) * 1024) / 1024  # whose sums are exact in any order
        one.tell(batch, rewards.tolist())
        two.tell(twin, sums=np.bincount(batch.arms, rewards, minlength=4))
    assert two.answer == one.answer
    assert two.answer.certificate() == one.answer.certificate()


def test_rewards_may_come_as_any_list_of_numbers():
    asks = []
    for form in (list, tuple, np.array, pd.Series, lambda r: np.array(r, dtype=object)):
        run = Peleg(0.1).start(PROBLEM)
        batch = run.ask()
        run.tell(batch, form(draw(batch, MEANS).tolist()))
        asks.append((run.to_json().replace(run.id, ""), run.active))
    assert all(a == asks[0] for a in asks)
    whole = Peleg(0.1).start(PROBLEM)
    whole.tell(whole.ask(), [1] * whole.ask().size)
    assert whole.batches == 1


# -- what tell refuses ---------------------------------------------------------------------
REFUSED = {
    "too few": (lambda b: {"rewards": np.zeros(b.size - 1)}, InvalidInputError, "one entry per"),
    "too many": (lambda b: {"rewards": np.zeros(b.size + 1)}, InvalidInputError, "one entry per"),
    "none": (lambda b: {"rewards": []}, InvalidInputError, "one entry per"),
    "neither": (lambda b: {}, InvalidInputError, "either rewards"),
    "both": (
        lambda b: {"rewards": np.zeros(b.size), "sums": np.zeros(4)},
        InvalidInputError,
        "either rewards",
    ),
    "nan": (
        lambda b: {"rewards": [float("nan")] + [0.0] * (b.size - 1)},
        InvalidInputError,
        r"rewards\[0\] \(arm \d, '[abcd]'\) is nan",
    ),
    "missing": (
        lambda b: {"rewards": [0.0] * (b.size - 1) + [None]},
        InvalidInputError,
        r"rewards\[\d+\] .* is nan.*still open",
    ),
    "infinite": (
        lambda b: {"rewards": [0.0, float("-inf")] + [0.0] * (b.size - 2)},
        InvalidInputError,
        r"rewards\[1\] .* is -inf",
    ),
    "text": (lambda b: {"rewards": ["1.0"] * b.size}, InvalidTypeError, "list of numbers"),
    "words": (lambda b: {"rewards": "many"}, InvalidTypeError, "list of numbers"),
    "complex": (lambda b: {"rewards": [1j] * b.size}, InvalidTypeError, "list of numbers"),
    "a dict": (lambda b: {"rewards": {0: 1.0}}, InvalidTypeError, "list of numbers"),
    "a mixture": (lambda b: {"rewards": [1.0, "2"] * b.size}, InvalidTypeError, "list of numbers"),
    "objects": (
        lambda b: {"rewards": np.array(["1"] * b.size, dtype=object)},
        InvalidTypeError,
        "list of numbers",
    ),
    "one number": (lambda b: {"rewards": 1.0}, InvalidInputError, "flat list"),
    "a column": (lambda b: {"rewards": np.zeros((b.size, 1))}, InvalidInputError, "flat list"),
    "overflow": (lambda b: {"rewards": [1e308] * b.size}, InvalidInputError, "too large"),
    "gigantic": (lambda b: {"rewards": [10**400] * b.size}, InvalidTypeError, "list of numbers"),
    "short sums": (lambda b: {"sums": np.zeros(3)}, InvalidInputError, "4 expected, 3 given"),
    "nan sums": (
        lambda b: {"sums": [float("nan"), 0, 0, 0]},
        InvalidInputError,
        r"sums\[0\] \('a'\) is nan",
    ),
    "huge sums": (
        lambda b: {"sums": np.where(b.counts > 0, 1e200, 0.0)},
        InvalidInputError,
        "too large",
    ),
    "stray sums": (
        lambda b: {"sums": np.where(b.counts > 0, 0.0, 3.0)},
        InvalidInputError,
        r"sums\[\d\] is 3.0, but arm \d is not part of this batch",
    ),
}


def run_with_an_open_batch_that_skips_an_arm():
    run = Peleg(0.1).start(PROBLEM)
    batch = run.ask()
    while (batch.counts > 0).all():
        run.tell(batch, draw(batch, MEANS))
        batch = run.ask()
    return run, batch


@pytest.mark.parametrize("what", REFUSED)
def test_a_refused_tell_changes_nothing(what):
    make, error, message = REFUSED[what]
    run, batch = run_with_an_open_batch_that_skips_an_arm()
    before = run.to_json()
    with pytest.raises(error, match=message) as caught:
        run.tell(batch, **make(batch))
    assert isinstance(caught.value, SurepickError)
    assert isinstance(caught.value, TypeError if error is InvalidTypeError else ValueError)
    assert run.to_json() == before
    assert run.ask() is batch
    run.tell(batch, draw(batch, MEANS))  # corrected
    other = run_with_an_open_batch_that_skips_an_arm()[0]
    other.tell(other.ask(), draw(batch, MEANS))
    assert finish(run, MEANS) == finish(other, MEANS)
    assert run.answer == other.answer


def test_rewards_that_overflow_together_are_refused():
    run = Peleg(0.1).start(sp.Problem(np.eye(2), noise=0.5))
    run.tell(run.ask(), sums=[0.4e75, 0.4e75])  # 0.8e75 in units of the noise
    before = run.to_json()
    with pytest.raises(InvalidInputError, match=r"rewards of arm 1 \('1'\) are too large"):
        run.tell(run.ask(), sums=[0.0, 0.4e75])
    assert json.loads(before)["sums"] == json.loads(run.to_json())["sums"]


def test_batches_must_be_the_open_one_of_this_run():
    run, other = Peleg(0.1).start(PROBLEM), Peleg(0.1).start(PROBLEM)
    batch = run.ask()
    rewards = draw(batch, MEANS)
    with pytest.raises(BatchError, match="another run") as caught:
        run.tell(other.ask(), rewards)
    assert isinstance(caught.value, ValueError)
    run.tell(batch, rewards)
    with pytest.raises(BatchError, match="batch 0 already has its rewards"):
        run.tell(batch, rewards)
    later = run.ask()
    with pytest.raises(BatchError, match="batch 0 already has its rewards"):
        run.tell(batch, rewards)
    assert run.ask() is later
    ahead = sp.Batch(run.id, 5, later.pulls, 4)
    with pytest.raises(BatchError, match=r"batch 5 is not open; run.ask\(\) gives the open one"):
        run.tell(ahead, rewards)
    for wrong in (None, 0, batch.arms, rewards):
        with pytest.raises(InvalidTypeError, match=r"what run.ask\(\) returned"):
            run.tell(wrong, rewards)


def test_a_batch_nobody_asked_for_is_not_open():
    run = Peleg(0.1).start(PROBLEM)
    batch = run.ask()
    run.tell(batch, draw(batch, MEANS))
    unasked = sp.Batch(run.id, 1, batch.pulls, 4)
    with pytest.raises(BatchError, match="batch 1 is not open"):
        run.tell(unasked, draw(batch, MEANS))


def test_a_stopped_run_asks_for_nothing():
    run = Peleg(0.1).start(PROBLEM)
    batch = run.ask()
    finish(run, MEANS)
    with pytest.raises(RunStateError, match="has stopped") as caught:
        run.ask()
    assert isinstance(caught.value, RuntimeError)
    with pytest.raises(BatchError, match="already has its rewards"):
        run.tell(batch, draw(batch, MEANS))


def test_there_is_no_answer_before_the_stop():
    run = Peleg(0.1).start(PROBLEM)
    with pytest.raises(RunStateError, match="4 candidates are still in after 0 pulls"):
        _ = run.answer
    batch = run.ask()
    with pytest.raises(RunStateError, match="not stopped"):
        _ = run.answer
    assert run.ask() is batch


# -- answers -------------------------------------------------------------------------------
def test_the_answer_adds_up():
    run = Peleg(0.1).start(PROBLEM)
    asks = finish(run, MEANS)
    answer = run.answer
    assert (answer.arm, answer.label) == (0, "a")
    assert answer.samples == run.samples == np.sum(asks)
    assert answer.pulls.tolist() == np.sum(asks, axis=0).tolist()
    assert answer.batches == len(asks)
    assert answer.survivors == run.active == (0,)
    assert answer.equivalent == ()
    assert (answer.algorithm, answer.delta, answer.epsilon) == ("peleg", 0.1, 0.0)
    assert (answer.guarantee.kind, bool(answer.guarantee)) == ("pac", True)
    assert answer.guarantee.startswith("the best with probability at least 0.9 (")
    assert json.loads(json.dumps(answer.to_dict()))["pulls"] == answer.pulls.tolist()


def test_answers_can_be_compared_and_copied():
    run = Peleg(0.1).start(PROBLEM)
    finish(run, MEANS)
    answer = run.answer
    other = Peleg(0.1).start(PROBLEM)
    finish(other, MEANS, seed=1)
    assert answer == run.answer
    assert answer != other.answer
    assert answer != "a"
    assert len({answer, run.answer, other.answer}) == 2
    for again in (copy.copy(answer), copy.deepcopy(answer)):
        assert again == answer
        assert again.guarantee.kind == "pac"
        assert again.certificate() == answer.certificate()


@pytest.mark.parametrize(
    ("delta", "words"),
    [(0.05, "0.95"), (0.25, "0.75"), (1e-9, "0.999999999"), (1e-20, "1 - 1e-20")],
)
def test_confidence_is_never_rounded_up_to_certainty(delta, words):
    answer = sp.identify(EASY, lambda arm: 1.0 - arm, delta)
    assert answer.guarantee.startswith(f"the best with probability at least {words} (")
    assert sp.verify(answer.certificate())


# -- epsilon -------------------------------------------------------------------------------
def test_ties_stop_with_epsilon():
    problem = sp.Problem(np.eye(3), noise=0.5)
    run = Peleg(0.1, epsilon=0.25).start(problem)
    finish(run, np.array([1.0, 1.0, 1.0]))
    answer = run.answer
    assert (answer.guarantee.kind, bool(answer.guarantee)) == ("eps-pac", True)
    assert answer.guarantee.startswith("within 0.25 of the best with probability at least 0.9 (")
    assert len(answer.survivors) > 1
    assert answer.arm in answer.survivors
    assert sp.verify(answer.certificate()).guarantee == "eps-pac"


def test_epsilon_is_in_units_of_the_reward():
    scaled = []
    for scale in (1.0, 2.0**10):
        run = Peleg(0.1, epsilon=0.25 * scale).start(sp.Problem(ARMS, noise=0.5 * scale))
        while not run.stopped:
            batch = run.ask()
            run.tell(batch, scale * draw(batch, np.zeros(4)))
        scaled.append((run.samples, run.answer.survivors, run.answer.guarantee.kind))
    assert scaled[0] == scaled[1]
    assert scaled[0][2] == "eps-pac"


def test_epsilon_does_not_weaken_a_clear_answer():
    run = Peleg(0.1, epsilon=1e-3).start(EASY)
    finish(run, np.array([5.0, 0.0]))
    assert run.answer.guarantee.kind == "pac"


RANKED = sp.simulate.Instance(sp.Problem(np.eye(3), noise=1.0), [1.0, 0.9, 0.5])


@pytest.mark.some(1)
@pytest.mark.parametrize("make", [Peleg, Peleg.paper], ids=["default", "paper"])
def test_answers_are_within_epsilon_of_the_best(make):
    table = sp.simulate.trials(make(0.2, epsilon=0.2), RANKED, n=200)
    assert set(table["guarantee"]) == {"pac", "eps-pac"}
    gaps = RANKED.gaps[table["arm"]]
    assert np.mean(gaps > 0.2) <= 0.2
    assert (gaps > 0).any()  # the second best is good enough
    assert table["correct"].tolist() == (gaps <= 0.2).tolist()


def test_epsilon_saves_pulls():
    loose, exact = (sp.simulate.trials(Peleg(0.2, epsilon=e), RANKED, n=50) for e in (0.2, 0.0))
    assert loose["samples"].mean() < exact["samples"].mean() / 2


# -- budgets -------------------------------------------------------------------------------
@pytest.mark.parametrize("budget", [1, 2, 3, 7, 79, 80, 81, 500])
@pytest.mark.parametrize("make", [Peleg, Peleg.paper], ids=["default", "paper"])
def test_max_samples_is_never_exceeded(make, budget):
    run = make(1e-6, max_samples=budget).start(
        sp.Problem(ARMS, labels=["a", "b", "c", "d"], noise=1.0)
    )
    while not run.stopped:
        batch = run.ask()
        assert run.samples + batch.size <= budget
        run.tell(batch, draw(batch, MEANS * 0.01))
    answer = run.answer
    assert answer.samples == budget
    assert (answer.guarantee.kind, bool(answer.guarantee)) == ("none", False)
    assert f"max_samples={budget}" in answer.guarantee
    assert len(answer.survivors) > 1
    assert answer.arm in answer.survivors
    assert sp.verify(answer.certificate()).guarantee == "none"


def test_a_run_cut_short_answers_what_looks_best():
    run = Peleg(0.1, max_samples=20).start(sp.Problem(np.eye(3), noise=5.0))
    batch = run.ask()
    run.tell(batch, sums=batch.counts * np.array([0.1, 0.3, 0.2]))
    assert run.answer.arm == 1
    assert run.answer.survivors == (0, 1, 2)


def test_a_generous_budget_changes_nothing():
    free, bound = Peleg(0.1).start(PROBLEM), Peleg(0.1, max_samples=10**6).start(PROBLEM)
    assert finish(free, MEANS) == finish(bound, MEANS)
    assert bound.answer.guarantee.kind == "pac"


# -- saving and loading --------------------------------------------------------------------
@pytest.mark.some(2)
@pytest.mark.parametrize("form", FORMS)
def test_a_run_can_be_saved_and_loaded_at_every_step(form):
    algorithm, problem, means = FORMS[form]
    straight = algorithm.start(problem)
    asks = finish(straight, means)
    run, step = algorithm.start(problem), 0
    while not run.stopped:
        run = reload(run)  # before ask
        batch = run.ask()
        assert batch.counts.tolist() == asks[step]
        run = reload(run)  # with the batch open
        assert run.ask() == batch
        run.tell(batch, draw(batch, means))  # the object from before the save
        run = reload(run)  # after tell
        step += 1
    assert step == len(asks)
    assert run.answer == straight.answer
    assert reload(run).answer.certificate() == straight.answer.certificate()
    with pytest.raises(RunStateError):
        reload(run).ask()


def reload(run):
    text = run.to_json()
    again = sp.Run.from_json(text)
    assert again.to_json() == text
    assert (again.id, again.samples, again.active) == (run.id, run.samples, run.active)
    assert again.problem == run.problem
    assert again.algorithm == run.algorithm
    return again


def test_a_saved_run_goes_on_in_a_fresh_process():
    run = Peleg(0.1, epsilon=1e-3).start(PROBLEM)
    batch = run.ask()
    run.tell(batch, draw(batch, MEANS))
    opened = run.ask()
    code = f"""
import json, sys
import numpy as np
import surepick as sp
run = sp.Run.from_json(sys.stdin.read())
means = np.array({MEANS.tolist()})
asks = []
while not run.stopped:
    batch = run.ask()
    asks.append(batch.counts.tolist())
    rng = np.random.default_rng([0, batch.number])
    run.tell(batch, means[batch.arms] + 0.5 * rng.standard_normal(batch.size))
print(json.dumps([asks, run.answer.certificate()]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], input=run.to_json(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    asks, certificate = json.loads(done.stdout)
    assert asks[0] == opened.counts.tolist()
    assert asks == finish(run, MEANS)
    assert certificate == run.answer.certificate()


def test_saved_runs_are_accepted_as_bytes():
    run = Peleg(0.1).start(PROBLEM)
    assert (
        sp.Run.from_json(run.to_json().encode()).ask().counts.tolist() == run.ask().counts.tolist()
    )


def damaged(change):
    run = Peleg(0.1).start(PROBLEM)
    batch = run.ask()
    run.tell(batch, draw(batch, MEANS))
    run.ask()
    saved = json.loads(run.to_json())
    change(saved)
    return json.dumps(saved)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        (None, "cannot be read"),
        ("[]", "not a saved surepick run"),
        ("null", "not a saved surepick run"),
        ('{"format": "surepick-certificate", "version": 1}', "not a saved surepick run"),
        (damaged(lambda s: s.update(version=4)), "format 4.*upgrade surepick"),
        (damaged(lambda s: s.update(version="1")), "format 1"),
        (damaged(lambda s: s.update(version=0)), "format 0"),
        (damaged(lambda s: s.pop("version")), "format None"),
        (damaged(lambda s: s["settings"].update(delta=2)), "damaged: delta must lie"),
        (damaged(lambda s: s["settings"].update(speed=2)), "damaged: .*speed"),
        (damaged(lambda s: s.update(settings=[1])), "damaged"),
        (damaged(lambda s: s["problem"].pop("noise")), "saved problem lacks 'noise'"),
        (damaged(lambda s: s["problem"].update(noise=-1)), "damaged: noise"),
        (damaged(lambda s: s["pulls"].update(shape=[2])), "cannot be read"),
        (damaged(lambda s: s.update(pulls=[1, 2])), "damaged: pulls must have one entry"),
        (damaged(lambda s: s["pulls"].update(__array__="O8")), "cannot be read"),
        (damaged(lambda s: s.update(open=[1])), "damaged"),
        (damaged(lambda s: s.update(batches=None)), "damaged"),
        (damaged(lambda s: s["state"].pop("phase")), "lacks 'phase'"),
        (damaged(lambda s: s.update(state=[])), "damaged"),
    ],
)
def test_unreadable_runs_are_refused(text, message):
    with pytest.raises(FormatError, match=message) as caught:
        sp.Run.from_json(text)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "field",
    ["id", "algorithm", "settings", "problem", "state", "pulls", "sums", "batches", "log", "open"],
)
def test_a_missing_field_is_named(field):
    with pytest.raises(FormatError, match=f"saved run lacks '{field}'"):
        sp.Run.from_json(damaged(lambda s: s.pop(field)))


def test_a_run_of_an_unknown_algorithm_says_which():
    with pytest.raises(UnknownNameError, match="unknown algorithm 'pelge'; did you mean 'peleg'"):
        sp.Run.from_json(damaged(lambda s: s.update(algorithm="pelge")))


# -- starting ------------------------------------------------------------------------------
def test_a_run_needs_a_problem():
    with pytest.raises(InvalidTypeError, match=r"problem must be a surepick\.Problem"):
        Peleg(0.1).start(ARMS)


def test_runs_do_not_share_anything():
    one, two = Peleg(0.1).start(PROBLEM), Peleg(0.1).start(PROBLEM)
    assert one.id != two.id
    finish(one, MEANS)
    assert (two.samples, two.active) == (0, (0, 1, 2, 3))
    answer = one.answer
    answer.pulls[:] = -1
    assert one.answer.samples == one.answer.pulls.sum() == one.samples


@pytest.mark.parametrize("size", [1e140, 1e-84, 1e-160, 1e-300])
@pytest.mark.parametrize("noise", [None, "equal"])
def test_rewards_that_nothing_can_be_computed_with_are_refused_or_prove_nothing(size, noise):
    """Squares of variances are part of designs: these overflowed, or became 0."""
    rng = np.random.default_rng(0)
    for rows in (np.eye(3), np.c_[np.ones(3), [0.0, 1.0, 2.0]]):
        run = sp.algorithms.PooledPeleg(0.05, max_samples=60, baseline=0).start(
            sp.Problem(rows, noise=noise)
        )
        with contextlib.suppress(InvalidInputError):
            while not run.stopped:
                batch = run.ask()
                run.tell(batch, size * (batch.arms + rng.standard_cauchy(batch.size)))
        assert (run.samples == 0) == (size > 1)
