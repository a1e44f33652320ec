"""Stands in for a laboratory: reads what to measure, prints how hard each coating came out.

Usage: surepick ask coatings -n 12 | python3 examples/scratch.py > monday.csv
"""

import random
import sys

GOOD = {"epoxy": 0.6, "acrylic": 0.0, "fast": 0.0, "slow": 0.5, "20": 0.0, "40": 0.4, "60": 0.9}


def hardness(label: str, pull: str) -> float:
    """One reading; two readings of the same coating differ by 0.3 or so."""
    error = random.Random(f"{label} {pull}").gauss(0.0, 0.3)
    return round(3.0 + sum(GOOD[part] for part in label.split("-")) + error, 2)


def main() -> None:
    """Measure one sample for each line."""
    print("pull,reward")
    for line in sys.stdin.read().splitlines()[1:]:
        pull, label = line.split("\t")[:2]
        print(f"{pull},{hardness(label, pull)}")


if __name__ == "__main__":
    main()
