"""How far a study trusts features, in words, and what that costs at least."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.numbers import Rate
from surepick.errors import InvalidInputError
from surepick.run.forecast import rough

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


_TENTH = "a tenth of that lead"  # how wrong features may be, where nobody has said
_MANY = 2_000  # measurements: more are worth a thought beforehand


def trust(problem: Problem, delta: float, costs: dict[str, Any] | None, most: int) -> list[str]:
    """What the answer will rest on, and what it takes: simulated, or at least."""
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
            f"features (--trust-features), {2 * problem.rank} could be enough."
        ]
    if costs is not None:
        lines.append(_compared(costs))
    return lines + _recommended(problem, delta, most)


def costs(problem: Problem, delta: float) -> dict[str, Any] | None:
    """What studies take that trust features not at all, nearly, and wholly: simulated.

    None where that makes no difference, takes too long, or where no such lead fits the bounds.
    """
    from surepick.bench.forecast import TrustCosts

    if problem.rank == problem.n_arms or problem.transductive or len(problem.distinct) < 3:
        return None
    given = problem.misfit if problem.misfit and math.isfinite(problem.misfit) else None
    found = TrustCosts(problem, delta, 10.0 * given if given else 1.0)
    if not found.possible:
        return None
    try:
        nearly = given or found.lead / 10
    except InvalidInputError:
        return None
    choices = {"any": math.inf, f"{given:g}" if given else _TENTH: nearly, "0": 0.0}
    measurements = {name: found.of(misfit) for name, misfit in choices.items()}
    known = {name: mean for name, mean in measurements.items() if mean is not None}
    return {"if": found.words, "measurements": known} if known else None


def _compared(costs: dict[str, Any]) -> str:
    """What each choice takes, in a sentence."""
    names = {"any": "--misfit any", "0": "--trust-features", _TENTH: f"--misfit of {_TENTH}"}
    said = [
        f"about {rough(mean)} with {names.get(misfit, f'--misfit {misfit}')}"
        for misfit, mean in costs["measurements"].items()
    ]
    return f"Measurements, simulated, if {costs['if']}: {', '.join(said)}."


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
