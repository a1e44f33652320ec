"""Studies as they are described in Python: by a problem, or by a table with what to make of it."""

from __future__ import annotations

from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.study.options import FEATURE_SETTINGS, OptionTable
from surepick.study.spec import StudySpec


def described(
    name: str,
    problem: Problem | None,
    algorithm: Algorithm | str,
    table: Any,
    fields: dict[str, Any],
) -> StudySpec:
    """The spec of a study, from what ``create_study`` was given."""
    how = {key: fields.pop(key) for key in FEATURE_SETTINGS if key in fields}
    if how and (table is None or isinstance(table, OptionTable)):
        raise InvalidInputError(
            f"{', '.join(how)}: these settings describe a table, and no table was given; pass one "
            "as a file or a DataFrame (table=…)"
        )
    if table is not None and not isinstance(table, OptionTable):
        table = OptionTable.of(table, **how)
    return StudySpec.of(name=name, problem=problem, algorithm=algorithm, table=table, **fields)
