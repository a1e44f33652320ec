"""An answer that waits: reports after the decision have to show the same leads.

Where visitors of a site are reported, a decision ends nothing yet. One more report comes at least,
and as many as it takes until the time that was asked for is over and every lead that was decided in
the second half of the study shows again in the reports since then. If they have not after as many
reports as the decision took (and a week of days), it is over as well, without a guarantee.

*Why.* Bots on the day that decides, or a novelty that wears off, are in the reports up to the
decision; they are not, or less so, in those that come later. So each lead must show in these alone,
by at least one standard error. The lead of one option over another is the average over periods of
what they differ by within each (weights nk/(n + k) with n and k visits), so levels and shares that
change do not matter. Where a limit is a number, an option's distance to it is the average over its
visits.

*Waiting does no harm.* What is named with a guarantee was decided, by bets alone; nothing is bet
on reports that come later. So an answer that is wrong, with its guarantee, is a decision that was:
that has probability delta at most, and waiting can only take from it.

Who is a rival: whoever was in when the second half of the reports that decided began, and whoever
came since, or came back, until it was decided; of these, all that are still there. If nobody but
the answer is left of them, as all were retired, it is everybody else who is there. Each has to be
seen again: a report of a period in which a rival had no visitors says nothing of it. Rivals keep a
share meanwhile: leads are shown again by them, and what moved can be seen. Where nobody else is
there at all, and no limit is to be kept, nothing is to be shown, and nothing is waited for.

Where limits have to be kept, whoever is named must keep each of them in these reports, too, by the
same measure (up to its tolerance, if it has one). A rival was ruled out in one of several ways:
the answer was better, or it broke a limit. Whichever showed most clearly, in standard errors of all
reports up to the decision, must show again. If nobody keeps the limits, each rival must break one.
Options that are compared with a baseline and have to keep limits are each on their own: the better
ones must be ahead of it again and keep every limit; of those that are ruled out, either the
baseline is ahead, or they break a limit.

Where the cheapest that is good enough is looked for, the answer must be good enough again beside
each rival; and of each rival that is cheaper, some option must be too far ahead again: the one that
was most clearly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.findings import Claims
from surepick.algorithms.limits.limit import Limit
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.algorithms.questions import candidate_of
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.problem.noise import BySegment
from surepick.statistics.lift import Sums
from surepick.statistics.mixed import as_one

#: why an answer has no guarantee
NOT_AGAIN = "what was decided did not show again in the reports after it"
MOST = 7  # reports to wait for at least before it is given up
_FLOOR = 0.1  # part of the visitors that all who are shown share alike
_SURE = 0.25  # times the visitors of others: for those whose lead has shown again
_DIGITS = 9  # of standard errors, when the clearest way is chosen
ERRORS = 1.0  # standard errors by which leads must show again
ZERO = -1  # in the place of an option: the number 0


class Lead(NamedTuple):
    """One option is not more than a margin below another one, or the number 0."""

    first: int
    second: int
    margin: float
    limit: Limit | None = None  #: on whose number; None: on rewards
    keeps: bool = False  #: whether it says that a limit is kept, and not broken

    @property
    def option(self) -> int:
        """Whose limit it is."""
        assert self.limit is not None
        return self.first if self.limit.up == self.keeps else self.second

    @property
    def column(self) -> str | None:
        """The number that it is about; None: the reward."""
        return None if self.limit is None else self.limit.column


class Waiting:
    """What a run of reports waits for."""

    def __init__(self, least: float = 0.0) -> None:
        self.least = least  #: seconds that it takes at least, from the first shares on
        self.elapsed = 0.0  #: seconds until the last report
        self.decided: int | None = None  #: reports that it took to decide; None: it is not
        self.compared: list[list[int]] = []  #: who was in when each report came
        self.confirmed = False  #: whether all leads have shown again
        self.over = False

    def save(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def of(cls, saved: dict[str, Any] | None) -> Waiting | None:
        if saved is None:
            return None
        made = cls()
        vars(made).update({name: saved[name] for name in vars(made)})
        return made

    @property
    def begun(self) -> bool:
        """Whether reports have decided."""
        return self.decided is not None

    def done(self, run: Any) -> bool:
        """Whether nothing is waited for any more, now that the question is answered."""
        return self.over or self._nothing_due(run)

    def well(self, run: Any) -> bool:
        """Whether there is nothing to be said against an answer that has come."""
        return (self.over and self.confirmed) or self._nothing_due(run)

    def _nothing_due(self, run: Any) -> bool:
        """Whether no report was needed, or nobody is left to be compared with."""
        if not self.compared:
            return True
        return len(_there(run)) == 1 and not ways_of(run, self.rivals(run))

    @property
    def since(self) -> int:
        """Reports that came after the decision."""
        return 0 if self.decided is None else len(self.compared) - self.decided

    @property
    def most(self) -> int:
        """Reports after the decision at which it is over in any case."""
        return max(self.decided or 0, MOST)

    def rivals(self, run: Any) -> list[int]:
        """Who has to be seen again, as said above; the answer itself may be among them."""
        there = _there(run)
        if getattr(run.algorithm.asked, "claims", "all") != "all":
            return sorted(there)  # what is claimed on average may be taken back, until the end
        reports = len(self.compared) if self.decided is None else self.decided
        lately = there & {i for compared in self.compared[reports // 2 :] for i in compared}
        return sorted(there if lately <= set(_named(run)) else lately)

    def reopen(self) -> None:
        """Nothing is decided, or not any more: options have come."""
        self.decided, self.confirmed, self.over = None, False, False

    def take(
        self, run: Any, compared: BoolArray, elapsed: float | None, before: bool = False
    ) -> None:
        """A report was told; so long after the first shares, where that is known.

        ``before`` is whether it was decided before this report, as options had come or gone.
        """
        self.compared.append(np.flatnonzero(compared).tolist())
        self.elapsed = self.elapsed if elapsed is None else max(elapsed, self.elapsed)
        if not run.state.finished:
            self.reopen()
            return
        if self.decided is None:
            self.decided = len(self.compared) - before
        shown = self.shown(run)
        since = self.since > 0
        self.confirmed = since and bool((shown >= ERRORS).all())
        in_time = self.elapsed >= self.least
        self.over = since and in_time and (self.confirmed or self.since >= self.most)

    def due(self, run: Any) -> list[Lead]:
        """What has to show again; of several ways, the one that decided."""
        ways = ways_of(run, self.rivals(run))
        if all(len(some) == 1 for some in ways):
            return [one for (one,) in ways]
        before = run.told()[: self.decided]
        found = iter(_errors(run, [one for some in ways for one in some], before).tolist())
        clear = [[round(next(found), _DIGITS) for _ in some] for some in ways]
        return [some[own.index(max(own))] for some, own in zip(ways, clear)]

    def shown(self, run: Any) -> FloatArray:
        """By how many standard errors each lead has shown again."""
        return _errors(run, self.due(run), run.told(len(self.compared) - self.since))

    def unseen(self, run: Any) -> tuple[list[int], list[Lead]]:
        """Who has not been seen to be behind again since the decision, and limits to be seen."""
        late = [one for one, shown in zip(self.due(run), self.shown(run)) if shown < ERRORS]
        named = run.state.named() if run.state.claims() is None else []
        behind = {i for one in late if one.limit is None for i in one[:2]} - {ZERO, *named}
        return sorted(behind), [one for one in late if one.limit is not None]

    def shares(self, run: Any) -> FloatArray:
        """One share per option; they sum to 1."""
        n_arms, due = run.problem.n_arms, self.due(run)
        leads = _arrays(due)
        involved = np.zeros(n_arms + 1, dtype=bool)  # the last is the number 0
        involved[self.rivals(run)], involved[leads.first], involved[leads.second] = True, True, True
        involved[run.state.leader()] = True
        involved = involved[:-1]
        if run.state.retired is not None:
            involved &= ~run.state.retired
        if not due:
            return involved / involved.sum()
        told = run.told()
        visits = np.sum([by_option(one, run.problem).counts for one in told], axis=0)
        visits = np.append(visits, 0.0)
        n, k = visits[leads.first], visits[leads.second]
        alone = (leads.first == ZERO) | (leads.second == ZERO)
        part = np.where(alone, n + k, n * k / np.maximum(n + k, 1.0))
        # A lead of z standard errors so far takes so many visitors to show by one.
        need = part / np.maximum(_errors(run, due, told), 1.0) ** 2
        need = np.maximum(need, 1.0)
        need = np.where(self.shown(run) >= ERRORS, _SURE * need, need) if self.since else need
        weights, squares = np.zeros((2, n_arms + 1))
        np.maximum.at(weights, leads.second, need)
        np.add.at(squares, leads.first, need**2)
        weights = np.maximum(weights, np.sqrt(squares))[:-1]
        return (1.0 - _FLOOR) * weights / weights.sum() + _FLOOR * involved / involved.sum()


def _there(run: Any) -> set[int]:
    """All options that were not retired."""
    return set(range(run.problem.n_arms)) - set(run.retired)


def _named(run: Any) -> list[int]:
    """Who is named; nobody where all are ruled out, as none keeps the limits."""
    if getattr(run.algorithm.asked, "limits", ()) and not run.state.left():
        return []
    return run.state.named()


def ways_of(run: Any, rivals: list[int]) -> list[list[Lead]]:
    """What was decided lately, each thing with the ways in which it may have been."""
    limits: tuple[Limit, ...] = getattr(run.algorithm.asked, "limits", ())
    named = _named(run)
    if run.algorithm.asked.within is not None and named:
        return _ways_of_cheapest(run, rivals, run.algorithm.asked.within, limits)
    if not limits:
        return [[one] for one in leads_of(run, rivals)]
    claims = run.state.claims()
    if claims is not None:
        return _ways_of_claims(run, claims, rivals, limits)
    found = [[one] for x in named for limit in limits if (one := _limited(run, limit, x, True))]
    # Where fewer are left than were asked for, all others break a limit.
    leads = [[x] for x in named] if len(named) == run.algorithm.asked.count else [[]]
    for rival in rivals:
        if rival in named or _breaks_itself(run, limits, rival):
            continue
        broken = [one for limit in limits if (one := _limited(run, limit, rival, False))]
        for ahead in leads:
            ways = [_ahead(run, x, rival, run.algorithm.epsilon) for x in ahead] + broken
            found += [ways] if ways else []
    return found


def _ways_of_cheapest(
    run: Any, rivals: list[int], within: float, limits: tuple[Limit, ...]
) -> list[list[Lead]]:
    """That the answer is good enough beside all, and that of cheaper ones none is, beside some.

    Where there are limits the answer keeps them; what breaks one counts neither here nor there.
    """
    (named,) = run.state.named()
    enough, cheaper = within + run.algorithm.epsilon, cheaper_than(run.problem, named)
    some = [x for x in sorted({named, *rivals}) if not _breaks_itself(run, limits, x)]
    broken = {x: [one for limit in limits if (one := _limited(run, limit, x, False))] for x in some}
    found = [[one] for limit in limits if (one := _limited(run, limit, named, True))]
    found += [[_ahead(run, named, x, enough), *broken[x]] for x in some if x != named]
    for x in cheaper:
        if x in rivals and x in some:
            ahead = [_ahead(run, other, x, -within) for other in some if other != x]
            found.append(ahead + broken[x])
    return found


def _breaks_itself(run: Any, limits: tuple[Limit, ...], option: int) -> bool:
    """Whether it breaks a limit that compares it with itself, for certain."""
    return any(_itself(run, limit, option) is False for limit in limits)


def cheaper_than(problem: Problem, one: int) -> list[int]:
    """Who comes before an option in the order of costs."""
    order = np.argsort(np.asarray(problem.costs), kind="stable").tolist()
    return order[: order.index(one)]


def _ways_of_claims(
    run: Any, claims: Claims, rivals: list[int], limits: tuple[Limit, ...]
) -> list[list[Lead]]:
    """What must show again where options beat a baseline, or a number, and keep limits."""
    assert claims.ruled_out is not None
    found = list[list[Lead]]()
    for i in claims.better.tolist():
        if i in rivals:
            kept = [_limited(run, limit, i, True) for limit in limits]
            found += [[one] for one in (_on_side(run, i, True), *kept) if one is not None]
    for i in claims.ruled_out.tolist():
        if i in rivals and not _breaks_itself(run, limits, i):
            broken = [_limited(run, limit, i, False) for limit in limits]
            found.append([_on_side(run, i, False), *(one for one in broken if one is not None)])
    return found


def _on_side(run: Any, option: int, better: bool) -> Lead:
    """That an option is better than the baseline, or the number; or worse."""
    asked = run.algorithm.asked
    if asked.number is None:
        about = candidate_of(run.problem, asked.baseline)
        first, second = (option, about) if better else (about, option)
        return _ahead(run, first, second, 0.0)
    above = better != run.problem.minimise
    ends = (option, ZERO) if above else (ZERO, option)
    return Lead(*ends, -asked.number if above else asked.number)


def _base(run: Any, limit: Limit) -> int:
    return ZERO if limit.than is None else candidate_of(run.problem, limit.than)


def _itself(run: Any, limit: Limit, option: int) -> bool | None:
    """Whether an option keeps a limit that compares it with itself; None: it does not."""
    if option != _base(run, limit):
        return None
    return limit.mark <= 0 if limit.up else limit.mark >= 0


def _limited(run: Any, limit: Limit, option: int, keeps: bool) -> Lead | None:
    """That an option keeps a limit, up to its tolerance, or breaks it; None: it is certain."""
    if _itself(run, limit, option) is not None:
        return None
    ends, margin = (option, _base(run, limit)), -limit.mark if limit.up else limit.mark
    if limit.up != keeps:
        ends = (ends[1], ends[0])
    return Lead(*ends, margin + limit.tolerance if keeps else -margin, limit, keeps)


def _ahead(run: Any, better: int, worse: int, margin: float) -> Lead:
    ends = (worse, better) if run.problem.minimise else (better, worse)
    return Lead(*ends, margin)


def leads_of(run: Any, rivals: list[int]) -> list[Lead]:
    """The leads that were decided lately: of who is named, or of who is better than a baseline."""
    state, problem = run.state, run.problem
    gone = set() if state.retired is None else set(np.flatnonzero(state.retired).tolist())
    epsilon, among = run.algorithm.epsilon, [i for i in rivals if i not in gone]
    claims = state.claims()
    if claims is None:
        named = state.named()
        pairs = [(a, b, epsilon) for a in named for b in among if b not in named]
    else:
        about = [i for i, label in enumerate(problem.labels) if repr(label) == claims.baseline]
        pairs = [(i, b, 0.0) for b in about for i in claims.better.tolist() if i in among]
        pairs += [(b, i, 0.0) for b in about for i in claims.worse.tolist() if i in among]
        near = [(i, b) for b in about for i in claims.close.tolist() if i in among]
        pairs += [(a, b, epsilon) for i, base in near for a, b in ((i, base), (base, i))]
    return [_ahead(run, a, b, margin) for a, b, margin in pairs]


def _errors(run: Any, leads: list[Lead], reports: list[ToldPulls]) -> FloatArray:
    """Standard errors by which leads show in these reports."""
    found = np.zeros(len(leads))
    columns = [one.column for one in leads]
    for column in dict.fromkeys(columns):
        here = [i for i, own in enumerate(columns) if own == column]
        sums = [by_option(told, run.problem, column) for told in reports]
        found[here] = shown_again(_arrays([leads[i] for i in here]), sums)
    return found


class Leads(NamedTuple):
    """Each of the first is not more than a margin below the second; either may be ``ZERO``."""

    first: IntArray
    second: IntArray
    margins: FloatArray


def shown_again(leads: Leads, reports: list[Sums]) -> FloatArray:
    """By how many standard errors each lead shows in these reports; −∞ where nothing is known.

    Examples
    --------
    >>> day = Sums(np.full(2, 1000.0), np.array([50.0, 70.0]), np.array([47.5, 65.1]))
    >>> leads = Leads(np.array([1]), np.array([0]), np.zeros(1))
    >>> shown_again(leads, [day, day]).round(2).tolist()
    [2.67]
    """
    gain, variance = np.zeros((2, len(leads.first)))
    alone = (leads.first == ZERO) | (leads.second == ZERO)
    for report in reports:
        one = Sums(*(np.append(own, 0.0) for own in report))  # the last is ZERO
        n, k = one.counts[leads.first], one.counts[leads.second]
        total = np.maximum(n + k, 1.0)
        weight = np.where(alone, n + k, n * k / total)
        means = [one.sums[i] / np.maximum(one.counts[i], 1.0) for i in leads[:2]]
        gain += weight * (means[0] - means[1] + leads.margins)
        variance += weight * ((one.spreads[leads.first] + one.spreads[leads.second]) / total)
    error = np.sqrt(np.maximum(variance, 0.0))
    found = np.full(len(gain), -np.inf)
    some = error > 0
    found[some] = gain[some] / error[some]
    found[~some & (gain > 0)] = np.inf
    return found


def _arrays(leads: list[Lead]) -> Leads:
    first, second, margins = zip(*(one[:3] for one in leads)) if leads else ((), (), ())
    a, b = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    return Leads(a, b, np.array(margins, dtype=np.float64))


def by_option(told: ToldPulls, problem: Problem, column: str | None = None) -> Sums:
    """A report added up by option, with what rewards differ by; its rows may be groups.

    Or with what a further number differs by.
    """
    n, kind, arms = problem.n_arms, problem.noise_kind, told.pulls.arms
    counts, sums, spreads = told.pulls.counts.astype(np.float64), told.sums, told.spreads
    if column is not None:
        assert told.numbers is not None
        kind, (sums, spreads) = problem.numbers[column], told.numbers[column]
        sums = np.asarray(sums, dtype=np.float64)
    if isinstance(kind, BySegment):
        return mixed_of(told.pulls, sums, n, kind)
    if kind.successes:
        spreads = sums - sums * (sums / counts)
    elif spreads is None:
        spreads = counts * np.asarray(kind.units(arms)) ** 2
    return Sums(*(np.bincount(arms, one, n).astype(np.float64) for one in (counts, sums, spreads)))


def mixed_of(pulls: Pulls, sums: FloatArray, n: int, kind: BySegment) -> Sums:
    """A report by segment as if each option had visitors of one rate, that of the mix."""
    table = np.zeros((2, n, len(kind.shares)))
    assert pulls.parts is not None
    for one, column in zip(table, (pulls.counts, sums)):
        one[pulls.arms, pulls.parts] = column
    return Sums(*as_one(np.array(kind.shares), *table))
