"""Is a new variant of something that varies worse than the old one?

"Not worse by more than epsilon" is the question which of two is better: the new variant, or the old
one made worse by epsilon. It is one run with two options, so that one error probability covers both
ways in which its answer could be wrong. Of numbers of any kind the better one is the one that
usually wins: the new variant is not worse if it wins more than half of the direct comparisons with
such an old one.

With items, such as test questions, it is the same question about their means over these items: each
variant is called at most once with each.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from surepick.algorithms.registry import DEFAULT, get
from surepick.arrays.validate import real, whole
from surepick.calls.kept import AUTO, Kept, called, place
from surepick.calls.many import AT_ONCE, Calls, Failed
from surepick.calls.pace import Pace
from surepick.calls.rule import NoScore
from surepick.calls.versions import digest_of
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.finding import LOSES, WORSE, Claim, told
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind, noise_kind, read_kind
from surepick.run import Answer, Run
from surepick.run.assumed import ASSUMED
from surepick.run.details import unmeasured_in_words
from surepick.run.measuring import Enough, Measuring
from surepick.run.order import seed_after, seed_of
from surepick.text import plural

Verdict = Literal["not worse", "worse", "undecided"]
_NEW, _OLD = 0, 1
_NAMES = ("new", "old")
_FEWEST = 10  # fewer scores may be 0 or 1 by chance


@dataclass(frozen=True)
class Comparison:
    """What became of it."""

    verdict: Verdict
    epsilon: float
    calls: int  #: of both variants together
    new: float  #: mean score of the new variant
    old: float  #: and of the old one
    answer: Answer  #: for "the new one, or the old one and epsilon?", with its certificate
    #: share of its direct comparisons with the old one made worse by epsilon that the new one won,
    #: where these decide; None where means do
    won: float | None
    error: str = ""  #: what ended it, where a variant failed for good
    again: int = 0  #: calls that failed, and worked when they were made again
    earlier: int = 0  #: of these calls, those that were made before it went on

    def __str__(self) -> str:
        """The verdict in a few sentences, and on what it rests."""
        seen = f"mean scores {self.new:.4g} and {self.old:.4g}, {self.calls:,} calls"
        if self.won is not None:
            seen = f"it won {100 * self.won:.0f} % of direct comparisons, {self.calls:,} calls"
        claim = Claim(
            "the new variant",
            WORSE if self.won is None else LOSES,
            {"worse": True, "not worse": False}.get(self.verdict),
            than="the old one",
            by=f"{self.epsilon:g}",
            seen=seen,
        )
        p_value, promise = self.answer.p_value, self.answer.guarantee.promise
        near = "" if p_value is None else f"p-value {p_value:.2g}, needed {self.answer.delta:g}. "
        go_on = f"{near}More calls (max_calls) or a larger epsilon would decide it."
        more = [
            *(
                [f"{plural(self.again, 'call')} failed and had to be made again."]
                * bool(self.again)
            ),
            *([f"Of the calls, {self.earlier:,} were made in earlier runs."] * bool(self.earlier)),
        ]
        found = told(
            [claim],
            promise,
            such="tests like this one",
            go_on="" if self.error else go_on,
        )
        said = [
            self.error and f"{self.error}.",
            found,
            *more,
            unmeasured_in_words(self.answer.unmeasured),
        ]
        return " ".join(filter(None, said))


def compare(
    new: Callable[..., Any],
    old: Callable[..., Any],
    *,
    epsilon: float,
    max_calls: int | None = None,
    items: Sequence[Any] | None = None,
    delta: float = 0.05,
    noise: Any = None,
    warm_up: int | None = None,
    seed: Any = None,
    minimise: bool = False,
    workers: int | None = None,
    per_minute: float | None = None,
    timeout: float | None = None,
    retries: int = 2,
    cache: str | os.PathLike[str] | None = AUTO,
) -> Comparison:
    """Call two variants until it is known whether the new one is worse by more than epsilon.

    They are called in random order, after a first call of each that does not count: what is slow
    only once, such as loading a file or filling a cache, would be held against whoever came first.

    Parameters
    ----------
    new, old
        Called without arguments, each returns a score. Whatever varies must be drawn anew at
        every call. May be coroutine functions.
    epsilon
        What the new variant may be worse by, in units of the score: above 0, as equals could
        never be told apart.
    max_calls
        The most calls of both together, beside those that warm them up. With items it may be left
        out: it ends when all were met.
    items
        Test questions, say: both variants are called with the same ones, ``new(item)``, in random
        order, each once at most (but for a few that show whether anything works, where the first
        ones fail). The verdict is about the means over these items. Scores must have bounds
        (``noise``).
    delta
        The share of such tests that come to a wrong verdict, at most.
    noise
        What is known about scores, as for :class:`surepick.Problem`: ``"yes-no"`` for pass or fail,
        a pair of bounds, ``"symmetric"``: then their means are compared. ``"any"``: nothing, and
        the variant is better that usually wins. By default True and False are pass or fail, and of
        numbers nothing is known; where all of them are 0 or 1, say which is meant.
    warm_up
        Calls of each beforehand, whose scores are thrown away; by default one, with items none.
    seed
        Of the order of calls, which is drawn afresh by default; the certificate has it. With items
        the same seed comes to another order where a variant has other code.
    minimise
        Whether smaller scores are better: times, costs, errors.
    workers, per_minute
        Calls at a time (by default one, or 64 coroutines), and the most that begin in a minute.
    timeout
        Seconds after which a coroutine is cancelled, and has failed.
    retries
        How often a call is tried again that failed in a way that may pass. Where a variant fails
        for good, ``error`` says how, and the verdict is "undecided"; with items that one counts as
        the worst score, unless nothing else works.
    cache
        The file in which scores are kept as they come: by default one in the folder ``.surepick``
        beside the script (in a notebook: in the current folder); None: nothing is kept. A
        comparison that was cut off, or did not find the new variant not worse, goes on there with
        up to ``max_calls`` more, as long as functions and settings are the same. Who begins anew
        instead until the verdict is the right one draws lots.

    Examples
    --------
    >>> import random
    >>> draw = random.Random(0)
    >>> found = compare(draw.random, draw.random, epsilon=0.3, max_calls=1000, noise=(0, 1))
    >>> found.verdict
    'not worse'
    """
    epsilon = real(epsilon, "epsilon")
    if max_calls is None and items is None:
        raise InvalidInputError("max_calls: say how many calls there may be")
    most = None if max_calls is None else whole(max_calls, "max_calls", least=4)
    warm_up = whole(int(items is None) if warm_up is None else warm_up, "warm_up", least=0)
    if epsilon <= 0:
        raise InvalidInputError(
            "epsilon must be above 0, because equal variants can never be told apart; got "
            f"{epsilon:g}"
        )
    variants = (new, old)
    for name, variant in zip(_NAMES, variants):
        if not callable(variant):
            raise InvalidTypeError(f"{name} must be a function; got {variant!r:.80}")
    noise_kind(noise, len(variants))  # refused at once where there is no such kind
    given = None if items is None else list(items)
    if given is not None and (not given or noise_kind(noise, len(variants)).bounds is None):
        raise InvalidInputError(
            "items: give at least one, and say between which numbers scores lie: noise='yes-no' "
            "for pass or fail, or noise=(lowest, highest)"
        )
    labels = ["new", f"old {'plus' if minimise else 'less'} epsilon"]

    def call(which: str, *item: int) -> Any:
        return variants[_NAMES.index(which)](*(given[i] for i in item if given is not None))

    if workers is None and not any(map(inspect.iscoroutinefunction, variants)):
        workers = 1
    asked = [epsilon, delta, str(noise), minimise, seed if isinstance(seed, int) else None]
    kept = Kept(
        place(cache, f"compare-{called(new, old)}"),
        "compare",
        functions=dict(zip(_NAMES, variants)),
        columns=("variant", "item"),
        labels=_NAMES,
        asked=[asked, None if given is None else digest_of(given)],
        fixed=False,
        auto=cache == AUTO,
    )
    found = _Scores(noise, epsilon if minimise else -epsilon, kept.begun)
    earlier = len(kept.known)
    calls = Calls(
        call,
        timeout=timeout,
        retries=retries,
        pace=Pace(per_minute),
        read=found.read,
        kept=kept,
        workers=workers or AT_ONCE,
    )

    def warm() -> None:
        """Calls of each that do not count, before the first one that has to be made."""
        some = () if given is None else (0,)
        found.warmed(calls.alone([(name, *some) for name in _NAMES] * warm_up))

    with kept, calls:
        resumed, begun = kept.begun is not None, kept.begun
        if begun is None:
            warm()
            drawn = seed_of(seed) if given is None else seed_after(seed, kept.said)
            begun = {"seed": drawn, "kind": found.kind.written, "said": noise is not None}
            kept.begin(begun)
            kept.limit(most)
        else:
            kept.begin(begun)
        problem = Problem.unstructured(labels, noise=found.noise, minimise=minimise)
        settings: dict[str, Any] = {} if given is None else {"complete": len(given)}
        algorithm = get(DEFAULT, delta=delta, max_samples=kept.limits[0], **settings)
        run, limits = algorithm.start(problem, begun["seed"]), kept.limits[1:]

        def measured(arms: Any, items: Any) -> list[float]:
            nonlocal resumed
            columns = [arms] if items is None else [arms, items]
            rows = [(_NAMES[which], *map(int, item)) for which, *item in zip(*columns)]
            if resumed and not kept.knows(rows):
                resumed = False
                warm()
            try:
                if not found.error:
                    every = () if given is None else range(len(given))
                    return found.of(arms, measuring.scores(rows, arms, items, every))
            except BaseException as error:
                if calls.gave_up is None or calls.gave_up.error is not error:
                    found.error = f"{type(error).__name__}: it was interrupted"
                    raise
                found.failed(calls.gave_up, calls.gave_up.key[0])
            raise Enough

        def said(answer: Answer) -> Comparison:
            verdict: Verdict = "undecided"
            if answer.guarantee:
                verdict = "not worse" if _NEW in answer.arms else "worse"
                found.check_kind(fewest=1)
            seen = (found.made, *found.means(), answer, _won(answer), found.error)
            return Comparison(verdict, epsilon, *seen, calls.again + kept.again, earlier)

        with Measuring(run, said, calls, kept) as measuring:
            if measuring.worst is not None:  # of a variant, and not of one made worse
                measuring.worst = found.worst(minimise)
            while not found.error:
                measuring.go(measured)
                if not (run.stopped and _goes_on(run, limits, most, calls, kept)):
                    break
            return measuring.end(over=lambda found: found.verdict == "not worse")


def _goes_on(run: Run, limits: list[Any], most: int | None, calls: Calls, kept: Kept) -> bool:
    """Whether there may be more calls: as there were before, or as this call allows."""
    if run.state.finished or most is None:
        return False
    if limits:
        more = limits.pop(0)
    else:
        more = most - calls.made
        if more < 2 or not kept.resumed:
            return False
        kept.limit(more)
    run.limit(max_samples=run.samples + more, reason="compared again")
    return not run.stopped


def _won(answer: Answer) -> float | None:
    """The share of direct comparisons that the new variant won; None where means decide."""
    if not answer.wins:
        return None
    (share,) = answer.wins.values()
    return share if answer.arm == _NEW else 1.0 - share


class _Scores:
    def __init__(self, noise: Any, shift: float, begun: Mapping[str, Any] | None) -> None:
        self.scores: tuple[list[float], list[float]] = ([], [])
        self.error = ""
        self.noise: Any = None  # of scores, where those of the old variant are worse by epsilon
        self.kind, self._said, self._shift = noise_kind("any", 2), noise is not None, shift
        self._given = noise
        if begun is not None:
            self._is_of(read_kind(begun["kind"], 2))

    @property
    def made(self) -> int:
        return sum(map(len, self.scores))

    def warmed(self, scores: list[Any]) -> None:
        """Scores that do not count; they say what is known where nobody says it."""
        for number, one in enumerate(scores):
            if isinstance(one, Failed) and not self.error:
                self.failed(one, _NAMES[number % 2])
        if self.noise is None:
            usual = "yes-no" if scores and all(map(_is_bool, scores)) else "any"
            self._is_of(noise_kind(self._given if self._said else usual, 2))

    def _is_of(self, kind: NoiseKind) -> None:
        self.kind, self.noise = kind, kind.given
        if kind.bounds is not None:
            low, high = kind.bounds
            self.noise = (min(low, low + self._shift), max(high, high + self._shift))

    def worst(self, minimise: bool) -> float:
        assert self.kind.bounds is not None
        return float(self.kind.bounds[minimise])

    def read(self, score: Any) -> Any:
        """What a call gave, if it is a score."""
        found = self.kind.score(score)
        return bool(score) if _is_bool(score) else found

    def of(self, arms: Any, scores: list[Any]) -> list[float]:
        """The rewards of these scores, where the old variant is worse by epsilon."""
        rewards = []
        for which, score in zip(arms.tolist(), map(float, scores)):
            self.scores[which].append(score)
            rewards.append(score + self._shift if which == _OLD else score)
        self.check_kind(fewest=_FEWEST)
        return rewards

    def failed(self, one: Failed, name: str) -> None:
        if isinstance(one.error, NoScore) and not self.made:  # it is no score at all
            raise InvalidInputError(f"{name} {str(one.error).removeprefix('it ')}: see noise=")
        self.error = f"{name} failed: {one}" + (one.fault.cure and f"; {one.fault.cure}")

    def means(self) -> tuple[float, float]:
        """The mean scores of both; not a number where there are none."""
        new, old = (sum(x) / len(x) if x else math.nan for x in self.scores)
        return new, old

    def check_kind(self, fewest: int) -> None:
        """Raise where so many scores are of a kind that nobody named."""
        seen = [*self.scores[_NEW], *self.scores[_OLD]]
        if len(seen) < fewest or not set(seen) <= {0.0, 1.0}:
            return
        if ASSUMED.of(self.kind).symmetric and len(set(seen)) == 2:
            raise InvalidInputError(
                "noise: all scores are 0 or 1, and such scores are not symmetric around their "
                "mean; set noise='yes-no'"
            )
        if not self._said and self.kind.values is None:
            raise InvalidInputError(
                "noise: all scores are 0 or 1. If each says no or yes, set noise='yes-no': then "
                "shares are compared. If they are numbers, of which others may come, set "
                "noise='any': then the variant is better that usually wins"
            )


def _is_bool(score: Any) -> bool:
    return isinstance(score, bool | np.bool_)
