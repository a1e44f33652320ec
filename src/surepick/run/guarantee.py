"""What the answer of a run promises, and on what the promise rests."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from surepick.algorithms.base import Algorithm, State
from surepick.arrays.types import FloatArray, IntArray
from surepick.conditions import CONDITIONS
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind
from surepick.promise import FOR_CERTAIN, Condition, Promise, Reason, Stopped, Words
from surepick.run.assumed import ASSUMED
from surepick.run.changes import stopped_by

_FEWEST = 10  # fewer rewards may be 0 or 1 by chance
#: why a promise is withdrawn
NOT_SYMMETRIC = Reason(
    "all rewards are 0 or 1, and yes or no is not as likely to be above its mean as below by the "
    "same amount (say that rewards are yes or no: noise='yes-no', --rewards yes-no)",
    "all rewards are 0 or 1, but the study was not created for yes-no rewards (--rewards yes-no, "
    "in Python noise='yes-no')",
)
LOOKED = Reason(
    "the share of wrong claims is limited only where it is not stopped by somebody who sees "
    "rewards",
    "it was stopped by somebody who may have seen rewards, so the share of wrong claims may be "
    "larger than requested",
)
REASONS = (NOT_SYMMETRIC, LOOKED)
ALONE = CONDITIONS["alone"].of()


def trusting(misfit: float) -> Condition:
    """A promise that rests on features which may be off by so much."""
    if math.isinf(misfit):
        return Condition("whatever the features are worth")
    if misfit:
        return Condition(f"if the features are right to within {misfit:.12g}")
    return Condition(
        "if rewards are linear in the features",
        "if the effects of features add up (rewards are linear in them)",
    )


def promise_of(
    algorithm: Algorithm,
    problem: Problem,
    state: State,
    batches: list[dict[str, Any]],
    past: bool,
    changed: bool = False,
    by_hand: bool = False,
    turned: bool = False,
    limit: Words | None = None,
    stated: Iterable[Condition] = (),
) -> Promise:
    """The promise of a stopped run."""
    left, claims, kind = len(state.active), state.claims(), problem.noise_kind
    model, rests = rests_of(algorithm, problem, batches, past, changed, turned, stated)
    how = stopped_by("by hand") if by_hand or limit is None else limit
    clicks = ASSUMED.of(kind).symmetric and _yes_and_no(batches)
    if claims is not None:
        promise = replace(algorithm.promise_of_claims(claims.baseline), smaller=problem.minimise)
        if not state.finished:
            promise = replace(promise, stopped=Stopped(how, claims.open))
            if not claims.any:
                return replace(promise, what=None)
    else:
        shown = state.promise()  # whatever else is still looked for
        if state.certain:
            promise = algorithm.promise_for_certain(kind)
        else:
            promise = shown or algorithm.promise(kind, left > len(state.named()))
        several = len(state.named()) > 1
        promise = replace(promise, several=several, smaller=problem.minimise)
        if not state.finished and (shown is None or state.certain):
            early = replace(promise, what=None, needs=(), stopped=Stopped(how, left), why=None)
            # Who was dropped is not the best: that does not depend on when somebody stops.
            sound = promise.proven and not promise.needs and not clicks
            if not by_hand or not sound or left == len(problem.distinct):
                return early
            what = algorithm.asked.among(left, several)
            return replace(early, what=what, theorem="", conditions=(ALONE, *model, *rests))
    if promise.shown:
        certain = promise.what is not None and promise.what.chance == FOR_CERTAIN
        rests = [*(() if certain else (ALONE,)), *model, *rests]
    promise = replace(promise, conditions=tuple(rests))
    if promise.kind == "fdr" and by_hand and not state.finished:
        return promise.withdrawn(LOOKED)
    return promise.withdrawn(NOT_SYMMETRIC) if promise.proven and clicks else promise


def looked_again(changes: Iterable[dict[str, Any]]) -> bool:
    """Whether rewards were looked at again one by one; what was set aside says so itself."""
    return any("aside" not in one for one in changes)


def rests_of(
    algorithm: Algorithm,
    problem: Problem,
    batches: list[dict[str, Any]],
    past: bool,
    changed: bool,
    turned: bool,
    stated: Iterable[Condition],
) -> tuple[list[Condition], list[Condition]]:
    """What a promise rests on: its model, and what happened; as for :func:`promise_of`."""
    kind = problem.noise_kind
    on_items = algorithm.measured_on() is not None
    noise = algorithm.asked.meaning or (kind.provided_on_items if on_items else kind.provided)
    model = [one for one in (None if on_items else stands_on(problem), noise) if one is not None]
    model += algorithm.asked.rests_on(problem)
    model += [] if algorithm.each_once else [CONDITIONS["afresh"].of()]
    # A cell of a table is the same whenever it is measured, as its own condition says.
    ahead = not algorithm.each_once and any("after" in batch for batch in batches)
    happened = (
        (past, CONDITIONS["past"].of()),
        (on_items, algorithm.about_items()),
        (any("stratum" in batch for batch in batches), CONDITIONS["strata"].of()),
        (ahead, CONDITIONS["overlap"].of()),
        (changed, CONDITIONS["changed"].of()),
        (turned, CONDITIONS["came-and-went"].of()),
    )
    return model, [*(condition for so, condition in happened if so), *stated]


def promise_ahead(
    algorithm: Algorithm,
    state: State,
    rests: tuple[list[Condition], list[Condition]],
    kind: NoiseKind,
) -> Promise:
    """The promise of a run that goes on, by what happened so far."""
    claims = state.claims()
    promise = (
        algorithm.promise(kind, epsilon_used=algorithm.epsilon > 0)
        if claims is None
        else algorithm.promise_of_claims(claims.baseline)
    )
    if not promise.shown:
        return promise
    model, happened = rests
    return replace(promise, conditions=(ALONE, *model, *happened))


def stands_on(problem: Problem) -> Condition | None:
    """How far a promise rests on the features of options; None where there is nothing to say."""
    if problem.noise_kind.of_pairs:
        return None  # features guide, and prove nothing
    if problem.misfit:
        return trusting(problem.misfit)
    if problem.rank == problem.n_arms and not problem.transductive:
        return None  # every option has a feature of its own: nothing can be wrong with it
    return trusting(0.0)


def _yes_and_no(batches: Iterable[dict[str, Any]]) -> bool:
    columns = [[b["counts"], b["sums"], b["spreads"]] for b in batches if "spreads" in b]
    return bool(columns) and only_yes_and_no(*(np.concatenate(part) for part in zip(*columns)))


def only_yes_and_no(counts: IntArray, sums: FloatArray, spreads: FloatArray) -> bool:
    """Whether rewards, summed up by rows, are all 0 or 1 and not the same every time.

    Their sums are whole then, and equal to their sums of squares.
    """
    if counts.sum() < _FEWEST or not spreads.any():
        return False
    squares = spreads + sums**2 / np.maximum(counts, 1)
    whole = (sums == np.floor(sums)).all()
    return bool(whole and (np.abs(squares - sums) <= 1e-9 * (1 + counts)).all())
