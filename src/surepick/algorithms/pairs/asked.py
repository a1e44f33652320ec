"""Questions of measurements, asked of options that are compared two at a time.

Purses, claims and formulas are those of :mod:`surepick.algorithms.pooled.questions`; a round is a
block of comparisons, and "r beats x by more than s" means that r is preferred in more than ½ + s
of all comparisons of the two.

**A baseline.** x is better if it is preferred in more than half of all comparisons with it, and
within ε if it is preferred in ½ − ε to ½ + ε of them. Only these comparisons are made.

**The cheapest that is good enough**: that no other option beats by more than a share that is
stated. In a circle there may be none. While there is one, the proof of
:mod:`surepick.proof.cheapest` holds as it is, so that it is ruled out with probability δ at most.
The last that is in is named once, of each other option s, capital bet on "s does not beat it by
more than that" is K/δ. If there is an answer, another one is named only where it was ruled out; if
there is none, somebody beats each of the K options by more, and each is named with probability δ/K
at most. Only one of the two is so, which makes δ. Where all are ruled out none is good enough.

Which rivals are bet on, and whom to compare, follows from options' own comparisons: shares drawn a
little towards ½, which whoever checks it finds to the last digit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.algorithms.findings import Claims
from surepick.algorithms.pairs.comparing import Comparing
from surepick.algorithms.pairs.plan import against_all, first_pairs
from surepick.algorithms.pairs.purses import WEIGHTS, Comparisons, Record, Round
from surepick.algorithms.pooled.leads import Interval
from surepick.algorithms.pooled.questions.base import Ground
from surepick.algorithms.pooled.questions.baseline import AgainstBaseline
from surepick.algorithms.pooled.questions.cheapest import CheapestGood
from surepick.algorithms.questions import Against, Cheapest
from surepick.arrays.backend import HOST
from surepick.arrays.grid import reached
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind
from surepick.problem.pairs import costs_of_options
from surepick.promise import NOBODY, Promise, Promised
from surepick.proof.purses import total

_HALVINGS = 40
_SAME_COST = 9  # digits to which two costs are the same: they are worked out of those of pairs


# -- what is asked -------------------------------------------------------------------------
@dataclass(frozen=True)
class PreferredTo(Against):
    """Which options are preferred to one of them, and to which is it preferred?"""

    def said_of_claims(self, baseline: str) -> str:
        return "Better means: preferred in more than half of all comparisons with it."


@dataclass(frozen=True)
class CheapestUnbeaten(Cheapest):
    """Which is the cheapest option that no other one beats by more than a share?"""

    @property
    def _good(self) -> str:
        most = f"{0.5 + self.enough:.12g}"
        return f"the cheapest option that no other option beats in more than {most} of all "

    @property
    def best(self) -> str:
        return f"{self._good}comparisons, if there is one,"

    @property
    def words(self) -> str:
        return f"which is {self._good}comparisons"

    def promised(self, epsilon: float | None, kind: NoiseKind, items: bool = False) -> Promised:
        return Promised(f"{self._good}comparisons", f"{{It}} is {self._good}comparisons.")

    @property
    def none(self) -> Promised:
        """What is promised where all options are ruled out."""
        most = f"{0.5 + self.enough:.12g}"
        beaten = f"beaten by another one in more than {most} of all comparisons"
        return Promised(
            f"every option is {beaten}",
            f"Every option is {beaten}.",
            wrong="are wrong about that",
            kind=NOBODY,
        )

    def may_promise(self, epsilon: float, kind: NoiseKind, items: bool) -> list[Promised]:
        return [*super().may_promise(epsilon, kind, items), self.none]

    def check_problem(self, problem: Problem, items: bool) -> None:
        if problem.costs is None:
            raise InvalidInputError(
                "cheapest: say what each option costs (costs=… of the problem; --cost COLUMN)"
            )
        if problem.n_candidates < 3 or len(set(costs_of(problem).tolist())) == 1:
            raise InvalidInputError(
                "cheapest: at least three options, of which one costs less than another, are "
                "needed; ask which option beats every other instead"
            )
        if not self.enough < 0.5:
            raise InvalidInputError(
                "within: it is a share of comparisons, below 0.5 (0.05: no other option is "
                f"preferred in more than 55 % of them); got {self.enough:g}"
            )


def costs_of(problem: Problem) -> FloatArray:
    """What each option costs."""
    assert problem.costs is not None
    found = costs_of_options(np.asarray(problem.costs), problem.n_candidates)
    return np.round(found / found.max(), _SAME_COST)


# -- what is bet ---------------------------------------------------------------------------
class Ways:
    """Comparisons are read in one way; intervals are made of them, and of no sums."""

    accounts = WEIGHTS
    ways = ()
    parts = "items"


class Lifts:
    """Between which ends shares of comparisons with a baseline lie, less ½, at all times.

    Of w results for one side and l for the other (a tie is half of either), capital against "the
    share is m" is B(w + ½, l + ½) / (B(½, ½) m^w (1 − m)^l), an average over all shares that may be
    the true one.
    """

    def __init__(self, record: Record, about: int) -> None:
        self.record, self._about = record, about

    def save(self) -> list[Any]:
        """Nothing: the record is kept."""
        return []

    def load(self, memory: list[Any]) -> None:
        """Nothing was kept."""

    def interval(self, alpha: float) -> Interval:
        """Each holds at all times with probability at least 1 − alpha."""
        from scipy.special import betaln

        won, met = self.record.won[:, self._about], self.record.met[:, self._about]
        lost, goal = met - won, -math.log(alpha)
        mixed = betaln(won + 0.5, lost + 0.5) - betaln(0.5, 0.5)
        middle = np.divide(won, met, out=np.full_like(won, 0.5), where=met > 0)

        def end(at: float) -> FloatArray:
            inside, outside = middle.copy(), np.full_like(middle, at)
            for _ in range(_HALVINGS):
                between = 0.5 * (inside + outside)
                with np.errstate(divide="ignore", invalid="ignore"):
                    likely = won * np.log(between) + lost * np.log1p(-between)
                out = mixed - np.nan_to_num(likely, nan=-math.inf, neginf=-math.inf) >= goal
                inside, outside = np.where(out, inside, between), np.where(out, between, outside)
            return outside - 0.5

        low, high = end(0.0), end(1.0)
        low[self._about] = high[self._about] = 0.0
        return Interval(low, high)


class PreferredToBaseline(AgainstBaseline):
    """Capital on both sides of the baseline, and what was claimed."""

    lasting = True

    def __init__(self, config: Any, problem: Problem, record: Record) -> None:
        super().__init__(Ground(config, problem, HOST, Ways(), problem.n_candidates))
        self.lifts: Any = Lifts(record, self.about)

    def settle(self, block: Round) -> None:
        """Pay out a block, and see what can be claimed."""
        self.pay(block, self.said.undecided())
        self.claim()

    def recorded(self, kind: int, number: int) -> dict[str, Any]:
        return super().recorded(kind, number) | {"block": self.blocks}

    def seen(self, record: Record) -> None:
        """Note who looks best, by shares of comparisons with the baseline."""
        shares = record.shares()[:, self.about]
        shares[self.about] = 0.5
        self.look(shares)

    def pairs(self, size: int, out: int, record: Record) -> tuple[IntArray, IntArray]:
        """All that are undecided with the baseline, those first that met it least."""
        still = self.open()
        still = still[np.argsort(record.met[still, self.about], kind="stable")]
        return np.resize(still, size), np.full(size, self.about)

    @property
    def active(self) -> IntArray:
        """Who is not decided; when all are, the one that would be named."""
        return self.open()

    def promise(self) -> Promise | None:
        """The question says what claims promise."""
        return None


class CheapestOfPairs(CheapestGood):
    """Capital of all pairs of options, and who was dropped."""

    def __init__(self, config: Any, problem: Problem, record: Record) -> None:
        ground = Ground(config, problem, HOST, Ways(), problem.n_candidates)
        super().__init__(ground, costs_of(problem))
        self.blocks = 0
        self._rivals: IntArray = np.zeros(ground.candidates, dtype=np.int64)

    def settle(self, block: Round) -> None:
        """Pay out a block."""
        self.blocks += 1
        lost = np.flatnonzero(self.pay(block, self._rivals, self.best))
        self.dropped_at[lost] = self.blocks
        alive = self.active
        self.finished = not len(alive) or (len(alive) == 1 and self._shown(alive[0]))

    def _least(self, x: int) -> FloatArray:
        """Log capital on "this one does not beat x by more", of all others."""
        logs = total(self.purses.close)[:, x]
        logs[x] = math.inf
        return logs

    def _shown(self, x: int) -> bool:
        """Whether it is shown that nobody beats it by more."""
        return bool(reached(self._least(x).min(), self.goal + math.log(len(self.order))))

    def seen(self, record: Record) -> None:
        """Note who seems to beat each option most clearly, and who would be named."""
        shares = record.shares()
        np.fill_diagonal(shares, 0.0)
        self._rivals, most = shares.argmax(axis=0), shares.max(axis=0)
        self.best = self.head(-most, most <= 0.5 + self.within, self.dropped_at == 0)

    def pairs(self, size: int, out: int, record: Record) -> tuple[IntArray, IntArray]:
        """The one that would be named with the others, and who costs less with its rival."""
        if not record.met.any():
            return first_pairs(len(self.order), size, out)
        head, shown, enough = self.best, self._least(self.best), self.goal + self._all_out
        cheaper = self.active
        cheaper = cheaper[self.place[cheaper] < self.place[head]]
        if not len(cheaper):
            return against_all(head, shown, enough, size)
        some = np.resize(cheaper, size if shown.min() >= enough else size // 2)
        one, other = some, self._rivals[some]
        if len(some) < size:
            more = against_all(head, shown, enough, size - len(some))
            one, other = np.append(one, more[0]), np.append(other, more[1])
        return one, other

    @property
    def _all_out(self) -> float:
        """What more is enough on the one that is named for everybody dearer to be out."""
        return math.log(4.0 * len(self.order)) + 0.1

    @property
    def active(self) -> IntArray:
        """Who is in; it may be nobody."""
        return np.flatnonzero(self.dropped_at == 0)

    def left(self) -> int:
        return len(self.active)

    def promise(self) -> Promise | None:
        """Where all are out, that none is good enough."""
        config = self.ground.config
        if len(self.active):
            return None
        return Promise(config.delta, CheapestUnbeaten(self.asked).none, config.theorem)

    def evidence(self) -> dict[str, Any]:
        return super().evidence() | {"log_capital": self.against}


_QUESTIONS: dict[str, type[PreferredToBaseline | CheapestOfPairs]] = {
    "baseline": PreferredToBaseline,
    "cheapest": CheapestOfPairs,
}


class AskedOfPairs(Comparing):
    """Comparisons, and the question that they answer."""

    def __init__(self, config: Any, problem: Problem) -> None:
        super().__init__(config, problem)
        self.question = _QUESTIONS[config.asked.name](config, problem, self.record)
        self.question.seen(self.record)

    def save(self) -> dict[str, Any]:
        return super().save() | {"question": self.question.save()}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self.question.load(memory["question"])
        self.question.seen(self.record)

    def pairs(self, size: int, out: int) -> tuple[IntArray, IntArray]:
        one, other = self.question.pairs(size, out, self.record)
        return np.minimum(one, other), np.maximum(one, other)

    def settle(self, block: Comparisons) -> None:
        self.question.settle(Round(block, self.record.preferred(self.fitted)))

    def concluded(self) -> None:
        self.question.seen(self.record)

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether there is an answer."""
        return self.question.finished

    @property
    def active(self) -> IntArray:
        """Options that are not decided."""
        return self.question.active

    def left(self) -> int:
        return self.question.left()

    def leader(self) -> int:
        return int(self.question.best)

    def claims(self) -> Claims | None:
        return self.question.claims()

    def promise(self) -> Promise | None:
        return self.question.promise()

    def progress(self) -> FloatArray:
        return self.question.progress()

    def p_values(self) -> FloatArray:
        return self.question.p_values()

    def evidence(self) -> dict[str, Any]:
        own = {"rule": "pairs", "beats": "everyone", "blocks": list(self.blocks)}
        return own | self.question.evidence()
