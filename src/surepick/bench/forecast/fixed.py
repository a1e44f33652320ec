"""Two tests with a number of measurements fixed in advance, which use no features.

Both measure every one of the K options n times. v is the variance of one measurement of the best
option plus that of one of the second best: 2σ² where all have the same scale, and
p(1 − p) + q(1 − q) for yes/no rewards with the rates p and q.

- A/B/n test: an option wins if it beats every other one at the Bonferroni-corrected one-sided
  level delta/(K − 1); a wrong winner must beat the best one, so it appears with probability at most
  delta whatever the truth. For the best to win with probability 1 − delta when it leads by the
  gap, each of the K − 1 comparisons may fail with probability delta/(K − 1), which takes

      n = v (z + z)² / gap²,   z the normal quantile of 1 − delta/(K − 1).

- Largest average: pick the option with the largest average. It takes a quarter,
  n = v z² / gap², but is right only if the lead is known to be at least the gap.
"""

from __future__ import annotations

import math

AB_TEST, LARGEST = "A/B/n test", "largest average"


def fixed_sample(options: int, variance: float, gap: float, delta: float) -> dict[str, int]:
    """Measurements that the two tests take in all; ``variance`` is that of a difference.

    Examples
    --------
    >>> fixed_sample(2, variance=2.0, gap=1.0, delta=0.05)
    {'A/B/n test': 44, 'largest average': 12}
    """
    from scipy.special import ndtri

    z = max(-float(ndtri(delta / (options - 1))), 0.0)
    each = variance * (z / gap) ** 2
    return {
        AB_TEST: options * max(math.ceil(4 * each), 1),
        LARGEST: options * max(math.ceil(each), 1),
    }
