"""Limits on further numbers of the measurements, and what a block pays on their being kept.

For each limit l and option k there is capital on "k keeps it" and on "k breaks it", and, where
limits have a tolerance, on "k keeps it up to that".
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.blocks import Block, Noted, check_one_by_one, check_parts, read_block
from surepick.verifier.check import Check
from surepick.verifier.estimate import ByArm
from surepick.verifier.formulas import Purses
from surepick.verifier.guide import Outlook
from surepick.verifier.noise import Noise, read_noise
from surepick.verifier.options import at_first
from surepick.verifier.payoffs import payoff_of
from surepick.verifier.payoffs.measurements import Measurements, Round
from surepick.verifier.record import Batch

_PRECISIONS, _ACCOUNTS, _WAYS = [10.0, 150.0], [1 / 3, 2 / 3], ["direct"]
_BY_SEGMENT = [150.0, 1500.0]  # the precisions where visitors are counted by segment
_SUREST = 1e6  # squared standard errors: more are all the same
_LONGEST = 1000  # characters of a limit
_LIMIT = re.compile(r"(?:p(\S+) of )?(.+?) (<=|>=) (.+?)(?: ± (\S+))?")
_MARGIN = re.compile(r"(.+?) ([+-]) (\S+)")


# -- limits ----------------------------------------------------------------------------------
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
    if parts is None:
        exact.refuse(f"{text!r:.80} is no limit")
    percent, number, side, target, tolerance = parts.groups()
    up, reference, mark = side == ">=", None, _number(target)
    if mark is None:
        margin = _MARGIN.fullmatch(target)
        label, mark = target, 0.0
        if margin is not None and (size := _number(margin[3])) is not None:
            label, mark = margin[1], size if margin[2] == "+" else -size
        labels = [check.label(i) for i in range(len(check.candidates))]
        labels = labels[: at_first(check)]
        check.demand(labels.count(label) == 1, f"no option is called {label!r:.80}")
        reference = labels.index(label)
    near = 0.0 if tolerance is None else _number(tolerance)
    if near is None or near < 0.0:
        exact.refuse(f"{text!r:.80} has no tolerance")
    if percent is None:
        return Limit(text, number, number, up, mark, reference, near, False)
    p = _number(percent)
    if p is None or not 0 < p < 100:
        exact.refuse(f"{text!r:.80} has no percentile")
    check.demand(reference is None, "a quantile is compared with an option")
    column, share = f"{number} {side} {mark:.12g}", (1.0 - p / 100 if up else p / 100)
    return Limit(text, number, column, True, share, None, near, True)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def kind_of(check: Check, limit: Limit) -> Noise:
    """What is known of the column of a limit."""
    there = limit.number in check.numbers
    check.demand(there, f"it does not say what {limit.number!r:.80} is")
    found = read_noise("yes-no", 0) if limit.quantile else check.numbers[limit.number]
    means = not payoff_of(found).counts_wins  # whether bets are on means at all
    fine = means and found.scales is None and not found.of_pairs
    fine = fine and found.shares == check.kind.shares  # all numbers are of the same mix
    check.demand(fine, f"nothing can be shown of the mean of {limit.number!r:.80}")
    return found


def _precisions(check: Check) -> list[float]:
    return _BY_SEGMENT if check.kind.shares else _PRECISIONS


def read_limits(check: Check) -> list[Limit]:
    """The limits of a problem, and of settings, that this is for."""
    limits, evidence = limits_of(check), check.evidence
    prior = [evidence[part] for part in ("precisions", "accounts", "ways")]
    fixed = prior == [_precisions(check), _ACCOUNTS, _WAYS]
    check.demand(fixed, "the stakes' prior is not one that was fixed in advance")
    check.demand(check.kind.scales is None, "its options have noise of different scales")
    check.demand(not check.separate, "its candidates are not its arms")
    alone = len(check.distinct()) == len(check.candidates)
    check.demand(alone, "two of its options are the same")
    own = check.settings.get("keep") == [one.text for one in limits]
    check.demand(own, "the limits are not those that the algorithm was set to")
    # what has to be true of further numbers
    kinds = {one.column: kind_of(check, one) for one in limits}
    rests = {name: kind.rests_on(False) for name, kind in kinds.items() if not kind.shares}
    check.further = [f"for {column}: {text}" for column, text in rests.items() if text]
    return limits


# -- bets ------------------------------------------------------------------------------------
class Seen(NamedTuple):
    """How far options seem to be inside of limits, (L, K), in deviations of one measurement."""

    apart: np.ndarray
    doubt: np.ndarray  #: variances of that

    @property
    def surely(self) -> np.ndarray:
        """In squared standard errors, with the sign."""
        return squared(self.apart, self.doubt)


def squared(apart: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """In squared standard errors, with the sign; 0 where nothing is known."""
    known = np.isfinite(variances)
    found = np.where(known, apart * np.abs(apart) / np.where(known, variances, 1.0), 0.0)
    return np.clip(found, -_SUREST, _SUREST)


class Numbers:
    """All numbers of the measurements, the reward first, and limits on the others."""

    def __init__(self, check: Check, limits: list[Limit], rewards_by_number: bool = False) -> None:
        self.check, self.limits, self.K = check, limits, len(check.candidates)
        self.columns = list(dict.fromkeys(one.column for one in limits))
        by_column = {one.column: one for one in limits}
        checks = [check, *(self._variant(by_column[name]) for name in self.columns)]
        self.known = [Measurements(own, _WAYS, _precisions(check)) for own in checks]
        self.numbered = [rewards_by_number, *(True for _ in self.columns)]
        self.loose = check.epsilon > 0 or any(one.tolerance for one in limits)
        self.start, self.came = np.log(_ACCOUNTS), False
        self.there = np.arange(self.K) < at_first(check)  # who was added, and not retired
        kinds = [check.kind, *(kind_of(check, by_column[name]) for name in self.columns)]
        self._singly = any(kind.singly for kind in kinds)
        self._in_parts = any("parts" in kind.columns for kind in kinds)
        self.rounds: list[Round] = []  # of the block at hand, of each number

    def _variant(self, limit: Limit) -> Check:
        """The record of one number in the place of the reward."""
        record, column = self.check.record, limit.column
        problem = {k: v for k, v in record.problem.items() if k != "minimise"}
        problem["noise"] = "yes-no" if limit.quantile else problem["numbers"][limit.number]
        batches = tuple(self._column(batch, column) for batch in self.check.batches)
        before = tuple(self._column(batch, column) for batch in self.check.past)
        past = None if record.past is None else replace(record.past, batches=before)
        other = self.check.variant(problem=problem, batches=batches, past=past)
        guides = not self.check.past_counts
        told = [(batch, f"{column} of past batch {b}", guides) for b, batch in enumerate(before)]
        told += [(batch, f"{column} of batch {b}", False) for b, batch in enumerate(batches)]
        for batch, where, averaged in told:
            other.check_batch(batch, where, averaged)
            fine = ("spreads" in batch.columns) == ("spreads" in other.kind.columns)
            other.demand(fine, f"{where} has not what bets on {column!r:.80} need")
        return other

    def _column(self, batch: Batch, column: str) -> Batch:
        fine = (batch.numbers or {}).keys() == set(self.columns)
        self.check.demand(fine, "it has not the numbers of its limits")
        return batch.about(column)

    # -- blocks ----------------------------------------------------------------------------
    def read(self, note: Noted, batch: Batch, where: str) -> list[Block]:
        """A block of every number, the reward first; parts must follow from counts alone."""
        told = [batch, *(self._column(batch, name) for name in self.columns)]
        blocks = [read_block(one.check, [own]) for one, own in zip(self.known, told)]
        if (self.bets() or not note.past) and self._singly:
            several, gaps = "several rewards are summed up", "has gaps in its numbers"
            check_one_by_one(self.check, blocks[0], where, several, gaps)
        elif (self.bets() or not note.past) and self._in_parts:
            check_parts(self.check, blocks[0], where, True)
        return blocks

    def bets(self) -> bool:
        """Nothing is bet on the first block, nor while nothing is known of an option."""
        known = self.known[0].past
        if known is None or not (self.check.past or self.came):
            return known is not None
        return bool(np.isin(np.flatnonzero(self.there), known.arms).all())

    def open(self, blocks: list[Block], where: str) -> None:
        """Read a block, by what was known before it."""
        self.rounds = []
        for known, block, numbered in zip(self.known, blocks, self.numbered):
            parts = known.payoff.check_dealt(block, where, True)
            now = Round(known, _look(known), np.arange(self.K), None, numbered=numbered)
            self.rounds.append(now.read(block, parts))

    def add(self, blocks: list[Block]) -> None:
        """Take in a settled block."""
        for known, block in zip(self.known, blocks):
            known.payoff.remember(block)
            known.add(known.payoff.by_arm(block))

    # -- what is known ---------------------------------------------------------------------
    def estimates(self, number: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means of one number, the variances of these, and of one measurement of each option."""
        known = self.known[number]
        outlook = _look(known)
        assert known.past is not None
        view = known.guide.view(known.past, outlook)
        assert isinstance(view, ByArm)
        single = outlook.variances(np.arange(self.K)) * known.guide.units**2
        return view.means, (view.common**2).sum(axis=1) + view.own, single

    def beside(self, number: int, mark: float, reference: int | None) -> tuple[np.ndarray, ...]:
        """How far options seem to be above a mark, or above another one by that."""
        means, doubt, single = self.estimates(number)
        apart = means - mark
        if reference is not None:
            apart = apart - means[reference]
            single, doubt = single + single[reference], doubt + doubt[reference]
            apart[reference] = -mark
        return apart / np.sqrt(single), doubt / single

    def margins(self) -> Seen:
        """How far options seem to be inside of limits; one that compares itself is so surely."""
        found = []
        for limit in self.limits:
            number = 1 + self.columns.index(limit.column)
            mark = limit.mark / self.known[number].check.noise
            apart, doubt = self.beside(number, mark, limit.reference)
            found.append((apart if limit.up else -apart, doubt))
        return Seen(*map(np.array, zip(*found)))

    def surely(self, seen: Seen) -> np.ndarray:
        """In squared standard errors, with the sign: of a margin to itself all that count."""
        found = seen.surely
        for own, limit in zip(found[len(found) - len(self.limits) :], self.limits):
            if limit.reference is not None:
                own[limit.reference] = _SUREST if limit.itself else -_SUREST
        return found

    # -- what it pays ----------------------------------------------------------------------
    def purses(self) -> Purses:
        """On each limit and option."""
        return Purses((len(self.limits), self.K), self.start)

    def paid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log of what a block pays on limits being kept, broken, and kept up to tolerances."""
        found, everyone = [], np.arange(self.K)
        for limit in self.limits:
            now = self.rounds[1 + self.columns.index(limit.column)]
            unit = now.known.check.noise
            one = np.array([self.K if limit.reference is None else limit.reference])
            mark, near = limit.mark / unit, limit.tolerance / unit
            above = now.beats(one, everyone, -mark)[0]
            below = now.beats(everyone, one, mark)[:, 0]
            keeps, breaks = (above, below) if limit.up else (below, above)
            within = keeps
            if self.loose and limit.up:
                within = now.beats(one, everyone, near - mark)[0]
            elif self.loose:
                within = now.beats(everyone, one, near + mark)[:, 0]
            found.append((keeps, breaks, within))
        keeps, breaks, within = map(np.array, zip(*found))
        return keeps, breaks, within

    def certain(self, logs: np.ndarray, kept: bool) -> np.ndarray:
        """Log capital (L, …, K); a margin of an option to itself is kept or broken for certain."""
        found = logs.copy()
        for number, limit in enumerate(self.limits):
            if limit.reference is not None and limit.itself == kept:
                found[number, ..., limit.reference] = math.inf
        return found


def _look(known: Measurements) -> Outlook:
    """Stakes expect leads by how much single measurements vary."""
    return known.look()._replace(leads=None)
