"""The files of a reproduction: tables, figures, and one page with everything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surepick.bench.files import write_csv, write_parquet
from surepick.bench.reproduce.claims import COMPETITIVE
from surepick.bench.reproduce.figures import figure
from surepick.bench.reproduce.reproduction import MAX_SAMPLES, Reproduction, Results
from surepick.errors import MissingExtraError
from surepick.files import write_whole
from surepick.report.pages import Page, markdown_table
from surepick.report.plots import Curve, Panel, draw_panel, look
from surepick.simulate.table import Table

LEVEL_WORDS = {
    "printed": "as printed",
    "program": "of the public programs",
    "tight": "the best we can prove",
}
CLAIMS_NOTE = (
    "Mean pulls over those of the best of the others, with the same level of constants; "
    f"competitive means at most {COMPETITIVE:g} times at every point."
)
CUT = "*"  # marks cells with trials that never stopped by themselves


def panel(plan: Reproduction, results: Results, key: str, level: str) -> Panel:
    """The data of one figure at one level of constants, ready to be drawn."""
    drawn, summary = figure(key), results.summary
    here = summary["figure"] == key
    curves = []
    for algorithm in plan.compared(drawn, level):
        cells = here & (summary["algorithm"] == algorithm) & (summary["trials"] > 0)
        x, mean = summary["point"][cells], summary["mean"][cells]
        sd = np.nan_to_num(summary["sd"][cells])
        curves.append(Curve(algorithm, x.tolist(), mean.tolist(), sd.tolist()))
    points = list(drawn.points)
    bound = [float(summary["lower_bound"][here & (summary["point"] == p)][0]) for p in points]
    counts = summary["trials"][here & np.isin(summary["algorithm"], plan.compared(drawn, level))]
    few, many = int(counts.min()), int(counts.max())
    said = f"{many} trials" if few == many else f"{few} to {many} trials"
    said += _constants(level)
    return Panel(f"({key}) {drawn.title}\n{said}", drawn.axis, curves, (points, bound))


def theorem_panel(results: Results, key: str) -> Panel:
    """PELEG as printed beside what its theorem and its phase length bound say."""
    drawn, table = figure(key), results.theorem
    here = table["figure"] == key
    curves = [
        Curve(name, table["point"][here].tolist(), table[column][here].tolist(), [0.0] * here.sum())
        for name, column in (
            ("Theorem 1", "theorem_1"),
            ("sum of phase bounds", "phase_bounds"),
            ("peleg-paper", "measured"),
        )
    ]
    return Panel(
        f"({key}) {drawn.title}\nthe paper's bounds and what was measured", drawn.axis, curves
    )


def write_report(plan: Reproduction, results: Results, out: Path, command: str) -> list[str]:
    """Write all files of a finished reproduction; returns notes for the user."""
    notes = []
    tables = {
        "trials": results.trials,
        "timings": results.timings,
        "summary": results.summary,
        "table1": results.table1,
        "success": success(results.summary),
    }
    for name, table in (("claims", results.claims), ("theorem", results.theorem)):
        if len(table):
            tables[name] = table
    for name, table in tables.items():
        write_csv(table, out / f"{name}.csv")
    for name in ("trials", "summary"):
        try:
            write_parquet(tables[name], out / f"{name}.parquet")
        except MissingExtraError as missing:
            notes.append(f"no {name}.parquet: {missing}")
    pictures: dict[str, bytes] = {}
    try:
        for key, level in _drawn(plan):
            for kind, content in draw_panel(panel(plan, results, key, level)).items():
                write_whole(out / f"figure_{key}{_ending(level)}.{kind}", content)
                if kind == "png":
                    pictures[key + level] = content
        for key in plan.figures if len(results.theorem) else ():
            for kind, content in draw_panel(theorem_panel(results, key)).items():
                write_whole(out / f"theorem_{key}.{kind}", content)
    except MissingExtraError as missing:
        notes.append(f"no figures: {missing}")
    write_whole(out / "summary.md", summary_page(plan, results, command))
    write_whole(out / "report.html", _page(plan, results, pictures, command))
    return notes


def _drawn(plan: Reproduction) -> list[tuple[str, str]]:
    """Each figure with each level at which it is drawn."""
    return [(key, level) for key in plan.figures for level in plan.levels]


def _ending(level: str) -> str:
    """Of a file's name: what the paper printed is the figure, the others are named."""
    return "" if level in ("", "printed") else f"_{level}"


def success(summary: Table) -> Table:
    """How often each algorithm was right, over all points of a figure."""
    from surepick.bench.summary import clopper_pearson

    cells: dict[tuple[str, str], list[int]] = {}
    for row in summary.rows():
        cell = cells.setdefault((row["figure"], row["algorithm"]), [0, 0])
        cell[0] += row["trials"]
        cell[1] += row["errors"]
    rows = []
    for (key, algorithm), (trials, errors) in cells.items():
        low, high = clopper_pearson(errors, trials)
        rows.append(
            {
                "figure": key,
                "algorithm": algorithm,
                "trials": trials,
                "errors": errors,
                "success": 1 - errors / trials if trials else float("nan"),
                "error_low": low,
                "error_high": high,
            }
        )
    return Table.from_rows(rows)


