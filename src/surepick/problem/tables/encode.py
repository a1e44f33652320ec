"""From columns to a matrix of features: main effects, or a formula.

Codes: numbers are centred and divided by their standard deviation; a category with L levels
becomes L − 1 columns of 0 and 1, all but its first level (which the intercept stands for). With
an intercept none of this changes which linear models can be expressed, so it changes no answer.

A category of L levels in a formula is coded by L columns, or by L − 1 of them where the first would
follow from columns that are there already: from the intercept, or from another category's. Which of
them it is, is decided term by term, with what earlier terms span:

- Write a category as 1 + a⁻, where 1 is a constant and a⁻ its L − 1 columns. A term a:b spans
  what (1 + a⁻)(1 + b⁻) spans: 1, a⁻, b⁻ and a⁻:b⁻, which are independent.
- Of these, what an earlier term has spanned is left out.
- The rest is written with few terms: x + x:a⁻ is x:a, where a has all of its L columns.

The rules, the order of columns and their names are those of formulaic.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.problem.tables.cells import as_floats, as_levels, is_numeric
from surepick.problem.tables.grammar import (
    Call,
    Category,
    Chain,
    Column,
    Factor,
    Formula,
    Number,
    Numbers,
    Poly,
    Power,
    Signed,
    Term,
    parse,
    text,
)
from surepick.problem.tables.read import Columns, check_coefficients

Named = list[tuple[str, FloatArray]]  # feature columns with their names, in order

_MOST_STEPS = 200_000  # of writing what terms span with few terms
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}

_Scoped = tuple[tuple[int, bool], ...]  # factors, and whether each lacks its first level


@dataclass(frozen=True)
class _Coded:
    """A factor: a column of numbers, several of them, or a category."""

    name: str
    columns: FloatArray | None = None  # (rows, columns)
    texts: FloatArray | None = None  # the level of each row, by number
    levels: tuple[str, ...] = ()
    width: int = 1  # columns, of numbers

    def count(self, reduced: bool) -> int:
        return len(self.levels) - reduced if self.levels else self.width

    def named(self, reduced: bool) -> Named:
        """Its columns; a category's without the first level if it is reduced."""
        if self.columns is not None:
            if self.columns.ndim == 1:
                return [(self.name, self.columns)]
            return [
                (f"{self.name}[{j + 1}]", self.columns[:, j]) for j in range(self.columns.shape[1])
            ]
        return [
            (f"{self.name}[{level}]", (self.texts == j).astype(float))
            for j, level in enumerate(self.levels)
            if j or not reduced
        ]


def coded(formula: Formula, table: Columns, max_levels: int) -> Named:
    """The columns of a formula's terms, without the intercept."""
    said = f"formula {formula.text!r:.200}"
    used = {place for term in formula.terms for place in term}
    marked = {f.name for f in formula.factors if isinstance(f, Category)}
    check_coefficients(len(used), len(table), said)
    numeric: dict[str, FloatArray | None] = {}

    def numbers_of(name: str) -> FloatArray | None:
        if name not in numeric:
            plain = name not in marked and is_numeric(table, name)
            numeric[name] = as_floats(table, name) if plain else None
        return numeric[name]

    factors = {}
    for place in sorted(used):
        factor = formula.factors[place]
        if isinstance(factor, Category) or (
            isinstance(factor, Column) and numbers_of(factor.name) is None
        ):
            factors[place] = _category(table, factor.name, max_levels)
        else:
            factors[place] = _numbers(factor, numbers_of, said)
    out: Named = []
    with np.errstate(all="ignore"):  # what is not finite is refused below
        for term in _scoped(formula.terms, factors, len(table), said):
            if term:
                out += _product([factors[place].named(reduced) for place, reduced in term])
    for name, column in out:
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise InvalidInputError(
                f"{said}: {name} is {column[bad[0]]} at {table.rows[bad[0]]} of {table.where} "
                f"(the logarithm of 0 or of a negative number, or a division by 0?)"
            )
    return out


def _category(table: Columns, name: str, max_levels: int) -> _Coded:
    texts, levels = as_levels(table, name, max_levels)
    place = {level: j for j, level in enumerate(levels)}
    return _Coded(name, texts=np.array([place[cell] for cell in texts]), levels=tuple(levels))


# Numbers


def _numbers(factor: Factor, numbers_of: Callable[[str], FloatArray | None], said: str) -> _Coded:
    def value(part: Numbers) -> Any:
        match part:
            case Column(name):
                found = numbers_of(name)
                if found is None:
                    raise InvalidInputError(
                        f"{said}: column {name!r} is a category, and {text(factor)} needs numbers"
                    )
                return found
            case Number(constant, _):
                return np.float64(constant)
            case Signed(sign, of):
                return -value(of) if sign == "-" else value(of)
            case Power(base, exponent):
                return value(base) ** value(exponent)
            case Chain(first, rest):
                return reduce(lambda a, b: _OPERATORS[b[0]](a, value(b[1])), rest, value(first))
            case Call(function, of):
                return _CALLS[function](value(of))

    assert not isinstance(factor, Category)
    with np.errstate(all="ignore"):  # what is not finite is refused afterwards
        if not isinstance(factor, Poly):
            return _Coded(text(factor), _column(value(factor), factor, said))
        base = _column(value(factor.of), factor, said)
        if len(np.unique(base)) <= factor.degree:
            raise InvalidInputError(
                f"{said}: {text(factor)} needs more than {factor.degree} different values"
            )
        return _Coded(text(factor), _poly(base, factor.degree), width=factor.degree)


