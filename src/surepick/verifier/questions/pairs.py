"""Which option beats every other, or wins most, or which m do? Options were compared two by two.

Beats everyone: a comparison of x with r multiplies the purse of x by 1 + λ (y_r − ½). Wins most:
the i-th comparison that served r in a block, against the i-th that served x: 1 + λ (y_r − y_x).

Which m win most: the K − m smallest of what is bet on rivals of x are averaged, as at most m − 1
rivals win more than one of the m. It is out at m/δ.

Options that come begin with the least that was held against anyone in when options ever changed
(at most 1); when one goes, nobody has more held against it than that, nor than was held against the
one that goes if it was in, and all are back. Where it is asked who wins most, all begin anew.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.check import Check
from surepick.verifier.formulas import ACCEPTING, Shares, averaged, beside, without_own
from surepick.verifier.options import Turns, at_first, epsilon_at_first
from surepick.verifier.payoffs.pairs import (
    ACCOUNTS,
    SHARES,
    Round,
    Seen,
    check_pairs,
    costs_of_options,
    features_of,
    mixed,
    numbered,
    paid_for_leads,
    read_comparisons,
)
from surepick.verifier.payoffs.pairs import (
    Comparison as Compared,
)
from surepick.verifier.questions.answers import Chosen, check_left, conclude_chosen, read_top
from surepick.verifier.questions.baseline import Sides
from surepick.verifier.questions.cheapest import OfAll, read_costs, read_within
from surepick.verifier.questions.claims import Comparison, read_question
from surepick.verifier.record import Accepted
from surepick.verifier.stated import Stated
from surepick.verifier.statement import THEOREMS, check_statement, resting, settle, sure, withdrawn

_CLOSE = 1e-6  # logs of capital may differ by this
_EVERYONE = "the one that beats every other, if there is one,"


class Found(NamedTuple):
    """What was shown."""

    beats: str
    left: list[int]
    shown: bool  #: that the only one left beats everyone
    cycle: list[int]
    near: set[int]  #: those shown to be close enough to all that are left
    everywhere: set[int]  #: and to everybody, ruled out or not
    chosen: Chosen | None = None  #: where several are asked for


def verify(check: Check) -> Found:
    """Who is left, and what is shown of them."""
    check_pairs(check)
    beats = exact.text(check.evidence["beats"], "what was asked")
    check.demand(beats in ("everyone", "most"), f"it answers an unknown question {beats!r:.80}")
    own = not published.is_own(check) or check.settings.get("beats", "everyone") == beats
    check.demand(own, "the question is not the one that the algorithm was set to")
    m, turns = _how_many(check, beats), Turns(check)
    check.demand(
        not turns.any or not (check.epsilon > 0 or m > 1),
        "options cannot come and go with epsilon or top",
    )
    book = (_Most if beats == "most" else _Everyone)(check, m)
    book.follow(turns)
    check.risk = check.delta
    recorded = exact.numbers(check.evidence["log_capital"], "its capital")
    check.demand(len(recorded) == book.K, "it has not one capital for each option")
    check.agree_all(recorded, book.most, lambda i: f"the capital against option {i}", _CLOSE)
    left = np.flatnonzero(book.left).tolist()
    cycle = exact.whole_numbers(check.evidence.get("cycle", []), "its cycle").tolist()
    check.demand(not (turns.any and cycle), "it has a cycle, and options came or went")
    book.check_cycle(cycle)
    shown = len(left) == 1 and not turns.any and book.beats_all(left[0])
    # Either of them has all that is for accepting, so which one it is must have been set before.
    confirms = _confirms(check)
    near = book.accepted() if not confirms else set[int]()
    everywhere = book.close_to_everyone() if confirms else set[int]()
    return Found(beats, left, shown, cycle, near, everywhere, book.chosen(left) if m > 1 else None)


def _confirms(check: Check) -> bool:
    everyone = check.evidence["beats"] == "everyone"
    return bool(check.settings.get("confirm", everyone))


def _how_many(check: Check, beats: str) -> int:
    """How many are asked for: those that win most, where it is more than one."""
    if "question" not in check.evidence:
        one = check.settings.get("top", 1) == 1 or not published.is_own(check)
        check.demand(one, "the question is not the one that the algorithm was set to")
        return 1
    m = read_top(check)
    check.demand(beats == "most", "only one option can beat every other")
    check.demand(m < len(check.candidates), "there are not more options than were asked for")
    return m


# -- questions of measurements -------------------------------------------------------------
def _rounds(check: Check) -> Iterator[tuple[Round, Seen]]:
    """Block by block, with what was seen before each."""
    check.demand(not Turns(check).any, "options come and go, and its question is about these")
    K = len(check.candidates)
    seen = Seen(K)
    seen.take(features_of(check, K))
    for number, batch in numbered(check):
        block = read_comparisons(check, number, batch, None)
        yield Round(block, seen.expected()), seen
        seen.add(block)
        check.checked += len(block)


def verify_claims(check: Check) -> Comparison:
    """What was shown of options beside one of them, by comparisons with it."""
    check_pairs(check)
    asked = read_question(check)
    base = asked.baseline
    check.demand(base is not None, "a comparison says nothing of a number")
    check.risk += check.delta
    sides, near = Sides(check, asked, SHARES), check.epsilon
    for round, _ in _rounds(check):
        some = [sides.others[place] for place in sides.open]
        plain = round.beats()
        sides.pay(plain[base, some], plain[some, base])
        if near > 0:
            wide = round.beats(near)
            sides.pay_close(wide[base, some], wide[some, base])
        sides.settle()
    return sides.conclusion()


class Unbeaten(NamedTuple):
    """What was shown of the cheapest that is good enough."""

    within: float
    left: list[int]
    shown: bool  #: that the only one left is good enough


def verify_cheapest(check: Check) -> Unbeaten:
    """Who is left, and whether it is shown that nobody beats it by more."""
    check_pairs(check)
    within, K = read_within(check), len(check.candidates)
    check.demand(within < 0.5 and check.epsilon == 0, "no share of comparisons is so large")
    check.demand(K >= 3, "of two options it is not known what each costs")
    costs = costs_of_options(read_costs(check), K)
    check.risk += check.delta
    order = sorted(range(K), key=lambda i: (costs[i], i))
    purses, goal = OfAll(order, SHARES), -math.log(check.delta)
    alive, logs = np.ones(K, dtype=bool), np.zeros(K)
    for round, seen in _rounds(check):
        shares = without_own(seen.shares(), 0.0)
        worst, in_turn = shares.max(axis=0), [x for x in order if alive[x]]
        fine = [x for x in in_turn if worst[x] <= 0.5 + within]
        head = fine[0] if fine else min(in_turn, key=lambda x: worst[x], default=order[0])
        far, good = round.beats(-within), round.beats(within)
        purses.pay(far, good, shares.argmax(axis=0), head)
        logs[alive] = purses.against()[alive]
        alive &= logs < goal + 1e-9
    recorded = exact.numbers(check.evidence["log_capital"], "its capital")
    check.demand(len(recorded) == K, "it has not one capital for each option")
    check.agree_all(recorded, logs, lambda i: f"the capital against option {i}", _CLOSE)
    left = np.flatnonzero(alive).tolist()
    enough = goal + math.log(K) - 1e-9
    shown = len(left) == 1 and purses.not_beaten(left[0]).min() >= enough
    return Unbeaten(within, left, bool(shown))


def conclude_cheapest(check: Check, found: Unbeaten) -> None:
    """The claim must follow from who is left."""
    kind, most = check.claim["guarantee"], f"{0.5 + found.within:.12g} of all comparisons"
    check.best = f"the cheapest option that no other option beats in more than {most}"
    if kind == "none":
        check.best += ", if there is one,"
    if not found.left:
        check.demand(kind in ("nobody", "heuristic"), "all options are ruled out, and it names one")
        check_left(check, found.left, kind)
        _settle_nobody(check, f"every option is beaten by another one in more than {most}", [])
        return
    check_left(check, found.left, "pac", "heuristic", "none")
    if kind == "pac":
        check.demand(len(found.left) == 1, "other candidates are still in the race")
        check.demand(found.shown, "it is not shown that no other option beats it by more")
    check_statement(check, len(found.left))


# -- what may be concluded ----------------------------------------------------------------
def conclude(check: Check, found: Found) -> None:
    """The claim must follow from what was shown."""
    left, kind, chosen = found.left, check.claim["guarantee"], check.claim["candidate"]
    check.best = "the one that wins most" if found.beats == "most" else _EVERYONE
    if found.chosen is not None:
        check.several = "the {} that win most"
        less = f"at most {check.epsilon:.12g} less often"
        last = f"than the last of the {check.top} that win most"
        check.near = f"{check.top} options, each of which wins {less} {last},"
        conclude_chosen(check, found.chosen)
        return
    if not left and found.beats == "everyone":  # nobody is the answer
        fits = kind in ("nobody", "heuristic")
        check.demand(fits, "all options are ruled out, and it names one")
        check_left(check, left, kind)
        _settle_nobody(check, "no option beats every other", found.cycle)
        return
    check_left(check, left, "pac", "eps-pac", "if-any", "heuristic", "none")
    if kind == "pac":
        check.demand(len(left) <= 1, "other candidates are still in the race")
    if found.beats == "most":
        check.demand(kind != "if-any", "one that wins most there always is")
        close = chosen in found.near
        check.demand(kind != "eps-pac" or close, "others may be better by more than epsilon")
    else:
        _conclude_everyone(check, found, kind, chosen)
    check_statement(check, len(left))


def _conclude_everyone(check: Check, found: Found, kind: str, chosen: int) -> None:
    """What is said of one that may beat everyone, and of which kind that is."""
    least = f"preferred in at least {0.5 - check.epsilon:.12g} of all comparisons to"
    check.near = f"{least} {_EVERYONE}"
    if found.shown:
        check.best = "the one that beats every other"
    check.demand(kind != "pac" or found.shown, "it is not shown to beat every other option")
    everywhere = chosen in found.everywhere
    check.demand(kind != "eps-pac" or everywhere, "others may be better by more than epsilon")
    if everywhere and not found.shown:
        check.near = check.best = f"{least} every other option"
    if kind == "if-any":
        near = len(found.left) == 1 or chosen in found.near
        check.demand(near, "other candidates are still in the race")
        check.demand(not found.shown, "it is shown to beat every other option")
        if len(found.left) > 1:
            check.best = check.near


def _settle_nobody(check: Check, what: str, cycle: list[int]) -> None:
    names = [check.label(i) for i in cycle]
    arrows = [f"{a!r} beats {b!r}" for a, b in zip(names, [*names[1:], *names[:1]])]
    due = Stated(what, sure(check.delta), THEOREMS["pairs"])
    if arrows:
        due = replace(due, also=", ".join(arrows), also_sure=sure(check.delta / 2))
    said = resting(check, due, check.kind.rests_on(items=False))
    proven = check.claim["guarantee"] == "nobody"
    settle(check, [said] if proven else withdrawn(check, [said]))


# -- purses -------------------------------------------------------------------------------
class _Book(ABC):
    """Logs of purses by candidate and rival, (K, K, stakes), and the most that they ever held."""

    def __init__(self, check: Check, m: int) -> None:
        self.check, self.K, self.m = check, len(check.candidates), m
        self.epsilon = epsilon_at_first(check)
        self.shares = Shares(self.epsilon, self.K)
        self.pairs, self.close = np.zeros((2, self.K, self.K, ACCOUNTS))  # close: to the first
        self.most, self.pairs_most, self.close_most = (
            np.zeros(self.K), np.zeros((self.K, self.K)), np.zeros((self.K, self.K)),
        )  # fmt: skip
        self.goal = math.log(m / check.delta) - 1e-9
        self.n = at_first(check)  # options so far
        self.there = np.arange(self.K) < self.n
        self.left = self.there.copy()

    opponents_drawn = False

    @abstractmethod
    def enter(self, who: list[int]) -> None: ...

    @abstractmethod
    def leave(self, who: int) -> None: ...

    @abstractmethod
    def pay(self, block: list[Compared], seen: Seen) -> None: ...

    @abstractmethod
    def held(self) -> np.ndarray:
        """Log capital against each option."""

    def follow(self, turns: Turns) -> None:
        """Block by block, with options that come and go between them."""
        check, seen, blocks = self.check, Seen(self.K), numbered(self.check)
        seen.take(features_of(check, self.n))
        for told in range(len(blocks) + 1):
            for turn in turns.at(told):
                if isinstance(turn, Accepted):
                    fine = not _confirms(check)
                    check.demand(fine, "where it confirms, nothing is accepted")
                    self.accept(turn.epsilon[1])
                    continue
                if turn.added:
                    self.enter(turn.arms)
                    self.there[turn.arms] = self.left[turn.arms] = True
                    self.n += len(turn.arms)
                    seen.take(features_of(check, self.n))
                else:
                    self.leave(turn.arms[0])
                    self.there[turn.arms] = False
                if not turn.added or self.opponents_drawn:
                    self.left = self.there.copy()
            if told < len(blocks):
                there = np.flatnonzero(self.there) if self.opponents_drawn else None
                self._settle(read_comparisons(check, *blocks[told], there), seen)
        turns.end()

    def accept(self, epsilon: float) -> None:
        """From now on more is close enough, by later comparisons."""
        self.epsilon = epsilon
        self.shares.accept(self.held())
        self.close[:], self.close_most[:] = 0.0, 0.0

    def _settle(self, block: list[Compared], seen: Seen) -> None:
        self.pay(block, seen)
        held = self.held()
        self.most = np.maximum(self.most, held)
        self.pairs_most = np.maximum(self.pairs_most, mixed(self.pairs))
        # What settles each (column) beside those that may be named (rows), at this moment.
        near = self.shares.behind - math.log(self.K - self.m) + mixed(self.close)
        self.close_most = np.maximum(self.close_most, beside(self.shares.racing + held, near))
        seen.add(block)
        self.left &= self.most < self.goal - self.shares.racing
        self.check.checked += len(block)

    def chosen(self, left: list[int]) -> Chosen:
        """Who is shown to be close enough to each, where several are asked for."""
        enough = self.close_most >= (self.goal if self.epsilon > 0 else math.inf)
        close = {c: set(np.flatnonzero(own).tolist()) for c, own in enumerate(enough)}
        return Chosen(self.m, left, close)

    def accepted(self) -> set[int]:
        """Who is shown to be close enough to all that are left."""
        inside, goal = np.flatnonzero(self.left), -math.log(self.check.delta) - 1e-9
        if self.epsilon == 0:
            return set()
        shown = (self.close_most >= goal) | np.eye(self.K, dtype=bool)
        return {int(c) for c in inside if shown[c, inside].all()}

    def close_to_everyone(self) -> set[int]:
        """To whom nobody is preferred by more than epsilon."""
        return set()

    def beats_all(self, x: int) -> bool:
        """Whether it is shown that an option beats every other."""
        return False

    def check_cycle(self, cycle: list[int]) -> None:
        """Whether options that are said to beat each other in a circle do."""
        self.check.demand(not cycle, "it has a cycle, which its question does not ask for")


class _Everyone(_Book):
    def __init__(self, check: Check, m: int) -> None:
        super().__init__(check, m)
        self.begun, self.least = np.zeros((self.K, ACCOUNTS)), np.zeros(ACCOUNTS)
        self.alone = np.zeros((self.K, self.K))  # the most that was ever bet on closeness

    def _all(self) -> np.ndarray:
        """All rivals' bets multiply, stake by stake: each is fair while x is the answer."""
        return self.begun + self.pairs.sum(axis=1)

    def held(self) -> np.ndarray:
        return mixed(self._all())

    def enter(self, who: list[int]) -> None:
        self.least = np.vstack([self.least, self._all()[self.left]]).min(axis=0)
        self.begun[who], self.most[who] = self.least, float(mixed(self.least))

    def leave(self, who: int) -> None:
        held = self._all()
        if self.left[who]:
            self.least = np.minimum(self.least, held[who])
        self.begun = self.begun - np.maximum(held - self.least, 0.0)
        self.most = self.held()

    def pay(self, block: list[Compared], seen: Seen) -> None:
        round = Round(block, seen.expected())
        self.pairs = self.pairs + round.beats()
        if self.epsilon > 0:
            self.close = self.close + round.beats(self.epsilon).swapaxes(0, 1)
        self.alone = np.maximum(self.alone, mixed(self.close))

    def close_to_everyone(self) -> set[int]:
        if self.epsilon == 0:
            return set()
        enough = math.log(self.K / self.check.delta) - ACCEPTING - 1e-9
        fine = (self.alone >= enough) | np.eye(self.K, dtype=bool)
        return set(np.flatnonzero(fine.all(axis=1)).tolist())

    def beats_all(self, x: int) -> bool:
        enough = math.log(self.K) + self.goal - self.shares.racing
        return all(self.pairs_most[r, x] >= enough for r in range(self.K) if r != x)

    def check_cycle(self, cycle: list[int]) -> None:
        enough = math.log(self.K * (self.K - 1) / self.check.delta) - 1e-9
        known = all(0 <= i < self.K for i in cycle) and len(set(cycle)) == len(cycle) != 1
        self.check.demand(known, "its cycle is none")
        for a, b in zip(cycle, [*cycle[1:], *cycle[:1]]):
            fine = self.pairs_most[b, a] >= enough
            self.check.demand(fine, f"it is not shown that option {a} beats option {b}")


