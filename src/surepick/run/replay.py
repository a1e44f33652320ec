"""A certificate's run, made again: every batch must be what its algorithm asks for there.

The verifier looks at what was measured, and takes it as given that batches are what the algorithm
asked for. Whoever leaves out batches, or puts them into another order, after the rewards are known
chooses among many honest-looking records. Here the algorithm itself is run again on what the
certificate says was measured: each proposal is worked out from what came before it, and compared.
What is then left to invent is rewards.

Pulls are the same on every processor, but for very many arms (``comes_out_alike`` in
:mod:`surepick.run.certificate`). There rounding now and then decides which of two arms that serve
equally well has a pull more, so that a proposal may differ a little from the one recorded; the run
then goes on with what is recorded, so that each proposal is compared on its own. Three outcomes are
told apart: the same pulls throughout (``EXACT``), the same but for single pulls that rounding may
have moved (``ROUNDED``), and other pulls (:class:`Different`), which no rounding explains where
designs have one solution.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls, ToldPulls
from surepick.arrays import cutoffs
from surepick.conditions import read_stated
from surepick.errors import SurepickError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.noise import read_kind
from surepick.problem.pairs import costs_of_options
from surepick.problem.problem import read_misfit
from surepick.run.batch import Batch
from surepick.run.certificate import plain
from surepick.run.changes import ADDED, before_changes
from surepick.run.report import ReportsAgain
from surepick.run.retrace import Change, Turn, rests_on_changed, retrace
from surepick.run.rewards import check_number_sums, check_size
from surepick.run.run import Run

EXACT = "every batch is what the algorithm asks for"
ROUNDED = "every batch is what the algorithm asks for, except single pulls moved by rounding"
MOVED = "single pulls of some batches differ from what the algorithm asks for"
DRAWN = (
    "every batch is as large as the algorithm asks for, but it draws them at random, and what was "
    "drawn cannot be computed again"
)
IN_PART = (
    "{known} of {all} batches are what the algorithm asks for; the others depend on rewards that "
    "were later corrected, withdrawn or set aside, and cannot be computed again"
)
_CHANGED = "rewards were corrected, withdrawn or set aside, and it has strata"
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
        problem.n_arms * problem.n_features > cutoffs.LARGE_TABLE
        or (body["claim"]["samples"] > _MANY_PULLS and "traffic" not in body)
    ):
        raise NotPossible(_LONG)
    run = algorithm.start(before_changes(problem, body.get("options", [])))
    run.limit_changes = list(body.get("limits", []))
    run.order_seed = body["order"]["seed"] if "order" in body else None
    run.conditions = read_stated(body.get("conditions", ()))
    run.state.as_recorded(body["evidence"])
    now, then = _form(run.state.evidence()), _form(body["evidence"])
    if any(mine != other for mine, other in zip(now, then)):
        raise NotPossible("it was made on another device, which reads blocks in another way")
    if (past := body.get("past")) is not None:
        told = [_told(batch) for batch in past["batches"]]
        run.take_past(told, past["chosen"] == "in advance", past["measurements"])
    record = _Certificate(body, problem, end)
    for _ in retrace(run, record.batches()):
        pass
    _compare_end(run, body, record.exact)
    if not record.exact:
        return ROUNDED
    if record.known < record.number:
        return IN_PART.format(known=record.known, all=record.number)
    return DRAWN if algorithm.follows == "size" else EXACT


def _change(change: dict[str, Any], problem: Problem, run: Run) -> None:
    """Options that came or went; the certificate's problem has all that ever came."""
    options, costs = change["arms"], problem.costs
    names = [problem.option_labels[option] for option in options]
    if change["change"] != ADDED:
        run.retire(names[0], **_said(change))
        return
    rows = noise = None
    if problem.pairing is None:
        rows, scales = problem.arms[options, : change["features"][1]], problem.noise_kind.scales
        noise = None if scales is None else scales[options]
    elif costs is not None:
        costs = costs_of_options(costs, problem.n_candidates)
    costs = None if costs is None else costs[options]
    run.add(rows, names, noise=noise, costs=costs, **_said(change))


def _accept(entry: dict[str, Any], run: Run) -> None:
    run.accept(entry["epsilon"][1], **_said(entry))


def _said(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("reason", "by", "at")}


