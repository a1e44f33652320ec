"""Tables as files."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

from surepick.errors import MissingExtraError
from surepick.files import write_whole
from surepick.simulate.table import Table


def write_csv(table: Table, path: Path) -> None:
    """With a header; numbers in full, missing ones empty."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(table.columns)
    out.writerows([_text(v) for v in row.values()] for row in table.rows())
    write_whole(path, text.getvalue())


def write_parquet(table: Table, path: Path) -> None:
    """Needs the extra ``pandas``."""
    frame = table.to_pandas()
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("Parquet needs pyarrow: install surepick[pandas]") from None
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    write_whole(path, buffer.getvalue())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return str(value)
