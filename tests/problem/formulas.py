"""Random formulas and tables, what formulaic makes of them, and texts that try to run something."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import formulaic
import numpy as np
import pandas as pd

from surepick.errors import SurepickError
from surepick.problem.tables.cells import as_floats, as_levels
from surepick.problem.tables.encode import by_formula
from surepick.problem.tables.read import Columns

NUMBERS = ("a", "b", "odd name")
TEXTS = ("k", "l", "class")
FACTORS = (
    *("a", "b", "`odd name`", "k", "l", "class", "C(k)", "C(c)", "C( `class` )", "c"),
    *("log(a)", "I(a**2)", "I(-(a + 2*b)/3 - b)", "center(b)", "scale(`odd name`)", "poly(a, 2)"),
    *("exp2(b)", "log10(1 + a)", "I(a ** 0.5)", "I((a + b) - (a - b))", "log(I(a))"),
)


def random_formula(rng: np.random.Generator, depth: int = 3) -> str:
    """Sums of products of some factors; shallow ones are frequent."""
    if depth == 0 or rng.random() < 0.3:
        return str(rng.choice(FACTORS))
    kind = rng.choice(["+", "*", ":", "/", "-", "power", "brackets", "intercept"], p=_HOW_OFTEN)
    if kind == "power":
        return f"({random_formula(rng, depth - 1)})**{rng.integers(1, 4)}"
    if kind == "brackets":
        return f"({random_formula(rng, depth - 1)})"
    if kind == "intercept":
        inside = random_formula(rng, depth - 1)
        return str(
            rng.choice([f"0 + {inside}", f"{inside} - 1", f"{inside} + 1", f"-1 + {inside}"])
        )
    left, right = random_formula(rng, depth - 1), random_formula(rng, depth - 1)
    space = " " * int(rng.integers(2))
    return f"{left}{space}{kind}{space}{right}"


_HOW_OFTEN = [0.35, 0.2, 0.15, 0.05, 0.08, 0.05, 0.07, 0.05]


def random_table(rng: np.random.Generator) -> Columns:
    rows = int(rng.integers(4, 12))
    cells: dict[str, list] = {name: list(rng.uniform(0.5, 3.0, rows)) for name in NUMBERS}
    levels = {name: int(rng.integers(1, 4)) for name in TEXTS}
    cells |= {
        name: [f"v{rng.integers(count)}" for _ in range(rows)] for name, count in levels.items()
    }
    cells["c"] = [float(x) for x in rng.integers(1, 4, rows)]
    return Columns("options.csv", cells, [f"line {i + 2}" for i in range(rows)])


def by_formulaic(table: Columns, formula: str) -> tuple[list[str], np.ndarray, bool] | None:
    """Names, columns and whether the intercept is gone: what was made of a formula before.

    None where it has no place for what stands there: a 0 within a product, and the like.
    """
    plain = formula.replace("class", "class_column")
    cells = {name.replace("class", "class_column"): name for name in table.cells}
    marked = set(re.findall(r"C\(\s*`?(\w+)`?\s*\)", plain))
    try:
        spec = formulaic.Formula(plain)
    except formulaic.errors.FormulaicError:
        return None
    frame = {}
    for name in cells:
        if cells[name] in (*TEXTS, "c") and (name in marked or name != "c"):
            texts, levels = as_levels(table, cells[name], 100)
            frame[name] = pd.Categorical(texts, categories=levels)
        else:
            frame[name] = as_floats(table, cells[name])
    index = range(len(table))
    matrix = spec.get_model_matrix(pd.DataFrame(frame, index=index), context={}, na_action="raise")
    values = np.asarray(matrix, dtype=float).reshape(len(table), -1)
    names = [_short(str(name)).replace("class_column", "class") for name in matrix.columns]
    kept = [j for j, name in enumerate(names) if name != "Intercept"]
    literals = [f.expr for term in spec for f in term.factors if len(term.factors) == 1]
    return [names[j] for j in kept], values[:, kept], "1" not in literals


def _short(name: str) -> str:
    return re.sub(r"C\(\s*(.*?)\s*\)", r"\1", name).replace("[T.", "[").replace("`", "")


# What would run something if any of it were evaluated; each call would leave a mark.
_CALLS = (
    *("os.system({mark!r})", "__import__('os').system({mark!r})", "open({mark!r}, 'w')"),
    *("np.lib._npyio_impl.os.system({mark!r})", "np.save({mark!r}, a)"),
    *("eval(\"open({mark!r}, 'w')\")", "exec(\"open({mark!r}, 'w')\")", "a.to_csv({mark!r})"),
    *("().__class__.__base__.__subclasses__()", "pd.read_pickle({mark!r})"),
)
_WRAPPED = (
    'I("`" * {call} + "`")',
    "I('`' * {call} + '`')",
    "{call}",
    "I({call})",
    "C(a, {call})",
    "{{{call}}}",
    'a + I("`") + {call} + I("`")',
    "`a`[{call}]",
    "log(a, out={call})",
    "center(a, _state={call})",
    "poly(a, {call})",
    "a:`b\\`{call}\\``",
    "I(`a` if {call} else `b`)",
    "I(a)if {call} else a",
    "scale(lambda: {call})",
    "I([{call} for a in a])",
    "I(f'{{{call}}}')",
    "C(a)\n{call}",
    "%{call}%",
    "y ~ {call}",
)
ISSUE = 'I("`" * np.lib._npyio_impl.os.system("id") + "`")'


def attacks(mark: str) -> list[str]:
    """Formulas that leave a file of this name if any of their calls is run."""
    wrapped = [w.format(call=c.format(mark=mark)) for w in _WRAPPED for c in _CALLS]
    touching = ISSUE.replace("id", f"touch {mark}")
    others = [
        "price.__class__",
        "I(price.__class__)",
        "np.log(price)",
        "ｌｏｇ(price)",
        "lоg(price)",
    ]
    return [touching, *others, *wrapped]


_PIECES = (
    *FACTORS,
    *("`", '"', "'", '"`"', "'`'", "\\", "\0", "\n", "\u2028", "\ufeff", "\ud800", "{", "}"),
    *("[", "]", "(", ")", ",", ".", "..", ":", "**", "^", "~", "|", "%", "%in%", "=", ";", "#"),
    *(
        "@",
        "!",
        "$",
        "0",
        "1",
        "2",
        "00",
        "1e999",
        "1e-999",
        "-0",
        "0x10",
        "1_000",
        "1j",
        "١",
        "１",
    ),
    *("9" * 400, ".5", "1.", "1.2.3", "np", "os", "eval(", "exec(", "__import__(", "lambda: 0"),
    *(".__class__", ".os.system('true')", "np.lib._npyio_impl.os.system('true')", "hash(a)"),
    *(
        "lag(a)",
        "bs(a, 3)",
        "contr.sum",
        "Q('a')",
        "ｌｏｇ(a)",
        "lоg(a)",
        "а",
        "a\u200b",
        "＋",
        "−",
    ),
    *(
        "log(",
        "C(",
        "I(",
        "poly(",
        "center(",
        "_state={}",
        "True",
        "None",
        "for",
        "in",
        "if",
        "else",
    ),
)


def attack(rng: np.random.Generator) -> str:
    """A formula at random that has been tampered with, or that never was one."""
    kind = rng.integers(12)
    if kind == 0:
        return str(rng.choice(attacks("mark")))
    if kind == 1:
        depth = int(rng.choice([1, 10, 100, 9_999]))
        opening = str(rng.choice(["(", "I(", "-", "log(", "a*(", "2**", "C(", "`"]))
        closing = ")" * depth if rng.random() < 0.5 else ""
        return opening * depth + "a" + closing
    if kind == 2:
        size = int(rng.integers(1, 14))
        return "".join(str(rng.choice(_PIECES)) for _ in range(size))
    if kind == 3:
        many = int(rng.choice([10, 100, 3_000]))
        return str(rng.choice(["*", ":", "+", "/", " "])).join([str(rng.choice(FACTORS))] * many)
    text = random_formula(rng)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(text) + 1))
        until = at + int(rng.integers(3))
        text = text[:at] + str(rng.choice(_PIECES)) + text[until:]
    return text


class Watch:
    """Counts what Python does that a formula must not: code, files, modules, processes.

    Uses the interpreter's own audit events, which nothing can bypass that goes through it, the
    names of built-in functions, and the modules whose functions are called.
    """

    #: what no formula has any use for
    FORBIDDEN = frozenset(("eval", "exec", "compile", "__import__", "open", "system", "loads"))
    #: whose functions may be called: the reader of formulas, arithmetic, and suggestions in errors
    LISTED = frozenset(
        ("surepick.problem", "surepick.errors", "numpy", "difflib", "collections", "re", "enum")
        + ("namedtuple__Token", "namedtuple_Match", "abc", "heapq", "contextlib")  # of those
    )

    def __init__(self) -> None:
        self.on = False
        self.events: dict[str, int] = {}
        self.called: dict[str, int] = {}
        sys.addaudithook(self._heard)

    def _heard(self, event: str, given: object) -> None:
        if self.on:
            self.events[event] = self.events.get(event, 0) + 1

    def _calls(self, frame: FrameType, event: str, called: object) -> None:
        if event == "c_call":
            name = getattr(called, "__name__", "?")
            listed = name not in self.FORBIDDEN
        elif event == "call":
            name = str(frame.f_globals.get("__name__"))
            parts = name.split(".")
            listed = name == __name__ or bool({parts[0], ".".join(parts[:2])} & self.LISTED)
        else:
            return
        if not listed:
            self.called[name] = self.called.get(name, 0) + 1

    @contextmanager
    def __call__(self, calls: bool = False) -> Iterator[None]:
        if calls:
            sys.setprofile(self._calls)
        self.on = True
        try:
            yield
        finally:
            self.on = False
            if calls:
                sys.setprofile(None)


WATCH = Watch()  # an audit hook stays for as long as the process: one is enough


def tried(count: int, seed: int) -> tuple[dict[str, int], list[str]]:
    """So many formulas at random: what became of them, and what went wrong."""
    rng = np.random.default_rng(seed)
    table = random_table(np.random.default_rng(0))
    for _ in range(50):  # what is loaded at first use is loaded now
        with suppress(SurepickError):
            by_formula(table, random_formula(rng), 100)
    counts = dict.fromkeys(("refused", "made into columns"), 0)
    wrong: list[str] = []
    for place in range(count):
        formula = attack(rng) if place % 10 else random_formula(rng)
        WATCH.events.clear()
        WATCH.called.clear()
        started = time.process_time()
        try:
            # The names of called functions take ten times as long: for a tenth of them.
            with WATCH(calls=place % 10 == 1):
                by_formula(table, formula, 100)
            counts["made into columns"] += 1
        except SurepickError:
            counts["refused"] += 1
        except Exception as error:
            wrong.append(f"{formula!r:.200}: {error!r:.200}")
        seconds = time.process_time() - started
        if WATCH.events or WATCH.called:
            wrong.append(f"{formula!r:.200}: {WATCH.events} {WATCH.called}")
        if seconds > 1.0:
            wrong.append(f"{formula!r:.200}: {seconds:.1f} s")
    return counts, wrong
