"""How the service is run: checked once, then only read."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from surepick.arrays.validate import positive, whole
from surepick.errors import InvalidInputError

#: names what a process finds its settings in
SETTINGS = "SUREPICK_SERVE_SETTINGS"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_SITE = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?")


def _chosen(default: Any, help: str, **more: Any) -> Any:
    """A setting: what it means, and how ``surepick serve`` takes it (``flag``)."""
    return field(default=default, metadata={"help": help, **more})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be chosen about a service; ``surepick serve`` has an option for most."""

    storage: str  #: where studies and tokens are kept; several services may share one
    host: str = _chosen("127.0.0.1", "Address to listen on; only this machine can reach this one.")
    port: int = _chosen(8421, "Port to listen on.")
    tls_cert: str | None = _chosen(None, "File with the certificate (chain), for HTTPS.")
    tls_key: str | None = _chosen(None, "File with its key.")
    workers: int = _chosen(1, "Processes.")
    proxy: tuple[str, ...] = _chosen(
        (), "Address of a trusted proxy in front (for X-Forwarded-For and -Proto). Repeatable."
    )
    allowed_hosts: tuple[str, ...] = _chosen(
        (),
        "Name under which clients reach the service; requests for others are refused. Repeatable.",
        flag="--allowed-host",
    )
    pictures_from: tuple[str, ...] = _chosen(
        (),
        "Site whose pictures judges see on the page, such as https://pictures.example; those of "
        "other sites are links. Repeatable.",
    )
    plain_http: bool = _chosen(False, "Other machines may send tokens unencrypted.")
    max_body: int = _chosen(16 * 2**20, "Bytes in a request.")
    max_depth: int = 32  #: how deeply JSON in a request may be nested
    max_connections: int = _chosen(
        512, "Connections per address and process; proxies may have more."
    )
    #: Twice as many (and 20) may come at once. Ten pulls or rewards in one, or 64 KiB, count as one
    #: more; of ``/metrics`` two a second, of requests to the page, by address, a fifth; of rewards
    #: that do not count a hundredth (and ``rate`` at once).
    rate: float = _chosen(
        1000.0,
        "Asks and tells per second for each token and process; other requests get a fiftieth of "
        "that.",
    )
    stranger_rate: float = _chosen(
        5.0, "Requests per second and address without a valid token; ten times as many at once."
    )
    threads: int = _chosen(8, "Connections to the database, per process.")
    open_studies: int = 256  #: studies kept open, in each process
    max_streams: int = 256  #: streams of events open at once, in each process: in all,
    token_streams: int = 16  #: and of one token
    helpers: int = _chosen(
        2, "Processes for exports, new studies and other long tasks, per process."
    )
    helper_memory: int = 2 * 2**30  #: bytes that each of them may take
    task_seconds: float = _chosen(300.0, "Longest time for such a task.")
    max_lease: float = _chosen(3600.0, "Seconds for which a worker may keep a measurement.")
    plan_seconds: float = _chosen(120.0, "Longest time for a forecast.")
    session_hours: float = 12.0  #: how long a login of the page lasts
    metrics_open: bool = _chosen(False, "Show /metrics to anybody; else it needs a token.")
    notices: float = _chosen(
        30.0,
        "Seconds between two looks at what is to be sent to webhooks (surepick notify); 0: nothing "
        "is sent.",
    )
    signing_key: str | None = _chosen(
        None,
        "File with the key that signs certificates; created if missing. By default beside an "
        "SQLite database, otherwise in your data folder. All processes that serve one database "
        "must share one key.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = _chosen(
        "info", "Requests are logged at info."
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.type == "int":
                whole(getattr(self, one.name), one.name, least=int(one.name != "port"))
            elif one.type == "float" and one.name != "notices":
                positive(getattr(self, one.name), one.name)
        if self.port >= 2**16:
            raise InvalidInputError(f"port must be below 65536; got {self.port}")
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
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def hosts(self) -> frozenset[str]:
        """Names that requests may be for, in lower case and without a port."""
        return frozenset(name.lower() for name in (*LOOPBACK_NAMES, *self.allowed_hosts))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        saved = json.loads(text)
        lists = {name: tuple(saved[name]) for name in ("proxy", "allowed_hosts", "pictures_from")}
        return cls(**(saved | lists))
