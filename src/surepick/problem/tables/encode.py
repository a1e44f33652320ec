"""From columns to a matrix of features: main effects, or a formula.

Codes: numbers are centred and divided by their standard deviation; a category with L levels
becomes L − 1 columns of 0 and 1, all but its first level (which the intercept stands for). With
an intercept none of this changes which linear models can be expressed, so it changes no answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surepick.errors import InvalidTypeError, UnknownNameError
from surepick.problem.tables import price
from surepick.problem.tables.cells import as_floats, as_levels, is_numeric
from surepick.problem.tables.coding import Named, coded
from surepick.problem.tables.grammar import parse
from surepick.problem.tables.read import Columns


def main_effects(table: Columns, features: Sequence[str], max_levels: int) -> Named:
    """One numeric column, or the columns of one category, for each feature."""
    out: Named = []
    for entry in features:
        if not isinstance(entry, str):
            raise InvalidTypeError(f"features must be names of columns; got {entry!r:.80}")
        typed = entry.strip()
        declared = entry not in table.cells and typed.startswith("C(") and typed.endswith(")")
        name = typed[2:-1].strip() if declared else entry
        table.column(name)
        if not declared and is_numeric(table, name):
            out.append((name, as_floats(table, name)))
            continue
        texts, levels = as_levels(table, name, max_levels)
        cells = np.array(texts)
        if len(levels) == 1:
            out.append((name, np.zeros(len(cells))))
        price.check_coefficients(len(out) + len(levels) - 1, len(cells), "this list of features")
        out += [(f"{name}[{level}]", (cells == level).astype(float)) for level in levels[1:]]
    price.check_coefficients(len(out), len(table), "this list of features")
    return out


def by_formula(
    table: Columns, formula: str, max_levels: int, notes: list[str] | None = None
) -> tuple[Named, bool]:
    """The columns of a formula, and whether it asks to leave the intercept out."""
    if not isinstance(formula, str) or not formula.strip():
        raise InvalidTypeError(f"formula must be a text such as 'a + C(b)*C(c)'; got {formula!r}")
    parsed = parse(formula)
    for name, letter in parsed.columns.items():
        if name not in table.cells:
            raise UnknownNameError.among(
                f"column of {table.where} (letter {letter} of the formula)",
                name[:200],
                table.cells,
            )
    if notes is not None and parsed.selves:
        name = parsed.selves[0]
        notes.append(
            f"In a formula, a power of {name} alone is just {name}, because powers stand for "
            f"interactions. Write I({name}**2) for its square."
        )
    return coded(parsed, table, max_levels), () not in parsed.terms
