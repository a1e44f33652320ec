"""What is known now about every option, at any moment, without ending anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.algorithms.base import Algorithm, Claims, Known, State
from surepick.algorithms.pulls import ToldPulls
from surepick.algorithms.questions import compares
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import MissingExtraError
from surepick.problem import Problem
from surepick.problem.noise import BySegment
from surepick.problem.pairs import costs_of_options
from surepick.statistics.estimate import LeastSquares
from surepick.text import plural


@dataclass(frozen=True, eq=False)
class Standing:
    """One picture of all options, as of the rewards that were told; in units of the reward.

    ``standing["estimate"]`` is a column, with an entry for each option; the same names are those
    of the DataFrame that :meth:`frame` makes.

    What a row says of an option agrees with its state. ``p_value`` is that of "this option is the
    best" (among the m best, where m are asked for). An option that is out has one of at most delta,
    which says that it is behind the best by more than 0 and no more: ``behind_low`` is 0 and
    ``behind_high`` is not known. One that is still in may be the best: how far it is behind lies
    between the two ends, which hold at all times, and 0 is between them.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0, labels=["a", "b"])
    >>> run = sp.algorithms.PooledPeleg(0.05).start(problem)
    >>> batch = run.ask()
    >>> run.tell(batch, [5.0 - 0.1 * arm for arm in batch.arms])
    >>> now = run.standing()
    >>> now.leader, now["state"], now["p_value"]
    ('a', ['leads', 'in'], [1.0, 1.0])
    """

    question: str  #: "best", "top" or "baseline"
    leader: str | None  #: what would be named now; None: nothing is known
    leader_index: int | None
    samples: int
    delta: float
    columns: dict[str, list[Any]]  #: by name, one entry for each option
    minimise: bool = False  #: whether smaller is better
    #: limits that have to be kept; the column of this name says who "keeps" or "breaks" it, or that
    #: this is "not clear yet"; those called ``f"{limit}: mean"``, ``: low`` and ``: high`` have the
    #: mean of what was measured, and between which ends it lies; ``front`` has whom nobody seems to
    #: beat on the reward and on all of these numbers at once, by two standard errors, which proves
    #: nothing
    limits: tuple[str, ...] = ()
    #: for pictures, of each limit: "mark" (what the mean is compared with), "above" (whether it is
    #: kept above that) and "about" (what the mean is of)
    marks: tuple[dict[str, Any], ...] = ()

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    def frame(self) -> Any:
        """As a pandas DataFrame, a row for each option (needs the extra ``pandas``)."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("frame needs pandas: install surepick[pandas]") from None
        made = pandas.DataFrame(self.columns).set_index("option")
        made.attrs |= {"leader": self.leader, "question": self.question, "delta": self.delta}
        return made

    def table(self) -> str:
        """As a table of HTML, for a notebook: the leader first, then by the estimates."""
        from surepick import notebook

        compared = compares(self.question)
        hidden = ("behind",) if compared else ("lift", "lift_low", "lift_high")
        names = [name for name in _SHOWN if name in self.columns and name not in hidden]
        names[2:2] = self.limits
        known = self.columns["estimate"]
        first = None if compared else self.leader_index
        best = best_first(self.minimise)
        order = sorted(range(len(known)), key=lambda i: (i != first, best(known[i])))
        return notebook.table(
            {_SHOWN.get(name, name): [self.columns[name][i] for i in order] for name in names},
            bars=[_SHOWN["pulls"]] if "pulls" in names else [],
        )

    def _repr_html_(self) -> str:
        from surepick import notebook

        ahead = "nothing is known yet" if self.leader is None else f"{self.leader} is ahead"
        if self.leader is not None and compares(self.question):
            ahead = counted(self["state"])
        return notebook.panel(f"{plural(self.samples, 'measurement')}: {ahead}", self.table())

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values; what is not known is null."""
        return {
            "question": self.question,
            "leader": self.leader,
            "leader_index": self.leader_index,
            "samples": self.samples,
            "delta": self.delta,
            "columns": {
                name: [_plain(value) for value in values] for name, values in self.columns.items()
            },
            "minimise": self.minimise,
        } | ({"limits": list(self.limits), "marks": list(self.marks)} if self.limits else {})

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Standing:
        """What :meth:`to_dict` made; ends that are not known are infinite again."""
        columns = {
            name: [_END[name] if value is None and name in _END else value for value in values]
            for name, values in saved["columns"].items()
        }
        head: dict[str, Any] = {name: value for name, value in saved.items() if name != "columns"}
        head |= {name: tuple(head.get(name, ())) for name in ("limits", "marks")}
        return cls(columns=columns, **head)


def best_first(minimise: bool) -> Callable[[float | None], float]:
    """A key by which the best comes first, and what is not known last."""
    sign = 1.0 if minimise else -1.0
    return lambda value: math.inf if value is None else sign * value


_SHOWN = {
    "option": "option",
    "state": "state",
    "estimate": "estimate",
    "cost": "cost",
    "behind": "behind the best",
    "lift": "lift",
    "lift_low": "at least",
    "lift_high": "at most",
    "pulls": "measurements",
}
"""What a notebook shows of the columns, and as what."""

_END = {
    "behind_low": -math.inf,
    "behind_high": math.inf,
    "lift_low": -math.inf,
    "lift_high": math.inf,
}


def standing_of(
    algorithm: Algorithm,
    problem: Problem,
    state: State,
    totals: tuple[IntArray, FloatArray],
    pulls: IntArray,
) -> Standing:
    """What is known in a run."""
    claims, estimates = claims_now(problem, state), _estimates(problem, state, totals)
    leader = None if estimates is None else int(state.leader())
    if estimates is not None and leader is not None:
        _by_own_means(problem, totals, estimates)
        _at_its_own_level(problem, state, totals, leader, estimates)
        for name in ("estimate", "behind"):
            found = estimates.get(name)
            if found is not None:
                estimates[name] = without_rounding(found, estimates.get("error"))
    still, n = np.isin(problem.same_as, state.active), problem.n_candidates
    columns: dict[str, list[Any]] = {
        "option": list(problem.candidate_labels),
        "state": ["in" if mine else "out" for mine in still],
    }
    if not problem.transductive:
        columns["pulls"] = pulls.tolist()
    for arm in np.flatnonzero(state.retired) if state.retired is not None else ():
        columns["state"][arm] = "retired"
    nothing: list[Any] = [None] * n
    for name in _COLUMNS:
        found = None if estimates is None else estimates.get(name)
        columns[name] = nothing if found is None else found.tolist()
    known = estimates is not None and estimates.get("p_value") is not None
    if claims is None and known and algorithm.asked.ranks:
        columns |= _agreeing(columns, one=len(state.named()) == 1)
    if algorithm.asked.within is not None:  # where the cheapest good one is looked for
        costs = np.asarray(problem.costs)
        costs = costs if problem.pairing is None else costs_of_options(costs, n)
        columns["cost"] = costs.tolist()
    if not algorithm.asked.ranks:  # who is out may be better, and dearer, or break a limit
        columns |= {"behind_low": nothing, "behind_high": nothing}
    kept = state.limits_kept()
    front = state.not_beaten()
    if front is not None:
        columns["front"] = front.tolist()
    for one in kept:
        columns[one.limit] = one.verdicts
        for name, values in (("mean", one.estimates), ("low", one.low), ("high", one.high)):
            columns[f"{one.limit}: {name}"] = values.tolist()
    if claims is not None:
        columns["state"] = _against_baseline(claims, n)
        lift = nothing if leader is None else claims.lift.tolist()
        ends = {"lift_low": claims.low.tolist(), "lift_high": claims.high.tolist()}
        columns |= {"lift": lift} | ends
    elif leader is not None:
        for named in state.named():
            columns["state"][named] = "leads"
    label = None if leader is None else problem.candidate_labels[leader]
    head = (algorithm.asked.name, label, leader, int(pulls.sum()), algorithm.delta)
    limits = tuple(one.limit for one in kept)
    marks = tuple({name: getattr(one, name) for name in ("mark", "above", "about")} for one in kept)
    return Standing(*head, columns, problem.minimise, limits, marks)


def _estimates(
    problem: Problem, state: State, totals: tuple[IntArray, FloatArray]
) -> dict[str, FloatArray | None] | None:
    """By the algorithm's own estimates; where it has none, by least squares."""
    known = known_now(problem, state)
    if known is not None:
        return dict(zip(_COLUMNS, known))
    found = fitted(problem, state, *totals)
    if found is None:
        return None
    fit, sigma = found
    directions = problem.targets[state.leader()] - problem.targets
    errors = np.sqrt(fit.variances(directions))
    columns = (problem.sign * (problem.targets @ fit.theta), directions @ fit.theta, errors)
    return {name: column * sigma for name, column in zip(_COLUMNS, columns)}


