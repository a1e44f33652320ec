"""Tables in Markdown, for pages that people read as text too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table.

    Examples
    --------
    >>> markdown_table(["option", "pulls"], [["a", "12"]])
    ['| option | pulls |', '|---|---|', '| a | 12 |']
    """
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
