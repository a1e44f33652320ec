"""How the service is run: checked once, then only read."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from surepick.arrays.validate import positive, whole
from surepick.errors import InvalidInputError

#: names what a process finds its settings in
SETTINGS = "SUREPICK_SERVE_SETTINGS"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_SITE = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?")
_AMOUNTS = (
    "rate",
    "stranger_rate",
    "plan_seconds",
    "session_hours",
    "task_seconds",
    "max_lease",
)
_COUNTS = (
    "workers",
    "max_body",
    "max_depth",
    "max_connections",
    "threads",
    "open_studies",
    "max_streams",
    "token_streams",
    "helpers",
    "helper_memory",
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be chosen about a service.

    Parameters
    ----------
    storage
        Where studies and tokens are kept; several services may share one.
    host, port
        Where to listen. Only this machine can reach the default.
    tls_cert, tls_key
        Files with a certificate (chain) and its key, for HTTPS.
    workers
        Processes.
    proxy
        Addresses of proxies in front, whose ``X-Forwarded-…`` headers are believed.
    allowed_hosts
        Names under which clients reach the service, besides those of this machine.
    pictures_from
        Sites (``https://pictures.example``) whose pictures judges see on the page; those of others
        are links.
    plain_http
        Allow tokens to travel unencrypted to other machines.
    max_body
        Largest request, in bytes.
    max_depth
        How deeply JSON in a request may be nested.
    max_connections
        Connections of one address, in each process; proxies may have more.
    rate
        Asks, tells and fails per second and token in each process; twice as many (and 20) may come
        at once. Ten pulls or rewards in one, or 64 KiB, count as one more. Of other requests a
        fiftieth, of ``/metrics`` two a second, of those to the page, by address, a fifth; of
        rewards that do not count a hundredth (and ``rate`` at once).
    stranger_rate
        Requests per second and address without a valid token; ten times as many (and 10) at once.
    threads
        Threads that talk to the database, in each process.
    open_studies
        Studies kept open, in each process.
    max_streams, token_streams
        Streams of events open at once, in each process: in all, and of one token.
    helpers, helper_memory
        Processes for what takes long (exports, new studies) beside each process, and one more each
        for looks at studies and for thousands of rewards; and the bytes that each may take.
    task_seconds
        Longest time for what a helper does.
    max_lease
        Seconds for which a pull may be kept.
    plan_seconds
        Longest time for a forecast.
    session_hours
        How long a login of the page lasts.
    metrics_open
        Show ``/metrics`` to anybody, without a token.
    notices
        Seconds between two looks at what is to be sent to webhooks; 0: nothing is sent.
    signing_key
        File with the key that certificates and chain heads are signed with; made if it is not
        there. By default beside an SQLite database, else with the user's data.
    log_level
        ``debug``, ``info``, ``warning`` or ``error``; requests are logged at ``info``.
    """

    storage: str
    host: str = "127.0.0.1"
    port: int = 8421
    tls_cert: str | None = None
    tls_key: str | None = None
    workers: int = 1
    proxy: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    pictures_from: tuple[str, ...] = ()
    plain_http: bool = False
    max_body: int = 16 * 2**20
    max_depth: int = 32
    max_connections: int = 512
    rate: float = 1000.0
    stranger_rate: float = 5.0
    threads: int = 8
    open_studies: int = 256
    max_streams: int = 256
    token_streams: int = 16
    helpers: int = 2
    helper_memory: int = 2 * 2**30
    task_seconds: float = 300.0
    max_lease: float = 3600.0
    plan_seconds: float = 120.0
    session_hours: float = 12.0
    metrics_open: bool = False
    notices: float = 30.0
    signing_key: str | None = None
    log_level: str = "info"

    def __post_init__(self) -> None:
        for name in _COUNTS:
            whole(getattr(self, name), name, least=1)
        if not 0 <= whole(self.port, "port") < 2**16:
            raise InvalidInputError(f"port must be below 65536; got {self.port}")
        for name in _AMOUNTS:
            positive(getattr(self, name), name)
        if self.storage.startswith("memory:"):
            raise InvalidInputError(
                "storage: a service needs a database (sqlite:///file.db or "
                "postgresql+psycopg://user@host/database); memory:// would forget everything"
            )
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InvalidInputError("give both --tls-cert and --tls-key, or neither")
        for name in ("tls_cert", "tls_key"):
            path = getattr(self, name)
            if path is not None and not Path(path).is_file():
                raise InvalidInputError(f"{name}: there is no file {path!r}")
        for site in self.pictures_from:
            if not _SITE.fullmatch(site):
                raise InvalidInputError(
                    f"pictures_from: expected a site such as https://pictures.example, in small "
                    f"letters and without a path; got {site!r:.80}"
                )
        if not self.loopback:
            self._check_exposure()

    def _check_exposure(self) -> None:
        """What must be said before other machines can reach the service."""
        if not (self.tls_cert or self.proxy or self.plain_http):
            raise InvalidInputError(
                f"host: {self.host} can be reached by other machines, and tokens would travel "
                f"unencrypted; give --tls-cert and --tls-key, or --proxy ADDRESS where a proxy "
                f"does TLS, or --plain-http if the network is trusted"
            )
        if not self.allowed_hosts:
            raise InvalidInputError(
                f"host: say by which name clients reach {self.host}: --allowed-host NAME "
                "(requests for other names are refused)"
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def hosts(self) -> frozenset[str]:
        """Names that requests may be for, in lower case and without a port."""
        return frozenset(name.lower() for name in (*LOOPBACK_NAMES, *self.allowed_hosts))

    def to_json(self) -> str:
        """For processes that are started with these settings."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """What :meth:`to_json` wrote."""
        saved = json.loads(text)
        lists = {name: tuple(saved[name]) for name in ("proxy", "allowed_hosts", "pictures_from")}
        return cls(**(saved | lists))
