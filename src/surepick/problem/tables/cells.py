"""What a column holds: numbers or categories. Never a silent mixture of both.

A column whose cells are all numbers is numeric; one without any number is a category. A column
with both is refused with the row that spoils it, because either reading may be the wrong one;
``C(column)`` says that it is a category. Numbers in a national or financial spelling ("1,5",
"12 %", "€ 9") are refused in the same way: read as categories they would be a level each.
"""

from __future__ import annotations

import math
import numbers
import re
import unicodedata
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError
from surepick.problem.tables.read import Columns

#: levels a category may have, unless the caller allows more
MAX_LEVELS = 100
_MISSING = {"nan", "na", "n/a", "null", "none", "-", "?"}
_NUMBERLIKE = re.compile(
    r"[^\w\s]?\s*+[-+]?\d[\d.,' ]*+\s*+([%€$£]|[a-z]{0,2})|0(x[\da-f.]+(p-?\d+)?|b[01]+|o[0-7]+)",
    re.IGNORECASE,
)


def is_numeric(table: Columns, name: str) -> bool:
    """Whether a column holds numbers; refuses columns with missing cells or of both kinds."""
    cells = table.column(name)
    require_complete(table, name)
    numeric = [as_number(cell) is not None for cell in cells]
    if all(numeric):
        return True
    if any(numeric):
        bad = numeric.index(False)
        cell = cells[bad]
        if isinstance(cell, str) and cell.lower() in _MISSING:
            raise _missing(table, bad, name, cell)
        raise InvalidInputError(
            f"{table.at(bad, name)}: {cell!r} is not a number, but {sum(numeric)} of "
            f"{len(cells)} cells in this column are; correct it, or write C({name}) if the "
            f"column is a category"
        )
    if all(isinstance(cell, str) and looks_like_a_number(cell) for cell in cells):
        raise InvalidInputError(
            f"{table.at(0, name)}: {cells[0]!r} looks like a number but is not written as one; "
            f"use plain digits with a decimal point, or write C({name}) if the column is a "
            f"category"
        )
    return False


def as_floats(table: Columns, name: str) -> FloatArray:
    """A numeric column as finite numbers."""
    values = np.array([as_number(cell) for cell in table.column(name)], dtype=float)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InvalidInputError(
            f"{table.at(int(bad[0]), name)} is {values[bad[0]]}; it must be finite"
        )
    return values


def as_levels(
    table: Columns, name: str, max_levels: int = MAX_LEVELS
) -> tuple[list[str], list[str]]:
    """A category: the text of every cell, and the distinct levels in order."""
    require_complete(table, name)
    cells = table.column(name)
    texts = [_text(cell) for cell in cells]

    # levels that are numbers in the order of numbers, texts after them
    def order(level: str) -> tuple[bool, float, str]:
        number = as_number(level)
        return number is None, number or 0.0, level

    levels = sorted(set(texts), key=order)
    if len(levels) > max_levels:
        hint = (
            "it differs in almost every row, so it may be a label"
            if len(levels) > 0.8 * len(cells)
            else "every level needs measurements of its own"
        )
        raise InvalidInputError(
            f"{table.where}: column {name!r} has {len(levels)} levels, and at most {max_levels} "
            f"are accepted; {hint}. Group its levels, leave it out, use it as the label, or raise "
            f"max_levels"
        )
    return texts, levels


def require_complete(table: Columns, name: str) -> None:
    """Refuse a column with an empty cell."""
    for i, cell in enumerate(table.column(name)):
        if cell is None:
            raise _missing(table, i, name, None)


def _missing(table: Columns, row: int, name: str, cell: Any) -> InvalidInputError:
    missing = sum(
        other is None or (cell is not None and other == cell) for other in table.column(name)
    )
    more = f" ({missing} such cells in this column)" if missing > 1 else ""
    what = "is empty" if cell is None else f"holds {cell!r} instead of a number"
    return InvalidInputError(
        f"{table.at(row, name)} {what}{more}; fill it in, or leave the row or the column out"
    )


