"""Where the arrays of a large problem live: NumPy, PyTorch or CuPy, behind the array-API standard.

Everything with one entry per arm is worked on through a :class:`Backend`, in blocks of rows that
fit the processor's cache; matrices of a few hundred rows go to the host and to NumPy. Numbers are
float64 throughout. PyTorch and CuPy are imported only when arrays of theirs are handed in, or
when they are asked for by name.
"""

from __future__ import annotations

import importlib
import logging
import math
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.arrays import cutoffs
from surepick.arrays.grid import coarse
from surepick.arrays.memory import free_memory
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError, InvalidTypeError, MissingExtraError, UnknownNameError

_log = logging.getLogger(__name__)


_NAMES = ("cupy", "numpy", "torch", "torch:cpu", "torch:cuda")


class Backend:
    """One array library on one device."""

    def __init__(self, name: str, device: Any = None) -> None:
        self.name, self.device = name, device
        self.on_gpu: bool = name == "cupy" or (name == "torch" and "cuda" in str(device))

    @property
    def xp(self) -> Any:
        """The library, as the array-API standard has it."""
        return np if self.name == "numpy" else _namespace(self.name)

    @property
    def plain(self) -> bool:
        """Whether arrays are NumPy's own."""
        return self.name == "numpy"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Backend):
            return NotImplemented
        return (self.name, str(self.device)) == (other.name, str(other.device))

    def __hash__(self) -> int:
        return hash((self.name, str(self.device)))

    def __repr__(self) -> str:
        return f"Backend({self.name!r}{'' if self.device is None else f', {str(self.device)!r}'})"

    # -- between host and device -----------------------------------------------------------
    def host(self, array: Any) -> NDArray[Any]:
        if self.name == "torch":
            return array.detach().cpu().numpy()
        return array.get() if self.name == "cupy" else np.asarray(array)

    def put(self, array: Any) -> Any:
        """A NumPy array as one of this library, on this device."""
        if self.plain:
            return np.asarray(array)
        array = np.asarray(array)
        if array.flags.writeable:
            return self.xp.asarray(np.ascontiguousarray(array), device=self.device)
        # PyTorch will not share an array that may not be written to; a copy of a large one at
        # once could be too much.
        kind = getattr(self.xp, str(array.dtype))
        out = self.xp.empty(array.shape, dtype=kind, device=self.device)
        for rows in self.blocks(array):
            out[rows] = self.xp.asarray(np.array(array[rows]), device=self.device)
        return out

    def full(self, shape: Any, value: Any, dtype: str = "float64") -> Any:
        """An array of this library, filled with one value."""
        kind = getattr(self.xp, dtype)
        return self.xp.full(shape, value, dtype=kind, device=self.device)

    def take(self, array: Any, indices: Any) -> Any:
        """Some rows, on the device."""
        if isinstance(indices, np.ndarray) and not self.plain:
            indices = self.put(indices)
        return self.xp.take(array, indices, axis=0)

    def rows(self, array: Any, indices: Any) -> FloatArray:
        """Some rows, as a NumPy array."""
        return self.host(self.take(array, indices))

    # -- scans in blocks of rows -----------------------------------------------------------
    def blocks(self, array: Any, count: int | None = None) -> Iterator[slice]:
        """Slices of rows whose entries fill one block."""
        count = int(array.shape[0]) if count is None else count
        width = array.shape[1] if array.ndim > 1 else 1
        rows = cutoffs.BLOCK_BYTES["gpu" if self.on_gpu else "cpu"] // (8 * max(width, 1))
        step = max(1, rows)
        for start in range(0, count, step):
            yield slice(start, min(start + step, count))

    def gram(self, array: Any, weights: Any = None) -> FloatArray:
        """Σ_k weights_k x_k x_kᵀ, on the host."""
        xp, total = self.xp, None
        for rows in self.blocks(array):
            x = array[rows]
            scaled = x if weights is None else x * weights[rows][:, None]
            part = xp.matmul(xp.matrix_transpose(scaled), x)
            total = part if total is None else total + part
        return self.host(total)

    def quadratic(self, array: Any, root: FloatArray, centre: FloatArray | None = None) -> Any:
        """‖rootᵀ(x − centre)‖² of each row x, on the device."""
        xp, there = self.xp, self.put(root)
        offset = None if centre is None else self.put(centre @ root)
        kernels = self._kernels(array, there)
        if kernels is not None:
            zero = self.full((root.shape[1],), 0.0)
            return kernels.quadratic(array, there, zero if offset is None else offset)
        out = self.full((array.shape[0],), 0.0)
        for rows in self.blocks(array):
            image = xp.matmul(array[rows], there)
            if offset is not None:
                image -= offset
            self.squares(image, out[rows])
        return out

    def distances(self, array: Any, root: FloatArray, points: FloatArray) -> Any:
        """‖rootᵀ(x − point)‖² of each row x and each of a few points, (n, R), on the device.

        Free of cancellation where a row is nearly one of the points.
        """
        there, offsets = self.put(root), self.put(points @ root)
        kernels = self._kernels(array, there)
        if kernels is not None:
            return kernels.distances(array, there, offsets)
        image = self.xp.matmul(array, there)
        if self.plain:
            from surepick.arrays.kernels import squared_distances  # few need it

            out = np.empty((len(image), len(points)))
            squared_distances(image, np.ascontiguousarray(offsets.T), out)
            return out
        return self.xp.stack([self.squares(image - offset) for offset in offsets], axis=1)

    def _kernels(self, array: Any, root: Any) -> Any:
        """Kernels of our own for these arrays, where there are any."""
        if self.name != "torch" or not self.on_gpu:
            return None
        kernels = _gpu_kernels(str(self.device))
        return kernels if kernels is not None and kernels.fits(array, root) else None

    def squares(self, array: Any, out: Any = None) -> Any:
        """Squared length of each row, on the device, in one pass over the array."""
        if self.plain:
            return np.vecdot(array, array, out=out)
        if self.name == "cupy":
            found = _cupy_squares()(array, axis=1)
        elif self.on_gpu:
            found = self.xp.linalg.vector_norm(array, axis=1) ** 2
        else:
            found = self.xp.sum(array * array, axis=1)
        if out is not None:
            out[:] = found
        return found

    def image(self, array: Any, matrix: FloatArray) -> Any:
        xp, there = self.xp, self.put(matrix)
        out = xp.empty((array.shape[0], matrix.shape[1]), dtype=xp.float64, device=self.device)
        for rows in self.blocks(array):
            out[rows] = xp.matmul(array[rows], there)
        return out

    def product(self, array: Any, vector: FloatArray) -> Any:
        xp, there = self.xp, self.put(vector)
        if self.on_gpu:
            return xp.matmul(array, there)
        out = self.full((array.shape[0],), 0.0)
        for rows in self.blocks(array):
            out[rows] = xp.matmul(array[rows], there)
        return out

    # -- what the standard lacks -----------------------------------------------------------
    def largest(self, values: Any, count: int, alike: bool = False) -> tuple[IntArray, FloatArray]:
        """Indices and values of the ``count`` largest entries, largest first (host).

        With ``alike``, of values that are the same up to rounding the first ones: on every
        processor the same indices, in the same order.
        """
        count = min(count, values.shape[0])
        if count == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        if alike:
            return self._largest_alike(values, count)
        if self.name == "torch":
            top, where = (self.host(part) for part in self.xp.topk(values, count))
        else:
            chosen = self.xp.argpartition(-values, count - 1)[:count]
            top, where = self.host(values[chosen]), self.host(chosen)
        order = np.lexsort((where, -top))
        return where[order].astype(np.int64), top[order]

    def _largest_alike(self, values: Any, count: int) -> tuple[IntArray, FloatArray]:
        rounded = coarse(values, self.xp)
        last = self.largest(rounded, count)[1][-1]
        above, equal = (self.host(self.nonzero(mask)) for mask in (rounded > last, rounded == last))
        where = np.sort(np.concatenate([above, equal[: count - len(above)]])).astype(np.int64)
        order = np.argsort(-self.rows(rounded, where), kind="stable")
        return where[order], self.rows(values, where[order])

    def nonzero(self, mask: Any) -> Any:
        return self.xp.nonzero(mask)[0]

    def special(self, name: str) -> Any:
        """``erfcx`` or ``log_ndtr`` of this library."""
        if self.name == "torch" and self.on_gpu and name == "erfcx":
            return _torch_erfcx
        return _special(self.name, name)

    def free_memory(self) -> int | None:
        """Bytes that may still be taken, where that can be known."""
        if not self.on_gpu:
            return free_memory()
        if self.name == "torch":
            cuda = self.xp.cuda  # what its allocator holds and does not use is free, too
            held = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
            return int(cuda.mem_get_info(self.device)[0]) + held
        cupy = _library("cupy")
        with self.device:
            held = cupy.get_default_memory_pool().free_bytes()
            return int(cupy.cuda.runtime.memGetInfo()[0]) + int(held)


