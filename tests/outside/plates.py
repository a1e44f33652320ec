"""A setting from outside: how many plates a laboratory has, each with eight places."""

from dataclasses import replace
from typing import Any

from surepick.arrays.validate import whole
from surepick.errors import InvalidInputError
from surepick.study.settings import Prepared, Setting, register

PLACES = 8


def check(plates: Any) -> int:
    return whole(plates, "plates", least=1)


def apply(plates: int, made: Prepared) -> Prepared:
    """The study ends when the plates are full."""
    if made.traffic:
        raise InvalidInputError("plates: visitors need no plates; leave it out")
    most = PLACES * plates
    note = f"{plates} plates have room for {most} measurements."
    algorithm = replace(made.algorithm, max_samples=most)
    return replace(made, algorithm=algorithm, notes=(*made.notes, note))


register(
    Setting(
        name="plates",
        help=f"How many plates there are; the study ends after {PLACES} measurements on each, "
        "whatever `max_samples` says.",
        schema={"type": "integer", "minimum": 1},
        check=check,
        apply=apply,
        words=lambda plates: f"All {plates} plates will be used.",
        question="How many plates do you have?",
        hint="The study ends when they are full.",
        empty="enough",
    )
)
