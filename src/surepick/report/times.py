"""A picture of a race: every run of every option, and where half of them lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepick.report.plots import RC, pyplot, save
from surepick.timing.result import seconds

if TYPE_CHECKING:
    from surepick.timing import Beside, Fastest

_LONGEST = 40  # characters of a name
_EVEN = 8.0  # times the shortest: where the longest is not more than that, the axis is even
_MOST = 2000  # runs of an option that are drawn


def draw(found: Fastest | Beside, form: str) -> bytes:
    """The picture, as a file of this format.

    Every run is a dot; a thick line holds the middle half of them, and the median stands on it.
    """
    plt = pyplot()
    rows = found.rows[::-1]  # the quickest at the top
    jitter = np.random.default_rng(0)
    with plt.rc_context(RC):
        figure, axes = plt.subplots(figsize=(7.5, 1.4 + 0.55 * len(rows)), layout="constrained")
        for place, row in enumerate(rows):
            own = found.times[row.name][:_MOST]
            colour = "#009E73" if place == len(rows) - 1 else "#0072B2"
            heights = place + jitter.uniform(-0.14, 0.14, len(own))
            axes.plot(own, heights, ".", color=colour, markersize=5, alpha=0.4)
            low, middle, high = np.quantile(own, [0.25, 0.5, 0.75])
            axes.plot([low, high], [place, place], color="black", linewidth=2.5)
            axes.plot([middle], [place], "|", color="black", markersize=14, markeredgewidth=2.5)
            where = {"xy": (middle, place), "xytext": (0, 13), "textcoords": "offset points"}
            axes.annotate(seconds(middle), ha="center", **where)
        names = [
            row.name if len(row.name) <= _LONGEST else f"{row.name[:_LONGEST]}…" for row in rows
        ]
        axes.set_yticks(range(len(rows)), names)
        everything = np.concatenate([found.times[row.name] for row in rows])
        if everything.max() > _EVEN * everything.min() > 0:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter("")
        axes.xaxis.set_major_formatter(lambda value, _: seconds(value) if value > 0 else "0")
        axes.set_xlabel("time for one run")
        axes.set_title(str(found).partition(". ")[0], loc="left", wrap=True)
        return save(figure, form)
