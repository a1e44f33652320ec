"""Which recorded results are older than the code that they measured.

A record may still be right: most changes decide nothing. It says how often, since the record was
committed, files changed that its benchmark leads to and that decide something: what is pulled, what
a pull pays, what is answered. Run those with many changes again before you quote them; with
``--check 5`` a benchmark says first whether five parts of its record come out as they did.

    python -m benchmarks.outdated            # all records, the most outdated first
    python -m benchmarks.outdated --most 3   # exit code 1 if one has more than 3 such changes

It needs the development tools, and the history of the repository.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tests.changed import leads_to

ROOT = Path(__file__).parent.parent
#: rooms whose changes can change a result
DECIDING = ("statistics", "game", "design", "algorithms", "simulate", "study.traffic", "timing")
#: records that a benchmark keeps under another name than its own
MADE_BY = {"drift_rising": "drift", "guide_strata": "guide_trust"}


def git(*arguments: str) -> str:
    """What git says here."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def deciding_files(benchmark: Path) -> list[str]:
    """Files of the package that a benchmark leads to and that can change what it finds."""
    rooms = tuple(f"surepick.{room}" for room in DECIDING)
    found = []
    for module in leads_to(benchmark):
        if module.startswith(rooms):
            base = Path("src", *module.split("."))
            file = base.with_suffix(".py")
            found.append(str(file if (ROOT / file).is_file() else base / "__init__.py"))
    return sorted(found)


def changes_since(record: Path) -> tuple[str, int] | None:
    """The day a record was committed, and the changes since; None where no benchmark is known."""
    benchmark = ROOT / "benchmarks" / f"{MADE_BY.get(record.stem, record.stem)}.py"
    if not benchmark.is_file():
        return None
    commit, _, day = git("log", "-1", "--format=%H %cs", "--", str(record)).partition(" ")
    files = deciding_files(benchmark)
    if not commit or not files:
        return None
    return day, len(git("log", "--format=%h", f"{commit}..HEAD", "--", *files).splitlines())


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, help="changes that are still fine")
    asked = parser.parse_args()
    rows = []
    for record in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        found = changes_since(record)
        if found is not None:
            rows.append((found[1], found[0], record.stem))
    print("changes since  committed   record")
    for changes, day, name in sorted(rows, key=lambda row: (-row[0], row[2])):
        print(f"{changes:13d}  {day}  {name}")
    return int(asked.most is not None and any(row[0] > asked.most for row in rows))


if __name__ == "__main__":
    sys.exit(main())
