"""Whether rewards are as likely to be above their mean as below, as some kinds of noise say."""

from __future__ import annotations

import math

from surepick.arrays.validate import probability
from surepick.problem import Problem
from surepick.run.diagnostics.finding import Finding
from surepick.statistics.triples import Triples

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
