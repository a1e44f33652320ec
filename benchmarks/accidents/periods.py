"""Website tests: an hour without reports, a day of bots, a number ten times too large."""

from __future__ import annotations

import csv
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accidents.cells import Outcome, cell
from benchmarks.accidents.told import command

import surepick as sp

LABELS: tuple[str, ...] = (
    "a",
    "b",
    "c",
    "d",
)  #: the last is the best, or as good as the one before
RATES = (0.10, 0.13, 0.20)
AHEAD = (0.0, 0.03)
VISITORS, DAYS, HOURS, BOTS = 1_200, 20, 24, 6_000
_EARLY = 3  # days, one of which is bad: numbers of the last of them are asked about
BLIND, LOOKED, CORRECT = "set aside blindly", "set aside after looking", "corrected"
#: what the promise names of it
NAMED = {
    BLIND: "without seeing any results of then or later to set aside period '{}'",
    LOOKED: "the reason for setting aside period '{}'",
    CORRECT: "which rewards were looked at again, and then corrected",
}

LOST = "a lost hour"
BUY_NOTHING = "a day of bots that never buy"
BUY_ONE = "a day of bots that buy on one version"
TENFOLD = "a number ten times too large"

Report = dict[str, tuple[int, int]]


class _Site:
    """A test, what was reported of it, and how its bad day is dealt with."""

    def __init__(
        self, rng: np.random.Generator, folder: str, delta: float, door: str, bad: str
    ) -> None:
        self.rng, self.folder, self.bad = rng, folder, bad
        self.by_command = door.startswith("surepick")
        self.rates = dict(zip(LABELS, (*RATES, RATES[-1] + float(rng.choice(AHEAD)))))
        self.sent: dict[str, Report] = {}
        self.start = self.waited = 0.0
        self.mended = False
        problem = sp.Problem.unstructured(list(LABELS), noise="yes-no")
        how: dict[str, Any] = {"traffic": True, "delta": delta, "seed": int(rng.integers(2**31))}
        url = f"sqlite:///{folder}/surepick.db"
        self.study = sp.create_study("s", problem, storage=url, **how)

    def visitors(self, shares: dict[str, float], accident: str = "") -> Report:
        """What a day comes to, with an accident or without."""
        hours = np.full(HOURS, VISITORS // HOURS)
        hours[int(self.rng.integers(HOURS))] *= accident != LOST
        split, level = list(shares.values()), self.rng.uniform(0.8, 1.2)
        counts = self.rng.multinomial(hours, split).sum(axis=0)
        hits = self.rng.binomial(counts, [level * self.rates[label] for label in shares])
        if accident == BUY_NOTHING:
            counts += self.rng.multinomial(BOTS, split)
        if accident == BUY_ONE and "c" in shares:
            place = list(shares).index("c")
            counts[place] += BOTS
            hits[place] += BOTS
        return dict(zip(shares, zip(counts.tolist(), hits.tolist())))

    def record(self, name: str, report: Report, wrong: Report | None = None) -> None:
        """Report a day, a bad one through the door; wrong numbers have to be asked about."""
        self.sent[name] = report
        told = wrong or report
        if not self.by_command or name != self.bad:
            asked = bool(self.study.record(told, name).asked)
        else:
            words = ["record", "s", self._file(told), "--period", name]
            self.start, said = command(self.folder, *words)
            asked = "typed right?" in said
        if wrong and not asked:
            raise RuntimeError("a tenfold number was not asked about")

    def _file(self, report: Report) -> str:
        with (Path(self.folder) / "report.csv").open("w", newline="") as file:
            rows = [(label, *counts) for label, counts in report.items()]
            csv.writer(file).writerows([("label", "visits", "successes"), *rows])
        return "report.csv"

    def mend(self, way: str, number: int) -> None:
        """Set the bad day aside, or correct its report; until the next day begins."""
        began, reason = time.monotonic(), "the visits of that day"
        report, blind = self.sent[self.bad], way == BLIND
        if not self.by_command and way == CORRECT:
            self.study.correct_report(self.bad, report, reason=reason)
        elif not self.by_command:
            self.study.set_aside(period=self.bad, reason=reason, blind=blind)
        else:
            words = ["--period", self.bad, "--reason", reason]
            if way == CORRECT:
                command(self.folder, "record", "s", self._file(report), "--correct", *words)
            else:
                command(self.folder, "set-aside", "s", *words, "--yes", *["--blind"] * blind)
        if not self.study.finished:
            self.study.split(period=f"day {number + 1}")
        self.waited, self.mended = max(0.0, time.monotonic() - began - self.start), True

    def lost(self) -> int:
        """Reports that are not there as they were sent."""
        rows = json.loads(self.study.export(Path(self.folder) / "all.json").read_text())
        kept: dict[str, Report] = {}
        for row in rows:
            kept.setdefault(row["period"], {})[row["label"]] = (row["visits"], int(row["sum"]))
        sent = {
            name: {label: counts for label, counts in report.items() if counts[0]}
            for name, report in self.sent.items()
        }
        return sum(kept.get(name) != report for name, report in sent.items())

    def outcome(self, way: str) -> Outcome:
        """If the promise stands: the best is not ruled out, and what was done to a day is named."""
        now, wrong = self.study.status(), None
        if now["promise"]["kind"] == "pac":
            wrong = "d" not in now["survivor_labels"]
            if self.study.finished and self.mended:
                said = self.study.answer.guarantee
                wrong |= bool(said) and NAMED[way].format(self.bad) not in said
        return Outcome(wrong, self.lost(), seconds=self.waited)


def _put(accident: str, door: str, way: str = "") -> None:
    @cell(f"{accident}, {way}" if way else accident, door)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        bad = _EARLY - 1 if accident == TENFOLD else int(rng.integers(_EARLY))
        mended = bad + int(rng.integers(3))
        with tempfile.TemporaryDirectory() as folder:
            site = _Site(rng, folder, delta, door, f"day {bad}")
            for day in range(DAYS):
                if not site.study.finished:
                    shares = site.study.split(period=f"day {day}").shares
                    report, wrong = site.visitors(shares, accident if day == bad else ""), None
                    if accident == TENFOLD and day == bad:
                        label = max(report, key=lambda one: report[one])  # it may be the best
                        visits, hits = report[label]
                        wrong = report | {label: (10 * visits, hits)}
                    site.record(f"day {day}", report, wrong)
                if way and day == mended and site.bad in site.sent:
                    site.mend(way, day)
            outcome = site.outcome(way)
            site.study.close()
        return outcome


_put(LOST, "record")
for _bots in (BUY_NOTHING, BUY_ONE):
    _put(_bots, "record")
    _put(_bots, "record, set_aside", LOOKED)
for _door in ("record, set_aside", "surepick record, surepick set-aside"):
    for _accident in (LOST, BUY_NOTHING, BUY_ONE):
        _put(_accident, _door, BLIND)
_put(TENFOLD, "record, correct_report", CORRECT)
_put(TENFOLD, "surepick record, surepick record --correct", CORRECT)
