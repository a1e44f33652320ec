"""The paper's experiments as plans: figures (a) to (d) of its section on experiments."""

from __future__ import annotations

from dataclasses import dataclass

from surepick.errors import UnknownNameError

#: what the paper compares PELEG with, and the oracle; the order is that of the legends
RIVALS = ("rage", "lingape", "xy-static", "alba", "lucb", "xy-oracle")
#: PELEG at each level of constants, with the same in another form beside it
_PELEGS = {
    "printed": ("peleg-paper", "peleg-adahedge"),
    "program": ("peleg-paper", "peleg-adahedge"),
    "tight": ("peleg",),
}


def named(rival: str, level: str) -> str:
    """The text that names a rival at a level of constants."""
    if rival == "lucb":
        return rival  # all levels are the same
    if (rival, level) == ("lingape", "program"):
        level = "printed"  # the program has the printed radius
    return f"{rival}:constants={level}"


@dataclass(frozen=True)
class Figure:
    """One figure: a family of instances along an axis, and the algorithms compared on it."""

    key: str
    title: str
    axis: str
    points: tuple[float, ...]
    instance: str  #: text of the instance, with ``{x}`` for the point
    rivals: tuple[str, ...] = RIVALS
    slow: tuple[str, ...] = ()  #: their trials take seconds: one will do for a quick look
    long: tuple[float, ...] = ()  #: points at which each of these trials takes 15 s and more

    @property
    def new_arms(self) -> bool:
        """Whether every trial has arms of its own."""
        return "rng=trial" in self.instance

    def algorithms(self, level: str) -> tuple[str, ...]:
        """What is compared at a level of constants, with what we would use instead."""
        ours = ("pooled-peleg",) if level == "tight" else ("peleg", "pooled-peleg")
        return (*_PELEGS[level], *(named(rival, level) for rival in self.rivals), *ours)

    def at(self, point: float) -> str:
        """The instance at one point of the axis."""
        return self.instance.format(x=f"{point:g}")


FIGURES = {
    figure.key: figure
    for figure in (
        Figure(
            key="a",
            title="Standard bandit, five arms",
            axis="gap Δ",
            points=(0.1, 0.2, 0.3, 0.4, 0.5),
            instance="standard:gap={x}",
        ),
        Figure(
            key="b",
            title="Standard bandit, a closer look",
            axis="gap Δ",
            points=(0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19),
            instance="standard:gap={x}",
            rivals=("rage",),
        ),
        Figure(
            key="c",
            title="Unit sphere, 100 arms",
            axis="dimension d",
            points=(10, 20, 30, 40, 50),
            # new arms for every trial, the same ones for every algorithm
            instance="unit_sphere:d={x},rng=trial",
            slow=("peleg-paper", "peleg-adahedge"),
            long=(30, 40, 50),
        ),
        Figure(
            key="d",
            title="Standard bandit with a confounding arm",
            axis="dimension d",
            points=(2, 3, 4, 5, 6, 7, 8, 9, 10),
            instance="confounding:d={x},omega=0.1",
            slow=("lucb",),
        ),
    )
}


def figure(key: str) -> Figure:
    """The figure of this letter."""
    if key not in FIGURES:
        raise UnknownNameError.among("figure", key, FIGURES)
    return FIGURES[key]
