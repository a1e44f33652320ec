"""Which candidate is the best, or which m are?

Block after block, the rivals must be the candidates that trailed the leader least in the earlier
blocks, and shares and stakes what those blocks suggest. Each payoff, of the kind that the noise
calls for, then has an expectation of at most 1 while the candidate bet against is one of the best.
x is dropped at m/delta: with probability 1 − delta none of the m best ever is. With epsilon, a
share of the capital is for showing that some are close enough to those that led.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier import published
from surepick.verifier.blocks import Noted
from surepick.verifier.check import Check
from surepick.verifier.payoffs.base import STAKES
from surepick.verifier.payoffs.measurements import Round
from surepick.verifier.questions.answers import Chosen, read_top
from surepick.verifier.questions.race import DOUBT, Race, raced
from surepick.verifier.tables import slices

_RIVALS = 8


def verify(check: Check) -> list[int]:
    """Candidates left when capital bet against each of the others has reached 1/delta."""
    if published.is_own(check):
        check.demand(check.settings.get("top", 1) == 1, "more than one candidate was asked for")
        check.demand(check.settings.get("quantile") is None, "a quantile was asked for")
        check.demand(not check.settings.get("cheapest"), "the cheapest was asked for")
    return raced(check, lambda everyone: Best(check, everyone))


def verify_top(check: Check) -> Chosen:
    """Who is left, and to whom everyone left is close."""
    m, everyone = read_top(check), check.distinct()
    check.demand(len(everyone) == len(check.candidates), "candidates cannot be told apart")
    check.demand(len(everyone) > m, "there are not more candidates than were asked for")
    check.risk += check.delta
    race = Best(check, np.array(everyone), m)
    race.follow()
    close = {a: set(np.flatnonzero(shown).tolist()) for a, shown in race.close.shown().items()}
    return Chosen(m, np.flatnonzero(race.alive).tolist(), close)


class Best(Race):
    """The least of m purses against each candidate."""

    def rivals(self, note: Noted, where: str) -> np.ndarray:
        sure = note.sure if self.m > 1 else np.empty(0, dtype=np.int64)
        both, pool = np.concatenate([note.rivals, sure]), self._pool
        places = self.places(both)
        due = min(_RIVALS, int(pool.sum()) - self.m + 1), self.m - 1
        self.check.demand(
            (len(note.rivals), len(sure)) == due
            and len(np.unique(both)) == len(both)
            and (self.candidates[places] == both).all()
            and pool[places].all(),
            f"{where}: the rivals are not the right number of candidates",
        )
        return places

    @property
    def _pool(self) -> np.ndarray:
        """Who can be bet on: where wins are counted, not means, only who is left."""
        of_those_left = self.m == 1 and self.known.payoff.counts_wins
        return self.alive if of_those_left else self.offer.there

    def pay(self, round: Round, rivals: np.ndarray, where: str) -> None:
        first = len(rivals) - (self.m - 1)  # of the sure ones
        rivals, sure, edge = rivals[:first], rivals[first:].tolist(), int(rivals[0])
        # Bets are worked out for so many candidates at once that a block of memory holds them.
        width = max(self.check.candidates.shape[1], 2 * _RIVALS * STAKES)
        parts = list(slices(len(self.candidates), width))
        values, doubt = np.empty((2, len(self.candidates)))
        for part in parts:
            values[part], doubt[part] = round.seems(np.arange(part.start, part.stop), edge)
        doubt[edge] = 1.0
        trail = values**2 / doubt  # in squared standard errors
        size = round.size + float(np.abs(values[self._pool]).max()) + round.outlook.scale
        self._check_leading(edge, sure, values, 1e-6 * size, where)
        rest = self._pool.copy()
        rest[[*rivals, *sure]] = False
        least = trail[rest].min(initial=math.inf)
        self.check.demand(
            trail[rivals].max() <= least * (1 + 1e-6) + 1e-9,
            f"{where}: other candidates trailed the leader less than these rivals",
        )
        self.against.change(sure)
        leading = sorted([edge, *sure]) if self.epsilon > 0 else []
        for part in parts:
            x = part.start + np.flatnonzero(self.alive[part])
            bet_on = x[~np.isin(x, sure)]
            if len(bet_on):
                paid = round.somebody(bet_on, rivals, -DOUBT * trail[rivals], self.m == 1)
                self.against.others.logs[bet_on] += paid
            for one in sure:
                self.against.sure[one].logs[bet_on] += round.beats(bet_on, np.array([one]))[:, 0]
            for one in leading:
                near = round.beats(x, np.array([one]), self.epsilon)[:, 0]
                self.close.to(one).logs[x] += near
        held, left = self.log_capital(), np.flatnonzero(self.alive)
        for one in leading:
            self.close.look(one, held[left], left)

    def _check_leading(
        self, edge: int, sure: list[int], values: np.ndarray, close: float, where: str
    ) -> None:
        """Who leads must follow from earlier blocks; ``close`` is what rounding may hide."""
        check, m, name = self.check, self.m, self.candidates
        outside = self._pool.copy()
        outside[sure] = False
        among = " among those that are not sure" if sure else ""
        fine = (values[outside] <= close).all()
        check.demand(fine, f"{where}: {name[edge]} did not lead before{among}")
        for place in sure:
            ahead = int((values > values[place] + close).sum())
            check.demand(
                ahead < m, f"{where}: {name[place]} is not one of the {m} that looked best"
            )
            if place not in self.against.sure:
                higher = (values[outside] > values[place] + close).any()
                check.demand(not higher, f"{where}: others looked better than {name[place]}")
        for place in self.against.sure:
            near = int((values >= values[place] - close).sum()) - 1
            check.demand(
                place in sure or near >= m,
                f"{where}: {name[place]} is no longer sure, and should be",
            )

    @property
    def answered(self) -> bool:
        left, shown = np.flatnonzero(self.alive), self.close.shown() if self.m == 1 else {}
        near = (shown[a][left] | (left == a) for a in left.tolist() if a in shown)
        return super().answered or any(bool(close.all()) for close in near)

    def check_close(self) -> None:
        """Nobody who is left may be more than epsilon better than the answer."""
        chosen = self.check.first_like(self.check.claim["candidate"])
        chosen = int(np.searchsorted(self.candidates, chosen))
        left = np.flatnonzero(self.alive)
        shown = self.close.shown().get(chosen, np.zeros(len(self.candidates), dtype=bool))
        self.check.demand_all(
            shown[left] | (left == chosen),
            lambda i: f"candidate {self.candidates[left[i]]} may be more than epsilon better",
        )
        self.check.checked += len(left)
