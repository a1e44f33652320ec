"""Reports of traffic as requests bring them."""

from __future__ import annotations

from typing import Any

from surepick.errors import InvalidInputError
from surepick.study.sheet import Sheet


def given_report(body: dict[str, Any]) -> Any:
    """The report of a request: by label, or a table."""
    if (body["report"] is None) == (body["table"] is None):
        raise InvalidInputError("give either a report (by label) or a table")
    if body["table"] is not None:
        return Sheet.from_dict(body["table"], "table")
    return {label: _cells(cells) for label, cells in body["report"].items()}


def _cells(cells: Any) -> Any:
    """Keys of JSON are texts; buckets are numbers."""
    if not isinstance(cells, dict):
        return cells
    return {int(key) if key.isascii() and key.isdigit() else key: v for key, v in cells.items()}
