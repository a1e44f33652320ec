"""The answer: a candidate, the guarantee it carries, and the evidence behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.base import Algorithm, State
from surepick.algorithms.findings import Claims, Guarantee
from surepick.arrays.types import IntArray
from surepick.conditions import CONDITIONS, aside, duration, joined, stated, written
from surepick.problem import Problem
from surepick.promise import IF_ANY, NOBODY, Condition, sureness
from surepick.run.changes import why_stopped
from surepick.run.details import (
    Unmeasured,
    circle,
    items_in_words,
    on_items,
    quantiles_in_words,
    quantiles_of,
    shares_won,
    unmeasured_in_words,
    wins_in_words,
)
from surepick.run.guarantee import looked_again, promise_of
from surepick.run.standing import claims_now
from surepick.text import plural


class Kept(NamedTuple):
    """How an option stands to a limit, in units of the number that is limited.

    Where the limit is a margin to another option: how far it is above that one. Where it is on a
    quantile: the share of measurements on the right side.
    """

    verdict: str  #: "keeps", "breaks" or "not clear yet"
    estimate: float | None
    #: at no time is the mean below, or above high, or the verdict wrong, but with probability delta
    low: float | None
    high: float | None

    @classmethod
    def all_of(cls, problem: Problem, state: State) -> dict[str, dict[str, Kept]]:
        """Of every option, by limit and label."""
        return {
            one.limit: {
                label: cls(word, *map(_known, numbers))
                for label, word, *numbers in zip(
                    problem.candidate_labels,
                    one.verdicts,
                    *(column.tolist() for column in (one.estimates, one.low, one.high)),
                )
            }
            for one in state.limits_kept()
        }


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None


class Lift(NamedTuple):
    """How far an option is above the baseline, in units of the reward: the option less it.

    Above 0 is better, below 0 where smaller is better.
    """

    estimate: float
    low: float  #: at no time does it lie below, or above high, but with probability delta
    high: float

    @classmethod
    def all_of(cls, claims: Claims) -> list[Lift]:
        columns = (claims.lift.tolist(), claims.low.tolist(), claims.high.tolist())
        return [cls(*row) for row in zip(*columns)]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a run concluded.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem([[1.0], [2.0]], labels=["one", "two"])
    >>> answer = sp.identify(problem, lambda arm: float(arm), delta=0.1)
    >>> answer.label, bool(answer.guarantee)
    ('two', True)
    """

    arm: int  #: index of the chosen candidate (of the chosen arm, unless candidates differ)
    label: str  #: its label
    samples: int  #: pulls used
    pulls: IntArray  #: pulls per arm
    guarantee: Guarantee  #: what is promised, in words; false when nothing is
    survivors: tuple[int, ...]  #: candidates not ruled out (the answer among them)
    equivalent: tuple[int, ...]  #: candidates with the very features of the answer
    batches: int  #: batches used
    algorithm: str  #: registry name of the algorithm
    delta: float
    epsilon: float
    _record: dict[str, Any] = field(repr=False)
    #: all that were chosen, best first (no order is claimed): one, unless more were asked for
    arms: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    cost: float | None = None  #: of all pulls, where the problem says what they cost
    #: of "another one is the best": if one were, it would ever fall so low in at most that share of
    #: runs; None where there is no such number
    p_value: float | None = None
    #: against a baseline: labels of the options that are better, that are worse, and the others
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    close: tuple[str, ...] = ()  #: of these others, those within epsilon of the baseline
    #: where limits have to be kept, too: better ones also keep them all, and these are not better,
    #: or break one; nobody is called worse then
    ruled_out: tuple[str, ...] = ()
    #: and of each of these its estimated lead, between two ends
    lifts: dict[str, Lift] = field(default_factory=dict)
    #: of numbers of any kind: the share of its direct comparisons with each other option that the
    #: answer won, and the option with the best mean, where that is another one
    wins: dict[str, float] = field(default_factory=dict)
    best_mean: str | None = None
    #: and options of which each won most comparisons with the next one, and the last with the
    #: answer, as measured: where there are such, it seems that nobody beats everybody
    #: (of options compared two at a time: where that is shown, and so is each of these)
    circle: tuple[str, ...] = ()
    minimise: bool = False  #: whether smaller is better
    #: where the best quantile was asked for: that of each option's measurements
    quantiles: dict[str, float] = field(default_factory=dict)
    quantile: float | None = None  #: and which one was asked for
    #: on a complete table: how many items there are, how many were met, who ties, and between which
    #: ends the lead over the closest other option lies on new items
    on_items: dict[str, Any] | None = None
    #: and cells that could not be measured, which count as the worst score
    unmeasured: tuple[Unmeasured, ...] = ()
    #: where limits have to be kept: how each option stands to each of them, by limit and label
    limits: dict[str, dict[str, Kept]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.arms:
            object.__setattr__(self, "arms", (self.arm,))
            object.__setattr__(self, "labels", (self.label,))

    def _repr_html_(self) -> str:
        from surepick import notebook

        if self.lifts:
            columns = {
                "option": list(self.lifts),
                "verdict": [self._verdict(label) for label in self.lifts],
                "lift": [lift.estimate for lift in self.lifts.values()],
                "at least": [lift.low for lift in self.lifts.values()],
                "at most": [lift.high for lift in self.lifts.values()],
            }
            found = notebook.table(columns)
        else:
            found = notebook.text(", ".join(self.labels))
        after = f"after {plural(self.samples, 'measurement')} in "
        after += f"{plural(self.batches, 'batch', 'batches')}. {self.plain}"
        return notebook.panel("The answer", found, notebook.text(after))

    def _verdict(self, label: str) -> str:
        return next(name for name, labels in self.verdicts().items() if label in labels)

    def verdicts(self) -> dict[str, tuple[str, ...]]:
        """Against a baseline: labels by what is said of them, each once.

        Examples
        --------
        >>> import surepick as sp
        >>> problem = sp.Problem([[1.0], [2.0], [3.0]], labels=["one", "two", "three"])
        >>> sp.identify(problem, lambda arm: float(arm), baseline="two").verdicts()
        {'better': ('three',), 'worse': ('one',), 'undecided': ()}
        """
        found = {"better": self.better, "worse": self.worse}
        if self.limits:
            found = {"better": self.better, "ruled out": self.ruled_out}
        if self.close:
            found["as good"] = self.close
        return found | {"undecided": tuple(x for x in self.undecided if x not in self.close)}

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Answer) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.arm, self.samples, self.algorithm))

    @property
    def plain(self) -> str:
        """The guarantee for somebody who has never heard of one: how sure, and what that takes.

        Where nothing is proven, what the p-value says.
        """
        nobody = self.guarantee.kind == NOBODY
        own = (self.label, self.wins, self.best_mean, self.circle)
        won = "" if nobody else wins_in_words(*own)
        if self.quantile is not None:
            own = (self.quantiles, self.quantile, bool(self.guarantee), self.minimise)
            won = quantiles_in_words(self.label, *own)
        said = [won, self.guarantee.promise.plain()]
        if self.guarantee.kind == IF_ANY:  # which comes before everything that sounds like more
            said.reverse()
        if self.guarantee:
            said.append(items_in_words(self.on_items))
        said.append(unmeasured_in_words(self.unmeasured))
        if not self.guarantee.shown and self.p_value is not None:
            said.append(sureness(self.p_value))
        return " ".join(filter(None, said))

    def certificate(self) -> dict[str, Any]:
        """Everything needed to re-check this answer, as a JSON-ready dict.

        ``surepick.verify`` checks it; ``json.dump`` stores it.
        """
        from surepick.run.certificate import make_certificate

        return make_certificate(self.to_dict(), self._record)

    def recorded(self, more: Iterable[Condition] = (), **record: Any) -> Answer:
        """This answer with this in its certificate, resting on more conditions if on any."""
        made = replace(self, _record=self._record | record)
        promise = self.guarantee.promise
        if promise.what is None or not more:
            return made
        rests = replace(promise, conditions=joined(promise.conditions, more))
        return replace(made, guarantee=Guarantee.of(rests))

    def leaving_out(self, entries: list[dict[str, Any]]) -> Answer:
        """This answer with what was set aside for all options in its certificate."""
        return self.recorded(aside(entries), set_aside=entries)

    def without(self, cells: list[tuple[Unmeasured, dict[str, Any]]]) -> Answer:
        """This answer with cells that could not be measured, each also as certificates have it."""
        if not cells:
            return self
        own, listed = zip(*cells)
        counts = CONDITIONS["unmeasured"].of(cells=len(listed))
        return replace(self, unmeasured=own).recorded([counts], unmeasured=[*listed])

    def reported(self, traffic: dict[str, Any]) -> Answer:
        """This answer with the shares of visitors of each period in its certificate."""
        evidence = self._record["evidence"]
        blocks, asked = evidence.get("blocks", []), evidence.get("question", {})
        gaps = self.epsilon > 0 or "cheapest" in asked
        steady = "sides" if "threshold" in asked else "gaps" if gaps else "leads"
        happened = (
            (True, "visitors"),
            (True, "sent"),
            ("window" not in traffic, "until-reported"),
            ("window" in traffic, "in-window"),
            (True, steady),
            (bool(self.limits), "keeps"),
            (bool(blocks) and "dealt" in blocks[0], "one-rate"),
        )
        said = {"window": duration(traffic.get("window", 0))}
        kinds = [CONDITIONS[name] for so, name in happened if so]
        more = [one.of(**{field: said[field] for field in one.fields}) for one in kinds]
        # Whoever is counted is a visitor, and not an option that is measured again.
        promise = self.guarantee.promise
        own = [one for one in promise.conditions if one.stated.get("name") != "afresh"]
        rests = Guarantee.of(replace(promise, conditions=tuple(own)))
        made = self if promise.what is None else replace(self, guarantee=rests)
        return made.recorded(more, traffic=traffic)

    def to_dict(self) -> dict[str, Any]:
        """The answer itself (without the evidence) as plain JSON-ready values."""
        found: dict[str, Any] = {
            "arm": self.arm,
            "label": self.label,
            "samples": self.samples,
            "batches": self.batches,
            "guarantee": {
                "kind": self.guarantee.kind,
                "text": str(self.guarantee),
                "plain": self.plain,
                "conditions": self.guarantee.conditions,
            },
            "survivors": list(self.survivors),
            "equivalent": list(self.equivalent),
            "algorithm": self.algorithm,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "pulls": self.pulls.tolist(),
        }
        if self.minimise:
            found["minimise"] = True
        if self.cost is not None:
            found["cost"] = self.cost
        if self.p_value is not None:
            found["p_value"] = self.p_value
        if len(self.arms) > 1:
            found |= {"arms": list(self.arms), "labels": list(self.labels)}
        if self.lifts:
            groups = (*COMPARED, "close", *(["ruled_out"] if self.limits else []))
            found |= {name: list(getattr(self, name)) for name in groups}
            found["lifts"] = {label: _finite(lift) for label, lift in self.lifts.items()}
        if self.wins:
            found |= {"wins": dict(self.wins), "best_mean": self.best_mean}
        if self.circle:
            found["circle"] = list(self.circle)
        if self.quantile is not None:
            found |= {"quantile": self.quantile, "quantiles": dict(self.quantiles)}
        if self.on_items is not None:
            found["on_items"] = self.on_items
        if self.unmeasured:
            found["unmeasured"] = [cell._asdict() for cell in self.unmeasured]
        if self.limits:
            found["limits"] = {
                limit: {label: kept._asdict() for label, kept in options.items()}
                for limit, options in self.limits.items()
            }
        return found


