"""From columns to a matrix of features: main effects, or a formula.

Codes: numbers are centred and divided by their standard deviation; a category with L levels
becomes L − 1 columns of 0 and 1, all but its first level (which the intercept stands for). With
an intercept none of this changes which linear models can be expressed, so it changes no answer.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError, InvalidTypeError, SurepickError, UnknownNameError
from surepick.problem.tables import price
from surepick.problem.tables.cells import as_floats, as_levels, is_numeric
from surepick.problem.tables.extras import need_formulaic
from surepick.problem.tables.read import Columns

_CATEGORY = re.compile(r"C\(\s*(.*?)\s*\)")
_DOT = re.compile(r"(?:^|[\s+*:(-])\.(?:$|[\s+*:)-])")
_QUOTED = re.compile(r"`([^`]*)`")
# What a formula may call. A formula is evaluated, and may come from elsewhere: nothing but these
# functions of columns and numbers is let through.
_FUNCTIONS = frozenset(
    ("C", "I", "log", "log2", "log10", "exp", "exp2", "exp10", "poly", "center", "scale")
)
_PIECES = (ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd)

Named = list[tuple[str, FloatArray]]  # feature columns with their names, in order


def main_effects(table: Columns, features: Sequence[str], max_levels: int) -> Named:
    """One numeric column, or the columns of one category, for each feature."""
    out: Named = []
    for entry in features:
        if not isinstance(entry, str):
            raise InvalidTypeError(f"features must be names of columns; got {entry!r:.80}")
        declared = None if entry in table.cells else _CATEGORY.fullmatch(entry.strip())
        name = declared[1] if declared else entry
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


def by_formula(table: Columns, formula: str, max_levels: int) -> tuple[Named, bool]:
    """The columns of a formula, and whether it asks to leave the intercept out."""
    if not isinstance(formula, str) or not formula.strip():
        raise InvalidTypeError(f"formula must be a text such as 'a + C(b)*C(c)'; got {formula!r}")
    words = {name: f"{name}_column" for name in table.cells if keyword.iskeyword(name)}
    if not words:
        return _by_formula(table, formula, max_levels)
    # Words of Python, such as class or for, are no names in it: they get others meanwhile.
    back = {other: name for name, other in words.items()}
    spelt = re.compile(rf"(`?)\b({'|'.join(words)})\b\1")
    other = replace(table, cells={words.get(name, name): c for name, c in table.cells.items()})
    try:
        found, without = _by_formula(
            other, spelt.sub(lambda one: words[one[2]], formula), max_levels
        )
    except SurepickError as error:
        error.args = (_renamed(str(error), back),)
        raise
    return [(_renamed(name, back), column) for name, column in found], without


def _renamed(text: str, names: dict[str, str]) -> str:
    for here, there in names.items():
        text = re.sub(rf"\b{here}\b", there, text)
    return text


def _by_formula(table: Columns, formula: str, max_levels: int) -> tuple[Named, bool]:
    formulaic, pandas = need_formulaic()
    terms = price.terms_of(formula)
    spec = _parse(formulaic, formula)
    literals = [factor.expr for term in spec for factor in term.factors if len(term.factors) == 1]
    factors = {factor.expr: factor for term in spec for factor in term.factors}
    for factor in factors.values():
        if factor.eval_method.name == "PYTHON":
            _check_expression(factor.expr, formula, table)
    frame = {
        name: _frame_column(table, name, formula, max_levels)
        for name in sorted(map(str, spec.required_variables))
    }
    if terms is not None:
        price.check_coefficients(
            price.coefficients(terms, _levels(terms, frame)),
            len(table),
            f"formula {formula!r:.200}",
        )
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused below
            matrix = spec.get_model_matrix(pandas.DataFrame(frame), context={}, na_action="raise")
        values = np.asarray(matrix, dtype=float)
    except (formulaic.errors.FormulaicError, ValueError, TypeError, NameError) as error:
        raise InvalidInputError(f"formula {formula!r}: {_first_line(error)}") from None
    columns = [(_short(str(name)), values[:, j]) for j, name in enumerate(matrix.columns)]
    for name, column in columns:
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise InvalidInputError(
                f"formula {formula!r}: {name} is {column[bad[0]]} at {table.rows[bad[0]]} of "
                f"{table.where} (the logarithm of 0 or of a negative number?)"
            )
    return [(n, c) for n, c in columns if n != "Intercept"], "1" not in literals


def _levels(terms: price.Terms, frame: dict[str, Any]) -> dict[str, int]:
    """How many levels each factor that is a category has."""
    found = {}
    for factor in {factor for term in terms for factor in term}:
        marked = re.match(r"C\(\s*`?([^`,)]*?)`?\s*[,)]", factor)
        cells: Any = frame.get(marked[1] if marked else factor)
        if hasattr(cells, "categories"):
            found[factor] = len(cells.categories)
    return found


def _parse(formulaic: Any, formula: str) -> Any:
    if "~" in formula:
        raise InvalidInputError(
            f"formula {formula!r}: leave out '~' and what stands before it; rewards are measured, "
            f"not read from the table"
        )
    if _DOT.search(formula):
        raise InvalidInputError(f"formula {formula!r}: '.' is not understood; name the columns")
    try:
        spec = formulaic.Formula(formula)
        if not isinstance(spec, formulaic.SimpleFormula):
            raise InvalidInputError(f"formula {formula!r}: '|' is not understood here")
    except (formulaic.errors.FormulaicError, SyntaxError) as error:
        raise InvalidInputError(f"formula {formula!r}: {_first_line(error)}") from None
    return spec


def _check_expression(expression: str, formula: str, table: Columns) -> None:
    """Let through arithmetic on columns and the functions named above, nothing else."""
    plain = _QUOTED.sub("quoted", expression)
    try:
        tree = ast.parse(plain, mode="eval")
    except SyntaxError:
        raise InvalidInputError(f"formula {formula!r}: {expression!r} cannot be read") from None
    called, named = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id != "quoted":
            named.add(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
        elif isinstance(node, ast.Call) or not isinstance(node, _PIECES + _OPERATORS):
            raise InvalidInputError(
                f"formula {formula!r}: {expression!r} may only hold columns, numbers, + - * / ** "
                f"and {', '.join(sorted(_FUNCTIONS))}"
            )
    for name in sorted(named - called):
        table.column(name)
    unknown = called - _FUNCTIONS
    if unknown:
        raise UnknownNameError.among(
            f"function in formula {formula!r}:", sorted(unknown)[0], _FUNCTIONS
        )


def _frame_column(table: Columns, name: str, formula: str, max_levels: int) -> Any:
    table.column(name)
    marked = re.search(rf"\bC\(\s*`?{re.escape(name)}`?\s*[,)]", formula) is not None
    if not marked and is_numeric(table, name):
        return as_floats(table, name)
    texts, levels = as_levels(table, name, max_levels)
    import pandas

    return pandas.Categorical(texts, categories=levels)


def _short(name: str) -> str:
    """``C(colour)[T.red]`` as ``colour[red]``."""
    return _CATEGORY.sub(r"\1", name).replace("[T.", "[").replace("`", "")


def _first_line(problem: BaseException) -> str:
    text = re.sub(r"[⧛⧚]|\x1b?\[[\d;]*m", "", str(problem)).strip()
    return " ".join(text.split())[:200]
