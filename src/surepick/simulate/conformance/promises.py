"""What an algorithm promises: epsilon, the budget, delta, and the certificate."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from surepick.ahead.noise import Gaussian
from surepick.algorithms.base import Algorithm
from surepick.errors import CertificateError
from surepick.run import verify
from surepick.run.certificate import fingerprint
from surepick.simulate.conformance.tools import (
    MOST_PULLS,
    Make,
    Tape,
    basis,
    chance,
    check_answer,
    check_solved,
    configure,
    demand,
    failures,
    generic,
    nearby,
    play,
    played,
    solve,
    tiny,
)
from surepick.simulate.instance import Instance
from surepick.simulate.trials import trial


def check_epsilon(make: Make) -> dict[str, Any]:
    """Two arms of nearly the same value: stops all the same, within epsilon, and says so."""
    arms = [[1.0, 0.0, 0.0], [0.25, 0.8, 0.55], [0.2, -0.7, 0.3], [-0.3, 0.1, 0.9]]
    instance = tiny(arms, [0.7000001, 0.45, 0.3], 0.4, name="two best arms 7.5e-8 apart")
    pulls = []
    for seed in range(3):
        answer = solve(make, instance, delta=0.01, seed=seed, epsilon=0.3)
        demand(
            answer.guarantee.kind in ("eps-pac", "heuristic"),
            f"arms 7.5e-8 apart cannot be told apart, but the guarantee is {answer.guarantee.kind}",
        )
        demand(len(answer.survivors) >= 2 or answer.guarantee.kind == "heuristic", "one survivor")
        demand(answer.epsilon == 0.3, f"the answer says epsilon {answer.epsilon}")
        gap = instance.gaps[answer.arm]
        demand(gap <= 0.3, f"the answer is {gap:.3g} below the best, epsilon is 0.3")
        pulls.append(answer.samples)
    easy = solve(make, generic(), epsilon=1e-9)
    demand(easy.guarantee.kind in ("pac", "heuristic"), "a tiny epsilon weakens the guarantee")
    return {"pulls": pulls}


def check_budget(make: Make) -> dict[str, Any]:
    """Never more than max_samples pulls; stopped by them, the answer promises nothing."""
    hard = tiny(
        [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [-0.4, 0.8]], [0.3, 0.2999], 1.0, name="too hard"
    )
    for budget in (1, 2, 3, 5, 40, 333):
        algorithm = configure(make, hard, max_samples=budget)
        run = algorithm.start(hard.problem, seed=budget)
        tape = Tape(hard, seed=budget)
        play(run, tape)
        answer = check_answer(run, hard)
        demand(answer.samples <= budget, f"{answer.samples} pulls, max_samples is {budget}")
        demand(
            answer.guarantee.kind == "none" and not answer.guarantee,
            f"stopped by max_samples={budget} but promises {answer.guarantee}",
        )
        demand(answer.samples == budget, f"gave up after {answer.samples} of {budget} pulls")
        verify(answer.certificate())
        row = trial(algorithm, hard, np.random.SeedSequence(budget), Gaussian())
        demand(
            row["samples"] == budget and row["guarantee"] == "none",
            f"simulated: {row['samples']} of {budget} pulls, guarantee {row['guarantee']}",
        )
    roomy = solve(make, generic(), max_samples=MOST_PULLS)
    demand(roomy.guarantee.kind != "none", "a budget that is not reached costs the guarantee")
    return {}


def check_error_rate(make: Make, *, trials: int = 100, delta: float = 0.2) -> dict[str, Any]:
    """Wrong at most ``delta`` of the time, up to chance (one in a thousand, per instance).

    Trials that can no longer change the verdict are left out. Algorithms that only have a heuristic
    threshold are measured, but not held to it.
    """
    limit = chance(trials, delta)
    report: dict[str, Any] = {"trials": trials, "delta": delta, "limit": limit, "errors": {}}
    for number, instance in enumerate((basis(0.5, 1.0), nearby(1.0), generic(1.0))):
        algorithm = configure(make, instance, delta, max_samples=MOST_PULLS)
        rows: list[dict[str, Any]] = []
        wrong = failures(partial(_is_wrong, algorithm, instance, number, rows), trials, limit)
        report["errors"][instance.name] = wrong
        kinds = {row["guarantee"] for row in rows}
        demand(kinds <= {"pac", "heuristic"}, f"{instance.name}: guarantees {sorted(kinds)}")
        report["guarantee"] = kinds.pop()
        demand(
            report["guarantee"] == "heuristic" or wrong <= limit,
            f"{instance.name}: {wrong} of {len(rows)} answers wrong, at delta {delta:g} at most "
            f"{limit} of {trials} can be chance",
        )
    return report


def _is_wrong(
    algorithm: Algorithm, instance: Instance, number: int, rows: list[dict[str, Any]], i: int
) -> bool:
    """Whether a trial ends in a wrong answer; its row of results is kept."""
    seeds = np.random.SeedSequence(13, spawn_key=(number, i))
    rows.append(trial(algorithm, instance, seeds, Gaussian()))
    return not rows[-1]["correct"]


def check_certificate(make: Make) -> dict[str, Any]:
    """Certificates verify; tampered ones are refused, with the digest made to fit again."""
    risks = []
    for instance in (generic(), basis(), nearby()):
        for seed in range(2):
            answer = check_solved(played(make, instance, seed).run, instance)
            certificate = answer.certificate()
            result = verify(certificate)
            demand(result.candidate == answer.arm, "the certificate is about another candidate")
            demand(result.guarantee == answer.guarantee.kind, "the certificate claims otherwise")
            risks.append(float(result.risk))
            for what, change in _TAMPERINGS.items():
                changed = copy.deepcopy(certificate)
                change(changed)
                if changed == certificate:
                    continue  # nothing to forge: a heuristic claims no delta
                _refused(changed, f"{what}, digest as it was")
                changed["digest"] = fingerprint(changed)
                _refused(changed, what)
    return {"largest_risk": max(risks)}


def _refused(certificate: dict[str, Any], what: str) -> None:
    try:
        verify(certificate)
    except CertificateError:
        return
    raise AssertionError(f"a certificate verifies although tampered with: {what}")


def _other_answer(body: dict[str, Any]) -> None:
    claim = body["claim"]
    other = next(i for i in range(len(body["problem"]["arms"])) if i != claim["candidate"])
    claim["candidate"], claim["survivors"] = other, [other]
    claim["label"] = body["problem"]["labels"][other]


def _rewards_reversed(body: dict[str, Any]) -> None:
    for batch in body["batches"]:
        batch["sums"] = [-value for value in batch["sums"]]


def _extra_pull(body: dict[str, Any]) -> None:
    body["batches"][-1]["counts"][0] += 1


def _strange_arm(body: dict[str, Any]) -> None:
    body["batches"][0]["arms"][0] = len(body["problem"]["arms"])


def _smaller_delta(body: dict[str, Any]) -> None:
    if body["claim"]["guarantee"] != "heuristic":
        body["delta"] /= 1e12


def _stronger_claim(body: dict[str, Any]) -> None:
    if body["claim"]["guarantee"] == "heuristic":
        body["claim"]["guarantee"] = "pac"


def _larger_noise(body: dict[str, Any]) -> None:
    body["problem"]["noise"] *= 50.0


_TAMPERINGS: dict[str, Callable[[dict[str, Any]], None]] = {
    "another answer": _other_answer,
    "all rewards negated": _rewards_reversed,
    "a pull more than counted": _extra_pull,
    "an arm that is not there": _strange_arm,
    "a far smaller delta": _smaller_delta,
    "a heuristic called a guarantee": _stronger_claim,
    "noise fifty times larger": _larger_noise,
}
