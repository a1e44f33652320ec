import copy
import functools
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import get
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.simulate import Instance, conformance, instances, trials

PAPER = functools.partial(get, "alba", constants="printed")

# Mean pulls of public code (told the norm of theta), delta = 0.1, at least 11 trials.
PUBLIC = [
    (instances.standard(0.1), 359725),
    (instances.standard(0.5), 16661),
    (instances.confounding(2), 115643),
    (instances.confounding(9), 139192),
]


@pytest.mark.validation
@pytest.mark.parametrize(("instance", "reference"), PUBLIC, ids=lambda v: getattr(v, "name", ""))
def test_needs_fewer_pulls_than_public_code(instance, reference):
    norm = float(np.linalg.norm(instance.theta))
    table = trials(get("alba", delta=0.1, norm_bound=norm), instance, n=25, seed=3)
    assert table["samples"].mean() <= reference
    assert (~table["correct"]).sum() <= 3


def play(run, instance, seed=0):
    rng = np.random.default_rng(seed)
    while not run.stopped:
        batch = run.ask()
        noise = instance.problem.noise * np.sqrt(batch.counts)
        sums = batch.counts * instance.means + noise * rng.standard_normal(len(noise))
        run.tell(batch, sums=sums)
    return run.answer


def test_draws_follow_the_design():
    problem = instances.unit_sphere(4, k=15, rng=0).problem
    best = sp.design.g_optimal(problem.arms, tol=1e-4)
    total = np.zeros(15)
    for seed in range(300):
        total += get("alba", delta=0.1).start(problem, seed=seed).ask().counts
    share = total / total.sum()
    assert share.sum() == 1
    V = (problem.arms.T * share) @ problem.arms
    worst = np.einsum("ki,ki->k", problem.arms, np.linalg.solve(V, problem.arms.T).T).max()
    assert worst <= 1.1 * best.value
    one, two = (get("alba", delta=0.1).start(problem, seed=seed).ask().counts for seed in (0, 1))
    assert (one != two).any()


def test_estimate_uses_the_expected_gram_matrix():
    """Recompute the recorded gaps from the definition of the estimator."""
    instance = instances.confounding(4)
    answer = play(get("alba", delta=0.1).start(instance.problem, seed=2), instance)
    body = answer.certificate()
    stages, batches, arms = body["evidence"]["stages"], body["batches"], instance.problem.arms
    checked = 0
    for stage, following in zip(stages, [*stages[1:], {"batch": len(batches)}]):
        w = np.zeros(len(arms))
        w[stage["arms"]] = stage["weights"]
        M = (arms.T * w) @ arms
        moment, n = np.zeros(4), 0
        for number in range(stage["batch"], following["batch"]):
            batch = batches[number]
            moment += arms[batch["arms"]].T @ np.array(batch["sums"])
            n += sum(batch["counts"])
            theta = np.linalg.pinv(M) @ moment / n
            for entry in stage["dropped"]:
                if entry["batch"] == number:
                    gap = (arms[entry["by"]] - arms[entry["candidate"]]) @ theta
                    assert entry["gap"] == pytest.approx(gap, rel=1e-6)
                    assert 0 <= entry["bias"] < gap
                    checked += 1
    assert checked == 4


def test_rounds_halve_the_survivors():
    instance = instances.unit_sphere(8, k=30, rng=4)
    answer = play(get("alba", delta=0.1).start(instance.problem, seed=0), instance)
    sizes = [len(stage["members"]) for stage in answer.certificate()["evidence"]["stages"]]
    assert sizes[0] == 30
    goals = [8, 4, 2, 1]
    left = 1
    for size in reversed(sizes[1:]):
        goal = next(g for g in goals if g < size) if size > 1 else 1
        assert goal >= left
        left = size
    assert sizes[1] <= 8
    assert len(sizes) <= 4


def test_three_dimensions_end_with_a_duel():
    # goals 3, 2, 1: the last design is for two candidates
    instance = instances.confounding(3)
    answer = play(get("alba", delta=0.1).start(instance.problem, seed=0), instance)
    assert len(answer.certificate()["evidence"]["stages"][-1]["members"]) == 2


def test_levels_sum_to_delta_at_most():
    for d, k in ((1, 5), (2, 3), (3, 3), (5, 40), (7, 7)):
        instance = instances.unit_sphere(d, k=k, rng=1) if d > 1 else None
        if instance is None:
            arms = np.linspace(0.2, 1, k)[:, None]
            instance = Instance(sp.Problem(arms, noise=1.0), [1.0])
        answer = play(get("alba", delta=0.1, norm_bound=2.0).start(instance.problem), instance)
        assert 0 < sp.verify(answer.certificate()).risk <= 0.1 * (1 + 1e-9)


