"""Stands in for a site: reads shares (JSON) from its input, prints what a day of visitors came to.

Usage: surepick split shop --json | python3 examples/site.py DAY VISITORS > report.csv
"""

import json
import random
import sys
import zlib


def rate(label: str, day: int) -> float:
    """How often visitors of a layout buy; more at weekends, whatever they see."""
    usual = 0.02 + 0.01 * (zlib.crc32(label.encode()) % 1000) / 1000
    special = 0.02 if label == "long-photo-1-blue-round" else 0.0
    return (usual + special) * (1.3 if day % 7 > 4 else 1.0)


def main() -> None:
    """Draw visitors, and print the report."""
    day, visitors = int(sys.argv[1]), int(sys.argv[2])
    shares = json.load(sys.stdin)["shares"]
    draws = random.Random(day)
    sent = draws.choices(list(shares), list(shares.values()), k=visitors)
    visits = dict.fromkeys(shares, 0)
    bought = dict.fromkeys(shares, 0)
    for label in sent:
        visits[label] += 1
        bought[label] += draws.random() < rate(label, day)
    print("label,visits,successes")
    for label in shares:
        print(f"{label},{visits[label]},{bought[label]}")


if __name__ == "__main__":
    main()
