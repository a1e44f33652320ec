"""The exploration game: no-regret learners, tracking, and the two-player loop."""

from surepick.research.game.learners import AdaHedge, ExponentialWeights, Learner
from surepick.research.game.loop import GameResult, solve_game

__all__ = ["AdaHedge", "ExponentialWeights", "GameResult", "Learner", "solve_game"]
