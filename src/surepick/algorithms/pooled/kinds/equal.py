"""Normal noise of one scale that nobody knows: the bets of Student's t."""

from __future__ import annotations

from typing import Any, NamedTuple

from surepick.algorithms.pooled.fit import BlockFit, Scales, block_fit
from surepick.algorithms.pooled.kinds.reading import DIGITS, LEAST_VARIANCE, Reading
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.payoff import ArrayPayoff, Bets, News
from surepick.algorithms.pooled.sums import StudentSums
from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray
from surepick.proof.payoffs.stakes import PRECISIONS
from surepick.proof.payoffs.student import array_log_student_payoff, legendre, log_constant


class Residuals(NamedTuple):
    """What a block says about the scale."""

    squares: float  #: residual sum of squares, in units of the variance that the past suggests
    freedom: int  #: pulls less dimensions fitted


class StudentPayoff(ArrayPayoff):
    """The bets of :mod:`surepick.proof.payoffs.student`."""

    def compiled(self, bets: Bets, news: News, block: Any) -> FloatArray:
        from surepick.proof.payoffs.kernels import student_payoffs

        facts: Residuals = block.facts
        squares, freedom = (facts.squares, float(facts.freedom)) if _says(facts) else (1.0, 1.0)
        told = news.information if _says(facts) else 0.0 * news.information
        scale = (squares, freedom, *legendre(), log_constant(freedom))
        return student_payoffs(bets[1:], (news.lead, told), self._precisions, *scale)

    def on(self, backend: Backend, bets: Bets, news: News, block: Any) -> list[Any]:
        facts: Residuals = block.facts
        score = bets.information * bets.lead
        return [
            array_log_student_payoff(
                backend,
                score,
                bets.information + precision * bets.unit,
                news.lead,
                news.information,
                facts.squares,
                facts.freedom,
            )
            for precision in self.precisions
        ]


def _says(facts: Residuals) -> bool:
    return facts.freedom > 0 and facts.squares > 0.0


class EqualScale(Reading):
    """Residuals of a block stand for the scale that is not known."""

    demands_spread = True
    sums = StudentSums
    payoff = direct_payoff = StudentPayoff(PRECISIONS)

    def scales(self, totals: Totals) -> Scales:
        return Scales(self.variance(totals))

    def fit(self, rows: Rows, scales: Scales) -> BlockFit:
        block = rows.by_arm()
        fit = block_fit(self.problem, block, scales)
        means = block.sums / block.counts
        residuals = means - self.problem.feature_rows(block.arms) @ fit.theta
        squares = float(block.spreads.sum() + block.counts @ residuals**2)
        return fit._replace(facts=_residuals(block, squares, fit.root.shape[1], scales))

    def allowed_facts(self, block: Rows, scales: Scales, takes: FloatArray) -> dict[str, Any]:
        return {"facts": self.direct_facts(block, scales)}  # what arms share is not noise alone

    def direct_facts(self, rows: Rows, scales: Scales) -> Residuals:
        block = rows.by_arm()
        return _residuals(block, float(block.spreads.sum()), len(block.arms), scales)


def _residuals(block: Rows, squares: float, fitted: int, scales: Scales) -> Residuals:
    # Rewards that fit exactly have residuals of rounding, which say nothing of the noise:
    # larger ones do no harm.
    rounding = DIGITS**2 * float(block.sums @ (block.sums / block.counts))
    freedom = int(block.counts.sum()) - fitted
    least = LEAST_VARIANCE if squares + rounding > 0.0 else 0.0
    return Residuals(max(squares, rounding, least) / scales.variance, freedom)
