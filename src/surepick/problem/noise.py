"""What is known about the noise of one measurement: nothing but symmetry, a scale, or bounds.

Each kind says in which unit algorithms see the rewards, which rewards are impossible, and how files
write it down. :class:`surepick.Problem` explains the choice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from surepick import plugins
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_numbers, in_reach, positive, real
from surepick.calls.rule import NoScore, as_score
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError
from surepick.promise import Condition, Promised

MOST_SEGMENTS = 16  #: of visitors who are counted by segment
_SHARES_SLACK = 1e-6  # by which shares may miss 1: people round
_BOUNDS = re.compile(r"(.+?)\.\.(.+)")  # "0...5" is 0 to 0.5
#: what bets on items rest on, where rewards have no bounds
ITEMS_PROVIDED = Condition(
    "provided that what two options differ by on an item is as likely to be above its mean as "
    "below it by the same amount",
    "if the difference between two options on an item is as likely to be above its mean as below "
    "it by the same amount",
)


@dataclass(frozen=True)
class Texts:
    """What is said of a kind of noise; ``{0.low:g}`` and the like stand for its numbers."""

    name: str = ""  #: in a line about a problem, where it is not as in ``words``
    words: str = "numbers"  #: what measurements give, for people who need not know what a scale is
    measurement: str = ""  #: what one gives, and what is known about it; by default as in ``words``
    rule: str = ""  #: which rewards can occur, for a message
    best: str = ""  #: a sentence, where the best option is not the one with the best mean


@dataclass(frozen=True, eq=False)
class NoiseKind:
    """One kind of noise; made by :func:`noise_kind`."""

    texts: ClassVar[Texts] = Texts()  #: what is said of it
    kind: ClassVar[str]  #: its name; other layers declare their parts under it
    word: ClassVar[str | None] = None  #: that ``noise=`` and ``--noise`` take for it, if any
    form: ClassVar[str | None] = None  #: what people write for such rewards (``--rewards``)
    choice: ClassVar[str]  #: what ``noise=`` takes for it, for a message
    asked: ClassVar[str] = ""  #: what a measurement gives, as an answer to choose on a form
    wins: ClassVar[bool] = False  #: whether best is who usually wins; epsilon is a share of wins
    cuts: ClassVar[bool] = False  #: whether rewards beyond a cap count as the cap
    reports_only: ClassVar[bool] = False  #: whether only reports of visitors can be read
    of_pairs: ClassVar[bool] = False  #: whether a measurement says which of two options is better
    scale_known: ClassVar[bool] = True  #: whether rewards, in these units, are 1-sub-Gaussian
    values: ClassVar[tuple[float, ...] | None] = (
        None  #: the only rewards there are, if they are few
    )

    @classmethod
    def read(cls, noise: Any, n_arms: int) -> NoiseKind | None:
        """The kind that users mean by this; None: it is not one of these."""
        meant = isinstance(noise, str) and noise == cls.word
        return cls() if meant else None

    @classmethod
    def read_form(cls, text: str) -> NoiseKind | None:
        """The kind of rewards that are written like this; None: it is not one of these."""
        return cls() if text == cls.form else None

    @classmethod
    def given_as(cls, written: Mapping[str, Any]) -> Any:
        """What users give for this object of a file; None: it is none of these."""
        return None

    @property
    def unit(self) -> float:
        """What estimates and epsilon are divided by for algorithms."""
        return 1.0

    def units(self, arms: Any) -> float | FloatArray:
        """What the rewards of these arms are divided by for algorithms."""
        return self.unit

    @property
    def scales(self) -> FloatArray | None:
        """A known scale for each arm, where they may differ."""
        return None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Between which all rewards lie, if anything is known of it."""
        return None

    @property
    def successes(self) -> bool:
        """Whether rewards say yes or no, so that a mean is a rate of successes."""
        return self.values == (0.0, 1.0)

    @property
    def given(self) -> Any:
        return self.word

    @property
    def written(self) -> Any:
        return self.given

    @property
    def said(self) -> Any:
        """As requests have it, where saying nothing leaves the choice to others."""
        return self.written

    @property
    def provided(self) -> Condition | None:
        """What a guarantee rests on; None where the numbers given say it."""
        return None

    @property
    def provided_on_items(self) -> Condition | None:
        """What a guarantee rests on where options are measured on items, and compared on each."""
        return self.provided

    def apart(self, by: float) -> str:
        """How far means are apart, in plain words."""
        return f"{by:.12g}"

    def near(self, best: str, epsilon: float, items: bool) -> Promised:
        """What is promised of an option that may be short of the best by epsilon."""
        plain = f"within {self.apart(epsilon)} of {best}"
        return Promised(
            f"within {epsilon:.12g} of {best}",
            f"{{It}} is {plain}.",
            wrong="name one that is not",
            ahead=f"name an option that is not {plain}",
            kind="eps-pac",
            close=plain,
            others=f"at most {self.apart(epsilon)} better",
        )

    def good(self, within: float) -> str:
        """Options that are good enough, in words after "an option"."""
        return f"within {within:.12g} of the best"

    def near_several(self, m: int, epsilon: float) -> Promised:
        """What is promised of m options that may be short of the m best by epsilon."""
        plain = f"within {self.apart(epsilon)} of the {m} best"
        return Promised(
            f"{m} options, each at most {epsilon:.12g} worse than the worst of the {m} best,",
            f"Each is {plain}.",
            wrong="name one that is not",
            ahead=f"name an option that is not {plain}",
            kind="eps-pac",
            close=plain,
            others=f"at most {self.apart(epsilon)} better",
        )

    def cut(self, rewards: FloatArray) -> FloatArray:
        """Rewards as they count; they are recorded as they were told."""
        return rewards

    def impossible(self, rewards: FloatArray) -> IntArray:
        """Numbers of the rewards that cannot occur."""
        return np.empty(0, dtype=np.int64)

    def impossible_sums(self, counts: Any, sums: FloatArray) -> IntArray:
        """Numbers of the sums, of so many rewards each, that cannot occur."""
        return np.empty(0, dtype=np.int64)

    def score(self, given: Any) -> float:
        """What a call gave, as a reward of this kind, or an error: then the call has failed."""
        found = as_score(given)
        if len(self.impossible(np.array([found]))):
            raise NoScore(f"it returned {found:.12g}, but {self.rule}")
        return found

    @property
    def rule(self) -> str:
        return self.texts.rule.format(self)

    @property
    def words(self) -> str:
        return self.texts.words.format(self)

    @property
    def measurement(self) -> str:
        own = self.texts.measurement.format(self)
        return own or self.words.replace("numbers", "a number")

    @property
    def best(self) -> str:
        return self.texts.best.format(self)

    def __str__(self) -> str:
        return self.texts.name.format(self) or self.words