class _Most(_Book):
    opponents_drawn = True

    def __init__(self, check: Check, m: int) -> None:
        super().__init__(check, m)
        self.led = np.zeros((self.K, ACCOUNTS))  # bets on who seemed to win most
        self.met, self.won, self.least = np.zeros(self.K), np.zeros(self.K), 0.0

    def held(self) -> np.ndarray:
        every = mixed(self.pairs[: self.n, : self.n])
        if self.m > 1:
            rest = np.sort(without_own(every, math.inf), axis=1)[:, : self.K - self.m]
            return averaged(rest, axis=1)
        mean = np.logaddexp.reduce(without_own(every, -math.inf), axis=1) - math.log(self.n - 1)
        found = np.zeros(self.K)
        found[: self.n] = np.logaddexp(mixed(self.led[: self.n]), mean) - math.log(2)
        return found + self.least

    def enter(self, who: list[int]) -> None:
        self._anew()

    def leave(self, who: int) -> None:
        self._anew()

    def _anew(self) -> None:
        self.least = min([self.least, *self.held()[self.left].tolist()])
        self.pairs[:], self.led[:], self.most[:] = 0.0, 0.0, self.least

    def pay(self, block: list[Compared], seen: Seen) -> None:
        results: list[list[float]] = [[] for _ in range(self.K)]
        for one in block:
            results[one.served].append(one.y if one.served == one.first else 1.0 - one.y)
        share = (self.won + 1) / (self.met + 2)
        vary = share * (1 - share)
        for x in range(self.K):
            rivals = [r for r in range(self.K) if self.left[r] and r != x]
            ahead = max(rivals, key=lambda r: (share[r], -r), default=None)
            for r in range(self.K):
                both = np.array(list(zip(results[x], results[r]))).reshape(-1, 2)
                if x == r or not len(both):
                    continue
                apart, spread = both[:, 1] - both[:, 0], vary[r] + vary[x]
                gained = paid_for_leads(share[r] - share[x], spread, apart)
                self.pairs[x, r] += gained
                if r == ahead:
                    self.led[x] += gained
                if self.epsilon > 0:
                    edge, gains = share[x] - share[r] + self.epsilon, self.epsilon - apart
                    self.close[x, r] += paid_for_leads(edge, spread, gains)
        for k, own in enumerate(results):
            self.met[k] += len(own)
            self.won[k] += sum(own)
