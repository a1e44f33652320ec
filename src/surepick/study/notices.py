"""What somebody who is not watching a study wants to be told, in words for chat and mail."""

from __future__ import annotations

import datetime
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surepick.promise import IF_ANY
from surepick.text import plural

if TYPE_CHECKING:
    from surepick.study.study import Study

DECIDED, WITHDRAWN, STUCK, SPENT = "decided", "withdrawn", "stuck", "spent"
MORNING = "morning"
#: kinds of notices, and when each is sent
KINDS = {
    DECIDED: "the answer is proven",
    WITHDRAWN: "measurements contradict what the promise rests on, so nothing is promised any more",
    STUCK: "nothing was measured for a day although measurements are open",
    SPENT: "the budget or the number of measurements is used up, and nothing is proven",
    MORNING: "every morning, from 6:00 UTC on, while the study runs: where it stands",
}
#: what is told where nothing in particular is asked for
USUAL = tuple(kind for kind in KINDS if kind != MORNING)
_SIX = 6  # o'clock, UTC
PATIENCE = 86_400.0
"""Seconds without a measurement after which a study counts as stuck; a site reports once a day,
and when the window of a period has closed, so it has a day and the window more."""


@dataclass(frozen=True)
class Notice:
    """One thing to be told, once."""

    kind: str
    key: str  #: the same for the same event, whoever finds it, and how often
    subject: str
    text: str
    data: dict[str, Any]

    def body(self, at: str) -> dict[str, Any]:
        """What a webhook sends; programs for chat show ``text``."""
        return {
            "type": f"study.{self.kind}",
            "timestamp": at,
            "subject": self.subject,
            "text": f"{self.subject}. {self.text}",
            "data": self.data,
        }


def morning_of(now: float) -> str | None:
    """The day whose morning it is, or was; None before six o'clock."""
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    return f"{moment:%Y-%m-%d}" if moment.hour >= _SIX else None


def notices(
    study: Study, last: float, now: float, patience: float = PATIENCE, morning: bool = False
) -> list[Notice]:
    """What is to be told of a study as it stands.

    Something was ``last`` measured then (or the study was created); it is stuck after ``patience``
    seconds without. In the ``morning`` it is also told how it stands.
    """
    status = study.status()
    name, revision = status["name"], status["revision"]
    data = {key: status[key] for key in ("name", "finished", "samples", "revision", "warnings")}
    after = f"after {plural(status['samples'], 'visit' if status['traffic'] else 'measurement')}"
    found: list[Notice] = []

    def add(kind: str, subject: str, text: str, *which: Any) -> None:
        told = json.dumps([study.desk.record.key, kind, *which])
        key = hashlib.sha256(told.encode()).hexdigest()[:32]
        found.append(Notice(kind, f"sp_{key}", f"{name}: {subject}", text, data))

    if status["finished"]:
        answer = study.answer
        promise, labels = answer.guarantee.promise, ", ".join(answer.labels)
        data |= {"answer": list(answer.labels), "guarantee": answer.guarantee.kind}
        if promise.shown:
            what = labels if answer.guarantee and labels else "no option is the best"
            if promise.kind == IF_ANY:
                what = f"if any option is the best, it is {labels}"
            add(DECIDED, f"decided {after}: {what}", answer.plain, revision)
        elif promise.why is not None and promise.what is not None:
            add(WITHDRAWN, "the promise is withdrawn", answer.plain, revision)
        elif 0 in (status["limits"]["samples_left"], status["limits"]["left"]):
            spent = [status["limits"][key] for key in ("max_samples", "budget")]
            add(SPENT, f"all is spent {after}, nothing is proven", answer.plain, spent)
        return found
    data |= {"survivors": status["survivor_labels"][:20]}
    traffic, left = status["traffic"], plural(len(status["survivors"]), "option is", "options are")
    if status["promise"]["kind"] == "heuristic" and study.algorithm.theorem:
        words = [status["promise"]["text"]]
        if traffic:  # which version, in which period, and what to do
            words = [*status["warnings"], f"Next: {traffic['next']}"]
        add(WITHDRAWN, "the promise is withdrawn", " ".join(words), revision)
    patience += (PATIENCE + traffic["window"]) if traffic else 0.0
    if not status["paused"] and now - last >= patience:
        what = "Record the periods that are over" if traffic else "Measure what is open"
        text = f"{left} still in. {what}, or pause or stop the study."
        done = "reported" if traffic else "measured"
        add(STUCK, f"nothing was {done} for {_long(now - last)}", text, round(last, 3))
    if morning and not status["paused"] and (day := morning_of(now)) is not None:
        add(MORNING, f"{day}, {after}", _morning(status, left), day)
    return found


def _morning(status: dict[str, Any], left: str) -> str:
    """Where a study stands, in a few sentences."""
    at, words = status["traffic"], [f"Warning: {text}" for text in status["warnings"]]
    if at:
        said = (at["headline"], at["worth"], at["ahead"], f"Next: {at['next']}")
        return " ".join([*words, *filter(None, said)])
    leads = f" {status['leader']} looks best so far." if status["leader"] is not None else ""
    return " ".join([*words, f"{left} still in.{leads}"])


def _long(seconds: float) -> str:
    hours = int(seconds // 3600)
    return plural(hours // 24, "day") if hours >= 48 else plural(max(hours, 1), "hour")
