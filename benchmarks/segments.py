"""Website tests by segment: how often is the answer wrong, while who comes changes from day to day?

Phones and desks, 6,000 visitors a day, of whom nine of ten have phones on one day and one of ten on
the next; the level of a day varies by 20 %. Cases:

- opposite: three versions, another one wins in each segment; asked for each segment by itself, with
  half of δ for each of the two studies;
- opposite, one test: the same as people do it, by a test with an answer for each segment
  (``segments=["phone", "desk"]``): reports of all segments together, until each has its answer;
- tie in each: the same question where two versions are equally good in either segment; whoever
  names one of the two in any segment is wrong;
- mix: the same versions, one answer for a mix of 70 % phones and 30 % desks;
- tie: two versions that are equal in this mix, and one that is worse; whoever names one of the two
  has ruled out the other, which is as good: counted as wrong;
- tie, shares so far: the same, with the rates weighed by who has come so far instead of by shares
  stated beforehand, as one might, too (that is no bet: what it compares changes with who came);
- number: versions compared with a number that one of them has exactly in this mix, while the level
  of days stays the same; any claim about that one is wrong;
- cheapest: the same days; the second cheapest of three versions is just good enough, so that it is
  the answer, and the cheapest one is not quite;
- keep: the best of three has exactly as many refunds in this mix as are allowed, more of them on
  phones, and others are far from it; whoever does not name it is wrong;
- Simpson: the better version is ahead on phones and on desks, by studies that do not ask for
  segments; on the first days buyers come from desks and the worse version is sent most of them.

Run with: python -m benchmarks.segments --trials 200
"""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

import numpy as np
from benchmarks.recorded import Record, options, table

import surepick as sp
from surepick.algorithms.pooled.kinds import segments as reading
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.run.report import tell_report
from surepick.run.sharing import Sharing
from surepick.run.waiting import Waiting
from surepick.storage.memory import MemoryStorage
from surepick.study import SegmentStudies

SHARES = np.array([0.7, 0.3])
STATED = {"segments": {"phone": 0.7, "desk": 0.3}}
OPPOSITE = np.array([[0.030, 0.150], [0.034, 0.110], [0.075, 0.100]])
TIE = np.array([[0.040, 0.100], [0.055, 0.065], [0.030, 0.060]])
TIE_IN_EACH = np.array([[0.050, 0.100], [0.050, 0.100], [0.030, 0.060]])
SIMPSON = np.array([[0.03, 0.10], [0.04, 0.13]])
VISITS, DAYS = 6000, 40
CASES = ("opposite", "mix", "tie", "tie, shares so far", "Simpson", "opposite, one test")
CASES += ("tie in each", "number", "cheapest", "keep")
REFUNDS = np.array([[0.01, 0.01], [0.05, 0.05], [0.024, 0.010]])


def follow(
    rates: np.ndarray,
    rng: np.random.Generator,
    delta: float,
    mixed: bool,
    **asked: Any,
) -> tuple[sp.Run, int]:
    """A test until it is decided, or the days are over."""
    noise = STATED if mixed else "yes-no"
    costs = [2.0, 1.0, 3.0] if "cheapest" in asked else None
    numbers = {"refunds": STATED} if "keep" in asked else None
    problem = sp.Problem.unstructured(len(rates), noise=noise, costs=costs, numbers=numbers)
    run = sp.algorithms.PooledPeleg(delta, **asked).start(problem)
    run.waits = Waiting()
    shares, days, seed = None, 0, str(rng.integers(2**60))
    while not run.stopped and days < DAYS:
        shares = Sharing().shares(run, shares)
        phones = 0.9 if days % 2 else 0.1
        level = 1.0 + (0.2 * np.sin(days) if not asked else 0.0)
        sent = rng.multinomial(VISITS, shares)
        if rates.shape[1] == 1:  # of one segment alone
            counts = sent[:, None]
        else:
            on_phones = rng.binomial(sent, phones)
            counts = np.column_stack([on_phones, sent - on_phones])
        yes = rng.binomial(counts, np.minimum(level * rates, 1.0)).astype(float)
        told = _told(counts, yes, mixed)
        if "keep" in asked:
            back = rng.binomial(counts, REFUNDS).astype(float)
            told = told._replace(numbers={"refunds": [_told(counts, back, True).sums, None]})
        tell_report(run, told, deal=seed)
        days += 1
    return run, days


def _told(counts: np.ndarray, yes: np.ndarray, mixed: bool) -> ToldPulls:
    if mixed:
        arms, parts = np.nonzero(counts)
        pulls = Pulls(arms, counts[arms, parts], parts)
        return ToldPulls(pulls, yes[arms, parts])
    arms = np.flatnonzero(counts.sum(axis=1))
    return ToldPulls(Pulls(arms, counts.sum(axis=1)[arms]), yes.sum(axis=1)[arms])


def simpson(rng: np.random.Generator, delta: float) -> tuple[sp.Run, int]:
    """Shares that move while who comes moves."""
    run = sp.algorithms.PooledPeleg(delta).start(sp.Problem.unstructured(2, noise="yes-no"))
    days, seed = 0, str(rng.integers(2**60))
    while not run.stopped and days < DAYS:
        early = days < 3
        sent = rng.multinomial(VISITS, [0.9, 0.1] if early else [0.1, 0.9])
        desks = rng.binomial(sent, 0.95 if early else 0.05)
        counts = np.column_stack([sent - desks, desks])
        yes = rng.binomial(counts, SIMPSON).astype(float)
        tell_report(run, _told(counts, yes, False), deal=seed)
        days += 1
    return run, days


