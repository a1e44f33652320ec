"""What workers are charged for, before the work is done: requests, pulls, and rewards."""

from __future__ import annotations

import math

from surepick.errors import TooManyRequestsError
from surepick.server.limits import Rate

_TOGETHER = 10  # pulls asked for together, or rewards told together, that count as a request
#: why somebody may not tell rewards now
USELESS = (
    "too many of the rewards sent with this token did not count (too late, or different from the "
    "first)"
)


def several(rate: float) -> Rate:
    """So many a second; twice as many, and 20, at once."""
    return Rate(rate, 20 + 2 * rate)


class Charges:
    """What each token may ask of this process.

    Parameters
    ----------
    rate
        Requests of workers per second; of rewards that do not count a hundredth, and ``rate`` at
        once.
    """

    def __init__(self, rate: float) -> None:
        self.work = several(rate)
        self._useless = Rate(rate / 100, rate)

    def pulls(self, token: str, n: int) -> None:
        """Charge so many pulls that are asked for at once, or say when to come back."""
        _charge(self.work, token, n / _TOGETHER, "too many pulls were requested")

    def rewards(self, token: str, n: int) -> float:
        """Charge so many rewards that are told at once, as if none of them would count.

        Returns what to give back when it is known which do (:meth:`settle`); until then, others
        with the same token do not find it.
        """
        _charge(self.work, token, n / _TOGETHER, "too many rewards were sent")
        taken, wait = self._useless.take(token, n)
        _refuse(wait, USELESS)
        return taken

    def debt(self, token: str) -> float:
        """Seconds that this token has to wait until it may tell rewards again."""
        return self._useless.take(token, 0.0)[1]

    def settle(self, token: str, taken: float, useless: int) -> None:
        """What :meth:`rewards` took is given back; so many of them did not count, which is owed."""
        self._useless.give_back(token, taken)
        if useless:
            self._useless.owe(token, useless)


def _charge(rate: Rate, token: str, cost: float, why: str) -> None:
    _refuse(rate.wait(token, cost), why)


def _refuse(wait: float, why: str) -> None:
    """Say when to come back, where somebody has to wait."""
    if wait:
        error = TooManyRequestsError(f"{why}; try again in {math.ceil(wait)} s")
        error.wait = math.ceil(wait)
        raise error
