"""Where an answer may also be accepted as close enough: which share of the capital is for that.

A share is set aside at the start; or what is close enough is named on the way, after anything was
seen: then half of what is held against each option at that moment goes to bets on closeness, which
look at later data only. Either way all of it is one supermartingale that begins with 1 at most.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check

_ACCEPTING = 0.05  # fixed before anything was measured
_MOVED = 0.5  # of what is held at the moment when something is accepted from then on
RACING = math.log(1.0 - _ACCEPTING)  #: log of the share that rules options out
ACCEPTING = math.log(_ACCEPTING)  #: of the share that shows closeness
_FIELDS = {"epsilon", "batch", "changes"}
#: rules that can have it, and what else may be asked there than which is the best
_RULES = {"pooled": {"top"}, "complete": {"top"}, "pairs": {"top"}}


class Accepted(NamedTuple):
    """What is close enough from some moment on."""

    batch: int  #: batches before it
    changes: int  #: changes of the options before it
    before: float
    epsilon: float


def accepted(check: Check) -> list[Accepted]:
    """What was accepted on the way, in order."""
    found = []
    for entry in exact.mappings(check.body.get("accepted", []), "what it accepts"):
        ends = exact.numbers(entry["epsilon"], "what it accepts").tolist()
        check.demand(len(ends) == 2, "what it accepts is not before and after")
        times = [exact.whole(entry[name], "when it accepts") for name in ("batch", "changes")]
        found.append(Accepted(times[0], times[1], *ends))
    return found


def epsilon_at_first(check: Check) -> float:
    """What was close enough at the start."""
    return next((one.before for one in accepted(check)), check.epsilon)


def check_accepted(check: Check) -> None:
    """The list must make sense, and end with what the certificate says is close enough."""
    if "accepted" not in check.body:
        return
    entries = exact.mappings(check.body["accepted"], "what it accepts")
    for number, entry in enumerate(entries):
        exact.event(entry, f"what is accepted, {number}", _FIELDS)
    asked = set(check.evidence.get("question", ()))
    fits = check.rule in _RULES and asked <= _RULES[check.rule]
    check.demand(fits, "what is close enough cannot be named on the way here")
    found = accepted(check)
    check.demand(found, "its list of what is accepted is empty")
    check.demand(found[0].before >= 0, "epsilon must be at least 0")
    for one, after in zip(found, [*[two.before for two in found[1:]], check.epsilon]):
        check.demand(one.before < one.epsilon, "what is accepted is no more than before")
        check.demand(one.epsilon == after, "what is accepted is another epsilon")
    times = [(one.batch, one.changes) for one in found]
    made = [
        exact.whole(one["batch"], "the time of a change") for one in check.body.get("options", [])
    ]
    check.demand(times == sorted(times), "what is accepted is not in order")
    for batch, changes in times:
        inside = 0 <= batch <= len(check.batches) and 0 <= changes <= len(made)
        check.demand(inside, "something is accepted at no time of this run")
        ends = [*made[:changes], batch, *made[changes:]]
        check.demand(ends == sorted(ends), "something is accepted at no time of this run")


class Shares:
    """Logs of what rules options out, and of what is behind closeness against each of n."""

    def __init__(self, epsilon: float, n: int) -> None:
        self.racing = RACING if epsilon > 0 else 0.0
        self.behind = np.full(n, ACCEPTING)

    def accept(self, capital: np.ndarray) -> None:
        """Half of this log capital, as far as it counts, is behind closeness from now on."""
        self.behind = capital + self.racing + math.log(_MOVED)
        self.racing += math.log(1.0 - _MOVED)

    def enter(self, places: np.ndarray, left: np.ndarray) -> None:
        """Newcomers have no more behind them than anybody left."""
        self.behind[places] = min([0.0, *self.behind[left].tolist()])

    def leave(self, place: int) -> None:
        """Nobody has more behind it than the one that goes had."""
        self.behind = np.minimum(self.behind, self.behind[place])


def of_leader(number: int, several: int = 1) -> float:
    """Log of the part on closeness to one that led: the first is number 0.

    So many that lead at once have the same part; over all that ever lead they add up to all of it.
    """
    turn = 1 + number // several
    return -math.log(several * turn * (turn + 1))


def beside(racing: np.ndarray, close: np.ndarray) -> np.ndarray:
    """Both shares together, of the same moment: what settles an option beside one that is named."""
    return np.logaddexp(racing, close)
