"""Requests to addresses that people name: none into a private network, unless that is allowed.

A name is looked up once for every request, and the request goes to an address that was looked at:
a name that means a private address a moment later gets nothing. Nothing is redirected. All of it,
the look-up included, has to be over in time, however slowly the other end answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, urlsplit

from surepick.errors import InvalidInputError, MissingExtraError, ServiceError

_SECONDS = 10.0  # for all of a request
_LONGEST = 2000  # letters of an address
_GLOBAL = ipaddress.ip_network("2000::/3")  # all that IPv6 has for the public so far
_COMPATIBLE = ipaddress.ip_network("::/96")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
T = TypeVar("T")


class Reply(NamedTuple):
    """What came back."""

    status: int
    content: bytes


def check_url(url: str, private: bool) -> None:
    """Refuse what is no address to send to, or one in a private network, unless that is allowed."""
    where = _parts(url)
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


def _parts(url: str) -> SplitResult:
    if not url.isprintable() or " " in url:
        raise InvalidInputError("url: an address has no spaces, line ends or control characters")
    try:
        where = urlsplit(url)
        port = where.port
    except ValueError as error:
        raise InvalidInputError(f"url: {url!r:.80} is no address: {error}") from None
    if port == 0:
        raise InvalidInputError("url: the port must be between 1 and 65535; got 0")
    return where


def addresses_of(host: str, port: int, private: bool) -> list[str]:
    """The addresses of a host; private ones are refused, unless they are allowed."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise InvalidInputError(f"url: {host!r:.80} is no name of a host") from None
    found = [str(one[4][0]) for one in rows]
    for one in found:
        if not private and not _is_public(one):
            raise InvalidInputError(
                f"url: {host} is {one}, an address of a private network; if you mean one of those, "
                "say so (--private)"
            )
    return list(dict.fromkeys(found))


def post(url: str, body: bytes, headers: dict[str, str], private: bool, most: int = 0) -> Reply:
    """See :func:`send`, for those who wait for it."""
    return to_its_end(send(url, body, headers, private, most))


def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """What comes of it, for whoever waits; also where another loop runs in this thread."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


async def send(
    url: str,
    body: bytes,
    headers: dict[str, str],
    private: bool,
    most: int = 0,
    seconds: float = _SECONDS,
) -> Reply:
    """Send something to an address, and read up to ``most`` bytes of what comes back."""
    try:
        import httpx2
    except ImportError:
        raise MissingExtraError("requests need httpx2; install surepick[client]") from None
    host = _parts(url).hostname
    try:
        async with asyncio.timeout(seconds):
            return await _exchanged(httpx2, url, body, headers, private, most)
    except TimeoutError:
        raise ServiceError(f"{host} has not answered within {seconds:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise ServiceError(f"{host} cannot be reached: {error}") from None


async def _exchanged(
    http: Any, url: str, body: bytes, headers: dict[str, str], private: bool, most: int
) -> Reply:
    where = http.URL(url)
    port = where.port or (443 if where.scheme == "https" else 80)
    found = await _aside(addresses_of, where.host, port, private)
    verify = await _aside(_trusted) if where.scheme == "https" else False
    headers = headers | {"host": where.netloc.decode(), "user-agent": "surepick"}
    # Its certificate has to be that of the name, not of the address.
    extensions = {"sni_hostname": where.host} if where.scheme == "https" else {}
    how: dict[str, Any] = {"content": body, "headers": headers, "extensions": extensions}
    rules: dict[str, Any] = {"timeout": None, "follow_redirects": False, "trust_env": False}
    async with http.AsyncClient(verify=verify, **rules) as client:
        for address in found:
            try:
                async with client.stream("POST", where.copy_with(host=address), **how) as reply:
                    return Reply(reply.status_code, await _read(reply, where.host, most))
            except http.ConnectError:
                if address == found[-1]:
                    raise
    raise ServiceError(f"{where.host} has no address")


async def _read(reply: Any, host: str, most: int) -> bytes:
    content = b""
    if most:
        async for piece in reply.aiter_bytes():
            content += piece
            if len(content) > most:
                raise ServiceError(f"{host} answers more than {most:,} bytes")
    return content


@cache
def _trusted() -> ssl.SSLContext:
    """The authorities that are trusted; reading them takes longer than most requests."""
    import httpx2

    return httpx2.create_ssl_context()


async def _aside(work: Callable[..., T], *given: Any) -> T:
    """What something returns that may hang, as looking up a name may: nobody waits for its end."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[T] = loop.create_future()

    def answer(result: Any, problem: Exception | None) -> None:
        if found.done():
            return
        if problem is not None:
            found.set_exception(problem)
        else:
            found.set_result(result)

    def do() -> None:
        result, problem = None, None
        try:
            result = work(*given)
        except Exception as error:
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(answer, result, problem)

    threading.Thread(target=do, daemon=True).start()
    return await found


def _is_public(address: str) -> bool:
    number = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(number, ipaddress.IPv4Address):
        return number.is_global and not number.is_multicast
    if not all(_is_public(str(inner)) for inner in _inside(number)):
        return False
    if number.ipv4_mapped is not None or number in _NAT64:
        return True  # what is sent goes to the address inside
    return number in _GLOBAL and number.is_global


def _inside(number: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """The addresses of IPv4 that an address of IPv6 stands for, or leads through."""
    if number in _COMPATIBLE or number in _NAT64:
        yield ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)
    if number.ipv4_mapped is not None:
        yield number.ipv4_mapped
    if number.sixtofour is not None:
        yield number.sixtofour
    if number.teredo is not None:
        yield from number.teredo