@dataclass(frozen=True, eq=False)
class SymmetricNoise(NoiseKind):
    """Each reward as likely to be above its mean as below, by the same amounts; no scale known."""

    kind = word = form = "symmetric"
    scale_known = False
    choice = "'symmetric' (noise of any size, as likely up as down)"
    asked = "a reading that scatters evenly: as likely too high as too low by the same amount"
    texts = Texts(
        "noise not known",
        words="numbers with symmetric noise",
        measurement="a number that scatters evenly: as likely too high as too low by the same "
        "amount",
    )

    @classmethod
    def read(cls, noise: Any, n_arms: int) -> NoiseKind | None:
        return cls() if noise is None else super().read(noise, n_arms)

    @classmethod
    def read_form(cls, text: str) -> NoiseKind | None:
        return super().read_form(cls.kind if text == "number" else text)  # what people say first

    @property
    def written(self) -> None:
        return None

    @property
    def said(self) -> str:
        return self.kind

    @property
    def provided(self) -> Condition:
        return Condition(
            "provided that each reward is as likely to be above its mean as below it by the same "
            "amount",
            "if a measurement is as likely to come out too high as too low by the same amount",
        )

    @property
    def provided_on_items(self) -> Condition:
        return ITEMS_PROVIDED


@dataclass(frozen=True, eq=False)
class AnyNumber(NoiseKind):
    """Numbers of any kind: who usually wins is asked, not whose mean is larger."""

    kind = word = form = "any"
    scale_known = False
    choice = "'any' (numbers of any kind; the best is who usually wins)"
    asked = "anything else: a time, an amount of money, a count"
    wins = True
    texts = Texts(
        words="numbers of any kind",
        measurement="a number of any kind; nothing is assumed about it",
        best="The best option is the one that usually wins a comparison of two measurements.",
    )

    @property
    def provided(self) -> Condition:
        return Condition(
            "where better means to win more than half of all direct comparisons, one measurement "
            "of each, and the best are better than all others, if there are any such",
            meaning="Better means here: wins more than half of direct comparisons, one measurement "
            "of each; if no option beats all others, any may be named.",
        )

    @property
    def provided_on_items(self) -> Condition:
        return Condition(
            "where better means to win on more than half of the items, and the best are better "
            "than all others, if there are any such",
            meaning="Better means here: wins on more than half of the items; if no option beats "
            "all others, any may be named.",
        )

    def near(self, best: str, epsilon: float, items: bool) -> Promised:
        """Epsilon is a share of comparisons."""
        most, share = f"at most {0.5 + epsilon:.12g}", f"{100 * (0.5 + epsilon):.3g} %"
        where = f"on {most} of all items" if items else f"in {most} of all direct comparisons"
        wins = f"at most {share} of direct comparisons with {{it}}"
        over = f"in more than {share} of direct comparisons"
        if items:
            wins = f"on at most {share} of the items against {{it}}"
            over = f"on more than {share} of the items"
        return Promised(
            f"{best}, or beaten by {best} {where},",
            f"{{It}} is {best}, or {best} wins {wins}.",
            wrong="name one that is not",
            ahead=f"name an option that {best} beats {over}",
            kind="eps-pac",
            close=f"{best}, or beaten by it {over.replace('more than', 'at most')}",
            others=f"wins at most {share}",
        )

    def good(self, within: float) -> str:
        most = f"{0.5 + within:.12g}"
        return f"that no other option beats in more than {most} of all direct comparisons"

    def near_several(self, m: int, epsilon: float) -> Promised:
        least, share = f"{0.5 - epsilon:.12g}", f"{100 * (0.5 - epsilon):.3g} %"
        others = f"any of the {m} best that is not among them"
        return Promised(
            f"{m} options, each winning at least {least} of all direct comparisons with {others},",
            f"Each wins at least {share} of direct comparisons with {others}.",
            wrong="name one that does not",
            ahead=f"name one that wins less than {share} of direct comparisons with {others}",
            kind="eps-pac",
            close=f"one that wins at least {share} of direct comparisons with each of the {m} best",
            others=f"wins at most {100 * (0.5 + epsilon):.3g} %",
        )


