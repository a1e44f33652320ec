"""Whether rewards are as likely to be above their mean as below, as some kinds of noise say."""

from __future__ import annotations

import math

import numpy as np

from surepick.arrays.validate import probability
from surepick.problem import Problem
from surepick.run.diagnostics.finding import Finding
from surepick.statistics.triples import Triples
from surepick.statistics.unequal import UnequalScales

_FEWEST = 30  # triples without which silence says little
_NAMED = 3


def skewed_noise(problem: Problem, triples: Triples, *, level: float = 0.01) -> Finding:
    """Whether rewards reach further to one side of their mean than to the other.

    Examples
    --------
    >>> triples, draw = Triples(2), np.random.default_rng(0)
    >>> triples.add(np.repeat([0, 1], 300), np.exp(draw.normal(size=600)))
    >>> skewed_noise(Problem([[0.0], [1.0]]), triples).alarm
    True
    """
    level = probability(level, "level")
    evidence = triples.log_evidence
    if evidence < math.log(1 / level):
        blind = triples.count < _FEWEST
        text = (
            "It is too early to say whether rewards are symmetric around their mean: there are "
            "too few."
        )
        if not blind:
            text = (
                "So far there is no sign that rewards reach further to one side than to the other."
            )
        return Finding(False, evidence, level, text, blind=blind)
    odd = triples.leaning()[:_NAMED] if len(triples.arms) > 1 else []
    shown = ", ".join(repr(problem.labels[arm]) for arm in odd)
    text = (
        "Rewards reach further to one side of their mean than to the "
        f"other{f', most clearly those of {shown}' if shown else ''}. The guarantee assumes that "
        "noise is as likely to be above 0 as below it by the same amount. Times, amounts of money "
        "and counts are not like that. Start again with numbers of any kind, of which nothing is "
        "assumed (noise='any', --rewards any): that shows which option usually wins. For the best "
        "mean, give bounds, or cap rewards (noise=(0, 100), --rewards 0..100)."
    )
    return Finding(True, evidence, level, text, tuple(odd))


_FEWEST_REPEATED = 20.0  # degrees of freedom without which silence says little
_MOST_NAMED = 3


def unequal_noise(problem: Problem, blocks: UnequalScales, *, level: float = 0.001) -> Finding:
    """Whether some arms vary more than others.

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
        blind = len(measured) < 2 or float(blocks.freedom.sum()) < _FEWEST_REPEATED
        text = (
            "It is too early to say whether all options vary equally: too few have repeated "
            "measurements."
        )
        if not blind:
            text = "So far there is no sign that some options vary more than others."
        return Finding(False, evidence, level, text, blind=blind)
    scales = np.sqrt(blocks.variances())
    logs, weights = np.log(scales[measured]), blocks.freedom[measured]
    odd = measured[np.argsort(-(weights * np.abs(logs)), kind="stable")][:_MOST_NAMED]
    shown = ", ".join(f"{problem.labels[k]!r} ({scales[k]:.2g} times the average)" for k in odd)
    text = (
        f"Measurements of some options vary more than those of others: {shown}. The guarantee "
        "assumes the same noise for all options, because the study was created that way. Start "
        "again and leave noise out: the guarantee then needs no such assumption. The measurements "
        "made so far can guide the new study (as past measurements, chosen by results)."
    )
    return Finding(True, evidence, level, text, tuple(int(k) for k in odd))
