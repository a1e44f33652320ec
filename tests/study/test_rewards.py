"""Rewards that a study cannot have, and where a study of each kind says it stands."""

import numpy as np
import pytest

import surepick as sp
from surepick.ahead.copies import ahead
from surepick.errors import InvalidInputError
from surepick.storage.memory import MemoryStorage
from surepick.study.outlook import outlook

ARMS = np.column_stack([np.ones(5), np.linspace(-1, 1, 5)])
IMPOSSIBLE = [
    ("yes-no", (2, 0.5, -1), "rewards of this problem are 0 (no) or 1 (yes)"),
    ((0.0, 1.0), (1.2, -1e-9), "rewards of this problem lie between 0 and 1"),
    ((-10.0, 10.0), (10.1, 1e100), "rewards of this problem lie between -10 and 10"),
]


@pytest.mark.parametrize(("noise", "rewards", "rule"), IMPOSSIBLE)
def test_rewards_that_cannot_be_are_refused_and_nothing_is_lost(storage_url, noise, rewards, rule):
    problem = sp.Problem(ARMS, noise=noise)
    with sp.create_study("s", problem, storage=storage_url) as study:
        first, second = study.ask(2, worker="me")
        for reward in rewards:
            with pytest.raises(InvalidInputError) as refused:
                study.tell(first.id, reward)
            said = str(refused.value)
            assert said.startswith(f"reward of measurement {first.id} is {reward:.12g}, but {rule}")
            with pytest.raises(InvalidInputError, match=f"reward of measurement {second.id} is"):
                study.tell_many([(first.id, 1.0), (second.id, reward)])
        assert (study.progress().told, study.events()) == (0, [])
        assert [pull.id for pull in study.ask(2, worker="me")] == [first.id, second.id]
        assert study.tell(first.id, 1).status == "accepted"
        assert study.tell(second.id, 0.0).status == "accepted"


def test_scales_by_option_bound_what_is_too_large():
    problem = sp.Problem([[1.0], [2.0]], noise=[1.0, 1e-100])
    study = sp.create_study("s", problem, storage=MemoryStorage())
    with pytest.raises(InvalidInputError, match="too large"):
        study.tell(study.ask()[0].id, 1e40)


@pytest.mark.some(3)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("noise", [None, "equal"])
def test_the_outlook_of_an_unknown_scale_is_that_of_a_known_one(noise, scale):
    """Errors and forecasts follow the estimated scale, whatever the unit of the rewards."""
    runs = []
    for kind, factor in ((noise, scale), (1.0, 1.0)):
        run = sp.algorithms.PooledPeleg(0.01).start(sp.Problem(ARMS, noise=kind), 0)
        draws = np.random.default_rng(0)
        assert outlook(run) is None
        for _ in range(4):
            batch = run.ask()
            means = 0.2 * ARMS[batch.arms, 1]
            run.tell(batch, factor * (means + draws.normal(size=batch.size)))
        runs.append((run, outlook(run)))
    (run, ours), (other, theirs) = runs
    assert run.state.reward_scale() == pytest.approx(scale, rel=0.6)
    pulls = other.samples / run.samples  # batches may differ in size
    assert ours.error[0] / scale == pytest.approx(theirs.error[0] * np.sqrt(pulls), rel=0.8)
    if scale == 1e-6:
        mine, its = (ahead(one, copies=10) for one in (run, other))
        assert 0.1 < mine.low / its.low < 10


def test_the_outlook_knows_that_options_have_noise_of_their_own():
    quiet = sp.Problem(np.eye(2), noise=[0.1, 0.1])
    loud = sp.Problem(np.eye(2), noise=[0.1, 3.0])
    seen = []
    for problem in (quiet, loud):
        run = sp.algorithms.Peleg(0.1).start(problem)
        batch = run.ask()
        run.tell(batch, np.where(batch.arms == 0, 1.0, 0.9))
        counts = run.totals()[0]
        found = outlook(run)
        each = np.array(problem.noise) ** 2 / counts
        assert found.error.max() == pytest.approx(np.sqrt(each.sum()))
        assert found.behind.max() == pytest.approx(0.1)
        seen.append(found.error.max())
    assert seen[1] > seen[0]


def test_the_outlook_of_yes_and_no_counts_each_rate_by_its_own_variance():
    rates = np.array([0.5, 0.02])
    run = sp.algorithms.PooledPeleg(1e-6).start(sp.Problem(np.eye(2), noise="yes-no"))
    assert run.state.reward_scale() is None
    draws = np.random.default_rng(0)
    for _ in range(14):
        batch = run.ask()
        run.tell(batch, (draws.random(batch.size) < rates[batch.arms]).astype(float))
    scale = run.problem.unit * run.state.reward_scale()
    assert scale[0] > 1.3 * scale[1]
    counts = run.totals()[0]
    assert outlook(run).error.max() == pytest.approx(np.sqrt((scale**2 / counts).sum()))


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (None, "numbers with symmetric noise"),
        ("yes-no", "yes or no"),
        ((0, 5), "numbers between 0 and 5"),
    ],
)
def test_the_status_says_what_a_measurement_gives_and_estimates_once_it_can(noise, words):
    study = sp.create_study("s", sp.Problem(ARMS, noise=noise), storage=MemoryStorage())
    status = study.status()
    assert (status["rewards"], status["noise"], status["noise_estimated"]) == (words, None, True)
    batch = study.ask(10_000)
    draws = np.random.default_rng(0)
    study.tell_many([(pull.id, float(draws.integers(0, 2))) for pull in batch])
    status = study.status()
    assert 0.2 < status["noise"] < 1.2
    assert status["behind"] is not None


def test_extra_pulls_that_check_the_model_need_no_scale():
    for noise in (None, "equal", "yes-no"):
        study = sp.create_study(
            "s", sp.Problem(ARMS, noise=noise), storage=MemoryStorage(), check_fit=1.0
        )
        draws = np.random.default_rng(0)
        while pulls := study.ask(100):
            rewards = draws.random(len(pulls)) < [0.5 + 0.45 * ARMS[p.arm, 1] for p in pulls]
            study.tell_many(zip([p.id for p in pulls], rewards.astype(float)))
        assert study.current_run.pulls.min() > 0
        assert not study.checks().fit.blind
        assert study.rebuild().answer == study.current_run.answer
