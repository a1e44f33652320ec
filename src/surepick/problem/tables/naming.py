"""Which column names the options, and which columns only seem to describe them.

Nobody has to say so: a table mostly has one column of names, and often another one of ids. Taken
for features they would be worth nothing: an effect of a number that somebody gave, or as many
effects as there are options.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from surepick.problem.tables.cells import as_number, looks_like_a_number
from surepick.problem.tables.read import Columns

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
    """The column that names the options, if there is one; not one of those that are taken."""
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
