"""How far a study trusts features, in words, and what that costs at least."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.numbers import Rate

if TYPE_CHECKING:
    from surepick.problem import Problem

MISFIT_HELP = (
    "How far the mean of an option may lie from what its features say, in units of the reward. "
    "any: features only guide what is measured; the guarantee rests on measurements alone.  "
    "[default: any, with algorithms that can]"
)


class Misfit(click.ParamType):
    """A number, or any."""

    name = "NUMBER|any"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if value == "any" or not isinstance(value, str):
            return math.inf if value == "any" else value
        try:
            return Rate().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message}; it may be a number or 'any'", param, ctx)


_MANY = 2_000  # measurements: more are worth a thought beforehand


def trust(problem: Problem, delta: float, most: int) -> list[str]:
    """What the answer will rest on, and what it takes at least."""
    if problem.rank == problem.n_arms and not problem.misfit:
        return []  # every option has a feature of its own
    if not problem.misfit:
        lines = [
            "Features are trusted: the answer will hold if rewards are linear in them. What speaks "
            "against it will be said."
        ]
    elif not math.isinf(problem.misfit):
        lines = [f"The answer will hold if features are right to within {problem.misfit:g}."]
    else:
        each = least_pulls(problem, delta)
        lines = [
            f"Features guide, measurements prove: the answer will hold whatever the features are "
            f"worth. Each of the {problem.n_arms:,} options is measured {each} times or more, so "
            f"{each * problem.n_arms:,} measurements are the least; if rewards are linear in the "
            f"features (--trust-features), {2 * problem.rank} could be enough. How many to expect: "
            f"surepick plan."
        ]
    return lines + _recommended(problem, delta, most)


def _recommended(problem: Problem, delta: float, most: int) -> list[str]:
    """What to do where measuring every option itself takes more than there is."""
    least = least_pulls(problem, delta) * problem.n_arms
    if not math.isinf(problem.misfit) or least <= min(_MANY, most):
        return []
    there = f"and it ends after {most:,}" if least > most else "which is a lot"
    return [
        f"Recommended: measuring every option itself takes {least:,} measurements at least, "
        f"{there}. Say how far features can be off (--misfit, in units of a measurement: a tenth "
        f"of the lead that matters costs little), or --trust-features; surepick plan --misfit says "
        f"how many that takes."
    ]


def least_pulls(problem: Problem, delta: float) -> int:
    """How often an option has to be measured before it can be ruled out by its own rewards."""
    if problem.noise_kind.kind == "symmetric":
        return math.ceil(math.log2(1.0 / delta))  # a measurement doubles the capital at most
    return 2
