"""Compile what the tests use: ``python -m tests.compiled``.

A small problem needs no compiled code, but thousands of them together do. Numba keeps compiled code
on disk, but a new copy of the source has none: two processes of tests that begin at once would both
compile all of it, for more than a minute each. Here two processes share the work. What they compile
is hardly ever the same: algorithms that stop by a likelihood ratio have kernels of their own.

A third process reads all tests once: pytest rewrites their assertions, and keeps that on disk, too.
Where no file has changed since all of that was done, there is nothing to do.
"""

import hashlib
import os
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import numba
import numpy as np

import surepick as sp
from surepick.algorithms import names
from surepick.algorithms.registry import maker
from surepick.arrays.compiled import compiling
from surepick.research.game import solve_game
from surepick.simulate import conformance

ROOT = Path(__file__).resolve().parents[1]
_SLOPE = np.array([[1.0, 0.0], [1.0, 0.4], [1.0, 1.0]])
_KINDS = ("lingame", "lazy-ts", "fws", "top-two", "uniform")  # with -c and -heuristic


def compile_ratio_tests() -> None:
    """Run every algorithm that stops by a likelihood ratio, and the game by itself."""
    with compiling("always"):
        for name in names():
            if name.startswith(_KINDS):
                conformance.check_fast_path_is_the_slow_path(maker(name))
    solve_game(np.eye(2), np.array([[1.0, -1.0]]))


def compile_others() -> None:
    """Run every other algorithm, by single pulls and in the compiled loop, and every noise.

    Every noise with options that are compared by their own rewards, by features, and on items.
    """
    with compiling("always"):
        for name in names():
            if not name.startswith(_KINDS):
                conformance.check_fast_path_is_the_slow_path(maker(name))
        for noise in NOISES:
            for algorithm, arms in problems(noise):
                by_three_blocks(algorithm, arms, noise)


NOISES = (None, "any", "symmetric", "equal", "yes-no", (0.0, 1.0))


def problems(noise):
    """Algorithms, and arms to try them on, that use all that a kind of noise has."""
    yield sp.algorithms.PooledPeleg(0.1), np.eye(3)
    if noise != "any":
        yield sp.algorithms.PooledPeleg(0.1, epsilon=0.1), _SLOPE
    if noise != "equal":
        yield sp.algorithms.PooledPeleg(0.1, items=9), np.eye(3)


def by_three_blocks(algorithm, arms, noise) -> None:
    """What is made for a kind of noise is compiled where bets are paid, after the first block."""
    run = algorithm.start(sp.Problem(arms, noise=noise), seed=0)
    for _ in range(3):
        batch = run.ask()
        run.tell(batch, (np.arange(batch.size) % 3 == 0).astype(float))
    return run


def read_tests() -> None:
    """Read every file of tests, as each process that runs some of them will do."""
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-qq"], stdout=subprocess.DEVNULL
    )


def files_as_they_are() -> str:
    """Names, sizes and times of all files that matter, and of what compiles them."""
    found = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    for path in sorted(
        path for folder in ("src", "tests") for path in ROOT.glob(f"{folder}/**/*.py")
    ):
        at = path.stat()
        found.update(f"{path} {at.st_size} {at.st_mtime_ns}\n".encode())
    return found.hexdigest()


def main() -> int:
    """Compile all, in two processes, and read all in a third; how many of them failed."""
    kernels = os.environ.get("NUMBA_CACHE_DIR")
    done = None if kernels is None else Path(kernels) / "done"
    now = files_as_they_are()
    if done is not None and done.is_file() and done.read_text() == now:
        return 0
    tasks = (compile_ratio_tests, compile_others, read_tests)
    shares = [get_context("spawn").Process(target=task) for task in tasks]
    for share in shares:
        share.start()
    for share in shares:
        share.join()
    failed = sum(share.exitcode != 0 for share in shares)
    if done is not None and not failed:
        done.write_text(now)
    return failed


if __name__ == "__main__":
    sys.exit(main())