HOST = Backend("numpy")


def backend_of(array: Any) -> Backend:
    """The backend whose array this is; anything that is no array of another library is NumPy's."""
    module = type(array).__module__.partition(".")[0]
    if module == "torch" and "torch" in sys.modules:
        return Backend("torch", array.device)
    if module == "cupy" and "cupy" in sys.modules:
        return Backend("cupy", array.device)
    return HOST


def backend_named(name: Any) -> Backend:
    """A backend by name: numpy, torch, torch:cpu, torch:cuda (or torch:cuda:1), cupy."""
    if isinstance(name, Backend):
        return name
    if not isinstance(name, str):
        raise InvalidTypeError(f"backend must be a name such as 'torch:cuda'; got {name!r:.80}")
    library, _, device = name.partition(":")
    if library == "numpy" and not device:
        return HOST
    if library == "cupy" and not device:
        cupy = _library("cupy")
        return Backend("cupy", cupy.cuda.Device())
    if library == "torch" and device.partition(":")[0] in ("", "cpu", "cuda"):
        torch = _library("torch")
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise InvalidInputError(f"backend {name!r}: PyTorch sees no CUDA device here")
        if device == "cuda":  # by number, as arrays on it have it
            device = f"cuda:{torch.cuda.current_device()}"
        return Backend("torch", torch.device(device or "cpu"))
    raise UnknownNameError.among("backend", name, _NAMES)


