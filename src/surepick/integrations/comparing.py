"""Is a new variant of something that varies worse than the old one?

"Not worse by more than epsilon" is the question which of two is better: the new variant, or the old
one made worse by epsilon. It is one run with two options, so that one error probability covers both
ways in which its answer could be wrong. Of numbers of any kind the better one is the one that
usually wins: the new variant is not worse if it wins more than half of the direct comparisons with
such an old one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from surepick.arrays.validate import real, whole
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.problem.noise import noise_kind
from surepick.run import Answer, identify
from surepick.run.assumed import ASSUMED
from surepick.run.words import out_of

Verdict = Literal["not worse", "worse", "undecided"]
_NEW, _OLD = 0, 1
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

    def __str__(self) -> str:
        """The verdict in a sentence or two."""
        seen = f"mean scores {self.new:.4g} and {self.old:.4g}, {self.calls:,} calls"
        by = f"by more than {self.epsilon:g}"
        if self.verdict == "undecided":
            p_value = self.answer.p_value
            near = (
                "" if p_value is None else f" p-value {p_value:.2g}, needed {self.answer.delta:g}."
            )
            return (
                f"It is not decided whether the new variant is worse {by} ({seen}).{near} More "
                f"calls (max_calls) or a larger epsilon would decide it."
            )
        worse = "worse" if self.verdict == "worse" else "not worse"
        few, many = out_of(self.answer.delta)
        return (
            f"The new variant is {worse} {by} ({seen}). Of {many:,} tests like this one, at most "
            f"{few:,} {'is' if few == 1 else 'are'} wrong."
        )


def compare(
    new: Callable[[], float],
    old: Callable[[], float],
    *,
    epsilon: float,
    max_calls: int,
    delta: float = 0.05,
    noise: Any = "any",
    warm_up: int = 1,
    seed: Any = None,
    minimise: bool = False,
) -> Comparison:
    """Call two variants until it is known whether the new one is worse by more than epsilon.

    They are called in random order, after a first call of each that does not count: what is slow
    only once, such as loading a file or filling a cache, would be held against whoever came first.

    Parameters
    ----------
    new, old
        Called without arguments, each returns a score. Whatever varies must be drawn anew at
        every call.
    epsilon
        What the new variant may be worse by, in units of the score: above 0, as equals could
        never be told apart.
    max_calls
        The most calls of both together, beside those that warm them up.
    delta
        The share of such tests that come to a wrong verdict, at most.
    noise
        What is known about scores, as for :class:`surepick.Problem`: ``"yes-no"`` for pass or fail,
        a pair of bounds, ``"symmetric"``: then their means are compared. By default nothing, and
        the variant is better that usually wins.
    warm_up
        Calls of each beforehand, whose scores are thrown away.
    seed
        Of the order of calls, which is drawn afresh by default; the certificate has it.
    minimise
        Whether smaller scores are better: times, costs, errors.

    Examples
    --------
    >>> import random
    >>> draw = random.Random(0)
    >>> found = compare(draw.random, draw.random, epsilon=0.3, max_calls=1000, noise=(0, 1))
    >>> found.verdict
    'not worse'
    """
    epsilon, most = real(epsilon, "epsilon"), whole(max_calls, "max_calls", least=4)
    warm_up = whole(warm_up, "warm_up", least=0)
    if epsilon <= 0:
        raise InvalidInputError(
            "epsilon must be above 0, because equal variants can never be told apart; got "
            f"{epsilon:g}"
        )
    variants = (new, old)
    for name, variant in zip(("new", "old"), variants):
        if not callable(variant):
            raise InvalidTypeError(f"{name} must be a function; got {variant!r:.80}")
    scores: tuple[list[float], list[float]] = ([], [])
    kind = noise_kind(noise, len(variants))
    shift = epsilon if minimise else -epsilon
    if kind.bounds is not None:
        low, high = kind.bounds
        noise = (min(low, low + shift), max(high, high + shift))
    labels = ["new", f"old {'plus' if minimise else 'less'} epsilon"]
    problem = Problem.unstructured(labels, noise=noise, minimise=minimise)

    def measure(which: int) -> float:
        score = float(variants[which]())
        if len(kind.impossible(np.array([score]))):
            raise InvalidInputError(
                f"{('new', 'old')[which]} returned {score:g}, but {kind.rule}: see noise="
            )
        scores[which].append(score)
        return score + shift if which == _OLD else score

    for variant in variants * warm_up:
        variant()
    answer = identify(problem, measure, delta, max_samples=most, seed=seed)
    seen = [*scores[_NEW], *scores[_OLD]]
    if ASSUMED.of(kind).symmetric and len(seen) >= _FEWEST and set(seen) == {0.0, 1.0}:
        raise InvalidInputError(
            "noise: all scores are 0 or 1, and such scores are not symmetric around their mean; "
            "set noise='yes-no'"
        )
    verdict: Verdict = "undecided"
    if answer.guarantee:
        verdict = "not worse" if answer.arm == _NEW else "worse"
    means = [sum(values) / len(values) for values in scores]
    return Comparison(verdict, epsilon, answer.samples, means[_NEW], means[_OLD], answer)
