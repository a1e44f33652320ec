import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.compiled import NOISES, by_three_blocks, problems

import surepick as sp
from surepick.algorithms.pooled.compiled import planner
from surepick.arrays import compiled as module
from surepick.arrays import cutoffs, kernels
from surepick.arrays.compiled import compiled, compiling
from surepick.design import _linalg


def both(call):
    """What plain Python gives, and what compiled code gives."""
    found = []
    for when in ("never", "always"):
        planner._FIRST_DESIGNS.clear()
        with compiling(when):
            found.append(call())
    return found


def bits(run):
    """All that a run is, but for its name."""
    return json.loads(run.to_json()) | {"id": None}


# -- the same bits ---------------------------------------------------------------------------
@pytest.mark.some(3)
@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_runs_are_the_same_compiled_or_not(noise):
    for algorithm, arms in problems(noise):
        plain, fast = both(lambda a=algorithm, x=arms: bits(by_three_blocks(a, x, noise)))
        assert plain == fast


def test_distances_are_the_same_compiled_or_not():
    rng = np.random.default_rng(0)
    rows, points, out = rng.normal(size=(50, 9)), rng.normal(size=(9, 8)), np.empty((50, 8))

    def found():
        kernels.squared_distances(rows, points, out)
        return out.tolist()

    plain, fast = both(found)
    assert plain == fast
    np.testing.assert_allclose(out[:, 3], ((rows - points[:, 3]) ** 2).sum(axis=1))


@pytest.mark.some(2)
@pytest.mark.parametrize(("noise", "dim"), [("any", 0), ("symmetric", 6), ("yes-no", 6), (0.5, 12)])
def test_whole_runs_of_many_options_are_the_same(noise, dim):
    def identified():
        rng = np.random.default_rng(1)
        means = rng.normal(size=30)
        features = np.column_stack([np.ones(30), rng.normal(size=(30, dim - 1))]) if dim else None
        problem = sp.Problem.unstructured(30) if dim == 0 else sp.Problem(features, noise=noise)
        run = sp.algorithms.PooledPeleg(0.1, epsilon=0.2).start(problem, seed=2)
        for _ in range(8):
            if run.stopped:
                break
            batch = run.ask()
            rewards = means[batch.arms] + 0.5 * rng.normal(size=batch.size)
            run.tell(batch, (rewards > 0).astype(float) if noise == "yes-no" else rewards)
        return bits(run)

    plain, fast = both(identified)
    assert plain == fast


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 19])
def test_linear_algebra_on_whole_arrays_takes_the_same_steps(dim):
    rng = np.random.default_rng(dim)
    points, weights = rng.normal(size=(3 * dim + 2, dim)), rng.random(3 * dim + 2)
    weights[1] = 0.0

    def worked_out():
        gram, product = np.empty((dim, dim)), np.empty((len(points), dim))
        lower, other = np.zeros((2, dim, dim))
        white, back = np.empty((2, dim, len(points)))
        kernels.weighted_gram(points, weights, gram)
        kernels.multiply(points, gram, product)
        assert kernels.cholesky(gram, lower)
        assert _linalg._cholesky(gram, other)
        kernels.whiten(lower, np.ascontiguousarray(points.T), white)
        _linalg._backward(lower, np.ascontiguousarray(points.T), back)
        return [part.tolist() for part in (gram, product, lower, other, white, back)]

    plain, fast = both(worked_out)
    assert plain == fast


def test_a_matrix_that_is_not_positive_is_noticed_both_ways():
    def tried():
        out = np.zeros((2, 2))
        flat = np.array([[1.0, 1.0], [1.0, 1.0]])
        return bool(kernels.cholesky(flat, out)), bool(_linalg._cholesky(-flat, out))

    assert both(tried) == [(False, False)] * 2


# -- when it is compiled ---------------------------------------------------------------------
@pytest.fixture
def from_now_on(monkeypatch):
    monkeypatch.setattr(module._Choice, "when", "repaid")
    monkeypatch.setattr(module._Choice, "steps", 0.0)


