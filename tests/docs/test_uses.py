"""Prices and pictures on the front pages are those that were recorded, and drawn by a command."""

import re

import pytest
from tests.docs.pages import ROOT, blocks
from tests.docs.test_pages import DOORS, README, USES

PRICES, GALLERY = USES / "prices.md", USES / "gallery.md"
_LARGE = re.compile(r"\d{1,3}(?:,\d{3})+")
_RECORDED = re.compile(r"`benchmarks/(results/\w+\.md)`")


def sections(page):
    return page.read_text(encoding="utf-8").split("\n## ")[1:]


@pytest.mark.parametrize("section", sections(PRICES), ids=lambda text: text.splitlines()[0])
def test_numbers_in_tables_of_prices_are_those_that_were_recorded(section):
    files = [ROOT / "benchmarks" / name for name in _RECORDED.findall(section)]
    recorded = "".join(path.read_text(encoding="utf-8") for path in files)
    for row in re.findall(r"^\|.*\|$", section, re.M):
        for number in _LARGE.findall(row):
            assert number in _LARGE.findall(recorded), row


@pytest.mark.parametrize("page", [README, *DOORS], ids=lambda page: page.stem)
def test_front_pages_tell_the_same_prices(page):
    """What a door says of visitors stands in the comparison, too."""
    text = page.read_text(encoding="utf-8").split("## For researchers")[0]
    told = {number for number in _LARGE.findall(text) if int(number.replace(",", "")) > 100_000}
    of_its_own = {"310,000"}  # of the study in the picture
    assert told - of_its_own <= set(_LARGE.findall(PRICES.read_text(encoding="utf-8")))


def test_every_picture_is_drawn_by_a_command_of_a_page_and_shown():
    drawn = {
        name
        for page in [*DOORS, GALLERY, ROOT / "docs" / "tutorials" / "limits.md"]
        for block in blocks(page)
        if block.is_run
        for name in re.findall(r"(?:--out|plan\.png) (\w+\.png)", block.code)
    }
    kept = {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    assert kept == drawn
    shown = GALLERY.read_text(encoding="utf-8")
    assert all(f"(../pictures/{name})" in shown for name in kept)


def test_readme_and_door_tell_the_same_number_of_calls():
    """The door's is what its block prints; it is told in hundreds, as it varies from run to run."""
    door = (USES / "prompts.md").read_text(encoding="utf-8")
    (calls,) = re.findall(r"^after ([\d,]+) measurements", door, re.M)
    about = f"{round(int(calls.replace(',', '')), -2):,}"
    for page in (README, USES / "prompts.md"):
        text = page.read_text(encoding="utf-8")
        told = re.findall(r"after about ([\d,]+) calls|[Aa]bout\s+([\d,]+) are enough", text)
        assert [max(pair) for pair in told] == [about, about], page.name
