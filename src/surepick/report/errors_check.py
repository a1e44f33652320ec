"""The files of an error check."""

from __future__ import annotations

from pathlib import Path

from surepick.bench.files import write_csv
from surepick.bench.reproduce.errors_check import ErrorCheck
from surepick.files import write_whole
from surepick.report.pages import Page
from surepick.simulate.table import Table


def write_report(plan: ErrorCheck, errors: Table, out: Path, command: str) -> list[str]:
    """Write the table and the page; returns notes for the user."""
    write_csv(errors, out / "errors.csv")
    page = Page("How often the answer was wrong")
    page.text(
        f"Error rates at delta = {plan.delta:g} with 99.9 % Clopper–Pearson intervals. Made by "
        f"`{command}`."
    )
    rows = [
        [
            row["algorithm"],
            row["instance"],
            f"{row['trials']:,}",
            f"{row['errors']:,}",
            f"{row['error_rate']:.5f}",
            f"{row['error_low']:.5f} – {row['error_high']:.5f}",
            "yes" if row["holds"] else "NO",
        ]
        for row in errors.rows()
    ]
    header = ["algorithm", "instance", "trials", "wrong", "rate", "interval", "at most delta"]
    page.table(header, rows)
    write_whole(out / "report.html", page.render())
    bad = [f"{r['algorithm']} on {r['instance']}" for r in errors.rows() if not r["holds"]]
    return [f"the error rate exceeds delta: {', '.join(bad)}"] if bad else []
