"""Which option is the best of those that keep limits on further numbers?

For each limit l and option k there is capital G on "k keeps it" and B on "k breaks it", for each
two options E on "r is better than x". Each is a non-negative supermartingale where what it is bet
on is not so. Against "x is the best of those that keep all limits":

    W = 0.8 P + 0.1 mean of B_x over limits
      + 0.1 mean over r ≠ x of min(min over limits of G_r, E_rx)
    P = Π_r min(Π (f b + (1 − f) g_r) for each limit, Π (f b + (1 − f) e_rx))

with b, g, e what bets on "x breaks a limit", "r keeps it" and "r is better" pay in a block, over
the blocks in which r was x's rival; f and r follow from what was known before. Against "nobody
keeps them": S = 0.2 mean of min G_k + 0.8 Π_k (min G_k over the blocks k led).
Whoever has W ≥ 1/δ is out; the last one is the answer if S ≥ 1/δ; if all are out, nobody keeps
them.

Options may come and go, unless a limit has a tolerance. What is true may then change when they do,
so there are epochs, each with all of this capital from its beginning on, and with averages over who
was there then. One begins whenever somebody is retired who was not out, with what was held against
that one. A newcomer joins the last epoch, with the least that is held against anyone who is left,
or against "nobody keeps them". Who is out is so in every epoch, and S ≥ 1/δ holds in each.

With tolerances or epsilon W and S take 1/((1 − h)δ), and an option is accepted with K/(hδ) on "it
keeps all limits up to their tolerances" and on "it is not epsilon worse" than each that is in.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.verifier.accepting import ACCEPTING, RACING
from surepick.verifier.blocks import Noted, blocks_of
from surepick.verifier.check import Check
from surepick.verifier.formulas import Purses, without_own
from surepick.verifier.options import Turn, Turns
from surepick.verifier.payoffs.limits import Limit, Numbers, read_limits, squared
from surepick.verifier.questions.answers import check_dropped, check_left
from surepick.verifier.stated import Stated
from surepick.verifier.statement import THEOREMS, check_statement, resting, settle, sure, withdrawn

_PURSE, _BROKEN, _AVERAGE, _LED = 0.8, 0.1, 0.1, 0.8
_CLOSE = 1e-6  # what rounding may make of log capital, or of an estimate


class Found(NamedTuple):
    """What the record shows."""

    left: list[int]
    somebody: bool
    accepted: list[int]
    limits: list[Limit]


def verify(check: Check) -> Found:
    """Who is left, worked out again block by block."""
    limits = read_limits(check)
    book = _Book(check, limits)
    blocks, told = blocks_of(check), 0
    for number, (note, batches) in enumerate(blocks, start=1):
        check.demand(len(batches) == 1, f"block {number} is not one batch")
        book.turn(told)
        told += note.batches
        if number > len(blocks) - check.waited:
            check.demand(book.over and note.nothing, "bets were made after the decision")
        elif book.over:  # it only waits, until options come or go
            check.demand(note.nothing, f"block {number} comes after the question was answered")
        else:
            book.settle(note, batches[0], f"block {number}")
    book.turn(told)
    check.risk = check.delta
    left = np.flatnonzero(book.alive).tolist()
    return Found(left, book.somebody, book.accepted, limits)


def conclude(check: Check, found: Found) -> None:
    """The claim must follow from what was shown."""
    left, kind = found.left, check.claim["guarantee"]
    exactly = " and ".join(one.exactly for one in found.limits)
    if not left:
        fits = kind in ("nobody", "heuristic")
        check.demand(fits, "all options are ruled out, and it names one")
        check_left(check, left, kind)
        due = Stated(f"no option keeps {exactly}", sure(check.delta), THEOREMS["keeping"])
        features = "whatever the features are worth" if math.isinf(check.misfit) else ""
        noise = check.kind.rests_on(items=False)
        said = resting(check, due, features, noise, *check.further)
        settle(check, [said] if kind == "nobody" else withdrawn(check, [said]))
        return
    check_left(check, left, "pac", "eps-pac", "heuristic", "none")
    check.best = f"the best of those that keep {' and '.join(one.text for one in found.limits)}"
    if kind == "none":
        check.best += ", if there are any,"
    loose = any(one.tolerance for one in found.limits)
    kept = "keeps the limits up to their tolerance" if loose else "keeps the limits"
    near = f" by more than {check.epsilon:.12g}" if check.epsilon else ""
    check.near = f"an option that {kept} and that no option with {exactly} beats{near},"
    if kind == "pac":
        check.demand(len(left) == 1, "other candidates are still in the race")
        check.demand(found.somebody, "it is not shown that the answer keeps the limits")
    if kind == "eps-pac":
        close = check.claim["candidate"] in found.accepted
        check.demand(close, "it is not shown to be close enough")
    check_statement(check, 2 if found.accepted and kind != "pac" else len(left))


class _Stakes(NamedTuple):
    """What purses bet on in a block, fixed by what was known before it; shares are logs."""

    first: int  #: who seemed to be the best of those that keep the limits, a rival of all others
    second: int  #: who came next, the rival of the first; −1 where there is nobody
    on_limits: np.ndarray  #: of each option's purse, on "it breaks a limit", (K,)
    on_rival: np.ndarray  #: the rest, on its rival, (K,)
    of_limits: np.ndarray  #: of each limit in the first of these, (L, K)


class _Paid(NamedTuple):
    """What a block paid, as logs; nothing for options that have not come."""

    ahead: np.ndarray
    close: np.ndarray
    keeps: np.ndarray
    breaks: np.ndarray
    within: np.ndarray


class _Epoch:
    """All capital since some time; in arrays that have room for all options ever."""

    def __init__(self, numbers: Numbers, begun: float) -> None:
        K, L, self.numbers = numbers.K, len(numbers.limits), numbers
        self.member, self.met = numbers.there.copy(), numbers.there.copy()
        self.begun, self.nobody = np.full(K, begun), begun
        self.most, self.most_nobody = self.begun.copy(), begun
        self.ahead, self.close = (Purses((K, K), numbers.start) for _ in range(2))
        self.keeps, self.breaks, self.within = (numbers.purses() for _ in range(3))
        self.led_keeps, self.led_ahead = np.zeros((L, K, K)), np.zeros((K, K))
        self.alone, self.led_somebody = np.zeros(K), np.zeros((L, K))

    def pay(self, paid: _Paid, stakes: _Stakes) -> None:
        """A block; and the most that was ever held follows."""
        keeps, breaks = self.keeps.pay(paid.keeps), self.breaks.pay(paid.breaks)
        ahead = self.ahead.pay(paid.ahead)
        self.within.pay(paid.within)
        self.close.pay(paid.close)
        broken = np.logaddexp.reduce(stakes.of_limits + breaks, axis=0)
        for x in np.flatnonzero(self.numbers.there).tolist():
            r = stakes.second if x == stakes.first else stakes.first
            if r < 0:
                self.alone[x] += broken[x]
                continue
            own, rest = stakes.on_limits[x] + broken[x], stakes.on_rival[x]
            self.led_keeps[:, x, r] += np.logaddexp(own, rest + keeps[:, r])
            self.led_ahead[x, r] += np.logaddexp(own, rest + ahead[x, r])
        self.led_somebody[:, stakes.first] += keeps[:, stakes.first]
        self.most = np.maximum(self.most, self.against())
        self.most_nobody = max(self.most_nobody, self.against_nobody())

    def against(self) -> np.ndarray:
        """Log capital against each option."""
        certain, met = self.numbers.certain, self.met
        with np.errstate(divide="ignore"):
            broken = np.logaddexp.reduce(certain(self.breaks.total, False), axis=0)
            found = broken + math.log(_BROKEN / len(self.breaks.logs))
            led = np.minimum(certain(self.led_keeps, True).min(axis=0), self.led_ahead)
            found = np.logaddexp(found, led.sum(axis=1) + self.alone + math.log(_PURSE))
            rivals = int(met.sum()) - 1
            if rivals >= 1:
                both = without_own(np.minimum(self._keep(), self.ahead.total), -math.inf)
                mean = np.logaddexp.reduce(np.where(met[:, None] & met, both, -math.inf), axis=1)
                found = np.logaddexp(found, mean + math.log(_AVERAGE / rivals))
        return self.begun + found

    def _keep(self) -> np.ndarray:
        return self.numbers.certain(self.keeps.total, True).min(axis=0)

    def against_nobody(self) -> float:
        """Log capital against "nobody keeps the limits"."""
        average = float(np.logaddexp.reduce(self._keep()[self.met]))
        average += math.log((1 - _LED) / int(self.met.sum()))
        led = self.numbers.certain(self.led_somebody, True).min(axis=0)
        return self.nobody + float(np.logaddexp(average, float(led.sum()) + math.log(_LED)))

    def accepted(self, left: np.ndarray) -> np.ndarray:
        """Log capital on each option being good enough, beside those that are in."""
        kept = self.numbers.certain(self.within.total, True).min(axis=0)
        close = without_own(self.close.total.T, math.inf)
        return np.minimum(kept, close[:, left].min(axis=1, initial=math.inf))


class _Book:
    """Who is in, and whether somebody keeps the limits."""

    def __init__(self, check: Check, limits: list[Limit]) -> None:
        self.check, self.numbers, self.turns = check, Numbers(check, limits), Turns(check)
        loose = self.numbers.loose
        self.racing = -math.log(check.delta) - (RACING if loose else 0.0)
        self.accepting = math.log(self.numbers.K / check.delta) - ACCEPTING
        self.epochs = [_Epoch(self.numbers, 0.0)]
        self.alive, self.somebody = self.numbers.there.copy(), False
        self.accepted: list[int] = []
        check.demand(not (self.turns.any and loose), "options come and go, and limits are loose")

    @property
    def over(self) -> bool:
        left = int(self.alive.sum())
        return left == 0 or bool(self.accepted) or (left == 1 and self.somebody)

    # -- options that come and go ----------------------------------------------------------
    def turn(self, told: int) -> None:
        """Let options come and go that did so after so many batches."""
        for turn in self.turns.at(told):
            assert isinstance(turn, Turn)  # nothing is accepted on the way here
            against, nobody = self._now()
            if turn.added:
                least = min(0.0, float(against.min()), nobody)
                self.epochs[-1].member[turn.arms] = True
                for epoch in self.epochs:
                    epoch.begun[turn.arms] = epoch.most[turn.arms] = least
                self.numbers.there[turn.arms] = self.numbers.came = True
            else:
                held = float(against[turn.arms[0]])
                self.numbers.there[turn.arms[0]] = False
                if math.isfinite(held):
                    self.epochs.append(_Epoch(self.numbers, min(held, 0.0)))
            self.alive = self.numbers.there & (self._least() < self.racing)
            self._look()

    def _now(self) -> tuple[np.ndarray, float]:
        """What is held against each option, and nobody, where that is not refuted."""
        found, nobody = np.full(self.numbers.K, math.inf), math.inf
        for epoch in self.epochs:
            left = epoch.member & self.numbers.there & (epoch.most < self.racing)
            found[left] = np.minimum(found, epoch.against())[left]
            if epoch.most_nobody < self.racing:
                nobody = min(nobody, epoch.against_nobody())
        return found, nobody

    def _least(self) -> np.ndarray:
        """The most that was ever held against each option, in the epoch where that is least."""
        found = [np.where(one.member, one.most, math.inf) for one in self.epochs]
        return np.min(found, axis=0)

    def _look(self) -> None:
        """Whether somebody was shown to keep the limits."""
        self.somebody = all(one.most_nobody >= self.racing - _CLOSE for one in self.epochs)

    # -- blocks ----------------------------------------------------------------------------
    def settle(self, note: Noted, batch: dict[str, Any], where: str) -> None:
        """Pay out one block, and see who is out."""
        blocks = self.numbers.read(note, batch, where)
        if not self.numbers.bets():
            self.check.demand(note.nothing, f"{where} has no past to bet by")
        else:
            stakes = self._stakes(*self._rivals(note, where))
            self.numbers.open(blocks, where)
            paid = self._paid()
            for epoch in self.epochs:
                epoch.pay(paid, stakes)
            self._drop(note, where)
        self.numbers.add(blocks)

    def _rivals(self, note: Noted, where: str) -> tuple[int, int]:
        """Who seemed to be the best of those that keep the limits, and who came next."""
        check, named = self.check, note.rivals.tolist()
        left = np.flatnonzero(self.alive).tolist()
        due = min(2, len(left))
        fine = len(named) == due and len(set(named)) == due and set(named) <= set(left)
        check.demand(fine, f"{where}: the rivals are not two of those that are left")
        means, worst = self.numbers.estimates()[0], self.numbers.margins().apart.min(axis=0)
        size = float(np.abs(means[left]).max()) + float(np.ptp(means[left]))
        for place, one in enumerate(named):
            among = [x for x in left if x not in named[:place]]
            surely = [x for x in among if worst[x] > _CLOSE]
            best = max((means[x] for x in surely), default=-math.inf)
            as_best = worst[one] >= -_CLOSE and means[one] >= best - _CLOSE * size
            nearest = not surely and worst[one] >= max(worst[x] for x in among) - _CLOSE
            check.demand(
                as_best or nearest, f"{where}: {one} did not seem to be the best that keeps limits"
            )
        return named[0], named[1] if len(named) > 1 else -1

    def _stakes(self, first: int, second: int) -> _Stakes:
        inside = 0.5 * self.numbers.surely(self.numbers.margins())
        means, doubt, _ = self.numbers.estimates()
        rivals = np.full(self.numbers.K, first)
        rivals[first] = second
        ahead = 0.5 * squared(means[rivals] - means, doubt[rivals] + doubt)
        least = inside.min(axis=0)
        odds = np.minimum(least[rivals], ahead) + least  # log odds of betting on the rival
        of_limits = -inside - np.logaddexp.reduce(-inside, axis=0)
        on_limits, on_rival = -np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)
        return _Stakes(first, second, on_limits, on_rival, of_limits)

    def _paid(self) -> _Paid:
        numbers, everyone = self.numbers, np.arange(self.numbers.K)
        came = everyone <= max(np.flatnonzero(numbers.there))
        both, each = (came[:, None] & came)[..., None], came[None, :, None]
        reward = numbers.rounds[0]
        ahead = np.where(both, reward.beats(everyone, everyone), 0.0)
        close = np.zeros_like(ahead)
        if numbers.loose:
            epsilon = self.check.epsilon / self.check.noise
            close = reward.beats(everyone, everyone, epsilon)
        return _Paid(ahead, close, *(np.where(each, own, 0.0) for own in numbers.paid()))

    def _drop(self, note: Noted, where: str) -> None:
        check, logs = self.check, np.minimum(self._least(), 1e300)
        named, recorded = note.dropped
        alive = set(np.flatnonzero(self.alive).tolist())
        fine = set(named.tolist()) <= alive and len(set(named.tolist())) == len(named)
        check.demand(fine, f"{where} drops an absent candidate")
        enough = logs[named] >= self.racing - _CLOSE
        check_dropped(check, named, recorded, logs[named], enough, _CLOSE, where)
        self.alive[named] = False
        rest = logs[self.alive]
        kept = bool((rest < self.racing + _CLOSE).all())
        check.demand(kept, f"{where} keeps who is ruled out")
        self._look()
        if self.numbers.loose:
            left = np.flatnonzero(self.alive)
            least = self.epochs[0].accepted(left)
            self.accepted = [int(x) for x in left if least[x] >= self.accepting - _CLOSE]
