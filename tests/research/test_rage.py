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

PAPER = functools.partial(get, "rage", constants="printed")

# Mean pulls of the authors' public code with its tighter widths, delta = 0.1, 50 trials each.
PUBLIC = [
    (instances.standard(0.1), 53412),
    (instances.standard(0.3), 4993),
    (instances.standard(0.5), 1713),
    (instances.confounding(2), 23572),
    (instances.confounding(5), 23847),
]


def worst_pair(problem, pulls, active):
    """max over pairs of yᵀV⁻¹y, written out."""
    x = problem.arms[pulls.arms]
    inverse = np.linalg.inv((x.T * pulls.counts) @ x)
    points = problem.candidates[active]
    y = (points[:, None] - points).reshape(-1, points.shape[1])
    return float(np.einsum("pi,ij,pj->p", y, inverse, y).max())


@pytest.mark.validation
@pytest.mark.parametrize(("instance", "reference"), PUBLIC, ids=lambda v: getattr(v, "name", ""))
def test_needs_fewer_pulls_than_the_public_code(instance, reference):
    table = trials(get("rage", delta=0.1), instance, n=60, seed=1)
    assert table["samples"].mean() <= reference
    assert (~table["correct"]).sum() <= 6


def test_a_phase_reaches_its_accuracy_with_hardly_more_pulls_than_needed():
    problem = instances.unit_sphere(6, k=20, rng=3).problem
    run = get("rage", delta=0.1).start(problem)
    for t in (1, 2, 3):
        level = 0.1 / (t * (t + 1)) / 19
        batch = run.ask()
        width = math.sqrt(2 * worst_pair(problem, batch.pulls, range(20)) * math.log(1 / level))
        assert 0.97 * 2.0**-t <= width <= 2.0**-t * (1 + 1e-9)
        # all candidates look the same: nobody goes, and the next phase is twice as accurate
        run.tell(batch, sums=np.zeros(20))
        assert len(run.active) == 20


def test_paper_phases_have_the_papers_length_and_earn_their_width():
    problem = instances.unit_sphere(6, k=20, rng=3).problem
    rho = sp.design.minimax(problem.arms, sp.design.AllPairs(problem.arms), tol=1e-6).value
    run = PAPER(delta=0.1).start(problem)
    for t in (1, 2):
        log = math.log(20**2 * t**2 / 0.1)
        batch = run.ask()
        assert batch.size == pytest.approx(8 * 4 ** (t + 1) * rho * 1.1 * log, rel=2e-3)
        width = math.sqrt(2 * worst_pair(problem, batch.pulls, range(20)) * log)
        assert width <= 2.0 ** -(t + 2)
        run.tell(batch, sums=np.zeros(20))


def test_paper_phases_have_at_least_r_eps_pulls():
    # Candidates close together: the formula asks for few pulls; rounding needs 11 per arm.
    problem = sp.Problem(1000 * np.eye(4), candidates=np.eye(4), noise=1.0)
    assert PAPER(delta=0.1).start(problem).ask().size == 44


def test_only_the_candidates_left_are_designed_for():
    # Arms 0 and 2 differ along the second axis, which arm 1 measures best.
    instance = instances.confounding(2, omega=0.05)
    run = get("rage", delta=0.1).start(instance.problem)
    batch = run.ask()
    assert batch.counts[1] < 0.6 * batch.size
    while len(run.active) > 2 or batch.size < 100:
        run.tell(batch, sums=batch.counts * instance.means)
        batch = run.ask()
    assert run.active == (0, 2)
    assert batch.counts[1] > 0.9 * batch.size


def test_candidates_set_the_union_not_the_arms():
    arms = np.vstack([np.eye(2), np.random.default_rng(0).normal(size=(50, 2)) * 0.1])
    few = sp.Problem(arms, candidates=[[1.0, 0.0], [0.0, 1.0]], noise=1.0)
    many = sp.Problem(arms[:2], candidates=[[1.0, 0.0], [0.0, 1.0]], noise=1.0)
    assert PAPER(delta=0.1).start(few).ask().size == pytest.approx(
        PAPER(delta=0.1).start(many).ask().size, rel=0.01
    )


@pytest.mark.parametrize("constants", ["tight", "program", "printed"])
def test_risk_is_at_most_delta_and_a_forged_level_is_refused(constants):
    instance = instances.standard(0.3)
    rng = np.random.default_rng(0)

    def measure(arms):
        return instance.means[arms] + rng.standard_normal(len(arms))

    algorithm = get("rage", delta=0.1, constants=constants)
    certificate = sp.identify(instance.problem, measure_batch=measure, algorithm=algorithm)
    certificate = certificate.certificate()
    assert 0 < sp.verify(certificate).risk <= 0.1
    forged = copy.deepcopy(certificate)
    forged["evidence"]["phases"][0]["level"] = 0.09
    forged["digest"] = fingerprint(forged)
    with pytest.raises(CertificateError):
        sp.verify(forged)


@pytest.mark.some(8)
@pytest.mark.parametrize(
    "check", conformance.checks(), ids=lambda check: check.__name__.removeprefix("check_")
)
def test_paper_form_conforms(check):
    inexact = {"exact": False} if check.__name__ == "check_permutation" else {}
    check(lambda delta, **settings: PAPER(delta=delta, **settings), **inexact)


def test_unknown_constants():
    with pytest.raises(InvalidInputError, match="constants"):
        get("rage", delta=0.1, constants="mine")
