"""One picture of a study: where its options stand, what was measured, how the race went.

Made of what all studies offer, so that one at a service is drawn as one that is here.
"""

from __future__ import annotations

import math
import re
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from surepick.algorithms.findings import PROVEN
from surepick.algorithms.limits.limit import parse_limit
from surepick.algorithms.questions import compares
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.report.plots import RC, pyplot, save
from surepick.run.standing import best_first, counted
from surepick.study import StudyCore

FORMATS = ("png", "pdf", "svg")
_LONGEST = 28  # characters of a label
_TITLE = 92  # characters of a line of the title, which is as wide as the picture
_NAMED = 4  # options that the title names at most
_NUMBERED = 8  # options of a matrix that has room for numbers
_MANY = 100  # options: from here on the last ones of a race would not be seen on an even axis
#: colour and words for what is known of an option
_STATES = {
    "leads": ("#000000", "leads"),
    "best": ("#009E73", "the answer"),
    "in": ("#0072B2", "not ruled out"),
    "out": ("#999999", "ruled out"),
    "retired": ("#CCCCCC", "retired"),
    "baseline": ("#000000", "what it is compared with"),
    "better": ("#009E73", "better"),
    "worse": ("#D55E00", "worse"),
    "close": ("#CC79A7", "as good"),
    "ruled_out": ("#999999", "ruled out"),
    "undecided": ("#0072B2", "not decided"),
}


class Row(NamedTuple):
    """One option."""

    label: str
    state: str  #: one of ``_STATES``
    value: float  #: its distance to what it is compared with
    low: float  #: between these two, at any time; infinite where nothing is known
    high: float
    mean: float | None  #: of its measurements
    pulls: int | None


class Limited(NamedTuple):
    """Rewards beside a further number that has a limit."""

    limit: str
    about: str  #: what is measured along the axis
    mark: float  #: the limit itself
    above: bool  #: whether it is kept above
    values: Sequence[float | None]  #: of the number, of each option that is shown
    ends: Sequence[tuple[float, float]]  #: between which it lies
    front: Sequence[bool]  #: whom nobody seems to beat on both; no proof


@dataclass(frozen=True)
class View:
    """What the picture says."""

    title: str
    subtitle: str
    compared: str  #: with what
    unit: str  #: what is counted: measurements or visits
    rows: Sequence[Row]
    hidden: int  #: options that have no room
    steps: Sequence[tuple[int, int]]  #: measurements so far, options still in
    percent: bool
    minimise: bool = False  #: whether smaller is better
    counted: str = "Options still in"  #: what the steps count
    #: where two are compared: for the options of two rows, how often the first won, and they met
    wins: Sequence[Sequence[tuple[float, int]]] = ()
    limited: Limited | None = None  #: where limits have to be kept, the first of them


def view(study: StudyCore, top: int = 15) -> View:
    """What to draw; ``top`` options at most, 0: all."""
    status = study.status()
    now = status["standing"]
    if now["leader"] is None:
        raise InvalidInputError(
            f"{study.name}: there is nothing to draw yet; measure some options first"
        )
    if status["pairs"]:
        return _of_pairs(study, status, top)
    best = best_first(now["minimise"])
    rows = sorted(_rows(status), key=lambda row: (best(row.value), row.label))
    shown = rows[: top or None]
    counts = [(row["samples"], row["survivors"]) for row in study.history()]
    unit = "visits" if status["traffic"] else "measurements"
    return View(
        title=_title(status),
        subtitle=f"{study.name}: {status['samples']:,} {unit}. {_promise(status)}",
        compared=_compared(status),
        unit=unit,
        rows=shown,
        hidden=len(rows) - len(shown),
        steps=[(0, status["started_with"]), *counts],
        counted="Undecided options" if compares(now["question"]) else "Options still in",
        percent="yes" in status["rewards"],
        minimise=now["minimise"],
        limited=_limited(study.problem, now, shown),
    )


def _limited(problem: Problem, now: dict[str, Any], rows: Sequence[Row]) -> Limited | None:
    """The first limit that has to be kept, if there is one."""
    if not now.get("marks"):
        return None
    text, columns = now["limits"][0], now["columns"]
    places = [columns["option"].index(row.label) for row in rows]
    found = [[columns[f"{text}: {name}"][i] for i in places] for name in ("mean", "low", "high")]
    ends = [
        (-math.inf if low is None else low, math.inf if high is None else high)
        for low, high in zip(found[1], found[2])
    ]
    front, mark = columns.get("front"), now["marks"][0]
    on = [front is not None and bool(front[i]) for i in places]
    said = parse_limit(text).said_of(problem)
    return Limited(said, mark.get("about", ""), mark["mark"], mark["above"], found[0], ends, on)


