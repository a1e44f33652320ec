"""The list of studies, without loading what is large about them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from sqlalchemy import exists, literal_column, select

from surepick.algorithms.registry import OF_PAIRS
from surepick.errors import (
    ServiceError,
    StorageError,
    StudyDamagedError,
    SurepickError,
    UnknownStudyError,
)
from surepick.server.helpers import Helpers
from surepick.server.studies import Studies
from surepick.storage.sql.tables import leases, periods, progress, studies, summaries

_log = logging.getLogger(__name__)
_SECONDS = 60.0  # to read a study


def _query(clock: str) -> Any:
    """All studies; the clock says which pulls are with workers now."""
    out = leases.c.until > literal_column(clock)
    measuring = exists().where(leases.c.study == studies.c.id, leases.c.worker.is_not(None), out)
    running = exists().where(  # of traffic: a period that is not recorded yet
        periods.c.study == studies.c.id, periods.c.number >= progress.c.batch
    )
    return _ALL.add_columns((measuring | running).label("measuring"))


_ALL = (
    select(
        studies.c.id,
        studies.c.name,
        studies.c.algorithm,
        studies.c.settings,
        studies.c.created,
        progress.c.batch,
        progress.c.first,
        progress.c.told,
        progress.c.early,
        progress.c.finished,
        progress.c.paused,
        summaries.c.batch.label("summarised"),
        summaries.c.options,
        summaries.c.survivors,
        summaries.c.answer,
    )
    .join(progress, progress.c.study == studies.c.id)
    .join(summaries, summaries.c.study == studies.c.id, isouter=True)
    .order_by(studies.c.id)
)


def _of_the_study(error: Exception) -> bool:
    """Whether an error says that a study cannot be read, not that nobody could look at it now."""
    return isinstance(error, StudyDamagedError) or not isinstance(
        error, StorageError | ServiceError
    )


class Listing:
    """Lists studies; those that cannot be read are listed too, as broken.

    What the list shows is written down beside the studies, so that they need not be loaded. Whether
    they could be is tried once, afterwards.
    """

    def __init__(self, opened: Studies, helpers: Helpers) -> None:
        self._opened, self._helpers = opened, helpers
        self._broken: dict[int, str | None] = {}  # what is wrong with a study, if anything is
        self._trying: asyncio.Task[None] | None = None

    async def rows(self, covers: Callable[[str], bool]) -> list[dict[str, Any]]:
        """A row for each study whose name passes ``covers``."""
        storage: Any = self._opened.storage  # of the kinds that have SQL
        threads = self._opened.threads

        def read(tx: Any) -> list[Any]:
            return list(tx.connection.execute(_query(storage.clock)))

        found = await threads.quick(lambda: storage.read(read))
        new = {row.id: row.name for row in found if row.id not in self._broken}
        if new and (self._trying is None or self._trying.done()):
            self._trying = asyncio.get_running_loop().create_task(self._try(new))
        return [self._row(row) for row in found if covers(row.name)]

    async def _try(self, names: dict[int, str]) -> None:
        for number, name in names.items():
            try:
                await self._helpers.whole("the list", "definition", _SECONDS, {"study": name})
                self._broken[number] = None
            except UnknownStudyError:
                continue
            except SurepickError as error:
                if not _of_the_study(error):
                    return  # the database is away, or a helper is; later
                self._note(number, name, error)

    def _note(self, number: int, name: str, error: Exception) -> None:
        self._broken[number] = f"{type(error).__name__}: {error}"
        _log.warning("study %r cannot be read: %s", name, error)

    def _row(self, row: Any) -> dict[str, Any]:
        shown = {
            "name": row.name,
            "algorithm": row.algorithm,
            "pairs": row.algorithm == OF_PAIRS,
            "samples": row.first + (0 if row.finished else row.told + row.early),
            "finished": bool(row.finished),
            "paused": bool(row.paused),
            "measuring": bool(row.measuring) and not row.finished,
            "created": row.created,
            "delta": None,
            "options": row.options,
            "survivors": row.survivors,
            "answer": row.answer,
            "broken": self._broken.get(row.id),
        }
        try:
            shown["delta"] = json.loads(row.settings)["delta"]
            if row.summarised != row.batch:
                raise StudyDamagedError(f"study {row.name!r} lacks what lists show of it")
        except (StudyDamagedError, ValueError, KeyError, TypeError) as error:
            self._note(row.id, row.name, error)
            shown["broken"] = self._broken[row.id]
        return shown
