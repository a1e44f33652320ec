"""The record of a certificate and the plain arithmetic its rules need.

Shares nothing with the algorithms; used by :mod:`surepick.verifier.verify` and the rules beside it.
What has an entry for each arm or candidate is an array, or is read in blocks of rows: there may
be a million of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.estimate import Fit
from surepick.verifier.noise import read_noise
from surepick.verifier.record import Batch, Record
from surepick.verifier.stated import Stated
from surepick.verifier.tables import EPS, Given, Tables

# rules that can do without a known scale
_ANY_NOISE = ("pooled", "checked-fit", "pairs", "keeping")
_AROUND = "checked-fit"  # the rule around another one
_WHOLE_NUMBERS = ("candidate", "by", "batch")  # columns of records that hold whole numbers


class Check(Tables):
    """One pass over one certificate."""

    def __init__(self, body: dict[str, Any], given: Given | None = None) -> None:
        super().__init__(body["problem"], given or Given())
        self._begin(exact.read(Record, body, ""))

    def _begin(self, record: Record) -> None:
        """Take in all that is not a table."""
        self.record, problem = record, record.problem
        self.kind = read_noise(problem["noise"], len(self.raw_arms))
        self.noise = self.kind.unit
        minimise = problem.get("minimise", False)
        self.demand(
            "minimise" not in problem or minimise is True,
            "minimise is true where smaller is better, and is not there otherwise",
        )
        self.demand(
            not (minimise and self.kind.of_pairs),
            "comparisons of two say themselves which is better",
        )
        self.smaller: bool = minimise  # whether smaller is better
        self.numbers = {  # further ones
            name: read_noise(one, len(self.raw_arms))
            for name, one in exact.mapping(problem.get("numbers", {}), "further numbers").items()
        }
        costs = problem.get("costs")
        self.costs = None if costs is None else exact.numbers(costs, "its costs")
        self.delta, self.epsilon = record.delta, record.epsilon
        self.algorithm, self.settings = record.algorithm.name, record.algorithm.settings
        self.top = 1  # candidates that are asked for
        self.best = "the best"  # what is asked for, in the words of its promise
        self.several = "the {} best"  # the same where several are
        self.near = ""  # what is close enough to it, where there are other words for that
        self.meaning = ""  # of "better", where the question says it
        self.items = self._set("items")  # that options are measured on
        self.demand(self.items is None or self.items >= 1, "there are no items")
        self.table = self._set("complete")  # items of a table that could be filled in
        self.further: list[str] = []  # what has to be true of further numbers
        self.waited = 0  # reports at the end on which nothing was bet
        self.certain = False  # whether the answer is no matter of chance
        self.broken = ""  # what its reports say against all that it could promise
        self.stated: Stated | None = None  # the parts of its sentence, once they are checked
        self.batches, self.evidence = record.batches, record.evidence
        self.rule = exact.text(self.evidence["rule"], "the rule")
        # What is inside names the theorem and its conditions: there is nothing inside of others.
        self.demand(
            ("inner" in self.evidence) == (self.rule == _AROUND),
            "a rule inside of it is not where it has to be",
        )
        self.claim = _read_claim(record.claim)
        self.past = () if record.past is None else record.past.batches
        self.past_counts = record.past is not None and record.past.chosen == "in advance"
        if record.past is not None:
            self.demand(record.past.measurements >= 1, "it has no past measurements")
            self.demand(
                record.past.chosen in ("in advance", "by results"),
                "it does not say how past measurements were chosen",
            )
        self._rounding = 0.0
        self.rounding_per_noise = 0.0
        self.risk = 0.0
        self.checked = 0

    def _set(self, name: str) -> int | None:
        found = self.settings.get(name)
        return None if found is None else exact.whole(found, f"the setting {name}")

    @property
    def gone(self) -> set[int]:
        return {arm for turn in self.record.options if not turn.added for arm in turn.arms}

    @property
    def dealt(self) -> bool:
        """Whether the first report of visitors is two blocks."""
        records = exact.mappings(self.evidence["blocks"], "blocks")
        return bool(records) and "dealt" in records[0]

    @property
    def claims(self) -> str:
        """How sure claims against a baseline were to be."""
        return self.settings.get("claims", "all")

    @property
    def sign(self) -> float:
        """Rewards times this are better the larger they are."""
        return -1.0 if self.smaller else 1.0

    def variant(self, **changes: Any) -> Check:
        """The check of another record about the same arms and candidates."""
        other = copy.copy(self)
        other._begin(replace(self.record, **changes))
        return other

    # -- demands ---------------------------------------------------------------------------
    def demand_all(self, holds: np.ndarray, complaint: Callable[[int], str]) -> None:
        """Demand that all entries are true; the complaint is about the first that is not."""
        if not holds.all():
            self.demand(False, complaint(int(np.argmin(holds))))

    def agree(self, recorded: float, computed: float, what: str) -> None:
        """Recorded and recomputed numbers must be the same."""
        self.agree_all(np.array([recorded]), np.array([computed]), lambda _: what)

    def agree_all(
        self,
        recorded: np.ndarray,
        computed: np.ndarray,
        what: Callable[[int], str],
        rounding: float | None = None,
    ) -> None:
        """Recorded and recomputed arrays must agree; ``what`` names an entry.

        ``rounding`` is what they may differ by; by default that of rewards.
        """
        rounding = self._rounding if rounding is None else rounding
        gap = np.abs(recorded - computed)
        largest = np.maximum(np.abs(computed), np.abs(recorded))
        self.demand_all(
            np.isfinite(gap) & (gap <= self._close * largest + rounding),
            lambda i: (
                f"{what(i)} is recorded as {recorded[i]:.9g} but the data give {computed[i]:.9g}"
            ),
        )

    def columns(self, record: Any, *names: str) -> list[np.ndarray]:
        """Columns of a record: a dict of columns, or a list with a dict for each entry."""
        if isinstance(record, dict):
            lists = [record[name] for name in names]
        else:
            entries = exact.mappings(record, "its entries")
            lists = [[entry[name] for entry in entries] for name in names]
        self.demand(len({len(values) for values in lists}) == 1, "columns of unequal length")
        return [
            (exact.whole_numbers if name in _WHOLE_NUMBERS else exact.numbers)(
                values, f"its entries {name!r}"
            )
            for name, values in zip(names, lists, strict=True)
        ]

    def mask(self, candidates: Any) -> np.ndarray:
        """An array over all candidates that is true for some of them."""
        found = np.zeros(len(self.candidates), dtype=bool)
        found[candidates] = True
        return found

    def among(self, candidates: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """Which numbers of candidates are allowed by a mask; unknown numbers are not."""
        known = (candidates >= 0) & (candidates < len(allowed))
        return known & allowed[np.where(known, candidates, 0)]

    # -- the record ------------------------------------------------------------------------
    def check_record(self) -> None:
        """Whether the record is complete and consistent, whatever follows from it."""
        self.check_labels()
        self.demand(0 < self.delta < 1, "delta must lie between 0 and 1")
        self.demand(self.epsilon >= 0, "epsilon must be at least 0")
        for name, value in (("delta", self.delta), ("epsilon", self.epsilon)):
            self.demand(
                exact.number(self.settings[name], f"the setting {name}") == value,
                "delta or epsilon is not what the algorithm was set to",
            )
        rule = self.rule
        self.demand(
            self.kind.scale_known or rule in _ANY_NOISE,
            f"the rule {rule!r} needs a known scale of the noise, and it says none",
        )
        for b, batch in enumerate(self.past):
            self._check_columns(batch, f"past batch {b}", past=True)
            self.check_batch(batch, f"past batch {b}", averaged=not self.past_counts)
        for b, batch in enumerate(self.batches):
            self._check_columns(batch, f"batch {b}")
            self.check_batch(batch, f"batch {b}")
        total = sum(batch.pulls for batch in self.batches)
        self.demand(total == self.claim["samples"], "the number of pulls does not add up")

    def check_measured(self) -> None:
        """Where the features of measured arms are listed, they must be of all that were."""
        if self.refers:
            pulled = {arm for batch in (*self.batches, *self.past) for arm in batch.arms.tolist()}
            self.demand(
                self.measured == sorted(pulled), "the arms listed as measured are not those"
            )

    def _check_columns(self, batch: Batch, where: str, past: bool = False) -> None:
        """A batch must say what the rule's bets need under this noise, and no more."""
        rule, found = self.rule, batch.columns
        more = set(self.kind.columns) if rule in ("pooled", "keeping") else set()
        if rule in ("pairs", "complete") or (self.items is not None and rule == "pooled"):
            more = {"parts"}  # the number of a comparison, the place of an item, or an item
        if rule == "keeping":  # and parts where any number needs them
            more |= {"numbers"}
            if any("parts" in kind.columns and not kind.singly for kind in self.numbers.values()):
                more |= {"parts"} & found  # a limit may be on a quantile of it, which needs none
        if past and not self.past_counts:  # whatever they are dealt into, nothing is bet on them
            more = more - {"parts"}
        strata = not past and rule == "pooled"
        ahead = not past and rule in ("pooled", "pairs", "complete")
        self.demand(strata or batch.stratum is None, f"{where} has a stratum")
        self.demand(ahead or batch.after is None, f"{where} was asked for ahead")
        if rule == _AROUND:  # what the rule inside does not need is left out there
            self.demand(found <= {"spreads", "parts"}, f"{where} has unknown columns")
            return
        for name in sorted(more ^ found):
            says = "lacks" if name in more else "has"
            which = "which bets need" if name in more else "which no bet needs"
            self.demand(False, f"{where} {says} {name!r}, {which} under this noise")

    def check_batch(self, batch: Batch, where: str, averaged: bool = False) -> None:
        columns = [batch.counts, batch.parts]
        for told in (batch, *(batch.numbers or {}).values()):
            columns += [told.sums, told.spreads]
        even = all(own is None or len(own) == len(batch.arms) for own in columns)
        self.demand(even and len(set(batch.rows)) == len(batch.arms), f"{where} is inconsistent")
        spreads = [None] * len(batch.arms) if batch.spreads is None else batch.spreads.tolist()
        told = zip(batch.rows, batch.counts.tolist(), batch.sums.tolist(), spreads, strict=True)
        for (arm, part), count, total, spread in told:
            self.demand(0 <= arm < len(self.arms), f"{where} pulls unknown arm {arm!r:.80}")
            here = f"{where}, arm {arm}"
            self.demand(part >= 0, f"{here}: {part!r:.80} is no part")
            self.demand(count >= 1, f"{where}: {count!r:.80} pulls of arm {arm}")
            self.kind.check_sum(total, count, here, averaged=averaged)
            if spread is not None:
                self.kind.check_spread(spread, total, count, here, averaged=averaged)
            # Small differences of large means cannot be had more exactly than this.
            rounding = 100 * EPS * abs(total / count)
            self._rounding = max(self._rounding, rounding)
            per_noise = rounding / float(self.kind.units(arm))
            self.rounding_per_noise = max(self.rounding_per_noise, per_noise)

    def per_noise(self, arms: Any, sums: Any) -> np.ndarray:
        """Sums of rewards of these arms, in units of their noise, and larger is better."""
        return self.sign * np.array(sums, dtype=float) / self.kind.units(arms)

    def fit(self, batch: Batch) -> Fit:
        """Least squares on the pulls of one batch, in units of the noise."""
        sums = self.per_noise(batch.arms, batch.sums)
        counts = batch.counts.astype(float)
        return Fit(self.arms[batch.arms], counts, sums, self.whiten, self.basis)


def _read_claim(claim: Any) -> dict[str, Any]:
    """What is claimed, after a look at the types."""
    for name in ("candidate", "samples"):
        exact.whole(claim[name], f"the claim's {name}")
    for name in ("label", "guarantee", "statement"):
        exact.text(claim[name], f"the claim's {name}")
    exact.whole_numbers(claim["survivors"], "the survivors")
    return exact.mapping(claim, "the claim")
