"""Which questions can be asked of which data, and why not of the others: each is tried.

``python -m benchmarks.combinations`` prints the table of ``surepick.algorithms.combinations``,
which is what errors and the documentation are made from, and stops where surepick does something
else.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import surepick as sp
from surepick.algorithms.combinations import QUESTIONS, SHAPES, refused

_ASKED: dict[str, dict[str, Any]] = {
    "best": {},
    "top": {"top": 2},
    "baseline": {"baseline": 0},
    "threshold": {"threshold": 0.5},
    "quantile": {"quantile": 0.5},
    "cheapest": {"cheapest": True, "within": 0.1},
    "keep": {"keep": ["ms <= 5"]},
    "keep, baseline": {"keep": ["ms <= 5"], "baseline": 0},
    "keep, top": {"keep": ["ms <= 5"], "top": 2},
    "keep, cheapest": {"keep": ["ms <= 5"], "cheapest": True, "within": 0.1},
    "guess": {"guess": True, "max_samples": 500},
}
_MIX = {"phone": 0.6, "desk": 0.4}


def tried(question: str, shape: str) -> str:
    """What surepick says when this is asked; empty where it begins."""
    asked = dict(_ASKED[question])
    any_numbers = "quantile" in asked and shape in ("pulls", "items")
    noise: Any = "any" if any_numbers else "yes-no"
    features = np.random.default_rng(0).normal(size=(8, 2)) if shape == "features" else np.eye(4)
    costs = np.arange(1.0, len(features) + 1.0) if "within" in asked else None
    misfit = {} if shape == "features" else {"misfit": np.inf}
    numbers = {"ms": (0, 10)}
    try:
        if shape == "pairs":
            more = {"beats": "most"} if "top" in asked else {}
            algorithm = sp.algorithms.get("pairs", delta=0.05, **asked, **more)
            algorithm.start(sp.Problem.pairs(4, costs=costs), seed=1).ask()
        elif shape in ("counts", "segments"):
            noise = {"segments": _MIX} if shape == "segments" else noise
            problem = sp.Problem.unstructured(4, noise=noise, numbers=numbers, costs=costs)
            name = f"{question} of {shape}"
            sp.create_study(name, problem, storage="memory://", traffic=True, **asked).split()
        else:
            problem = sp.Problem(features, noise=noise, costs=costs, numbers=numbers, **misfit)
            drawn = {"items": {"items": 50}, "table": {"complete": 50}}.get(shape, {})
            sp.algorithms.PooledPeleg(0.05, **drawn, **asked).start(problem, seed=1).ask()
    except sp.SurepickError as error:
        return str(error)
    return ""


def main() -> int:
    """Print the table, and what does not agree with it."""
    print(f"{'':16}" + "".join(f"{shape:10}" for shape in SHAPES))
    wrong, reasons = [], dict[str, list[str]]()
    for question in QUESTIONS:
        found = {shape: refused(question, shape) for shape in SHAPES}
        said = {None: "yes", True: "never", False: "not yet"}
        row = "".join(f"{said[one and one.never]:10}" for one in found.values())
        print(f"{question:16}{row}")
        for shape, one in found.items():
            if (one is None) != (tried(question, shape) == ""):
                wrong.append(f"{question} of {shape}: {tried(question, shape) or 'it begins'}")
            if one is not None:
                reasons.setdefault(one.said, []).append(f"{question} of {shape}")
    many = len(QUESTIONS) * len(SHAPES)
    print(f"\n{sum(map(len, reasons.values()))} of {many} are refused:")
    for reason, where in reasons.items():
        print(f"- {reason} ({'; '.join(where)})")
    for one in wrong:
        print(f"THE TABLE IS WRONG ABOUT {one}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main() > 0)
