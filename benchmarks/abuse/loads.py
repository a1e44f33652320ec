"""Attackers who are let in: large bodies, wide asks, rewards in vain, long heads, uploads.

Each is a function of a port, a token and a study, which goes on until it is over and returns how
often it got which status. They do what costs the service most for what it costs them: what
they send is made once, before they begin.
"""

from __future__ import annotations

import http.client
import json
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import httpx2
from benchmarks.abuse import attackers, prepared

_LARGE = 16 * 2**20 - 4096  # bytes of a body
_API = "/api/v1"


class Goes(Protocol):
    """What an attacker does until it is over."""

    def __call__(self, port: int, token: str, study: str, over: Any) -> Counter[int]: ...


@dataclass(frozen=True)
class Load:
    """A kind of attacker, how many there are of it, and what each is let in for."""

    goes: Goes
    count: int
    role: str = "worker"
    study: str = prepared.TOLD  #: of those that everybody attacks; with {}, of each its own


def _again(port: int, token: str, over: Any, path: str, *bodies: bytes) -> Counter[int]:
    """Send these bodies again and again; who is told to wait waits for a moment."""
    connection, statuses = attackers.connection(port, token), Counter[int]()
    while not over.is_set():
        for body in bodies:
            status, _ = connection.send("POST", path, body)
            statuses[status] += 1
            if status in (0, 429):
                time.sleep(0.05)
            if over.is_set():
                break
    return statuses


