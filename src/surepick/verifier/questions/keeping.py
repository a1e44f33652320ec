"""Which option is the best of those that keep limits on further numbers, or which m are?

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

Where m are asked for, P is the least of m such products: one for each of m − 1 *sure* options as r
in all blocks, and one for the rival of each block, none of the sure. Means leave out the m − 1
largest of their terms. Against sure ones, and once no more than m are left, only b is bet. S is for
"fewer than p keep them", p = min(m, number left), by p purses on G alone. Whoever has W ≥ m/δ is
out, and m that are left are the answer if S ≥ m/δ; fewer are then all that keep the limits.

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
from typing import NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.blocks import Noted, blocks_of
from surepick.verifier.check import Check
from surepick.verifier.formulas import ACCEPTING, RACING, Purses, without_own
from surepick.verifier.options import Turns
from surepick.verifier.payoffs.limits import Limit, Numbers, read_limits, squared
from surepick.verifier.questions.answers import check_dropped, check_left, read_top
from surepick.verifier.record import Batch, Turn
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


def verify(check: Check, m: int = 1) -> Found:
    """Who is left, worked out again block by block."""
    return follow(check, Book(check, read_limits(check), m))


def follow(check: Check, book: Book) -> Found:
    """The same of a book that has not begun."""
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
    return Found(left, book.somebody, book.accepted, book.numbers.limits)


def verify_top(check: Check) -> Found:
    """The same of several that are asked for."""
    m = read_top(check)
    check.demand(len(check.candidates) > m, "there are not more candidates than were asked for")
    found = verify(check, m)
    loose = check.epsilon > 0 or any(one.tolerance for one in found.limits)
    check.demand(not loose, "something close is accepted, where several are asked for")
    return found


def conclude(check: Check, found: Found) -> None:
    """The claim must follow from what was shown."""
    left, kind = found.left, check.claim["guarantee"]
    exactly = " and ".join(one.exactly for one in found.limits)
    if not left:
        fits = kind in ("nobody", "heuristic")
        check.demand(fits, "all options are ruled out, and it names one")
        check_left(check, left, kind)
        settle_one(check, "nobody", f"no option keeps {exactly}")
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


def conclude_top(check: Check, found: Found) -> None:
    """The same of several; where fewer are left, they are all that keep the limits."""
    left, kind, m, claim = found.left, check.claim["guarantee"], check.top, check.claim
    if not left:
        conclude(check, found)
        return
    check_left(check, left, "pac", "heuristic", "none")
    chosen = [claim["candidate"]]
    if "candidates" in claim:
        chosen = exact.whole_numbers(claim["candidates"], "those that were chosen").tolist()
    check.demand(chosen[0] == claim["candidate"], "the answer is not the first of those chosen")
    fine = set(chosen) <= set(left) and len(chosen) == len(set(chosen)) == min(m, len(left))
    check.demand(fine, "it does not choose as many as were asked for of those that are left")
    keep = " and ".join(one.text for one in found.limits)
    check.several = f"the {{}} best of those that keep {keep}"
    if kind == "none":
        check.several = f"the {m} best, or all there are, of those that keep {keep}"
        if len(left) == 1:
            check.best, check.top = check.several, 1
    else:
        check.demand(len(left) <= m, "other candidates are still in the race")
        check.demand(found.somebody, "it is not shown that so many keep the limits")
    if kind == "none" or len(left) == m:
        check_statement(check, len(left))
        return
    only = "the only option that keeps" if len(left) == 1 else "the only options that keep"
    settle_one(check, "pac", f"{only} {keep}", len(left) > 1)


def settle_one(check: Check, kind: str, said: str, several: bool = False) -> None:
    """The sentence must be this one with all that it rests on; or be withdrawn."""
    theorem = THEOREMS["keeping"] + (f", union over {check.top}" if check.top > 1 else "")
    due = Stated(said, sure(check.delta), theorem, several=several)
    features = "whatever the features are worth" if math.isinf(check.misfit) else ""
    noise = check.kind.rests_on(items=False)
    full = [resting(check, due, features, noise, *check.further)]
    settle(check, full if check.claim["guarantee"] == kind else withdrawn(check, full))


class Stakes(NamedTuple):
    """What purses bet on in a block, fixed by what was known before it; shares are logs."""

    sure: list[int]  #: who seemed to be among the m best of those that keep the limits …
    first: int  #: … and the last of these, a rival of all others
    second: int  #: who came next, the rival of the first; −1 where there is nobody
    nobody: np.ndarray  #: against whom only limits are bet on, (K,)
    on_limits: dict[int, np.ndarray]  #: of each option's purse on one, on "it breaks a limit", (K,)
    on_rival: dict[int, np.ndarray]  #: the rest, on that one, (K,)
    of_limits: np.ndarray  #: of each limit in the first of these, (L, K)


class Places:
    """Purses on those that are sure, and on the rivals of blocks; the least counts.

    Against each row there are sides: that someone keeps a limit, or is better. Who is the rival of
    a block pays to all sides of its own; these are multiplied, each by the least of its sides.
    """

    def __init__(self, rows: int, certain: np.ndarray) -> None:
        self.certain, shape = certain, (rows, certain.shape[1])
        self.sure: dict[int, np.ndarray] = {}
        self.begun, self.rivals = np.zeros(rows), np.zeros((len(certain), *shape))

    def change(self, sure: list[int]) -> None:
        """Who comes, and the last purse, go on with the least; who stays has no more than left."""
        if sure == list(self.sure):
            return
        before, fresh = self.sure, self.least() if self.sure else self.begun
        gone = [self._least_of(one) for one in before if one not in sure]
        most = np.min(gone, axis=0) if gone else np.full(len(fresh), math.inf)
        new = np.tile(fresh[:, None], self.rivals.shape[2])
        self.sure = {
            one: np.minimum(before[one], most[:, None]) if one in before else new.copy()
            for one in sure
        }
        self.begun, self.rivals = fresh, np.zeros_like(self.rivals)

    def _least_of(self, one: int) -> np.ndarray:
        return np.where(self.certain[one], math.inf, self.sure[one]).min(axis=1)

    def least(self) -> np.ndarray:
        """What counts against each row."""
        last = self.by_rival().sum(axis=0) + self.begun
        return np.min([last, *map(self._least_of, self.sure)], axis=0)

    def by_rival(self) -> np.ndarray:
        """What was bet on each rival comes to, (K, rows)."""
        each = np.where(self.certain[:, None], math.inf, self.rivals).min(axis=2)
        each[list(self.sure)] = 0.0
        return each


class Paid(NamedTuple):
    """What a block paid, as logs; nothing for options that have not come."""

    ahead: np.ndarray
    close: np.ndarray
    keeps: np.ndarray
    breaks: np.ndarray
    within: np.ndarray


class Epoch:
    """All capital since some time; in arrays that have room for all options ever."""

    def __init__(self, numbers: Numbers, begun: float, m: int) -> None:
        K, self.numbers, self.m = numbers.K, numbers, m
        self.member, self.met = numbers.there.copy(), numbers.there.copy()
        self.begun, self.nobody = np.full(K, begun), begun
        self.most, self.most_nobody = self.begun.copy(), begun
        self.ahead, self.close = (Purses((K, K), numbers.start) for _ in range(2))
        self.keeps, self.breaks, self.within = (numbers.purses() for _ in range(3))
        surely = np.isinf(numbers.certain(np.zeros((len(numbers.limits), K)), True)).T
        self.led = Places(K, np.hstack([surely, np.zeros((K, 1), dtype=bool)]))
        self.somebody = Places(1, surely)

    def pay(self, paid: Paid, stakes: Stakes) -> tuple[np.ndarray, np.ndarray]:
        """A block; what it paid on limits being kept, and broken."""
        keeps, breaks = self.keeps.pay(paid.keeps), self.breaks.pay(paid.breaks)
        ahead = self.ahead.pay(paid.ahead)
        self.within.pay(paid.within)
        self.close.pay(paid.close)
        broken = np.logaddexp.reduce(stakes.of_limits + breaks, axis=0)
        self.somebody.change(stakes.sure)
        if len(stakes.sure) == self.m - 1:
            self.led.change(stakes.sure)
        for x in np.flatnonzero(self.numbers.there).tolist():
            if stakes.nobody[x]:
                self.led.begun[x] += broken[x]
                for sides in self.led.sure.values():
                    sides[x] += broken[x]
                continue
            last = stakes.second if x == stakes.first else stakes.first
            for r in [last, *self.led.sure]:
                place = r if r in self.led.sure else stakes.first
                own, rest = stakes.on_limits[place][x] + broken[x], stakes.on_rival[place][x]
                paid = np.logaddexp(own, rest + np.append(keeps[:, r], ahead[x, r]))
                (self.led.sure[r] if r in self.led.sure else self.led.rivals[r])[x] += paid
        for r in stakes.sure:
            self.somebody.sure[r][0] += keeps[:, r]
        self.somebody.rivals[stakes.first, 0] += keeps[:, stakes.first]
        return keeps, broken

    def note(self) -> None:
        """The most that was ever held follows."""
        self.most = np.maximum(self.most, self.against())
        self.most_nobody = max(self.most_nobody, self.against_nobody())

    def against(self) -> np.ndarray:
        """Log capital against each option."""
        certain, met = self.numbers.certain, self.met
        with np.errstate(divide="ignore"):
            broken = np.logaddexp.reduce(certain(self.breaks.total, False), axis=0)
            found = broken + math.log(_BROKEN / len(self.breaks.logs))
            found = np.logaddexp(found, self.led.least() + math.log(_PURSE))
            rivals = int(met.sum()) - 1
            if rivals >= 1:
                both = without_own(np.minimum(self.kept_by(), self.ahead.total), -math.inf)
                both = np.sort(np.where(met[:, None] & met, both, -math.inf), axis=1)
                mean = np.logaddexp.reduce(both[:, : len(met) - self.m + 1], axis=1)
                found = np.logaddexp(found, mean + math.log(_AVERAGE / rivals))
        return self.begun + found

    def kept_by(self) -> np.ndarray:
        """Log capital on each option keeping all limits."""
        return self.numbers.certain(self.keeps.total, True).min(axis=0)

    def against_nobody(self) -> float:
        """Log capital against "nobody keeps the limits"."""
        each = np.sort(self.kept_by()[self.met])
        average = float(np.logaddexp.reduce(each[: len(each) - len(self.somebody.sure)]))
        average += math.log((1 - _LED) / len(each))
        led = float(self.somebody.least()[0]) + math.log(_LED)
        return self.nobody + float(np.logaddexp(average, led))

    def accepted(self, left: np.ndarray) -> np.ndarray:
        """Log capital on each option being good enough, beside those that are in."""
        kept = self.numbers.certain(self.within.total, True).min(axis=0)
        close = without_own(self.close.total.T, math.inf)
        return np.minimum(kept, close[:, left].min(axis=1, initial=math.inf))


class Book:
    """Who is in, and whether somebody keeps the limits."""

    def __init__(self, check: Check, limits: list[Limit], m: int) -> None:
        self.check, self.numbers, self.turns = check, Numbers(check, limits), Turns(check)
        self.m = m
        loose = self.numbers.loose
        self.racing = math.log(m / check.delta) - (RACING if loose else 0.0)
        self.accepting = math.log(self.numbers.K / check.delta) - ACCEPTING
        self.epochs = [self.epoch(0.0)]
        self.alive, self.somebody = self.numbers.there.copy(), False
        self.accepted: list[int] = []
        check.demand(not (self.turns.any and loose), "options come and go, and limits are loose")
        check.demand(not (self.turns.any and m > 1), "options come and go, and several are named")

    def epoch(self, begun: float) -> Epoch:
        """One that begins."""
        return Epoch(self.numbers, begun, self.m)

    @property
    def over(self) -> bool:
        left = int(self.alive.sum())
        return left == 0 or bool(self.accepted) or (left <= self.m and self.somebody)

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
                    self.epochs.append(self.epoch(min(held, 0.0)))
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
    def settle(self, note: Noted, batch: Batch, where: str) -> None:
        """Pay out one block, and see who is out."""
        blocks = self.numbers.read(note, batch, where)
        if not self.numbers.bets():
            self.check.demand(note.nothing, f"{where} has no past to bet by")
        else:
            stakes = self.stakes(*self.rivals(note, where))
            self.numbers.open(blocks, where)
            paid = self.paid()
            for epoch in self.epochs:
                epoch.pay(paid, stakes)
                epoch.note()
            self._drop(note, where)
        self.numbers.add(blocks)

    def rivals(self, note: Noted, where: str) -> tuple[list[int], int, int]:
        """Who seemed to be the m best of those that keep the limits, and who came next."""
        check, named = self.check, note.rivals.tolist()
        sure = note.sure.tolist() if self.m > 1 else []
        left, all_named = np.flatnonzero(self.alive).tolist(), [*sure, *named]
        places = min(self.m, len(left))
        due = len(sure) == places - 1 and len(all_named) == min(self.m + 1, len(left))
        fine = due and len(set(all_named)) == len(all_named) and set(all_named) <= set(left)
        check.demand(fine, f"{where}: the rivals are not as many as they should be")
        first, second = named[0], named[1] if len(named) > 1 else -1
        leading = {*sure, first}
        before = [one for one in self.epochs[-1].somebody.sure if one in leading][: places - 1]
        check.demand(sure[: len(before)] == before, f"{where}: others were sure, and still are")
        for one in leading:
            self.check_best(one, [x for x in left if x == one or x not in leading], where)
        for one in sure[len(before) :]:
            self.check_best(one, [one, first], where)
        if second >= 0:
            self.check_best(second, [x for x in left if x not in leading], where)
        return sure, first, second

    def check_best(self, one: int, among: list[int], where: str) -> None:
        """That one must have seemed to be the best of some that keep the limits, or nearest."""
        means, worst = self.numbers.estimates()[0], self.numbers.margins().apart.min(axis=0)
        left = np.flatnonzero(self.numbers.there)
        size = float(np.abs(means[left]).max()) + float(np.ptp(means[left]))
        surely = [x for x in among if worst[x] > _CLOSE]
        best = max((means[x] for x in surely), default=-math.inf)
        as_best = worst[one] >= -_CLOSE and means[one] >= best - _CLOSE * size
        nearest = not surely and worst[one] >= max(worst[x] for x in among) - _CLOSE
        said = f"{where}: {one} did not seem to be the best that keeps limits"
        self.check.demand(as_best or nearest, said)

    def stakes(self, sure: list[int], first: int, second: int, by: float = 0.0) -> Stakes:
        inside = 0.5 * self.numbers.surely(self.numbers.margins())
        means, doubt, _ = self.numbers.estimates()
        least, everyone = inside.min(axis=0), np.arange(self.numbers.K)
        on_limits, on_rival = dict[int, np.ndarray](), dict[int, np.ndarray]()
        for place in [first, *sure]:
            rivals = np.where(everyone == first, second, first) if place == first else place
            ahead = 0.5 * squared(means[rivals] - means - by, doubt[rivals] + doubt)
            odds = np.minimum(least[rivals], ahead) + least  # log odds of betting on the rival
            on_limits[place], on_rival[place] = -np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)
        of_limits = -inside - np.logaddexp.reduce(-inside, axis=0)
        nobody = np.isin(everyone, sure) | (int(self.alive.sum()) <= self.m)
        return Stakes(sure, first, second, nobody, on_limits, on_rival, of_limits)

    def paid(self) -> Paid:
        numbers, everyone = self.numbers, np.arange(self.numbers.K)
        came = everyone <= max(np.flatnonzero(numbers.there))
        both, each = (came[:, None] & came)[..., None], came[None, :, None]
        reward = numbers.rounds[0]
        ahead = np.where(both, reward.beats(everyone, everyone), 0.0)
        close = np.zeros_like(ahead)
        if numbers.loose:
            epsilon = self.check.epsilon / self.check.noise
            close = reward.beats(everyone, everyone, epsilon)
        return Paid(ahead, close, *(np.where(each, own, 0.0) for own in numbers.paid()))

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
