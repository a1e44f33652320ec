"""``surepick status``: where a study stands; with --watch, live."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from surepick.algorithms.questions import compares, named
from surepick.cli.near import ways_out, with_near
from surepick.cli.options import from_signature, option
from surepick.cli.screen import Columns, console_of, of_options
from surepick.cli.studies import (
    bar,
    limit_in_words,
    open_studies,
    said_of_uncounted,
    shown,
    spent,
    spent_of,
    study_options,
)
from surepick.errors import InvalidInputError, listed
from surepick.run.standing import VERDICTS, best_first, between, counted
from surepick.study.outlook import states_in_words
from surepick.text import plural, typed

if TYPE_CHECKING:
    from surepick.problem import Problem
    from surepick.study import SegmentStudies, Study

_MOMENT = 0.25  # seconds of processor time for a forecast that nobody asked for


@click.command("status", short_help="Show which options are still in, and what looks wrong.")
@study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    watch: bool = option(False, "Keep updating until the study is finished."),
    every: float = option(2.0, "Seconds between two looks."),
    patient: bool = option(
        False,
        "How many more measurements, also where it takes some seconds to work that out.",
        flag="--forecast",
    ),
    top: int = option(12, "Options to show; 0 for all."),
) -> None:
    """Show who is still in the race, estimates, measurements, and whether anything looks wrong.

    The evidence against an option is what decides: at 100 % it is ruled out. The p-value is that of
    "this option is the best": if it were, the p-value would ever fall so low in at most so large a
    share of studies. It, and the ends between which options are behind, hold at any time, however
    often you look. Of an option that was ruled out it is known that it is behind the best. Of a
    study of traffic: who is ahead, how sure that is, what it is worth, and what to do next. With
    --watch and --json, one object is printed per line.
    """
    from surepick.study import SegmentStudies

    study = open_studies(name, storage)
    if isinstance(study, SegmentStudies):
        if watch:
            raise InvalidInputError(
                f"watch: each segment of {name} has a study of its own: say which "
                f"({', '.join(one.name for one in study.studies.values())})"
            )
        _by_segment(study, patient, top, as_json)
        return
    if as_json:
        _stream(study, watch, every, patient)
        return
    from rich.live import Live

    console = console_of(120)
    content = look(study, patient)
    if not watch:
        console.print(screen(study, content, top))
        return
    try:
        with Live(screen(study, content, top), console=console, auto_refresh=False) as live:
            while not content["finished"]:
                time.sleep(every)
                content = look(study, patient=True)
                live.update(screen(study, content, top), refresh=True)
    except KeyboardInterrupt:
        return


def _by_segment(test: SegmentStudies, patient: bool, top: int, as_json: bool) -> None:
    from surepick.cli import morning

    found = {name: look(one, patient) for name, one in test.studies.items()}
    finished = all(one["finished"] for one in found.values())
    if as_json:
        said = {"name": test.name, "delta": test.delta, "finished": finished}
        click.echo(json.dumps(said | {"promise": test.promise, "segments": found}))
        return
    from rich.text import Text

    console = console_of(120)
    console.print(Text(shown(test.promise)))
    for name, content in found.items():
        console.print(Text(f"\n{shown(name)}", "bold underline"))
        console.print(morning.screen(test.studies[name], content, top, alone=False))
    console.print(Text(test.next, "bold"))


def look(study: Study, patient: bool) -> dict[str, Any]:
    """The status, with a forecast if that is a matter of a moment; that of a batch is made once."""
    ahead = study.forecast() if patient else study.forecast(_MOMENT)
    found = ahead.to_dict()
    if ahead.slow and not patient:
        how = typed("status", study.name, "--forecast")
        found["text"] = f"How many more {ahead.unit}: {how} works it out, in some seconds"
    content = study.status() | {"forecast": found}
    return with_near(study, content, _MOMENT)


def _stream(study: Study, watch: bool, every: float, patient: bool) -> None:
    content = look(study, patient)
    click.echo(json.dumps(content))
    while watch and not content["finished"]:
        time.sleep(every)
        content = look(study, patient=True)
        click.echo(json.dumps(content))


def screen(study: Study, content: dict[str, Any], top: int) -> Any:
    """All that is said of a study, for a terminal."""
    if content["traffic"] is not None:
        from surepick.cli import morning

        return morning.screen(study, content, top)
    from rich.console import Group
    from rich.text import Text

    lines = [Text(shown(line), style) for line, style in _head(study, content)]
    feet = [Text(f"Warning: {shown(text)}", "bold red") for text in content["warnings"]]
    fit = content["checks"]["fit"]
    if fit is not None and not fit["alarm"] and content["samples"]:
        feet.append(Text(f"Check: {fit['message']}", "dim"))
    feet += [Text(f"Note: {text}", "dim") for text in content["checks"]["remarks"]]
    feet += [Text(text, "dim") for text in (_front(content),) if text]
    return Group(*lines, _Fitting(study, content, top), *feet)


class _Fitting:
    """The table of options, without the columns that a narrow terminal has no room for."""

    def __init__(self, study: Study, content: dict[str, Any], top: int) -> None:
        self.make = lambda left_out: _table(study, content, top, left_out)

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.measure import Measurement

        tables = [self.make(left_out) for left_out in ((), ("between",), ("between", "p-value"))]
        room = options.update(max_width=10_000)  # else no table measures wider than the terminal
        wide = [Measurement.get(console, room, table).maximum for table in tables]
        fits = (table for table, width in zip(tables, wide) if width <= options.max_width)
        yield next(fits, tables[-1])


def _head(study: Study, content: dict[str, Any]) -> list[tuple[str, str]]:
    batch, ahead = content["batch"], content["forecast"]
    gives = f"A measurement gives {content['rewards']}".replace("gives numbers", "gives a number")
    if content["noise_estimated"] and content["noise"] is not None:
        gives += f"; repeated ones differ by about {content['noise']:.2g}"
    if content["epsilon"]:
        near = study.problem.noise_kind.apart(content["epsilon"])
        gives += (
            f"; options within {near} of the baseline count as equally good"
            if compares(content["standing"]["question"])
            else f"; any option is accepted that is {content['promise']['close']}"
        )
    total = content["options"]
    lines = [
        *((text, "bold yellow") for text in ways_out(study.name, content)),
        (f"{study.name}: {content['promise']['text']}", "bold"),
        (f"{gives}; decided by {content['algorithm']}", "dim"),
        (
            f"{plural(content['samples'], 'measurement')}{spent(content['cost'])}; "
            f"{_count(content, total)}",
            "",
        ),
    ]
    if getattr(study.algorithm, "beats", "") == "everyone" and content["samples"]:
        model = "Estimates are a Bradley–Terry model's: how often an option is preferred to another"
        lines.append((f"{model} one, with a standard error; they prove nothing.", "dim"))
    if spent_of(content["limits"]):
        lines.append((spent_of(content["limits"]), ""))
    if content["finished"]:
        lines += [(text, "dim") for text in said_of_uncounted(content["uncounted"])]
        lines.append((f"Finished: {typed('answer', study.name)}", "bold green"))
        return lines
    if content["paused"]:
        lines.append((f"Paused: {typed('resume', study.name)}", "bold yellow"))
    also = " and after" if batch.get("ahead") else ""
    lines.append(
        (
            f"Batch {batch['number'] + 1}{also}: {batch['told']} of {batch['size']} told, "
            f"{batch['leased']} with workers, {batch['waiting']} waiting",
            "",
        )
    )
    for word, name in (("added", "coming"), ("retired", "going")):
        if content[name]:
            lines.append((f"After this batch {word}: {', '.join(content[name])}", "bold yellow"))
    lines.append((ahead["text"], "" if ahead["low"] is not None else "dim"))
    return lines


def _front(content: dict[str, Any]) -> str:
    """Whom nobody seems to beat on all numbers at once; empty where there is but one number."""
    columns = content["standing"]["columns"]
    if "front" not in columns:
        return ""
    who = [label for label, on in zip(columns["option"], columns["front"]) if on]
    numbers = " and ".join(["the reward", *content.get("numbers", [])])
    said = listed(map(shown, who))
    return f"Not beaten on {numbers} at once, by two standard errors (a view, no proof): {said}"


def _count(content: dict[str, Any], total: int) -> str:
    now = content["standing"]
    states = now["columns"]["state"]
    if content.get("pairs") and not content["survivors"] and not compares(now["question"]):
        if not named(now["question"]).ranks:
            return "no option is good enough"
        around = " beats ".join([*content["circle"], *content["circle"][:1]])
        looking = "" if content["finished"] else "; a circle is looked for"
        return f"no option beats every other{f': {around}' if around else looking}"
    if not compares(now["question"]):
        places = f" for {states.count('leads')} places" if named(now["question"]).several else ""
        left = f"{len(content['survivors'])} of {total} options"
        return f"{left} not ruled out" if content["finished"] else f"{left} still in{places}"
    return counted(states)


def _table(study: Study, content: dict[str, Any], top: int, left_out: tuple[str, ...]) -> Any:
    if compares(content["standing"]["question"]):
        return _compared(study.problem, content, top)
    problem, survivors, known = study.problem, content["survivors"], content["standing"]["columns"]
    estimates, behind, leader = content["estimates"], content["behind"], content["leader_index"]
    ends = [
        between(*row) for row in zip(*(known[x] for x in ("state", "behind_low", "behind_high")))
    ]
    bounded = any(text for i, text in enumerate(ends) if i != leader)
    # Where the best is who usually wins, a lead is a share of comparisons, not a distance.
    wins, limits = content["wins"], content["standing"].get("limits", [])
    words, measured = states_in_words(content), not problem.transductive
    columns: Columns = {"estimate": lambda i: _number(estimates[i]) if estimates else ""}
    if "cost" in known:
        columns["cost"] = lambda i: f"{known['cost'][i]:.4g}"
    columns |= _of_limits(problem, known, limits)
    if behind is not None and not limits:  # who is out is not behind: it may break a limit
        columns["behind the best"] = lambda i: _behind(content, i)
    if wins is not None and any(share is not None for share in wins):
        columns["the best wins"] = lambda i: "" if wins[i] is None else f"{100 * wins[i]:.0f} %"
    if bounded and wins is None:
        columns["between"] = lambda i: "" if i == leader else ends[i]
    if any(p is not None for p in known["p_value"]) and not limits:
        columns["p-value"] = lambda i: _p_value(known["p_value"][i])
    columns["evidence against"] = lambda i: _evidence(content, words, i)
    columns["measurements"] = lambda i: f"{content['pulls'][i]:,}" if measured else ""
    if any(content["failures"]):
        columns["failures"] = lambda i: _failures(content["failures"][i]) if measured else ""
    best = best_first(content["standing"]["minimise"])
    order = [int(i) for i in problem.distinct]
    order.sort(key=lambda i: (i not in survivors, best(estimates[i]) if estimates else 0.0))
    columns = {head: cell for head, cell in columns.items() if head not in left_out}
    return of_options(problem.candidate_labels, order, columns, top, left=survivors)


def _of_limits(problem: Problem, known: dict[str, Any], limits: list[str]) -> Columns:
    """A column for each limit."""
    return {
        limit_in_words(problem, limit): partial(_kept, problem, known, limit) for limit in limits
    }


def _behind(content: dict[str, Any], i: int) -> str:
    """The estimate; how uncertain it is, where that matters: not of what is ruled out."""
    behind = f"{content['behind'][i]:.3g}"
    if content["standing"]["columns"]["state"][i] == "out":
        return behind
    return f"{behind} ± {content['standard_error'][i]:.2g}"


def _kept(problem: Problem, columns: dict[str, Any], limit: str, i: int) -> str:
    """How an option stands to a limit: its mean (of a quantile the share), and the verdict."""
    from surepick.algorithms.limits.limit import parse_limit

    mean = columns[f"{limit}: mean"][i]
    known = "" if mean is None else f"{parse_limit(limit).mean(mean, problem)}, "
    return f"{known}{columns[limit][i]}"


def _evidence(content: dict[str, Any], words: list[str], i: int) -> str:
    state, finished = content["standing"]["columns"]["state"][i], content["finished"]
    evidence = content["evidence"][i] if content["evidence"] else None
    graded = state in ("in", "leads") and not finished
    unproven = state == "in" and content["promise"]["kind"] != "eps-pac"
    return bar(True, evidence) if graded or unproven else words[i]


def _compared(problem: Problem, content: dict[str, Any], top: int) -> Any:
    """Options against a baseline: the best first."""
    known, minimise = content["standing"]["columns"], content["standing"]["minimise"]
    lifts, states = known["lift"], known["state"]
    pulls, shows = known.get("pulls"), lifts[0] is not None
    ends, how = ("state", "lift_low", "lift_high"), {"epsilon": content["epsilon"]}
    how |= {"minimise": minimise}
    columns: Columns = {
        "verdict": lambda i: VERDICTS.get(states[i], states[i]),
        "lift": lambda i: f"{lifts[i]:+.3g}" if shows and states[i] != "baseline" else "",
        "between": lambda i: between(*(known[name][i] for name in ends), **how),
        "estimate": lambda i: _number(known["estimate"][i]) if shows else "",
        "measurements": lambda i: "" if pulls is None else f"{pulls[i]:,}",
    }
    columns |= _of_limits(problem, known, content["standing"].get("limits", []))
    best, order = best_first(minimise), list(range(len(known["option"])))
    if shows:
        order.sort(key=lambda i: best(lifts[i]))
    return of_options(known["option"], order, columns, top, left=order)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _failures(count: int) -> str:
    return f"{count:,}" if count else ""


def _p_value(value: float | None) -> str:
    if value is None:
        return ""
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"
