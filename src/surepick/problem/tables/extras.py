"""Optional dependencies of tables, guarded here and nowhere else."""

from __future__ import annotations

from typing import Any

from surepick.errors import MissingExtraError


def need_pandas(what: str) -> Any:
    """pandas, with what its Parquet files need."""
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            f"{what} needs pandas: install surepick[pandas] (CSV files work without it)"
        ) from None
    return pandas
