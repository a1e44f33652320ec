"""The answer of a run that has stopped, with the record that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.base import Algorithm, State
from surepick.algorithms.findings import Guarantee
from surepick.arrays.types import IntArray
from surepick.conditions import stated, written
from surepick.problem import Problem
from surepick.promise import Condition
from surepick.run.answer import Answer, Kept, compared, several
from surepick.run.comparisons import circle, shares_won
from surepick.run.guarantee import looked_again, promise_of
from surepick.run.limits import why_stopped
from surepick.run.on_items import on_items
from surepick.run.quantiles import quantiles_of
from surepick.run.shown import claims_now


class Course(NamedTuple):
    """What happened in a run."""

    pulls: IntArray  #: of each arm
    batches: int
    log: list[dict[str, Any]]  #: batch by batch, where the algorithm keeps them
    whole: list[dict[str, Any]]  #: else all of it as one
    past: dict[str, Any] | None
    changes: Sequence[dict[str, Any]]  #: rewards that were corrected or withdrawn
    ended: bool  #: by hand
    turns: list[dict[str, Any]]  #: options that came and went
    retired: tuple[int, ...]
    limits: list[dict[str, Any]]  #: changes of what may be measured
    accepted: Sequence[dict[str, Any]] = ()  #: what was named close enough on the way
    order: int | None = None  #: seed of the order in which pulls were handed out
    stated: tuple[Condition, ...] = ()  #: what else it rests on, as those know who measured


def answer_of(algorithm: Algorithm, problem: Problem, state: State, course: Course) -> Answer:
    """What a run comes to."""
    leader, same, past = state.leader(), problem.same_as, course.past
    gone = np.isin(np.arange(len(same)), course.retired)
    left = np.isin(same, state.active) & ~gone
    before, claims = past["batches"] if past else [], claims_now(problem, state)
    return Answer(
        arm=leader,
        label=problem.candidate_labels[leader],
        samples=int(course.pulls.sum()),
        pulls=course.pulls.copy(),
        guarantee=Guarantee.of(
            promise_of(
                *(algorithm, problem, state, before + course.log),
                *(bool(past and past["evidence"]), looked_again(course.changes), course.ended),
                turned=bool(course.turns),
                limit=why_stopped(problem, course.pulls, algorithm, course.limits),
                stated=course.stated,
            )
        ),
        survivors=tuple(int(i) for i in np.flatnonzero(left)),
        equivalent=tuple(
            int(i) for i in np.flatnonzero((same == same[leader]) & ~gone) if i != leader
        ),
        batches=course.batches,
        algorithm=algorithm.registered_name(),
        delta=algorithm.delta,
        epsilon=algorithm.epsilon,
        p_value=state.p_value(),
        minimise=problem.minimise,
        **several(problem, state.named(), course.pulls),
        **compared(problem, claims),
        on_items=on_items(problem, state, splits=stated("splits") in course.stated),
        limits=Kept.all_of(problem, state),
        **_won(problem, state, algorithm, before + course.log, leader),
        **_quantiles(problem, algorithm, before + course.log),
        _record={
            "problem": problem,
            "settings": algorithm.settings(),
            "batches": course.whole or list(course.log),
            "evidence": state.evidence(),
            "claims": claims,
            "past": past,
            "changes": list(course.changes),
            "by_hand": course.ended,
            "options": list(course.turns),
            "accepted": list(course.accepted),
            "limits": course.limits,
            "conditions": written(course.stated),
            "order": course.order,
        },
    )


def _won(
    problem: Problem, state: State, algorithm: Algorithm, batches: list[dict[str, Any]], leader: int
) -> dict[str, Any]:
    """How the answer did in direct comparisons, where these decide."""
    compared = None if len(state.named()) > 1 else state.won()
    if compared is not None:
        met, labels = np.flatnonzero(~np.isnan(compared)).tolist(), problem.candidate_labels
        found = {labels[i]: float(compared[i]) for i in met}
        return {"wins": found, "circle": tuple(labels[i] for i in state.circle())}
    if not state.by_wins or state.claims() is not None or len(state.named()) > 1:
        return {}
    n, on_items = problem.n_arms, algorithm.measured_on() is not None
    batches = [batch | {"sums": problem.sign * np.asarray(batch["sums"])} for batch in batches]
    shares = shares_won(batches, leader, n, on_items)
    met = np.flatnonzero(~np.isnan(shares)).tolist()
    counts, sums = np.zeros(n), np.zeros(n)
    for batch in batches:
        np.add.at(counts, batch["arms"], batch["counts"])
        np.add.at(sums, batch["arms"], batch["sums"])
    means = np.divide(sums, counts, out=np.full(n, -np.inf), where=counts > 0)
    best = int(means.argmax())
    other = None if means[best] <= means[leader] else problem.labels[best]
    wins = {problem.labels[arm]: float(shares[arm]) for arm in met}
    found: dict[str, Any] = {"wins": wins, "best_mean": other if wins else None}
    if min(wins.values(), default=1.0) < 0.5:
        around = circle(batches, leader, n, on_items)
        found["circle"] = tuple(problem.labels[arm] for arm in around)
    return found


def _quantiles(
    problem: Problem, algorithm: Algorithm, batches: list[dict[str, Any]]
) -> dict[str, Any]:
    """Quantiles of what was measured, where the best one was asked for."""
    p = algorithm.asked.quantile
    if p is None:
        return {}
    found = quantiles_of(batches, p, problem.n_arms)
    known = np.flatnonzero(~np.isnan(found)).tolist()
    return {
        "quantile": p,
        "quantiles": {problem.labels[arm]: float(found[arm]) for arm in known},
    }
