import json
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import Lucb, get
from surepick.errors import InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.simulate import Instance, instances, trials
from surepick.verifier.verify import verify

MEANS = np.array([0.2, 1.1, 0.4, 0.0])
INSTANCE = Instance(sp.Problem(np.eye(4), noise=0.5), MEANS)


def play(algorithm, instance, seed=0, stop=None):
    run = algorithm.start(instance.problem)
    rng, pulled = np.random.default_rng(seed), []
    while not run.stopped and (stop is None or len(pulled) < stop):
        batch = run.ask()
        pulled.append(int(batch.arms[0]))
        noise = instance.problem.noise * rng.standard_normal()
        run.tell(batch, [instance.means[pulled[-1]] + noise])
    return run, pulled


def lucb(means, sigma, delta, epsilon, rng):
    """LUCB1 as printed, rewards in their own units: pulls and answer."""
    K = len(means)
    rewards = [[means[k] + sigma * rng.standard_normal()] for k in range(K)]
    pulled, t = list(range(K)), 1
    while True:
        u = np.array([len(r) for r in rewards])
        mean = np.array([np.mean(r) for r in rewards])
        beta = np.sqrt(2 * sigma**2 * math.log(5 * K * t**4 / (4 * delta)) / u)
        h = int(np.argmax(mean))
        rest = [k for k in range(K) if k != h]
        challenger = max(rest, key=lambda k: mean[k] + beta[k])
        if mean[challenger] + beta[challenger] - (mean[h] - beta[h]) < epsilon:
            left = [k for k in range(K) if k == h or mean[k] + beta[k] >= mean[h] - beta[h]]
            return pulled, h, left
        for arm in (h, challenger):
            rewards[arm].append(means[arm] + sigma * rng.standard_normal())
            pulled.append(arm)
        t += 1


@pytest.mark.parametrize("epsilon", [0.0, 0.6])
def test_follows_the_definition(epsilon):
    run, pulled = play(Lucb(0.1, epsilon=epsilon), INSTANCE)
    expected, best, left = lucb(MEANS, 0.5, 0.1, epsilon, np.random.default_rng(0))
    assert pulled == expected
    assert run.answer.arm == best
    assert list(run.answer.survivors) == left
    assert verify(run.answer.certificate()).candidate == best


@pytest.mark.validation
def test_error_rate():
    t = trials(Lucb(0.2), instances.standard(1.0), n=300, seed=2)
    assert (~t["correct"]).sum() <= 75  # 60 expected at most
    assert set(t["guarantee"]) == {"pac"}


def test_the_theorem_is_what_it_costs():
    run, _ = play(Lucb(0.1), INSTANCE)
    checked = verify(run.answer.certificate())
    assert checked.risk == pytest.approx(0.0961646, rel=1e-5)
    assert checked.checked == 3


def test_simulation_asks_what_ask_tell_asks():
    instance = instances.standard(1.5)
    row = trials(Lucb(0.1), instance, n=1, seed=7)
    _, for_rewards = np.random.SeedSequence(7, spawn_key=(0,)).spawn(2)
    rng = np.random.default_rng(for_rewards)
    noise = np.concatenate([rng.standard_normal(256), rng.standard_normal(512)])
    run = Lucb(0.1).start(instance.problem)
    for n in noise:
        if run.stopped:
            break
        batch = run.ask()
        run.tell(batch, [instance.means[batch.arms[0]] + n])
    assert run.stopped
    assert run.samples == row["samples"][0] > 256


@pytest.mark.some(3)
@pytest.mark.parametrize("at", [0, 3, 4, 5, 6, 101])  # burn-in, before and inside a round
def test_saved_runs_go_on_exactly(at):
    run, _ = play(Lucb(0.1), INSTANCE, stop=at)
    again = sp.Run.from_json(run.to_json())
    rng = np.random.default_rng(9)
    while not run.stopped:
        a, b = run.ask(), again.ask()
        assert a.arms.tolist() == b.arms.tolist()
        reward = MEANS[a.arms[0]] + 0.5 * rng.standard_normal()
        run.tell(a, [reward])
        again.tell(b, [reward])
    assert again.answer.to_dict() == run.answer.to_dict()
    assert json.loads(run.to_json())["state"] == json.loads(again.to_json())["state"]


def test_budget():
    for limit in (2, 4, 7):
        run, pulled = play(Lucb(0.01, max_samples=limit), INSTANCE)
        assert len(pulled) == limit
        assert run.answer.guarantee.kind == "none"
        assert verify(run.answer.certificate()).guarantee == "none"
    assert play(Lucb(0.01, max_samples=2), INSTANCE)[0].answer.arm in (0, 1)


def test_equal_arms_count_once():
    arms = [[1, 0], [0, 1], [1, 0], [1, 1]]
    run, pulled = play(Lucb(0.1), Instance(sp.Problem(arms, noise=1.0), [3.0, -3.0]))
    assert 2 not in pulled
    assert run.answer.survivors == (0, 2)
    assert verify(run.answer.certificate()).candidate == 0
    one = Lucb(0.1).start(sp.Problem([[1.0], [1.0]], noise=1.0))
    assert one.stopped
    assert verify(one.answer.certificate()).candidate == 0


def test_candidates_must_be_arms():
    arms = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    run, pulled = play(
        Lucb(0.1), Instance(sp.Problem(arms, [[1, 1], [0, 1]], noise=1.0), [3.0, 0.5])
    )
    assert run.answer.arm == 0
    assert set(pulled) == {1, 2}
    assert verify(run.answer.certificate()).candidate == 0
    with pytest.raises(InvalidInputError, match=r"candidate 1 \('odd'\)"):
        Lucb(0.1).start(
            sp.Problem(arms, [[1, 1], [0, 2]], candidate_labels=["fine", "odd"], noise=1.0)
        )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda c: c["evidence"].update(round=c["evidence"]["round"] - 1), "rounds"),
        (lambda c: c["evidence"]["dropped"].pop(), "survivors"),
        (lambda c: c["evidence"]["dropped"][0].update(width=0.1), "width"),
        (lambda c: c["batches"][0]["sums"].__setitem__(0, 900.0), "gap"),
        (lambda c: c["evidence"]["dropped"][0].update(candidate=1), "ruled out"),
    ],
)
def test_false_certificates_are_refused(change, complaint):
    run, _ = play(Lucb(0.1), INSTANCE)
    certificate = run.answer.certificate()
    change(certificate)
    certificate["digest"] = fingerprint(certificate)
    with pytest.raises(sp.errors.CertificateError, match=complaint):
        verify(certificate)


def test_name():
    made = Lucb(0.2, epsilon=0.1, max_samples=50)
    assert get("lucb", **made.settings()) == made


def test_scales_that_differ_are_refused():
    problem = sp.Problem(np.eye(3), noise=[1.0, 2.5, 1.0])
    with pytest.raises(InvalidInputError, match=r"one scale for all.*noise=2\.5.*pooled"):
        sp.algorithms.Lucb(0.1).start(problem)
