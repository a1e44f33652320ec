"""Into how many parts the pulls of a block are dealt, where bets are made part by part.

No part pays more than log 2, so more parts make more of a clear lead; but every arm that is pulled
has to be pulled in each of them, so fewer arms can be.
"""

from __future__ import annotations

import numpy as np

from surepick.arrays.types import FloatArray

PARTS = (1, 2, 4, 8, 16, 32)  # to choose from
# Where a lead has g standard errors in each of m parts, the bets make about (m/2) g² / (1 + g²/2):
# as if its nats took this share of 1/m blocks more.
PART_COST = 0.5
PART_CUTS = (0.6, 0.3, 0.05)  # arms due less than so much of a pull in each part get none
# Pulls that do not span get a ridge; a direction with this share of it outside is not measured. By
# its variance alone it may seem to be, where leads are clearer than the ridge is small.
OPEN = 1e-3
HOPELESS = 100.0  # blocks of this kind that a lead would take: more are all the same


def cost_in_parts(variances: FloatArray, shares: FloatArray, nats: FloatArray, m: int) -> float:
    """How many such blocks the leads take, on average: over their shares, and over all alike.

    ``variances`` are those of directions scaled as in a design: half of one is what the lead
    takes of a whole block, and ``nats`` is the log capital that it lacks.
    """
    blocks = np.minimum(0.5 * variances + PART_COST * nats / m, HOPELESS)
    return float(blocks @ shares + blocks.mean())
