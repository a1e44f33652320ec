"""A question: which options are within so much of the best, and which are not?

F_rx is bet on "r is more than that above x", C_rx on "it is not". If x is near, no F_rx bets on
what is so, nor does their average; else some C_rx does not, and the least is no more."""

from dataclasses import dataclass

import numpy as np

from surepick.algorithms import questions
from surepick.algorithms.base import Claims
from surepick.algorithms.pooled.lacking import LEAST, Lacking
from surepick.algorithms.pooled.questions import BETS
from surepick.algorithms.pooled.questions.base import Question
from surepick.algorithms.pooled.round import Round
from surepick.proof.claims import CAUTION, ClaimsMade
from surepick.proof.purses import begun, least_of_others, mixture, total
from surepick.verifier import formulas
from surepick.verifier import questions as verified
from surepick.verifier.questions import claims as proven
from surepick.verifier.questions.race import Race


@dataclass(frozen=True)
class Near(questions.Asked):
    name, compares, claims = "near", True, "all"
    refuses_options = "the study asks which options are near the best; ask for the best alone"
    promise_of_claims = questions.Against.promise_of_claims
    claims_against, said_of_claims = questions.Against.claims_against, lambda self, number: ""
    words = property(lambda self: f"which options are within {self.by:g} of the best")
    by: float


class InReach(Question):
    meets_all, saved = True, ("far", "close", "blocks", "best", "means", "made")
    finished = property(lambda self: self.said.finished)
    made = property(lambda self: self.said.made, lambda self, to: setattr(self.said, "made", to))

    def __init__(self, ground):
        super().__init__(ground)
        M, self.by = ground.candidates, ground.config.asked.by / ground.problem.unit
        self.far, self.close = (begun((M, M), ground.ways.accounts) for _ in range(2))
        kinds, delta = proven.CLAIMS, ground.config.delta
        self.said = ClaimsMade(ground.problem.distinct, kinds, delta, one_true=True)
        self.blocks, self.best, self.means = 1, 0, np.zeros(M)

    def bet(self, market, blocks, pulls):
        self.blocks, everyone = self.blocks + 1, np.arange(len(self.means))
        pairs = Round(market, self.ground.ways, blocks).between(everyone, everyone)
        self.far, self.close = self.far + pairs.paid(-self.by), self.close + pairs.paid(self.by)
        when, logs = {"block": self.blocks}, self.sides()
        self.said.settle(logs, lambda kind, x: when | {"log_capital": float(logs[kind, x])})
        return {"rivals": [int(market.rivals[0])]}

    def sides(self):
        far = np.where(np.eye(len(self.far), dtype=bool), -np.inf, total(self.far))
        logs = least_of_others(total(self.close)), mixture(far, axis=1) - np.log(len(far) - 1)
        return np.stack(logs)

    def look(self, means):
        self.means, self.best = np.array(means), int(np.argmax(means))

    def lacking(self, market, pulls):
        apart = self.by - (market.means.max() - market.means)
        nats = self.said.next_goals(self.sides()) - self.sides()
        nats = np.maximum(np.where(apart > 0, nats[0], nats[1]), LEAST)
        need = nats / (apart**2 + CAUTION * market.errors(int(market.rivals[0])) ** 2)
        return Lacking(np.where(self.said.by_number() < 0, need, 0.0), nats)

    def open(self):
        return self.said.undecided() if not self.finished else np.array([self.best])

    def claims(self):
        said, lift = self.said, self.means - self.means.max()
        ends = (lift * self.ground.problem.unit, *np.full((2, len(lift)), np.nan))
        left, about = said.undecided(), f"{self.ground.config.asked.by:g} below the best"
        return Claims(about, said.of(0), said.of(1), said.of(2), left, *ends, len(left))

    def evidence(self):
        return {"question": {"asked": self.ground.config.asked.text()}, "claims": self.said.made}


class Compared(proven.Comparison):
    words = property(lambda self: f"{self.threshold:g} below the best")


class Verified(Race):
    def __init__(self, check, by):
        super().__init__(check, np.array(check.distinct()))
        M, self.by, self.settled = len(self.candidates), by / check.noise, 1
        self.far, self.good = (formulas.Purses((M, M), self.start) for _ in range(2))
        asked, everyone = Compared(None, by, "all", {}, []), self.candidates.tolist()
        self.claims = proven.Claims(check, asked, proven.CLAIMS, everyone)
        self.closed = formulas.Closed(np.ones((2, M)), [(0,), (1,)])

    def rivals(self, note, where):
        return note.rivals

    def pay(self, round, rivals, where):
        everyone, self.settled = np.arange(len(self.candidates)), self.settled + 1
        self.far.pay(round.beats(everyone, everyone, -self.by))
        self.good.pay(round.beats(everyone, everyone, self.by))

    def drop(self, note, where):
        far = np.logaddexp.reduce(formulas.without_own(self.far.total, -np.inf), axis=1)
        good = formulas.without_own(self.good.total, np.inf).min(axis=0)
        logs = np.array([good, far - np.log(len(far) - 1)])
        self.claims.take(self.settled, logs, self.closed, self.rounding)


def verify(check):
    check.risk += check.delta
    race = Verified(check, float(verified.asked_text(check).partition(":by=")[2]))
    race.follow()
    return race.claims.conclusion()


questions.register(Near)
BETS.declare("near", InReach)
verified.register("near", verify, claims=True)
