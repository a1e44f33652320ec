"""Whether rewards of all arms vary by the same amount, as a problem with equal noise says."""

from __future__ import annotations

import math

import numpy as np

from surepick.arrays.validate import probability
from surepick.problem import Problem
from surepick.run.diagnostics.finding import Finding
from surepick.statistics.unequal import UnequalScales

_FEWEST = 20.0  # degrees of freedom without which silence says little
_NAMED = 3


def unequal_noise(problem: Problem, blocks: UnequalScales, *, level: float = 0.001) -> Finding:
    """Whether some arms vary more than others.

    Parameters
    ----------
    problem
        For its labels.
    blocks
        How much rewards of the same arm differed, block by block.
    level
        Probability of ever raising a false alarm where noise is normal and equal.

    Examples
    --------
    >>> blocks = UnequalScales(2)
    >>> blocks.add(np.array([0, 1]), np.array([40, 40]), np.array([40.0, 4000.0]))
    >>> unequal_noise(Problem([[0.0], [1.0]], noise="equal"), blocks).alarm
    True
    """
    level = probability(level, "level")
    evidence = blocks.log_evidence
    measured = np.flatnonzero(blocks.freedom)
    if evidence < math.log(1 / level):
        blind = len(measured) < 2 or float(blocks.freedom.sum()) < _FEWEST
        text = (
            "It is too early to say whether all options vary equally: too few have repeated "
            "measurements."
        )
        if not blind:
            text = "So far there is no sign that some options vary more than others."
        return Finding(False, evidence, level, text, blind=blind)
    scales = np.sqrt(blocks.variances())
    logs, weights = np.log(scales[measured]), blocks.freedom[measured]
    odd = measured[np.argsort(-(weights * np.abs(logs)), kind="stable")][:_NAMED]
    shown = ", ".join(f"{problem.labels[k]!r} ({scales[k]:.2g} times the average)" for k in odd)
    text = (
        f"Measurements of some options vary more than those of others: {shown}. The guarantee "
        "assumes the same noise for all options, because the study was created that way. Start "
        "again and leave noise out: the guarantee then needs no such assumption. The measurements "
        "made so far can guide the new study (as past measurements, chosen by results)."
    )
    return Finding(True, evidence, level, text, tuple(int(k) for k in odd))
