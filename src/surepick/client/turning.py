"""Options that come and go in a study of a service: what is sent, and what comes back."""

from __future__ import annotations

from typing import Any

from surepick.study.newcomers import Newcomers
from surepick.study.pulls import as_name, as_reason
from surepick.study.turns import OptionChange


def add_body(options: Any, reason: str, by: str | None) -> dict[str, Any]:
    """What is sent to add options."""
    return Newcomers.of(options).to_dict() | said(reason, by)


def retire_body(label: str, reason: str, by: str | None) -> dict[str, Any]:
    """What is sent to retire one."""
    return {"label": str(label)} | said(reason, by)


def option_changes_of(found: dict[str, Any]) -> list[OptionChange]:
    """Changes as the service sends them."""
    names = [name for name in OptionChange.__dataclass_fields__ if name != "labels"]
    return [
        OptionChange(labels=tuple(row["labels"]), **{name: row[name] for name in names})
        for row in found["changes"]
    ]


def said(reason: str, by: str | None) -> dict[str, Any]:
    """Why, and who."""
    return {"reason": as_reason(reason)} | ({} if by is None else {"by": as_name(by, "by")})


class AwaitedOptions:
    """The part of :class:`surepick.client.AsyncStudy` that is about them."""

    async def _get(self, rest: str, **query: Any) -> Any:
        raise NotImplementedError

    async def _post(self, rest: str, body: dict[str, Any], wait: float = 0.0) -> Any:
        raise NotImplementedError

    async def add(self, options: Any, *, reason: str = "", by: str | None = None) -> OptionChange:
        """See :meth:`surepick.Study.add`."""
        return option_changes_of(await self._post("/options", add_body(options, reason, by)))[0]

    async def retire(self, label: str, *, reason: str, by: str | None = None) -> OptionChange:
        """See :meth:`surepick.Study.retire`."""
        return option_changes_of(await self._post("/retire", retire_body(label, reason, by)))[0]

    async def option_changes(self) -> list[OptionChange]:
        """See :meth:`surepick.Study.option_changes`."""
        return option_changes_of(await self._get("/options"))
