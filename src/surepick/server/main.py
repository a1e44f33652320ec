"""Starting the service, in one process or several."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.process
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from surepick.errors import StorageConnectionError
from surepick.server import logs
from surepick.server.settings import SETTINGS, Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

_log = logging.getLogger(__name__)
_GRACE = 60  # seconds for requests under way when the service is stopped
#: seconds until a process that says nothing counts as hung; it loads much at first, and where the
#: machine is busy that takes long: one that is ended for it begins anew, and never comes to its end
_STARTING = 180
_AWAY = 1.0  # seconds between two looks at a database that is away when the service starts
_ALONE = 10.0  # seconds for them where the main process was killed


def admin_token(settings: Settings, *, another: bool = False) -> str | None:
    """A new admin token where the storage has none yet, or where ``another`` is wanted."""
    from surepick.server.tokens import ADMIN, Tokens
    from surepick.storage import open_storage

    storage = open_storage(settings.storage)
    try:
        tokens = Tokens(storage)
        first = tokens.first_admin()
        if first is None and another:
            return tokens.make(ADMIN, note="made with --new-admin-token")[1]
        return first
    finally:
        storage.close()


def show_admin_token(settings: Settings, show: Callable[[str], object], another: bool) -> None:
    """Show an admin token where one is made; if the database is away, as soon as it is back."""

    def made() -> None:
        token = admin_token(settings, another=another)
        if token is not None:
            show(token)

    def later() -> None:
        while True:
            time.sleep(_AWAY)
            with suppress(StorageConnectionError):
                return made()

    try:
        made()
    except StorageConnectionError as error:
        _log.error("until the database is back, all requests are answered with 503: %s", error)
        threading.Thread(target=later, daemon=True).start()


def serve(settings: Settings) -> None:
    """Serve until a signal stops it; what is under way then is finished first."""
    import uvicorn

    from surepick.server.connections import Connection, raise_open_files

    raise_open_files()
    os.environ[SETTINGS] = settings.to_json()  # how processes are told their settings
    with _shared_counts() if settings.workers > 1 else nullcontext():
        uvicorn.run(
            "surepick.server.main:app",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            http=Connection,
            ws="none",
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
            proxy_headers=bool(settings.proxy),
            forwarded_allow_ips=",".join(settings.proxy) or None,
            server_header=False,
            access_log=False,
            log_config=logs.configuration(settings.log_level),
            timeout_graceful_shutdown=_GRACE,
            timeout_worker_healthcheck=_STARTING,
        )


@contextmanager
def _shared_counts() -> Iterator[None]:
    """A folder in which several processes add up what they count.

    One process has no need of it, nor would it be removed: when a signal stops it, uvicorn ends
    the process itself.
    """
    with tempfile.TemporaryDirectory(prefix="surepick-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def app() -> FastAPI:
    """The application of this process (uvicorn calls this)."""
    from surepick.server.app import make_app

    _keep_to_this_process()
    made = make_app(Settings.from_json(os.environ[SETTINGS]))
    main = multiprocessing.parent_process()
    if main is not None:
        threading.Thread(target=_end_with, args=(main,), daemon=True).start()
    return made


def _keep_to_this_process() -> None:
    """Let helpers have nothing that is open here: what they kept would outlive the service.

    One of several processes has the socket that listens from the main one, ready to be inherited.
    """
    for name in os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else ():
        if int(name) > 2:
            with suppress(OSError):  # the one that has just listed them
                os.set_inheritable(int(name), False)


def _end_with(main: multiprocessing.process.BaseProcess) -> None:
    """End this process once the main one is gone: it would keep the port, and nobody manage it.

    The main process holds the other end of a pipe, which closes however it ends.
    """
    main.join()
    _log.warning("the main process of the service is gone; this one ends, too")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_ALONE)
    os._exit(1)
