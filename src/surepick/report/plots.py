"""Drawing: thin functions over prepared data, matplotlib only."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.errors import MissingExtraError

# Okabe and Ito's palette, which people with any common colour vision can tell apart; markers and
# dashes say the same again for print in black and white.
LOOKS: dict[str, tuple[str, str, str, str]] = {
    # registry name: (label, colour, marker, line)
    "peleg-paper": ("PELEG (printed)", "#0072B2", "o", "-"),
    "peleg-adahedge": ("PELEG (AdaHedge)", "#332288", "p", "-"),
    "rage": ("RAGE", "#D55E00", "s", "-"),
    "lingape": ("LinGapE", "#009E73", "^", "-"),
    "xy-static": ("XY-static", "#CC79A7", "v", "--"),
    "xy-adaptive": ("XY-adaptive", "#CC79A7", "<", "-"),
    "xy-oracle": ("XY-oracle", "#7F7F7F", "P", "--"),
    "alba": ("ALBA", "#E69F00", "D", "--"),
    "lucb": ("LUCB", "#56B4E9", "X", "--"),
    "peleg": ("PELEG (tight)", "#0072B2", "*", ":"),
    "Theorem 1": ("Theorem 1", "#882255", "d", "-."),
    "sum of phase bounds": ("sum of phase bounds", "#44AA99", "d", "--"),
    "pooled-peleg": ("PooledPeleg", "#000000", "h", "-"),
}
_SPARE = ("#999933", "#882255", "#44AA99", "#117733", "#AA4499")


def look(name: str) -> tuple[str, str, str, str]:
    """Label, colour, marker and line of an algorithm."""
    plain, _, level = name.partition(":constants=")
    if plain in LOOKS and (not level or level.isalpha()):
        label, colour, marker, line = LOOKS[plain]
        return f"{label} ({level})" if level else label, colour, marker, line
    spare = _SPARE[sum(name.encode()) % len(_SPARE)]
    return name, spare, "d", "-."


@dataclass(frozen=True)
class Curve:
    """One algorithm along an axis: mean and standard deviation at each point."""

    algorithm: str
    x: Sequence[float]
    mean: Sequence[float]
    sd: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One figure, ready to be drawn."""

    title: str
    axis: str
    curves: Sequence[Curve]
    bound: tuple[Sequence[float], Sequence[float]] | None = None  #: lower bound: x and pulls


def draw_panel(panel: Panel, formats: Sequence[str] = ("png", "pdf")) -> dict[str, bytes]:
    """The panel as files, by format; the same panel always gives the same bytes."""
    plt = pyplot()
    with plt.rc_context(RC):
        figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
        for i, curve in enumerate(panel.curves):
            _draw_curve(axes, curve, _dodge(panel, i, len(panel.curves)))
        if panel.bound is not None:
            axes.plot(*panel.bound, color="0.35", lw=1.2, ls=(0, (1, 1)), label="lower bound")
        axes.set_title(panel.title)
        axes.set_xlabel(panel.axis)
        axes.set_ylabel("pulls until the stop")
        if _falls_below(panel):
            figure.supxlabel(BELOW, fontsize=7, color="0.35")
        if _decades(panel) > 1:
            axes.set_yscale("log")
            # powers of ten alone would be one or two ticks on a short axis
            axes.yaxis.get_major_locator().set_params(
                subs=(1, 2, 5) if _decades(panel) < 3 else (1,)
            )
            axes.yaxis.minorticks_off()
        else:
            axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(f"{{x:{PLAIN}}}")
        ticks = panel.curves[0].x if panel.curves else []
        labels = [f"{v:{PLAIN}}" for v in ticks]
        if sum(map(len, labels)) > 30:  # they would run into each other
            labels = [label if i % 2 == 0 else "" for i, label in enumerate(labels)]
        axes.set_xticks(ticks, labels)
        axes.grid(axis="y", lw=0.4, color="0.85")
        axes.set_axisbelow(True)
        # beside the axes, where it can never lie over the data
        figure.legend(loc="outside right center", frameon=False)
        files = {f: save(figure, f) for f in formats}
        plt.close(figure)
    return files


