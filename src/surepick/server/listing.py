"""The list of studies, without loading what is large about them."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select

from surepick.server.studies import Studies
from surepick.storage.sql.tables import progress, studies
from surepick.study import Study

_QUERY = (
    select(
        studies.c.id,
        studies.c.name,
        studies.c.algorithm,
        studies.c.settings,
        studies.c.created,
        progress.c.batch,
        progress.c.first,
        progress.c.told,
        progress.c.finished,
    )
    .join(progress, progress.c.study == studies.c.id)
    .order_by(studies.c.id)
)


class Listing:
    """Lists studies; what changes only from batch to batch is kept."""

    def __init__(self, opened: Studies) -> None:
        self._opened = opened
        self._kept: dict[int, tuple[int, dict[str, Any]]] = {}

    async def rows(self, covers: Any) -> list[dict[str, Any]]:
        """A row for each study whose name passes ``covers``."""
        storage, threads = self._opened.storage, self._opened.threads

        def read(tx: Any) -> list[Any]:
            return list(tx.connection.execute(_QUERY))

        found = await threads.quick(lambda: storage.read(read))
        self._kept = {row.id: self._kept[row.id] for row in found if row.id in self._kept}
        listed = []
        for row in found:
            if not covers(row.name):
                continue
            kept = self._kept.get(row.id)
            if kept is None or kept[0] != row.batch:
                kept = await self._opened.use(row.name, self._summary)
                self._kept[row.id] = kept
            listed.append(
                {
                    "name": row.name,
                    "algorithm": row.algorithm,
                    "delta": json.loads(row.settings)["delta"],
                    "samples": row.first + row.told,
                    "finished": bool(row.finished),
                    "created": row.created,
                    **kept[1],
                }
            )
        return listed

    async def _summary(self, opened: Any) -> tuple[int, dict[str, Any]]:
        study: Study = opened.study

        def summarise() -> tuple[int, dict[str, Any]]:
            run = study.run
            leader = int(run.state.leader()) if run.stopped else None
            return run.batches, {
                "options": study.problem.n_arms,
                "survivors": len(run.active),
                "answer": None if leader is None else study.problem.candidate_labels[leader],
            }

        return await self._opened.threads.slow(summarise)