#: what an answer says about options compared with a baseline
COMPARED = ("better", "worse", "undecided")


def compared(problem: Problem, claims: Claims | None) -> dict[str, Any]:
    """What an answer says about options compared with a baseline, if they were."""
    if claims is None:
        return {}
    labels, every = problem.candidate_labels, Lift.all_of(claims)
    groups = [*COMPARED, "close", *([] if claims.ruled_out is None else ["ruled_out"])]
    found = {name: tuple(labels[i] for i in getattr(claims, name)) for name in groups}
    listed = [i for name in groups if name != "close" for i in getattr(claims, name)]
    return found | {"lifts": {labels[i]: every[i] for i in listed}}


def _finite(lift: Lift) -> list[float | None]:
    """As JSON has it: an end that is not known is null."""
    return [number if math.isfinite(number) else None for number in lift]


def answer_of(
    algorithm: Algorithm,
    problem: Problem,
    state: State,
    conditions: tuple[Condition, ...],
    record: dict[str, Any],
    *,
    pulls: IntArray,
    batches: int,
    retired: tuple[int, ...],
) -> Answer:
    """What a run comes to.

    ``record`` has what it rests on, in the words of certificates; ``conditions`` are those that
    only who measured knows.
    """
    leader, same, labels = state.leader(), problem.same_as, problem.candidate_labels
    gone = np.isin(np.arange(len(same)), retired)
    left = np.isin(same, state.active) & ~gone
    past, claims, named = record["past"], claims_now(problem, state), state.named()
    measured = [*(past["batches"] if past else ()), *record["batches"]]
    return Answer(
        arm=leader,
        label=labels[leader],
        samples=int(pulls.sum()),
        pulls=pulls.copy(),
        guarantee=Guarantee.of(
            promise_of(
                *(algorithm, problem, state, measured),
                past=bool(past and past["evidence"]),
                changed=looked_again(record["corrections"]),
                by_hand=record["stopped"] is not None,
                turned=bool(record["options"]),
                limit=why_stopped(problem, pulls, algorithm, record["limits"]),
                stated=conditions,
            )
        ),
        survivors=tuple(int(i) for i in np.flatnonzero(left)),
        equivalent=tuple(
            int(i) for i in np.flatnonzero((same == same[leader]) & ~gone) if i != leader
        ),
        batches=batches,
        algorithm=algorithm.registered_name(),
        delta=algorithm.delta,
        epsilon=algorithm.epsilon,
        p_value=state.p_value(),
        minimise=problem.minimise,
        arms=tuple(named),
        labels=tuple(labels[i] for i in named),
        cost=None if problem.costs is None else problem.cost_of(pulls),
        **compared(problem, claims),
        on_items=on_items(problem, state, splits=stated("splits") in conditions),
        limits=Kept.all_of(problem, state),
        **_won(problem, state, algorithm, measured, leader),
        **_quantiles(problem, algorithm, measured),
        _record=record
        | {
            "problem": problem,
            "settings": algorithm.settings(),
            "evidence": state.evidence(),
            "claims": claims,
            "conditions": written(conditions),
        },
    )


