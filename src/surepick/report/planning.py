"""A forecast as a picture and as files."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surepick.bench.files import write_csv
from surepick.bench.forecast import (
    AB_TEST,
    ASKED,
    HALF_DELTA,
    HALF_GAP,
    LARGEST,
    LOWER_BOUND,
    Forecast,
)
from surepick.errors import MissingExtraError
from surepick.files import write_whole
from surepick.report import plots
from surepick.report.plots import look

_TITLE = 78  # characters of a line of the title
_FIXED = "0.45"  # grey: tests with a number of measurements fixed in advance


@dataclass(frozen=True)
class Row:
    """One method in the picture."""

    label: str
    colour: str
    pulls: float
    more: bool  #: whether runs were cut off, so that the true number is larger
    spread: tuple[float, float] | None  #: 10 % and 90 % quantile over runs
    half_gap: float
    half_delta: float


@dataclass(frozen=True)
class Chart:
    """A forecast, ready to be drawn: best method first."""

    title: str
    rows: Sequence[Row]
    bound: float


def chart(forecast: Forecast) -> Chart:
    """The data of the picture."""
    rows = []
    for method in forecast.methods:
        asked = forecast.cell(method, ASKED)
        if method == LOWER_BOUND or not math.isfinite(asked["mean"]):
            continue
        simulated = asked["kind"] == "simulated"
        label, colour = _named(method) if simulated else (method, _FIXED)
        rows.append(
            Row(
                label,
                colour,
                asked["mean"],
                asked["gave_up"] > 0,
                (asked["q10"], asked["q90"]) if simulated else None,
                forecast.cell(method, HALF_GAP)["mean"],
                forecast.cell(method, HALF_DELTA)["mean"],
            )
        )
    question = forecast.question
    title = (
        f"Measurements to find the best of {len(question.problem.distinct)} options\n"
        f"{question.words}; error probability {question.delta:g}"
    )
    return Chart(title, sorted(rows, key=lambda row: row.pulls), forecast.bound)


def draw_chart(data: Chart, formats: Sequence[str] = ("png", "pdf")) -> dict[str, bytes]:
    """The picture as files, by format."""
    plt = plots.pyplot()
    with plt.rc_context(plots.RC):
        figure, axes = plt.subplots(
            figsize=(7.2, 1.7 + 0.42 * len(data.rows)), layout="constrained"
        )
        for y, row in enumerate(data.rows):
            _draw_row(axes, y, row)
        if data.bound > 0:
            axes.axvline(data.bound, color="0.35", lw=1.2, ls=(0, (1, 1)))
        axes.set_xscale("log")
        axes.set_yticks(range(len(data.rows)), [row.label for row in data.rows])
        axes.set_ylim(len(data.rows) - 0.4, -0.7)
        _limits(axes, data)
        axes.set_xlabel("measurements (logarithmic)")
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
        axes.minorticks_off()
        title = "\n".join(textwrap.fill(line, _TITLE) for line in data.title.splitlines())
        axes.set_title(title, loc="left")
        axes.grid(axis="x", lw=0.4, color="0.88")
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0)
        figure.legend(
            handles=_legend(plt, data),
            loc="outside lower center",
            ncols=5,
            frameon=False,
            handletextpad=0.4,
            columnspacing=1.2,
        )
        files = {kind: plots.save(figure, kind) for kind in formats}
        plt.close(figure)
    return files


def _draw_row(axes: Any, y: int, row: Row) -> None:
    if row.spread is not None:
        axes.plot(row.spread, [y, y], color=row.colour, lw=5, alpha=0.25, solid_capstyle="round")
    axes.plot(row.half_delta, y, marker="|", ms=9, mew=1.6, color=row.colour, ls="")
    axes.plot(row.half_gap, y, marker=">", ms=5.5, mfc="white", color=row.colour, ls="")
    axes.plot(row.pulls, y, marker="o", ms=7, color=row.colour, ls="")
    axes.annotate(
        f"> {number(row.pulls)}" if row.more else number(row.pulls),
        (row.pulls, y),
        (0, 7),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=row.colour,
        fontweight="bold",
    )


def _limits(axes: Any, data: Chart) -> None:
    ends = [value for row in data.rows for value in (row.pulls, row.half_gap, *(row.spread or ()))]
    ends = [value for value in (*ends, data.bound) if math.isfinite(value) and value > 0]
    low, high = min(ends), max(ends)
    pad = (high / low) ** 0.04
    axes.set_xlim(low / pad, high * pad)


def _legend(plt: Any, data: Chart) -> list[Any]:
    def mark(label: str, **style: Any) -> Any:
        return plt.Line2D([], [], label=label, **({"color": "0.2", "ls": ""} | style))

    entries = [
        mark("as asked (mean)", marker="o", ms=7),
        mark("8 of 10 runs", lw=5, ls="-", alpha=0.25, solid_capstyle="round"),
        mark("half of δ", marker="|", ms=9, mew=1.6),
        mark("half the gap", marker=">", ms=5.5, mfc="white"),
    ]
    if data.bound > 0:
        entries.append(
            mark(f"lower bound: {number(data.bound)}", color="0.35", lw=1.2, ls=(0, (1, 1)))
        )
    return entries


def number(value: float) -> str:
    """A number of measurements, as precise as it deserves: three digits.

    Examples
    --------
    >>> number(123456), number(2_000_000), number(87.4)
    ('123,000', '2 million', '87')
    """
    if not math.isfinite(value):
        return "–"
    if value > 0:
        value = float(f"{value:.3g}")
    if value >= 1e9:
        return f"{value / 1e9:,.3g} billion" if value < 1e12 else f"{value:.2e}"
    if value >= 1e6:
        return f"{value / 1e6:.3g} million"
    return f"{value:,.0f}"


def _named(method: str) -> tuple[str, str]:
    label, colour, *_ = look(method.partition(":")[0])
    settings = method.partition(":")[2]
    return (f"{label} ({settings})" if settings else label), colour


def table(forecast: Forecast) -> tuple[list[str], list[list[str]]]:
    """Headings and rows for people, cheapest method first and the lower bound last."""
    bound = forecast.bound
    head = ["method", "measurements", "95 % interval", "9 of 10 runs", "× bound"]
    head += ["half the gap", "half of delta"]
    if not bound > 0:
        head.remove("× bound")
    keyed = []
    for method in forecast.methods:
        asked = forecast.cell(method, ASKED)
        simulated, cut = asked["kind"] == "simulated", asked["gave_up"] > 0
        whole = simulated and not cut and asked["trials"] > 0
        mean = asked["mean"]
        cells = [
            _label(forecast, method) if simulated else method,
            _measurements(asked),
            _interval(asked) if whole else "",
            f"≤ {number(asked['q90'])}" if whole else "",
        ]
        if bound > 0:
            times = f"{mean / bound:.1f}" if math.isfinite(mean) and method != LOWER_BOUND else ""
            cells.append(f"> {times}" if cut and times else times)
        cells += [_measurements(forecast.cell(method, s)) for s in (HALF_GAP, HALF_DELTA)]
        last = method == LOWER_BOUND
        keyed.append((last, mean if math.isfinite(mean) else math.inf, cells))
    return head, [cells for *_, cells in sorted(keyed, key=lambda row: row[:2])]


def _interval(cell: dict[str, Any]) -> str:
    return f"{number(cell['low'])} – {number(cell['high'])}" if cell["trials"] > 1 else ""


def explained(forecast: Forecast) -> str:
    """What the rows of the table are, as sentences."""
    question = forecast.question
    variance = "2·noise²"
    if question.base_rate is not None:
        variance = "(p(1 − p) + q(1 − q))"
    lines = [
        f"Algorithms: mean of {question.trials} simulated runs, on truths drawn at random and "
        f"scaled to the lead; differences within the intervals are chance (more --trials narrow "
        f"them). “>”: runs were cut off, the true number is larger.",
        f"{AB_TEST}: each option {variance}·(2z)²/lead² times, z the normal quantile of "
        f"1 − delta/(options − 1)"
        + (", p and q the two best rates." if question.base_rate is not None else "."),
        f"{LARGEST}: a quarter of that; correct only if the lead is known beforehand.",
    ]
    if forecast.bound > 0:
        lines.append(
            f"{LOWER_BOUND.capitalize()}: no method that is right with probability 1 − delta can "
            f"average less."
        )
    return "\n".join(lines)


def _measurements(cell: dict[str, Any]) -> str:
    """A mean, or what it is larger than where runs were cut off."""
    return f"> {number(cell['mean'])}" if cell["gave_up"] else number(cell["mean"])


def _label(forecast: Forecast, method: str) -> str:
    """The name of an algorithm, and how many of its runs were made where time was up."""
    label, question = _named(method)[0], forecast.question
    skipped = sum(forecast.cell(method, scenario)["skipped"] for scenario in question.scenarios)
    all_runs = len(question.scenarios) * question.trials
    return f"{label} (cut off: {all_runs - skipped} of {all_runs} runs)" if skipped else label


def write_report(forecast: Forecast, out: Path) -> tuple[list[str], list[str]]:
    """Write tables and picture; returns the files and what to tell about those left out."""
    out.mkdir(parents=True, exist_ok=True)
    write_csv(forecast.summary, out / "plan.csv")
    write_csv(forecast.runs, out / "runs.csv")
    files, notes = [str(out / "plan.csv"), str(out / "runs.csv")], []
    try:
        for kind, content in draw_chart(chart(forecast)).items():
            write_whole(out / f"plan.{kind}", content)
            files.append(str(out / f"plan.{kind}"))
    except MissingExtraError as missing:
        notes.append(f"no picture: {missing}")
    return files, notes