def _column(found: Any, factor: Factor, said: str) -> FloatArray:
    if np.ndim(found) == 0:
        raise InvalidInputError(f"{said}: {text(factor)} names no column")
    return found


def _center(x: Any) -> Any:
    return x - np.mean(x)


def _scale(x: Any) -> Any:
    centred = _center(x)
    return centred / np.sqrt(np.sum(centred**2) / (np.size(x) - 1))


def _poly(x: FloatArray, degree: int) -> FloatArray:
    """Polynomials of degrees 1, 2, … of unit length that are orthogonal over the rows.

    By their recurrence of three terms: P_k = (x − α) P_(k−1) − β P_(k−2), where α and β make it
    orthogonal to the two before; to earlier ones it is so of itself.
    """
    found, squares = [np.ones(len(x))], [float(len(x))]
    for k in range(1, degree + 1):
        last = found[-1]
        new = (x - np.sum(x * last**2) / squares[-1]) * last
        if k > 1:
            new = new - squares[-1] / squares[-2] * found[-2]
        found.append(new)
        squares.append(np.sum(new**2))
    return np.stack([p / np.sqrt(s) for p, s in zip(found[1:], squares[1:])], axis=1)


_CALLS: dict[str, Callable[[Any], Any]] = {
    "I": lambda x: x,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "exp": np.exp,
    "exp2": np.exp2,
    "center": _center,
    "scale": _scale,
}


# Terms


def _scoped(
    terms: Iterable[Term], factors: dict[int, _Coded], rows: int, said: str
) -> list[_Scoped]:
    """What each term adds to those before it, counted before anything is built."""
    steps = _Steps(said)
    spanned: set[frozenset[tuple[int, bool]]] = set()
    added: list[list[_Scoped]] = []
    count = 0
    for term in terms:
        ways = 2 ** sum(bool(factors[place].levels) for place in term)
        check_coefficients(ways, rows, said)
        steps.take(ways)
        options = [
            ((place, True), None) if factors[place].levels else ((place, False),) for place in term
        ]
        spans = [tuple(p for p in parts if p) for parts in itertools.product(*options)]
        new = [one for one in spans if frozenset(one) not in spanned]
        spanned.update(map(frozenset, new))
        count += sum(math.prod(factors[p].count(r) for p, r in one) for one in new if one)
        added.append(new)
    check_coefficients(count, rows, said)
    return [one for new in added for one in _with_few_terms(new, steps)]


@dataclass
class _Steps:
    """Counts what is done, and refuses what would take too long."""

    said: str
    left: int = _MOST_STEPS

    def take(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise InvalidInputError(f"{self.said}: too many categories are crossed; use fewer")


def _with_few_terms(terms: Iterable[_Scoped], steps: _Steps) -> list[_Scoped]:
    """Fewer terms with the same span: x + x:a⁻ is x:a, with all levels of a."""
    kept: list[_Scoped] = []
    for term in sorted(terms, key=len):
        for other in kept:
            steps.take()
            more = set(term).difference(other) if len(term) == len(other) + 1 else ()
            if len(more) != 1:
                continue
            place, reduced = more.pop()
            if reduced:
                whole = tuple((p, False) if p == place else (p, r) for p, r in term)
                rest = [one for one in kept if one != other]
                kept = _with_few_terms([*rest, whole], steps)
                break
        else:
            kept.append(term)
    return kept


def _product(factors: list[Named]) -> Named:
    """Each column of one factor with each of the others; those of the first change first.

    Factors of one column are multiplied with each other before the others are.
    """
    names = [":".join(reversed(one)) for one in itertools.product(*_names(factors))]
    single = [f[0][1] for f in factors if len(f) == 1]
    several = [[column for _, column in f] for f in factors if len(f) != 1]
    if single:
        several.append([reduce(np.multiply, single)])
    columns = [reduce(np.multiply, reversed(one)) for one in itertools.product(*reversed(several))]
    return list(zip(names, columns))


def _names(factors: list[Named]) -> list[list[str]]:
    return [[name for name, _ in factor] for factor in reversed(factors)]


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
        check_coefficients(len(out) + len(levels) - 1, len(cells), "this list of features")
        out += [(f"{name}[{level}]", (cells == level).astype(float)) for level in levels[1:]]
    check_coefficients(len(out), len(table), "this list of features")
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
