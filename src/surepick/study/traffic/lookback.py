"""A test that was run before, looked back at: what would have been said, and when.

Bets are fixed before each period by the periods before it, exactly as in a study. So what they say
holds for every test whose visitors were sent at random by shares that were fixed before each
period, whoever chose them: shares that never changed, or shares that followed earlier periods.
Whether that was so, and whether somebody chose what to look back at by its results, no file can
show: it is said what the statement rests on, and nothing is certified.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from surepick.algorithms.registry import DEFAULT, get
from surepick.arrays.validate import risk
from surepick.errors import InvalidInputError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.noise import read_rewards
from surepick.problem.tables.read import Columns
from surepick.run.report import tell_report
from surepick.run.waiting import Waiting
from surepick.statistics.lift import Lifts
from surepick.statistics.ratio import LEVEL, RatioTest
from surepick.statistics.spending import shares_of_leads
from surepick.study.sheet import Sheet
from surepick.study.traffic.block import told_to
from surepick.study.traffic.kinds import REPORTS
from surepick.study.traffic.look import by_option, risk_of
from surepick.study.traffic.report import Counts, as_share_of, columns_of, read_report
from surepick.study.traffic.words import ratio_message

#: on what all that is said of a past test rests
CONDITIONS = (
    "visitors were assigned at random, by shares that were fixed before each period and did not "
    "change during it (50/50 throughout, for example, or shares that depended only on earlier "
    "periods)",
    "each period ended at a set time or after a set number of visitors, never because of how the "
    "numbers looked",
    "every visitor counts once, in the period of assignment, and had the same time to respond",
    "nobody looked at the results when choosing this test, its options, its periods or the "
    "settings given here",
)


#: by which all past tests are dealt: nobody chose it for one of them
_SEED = "0"


@dataclass(frozen=True)
class PastPeriod:
    """What would have been said after a period."""

    period: str
    visits: int
    left: int  #: options that were still in
    leader: str
    risk: float  #: p-value of "another one is better than the leader" (by more than epsilon)


@dataclass(frozen=True)
class LookBack:
    """What surepick would have said of a past test, and when.

    Examples
    --------
    >>> day = "label,visits,successes\\na,1000,50\\nb,1000,90\\n"
    >>> rows = [f"day {k},{row}" for k in range(9) for row in day.split()[1:]]
    >>> table = Sheet(csv="\\n".join(["period,label,visits,successes", *rows]))
    >>> look_back(table).to_dict()["leader"]
    'b'
    """

    labels: tuple[str, ...]
    periods: tuple[PastPeriod, ...]  #: up to the one after which it was decided
    decided: bool
    leader: str  #: the answer, where it was decided
    visits: int  #: of these periods
    all_visits: int  #: of the whole test
    all_periods: int
    control: str | None
    lift: tuple[float, float, float] | None  #: the leader less the control, and its ends
    late: tuple[str, ...]  #: options that nobody was sent to at first
    doubts: tuple[str, ...]  #: why the statement may not hold here, beside the conditions
    epsilon: float = 0.0  #: what was close enough
    within: bool = False  #: whether that decided: others that are no more than it better are left
    conditions: tuple[str, ...] = CONDITIONS

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return asdict(self)


def look_back(
    table: Any,
    rewards: str = "yes-no",
    delta: float = 0.05,
    epsilon: float = 0.0,
    control: str | None = None,
    minimise: bool = False,
) -> LookBack:
    """What would have been said of a past test, period by period.

    Parameters
    ----------
    table
        A CSV or Parquet file, or a DataFrame: ``period, label, visits, successes`` (or what reports
        of such rewards have), periods in their order; with a column ``share``, counts are compared
        with it.
    rewards
        What a visit gives: ``yes-no``, ``LO..HI``, or ``number`` (reports by bucket).
    delta, epsilon
        The error probability, and what is close enough.
    control
        An option to which the leader is compared.
    minimise
        Whether fewer successes, or smaller rewards, are better.

    Examples
    --------
    >>> days = "".join(f"day {k},a,1000,50\\nday {k},b,1000,90\\n" for k in range(9))
    >>> found = look_back(Sheet(csv=f"period,label,visits,successes\\n{days}"))
    >>> found.decided, found.leader, found.visits < found.all_visits
    (True, 'b', True)
    """
    whole = Sheet.of(table).read("past")
    problem = Problem.unstructured(_labels(whole), noise=read_rewards(rewards), minimise=minimise)
    REPORTS.of(problem.noise_kind).check(problem.noise_kind)
    parts = _by_period(whole)
    reports = [(name, *_report(problem, part)) for name, part in parts.items()]
    if control is not None and control not in problem.labels:
        raise UnknownNameError.among("control", control, problem.labels)
    run = get(DEFAULT, delta=risk(delta, "delta"), epsilon=epsilon).start(problem)
    run.waits = Waiting()
    lifts, ratio, seen = _lifts(problem, control), RatioTest(problem.n_arms), []
    for name, counts, shares in reports:
        if run.stopped:
            break
        told = told_to(problem, counts)
        added = by_option(told, problem.n_arms)
        if shares is not None:
            ratio.add(shares, added.counts)
        if lifts is not None:
            lifts.add(added)
        tell_report(run, told, deal=_SEED)
        leader = run.state.leader()
        said = (run.state.left(), problem.labels[leader], risk_of(run, leader))
        seen.append(PastPeriod(name, int(added.counts.sum()), *said))
    late = _late(problem, reports)
    leader = problem.labels.index(seen[-1].leader)
    return LookBack(
        labels=tuple(problem.labels),
        periods=tuple(seen),
        decided=run.stopped,
        leader=seen[-1].leader,
        visits=sum(one.visits for one in seen),
        all_visits=sum(sum(counts.visits) for _, counts, _ in reports),
        all_periods=len(reports),
        control=control,
        lift=None if lifts is None else _lead(lifts, leader, delta),
        late=late,
        doubts=tuple(_doubts(problem, late, ratio, reports)),
        epsilon=epsilon,
        within=run.stopped and seen[-1].left > 1,
    )


def _labels(table: Columns) -> list[str]:
    labels = dict.fromkeys("" if one is None else str(one) for one in table.column("label"))
    if len(labels) < 2:
        raise InvalidInputError(f"{table.where}: a test needs at least two options")
    return [*labels]


def _by_period(table: Columns) -> dict[str, Columns]:
    """The rows of each period, in the order in which periods first come."""
    places: dict[str, list[int]] = {}
    for row, name in enumerate(table.column("period")):
        if name is None or not str(name).strip():
            raise InvalidInputError(f"{table.at(row, 'period')}: the name of a period is missing")
        places.setdefault(str(name).strip(), []).append(row)
    return {
        name: replace(
            table,
            cells={key: [cells[i] for i in rows] for key, cells in table.cells.items()},
            rows=[table.rows[i] for i in rows],
            index=None,
        )
        for name, rows in places.items()
    }


def _report(problem: Problem, part: Columns) -> tuple[Counts, Any]:
    """What came of a period, and the shares of its visitors, if they are there."""
    places = {label: arm for arm, label in enumerate(problem.labels)}
    arms = [places["" if one is None else str(one)] for one in part.column("label")]
    if "share" not in part.cells:
        sent = np.zeros(problem.n_arms)
        sent[arms] = 1.0
        return read_report(problem, part, sent), None
    shares = np.zeros(problem.n_arms)
    for row, arm in enumerate(arms):
        shares[arm] = as_share_of(part.cells["share"][row], part.at(row, "share"))
    if abs(shares.sum() - 1.0) > 1e-3:
        raise InvalidInputError(
            f"{part.at(0, 'share')}: the shares of a period must sum to 1; these sum to "
            f"{shares.sum():.6g}. Give an option that nobody saw a row with 0 visits"
        )
    return read_report(problem, part, shares), shares / shares.sum()


def _lifts(problem: Problem, control: str | None) -> Lifts | None:
    kind = problem.noise_kind
    place = None if control is None else problem.labels.index(control)
    return REPORTS.of(kind).lifts(kind, problem.n_arms, place)


def _lead(lifts: Lifts, leader: int, delta: float) -> tuple[float, float, float] | None:
    lead = float(lifts.estimates()[leader])
    if leader == lifts.control or math.isnan(lead):
        return None
    n = len(lifts.estimates())  # a study leaves room for options that may come
    low, high = lifts.intervals(shares_of_leads(delta, n, n, lifts.control))
    return lead, float(low[leader]), float(high[leader])


def _late(problem: Problem, reports: list[tuple[str, Counts, Any]]) -> tuple[str, ...]:
    first = set(reports[0][1].arms)
    return tuple(label for arm, label in enumerate(problem.labels) if arm not in first)


def _doubts(
    problem: Problem,
    late: tuple[str, ...],
    ratio: RatioTest,
    reports: list[tuple[str, Counts, Any]],
) -> list[str]:
    found = []
    if late:
        first, *rest = late
        more = f" and {len(rest)} more" if rest else ""
        found.append(
            f"{first}{more} joined later: if options were added because of what had been seen, "
            "there is no guarantee"
        )
    if reports[0][2] is None:
        names = ", ".join(["period", *columns_of(problem)])
        found.append(
            "visits could not be compared with the shares: the column share is missing beside "
            f"{names}"
        )
    elif ratio.log_evidence >= -math.log(LEVEL):
        counts, expected = ratio.counts, ratio.expected
        found.append(ratio_message(problem.labels, ratio.off(), counts, expected, alarm=True))
    return found
