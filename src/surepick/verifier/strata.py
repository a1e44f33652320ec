"""Strata: batches that hold the pulls of one day, plate, operator, … each.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.blocks import Block, Blocks, read_block
from surepick.verifier.check import Check


def with_strata(check: Check) -> bool:
    """Whether batches are strata: all of them, or none."""
    named = ["stratum" in batch for batch in check.batches]
    check.demand(all(named) or not any(named), "some batches have a stratum and others have none")
    return any(named)


def check_strata(check: Check, blocks: Blocks, cancels: bool) -> None:
    """Levels must cancel, so every stratum that is bet on must be a block of its own."""
    if not with_strata(check):
        return
    check.demand(cancels, "levels of strata do not cancel from comparisons by these features")
    for batch in check.batches:
        exact.text(batch["stratum"], "the stratum of a batch")
    for note, batches in blocks[1:]:
        alone = not len(note.rivals) or len(batches) == 1
        check.demand(alone, "strata are not blocks of their own")


def in_strata(check: Check, batches: list[dict[str, Any]]) -> list[Block]:
    """The strata of a block; past measurements in it are one more. None where it has no strata."""
    strata = [batch for batch in batches if "stratum" in batch]
    rest = [batch for batch in batches if "stratum" not in batch]
    groups = [[batch] for batch in strata] + ([rest] if rest else [])
    return [read_block(check, group) for group in groups] if strata else []


def levelled(check: Check, strata: list[Block]) -> Block:
    """Strata as one block, one row for each arm, less the levels in which they differ.

    Nothing is bet on it. Levels are those of least squares on features and strata.
    """
    parts = [block.by_arm() for block in strata]
    cells = Block(*(np.concatenate(column) for column in zip(*parts)))
    of = np.repeat(np.arange(len(parts)), [len(part.arms) for part in parts])
    units = np.broadcast_to(check.kind.units(cells.arms), len(of)) / check.noise
    belongs = (of[:, None] == np.arange(len(parts))) / units[:, None]
    columns = np.hstack([check.arms[cells.arms] @ check.whiten, belongs])
    roots = np.sqrt(cells.counts)[:, None]
    inverse = np.linalg.pinv(columns * roots, rcond=1e-9)
    levels = (inverse @ (cells.means * roots[:, 0]))[-len(parts) :]
    levels = levels[of] - (cells.counts * levels[of]).sum() / cells.pulls
    level = cells._replace(sums=cells.sums - cells.counts * levels / units, parts=of)
    return level.by_arm()