def _by_own_means(
    problem: Problem,
    totals: tuple[IntArray, FloatArray],
    estimates: dict[str, FloatArray | None],
) -> None:
    """Where an algorithm does not estimate by itself, the means of options' own rewards stand."""
    found, (counts, sums) = estimates["estimate"], totals
    if found is not None and not problem.transductive and np.isnan(found).any():
        own = np.divide(sums, counts, out=np.full(len(sums), math.nan), where=counts > 0)
        estimates["estimate"] = np.where(np.isnan(found), own, found)


def _at_its_own_level(
    problem: Problem,
    state: State,
    totals: tuple[IntArray, FloatArray],
    leader: int,
    estimates: dict[str, FloatArray | None],
) -> None:
    """Move all estimates so that the leader's is the mean of its own measurements.

    Where options are compared within a block, what is known is how far they are apart. Their common
    level would be that of the first block, or of its few items, which nobody asked for.
    """
    counts, sums = totals
    found = estimates["estimate"]
    if found is None or problem.transductive or not state.level_is_free or not counts[leader]:
        return
    estimates["estimate"] = found + (sums[leader] / counts[leader] - found[leader])


_COLUMNS = ("estimate", "behind", "error", "behind_low", "behind_high", "p_value")


def _agreeing(columns: dict[str, list[Any]], one: bool) -> dict[str, list[Any]]:
    """P-values and ends that say of each option what its state says.

    Ends come from bets of their own, on leads over the one that looks best, and would now and then
    contradict the bets that decide. What was ruled out was ruled out by these: it is behind the
    best. And who is in, where one is asked for, may be the best: a wider interval is as true.
    """
    states = np.array(columns["state"])
    low, high = (np.array(columns[f"behind_{end}"], dtype=float) for end in ("low", "high"))
    out, gone = states == "out", states == "retired"
    if one:
        low = np.minimum(low, 0.0)
    low, high = np.where(out, 0.0, low), np.where(out, math.inf, high)
    low[gone], high[gone] = -math.inf, math.inf
    p_values = [None if mine else p for p, mine in zip(columns["p_value"], gone)]
    return {"behind_low": low.tolist(), "behind_high": high.tolist(), "p_value": p_values}