def _won(
    problem: Problem, state: State, algorithm: Algorithm, batches: list[dict[str, Any]], leader: int
) -> dict[str, Any]:
    """How the answer did in direct comparisons, where these decide."""
    compared = None if len(state.named()) > 1 else state.won()
    if compared is not None:
        met, labels = np.flatnonzero(~np.isnan(compared)).tolist(), problem.candidate_labels
        found = {labels[i]: float(compared[i]) for i in met}
        return {"wins": found, "circle": tuple(labels[i] for i in state.circle())}
    if not state.by_wins or state.claims() is not None or len(state.named()) > 1:
        return {}
    n, on_items = problem.n_arms, algorithm.measured_on() is not None
    batches = [batch | {"sums": problem.sign * np.asarray(batch["sums"])} for batch in batches]
    shares = shares_won(batches, leader, n, on_items)
    met = np.flatnonzero(~np.isnan(shares)).tolist()
    counts, sums = np.zeros(n), np.zeros(n)
    for batch in batches:
        np.add.at(counts, batch["arms"], batch["counts"])
        np.add.at(sums, batch["arms"], batch["sums"])
    means = np.divide(sums, counts, out=np.full(n, -np.inf), where=counts > 0)
    best = int(means.argmax())
    other = None if means[best] <= means[leader] else problem.labels[best]
    wins = {problem.labels[arm]: float(shares[arm]) for arm in met}
    found: dict[str, Any] = {"wins": wins, "best_mean": other if wins else None}
    if min(wins.values(), default=1.0) < 0.5:
        around = circle(batches, leader, n, on_items)
        found["circle"] = tuple(problem.labels[arm] for arm in around)
    return found


def _quantiles(
    problem: Problem, algorithm: Algorithm, batches: list[dict[str, Any]]
) -> dict[str, Any]:
    p = algorithm.asked.quantile
    if p is None:
        return {}
    found = quantiles_of(batches, p, problem.n_arms)
    known = np.flatnonzero(~np.isnan(found)).tolist()
    return {
        "quantile": p,
        "quantiles": {problem.labels[arm]: float(found[arm]) for arm in known},
    }
