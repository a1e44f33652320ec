"""Where an answer may also be accepted as close enough: which share of the capital is for that.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math

import numpy as np

_ACCEPTING = 0.05  # fixed before anything was measured
RACING = math.log(1.0 - _ACCEPTING)  #: log of the share that rules options out
ACCEPTING = math.log(_ACCEPTING)  #: of the share that shows closeness


def of_leader(number: int, several: int = 1) -> float:
    """Log of the share on closeness to one that led: the first is number 0.

    So many that lead at once have the same share; over all that ever lead they add up to all of it.
    """
    turn = 1 + number // several
    return ACCEPTING - math.log(several * turn * (turn + 1))


def beside(racing: np.ndarray, close: np.ndarray) -> np.ndarray:
    """Both shares together, of the same moment: what settles an option beside one that is named."""
    return np.logaddexp(racing, close)
