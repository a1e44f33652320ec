import json

import numpy as np
import pytest
from tests.research.ellipsoid_model import Model

import surepick as sp
from surepick.algorithms import Glucb, LinGapE, get
from surepick.simulate import Instance, instances, trials
from surepick.verifier.verify import verify

RNG = np.random.default_rng(6)
ARMS, THETA = RNG.normal(size=(9, 3)), RNG.normal(size=3)
GENERIC = Instance(sp.Problem(ARMS, noise=0.5), THETA / np.linalg.norm(THETA))


def play(algorithm, instance, seed=0, stop=None):
    run = algorithm.start(instance.problem)
    rng, pulled = np.random.default_rng(seed), []
    while not run.stopped and (stop is None or len(pulled) < stop):
        batch = run.ask()
        pulled.append(int(batch.arms[0]))
        noise = instance.problem.noise * rng.standard_normal()
        run.tell(batch, [instance.means[pulled[-1]] + noise])
    return run, pulled


@pytest.mark.parametrize("settings", [{}, {"epsilon": 0.1, "regularisation": 2.0}])
def test_follows_the_definition(settings):
    algorithm = Glucb(0.1, **settings)
    run, pulled = play(algorithm, GENERIC)
    problem = GENERIC.problem
    model = Model(
        problem.arms,
        problem.candidates,
        0.1,
        algorithm.norm_bound / 0.5,
        algorithm.regularisation,
        algorithm.epsilon / 0.5,
    )
    rng = np.random.default_rng(0)
    assert pulled[: problem.rank] == problem.spanning_arms.tolist()
    for t, arm in enumerate(pulled):
        assert t < problem.rank or arm in model.greedy(problem.spanning_arms), f"pull {t}"
        model.tell(arm, GENERIC.means[arm] / 0.5 + rng.standard_normal())
    assert model.greedy(problem.spanning_arms) is None
    assert run.answer.arm == model.look()[1]


def test_starts_without_pulling_every_arm():
    instance = instances.unit_sphere(5, k=300, gamma=0.5)
    run, pulled = play(Glucb(0.1), instance, stop=50)
    assert (run.pulls > 0).sum() < 50
    assert sorted(set(pulled[:5])) == instance.problem.spanning_arms.tolist()


@pytest.mark.validation
@pytest.mark.parametrize(
    "instance", [instances.standard(0.5), instances.confounding(3, omega=0.5)], ids=lambda i: i.name
)
def test_error_rate(instance):
    t = trials(Glucb(0.1), instance, n=200, seed=3)
    assert (~t["correct"]).sum() <= 30  # 20 expected at most; beyond 30 once in a hundred
    assert set(t["guarantee"]) == {"pac"}


def test_needs_about_as_many_pulls_as_lingape():
    instance = instances.confounding(3, omega=0.3)
    ours = trials(Glucb(0.1), instance, n=60)["samples"].mean()
    theirs = trials(LinGapE(0.1), instance, n=60)["samples"].mean()
    assert ours == pytest.approx(theirs, rel=0.25)


def test_certificate_epsilon_and_budget():
    run, _ = play(Glucb(0.1), GENERIC)
    checked = verify(run.answer.certificate())
    assert (checked.candidate, checked.guarantee) == (run.answer.arm, "pac")
    close = Instance(sp.Problem(np.eye(2), [[1, 0], [0.99, 0.01], [-1, 0]], noise=1.0), [0.7, 0.65])
    run, _ = play(Glucb(0.1, epsilon=0.01), close)
    assert run.answer.survivors == (0, 1)
    assert verify(run.answer.certificate()).guarantee == "eps-pac"
    run, pulled = play(Glucb(0.1, max_samples=2), GENERIC)
    assert len(pulled) == 2
    assert verify(run.answer.certificate()).guarantee == "none"


@pytest.mark.some(2)
@pytest.mark.parametrize("at", [1, 60, 2048])
def test_saved_runs_go_on_exactly(at):
    instance = instances.confounding(3, omega=0.15)
    run, _ = play(Glucb(0.1), instance, stop=at)
    again = sp.Run.from_json(run.to_json())
    rng = np.random.default_rng(9)
    for _ in range(200):
        a, b = run.ask(), again.ask()
        assert a.arms.tolist() == b.arms.tolist()
        reward = instance.means[a.arms[0]] + rng.standard_normal()
        run.tell(a, [reward])
        again.tell(b, [reward])
    assert json.loads(run.to_json())["state"] == json.loads(again.to_json())["state"]


def test_names_and_bad_settings():
    made = Glucb(0.2, norm_bound=3.0)
    assert get(made.registered_name(), **made.settings()) == made
    with pytest.raises(sp.SurepickError, match="norm_bound"):
        Glucb(0.1, norm_bound=-1)
    with pytest.raises(sp.SurepickError, match="constants"):
        get("glucb", delta=0.1, constants="printed")
