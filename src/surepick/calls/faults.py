"""What an error says about trying again.

Libraries that call out tell it in much the same ways: an error has a status (``status_code``,
``code``, ``response.status_code``) and perhaps headers, one of which says when to come back. A
command tells it by what it says last. Libraries are known by the names of their errors, so that
none of them has to be there.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["refused", "passing", "final", "broken", "unknown"]

#: the longest that a service may ask everybody to wait, in seconds
LONGEST = 900.0
_TOO_MANY = 429
#: seconds, by the names of headers (in small letters) that say when to come back
_LATER = {"retry-after-ms": 0.001, "retry-after": 1.0}
_NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached")
_PASSING = (408, 409, 425)
_BROKEN = {
    401: "the service does not know who calls: check the key, and that it is set where this runs",
    402: "the service wants to be paid: look at the account",
    403: "the service does not allow this: check what the key may do",
    404: "there is nothing at this address: check the address, and the name of the model",
    405: "the service does not take such calls at this address: check the address",
    407: "a proxy wants to know who calls: check its settings",
}
_OWN = "the function itself is wrong; what it said is in the log of measurements"
_NO_CREDIT = "the account has no credit left: top it up, or wait until it is renewed"
_NO_SCORE = (
    "it is not tried again, as it would fail again; where such an answer is a bad one, let the "
    "function return the worst score instead"
)
# Names of errors, of libraries that need not be installed: requests, httpx, httpx2, aiohttp, …
_LOST = {
    *("TransportError", "APIConnectionError", "ClientConnectionError", "ConnectionError"),
    *("EndpointConnectionError", "HTTPException", "ServiceUnreachableError", "URLError"),
}
_LATE = {"TimeoutException", "Timeout", "APITimeoutError", "ReadTimeoutError", "TimeoutError"}
_CONNECTING = {"ConnectTimeout", "ConnectTimeoutError"}
_BUSY = {"RateLimitError", "TooManyRequestsError", "ResourceExhausted", "Throttling"}
_AWAY = {"InternalServerError", "ServiceUnavailableError", "OverloadedError", "ServiceUnavailable"}
_WRONG = {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError", "MissingSchema"}
_PROGRAM = (TypeError, NameError, AttributeError, ImportError, SyntaxError)
# What a command may say at its end: "HTTP 429", "error: 503", "Retry-After: 20".
_STATUS = re.compile(
    r"\b(?:error|status|code|https?(?:/\d(?:\.\d)?)?)\b\D{0,20}\b([345]\d\d)\b", re.I
)
_AFTER = re.compile(r"retry[- ]after\D{0,3}(\d+(?:\.\d+)?)", re.I)
_TRY_LATER = 75  # the exit code that says so (sysexits.h)


@dataclass(frozen=True)
class Fault:
    """What an error means for the next try.

    - ``refused``: too many calls; all of them wait, and the call was not made
    - ``passing``: it may work later, so it is tried again after a while
    - ``unknown``: nobody knows, so it is tried again
    - ``final``: this call would fail again; others may work
    - ``broken``: all of them would fail
    """

    kind: Kind = "unknown"
    after: float | None = None  #: seconds to wait, where somebody said so
    cure: str = ""
    of_service: bool = False  #: it says that the service is away, and nothing about this call

    @property
    def again(self) -> bool:
        return self.kind in ("refused", "passing", "unknown")


UNKNOWN = Fault()


def fault_of(error: BaseException) -> Fault:
    """What an error of a function means."""
    for one in _causes(error):
        after, status = _after(one), _status(one)
        if status is not None:
            if getattr(one, "code", None) in _NO_MONEY:
                return Fault("broken", cure=_NO_CREDIT)
            return of_status(status, after)
        found = _by_type(one, after)
        if found is not None:
            return found
    return UNKNOWN


def of_status(status: int, after: float | None = None) -> Fault:
    """What an answer with this status means."""
    if status == _TOO_MANY or (status == 503 and after is not None):
        return Fault("refused", after)
    if status >= 500 or status in _PASSING:
        return Fault("passing", after)
    if status in _BROKEN:
        return Fault("broken", cure=_BROKEN[status])
    return Fault("final", cure=_NO_SCORE)


def of_command(code: int, said: str) -> Fault:
    """What the end of a command means, by its exit code and what it said last."""
    lines = [line for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    after, status = _AFTER.search(last), _STATUS.search(last)
    seconds = None if after is None else float(after[1])
    if status is not None:
        return of_status(int(status[1]), seconds)
    if seconds is not None:
        return Fault("refused", seconds)
    return Fault("passing") if code == _TRY_LATER else UNKNOWN


class InARow:
    """Failures since something worked last: is it this call, or is nothing working any more?

    Where the scores of a finite table are filled in, a cell that cannot be measured counts by the
    rule of the table (:mod:`surepick.calls.rule`). That must not happen because the service is away
    or the function is wrong. So something else has to be seen to work after the call has failed:
    whatever comes next, or a call that worked, made once more.
    """

    def __init__(self) -> None:
        self.count = 0  #: failures since something worked
        self.moment = 0  #: calls so far
        self._last = 0  # of them, the one that worked last
        self._which: set[str] = set()

    @property
    def ever(self) -> bool:
        """Whether anything has worked."""
        return self._last > 0

    def worked(self) -> None:
        self.moment += 1
        self.count, self._last = 0, self.moment
        self._which.clear()

    def failed(self, which: Any) -> None:
        """This call did not; calls are told apart by how their arguments are written."""
        self.moment += 1
        self.count += 1
        self._which.add(repr(which))

    def worked_since(self, moment: int) -> bool:
        """Whether something worked after that moment."""
        return self._last > moment

    @property
    def different(self) -> int:
        """How many different calls have failed since something worked."""
        return len(self._which)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it was raised from."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__


def _by_type(error: BaseException, after: float | None) -> Fault | None:
    names = {kind.__name__ for kind in type(error).__mro__}
    late = names & _LATE  # a call that was made, and whose answer may have been a bad one
    if names & _BUSY or (after is not None and not late):
        return Fault("refused", after)
    if names & _WRONG:
        return Fault("broken", cure="the address is none that can be called: check it")
    if names & _LOST and (names & _CONNECTING or not late):
        return Fault("passing", of_service=True)
    if late or names & _AWAY:
        return Fault("passing", after)
    if isinstance(error, _PROGRAM):
        return Fault("final", cure=_OWN)
    return Fault("final", cure=_NO_SCORE) if isinstance(error, ValueError) else None


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore
        found = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return found if _is_status(found) else None
    places = ((error, ("status_code", "status", "code")), (response, ("status_code", "status")))
    for place, names in places:
        for name in names:
            found = getattr(place, name, None)
            if _is_status(found):
                return found
    return None


def _is_status(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and 400 <= found <= 599


def _after(error: BaseException) -> float | None:
    own = getattr(error, "retry_after", None)
    if isinstance(own, int | float) and not isinstance(own, bool):
        return max(0.0, float(own))
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        headers = response.get("ResponseMetadata", {}).get("HTTPHeaders")
    else:
        headers = getattr(response, "headers", None) or getattr(error, "headers", None)
    if headers is None:
        return None
    try:
        named = {str(name).lower(): str(value) for name, value in headers.items()}
    except (AttributeError, TypeError, ValueError):
        return None
    for name, unit in _LATER.items():
        if name in named:
            found = _seconds(named[name])
            return None if found is None else found * unit
    return None


def _seconds(text: str) -> float | None:
    """What such a header says: seconds, or a date."""
    try:
        found = float(text)
    except ValueError:
        import email.utils

        try:
            found = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (TypeError, ValueError):
            return None
    return max(0.0, found) if found < float("inf") else None
