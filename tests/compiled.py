"""Compile what the tests use: ``python -m tests.compiled``.

Numba keeps compiled code on disk, but a new copy of the source has none: two processes of tests
that begin at once would both compile all of it, for more than a minute each.
"""

import numpy as np

import surepick as sp
from surepick.algorithms import names
from surepick.algorithms.registry import maker
from surepick.simulate import conformance


def compile_all() -> None:
    """Run every algorithm, by single pulls and in the compiled loop, and every kind of noise."""
    for name in names():
        conformance.check_fast_path_is_the_slow_path(maker(name))
    for noise in (None, "equal", "yes-no", (0.0, 1.0)):
        run = sp.algorithms.PooledPeleg(0.1).start(sp.Problem(np.eye(3), noise=noise))
        for _ in range(3):
            batch = run.ask()
            run.tell(batch, (np.arange(batch.size) % 3 == 0).astype(float))


if __name__ == "__main__":
    compile_all()
