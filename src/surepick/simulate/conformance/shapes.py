"""Odd shapes of problems that every algorithm must survive."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.errors import InvalidInputError
from surepick.run import Answer, verify
from surepick.simulate.conformance.tools import (
    Make,
    configure,
    demand,
    solve,
    tiny,
)
from surepick.simulate.instance import Instance

_SEEDS = range(3)


def _right_mostly(make: Make, instance: Instance) -> dict[str, Any]:
    """How many pulls it took."""
    return {"pulls": [answer.samples for answer in _mostly_right(make, instance)]}


def _mostly_right(make: Make, instance: Instance) -> list[Answer]:
    """Stops, with a sound answer, and is not wrong throughout (delta is 0.05)."""
    answers = [solve(make, instance, seed=seed) for seed in _SEEDS]
    right = sum(instance.is_correct(answer.arm) for answer in answers)
    demand(right >= 2, f"{instance.name}: {len(answers) - right} of {len(answers)} answers wrong")
    return answers


def check_one_arm(make: Make) -> dict[str, Any]:
    """With one candidate there is nothing to measure."""
    for arms in ([[2.0]], [[0.6, 0.8]], [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]):
        instance = tiny(arms, np.full(len(arms[0]), 0.3), name="one distinct arm")
        algorithm = configure(make, instance)
        run = algorithm.start(instance.problem, seed=0)
        demand(run.stopped, f"{len(arms)} arms, one distinct: not stopped at once")
        demand(run.answer.arm == 0 and run.answer.samples == 0, "one arm: measured, or not arm 0")
        demand(run.answer.guarantee.kind != "none", "one arm: no guarantee although it is certain")
        verify(run.answer.certificate())
    return {}


def check_two_arms(make: Make) -> dict[str, Any]:
    """Two arms, in two dimensions and in one."""
    _right_mostly(make, tiny([[1.0, 0.0], [0.6, 0.8]], [0.2, 0.9], 0.3, name="two arms"))
    return _right_mostly(make, tiny([[1.0], [0.4]], [0.7], 0.3, name="two arms on a line"))


def check_as_many_arms_as_dimensions(make: Make) -> dict[str, Any]:
    """K = d: every arm is needed to span."""
    _right_mostly(make, tiny(np.eye(4), [0.0, 0.0, 0.9, 0.0], 0.4, name="standard basis, K = d"))
    skew = [[1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [-0.3, 0.2, 1.1]]
    return _right_mostly(make, tiny(skew, [0.1, -0.2, 0.8], 0.4, name="skew basis, K = d"))


def check_rank_deficient(make: Make) -> dict[str, Any]:
    """Arms that span less than their features could; one of them may be zero."""
    plane = np.array([[1.0, 0.2, -0.5], [0.3, 0.9, 0.4]])
    mix = np.array([[1.0, 0.0], [0.2, 0.9], [-0.7, 0.6], [0.5, -0.4]])
    _right_mostly(make, tiny(mix @ plane, [0.6, 0.2, -0.3], 0.25, name="plane in three dimensions"))
    spare = np.zeros((4, 2))
    spare[:, 0] = [1.0, -0.5, 0.4, 0.0]
    return _right_mostly(make, tiny(spare, [0.8, 0.5], 0.2, name="line, with an arm at zero"))


def check_one_far_better(make: Make) -> dict[str, Any]:
    """One arm ahead by a hundred times the noise."""
    arms = [[1.0, 0.0], [0.0, 1.0], [-0.8, 0.3], [0.1, -0.9]]
    return _right_mostly(make, tiny(arms, [0.95, 0.0], 0.008, name="one arm far better"))


def check_all_nearly_tied(make: Make) -> dict[str, Any]:
    """Gaps of a millionth of the noise: epsilon lets the run stop."""
    arms = [[1.0, 0.1], [0.2, 0.9], [-0.6, 0.7], [0.8, -0.5]]
    instance = tiny(arms, [1e-6, 2e-6], 0.5, name="all arms nearly tied")
    answers = [solve(make, instance, seed=seed, epsilon=0.5) for seed in _SEEDS]
    demand(
        all(a.guarantee.kind in ("eps-pac", "pac", "heuristic") for a in answers),
        f"guarantees {[a.guarantee.kind for a in answers]}",
    )
    return {"pulls": [a.samples for a in answers]}


def check_duplicates(make: Make) -> dict[str, Any]:
    """Equal candidates cannot be told apart: the answer names all of them."""
    arms = [[0.1, 0.9], [0.9, 0.3], [0.1, 0.9], [0.9, 0.3], [-0.5, 0.4]]
    instance = tiny(arms, [0.9, -0.2], 0.3, name="duplicates")
    answers = _mostly_right(make, instance)
    for answer in answers:
        twins = {i for i in range(5) if instance.problem.same_as[i] == answer.arm}
        demand(twins == {answer.arm, *answer.equivalent}, f"equivalent is {answer.equivalent}")
        demand(
            answer.guarantee.kind != "pac" or set(answer.survivors) == twins,
            f"survivors are {answer.survivors}, equal to the answer are {twins}",
        )
    return {"pulls": [answer.samples for answer in answers]}


def check_separate_candidates(make: Make) -> dict[str, Any]:
    """Candidates that are not arms are chosen among, or refused by a clear error at the start."""
    instance = tiny(
        [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
        [0.7, 0.4],
        0.3,
        candidates=[[0.8, 0.9], [1.0, -0.6], [-0.7, 0.2], [0.1, 0.3]],
        name="separate candidates",
    )
    try:
        configure(make, instance).start(instance.problem, seed=0)
    except InvalidInputError as refusal:
        demand("candidate" in str(refusal), f"refused, but not for the candidates: {refusal}")
        return {"supported": False}
    return {"supported": True, **_right_mostly(make, instance)}
