"""Compile what the tests use: ``python -m tests.compiled``.

Numba keeps compiled code on disk, but a new copy of the source has none: two processes of tests
that begin at once would both compile all of it, for more than a minute each.
"""

from surepick.algorithms import names
from surepick.algorithms.registry import maker
from surepick.simulate import conformance


def compile_all() -> None:
    """Run every algorithm, by single pulls and in the compiled loop."""
    for name in names():
        conformance.check_fast_path_is_the_slow_path(maker(name))


if __name__ == "__main__":
    compile_all()
