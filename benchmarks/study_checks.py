"""Do the checks of a study keep their word? Rates over whole, simulated studies.

48 page layouts with main effects only; the truth has an interaction of two factors, or none. The
studies make the extra measurements of ``--check-fit``; the checks are looked at after every batch.
False alarms may have a rate of at most 0.05 (over the whole run), and interactions whose misfit is
as large as ``--check-fit`` says must be found at a rate of at least 0.9. Also: drift, and the error
rate of answers. Prints a line of JSON for each; the exit code says whether all hold.

Run with: python -m benchmarks.study_checks [--runs 400]
"""

import argparse
import json
import sys

from tests.study.layouts import found, rates


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    fine = True
    for inner in ("pooled-peleg", "peleg"):
        for size in (0.5, 1.0):
            for misfit in (0.0, size):
                result = rates(inner, runs, size=size, misfit=misfit)
                held = found(result["alarms"], runs, misfit > 0)
                held &= result["errors"] <= 0.05 or misfit > 0  # no promise on a wrong model
                fine &= held
                line = {"inner": inner, "check_fit": size, "misfit": misfit, **result}
                print(json.dumps(line | {"holds": bool(held)}), flush=True)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
