"""How far a study trusts features, in words, and what that costs at least."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.numbers import Rate
from surepick.errors import InvalidInputError

if TYPE_CHECKING:
    from surepick.problem import Problem

MISFIT_HELP = (
    "How far the mean of an option may lie from what its features predict, in units of the "
    "reward. any: features only guide what is measured, and the guarantee depends on measurements "
    "alone.  [default: any, with algorithms that can]"
)


def described(problem: Problem) -> str:
    """How many options there are, and how much there is to learn about them."""
    options = f"{len(problem.distinct)} different options"
    if problem.pairing is not None or problem.rank == len(problem.distinct):
        return options  # each is measured on its own
    return f"{options}, {problem.rank} effects to learn"


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


def trusted(misfit: float | None, trust_features: bool) -> float | None:
    """How far features may be wrong, or an error where both options say it; None: neither does."""
    if trust_features and misfit:
        raise InvalidInputError(
            "misfit: --trust-features already means --misfit 0; leave one of them out"
        )
    return 0.0 if trust_features else misfit


_MANY = 2_000  # measurements: more are worth a thought beforehand


def trust(problem: Problem, delta: float, most: int) -> list[str]:
    """What the answer will rest on, and what it takes at least."""
    if problem.pairing is not None:
        return []  # features guide, and prove nothing
    if problem.rank == problem.n_arms and not problem.misfit:
        return []  # every option has a feature of its own
    if not problem.misfit:
        lines = [
            "Features are trusted: the answer will hold if rewards are linear in them. The study "
            "will tell you if the data contradict that."
        ]
    elif not math.isinf(problem.misfit):
        lines = [f"The answer will hold if features are right to within {problem.misfit:g}."]
    else:
        each = least_pulls(problem, delta)
        lines = [
            "Features only guide what is measured first; the answer will hold even if they are "
            f"wrong. Each of the {problem.n_arms:,} options needs at least {each} measurements, "
            f"{each * problem.n_arms:,} in total. If rewards are linear in the features, "
            f"{2 * problem.rank} could be enough (--trust-features). "
            "To forecast how many it will take: surepick plan."
        ]
    return lines + _recommended(problem, delta, most)


def _recommended(problem: Problem, delta: float, most: int) -> list[str]:
    """What to do where measuring every option itself takes more than there is."""
    least = least_pulls(problem, delta) * problem.n_arms
    if not math.isinf(problem.misfit) or least <= min(_MANY, most):
        return []
    there = f"and the study ends after {most:,}" if least > most else "which is a lot"
    return [
        f"Recommended: measuring every option itself takes at least {least:,} measurements, "
        f"{there}. Say how far features may be wrong (--misfit, in units of a measurement; a "
        "tenth of the lead that matters costs little), or use --trust-features. surepick plan "
        "--misfit forecasts how many that takes."
    ]


def least_pulls(problem: Problem, delta: float) -> int:
    """How often an option has to be measured before it can be ruled out by its own rewards."""
    from surepick.algorithms.pooled.kinds import READINGS

    return READINGS.of(problem.noise_kind).least_pulls(delta)
