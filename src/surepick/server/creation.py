"""From the body of a request to a study: tables and features."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surepick.errors import InvalidInputError, StudyExistsError, SurepickError
from surepick.problem import Problem
from surepick.problem.tables import from_table
from surepick.problem.tables.build import TableProblem
from surepick.problem.tables.cells import is_numeric
from surepick.problem.tables.read import Columns
from surepick.problem.tables.read import read as read_table
from surepick.server import models
from surepick.storage import Storage
from surepick.study import create_study, load_study
from surepick.study.table import configure, create_from_table

_log = logging.getLogger(__name__)
_OPTIONS = 20_000  # in a study
_UNRELATED = 2_000  # without features, where every option is a feature of its own
_EXAMPLES = 5
_KEY = "request"  # where a study keeps the key of the request that made it
_RESERVED = (".", "..")  # addresses that browsers and proxies rewrite


def create(body: models.NewStudy, storage: Storage) -> list[str]:
    """Create the study; what was dropped or merged.

    A request that came twice, as its answer was lost, is recognised by its key.
    """
    try:
        with within_reach():
            return _create(body, storage)
    except StudyExistsError:
        there = load_study(body.name, storage).meta
        if body.key is None or there.get(_KEY) != body.key:
            raise
        return list(there.get("notes", ()))


def _create(body: models.NewStudy, storage: Storage) -> list[str]:
    if body.name in _RESERVED:
        raise InvalidInputError(f"name: {body.name!r} cannot be part of an address")
    if (body.table is None) == (body.problem is None):
        raise InvalidInputError("give either a table or a problem")
    noise = None if isinstance(body.noise, str) else body.noise
    algorithm = configure(
        body.algorithm,
        body.settings,
        noise=noise,
        delta=body.delta,
        epsilon=body.epsilon,
        max_samples=body.max_samples,
    )
    meta = body.meta if body.key is None else {**body.meta, _KEY: body.key}
    if body.table is not None:
        with as_file(body.table) as path:
            _check_size(read_table(path), body.table.unstructured)
            _, made = create_from_table(
                body.name,
                path,
                algorithm,
                storage,
                noise=noise,
                features=body.table.features,
                formula=body.table.formula,
                label=body.table.label,
                unstructured=body.table.unstructured,
                seed=body.seed,
                called=body.source,
                meta=meta,
            )
        return list(made.notes)
    assert body.problem is not None
    given = body.problem
    if max(len(given.arms), len(given.candidates or ())) > _OPTIONS:
        raise InvalidInputError(f"arms: at most {_OPTIONS:,} options")
    problem = Problem(
        given.arms,
        given.candidates,
        1.0 if noise is None else noise,
        given.labels,
        candidate_labels=given.candidate_labels,
    )
    create_study(body.name, problem, algorithm, storage, seed=body.seed, meta=meta)
    return []


def content_of(body: models.Table) -> dict[str, Any]:
    """What is in a table, and what would become of it."""
    with as_file(body) as path:
        try:
            table = read_table(path)
        except SurepickError as error:
            return {"columns": [], "rows": 0, "problem": None, "error": str(error)}
        content = {
            "columns": [_column(table, name) for name in table.cells],
            "rows": len(table),
            "problem": None,
            "error": None,
        }
        try:
            with within_reach():
                made = problem_of(body, path)
        except SurepickError as error:
            return content | {"error": str(error)}
    return content | {
        "problem": {
            "options": len(made.problem.distinct),
            "features": list(made.columns),
            "rank": made.problem.rank,
            "notes": list(made.notes),
        }
    }


def problem_of(body: models.Table, path: Path, noise: float = 1.0) -> TableProblem:
    """The problem that a table describes."""
    _check_size(read_table(path), body.unstructured)
    return from_table(
        path, body.features, body.formula, body.label, noise, unstructured=body.unstructured
    )


@contextmanager
def within_reach() -> Iterator[None]:
    """Refuse numbers that are so extreme that arithmetic with them fails somewhere."""
    try:
        yield
    except SurepickError:
        raise
    except (ArithmeticError, ValueError) as error:
        _log.warning("refused, as this came of it: %r", error, exc_info=True)
        raise InvalidInputError(
            "some number is too large, too small or too close to another to compute with"
        ) from None


@contextmanager
def as_file(body: models.Table) -> Iterator[Path]:
    """The table as a file for a while, as readers of tables expect one."""
    with tempfile.TemporaryDirectory(prefix="surepick-") as folder:
        path = Path(folder) / "table.csv"
        path.write_text(body.csv, encoding="utf-8", newline="")
        yield path


def _check_size(table: Columns, unstructured: bool) -> None:
    most = _UNRELATED if unstructured else _OPTIONS
    if len(table) > most:
        without = " without features" if unstructured else ""
        raise InvalidInputError(f"table: at most {most:,} options{without}; it has {len(table):,}")


def _column(table: Columns, name: str) -> dict[str, Any]:
    cells = table.column(name)
    there = [str(cell) for cell in cells if cell is not None]
    different = list(dict.fromkeys(there))
    try:
        number = bool(there) and is_numeric(table, name)
    except SurepickError:  # a mixture, which is refused when the column is used
        number = False
    return {
        "name": name,
        "kind": "number" if number else "text",
        "levels": len(different),
        "examples": different[:_EXAMPLES],
        "missing": len(cells) - len(there),
    }
