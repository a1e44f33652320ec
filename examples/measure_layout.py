"""A measurement for trying surepick out: the rating that a visitor gives a page layout.

Usage: measure_layout.py LABEL, a label of layouts.csv, which names the layout's parts. In real
life this would show the layout to a visitor, call an API or drive an instrument; whatever it does,
it prints one number.
"""

import os
import random
import sys

EFFECTS = {"short": 0.4, "photo": 0.6, "2": 0.5, "green": 0.5, "blue": 0.1, "round": 0.4}
NOISE = 0.5


def main() -> None:
    """Print one rating."""
    label = sys.argv[1]
    # Each pull draws noise of its own, always the same one: a trial can be repeated exactly.
    draw = random.Random(f"{label}/{os.environ.get('SUREPICK_PULL', '')}")
    mean = 5.0 + sum(EFFECTS.get(part, 0.0) for part in label.split("-"))
    sys.stdout.write(f"{draw.gauss(mean, NOISE)}\n")


if __name__ == "__main__":
    main()
