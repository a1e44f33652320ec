"""Measurements that were made before a study: where they come from and how they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from surepick.errors import InvalidInputError, listed
from surepick.problem import Problem
from surepick.problem.tables.cells import as_floats, is_missing
from surepick.problem.tables.past import PastTable, further_numbers, past_measurements
from surepick.problem.tables.read import Columns
from surepick.run import Run
from surepick.run.codec import dumps, loads
from surepick.run.past import check_past
from surepick.study.pulls import is_meant
from surepick.study.sheet import Sheet

#: how the measurements were chosen -> whether they count as evidence
CHOSEN = {"in advance": True, "by results": False}

_COLUMNS = {"label", "arm", "reward"}

#: the difference, for users
DIFFERENCE = (
    "'in advance': what to measure, and how often, was decided without looking at rewards (a "
    "survey of all options, a designed experiment). The measurements then count as evidence. 'by "
    "results': somebody kept measuring what looked good, or stopped when it looked good enough. "
    "The averages are then biased, so they only guide what is measured first; that is safe "
    "however wrong they are. If in doubt, choose 'by results'."
)


def as_past(
    past: Any, chosen: Any, columns: Any = None, further: Iterable[str] = ()
) -> tuple[Sheet | None, str | None]:
    """The table of past measurements and how they were chosen; nothing where there are none.

    Its columns get the names that they have everywhere, where ``columns`` says what they are
    called; ``further`` are the names of further numbers.
    """
    if past is None:
        if chosen is not None:
            raise InvalidInputError(
                "past_chosen says how past measurements were chosen, but there are none: give past"
            )
        if columns:
            raise InvalidInputError(
                "past_columns describes past measurements, but there are none: give past"
            )
        return None, None
    if isinstance(past, PastTable):
        if columns:
            raise InvalidInputError(
                "past_columns: these past measurements have been read already and are no longer a "
                "table; leave it out"
            )
        if chosen is not None:
            raise InvalidInputError(
                "past_chosen: these past measurements already say how they were chosen; leave it "
                "out"
            )
        columns = {"arm": past.arms.tolist(), "reward": past.rewards.tolist()}
        columns |= {name: own.tolist() for name, own in (past.numbers or {}).items()}
        return Sheet(columns=columns), "in advance" if past.evidence else "by results"
    if isinstance(chosen, str):
        chosen = chosen.replace("-", " ")  # the command line says "in-advance"
    if chosen not in CHOSEN:
        raise InvalidInputError(
            f"past_chosen must say how past measurements were chosen. {DIFFERENCE}"
        )
    return _renamed(Sheet.of(past), columns, set(further)), chosen


def _renamed(sheet: Sheet, columns: Any, further: set[str]) -> Sheet:
    """A table with only the columns that are used, under their usual names."""
    if not columns:
        return sheet
    known = _COLUMNS | further
    unknown = columns.keys() - known if isinstance(columns, Mapping) else {columns}
    if unknown:
        more = f", and of {listed(sorted(further))}" if further else ""
        raise InvalidInputError(
            f"past_columns must give the column names of label (or arm) and reward{more}; got "
            f"{columns!r:.80}"
        )
    table = sheet.read("past")
    own = {name: name for name in sorted(further) if name in table.cells}
    named = {"reward": "reward", **own, **columns}
    if "arm" not in named:
        named.setdefault("label", "label")
    cells = {name: table.column(there) for name, there in named.items()}
    return Sheet(columns=cells, source=sheet.source)


def measurements(problem: Problem, sheet: Sheet, chosen: str) -> PastTable:
    """Past measurements of the arms of a problem, named by their label or their number."""
    table, evidence = sheet.read("past"), CHOSEN[chosen]
    if "arm" not in table.cells or "label" in table.cells:
        past = past_measurements(problem, table, chosen_in_advance=evidence)
        _refuse_two(problem, table, past)
        return past
    numbers, values = as_floats(table, "arm"), as_floats(table, "reward")
    arms, rewards = check_past(problem, numbers, values, evidence)
    further = further_numbers(problem, table)
    return PastTable.of(problem, arms, rewards, evidence=evidence, numbers=further)


def _refuse_two(problem: Problem, table: Columns, past: PastTable) -> None:
    """Refuse a row that names one option by its label and another one by its number."""
    if "arm" not in table.cells:
        return
    for i, (cell, arm) in enumerate(zip(table.cells["arm"], past.arms.tolist())):
        if not is_missing(cell) and not is_meant(cell, arm, problem.labels, number=True):
            raise InvalidInputError(
                f"{table.at(i, 'arm')}: {cell!r:.80} is not the number of "
                f"{problem.labels[arm]!r}, which the row is of by its label (that has {arm})"
            )


def stored(past: PastTable) -> str:
    """Past measurements as text."""
    kept = {"arms": past.arms, "rewards": past.rewards, "evidence": past.evidence}
    further = {} if past.numbers is None else {"numbers": past.numbers}
    return dumps(kept | further)


def tell_stored(run: Run, text: str | None) -> None:
    """Tell a fresh run what was measured before it."""
    if text is not None:
        past = loads(text, "stored past measurements")
        run.tell_past(
            past["arms"],
            past["rewards"],
            chosen_in_advance=past["evidence"],
            numbers=past.get("numbers"),
        )
