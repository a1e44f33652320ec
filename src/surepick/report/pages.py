"""One self-contained page: tables and pictures inside, nothing fetched. And tables in Markdown."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
figure { margin: 1rem 0; } img { max-width: 100%; background: white; border-radius: 4px; }
figcaption { font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
thead th { background: var(--soft); }
code { background: var(--soft); padding: .1rem .3rem; border-radius: 3px; }
"""


class Page:
    """A page built from top to bottom."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts = [f"<h1>{html.escape(title)}</h1>"]

    def heading(self, text: str) -> None:
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """A paragraph; words between backquotes are shown as code."""
        pieces = html.escape(text).split("`")
        marked = "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces))
        self._parts.append(f"<p>{marked}</p>")

    def picture(self, png: bytes, caption: str) -> None:
        """A picture, stored in the page itself."""
        data = base64.b64encode(png).decode("ascii")
        said = html.escape(caption)
        self._parts.append(
            f'<figure><img alt="{said}" src="data:image/png;base64,{data}">'
            f"<figcaption>{said}</figcaption></figure>"
        )

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """A table; the first column is on the left, numbers on the right."""
        head = "".join(f'<th scope="col">{html.escape(str(h))}</th>' for h in header)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        self._parts.append(
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def render(self) -> str:
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self._title)}</title><style>{_STYLE}</style></head>"
            f"<body>{''.join(self._parts)}</body></html>\n"
        )


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
