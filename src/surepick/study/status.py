"""Where a study stands, what the checks say and what lies ahead, in plain values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.errors import StudyDamagedError
from surepick.problem import Problem
from surepick.promise import Promise
from surepick.run import Answer, Run
from surepick.run.assumed import ASSUMED
from surepick.run.changes import ADDED
from surepick.run.details import Unmeasured, unmeasured_in_words
from surepick.run.standing import means_of
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import Event, StudyProgress, StudyRecord, Tell
from surepick.study import chain
from surepick.study.checks.checks import Checks
from surepick.study.checks.failures import remark, warnings
from surepick.study.desk.leases import FAILURES, UNMEASURED
from surepick.study.near import near_of
from surepick.study.outlook import noise_in_use, outlook
from surepick.study.strata import STRATA

Totals = dict[int, tuple[int, float]]  # of arms: how many rewards, and what they add up to


def failures_per_arm(storage: Storage, study: int, n_arms: int) -> NDArray[np.int64]:
    """Failed measurements and leases that ran out, for each arm."""

    def look(tx: Transaction) -> tuple[dict[int, int], set[int], list[Event]]:
        lacking = {one.pull for one in tx.events(study, (UNMEASURED,))}
        every = tx.events(study, FAILURES) if lacking else []
        return tx.count_events(study, FAILURES), lacking, every

    counted, lacking, every = storage.read(look)
    failed = np.zeros(n_arms, dtype=np.int64)
    for arm, count in counted.items():
        failed[arm] = count
    for one in every:  # what counts as the worst score was not made again in the end
        failed[one.arm] -= one.count if one.pull in lacking else 0
    return failed


def unmeasured_in(storage: Storage, study: int, problem: Problem) -> list[Unmeasured]:
    """Cells of a finite table that cannot be measured, unless they were corrected since."""

    def look(tx: Transaction) -> tuple[list[Event], dict[int, Tell]]:
        events = tx.events(study, (UNMEASURED,))
        return events, tx.tells(study, [one.pull for one in events])

    events, tells = storage.read(look)
    return [
        Unmeasured(problem.labels[one.arm], int(told.stratum or 0), one.note)
        for one in events
        if (told := tells.get(one.pull)) is not None and told.value == one.value
    ]


def failure_warnings(storage: Storage, study: int, run: Run) -> list[str]:
    """What is suspicious about the failures of a finished study."""
    failed = failures_per_arm(storage, study, run.problem.n_arms)
    return warnings(failed, run.pulls, run.problem.labels)


def status_of(
    storage: Storage,
    study: StudyRecord,
    run: Run,
    at: StudyProgress,
    checks: Checks,
    known: Totals | None = None,
) -> dict[str, Any]:
    """The status of a study whose run stands at ``at``.

    ``known`` is what was told beyond its complete batches, where that was read already: an open
    batch may be large, and nobody should wait for all of it at each look.
    """
    problem = run.problem
    K = problem.n_arms
    totals, (out, waiting), links = storage.read(
        lambda tx: (
            _open_totals(tx, study, at) if known is None else known,
            tx.count_leases(study.id, at.now),
            chain.head(tx, study),
        )
    )
    told, (counted, sums) = run.pulls.copy(), run.totals()
    for arm, (count, total) in () if at.finished else totals.items():
        told[arm] += count
        counted[arm] += count
        sums[arm] += total
    failed = failures_per_arm(storage, study.id, K)
    lacking = unmeasured_in(storage, study.id, problem)
    checked = checks.to_dict()
    checked["remarks"] += [*remark(failed), *filter(None, [unmeasured_in_words(tuple(lacking))])]
    means = means_of(problem, counted, sums, run.told() if problem.noise_kind.reports_only else [])
    past = run.past
    return {
        "name": study.name,
        "algorithm": study.algorithm,
        "delta": run.algorithm.delta,
        "epsilon": run.algorithm.epsilon,
        "finished": at.finished,
        "samples": int(told.sum()),
        "uncounted": at.uncounted,
        "cost": None if problem.costs is None else problem.cost_of(told),
        "limits": _limits(run, int(told.sum()), problem.cost_of(told)),
        "survivors": (left := list(run.active) if run.state.left() else []),
        "survivor_labels": [problem.candidate_labels[i] for i in left],
        "circle": [problem.candidate_labels[i] for i in run.state.circle()],
        "rewards": problem.words,
        "items": run.algorithm.measured_on(),
        "strata": json.loads(study.meta).get(STRATA),
        "pairs": problem.pairing is not None,
        "numbers": list(run.algorithm.asked.limited),
        "options_change": not run.algorithm.refuses_options(problem),
        "noise": noise_in_use(run),
        "noise_estimated": run.state.scale_estimated,
        "noise_stated": ASSUMED.of(problem.noise_kind).stated,
        "past": None
        if past is None
        else {"measurements": past.measurements, "evidence": past.evidence},
        "means": means,
        "pulls": told.tolist(),
        "failures": failed.tolist(),
        "unmeasured": [cell._asdict() for cell in lacking],
        "batch": {
            "number": at.batch,
            "size": at.size + at.ahead,
            "told": sum(count for count, _ in totals.values()),
            "leased": out,
            "waiting": waiting + at.size + at.ahead - at.asked,
            **({"ahead": at.ahead} if at.ahead else {}),  # of these, in batches after it
        },
        "chain": links,
        "revision": at.revision,
        "paused": at.paused,
        "checks": checked,
        "warnings": warnings(failed, told, problem.labels) + checks.warnings,
        **_options_and_outlook(run),
    }


def _open_totals(tx: Transaction, study: StudyRecord, at: StudyProgress) -> Totals:
    totals, now = tx.totals(study.id, at.first, at.last), tx.progress(study.id)
    there = sum(count for count, _ in totals.values())
    if now.batch == at.batch and there != now.told + now.early:
        raise StudyDamagedError(
            f"study {study.name!r}: of its open batch {now.told + now.early:,} rewards were told, "
            f"and {there:,} are there; go on from a backup"
        )
    return totals


def _limits(run: Run, samples: int, cost: float) -> dict[str, Any]:
    """What is spent and what is left; of measurements that were told, counted or not yet."""
    most, budget = run.limits
    items = run.algorithm.settings().get("complete")
    return {
        "max_samples": most,
        "samples_left": None if most is None else max(0, most - samples),
        "budget": budget,
        "spent": cost,
        "left": None if budget is None else max(0.0, budget - cost),
        "in_money": run.problem.costs is not None,
        "cells": None if items is None else items * (run.problem.n_arms - len(run.retired)),
    }


def promise_of(run: Run, promise: Promise, answer: Answer | None) -> dict[str, str]:
    """What a study promises now: a kind of guarantee, and a line that says it.

    And what epsilon accepts, in a few words, where it is about the best. The promise is that of the
    answer, where there is one.
    """
    text = promise.ahead
    if answer is not None:
        text = promise.short(answer.label if len(answer.labels) == 1 else None)
    return {"kind": promise.kind, "text": text, **_close(run)}


def wins_of(run: Run, answer: Answer | None) -> list[float | None] | None:
    """The share of direct comparisons that each option lost to the best, or seems to lose.

    None where something else decides who is the best, or nothing is known. For the answer of a
    finished study they are as they were counted, which is what the answer says.
    """
    compares = run.state.claims() is not None or len(run.state.named()) > 1
    if not run.state.by_wins or compares or (now := run.standing()).leader is None:
        return None
    labels, leads = run.problem.candidate_labels, now["behind"]
    if not any(leads):  # nobody has been compared yet
        return None
    shares = [None if lead is None else 0.5 + lead for lead in leads]
    if answer is not None and run.samples:
        shares = [answer.wins.get(label) for label in labels]
    return [None if i == now.leader_index else share for i, share in enumerate(shares)]


def _close(run: Run) -> dict[str, str]:
    """What an option is that epsilon accepts, and what the others are then."""
    algorithm = run.algorithm
    if not algorithm.epsilon or algorithm.asked.compares:
        return {"close": "", "others": ""}
    on_items = algorithm.measured_on() is not None
    what = algorithm.asked.promised(algorithm.epsilon, run.problem.noise_kind, on_items)
    return {"close": what.close, "others": what.others}


def started_with(run: Run) -> int:
    """How many different options were to be decided at the start."""
    problem = run.problem
    came = sum(len(one["arms"]) for one in run.option_changes if one["change"] == ADDED)
    options = len(np.unique(problem.same_as[: len(problem.same_as) - came]))
    return options if run.algorithm.baseline_in(problem) is None else options - 1


def _options_and_outlook(run: Run) -> dict[str, Any]:
    """The options, and what the complete batches say about them."""
    problem, ahead = run.problem, outlook(run)
    distinct = len(problem.distinct)
    now = run.standing() if ahead is None else ahead.standing
    written = now.to_dict()
    return {
        "started_with": started_with(run),
        "labels": list(problem.labels),
        # None where it would say nothing new: candidates are the arms, or all options differ
        "candidate_labels": list(problem.candidate_labels) if problem.transductive else None,
        "same_as": problem.same_as.tolist() if distinct < len(problem.same_as) else None,
        "options": len(np.unique(np.delete(problem.same_as, run.retired)))
        if run.retired
        else distinct,
        "retired": [problem.option_labels[option] for option in run.retired],
        "coming": [label for one in run.waiting for label in one.get("labels", [])],
        "going": [one["label"] for one in run.waiting if "label" in one],
        "leader": now.leader,
        "leader_index": now.leader_index,
        "estimates": None if now.leader is None else written["columns"]["estimate"],
        "behind": None if ahead is None else ahead.behind.tolist(),
        "standard_error": None if ahead is None else ahead.error.tolist(),
        "evidence": None if ahead is None or ahead.evidence is None else ahead.evidence.tolist(),
        "near": near_of(run, ahead),
        "standing": written,
    }
