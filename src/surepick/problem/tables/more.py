"""More options for a table that features were made of before.

Numbers were standardised, and categories coded, by the options that there were. Coding all options
anew gives the same linear model with other features, so that there is a matrix which turns new
features of the earlier options into theirs; it turns those of the newcomers into ones that go with
them. What it cannot say (a category has a level that nobody had) becomes further features, which
are 0 for all earlier options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError
from surepick.problem.problem import Problem
from surepick.problem.tables.build import as_list, feature_names, labels_of
from surepick.problem.tables.cells import MAX_LEVELS
from surepick.problem.tables.encode import by_formula, main_effects
from surepick.problem.tables.naming import describing
from surepick.problem.tables.read import Columns

_SAME = 1e-9  # of their size: features that differ by less are the same
_DIGITS = 12  # that new features are rounded to: the rest is rounding


def more_options(
    problem: Problem, known: Mapping[str, list[Any]], table: Columns, how: Mapping[str, Any]
) -> tuple[list[str], FloatArray, dict[str, list[Any]]]:
    """Labels, features and cells of the options of another table.

    Parameters
    ----------
    problem
        The options so far.
    known
        Their cells, by column.
    table
        The new options, with the same columns.
    how
        By which ``features``, ``formula``, ``label`` or ``unstructured`` the problem was made.
    """
    wanted = as_list(how.get("features"))
    given = how.get("label")
    if given is None and table.index is None:
        # The column of labels is not among the cells; a few new rows may not show which it is.
        unknown = [name for name in table.cells if name not in known]
        given = unknown[0] if len(unknown) == 1 else None
    names, label = labels_of(table, given, wanted or [], [])
    if names is None:
        names = [str(len(problem.option_labels) + i) for i in range(len(table))]
    cells = {name: column for name, column in table.cells.items() if name in known}
    for name in known:
        if name not in cells:
            raise InvalidInputError(
                f"{table.where} has no column {name!r}, but the existing options do; add it"
            )
    for name in table.cells:
        if name not in known and name != label and table.cells[name] != names:
            raise InvalidInputError(
                f"{table.where}: the existing options have no column {name!r}; leave it out"
            )
    if how.get("unstructured"):
        rows = np.hstack([np.zeros((len(names), problem.n_features)), np.eye(len(names))])
        return names, rows, cells
    both = Columns(
        table.where,
        {name: [*known[name], *column] for name, column in cells.items()},
        [f"option {one!r}" for one in problem.labels] + table.rows,
    )
    if how.get("formula") is not None:
        effects, _ = by_formula(both, how["formula"], MAX_LEVELS)
    else:
        if wanted is None:  # what described the options so far, whatever the new ones look like
            wanted, _ = describing(
                Columns(table.where, dict(known), [*problem.labels]), (label, how.get("cost"))
            )
        names_of = feature_names(both, wanted, (None, None), [])
        effects = main_effects(both, names_of, MAX_LEVELS)
    columns = [np.ones(len(both)), *(column for _, column in effects)]
    return names, _in_old_features(problem, np.stack(columns, axis=1)), cells


def _in_old_features(problem: Problem, coded: FloatArray) -> FloatArray:
    """What all options are coded by, as features of the newcomers."""
    size = np.abs(coded).max(axis=0)
    coded = coded / np.where(size > 0, size, 1.0)
    old, new = coded[: problem.n_arms], coded[problem.n_arms :]
    u, s, vt = np.linalg.svd(old, full_matrices=True)
    rank = int((s > _SAME * s[0]).sum())
    turned = vt[:rank].T / s[:rank] @ (u[:, :rank].T @ problem.arms)
    scale = np.abs(problem.arms).max(axis=0)
    if (np.abs(old @ turned - problem.arms) > 1e-6 * scale).any():
        raise InvalidInputError(
            "options: the features of the existing options cannot be derived from their table "
            "alone; start a new study with all options"
        )
    rows = np.round(new @ turned / scale, _DIGITS) * scale
    for place, row in enumerate(new):  # an option of the very same cells has the same features
        like = np.flatnonzero((old == row).all(axis=1))
        if len(like):
            rows[place] = problem.arms[like[0]]
    beyond = new @ vt[rank:].T
    u, s, _ = np.linalg.svd(beyond, full_matrices=False) if beyond.size else (beyond, [], None)
    kept = [u[:, i] * s[i] for i in range(len(s)) if s[i] > _SAME]
    further = [np.round(column / np.abs(column).max(), _DIGITS) for column in kept]
    return np.column_stack([rows, *further])