def _turns_of(body: dict[str, Any], problem: Problem) -> Iterator[tuple[int, Change]]:
    """What changed on the way, in order, each with the rows before it."""
    accepted = list(body.get("accepted", []))
    for number, change in enumerate([*body.get("options", []), None]):
        while accepted and (change is None or accepted[0]["changes"] <= number):
            yield accepted[0]["batch"], partial(_accept, accepted.pop(0))
        if change is not None:
            yield change["batch"], partial(_change, change, problem)


class _Certificate:
    """The record of a certificate, at the batch that comes next.

    It has one row for each batch; for each stratum of a batch, where there are strata.
    """

    def __init__(self, body: dict[str, Any], problem: Problem, end: float | None) -> None:
        self._problem, self._end = problem, end
        self._left: list[dict[str, Any]] = list(body["batches"])
        self._rows = len(self._left)
        self._turns = list(_turns_of(body, problem))
        self._reports = ReportsAgain(body, self._ahead_of) if "traffic" in body else None
        self._changes = [] if self._reports else body.get("corrections", [])
        self._overlap = any("after" in batch for batch in self._left)
        self._ahead = 0  # the first so many rows have been asked for ahead
        self.exact = True  # whether every batch so far is exactly what is asked for
        self.known = 0  # batches that could be compared
        self.number = 0  # of the batch that comes next

    def batches(self) -> Iterator[_Certificate]:
        """This, at every batch, and at the end."""
        while self._left:
            if self._end is not None and time.monotonic() > self._end:
                raise NotPossible(_LONG)
            before = len(self._left)
            yield self
            self.number += 1
            self._ahead = max(0, self._ahead - (before - len(self._left)))
        yield self

    def option_changes(self, run: Run) -> Iterator[Turn]:
        """Those after as many rows as were told."""
        while self._turns and self._turns[0][0] == self._rows - len(self._left):
            run.goes_on = True
            yield False, self._turns.pop(0)[1]  # they are listed where they took effect
        run.goes_on = bool(self._turns)

    def _ahead_of(self, run: Run, number: int) -> Run:
        """A run with the options that a period has, of which some come before its report does."""
        due = [change for batch, change in self._turns if batch <= number]
        if not due:
            return run
        copy = run.all_changed()
        for change in due:
            copy.goes_on = True
            change(copy)
        copy.goes_on = False
        return copy

    def is_told(self, run: Run) -> bool:
        """Not at the end; and reports are told here: nobody asked for their visitors."""
        if self._reports is not None and self._left:
            self.exact, fixed = self._reports.take(run, _told(self._left.pop(0)))
            self.known += not fixed
            return False
        return bool(self._left)

    def ask(self, run: Run) -> Batch:
        """What is asked for; it is compared when it is told."""
        if run.stopped:
            raise Different(f"batch {self.number} comes after the run has stopped")
        return run.ask()

    def ask_ahead(self, run: Run) -> None:
        """Ask for what was asked for while this batch was open; it is compared in its turn."""
        if not self._overlap:
            return
        left, number, known = self._left, self.number, max(self._ahead, 1)
        if all(batch.get("after") != number for batch in left[self._ahead :]):
            return
        size = run.ask().size
        while "stratum" in left[0] and known < len(left) and size > _size(left[:known]):
            known += 1  # of the same batch
        while known < len(left) and left[known].get("after") == number:
            batch = run.ask_ahead(self._put_ahead(run, _told(left[known])))
            if batch is None:
                raise Different(f"while batch {number} was open, nothing more would be asked for")
            first, known = known, known + 1
            while "stratum" in left[first] and known < len(left):
                if _size(left[first:known]) >= batch.size:
                    break
                known += 1
        self._ahead = known

    def _put_ahead(self, run: Run, told: ToldPulls) -> Any:
        """What may have been asked for by other rewards than are there now is put as it was."""
        number = self.number + 1 + run.ahead
        if not self._rests_on_changed(self.number):
            return None
        counts = _by_arm(told.pulls, run.problem.n_arms)
        counts += _withdrawn(self._changes, number, run.problem.n_arms)
        return lambda asked: Pulls.from_counts(counts)

    def _rests_on_changed(self, after: int) -> bool:
        made = ((one["batch"], one["asked"]) for one in self._changes)
        return rests_on_changed(made, after)

    def tell(self, run: Run, batch: Batch) -> None:
        """Tell the next rows, which must be what is asked for unless rewards were changed since."""
        withdrawn = _withdrawn(self._changes, self.number, run.problem.n_arms)
        fixed = self._rests_on_changed(self._left[0].get("after", self.number))
        if "stratum" in self._left[0]:
            if fixed or withdrawn.any():
                raise NotPossible(_CHANGED)
            self.exact &= _take_strata(run, batch, self._left, self.number)
        elif fixed:  # as the study did when it worked everything out again
            _tell(run, _told(self._left.pop(0)))
        else:
            self.exact &= _take(run, batch.pulls, _told(self._left.pop(0)), self.number, withdrawn)
        self.known += not fixed


