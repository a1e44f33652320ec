"""A kind of number: how many events there were, which follow Poisson's law.

A stake k on a lead Σ c Y pays Π (1 + k c)^Y: exp(k · lead) on average, so 1 without any lead."""

import math
from dataclasses import dataclass

import numpy as np

from surepick.ahead import kinds as drawn
from surepick.algorithms.pooled.fit import Scales, block_fit
from surepick.algorithms.pooled.kinds import READINGS, Reading
from surepick.algorithms.pooled.payoff import Payoff
from surepick.algorithms.pooled.sums import BoundedSums
from surepick.problem import noise
from surepick.proof.payoffs.stakes import PRECISIONS
from surepick.run.assumed import ASSUMED, Assumed
from surepick.study.traffic.kinds import REPORTS, Reports
from surepick.verifier import exact, payoffs
from surepick.verifier import noise as verified

LAW = "provided that events are counted which follow Poisson's law"


@dataclass(frozen=True, eq=False)
class Events(noise.NoiseKind):
    kind = word = form = "events"
    choice = "'events'"
    asked = words = measurement = "a number of events"
    provided = noise.Condition(
        LAW, "if events come one by one and have nothing to do with each other"
    )

    def impossible(self, rewards):
        return np.flatnonzero((rewards < 0) | (rewards % 1 != 0))


class Poisson(drawn.Noise):
    def draw(self, rng, mean, n, scale):
        return rng.poisson(mean, n).astype(float)


class Drawn(drawn.Drawing):
    def family(self, *_):
        return Poisson()

    ahead = guessed = family


class Bets(Payoff):
    def staked(self, stakes, news, block):
        takes = news.columns * (1.0 if block.facts.sum() >= 0 else -1.0)  # fewer are better: turned
        most = 0.7 / np.maximum(-takes.min(axis=-1), 1e-300)[..., None, None]
        kappa = np.minimum(stakes * news.information[..., None, None], most)
        logs = np.log1p(kappa[..., None] * takes[:, :, None, None]) @ np.abs(block.facts)
        logs += kappa * news.shift[..., None, None]
        return np.logaddexp.reduce(logs, axis=-1) - np.log(logs.shape[-1])

    def compiled(self, bets, news, block):
        return self.staked(self.stakes(bets), news, block)


class Counted(Reading):
    payoff = direct_payoff = Bets(PRECISIONS)
    sums = BoundedSums

    def scales(self, totals):  # as if all had one rate: stakes and designs go by it, no proof
        return Scales((abs(totals.sums.sum()) + 1.0) / totals.counts.sum())

    def fit(self, rows, scales):
        block = rows.by_arm()
        found, x = block_fit(self.problem, block, scales), self.problem.feature_rows(block.arms)
        each = found.root @ (found.root.T @ (x / scales.variance).T)
        return found._replace(columns=each, facts=block.sums)

    def direct(self, rows, scales):
        seen, block = super().direct(rows, scales), rows.by_arm()
        columns = np.eye(self.problem.n_arms)[:, block.arms] / block.counts
        return seen._replace(columns=columns, facts=block.sums)


class VerifiedEvents(verified.Noise):
    kind, provided, scale_known = "events", LAW, False

    def check_sum(self, total, count, where, *, averaged):
        exact.demand(averaged or (total >= 0 and total % 1 == 0), f"{where}: {total:g} is no count")


class VerifiedBets(payoffs.base.Payoff):
    def look(self, past):
        return payoffs.base.known(math.sqrt((abs(past.sums.sum()) + 1.0) / past.pulls))

    def _linear(self, block, outlook, parts):
        news, block = super()._linear(block, outlook, parts), block.by_arm()
        per_pull = self.check.arms[block.arms].T / outlook.scale**2
        return news._replace(columns=news.view.fit.solve(per_pull), facts=block.sums)

    def _direct(self, block, outlook, parts):
        news, block = super()._direct(block, outlook, parts), block.by_arm()
        columns = np.eye(len(self.guide.units))[:, block.arms] / block.counts
        return news._replace(columns=columns, facts=block.sums)

    def log_paid(self, pairs, news):
        each, sums, found = self.check.sign * news.across(pairs.field), abs(news.facts), []
        for multiple in self.precisions:
            stakes = payoffs.base.cut_normal_stakes(*pairs.stakes(multiple))
            most = 0.7 / np.maximum(-each.min(-1), 1e-300)[..., None]
            stakes = np.minimum(stakes * pairs.told[..., None], most)
            logs = np.log1p(stakes[..., None] * each[..., None, :]) @ sums
            found.append(payoffs.base.log_mean(logs + stakes * pairs.shift[..., None]))
        return found


noise.register(Events)
READINGS.declare("events", Counted)
drawn.DRAWINGS.declare("events", Drawn())
ASSUMED.declare("events", Assumed())
REPORTS.declare("events", Reports(cannot="noise: events are counted one measurement at a time"))
verified.register(VerifiedEvents)
payoffs.declare("events", VerifiedBets)