@dataclass(frozen=True, eq=False)
class EqualNoise(NoiseKind):
    """Normal, with one scale for all arms, which nobody knows."""

    kind = word = "equal"
    scale_known = False
    choice = "'equal' (normal, one unknown scale)"
    texts = Texts(
        "noise equal for all",
        words="numbers, with the same noise for all options",
        measurement="a number, with the same noise for all options; its size need not be known",
    )

    @property
    def provided(self) -> Condition:
        return Condition(
            "provided that the noise is normal and of one scale for all options",
            "if the noise is normal and the same for all options",
        )


@dataclass(frozen=True, eq=False)
class KnownNoise(NoiseKind):
    """Sub-Gaussian with a known scale."""

    kind = "known"
    choice = "a scale above 0, or one scale per arm"
    texts = Texts("noise {0.scale:g}", words="numbers, with noise {0.scale:g}")
    scale: float

    @classmethod
    def read(cls, noise: Any, n_arms: int) -> NoiseKind | None:
        """A number, or a list of them; whatever is none of them is refused here."""
        if noise is None or isinstance(noise, str):
            return None
        if np.ndim(noise) == 0:
            return cls(in_reach(positive(noise, "noise"), "noise"))
        return NoiseByArm.read(noise, n_arms)

    @property
    def unit(self) -> float:
        return self.scale

    @property
    def given(self) -> float:
        return self.scale


@dataclass(frozen=True, eq=False)
class NoiseByArm(NoiseKind):
    """Sub-Gaussian with a known scale of its own for each arm."""

    kind = "known"
    each: FloatArray

    @classmethod
    def read(cls, noise: Any, n_arms: int) -> Self:
        scales = as_numbers(noise, "noise")
        if len(scales) != n_arms:
            raise InvalidInputError(
                f"noise must be {choices()}; got {len(scales)} numbers for {n_arms} arms"
            )
        bad = np.flatnonzero(~(np.isfinite(scales) & (scales > 0)))
        if len(bad):
            raise InvalidInputError(
                f"noise[{bad[0]}] must be a finite number above 0; got {scales[bad[0]]}"
            )
        for arm, scale in enumerate(scales.tolist()):
            in_reach(scale, f"noise[{arm}]")
        scales.setflags(write=False)
        return cls(scales)

    @property
    def scales(self) -> FloatArray:
        return self.each

    def units(self, arms: Any) -> FloatArray:
        return self.scales[arms]

    @property
    def given(self) -> FloatArray:
        return self.scales

    @property
    def written(self) -> list[float]:
        return self.scales.tolist()

    @property
    def words(self) -> str:
        return f"numbers, with {self}"

    def __str__(self) -> str:
        return f"noise {self.scales.min():g} to {self.scales.max():g}"


