"""A sheet of rewards: a row for each pull, with its number, its reward, and perhaps the option."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surepick.errors import InvalidInputError
from surepick.problem.tables.cells import as_number, is_missing
from surepick.problem.tables.read import Columns, read
from surepick.study.pulls import UNASKED, Said
from surepick.text import number_of

#: columns that say which option was measured, whatever is in them
_OPTION = ("option", "label", "arm")


@dataclass(frozen=True)
class RewardSheet:
    """What a sheet says.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"pull": [3, 4], "option": ["a", "b"], "reward": ["4,56", None]})
    >>> sheet = RewardSheet.of(rows, ["a", "b"])
    >>> sheet.rewards, sheet.skipped
    ([(3, 4.56)], ["measurement 4 (table: column 'reward', row 1)"])
    """

    rewards: list[tuple[int, Any]]  #: pull and reward, or all numbers by their names
    said: list[Said]  #: of which option, where a column says so
    skipped: list[str]  #: rows without a reward: which pull, and where

    @classmethod
    def of(
        cls,
        source: Any,
        labels: Sequence[str],
        label_column: str | None = None,
        words: bool = False,
        numbers: Sequence[str] = (),
    ) -> RewardSheet:
        """From a CSV or Parquet file or a DataFrame.

        Parameters
        ----------
        labels
            What the options of the study are called.
        label_column
            What their column was called in the table of options.
        words
            Whether a reward may be a text: which of two options is better.
        numbers
            Columns of further numbers, which are read where they are there.
        """
        table = read(source)
        if "pull" not in table.cells and table.cells.keys() & {*_OPTION}:
            raise InvalidInputError(f"{table.where}: there is no column 'pull'; {UNASKED}")
        pulls, cells = table.column("pull"), table.column("reward")
        naming = _naming(table, labels, label_column)
        found = cls([], [], [])
        for i, cell in enumerate(cells):
            if is_missing(cell) and is_missing(pulls[i]):
                continue
            pull = _pull(table, i)
            if is_missing(cell):
                found.skipped.append(f"measurement {pull} ({table.at(i, 'reward')})")
            else:
                value = cell if words and isinstance(cell, str) else _number(table, i, "reward")
                more = {
                    name: _number(table, i, name)
                    for name in numbers
                    if name in table.cells and not is_missing(table.cells[name][i])
                }
                found.rewards.append((pull, {"reward": value} | more if more else value))
            for name in naming:
                option = table.cells[name][i]
                if not is_missing(option):
                    number = name.lower() == "arm"
                    found.said.append(Said(pull, option, table.at(i, name), number))
        return found

    def named(self, labels: Sequence[str]) -> list[tuple[int, float | str, str | None]]:
        """Pull, reward, and the label of the option where a column says which one it was."""
        said = {one.pull: one for one in self.said}
        found = []
        for pull, reward in self.rewards:
            one = said.get(pull)
            option = None if one is None else str(one.option)
            if one is not None and one.number and str(option).isdigit():
                option = labels[int(str(option))] if int(str(option)) < len(labels) else option
            found.append((pull, reward, option))
        return found


def _naming(table: Columns, labels: Sequence[str], label_column: str | None) -> list[str]:
    """The columns that say which option was measured.

    They are called so, or like the column of labels in the table of options; or they hold labels
    of this study and nothing else, which cannot be by chance where labels are no numbers.
    """
    known = {*_OPTION} | ({label_column.lower()} if label_column else set())
    worded = len(labels) <= 10_000 and all(as_number(label) is None for label in labels)
    names = set(labels) if worded else set()
    found = []
    for name, cells in table.cells.items():
        if name in ("pull", "reward"):
            continue
        there = [cell for cell in cells if not is_missing(cell)]
        if name.lower() in known or (there and all(cell in names for cell in there)):
            found.append(name)
    return found


def _pull(table: Columns, row: int) -> int:
    cell = table.cells["pull"][row]
    if is_missing(cell):
        raise InvalidInputError(
            f"{table.at(row, 'pull')} is empty, but the row has a reward; say which pull the "
            "reward is for"
        )
    number = as_number(cell)
    if number is None or number % 1:
        raise InvalidInputError(f"{table.at(row, 'pull')}: {cell!r:.80} is not a whole number")
    return int(number)


def _number(table: Columns, row: int, column: str) -> float:
    cell = table.cells[column][row]
    try:
        value = number_of(cell) if isinstance(cell, str) else float(cell)
        if not math.isfinite(value):
            raise InvalidInputError(f"{cell!r:.80} is not finite")
        return value
    except (InvalidInputError, TypeError, ValueError) as error:
        why = (
            str(error) if isinstance(error, InvalidInputError) else f"{cell!r:.80} is not a number"
        )
        raise InvalidInputError(f"{table.at(row, column)}: {why}") from None
