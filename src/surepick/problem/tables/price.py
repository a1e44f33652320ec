"""What a table and a formula would cost, counted before anything is built.

A short formula can stand for millions of coefficients: categories that are all crossed multiply
their levels, powers multiply terms. More coefficients than this can neither be told apart by
measurements nor kept in memory, so they are counted first, and refused with what would fit.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping

from surepick.errors import InvalidInputError

MOST_COLUMNS = 10_000  #: of a table
MOST_CELLS = 50_000_000  #: of a table, or of the matrix of features
MOST_COEFFICIENTS = 5_000  #: of a formula or a list of features
_MOST_TERMS = 2_000
_HIGHEST_POWER = 10
_MOST_LETTERS = 20_000
_QUOTED = re.compile(r"`([^`]*)`")

Terms = frozenset[frozenset[str]]  # each term is a product of factors
_NOTHING: Terms = frozenset()


def check_shape(rows: int, columns: int, where: str) -> None:
    """Refuse a table that is too large to be looked at."""
    if columns > MOST_COLUMNS:
        raise InvalidInputError(
            f"{where} has {columns:,} columns, and at most {MOST_COLUMNS:,} are accepted; leave "
            f"out those that do not describe an option"
        )
    if rows * columns > MOST_CELLS:
        raise InvalidInputError(
            f"{where} has {rows:,} rows and {columns:,} columns; at most {MOST_CELLS:,} cells are "
            f"accepted"
        )


def check_coefficients(count: int, rows: int, what: str) -> None:
    """Refuse more coefficients than can be worked with."""
    most = min(MOST_COEFFICIENTS, max(1, MOST_CELLS // max(rows, 1)))
    if count > most:
        raise InvalidInputError(
            f"{what} makes about {count:,} coefficients, and at most {most:,} are accepted with "
            f"{rows:,} options: use fewer interactions, fewer columns, or group their levels"
        )


def terms_of(formula: str) -> Terms | None:
    """The terms of a formula; None where it is not understood here (formulaic says why, then)."""
    if len(formula) > _MOST_LETTERS:
        raise InvalidInputError(f"formula: at most {_MOST_LETTERS:,} letters are accepted")
    names: dict[str, str] = {}

    def plain(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"quoted_{len(names)}_")

    text = _QUOTED.sub(plain, formula).replace(":", "@").replace("^", "**").strip()
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        if "**" in text or text.count("*") > 8:  # formulaic would multiply it out
            raise InvalidInputError(
                f"formula {formula!r:.200}: it cannot be read (write columns, + - * : / and **)"
            ) from None
        return None
    back = {short: quoted[1:-1] for quoted, short in names.items()}
    return frozenset(
        frozenset(back.get(factor, factor) for factor in term) for term in _terms(tree, formula)
    )


def _terms(node: ast.expr, formula: str) -> Terms:
    if isinstance(node, ast.Constant):
        return _NOTHING  # the intercept
    if isinstance(node, ast.UnaryOp):
        return _terms(node.operand, formula)
    if not isinstance(node, ast.BinOp):
        return frozenset((frozenset((ast.unparse(node),)),))
    if isinstance(node.op, ast.Pow):
        return _power(_terms(node.left, formula), node.right, formula)
    left, right = _terms(node.left, formula), _terms(node.right, formula)
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.Add):
        return _checked(left | right, formula)
    if isinstance(node.op, ast.Div):  # within
        both = frozenset().union(*left)
        return _checked(left | {both | one for one in right}, formula)
    _check_product(left, right, formula)
    products = frozenset(one | other for one in left for other in right)
    return _checked(
        products if isinstance(node.op, ast.MatMult) else left | right | products, formula
    )


def _power(base: Terms, exponent: ast.expr, formula: str) -> Terms:
    if not (isinstance(exponent, ast.Constant) and isinstance(exponent.value, int)):
        raise InvalidInputError(f"formula {formula!r:.200}: a power must be a whole number")
    times = exponent.value
    # formulaic multiplies all of it out, term by term.
    fits = _HIGHEST_POWER
    if len(base) > 1:
        fits = min(fits, max(1, int(math.log(_MOST_TERMS) / math.log(len(base)))))
    if times > fits:
        raise InvalidInputError(
            f"formula {formula!r:.200}: the power {times} of {len(base)} terms is too high; at "
            f"most {fits} is accepted"
        )
    found = base
    for _ in range(times - 1):
        found = _checked(frozenset(one | other for one in found for other in base), formula)
    return found


def _check_product(left: Terms, right: Terms, formula: str) -> None:
    if len(left) * len(right) > _MOST_TERMS:
        raise _too_many(formula)


def _checked(terms: Terms, formula: str) -> Terms:
    if len(terms) > _MOST_TERMS:
        raise _too_many(formula)
    return terms


def _too_many(formula: str) -> InvalidInputError:
    return InvalidInputError(
        f"formula {formula!r:.200} has more than {_MOST_TERMS:,} terms: use fewer interactions"
    )


def coefficients(terms: Terms, levels: Mapping[str, int]) -> int:
    """About how many coefficients the terms have; ``levels`` of factors that are categories."""
    return sum(math.prod(max(levels.get(f, 2) - 1, 1) for f in term) for term in terms)