@dataclass(frozen=True, eq=False)
class WithinBounds(NoiseKind):
    """Rewards between two bounds, whatever else is known of them."""

    texts = Texts(
        "rewards between {0.low:g} and {0.high:g}",
        words="numbers between {0.low:g} and {0.high:g}",
        rule="rewards of this problem lie between {0.low:g} and {0.high:g}",
    )
    low: float
    high: float

    @property
    def unit(self) -> float:
        return 0.5 * (self.high - self.low)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, self.high

    def impossible(self, rewards: FloatArray) -> IntArray:
        return np.flatnonzero(~((rewards >= self.low) & (rewards <= self.high)))

    def impossible_sums(self, counts: Any, sums: FloatArray) -> IntArray:
        slack = 1e-9 * counts * (self.high - self.low)  # sums are rounded
        low, high = counts * self.low - slack, counts * self.high + slack
        return np.flatnonzero(~((sums >= low) & (sums <= high)))


@dataclass(frozen=True, eq=False)
class Between(WithinBounds):
    """Anything between two bounds."""

    kind = "bounded"
    form = "LO..HI"
    choice = "a pair (lowest, highest) of bounds"
    asked = "a number between two bounds"

    @classmethod
    def read(cls, noise: Any, n_arms: int) -> Between | None:
        if not (isinstance(noise, tuple) and len(noise) == 2):
            return None
        low, high = real(noise[0], "noise: the lowest reward"), real(noise[1], "noise: the highest")
        if not low < high:
            raise InvalidInputError(
                f"noise: the lowest reward must be below the highest; got {noise!r} (for one "
                "scale per arm, give a list, not a tuple)"
            )
        for end, name in ((low, "the lowest reward"), (high, "the highest")):
            in_reach(end, f"noise: {name}")
        in_reach(high - low, "noise: the distance of the bounds")
        return cls(low, high)

    @classmethod
    def read_form(cls, text: str) -> Between | None:
        ends = _BOUNDS.fullmatch(text)
        try:
            numbers = (float(ends[1]), float(ends[2])) if ends else None
        except ValueError:
            return None
        return None if numbers is None else cls.read(numbers, 1)

    @classmethod
    def given_as(cls, written: Mapping[str, Any]) -> Any:
        if set(written) == {"low", "high", "most"}:
            low, cap, most = written["low"], written["high"], written["most"]
            return Capped.of(low, cap, math.inf if most is None else most)
        return (written["low"], written["high"]) if set(written) == {"low", "high"} else None

    @property
    def given(self) -> Any:
        return self.low, self.high

    @property
    def written(self) -> Any:
        return {"low": self.low, "high": self.high}


@dataclass(frozen=True, eq=False)
class Capped(Between):
    """Rewards from a lowest one up, those above a cap counting as the cap."""

    most: float = math.inf  #: the highest that can occur
    cuts = True
    texts = Texts(
        "rewards from {0.low:g} up, cut at {0.high:g}",
        words="numbers from {0.low:g} up, cut at {0.high:g}",
        best="The best option is the one with the best mean after cutting.",
    )

    @classmethod
    def of(cls, low: Any, cap: Any, most: Any) -> Capped:
        """Checked: the cap lies above the lowest reward, and not above the highest."""
        low, cap = real(low, "noise: the lowest reward"), in_reach(real(cap, "cap"), "cap")
        most = real(most, "noise: the highest", finite=False)
        if not low < cap <= most:
            within = "" if math.isinf(most) else f" and at most the highest, {most:g}"
            raise InvalidInputError(
                f"cap must be above the lowest reward, {low:g}{within}; got {cap:g}"
            )
        in_reach(low, "noise: the lowest reward")
        in_reach(cap - low, "cap: its distance from the lowest reward")
        return cls(low, cap, most)

    def cut(self, rewards: FloatArray) -> FloatArray:
        return np.minimum(rewards, self.high)

    def impossible(self, rewards: FloatArray) -> IntArray:
        return np.flatnonzero(~((rewards >= self.low) & (rewards <= self.most)))

    @property
    def given(self) -> Any:
        return self

    @property
    def written(self) -> Any:
        most = None if math.isinf(self.most) else self.most
        return {"low": self.low, "high": self.high, "most": most}

    @property
    def provided(self) -> Condition:
        return Condition(f"where every reward above {self.high:.12g} counts as {self.high:.12g}")

    @property
    def rule(self) -> str:
        if math.isfinite(self.most):
            return f"rewards of this problem lie between {self.low:g} and {self.most:g}"
        return (
            f"rewards of this problem are at least {self.low:g} (with others, give bounds beside "
            "the cap: noise=(-50, 1e6), --rewards=-50..1e6)"
        )


