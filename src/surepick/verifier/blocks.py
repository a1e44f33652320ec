"""What was measured, summed up by rows: an arm each, or a part of an arm's pulls.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.dealing import dealt_in_two

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
        """Mean reward of each row."""
        return self.sums / self.counts

    @property
    def pulls(self) -> float:
        """Number of pulls."""
        return float(self.counts.sum())

    def by_arm(self) -> Block:
        """This block merged into one row for each arm."""
        return _merged([self._replace(parts=np.zeros_like(self.parts))])

    def plus(self, other: Block) -> Block:
        """Both, with one row for each arm and part."""
        return _merged([self, other])

    def of(self, arms: np.ndarray) -> Block:
        """Rows of some arms only."""
        here = np.isin(self.arms, arms)
        return Block(*(column[here] for column in self))


class Noted:
    """What is recorded of one block; each field is read when it is needed, as what it has to be."""

    def __init__(self, check: Check, record: dict[str, Any], number: int) -> None:
        self._check, self._record, self._where = check, record, f"block {number}"
        pieces = (record["batches"], record.get("past", 0))
        self.batches, self.past = (exact.whole(n, "the batches of a block") for n in pieces)

    @property
    def rivals(self) -> np.ndarray:
        """Who was bet on."""
        return exact.whole_numbers(self._record["rivals"], f"{self._where}: the rivals")

    @property
    def sure(self) -> np.ndarray:
        """Who was sure, of several that are asked for."""
        return exact.whole_numbers(self._record["sure"], f"{self._where}: the sure candidates")

    @property
    def dropped(self) -> tuple[np.ndarray, np.ndarray]:
        """Who was dropped, and the log capital against them."""
        named, capital = self._check.columns(self._record["dropped"], "candidate", "log_capital")
        return named, capital

    @property
    def certain(self) -> list[bool]:
        """Who of those that were dropped was behind for certain."""
        says = self._record["dropped"]["certain"]
        fine = type(says) is list and len(says) == len(self.dropped[0])
        fine = fine and all(type(one) is bool for one in says)
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
        """How many items of a table it has."""
        return exact.whole(self._record["items"], f"{self._where}: its items")

    @property
    def bets(self) -> bool:
        """Whether it was bet on."""
        says = type(self._record["bets"]) is bool
        self._check.demand(says, f"{self._where} does not say whether it was bet on")
        return self._record["bets"]


Blocks = list[tuple[Noted, list[dict[str, Any]]]]


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
            guides, new[0] = dealt_in_two(check, record, new[0])
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


def read_block(check: Check, batches: list[dict[str, Any]]) -> Block:
    """Several batches as one."""
    found = []
    for batch in batches:
        arms, counts = np.array(batch["arms"]), np.array(batch["counts"], dtype=float)
        units = check.kind.units(arms)
        parts = np.array(batch.get("parts", np.zeros_like(arms)))
        spreads = np.array(batch.get("spreads", np.zeros(len(arms))), dtype=float)
        sums = check.per_noise(arms, batch["sums"])
        found.append(Block(arms, parts, counts, sums, spreads / units**2))
    return _merged(found)


def check_parts(check: Check, block: Block, where: str, own: bool) -> int:
    """Into how many parts a block was dealt, which must have been done by counting alone.

    Every arm that has as many pulls as there are parts must be in all of them, in even shares;
    the others are left whole. Where parts are each arm's ``own``, there must be as many as it has
    pulls, to the next power of two below. Otherwise parts could have been made after rewards were
    seen. Buckets of visitors are never even; of those there are a power of two.
    """
    m, buckets = int(block.parts.max()) + 1, "traffic" in check.body
    for arm in np.unique(block.arms):
        rows = block.of(arm)
        due = m if rows.pulls >= m else 1
        if own or buckets:
            most = len(rows.parts) if buckets else int(rows.pulls)
            due = 1 << (min(most, MOST_PARTS).bit_length() - 1)
        check.demand(
            np.array_equal(rows.parts, np.arange(due)) and (buckets or np.ptp(rows.counts) <= 1),
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
