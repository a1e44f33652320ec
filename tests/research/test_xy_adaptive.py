import functools
import itertools
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import get
from surepick.errors import InvalidInputError
from surepick.simulate import conformance, instances, trials

PAPER = functools.partial(get, "xy-adaptive", constants="printed")

# Mean pulls of public code, delta = 0.1, where it has at least 20 trials.
PUBLIC = [
    (instances.standard(0.3), 7320),
    (instances.standard(0.4), 3980),
    (instances.standard(0.5), 2412),
    (instances.confounding(5), 26476),
    (instances.confounding(9), 34826),
]


@pytest.mark.validation
@pytest.mark.parametrize(("instance", "reference"), PUBLIC, ids=lambda v: getattr(v, "name", ""))
def test_needs_fewer_pulls_than_public_code(instance, reference):
    table = trials(get("xy-adaptive", delta=0.1), instance, n=60, seed=1)
    assert table["samples"].mean() <= reference
    assert (~table["correct"]).sum() <= 6


def lengths(algorithm, problem, phases):
    """Phase lengths while nobody is eliminated."""
    run = algorithm.start(problem)
    sizes = []
    for _ in range(phases):
        batch = run.ask()
        sizes.append(batch.size)
        run.tell(batch, sums=np.zeros(problem.n_arms))
    return sizes


@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_phases_grow_by_the_root_of_alpha(alpha):
    sizes = lengths(get("xy-adaptive", delta=0.1, alpha=alpha), sp.Problem(np.eye(5), noise=1.0), 5)
    # rho_1/n_1² <= alpha·1/n_0 with rho_1 = 10 and n_0 = d(d+1)+1 = 31
    assert sizes[0] == math.ceil(math.sqrt(10 * 31 / alpha))
    for last, this in itertools.pairwise(sizes):
        assert last / math.sqrt(alpha) <= this <= last / math.sqrt(alpha) + 1


def test_phases_do_not_depend_on_the_unit_of_the_features():
    for scale in (1e-3, 1e3):
        small = get("xy-adaptive", delta=0.1)
        assert lengths(small, sp.Problem(scale * np.eye(3), noise=1.0), 3) == lengths(
            small, sp.Problem(np.eye(3), noise=1.0), 3
        )


def test_a_phase_for_easier_pairs_is_shorter():
    # Once only the two close arms are left, their difference is cheap to measure.
    instance = instances.confounding(3)
    run = get("xy-adaptive", delta=0.1).start(instance.problem)
    sizes = []
    while len(run.active) > 2:
        batch = run.ask()
        sizes.append(batch.size)
        run.tell(batch, sums=batch.counts * instance.means)
    assert run.ask().size < sizes[-1]


def test_papers_widths():
    problem = sp.Problem(np.eye(2), noise=1.0)
    for factor, left in ((0.999, 2), (1.001, 1)):
        run = PAPER(delta=0.1).start(problem)
        batch = run.ask()
        n, variance = batch.size, (1 / batch.counts).sum()
        width = math.sqrt(8 * variance * math.log(6 * n**2 * 4 / (math.pi**2 * 0.1)))
        run.tell(batch, sums=batch.counts * np.array([factor * width, 0.0]))
        assert len(run.active) == left


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "check", conformance.checks(), ids=lambda check: check.__name__.removeprefix("check_")
)
def test_paper_form_conforms(check):
    inexact = {"exact": False} if check.__name__ == "check_permutation" else {}
    check(lambda delta, **settings: PAPER(delta=delta, **settings), **inexact)


@pytest.mark.parametrize("settings", [{"alpha": 0.0}, {"alpha": 1.0}, {"constants": "mine"}])
def test_bad_settings(settings):
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        get("xy-adaptive", delta=0.1, **settings)
