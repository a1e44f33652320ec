"""Whether arms that a certificate says were pulled first are those that algorithms begin with.

Part of the verifier: nothing here is shared with the designs of the algorithms.
"""

from __future__ import annotations

import numpy as np

from surepick.verifier.rows import Rows

_AS_FAR = 1e-6  # relative difference of two squared distances that rounding may make
_SAMPLED = 1024  # arms among which those that span are looked for, where there are very many
_PER_DIMENSION = 16


def are_spread(rows: np.ndarray, first: np.ndarray) -> bool:
    """Whether some rows are, one after the other, those farthest from the span of the others.

    In which order is not said: the one that is farthest now must be as far as any row is.
    """
    left, waiting = rows.copy(), list(first)
    while waiting:
        lengths = np.einsum("ij,ij->i", left, left)
        farthest = max(waiting, key=lambda row: lengths[row])
        if lengths[farthest] < (1 - _AS_FAR) * lengths.max():
            return False
        unit = left[farthest] / np.sqrt(lengths[farthest])
        left -= np.outer(left @ unit, unit)
        waiting.remove(farthest)
    return True


def span_by_rule(arms: Rows, whiten: np.ndarray, first: np.ndarray) -> bool:
    """Whether these arms are those that algorithms pull first: spread among all, or a sample."""
    total, rank = len(arms), whiten.shape[1]
    if len(first) != rank or len(np.unique(first)) != rank:
        return False
    count = max(_SAMPLED, _PER_DIMENSION * rank)
    while True:
        step = max(1, total // count)
        sample = np.arange(0, total, step)
        places = np.searchsorted(sample, first)
        listed = places < len(sample)
        listed[listed] = sample[places[listed]] == first[listed]
        if listed.all() and are_spread(arms[sample] @ whiten, places):
            return True
        if step == 1:
            return False
        count *= 8