def capped(noise: Any, cap: Any) -> Any:
    """What noise is with this cap; None: there is none.

    Examples
    --------
    >>> str(capped(None, 200)), str(capped((-50, 1000), 200))
    ('rewards from 0 up, cut at 200', 'rewards from -50 up, cut at 200')
    """
    if cap is None:
        return noise
    if noise is None or (isinstance(noise, str) and noise == AnyNumber.kind):
        return Capped.of(0.0, cap, math.inf)
    if isinstance(noise, tuple) and len(noise) == 2:
        return Capped.of(noise[0], cap, noise[1])
    raise InvalidInputError(
        "cap: it is for numbers that may be large, or lie between bounds; leave out noise "
        f"(--rewards, --noise), or give bounds; got {noise!r:.80}"
    )


@dataclass(frozen=True, eq=False)
class YesNo(WithinBounds):
    """Rewards 0 or 1."""

    kind = word = form = "yes-no"
    choice = "'yes-no'"
    asked = "yes or no"
    values = (0.0, 1.0)
    texts = Texts(
        "yes/no rewards",
        words="yes or no",
        measurement="yes or no, as 1 or 0",
        rule="rewards of this problem are 0 (no) or 1 (yes)",
    )
    low: float = 0.0
    high: float = 1.0

    def apart(self, by: float) -> str:
        points = f"{100 * by:.10g}"
        return f"{points} percentage point{'' if points == '1' else 's'}"

    def impossible(self, rewards: FloatArray) -> IntArray:
        return np.flatnonzero((rewards != 0.0) & (rewards != 1.0))

    def impossible_sums(self, counts: Any, sums: FloatArray) -> IntArray:
        return np.flatnonzero(~((sums >= 0) & (sums <= counts) & (sums == np.floor(sums))))


@dataclass(frozen=True, eq=False)
class BySegment(YesNo):
    """Yes or no, of visitors who are counted segment by segment; the mix of segments is fixed."""

    kind = "segments"
    word = form = None
    choice = "{'segments': {'phone': 0.7, 'desk': 0.3}} (yes or no, counted by segment)"
    asked = ""
    reports_only = True
    texts = replace(
        YesNo.texts,
        words="yes or no, of visitors who are {0.mix}",
        measurement="yes or no, as 1 or 0; the best is that of a mix of {0.mix}",
    )
    names: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()

    @classmethod
    def read(cls, noise: Any, n_arms: int) -> NoiseKind | None:
        meant = isinstance(noise, Mapping) and set(noise) == {"segments"}
        return cls.of(noise["segments"]) if meant else None

    @classmethod
    def read_form(cls, text: str) -> NoiseKind | None:
        return None

    @classmethod
    def of(cls, shares: Any) -> BySegment:
        """Checked: the share of each segment, by its name."""
        if not isinstance(shares, Mapping):
            raise InvalidTypeError(
                "segments must be a dict from the names of segments to their shares, such as "
                f"{{'phone': 0.7, 'desk': 0.3}}; got {shares!r:.80}"
            )
        if not 2 <= len(shares) <= MOST_SEGMENTS:
            raise InvalidInputError(
                f"segments: give two or more, at most {MOST_SEGMENTS}; got {len(shares)}"
            )
        for name in shares:
            if not isinstance(name, str) or not name or name != name.strip() or set(name) & {*",="}:
                raise InvalidInputError(
                    "segments: a name is a text without commas, equals signs and spaces around it; "
                    f"got {name!r:.80}"
                )
        parts = [positive(share, f"segments[{name!r}]") for name, share in shares.items()]
        if abs(math.fsum(parts) - 1.0) > _SHARES_SLACK:
            raise InvalidInputError(
                f"segments: their shares must sum to 1 (100 %); these sum to {math.fsum(parts):.6g}"
            )
        return cls(names=tuple(shares), shares=tuple(parts))

    @classmethod
    def given_as(cls, written: Mapping[str, Any]) -> Any:
        return dict(written) if set(written) == {"segments"} else None

    @property
    def given(self) -> Any:
        return {"segments": dict(zip(self.names, self.shares, strict=True))}

    @property
    def provided(self) -> Condition:
        exact = ", ".join(f"{n!r} {s:.12g}" for n, s in zip(self.names, self.shares, strict=True))
        return Condition(
            f"best on average over segments of visitors in the shares stated beforehand: {exact}",
            meaning=f"Rates are those of a fixed mix of visitors, stated beforehand: {self.mix}.",
        )

    @property
    def mix(self) -> str:
        said = [f"{100 * s:.4g} % {n}" for n, s in zip(self.names, self.shares, strict=True)]
        return f"{', '.join(said[:-1])} and {said[-1]}"