def pulls_table(
    plan: Reproduction, summary: Table, key: str, level: str
) -> tuple[list[str], list[list[str]]]:
    """Mean ± sd of the pulls: a row per algorithm, a column per point."""
    drawn = figure(key)
    header = ["", *(f"{drawn.axis.split()[-1]} = {p:g}" for p in drawn.points)]
    rows = []
    for algorithm in plan.compared(drawn, level):
        row = [look(algorithm)[0]]
        for p in drawn.points:
            at = (summary["figure"] == key) & (summary["point"] == p)
            cell = np.flatnonzero(at & (summary["algorithm"] == algorithm))
            row.append(_mean_sd(summary, int(cell[0])) if len(cell) else "")
        rows.append(row)
    bounds = ["lower bound"]
    for p in drawn.points:
        at = np.flatnonzero((summary["figure"] == key) & (summary["point"] == p))
        bounds.append(f"{summary['lower_bound'][at[0]]:,.0f}")
    return header, [*rows, bounds]


def _mean_sd(summary: Table, i: int) -> str:
    if not summary["trials"][i]:
        return "failed"
    sd = summary["sd"][i]
    spread = f" ± {sd:,.0f}" if sd == sd else ""
    return f"{summary['mean'][i]:,.0f}{spread}{CUT if summary['stopped_early'][i] else ''}"


def cut_short(summary: Table) -> list[str]:
    """What the mark in the tables means; nothing where there is none."""
    count = int(summary["stopped_early"].sum())
    if not count:
        return []
    which = "One trial" if count == 1 else f"{count} trials"
    return [
        f"{CUT} {which} in all lost the best arm and could not tell the equal arms left apart: cut "
        f"short at {MAX_SAMPLES:,} pulls, counted as wrong, left out of the means."
    ]


def _page(plan: Reproduction, results: Results, pictures: dict[str, bytes], command: str) -> str:
    page = Page("PELEG's experiments, reproduced")
    page.text(
        f"{plan.words}, delta = {plan.delta:g}, Gaussian noise of variance "
        f"one; error bars are one standard deviation. Made by `{command}`."
    )
    if len(results.claims):
        page.heading("What the paper says, and whether it holds")
        page.text(CLAIMS_NOTE)
        page.table(*_plain(results.claims))
    for key, level in _drawn(plan):
        drawn = figure(key)
        page.heading(f"Figure ({key}): {drawn.title}" + _constants(level))
        if key + level in pictures:
            page.picture(pictures[key + level], f"Pulls until the stop against {drawn.axis}.")
        page.table(*pulls_table(plan, results.summary, key, level))
    for note in cut_short(results.summary):
        page.text(note)
    page.heading("How often the answer was right")
    page.table(*_plain(success(results.summary)))
    page.heading("The paper's Table 1 as numbers")
    page.text(
        "The bounds are orders of magnitude with all constants set to one: compare how they "
        "grow along a figure, not their size."
    )
    page.table(*_plain(results.table1))
    return page.render()


def summary_page(plan: Reproduction, results: Results, command: str) -> str:
    """The numbers behind the figures and the success rates, as Markdown."""
    lines = [f"Mean pulls ± one standard deviation; made by `{command}`.", ""]
    if len(results.claims):
        lines += ["### What the paper says, and whether it holds", "", CLAIMS_NOTE, ""]
        lines += [*markdown_table(*_plain(results.claims)), ""]
    for key, level in _drawn(plan):
        lines += [f"### ({key}) {figure(key).title}{_constants(level)}", ""]
        lines += [*markdown_table(*pulls_table(plan, results.summary, key, level)), ""]
    for note in cut_short(results.summary):
        lines += [note.replace(CUT, f"\\{CUT}", 1), ""]
    lines += ["### How often the answer was right", ""]
    rates = [
        [
            f"({r['figure']})",
            look(r["algorithm"])[0],
            f"{r['trials'] - r['errors']} of {r['trials']}",
        ]
        for r in success(results.summary).rows()
    ]
    return "\n".join([*lines, *markdown_table(["figure", "algorithm", "right"], rates), ""])


def _constants(level: str) -> str:
    return f", constants {LEVEL_WORDS[level]}" if level else ""


def _plain(table: Table) -> tuple[list[str], Sequence[Sequence[Any]]]:
    rows = [
        [f"{v:,.4g}" if isinstance(v, float) else v for v in row.values()] for row in table.rows()
    ]
    return list(table.columns), rows
