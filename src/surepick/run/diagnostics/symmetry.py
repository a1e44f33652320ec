"""Whether rewards are as likely to be above their mean as below, as two kinds of noise say."""

from __future__ import annotations

import math

from surepick.arrays.validate import probability
from surepick.problem import Problem
from surepick.run.diagnostics.finding import Finding
from surepick.statistics.triples import Triples

#: kinds of noise that promise it
SYMMETRIC = ("symmetric", "equal")
_FEWEST = 30  # triples without which silence says little
_NAMED = 3


def skewed_noise(problem: Problem, triples: Triples, *, level: float = 0.01) -> Finding:
    """Whether rewards reach further to one side of their mean than to the other.

    Parameters
    ----------
    problem
        For its labels.
    triples
        Rewards of the same arm, three at a time.
    level
        Probability of ever raising a false alarm where noise is symmetric.

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
        text = "Whether rewards are symmetric around their mean cannot be said yet: too few so far."
        if not blind:
            text = "No sign so far that rewards reach further to one side than to the other."
        return Finding(False, evidence, level, text, blind=blind)
    odd = triples.leaning()[:_NAMED] if len(triples.arms) > 1 else []
    shown = ", ".join(repr(problem.labels[arm]) for arm in odd)
    text = (
        f"Rewards reach further to one side of their mean than to the other"
        f"{f', most clearly those of {shown}' if shown else ''}. The guarantee rests on noise that "
        f"is as likely to be above as below by the same amount; times, amounts and counts are not "
        f"like that. If rewards have bounds, or can be cut at one, say so (noise=(0, 100), "
        f"--rewards 0..100). If it is their logarithm that matters, measure that."
    )
    return Finding(True, evidence, level, text, tuple(odd))
