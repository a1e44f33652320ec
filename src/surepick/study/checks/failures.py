"""Whether failed measurements can have biased the result.

A failed measurement is made again, so only rewards of measurements that succeed are seen. If
failing has nothing to do with the reward, that is harmless; that it has not is a condition of the
promise wherever something was measured again (``run.guarantee``). If low (or high) rewards fail
more often, the means are those of the rewards that got through, and no guarantee holds. The rewards
of failed measurements are not known, so this cannot be tested directly. But failures that depend on
the reward hit arms unevenly, and that can be tested.

The rule. Counted are failures and leases that ran out, per arm. An arm is named when it has at
least 3 of them and, if all failures had been dealt out to all attempts at random, so many on
this arm would have had a probability below 0.001 / K (Fisher's exact test, one-sided). The
whole study is named when it has at least 10 and they are more than 30 % of all attempts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FEWEST, LEVEL = 3, 0.001
MOST, FEWEST_IN_ALL = 0.30, 10


def remark(failed: NDArray) -> list[str]:
    """On what the promise of a study rests where measurements were made again.

    Examples
    --------
    >>> print(*remark(np.array([2, 0, 1])))
    3 measurements failed or came too late, and were made again. The promise holds if the \
failures had nothing to do with their results. If bad or slow measurements are the ones that fail, \
report a number for each failure, such as the worst possible reward.
    """
    count = int(failed.sum())
    if not count:
        return []
    many, had = ("1 measurement", "was") if count == 1 else (f"{count:,} measurements", "were")
    return [
        f"{many} failed or came too late, and {had} made again. The promise holds if the failures "
        f"had nothing to do with {'its result' if count == 1 else 'their results'}. If bad or "
        "slow measurements are the ones that fail, report a number for each failure, such as the "
        "worst possible reward."
    ]


def warnings(failed: NDArray, told: NDArray, labels: Sequence[str]) -> list[str]:
    """What is suspicious about failed measurements of each arm, in sentences; empty: nothing."""
    found = [
        f"{labels[k]!r} failed {failed[k]} of {failed[k] + told[k]} times, far more often than "
        "the other arms"
        for k in uneven(failed, told)
    ]
    attempts = int(failed.sum() + told.sum())
    if failed.sum() >= FEWEST_IN_ALL and failed.sum() > MOST * attempts:
        found.append(f"{failed.sum()} of {attempts} measurements failed")
    return found


def uneven(failed: NDArray, told: NDArray) -> list[int]:
    """The arms that fail too often, compared with all others together."""
    suspects = np.flatnonzero(failed >= FEWEST)
    if not len(suspects):
        return []
    from scipy.stats import hypergeom

    attempts = failed + told
    tail = hypergeom.sf(  # P(at least this many of all failures on this arm)
        failed[suspects] - 1, attempts.sum(), failed.sum(), attempts[suspects]
    )
    return [int(k) for k, p in zip(suspects, tail) if p < LEVEL / len(failed)]
