"""How things look in a notebook: small tables, with bars, in the notebook's own colours.

:class:`Live` shows something once, and then in the same place again and again, as it changes:

>>> import surepick as sp
>>> problem = sp.Problem([[1.0], [2.0]], noise=1.0)
>>> answer = sp.identify(problem, lambda arm: 3.0 * arm, on_batch=sp.notebook.Live())
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from surepick.errors import MissingExtraError

MOST_ROWS = 12  #: of a table; the rest is counted
_BAR = (
    '<span style="display:inline-block;width:6em;background:rgba(128,128,128,.2);'
    'border-radius:2px;vertical-align:middle"><span style="display:block;height:.7em;'
    'width:{percent:.0f}%;background:#0072B2;border-radius:2px"></span></span>'
)


def panel(title: str, *parts: str) -> str:
    """A box: a title, and below it what :func:`text` and :func:`table` made."""
    return f"<div><strong>{html.escape(title)}</strong>{''.join(parts)}</div>"


def text(words: str) -> str:
    """A line of text."""
    return f'<div style="max-width:60em">{html.escape(words)}</div>'


def table(
    columns: Mapping[str, Sequence[Any]], *, bars: Sequence[str] = (), total: int | None = None
) -> str:
    """A table with a row for each entry of the columns; those named in ``bars`` get bars, too.

    ``total`` says how many rows there are, where the columns hold the first ones only.

    Examples
    --------
    >>> "&lt;b&gt;" in table({"option": ["<b>"], "pulls": [3]})
    True
    """
    rows = max((len(values) for values in columns.values()), default=0)
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
    most = {name: max((value or 0 for value in columns[name]), default=0) for name in bars}
    body = ""
    for i in range(min(rows, MOST_ROWS)):
        cells = ""
        for name, values in columns.items():
            shown = html.escape(number(values[i]))
            if most.get(name):
                shown = f"{_BAR.format(percent=100 * (values[i] or 0) / most[name])} {shown}"
            cells += f"<td>{shown}</td>"
        body += f"<tr>{cells}</tr>"
    more = (total or rows) - min(rows, MOST_ROWS)
    left = text(f"… and {more:,} more") if more else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{left}"


def number(value: Any) -> str:
    """A value as people read it; nothing for what is not known.

    Examples
    --------
    >>> number(12345), number(0.123456), number(float("inf")), number("a")
    ('12,345', '0.1235', '', 'a')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value + 0.0:.4g}" if isinstance(value, float) else str(value)  # -0 is 0


class Live:
    """Called with a run or a study: shown in the notebook, in place of what was shown before.

    It fits ``sp.identify(…, on_batch=sp.notebook.Live())``; in a loop of your own, call it with the
    run or the study whenever something was told. Outside a notebook it prints a line.
    """

    def __init__(self) -> None:
        try:
            from IPython.display import display
        except ImportError:
            raise MissingExtraError(
                "Live is for notebooks, and IPython is not installed: pip install ipython"
            ) from None
        self._display = display
        self._handle: Any = None

    def __call__(self, shown: Any) -> None:
        """Show it; from the second time on, in the same place."""
        if self._handle is None:
            self._handle = self._display(shown, display_id=True)
        else:
            self._handle.update(shown)