def between(
    state: str,
    low: float | None,
    high: float | None,
    epsilon: float = 0.0,
    minimise: bool = False,
) -> str:
    """How far an option is behind the best, or from a baseline: what is known at all times.

    It agrees with what is said of the option. An interval that still reaches across 0 says less
    than the claim that it is better does, and is left out.

    Examples
    --------
    >>> between("out", 0.0, None), between("in", -0.25, 1.0), between("in", None, None)
    ('more than 0', '-0.25 to 1', '')
    >>> between("better", -0.1, 2.0), between("better", 0.5, 2.0), between("worse", -2.0, 0.1)
    ('more than 0', '0.5 to 2', 'less than 0')
    >>> between("better", -2.0, 0.1, minimise=True)
    'less than 0'
    """
    above, below = ("worse", "better") if minimise else ("better", "worse")
    ends = [None if end is None or math.isinf(end) else end for end in (low, high)]
    least = -math.inf if ends[0] is None else ends[0]
    most = math.inf if ends[1] is None else ends[1]
    if state == "out":
        return "" if ends[0] is None else "more than 0"
    if state == above and least < 0:
        return "more than 0"
    if state == below and most > 0:
        return "less than 0"
    if state in ("close", "as good") and epsilon and (least < -epsilon or most > epsilon):
        return f"at most {epsilon:g} away"
    if state == "undecided":
        ends = [None if end is None else f(end, 0.0) for end, f in zip(ends, (min, max))]
    if ends == [None, None] or (state in ("leads", "baseline") and ends == [0.0, 0.0]):
        return ""
    return " to ".join("…" if end is None else f"{end + 0.0:.2g}" for end in ends)


