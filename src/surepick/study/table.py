"""The row of an option in the table that its study was made from."""

from __future__ import annotations

from typing import Any

from surepick.study.study import Study


def features_of(study: Study, arm: int) -> dict[str, Any]:
    """The cells of an option's row in the table that the study was made from."""
    return {name: cells[arm] for name, cells in (study.meta.get("columns") or {}).items()}
