"""Seeds of orders of items, for tools that call a function: what it does belongs to what is known.

An order is drawn once all that it could have to do with is there (:mod:`surepick.algorithms.items`
says why): options, scores that are known, and the function that measures
(:mod:`surepick.calls.versions`), whose code stands for what options mean.
"""

from __future__ import annotations

from typing import Any

from surepick.algorithms.items import mixed
from surepick.run.order import seed_of


def seed_after(given: Any, *known: str | bytes) -> int:
    """A fresh seed; or the one that this comes to after all that is known."""
    return seed_of(None) if given is None else mixed(seed_of(given), *known)
