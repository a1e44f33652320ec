"""How sure an answer is that may not be proven: the p-value of "another one is the best".

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check


def check_p_value(
    check: Check, candidates: np.ndarray, log_capital: np.ndarray, rounding: float
) -> None:
    """The least capital against anybody else decides it; a claim need not give one.

    Why that is one: while another candidate b is the best, the capital against b ever reaches 1/p
    with probability at most p, and the least one is not above it.
    """
    if "p_value" not in check.claim:
        return
    claimed = exact.number(check.claim["p_value"], "the claim's p-value")
    others = candidates != check.first_like(check.claim["candidate"])
    due = math.exp(-max(float(log_capital[others].min(initial=math.inf)), 0.0))
    check.demand(
        abs(claimed - due) <= due * (1e-6 + rounding),
        f"its p-value is given as {claimed:g}, but the data give {due:g}",
    )
