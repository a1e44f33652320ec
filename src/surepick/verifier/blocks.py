"""What was measured, by rows (an arm, or a part of an arm's pulls), and how to read it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.dealing import dealt_in_two
from surepick.verifier.options import at_first
from surepick.verifier.record import Batch

MOST_PARTS = 32


class Block(NamedTuple):
    """Measurements by rows, in the order of arms and parts; rewards in units of the noise."""

    arms: np.ndarray
    parts: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    spreads: np.ndarray  #: Σ (reward − mean of the row)²; 0 where nobody recorded it

    @property
    def means(self) -> np.ndarray:
        return self.sums / self.counts

    @property
    def pulls(self) -> float:
        return float(self.counts.sum())

    def by_arm(self) -> Block:
        """This block merged into one row for each arm."""
        return _merged([self._replace(parts=np.zeros_like(self.parts))])

    def plus(self, other: Block) -> Block:
        """Both, with one row for each arm and part."""
        return _merged([self, other])

    def of(self, arms: np.ndarray) -> Block:
        here = np.isin(self.arms, arms)
        return Block(*(column[here] for column in self))


class Noted:
    """What is recorded of one block; each field is read when it is needed, as what it has to be."""

    def __init__(self, check: Check, record: dict[str, Any], number: int) -> None:
        self._check, self._record, self._where = check, record, f"block {number}"
        pieces = (record["batches"], record.get("past", 0))
        self.batches, self.past = (exact.whole(n, "the batches of a block") for n in pieces)

    def _numbers(self, name: str) -> np.ndarray:
        return exact.whole_numbers(self._record[name], f"{self._where}: the {name}")

    @property
    def rivals(self) -> np.ndarray:
        return self._numbers("rivals")

    @property
    def sure(self) -> np.ndarray:
        """Who was sure, of several that are asked for."""
        return self._numbers("sure")

    @property
    def dropped(self) -> tuple[np.ndarray, np.ndarray]:
        """Who was dropped, and the log capital against them."""
        named, capital = self._check.columns(self._record["dropped"], "candidate", "log_capital")
        return named, capital

    @property
    def certain(self) -> list[bool]:
        """Who of those that were dropped was behind for certain."""
        says = self._record["dropped"]["certain"]
        fine = type(says) is list and set(map(type, says)) <= {bool}
        fine = fine and len(says) == len(self.dropped[0])
        self._check.demand(fine, f"{self._where} does not say who is behind for certain")
        return says

    @property
    def nobody_dropped(self) -> bool:
        return self._record["dropped"] == []

    @property
    def nothing(self) -> bool:
        """Whether nothing was bet on it, and nobody dropped."""
        return len(self.rivals) == 0 and self.nobody_dropped

    @property
    def items(self) -> int:
        return exact.whole(self._record["items"], f"{self._where}: its items")

    @property
    def bets(self) -> bool:
        says = type(self._record["bets"]) is bool
        self._check.demand(says, f"{self._where} does not say whether it was bet on")
        return self._record["bets"]


Blocks = list[tuple[Noted, list[Batch]]]


def blocks_of(check: Check) -> Blocks:
    """What is recorded of each block, and its batches: past ones and new ones."""
    records = exact.mappings(check.evidence["blocks"], "blocks")
    new, past = list(check.batches), list(check.past)
    found: Blocks = []
    for number, record in enumerate(records):
        note = Noted(check, record, number + 1)
        if "dealt" in record:  # a part of the first report, by itself
            check.demand(
                number == 0 and note.batches == 0 and "past" not in record and len(new) > 0,
                "only the first report can be dealt",
            )
            guides, new[0] = dealt_in_two(check, record["dealt"], new[0])
            found.append((note, [guides]))
            continue
        some, old = note.batches, note.past
        check.demand(some >= 0 and old >= 0 and some + old >= 1, "a block without a batch")
        check.demand(len(new) >= some and len(past) >= old, "blocks and batches do not correspond")
        # Nothing is bet on the first block, so it may depend on anything.
        check.demand(
            not old or number == 0 or check.past_counts,
            "past measurements that were chosen by results count as evidence",
        )
        found.append((note, past[:old] + new[:some]))
        new, past = new[some:], past[old:]
    check.demand(
        not new or check.claim["guarantee"] in ("none", "claims"),
        "blocks and batches do not correspond",
    )
    return found


def read_block(check: Check, batches: list[Batch]) -> Block:
    """Several batches as one."""
    found = []
    for one in batches:
        units, none = check.kind.units(one.arms), np.zeros(len(one.arms), dtype=np.int64)
        parts = none if one.parts is None else one.parts
        spreads = none if one.spreads is None else one.spreads / units**2
        sums = check.per_noise(one.arms, one.sums)
        found.append(Block(one.arms, parts, one.counts.astype(float), sums, spreads))
    return _merged(found)


def check_parts(check: Check, block: Block, where: str, own: bool) -> int:
    """Into how many parts a block was dealt, which must have been done by counting alone.

    Every arm that has as many pulls as there are parts must be in all of them, in even shares;
    the others are left whole. Where parts are each arm's ``own``, there must be as many as it has
    pulls, to the next power of two below. Otherwise parts could have been made after rewards were
    seen. Buckets of visitors are never even; of those there are a power of two.
    """
    m, buckets = int(block.parts.max()) + 1, check.record.traffic is not None
    for arm in np.unique(block.arms):
        rows = block.of(arm)
        due = m if rows.pulls >= m else 1
        if own or buckets:
            most = len(rows.parts) if buckets else int(rows.pulls)
            due = 1 << (min(most, MOST_PARTS).bit_length() - 1)
        check.demand(
            len(rows.parts) == due  # before so many are made: a forged part may be a huge number
            and np.array_equal(rows.parts, np.arange(due))
            and (buckets or np.ptp(rows.counts) <= 1),
            f"{where}: the pulls of arm {arm} are not dealt evenly into its {due} parts",
        )
    return m


def check_one_by_one(check: Check, block: Block, where: str, several: str, gaps: str) -> None:
    """Whether every row is one pull, and an arm's rows are numbered from 0 on.

    ``several`` and ``gaps`` say what is wrong where they are not.
    """
    check.demand(bool((block.counts == 1).all()), f"{where}: {several}")
    for arm in np.unique(block.arms):
        numbers = block.of(arm).parts
        fine = np.array_equal(numbers, np.arange(len(numbers)))
        check.demand(fine, f"{where}: arm {arm} {gaps}")


def _merged(blocks: list[Block]) -> Block:
    """One row for each arm and part: spreads are those of the rows, and of their means."""
    arms, parts, counts, sums, spreads = (np.concatenate(column) for column in zip(*blocks))
    order = np.lexsort((parts, arms))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(arms[order]) != 0) | (np.diff(parts[order]) != 0)
    rows, place = order[new], np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    count, total = (np.bincount(place, weights=column) for column in (counts, sums))
    apart = sums / counts - (total / count)[place]
    spread = np.bincount(place, weights=spreads + counts * apart**2)
    return Block(arms[rows], parts[rows], count, total, spread)


# -- strata: batches that hold the pulls of one day, plate, operator, … each --------------
def with_strata(check: Check) -> bool:
    """Whether batches are strata: all of them, or none."""
    named = [batch.stratum is not None for batch in check.batches]
    check.demand(all(named) or not any(named), "some batches have a stratum and others have none")
    return any(named)


def check_strata(check: Check, blocks: Blocks, cancels: bool) -> None:
    """Levels must cancel, so every stratum that is bet on must be a block of its own."""
    if not with_strata(check):
        return
    check.demand(cancels, "levels of strata do not cancel from comparisons by these features")
    for note, batches in blocks[1:]:
        alone = not len(note.rivals) or len(batches) == 1
        check.demand(alone, "strata are not blocks of their own")


def in_strata(check: Check, batches: list[Batch]) -> list[Block]:
    """The strata of a block; past measurements in it are one more. None where it has no strata."""
    strata = [batch for batch in batches if batch.stratum is not None]
    rest = [batch for batch in batches if batch.stratum is None]
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


# -- how blocks are read, which follows from the problem ----------------------------------
def ways_of(check: Check) -> list[str]:
    """How blocks are read: by features, by each option's own rewards, or in two ways.

    It follows from the problem; but where every option has a feature of its own, by features and
    by own rewards are the same, and it depends on the device which of them a run goes by.
    """
    named = check.evidence["ways"]
    if check.items is not None:
        fine = not check.separate and check.kind.on_items
        # Which item is whose must be known, and an item is met once by each option in a block.
        fine &= not check.past and not any(batch.stratum is not None for batch in check.batches)
        check.demand(fine, "these options cannot be compared on items")
        allowed = [["paired"]]
    elif check.separate:
        allowed = [["allowed"]] if check.misfit > 0 else [["linear"]]
    elif check.misfit > 0:
        allowed = [["direct"]] if math.isinf(check.misfit) else [["direct", "allowed"]]
    else:
        n, rank = at_first(check), check.whiten.shape[1]
        if n < len(check.arms):  # what came later does not change how blocks are read
            rank = np.linalg.matrix_rank(check.arms[np.arange(n)] @ check.whiten, tol=1e-9)
        free = rank == n
        allowed = [["linear"], ["direct"]] if free else [["linear"]]
    check.demand(named in allowed, "blocks are not read as the problem demands")
    return named


def levels_of(check: Check) -> bool:
    """Whether levels that all rewards of a block share are kept out of the guide.

    They can be where they cancel from all comparisons.
    """
    named = check.evidence["levels"]
    kept_out = ways_of(check)[0] in ("direct", "paired") or cancels_of(check)
    check.demand(named is False or (named is True and kept_out), "levels do not cancel here")
    return named


def cancels_of(check: Check) -> bool:
    """Whether a level that all rewards of a block share has no part in any comparison."""
    if ways_of(check) == ["direct"]:
        return True
    points = check.candidates @ check.whiten
    level = np.linalg.lstsq(points, np.ones(len(points)), rcond=None)[0]
    return bool(np.abs(points @ level - 1.0).max() < 1e-6)