def _against_baseline(claims: Any, n: int) -> list[str]:
    words = np.full(n, "baseline", dtype=object)
    for name in ("undecided", "close", "better", "worse", "ruled_out"):
        some = getattr(claims, name)
        if some is not None:
            words[some] = name
    return words.tolist()


#: what is said of options compared with a baseline
VERDICTS = {
    "better": "better",
    "worse": "worse",
    "close": "as good",
    "ruled_out": "ruled out",
    "undecided": "undecided",
}


def counted(states: Sequence[str], without: Sequence[str] = ()) -> str:
    """How many options are better than a baseline, and so on.

    Examples
    --------
    >>> counted(["baseline", "better", "close", "close"])
    '1 better, 2 as good'
    """
    names = [name for name in VERDICTS if name in states and name not in without]
    return ", ".join(f"{states.count(name)} {VERDICTS[name]}" for name in names)


def fitted(
    problem: Problem, state: State, counts: IntArray, sums: FloatArray
) -> tuple[LeastSquares, float] | None:
    """Least squares on what was measured, and its unit in units of the reward.

    Variances are those of the present estimates of the noise (of one unit, where there are none).
    None where too few options were measured.
    """
    scale = state.reward_scale()
    if not counts.any():
        return None
    rows, own = problem.features, problem.standardised(np.arange(problem.n_arms), sums)
    sigma = problem.unit
    if isinstance(scale, np.ndarray):  # each arm counts by its own
        rows, own = rows / scale[:, None], own / scale
    elif scale is not None:
        own, sigma = own / scale, sigma * scale
    fit = LeastSquares(rows, counts, own)
    return (fit, sigma) if fit.spans else None


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def means_of(
    problem: Problem, counts: IntArray, sums: FloatArray, told: list[ToldPulls]
) -> list[float | None]:
    """Of each arm; None where nothing was measured. ``told`` is all that was.

    Where visitors are counted by segment it is the rate of the mix, and None while some segment has
    nobody: the mean over all who came would say as much about who came as about the option.
    """
    kind = problem.noise_kind
    if not isinstance(kind, BySegment):
        return [s / n if n else None for s, n in zip(sums.tolist(), counts.tolist())]
    came, yes = np.zeros((2, problem.n_arms, len(kind.shares)))
    for one in told:
        assert one.pulls.parts is not None
        at = (one.pulls.arms, one.pulls.parts)
        np.add.at(came, at, one.pulls.counts)
        np.add.at(yes, at, one.sums)
    rates = (np.array(kind.shares) * yes / np.maximum(came, 1.0)).sum(axis=1)
    whole = came.min(axis=1) > 0
    return [rate if seen else None for rate, seen in zip(rates.tolist(), whole.tolist())]


_ROUNDING = 1e-12


def known_now(problem: Problem, state: State) -> Known | None:
    """What is known about each candidate now."""
    known = state.now()
    if known is None or not problem.minimise:
        return known
    return known._replace(estimates=_turned(known.estimates))


def claims_now(problem: Problem, state: State) -> Claims | None:
    """What is claimed now: a lift is the option less the baseline, so below 0 it may be better."""
    claims = state.claims()
    if claims is None:
        return None
    claims = claims._replace(lift=without_rounding(claims.lift, claims.low, claims.high))
    if not problem.minimise:
        return claims
    ends = {"low": _turned(claims.high), "high": _turned(claims.low)}
    return claims._replace(lift=_turned(claims.lift), **ends)


def without_rounding(values: FloatArray, *beside: FloatArray | None) -> FloatArray:
    """Numbers that a person reads: 0 where they are what floating point left of a difference.

    That is less than a millionth of a millionth of the largest of them, or of those beside them.

    Examples
    --------
    >>> without_rounding(np.array([0.25, -5.551e-17])).tolist()
    [0.25, 0.0]
    >>> without_rounding(np.array([3e-17, 0.0]), np.array([0.4, np.inf])).tolist()
    [0.0, 0.0]
    """
    sizes = [np.abs(some[np.isfinite(some)]) for some in (values, *beside) if some is not None]
    largest = max(float(some.max(initial=0.0)) for some in sizes)
    return np.where(np.abs(values) <= _ROUNDING * largest, 0.0, values)


def _turned(numbers: FloatArray) -> FloatArray:
    return 0.0 - numbers  # nought has no sign