@dataclass(frozen=True, eq=False)
class Preference(WithinBounds):
    """Which of two is better: 1 the first, 0 the second, ½ neither; made by ``Problem.pairs``."""

    kind = "pairs"
    choice = "'pairs' (which of two is better; use Problem.pairs)"
    values: ClassVar[tuple[float, ...]] = (0.0, 0.5, 1.0)
    of_pairs = True
    texts = Texts(
        "comparisons of two",
        words="which of two options is better",
        measurement="which of two options is better, or a tie",
        rule="a comparison gives 1 (the first is better), 0 (the second is) or 0.5 (a tie)",
    )
    low: float = 0.0
    high: float = 1.0

    @classmethod
    def read(cls, noise: Any, n_arms: int) -> NoiseKind | None:
        return cls() if isinstance(noise, str) and noise == cls.kind else None

    @property
    def given(self) -> Any:
        return self.kind

    @property
    def unit(self) -> float:
        return 1.0

    def impossible(self, rewards: FloatArray) -> IntArray:
        return np.flatnonzero(~np.isin(rewards, self.values))

    def impossible_sums(self, counts: Any, sums: FloatArray) -> IntArray:
        return np.flatnonzero(~((sums >= 0) & (sums <= counts) & (2 * sums == np.floor(2 * sums))))

    @property
    def provided(self) -> Condition:
        return Condition(
            "where a tie counts half for each, options being what was shown of them, and provided "
            "that no comparison depends on how the others came out",
            "if no comparison depends on how the others came out (a tie counts half for each)",
            meaning="Options are compared by what was shown of them: where that was one kept "
            "answer each, this is about these answers.",
        )


#: by name, in the order in which people are told of them
KINDS: dict[str, type[NoiseKind]] = {}


def register(kind: type[NoiseKind]) -> type[NoiseKind]:
    """Make a kind of noise known; its name, word and form must be its own.

    What other layers need of it is declared there, under its name: :mod:`surepick.problem.layers`.
    """
    for other in KINDS.values():
        for what in ("kind", "word", "form"):
            name = getattr(kind, what)
            if name is not None and name == getattr(other, what) and other is not kind:
                raise InvalidInputError(f"noise: there is a kind with the {what} {name!r} already")
    KINDS[kind.kind] = kind
    return kind


for _kind in (
    YesNo,
    BySegment,
    Between,
    SymmetricNoise,
    AnyNumber,
    EqualNoise,
    Preference,
    KnownNoise,
):  # numbers come last
    register(_kind)


def kinds() -> list[type[NoiseKind]]:
    """All of them, also those of other packages."""
    plugins.load()
    return list(KINDS.values())


def choices() -> str:
    """What noise can be, for a message."""
    own = [kind.choice for kind in kinds() if kind is not KnownNoise]
    return ", ".join([*own, KnownNoise.choice])


def usual(trusted: bool) -> str:
    """The kind that is taken where nothing was said.

    Features that are trusted speak of means, and nothing can be said about means of numbers of any
    kind. Where they are not trusted, nothing has to be assumed.

    Examples
    --------
    >>> usual(trusted=False), usual(trusted=True)
    ('any', 'symmetric')
    """
    return SymmetricNoise.kind if trusted else AnyNumber.kind


def forms() -> list[str]:
    """How people write what rewards are: ``yes-no``, ``LO..HI``, ``symmetric``, …"""
    return [kind.form for kind in kinds() if kind.form is not None]