def one_test(rng: np.random.Generator, delta: float, seed: int) -> tuple[bool, bool, int]:
    """A test with an answer for each segment, from its first shares to its last answer."""
    labels, names = ["old", "bold", "quick"], ("phone", "desk")
    problem = sp.Problem.unstructured(labels, noise="yes-no")
    given = {"segments": names, "delta": delta, "seed": seed}
    test = SegmentStudies.create("test", problem, MemoryStorage(), **given)
    for day in range(DAYS):
        came = rng.binomial(VISITS, 0.9 if day % 2 else 0.1)
        level = 1.0 + 0.2 * np.sin(day)
        report: dict[str, Any] = {}
        for place, (name, one) in enumerate(test.split().segments.items()):
            visits = (came, VISITS - came)[place]
            sent = rng.multinomial(visits, [one.shares.get(label, 0.0) for label in labels])
            yes = rng.binomial(sent, level * OPPOSITE[:, place])
            for label, n, said in zip(labels, sent, yes, strict=True):
                if not one.decided and n:
                    report.setdefault(label, {})[name] = (int(n), int(said))
        test.record(report, f"day {day}")
        if test.finished:
            right = dict(zip(names, (labels[i] for i in OPPOSITE.argmax(axis=0)), strict=True))
            return test.answers.labels != right, True, day + 1
    return False, False, DAYS


class SharesSoFar(reading.RatesBySegment):
    """Weighs segments by who came so far: not what anybody should do."""

    def direct(self, rows: Any, scales: Any) -> Any:
        came = np.bincount(rows.parts, rows.counts, len(self._shares)) + 1.0
        self.seen = came + getattr(self, "seen", 0.0)
        self._shares = self.seen / self.seen.sum()
        return super().direct(rows, scales)


def measure(task: tuple[str, int, float]) -> dict[str, Any]:
    """One test, or two where each segment has its own."""
    case, seed, delta = task
    started, rng = time.process_time(), np.random.default_rng([seed, CASES.index(case), 1])
    if case == "opposite, one test":
        wrong, ended, days = one_test(rng, delta, seed)
    elif case == "tie in each":
        found = [follow(TIE_IN_EACH[:, [s]], rng, delta / 2, mixed=False) for s in (0, 1)]
        proven = [run.stopped and run.answer.guarantee.kind == "pac" for run, _ in found]
        wrong, ended, days = any(proven), all(proven), max(n for _, n in found)
    elif case == "number":
        value = OPPOSITE @ SHARES
        run, days = follow(OPPOSITE, rng, delta, True, threshold=float(value[0]))
        said, ended = run.state.claims(), run.stopped
        wrong = bool(
            (value[said.better] <= value[0]).any() or (value[said.worse] >= value[0]).any()
        )
    elif case == "opposite":
        found = [follow(OPPOSITE[:, [s]], rng, delta / 2, mixed=False) for s in (0, 1)]
        right = [int(OPPOSITE[:, s].argmax()) for s in (0, 1)]
        named = [run.answer.arm if run.stopped else None for run, _ in found]
        wrong = any(one not in (None, best) for one, best in zip(named, right, strict=True))
        ended, days = all(run.stopped for run, _ in found), max(n for _, n in found)
    else:
        if case == "Simpson":
            run, days = simpson(rng, delta)
            best: int | None = 1
        elif case == "mix":
            run, days = follow(OPPOSITE, rng, delta, mixed=True)
            best = int((OPPOSITE @ SHARES).argmax())
        elif case == "keep":
            mark = f"refunds <= {REFUNDS[2] @ SHARES:.12g}"
            run, days = follow(OPPOSITE, rng, delta, True, keep=[mark])
            best = 2
        elif case == "cheapest":
            value = OPPOSITE @ SHARES
            within = float(value.max() - value[0])
            run, days = follow(OPPOSITE, rng, delta, True, cheapest=True, within=within)
            best = 0
        else:
            with mock.patch.dict(_readings(), _naive() if "so far" in case else {}):
                run, days = follow(TIE, rng, delta, mixed=True)
            best = None  # ruling out either of the two is wrong
        ended = run.stopped
        wrong = bool(ended and run.answer.guarantee.kind == "pac" and run.answer.arm != best)
    seconds = round(time.process_time() - started, 2)
    return {"wrong": bool(wrong), "ended": bool(ended), "days": days, "seconds": seconds}


def _readings() -> dict[str, Any]:
    from surepick.algorithms.pooled.kinds import READINGS

    return READINGS._parts


def _naive() -> dict[str, Any]:
    return {"segments": SharesSoFar}


def report(parts: dict[str, Any]) -> str:
    """How often each case was wrong."""
    rows = []
    for cell in dict.fromkeys(key.rpartition(" | ")[0] for key in parts):
        own = [one for key, one in parts.items() if key.rpartition(" | ")[0] == cell]
        wrong, ended = (sum(one[name] for one in own) for name in ("wrong", "ended"))
        middle = float(np.median([one["days"] for one in own]))
        case, delta = cell.split(" | ")
        rows.append([case, delta, f"{wrong} of {len(own)}", f"{ended}", f"{middle:.0f}"])
    head = ["case", "δ", "wrong", "decided", "days (median)"]
    return "\n".join(["# Website tests by segment", "", table(head, rows)])


def main() -> None:
    """Fill the record."""
    given = options((__doc__ or "").splitlines()[0], trials=200).parse_args()
    record = Record("segments", {"seed": given.seed}, given)
    tasks = {
        f"{case} | {delta:g} | {i}": (case, given.seed + i, delta)
        for case in CASES
        for delta in (0.05, 0.2)
        for i in range(given.trials * (2 if "each" in case or "one test" in case else 1))
    }
    record.fill(tasks, measure)
    record.write(report(record.parts))


if __name__ == "__main__":
    main()
