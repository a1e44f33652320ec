"""Files that are never seen half-written, and what may stand in them."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import Any


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file so that it is never seen half-written, even after a power cut."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.part")
    data = content.encode() if isinstance(content, str) else content
    try:
        with open(temporary, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def without_nan(value: Any) -> Any:
    """Lists and dicts with None in place of the numbers that JSON cannot express."""
    if isinstance(value, dict):
        return {k: without_nan(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_nan(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
