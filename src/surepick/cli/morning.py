"""The morning look at a study of traffic, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surepick.algorithms.questions import compares
from surepick.cli.near import ways_out
from surepick.cli.screen import Columns, of_options
from surepick.cli.studies import bar, shown
from surepick.run.standing import best_first
from surepick.study.outlook import states_in_words
from surepick.study.traffic.words import step
from surepick.text import plural

if TYPE_CHECKING:
    from surepick.study import Study


def screen(study: Study, content: dict[str, Any], top: int, alone: bool = True) -> Any:
    """What to print; of one of several segments, what is said of all is left out."""
    from rich.console import Group
    from rich.text import Text

    at = content["traffic"]
    lines = [
        *(Text(shown(text), "bold yellow") for text in ways_out(study.name, content)),
        Text(shown(at["headline"]), "bold green" if content["finished"] else "bold"),
        Text(
            f"{plural(content['samples'], 'visit')} in {plural(at['settled'], 'period')}; "
            f"{_left(content)}"
        ),
    ]
    forecast = content["forecast"]
    ahead = at["ahead"] if forecast["low"] is None else f"{forecast['text']}."
    if forecast["slow"]:
        ahead = f"{ahead or ''} {forecast['text']}.".lstrip()
    part = at["segment"]["words"] if alone and at["segment"] is not None else None
    said = (at["worth"], None if content["finished"] else ahead, part)
    lines += [Text(shown(text)) for text in said if text]
    feet = [Text(f"Warning: {shown(text)}", "bold red") for text in content["warnings"]]
    feet += [Text(f"Note: {text}", "dim") for text in content["checks"]["remarks"]]
    if alone or content["warnings"]:
        feet.append(Text(shown(step(at)), "bold"))
    return Group(*lines, _table(study, content, top), *feet)


def _table(study: Study, content: dict[str, Any], top: int) -> Any:
    at, means, survivors = content["traffic"], content["means"], set(content["survivors"])
    labels, control, words = content["labels"], at["control"], states_in_words(content)
    columns: Columns = {
        "visits": lambda i: f"{content['pulls'][i]:,}",
        "rate" if _is_rate(study) else "mean": lambda i: value(means[i], _is_rate(study)),
    }
    if at["lift"] is not None:
        columns["over control"] = lambda i: _lift(study, at, i)[0]
        columns[f"{100 * (1 - content['delta']):.4g} % interval"] = lambda i: _lift(study, at, i)[1]
    limits = {one["title"]: one["cells"].__getitem__ for one in at["guardrails"]}
    columns |= limits
    if at["shares"] is not None:
        columns["share"] = lambda i: f"{100 * at['shares'][i]:.1f} %"
    compared = compares(content["standing"]["question"])
    head = "evidence" if compared else "evidence against"
    columns[head] = lambda i: _evidence(content, words, i)
    best = best_first(content["standing"]["minimise"])
    order = sorted(
        range(len(labels)),
        key=lambda i: (i not in survivors, labels[i] != control, best(means[i])),
    )
    named = [f"{label} (control)" if label == control else label for label in labels]
    # A limit may take two lines, so that numbers are not cut off.
    return of_options(named, order, columns, top, left=survivors, wraps=limits)


def _is_rate(study: Study) -> bool:
    return study.problem.noise_kind.successes


def value(mean: float | None, rate: bool) -> str:
    """A rate in percent, another number as it is."""
    if mean is None:
        return ""
    return f"{100 * mean:.3g} %" if rate else f"{mean:.4g}"


def _lift(study: Study, at: dict[str, Any], i: int) -> list[str]:
    """By how much it is ahead of the control, and between what that lies."""
    if at["lift"][i] is None:
        return ["", ""]
    lead, low, high = at["lift"][i]
    if not _is_rate(study):
        return [f"{lead:+.4g}", f"{low:+.3g} to {high:+.3g}"]
    between = f"{100 * low:+.2f} to {100 * high:+.2f}" if high - low < 1.0 else ""
    return [f"{100 * lead:+.2f} pt", between]


def _left(content: dict[str, Any]) -> str:
    left = len(content["survivors"])
    if compares(content["standing"]["question"]):
        return f"{left} of {content['started_with']} options undecided"
    how = "not ruled out" if content["finished"] else "still in"
    return f"{left} of {content['options']} options {how}"


def _evidence(content: dict[str, Any], words: list[str], i: int) -> str:
    """What is known of an option; as long as that is open, how much evidence there is."""
    evidence = content["evidence"][i] if content["evidence"] else None
    state = content["standing"]["columns"]["state"][i]
    open_now = state in ("in", "leads", "undecided") and not content["finished"]
    return bar(True, evidence) if open_now else words[i]
