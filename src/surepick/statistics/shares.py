"""Shares of wins, with ends that hold at any time, whoever was compared with whom.

Whether an option wins its next comparison depends on whom it meets, and whom it meets on what was
seen before. So the share that it won estimates the average of its chances in the comparisons that
were made. S is the sum of results less chances: each lies within an interval of length 1 around a
mean of 0, so exp(l S - l² n / 8) is a supermartingale for every l (Hoeffding). Mixed over l ~
N(0, 1/r), it is sqrt(r / (n/4 + r)) exp(S² / (2 (n/4 + r))), which reaches 1/delta at any time with
probability delta at most (Ville; the mixture is Robbins's).
"""

from __future__ import annotations

import numpy as np

from surepick.arrays.types import FloatArray

_R = 1.5  # narrowest after some fifty comparisons


def share_ends(won: FloatArray, met: FloatArray, delta: float) -> tuple[FloatArray, FloatArray]:
    """Between what each average chance lies, each with probability 1 - delta at all times."""
    spread = met / 4 + _R
    radius = np.sqrt(spread * (np.log(spread / _R) - 2 * np.log(delta)))
    share = np.divide(won, met, out=np.full(len(met), 0.5), where=met > 0)
    reach = np.divide(radius, met, out=np.ones(len(met)), where=met > 0)
    return np.clip(share - reach, 0.0, 1.0), np.clip(share + reach, 0.0, 1.0)


def log_evidence_of_side(first: int, second: int) -> float:
    """Log evidence against "which of two is preferred has nothing to do with where it is shown".

    Who is shown first is drawn by a fair coin, so then the first one is preferred with probability
    ½ in each comparison that is no tie, whatever happened before: the likelihood of a bias that is
    drawn uniformly from 0 to 1, over that of ½, is a martingale that starts at 1.

    Examples
    --------
    >>> bool(log_evidence_of_side(12, 0) > np.log(300)), log_evidence_of_side(0, 0)
    (True, 0.0)
    """
    from math import lgamma, log

    n = first + second
    return n * log(2) + lgamma(first + 1) + lgamma(second + 1) - lgamma(n + 2)
