"""A measurement for trying surepick out: the rating that a visitor gives a page layout.

Usage: measure_layout.py LABEL. The layout is looked up in layouts.csv beside this file. In real
life this would show the layout to a visitor, call an API or drive an instrument; whatever it does,
it prints one number.
"""

import csv
import os
import random
import sys
from pathlib import Path

EFFECTS = {"short": 0.4, "photo": 0.6, "2": 0.5, "green": 0.5, "blue": 0.1, "round": 0.4}
NOISE = 0.5


def main() -> None:
    """Print one rating."""
    label = sys.argv[1]
    table = Path(__file__).with_name("layouts.csv")
    with table.open(newline="") as file:
        rows = {row.pop("label"): row for row in csv.DictReader(file)}
    # Each pull draws noise of its own, always the same one: a trial can be repeated exactly.
    draw = random.Random(f"{label}/{os.environ.get('SUREPICK_PULL', '')}")
    mean = 5.0 + sum(EFFECTS.get(value, 0.0) for value in rows[label].values())
    sys.stdout.write(f"{draw.gauss(mean, NOISE)}\n")


if __name__ == "__main__":
    main()
