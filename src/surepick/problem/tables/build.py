"""A table of options becomes a problem, and the user is told what became of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.types import FloatArray
from surepick.arrays.validate import whole
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem.noise import usual
from surepick.problem.problem import Problem
from surepick.problem.tables.cells import (
    HEADINGS,
    LABEL_NAMES,
    MAX_LEVELS,
    as_number,
    as_seen,
    describing,
    is_id,
    naming,
    nothing_describes,
    require_complete,
)
from surepick.problem.tables.encode import Named, by_formula, main_effects
from surepick.problem.tables.read import Columns, read
from surepick.text import as_passage

_INTERCEPT = "intercept"
_CONSTANT = 1e-12  # of its size: what a column may vary by and still count as constant
_DEPENDENT = 1e-9  # of its length: what a column may differ by and still be a combination of others


@dataclass(frozen=True)
class TableProblem:
    """A problem made from a table.

    Examples
    --------
    >>> import pandas as pd
    >>> made = from_table(pd.DataFrame({"size": [1, 2, 2]}))
    >>> made.problem.n_arms, made.columns, len(made.notes)
    (3, ('intercept', 'size'), 2)
    """

    problem: Problem
    notes: tuple[str, ...]  #: what was dropped, merged or decided, as sentences
    columns: tuple[str, ...]  #: names of the problem's features
    label: str | None = None  #: the column that labels come from


def from_table(
    source: Any,
    features: Sequence[str] | str | None = None,
    formula: str | None = None,
    label: str | None = None,
    noise: Any = None,
    misfit: float = 0.0,
    cost: str | None = None,
    *,
    unstructured: bool = False,
    intercept: bool = True,
    max_levels: int = MAX_LEVELS,
    minimise: bool = False,
) -> TableProblem:
    """A problem whose options are the rows of a table.

    Parameters
    ----------
    source
        Path of a CSV or Parquet file, or a pandas DataFrame.
    features
        Columns that describe an option (a list, or one text with commas); by default all but
        the label, and what looks like another name of each row: ids, or many texts that all
        differ. Numbers are standardised; texts are categories; ``C(size)`` makes a category of a
        column of numbers.
    formula
        Instead of features: a formula such as ``price + C(colour)*C(layout)``, with interactions.
        It is read by a grammar of its own; nothing in it is evaluated.
    label
        Column of labels. By default the index of a DataFrame, if it has one; otherwise a column
        that is called label, name, option or id; otherwise the first column of texts that all
        differ; otherwise one of ids (``item_id``, say); otherwise row numbers. The notes say which.
    noise
        What a measurement is, as for :class:`surepick.Problem`. By default numbers of any kind
        where features are not trusted or not used; else noise that is symmetric.
    misfit
        How far an option's mean reward may lie from what its features say, as for
        :class:`surepick.Problem`; ``inf`` where features are only a guide.
    cost
        Column with what a measurement of each option costs; it is no feature then, unless it is
        named among them.
    unstructured
        Ignore all features: nothing is assumed about how options are related. So it is where the
        table has labels and nothing else.
    intercept
        Whether rewards have a level of their own, which they nearly always do. The answer only
        depends on differences between options, where the level cancels; but what is measured are
        rewards, not differences: without this feature the level would be forced into the
        effects of the others, and the answer would be wrong.
    max_levels
        Levels that a category may have.
    minimise
        Whether smaller rewards are better.

    Examples
    --------
    >>> import pandas as pd
    >>> options = pd.DataFrame({"size": [1, 2, 3], "colour": ["red", "blue", "red"]})
    >>> from_table(options).columns
    ('intercept', 'size', 'colour[red]')
    """
    if features is not None and formula is not None:
        raise InvalidInputError("give either features or a formula, not both")
    whole(max_levels, "max_levels", least=2)
    wanted = as_list(features)
    table = read(source)
    notes = list(table.notes)
    taken = (wanted or []) if cost is None else [*(wanted or []), cost]
    labels, label = labels_of(table, label, taken, notes)
    costs = None if cost is None else costs_of(table, cost)
    alone = wanted is None and formula is None and nothing_describes(table, label, cost)
    if alone and not unstructured:
        notes.append("No column describes the options, so each is measured on its own.")
    if unstructured or alone:
        if wanted is not None or formula is not None:
            raise InvalidInputError("unstructured ignores features: leave them out")
        names = labels if labels is not None else [str(i) for i in range(len(table))]
        taken = usual(trusted=False) if noise is None else noise
        made = Problem(
            np.eye(len(names)), noise=taken, labels=names, costs=costs, minimise=minimise
        )
        return TableProblem(made, tuple(notes), tuple(names), label)
    if formula is not None:
        effects, without = by_formula(table, formula, max_levels, notes)
        if without and intercept:
            notes.append(
                "An intercept was added although the formula leaves it out, because rewards "
                "usually have a base level (intercept=False if they do not)."
            )
    else:
        names = feature_names(table, wanted, (label, cost), notes)
        effects = main_effects(table, names, max_levels)
    columns, matrix = _independent(effects, len(table), intercept, notes)
    problem = Problem(
        matrix, noise=noise, labels=labels, misfit=misfit, costs=costs, minimise=minimise
    )
    _tell_about_rows(problem, intercept, notes)
    return TableProblem(problem, tuple(notes), columns, label)


def as_list(features: Any) -> list[str] | None:
    """Names of columns, given as a list or as one text with commas."""
    if isinstance(features, str):
        return [name.strip() for name in features.split(",") if name.strip()]
    if features is None or isinstance(features, Sequence):
        return None if features is None else list(features)
    raise InvalidTypeError(f"features must be a list of columns; got {features!r:.80}")


def costs_of(table: Columns, column: str) -> FloatArray:
    """The numbers of a column, all of them above 0."""
    cells = table.column(column)
    require_complete(table, column)
    found = np.empty(len(cells))
    for i, cell in enumerate(cells):
        try:
            found[i] = float(cell)
        except (TypeError, ValueError):
            found[i] = np.nan
        if not (np.isfinite(found[i]) and found[i] > 0):
            raise InvalidInputError(
                f"{table.at(i, column)}: {cell!r:.80} is not a cost; costs are numbers above 0"
            )
    return found


def feature_names(
    table: Columns,
    wanted: list[str] | None,
    taken: tuple[str | None, str | None],
    notes: list[str],
) -> list[str]:
    """Columns that are features; the label and the cost, if any, are not."""
    label = taken[0]
    names = wanted
    if names is None:
        names, others = describing(table, taken)
        if others:
            notes.append(
                f"Left out, because it differs in every row like a name: {_list(others, 3)}. List "
                "it among the features if it describes an option."
            )
    if not names:
        raise InvalidInputError(
            f"{table.where} has no features: name the columns that describe the options, or set "
            "unstructured"
        )
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InvalidInputError(f"features: {name!r} is there twice")
        if name == label:
            raise InvalidInputError(f"features: {name!r} is the column of labels")
    return names


def labels_of(
    table: Columns, label: str | None, taken: list[str], notes: list[str]
) -> tuple[list[str] | None, str | None]:
    """Labels of the rows, and the column they come from, if any."""
    if label is None:
        if table.index is not None:
            return table.index, None
        label = naming(table, taken)
        _refuse_list(table, label)
        if label is None:
            notes.append(
                "No column names the options: they are called by their row numbers, starting at 0."
            )
            return None, None
        how = "" if label.lower() in LABEL_NAMES else ", the first column whose texts all differ"
        if is_id(table, label) and how:
            how = ", which has a different number in each row"
        notes.append(f"Labels come from column {label!r}{how}.")
    cells = table.column(label)
    require_complete(table, label)
    labels = [str(cell) for cell in cells]
    seen: dict[str, int] = {}
    for i, text in enumerate(labels):
        if len(text) > cutoffs.LONGEST_LABEL or not text.isprintable():
            as_passage(text, f"{table.at(i, label)}: the label", cutoffs.LONGEST_LABEL)
        first = seen.setdefault(as_seen(text), i)
        if first != i:
            same = "is that" if labels[first] == text else "looks the same as that"
            raise InvalidInputError(
                f"{table.at(i, label)}: the label {text!r} {same} of {table.rows[first]} "
                f"already; labels must differ"
            )
    return labels, label


def _refuse_list(table: Columns, label: str | None) -> None:
    """Refuse a file whose first option would be lost, as its line is taken for names of columns."""
    if table.headed or any(name.lower().removesuffix("s") in HEADINGS for name in table.cells):
        return
    first = ", ".join(table.cells)
    listed = label is not None and len(table.cells) == 1
    if listed or any(as_number(name) is not None for name in table.cells):
        raise InvalidInputError(
            f"{table.where}: is its first line ({first:.80}) an option, or does it name the "
            "columns? If it is an option, write a line above it, such as 'label' and names of the "
            "other columns; if it names them, say which one has the labels (label=…, --label)"
        )


def _independent(
    effects: Named, count: int, intercept: bool, notes: list[str]
) -> tuple[tuple[str, ...], FloatArray]:
    """The columns that add something to those before them, scaled; says what was left out."""
    names = [_INTERCEPT] if intercept else []
    kept = [np.ones(count)] if intercept else []
    basis = [column / np.sqrt(count) for column in kept]  # orthonormal
    constant, absent, implied = [], [], []
    for name, raw in effects:
        size = float(np.abs(raw).max())
        column = raw / (size or 1.0)
        if not size:
            absent.append(name)
            continue
        if intercept and np.ptp(column) <= _CONSTANT:
            constant.append(name)
            continue
        left = column - column.mean() if intercept else column
        length = float(np.linalg.norm(left))
        for _ in range(2):  # twice is enough to be orthogonal to rounding
            for other in basis:
                left = left - (other @ left) * other
        if float(np.linalg.norm(left)) <= _DEPENDENT * length:
            implied.append((name, column))
            continue
        basis.append(left / np.linalg.norm(left))
        names.append(name)
        kept.append(_scaled(column, intercept))
    if constant:
        notes.append(f"Left out, because all options have the same value: {_list(constant, 3)}.")
    if absent:
        notes.append(f"Left out, because no option differs in it: {_list(absent, 3)}.")
    if implied:
        said = [name for name, _ in implied]
        if len(implied) == 1:  # by which others: of many, that would be a wall of text
            said = [f"{said[0]} (from {_parts(implied[0][1], names, kept)})"]
        notes.append(
            f"Left out, because other features contain the same information: {_list(said, 3)}."
        )
    if len(names) == intercept:
        raise InvalidInputError(
            "no feature is left: all options have the same features, so no measurement can tell "
            "them apart; name other columns, or set unstructured"
        )
    return tuple(names), np.stack(kept, axis=1)


def _scaled(column: FloatArray, intercept: bool) -> FloatArray:
    """Numbers standardised, columns of 0 and 1 as they are."""
    if np.isin(column, (0.0, 1.0)).all():
        return column
    if not intercept:  # shifting would change the model
        return column / np.sqrt(np.mean(column**2))
    centred = column - column.mean()
    return centred / centred.std()


def _parts(column: FloatArray, names: list[str], kept: list[FloatArray]) -> str:
    weights = np.linalg.lstsq(np.stack(kept, axis=1), column, rcond=None)[0]
    used = [
        name
        for name, weight in zip(names, weights)
        if abs(weight) > 1e-6 * np.abs(weights).max() and name != _INTERCEPT
    ]
    return _list(used or names[:1], 3)


def _tell_about_rows(problem: Problem, intercept: bool, notes: list[str]) -> None:
    for group in problem.duplicate_candidates[:5]:
        notes.append(
            "These options have the same features and count as one: "
            f"{_list([repr(problem.labels[i]) for i in group])}; if their rewards may differ, add "
            "a feature in which they differ."
        )
    if len(problem.duplicate_candidates) > 5:
        notes.append(f"So do {len(problem.duplicate_candidates) - 5} more groups of options.")
    if problem.rank == len(problem.distinct) > 2:
        notes.append(
            f"{problem.rank} features describe {len(problem.distinct)} different options. That "
            "many can fit any rewards, so measuring one option says nothing about the others. "
            "Fewer features need fewer measurements."
        )


def _list(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


_SAME = 1e-9  # of their size: features that differ by less are the same
_DIGITS = 12  # that new features are rounded to: the rest is rounding


def more_options(
    problem: Problem, known: Mapping[str, list[Any]], table: Columns, how: Mapping[str, Any]
) -> tuple[list[str], FloatArray, dict[str, list[Any]]]:
    """Labels, features and cells of the options of another table.

    Numbers were standardised, and categories coded, by the options that there were. Coding all
    anew gives the same linear model with other features, so there is a matrix which turns new
    features of the earlier options into theirs; it turns those of the newcomers into ones that go
    with them. What it cannot say (a category has a level that nobody had) becomes further features,
    which are 0 for all earlier options.

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
