"""What a certificate says about the noise, and which rewards are possible under it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surepick.verifier.exact import demand, number, refuse
from surepick.verifier.record import Batch

_EPS = float(np.finfo(float).eps)
_MOST_SEGMENTS = 16
_ROUNDING = 1e-9  # of the range: sums of rewards at a bound may miss it by this much per reward


@dataclass(frozen=True, eq=False)
class Noise:
    """One kind of noise."""

    kind: ClassVar[str]  #: its name; bets are declared under it
    #: on what a guarantee rests that is not part of the model; its sentence must say so
    provided: ClassVar[str] = ""
    provided_on_items: ClassVar[str] = ""  #: where options are measured on items
    singly: ClassVar[bool] = False  #: whether every reward is recorded by itself
    #: what bets need of a batch beside arms, counts and sums
    columns: ClassVar[frozenset[str]] = frozenset()
    scale_known: ClassVar[bool] = True  #: whether rewards, in these units, are 1-sub-Gaussian
    #: whether rewards must be as likely above their mean as below: yes and no are not
    symmetric: ClassVar[bool] = False
    on_items: ClassVar[bool] = True  #: whether options may be measured on items
    of_pairs: ClassVar[bool] = False  #: whether a measurement says which of two is better
    by_bucket: ClassVar[bool] = False  #: whether reports of visitors have buckets
    squares: ClassVar[bool] = False  #: whether reports of visitors have sums of squares
    zero_one: ClassVar[bool] = False  #: whether rewards are 0 or 1, and nothing else

    unit: float = 1.0  #: what estimates and epsilon are divided by
    scales: np.ndarray | None = None  #: one for each arm, where they differ
    low: float = -math.inf  #: bounds of rewards
    high: float = math.inf
    names: tuple[str, ...] = ()  #: of the segments that visitors are counted by
    shares: tuple[float, ...] = ()  #: and the part of the mix that each is

    @classmethod
    def read(cls, written: Any, n_arms: int) -> Noise | None:
        """What a certificate says of it; None: that is no noise of this kind."""
        return cls() if isinstance(written, str) and written == cls.kind else None

    def rests_on(self, items: bool) -> str:
        """On what a guarantee rests; with ``items``, where options are measured on them."""
        return self.provided_on_items if items else self.provided

    def near(self, best: str, epsilon: float, items: bool) -> str:
        """What is promised up to epsilon."""
        return f"within {epsilon:.12g} of {best}"

    def good(self, within: float) -> str:
        """What an option is that is good enough."""
        return f"within {within:.12g} of the best"

    def near_several(self, top: int, epsilon: float) -> str:
        """What is promised of several options up to epsilon."""
        each = f"{top} options, each at most {epsilon:.12g}"
        return f"{each} worse than the worst of the {top} best,"

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low)

    def units(self, arms: Any) -> Any:
        """What the rewards of these arms are divided by."""
        return self.unit if self.scales is None else self.scales[arms]

    def check_sum(self, total: float, count: int, where: str, *, averaged: bool) -> None:
        """Whether so many rewards can have this sum.

        ``averaged``: these stand for more rewards with the same mean.
        """
        slack = _ROUNDING * count * (self.high - self.low) if self.bounded else 0.0
        self._check_bounds(total, count, where, slack)

    def _check_bounds(self, total: float, count: int, where: str, slack: float) -> None:
        demand(
            self.low * count - slack <= total <= self.high * count + slack,
            f"{where}: {count} rewards between {self.low:g} and {self.high:g} cannot sum up to "
            f"{total:.9g}",
        )

    def check_spread(
        self, spread: float, total: float, count: int, where: str, *, averaged: bool
    ) -> None:
        """Whether so many rewards with this sum can have this sum of squared deviations."""
        demand(spread >= 0, f"{where}: a sum of squares is {spread:.9g}, below 0")
        demand(
            count > 1 or averaged or spread <= (100 * _EPS * total) ** 2,
            f"{where}: a single reward is said to differ from itself",
        )
        if self.bounded:
            mean, width = total / count, self.high - self.low
            most = count * (self.high - mean) * (mean - self.low)
            # The mean may be off by a unit in the last place for each reward.
            off = (count + 64) * _EPS * max(abs(self.low), abs(self.high)) / width
            demand(
                spread <= most + (10 * _ROUNDING + off) * count * width**2,
                f"{where}: rewards between {self.low:g} and {self.high:g} with mean {mean:.6g} "
                f"cannot differ as much as is said",
            )


class Symmetric(Noise):
    """As likely to be above its mean as below it by the same amount."""

    kind = "symmetric"
    provided = (
        "provided that each reward is as likely to be above its mean as below it by the same amount"
    )
    provided_on_items = (
        "provided that what two options differ by on an item is as likely to be above its mean as "
        "below it by the same amount"
    )
    columns = frozenset({"spreads", "parts"})
    scale_known = False
    symmetric = by_bucket = True

    @classmethod
    def read(cls, written: Any, n_arms: int) -> Noise | None:
        return cls() if written is None else None


class AnyNumber(Noise):
    """Numbers of any kind: the best is who usually wins."""

    kind = "any"
    provided = (
        "where better means to win more than half of all direct comparisons, one measurement "
        "of each, and the best are better than all others, if there are any such"
    )
    provided_on_items = (
        "where better means to win on more than half of the items, and the best are better "
        "than all others, if there are any such"
    )
    columns = frozenset({"parts"})
    scale_known = False
    singly = True

    def near(self, best: str, epsilon: float, items: bool) -> str:
        share = f"{0.5 + epsilon:.12g}"
        of = f"on at most {share} of all items" if items else f"in at most {share} of all direct "
        return f"{best}, or beaten by {best} {of if items else of + 'comparisons'},"

    def good(self, within: float) -> str:
        comparisons = f"{0.5 + within:.12g} of all direct comparisons"
        return f"that no other option beats in more than {comparisons}"

    def near_several(self, top: int, epsilon: float) -> str:
        others = f"any of the {top} best that is not among them"
        each = f"each winning at least {0.5 - epsilon:.12g} of all direct comparisons"
        return f"{top} options, {each} with {others},"


class Equal(Noise):
    """Normal, of one scale for all arms, which nobody knows."""

    kind = "equal"
    provided = "provided that the noise is normal and of one scale for all options"
    columns = frozenset({"spreads"})
    scale_known = on_items = False
    symmetric = True


class YesNo(Noise):
    """Rewards 0 or 1."""

    kind = "yes-no"
    zero_one = True

    @classmethod
    def read(cls, written: Any, n_arms: int) -> Noise | None:
        return cls(0.5, None, 0.0, 1.0) if super().read(written, n_arms) else None

    def check_sum(self, total: float, count: int, where: str, *, averaged: bool) -> None:
        if averaged:
            super().check_sum(total, count, where, averaged=averaged)
            return
        self._check_bounds(total, count, where, 0.0)
        demand(
            total == math.floor(total),
            f"{where}: {total:.9g} is no number of rewards that are 0 or 1",
        )


class BySegment(YesNo):
    """0 or 1, of visitors counted by segment; a rate is that of segments in fixed shares."""

    kind = "segments"
    columns = frozenset({"parts"})
    on_items = False
    by_bucket = True

    @classmethod
    def read(cls, written: Any, n_arms: int) -> Noise | None:
        if not isinstance(written, dict) or set(written) != {"segments"}:
            return None
        stated = written["segments"]
        fine = isinstance(stated, dict) and 2 <= len(stated) <= _MOST_SEGMENTS
        demand(fine, "its segments are not two or more with a share each")
        shares = [number(share, f"the share of {name!r:.80}") for name, share in stated.items()]
        demand(min(shares) > 0, "the share of a segment is not above 0")
        demand(abs(math.fsum(shares) - 1.0) <= 1e-6, "the shares of its segments do not sum to 1")
        return cls(0.5, None, 0.0, 1.0, tuple(stated), tuple(shares))

    def rests_on(self, items: bool) -> str:
        both = zip(self.names, self.shares, strict=True)
        said = ", ".join(f"{name!r} {share:.12g}" for name, share in both)
        return f"best on average over segments of visitors in the shares stated beforehand: {said}"


class Pairs(Noise):
    """Which of two is better: 1 the first, 0 the second, ½ neither."""

    kind = "pairs"
    provided = (
        "where a tie counts half for each, options being what was shown of them, and provided "
        "that no comparison depends on how the others came out"
    )
    provided_on_items = provided
    of_pairs = True

    @classmethod
    def read(cls, written: Any, n_arms: int) -> Noise | None:
        return cls(1.0, None, 0.0, 1.0) if super().read(written, n_arms) else None

    def check_sum(self, total: float, count: int, where: str, *, averaged: bool) -> None:
        self._check_bounds(total, count, where, 0.0)
        demand(
            2 * total == math.floor(2 * total), f"{where}: {total:.9g} is neither 0, 1 nor a tie"
        )


class Bounded(Noise):
    """Anything between two bounds."""

    kind = "bounded"
    columns = frozenset({"spreads"})
    squares = True

    @classmethod
    def read(cls, written: Any, n_arms: int) -> Noise | None:
        if not isinstance(written, dict) or set(written) - {"most"} != {"low", "high"}:
            return None
        low, high = (number(written[end], f"the bound {end!r}") for end in ("low", "high"))
        demand(low < high, "the lowest reward must be below the highest")
        bounds = (0.5 * (high - low), None, low, high)
        if "most" not in written:
            return cls(*bounds)
        if written["most"] is not None:
            most = number(written["most"], "the bound 'most'")
            demand(most >= high, "the highest reward must not be below the cap")
        return Capped(*bounds)


class Capped(Bounded):
    """Between two bounds, as what was above the upper one was cut there."""

    def rests_on(self, items: bool) -> str:
        return f"where every reward above {self.high:.12g} counts as {self.high:.12g}"


class Known(Noise):
    """Sub-Gaussian with a known scale, or one for each arm."""

    kind = "known"
    on_items = False

    @classmethod
    def read(cls, written: Any, n_arms: int) -> Noise | None:
        if isinstance(written, str | dict):
            return None
        if isinstance(written, list):
            demand(len(written) == n_arms, "it must have one noise scale for each arm")
            scales = np.array([number(value, "noise") for value in written])
            demand((scales > 0).all(), "noise must be above 0")
            return cls(1.0, scales)
        scale = number(written, "noise")
        demand(scale > 0, "noise must be above 0")
        return cls(scale)


#: by name; whatever is no word is a number, or several, and comes last
KINDS: dict[str, type[Noise]] = {
    kind.kind: kind
    for kind in (Symmetric, AnyNumber, Equal, YesNo, BySegment, Bounded, Pairs, Known)
}


def register(kind: type[Noise]) -> None:
    """Make a kind of another package known; its bets are declared beside, in the payoffs."""
    KINDS[kind.kind] = kind


def read_noise(written: Any, n_arms: int) -> Noise:
    """The kind of noise that a certificate names."""
    read = (kind.read(written, n_arms) for kind in KINDS.values())
    found = next((noise for noise in read if noise is not None), None)
    if found is None and isinstance(written, dict):
        refuse("the bounds of its rewards are not low and high")
    if found is None:
        refuse(f"it has an unknown kind of noise {written!r:.80}")
    return found


def yes_and_no(batches: Sequence[Batch]) -> bool:
    """Whether ten rewards or more are all 0 or 1, and differ: then their squares add up as they do.

    Batches without spreads cannot be told.
    """
    told = [batch for batch in batches if batch.spreads is not None]
    if not told:
        return False
    n, total, spread = (
        np.concatenate([getattr(batch, name) for batch in told])
        for name in ("counts", "sums", "spreads")
    )
    if sum(n.tolist()) < 10 or not spread.any():
        return False
    close = np.abs(spread + total * total / n - total) <= 1e-9 * (1 + n)
    return bool((close & (total == np.floor(total))).all())
