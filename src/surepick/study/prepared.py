"""What a study's description comes to, before it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.problem import Problem
from surepick.problem.tables.past import PastTable

#: what a study's notes call conditions of its promise that were known when it was created, as
#: :func:`surepick.conditions.written` has them
CONDITIONS = "conditions"


@dataclass(frozen=True)
class Prepared:
    """All that is stored of a new study, and what to say about it.

    What a setting does is a function of it (:attr:`surepick.study.settings.Setting.apply`).
    """

    problem: Problem
    algorithm: Algorithm
    past: PastTable | None
    meta: dict[str, Any]  #: what is kept with it; settings under their names
    columns: tuple[str, ...] = ()  #: names of the features that were made of a table
    notes: tuple[str, ...] = ()  #: what was dropped, merged or decided, as sentences
    traffic: bool = False  #: whether visitors are sent by shares, and reported