def looks_like_a_number(text: str) -> bool:
    """Whether a text that is no number was probably meant as one."""
    return _NUMBERLIKE.fullmatch(text) is not None


def is_missing(cell: Any) -> bool:
    """Whether a cell is empty, or says that there is nothing."""
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in {"", *_MISSING})


def as_number(cell: Any) -> float | None:
    """The number in a cell, or None where there is none (texts such as nan are none)."""
    if isinstance(cell, bool | np.bool_):
        return None
    if isinstance(cell, numbers.Real | Decimal):
        return float(cell)
    if not isinstance(cell, str) or "_" in cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # a category of numbers that some tool stored as floats
    return str(cell)


#: columns taken as labels where the caller names none, the best first
LABEL_NAMES = ("label", "name", "option", "id")
#: what lists of options are headed by, too: where there is one column, such a line is no option
HEADINGS = frozenset(
    ["arm", "candidate", "design", "id", "item", "label", "layout", "model", "name", "option"]
    + ["prompt", "title", "treatment", "variant", "version"]
)
_ID = re.compile(r"(.*[_\W])?(id|uuid|key|nr|no|index|row)\.?|.*[a-z]I[Dd]", re.ASCII)
_MANY = 20  # options: so many different texts are names, and not the levels of a category


def naming(table: Columns, taken: Collection[str] = ()) -> str | None:
    """The column that names the options, if there is one; not one of those that are taken.

    Nobody has to say so: a table mostly has one column of names, and often another one of ids.
    Taken for features they would be worth nothing: an effect of a number that somebody gave.
    """
    free = [name for name in table.cells if name not in taken]
    for wanted in LABEL_NAMES:
        for name in free:
            if name.lower() == wanted:
                return name
    for names in (_texts_that_differ, is_id):
        found = next((name for name in free if names(table, name)), None)
        if found is not None and not _is_all_there_is(table, found):
            return found
    return None


def _is_all_there_is(table: Columns, name: str) -> bool:
    """Whether a column of numbers is the only one: then it is what options differ in."""
    return len(table.cells) == 1 and not _texts_that_differ(table, name)


def nothing_describes(table: Columns, label: str | None, cost: str | None) -> bool:
    """Whether a table has names of options, and perhaps costs, and nothing else."""
    if label is None and table.index is None:
        return False
    return not any(name not in (label, cost) for name in table.cells)


def describing(table: Columns, taken: Collection[str | None] = ()) -> tuple[list[str], list[str]]:
    """The columns that describe an option, less those taken, and those that only name it again."""
    others = [
        name
        for name in table.cells
        if name not in taken and (is_id(table, name) or _many_names(table, name))
    ]
    names = [name for name in table.cells if name not in (*taken, *others)]
    return (names, others) if names else (others, [])


def is_id(table: Columns, name: str) -> bool:
    """Whether a column is called like an id, and is a different whole number in each row."""
    cells = table.cells[name]
    numbers = [as_number(cell) for cell in cells]
    whole = all(number is not None and number % 1 == 0 for number in numbers)
    called = _ID.fullmatch(name.strip()) or _ID.fullmatch(name.strip().lower())
    return bool(called) and whole and len(set(numbers)) == len(cells)


def _many_names(table: Columns, name: str) -> bool:
    return len(table) >= _MANY and _texts_that_differ(table, name)


def _texts_that_differ(table: Columns, name: str) -> bool:
    cells = table.cells[name]
    if not all(isinstance(cell, str) and as_number(cell) is None for cell in cells):
        return False
    if all(looks_like_a_number(cell) for cell in cells):  # as in 1,5 or 12 %: refused where used
        return False
    return len({as_seen(cell) for cell in cells}) == len(cells)


def as_seen(text: str) -> str:
    """A text without what cannot be seen, and one spelling of what looks the same."""
    visible = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFC", visible)
