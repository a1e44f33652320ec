"""Which kind of noise would have suited a study better: worth knowing for the next one."""

from __future__ import annotations

import numpy as np

from surepick.algorithms.base import Pulls, Told
from surepick.algorithms.pooled.ledger import Rows
from surepick.algorithms.pooled.state import PooledState
from surepick.run import Run
from surepick.run.diagnostics import ArmSummary
from surepick.statistics.unequal import UnequalScales

_FEWEST_REWARDS = 10  # fewer may be 0 or 1 by chance
_REPLICATES = 10.0  # of an option, before it is said to vary like another
_WORTH_SAYING = 0.9  # of the measurements made: savings of less are not worth a remark
_CHEAP = 300  # settled blocks that are gone through again
_SMALL = 2_000  # candidates of a problem for which they are


def better_kinds(run: Run, summary: ArmSummary, scales: UnequalScales) -> list[str]:
    """Remarks for a study that said nothing, or little, about its noise."""
    kind = run.problem.noise_kind
    if not kind.scale_known and only_yes_and_no(summary):
        return [
            f"All {summary.counts.sum():,} rewards so far are 0 or 1. If a measurement says yes or "
            f"no, start the study so (surepick new --rewards yes-no, in Python noise='yes-no'): "
            f"what is known about the noise of yes and no is then made use of."
        ]
    if kind.kind != "symmetric" or not run.state.finished or not vary_alike(scales):
        return []
    fewer = pulls_if_equal(run)
    if fewer is None or fewer > _WORTH_SAYING * run.samples:
        return []
    return [
        f"Measurements of all options seem to vary alike. Had the study been told so (--noise "
        f"equal: normal noise, the same for all options), about {fewer:,} of its {run.samples:,} "
        f"measurements would have been enough. That cannot be said afterwards; but for the next "
        f"study of this kind it may be worth knowing."
    ]


def only_yes_and_no(summary: ArmSummary) -> bool:
    """Whether all rewards are 0 or 1: sums are whole, and equal to the sums of squares.

    Examples
    --------
    >>> only_yes_and_no(ArmSummary.of(2, [0, 1] * 5, [0, 1, 1, 1, 0] * 2))
    True
    >>> only_yes_and_no(ArmSummary.of(2, [0, 1] * 5, [0, 1, 2, 1, 0] * 2))
    False
    """
    if summary.counts.sum() < _FEWEST_REWARDS:
        return False
    squares = summary.spread + summary.sums**2 / np.maximum(summary.counts, 1)
    whole = (summary.sums == np.floor(summary.sums)).all()
    return bool(whole and (np.abs(squares - summary.sums) <= 1e-9 * (1 + summary.counts)).all())


def vary_alike(scales: UnequalScales) -> bool:
    """Whether options that were measured again and again speak against different scales."""
    return int((scales.freedom >= _REPLICATES).sum()) > 1 and scales.log_evidence < 0.0


def pulls_if_equal(run: Run) -> int | None:
    """After how many of its measurements the run would have stopped, had noise been said equal.

    The same blocks, settled by the bets for normal noise of one scale. None where they would not
    have been enough, or where this takes long.
    """
    state, problem = run.state, run.problem
    if not isinstance(state, PooledState) or run.past is not None or problem.n_candidates > _SMALL:
        return None
    told = iter(run.told())
    blocks: list[Told] = []
    for block in state.blocks:
        rows = Rows.none()
        for _ in range(int(block["batches"])):
            rows = rows.plus(Rows.of(next(told)).by_arm())
        blocks.append(Told(Pulls(rows.arms, rows.counts), rows.sums, rows.spreads))
    if not 0 < len(blocks) <= _CHEAP:
        return None
    again = run.algorithm.begin(problem.with_noise("equal"), np.random.default_rng(0))
    again.observe_past(blocks, True)
    if not again.finished or not isinstance(again, PooledState):
        return None
    return int(again.totals.counts.sum())
