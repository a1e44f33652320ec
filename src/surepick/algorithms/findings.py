"""What an algorithm says about its candidates, and what it promises."""

from __future__ import annotations

from typing import Any, NamedTuple

from surepick.arrays.types import FloatArray, IntArray
from surepick.promise import PROVEN, SHOWN, Promise, as_said


class Guarantee(str):
    """What an answer promises, as a sentence; ``kind`` is for programs, ``promise`` has its parts.

    Kinds: ``"pac"`` (the best candidate, or the m best, with probability at least 1 - delta),
    ``"eps-pac"`` (within epsilon of the best, or of the m-th best), ``"claims"`` (all claims
    against a baseline are right with that probability), ``"fdr"`` (of these, a share of at most
    delta is wrong on average), ``"nobody"`` (no option beats all others, with that probability;
    so it is not true of the one that is named), ``"if-any"`` (if any option beats all others, it
    is the one that is named, with that probability), ``"heuristic"`` (a threshold without a
    theorem), ``"none"`` (stopped early). It is true (``bool``) only where a theorem says without
    an "if" what it says of the one that is named.

    Examples
    --------
    >>> promise = Guarantee("pac", "the best with probability at least 0.95")
    >>> bool(promise), promise.kind
    (True, 'pac')
    """

    kind: str
    promise: Promise
    conditions: list[dict[str, Any]]  #: on what it rests, for programs

    def __new__(
        cls,
        kind: str,
        sentence: str,
        promise: Promise | None = None,
        conditions: list[dict[str, Any]] | None = None,
    ) -> Guarantee:
        """A guarantee of this kind, in these words; without parts they say it all."""
        made = super().__new__(cls, sentence)
        made.kind = kind
        made.promise = promise or Promise(0.0, as_said(kind, sentence))
        made.conditions = conditions or made.promise.conditions_listed()
        return made

    @classmethod
    def of(cls, promise: Promise) -> Guarantee:
        """What a promise comes to."""
        return cls(promise.kind, promise.exact, promise)

    def __reduce__(self) -> tuple[Any, ...]:  # for copies, and answers sent between processes
        return type(self), (self.kind, str(self), self.promise, self.conditions)

    def __bool__(self) -> bool:
        return self.kind in PROVEN

    @property
    def shown(self) -> bool:
        """Whether there is a theorem behind it, be it that no option is the answer, or if any."""
        return self.kind in SHOWN


class Claims(NamedTuple):
    """What is said about candidates compared with a baseline; candidates by their number."""

    baseline: str  #: in words: the option's label in quotes, or the number
    better: IntArray
    worse: IntArray
    close: IntArray  #: within epsilon of the baseline
    undecided: IntArray  #: neither better nor worse, those that are close among them
    lift: FloatArray  #: estimated lead of every candidate over the baseline, (M,)
    #: it lies between these at all times, each pair with probability 1 - delta, whatever is claimed
    low: FloatArray
    high: FloatArray
    open: int  #: different candidates about which nothing is claimed
    #: with limits: not better, or shown to break one (nobody is called worse then); None: no limits
    ruled_out: IntArray | None = None

    @property
    def any(self) -> bool:
        """Whether anything is claimed."""
        out = () if self.ruled_out is None else self.ruled_out
        return any(map(len, (self.better, self.worse, self.close, out)))


class Known(NamedTuple):
    """What is known about each candidate now, in units of the reward; arrays (M,)."""

    estimates: FloatArray
    behind: FloatArray  #: how far each seems to be behind the one that would be named now
    error: FloatArray  #: standard error of that
    low: FloatArray  #: it lies between these at all times, each with probability 1 - delta
    high: FloatArray
    p_value: FloatArray | None  #: of "this one is the best", at any time; None: not known


class Kept(NamedTuple):
    """How options stand to one limit, in the units of the number it is on; (M,) each."""

    limit: str
    #: means of what was measured (over the other option's, where the limit is a margin to one); of
    #: a quantile, the share of measurements on the right side of it
    estimates: FloatArray
    low: FloatArray  #: the mean lies between these at all times
    high: FloatArray
    #: "keeps", "breaks" or "not clear yet"; of each option, this and the ends are ever wrong with
    #: probability delta at most
    verdicts: list[str]
    mark: float  #: what the mean is compared with
    above: bool  #: whether the limit is kept above that
    about: str  #: what the mean is of
