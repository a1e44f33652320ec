"""Numbers as people type them: with a decimal point or a comma, and rates in per cent."""

from __future__ import annotations

from typing import Any

import click

from surepick.errors import InvalidInputError
from surepick.text import number_of


class Percent(float):
    """A rate that was given in per cent."""


class Number(click.ParamType):
    """A number; 4,56 is 4.56, and what may be either 1.234 or 1234 is refused."""

    name = "float"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        try:
            return number_of(value) if isinstance(value, str) else float(value)
        except InvalidInputError as error:
            self.fail(str(error), param, ctx)


class Rate(Number):
    """A number, or a rate in per cent: 0.2% is 0.002."""

    name = "NUMBER|RATE%"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if not isinstance(value, str) or not value.strip().endswith("%"):
            return super().convert(value, param, ctx)
        return Percent(super().convert(value.strip()[:-1], param, ctx) / 100.0)


class Rewards(click.ParamType):
    """What a measurement gives, in the words of people."""

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The words that there are, for a help."""
        from surepick.problem.noise import forms

        return "|".join(forms())

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return value


def in_rates(value: float | None, what: str, noise: Any, *, of_wins: bool = False) -> float | None:
    """The number; an error where per cent were given, and a reward is no rate.

    Parameters
    ----------
    noise
        What a study says of it: yes or no, or bounds from 0 to 1, make a reward a rate.
    of_wins
        Whether it is a share of direct comparisons where the best is who usually wins.
    """
    if not isinstance(value, Percent):
        return value
    from surepick.study.spec import kind_of

    kind = kind_of(noise)
    bounds = kind.bounds
    if of_wins and kind.wins:
        return float(value)
    if bounds is not None and bounds[0] >= 0 and bounds[1] <= 1:
        return float(value)
    raise InvalidInputError(
        f"{what}: per cent are for rewards that are rates (--rewards yes-no, or 0..1); otherwise "
        f"give a number in the unit of the reward"
    )
