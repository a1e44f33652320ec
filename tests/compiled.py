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
from surepick.simulate import conformance

_KINDS = ("lingame", "lazy-ts", "fws", "uniform")  # with -c and -heuristic


def compile_ratio_tests() -> None:
    """Run every algorithm that stops by a likelihood ratio."""
    for name in names():
        if name.startswith(_KINDS):
            conformance.check_fast_path_is_the_slow_path(maker(name))


def compile_others() -> None:
    """Run every other algorithm, by single pulls and in the compiled loop, and every noise."""
    for name in names():
        if not name.startswith(_KINDS):
            conformance.check_fast_path_is_the_slow_path(maker(name))
    for noise in (None, "equal", "yes-no", (0.0, 1.0)):
        run = sp.algorithms.PooledPeleg(0.1).start(sp.Problem(np.eye(3), noise=noise))
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
