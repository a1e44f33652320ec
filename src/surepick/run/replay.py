"""A certificate's run, made again: every batch must be what its algorithm asks for there.

The verifier looks at what was measured, and takes it as given that batches are what the algorithm
asked for. Whoever leaves out batches, or puts them into another order, after the rewards are known
chooses among many honest-looking records. Here the algorithm itself is run again on what the
certificate says was measured: each proposal is worked out from what came before it, and compared.
What is then left to invent is rewards.

Pulls are the same on every processor (:mod:`surepick.run.made` says since when, and where not). In
earlier releases rounding now and then decided which of two arms that serve equally well had a pull
more, so that a proposal may differ a little from the one recorded; the run then goes on with what
is recorded, so that each proposal is compared on its own. Three outcomes are told apart: the same
pulls throughout (``EXACT``), the same but for single pulls that rounding may have moved
(``ROUNDED``), and other pulls (:class:`Different`), which no rounding explains where designs have
one solution.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls, Told
from surepick.arrays import limits
from surepick.errors import SurepickError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.contents import read_misfit
from surepick.problem.noise import read_kind
from surepick.run.certificate import plain
from surepick.run.option_changes import ADDED, before_changes
from surepick.run.reports_again import ReportsAgain
from surepick.run.run import Run

EXACT = "every batch is what the algorithm asks for"
ROUNDED = "every batch is what the algorithm asks for, except single pulls moved by rounding"
MOVED = "single pulls of some batches differ from what the algorithm asks for"
DRAWN = "every batch is as large as the algorithm asks for, from the designs it draws from"
IN_PART = (
    "{known} of {all} batches are what the algorithm asks for; the others depend on rewards that "
    "were later corrected or withdrawn, and cannot be computed again"
)
_CHANGED = "rewards were corrected or withdrawn, and it has strata"
_LONG = "it would take more than a few seconds; to run it anyway, use replay=True or --replay"
_MANY_PULLS = 2_000_000  # exact forms of PELEG play a round for each
_CLOSE = 1e-6  # relative difference of two numbers of the evidence


class Different(Exception):
    """The run made again is another one; the message says where."""


class NotPossible(Exception):
    """The run cannot be made again; the message says why."""


def replay(body: dict[str, Any], problem: Any, patience: float | None) -> str:
    """Make the run of a certificate again, which the verifier has found to hold.

    Parameters
    ----------
    body
        The certificate.
    problem
        What it refers to, if it does not contain its arms.
    patience
        Seconds after which to give up; None: never.

    Returns
    -------
    How it came out: ``EXACT``, ``ROUNDED``, ``DRAWN``, or ``IN_PART`` with numbers.
    """
    algorithm = _algorithm(body)
    try:
        return _replayed(algorithm, body, _problem(body, problem), patience)
    except (SurepickError, ValueError, TypeError, ArithmeticError, LookupError) as error:
        # Neither Different nor NotPossible: the algorithm itself cannot do with this record.
        raise Different(f"the run cannot be repeated ({error})") from None


def _replayed(
    algorithm: Algorithm, body: dict[str, Any], problem: Problem, patience: float | None
) -> str:
    end = None if patience is None else time.monotonic() + patience
    if end is not None and (
        problem.n_arms * problem.n_features > limits.LARGE_TABLE
        or (body["claim"]["samples"] > _MANY_PULLS and "traffic" not in body)
    ):
        raise NotPossible(_LONG)
    run = algorithm.start(before_changes(problem, changed := list(body.get("options", []))))
    run.limit_changes = list(body.get("limits", []))
    run.order_seed = body["order"]["seed"] if "order" in body else None
    run.state.as_recorded(body["evidence"])
    now, then = _form(run.state.evidence()), _form(body["evidence"])
    if any(mine != other for mine, other in zip(now, then)):
        raise NotPossible(
            "it was made by an earlier release, which asked for pulls by another rule"
        )
    if (past := body.get("past")) is not None:
        told = [_told(batch) for batch in past["batches"]]
        run.take_past(told, past["chosen"] == "in advance", past["measurements"])
    exact, known, number = True, 0, 0
    reports = ReportsAgain(body) if "traffic" in body else None
    changes = [] if reports else body.get("corrections", [])
    left, ahead = list(body["batches"]), 0  # the first so many have been asked for ahead
    overlap = any("after" in batch for batch in left)
    while left:
        if end is not None and time.monotonic() > end:
            raise NotPossible(_LONG)
        _change_options(run, changed, len(body["batches"]) - len(left), problem)
        withdrawn = _withdrawn(changes, number, run.problem.n_arms)
        fixed = _asked_before(changes, number, left[0].get("after", number))
        before = len(left)
        if overlap and any(batch.get("after") == number for batch in left[ahead:]):
            ahead = _ask_ahead(run, left, max(ahead, 1), number, changes)
        if reports is not None:
            exact, fixed = reports.take(run, _told(left.pop(0)))
        elif "stratum" in left[0]:
            if fixed or withdrawn.any():
                raise NotPossible(_CHANGED)
            exact &= _take_strata(run, left, number)
        elif fixed:
            run.ask()  # as the study did when it worked everything out again
            _tell(run, _told(left.pop(0)))
        else:
            exact &= _take(run, _told(left.pop(0)), number, withdrawn)
        known, number = known + (not fixed), number + 1
        ahead = max(0, ahead - (before - len(left)))
    _change_options(run, changed, len(body["batches"]), problem)
    _compare_end(run, body, exact)
    if not exact:
        return ROUNDED
    if known < number:
        return IN_PART.format(known=known, all=number)
    return DRAWN if algorithm.follows == "size" else EXACT


def _change_options(run: Run, changes: list[dict[str, Any]], told: int, problem: Problem) -> None:
    """Let options come and go as they did after so many batches, to become those of a problem.

    Changes that are due are taken off the list.
    """
    while changes and changes[0]["batch"] == told:
        change, run.goes_on = changes.pop(0), True
        said = {name: change[name] for name in ("reason", "by", "at")}
        if change["change"] == ADDED:
            arms, width = change["arms"], change["features"][1]
            scales = problem.noise_kind.scales
            own = None if scales is None else scales[arms]
            names = [problem.labels[arm] for arm in arms]
            prices = None if problem.costs is None else problem.costs[arms]
            rows = problem.arms[arms, :width]
            run.add(rows, names, noise=own, costs=prices, **said)
        else:
            run.retire(problem.labels[change["arms"][0]], **said)
    run.goes_on = bool(changes)


def _asked_before(changes: list[dict[str, Any]], number: int, after: int) -> bool:
    """Whether a batch may have been asked for before a reward that it rests on was changed.

    It was asked for ``after`` so many batches were told; in turn, that is its number. Batches of
    which nothing can be used any more are left out, and have no number.
    """
    before = [one for one in changes if after <= one["asked"]]
    return any(one["batch"] is None or one["batch"] < after for one in before)


def _ask_ahead(
    run: Run, left: list[dict[str, Any]], known: int, number: int, changes: list[dict[str, Any]]
) -> int:
    """Ask for what was asked for while this batch was open; the first ``known`` had been before.

    Returns how many are known now. They are compared when it is their turn.
    """
    size = run.ask().size
    while "stratum" in left[0] and known < len(left) and size > _size(left[:known]):
        known += 1  # of the same batch
    while known < len(left) and left[known].get("after") == number:
        fixed = _put_ahead(run, _told(left[known]), number, changes)
        batch = run.ask_ahead(fixed)
        if batch is None:
            raise Different(f"while batch {number} was open, nothing more would be asked for")
        first, known = known, known + 1
        while "stratum" in left[first] and known < len(left):
            if _size(left[first:known]) >= batch.size:
                break
            known += 1
    return known


def _put_ahead(run: Run, told: Told, after: int, changes: list[dict[str, Any]]) -> Any:
    """What may have been asked for by other rewards than are there now is put there as it was."""
    number = after + 1 + run.ahead
    if not _asked_before(changes, number, after):
        return None
    counts = _by_arm(told.pulls, run.problem.n_arms)
    counts += _withdrawn(changes, number, run.problem.n_arms)
    return lambda asked: Pulls.from_counts(counts)


def _size(batches: list[dict[str, Any]]) -> int:
    return sum(sum(batch["counts"]) for batch in batches)


def _withdrawn(changes: list[dict[str, Any]], number: int, n_arms: int) -> np.ndarray:
    """How many pulls of each arm a batch has lost since its rewards were counted."""
    last = {one["pull"]: one for one in changes if one["batch"] == number < one["asked"]}
    gone = [one["arm"] for one in last.values() if one["new"] is None]
    return np.bincount(np.array(gone, dtype=np.int64), minlength=n_arms)


def _form(evidence: dict[str, Any]) -> list[Any]:
    """Which form of a rule decides, where releases differ; that of the rule inside last."""
    own = [evidence.get(part) for part in ("ways", "levels", "nearness", "guide")]
    inner = evidence.get("inner")
    return own + (_form(inner) if isinstance(inner, dict) else [])


def _algorithm(body: dict[str, Any]) -> Algorithm:
    name, settings = body["algorithm"]["name"], body["algorithm"]["settings"]
    try:
        algorithm = registry.get(name, **settings)
    except UnknownNameError:
        raise NotPossible(f"{name!r} is not a known algorithm here") from None
    except (SurepickError, TypeError, ValueError) as error:
        raise Different(f"{name} does not accept these settings ({error})") from None
    if algorithm.follows == "nothing":
        raise NotPossible(f"what {name} asks for cannot be computed from its certificate")
    return algorithm


def _problem(body: dict[str, Any], given: Any) -> Problem:
    held = body["problem"]
    if not isinstance(held["arms"], dict):
        return Problem.from_dict(held)
    misfit = read_misfit(held)
    if isinstance(given, Problem):
        same = given.with_noise(read_kind(held["noise"], given.n_arms).given)
        if same.misfit == misfit:
            return same
        separate = same.candidates if same.transductive else None
        return Problem(same.arms, separate, same.noise, misfit=misfit, backend=same.backend)
    arms = given
    if isinstance(given, str | Path):
        arms = np.load(given, mmap_mode="r", allow_pickle=False)
    return Problem(arms, noise=read_kind(held["noise"], len(arms)).given, misfit=misfit)


def _told(batch: dict[str, Any]) -> Told:
    def column(name: str, kind: Any) -> Any:
        return np.array(batch[name], dtype=kind) if name in batch else None

    pulls = Pulls(*(column(name, np.int64) for name in ("arms", "counts", "parts")))
    return Told(pulls, column("sums", np.float64), column("spreads", np.float64))


def _take(run: Run, told: Told, number: int, withdrawn: np.ndarray) -> bool:
    """Tell the next batch; whether it is exactly what is asked for."""
    if run.stopped:
        raise Different(f"batch {number} comes after the run has stopped")
    asked, follows = run.ask().pulls, run.algorithm.follows
    if withdrawn.any():  # what is left was dealt anew
        exact = np.array_equal(
            _by_arm(asked, len(withdrawn)) - withdrawn, _by_arm(told.pulls, len(withdrawn))
        )
        if not exact:
            raise Different(f"batch {number}, with what was withdrawn, is not what is asked for")
    elif follows == "size":
        if asked.total != told.pulls.total:
            raise Different(
                f"batch {number} has {told.pulls.total} pulls, but {asked.total} are asked for"
            )
        exact = True
    else:
        exact = asked.same(told.pulls)
        if not exact and not (run.algorithm.any_pulls and _is_close(asked, told.pulls)):
            raise Different(f"batch {number} is not what is asked for after what came before it")
    _tell(run, told)
    return exact


def _tell(run: Run, told: Told) -> None:
    run.tell_totals(run.put(told.pulls), told.sums, told.spreads)


def _by_arm(pulls: Pulls, n_arms: int) -> np.ndarray:
    return np.bincount(pulls.arms, weights=pulls.counts, minlength=n_arms)


def _take_strata(run: Run, left: list[dict[str, Any]], number: int) -> bool:
    """Tell a batch that was told stratum by stratum, and take it off the list."""
    if run.stopped:
        raise Different(f"batch {number} comes after the run has stopped")
    asked, strata = run.ask(), {}
    while left and sum(told.pulls.total for told in strata.values()) < asked.size:
        batch = left.pop(0)
        if batch["stratum"] in strata:
            raise Different(f"from batch {number} on a stratum comes twice")
        strata[batch["stratum"]] = _told(batch)
    if list(strata) != sorted(strata):
        raise Different(f"from batch {number} on strata are not in the order of their names")
    counts = np.zeros(run.problem.n_arms, dtype=np.int64)
    for told in strata.values():
        np.add.at(counts, told.pulls.arms, told.pulls.counts)
    measured, due = Pulls.from_counts(counts), Pulls.from_counts(asked.counts)
    exact = measured.same(due)
    if not exact and not (run.algorithm.any_pulls and _is_close(due, measured)):
        raise Different(f"from batch {number} on it is not what is asked for there")
    # What is asked for may be a piece of a block, of which the rest is still to come.
    run.take_strata(asked if exact else run.put(measured), strata)
    return exact


def _is_close(asked: Pulls, told: Pulls) -> bool:
    """Whether rounding may have moved single pulls from one arm to another."""
    if asked.total != told.total or (asked.parts is None) != (told.parts is None):
        return False
    size = 1 + int(max(asked.arms.max(), told.arms.max()))
    apart = np.zeros(size, dtype=np.int64)
    np.add.at(apart, asked.arms, asked.counts)
    np.subtract.at(apart, told.arms, told.counts)
    return bool(np.abs(apart).max() <= 1)


def _compare_end(run: Run, body: dict[str, Any], exact: bool) -> None:
    """The run made again must end where the certificate says, with the same evidence."""
    if body.get("stopped") == "by hand":
        run.end()
    if not run.stopped:
        raise Different("the run has not stopped where the certificate ends")
    claim, answer = body["claim"], run.answer
    same = np.asarray(run.problem.same_as)
    if same[answer.arm] != same[claim["candidate"]]:
        raise Different(f"it ends with {answer.label!r}, and not with {claim['label']!r}")
    if list(answer.survivors) != claim["survivors"]:
        raise Different("other candidates survive")
    withdrawn = answer.guarantee and claim["guarantee"] == "heuristic"
    if claim["guarantee"] != answer.guarantee.kind and not withdrawn:
        raise Different(f"its answer is {answer.guarantee.kind!r}, not {claim['guarantee']!r}")
    place = _difference(_usual(plain(run.state.evidence())), _usual(body["evidence"]))
    if exact and place is not None:
        raise Different(f"the evidence comes out differently at {place}")


def _usual(evidence: Any) -> Any:
    """Evidence as this version writes it: version 0.1.0 had a dict for every drop."""
    if isinstance(evidence, dict):
        if evidence.get("candidate") == []:  # nobody was dropped
            return []
        return {k: _usual(v) for k, v in evidence.items() if k not in ("active", "margin")}
    if isinstance(evidence, list):
        if evidence and all(isinstance(entry, dict) for entry in evidence):
            names = set(evidence[0])
            if names >= {"candidate"} and all(set(entry) == names for entry in evidence):
                return _usual({name: [entry[name] for entry in evidence] for name in names})
        return [_usual(entry) for entry in evidence]
    return evidence


def _difference(own: Any, recorded: Any, place: str = "evidence") -> str | None:
    """Where two records differ first; None: nowhere. What only one of them says is left out."""
    if isinstance(own, dict) and isinstance(recorded, dict):
        found = (_difference(own[k], recorded[k], f"{place}.{k}") for k in own if k in recorded)
        return next(filter(None, found), None)
    if isinstance(own, list) and isinstance(recorded, list):
        if len(own) != len(recorded):
            return place
        found = (_difference(a, b, f"{place}.{i}") for i, (a, b) in enumerate(zip(own, recorded)))
        return next(filter(None, found), None)
    if isinstance(own, float) and isinstance(recorded, int | float):
        close = abs(own - recorded) <= _CLOSE * max(abs(own), abs(recorded), _CLOSE)
        return None if close else place
    return None if own == recorded else place
