"""Measurements made before the run: what they may and may not be used for.

Whether old measurements count as evidence depends on one thing only: what decided which options
were measured, and how often.

- **Chosen in advance** (a survey of all options, a designed experiment, whatever was at hand): how
  often an option was measured did not depend on any reward. Then the old rewards are like those
  of any batch: the estimate from them is unbiased with the variance that theory says.
- **Chosen by results** (somebody kept measuring what looked good, or stopped when it looked good
  enough): the averages are biased, mostly upwards for what was measured most, and in a way that no
  formula knows. Counting them as evidence voids the guarantee. They may still *guide*: the new
  rewards know nothing of how they were chosen, so deciding what to measure first by them
  is safe, however wrong they are; it can only cost measurements.

Old measurements must also be of the same thing: same noise, same conditions, no drift since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.problem.problem import Problem
from surepick.problem.tables.cells import as_floats, is_numeric, require_complete
from surepick.problem.tables.read import Columns, read
from surepick.text import plural


@dataclass(frozen=True, eq=False)
class PastTable:
    """Old measurements, arm by arm.

    Examples
    --------
    >>> import pandas as pd
    >>> old = pd.DataFrame({"label": ["0", "1"], "reward": [1.0, 2.0]})
    >>> past_measurements(Problem([[0.0], [1.0]]), old, chosen_in_advance=False).evidence
    False
    """

    arms: NDArray[np.int64]  #: arm of each measurement, in the order of the table
    rewards: FloatArray  #: its reward
    counts: NDArray[np.int64]  #: measurements of each arm of the problem
    sums: FloatArray  #: sum of their rewards
    evidence: bool  #: whether they may count; otherwise they only guide
    notes: tuple[str, ...]  #: what this means, as sentences
    numbers: dict[str, FloatArray] | None = None  #: further numbers, where there are any

    @classmethod
    def of(
        cls, problem: Problem, arms: Any, rewards: Any, *, evidence: bool, numbers: Any = None
    ) -> PastTable:
        """From one arm and one reward per measurement, and a list for each further number."""
        counts = np.bincount(arms, minlength=problem.n_arms)
        sums = np.bincount(arms, weights=rewards, minlength=problem.n_arms).astype(np.float64)
        notes = _notes(counts, evidence)
        return cls(arms, rewards, counts, sums, evidence, notes, numbers or None)

    @property
    def total(self) -> int:
        """How many measurements there are."""
        return len(self.arms)


def past_measurements(
    problem: Problem,
    source: Any,
    *,
    chosen_in_advance: bool,
    label: str = "label",
    reward: str = "reward",
) -> PastTable:
    """Old measurements from a table with one row each.

    Parameters
    ----------
    problem
        Whose labels name the arms.
    source
        Path of a CSV or Parquet file, or a DataFrame.
    chosen_in_advance
        Whether what was measured, and how often, was decided without looking at rewards. There is
        no default: only whoever measured knows, and the guarantee depends on it.
    label, reward
        Names of the two columns. Further numbers of the problem are columns with their names.

    Examples
    --------
    >>> import pandas as pd
    >>> old = pd.DataFrame({"label": ["0", "1", "0"], "reward": [1.0, 2.0, 3.0]})
    >>> past = past_measurements(Problem([[0.0], [1.0]]), old, chosen_in_advance=True)
    >>> past.counts.tolist(), past.sums.tolist()
    ([2, 1], [4.0, 2.0])
    """
    if not isinstance(chosen_in_advance, bool):
        raise InvalidTypeError(
            f"chosen_in_advance must be true or false; got {chosen_in_advance!r:.80}"
        )
    table = read(source)
    require_complete(table, label)
    if not is_numeric(table, reward):
        raise InvalidInputError(
            f"{table.at(0, reward)}: {table.column(reward)[0]!r} is not a number; "
            f"rewards must be numbers"
        )
    number = {text: k for k, text in enumerate(problem.labels)}
    arms = np.empty(len(table), dtype=np.int64)
    for i, text in enumerate(str(cell) for cell in table.column(label)):
        if text not in number:
            raise UnknownNameError.among(
                f"option at {table.rows[i]} of {table.where}:", text, number
            )
        arms[i] = number[text]
    rewards = as_floats(table, reward)
    bad = problem.noise_kind.impossible(rewards)
    if len(bad):
        at, rule = table.at(int(bad[0]), reward), problem.noise_kind.rule
        raise InvalidInputError(f"{at}: {rewards[bad[0]]:.12g}, but {rule}")
    numbers = further_numbers(problem, table)
    return PastTable.of(problem, arms, rewards, evidence=chosen_in_advance, numbers=numbers)


def further_numbers(problem: Problem, table: Columns) -> dict[str, FloatArray]:
    """Those further numbers of the problem that the table has columns of, checked."""
    found = dict[str, FloatArray]()
    for name, kind in problem.numbers.items():
        if name not in table.cells:
            continue
        values = as_floats(table, name)
        bad = kind.impossible(values)
        if len(bad):
            raise InvalidInputError(
                f"{table.at(int(bad[0]), name)}: {values[bad[0]]:.12g}, but {kind.rule}"
            )
        found[name] = values
    return found


def _notes(counts: NDArray[np.int64], chosen_in_advance: bool) -> tuple[str, ...]:
    what = (
        f"{plural(int(counts.sum()), 'past measurement')} of "
        f"{plural(int(np.count_nonzero(counts)), 'option')}"
    )
    if chosen_in_advance:
        return (
            f"{what} count as evidence, because you said that the choice of measurements did not "
            "depend on rewards. If it did, the guarantee is void.",
        )
    return (
        f"{what} only guide what is measured first. They are not evidence, because the choice of "
        "measurements depended on rewards and their averages are biased.",
    )
