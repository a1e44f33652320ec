"""What can be asked about candidates: one question per file, all of them answered by bets."""

from surepick.algorithms.pooled.questions.base import Question
from surepick.algorithms.pooled.questions.baseline import AgainstBaseline
from surepick.algorithms.pooled.questions.best import Best
from surepick.algorithms.pooled.questions.cheapest import CheapestGood
from surepick.algorithms.pooled.questions.quantile import LargestQuantile
from surepick.algorithms.pooled.questions.top import TopM
from surepick.problem.layers import Layer

__all__ = ["BETS", "Question"]

#: what is bet to answer each question, by its name
BETS: Layer[type[Question]] = Layer(
    "set of bets",
    {
        "best": Best,
        "top": TopM,
        "baseline": AgainstBaseline,
        "quantile": LargestQuantile,
        "cheapest": CheapestGood,
    },
    of="question",
)
