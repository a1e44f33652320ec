"""Random requests to every operation of the service: no server error, no answer out of shape.

Half of the requests are valid according to the service's description; half are not, and must be
refused (where a request has anything that can be wrong). Each line of the output is one
operation, as JSON: how many answers of each status there were, and what was wrong (nothing must
be); the exit code says whether all is well.

Run with: python -m benchmarks.service_fuzz [--cases 1000] [--only 'POST /api/v1/plan' ...]
"""

import argparse
import json
import shutil
import sys
import time

from tests.postgres import fast_folder
from tests.server.fuzz import fuzz, operations
from tests.server.served import Served


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1000, help="Of each operation.")
    parser.add_argument("--only", nargs="*", default=[])
    asked = parser.parse_args()
    folder = fast_folder("sp-fuzz-")
    limits = ("--rate", "100000", "--stranger-rate", "100000", "--plan-seconds", "1")
    failures = errors = 0
    try:
        with Served(f"sqlite:///{folder}/studies.db", folder, *limits) as served:
            for name, operation in operations(served).items():
                if asked.only and name not in asked.only:
                    continue
                found = one(served, name, operation, asked.cases)
                failures += len(found["wrong"])
                print(json.dumps(found), flush=True)
            errors = served.log.read_text().count('"level": "error"')
    finally:
        shutil.rmtree(folder)
    print(json.dumps({"wrong": failures, "errors_logged": errors}))
    sys.exit(1 if failures or errors else 0)


def one(served: Served, name: str, operation: object, cases: int) -> dict:
    """One operation."""
    statuses: dict[int, int] = {}
    wrong = []
    started = time.monotonic()
    for mode in ("invalid", "valid"):
        wanted = cases // 2 if mode == "invalid" else cases - sum(statuses.values())
        try:
            counts = fuzz(served, operation, wanted, mode)
        except BaseExceptionGroup as group:
            wrong += [f"{mode}: {str(problem)[:500]}" for problem in group.exceptions]
            wrong.append(str(group)[:3000])
            continue
        for status, count in counts.items():
            statuses[status] = statuses.get(status, 0) + count
    total = sum(statuses.values())
    found = {"operation": name, "cases": total, "statuses": statuses, "wrong": wrong}
    return found | {"seconds": round(time.monotonic() - started, 1)}


if __name__ == "__main__":
    main()
