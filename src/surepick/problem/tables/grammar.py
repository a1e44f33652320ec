"""The grammar of formulas: from a text to terms, without evaluating any of it.

A formula may come from anywhere, so nothing in it is ever run: letters become tokens, tokens a
tree, and only what stands in this grammar has a meaning.

    formula   =  [sign] product { sign product }          sign     =  "+" | "-"
    product   =  crossing { ("*" | "/") crossing }        a*b is a + b + a:b; a/b is a + a:b
    crossing  =  power { ":" power }
    power     =  atom [ ("**" | "^") whole number ]       (a + b)**2 is a + b + a:b
    atom      =  "0" | "1" | "(" formula ")" | factor
    factor    =  column | "C(" column ")" | "poly(" numbers "," whole number ")"
              |  function "(" numbers ")"
    numbers   =  arithmetic on columns and numbers: + - * / **, parentheses, functions
    function  =  I, log, log2, log10, exp, exp2, center, scale
    column    =  a word, or anything but a backtick between two backticks

The intercept is there unless ``- 1`` or ``+ 0`` takes it away. Terms and their order are those of
formulaic, the package that read formulas before. It is one file because all of it is one grammar.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from surepick.errors import InvalidInputError, UnknownNameError

MOST_LETTERS = 20_000
MOST_TERMS = 2_000
MOST_FACTORS = 20  # of one term
_MOST_DEPTH = 50
_MOST_OPERATIONS = 1_000  # inside of functions, over the whole formula
_MOST_PRODUCTS = 100_000  # of two terms, while a formula is multiplied out
_HIGHEST_POWER = 10

#: what takes numbers and gives numbers
NUMERIC = ("I", "log", "log2", "log10", "exp", "exp2", "center", "scale")
FUNCTIONS = frozenset((*NUMERIC, "C", "poly"))

# Possessive repetitions: no text makes these go back over what they have read.
_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?![\w.]))"
    r"|(?P<word>[\w.]++)"
    r"|`(?P<quoted>[^`]++)`"
    r"|(?P<sign>\*\*|[-+*/:^(),])"
)
_SPACE = re.compile(r"\s*+")
_WHOLE = re.compile(r"[0-9]{1,4}")
_ATOM = "a column, C(column), a function such as log(column), '(', 0 or 1"
_NUMBERS = "a column, a number, a function such as log(column) or '('"


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it is."""

    name: str