def _size(batches: list[dict[str, Any]]) -> int:
    return sum(sum(batch["counts"]) for batch in batches)


def _withdrawn(changes: list[dict[str, Any]], number: int, n_arms: int) -> np.ndarray:
    """How many pulls of each arm a batch has lost since its rewards were counted."""
    last = {one["pull"]: one for one in changes if one["batch"] == number < one["asked"]}
    gone = [one["arm"] for one in last.values() if one["new"] is None]
    return np.bincount(np.array(gone, dtype=np.int64), minlength=n_arms)


def _form(evidence: dict[str, Any]) -> list[Any]:
    """How blocks are read, which differs between devices; that of the rule inside last."""
    inner = evidence.get("inner")
    return [evidence.get("ways"), *(_form(inner) if isinstance(inner, dict) else [])]


def _algorithm(body: dict[str, Any]) -> Algorithm:
    name, settings = body["algorithm"]["name"], body["algorithm"]["settings"]
    if "accepted" in body:
        settings = settings | {"epsilon": body["accepted"][0]["epsilon"][0]}
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
    misfit, minimise = read_misfit(held), held.get("minimise", False)
    if isinstance(given, Problem):
        same = given.with_noise(read_kind(held["noise"], given.n_arms).given)
        same = same.with_direction(minimise)
        if same.misfit == misfit:
            return same
        separate = same.candidates if same.transductive else None
        how = {"misfit": misfit, "minimise": minimise, "backend": same.backend}
        return Problem(same.arms, separate, same.noise, **how)
    arms = given
    if isinstance(given, str | Path):
        arms = np.load(given, mmap_mode="r", allow_pickle=False)
    noise = read_kind(held["noise"], len(arms)).given
    return Problem(arms, noise=noise, misfit=misfit, minimise=minimise)


def _told(batch: dict[str, Any]) -> ToldPulls:
    def column(name: str, kind: Any) -> Any:
        return np.array(batch[name], dtype=kind) if name in batch else None

    pulls = Pulls(*(column(name, np.int64) for name in ("arms", "counts", "parts")))
    numbers = None
    if "numbers" in batch:
        numbers = {
            name: [
                None if own.get(column) is None else np.array(own[column], dtype=np.float64)
                for column in ("sums", "spreads")
            ]
            for name, own in batch["numbers"].items()
        }
    return ToldPulls(pulls, column("sums", np.float64), column("spreads", np.float64), numbers)


def _take(run: Run, asked: Pulls, told: ToldPulls, number: int, withdrawn: np.ndarray) -> bool:
    """Tell the next batch; whether it is exactly what is asked for."""
    follows = run.algorithm.follows
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


def _tell(run: Run, told: ToldPulls) -> None:
    """Tell it, unless it is larger than anything that may be told."""
    check_size(run.problem, told.pulls.arms, told.sums, np.zeros(run.problem.n_arms))
    if told.numbers is not None:
        check_number_sums(told.pulls, told.numbers)
    run.tell_totals(run.put(told.pulls), told.sums, told.spreads, told.numbers)


def _by_arm(pulls: Pulls, n_arms: int) -> np.ndarray:
    return np.bincount(pulls.arms, weights=pulls.counts, minlength=n_arms)


def _take_strata(run: Run, asked: Batch, left: list[dict[str, Any]], number: int) -> bool:
    """Tell a batch that was told stratum by stratum, and take it off the list."""
    strata: dict[str, ToldPulls] = {}
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
    place = _difference(plain(run.state.evidence()), body["evidence"])
    if exact and place is not None:
        raise Different(f"the evidence comes out differently at {place}")


def _difference(own: Any, recorded: Any, place: str = "evidence") -> str | None:
    """Where two records differ first; None: nowhere."""
    if isinstance(own, dict) and isinstance(recorded, list):  # columns, written row by row
        recorded = {name: [row[name] for row in recorded] for name in own}
    if isinstance(own, dict) and isinstance(recorded, dict):
        if own.keys() != recorded.keys():
            return place
        found = (_difference(own[k], recorded[k], f"{place}.{k}") for k in own)
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
