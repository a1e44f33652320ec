import copy
import functools
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import get
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.simulate import conformance, instances, trials
from surepick.statistics.mixture import log_evidence

PAPER = functools.partial(get, "xy-static", constants="printed")

# Mean pulls of public code, delta = 0.1, 50 trials each.
PUBLIC = [
    (instances.standard(0.1), 46959),
    (instances.standard(0.5), 2028),
    (instances.confounding(2), 26529),
    (instances.confounding(5), 71510),
]


@pytest.mark.validation
@pytest.mark.parametrize(("instance", "reference"), PUBLIC, ids=lambda v: getattr(v, "name", ""))
def test_needs_fewer_pulls_than_public_code(instance, reference):
    table = trials(get("xy-static", delta=0.1), instance, n=20, seed=1)
    assert table["samples"].mean() <= 0.5 * reference
    assert (~table["correct"]).sum() <= 2


# -- the test behind the stop --------------------------------------------------------------
def test_evidence_is_the_mixture_it_claims_to_be():
    from scipy.integrate import quad

    N, V, first = 7.0, 3.0, 0.5

    def mixed(rho):
        def integrand(mu):
            prior = 2 * math.sqrt(rho / (2 * math.pi)) * math.exp(-rho * mu * mu / 2)
            return prior * math.exp(mu * N - mu * mu * V / 2)

        return quad(integrand, 0, N / (V + rho) + 12 / math.sqrt(V + rho))[0]

    exact = [mixed(first * scale) for scale in (1, 30, 900, 27000)]
    got = log_evidence(np.array([N]), np.array([V]), np.array([first]))[0]
    assert got == pytest.approx(math.log(np.mean(exact)), abs=1e-6)


def test_evidence_grows_with_the_sum():
    N = np.linspace(-50, 50, 401)
    value = log_evidence(N, np.full(401, 9.0), np.ones(401))
    assert (np.diff(value) > 0).all()
    assert value[N <= 0].max() <= 0


@pytest.mark.validation
def test_without_an_effect_it_crosses_rarely_however_often_one_looks():
    rng = np.random.default_rng(5)
    n, alpha = 3000, 0.1
    t = np.arange(1, n + 1.0)
    crossed = 0
    for _ in range(400):
        walk = rng.standard_normal(n).cumsum()
        crossed += log_evidence(walk, t, np.ones(n)).max() >= math.log(1 / alpha)
    assert crossed <= 40 + 3 * math.sqrt(36)
    assert crossed >= 4  # and it is not hopelessly cautious


# -- the allocation ------------------------------------------------------------------------
@pytest.mark.parametrize("d", [5, 10])
def test_a_cycle_follows_the_design(d):
    problem = instances.unit_sphere(d, k=40, rng=1).problem
    best = sp.design.minimax(problem.arms, sp.design.AllPairs(problem.arms), tol=1e-4)
    batch = get("xy-static", delta=0.1).start(problem).ask()
    V = (problem.arms.T * batch.counts) @ problem.arms
    root = np.linalg.inv(np.linalg.cholesky(V)).T
    worst = sp.design.AllPairs(problem.arms).worst(root)[0] * batch.size
    assert best.lower_bound <= worst <= 1.06 * best.lower_bound


def test_pulls_are_whole_cycles_whatever_the_rewards():
    problem = instances.unit_sphere(4, k=12, rng=2).problem
    rng = np.random.default_rng(0)
    runs = [get("xy-static", delta=0.1).start(problem) for _ in range(2)]
    cycle = runs[0].ask().counts
    for _ in range(40):
        batches = [run.ask() for run in runs]
        assert (batches[0].counts == batches[1].counts).all()
        assert (batches[0].counts == batches[0].size // cycle.sum() * cycle).all()
        runs[0].tell(batches[0], sums=np.zeros(12))
        noise = rng.standard_normal(12) * np.sqrt(batches[1].counts)
        runs[1].tell(batches[1], sums=noise)
        if runs[1].stopped:
            break
    assert runs[0].batches >= 20


def test_looks_are_five_per_cent_apart():
    run = get("xy-static", delta=0.1).start(sp.Problem(np.eye(3), noise=1.0))
    sizes = []
    for _ in range(120):
        batch = run.ask()
        sizes.append(batch.size // 3)
        run.tell(batch, sums=np.zeros(3))
    totals = np.cumsum(sizes)
    assert totals[:21].tolist() == list(range(1, 22))
    late = totals[60:]
    assert (np.diff(late) <= 0.05 * late[:-1] + 1).all()


# -- the stop ------------------------------------------------------------------------------
def test_papers_threshold():
    problem = sp.Problem(np.eye(2), noise=1.0)
    n = 2  # one cycle
    width = 2 * math.sqrt(2 * 2 * math.log(6 * n**2 * 4 / (math.pi**2 * 0.1)))
    for gap, stops in ((0.999 * width, False), (1.001 * width, True)):
        run = PAPER(delta=0.1).start(problem)
        run.tell(run.ask(), sums=[gap, 0.0])
        assert run.stopped == stops


def test_a_candidate_stays_ruled_out():
    run = get("xy-static", delta=0.1).start(sp.Problem(np.eye(3), noise=1.0))
    run.tell(run.ask(), sums=[10.0, 10.0, 0.0])
    assert run.active == (0, 1)
    run.tell(run.ask(), sums=[0.0, 0.0, 10.0])
    assert run.active == (0, 1)


def certificate_of(algorithm, instance, seed=0):
    rng = np.random.default_rng(seed)

    def measure(arms):
        return instance.means[arms] + instance.problem.noise * rng.standard_normal(len(arms))

    return sp.identify(instance.problem, measure_batch=measure, algorithm=algorithm).certificate()


@pytest.mark.parametrize("constants", ["tight", "program", "printed"])
def test_forged_certificates_are_refused(constants):
    algorithm = get("xy-static", delta=0.1, constants=constants)
    good = certificate_of(algorithm, instances.standard(0.5))
    assert 0 < sp.verify(good).risk <= 0.1 * (1 + 1e-9)

    def drop_early(body):
        body["evidence"]["looks"][-1]["batch"] -= 20

    def other_pulls(body):
        body["batches"][0]["counts"][0] += 1
        body["claim"]["samples"] += 1

    def bolder(body):
        body["evidence"]["level"] = 0.09
        body["delta"] = 0.01

    def weaker_union(body):
        body["evidence"]["power"] = 0

    tricks = [drop_early, other_pulls, bolder if constants == "tight" else weaker_union]
    for trick in tricks:
        forged = copy.deepcopy(good)
        trick(forged)
        forged["digest"] = fingerprint(forged)
        with pytest.raises(CertificateError):
            sp.verify(forged)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "check",
    [
        conformance.check_epsilon,
        conformance.check_budget,
        conformance.check_save_and_load,
        conformance.check_settings_rebuild_it,
        conformance.check_separate_candidates,
        conformance.check_certificate,
    ],
    ids=lambda check: check.__name__.removeprefix("check_"),
)
def test_paper_form_conforms(check):
    check(lambda delta, **settings: PAPER(delta=delta, **settings))


@pytest.mark.parametrize("settings", [{"growth": 1.0}, {"growth": 5.0}, {"constants": "mine"}])
def test_bad_settings(settings):
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        get("xy-static", delta=0.1, **settings)
