"""Options that were compared two at a time: purses worked out again, comparison by comparison.

Arms are ordered pairs, numbered by the later option: with m the larger of a and b, and l the
smaller, arm m (m − 1) + 2 l + [a > b] shows a first and b second. The rows of a block are single
comparisons, numbered as they were planned. Of each, the seed of the order says by a fair coin who
was shown first and, where it is asked who wins most, who the opponent was.

Beats everyone: a comparison of x with r multiplies the purse of x by 1 + λ (y_r − ½). Wins most:
the i-th comparison that served r in a block, against the i-th that served x: 1 + λ (y_r − y_x).
Stakes come from blocks before, by a Bradley–Terry fit and the pair's own record. Purses are
averages over five stakes.

Which m win most: the K − m smallest of what is bet on rivals of x are averaged, as at most m − 1
rivals win more than one of the m. It is out at m/δ.

Options that come begin with the least that was held against anyone in when options ever changed
(at most 1); when one goes, nobody has more held against it than that, nor than was held against the
one that goes if it was in, and all are back. Where it is asked who wins most, all begin anew.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.accepting import (
    ACCEPTING,
    Accepted,
    Shares,
    beside,
    epsilon_at_first,
)
from surepick.verifier.check import Check
from surepick.verifier.chosen import Chosen, check_chosen, read_top
from surepick.verifier.options import at_first, events_of, pair_of
from surepick.verifier.order import random_words
from surepick.verifier.stated import Stated
from surepick.verifier.statement import check_statement, resting, settle, sure, withdrawn

_WEIGHTS = (1 / 2, 1 / 8, 1 / 8, 1 / 8, 1 / 8)
_FIXED = (0.1, 0.3, 0.7, 1.2)
_FIXED_LEADS = (0.05, 0.15, 0.35, 0.6)
_SLOPE, _FROM, _OWN, _RIDGE = 3.6, 0.47, 10.0, 0.5
_SHARE, _MOST, _FROM_LEAD = 0.9, 0.9, -0.0131
_CLOSE = 1e-6  # logs of capital may differ by this
_ORDER, _OPPONENT = 6, 7  # streams of random numbers
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


class _Comparison(NamedTuple):
    first: int
    second: int
    y: float  #: 1 where the first is preferred
    served: int


def verify(check: Check) -> Found:
    """Who is left, and what is shown of them."""
    K = len(check.candidates)
    _check_pairs(check, K)
    beats = exact.text(check.evidence["beats"], "what was asked")
    check.demand(beats in ("everyone", "most"), f"it answers an unknown question {beats!r:.80}")
    if published.is_own(check):
        check.demand(
            check.settings.get("beats", "everyone") == beats,
            "the question is not the one that the algorithm was set to",
        )
    m = _how_many(check, beats, K)
    turns, n = events_of(check), at_first(check)
    turned = bool(check.body.get("options"))
    check.demand(
        not turned or not (check.epsilon > 0 or m > 1),
        "options cannot come and go with epsilon or top",
    )
    purses = (_Most if beats == "most" else _Everyone)(check, K)
    there = np.arange(K) < n
    purses.n, purses.m, seen = n, m, _Seen(K)
    seen.take(_features(check, n))
    left, blocks = there.copy(), _numbered(check)
    for told in range(len(blocks) + 1):
        while turns and turns[0].batch == told:
            turn = turns.pop(0)
            if isinstance(turn, Accepted):
                check.demand(not _confirms(check, beats), "where it confirms, nothing is accepted")
                purses.accept(turn.epsilon)
                continue
            if turn.added:
                purses.enter(turn.arms, left)
                there[turn.arms] = left[turn.arms] = True
                purses.n = purses.n + len(turn.arms)
                seen.take(_features(check, purses.n))
            else:
                purses.leave(turn.arms[0], left)
                there[turn.arms] = False
            if not turn.added or beats == "most":
                left = there.copy()
        if told == len(blocks):
            break
        block = _block(check, *blocks[told], np.flatnonzero(there) if beats == "most" else None)
        purses.settle(block, seen, left)
        seen.add(block)
        racing = math.log(m / check.delta) - purses.shares.racing
        left &= purses.most < racing - 1e-9
        check.checked += len(block)
    check.risk = check.delta
    recorded = exact.numbers(check.evidence["log_capital"], "its capital")
    check.demand(len(recorded) == K, "it has not one capital for each option")
    check.agree_all(recorded, purses.most, lambda i: f"the capital against option {i}", _CLOSE)
    survivors = np.flatnonzero(left).tolist()
    near = purses.accepted(left) if check.epsilon > 0 else set[int]()
    shown = len(survivors) == 1 and not turned and purses.beats_all(survivors[0])
    cycle = exact.whole_numbers(check.evidence.get("cycle", []), "its cycle").tolist()
    check.demand(not (turned and cycle), "it has a cycle, and options came or went")
    purses.check_cycle(cycle)
    everywhere = purses.close_to_everyone() if check.epsilon > 0 else set[int]()
    # Either of them has all that is for accepting, so which one it is must have been set before.
    confirms = _confirms(check, beats)
    near, everywhere = (set[int](), everywhere) if confirms else (near, set[int]())
    found = Found(beats, survivors, shown, cycle, near, everywhere)
    check.best = "the one that wins most" if beats == "most" else _EVERYONE
    if m > 1:
        check.several = "the {} that win most"
        less = f"at most {check.epsilon:.12g} less often"
        last = f"than the last of the {m} that win most"
        check.near = f"{m} options, each of which wins {less} {last},"
        close = purses.close_enough() if check.epsilon > 0 else {}
        return found._replace(chosen=Chosen(m, survivors, close))
    if beats == "everyone":
        least = f"{0.5 - check.epsilon:.12g}"
        check.near = f"preferred in at least {least} of all comparisons to {_EVERYONE}"
    return found


def conclude(check: Check, found: Found) -> None:
    """The claim must follow from what was shown."""
    claim = check.claim
    if found.chosen is not None:
        check_chosen(check, found.chosen)
        check_statement(check, len(found.left))
        return
    kind, chosen = claim["guarantee"], claim["candidate"]
    check.demand(claim["survivors"] == found.left, "the survivors are not those claimed")
    check.demand(0 <= chosen < len(check.candidates), "the answer is no option")
    check.demand(check.label(chosen) == claim["label"], "the label is another candidate's")
    check.demand(chosen in found.left or not found.left, "the answer is not among the survivors")
    if not found.left and found.beats == "everyone":  # nobody is the answer
        _conclude_nobody(check, found)
        return
    known = ("pac", "eps-pac", "if-any", "heuristic", "none")
    check.demand(kind in known, f"unknown claim {kind!r}")
    if kind == "pac":
        check.demand(len(found.left) <= 1, "other candidates are still in the race")
    if found.beats == "most":
        check.demand(kind != "if-any", "one that wins most there always is")
        close = check.epsilon > 0 and chosen in found.near
        check.demand(kind != "eps-pac" or close, "others may be better by more than epsilon")
    else:
        _conclude_everyone(check, found, kind, chosen)
    check_statement(check, len(found.left))


def _conclude_everyone(check: Check, found: Found, kind: str, chosen: int) -> None:
    """What is said of one that may beat everyone, and of which kind that is."""
    if found.shown:
        check.best = "the one that beats every other"
    check.demand(kind != "pac" or found.shown, "it is not shown to beat every other option")
    everywhere = check.epsilon > 0 and chosen in found.everywhere
    check.demand(kind != "eps-pac" or everywhere, "others may be better by more than epsilon")
    if everywhere and not found.shown:
        least = f"{0.5 - check.epsilon:.12g}"
        check.near = f"preferred in at least {least} of all comparisons to every other option"
        check.best = check.near
    if kind == "if-any":
        close = check.epsilon > 0 and chosen in found.near
        check.demand(len(found.left) == 1 or close, "other candidates are still in the race")
        check.demand(not found.shown, "it is shown to beat every other option")
        if len(found.left) > 1:
            check.best = check.near


def _conclude_nobody(check: Check, found: Found) -> None:
    kind = check.claim["guarantee"]
    check.demand(kind in ("nobody", "heuristic"), "all options are ruled out, and it names one")
    delta = check.delta
    theorem = (
        "the capital bet against whoever is the answer is a supermartingale; Ville's inequality"
    )
    names = [check.label(i) for i in found.cycle]
    arrows = [f"{a!r} beats {b!r}" for a, b in zip(names, [*names[1:], *names[:1]])]
    due = Stated("no option beats every other", sure(delta), theorem)
    if arrows:
        due = replace(due, also=", ".join(arrows), also_sure=sure(delta / 2))
    said = resting(check, due, check.kind.rests_on(items=False))
    settle(check, [said] if kind == "nobody" else withdrawn(check, [said]))


def _confirms(check: Check, beats: str) -> bool:
    return bool(check.settings.get("confirm", beats == "everyone"))


def _how_many(check: Check, beats: str, K: int) -> int:
    """How many are asked for: those that win most, where it is more than one."""
    if "question" not in check.evidence:
        one = check.settings.get("top", 1) == 1 or not published.is_own(check)
        check.demand(one, "the question is not the one that the algorithm was set to")
        return 1
    m = read_top(check)
    check.demand(beats == "most", "only one option can beat every other")
    check.demand(m < K, "there are not more options than were asked for")
    return m


# -- what was measured -----------------------------------------------------------------------
def _check_pairs(check: Check, K: int) -> None:
    """Arms must be all ordered pairs of the candidates, which are told apart by their rows."""
    check.demand(check.kind.of_pairs, "its measurements are no comparisons of two")
    check.demand(K >= 2 and len(check.arms) == K * (K - 1), "its arms are not all pairs of options")
    check.demand(len(check.distinct()) == K, "two of its options are the same")
    check.demand("order" in check.body, "it does not say by which seed pairs were put in order")
    check.demand(not check.past, "past comparisons count for nothing")
    options = np.asarray(check.raw_candidates[np.arange(K)], dtype=float)
    rows = np.asarray(check.raw_arms[np.arange(K * (K - 1))], dtype=float)
    first, second = zip(*(pair_of(arm) for arm in range(K * (K - 1))))
    due = options[list(first)] - options[list(second)]
    size = 1e-9 * (1.0 + np.abs(options).max())
    check.demand(np.abs(rows - due).max() <= size, "its arms are not the pairs of its options")


def _features(check: Check, n: int) -> np.ndarray:
    """Features of the first options behind the two columns that tell them apart."""
    table = np.asarray(check.raw_candidates[np.arange(n)], dtype=float)[:, 2:]
    table = table - table.mean(axis=0)
    largest = np.abs(table).max(axis=0, initial=0.0)
    return table[:, largest > 0] / largest[largest > 0]


def _numbered(check: Check) -> list[tuple[int, dict[str, Any]]]:
    """All blocks with their numbers, which say by which random numbers they were put in order."""
    numbers = exact.whole_numbers(check.evidence["blocks"], "the numbers of its blocks").tolist()
    changed = bool(check.body.get("corrections"))
    check.demand(len(numbers) == len(check.batches), "blocks and batches do not correspond")
    fine = all(a < b for a, b in zip([-1, *numbers], numbers))
    check.demand(fine, "its blocks are not numbered in their order")
    check.demand(
        changed or numbers == list(range(len(numbers))), "blocks are left out of its record"
    )
    return list(zip(numbers, check.batches))


def _block(
    check: Check, number: int, batch: dict[str, Any], there: np.ndarray | None
) -> list[_Comparison]:
    """Comparisons of a block as they were planned, put in order by the seed.

    ``there`` are those that opponents are drawn from, where they are.
    """
    seed, changed = check.body["order"]["seed"], bool(check.body.get("corrections"))
    where = f"block {number}"
    check.demand(all(n == 1 for n in batch["counts"]), f"{where} sums up comparisons")
    rows = sorted(zip(batch["parts"], batch["arms"], batch["sums"]))
    places = [place for place, _, _ in rows]
    whole = places == list(range(len(rows)))
    check.demand(whole or (changed and len(set(places)) == len(places)), f"{where} has gaps")
    coins = [word >> 63 for word in random_words(seed, number, _ORDER, places)]
    drawn = [] if there is None else random_words(seed, number, _OPPONENT, places)
    block = []
    for row, (_, arm, y) in enumerate(rows):
        a, b = pair_of(arm)
        if there is not None:
            who, other = (b, a) if coins[row] else (a, b)
            others = [int(r) for r in there if r != who]
            due = others[drawn[row] % len(others)]
            check.demand(other == due, f"{where}: opponents are not those that were drawn")
        else:
            who = a
            check.demand((a > b) == bool(coins[row]), f"{where}: the order is not that of the coin")
        block.append(_Comparison(a, b, float(y), who))
    return block


class _Seen:
    """What was seen before a block, and what it leads to expect."""

    def __init__(self, K: int) -> None:
        self.K = K
        self.n, self.s = np.zeros((K, K)), np.zeros((K, K))  # by first and second
        self.prior = np.eye(K)

    def take(self, features: np.ndarray) -> None:
        """Go by the features of the options that there are; of others nothing was seen."""
        n = len(features)
        self.prior = np.eye(self.K)
        self.prior[:n, :n] = np.linalg.inv(np.eye(n) + features @ features.T)

    def add(self, block: list[_Comparison]) -> None:
        for one in block:
            self.n[one.first, one.second] += 1
            self.s[one.first, one.second] += one.y

    def expected(self) -> np.ndarray:
        """How likely the row is preferred to the column."""
        theta, bias = self._fit()
        lead = theta[:, None] - theta
        model = 0.5 / (1 + np.exp(-(lead + bias))) + 0.5 / (1 + np.exp(-(lead - bias)))
        met = self.n + self.n.T
        won = self.s + (self.n - self.s).T
        return (won + _OWN * model) / (met + _OWN)

    def _fit(self) -> tuple[np.ndarray, float]:
        """The most likely strengths and bias under a ridge: the one root of a monotone slope."""
        K = self.K
        pairs = np.argwhere(self.n > 0)
        design = np.zeros((len(pairs), K + 1))
        design[np.arange(len(pairs)), pairs[:, 0]] = 1.0
        design[np.arange(len(pairs)), pairs[:, 1]] -= 1.0
        design[:, K] = 1.0
        n, s = self.n[tuple(pairs.T)], self.s[tuple(pairs.T)]
        ridge = np.zeros((K + 1, K + 1))
        ridge[:K, :K], ridge[K, K] = _RIDGE * self.prior, _RIDGE

        def loss(at: np.ndarray) -> float:
            z = design @ at
            return float((n * np.logaddexp(0.0, z) - s * z).sum() + 0.5 * at @ ridge @ at)

        found = np.zeros(K + 1)
        for _ in range(200):
            p = 1 / (1 + np.exp(-design @ found))
            slope = design.T @ (s - n * p) - ridge @ found
            curve = (design * (n * p * (1 - p))[:, None]).T @ design + ridge
            step = np.linalg.solve(curve, slope)
            if np.abs(step).max() < 1e-12:
                break
            length = 1.0
            while loss(found + length * step) > loss(found) + 1e-9 and length > 1e-6:
                length /= 2
            found = found + length * step
        return found[:K], float(found[K])


# -- purses ----------------------------------------------------------------------------------
class _Purses(ABC):
    def __init__(self, check: Check, K: int) -> None:
        self.check, self.K, self.epsilon = check, K, epsilon_at_first(check)
        self.shares = Shares(self.epsilon, K)
        self.pairs = np.zeros((5, K, K))  # by stake, candidate and rival
        self.close = np.zeros((5, K, K))  # by stake, who is accepted, and who is in
        self.most = np.zeros(K)
        self.n, self.m = K, 1  # options so far; how many are asked for
        self.pairs_most, self.close_most = np.zeros((K, K)), np.zeros((K, K))

    def settled(self, held: np.ndarray) -> np.ndarray:
        """What settles each (column) beside those that may be named (rows), at this moment."""
        share = self.shares.behind - math.log(self.K - self.m)
        return beside(self.shares.racing + held[None], share[None] + _average(self.close))

    def accept(self, epsilon: float) -> None:
        """From now on more is close enough, by later comparisons."""
        self.epsilon = epsilon
        self.shares.accept(self.against())
        self.close[:], self.close_most[:] = 0.0, 0.0

    @abstractmethod
    def against(self) -> np.ndarray:
        """Log capital against each option."""

    def close_enough(self) -> dict[int, set[int]]:
        """Who is shown to be close enough to each, where several are asked for."""
        enough = math.log(self.m / self.check.delta) - 1e-9
        return {
            c: {x for x in range(self.K) if self.close_most[c, x] >= enough} for c in range(self.K)
        }

    def accepted(self, left: np.ndarray) -> set[int]:
        """Who is shown to be close enough to all that are left."""
        enough = -math.log(self.check.delta) - 1e-9
        inside = np.flatnonzero(left)
        return {
            int(c) for c in inside if all(self.close_most[c, x] >= enough for x in inside if x != c)
        }

    def close_to_everyone(self) -> set[int]:
        """To whom nobody is preferred by more than epsilon."""
        return set()

    def beats_all(self, x: int) -> bool:
        return False

    def check_cycle(self, cycle: list[int]) -> None:
        self.check.demand(not cycle, "it has a cycle, which its question does not ask for")


class _Everyone(_Purses):
    def __init__(self, check: Check, K: int) -> None:
        super().__init__(check, K)
        self.begun, self.least = np.zeros((5, K)), np.zeros(5)
        self.alone = np.zeros((K, K))  # the most that was bet on closeness, by who is accepted

    def held(self) -> np.ndarray:
        return self.begun + self.pairs.sum(axis=2)

    def against(self) -> np.ndarray:
        return _average(self.held())

    def enter(self, who: list[int], left: np.ndarray) -> None:
        for x in np.flatnonzero(left):
            self.least = np.minimum(self.least, self.held()[:, x])
        for z in who:
            self.begun[:, z] = self.least
            self.most[z] = float(_average(self.least[:, None])[0])

    def leave(self, who: int, left: np.ndarray) -> None:
        held = self.held()
        if left[who]:
            self.least = np.minimum(self.least, held[:, who])
        self.begun = self.begun - np.maximum(held - self.least[:, None], 0.0)
        self.most = _average(self.held())

    def settle(self, block: list[_Comparison], seen: _Seen, left: np.ndarray) -> None:
        p = seen.expected()
        for a, b, y, _ in block:
            for x, r, won in ((a, b, 1.0 - y), (b, a, y)):
                for j, stake in enumerate(_stakes(p[r, x])):
                    self.pairs[j, x, r] += math.log(1 + stake * (won - 0.5))
                if self.epsilon > 0:
                    for j, stake in enumerate(_stakes(p[r, x] + self.epsilon)):
                        gain = won - 0.5 + self.epsilon
                        self.close[j, r, x] += math.log(1 + stake * gain)
        held = _average(self.held())
        self.most = np.maximum(self.most, held)
        self.pairs_most = np.maximum(self.pairs_most, _average(self.pairs))
        self.close_most = np.maximum(self.close_most, self.settled(held))
        self.alone = np.maximum(self.alone, _average(self.close))

    def close_to_everyone(self) -> set[int]:
        enough = math.log(self.K / self.check.delta) - ACCEPTING - 1e-9
        fine = (self.alone >= enough) | np.eye(self.K, dtype=bool)
        return set(np.flatnonzero(fine.all(axis=1)).tolist())

    def beats_all(self, x: int) -> bool:
        enough = math.log(self.K / self.check.delta) - 1e-9
        enough -= self.shares.racing
        return all(self.pairs_most[r, x] >= enough for r in range(self.K) if r != x)

    def check_cycle(self, cycle: list[int]) -> None:
        enough = math.log(self.K * (self.K - 1) / self.check.delta) - 1e-9
        known = all(0 <= i < self.K for i in cycle) and len(set(cycle)) == len(cycle) != 1
        self.check.demand(known, "its cycle is none")
        for a, b in zip(cycle, [*cycle[1:], *cycle[:1]]):
            fine = self.pairs_most[b, a] >= enough
            self.check.demand(fine, f"it is not shown that option {a} beats option {b}")


class _Most(_Purses):
    def __init__(self, check: Check, K: int) -> None:
        super().__init__(check, K)
        self.led = np.zeros((5, K))
        self.met, self.won = np.zeros(K), np.zeros(K)
        self.least = 0.0

    def against(self) -> np.ndarray:
        return self.held()

    def held(self) -> np.ndarray:
        every = _average(self.pairs)[: self.n, : self.n]
        if self.m > 1:
            rest = [
                sorted(every[x, r] for r in range(self.K) if r != x)[: self.K - self.m]
                for x in range(self.K)
            ]
            return np.logaddexp.reduce(np.array(rest), axis=1) - math.log(self.K - self.m)
        np.fill_diagonal(every, -np.inf)
        mean = np.logaddexp.reduce(every, axis=1) - math.log(self.n - 1)
        found = np.zeros(self.K)
        found[: self.n] = np.logaddexp(_average(self.led)[: self.n], mean) - math.log(2)
        return found + self.least

    def enter(self, who: list[int], left: np.ndarray) -> None:
        self._anew(left)

    def leave(self, who: int, left: np.ndarray) -> None:
        self._anew(left)

    def _anew(self, left: np.ndarray) -> None:
        self.least = min([self.least, *self.held()[left].tolist()])
        self.pairs[:], self.led[:], self.most[:] = 0.0, 0.0, self.least

    def settle(self, block: list[_Comparison], seen: _Seen, left: np.ndarray) -> None:
        results: list[list[float]] = [[] for _ in range(self.K)]
        for one in block:
            won = one.y if one.served == one.first else 1.0 - one.y
            results[one.served].append(won)
        share = (self.won + 1) / (self.met + 2)
        vary = share * (1 - share)
        gains = np.zeros_like(self.pairs)
        for x in range(self.K):
            for r in range(self.K):
                if x == r:
                    continue
                spread = vary[r] + vary[x]
                stakes = _lead_stakes(share[r] - share[x], spread)
                nearer = _lead_stakes(share[x] - share[r] + self.epsilon, spread)
                for mine, other in zip(results[x], results[r]):
                    for j in range(5):
                        gains[j, x, r] += math.log(1 + stakes[j] * (other - mine))
                        if self.epsilon > 0:
                            gain = mine - other + self.epsilon
                            self.close[j, x, r] += math.log(1 + nearer[j] * gain)
        self.pairs += gains
        for x in range(self.K):
            others = [r for r in range(self.K) if left[r] and r != x]
            if others:
                ahead = max(others, key=lambda r: (share[r], -r))
                self.led[:, x] += gains[:, x, ahead]
        for k, own in enumerate(results):
            self.met[k] += len(own)
            self.won[k] += sum(own)
        self.pairs_most = np.maximum(self.pairs_most, _average(self.pairs))
        held = self.held()
        self.close_most = np.maximum(self.close_most, self.settled(held))
        self.most = np.maximum(self.most, held)


def _stakes(p: float) -> tuple[float, ...]:
    follows = min(max(_SLOPE * (p - 0.5), 0.0), _SLOPE / 2)
    return (follows, *((stake if p > _FROM else 0.0) for stake in _FIXED))


def _lead_stakes(edge: float, spread: float) -> tuple[float, ...]:
    follows = min(max(_SHARE * edge / (spread + edge * edge), 0.0), _MOST)
    return (follows, *((stake if edge > _FROM_LEAD else 0.0) for stake in _FIXED_LEADS))


def _average(logs: Any) -> np.ndarray:
    """Log of the average over stakes, which come first."""
    weights = np.log(np.array(_WEIGHTS)).reshape((5,) + (1,) * (logs.ndim - 1))
    return np.logaddexp.reduce(logs + weights, axis=0)
