"""Scans of all arms, each as one kernel for NVIDIA GPUs, in Triton (which PyTorch brings along).

In steps, a scan writes tables as large as the arms and reads them again; here a block of rows is
read once, multiplied in registers, squared and summed. Loaded only where arms are on such a GPU.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

_ROWS = {16: 64, 32: 64, 64: 64, 128: 32}  # rows of a block, by the width it is padded to
_TILE = 32  # columns of the root at a time
_WARPS = 2  # measured on an H200, as are the sizes above


def fits(arms: Any, root: Any) -> bool:
    """Whether the kernel takes these arrays."""
    narrow = max(arms.shape[1], root.shape[1]) <= max(_ROWS)
    return bool(narrow and arms.is_contiguous() and arms.dtype == root.dtype)


def quadratic(arms: Any, root: Any, offset: Any) -> Any:
    """‖rootᵀx − offset‖² of each row x of float64 ``arms``, (K,)."""
    return distances(arms, root, offset[None, :])[:, 0]


def distances(arms: Any, root: Any, offsets: Any) -> Any:
    """‖rootᵀx − offset‖² of each row x of float64 ``arms`` and each row of ``offsets``, (K, R)."""
    (count, dim), several = arms.shape, offsets.shape[0]
    out = arms.new_empty((count, several))
    width = max(16, 1 << (dim - 1).bit_length())
    rows = _ROWS[width]
    _distances[(-(-count // rows),)](
        arms,
        root.contiguous(),
        offsets.contiguous(),
        out,
        count,
        dim,
        root.shape[1],
        SEVERAL=several,
        PADDED=1 << (several - 1).bit_length(),
        WIDTH=width,
        SPAN=-(-root.shape[1] // _TILE) * _TILE,
        ROWS=rows,
        TILE=_TILE,
        num_warps=_WARPS,  # pyright: ignore[reportCallIssue]
    )
    return out


@triton.jit
def _distances(
    arms,
    root,
    offsets,
    out,
    count,
    dim,
    rank,
    SEVERAL: tl.constexpr,
    PADDED: tl.constexpr,
    WIDTH: tl.constexpr,
    SPAN: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, WIDTH)
    inside = rows < count
    mask = inside[:, None] & (columns < dim)[None, :]
    block = tl.load(arms + rows[:, None] * dim + columns[None, :], mask=mask, other=0.0)
    several = tl.arange(0, PADDED)
    total = tl.zeros((ROWS, PADDED), tl.float64)
    for start in tl.static_range(0, SPAN, TILE):  # pyright: ignore[reportGeneralTypeIssues]
        at = start + tl.arange(0, TILE)
        mask = (columns < dim)[:, None] & (at < rank)[None, :]
        part = tl.load(root + columns[:, None] * rank + at[None, :], mask=mask, other=0.0)
        image = tl.dot(block, part, out_dtype=tl.float64)
        for one in tl.static_range(0, SEVERAL):  # pyright: ignore[reportGeneralTypeIssues]
            shift = tl.load(offsets + one * rank + at, mask=at < rank, other=0.0)
            apart = image - shift[None, :]
            square = tl.sum(apart * apart, axis=1)
            total += tl.where((several == one)[None, :], square[:, None], 0.0)
    where = rows[:, None] * SEVERAL + several[None, :]
    tl.store(out + where, total, mask=inside[:, None] & (several < SEVERAL)[None, :])
