"""A suite's standings as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable

from surepick.algorithms.registry import DEFAULT
from surepick.bench.compare.standings import Place, Score, Standings
from surepick.bench.compare.suites import Group, Suite
from surepick.report.pages import markdown_table

_ENOUGH = 10  # trials of a cell below which a comparison of means is little more than a guess

HEADINGS: dict[Group, str] = {
    "proven": "Proven: wrong with probability at most δ",
    "heuristic": "Heuristic thresholds: no guarantee",
    "oracle": "Yardstick: knows θ*",
}
_EXPLAINED: dict[Group, str] = {
    "proven": "Ranked by mean pulls over the lower bound, geometric means over the instances.",
    "heuristic": "Stop by a threshold without a theorem; not comparable with the others.",
    "oracle": "Its design uses the truth, which nobody knows; its stopping rule is proven.",
}


def columns(standings: Standings) -> list[str]:
    """The headings of a ranking."""
    deltas = [f"δ = {delta:g}" for delta in standings.deltas]
    return ["", "algorithm", *deltas, "all", "× fewest", "cells", "capped", "wrong"]


def cells(place: Place, rank: int, standings: Standings) -> list[str]:
    """One row of a ranking."""
    at_least = "> " if place.capped else ""
    total = len(standings.instances) * len(standings.deltas)
    return [
        str(rank),
        place.algorithm,
        *(_number(place.by_delta[delta]) for delta in standings.deltas),
        at_least + _number(place.ratio),
        at_least + _number(place.times_fewest),
        f"{place.scored} of {total}",
        str(place.capped) if place.capped else "",
        f"{place.wrong} of {place.finished}",
    ]


def verdict(standings: Standings, champion: str = DEFAULT) -> list[str]:
    """Whether the champion took the fewest pulls everywhere, cell by cell where it did not."""
    rivals = [name for name in standings.members("proven") if name != champion]
    if champion not in standings.algorithms or not rivals:
        return []
    held = [s for s in standings.scores if s.algorithm == champion and not s.missing]
    lost = standings.defeats(champion)
    where = {(d.score.instance, d.score.delta) for d in lost}
    lines = [
        f"{champion} takes the fewest pulls of all proven algorithms in "
        f"{len(held) - len(where)} of {len(held)} cells (an instance at a delta)."
    ]
    fewest = min((s.trials for s in held), default=0)
    if fewest < _ENOUGH:
        lines[0] += (
            f" With {fewest} trials of each cell this says little: means and standard errors are "
            f"rough, and either order may be chance."
        )
    for d in lost:
        lines.append(
            f"{d.score.instance}, δ = {d.score.delta:g}: {d.rival.algorithm} "
            f"{_pulls(d.rival)}, {champion} {_pulls(d.score)} (+{100 * d.excess:.0f} %"
            + (f", {d.sigmas:.1f} standard errors)" if math.isfinite(d.sigmas) else ")")
        )
    return lines


def _pulls(score: Score) -> str:
    if math.isfinite(score.error):
        return f"{score.mean:,.0f} ± {score.error:,.0f}"
    return f"{score.mean:,.0f} (one trial)"


def markdown(
    standings: Standings, suite: Suite, command: str, trials: int, notes: Iterable[str] = ()
) -> str:
    """The whole page."""
    lines = [f"# {suite.title}", ""]
    lines += [f"Made by `{command}`.", ""]
    lines += [_explained(standings, suite, trials), ""]
    for which, heading in HEADINGS.items():
        places = standings.ranking(which)
        if places:
            rows = [cells(p, i, standings) for i, p in enumerate(places, 1)]
            lines += [f"## {heading}", "", _EXPLAINED[which], ""]
            lines += [*markdown_table(columns(standings), rows), ""]
    found = verdict(standings)
    if found:
        lines += [f"## Where {DEFAULT} is not first", "", found[0], ""]
        lines += [*(f"- {line}" for line in found[1:])] + ([""] if found[1:] else [])
    lines += _instances(standings, suite) + _scores(standings)
    missing = [f"- {a} on `{i}`: {why}" for a, i, why in standings.missing()]
    if missing:
        lines += ["## Cells without a score", "", *missing, ""]
    said = [f"- {note}" for note in notes]
    if said:
        lines += ["## Notes", "", *said, ""]
    return "\n".join(lines)


def _explained(standings: Standings, suite: Suite, trials: int) -> str:
    return (
        f"{len(standings.instances)} instances at δ = "
        f"{', '.join(f'{d:g}' for d in standings.deltas)}; {trials} trials of each cell (a quarter "
        f"of that for {', '.join(suite.costly)} and the heuristics, which take long or matter "
        f"less); N(0, σ²) noise. Numbers are mean pulls divided by the lower bound "
        f"2·kl(1−δ, δ)/D_θ* that holds for every δ-PAC algorithm. A trial gives up at "
        f"{suite.max_ratio:g} times the bound: such cells show `>`. An algorithm is too slow where "
        f"a trial computes for more than {suite.time_limit:g} s. “× fewest” is the geometric mean "
        f"of an algorithm's pulls over those of the best proven one in each cell; the ranking goes "
        f"by it, so that algorithms with missing cells can be ranked too. “wrong” counts the "
        f"trials that stopped by their own rule; those that gave up promise nothing."
    )


def _instances(standings: Standings, suite: Suite) -> list[str]:
    rows = []
    for number, instance in enumerate(standings.instances, 1):
        bounds = [
            f"{standings.score(standings.algorithms[0], instance, delta).bound:,.0f}"
            for delta in standings.deltas
        ]
        rows.append([str(number), f"`{instance}`", suite.what(instance), *bounds])
    head = ["", "instance", "what", *(f"bound, δ = {d:g}" for d in standings.deltas)]
    return ["## Instances", "", *markdown_table(head, rows), ""]


def _scores(standings: Standings) -> list[str]:
    lines = ["## Every cell", "", "Columns are the instances by their numbers above.", ""]
    numbers = [str(i) for i in range(1, len(standings.instances) + 1)]
    order = [p.algorithm for which in HEADINGS for p in standings.ranking(which)]
    for delta in standings.deltas:
        rows = [
            [name, *(str(standings.score(name, i, delta)) for i in standings.instances)]
            for name in order
        ]
        lines += [f"### δ = {delta:g}", "", *markdown_table(["algorithm", *numbers], rows), ""]
    return lines


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