def _padded(content: str, size: int = _LARGE) -> str:
    """The same table, with so many empty lines that it is large."""
    return content + "\n" * ((size - len(content)) // 2)  # a line's end is two letters of JSON


# -- reports ------------------------------------------------------------------------------------
@cache
def _unknown_report() -> bytes:
    cells = {f"nobody {i}": [1, 0] for i in range(_LARGE // 32)}
    return json.dumps({"period": "never", "report": cells}).encode()


def record_refused(port: int, token: str, study: str, over: Any) -> Counter[int]:
    """Reports of 16 MB about options that there are not."""
    return _again(port, token, over, f"{_API}/studies/{study}/acts/record", _unknown_report())


def record_accepted(port: int, token: str, study: str, over: Any) -> Counter[int]:
    """Reports of 16 MB, nearly all of it empty lines, that count."""
    connection, statuses, place = attackers.connection(port, token), Counter[int](), 0
    path = f"{_API}/studies/{study}"
    while not over.is_set():
        place += 1
        asked = json.dumps({"period": f"{time.time_ns()}", "visits": 4000}).encode()
        status, content = connection.send("POST", f"{path}/split", asked)
        if status != 200:
            statuses[status] += 1
            time.sleep(0.05)
            continue
        shares = json.loads(content)
        rows = "".join(f"{label},{n},{n // 50}\n" for label, n in shares["visits"].items() if n)
        table = {"csv": _padded("label,visits,successes\n" + rows)}
        body = json.dumps({"period": shares["period"], "table": table}).encode()
        status = 0
        while status != 200 and not over.is_set():
            status, content = connection.send("POST", f"{path}/acts/record", body)
            statuses[status] += 1
            if status != 200:
                time.sleep(0.05)
    return statuses


# -- asks and tells -----------------------------------------------------------------------------
def wide_asks(port: int, token: str, study: str, over: Any) -> Counter[int]:
    """10,000 pulls at once, for no time at all and for as little as is allowed."""
    bodies = [json.dumps({"n": 10_000, "lease": lease}).encode() for lease in (0.001, 10.0)]
    return _again(port, token, over, f"{_API}/studies/{study}/ask", *bodies)


_LAST = ((0, 0.5), (10**9, 0.5), (0, "x"))  # told, no pull, and no reward


@cache
def _rewards(last: tuple[int, Any]) -> bytes:
    """10,000 rewards, all but the last of pulls that others have told."""
    told = [{"pull": pull, "reward": 0.5} for pull in range(prepared.TOLD_PULLS - 1)]
    return json.dumps({"rewards": [*told, {"pull": last[0], "reward": last[1]}]}).encode()


def in_vain(port: int, token: str, study: str, over: Any) -> Counter[int]:
    """10,000 rewards at once of pulls that others have told, and 10,000 of which one is no pull."""
    bodies = (_rewards(last) for last in _LAST[:2])
    return _again(port, token, over, f"{_API}/studies/{study}/tell", *bodies)


def misspelt(port: int, token: str, study: str, over: Any) -> Counter[int]:
    """10,000 rewards at once, the last of which is none."""
    return _again(port, token, over, f"{_API}/studies/{study}/tell", _rewards(_LAST[2]))


# -- heads --------------------------------------------------------------------------------------
def heads(port: int, token: str, study: str, over: Any) -> Counter[int]:
    """Addresses of 45 KB, and 6,000 headers, by turns and each over a connection of its own."""
    statuses, first = Counter[int](), f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
    path = f"{_API}/studies/" + "%2f" * 15_000
    many = "".join(f"x{i}: 1\r\n" for i in range(6000))
    heads = [
        f"GET {path} HTTP/1.1\r\n{first}\r\n".encode(),
        f"GET {_API}/studies HTTP/1.1\r\n{first}{many}\r\n".encode(),
    ]
    while not over.is_set():
        for head in heads:
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                line.connect()
                line.sock.sendall(head)
                statuses[int(line.sock.recv(64)[9:12])] += 1
            except (OSError, ValueError):
                statuses[0] += 1
            finally:
                line.close()
    return statuses


# -- uploads ------------------------------------------------------------------------------------
@cache
def _formulas() -> list[bytes]:
    made = (prepared.crossed_categories(), prepared.high_power())
    return [json.dumps(one).encode() for one in made]


def formulas(port: int, token: str, study: str, over: Any) -> Counter[int]:
    """Tables whose formulas make too much of them."""
    return _again(port, token, over, f"{_API}/studies", *_formulas())


@cache
def _tables() -> list[bytes]:
    bodies = [prepared.many_columns()["table"], {"csv": _padded("label,a\nx,1\ny,2\n")}]
    return [json.dumps(one).encode() for one in bodies]


def tables(port: int, token: str, study: str, over: Any) -> Counter[int]:
    """Tables of 16 MB to look at: too many columns, and empty lines."""
    return _again(port, token, over, f"{_API}/tables", *_tables())


def plans(port: int, token: str, study: str, over: Any) -> Counter[int]:
    """Forecasts for a table of 2,000 options."""
    lines = "".join(f"o{i},{i % 7},{i % 11},{i % 13}\n" for i in range(2000))
    body = {"csv": "label,a,b,c\n" + lines, "noise": 1.0, "gap": 0.1, "delta": 1e-6}
    return _again(port, token, over, f"{_API}/plan", json.dumps(body).encode())


LOADS = {
    "record-refused": Load(record_refused, 2, study="site {}"),
    "record-accepted": Load(record_accepted, 2, study="site {}"),
    "wide-asks": Load(wide_asks, 4),
    "in-vain": Load(in_vain, 4),
    "misspelt": Load(misspelt, 4),
    "heads": Load(heads, 8),
    "formulas": Load(formulas, 2, "admin"),
    "tables": Load(tables, 2, "admin"),
    "plans": Load(plans, 2, "admin"),
}


def let_in(api: httpx2.Client, kind: str) -> list[tuple[str, str]]:
    """A token for each attacker of a kind, and the study that it attacks."""
    load, found = LOADS[kind], []
    _unknown_report(), _formulas(), _tables(), [_rewards(x) for x in _LAST]  # not while it attacks
    for place in range(load.count):
        study = load.study.format(f"{kind} {place}")
        if study != load.study:
            prepared.site(api, study)
        wanted = {"role": load.role} | ({"studies": [study]} if load.role == "worker" else {})
        reply = api.post(f"{_API}/tokens", json=wanted)
        found.append((reply.raise_for_status().json()["token"], study.replace(" ", "%20")))
    return found
