"""What workers are charged for, before the work is done: requests, pulls, and rewards."""

from __future__ import annotations

import math

from surepick.errors import TooManyRequestsError
from surepick.server.limits import Rate

_TOGETHER = 10  # pulls asked for together, or rewards told together, that count as a request
_USELESS = "too many of the rewards told with this token did not count (late, or other values)"


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
        self._most = rate
        self._useless = Rate(rate / 100, rate)

    def pulls(self, token: str, n: int) -> None:
        """Charge so many pulls that are asked for at once, or say when to come back."""
        _charge(self.work, token, n / _TOGETHER, "too many pulls are asked for")

    def rewards(self, token: str, n: int) -> None:
        """Charge so many rewards that are told at once, as if none of them would count.

        They are given back when it is known which do (:meth:`give_back`). Only the price of as many
        as may come at once is asked for beforehand: whoever tells more in one piece does honest
        work, or does so for the last time.
        """
        _charge(self.work, token, n / _TOGETHER, "too many rewards are told")
        _charge(self._useless, token, min(n, self._most), _USELESS)

    def give_back(self, token: str, n: int) -> None:
        """These rewards were worked on; those that did not count are charged by themselves."""
        self._useless.give_back(token, min(n, self._most))

    def useless(self, token: str, n: int) -> None:
        """So many rewards did not count."""
        self._useless.owe(token, n)


def _charge(rate: Rate, token: str, cost: float, why: str) -> None:
    wait = math.ceil(rate.wait(token, cost))
    if wait:
        error = TooManyRequestsError(f"{why}; come back in {wait} s")
        error.wait = wait
        raise error
