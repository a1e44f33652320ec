"""The same pulls on every processor: recorded runs, with other libraries and other last digits."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests import recorded_runs

from surepick.algorithms.pooled.compiled import market, planner
from surepick.arrays.grid import coarse, first_best, level, reached

KNOWN = json.loads(recorded_runs.FILE.read_text())
_SLOW = ("peleg-paper", "peleg-adahedge", "lingame", "fws", "lazy-ts", "alba")
A_FEW = [name for name in KNOWN if not name.startswith(_SLOW)][::9]
SMALL = [name for name in KNOWN if name.startswith("pooled-peleg|options|yes-no")][:3]
KERNELS = {
    "aarch64": ("ARMV8", "CORTEXA53", "THUNDERX2T99"),
    "arm64": ("ARMV8",),
    "x86_64": ("Prescott", "Haswell", "SkylakeX"),
}


def test_recorded_runs_are_those_that_there_are():
    assert list(KNOWN) == recorded_runs.names()
    assert len(KNOWN) >= 200


@pytest.mark.some(1)
@pytest.mark.parametrize("part", range(8))
def test_recorded_runs_ask_for_the_same_here(part):
    names = list(KNOWN)[part::8]
    assert recorded_runs.digests(names) == {name: KNOWN[name] for name in names}


def elsewhere(names, **settings):
    """What runs ask for in a process with other settings."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.recorded_runs", "--print"],
        input=json.dumps(names),
        env=os.environ | settings,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.validation
@pytest.mark.parametrize("number", range(3))
def test_with_products_made_for_other_processors(number):
    kernels = KERNELS.get(platform.machine(), ())
    if number >= len(kernels):
        pytest.skip("no other kernels are known for this machine")
    assert elsewhere(A_FEW, OPENBLAS_CORETYPE=kernels[number]) == {n: KNOWN[n] for n in A_FEW}


def test_without_the_special_instructions_of_this_processor():
    from numpy._core._multiarray_umath import (  # pyright: ignore
        __cpu_dispatch__,
        __cpu_features__,
    )

    here = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    found = elsewhere(A_FEW, NPY_DISABLE_CPU_FEATURES=" ".join(here))
    assert found == {name: KNOWN[name] for name in A_FEW}


def test_without_a_compiler():
    found = elsewhere(SMALL, NUMBA_DISABLE_JIT="1")
    assert found == {name: KNOWN[name] for name in SMALL}


@pytest.mark.validation
def test_compiled_for_any_processor():
    found = elsewhere(A_FEW, NUMBA_CPU_NAME="generic")
    assert found == {name: KNOWN[name] for name in A_FEW}


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("MKL_CBWR", "COMPATIBLE"),
        ("ATEN_CPU_CAPABILITY", "default"),
        ("MKL_CBWR", "AVX2"),
        ("ATEN_CPU_CAPABILITY", "avx2"),
        ("OMP_NUM_THREADS", "4"),
    ],
)
def test_scans_with_pytorch_as_it_is_on_other_processors(setting, value):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "scans or payoffs"]
        + ["tests/arrays/test_backend.py"],
        env=os.environ | {setting: value},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


class _Digits:
    """Changes the last two digits of whatever a function returns."""

    def __init__(self, seed):
        self._draw = np.random.default_rng(seed)

    def of(self, function):
        def other(*given, **named):
            return self._changed(function(*given, **named))

        other.reduce = getattr(function, "reduce", None)  # of what NumPy does elementwise
        return other

    def _changed(self, found):
        if isinstance(found, tuple):
            parts = [self._changed(part) for part in found]
            return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
        if isinstance(found, float | np.floating):
            return type(found)(found * (1.0 + 2e-15 * self._draw.uniform(-1.0, 1.0)))
        if isinstance(found, np.ndarray) and found.dtype == np.float64:
            return found * (1.0 + 2e-15 * self._draw.uniform(-1.0, 1.0, found.shape))
        return found


@pytest.mark.some(11)
@pytest.mark.parametrize("name", A_FEW)
def test_with_other_last_digits_of_all_that_libraries_return(name, monkeypatch):
    assert recorded_runs.play(name) == KNOWN[name]  # compiles what it needs
    digits = _Digits(sum(name.encode()))
    for part in ("eigh", "svd", "inv", "solve", "pinv", "cholesky", "qr"):
        monkeypatch.setattr(np.linalg, part, digits.of(getattr(np.linalg, part)))
    for part in ("exp", "log", "log1p", "expm1", "logaddexp"):
        monkeypatch.setattr(np, part, digits.of(getattr(np, part)))
    for module, part in ((market, "pairs"), (planner, "solve_design"), (planner, "spread")):
        monkeypatch.setattr(module, part, digits.of(getattr(module, part)))
    assert recorded_runs.play(name) == KNOWN[name]


# -- the grid --------------------------------------------------------------------------------
@pytest.mark.parametrize("denominator", [*range(1, 40), 97, 360, 1000, 99_991])
def test_simple_fractions_are_not_between_two_lines_of_the_grid(denominator):
    exact = np.arange(1, min(denominator, 50) + 1) / denominator
    for digits in (-4e-15, 4e-15):
        np.testing.assert_array_equal(coarse(exact * (1.0 + digits)), coarse(exact))
        np.testing.assert_array_equal(level(exact * (1.0 + digits)), level(exact))


def test_the_grid_is_fine_enough_and_takes_anything():
    odd = np.array([0.0, -1.5, 1e-300, 1e300, np.inf, -np.inf, np.nan])
    np.testing.assert_allclose(coarse(odd), odd, rtol=4e-9)
    np.testing.assert_array_equal(level(odd[:5])[4:], odd[4:5])
    assert coarse(1e308) == 1e308
    values = np.random.default_rng(0).normal(size=1000)
    assert np.abs(level(values + 1e6) - 1e6 - values).max() < 4e-7  # leads far from zero
    assert np.abs(level(1e-9 * values) - 1e-9 * values).max() < 1e-17


def test_ties_go_to_the_first():
    assert first_best(np.array([-np.inf, 0.3, 0.1 + 0.2, 0.3 - 1e-12])) == 1
    assert first_best(np.array([1e8 + 0.25, 1e8 + 0.5])) == 1


def test_what_reaches_the_goal_does_so_clearly():
    goal = 5 * np.log(2.0)
    assert not reached(goal, goal)
    assert not reached(goal * (1 + 1e-12), goal)
    assert reached(goal * (1 + 1e-8), goal)
