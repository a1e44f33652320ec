"""What the state of a run reads of its configuration."""

from __future__ import annotations

import math
from typing import ClassVar, Protocol

from surepick.algorithms.pooled.pace import Pace
from surepick.algorithms.questions import Asked
from surepick.arrays.grid import coarse

FEWEST_PULLS = 2.0  # pulls per dimension in a block: fewer cannot be spread well
_OF_LEFT = 0.15  # where all pulls that are left will be made, a block makes this share of them
# Nothing more is planned ahead while as many pulls are out as
_FAR = 4.0  # this many times those that seem to be missing, and
_SHARE = 0.5  # this share of the settled ones; or,
_BLIND = 64.0  # while nothing is settled, so many of the smallest blocks
# Planned beside others, it makes about
_AHEAD = 0.05  # this share of the pulls that are out, and
_FEWEST_AHEAD = 20  # at least so many: several small ones by one plan are rounded alike


class BlockSettings(Protocol):
    """What the state reads of the configuration."""

    asked: ClassVar[Asked]
    theorem: ClassVar[str]

    @property
    def delta(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def batch_growth(self) -> float: ...
    @property
    def min_batch(self) -> int: ...
    @property
    def max_batch(self) -> int | None: ...
    @property
    def items(self) -> int | None: ...
    @property
    def complete(self) -> int | None: ...
    @property
    def baseline(self) -> str | int | None: ...
    @property
    def threshold(self) -> float | None: ...
    @property
    def claims(self) -> str: ...
    @property
    def top(self) -> int: ...
    @property
    def guess(self) -> bool: ...


def whole_batches(settings: BlockSettings, size: float) -> int:
    """Pulls of a block that should have about this many: whole batches, where there is a most."""
    least, most = settings.min_batch, settings.max_batch
    pulls = max(math.ceil(coarse(float(size))), least)
    if most is not None and pulls > most:
        pulls = most * math.ceil(pulls / most)
    return pulls


def block_size(
    settings: BlockSettings, pace: Pace, settled: float, out: int, missing: float, least: float
) -> int:
    """Pulls of the next block.

    Parameters
    ----------
    settled, out
        Pulls of settled blocks (those that could be had for their money), and of blocks that are
        being measured.
    missing
        Pulls that seem to be missing, by what is settled.
    least
        Pulls that a block must have.
    """
    if not out:
        most = min(settings.batch_growth * settled, pace.most * missing)
        return whole_batches(settings, max(pace.least * settled, most, least))
    # Nobody waits for a block of these to end, so they may be small: the later a block is planned,
    # the more is known. They grow with the pulls that are out, and so with the number of workers.
    return whole_batches(settings, max(_AHEAD * out, _FEWEST_AHEAD, least))


def guess_size(size: int, left: int, least: float) -> int:
    """Pulls of the next block where all that are left will be made.

    Blocks get smaller as there is less to come; what would be too little for a block is added to
    the one before.
    """
    size = min(size, max(math.ceil(coarse(_OF_LEFT * left)), math.ceil(least)))
    return left if left - size < least else size


def too_far(settled: int, out: int, missing: float, least: float) -> bool:
    """Whether so many pulls are out that no more should be planned, by what is settled.

    What seems to be missing may be off, and workers would have nothing to do; so this is generous.
    """
    if not settled:
        return out > _BLIND * least
    return out > coarse(max(_FAR * missing, _SHARE * settled))
