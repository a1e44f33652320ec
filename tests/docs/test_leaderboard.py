"""What the leaderboard tells of rivals is what was recorded.

Above each of these tables stands which it is: headings of the record, ``**title · part**`` or
``**title**``.
"""

import re

import pytest
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "leaderboard.md"
RECORDS = [ROOT / "benchmarks" / "results" / f"{name}.md" for name in ("rivals", "rivals_misfit")]


def table(lines):
    """Rows by their first cell; each has its cells by their column."""
    head, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def tables(pieces):
    """The first table of each (name, text) that has one."""
    found = {}
    for name, text in pieces:
        if lines := re.search(r"(?:^\|.*\|\n)+", text, re.M):
            found[name] = table(lines[0].splitlines())
    return found


def recorded():
    """``title · part`` → table."""
    pieces = []
    for path in RECORDS:
        _, *sections = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.M)
        for title, section in zip(sections[::2], sections[1::2], strict=True):
            own, *parts = re.split(r"^### (.+)$", section, flags=re.M)
            pieces += [(title, own)]
            pieces += [
                (f"{title} · {part}", text)
                for part, text in zip(parts[::2], parts[1::2], strict=True)
            ]
    return tables(pieces)


_, *told = re.split(r"^\*\*([^*]+)\*\*$", PAGE.read_text(encoding="utf-8"), flags=re.M)
TOLD = tables(zip(told[::2], told[1::2], strict=True))


@pytest.mark.parametrize("name", TOLD)
def test_tables_of_rivals_are_those_that_were_recorded(name):
    there = recorded()[name]
    for rule, row in TOLD[name].items():
        for column, cell in row.items():
            assert cell == there[rule][column], (rule, column)


def test_there_are_such_tables():
    assert len(TOLD) >= 4