@cache
def _gpu_kernels(device: str) -> Any:
    """Kernels for PyTorch on this GPU; None where they cannot be compiled."""
    try:
        kernels = importlib.import_module("surepick.arrays.gpu_kernels")
    except ImportError:
        return None
    try:
        one = _namespace("torch").ones((1, 1), dtype=_namespace("torch").float64, device=device)
        kernels.quadratic(one, one, one[0])
    except Exception as error:  # no compiler, an old driver: all of them say so in their own way
        _log.warning(
            "scans on %s are slower than they could be: Triton cannot compile (%s)", device, error
        )
        return None
    return kernels


def _torch_erfcx(x: Any) -> Any:
    """e^{x²} erfc(x) for x ≥ 0, to 13 digits.

    PyTorch compiles its own for the GPU when it is first called: eight seconds. Up to 20 this is
    2 e^{x²} Φ(−x√2), whose logarithm is at hand. Beyond, where x² would hide the last digits of
    that, seven terms of the series in 1/(2x²) are exact.
    """
    xp = _namespace("torch")
    near = xp.clip(x, 0.0, 20.0)
    small = 2.0 * xp.exp(near * near + _special("torch", "log_ndtr")(near * -math.sqrt(2.0)))
    far = xp.clip(x, 20.0, None)
    step = 0.5 / far**2
    series = xp.ones_like(far)
    for odd in range(13, 0, -2):  # 1 − s(1 − 3s(1 − 5s(…)))
        series = 1.0 - odd * step * series
    return xp.where(x > 20.0, series / (far * math.sqrt(math.pi)), small)


@cache
def _special(library: str, name: str) -> Any:
    if library == "torch":
        return getattr(_namespace(library).special, name)
    module = "cupyx.scipy.special" if library == "cupy" else "scipy.special"
    return getattr(importlib.import_module(module), name)


@cache
def _cupy_squares() -> Any:
    cupy = _library("cupy")
    return cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")


@cache
def _namespace(name: str) -> Any:
    """The library as the array-API standard has it."""
    _library(name)
    try:
        return importlib.import_module(f"array_api_compat.{name}")
    except ImportError:
        raise MissingExtraError(
            f"arrays of {name} need array-api-compat; install surepick[gpu]"
        ) from None


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        extra = "surepick[gpu]" if name == "torch" else "cupy, built for your version of CUDA,"
        raise MissingExtraError(f"backend {name!r} needs {name}; install {extra}") from None
