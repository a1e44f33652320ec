"""From a table of options to a problem, and from a table of past measurements to pulls."""

from surepick.problem.tables.build import TableProblem, from_table
from surepick.problem.tables.past import PastTable, past_measurements

__all__ = ["PastTable", "TableProblem", "from_table", "past_measurements"]
