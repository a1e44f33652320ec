"""Who judged what, where options are compared two at a time: wins, judges, agreement.

For people to look at: what is proven does not depend on any of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.pairs import features_of
from surepick.statistics.shares import log_evidence_of_side, share_ends
from surepick.statistics.strengths import fit_strengths
from surepick.storage.records import Tell
from surepick.study.pulls import has_a_name
from surepick.text import plural

#: at most this share of studies points at a judge who looks at nothing but the options
LEVEL = 0.01
_LATEST = 50  # comparisons that are listed
_WIDE = 1.96  # standard errors on each side of a strength
#: what is said of strengths wherever they are shown
OF_STRENGTHS = (
    "Strength is a Bradley–Terry model's estimate, with an interval that is right in about 95 of "
    "100 cases if the model is: how far an option is ahead of the average one, in log-odds (1 "
    "ahead is preferred in 73 of 100 comparisons). It proves nothing."
)


@dataclass
class _Judge:
    """What one judge said."""

    name: str | None
    token: str | None
    first: int = 0
    second: int = 0
    ties: int = 0
    said: list[tuple[tuple[int, int, str | None], float]] = field(default_factory=list)

    @property
    def comparisons(self) -> int:
        return self.first + self.second + self.ties


def judgements(
    told: Iterable[Tell], problem: Problem, states: Sequence[str], delta: float
) -> dict[str, Any]:
    """What was judged in all comparisons that count, as JSON-ready values.

    ``states`` are those of the options: in, out, or leading. The ends of all shares hold together,
    at any time, with probability 1 - delta.
    """
    pairing = problem.pairing
    if pairing is None:
        raise InvalidInputError(
            "judgements: options are not compared two at a time here (surepick new … --pairs)"
        )
    K, labels = pairing.options, problem.candidate_labels
    won, met = np.zeros((K, K)), np.zeros((K, K), dtype=np.int64)
    shown, preferred = np.zeros((K, K)), np.zeros((K, K))  # the row first, the column second
    judges: dict[tuple[str | None, str | None], _Judge] = {}
    told = sorted(told, key=lambda one: (one.at, one.pull))
    for one in told:
        first, second = pairing.of(one.arm)
        shown[first, second] += 1.0
        preferred[first, second] += one.value
        won[first, second] += one.value
        won[second, first] += 1 - one.value
        met[first, second] += 1
        met[second, first] += 1
        name = one.worker if one.worker is not None and has_a_name(one.worker) else None
        judge = judges.setdefault((name, one.token), _Judge(name, one.token))
        judge.first += one.value > 0.5
        judge.second += one.value < 0.5
        judge.ties += one.value == 0.5
        lower = one.value if first < second else 1 - one.value  # for the one of lower number
        judge.said.append(((min(first, second), max(first, second), one.stratum), lower))
    everybody = list(judges.values())
    agreed = _agreement(everybody)
    shared = sum(count for _, count in agreed)
    strengths = _strengths(shown, preferred, problem)
    rows = _standings(labels, states, won.sum(axis=1), met.sum(axis=1), delta, strengths)
    return {
        "comparisons": len(told),
        "options": list(labels),
        "won": won.tolist(),
        "met": met.tolist(),
        "standings": rows,
        "judges": [_said(i, *one) for i, one in enumerate(zip(everybody, agreed), start=1)],
        "agreement": {
            "share": sum(share * count for share, count in agreed) / shared if shared else None,
            "comparisons": shared,
        },
        "latest": [_listed(one, labels, pairing.of(one.arm)) for one in reversed(told[-_LATEST:])],
    }


def _strengths(shown: FloatArray, preferred: FloatArray, problem: Problem) -> list[dict[str, Any]]:
    """How far each option is ahead of the average one, on the scale of log-odds, by a model.

    A Bradley–Terry model with features of the options and a bias for the position; the interval
    is right in about 95 of 100 cases if the model is. Nothing is proven by it.
    """
    fitted = fit_strengths(shown, preferred, features_of(problem.candidates))
    of_average = np.eye(len(shown)) - 1.0 / len(shown)
    values = of_average @ fitted.values
    errors = np.sqrt(np.maximum(np.diag(of_average @ fitted.covariance @ of_average), 0.0))
    known = shown.sum() > 0
    return [
        {
            "strength": float(value) if known else None,
            "strength_low": float(value - _WIDE * error) if known else None,
            "strength_high": float(value + _WIDE * error) if known else None,
        }
        for value, error in zip(values, errors)
    ]


def _standings(
    labels: Sequence[str],
    states: Sequence[str],
    won: Any,
    met: Any,
    delta: float,
    strengths: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """A row for each option: who may still be the answer first, then by the share of wins."""
    low, high = share_ends(won, met.astype(float), delta / max(len(labels), 1))
    rows = [
        {
            "option": label,
            "state": states[i] if i < len(states) else "in",
            "won": float(won[i]),
            "met": int(met[i]),
            "share": float(won[i] / met[i]) if met[i] else None,
            "low": float(low[i]),
            "high": float(high[i]),
            **strengths[i],
        }
        for i, label in enumerate(labels)
    ]
    places = {"leads": 0, "in": 1, "close": 1}
    return sorted(rows, key=lambda row: (places.get(row["state"], 2), -(row["share"] or 0.0)))


def _agreement(judges: list[_Judge]) -> list[tuple[float, int]]:
    """For each judge, how far others say the same of the same two, and of how many comparisons.

    Of two comparisons of the same two options (on the same item, where there are items) one that
    says the opposite counts 0, one with a tie where the other has none ½.
    """
    by_pair: dict[Any, dict[int, list[float]]] = {}
    for i, judge in enumerate(judges):
        for pair, value in judge.said:
            by_pair.setdefault(pair, {}).setdefault(i, []).append(value)
    found = []
    for i, judge in enumerate(judges):
        shares = []
        for pair, value in judge.said:
            others = [v for j, said in by_pair[pair].items() if j != i for v in said]
            if others:
                shares.append(1 - sum(abs(value - other) for other in others) / len(others))
        found.append((sum(shares) / len(shares) if shares else 0.0, len(shares)))
    return found


def _said(number: int, judge: _Judge, agreed: tuple[float, int]) -> dict[str, Any]:
    """A judge, and whether it seems to prefer a side.

    The level is shared out as LEVEL / (n (n + 1)) for the n-th judge to come, which sums to LEVEL
    however many there will be.
    """
    share, shared = agreed
    evidence = log_evidence_of_side(judge.first, judge.second)
    alarm = evidence >= math.log(number * (number + 1) / LEVEL)
    side = ("first" if judge.first > judge.second else "second") if alarm else None
    return {
        "name": judge.name,
        "token": judge.token,
        "comparisons": judge.comparisons,
        "first": judge.first,
        "second": judge.second,
        "ties": judge.ties,
        "agreement": share if shared else None,
        "shared": shared,
        "prefers": side,
        "said": "" if side is None else _in_words(judge, side),
    }


def _in_words(judge: _Judge, side: str) -> str:
    preferred = judge.first if side == "first" else judge.second
    decided = judge.first + judge.second
    who = judge.name or "A judge without a name"
    where = "left (on a phone the upper)" if side == "first" else "right (on a phone the lower)"
    always = "always" if preferred == decided else f"in {preferred} of {plural(decided, 'case')}"
    return (
        f"{who} preferred the one on the {where} {always}, ties aside. The order is drawn by a "
        f"fair coin: if no judge minded the side, fewer than 1 in {1 / LEVEL:.0f} studies would "
        "point at one. The promise stands, but such comparisons help little. Ask whether the "
        "question is clear, or let others judge."
    )


def _listed(one: Tell, labels: Sequence[str], both: tuple[int, int]) -> dict[str, Any]:
    first, second = (labels[i] for i in both)
    better = first if one.value > 0.5 else second if one.value < 0.5 else None
    name = one.worker if one.worker is not None and has_a_name(one.worker) else None
    return {
        "pull": one.pull,
        "at": one.at,
        "judge": name,
        "token": one.token,
        "first": first,
        "second": second,
        "better": better,
        "item": one.stratum,
    }
