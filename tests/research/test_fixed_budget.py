"""Algorithms that are told a budget: stages, pulls, and answers that promise nothing."""

import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import Gse, OdLinBai
from surepick.simulate import conformance, instances, trials

SPHERE = instances.unit_sphere(8, k=40, rng=1)
BOTH = pytest.mark.parametrize("make", [OdLinBai, Gse], ids=["od-linbai", "gse"])


def test_stages_of_od_linbai_by_hand():
    """d = 8, K = 40, T = 300: three stages of (300 − min(40, 36) − (4 + 2)) / 3 = 86 pulls."""
    stages = OdLinBai(0.1, max_samples=300).stages(SPHERE.problem)
    assert stages == [(4, 86), (2, 86), (1, 86)]


def test_stages_of_successive_elimination_by_hand():
    """K = 40, η = 2: ⌈log₂ 40⌉ = 6 stages of 300/6 pulls; 20, 10, 5, 3, 2 and 1 go on."""
    stages = Gse(0.1, max_samples=300).stages(SPHERE.problem)
    assert stages == [(most, 50) for most in (20, 10, 5, 3, 2, 1)]


@BOTH
def test_the_whole_budget_is_spent_and_nothing_is_promised(make):
    run = make(0.1, max_samples=301).start(SPHERE.problem, 0)
    rng = np.random.default_rng(0)
    while not run.stopped:
        run = sp.Run.from_json(run.to_json())
        batch = run.ask()
        run.tell(batch, SPHERE.means[batch.arms] + rng.normal(size=batch.size))
    answer = run.answer
    assert (answer.samples, answer.guarantee.kind) == (301, "none")
    assert answer.arm == run.state.remaining[0]
    assert sp.verify(answer.certificate(), replay=True).guarantee == "none"


@BOTH
def test_more_pulls_mean_fewer_errors(make):
    wrong = [
        1 - trials(make(0.1, max_samples=n), SPHERE, n=40, seed=3)["correct"].mean()
        for n in (150, 5000)
    ]
    assert wrong[1] <= 0.1 < wrong[0]


@BOTH
def test_the_basis_of_the_features_does_not_matter(make):
    conformance.check_rotation(lambda delta, **more: make(delta, max_samples=400))


@BOTH
def test_a_budget_is_needed_that_suffices(make):
    with pytest.raises(sp.SurepickError, match="max_samples"):
        make(0.1)
    with pytest.raises(sp.SurepickError, match=r"needs \d+ pulls"):
        make(0.1, max_samples=10).start(SPHERE.problem, 0)
    other = sp.Problem(np.eye(3), candidates=np.eye(3)[:2] + 1, noise=1.0)
    with pytest.raises(sp.SurepickError, match="candidates"):
        make(0.1, max_samples=100).start(other, 0)


def test_a_share_must_leave_some_out():
    with pytest.raises(sp.SurepickError, match="share"):
        Gse(0.1, max_samples=100, share=math.nan)
    with pytest.raises(sp.SurepickError, match="share"):
        Gse(0.1, max_samples=100, share=1)
