"""Tables on a terminal, and a console that is wide enough where there is none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from surepick.cli.studies import shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Columns = dict[str, Callable[[int], Any]]  #: by their heads: what stands there of option i


def console_of(width: int, **how: Any) -> Console:
    """Where to print: as wide as the terminal, and so many letters where there is none."""
    from rich.console import Console

    made = Console(highlight=False, **how)
    if not made.is_terminal:
        made.width = width
    return made


def table_of(
    heads: Sequence[str], rows: Sequence[Sequence[str]] = (), left: Collection[str] = ()
) -> Table:
    """A table of texts: the first column, and those named, to the left."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, head in enumerate(heads):
        justify = "right" if number and head not in left else "left"
        table.add_column(Text(head), justify=justify, no_wrap=head not in left)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def say_notes(console: Console, notes: Sequence[str], files: Sequence[str]) -> None:
    """What else there is to say, and which files were written."""
    from rich.text import Text

    for note in notes:
        console.print(Text(f"Note: {note}"), soft_wrap=True)
    console.print(Text(f"Written: {', '.join(files)}"), soft_wrap=True)


def of_options(
    labels: Sequence[str],
    order: Sequence[int],
    columns: Mapping[str, Callable[[int], Any]],
    top: int,
    *,
    left: Collection[int],
    wraps: Collection[str] = (),
) -> Table:
    """A row for each of the first options in this order; those that are not left are dim."""
    from rich.text import Text

    table = table_of(["option", *map(shown, columns)])
    table.columns[0].max_width = 40
    for column, head in zip(table.columns[1:], columns):
        column.no_wrap = head not in wraps
    for i in order[: top or None]:
        cells = (cell(i) for cell in columns.values())
        table.add_row(Text(shown(labels[i])), *cells, style="" if i in left else "dim")
    if top and len(order) > top:
        table.add_row(f"… and {len(order) - top} more (--top 0)", style="dim")
    return table
