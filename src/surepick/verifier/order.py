"""In which order pulls were handed out: dealt at random, by a seed that the record keeps.

The pulls of a batch are numbered, row by row. A batch of n pulls has max(1, n // 1024) blocks; the
k-th pull of a row with c pulls is in block (k · blocks + blocks − 1 − offset) // c, where offset is
a random number below blocks, one for each row. Within a block the pulls come in the order of random
numbers, one for each pull. All random numbers are the outputs of splitmix64.

Where a block of pulls is larger than a batch may be, its pulls are dealt in the same way, by other
random numbers, with the number of the block in place of that of the batch; batches are cut from
that deal (:func:`check_pieces`).

A certificate has sums over the pulls of a batch, which no order changes; a study's database has
every pull, and there it can be seen whether this order was kept. Visitors come in no order: a
certificate of traffic has no seed, and every other one has.

A batch that was asked for while earlier ones were being measured says how many had been told by
then. Bets need nothing more than that batches are counted in the order in which they were asked
for: rivals and stakes are worked out from all batches before, and its pulls were chosen by no more
than that. What it takes besides, that measurements do not depend on each other, is part of the
statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from surepick.verifier import exact
from surepick.verifier.blocks import Blocks
from surepick.verifier.check import Check
from surepick.verifier.record import Batch, Order

_RULE = "shuffled"
_SEEDS = 2**53
_BLOCK = 1024
_WORD = 2**64
_MOST_DEALT = 10_000_000
_PIECES = 3  # the streams of random numbers by which blocks are dealt into batches


def check_order(check: Check) -> None:
    """What it says of the order must make sense."""
    order, visitors = check.record.order, check.record.traffic is not None
    check.demand(
        order is None or not visitors, "it has an order of pulls, and traffic has no pulls"
    )
    if not visitors:
        order = order_of(check)
        known = order.rule == _RULE
        check.demand(known, f"its pulls were handed out by an unknown rule {order.rule!r:.80}")
        check.demand(0 <= order.seed < _SEEDS, "the seed of its order is out of range")


def order_of(check: Check) -> Order:
    """In which order its pulls were handed out, which it has to say."""
    if check.record.order is None:
        exact.refuse("it does not say in which order its pulls were handed out")
    return check.record.order


def check_pieces(check: Check, blocks: Blocks) -> None:
    """Blocks that came in several batches must have been dealt into these by the seed.

    Filled up by somebody's choice, batches would differ in their arms, and whatever changed from
    one batch to the next would speak for some of these. Strata are dealt anew, so of them it is
    not known which pulls of an arm were in which batch: only a replay can tell.
    """
    if check.record.traffic is not None:
        return
    seed = order_of(check).seed
    for number, (note, batches) in enumerate(blocks):
        new = batches[note.past :]
        if len(new) < 2 or new[0].stratum is not None:
            continue
        pieces = [_rows(batch) for batch in new]
        whole: Counter[tuple[int, int]] = Counter()
        for piece in pieces:
            whole.update(piece)
        rows = sorted(whole)
        small = sum(whole.values()) <= _MOST_DEALT
        check.demand(small, f"block {number + 1} has more pulls than can be dealt again")
        dealt = rows_in_order([whole[row] for row in rows], number, seed, _PIECES)
        for piece in pieces:
            size = sum(piece.values())
            check.demand(
                Counter(rows[i] for i in dealt[:size]) == piece,
                f"block {number + 1} was not dealt into batches by the seed of its order",
            )
            dealt = dealt[size:]


def _rows(batch: Batch) -> Counter[tuple[int, int]]:
    """How many pulls of each arm and part a batch has."""
    return Counter(dict(zip(batch.rows, batch.counts.tolist())))


def rows_in_order(counts: Sequence[int], batch: int, seed: int, stream: int = 0) -> list[int]:
    """The row of each pull of a batch, in the order in which pulls are handed out.

    Or dealt into batches, by other streams of random numbers, which begin with ``stream``.

    Examples
    --------
    >>> sorted(rows_in_order([2, 1], batch=0, seed=5))
    [0, 0, 1]
    """
    start = _scrambled((_scrambled(seed) + batch) % _WORD)
    keys, offsets = (_scrambled((start + i) % _WORD) for i in (stream, stream + 1))
    blocks = max(1, sum(counts) // _BLOCK)
    found: list[tuple[int, int, int, int]] = []  # block, random number, number, row
    for row, count in enumerate(counts):
        first = blocks - 1 - _scrambled((offsets + row) % _WORD) % blocks
        for k in range(count):
            number = len(found)
            key = _scrambled((keys + number) % _WORD)
            found.append(((k * blocks + first) // count, key, number, row))
    return [row for *_, row in sorted(found)]


def random_words(seed: int, batch: int, stream: int, places: Sequence[int]) -> list[int]:
    """Random numbers below 2**64 that an algorithm draws for a batch, from one of its streams.

    Those in these places only, however far they are: a forged place may be a huge number.
    """
    start = _scrambled((_scrambled(seed) + batch) % _WORD)
    first = _scrambled((start + stream) % _WORD)
    return [_scrambled((first + i) % _WORD) for i in places]


def _scrambled(value: int) -> int:
    z = value * 0x9E3779B97F4A7C15 % _WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % _WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % _WORD
    return z ^ z >> 31


# -- batches that were asked for while earlier ones were being measured -------------------
def overlapping(check: Check) -> bool:
    """Whether batches overlapped."""
    return any(batch.after is not None for batch in check.batches)


def check_overlap(check: Check) -> None:
    """Who asked for a batch ahead knew less than in turn, and never less than before."""
    if not overlapping(check):
        return
    check.demand(
        check.rule in ("pooled", "pairs", "complete") and check.settings.get("max_batch") is None,
        "its batches overlap, which bets on whole blocks allow, and nothing else",
    )
    check.demand(
        check.claims == "all",
        "its batches overlap: whoever stopped may have seen later rewards, and then the share of "
        "wrong claims is not limited",
    )
    known = 0
    for number, batch in enumerate(check.batches):
        if batch.after is not None:
            fine = known <= batch.after < number
            check.demand(fine, f"batch {number} was asked for after {batch.after} batches")
            known = batch.after
