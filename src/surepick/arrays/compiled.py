"""Functions that numba compiles, once there is enough work for them to repay that.

Compiling a kernel takes seconds, and loading numba half a second: as long as a small problem takes
from beginning to end in plain Python. So a kernel is called as it is written until its callers have
asked for so much work that compiled code would have been worth its price; what counts is the number
of steps, as said by ``work``, never the clock. Both ways take the same steps in the same order and
give the same bits (``tests/arrays/test_compiled.py``), so nobody needs to know which one was taken.

What was compiled is kept on disk by numba, for every process that comes later. A digest is kept
beside it: files that were damaged are compiled anew.
"""

# Who calls them says what their types are.
# pyright: reportArgumentType=false

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from functools import update_wrapper
from pathlib import Path
from typing import Any

import numpy as np

from surepick.arrays import cutoffs
from surepick.files import write_whole

_ALWAYS, _NEVER, _REPAID = "always", "never", "repaid"


class _Choice:
    """What this process does, and the steps that all kernels took in plain Python."""

    when = _NEVER if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else _REPAID
    steps = 0.0


class Kernel:
    """A function to compile; :func:`compiled` makes one.

    Parameters
    ----------
    function
        What is compiled, and called until then.
    work
        How many steps of plain Python a call takes, about, from its arguments. None for a helper,
        which is compiled along with those that call it.
    plain
        The same steps on whole arrays, for plain Python.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        work: Callable[..., float] | None,
        plain: Callable[..., Any] | None,
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._plain = plain or function
        self._work = work
        self._steps = 0.0
        self._code: Any = None
        self._ready = self._looked = False
        self._sealed = 0

    def __call__(self, *args: Any) -> Any:
        if self._ready:
            return self._compiled(args)
        if self._work is None:
            if _Choice.when == _ALWAYS:
                return self._compiled(args)
            return self._plain(*args)
        if self._is_worth(self._work(*args)):
            return self._compiled(args)
        with np.errstate(all="ignore"):  # compiled code does not warn either
            return self._plain(*args)

    def _is_worth(self, work: float) -> bool:
        if _Choice.when != _REPAID:
            return _Choice.when == _ALWAYS
        self._steps += work
        _Choice.steps += work
        if self._steps >= cutoffs.COMPILED_STEPS:
            return True
        if self._looked:
            return False
        # Once numba is there, only what has been compiled of this one is left to load.
        far = cutoffs.KERNELS_TO_LOAD * self._steps
        if not _IN_USE:
            far = min(_Choice.steps, 10.0 * self._steps)
        if far < cutoffs.LOADED_STEPS:
            return False
        self._looked = True
        return self._is_kept()

    # -- compiled code ---------------------------------------------------------------------
    @property
    def code(self) -> Any:
        """The function in numba's hands, which compiles it for each type of arguments."""
        if self._code is not None:
            return self._code
        with _LOCK:
            if self._code is None:
                from numba import njit

                try:
                    self._code = njit(cache=True)(self.py_func)
                except RuntimeError:  # there is no folder to keep anything in
                    self._code = njit(self.py_func)
                if not self._is_kept():
                    self._drop()
                _IN_USE.append(self)
            return self._code

    @property
    def _numba_type_(self) -> Any:  # what numba asks for where another kernel calls this one
        return self.code._numba_type_

    def _compiled(self, args: tuple[Any, ...]) -> Any:
        code = self.code
        known = len(code.overloads)
        found = code(*args)
        if len(code.overloads) != known:
            _seal_all()
        self._ready = _Choice.when != _ALWAYS
        return found

    # -- what is kept ----------------------------------------------------------------------
    def _files(self) -> list[Path]:
        folder = self.code.stats.cache_path
        if folder is None:
            return []
        function = self.py_func
        name = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"
        return sorted(Path(folder).glob(f"{name}-{function.__code__.co_firstlineno}.*.nb?"))

    def _digest(self, files: list[Path]) -> str:
        digest = hashlib.sha256()
        for file in files:
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()

    def _is_kept(self) -> bool:
        """Whether there is compiled code on disk, as it was written."""
        files = self._files()
        try:
            return bool(files) and _seal_of(files).read_text() == self._digest(files)
        except (OSError, UnicodeDecodeError):
            return False

    def seal(self) -> None:
        """Write down what the files of compiled code are, if there are new ones."""
        if len(self.code.overloads) == self._sealed:
            return
        self._sealed = len(self.code.overloads)
        try:
            if files := self._files():
                write_whole(_seal_of(files), self._digest(files))
        except OSError:  # it will be compiled again
            return

    def _drop(self) -> None:
        for file in self._files():
            with contextlib.suppress(OSError):  # numba will say what is wrong with the folder
                file.unlink()


_LOCK = threading.RLock()
_IN_USE: list[Kernel] = []


def _seal_of(files: list[Path]) -> Path:
    return files[-1].with_suffix(".sha256")  # the index is the last one


def _seal_all() -> None:
    """Kernels are compiled along with those that call them."""
    with _LOCK:
        for kernel in _IN_USE:
            kernel.seal()


def compiled(
    function: Callable[..., Any] | None = None,
    *,
    work: Callable[..., float] | None = None,
    plain: Callable[..., Any] | None = None,
) -> Any:
    """Have a function compiled as soon as it is worth it: a decorator; see :class:`Kernel`."""
    if function is not None:
        return Kernel(function, work, plain)
    return lambda given: Kernel(given, work, plain)


@contextlib.contextmanager
def compiling(when: str) -> Iterator[None]:
    """Compile ``"always"``, ``"never"`` or, as everywhere else, where it is ``"repaid"``."""
    before, _Choice.when = _Choice.when, when
    try:
        yield
    finally:
        _Choice.when = before