def test_paper_steps_have_the_papers_length():
    problem = sp.Problem(np.eye(4), noise=1.0)
    run = PAPER(delta=0.1, norm_bound=1.5).start(problem)
    # d = 4 and K = 4: round 0 has nothing to do, round 1 starts
    delta_r = 6 * 0.1 / (math.pi**2 * 2**2)
    for s in (1, 2, 3):
        delta_s, e = 6 * delta_r / (math.pi**2 * s**2), 2.0**-s
        c0 = 4 * 1.5**2
        n = c0 * (2 + (6 + e) * 4) / e**2 * math.log(5 * 16 / (2 * delta_s))
        batch = run.ask()
        assert batch.size == math.ceil(n)
        run.tell(batch, sums=np.zeros(4))


def test_norm_bound_is_in_units_of_the_reward():
    """Rewards, noise and norm bound in another unit: the same run."""
    instance = instances.standard(0.8, d=3, noise=1.0)
    scaled = Instance(sp.Problem(np.eye(3), noise=4.0), 4 * instance.theta)
    one = trials(get("alba", delta=0.1, norm_bound=0.8), instance, n=5)
    two = trials(get("alba", delta=0.1, norm_bound=3.2), scaled, n=5)
    assert (one["samples"] == two["samples"]).all()


@pytest.mark.validation
def test_a_larger_norm_bound_costs_pulls_and_is_named_in_the_guarantee():
    instance = instances.standard(0.5)
    means = [
        trials(get("alba", delta=0.1, norm_bound=b), instance, n=20)["samples"].mean()
        for b in (0.5, 5.0)
    ]
    assert means[1] > 1.3 * means[0]
    answer = play(get("alba", delta=0.1, norm_bound=5.0).start(instance.problem), instance)
    assert answer.guarantee.kind == "pac"
    assert "‖theta*‖ <= 5" in answer.guarantee


@pytest.mark.validation
def test_error_rate_with_large_means():
    """The draws' own randomness is multiplied by the means: the bias bound must carry it."""
    arms = np.array([[5.0, 1.0], [5.0, 0.0], [4.0, 2.0], [0.0, 1.0]])
    instance = Instance(sp.Problem(arms, noise=1.0), [1.0, 0.4])
    algorithm = get("alba", delta=0.2, norm_bound=float(np.linalg.norm(instance.theta)))
    table = trials(algorithm, instance, n=60)
    assert (~table["correct"]).sum() <= 22


@pytest.mark.parametrize("constants", ["tight", "program", "printed"])
def test_forged_certificates_are_refused(constants):
    instance = instances.standard(0.5)
    algorithm = get("alba", delta=0.1, norm_bound=0.5, constants=constants)
    good = play(algorithm.start(instance.problem, seed=1), instance).certificate()
    sp.verify(good)
    last = (
        -1
        if constants == "tight"
        else max(i for i, s in enumerate(good["evidence"]["stages"]) if s["dropped"])
    )

    def other_design(body):
        weights = body["evidence"]["stages"][last]["weights"]
        weights[0], weights[1] = weights[0] + 0.1, weights[1] - 0.1

    def smaller_bias(body):
        body["evidence"]["stages"][last]["dropped"][-1]["bias"] = 0.0

    def more_risk(body):
        body["evidence"]["stages"][0]["level"] = 0.09

    def larger_bound(body):
        body["evidence"]["norm_bound"] = 1e6

    for trick in (other_design, smaller_bias, more_risk, larger_bound):
        forged = copy.deepcopy(good)
        trick(forged)
        forged["digest"] = fingerprint(forged)
        with pytest.raises(CertificateError):
            sp.verify(forged)


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "check",
    [
        conformance.check_error_rate,
        conformance.check_epsilon,
        conformance.check_budget,
        conformance.check_save_and_load,
        conformance.check_settings_rebuild_it,
        conformance.check_separate_candidates,
        conformance.check_rank_deficient,
        conformance.check_duplicates,
        conformance.check_certificate,
    ],
    ids=lambda check: check.__name__.removeprefix("check_"),
)
def test_paper_form_conforms(check):
    check(lambda delta, **settings: PAPER(delta=delta, **settings))


@pytest.mark.parametrize(
    "settings", [{"growth": 1.0}, {"norm_bound": 0.0}, {"constants": "mine"}], ids=str
)
def test_bad_settings(settings):
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        get("alba", delta=0.1, **settings)
