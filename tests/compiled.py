"""Compile what the tests use: ``python -m tests.compiled``.

Numba keeps compiled code on disk, but a new copy of the source has none: two processes of tests
that begin at once would both compile all of it, for more than a minute each. Here two processes
share the work. What they compile is hardly ever the same: algorithms that stop by a likelihood
ratio have kernels of their own.
"""

import sys
from multiprocessing import get_context

import numpy as np

import surepick as sp
from surepick.algorithms import names
from surepick.algorithms.registry import maker
from surepick.game import solve_game
from surepick.simulate import conformance

_SLOPE = np.array([[1.0, 0.0], [1.0, 0.4], [1.0, 1.0]])
_KINDS = ("lingame", "lazy-ts", "fws", "uniform")  # with -c and -heuristic


def compile_ratio_tests() -> None:
    """Run every algorithm that stops by a likelihood ratio, and the game by itself."""
    for name in names():
        if name.startswith(_KINDS):
            conformance.check_fast_path_is_the_slow_path(maker(name))
    solve_game(np.eye(2), np.array([[1.0, -1.0]]))


def compile_others() -> None:
    """Run every other algorithm, by single pulls and in the compiled loop, and every noise.

    Every noise with options that are compared by their own rewards, by features, and on items.
    """
    for name in names():
        if not name.startswith(_KINDS):
            conformance.check_fast_path_is_the_slow_path(maker(name))
    for noise in (None, "equal", "yes-no", (0.0, 1.0)):
        by_three_blocks(sp.algorithms.PooledPeleg(0.1), np.eye(3), noise)
        by_three_blocks(sp.algorithms.PooledPeleg(0.1, epsilon=0.1), _SLOPE, noise)
        if noise != "equal":
            by_three_blocks(sp.algorithms.PooledPeleg(0.1, items=9), np.eye(3), noise)


def by_three_blocks(algorithm, arms, noise) -> None:
    """What is made for a kind of noise is compiled where bets are paid, after the first block."""
    run = algorithm.start(sp.Problem(arms, noise=noise))
    for _ in range(3):
        batch = run.ask()
        run.tell(batch, (np.arange(batch.size) % 3 == 0).astype(float))


def main() -> int:
    """Compile all, in two processes; how many of them failed."""
    shares = [get_context("spawn").Process(target=f) for f in (compile_ratio_tests, compile_others)]
    for share in shares:
        share.start()
    for share in shares:
        share.join()
    return sum(share.exitcode != 0 for share in shares)


if __name__ == "__main__":
    sys.exit(main())
