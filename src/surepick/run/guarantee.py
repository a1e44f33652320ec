"""What the answer of a run promises, and on what the promise rests."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from surepick.algorithms.base import Algorithm, Guarantee, State, confidence
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.run.assumed import ASSUMED
from surepick.run.past import PROVIDED
from surepick.run.pending import OVERLAP_PROVIDED
from surepick.run.strata import STRATA_PROVIDED

_FEWEST = 10  # fewer rewards may be 0 or 1 by chance
NOT_SYMMETRIC = (
    "all rewards are 0 or 1, and yes or no is not as likely to be above its mean as below by the "
    "same amount (say that rewards are yes or no: noise='yes-no', --rewards yes-no)"
)


CHANGED = (
    "provided that which rewards were looked at again, and then corrected or withdrawn, depended "
    "neither on the rewards nor on whom one favours"
)

#: the condition of a guarantee where the first of two rewards of a pull counts
HEDGE_PROVIDED = (
    "provided that how long a measurement takes does not depend on its reward, as some pulls were "
    "handed out twice"
)

#: the condition of a guarantee where measurements were made again for want of a reward
LOST_PROVIDED = (
    "provided that whether a measurement fails or comes too late does not depend on its reward, as "
    "some were made again"
)

#: the condition of a guarantee where readings were measured again by a rule
AGAIN_PROVIDED = (
    "provided that a measurement which went well is hardly ever measured again, as some were that "
    "came out far from all before, by a rule fixed at the start, and the second counts"
)

#: what an answer is about where options came and went
TURNED = "among all options that were ever added and not retired"

#: which way is better, where it is not the usual one
SMALLER = "where smaller is better"

LOOKED = (
    "the share of wrong claims is limited only where it is not stopped by somebody who sees rewards"
)


def guarantee_of(
    algorithm: Algorithm,
    problem: Problem,
    state: State,
    batches: list[dict[str, Any]],
    past: bool,
    changed: bool = False,
    by_hand: bool = False,
    turned: bool = False,
    limit: str = "",
    hedged: bool = False,
    lost: bool = False,
    again: bool = False,
) -> Guarantee:
    """The promise of a stopped run.

    Parameters
    ----------
    batches
        All that was measured, before the run too.
    past
        Whether measurements from before the run are evidence.
    changed
        Whether rewards were corrected or withdrawn.
    by_hand
        Whether somebody stopped it.
    turned
        Whether options were added or retired.
    limit
        What stopped it, if neither the question was answered nor somebody did.
    hedged
        Whether pulls were handed out twice.
    lost
        Whether measurements failed or came too late, and were made again.
    again
        Whether readings far from all before were measured again, by the rule of the study.
    """
    left, kind, items = len(state.active), problem.noise_kind, algorithm.measured_on()
    why = "by hand" if by_hand else limit
    aside = " (smaller is better)" if problem.minimise else ""
    claims = state.claims()
    comparing = claims is not None and len(problem.distinct) > 1
    over = state.finished
    if claims is not None and comparing:
        promised = algorithm.guarantee_of_claims(claims.baseline)
        parts = [str(promised)]
        if not state.finished:
            options = f"{claims.open} option{'s' if claims.open > 1 else ''}"
            parts.append(f"stopped {why} with {options} undecided")
            if not (len(claims.better) or len(claims.worse) or len(claims.close)):
                return Guarantee("none", f"no guarantee: {parts[1]}; nothing is claimed{aside}")
    elif state.certain:
        promised = algorithm.guarantee_for_certain()
        parts = [str(promised)]
    else:
        shown = state.promise()  # whatever else is still looked for
        promised = algorithm.guarantee(left > len(state.named())) if shown is None else shown
        over |= shown is not None
        parts = [str(promised)]
    if not over and not comparing:
        several = len(state.named()) > 1
        looks = "those that look best" if several else "the one that looks best"
        early = (
            f"no guarantee: stopped {why} with {left} "
            f"candidate{'s' if left > 1 else ''} left; the answer is {looks}{aside}"
        )
        clicks = ASSUMED.of(kind).symmetric and _yes_and_no(batches)
        # An answer may rest on conditions of its own, beside the theorem.
        plain = bool(promised) and f"({algorithm.theorem}" in promised and promised[-1] == ")"
        if not by_hand or not plain or clicks or left == len(problem.distinct):
            return Guarantee("none", early)
        sure = confidence(algorithm.delta)
        best = f"{algorithm.asked.best} {'are' if several else 'is'}"
        parts = [f"{early}, and {best} among those {left} with probability at least {sure}"]
    elif problem.minimise:
        parts.append(SMALLER)
    if promised.shown:
        features = "" if items is not None else stands_on(problem)
        noise = kind.provided if items is None else kind.provided_on_items
        noise = algorithm.asked.meaning or noise
        parts += [text for text in (features, noise) if text]
    if past:
        parts.append(PROVIDED)
    if items is not None:
        parts.append(algorithm.about_items())
    if any("stratum" in batch for batch in batches):
        parts.append(STRATA_PROVIDED)
    if any("after" in batch for batch in batches):
        parts.append(OVERLAP_PROVIDED)
    if hedged:
        parts.append(HEDGE_PROVIDED)
    if lost:
        parts.append(LOST_PROVIDED)
    if again:
        parts.append(AGAIN_PROVIDED)
    if changed:
        parts.append(CHANGED)
    if turned:
        parts.append(TURNED)
    text = "; ".join(parts)
    if not over and not comparing:
        return Guarantee("none", text)
    if promised.kind == "fdr" and by_hand and not state.finished:
        return Guarantee("heuristic", f"no guarantee: {LOOKED}; otherwise it would be {text}")
    if promised and ASSUMED.of(kind).symmetric and _yes_and_no(batches):
        text = f"no guarantee: {NOT_SYMMETRIC}; otherwise it would be {text}"
        return Guarantee("heuristic", text)
    return Guarantee(promised.kind, text)


def stands_on(problem: Problem) -> str:
    """How far a promise rests on the features of options; empty where there is nothing to say."""
    if problem.noise_kind.of_pairs:
        return ""  # features guide, and prove nothing
    if math.isinf(problem.misfit):
        return "whatever the features are worth"
    if problem.misfit:
        return f"if the features are right to within {problem.misfit:.12g}"
    if problem.rank == problem.n_arms and not problem.transductive:
        return ""  # every option has a feature of its own: nothing can be wrong with it
    return "if rewards are linear in the features"


def _yes_and_no(batches: Iterable[dict[str, Any]]) -> bool:
    columns = [[b["counts"], b["sums"], b["spreads"]] for b in batches if "spreads" in b]
    return bool(columns) and only_yes_and_no(*(np.concatenate(part) for part in zip(*columns)))


def only_yes_and_no(counts: IntArray, sums: FloatArray, spreads: FloatArray) -> bool:
    """Whether rewards, summed up by rows, are all 0 or 1 and not the same every time.

    Their sums are whole then, and equal to their sums of squares.

    Examples
    --------
    >>> only_yes_and_no(np.array([10, 10]), np.array([3.0, 0.0]), np.array([2.1, 0.0]))
    True
    >>> only_yes_and_no(np.array([10, 10]), np.array([3.0, 5.0]), np.array([2.1, 4.0]))
    False
    """
    if counts.sum() < _FEWEST or not spreads.any():
        return False
    squares = spreads + sums**2 / np.maximum(counts, 1)
    whole = (sums == np.floor(sums)).all()
    return bool(whole and (np.abs(squares - sums) <= 1e-9 * (1 + counts)).all())


def looks_best(promise: Guarantee) -> Guarantee:
    """What is left to say of a run that was stopped by hand where no promise can be made at all."""
    return Guarantee(promise.kind, str(promise).partition(", and the ")[0])
