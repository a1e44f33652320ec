"""A report on one study, for somebody who was not there: one self-contained page.

The question, the answer, how sure it is and on what that rests, pictures, and every measurement.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from surepick.algorithms.findings import PROVEN
from surepick.algorithms.questions import compares, named
from surepick.notebook import number
from surepick.report.pages import Page
from surepick.report.picture import draw, view
from surepick.run.standing import best_first, between
from surepick.study import StudyCore
from surepick.study.judgements import OF_STRENGTHS
from surepick.study.outlook import no_answer_yet, states_in_words
from surepick.text import typed

_MOST_ROWS = 20_000  # of the appendix; a longer list is nothing to read


def study_page(study: StudyCore, top: int = 15, png: bytes | None = None) -> str:
    """The report as HTML; ``png`` is its picture, where that was drawn before."""
    status = study.status()
    page = Page(f"Report: {study.name}")
    page.heading("The question")
    page.text(_question(study, status))
    page.heading("The answer" if status["finished"] else "So far")
    _answer(page, study, status)
    if status["leader"] is not None:
        seen = view(study, top)
        picture = draw(seen)["png"] if png is None else png
        page.picture(picture, f"{seen.title.removesuffix('.')}. {seen.subtitle}")
    page.heading("What is known about each option")
    if status["pairs"]:
        _comparisons(page, study)
    else:
        _options(page, status)
    page.heading("Can you rely on it?")
    _reliance(page, study, status)
    page.heading("Appendix: every measurement")
    _measurements(page, study)
    return page.render()


def _question(study: StudyCore, status: dict[str, Any]) -> str:
    count, now = status["options"], status["standing"]
    if named(now["question"]).several:
        places = now["columns"]["state"].count("leads") or "so many"
        asked = f"Which {places} of {count:,} options are the best, in the long run and on average?"
    elif not compares(now["question"]):
        words = study.algorithm.asked.asks(study.problem)
        own = f"{words[:1].upper()}{words[1:]}?" if words else ""
        asked = own or f"Which of {count:,} options is the best, in the long run and on average?"
    else:
        states, labels = now["columns"]["state"], now["columns"]["option"]
        one = (
            labels[states.index("baseline")] if "baseline" in states else "a number that was given"
        )
        asked = f"Which of {count:,} options are better than {one}, and which are worse?"
        if now.get("limits"):
            keep = " and ".join(_limits(study))
            asked = f"Which of {count:,} options are better than {one} and keep {keep}?"
    if status["epsilon"]:
        asked += (
            f" Options within {status['epsilon']:g} of it count as equally good."
            if compares(now["question"])
            else f" An option will do that is {status['promise']['close']}."
        )
    segment = (status["traffic"] or {}).get("segment")
    asked += "" if segment is None else f" {segment['words']}"
    return (
        f"{asked} Measurements are {status['rewards']}. Allowed error probability: "
        f"{status['delta']:g}. Decided by {status['algorithm']}."
    )


def _limits(study: StudyCore) -> list[str]:
    """Limits that options have to keep, in words."""
    limits = getattr(study.algorithm.asked, "limits", ())
    return [one.said_of(study.problem) for one in limits]


def _answer(page: Page, study: StudyCore, status: dict[str, Any]) -> None:
    unit = "visits" if status["traffic"] else "comparisons" if status["pairs"] else "measurements"
    if not status["finished"]:
        page.text(no_answer_yet(status))
        page.text(status["promise"]["text"])
        return
    answer = study.answer
    if answer.lifts:
        for name, labels in answer.verdicts().items():
            page.text(f"{name.capitalize()}: {', '.join(labels) or 'none'}.")
    else:
        page.text(f"{', '.join(answer.labels)}, after {answer.samples:,} {unit}.")
    page.text(answer.plain)
    page.text(f"Exactly: {answer.guarantee}.")


def _options(page: Page, status: dict[str, Any]) -> None:
    now = status["standing"]["columns"] | {"state": states_in_words(status)}
    heads = {"option": "option", "state": "", "pulls": "measured", "estimate": "estimate"}
    if "lift" in now:
        heads |= {"lift": "lift", "between": "between"}
        said = "“Between” holds at any time, however often you look"
    else:
        heads |= {"behind": "behind the best"}
        best = (
            "the best" if not named(status["standing"]["question"]).several else "one of the best"
        )
        said = ""
        if any(p is not None for p in now["p_value"]):
            heads |= {"between": "between", "p_value": "p-value"}
            said = (
                f"“Between” and the p-value (for “this option is {best}”) hold at any time, "
                "however often you look"
            )
    ends = ("lift_low", "lift_high") if "lift" in now else ("behind_low", "behind_high")
    epsilon = status["epsilon"]
    if status["traffic"]:  # as everywhere on a site: what came of its visitors
        now |= {"estimate": status["means"]}
        heads |= {"estimate": "mean of its visits", "pulls": "visits"}
        if "successes" in status["traffic"]["columns"]:  # rates in per cent, leads in points
            leads = [name for name in ("behind", "lift", *ends) if name in now]
            now |= {name: _in_percent(now[name]) for name in ("estimate", *leads)}
            epsilon *= 100.0
            heads |= {"estimate": "rate of its visits, %"}
            heads |= {name: f"{heads[name]}, points" for name in leads if name in heads}
    rows = zip(status["standing"]["columns"]["state"], *(now[name] for name in ends))
    how = {"epsilon": epsilon, "minimise": status["standing"]["minimise"]}
    now["between"] = [between(*row, **how) for row in rows]
    names = [name for name in heads if name in now]
    known = now["estimate"]
    best = best_first(status["standing"]["minimise"])
    order = sorted(range(len(known)), key=lambda i: best(known[i]))
    page.table(
        [heads[name] for name in names], [[number(now[name][i]) for name in names] for i in order]
    )
    if status["promise"]["kind"] not in PROVEN and status["warnings"]:
        page.text("Nothing in this table is proven; the reasons are given below.")
    elif said:
        page.text(f"{said}. An empty cell means that nothing is known yet.")


def _in_percent(shares: list[float | None]) -> list[float | None]:
    return [None if share is None else 100.0 * share for share in shares]


def _comparisons(page: Page, study: StudyCore) -> None:
    """Shares of wins, who won against whom, and who judged."""
    found = study.judgements()
    words = {"leads": "leads", "in": "may still win", "out": "ruled out"}
    percent = "{:.0f} %".format
    page.table(
        ["option", "", "share of wins", "between", "comparisons", "strength", "about"],
        [
            [
                row["option"],
                words.get(row["state"], row["state"]),
                "" if row["share"] is None else percent(100 * row["share"]),
                f"{percent(100 * row['low'])} to {percent(100 * row['high'])}",
                number(row["met"]),
                "" if row["strength"] is None else f"{row['strength']:.2f}",
                ""
                if row["strength"] is None
                else f"{row['strength_low']:.2f} to {row['strength_high']:.2f}",
            ]
            for row in found["standings"]
        ],
    )
    page.text(
        "A tie counts half. “Between” is about the comparisons that were made; it holds for all "
        f"options together at any time, however often you look. {OF_STRENGTHS}"
    )
    page.table(
        ["judge", "comparisons", "preferred the first", "the second", "ties", "agrees with others"],
        [
            [
                one["name"] or "without a name",
                *(number(one[key]) for key in ("comparisons", "first", "second", "ties")),
                "" if one["agreement"] is None else percent(100 * one["agreement"]),
            ]
            for one in found["judges"]
        ],
    )
    for one in found["judges"]:
        if one["said"]:
            page.text(one["said"])


def _reliance(page: Page, study: StudyCore, status: dict[str, Any]) -> None:
    for text in status["warnings"]:
        page.text(f"Warning: {text}")
    fit = status["checks"]["fit"]
    if fit is not None and not fit["alarm"]:
        page.text(fit["message"])
    for text in status["checks"]["remarks"]:
        page.text(text)
    changes = [*study.corrections(), *study.report_changes(), *study.acts("set-aside")]
    for change in changes:
        page.text(f"{change.said} The reason given: {change.reason}.")
    if not status["warnings"] and not changes:
        page.text("Nothing looks wrong, and no measurement was corrected, withdrawn or set aside.")
    links = status["chain"]
    if links:
        page.text(
            "Every event of the study is recorded in a chain; the head of the chain is "
            f"`{links['head']}`. `{typed('verify', study.name)}` detects any later change."
        )


def _measurements(page: Page, study: StudyCore) -> None:
    with tempfile.TemporaryDirectory() as folder:  # the same from a database and from a service
        written = study.export(Path(folder) / "measurements.json")
        rows = json.loads(written.read_text(encoding="utf-8"))
    if len(rows) > _MOST_ROWS:
        page.text(
            f"There are {len(rows):,}, too many to read: `{typed('export', study.name)} --out "
            f"measurements.csv` writes them to a file."
        )
        rows = rows[:0]
    if rows:
        names = [*rows[0]]
        page.table(names, [[number(row[name]) for name in names] for row in rows])
    elif not study.status()["samples"]:
        page.text("None yet.")
