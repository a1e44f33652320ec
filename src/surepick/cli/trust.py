"""How far a study trusts features, in words, and what that costs at least."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surepick.problem import Problem

MISFIT_HELP = (
    "How far the mean of an option may lie from what its features say, in units of the reward. "
    "any: features only guide what is measured; the guarantee rests on measurements alone.  "
    "[default: any, with algorithms that can]"
)
_MANY = 2_000  # measurements: more are worth a thought beforehand


def trust(problem: Problem, delta: float) -> list[str]:
    """What the answer will rest on, and how few measurements could do."""
    if problem.rank == problem.n_arms and not problem.misfit:
        return []  # every option has a feature of its own
    if not problem.misfit:
        return [
            "Features are trusted: the answer will hold if rewards are linear in them. What speaks "
            "against it will be said."
        ]
    if not math.isinf(problem.misfit):
        return [f"The answer will hold if features are right to within {problem.misfit:g}."]
    each = least_pulls(problem, delta)
    least = each * problem.n_arms
    lines = [
        f"Features guide, measurements prove: the answer will hold whatever the features are "
        f"worth. Each of the {problem.n_arms:,} options is measured {each} times or more, so "
        f"{least:,} measurements are the least; if rewards are linear in the features "
        f"(--trust-features), {2 * problem.rank} could be enough."
    ]
    if least > _MANY:
        lines.append(
            "That is a lot. Do you know how far features can be off? Then --misfit 0.1 (in units "
            "of a measurement) or --trust-features need far fewer; surepick plan says how many."
        )
    return lines


def least_pulls(problem: Problem, delta: float) -> int:
    """How often an option has to be measured before it can be ruled out by its own rewards."""
    if problem.noise_kind.kind == "symmetric":
        return math.ceil(math.log2(1.0 / delta))  # a measurement doubles the capital at most
    return 2
