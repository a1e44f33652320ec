"""Bets on which option is the best of those that keep limits on further numbers.

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
import re
from typing import Any, NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.accepting import ACCEPTING, RACING
from surepick.verifier.blocks import Block, blocks_of, check_one_by_one, check_parts, read_block
from surepick.verifier.check import Check
from surepick.verifier.estimate import log_sum
from surepick.verifier.guide import Guide
from surepick.verifier.noise import Noise, read_noise
from surepick.verifier.options import at_first, turns_of
from surepick.verifier.payoffs import payoff_of
from surepick.verifier.payoffs.base import News
from surepick.verifier.rules.pooled import Market
from surepick.verifier.stated import Stated
from surepick.verifier.statement import check_statement, resting, settle, sure, withdrawn
from surepick.verifier.views import ByArm, Field

_PRECISIONS, _ACCOUNTS, _WAYS = [10.0, 150.0], [1 / 3, 2 / 3], ["direct"]
_PURSE, _BROKEN, _AVERAGE, _LED = 0.8, 0.1, 0.1, 0.8
_SUREST = 1e6  # squared standard errors: more are all the same
_CLOSE = 1e-6  # what rounding may make of log capital, or of an estimate
_LONGEST = 1000  # characters of a limit
_LIMIT = re.compile(r"(?:p(\S+) of )?(.+?) (<=|>=) (.+?)(?: ± (\S+))?")
_MARGIN = re.compile(r"(.+?) ([+-]) (\S+)")


class Limit(NamedTuple):
    """One limit."""

    text: str
    number: str
    column: str  #: in the record
    up: bool  #: whether the mean of that is to be at least the mark
    mark: float
    reference: int | None  #: an option, of which the mark is a margin
    tolerance: float
    quantile: bool

    @property
    def exactly(self) -> str:
        """Without its tolerance."""
        return self.text.partition(" ± ")[0]

    @property
    def itself(self) -> bool:
        """Whether an option that is compared with itself keeps it."""
        return self.mark <= 0 if self.up else self.mark >= 0


class Found(NamedTuple):
    """What the record shows."""

    left: list[int]
    somebody: bool
    accepted: list[int]
    limits: list[Limit]


def verify(check: Check) -> Found:
    """Who is left, worked out again block by block."""
    limits = limits_of(check)
    check_asked(check, limits)
    book = _Book(check, limits)
    blocks, told = blocks_of(check), 0
    for number, (record, batches) in enumerate(blocks):
        check.demand(len(batches) == 1, f"block {number} is not one batch")
        book.turn(told)
        told += record["batches"]
        none = not record["rivals"] and not record["dropped"]
        if number >= len(blocks) - check.waited:
            check.demand(book.over and none, "bets were made after the decision")
            continue
        if book.over:  # it only waits, until options come or go
            check.demand(none, f"block {number} comes after the question was answered")
            continue
        book.settle(record, batches[0], f"block {number}")
    book.turn(told)
    check.risk = check.delta
    left = np.flatnonzero(book.alive).tolist()
    return Found(left, book.somebody, book.accepted, limits)


def check_asked(check: Check, limits: list[Limit]) -> None:
    """The problem and the settings must be those that this rule is for."""
    evidence, K = check.evidence, len(check.candidates)
    prior = [evidence[part] for part in ("precisions", "accounts", "ways")]
    fixed = prior == [_PRECISIONS, _ACCOUNTS, _WAYS]
    check.demand(fixed, "the stakes' prior is not one that was fixed in advance")
    check.demand(check.kind.scales is None, "its options have noise of different scales")
    check.demand(check.body["problem"]["candidates"] is None, "its candidates are not its arms")
    check.demand(len(check.distinct()) == K, "two of its options are the same")
    check.demand(check.settings.get("keep") == [one.text for one in limits], _OTHERS)


_OTHERS = "the limits are not those that the algorithm was set to"


def conclude(check: Check, found: Found) -> None:
    """The claim must follow from what was shown."""
    claim, left = check.claim, found.left
    kind, chosen = claim["guarantee"], claim["candidate"]
    check.demand(claim["survivors"] == left, "the survivors are not those claimed")
    check.demand(0 <= chosen < len(check.candidates), "the answer is no option")
    check.demand(check.label(chosen) == claim["label"], "the label is another candidate's")
    check.demand(chosen in left or not left, "the answer is not among the survivors")
    texts = " and ".join(one.text for one in found.limits)
    exactly = " and ".join(one.exactly for one in found.limits)
    check.further = rests_on(check, found.limits)
    if not left:
        check.demand(kind in ("nobody", "heuristic"), "all options are ruled out, and it names one")
        due = Stated(f"no option keeps {exactly}", sure(check.delta), _THEOREM)
        features = "whatever the features are worth" if math.isinf(check.misfit) else ""
        noise = check.kind.rests_on(items=False)
        said = resting(check, due, features, noise, *check.further)
        settle(check, [said] if kind == "nobody" else withdrawn(check, [said]))
        return
    check.demand(kind in ("pac", "eps-pac", "heuristic", "none"), f"unknown claim {kind!r}")
    check.best = f"the best of those that keep {texts}"
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
        check.demand(chosen in found.accepted, "it is not shown to be close enough")
    check_statement(check, 2 if found.accepted and kind != "pac" else len(left))


_THEOREM = (
    "the capital bet against the best option that keeps the limits is a supermartingale; Ville's "
    "inequality"
)


def rests_on(check: Check, limits: list[Limit]) -> list[str]:
    """What has to be true of further numbers."""
    found = {one.column: kind_of(check, one).rests_on(items=False) for one in limits}
    return [f"for {column}: {text}" for column, text in found.items() if text]


# -- limits ----------------------------------------------------------------------------------
def limits_of(check: Check) -> list[Limit]:
    """The limits that have to be kept."""
    texts = check.evidence["limits"]
    check.demand(isinstance(texts, list) and texts, "it has no limits")
    found = [_limit(check, exact.text(text, "a limit")) for text in texts]
    keys = {(one.column, one.up, one.reference) for one in found}
    check.demand(len(keys) == len(found), "it has a limit twice")
    return found


def _limit(check: Check, text: str) -> Limit:
    parts = _LIMIT.fullmatch(text) if len(text) <= _LONGEST else None
    check.demand(parts, f"{text!r:.80} is no limit")
    assert parts is not None
    percent, number, side, target, tolerance = parts.groups()
    up, reference = side == ">=", None
    value = _number(target)
    if value is None:
        margin = _MARGIN.fullmatch(target)
        label, value = target, 0.0
        if margin is not None and (size := _number(margin[3])) is not None:
            label, value = margin[1], size if margin[2] == "+" else -size
        labels = [check.label(i) for i in range(len(check.candidates))]
        labels = labels[: at_first(check)]
        check.demand(labels.count(label) == 1, f"no option is called {label!r:.80}")
        reference = labels.index(label)
    near = 0.0 if tolerance is None else _number(tolerance)
    check.demand(near is not None and near >= 0.0, f"{text!r:.80} has no tolerance")
    assert near is not None
    column, mark = number, value
    if percent is not None:
        p = _number(percent)
        check.demand(p is not None and 0 < p < 100, f"{text!r:.80} has no percentile")
        check.demand(reference is None, "a quantile is compared with an option")
        assert p is not None
        column, mark = f"{number} {side} {value:.12g}", (1.0 - p / 100 if up else p / 100)
        up = True
    return Limit(text, number, column, up, mark, reference, near, percent is not None)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def kind_of(check: Check, limit: Limit) -> Noise:
    """What is known of the column of a limit."""
    numbers = exact.mapping(check.body["problem"].get("numbers", {}), "further numbers")
    check.demand(limit.number in numbers, f"it does not say what {limit.number!r:.80} is")
    written = "yes-no" if limit.quantile else numbers[limit.number]
    found = read_noise(written, len(check.raw_arms), check.demand)
    means = not payoff_of(found).counts_wins  # whether bets are on means at all
    fine = means and found.scales is None and not found.of_pairs
    check.demand(fine, f"nothing can be shown of the mean of {limit.number!r:.80}")
    return found


# -- bets ------------------------------------------------------------------------------------
class _Number:
    """One number of the measurements, and bets on it."""

    def __init__(self, check: Check, marks: bool) -> None:
        self.check, self.marks, self.K = check, marks, len(check.candidates)
        guide = Guide(check, True)
        self.payoff, self.guide = payoff_of(check.kind)(guide, _PRECISIONS), guide
        self.past: Block | None = None

    def look(self) -> tuple[Any, ByArm]:
        assert self.past is not None
        # stakes expect leads by how much single measurements vary
        outlook = self.payoff.look(self.past)._replace(leads=None)
        view = self.guide.view(self.past, outlook)
        assert isinstance(view, ByArm)
        return outlook, view

    @property
    def single(self) -> np.ndarray:
        """Variance of one measurement of each option."""
        return self.look()[0].variances(np.arange(self.K)) * self.guide.units**2

    def open(self, block: Block, where: str) -> None:
        """Read a block, by what was known before it."""
        outlook, before = self.look()
        single = self.single
        unit = ByArm(0.0 * single, np.zeros((self.K, 0)), single)
        parts = self.payoff.check_dealt(block, where, True)
        self.news: News = self.payoff.read("direct", block, outlook, parts)
        if self.marks:
            before, unit = before.with_number(), unit.with_number()
            self.news = self.payoff.with_number(self.news)
        d = self.check.candidates.shape[1]
        self.market = Market(np.zeros(1, dtype=int), np.zeros((1, d)), before, unit)

    def add(self, block: Block) -> None:
        told = self.payoff.by_arm(block)
        self.past = told if self.past is None else self.past.plus(told)

    def paid(self, places: np.ndarray, rivals: np.ndarray, by: float) -> np.ndarray:
        """Log of what bets on "r is more than x less by" pay, (n, R, accounts)."""
        d = self.check.candidates.shape[1]
        field = Field(np.zeros((len(places), d)), places, np.zeros((len(rivals), d)), rivals)
        own = places[:, None] == rivals[None, :]
        pairs = self.market.pairs(field, own, self.news.view).raised(by - self.news.rounding)
        logs = np.stack(self.payoff.log_paid(pairs, self.news), axis=-1)
        return np.where(own[..., None], 0.0, logs)


class Seen(NamedTuple):
    """How far options seem to be inside of limits, (L, K), in deviations of one measurement."""

    apart: np.ndarray
    doubt: np.ndarray  #: variances of that
    surely: np.ndarray  #: squared standard errors, with the sign


class Record:
    """All numbers of the measurements, and capital on limits being kept or broken, as logs."""

    def __init__(self, check: Check, limits: list[Limit], rewards_by_number: bool = False) -> None:
        self.check, self.limits, self.K = check, limits, len(check.candidates)
        K, L = self.K, len(limits)
        self.reward = _Number(check, rewards_by_number)
        self.columns = list(dict.fromkeys(one.column for one in limits))
        by_column = {one.column: kind_of(check, one) for one in limits}
        self.kinds = [by_column[name] for name in self.columns]
        self.numbers = [_Number(self._variant(name), True) for name in self.columns]
        self.loose = check.epsilon > 0 or any(one.tolerance for one in limits)
        self.start, self.came = np.log(_ACCOUNTS), False
        self.there = np.arange(K) < at_first(check)  # who was added, and not retired
        self.keeps, self.breaks, self.within = (np.tile(self.start, (L, K, 1)) for _ in range(3))
        singly = [self.reward.check.kind, *self.kinds]
        self.parts = "single" if any(kind.singly for kind in singly) else "none"
        if self.parts == "none" and any("parts" in kind.columns for kind in singly):
            self.parts = "own"

    def _variant(self, column: str) -> Check:
        """The record of one number in the place of the reward."""
        limit = next(one for one in self.limits if one.column == column)
        problem = {k: v for k, v in self.check.body["problem"].items() if k != "minimise"}
        written = "yes-no" if limit.quantile else problem["numbers"][limit.number]
        batches = [self._column(batch, column) for batch in self.check.batches]
        before = [self._column(batch, column) for batch in self.check.past]
        changes = {"problem": problem | {"noise": written}, "batches": batches}
        if before:
            changes["past"] = self.check.body["past"] | {"batches": before}
        other = self.check.variant(changes)
        guides = not self.check.past_counts
        told = [(batch, f"{column} of past batch {b}", guides) for b, batch in enumerate(before)]
        told += [(batch, f"{column} of batch {b}", False) for b, batch in enumerate(batches)]
        for batch, where, averaged in told:
            other._pulls_of(batch, where, averaged)
            due = "spreads" in other.kind.columns
            fine = ("spreads" in batch) == due
            other.demand(fine, f"{where} has not what bets on {column!r:.80} need")
        return other

    def _column(self, batch: dict[str, Any], column: str) -> dict[str, Any]:
        told = exact.mapping(batch["numbers"], "the further numbers of a batch")
        self.check.demand(set(told) == set(self.columns), "it has not the numbers of its limits")
        own = {name: batch[name] for name in ("arms", "counts", "parts") if name in batch}
        found = exact.mapping(told[column], "a further number")
        self.check.demand(set(found) <= {"sums", "spreads"}, "a further number has unknown columns")
        return own | found

    def read(self, record: dict[str, Any], batch: dict[str, Any], where: str) -> list[Block]:
        """A block of every number, the reward first."""
        blocks = [read_block(self.check, [batch])]
        blocks += [
            read_block(known.check, [self._column(batch, name)])
            for name, known in zip(self.columns, self.numbers)
        ]
        if self.bets() or not record.get("past"):
            self._check_dealt(blocks[0], where)
        return blocks

    def open(self, blocks: list[Block], where: str) -> None:
        """Read a block, by what was known before it."""
        for known, block in zip((self.reward, *self.numbers), blocks):
            known.open(block, where)

    def add(self, blocks: list[Block]) -> None:
        """Take in a settled block."""
        for known, block in zip((self.reward, *self.numbers), blocks):
            known.add(block)

    def bets(self) -> bool:
        """Nothing is bet on the first block, nor while nothing is known of an option."""
        known = self.reward.past
        if known is None or not (self.check.past or self.came):
            return known is not None
        return bool(np.isin(np.flatnonzero(self.there), known.arms).all())

    def _check_dealt(self, block: Block, where: str) -> None:
        """Parts must follow from counts alone, whichever number needs them."""
        if self.parts == "own":
            check_parts(self.check, block, where, True)
        elif self.parts == "single":
            several, gaps = "several rewards are summed up", "has gaps in its numbers"
            check_one_by_one(self.check, block, where, several, gaps)

    def margins(self) -> Seen:
        """How far options seem to be inside of limits."""
        found = []
        for limit in self.limits:
            known = self.numbers[self.columns.index(limit.column)]
            view, single = known.look()[1], known.single
            means, doubt = view.means, (view.common**2).sum(axis=1) + view.own
            mark = limit.mark / known.check.noise
            apart = means - mark
            if limit.reference is not None:
                apart = apart - means[limit.reference]
                single = single + single[limit.reference]
                doubt = doubt + doubt[limit.reference]
                apart[limit.reference] = -mark
            apart = apart if limit.up else -apart
            surely = squared(apart, doubt)
            if limit.reference is not None:
                surely[limit.reference] = _SUREST if limit.itself else -_SUREST
            found.append((apart / np.sqrt(single), doubt / single, surely))
        return Seen(*map(np.array, zip(*found)))

    def limits_paid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log of what a block pays on limits being kept, broken, and kept up to tolerances."""
        found, everyone = [], np.arange(self.K)
        for limit in self.limits:
            known = self.numbers[self.columns.index(limit.column)]
            unit = known.check.noise
            one = np.array([self.K if limit.reference is None else limit.reference])
            mark, near = limit.mark / unit, limit.tolerance / unit
            above = known.paid(one, everyone, -mark)[0]
            below = known.paid(everyone, one, mark)[:, 0]
            keeps, breaks = (above, below) if limit.up else (below, above)
            within = keeps
            if self.loose and limit.up:
                within = known.paid(one, everyone, near - mark)[0]
            elif self.loose:
                within = known.paid(everyone, one, near + mark)[:, 0]
            found.append((keeps, breaks, within))
        keeps, breaks, within = map(np.array, zip(*found))
        return keeps, breaks, within

    def pay_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Pay out a block; what it paid on limits being kept, and broken, as logs, (L, K)."""
        keeps, breaks = log_sum(self.keeps), log_sum(self.breaks)
        for held, paid in zip((self.keeps, self.breaks, self.within), self.limits_paid()):
            held += paid
        return log_sum(self.keeps) - keeps, log_sum(self.breaks) - breaks

    def certain(self, logs: np.ndarray, kept: bool) -> np.ndarray:
        """Log capital (L, …, K); a margin of an option to itself is kept or broken for certain."""
        found = logs.copy()
        for number, limit in enumerate(self.limits):
            if limit.reference is not None and limit.itself == kept:
                found[number, ..., limit.reference] = math.inf
        return found


class _Epoch:
    """All capital since some time, as logs; in arrays that have room for all options ever."""

    def __init__(self, start: np.ndarray, L: int, there: np.ndarray, begun: float) -> None:
        K = len(there)
        self.member, self.met = there.copy(), there.copy()
        self.begun, self.nobody = np.full(K, begun), begun
        self.most, self.most_nobody = self.begun.copy(), begun
        self.ahead, self.close = (np.tile(start, (K, K, 1)) for _ in range(2))
        self.keeps, self.breaks, self.within = (np.tile(start, (L, K, 1)) for _ in range(3))
        self.led_keeps, self.led_ahead = np.zeros((L, K, K)), np.zeros((K, K))
        self.alone, self.led_somebody = np.zeros(K), np.zeros((L, K))


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
    close: np.ndarray | None
    limits: tuple[np.ndarray, np.ndarray, np.ndarray]


class _Book(Record):
    """Capital against every option, and against nobody keeping the limits."""

    def __init__(self, check: Check, limits: list[Limit]) -> None:
        super().__init__(check, limits)
        self.racing = -math.log(check.delta) - (RACING if self.loose else 0.0)
        self.accepting = math.log(self.K / check.delta) - ACCEPTING
        self.epochs = [_Epoch(self.start, len(limits), self.there, 0.0)]
        self.alive, self.somebody = self.there.copy(), False
        self.accepted: list[int] = []
        self.turns = turns_of(check)
        check.demand(not self.turns or not self.loose, "options come and go, and limits are loose")

    def turn(self, told: int) -> None:
        """Let options come and go that did so after so many batches."""
        while self.turns and self.turns[0].batch == told:
            turn = self.turns.pop(0)
            if turn.added:
                self._enter(turn.arms)
            else:
                self._leave(turn.arms[0])
        self.check.demand(not self.turns or self.turns[0].batch > told, "options change too early")

    def _now(self) -> tuple[np.ndarray, float]:
        """What is held against each option, and nobody, where that is not refuted."""
        found, nobody = np.full(self.K, math.inf), math.inf
        for epoch in self.epochs:
            left = epoch.member & self.there & (epoch.most < self.racing)
            found[left] = np.minimum(found, epoch.begun + self._against(epoch))[left]
            if epoch.most_nobody < self.racing:
                nobody = min(nobody, epoch.nobody + self._nobody(epoch))
        return found, nobody

    def _enter(self, arms: list[int]) -> None:
        against, nobody = self._now()
        least = min(0.0, float(against.min()), nobody)
        self.epochs[-1].member[arms] = True
        for epoch in self.epochs:
            epoch.begun[arms], epoch.most[arms] = least, least
        self.there[arms], self.came = True, True
        self._look()

    def _leave(self, arm: int) -> None:
        against = float(self._now()[0][arm])
        self.there[arm] = False
        if math.isfinite(against):
            began = _Epoch(self.start, len(self.limits), self.there, min(against, 0.0))
            self.epochs.append(began)
        self._look()

    def _look(self) -> None:
        """Who is in, and whether somebody was shown to keep the limits."""
        self.alive = self.there & (self._least() < self.racing)
        self.somebody = all(one.most_nobody >= self.racing - _CLOSE for one in self.epochs)

    def _least(self) -> np.ndarray:
        """The most that was ever held against each option, in the epoch where that is least."""
        found = [np.where(one.member, one.most, math.inf) for one in self.epochs]
        return np.min(found, axis=0)

    @property
    def over(self) -> bool:
        left = int(self.alive.sum())
        return left == 0 or bool(self.accepted) or (left == 1 and self.somebody)

    def settle(self, record: dict[str, Any], batch: dict[str, Any], where: str) -> None:
        """Pay out one block, and see who is out."""
        check, blocks = self.check, self.read(record, batch, where)
        if not self.bets():
            fine = not record["rivals"] and not record["dropped"]
            check.demand(fine, f"{where} has no past to bet by")
        else:
            stakes = self._stakes(*self._rivals(record["rivals"], where))
            self.open(blocks, where)
            self._pay(stakes)
            self._decide(record["dropped"], where)
        self.add(blocks)

    def _stakes(self, first: int, second: int) -> _Stakes:
        inside, view = 0.5 * self.margins().surely, self.reward.look()[1]
        rivals = np.full(self.K, first)
        rivals[first] = second
        doubt = (view.common**2).sum(axis=1) + view.own
        ahead = 0.5 * squared(view.means[rivals] - view.means, doubt[rivals] + doubt)
        least = inside.min(axis=0)
        odds = np.minimum(least[rivals], ahead) + least  # log odds of betting on the rival
        of_limits = -inside - np.logaddexp.reduce(-inside, axis=0)
        on_limits, on_rival = -np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)
        return _Stakes(first, second, on_limits, on_rival, of_limits)

    def _rivals(self, recorded: Any, where: str) -> tuple[int, int]:
        """Who seemed to be the best of those that keep the limits, and who came next."""
        check = self.check
        named = exact.whole_numbers(recorded, f"{where}: the rivals").tolist()
        left = np.flatnonzero(self.alive).tolist()
        due = min(2, len(left))
        fine = len(named) == due and len(set(named)) == due and set(named) <= set(left)
        check.demand(fine, f"{where}: the rivals are not two of those that are left")
        means, worst = self.reward.look()[1].means, self.margins().apart.min(axis=0)
        size = float(np.abs(means[left]).max()) + float(np.ptp(means[left]))
        for place, one in enumerate(named):
            among = [x for x in left if x not in named[:place]]
            surely = [x for x in among if worst[x] > _CLOSE]
            perhaps = worst[one] >= -_CLOSE
            best = max((means[x] for x in surely), default=-math.inf)
            as_best = perhaps and means[one] >= best - _CLOSE * size
            nearest = not surely and worst[one] >= max(worst[x] for x in among) - _CLOSE
            check.demand(
                as_best or nearest, f"{where}: {one} did not seem to be the best that keeps limits"
            )
        return named[0], named[1] if len(named) > 1 else -1

    def _pay(self, stakes: _Stakes) -> None:
        everyone = np.arange(self.K)
        came = np.arange(self.K) < max(np.flatnonzero(self.there)) + 1
        both, each = (came[:, None] & came)[..., None], came[None, :, None]
        close = None
        if self.loose:
            close = self.reward.paid(everyone, everyone, self.check.epsilon / self.check.noise)
        ahead = np.where(both, self.reward.paid(everyone, everyone, 0.0), 0.0)
        keeps, breaks, within = (np.where(each, own, 0.0) for own in self.limits_paid())
        paid = _Paid(ahead, close, (keeps, breaks, within))
        for epoch in self.epochs:
            self._pay_one(epoch, paid, stakes)
            epoch.most = np.maximum(epoch.most, epoch.begun + self._against(epoch))
            epoch.most_nobody = max(epoch.most_nobody, epoch.nobody + self._nobody(epoch))

    def _pay_one(self, epoch: _Epoch, paid: _Paid, stakes: _Stakes) -> None:
        held = epoch.keeps, epoch.breaks, epoch.ahead
        keeps, breaks, ahead = (log_sum(own) for own in held)
        for own, more in zip((epoch.keeps, epoch.breaks, epoch.within), paid.limits):
            own += more
        epoch.ahead += paid.ahead
        if paid.close is not None:
            epoch.close += paid.close
        more_keeps, more_breaks = log_sum(epoch.keeps) - keeps, log_sum(epoch.breaks) - breaks
        more_ahead = log_sum(epoch.ahead) - ahead
        broken = np.logaddexp.reduce(stakes.of_limits + more_breaks, axis=0)
        for x in np.flatnonzero(self.there).tolist():
            r = stakes.second if x == stakes.first else stakes.first
            if r < 0:
                epoch.alone[x] += broken[x]
                continue
            own, rest = stakes.on_limits[x] + broken[x], stakes.on_rival[x]
            epoch.led_keeps[:, x, r] += np.logaddexp(own, rest + more_keeps[:, r])
            epoch.led_ahead[x, r] += np.logaddexp(own, rest + more_ahead[x, r])
        epoch.led_somebody[:, stakes.first] += more_keeps[:, stakes.first]

    def _against(self, epoch: _Epoch) -> np.ndarray:
        with np.errstate(divide="ignore"):
            broken = np.logaddexp.reduce(self.certain(log_sum(epoch.breaks), False), axis=0)
            found = broken + math.log(_BROKEN / len(self.limits))
            led = self.certain(epoch.led_keeps, True).min(axis=0)
            purse = np.minimum(led, epoch.led_ahead).sum(axis=1) + epoch.alone
            found = np.logaddexp(found, purse + math.log(_PURSE))
            rivals = int(epoch.met.sum()) - 1
            if rivals < 1:
                return found
            both = np.minimum(self._keep(epoch), log_sum(epoch.ahead))
            none = ~(epoch.met[:, None] & epoch.met) | np.eye(self.K, dtype=bool)
            mean = np.logaddexp.reduce(np.where(none, -math.inf, both), axis=1)
            return np.logaddexp(found, mean + math.log(_AVERAGE / rivals))

    def _keep(self, epoch: _Epoch) -> np.ndarray:
        return self.certain(log_sum(epoch.keeps), True).min(axis=0)

    def _nobody(self, epoch: _Epoch) -> float:
        average = float(np.logaddexp.reduce(self._keep(epoch)[epoch.met]))
        average += math.log((1 - _LED) / int(epoch.met.sum()))
        purse = float(self.certain(epoch.led_somebody, True).min(axis=0).sum()) + math.log(_LED)
        return float(np.logaddexp(average, purse))

    def _decide(self, dropped: Any, where: str) -> None:
        check, logs = self.check, np.minimum(self._least(), 1e300)
        named, recorded = check.columns(dropped, "candidate", "log_capital")
        alive = set(np.flatnonzero(self.alive).tolist())
        fine = set(named.tolist()) <= alive and len(set(named.tolist())) == len(named)
        check.demand(fine, f"{where} drops an absent candidate")
        what = lambda i: f"{where}: the log capital against {named[i]}"  # noqa: E731
        check.agree_all(recorded, logs[named], what, _CLOSE)
        enough = logs[named] >= self.racing - _CLOSE
        low = lambda i: f"{where}: the capital against {named[i]} is not high enough"  # noqa: E731
        check.demand_all(enough, low)
        rest = [x for x in sorted(alive) if x not in named.tolist()]
        check.demand(
            not rest or logs[rest].max() < self.racing + _CLOSE, f"{where} keeps who is ruled out"
        )
        self.alive[named] = False
        check.checked += len(named)
        self.somebody = all(one.most_nobody >= self.racing - _CLOSE for one in self.epochs)
        if self.loose:
            kept = self.certain(log_sum(self.epochs[0].within), True).min(axis=0)
            close = log_sum(self.epochs[0].close).T.copy()
            np.fill_diagonal(close, math.inf)
            left = np.flatnonzero(self.alive)
            least = np.minimum(kept, close[:, left].min(axis=1, initial=math.inf))
            self.accepted = [int(x) for x in left if least[x] >= self.accepting - _CLOSE]


def squared(apart: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """In squared standard errors, with the sign; 0 where nothing is known."""
    known = np.isfinite(variances)
    found = np.where(known, apart * np.abs(apart) / np.where(known, variances, 1.0), 0.0)
    return np.clip(found, -_SUREST, _SUREST)
