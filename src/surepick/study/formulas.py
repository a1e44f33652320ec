"""Cells of tables that people open in a spreadsheet."""

from __future__ import annotations

import re
from typing import Any

# Spreadsheets see formulas here, and where a semicolon parts columns also after one; some read
# the signs of East Asian keyboards like the plain ones. A bar or a percent sign begins a command
# to another program, or a macro, in some.
_FORMULA = re.compile(r"(?:^|(?<=;))(?=[\s\"']*[=+\-@|%\t\r\uff1d\uff0b\uff0d\uff20\uff5c\uff05])")


def safe(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if not isinstance(cell, str) or not _FORMULA.search(cell):
        return "" if cell is None else cell
    try:
        float(cell)
    except ValueError:
        return _FORMULA.sub("'", cell)
    return cell if cell.isascii() else f"'{cell}"
