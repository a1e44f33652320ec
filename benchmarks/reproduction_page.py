"""Put what ``surepick reproduce`` recorded into the pages that tell it.

``docs/reproduction.md`` and ``README.md`` have tables between ``<!-- recorded NAME -->`` and
``<!-- end -->``; they are written again from the summary of a results folder, and its figures are
copied to ``docs/figures``.

    surepick reproduce --constants printed,program,tight --jobs 16 --out results/reproduce
    python -m benchmarks.reproduction_page results/reproduce
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
from pathlib import Path
from typing import Any

from surepick.bench.reproduce.claims import judged
from surepick.bench.reproduce.figures import FIGURES
from surepick.bench.reproduce.reproduction import Reproduction
from surepick.report.pages import markdown_table
from surepick.report.plots import look
from surepick.report.reproduction import pulls_table
from surepick.research.levels import LEVELS
from surepick.simulate import Table

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs" / "reproduction.md", ROOT / "README.md")
_BLOCK = re.compile(r"(<!-- recorded (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_SHORT = (("a", 0.1), ("a", 0.5), ("c", 10.0), ("c", 50.0), ("d", 2.0), ("d", 10.0))


def read(path: Path) -> Table:
    """A table that was written as CSV, with numbers as numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{k: _value(v) for k, v in row.items()} for row in csv.DictReader(file)]
    return Table.from_rows(rows)


def _value(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and "." not in text and "e" not in text else number


def tables(summary: Table) -> dict[str, list[str]]:
    """Each table of the pages, by its name, as lines of Markdown."""
    plan = Reproduction(constants=LEVELS)
    claims = [{**row, "figure": f"({row['figure']})"} for row in judged(summary).rows()]
    found = {"claims": markdown_table(list(claims[0]), [list(row.values()) for row in claims])}
    for key in FIGURES:
        for level in LEVELS:
            found[f"{key} {level}"] = markdown_table(*pulls_table(plan, summary, key, level))
    heads = ["algorithm", *(f"({key})" for key in FIGURES)]
    found["right"] = markdown_table(heads, _right(summary))
    found["short"] = _short(summary)
    return found


def _right(summary: Table) -> list[list[str]]:
    """How often each algorithm was right, figure by figure."""
    cells: dict[str, dict[str, list[int]]] = {}
    for row in summary.rows():
        cell = cells.setdefault(row["algorithm"], {}).setdefault(row["figure"], [0, 0])
        cell[0] += row["trials"] - row["errors"]
        cell[1] += row["trials"]
    return [
        [look(name)[0], *("{} of {}".format(*of[k]) if k in of else "" for k in FIGURES)]
        for name, of in cells.items()
    ]


def _short(summary: Table) -> list[str]:
    """Mean pulls at the ends of three figures, as printed and the best we can prove."""
    means = {(r["figure"], r["point"], r["algorithm"]): r["mean"] for r in summary.rows()}
    bound = {(r["figure"], r["point"]): r["lower_bound"] for r in summary.rows()}
    names = dict.fromkeys(
        name for level in ("printed", "tight") for name in FIGURES["d"].algorithms(level)
    )
    axes = {key: FIGURES[key].axis.split()[-1] for key in FIGURES}
    head = ["mean measurements", *(f"({k}) {axes[k]} = {x:g}" for k, x in _SHORT)]
    rows = [
        [look(name)[0], *(f"{means[k, x, name]:,.0f}" for k, x in _SHORT)]
        for name in names
        if all((k, x, name) in means for k, x in _SHORT)
    ]
    return markdown_table(head, [*rows, ["lower bound", *(f"{bound[p]:,.0f}" for p in _SHORT)]])


def written(text: str, found: dict[str, list[str]]) -> str:
    """A page with its tables written again."""

    def again(block: re.Match[str]) -> str:
        return block[1] + "\n".join(found[block[2]]) + "\n" + block[3]

    return _BLOCK.sub(again, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="of surepick reproduce, with all three levels")
    folder = parser.parse_args().folder
    found = tables(read(folder / "summary.csv"))
    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8"), found), encoding="utf-8")
    for picture in sorted(folder.glob("figure_*.png")):
        shutil.copy(picture, ROOT / "docs" / "figures" / picture.name)


if __name__ == "__main__":
    main()
