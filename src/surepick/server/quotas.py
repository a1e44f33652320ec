"""Quotas: how much anyone may ask of the service, and what is charged before the work is done."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from functools import lru_cache

from surepick.errors import TooManyRequestsError

_KEPT = 10_000  # callers remembered
_LONGEST = 60.0  # seconds to wait for what was done already


class Rate:
    """A bucket for each caller that fills at ``rate`` per second and holds ``burst``."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # level, when

    def wait(self, caller: str, cost: float = 1.0) -> float:
        """Seconds that the caller must wait; 0: let through (and counted).

        Nothing costs more than the bucket holds: it would never be let through.
        """
        now, cost = time.monotonic(), min(cost, self._burst)
        level, when = self._buckets.get(caller, (self._burst, now))
        level = min(self._burst, level + (now - when) * self._rate)
        if level < cost:
            return (cost - level) / self._rate
        self._buckets[caller] = (level - cost, now)
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _KEPT:
            self._buckets.popitem(last=False)
        return 0.0

    def take(self, caller: str, most: float) -> tuple[float, float]:
        """Take as much as there is, ``most`` at most: how much that is, and seconds to wait.

        Only who owes something, or finds nothing, has to wait.
        """
        self.wait(caller, 0.0)
        level, when = self._buckets.get(caller, (self._burst, time.monotonic()))
        level = min(self._burst, level + (time.monotonic() - when) * self._rate)
        if level <= 0.0:
            return 0.0, max(-level / self._rate, 1e-3)
        taken = min(most, level)
        self._buckets[caller] = (level - taken, time.monotonic())
        return taken, 0.0

    def owe(self, caller: str, cost: float) -> None:
        """Count what has been done already, even if that is more than there was.

        Nobody waits for more than a minute because of it: many workers may share a token.
        """
        self.wait(caller, 0.0)
        level, when = self._buckets.get(caller, (self._burst, time.monotonic()))
        self._buckets[caller] = (max(level - cost, -_LONGEST * self._rate), when)

    def give_back(self, caller: str, cost: float = 1.0) -> None:
        """Undo the count of a request that turned out to be none of those."""
        level, when = self._buckets.get(caller, (self._burst, time.monotonic()))
        self._buckets[caller] = (min(self._burst, level + cost), when)


@lru_cache(maxsize=4096)
def neighbourhood(address: str) -> str:
    """What is counted as one address: of IPv6, where anybody has billions, the network."""
    try:
        given = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(given, ipaddress.IPv4Address):
        return address
    if given.ipv4_mapped is not None:
        return str(given.ipv4_mapped)
    return str(ipaddress.ip_network((int(given) >> 64 << 64, 64)))


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
    """What each token may ask of this process: ``rate`` requests of workers per second."""

    def __init__(self, rate: float) -> None:
        self.work = several(rate)
        self._useless = Rate(rate / 100, rate)

    def pulls(self, token: str, n: int) -> None:
        """Charge so many measurements that are asked for at once, or say when to come back."""
        _charge(self.work, token, n / _TOGETHER, "too many measurements were requested")

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
    if wait:
        error = TooManyRequestsError(f"{why}; try again in {math.ceil(wait)} s")
        error.wait = math.ceil(wait)
        raise error
