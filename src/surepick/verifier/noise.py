"""What a certificate says about the noise, and which rewards are possible under it.

Part of the verifier: nothing here is shared with the problem and the algorithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Demand = Callable[[Any, str], None]

#: on what a guarantee rests that is not part of the model; its sentence must say so
PROVIDED = {
    "symmetric": "provided that each reward is as likely to be above its mean as below it by the "
    "same amount",
    "equal": "provided that the noise is normal and of one scale for all options",
}
#: what bets need of a batch beside arms, counts and sums
COLUMNS = {"symmetric": {"spreads", "parts"}, "equal": {"spreads"}, "bounded": {"spreads"}}
_EPS = float(np.finfo(float).eps)
_ROUNDING = 1e-9  # of the range: sums of rewards at a bound may miss it by this much per reward


class Noise(NamedTuple):
    """One kind of noise."""

    kind: str  #: "symmetric", "equal", "known", "yes-no" or "bounded"
    unit: float = 1.0  #: what estimates and epsilon are divided by
    scales: np.ndarray | None = None  #: one for each arm, where they differ
    low: float = -math.inf  #: bounds of rewards
    high: float = math.inf

    @property
    def scale_known(self) -> bool:
        """Whether rewards, in these units, are 1-sub-Gaussian."""
        return self.kind not in ("symmetric", "equal")

    def units(self, arms: Any) -> Any:
        """What the rewards of these arms are divided by."""
        return self.unit if self.scales is None else self.scales[arms]

    def check_sum(
        self, demand: Demand, total: float, count: int, where: str, *, averaged: bool
    ) -> None:
        """Whether so many rewards can have this sum.

        ``averaged``: these stand for more rewards with the same mean.
        """
        whole = self.kind == "yes-no" and not averaged
        bounded = self.kind in ("yes-no", "bounded")
        slack = _ROUNDING * count * (self.high - self.low) if bounded and not whole else 0.0
        demand(
            self.low * count - slack <= total <= self.high * count + slack,
            f"{where}: {count} rewards between {self.low:g} and {self.high:g} cannot sum up to "
            f"{total:.9g}",
        )
        demand(
            not whole or total == math.floor(total),
            f"{where}: {total:.9g} is no number of rewards that are 0 or 1",
        )

    def check_spread(
        self, demand: Demand, spread: float, total: float, count: int, where: str, *, averaged: bool
    ) -> None:
        """Whether so many rewards with this sum can have this sum of squared deviations."""
        demand(spread >= 0, f"{where}: a sum of squares is {spread:.9g}, below 0")
        demand(
            count > 1 or averaged or spread <= (100 * _EPS * total) ** 2,
            f"{where}: a single reward is said to differ from itself",
        )
        if self.kind == "bounded":
            mean, width = total / count, self.high - self.low
            most = count * (self.high - mean) * (mean - self.low)
            # The mean may be off by a unit in the last place for each reward.
            off = (count + 64) * _EPS * max(abs(self.low), abs(self.high)) / width
            demand(
                spread <= most + (10 * _ROUNDING + off) * count * width**2,
                f"{where}: rewards between {self.low:g} and {self.high:g} with mean {mean:.6g} "
                f"cannot differ as much as is said",
            )


def read_noise(written: Any, n_arms: int, demand: Demand) -> Noise:
    """The kind of noise that a certificate names."""
    if written is None:
        return Noise("symmetric")
    if isinstance(written, str):
        demand(written in ("equal", "yes-no"), f"it has an unknown kind of noise {written!r}")
        return Noise("yes-no", 0.5, None, 0.0, 1.0) if written == "yes-no" else Noise("equal")
    if isinstance(written, dict):
        demand(set(written) == {"low", "high"}, "the bounds of its rewards are not low and high")
        low, high = (_number(written[end], f"the bound {end!r}", demand) for end in ("low", "high"))
        demand(low < high, "the lowest reward must be below the highest")
        return Noise("bounded", 0.5 * (high - low), None, low, high)
    if isinstance(written, list):
        demand(len(written) == n_arms, "it must have one noise scale for each arm")
        scales = np.array([_number(value, "noise", demand) for value in written])
        demand((scales > 0).all(), "noise must be above 0")
        return Noise("known", 1.0, scales)
    scale = _number(written, "noise", demand)
    demand(scale > 0, "noise must be above 0")
    return Noise("known", scale)


def _number(value: Any, what: str, demand: Demand) -> float:
    fine = isinstance(value, int | float) and not isinstance(value, bool)
    demand(fine and math.isfinite(value), f"{what} is {value!r:.80}, not a finite number")
    return float(value)


def yes_and_no(batches: list[dict[str, Any]]) -> bool:
    """Whether ten rewards or more are all 0 or 1, and differ: then their squares add up as they do.

    Batches without spreads cannot be told.
    """
    rows = [
        row
        for batch in batches
        for row in zip(batch["counts"], batch["sums"], batch.get("spreads", []), strict=False)
    ]
    if sum(count for count, _, _ in rows) < 10 or not any(spread for _, _, spread in rows):
        return False
    return all(
        total == math.floor(total)
        and abs(spread + total * total / count - total) <= 1e-9 * (1 + count)
        for count, total, spread in rows
    )
