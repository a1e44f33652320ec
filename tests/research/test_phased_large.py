"""Phased elimination among very many candidates, and on arrays of any library."""

import tracemalloc

import numpy as np
import pytest
from tests.breadth import first

import surepick as sp
from surepick.arrays import cutoffs
from surepick.arrays.backend import HOST, backend_named
from surepick.research import designs
from surepick.simulate.trials import drive

NAMES = ("peleg", "rage", "xy-adaptive")
ALGORITHMS = pytest.mark.parametrize("name", NAMES)


def finish(name, instance, seed=0, **settings):
    run = sp.algorithms.get(name, delta=0.1, **settings).start(instance.problem)
    drive(run, instance, np.random.default_rng(seed), sp.simulate.Gaussian())
    return run


def on(backend, arms, candidates, theta):
    problem = sp.Problem(arms, candidates, backend=backend, large=backend is not None, noise=1.0)
    return sp.simulate.Instance(problem, theta)


@pytest.mark.some(2)
@ALGORITHMS
@pytest.mark.parametrize("seed", first(2, range(6)))
def test_backends_make_the_same_pulls(name, seed):
    rng = np.random.default_rng(seed)
    k, d = int(np.exp(rng.uniform(np.log(5), np.log(500)))), int(rng.integers(2, 7))
    arms = rng.standard_normal((k, d)) * rng.uniform(0.3, 3.0, d)
    candidates = rng.standard_normal((k // 2 + 2, d)) if seed % 3 == 0 else None
    theta = arms[int(rng.integers(k))] / d
    plain, there = (
        finish(name, on(backend, arms, candidates, theta), seed, epsilon=0.3)
        for backend in (None, "torch:cpu")
    )
    assert there.answer.arm == plain.answer.arm
    assert there.answer.survivors == plain.answer.survivors
    assert there.answer.pulls.tolist() == plain.answer.pulls.tolist()
    for one, other in zip(plain.state.phases, there.state.phases, strict=True):
        assert other["level"] == one["level"]
        for column, values in one["dropped"].items():
            np.testing.assert_allclose(other["dropped"][column], values, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("algorithm", [*NAMES, "peleg-paper"])
def test_a_device_array_is_identified_end_to_end(algorithm):
    rng = np.random.default_rng(0)
    arms = backend_named("torch").put(np.vstack([np.eye(3), [[0.4, 0.3, 0.2]]]))
    means = np.array([1.0, 0.0, -0.5, 0.3])
    answer = sp.identify(
        sp.Problem(arms, noise=1.0),
        measure_batch=lambda pulled: means[pulled] + rng.standard_normal(len(pulled)),
        algorithm=algorithm,
    )
    assert answer.arm == 0
    assert answer.guarantee.kind == "pac"


@pytest.fixture(scope="module")
def crowd():
    """More candidates than are compared in pairs."""
    arms = np.random.default_rng(0).standard_normal((4200, 3))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    return {backend: on(backend, arms, None, 3.0 * arms[7]) for backend in ("numpy", "torch")}


@pytest.mark.some(1)
@ALGORITHMS
def test_a_crowd_is_thinned_out_and_the_certificate_holds(name, crowd):
    instance = crowd["numpy"]
    run = finish(name, instance, epsilon=0.3)
    assert instance.is_correct(run.answer.arm, 0.3)
    assert run.answer.guarantee.kind == "eps-pac"
    dropped = np.concatenate([phase["dropped"]["candidate"] for phase in run.state.phases])
    assert len(dropped) == len(set(dropped.tolist())) == 4200 - len(run.state.active)
    assert not np.isin(dropped, run.state.active).any()
    assert run.state.design_gaps
    assert all(0 <= gap <= 0.01 for gap in run.state.design_gaps)
    checked = sp.verify(run.answer.certificate(), instance.problem)
    assert checked.candidate == run.answer.arm
    assert checked.checked == 4200  # dropped, or shown to be close to the answer


@pytest.mark.validation
def test_a_crowd_on_another_library_fares_the_same(crowd):
    plain, there = (finish("rage", crowd[backend], epsilon=0.3) for backend in ("numpy", "torch"))
    assert there.answer.pulls.tolist() == plain.answer.pulls.tolist()
    assert there.answer.survivors == plain.answer.survivors


@pytest.mark.some(1)
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_a_saved_state_goes_on_as_if_nothing_had_happened(backend, crowd):
    instance = crowd[backend]
    algorithm = sp.algorithms.Peleg(0.1, growth=1.2)
    run = algorithm.start(instance.problem)
    batch = run.ask()
    run.tell(batch, sums=batch.counts * instance.means * 0.2)
    assert len(run.active) > 1
    other = algorithm.begin(instance.problem, np.random.default_rng(0))
    other.load(run.state.save())
    expected = run.state.propose(10**9)
    assert other.propose(10**9).same(expected)


@pytest.mark.validation
def test_a_certificate_of_two_thousand_candidates_holds():
    instance = sp.simulate.families.catalogue(5, 2000, 2.0, rng=0)
    run = finish("peleg", instance, epsilon=0.2)
    checked = sp.verify(run.answer.certificate())
    assert checked.candidate == run.answer.arm
    assert checked.checked == 2000


@pytest.mark.validation
def test_memory_does_not_grow_with_the_pairs():
    """Pairs of these candidates would fill 1.1 GB."""
    instance = sp.simulate.families.catalogue(3, 12_000, 3.0, rng=0)
    assert instance.problem.large
    tracemalloc.start()
    try:
        finish("peleg", instance, epsilon=0.3)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 200e6


def test_a_tightened_value_is_still_one_that_no_pair_exceeds(monkeypatch):
    monkeypatch.setattr(cutoffs, "ROUGH_LOOKS", 2)
    instance = sp.simulate.families.catalogue(8, 4500, rng=0)
    problem = instance.problem
    found = designs.pair_design(problem, problem.distinct)
    inverse = np.linalg.inv((problem.features.T * found.weights) @ problem.features)
    image = problem.features @ np.linalg.cholesky(inverse)
    squares = (image**2).sum(axis=1)
    worst = max(
        float((squares[i] + squares - 2.0 * image @ image[i]).max()) for i in range(0, 4500, 3)
    )
    assert worst * (1 - 1e-8) <= found.rho <= 1.01 * worst  # weights are rounded
    assert found.gap > 0


def test_designs_of_small_device_problems_are_solved_on_the_host():
    arms = np.random.default_rng(0).standard_normal((40, 3))
    there = sp.Problem(arms, backend="torch", noise=1.0)
    assert designs.all_pairs(there, there.distinct[:5]).backend == HOST
