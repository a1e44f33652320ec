"""Studies from a table of options, as the command line and the service make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from surepick.algorithms import get
from surepick.algorithms.base import Algorithm
from surepick.errors import InvalidInputError
from surepick.problem.tables import from_table
from surepick.problem.tables.build import TableProblem
from surepick.problem.tables.read import read
from surepick.storage import Storage
from surepick.study.manage import create_study
from surepick.study.past import as_past
from surepick.study.study import Study


def create_from_table(
    name: str,
    source: Any,
    algorithm: Algorithm,
    storage: str | Storage,
    *,
    noise: float | None = 1.0,
    features: Sequence[str] | str | None = None,
    formula: str | None = None,
    label: str | None = None,
    unstructured: bool = False,
    seed: int = 0,
    called: str = "",
    meta: Mapping[str, Any] | None = None,
    check_fit: float | None = None,
    past: Any = None,
    past_chosen: str | None = None,
) -> tuple[Study, TableProblem]:
    """Start a study whose options are the rows of a table; also says what became of its columns.

    Parameters
    ----------
    name, algorithm, storage, seed, check_fit, past, past_chosen
        See :func:`surepick.create_study`.
    source, features, formula, label, unstructured
        See :func:`surepick.problem.tables.from_table`.
    noise
        Scale of one measurement's noise; None where the algorithm estimates it.
    called
        What the table is called.
    meta
        What else to keep with the study.
    """
    unit = 1.0 if noise is None else noise
    made = from_table(source, features, formula, label, unit, unstructured=unstructured)
    known = as_past(made.problem, past, past_chosen)
    if known is not None:
        made = replace(made, notes=(*made.notes, *known.notes))
    cells = _columns(read(source).cells, made.problem.labels)
    kept = {**(meta or {}), "source": called, "notes": list(made.notes), "columns": cells}
    study = create_study(
        name,
        made.problem,
        algorithm,
        storage,
        seed=seed,
        meta=kept,
        check_fit=check_fit,
        past=known,
    )
    return study, made


def configure(
    method: str, settings: Mapping[str, Any], *, noise: float | None, **given: Any
) -> Algorithm:
    """The algorithm with these settings; around it, where the noise is not known, a pilot."""
    if noise is not None:
        return get(method, **(given | dict(settings)))
    if settings:
        raise InvalidInputError("noise: with estimate, the algorithm cannot have settings")
    return get("estimated-noise", inner=method, **given)


def features_of(study: Study, arm: int) -> dict[str, Any]:
    """The cells of an option's row in the table that the study was made from."""
    return {name: cells[arm] for name, cells in (study.meta.get("columns") or {}).items()}


def _columns(cells: dict[str, list[Any]], labels: Sequence[str]) -> dict[str, list[Any]]:
    """The table as it is, less the labels: measure commands are given the cells of their row."""
    columns = {name: [_cell(c) for c in column] for name, column in cells.items()}
    return {name: c for name, c in columns.items() if [str(cell) for cell in c] != list(labels)}


def _cell(cell: Any) -> Any:
    if cell is None or isinstance(cell, str | bool | int):
        return cell
    return str(cell)  # numbers of a Parquet file keep all their digits this way
