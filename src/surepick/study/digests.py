"""Digests of what a study keeps."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def sha(text: str) -> str:
    """Of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of(content: Any) -> str:
    """Of values that can be written as JSON."""
    return sha(json.dumps(content, sort_keys=True, separators=(",", ":")))