#: how ticks are written: 0.05 and 12,000, never 1.2e4
PLAIN = ",.10g"

#: said where a mean lies below the lower bound
BELOW = (
    "The lower bound applies to means over very many trials; means over few trials may lie below "
    "it."
)


def _falls_below(panel: Panel) -> bool:
    bound = dict(zip(*panel.bound)) if panel.bound is not None else {}
    return any(
        mean < bound.get(x, 0.0) for curve in panel.curves for x, mean in zip(curve.x, curve.mean)
    )


RC = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "surepick",
    "savefig.dpi": 200,
}


def _draw_curve(axes: Any, curve: Curve, shift: float) -> None:
    label, colour, marker, line = look(curve.algorithm)
    mean, sd = np.array(curve.mean), np.array(curve.sd)
    low = np.minimum(sd, mean * 0.95)  # a bar below zero has no place on a log axis
    axes.errorbar(
        np.array(curve.x) + shift,
        mean,
        yerr=np.stack([low, sd]),
        label=label,
        color=colour,
        marker=marker,
        ms=4.5,
        lw=1.3,
        ls=line,
        capsize=2,
        elinewidth=0.8,
    )


def _dodge(panel: Panel, i: int, n: int) -> float:
    """A small sideways shift, so that error bars of different curves do not hide each other."""
    x = panel.curves[0].x
    step = min(np.diff(x)) if len(x) > 1 else 1.0
    return float(step) * 0.22 * (i / max(n - 1, 1) - 0.5)


def _decades(panel: Panel) -> float:
    values = np.concatenate([np.array(c.mean) for c in panel.curves] or [np.ones(1)])
    return float(np.log10(values.max() / max(values.min(), 1e-12)))


@dataclass(frozen=True)
class Row:
    """One algorithm in one cell of a comparison: a value, and from where to where it varies."""

    algorithm: str
    value: float
    low: float
    high: float


def draw_rows(groups: Mapping[str, Sequence[Row]], axis: str, *, log: bool) -> bytes:
    """Cells of a comparison one above the other, each with a row for every algorithm, as PNG."""
    plt = pyplot()
    sizes = [len(rows) + 1.2 for rows in groups.values()]
    with plt.rc_context(RC):
        figure, axes = plt.subplots(
            len(groups),
            1,
            figsize=(6.4, 0.28 * sum(sizes) + 0.5),
            squeeze=False,
            layout="constrained",
            gridspec_kw={"height_ratios": sizes},
        )
        for one, (title, rows) in zip(axes[:, 0], groups.items()):
            for place, row in enumerate(rows):
                _, colour, marker, _ = look(row.algorithm)
                one.plot([row.low, row.high], [place, place], color=colour, lw=1.4)
                one.plot(row.value, place, marker, color=colour, ms=5, clip_on=False)
            one.set_yticks(range(len(rows)), [row.algorithm for row in rows])
            one.set_ylim(len(rows) - 0.4, -0.6)
            one.set_title(title, loc="left")
            one.set_xscale("log" if log else "linear")
            if log:
                one.xaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
                one.xaxis.set_major_formatter("{x:,.0f}")
                one.xaxis.set_minor_formatter(plt.NullFormatter())
            else:
                one.set_xlim(left=0)
        axes[-1, 0].set_xlabel(axis)
        content = save(figure, "png")
        plt.close(figure)
    return content


def save(figure: Any, kind: str) -> bytes:
    """The bytes of a figure in this format."""
    # No dates or version strings: the same data give the same file.
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        "svg": {"Date": None, "Creator": None},
    }
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata.get(kind))
    return buffer.getvalue()


def pyplot() -> Any:
    """matplotlib, set up to draw into files; an error that names the extra where it is missing."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("drawing needs matplotlib: install surepick[plot]") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
