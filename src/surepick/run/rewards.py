"""Rewards handed in for a batch: checked, and summed up by arm.

Nothing here changes a run: what is refused leaves the batch open as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.algorithms.base import Pulls, State, ToldPulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_numbers
from surepick.errors import InvalidInputError, InvalidTypeError, listed
from surepick.problem import Problem
from surepick.problem.noise import REWARD
from surepick.run.batch import Batch
from surepick.text import as_line

_LARGEST = 1e75  # sums of rewards, in units of the noise: squares of variances are finite
_LARGEST_OF_ALL = 1e150  # in any unit: their squares are
_AGAIN = "nothing was recorded and the batch is still open: tell it again with correct rewards"


def check_rewards(problem: Problem, batch: Batch, arms: IntArray, rewards: Any) -> FloatArray:
    """One reward per pull, of these arms, or an error that names the first that cannot be."""
    values = as_numbers(rewards, "rewards")
    if len(values) != batch.size:
        raise InvalidInputError(
            f"rewards must have one entry per pull: {batch.size} expected, {len(values)} given"
        )
    kind, bad, but = problem.noise_kind, np.flatnonzero(~np.isfinite(values)), ""
    if not len(bad):
        bad, but = kind.impossible(values), f", but {kind.rule}"
    if len(bad):
        arm = int(arms[bad[0]])
        raise InvalidInputError(
            f"rewards[{bad[0]}] (arm {arm}, {problem.labels[arm]!r}) is {values[bad[0]]:g}{but}; "
            f"{_AGAIN}"
        )
    return kind.cut(values)


def sums_of(pulls: Pulls, rewards: FloatArray) -> FloatArray:
    """The sum for each row of the pulls, of one reward per pull as the rows list them."""
    return np.add.reduceat(rewards, np.cumsum(pulls.counts) - pulls.counts)


def check_one_of(problem: Problem, rewards: Any, sums: Any, singly: bool) -> None:
    """Refuse both and neither; and sums, where every single reward is needed."""
    if (rewards is None) == (sums is None):
        raise InvalidInputError("give either rewards (one per pull) or sums (one per arm)")
    if sums is not None and (singly or problem.noise_kind.cuts):
        raise InvalidInputError(
            f"sums: with {problem.noise_kind}, give every single reward (rewards=…); sums alone do "
            "not say enough"
        )


def check_sums(problem: Problem, batch: Batch, sums: Any) -> FloatArray:
    """The sum for each arm of the batch, of one sum per arm of the problem."""
    values = as_numbers(sums, "sums")
    if len(values) != problem.n_arms:
        raise InvalidInputError(
            f"sums must have one entry per arm of the problem: {problem.n_arms} expected, "
            f"{len(values)} given"
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InvalidInputError(
            f"sums[{bad[0]}] ({problem.labels[bad[0]]!r}) is {values[bad[0]]}; {_AGAIN}"
        )
    stray = values.copy()
    stray[batch.pulls.arms] = 0.0
    if stray.any():
        arm = int(np.flatnonzero(stray)[0])
        raise InvalidInputError(
            f"sums[{arm}] is {values[arm]}, but arm {arm} is not part of this batch: it must be 0"
        )
    sums = values[batch.pulls.arms]
    bad = problem.noise_kind.impossible_sums(batch.pulls.counts, sums)
    if len(bad):
        arm = int(batch.pulls.arms[bad[0]])
        raise InvalidInputError(
            f"sums[{arm}] ({problem.labels[arm]!r}) is {values[arm]:g} from "
            f"{batch.pulls.counts[bad[0]]} pulls, but {problem.noise_kind.rule}; {_AGAIN}"
        )
    return sums


def check_size(problem: Problem, arms: IntArray, totals: FloatArray, so_far: FloatArray) -> None:
    """Finite rewards may still be too large to be added up and estimated from."""
    most = np.minimum(_LARGEST * problem.noise_kind.units(arms), _LARGEST_OF_ALL)
    fine = np.abs(totals) + np.abs(so_far[arms]) < most
    if not fine.all():
        arm = int(arms[np.argmin(fine)])
        raise InvalidInputError(
            f"rewards of arm {arm} ({problem.labels[arm]!r}) are too large: their sum "
            f"must stay below {_LARGEST:g} in units of the noise; nothing was recorded"
        )


def check_past_size(problem: Problem, arms: IntArray, rewards: FloatArray) -> None:
    """Check that past measurements are not too large to be added up."""
    with np.errstate(over="ignore"):
        sums = np.bincount(arms, rewards, problem.n_arms).astype(np.float64)
        check_size(problem, np.arange(problem.n_arms), sums, np.zeros(problem.n_arms))


def spread_of(pulls: Pulls, rewards: FloatArray) -> FloatArray:
    """Σ (reward − mean)² of each row of the pulls, from the same."""
    means = sums_of(pulls, rewards) / pulls.counts
    return sums_of(pulls, (rewards - np.repeat(means, pulls.counts)) ** 2)


def standardised(problem: Problem, told: ToldPulls) -> ToldPulls:
    """What was told, as algorithms take it: in units of the noise, and larger is better."""
    arms, spreads = told.pulls.arms, told.spreads
    if spreads is not None:
        spreads = spreads / problem.noise_kind.units(arms) ** 2
    return ToldPulls(told.pulls, problem.standardised(arms, told.sums), spreads, told.numbers)


def logged(
    pulls: Pulls,
    sums: FloatArray,
    spreads: FloatArray | None = None,
    numbers: dict[str, list[Any]] | None = None,
    after: int | None = None,
) -> dict[str, Any]:
    """A batch as the certificate has it."""
    told: dict[str, Any] = {"arms": pulls.arms, "counts": pulls.counts, "sums": sums}
    if after is not None:
        told["after"] = after
    if pulls.parts is not None:
        told["parts"] = pulls.parts
    if spreads is not None:
        told["spreads"] = spreads
    if numbers is not None:
        names = ("sums", "spreads")
        told["numbers"] = {
            number: {name: own for name, own in zip(names, columns) if own is not None}
            for number, columns in numbers.items()
        }
    return told


def unlogged(batch: dict[str, Any]) -> ToldPulls:
    """What a batch of a log says."""
    pulls = Pulls(batch["arms"], batch["counts"], batch.get("parts"))
    numbers = batch.get("numbers")
    if numbers is not None:
        numbers = {name: [own["sums"], own.get("spreads")] for name, own in numbers.items()}
    return ToldPulls(pulls, batch["sums"], batch.get("spreads"), numbers)


#: names, as objects
TextArray = NDArray[np.object_]
_LONGEST = 200  # characters of a name


def check_strata(
    batch: Batch, strata: Any, with_sums: bool, log: list[dict[str, Any]]
) -> TextArray | None:
    """The stratum of each pull, or an error that names what is wrong; None: there are none."""
    before = bool(log) and "stratum" in log[-1]
    if strata is None:
        if before:
            raise InvalidInputError(
                "strata: earlier batches were told with strata, so this one needs strata too"
            )
        return None
    if log and not before:
        raise InvalidInputError(
            "strata: earlier batches were told without strata, so leave strata out"
        )
    if with_sums:
        raise InvalidInputError("strata: give every single reward (rewards=…), not sums")
    if isinstance(strata, str | bytes) or not hasattr(strata, "__len__"):
        raise InvalidTypeError(f"strata must be a list with one name per pull; got {strata!r:.80}")
    if len(strata) != batch.size:
        raise InvalidInputError(
            f"strata must have one entry per pull: {batch.size} expected, {len(strata)} given"
        )
    names = [stratum_name(name, f"strata[{i}]") for i, name in enumerate(strata)]
    return np.array(names, dtype=object)


def stratum_name(name: Any, what: str) -> str:
    """The name of a stratum, a text or a whole number, or an error."""
    if isinstance(name, bool | np.bool_) or not isinstance(name, str | int | np.integer):
        raise InvalidTypeError(f"{what} must be a text or a whole number; got {name!r:.80}")
    return as_line(str(name), what, _LONGEST)


def split_strata(
    state: State, batch: Batch, rewards: FloatArray, names: TextArray
) -> dict[str, ToldPulls]:
    """What was told of each stratum, in the order of their names.

    Rewards and names come as the rows of the batch list its pulls.
    """
    arms = np.repeat(batch.pulls.arms, batch.pulls.counts)
    found, of = np.unique(names.astype(str), return_inverse=True)
    strata = {}
    for number, name in enumerate(found):
        own = np.flatnonzero(of == number)
        own = own[batch.within(own)]
        told = state.stratum(arms[own], rewards[own])
        strata[str(name)] = told if state.needs_spread else told._replace(spreads=None)
    return strata


class Record:
    """All that was told since the run began."""

    def __init__(self, n_arms: int) -> None:
        self.pulls: IntArray = np.zeros(n_arms, dtype=np.int64)  #: of each arm
        self.sums: FloatArray = np.zeros(n_arms)  #: of the rewards of each arm
        self.samples = 0  #: all pulls: adding up ten million arms takes time
        self.log: list[dict[str, Any]] = []  #: batches, as certificates list them

    @property
    def in_strata(self) -> bool:
        """Whether rewards belong to days, plates, …"""
        return bool(self.log) and "stratum" in self.log[-1]

    def add(self, told: ToldPulls) -> None:
        self.samples += told.pulls.total
        np.add.at(self.pulls, told.pulls.arms, told.pulls.counts)
        np.add.at(self.sums, told.pulls.arms, told.sums)

    def add_totals(self, pulls: IntArray, sums: FloatArray) -> int:
        made = int(pulls.sum())
        self.pulls += pulls
        self.sums += sums
        self.samples += made
        return made

    def keep(self, told: ToldPulls, after: int | None, stratum: str | None = None) -> None:
        """Keep a batch, or what was told of one stratum, asked for ``after`` so many were told."""
        said = {} if stratum is None else {"stratum": stratum}
        self.log.append(logged(*told, after) | said)

    def told(self, first: int = 0) -> list[ToldPulls]:
        return [unlogged(batch) for batch in self.log[first:]]

    def with_past(self, batches: list[dict[str, Any]]) -> tuple[IntArray, FloatArray]:
        """Pulls and sums of each arm, together with those of batches from before the run."""
        counts, sums = self.pulls.copy(), self.sums.copy()
        for batch in batches:
            np.add.at(counts, batch["arms"], batch["counts"])
            np.add.at(sums, batch["arms"], batch["sums"])
        return counts, sums

    def as_one(self) -> list[dict[str, Any]]:
        """All pulls as one batch of a log."""
        whole = Pulls.from_counts(self.pulls)
        return [logged(whole, self.sums[whole.arms])]

    def grow(self, count: int) -> None:
        self.pulls = np.append(self.pulls, np.zeros(count, dtype=np.int64))
        self.sums = np.append(self.sums, np.zeros(count))

    def load(self, pulls: IntArray, sums: FloatArray, log: list[dict[str, Any]]) -> None:
        self.pulls, self.sums, self.log, self.samples = pulls, sums, log, int(pulls.sum())


_LARGEST_NUMBER = 1e100  # of a number: sums of their squares are finite
SINGLY = "sums: where a measurement has further numbers, give every single one (rewards=…)"
_TELL_AGAIN = "nothing was recorded: tell it again"


def separated(rewards: Any, numbers: Any) -> tuple[Any, Any]:
    """Rewards, and further numbers by their names, where each measurement may be a dict of all."""
    if isinstance(rewards, np.ndarray) or not isinstance(rewards, list | tuple):
        return rewards, numbers
    if not any(isinstance(one, Mapping) for one in rewards):
        return rewards, numbers
    if numbers is not None:
        raise InvalidInputError("numbers: rewards have them already; leave one of them out")
    for place, one in enumerate(rewards):
        if not isinstance(one, Mapping):
            raise InvalidTypeError(
                f"rewards[{place}] is {one!r:.80}, and others are dicts of a reward and further "
                f"numbers; {_TELL_AGAIN}"
            )
        if REWARD not in one:
            raise InvalidInputError(
                f"rewards[{place}] has no {REWARD!r}, only {listed(map(repr, one))}; {_TELL_AGAIN}"
            )
    names = list(dict.fromkeys(name for one in rewards for name in one if name != REWARD))
    for name in names:
        missing = [place for place, one in enumerate(rewards) if name not in one]
        if missing:
            raise InvalidInputError(f"rewards[{missing[0]}] has no {name!r}; {_TELL_AGAIN}")
    return [one[REWARD] for one in rewards], {n: [one[n] for one in rewards] for n in names}


def check_numbers(
    problem: Problem, state: State, size: int, arms: IntArray, numbers: Any
) -> dict[str, FloatArray]:
    """Further numbers of each pull, of these arms, or an error that names the first wrong one."""
    given = {} if numbers is None else numbers
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            f"numbers must have one value per pull for each name; got {numbers!r:.80}"
        )
    for name in given:
        if name not in problem.numbers:
            known = listed(map(repr, problem.numbers), repr(name)) or "none"
            raise InvalidInputError(
                f"numbers: no further number is called {name!r:.80}; there is {known}"
            )
    found = dict[str, FloatArray]()
    for name, values in given.items():
        found[name] = _checked(problem, size, arms, name, values)
    for one in state.further:
        if one.number not in found:
            raise InvalidInputError(
                f"numbers: {one.number!r} is missing, and options have to keep a limit on it; tell "
                f"it with every reward ({{{REWARD!r}: …, {one.number!r}: …}})"
            )
    return found


def _checked(problem: Problem, size: int, arms: IntArray, name: str, given: Any) -> FloatArray:
    values, kind = as_numbers(given, name), problem.numbers[name]
    if len(values) != size:
        raise InvalidInputError(
            f"{name} must have one entry per pull: {size} expected, {len(values)} given"
        )
    bad = np.flatnonzero(~(np.abs(values) < _LARGEST_NUMBER))
    rule = "it must be a number"
    if not len(bad):
        bad, rule = kind.impossible(values), kind.rule
    if len(bad):
        arm = int(arms[bad[0]])
        raise InvalidInputError(
            f"{name} of {problem.labels[arm]!r} is {values[bad[0]]:g}, but {rule}; {_TELL_AGAIN}"
        )
    return kind.cut(values)


def further_sums(
    state: State, pulls: Pulls, numbers: dict[str, FloatArray] | None
) -> dict[str, list[Any]] | None:
    """Sums, and spreads where they count, for each row of the pulls, as they are recorded."""
    if not state.further or numbers is None:
        return None
    found = dict[str, list[Any]]()
    for one in state.further:
        values = one.read(numbers[one.number])
        spread = spread_of(pulls, values) if one.spread else None
        found[one.name] = [sums_of(pulls, values), spread]
    return found


def check_number_sums(pulls: Pulls, numbers: dict[str, list[Any]]) -> None:
    """Refuse recorded sums of further numbers that no numbers which may be told add up to."""
    for name, (sums, spreads) in numbers.items():
        fine = np.abs(sums) < _LARGEST_NUMBER * pulls.counts
        if spreads is not None:
            fine &= np.asarray(spreads) < _LARGEST_NUMBER**2 * pulls.counts
        if not fine.all():
            raise InvalidInputError(
                f"{name}: its numbers are too large, {_LARGEST_NUMBER:g} or more each"
            )