def _of_pairs(study: StudyCore, status: dict[str, Any], top: int) -> View:
    """Shares of wins, and who won against whom."""
    found = study.judgements()
    proven = status["finished"] and status["promise"]["kind"] in PROVEN
    rows = [
        Row(
            row["option"],
            "best" if proven and row["state"] == "leads" else row["state"],
            0.5 if row["share"] is None else row["share"],
            row["low"],
            row["high"],
            row["share"],
            row["met"],
        )
        for row in found["standings"]
    ]
    shown = rows[: top or None]
    places = [found["options"].index(row.label) for row in shown]
    won, met = found["won"], found["met"]
    counts = [(row["samples"], row["survivors"]) for row in study.history()]
    return View(
        title=_title(status),
        subtitle=f"{study.name}: {status['samples']:,} comparisons. {_promise(status)}",
        compared="share of wins in %, a tie counts half",
        unit="comparisons",
        rows=shown,
        hidden=len(rows) - len(shown),
        steps=[(0, status["started_with"]), *counts],
        percent=True,
        wins=[[(won[a][b], met[a][b]) for b in places] for a in places],
    )


def _rows(status: dict[str, Any]) -> list[Row]:
    now, minimise = status["standing"]["columns"], status["standing"]["minimise"]
    traffic = status["traffic"] or {}
    lifts, same = traffic.get("lift"), status["same_as"]
    found = []
    for i, label in enumerate(now["option"]):
        if same is not None and same[i] != i:
            continue  # the same features as an option that is shown
        state = now["state"][i]
        if status["finished"] and state == "leads" and status["promise"]["kind"] in PROVEN:
            state = "best"
        ruled_out = state == "out"  # which says more than how far it may be behind
        if lifts is not None and label == traffic["control"]:
            value, low, high = 0.0, None, None
            state = state if state == "best" else "baseline"
        elif lifts is not None:
            value, low, high = lifts[i] or (None, None, None)
        elif "lift" in now:
            value, low, high = now["lift"][i], now["lift_low"][i], now["lift_high"][i]
        else:
            value, low, high = (now[name][i] for name in ("behind", "behind_low", "behind_high"))
            if not minimise:  # who is behind is below
                value, low, high = (_minus(number) for number in (value, high, low))
        pulls = now["pulls"][i] if "pulls" in now else None
        mean = status["means"][i] if status["traffic"] else now["estimate"][i]
        if value is None:  # nothing is known of it
            continue
        low, high = (None, None) if ruled_out else (low, high)
        above, below = ("worse", "better") if minimise else ("better", "worse")
        if (state == above and (low or 0) < 0) or (state == below and (high or 0) > 0):
            low, high = None, None  # the claim says more
        ends = (-math.inf if low is None else low, math.inf if high is None else high)
        found.append(Row(label, state, value, *ends, mean, pulls))
    return found


def _minus(end: float | None) -> float | None:
    return None if end is None else -end


def _compared(status: dict[str, Any]) -> str:
    traffic = status["traffic"]
    if traffic and traffic["lift"] is not None:
        return f"compared with {_short(traffic['control'])} (the control)"
    same = " on the same questions" if status["items"] else ""
    if not compares(status["standing"]["question"]):
        return f"compared with {_short(status['leader'])}{same}"
    states = status["standing"]["columns"]["state"]
    if "baseline" in states:
        baseline = status["standing"]["columns"]["option"][states.index("baseline")]
        return f"compared with {_short(baseline)}{same}"
    return "compared with the number given"


def _promise(status: dict[str, Any]) -> str:
    """What is promised; nothing about an answer that is not there yet."""
    kind, baseline = status["promise"]["kind"], compares(status["standing"]["question"])
    if status["finished"] or baseline or kind not in PROVEN:
        return status["promise"]["text"]
    return "There is no answer yet."


def _title(status: dict[str, Any]) -> str:
    if status["traffic"]:
        return status["traffic"]["headline"]
    now = status["standing"]
    states, labels = now["columns"]["state"], now["columns"]["option"]
    if compares(now["question"]):
        return counted(states)
    named = [_short(label) for label, state in zip(labels, states) if state == "leads"]
    several = len(named) > 1
    who = ", ".join(named) if len(named) <= _NAMED else f"{len(named)} options"
    if status["finished"] and now.get("limits") and not status["survivors"]:
        return f"No option keeps {' and '.join(now['limits'])}"
    if status["finished"]:
        return f"{who} {_verdict(status, several)}"
    left = f"{len(status['survivors'])} of {status['options']} options still in"
    return f"{who} lead{'' if several else 's'}; {left}"


