"""From the body of a request to a study or a forecast, and what is in a table."""

from __future__ import annotations

import math
from typing import Any

from surepick.algorithms.combinations import SHAPES, refused
from surepick.errors import InvalidInputError, SurepickError
from surepick.problem.noise import kinds
from surepick.problem.problem import as_misfit
from surepick.problem.tables.build import TableProblem
from surepick.problem.tables.cells import describing, is_numeric, naming
from surepick.problem.tables.read import Columns
from surepick.server import models
from surepick.storage import Storage
from surepick.study import OptionTable, StudySpec, store
from surepick.study.manage import refusing_extremes, store_each
from surepick.study.settings import known
from surepick.study.spec import MOST_SAMPLES

_MOST_OPTIONS = 20_000  # in a study
_MOST_WITHOUT_FEATURES = 2_000  # every option is then a feature of its own
_EXAMPLES = 5


def create(body: models.NewStudy, storage: Storage) -> StudySpec:
    """Create the study."""
    with refusing_extremes():
        spec = spec_of(body)
        if spec.table is not None:
            _check_size(spec.table)
    if spec.each:
        store_each(spec, storage, key=body.key)
        return spec.each[0]  # people begin with its page, which leads to the others
    store(spec, storage, key=body.key)
    return spec


def spec_of(body: models.NewStudy) -> StudySpec:
    """What the study is to be."""
    given: dict[str, Any] = {"max_samples": MOST_SAMPLES}
    given |= body.model_dump(exclude_unset=True, exclude={"key", "source"})
    if given.get("problem") is not None:
        counts = [len(given["problem"].get(name) or ()) for name in ("arms", "candidates")]
        if max(counts) > _MOST_OPTIONS:
            raise InvalidInputError(f"arms: at most {_MOST_OPTIONS:,} options")
    if given.get("table") is not None:
        given["table"].setdefault("source", body.source)
    return StudySpec.from_dict(given)


def questions() -> list[dict[str, Any]]:
    """What people are asked about a new study, in the words of its settings."""
    return [
        {
            "name": setting.name,
            "question": setting.question,
            "hint": setting.hint,
            "first": setting.first,
            "kind": setting.schema.get("type", ""),
            "default": setting.default,
            "choices": setting.choices,
            "empty": setting.empty,
            "traffic": setting.traffic,
            "pairs": setting.pairs,
            "refused": {
                shape: f"{found.said[:-1]}; {found.cure}."
                for shape in SHAPES
                if (found := refused(setting.name, shape)) is not None
            },
        }
        for setting in known().values()
        if setting.question and setting.shown()
    ]


def rewards_asked() -> list[dict[str, Any]]:
    """What a measurement may give, where one word says it."""
    return [
        {"noise": kind.word, "words": kind.asked}
        for kind in kinds()
        if kind.word is not None and kind.form is not None
    ]


def content_of(body: models.TableBody) -> dict[str, Any]:
    """What is in a table, and what would become of it."""
    try:
        table = options_of(body).sheet.read()
    except SurepickError as error:
        return {"columns": [], "label": None, "rows": 0, "problem": None, "error": str(error)}
    label = naming(table) if table.index is None else None
    chosen, _ = describing(table, (label,))
    content = {
        "columns": [_column(table, name) | {"feature": name in chosen} for name in table.cells],
        "label": label,
        "rows": len(table),
        "problem": None,
        "error": None,
    }
    try:
        with refusing_extremes():
            # Studies take features as a guide unless they are told otherwise.
            made = problem_of(body, misfit=0.0 if body.unstructured else math.inf)
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


def options_of(body: models.TableBody) -> OptionTable:
    """A table of options, less what else the request is about."""
    return OptionTable.from_dict(
        {name: getattr(body, name) for name in models.TableBody.model_fields}
    )


def problem_of(body: models.TableBody, noise: Any = None, misfit: float = 0.0) -> TableProblem:
    """The problem that a table describes."""
    options = options_of(body)
    _check_size(options)
    return options.problem(noise, misfit)


def _check_size(options: OptionTable) -> None:
    most = _MOST_WITHOUT_FEATURES if options.unstructured else _MOST_OPTIONS
    count = len(options.sheet.read())
    if count > most:
        without = " without features" if options.unstructured else ""
        raise InvalidInputError(f"table: at most {most:,} options{without}; it has {count:,}")


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


def forecast_for(body: models.PlanRequest) -> dict[str, Any]:
    """The forecast for a table."""
    from surepick.bench.forecast import LeadToFind, forecast, study_noise

    told, guess = study_noise(body.rewards, body.noise, body.noise_is)
    misfit = math.inf if body.misfit in ("any", None) else body.misfit
    with refusing_extremes():
        made = problem_of(body, told, as_misfit(misfit))
        question = LeadToFind(
            made.problem.with_direction(body.minimise),
            body.gap,
            body.delta,
            noise=guess,
            base_rate=body.base_rate,
            lift=body.lift,
            trials=body.trials,
        )
        found = forecast(question)
    rows = [{key: _plain(value) for key, value in row.items()} for row in found.summary.rows()]
    return {"forecast": rows, "notes": [*made.notes, *found.notes], "files": []}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
