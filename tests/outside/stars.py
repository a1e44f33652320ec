"""A kind of noise: ratings of 1 to 5 stars."""

from dataclasses import dataclass

import numpy as np

from surepick.ahead.kinds import DRAWINGS, WithinBounds
from surepick.ahead.noise import OnInterval
from surepick.algorithms.pooled.kinds import READINGS
from surepick.algorithms.pooled.kinds.bounded import BoundedRewards
from surepick.problem import noise
from surepick.promise import Condition
from surepick.run.assumed import ASSUMED, Assumed
from surepick.study.traffic.kinds import REPORTS, Reports
from surepick.verifier import exact, payoffs
from surepick.verifier import noise as verified
from surepick.verifier.payoffs.bounded import Bounded


# -- what it is ----------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Stars(noise.WithinBounds):
    kind = word = form = "stars"
    choice = "'stars'"
    asked = "1 to 5 stars"
    low: float = 1.0
    high: float = 5.0
    values = (1.0, 2.0, 3.0, 4.0, 5.0)
    rule = "rewards of this problem are 1, 2, 3, 4 or 5 stars"
    words = measurement = asked
    provided = Condition("provided that nobody rates twice", "if each of them votes once")

    def impossible(self, rewards):
        return np.flatnonzero(~np.isin(rewards, self.values))

    def __str__(self):
        return "stars"


# -- how it is drawn -----------------------------------------------------------------------
@dataclass(frozen=True)
class Votes(OnInterval):
    low: float = 1.0
    high: float = 5.0

    def draw(self, rng, mean, n, scale):
        return 1.0 + rng.binomial(4, self._share(mean), size=n)


class DrawnStars(WithinBounds):
    def family(self, *_):
        return Votes()

    guessed = ahead = family


# -- what the verifier knows of it, by code of its own -------------------------------------
class VerifiedStars(verified.Noise):
    kind = "stars"
    provided = provided_on_items = "provided that nobody rates twice"
    columns = frozenset({"spreads"})
    squares = True

    @classmethod
    def read(cls, written, n_arms):
        return cls(2.0, None, 1.0, 5.0) if written == "stars" else None

    def check_sum(self, total, count, where, *, averaged):
        super().check_sum(total, count, where, averaged=averaged)
        exact.demand(averaged or total % 1 == 0, f"{where}: {total:g} is no number of stars")


noise.register(Stars)
READINGS.declare("stars", BoundedRewards)
DRAWINGS.declare("stars", DrawnStars())
ASSUMED.declare("stars", Assumed())
REPORTS.declare("stars", Reports(squares=True, intervals=True))
verified.register(VerifiedStars)
payoffs.declare("stars", Bounded)
