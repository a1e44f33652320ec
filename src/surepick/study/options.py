"""The options of a study as a table, and what in it describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem.tables import from_table
from surepick.problem.tables.build import TableProblem, as_list
from surepick.problem.tables.cells import naming, nothing_describes
from surepick.study.sheet import Sheet

#: what can be said of a table's columns
FEATURE_SETTINGS = ("features", "formula", "label", "unstructured", "cost")


@dataclass(frozen=True)
class OptionTable:
    """A table of options, and how features are made of it.

    Parameters
    ----------
    sheet
        The table.
    features, formula, label, unstructured, cost
        See :func:`surepick.problem.tables.from_table`.

    Examples
    --------
    >>> OptionTable(Sheet(csv="label,size\\na,1\\nb,2\\n")).problem().problem.n_arms
    2
    """

    sheet: Sheet
    features: Sequence[str] | str | None = None
    formula: str | None = None
    label: str | None = None
    unstructured: bool = False
    cost: str | None = None

    @classmethod
    def of(cls, source: Any, **how: Any) -> OptionTable:
        """From a CSV or Parquet file or a DataFrame."""
        return cls(Sheet.of(source), **how)

    @cached_property
    def featureless(self) -> bool:
        """Whether options are measured on their own: asked for, or there are labels only."""
        if self.unstructured or self.features is not None or self.formula is not None:
            return self.unstructured
        try:
            table = self.sheet.read()
            taken = [] if self.cost is None else [self.cost]
            label = self.label
            if label is None and table.index is None:
                label = naming(table, taken)
        except InvalidInputError:  # said where the table is used
            return False
        return nothing_describes(table, label, self.cost)

    def problem(
        self, noise: Any = None, misfit: float = 0.0, minimise: bool = False
    ) -> TableProblem:
        """The problem that it describes, and what became of its columns."""
        return from_table(
            self.sheet.read(),
            self.features,
            self.formula,
            self.label,
            noise,
            misfit,
            self.cost,
            unstructured=self.unstructured,
            minimise=minimise,
        )

    def cells(self, labels: Sequence[str]) -> dict[str, list[Any]]:
        """The table as it is, less the labels: whoever measures is given the cells of its row."""
        read = self.sheet.read().cells
        columns = {name: [plain_cell(c) for c in column] for name, column in read.items()}
        return {name: c for name, c in columns.items() if [str(cell) for cell in c] != list(labels)}

    @property
    def how(self) -> dict[str, Any]:
        """What describes the options in it, as far as it was said."""
        how = {key: getattr(self, key) for key in FEATURE_SETTINGS if getattr(self, key)}
        if "features" in how:
            how["features"] = as_list(how["features"])
        return how

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return self.sheet.to_dict() | self.how

    @classmethod
    def from_dict(cls, saved: Any) -> OptionTable:
        """What :meth:`to_dict` made."""
        if not isinstance(saved, Mapping):
            raise InvalidTypeError(f"table must be a table; got {saved!r:.80}")
        how = {key: saved[key] for key in FEATURE_SETTINGS if key in saved}
        rest = {key: value for key, value in saved.items() if key not in FEATURE_SETTINGS}
        return cls(Sheet.from_dict(rest, "table"), **how)


def plain_cell(cell: Any) -> Any:
    """A cell as it is kept with a study."""
    if cell is None or isinstance(cell, str | bool | int):
        return cell
    return str(cell)  # numbers of a Parquet file keep all their digits this way
