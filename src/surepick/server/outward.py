"""Requests to addresses that people name: none into a private network, unless that is allowed.

A name is looked up once for every request, and the request goes to the address that was looked at:
a name that means a private address a moment later gets nothing. Nothing is redirected.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from surepick.errors import InvalidInputError, MissingExtraError, ServiceError

_TIMEOUT = 10.0  # for an answer
_LONGEST = 2000  # letters of an address


class Reply(NamedTuple):
    """What came back."""

    status: int
    content: bytes


def check_url(url: str, private: bool) -> None:
    """Refuse what is no address to send to, or one in a private network, unless that is allowed."""
    where = urlsplit(url)
    schemes = ("https", "http") if private else ("https",)
    if where.scheme not in schemes or not where.hostname or len(url) > _LONGEST:
        hint = "" if private else " (http:// only within a private network: --private)"
        raise InvalidInputError(f"url: an address that begins with https:// is needed{hint}")
    if where.username or where.password:
        raise InvalidInputError("url: leave out the user name and the password")
    if not private:
        try:
            addresses_of(where.hostname, where.port or 443, private)
        except OSError:
            return  # the name is not known here now; it is looked up again for every request


def addresses_of(host: str, port: int, private: bool) -> list[str]:
    """The addresses of a host; private ones are refused, unless they are allowed."""
    found = [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for one in found:
        if not private and not _is_public(one):
            raise InvalidInputError(
                f"url: {host} is {one}, an address of a private network; if you mean one of those, "
                "say so (--private)"
            )
    return found


def post(url: str, body: bytes, headers: dict[str, str], private: bool, most: int = 0) -> Reply:
    """Send something to an address, and read up to ``most`` bytes of what comes back.

    Raises
    ------
    InvalidInputError
        Where the address lies in a private network, and that is not allowed.
    ServiceError
        Where nobody answers, or more than that comes back.
    """
    try:
        import httpx2
    except ImportError:
        raise MissingExtraError("requests need httpx2; install surepick[client]") from None
    where = httpx2.URL(url)
    port = where.port or (443 if where.scheme == "https" else 80)
    to = where.copy_with(host=addresses_of(where.host, port, private)[0])
    headers = headers | {"host": where.netloc.decode(), "user-agent": "surepick"}
    extensions = {"sni_hostname": where.host} if where.scheme == "https" else {}
    content = b""
    try:
        with (
            httpx2.Client(timeout=_TIMEOUT, follow_redirects=False, trust_env=False) as client,
            client.stream(
                "POST", to, content=body, headers=headers, extensions=extensions
            ) as reply,
        ):
            for piece in reply.iter_bytes() if most else ():
                content += piece
                if len(content) > most:
                    raise ServiceError(f"{where.host} answers more than {most:,} bytes")
            return Reply(reply.status_code, content)
    except httpx2.HTTPError as error:
        raise ServiceError(f"{where.host} cannot be reached: {error}") from None


def _is_public(address: str) -> bool:
    number = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(number, "ipv4_mapped", None) or getattr(number, "sixtofour", None)
    return number.is_global and not number.is_multicast and (inner is None or inner.is_global)