@dataclass(frozen=True, slots=True)
class Category:
    """A column that is a category, whatever its cells look like."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is written in the formula."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Signed:
    """A number with a sign in front."""

    sign: str
    of: Numbers


@dataclass(frozen=True, slots=True)
class Chain:
    """Numbers joined by operators of one rank, from left to right."""

    first: Numbers
    rest: tuple[tuple[str, Numbers], ...]


@dataclass(frozen=True, slots=True)
class Power:
    """A number to the power of another."""

    base: Numbers
    exponent: Numbers


@dataclass(frozen=True, slots=True)
class Call:
    """One of the functions of numbers."""

    function: str
    of: Numbers


@dataclass(frozen=True, slots=True)
class Poly:
    """Orthogonal polynomials of the first few degrees."""

    of: Numbers
    degree: int


Numbers = Column | Number | Signed | Chain | Power | Call
Factor = Column | Category | Call | Poly
Term = tuple[int, ...]  # places of its factors; the intercept has none
_Terms = dict[frozenset[int], Term]  # in the order in which they came up


@dataclass(frozen=True)
class Formula:
    """What a formula says."""

    text: str
    factors: tuple[Factor, ...]
    terms: tuple[Term, ...]  #: those of fewer factors first, otherwise as they came up
    columns: dict[str, int]  #: the columns that are named, with the letter where they first are
    selves: tuple[str, ...]  #: what was multiplied with itself, which leaves it as it is


class _Token(NamedTuple):
    kind: str  # number, word, quoted, sign, or end
    text: str
    at: int  # how many letters stand before it


def parse(formula: str) -> Formula:
    """The terms of a formula; what is not in the grammar is refused, with its place."""
    if len(formula) > MOST_LETTERS:
        raise InvalidInputError(
            f"formula: it has {len(formula):,} letters, and at most {MOST_LETTERS:,} are accepted"
        )
    reader = _Reader(formula)
    terms = reader.formula({frozenset(): ()})
    if reader.token.kind != "end":
        reader.refuse("an operator (+ - * / : **) must stand before it")
    ordered = sorted(terms.values(), key=len)
    return Formula(
        formula, tuple(reader.factors), tuple(ordered), reader.columns, tuple(reader.selves)
    )


@dataclass
class _Reader:
    text: str
    place: int = 0
    depth: int = 0
    operations: int = 0
    products: int = 0
    factors: dict[Factor, int] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    selves: list[str] = field(default_factory=list)
    token: _Token = field(init=False)

    def __post_init__(self) -> None:
        self.token = _Token("end", "", 0)
        self.advance()

    # Letters

    def advance(self) -> _Token:
        """Go on to the next token; the one that is left behind."""
        left = self.token
        space = _SPACE.match(self.text, self.place)
        at = space.end() if space else self.place
        if at == len(self.text):
            self.token = _Token("end", "", at)
            return left
        found = _TOKEN.match(self.text, at)
        if not found:
            self.token = _Token("sign", self.text[at], at)
            self.refuse(_not_understood(self.text[at]))
        kind = found.lastgroup or "sign"
        self.token, self.place = _Token(kind, found[kind], at), found.end()
        if kind == "word" and not self.token.text.strip("."):
            self.refuse("'.' is not understood; name the columns")
        return left

    def refuse(self, why: str) -> NoReturn:
        """Say where the formula cannot be understood, and what would be."""
        letter = f"letter {self.token.at + 1}, {self.token.text!r:.42}"
        place = "the end" if self.token.kind == "end" else letter
        raise InvalidInputError(f"formula {self.text!r:.200}, at {place}: {why}")

    def takes(self, *signs: str) -> str | None:
        """The sign that stands here, if it is one of these; it is left behind then."""
        if self.token.kind == "sign" and self.token.text in signs:
            return self.advance().text
        return None

    def close(self) -> None:
        if not self.takes(")"):
            self.refuse("an operator or ')' is expected")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            self.refuse(
                f"brackets, signs and powers are nested more than {_MOST_DEPTH} deep; simplify "
                "the formula"
            )

    # Terms

    def formula(self, terms: _Terms) -> _Terms:
        """Terms that are added to those given, or taken away."""
        sign = self.signs()
        while True:
            if self.token[:2] == ("number", "0"):  # + 0 is - 1
                self.advance()
                found, minus = {frozenset[int](): ()}, sign != "-"
            else:
                found, minus = self.product(), sign == "-"
            for key, term in found.items():
                if minus:
                    terms.pop(key, None)
                else:
                    terms.setdefault(key, term)
            if len(terms) > MOST_TERMS:
                self.too_many()
            sign = self.signs()
            if sign is None:
                return terms

    def signs(self) -> str | None:
        """The signs that stand here, as one: two minuses are a plus."""
        found = None
        while sign := self.takes("+", "-"):
            found = "+" if found == sign or (found is None and sign == "+") else "-"
        return found

    def product(self) -> _Terms:
        left = self.crossing()
        while operator := self.takes("*", "/"):
            right = self.crossing()
            if operator == "*":
                left = _merged(left, right, self.times(left, right))
            else:
                whole: Term = ()
                for term in left.values():
                    whole = self.joined(whole, term)
                left = _merged(left, self.times({frozenset(whole): whole}, right))
        return left

    def crossing(self) -> _Terms:
        left = self.power()
        while self.takes(":"):
            left = self.times(left, self.power())
        return left

    def power(self) -> _Terms:
        base = self.atom()
        if not self.takes("**", "^"):
            return base
        times = self.whole("a power must be a whole number from 1 on")
        fits = _HIGHEST_POWER
        if len(base) > 1:
            fits = min(fits, max(1, int(math.log(MOST_TERMS) / math.log(len(base)))))
        if times > fits:
            self.refuse(
                f"the power {times} of {len(base)} terms is too high; at most {fits} is accepted"
            )
        if len(base) == 1 and times > 1:
            (term,) = base.values()
            self.selves.append(":".join(text(self.factor_at(i)) for i in term))
        found = base
        for _ in range(times - 1):
            found = self.times(found, base)
        if self.takes("**", "^"):
            self.refuse("a power of a power: put the first one in brackets")
        return found

    def times(self, left: _Terms, right: _Terms) -> _Terms:
        """Each term of one with each of the other."""
        self.products += len(left) * len(right)
        if self.products > _MOST_PRODUCTS:
            self.too_many()
        made: _Terms = {}
        for one in left.values():
            for other in right.values():
                both = self.joined(one, other)
                made.setdefault(frozenset(both), both)
        if len(made) > MOST_TERMS:
            self.too_many()
        return made

    def joined(self, one: Term, other: Term) -> Term:
        both = tuple(dict.fromkeys((*one, *other)))
        if len(both) > MOST_FACTORS:
            self.refuse(f"at most {MOST_FACTORS} columns may be crossed in one term")
        return both

    def too_many(self) -> NoReturn:
        self.refuse(f"the formula has more than {MOST_TERMS:,} terms: use fewer interactions")

    def atom(self) -> _Terms:
        if self.takes("("):
            self.deeper()
            inside = self.formula({})
            self.close()
            self.depth -= 1
            return inside
        if self.token.kind == "number":
            if self.token.text != "1":
                self.refuse(
                    "a number other than 0 and 1, or a 0 that is multiplied, is not a term; put "
                    "it in backticks if it is a column name, and write I(2*column) for a multiple"
                )
            self.advance()
            return {frozenset(): ()}
        factor = self.factor()
        place = self.factors.setdefault(factor, len(self.factors))
        return {frozenset((place,)): (place,)}

    def factor_at(self, place: int) -> Factor:
        return next(factor for factor, at in self.factors.items() if at == place)

    # Factors

    def factor(self) -> Factor:
        word = self.token
        if word.kind not in ("word", "quoted"):
            self.refuse(f"{_ATOM} is expected")
        self.advance()
        if word.kind == "quoted" or not self.takes("("):
            return self.column(word)
        if word.text == "C":
            name = self.token
            if name.kind not in ("word", "quoted"):
                self.refuse("C( ) takes the name of one column")
            self.advance()
            if not self.takes(")"):
                self.refuse("C( ) takes the name of one column, and nothing else")
            return Category(self.column(name).name)
        if word.text == "poly":
            inside = self.bracketed(self.sum)
            if not self.takes(","):
                self.refuse("poly( ) takes numbers and a degree: poly(column, 2)")
            degree = self.whole("the degree of poly( ) is a whole number from 1 on")
            if degree > _HIGHEST_POWER:
                self.refuse(f"the degree of poly( ) is at most {_HIGHEST_POWER}")
            self.close()
            return Poly(inside, degree)
        return self.call(word)

    def column(self, name: _Token) -> Column:
        self.columns.setdefault(name.text, name.at + 1)
        return Column(name.text)

    def call(self, name: _Token) -> Call:
        """A function of numbers, behind its opening bracket."""
        if name.text in ("C", "poly"):
            raise InvalidInputError(
                f"formula {self.text!r:.200}, at letter {name.at + 1}: {name.text}( ) creates "
                "several columns, so it cannot be used inside a function"
            )
        if name.text not in NUMERIC:
            hint = ""
            if name.text == "exp10":
                hint = " (exp10 has been the tenth power: write I(x**10) for that, or I(10**x))"
            raise UnknownNameError.among(
                f"function at letter {name.at + 1} of formula {self.text!r:.200}{hint}:",
                name.text[:80],
                FUNCTIONS,
            )
        inside = self.bracketed(self.sum)
        if self.token[:2] == ("sign", ","):
            self.refuse(f"{name.text}( ) takes one argument")
        self.close()
        return Call(name.text, inside)

    def bracketed(self, what: Callable[[], Numbers]) -> Numbers:
        self.deeper()
        found = what()
        self.depth -= 1
        return found

    def whole(self, otherwise: str) -> int:
        if self.token.kind != "number" or not _WHOLE.fullmatch(self.token.text):
            self.refuse(otherwise)
        if not int(self.token.text):
            self.refuse(otherwise)
        return int(self.advance().text)

    # Numbers

    def sum(self) -> Numbers:
        return self.chain(("+", "-"), self.multiplied)

    def multiplied(self) -> Numbers:
        return self.chain(("*", "/"), self.signed)

    def chain(self, operators: tuple[str, str], part: Callable[[], Numbers]) -> Numbers:
        first, rest = part(), []
        while operator := self.takes(*operators):
            self.operation()
            rest.append((operator, part()))
        if not rest:
            return first
        if isinstance(first, Chain) and first.rest[0][0] in operators:  # (a + b) + c
            first, rest = first.first, [*first.rest, *rest]
        return Chain(first, tuple(rest))

    def signed(self) -> Numbers:
        if sign := self.takes("+", "-"):
            self.operation()
            return Signed(sign, self.bracketed(self.signed))
        base = self.number()
        if not self.takes("**"):
            return base
        self.operation()
        return Power(base, self.bracketed(self.signed))

    def number(self) -> Numbers:
        token = self.token
        if self.takes("("):
            found = self.bracketed(self.sum)
            self.close()
            return found
        if token.kind == "number":
            value = float(token.text)
            if not math.isfinite(value):
                self.refuse("the number is too large")
            self.advance()
            # As Python prints them: whole numbers without a point.
            return Number(value, repr(value) if re.search(r"[.eE]", token.text) else token.text)
        if token.kind not in ("word", "quoted"):
            self.refuse(f"{_NUMBERS} is expected")
        self.advance()
        if token.kind == "quoted" or not self.takes("("):
            return self.column(token)
        self.operation()
        return self.call(token)

    def operation(self) -> None:
        self.operations += 1
        if self.operations > _MOST_OPERATIONS:
            self.refuse(f"at most {_MOST_OPERATIONS:,} operations inside functions are accepted")


def _merged(*several: _Terms) -> _Terms:
    """All terms; of those that are the same, the first."""
    found: _Terms = {}
    for terms in several:
        for key, term in terms.items():
            found.setdefault(key, term)
    return found


def _not_understood(letter: str) -> str:
    if letter == "~":
        return (
            "leave out '~' and what stands before it; rewards are measured, not read from the table"
        )
    if letter == "`":
        return "a name in backticks must not be empty, and needs a closing backtick"
    if letter == "|":
        return "'|' is not understood here; join terms by +"
    return (
        f"this is not understood; a formula holds columns (odd ones between backticks), + - * / : "
        f"**, brackets, 0, 1 and {', '.join(sorted(FUNCTIONS))}"
    )


def text(part: Factor | Numbers) -> str:
    """A factor as text, the same for every way of writing it."""
    return _text(part, 0)


def _text(part: Factor | Numbers, rank: int) -> str:
    """Brackets only where Python would print some: + has rank 1, * 2, a sign 3 and ** 4."""
    match part:
        case Column(name) | Category(name):
            return name
        case Number(_, written):
            return written
        case Poly(of, degree):
            return f"poly({_text(of, 0)}, {degree})"
        case Call(function, of):
            return f"{function}({_text(of, 0)})"
        case Signed(sign, of):
            own, said = 3, f"{sign}{_text(of, 3)}"
        case Power(base, exponent):
            own, said = 4, f"{_text(base, 5)} ** {_text(exponent, 4)}"
        case Chain(first, rest):
            own = 1 if rest[0][0] in ("+", "-") else 2
            said = _text(first, own)
            said += "".join(f" {operator} {_text(other, own + 1)}" for operator, other in rest)
    return f"({said})" if own < rank else said
