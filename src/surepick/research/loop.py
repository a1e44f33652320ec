"""Many pulls of a fully adaptive algorithm in one compiled loop, over the very rule of ask/tell.

Each rule has the loop as ``many``, compiled in the file of its kernels: Numba keeps compiled code
on disk only if no function is handed to it, and anew in every process it would take seconds.
"""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

from numba import njit


@njit(inline="always")
def loop(update, choose, memory, arm, means, noise, pulls, sums):
    """Pull, update, choose, until the noise runs out or the rule says STOP or NEED."""
    for t in range(noise.shape[0]):
        reward = means[arm] + noise[t]
        pulls[arm] += 1
        sums[arm] += reward
        update(memory, arm, reward)
        arm = choose(memory)
        if arm < 0:
            return arm, t + 1
    return arm, noise.shape[0]