def _verdict(status: dict[str, Any], several: bool) -> str:
    kind = status["promise"]["kind"]
    if kind not in PROVEN:
        return f"look{'' if several else 's'} best, which is not proven"
    verb = "are" if several else "is"
    return f"{verb} {status['promise']['close']}" if kind == "eps-pac" else f"{verb} the answer"


def _short(label: str) -> str:
    label = " ".join(label.split())
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


# -- drawing ----------------------------------------------------------------------------------
def draw(seen: View, formats: Sequence[str] = ("png",)) -> dict[str, bytes]:
    """The picture as files, by format; the same view always gives the same bytes."""
    plt = pyplot()
    with plt.rc_context(RC), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # of labels in any script
        height = 1.7 + 0.24 * max(len(seen.rows), 5)
        figure, (standing, counts, race) = plt.subplots(
            1,
            3,
            figsize=(10.0, height),
            layout="constrained",
            width_ratios=(4.4, 3.6, 2.6) if seen.wins else (5, 2.6, 3),
        )
        sentences = re.split(r"(?<=\.) (?=[A-Z])", seen.title)
        title = "\n".join(textwrap.fill(one, _TITLE) for one in sentences)
        _plain(figure.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left"))
        _draw_standing(standing, seen)
        if seen.limited is not None:
            _draw_limited(counts, seen, seen.limited)
        else:
            (_draw_wins if seen.wins else _draw_counts)(counts, seen)
        _draw_race(race, seen)
        _plain(figure.text(0.01, -0.02, seen.subtitle, fontsize=8, color="0.35", va="top"))
        with plt.rc_context({"savefig.bbox": "tight", "savefig.pad_inches": 0.1}):
            files = {kind: save(figure, kind) for kind in formats}
        plt.close(figure)
    return files


def _plain(text: Any) -> None:
    text.set_parse_math(False)  # a dollar in a label is a dollar


def _places(seen: View) -> list[int]:
    return [*range(len(seen.rows), 0, -1)]


def _draw_standing(axes: Any, seen: View) -> None:
    times = 100.0 if seen.percent else 1.0
    known = set()
    for place, row in zip(_places(seen), seen.rows):
        colour, word = _STATES[row.state]
        ends = [row.low, row.high]
        if all(map(math.isfinite, ends)):
            axes.plot([times * end for end in ends], [place, place], color=colour, lw=1.6)
        fill = "white" if row.state == "out" else colour
        mark = "D" if row.state == "baseline" else "o"
        label = None if word in known else word
        known.add(word)
        dot = {"ms": 5.5, "color": colour, "mfc": fill, "label": label, "zorder": 3}
        axes.plot([times * row.value], [place], mark, **dot)
    axes.axvline(50.0 if seen.wins else 0.0, color="0.6", lw=0.8, zorder=0)
    numbers = [f"{i}. " if seen.wins else "" for i in range(1, len(seen.rows) + 1)]
    names = [f"{number}{_short(row.label)}" for number, row in zip(numbers, seen.rows)]
    axes.set_yticks(_places(seen), names)
    for tick in axes.get_yticklabels():
        _plain(tick)
    axes.set_ylim(0.4, len(seen.rows) + 0.6)
    if seen.wins:
        axes.set_xlim(-2, 102)
    else:
        _limits(axes, seen, times)
    said = [seen.compared, *(["in points"] if seen.percent and not seen.wins else [])]
    _plain(axes.set_xlabel(", ".join([*said, *(["smaller is better"] if seen.minimise else [])])))
    shown = len(seen.rows)
    of_all = f": the first {shown} of {shown + seen.hidden:,}" if seen.hidden else ""
    axes.set_title(f"Where the options stand{of_all}", loc="left")
    axes.grid(axis="x", lw=0.4, color="0.9")
    # Room around the words, and dots in front: what is best by their centres may hide half of one.
    words = {"frameon": True, "framealpha": 0.85, "edgecolor": "none", "fontsize": 8}
    axes.legend(loc="best", borderpad=0.9, **words).set_zorder(2.5)


def _draw_limited(axes: Any, seen: View, limited: Limited) -> None:
    """Two numbers as axes, and the limit."""
    times = 100.0 if seen.percent else 1.0
    own = zip(seen.rows, limited.values, limited.ends, limited.front)
    for row, value, ends, on_front in own:
        if value is None or row.mean is None:
            continue
        colour = _STATES[row.state][0]
        if all(map(math.isfinite, ends)):
            axes.plot([times * row.mean] * 2, ends, color=colour, lw=1.2)
        fill = "white" if row.state == "out" else colour
        axes.plot([times * row.mean], [value], "o", ms=5.5, color=colour, mfc=fill, zorder=3)
        if on_front:
            axes.plot([times * row.mean], [value], "o", ms=10, mec="0.25", mfc="none", mew=0.9)
        how = {"xytext": (6, 5), "textcoords": "offset points", "fontsize": 7}
        _plain(axes.annotate(_short(row.label), (times * row.mean, value), **how))
    axes.axhline(limited.mark, color="#D55E00", lw=1.2, ls="--")
    low, high = axes.get_ylim()
    broken = (low, limited.mark) if limited.above else (limited.mark, high)
    axes.axhspan(*broken, color="#D55E00", alpha=0.08, zorder=0)
    axes.set_ylim(low, high)
    _plain(axes.set_title(_short(limited.limit), loc="left"))
    _plain(axes.set_ylabel(limited.about, fontsize=8))
    rings = "\nringed: not beaten on both, no proof" if any(limited.front) else ""
    axes.set_xlabel(("reward, in %" if seen.percent else "reward") + rings)


def _limits(axes: Any, seen: View, times: float) -> None:
    """Room for all values, and for their ends unless those are far wider than all of them."""
    values = [times * row.value for row in seen.rows]
    ends = [times * end for row in seen.rows for end in (row.low, row.high) if math.isfinite(end)]
    low, high = min(values), max(values)
    width = max(high - low, 1e-12)
    low = min([low, *(end for end in ends if end > low - 1.5 * width)])
    high = max([high, *(end for end in ends if end < high + 1.5 * width)])
    pad = 0.05 * max(high - low, 1e-9)
    axes.set_xlim(low - pad, high + pad)


def _draw_counts(axes: Any, seen: View) -> None:
    pulls = [row.pulls or 0 for row in seen.rows]
    colours = [_STATES[row.state][0] for row in seen.rows]
    axes.barh(_places(seen), pulls, height=0.55, color=colours, alpha=0.75)
    axes.set_yticks(_places(seen), [_number(row.mean, seen.percent) for row in seen.rows])
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_ylim(0.4, len(seen.rows) + 0.6)
    axes.set_xlabel(seen.unit)
    axes.set_title("Means and counts", loc="left")
    _in_thousands(axes.xaxis)


def _draw_wins(axes: Any, seen: View) -> None:
    """Who won against whom, of the rows beside it; darker is more."""
    size = len(seen.rows)
    shares = [[100 * won / met if met else math.nan for won, met in row] for row in seen.wins]
    axes.imshow(
        shares,
        cmap="RdBu",
        vmin=-60,  # pale: numbers can be read, and one comparison does not shout
        vmax=160,
        aspect="auto",
        extent=(0.5, size + 0.5, 0.5, size + 0.5),
    )
    if size <= _NUMBERED:
        for row, place in enumerate(_places(seen)):
            for column, (won, met) in enumerate(seen.wins[row], start=1):
                if met:
                    text = f"{won:g}/{met}"
                    axes.text(column, place, text, ha="center", va="center", fontsize=6)
    axes.set_yticks(_places(seen), [str(i) for i in range(1, size + 1)], fontsize=7)
    axes.set_xticks(range(1, size + 1), [str(i) for i in range(1, size + 1)], fontsize=7)
    axes.set_ylim(0.5, size + 0.5)
    axes.set_xlabel("wins of the row against the column")
    axes.set_title("Who won against whom", loc="left")


def _number(mean: float | None, percent: bool) -> str:
    if mean is None:
        return ""
    return f"{100 * mean:#.3g}".rstrip(".") + " %" if percent else f"{mean:#.4g}".rstrip(".")


def _in_thousands(axis: Any) -> None:
    """Few numbers, written as people do: 150,000."""
    axis.get_major_locator().set_params(nbins=3, integer=True)
    axis.set_major_formatter("{x:,.0f}")


def _draw_race(axes: Any, seen: View) -> None:
    x, y = zip(*seen.steps)
    axes.step(x, y, where="post", color="#0072B2", lw=1.6)
    axes.plot([x[-1]], [y[-1]], "o", ms=5, color="#0072B2")
    if max(y) > _MANY:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.minorticks_off()
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlim(left=0)
    axes.set_xlabel(seen.unit)
    axes.set_title(seen.counted, loc="left")
    axes.grid(lw=0.4, color="0.9")
    _in_thousands(axes.xaxis)