def words() -> list[str]:
    """The words that say more about numbers: ``equal``, …"""
    return [kind.word for kind in kinds() if kind.word is not None and kind.form is None]


def noise_kind(noise: Any, n_arms: int) -> NoiseKind:
    """The kind that users mean.

    Examples
    --------
    >>> str(noise_kind((0, 10), 3)), str(noise_kind([1.0, 2.0, 1.0], 3))
    ('rewards between 0 and 10', 'noise 1 to 2')
    """
    if isinstance(noise, NoiseKind):
        return noise
    for known in (KINDS.values, kinds):  # plugins only where nobody here knows it
        for kind in known():
            found = kind.read(noise, n_arms)
            if found is not None:
                return found
    raise InvalidInputError(f"noise must be {choices()}; got {noise!r}")


def as_given(noise: Any) -> Any:
    """As users give it, from what JSON has: bounds are a pair."""
    if not isinstance(noise, Mapping):
        return noise
    for known in (KINDS.values, kinds):
        for kind in known():
            given = kind.given_as(noise)
            if given is not None:
                return given
    raise FormatError(f"noise: bounds are called low and high; got {dict(noise)!r:.80}")


def read_kind(written: Any, n_arms: int) -> NoiseKind:
    """The kind that a file has."""
    if isinstance(written, tuple):
        raise InvalidTypeError(f"saved noise is {written!r:.80}, a tuple")
    return noise_kind(as_given(written), n_arms)


def read_rewards(text: Any) -> Any:
    """What a problem's ``noise`` is for such rewards, as long as nothing else is known of it.

    Examples
    --------
    >>> read_rewards("number"), read_rewards("yes-no"), read_rewards("-1..2.5")
    ('symmetric', 'yes-no', (-1.0, 2.5))
    """
    *first, last = forms()
    known = f"{', '.join(first)} or {last}"
    if not isinstance(text, str):
        raise InvalidTypeError(f"rewards must be {known}; got {text!r:.80}")
    for kind in kinds():
        found = kind.read_form(text.strip())
        if found is not None:
            return found.given
    raise InvalidInputError(
        f"rewards must be {known} (the lowest and the highest, as in 0..10); got {text!r:.80}"
    )


#: the number that options are ranked by
REWARD = "reward"
_NAME = re.compile(r"[^\W\d][\w .-]*")
_WORDS = ("of", "at most", "at least")  # of limits


def as_further(given: Any, n_arms: int) -> dict[str, NoiseKind]:
    """What is known about each further number, by its name; checked."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            "numbers must say what is known of each further number by its name, such as "
            f"{{'latency': (0, 100)}}; got {given!r:.80}"
        )
    found = dict[str, NoiseKind]()
    for name, known in given.items():
        check_name(name)
        try:
            kind = noise_kind("any" if known is None else known, n_arms)
        except (InvalidInputError, InvalidTypeError) as error:
            raise type(error)(f"numbers: {name!r}: {error}") from None
        if kind.of_pairs or kind.scales is not None:
            raise InvalidInputError(
                f"numbers: {name!r} can be 'any', 'yes-no', 'symmetric', 'equal', bounds (lowest, "
                f"highest) or one noise scale; got {known!r:.80}"
            )
        found[name] = kind
    return found


def check_name(name: Any) -> None:
    """Refuse a name that limits could not be written with."""
    fine = isinstance(name, str) and _NAME.fullmatch(name) and name == name.strip()
    if not fine or any(f" {word} " in f" {name} " for word in _WORDS):
        raise InvalidInputError(
            "numbers: the name of a number begins with a letter and has letters, digits, '_', "
            f"'-', '.' and spaces; got {name!r:.80}"
        )
    if name == REWARD:
        raise InvalidInputError(
            f"numbers: {REWARD!r} is the number that options are ranked by, and what is known of "
            "it is the noise of the problem; leave it out here"
        )


def written(numbers: Mapping[str, NoiseKind]) -> dict[str, Any]:
    """As files have it: nothing where there are none."""
    if not numbers:
        return {}
    return {"numbers": {name: kind.written for name, kind in numbers.items()}}


def read_numbers(saved: Mapping[str, Any], n_arms: int) -> dict[str, Any] | None:
    """What a file says, as it was given."""
    held = saved.get("numbers")
    if not held:
        return None
    return {name: read_kind(value, n_arms).given for name, value in held.items()}