def test_a_kernel_is_compiled_once_there_was_enough_work(from_now_on, monkeypatch):
    monkeypatch.setattr(cutoffs, "COMPILED_STEPS", 100)

    def total(values):
        found = 0.0
        for value in values:
            found += value
        return found

    kernel = compiled(work=len)(total)
    for _ in range(9):
        assert kernel(np.ones(10)) == 10.0
        assert kernel._code is None
    assert kernel(np.ones(10)) == 10.0
    assert len(kernel.code.overloads) == 1
    large = compiled(work=len)(total)
    assert large(np.ones(1000)) == 1000.0  # a single call that is large enough
    assert large._code is not None


def test_what_was_compiled_before_is_loaded_sooner_where_numba_is_in_use(from_now_on, monkeypatch):
    monkeypatch.setattr(cutoffs, "LOADED_STEPS", 320)
    monkeypatch.setattr(module.Kernel, "_is_kept", lambda _: True)

    def calls(in_use):
        monkeypatch.setattr(module, "_IN_USE", in_use)
        monkeypatch.setattr(module._Choice, "steps", 0.0)
        kernel = compiled(work=len)(lambda values: values[0])
        return next(n for n in range(1, 100) if kernel._is_worth(10.0))

    assert (calls([]), calls(["another"])) == (32, 1)


def test_plain_python_does_not_warn_where_compiled_code_does_not():
    def divided(values):
        return 1.0 / values[0]

    kernel = compiled(work=len)(divided)
    with compiling("never"):
        assert kernel(np.zeros(1)) == np.inf


IN_A_NEW_PROCESS = """
import sys
import numpy as np
import surepick as sp

rng = np.random.default_rng(0)
problem = sp.Problem.unstructured([f"option {k}" for k in range(5)])
answer = sp.identify(problem, lambda arm: arm + 0.3 * rng.normal(), delta=0.05, seed=0)
assert answer.arm == 4
answer.certificate()
assert "numba" not in sys.modules
"""


def test_a_small_problem_is_answered_without_any_compiled_code(tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", IN_A_NEW_PROCESS], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


# -- what is kept ----------------------------------------------------------------------------
KERNEL = """
from surepick.arrays.compiled import compiled

@compiled
def square(x):
    return x * x

@compiled(work=len)
def squares(values):
    found = 0.0
    for value in values:
        found += square(value)
    return found
"""
CALLED = """
import json, sys, warnings
import numpy as np
import kernel
from surepick.arrays.compiled import compiling
warnings.simplefilter("error")
with compiling("always"):
    found = kernel.squares(np.arange(4.0))
print(json.dumps([found, sum(kernel.squares.code.stats.cache_hits.values())]))
"""


def called(folder):
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder / "kept"), "PYTHONPATH": _path(folder)}
    done = subprocess.run(
        [sys.executable, "-c", CALLED], capture_output=True, text=True, env=env, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def _path(folder):
    return os.pathsep.join([str(folder), *filter(None, sys.path)])


def damaged_by(how, file):
    data = file.read_bytes()
    if how == "cut short":
        file.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        file.write_bytes(b"")
    else:  # a block of the disk is lost
        third = len(data) // 3
        file.write_bytes(data[:third] + bytes(third) + data[2 * third :])


@pytest.mark.validation
def test_compiled_code_is_kept_and_damaged_files_are_made_anew(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    assert called(tmp_path) == [14.0, 0]
    assert called(tmp_path) == [14.0, 1]  # by another process
    for how in ("cut short", "lost"):
        for file in sorted((tmp_path / "kept").rglob("*.nb?")):
            damaged_by(how, file)
        assert called(tmp_path) == [14.0, 0]
        assert called(tmp_path) == [14.0, 1]
    for file in (tmp_path / "kept").rglob("*.sha256"):
        damaged_by("empty", file)
    assert called(tmp_path) == [14.0, 0]


def test_where_nothing_can_be_kept_it_works_all_the_same(monkeypatch):
    names = {}
    exec(KERNEL, names)  # in no file: numba has no place for what it compiles
    with compiling("always"):
        assert names["squares"](np.arange(4.0)) == 14.0
