"""Limits of a study of a service that are changed: what is sent, and what comes back."""

from __future__ import annotations

from typing import Any

from surepick.client.turning import said
from surepick.run.limits import NONE
from surepick.study.limits import LimitChange


def limit_body(max_samples: Any, budget: Any, reason: str, by: str | None) -> dict[str, Any]:
    """What is sent to change limits."""
    given = {"max_samples": max_samples, "budget": budget}
    body = {name: _sent(value) for name, value in given.items() if value is not None}
    return body | said(reason, by)


def _sent(value: Any) -> Any:
    return NONE if value == float("inf") else value  # JSON has no infinity


def limit_changes_of(found: dict[str, Any]) -> list[LimitChange]:
    """Changes as the service sends them."""
    names = LimitChange.__dataclass_fields__
    return [LimitChange(**{name: row[name] for name in names}) for row in found["changes"]]


class AwaitedLimits:
    """The part of :class:`surepick.client.AsyncStudy` that is about them."""

    async def _get(self, rest: str, **query: Any) -> Any:
        raise NotImplementedError

    async def _post(self, rest: str, body: dict[str, Any], wait: float = 0.0) -> Any:
        raise NotImplementedError

    async def limit(
        self,
        *,
        max_samples: int | float | str | None = None,
        budget: float | str | None = None,
        reason: str = "",
        by: str | None = None,
    ) -> LimitChange:
        """See :meth:`surepick.Study.limit`."""
        body = limit_body(max_samples, budget, reason, by)
        return limit_changes_of(await self._post("/limits", body))[0]

    async def limit_changes(self) -> list[LimitChange]:
        """See :meth:`surepick.Study.limit_changes`."""
        return limit_changes_of(await self._get("/limits"))
