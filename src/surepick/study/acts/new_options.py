"""Options that are to be added to a study: as a table, as a problem, or as mere labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.arrays.validate import as_labels
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError, listed
from surepick.problem import Problem
from surepick.problem.tables.build import costs_of
from surepick.problem.tables.more import more_options
from surepick.study.options import plain_cell
from surepick.study.sheet import Sheet


@dataclass(frozen=True)
class NewOptions:
    """What was given, as it travels between programs.

    Examples
    --------
    >>> NewOptions.of(["red", "blue"]).to_dict()
    {'labels': ['red', 'blue']}
    """

    sheet: Sheet | None = None  #: a table with the columns of the study's own
    labels: Sequence[str] = ()  #: otherwise: what they are called
    rows: Sequence[Sequence[float]] | None = None  #: and their features
    noise: Sequence[float] | None = None  #: and scales, where each option has its own
    costs: Sequence[float] | None = None  #: and what a measurement of each costs

    @classmethod
    def of(cls, options: Any) -> NewOptions:
        """From a CSV or Parquet file, a DataFrame, a :class:`surepick.Problem`, or labels."""
        if isinstance(options, NewOptions):
            return options
        if isinstance(options, Problem):
            if options.transductive:
                raise InvalidInputError(
                    "options: a problem with separate candidates cannot be added"
                )
            own = options.noise_kind.scales
            scales = None if own is None else own.tolist()
            costs = None if options.costs is None else options.costs.tolist()
            return cls(None, list(options.labels), options.arms.tolist(), scales, costs)
        if isinstance(options, list | tuple):
            return cls(None, list(as_labels(options, len(options), "options")))
        return cls(Sheet.of(options))

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        if self.sheet is not None:
            return {"table": self.sheet.to_dict()}
        found = {"labels": list(self.labels), "rows": self.rows, "noise": self.noise}
        found["costs"] = self.costs
        return {name: value for name, value in found.items() if value is not None}

    @classmethod
    def from_dict(cls, saved: Any) -> NewOptions:
        """What :meth:`to_dict` made."""
        if not isinstance(saved, Mapping):
            raise FormatError(f"options must be described by an object; got {saved!r:.80}")
        given = {name: value for name, value in saved.items() if value is not None}
        if "table" in given:
            if len(given) > 1:
                raise InvalidInputError("options: give either a table, or labels and features")
            return cls(Sheet.from_dict(given["table"], "table"))
        if not given.get("labels"):
            raise InvalidInputError("options: give a table, or labels")
        return cls(None, **given)

    def described(self, problem: Problem, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Labels, features, scales and cells for a study that has this problem now."""
        columns, identity = meta.get("columns"), _is_identity(problem)
        if self.sheet is not None:
            if columns is None:
                raise InvalidInputError(
                    "options: the study was not made from a table; give the new options as a "
                    "surepick.Problem with the same features (in Python)"
                )
            how = meta.get("how") or {"unstructured": identity}
            table = self.sheet.read("options")
            if problem.pairing is not None:  # their cells are shown, and not compared by
                how = {**how, "unstructured": True}
            names, rows, cells = more_options(problem, columns, table, how)
            plain = {name: [plain_cell(cell) for cell in cells[name]] for name in columns}
            own = None if problem.pairing is not None else rows.tolist()
            found = {"labels": names, "rows": own, "noise": None, "cells": plain}
            if problem.costs is not None and how.get("cost"):
                found["costs"] = costs_of(table, str(how["cost"])).tolist()
            return found
        if columns:
            raise InvalidInputError(
                f"options: the study was made from a table with the columns {listed(columns)}; "
                f"give a table with the same columns"
            )
        rows = self.rows
        if problem.pairing is not None:
            return self._written(columns)
        if rows is None:
            if not identity:
                raise InvalidInputError(
                    f"options: the existing options have {problem.n_features} features; give the "
                    "new ones their features too, as a surepick.Problem"
                )
            n = len(self.labels)
            rows = np.hstack([np.zeros((n, problem.n_features)), np.eye(n)]).tolist()
        if not isinstance(rows, Sequence):
            raise InvalidTypeError(f"rows must be lists of features; got {rows!r:.80}")
        return self._written(columns) | {"rows": [list(row) for row in rows]}

    def _written(self, columns: Any) -> dict[str, Any]:
        return {
            "labels": list(self.labels),
            "rows": self.rows,
            "noise": None if self.noise is None else list(self.noise),
            "cells": {name: [None] * len(self.labels) for name in columns or ()},
            **({} if self.costs is None else {"costs": list(self.costs)}),
        }


def _is_identity(problem: Problem) -> bool:
    """Whether every option is a feature of its own."""
    return problem.n_arms == problem.n_features and np.array_equal(
        problem.arms, np.eye(problem.n_arms)
    )
