"""A question: which option is the best of a group, those whose names begin alike?

The others may be measured, and their measurements may say something about the group by way of
features; but they are not bet on, and never named.
"""

from dataclasses import dataclass

import numpy as np

from surepick.algorithms import questions
from surepick.algorithms.pooled.questions import BETS
from surepick.algorithms.pooled.questions.best import Best
from surepick.errors import InvalidInputError
from surepick.verifier import questions as verified
from surepick.verifier.questions import best as proven


# -- what it is ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Group(questions.Asked):
    name = "group"
    refuses_options = "the study asks for the best of a group; ask for the best of all"
    begins: str

    @property
    def best(self):
        return f"the best of those called {self.begins}…"

    @property
    def words(self):
        return f"which option is {self.best}"

    def check_problem(self, problem, items):
        if not any(label.startswith(self.begins) for label in problem.candidate_labels):
            raise InvalidInputError(f"group: no option is called {self.begins}…")


# -- what is bet: all others are as if they were not there ---------------------------------
class InGroup(Best):
    def __init__(self, ground):
        super().__init__(ground)
        labels = [ground.problem.candidate_labels[i] for i in ground.problem.distinct]
        begins = ground.config.asked.begins
        member = np.array([label.startswith(begins) for label in labels])
        self.dropped_at = self._b.put(np.where(member, 0, -1))
        self.best = int(np.argmax(member))
        self.finished = int(member.sum()) == 1

    def evidence(self):
        return {"question": {"asked": self.ground.config.asked.text()}}


# -- what the verifier makes of it, by code of its own -------------------------------------
def verify(check):
    begins = verified.asked_text(check).partition(":begins=")[2]
    everyone = np.array(check.distinct())
    member = np.array([check.label(i).startswith(begins) for i in everyone])
    check.demand(begins and member.any(), "there is no such group")
    check.best = f"the best of those called {begins}…"
    race = proven.Best(check, everyone)
    if member.sum() == 1:
        return everyone[member].tolist()
    race.offer.there &= member
    race.alive &= member
    return race.left()


questions.register(Group)
BETS.declare("group", InGroup)
verified.register("group", verify)
