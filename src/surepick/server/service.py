"""What all routes share: settings, studies, tokens, and whether the service is stopping."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import Request

from surepick.algorithms.pooled.peleg import PooledPeleg
from surepick.errors import StorageError
from surepick.server import metrics
from surepick.server.helpers import Helpers
from surepick.server.listing import Listing
from surepick.server.quotas import Charges
from surepick.server.settings import Settings
from surepick.server.signing import Signer, default_path
from surepick.server.studies import Studies
from surepick.server.tokens import Tokens
from surepick.server.webhooks import Sending, Webhooks

_log = logging.getLogger(__name__)


class Service:
    """One process of the service."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.studies = Studies(
            settings.storage, settings.threads, settings.open_studies, settings.pictures_from
        )
        self.tokens = Tokens(self.studies.storage)
        self.signer = Signer(Path(settings.signing_key or default_path(settings.storage)))
        self.looks, self.tasks = Helpers(1), Helpers(settings.helpers)
        self.tells = Helpers(1)  # who tells thousands of rewards does not wait for exports
        self.webhooks = Webhooks(self.studies.storage)
        self.sending = Sending(self.webhooks, run=self.studies.threads.slow)
        self.listing = Listing(self.studies, self.looks)
        self.plans, self.planning = Helpers(1), asyncio.Lock()  # one forecast at a time
        self.streams: Counter[str] = Counter()  # open ones, by token
        self.charges = Charges(settings.rate)
        self._metrics = (-math.inf, b"")
        self.stopping = False
        self._ending_waits: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def lifespan(self, _app: Any) -> AsyncIterator[None]:
        """From start to stop, which first ends the requests that wait for pulls or news."""
        loop = asyncio.get_running_loop()

        def stop() -> None:
            self.stopping = True
            self._ending_waits = loop.create_task(self.studies.stop_waiting())

        before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}

        def heard(number: int, frame: Any) -> None:
            loop.call_soon_threadsafe(stop)
            then = before[signal.Signals(number)]
            if callable(then):
                then(number, frame)

        for one in before:
            signal.signal(one, heard)
        self.studies.storage.check()
        self.studies.rehearse(PooledPeleg(delta=0.05))
        warming = loop.create_task(self.looks.warm_up())
        sending = loop.create_task(self._send_notices())
        try:
            yield
        finally:
            warming.cancel()
            sending.cancel()
            await self.sending.close()
            self.looks.close()
            self.tasks.close()
            self.tells.close()
            self.plans.close()
            for one, then in before.items():
                signal.signal(one, then)
            await self.studies.stop_waiting()
            await loop.run_in_executor(None, self.studies.close)

    async def _send_notices(self) -> None:
        """Now and then, send what is to be told of studies to those who want to be told."""
        pause = self.settings.notices
        while pause > 0:
            await asyncio.sleep(pause)
            try:
                if await self.studies.threads.quick(self.webhooks.of):
                    await self.looks.whole("notices", "notices", self.settings.task_seconds, {})
                    await self.sending.begin()
            except StorageError as error:
                _log.warning("notices wait for the database: %s", error)
            except Exception:  # nothing is lost: it is tried again after the next pause
                _log.exception("notices could not be sent")

    def metrics(self) -> bytes:
        """What the service counts, worked out once a second at most."""
        now = time.monotonic()
        if now - self._metrics[0] > 1.0:
            self._metrics = (now, metrics.text())
        return self._metrics[1]


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    return request.app.state.service
