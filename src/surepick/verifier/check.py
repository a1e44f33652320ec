"""The record of a certificate and the plain arithmetic its rules need.

Shares nothing with the algorithms; used by :mod:`surepick.verifier.verify` and the rules beside it.
What has an entry for each arm or candidate is an array, or is read in blocks of rows: there may
be a million of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.estimate import Fit
from surepick.verifier.noise import read_noise
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
        self._read(body)

    def _read(self, body: dict[str, Any]) -> None:
        """Take in all that is not a table."""
        self.body = body
        self.kind = read_noise(body["problem"]["noise"], len(self.raw_arms), self.demand)
        self.noise = self.kind.unit
        self.smaller = self._read_direction(body["problem"])  # whether smaller is better
        self.delta = exact.number(body["delta"], "delta")
        self.epsilon = exact.number(body["epsilon"], "epsilon")
        self.settings = exact.mapping(body["algorithm"]["settings"], "the settings")
        self.top = 1  # candidates that are asked for
        self.best = "the best"  # what is asked for, in the words of its promise
        self.several = "the {} best"  # the same where several are
        self.near = ""  # what is close enough to it, where there are other words for that
        self.meaning = ""  # of "better", where the question says it
        self.items: int | None = None  # that options are measured on
        if self.settings.get("items") is not None:
            self.items = exact.whole(self.settings["items"], "the number of items")
            self.demand(self.items >= 1, "there are no items")
        self.table: int | None = None  # items of a table that could be filled in
        if self.settings.get("complete") is not None:
            self.table = exact.whole(self.settings["complete"], "the number of items")
        self.further: list[str] = []  # what has to be true of further numbers
        self.waited = 0  # reports at the end on which nothing was bet
        self.certain = False  # whether the answer is no matter of chance
        self.broken = ""  # what its reports say against all that it could promise
        self.stated: Stated | None = None  # the parts of its sentence, once they are checked
        self.algorithm = exact.text(body["algorithm"]["name"], "the name of the algorithm")
        self.batches = exact.mappings(body["batches"], "batches")
        self.evidence = exact.mapping(body["evidence"], "the evidence")
        self.rule = exact.text(self.evidence["rule"], "the rule")
        # What is inside names the theorem and its conditions: there is nothing inside of others.
        self.demand(
            ("inner" in self.evidence) == (self.rule == _AROUND),
            "a rule inside of it is not where it has to be",
        )
        self.claim = _read_claim(body["claim"])
        self.past: list[dict[str, Any]] = []
        self.past_counts = False
        if body.get("past") is not None:
            past = exact.mapping(body["past"], "what it says of the past")
            self.past = exact.mappings(past["batches"], "past batches")
            measurements = exact.whole(past["measurements"], "the number of past measurements")
            self.demand(measurements >= 1, "it has no past measurements")
            self.past_counts = past["chosen"] == "in advance"
            self.demand(
                past["chosen"] in ("in advance", "by results"),
                "it does not say how past measurements were chosen",
            )
        self.gone: frozenset[int] = frozenset()  # options that were retired
        self._rounding = 0.0
        self.rounding_per_noise = 0.0
        self.risk = 0.0
        self.checked = 0

    def _read_direction(self, problem: dict[str, Any]) -> bool:
        """Where nothing is said, larger is better."""
        self.demand(
            "minimise" not in problem or problem["minimise"] is True,
            "minimise is true where smaller is better, and is not there otherwise",
        )
        self.demand(
            "minimise" not in problem or not self.kind.of_pairs,
            "comparisons of two say themselves which is better",
        )
        return "minimise" in problem

    @property
    def claims(self) -> str:
        """How sure claims against a baseline were to be."""
        return self.settings.get("claims", "all")

    @property
    def sign(self) -> float:
        """Rewards times this are better the larger they are."""
        return -1.0 if self.smaller else 1.0

    def variant(self, changes: dict[str, Any]) -> Check:
        """The check of another record about the same arms and candidates."""
        other = copy.copy(self)
        other._read(self.body | changes)
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
        guides = not self.past_counts
        for b, batch in enumerate(self.past):
            self._check_columns(batch, rule, f"past batch {b}", guides)
            self.check_batch(batch, f"past batch {b}", guides)
        total = 0
        for b, batch in enumerate(self.batches):
            self._check_columns(batch, rule, f"batch {b}")
            total += self.check_batch(batch, f"batch {b}")
        self.demand(total == self.claim["samples"], "the number of pulls does not add up")

    def check_measured(self) -> None:
        """Where the features of measured arms are listed, they must be of all that were."""
        if isinstance(self.body["problem"]["arms"], dict):
            batches = [*self.batches, *self.past]
            pulled = {arm for batch in batches for arm in batch["arms"]}
            self.demand(
                self.measured == sorted(pulled), "the arms listed as measured are not those"
            )

    def _check_columns(
        self, batch: dict[str, Any], rule: str, where: str, guides: bool = False
    ) -> None:
        """A batch must say what the rule's bets need under this noise, and no more."""
        found = batch.keys() - {"arms", "counts", "sums"}
        more = set(self.kind.columns) if rule == "pooled" else set()
        if rule == "pairs":  # the number of each comparison
            more = {"parts"}
        if self.items is not None and rule == "pooled":
            more = {"parts"}  # an item each
        if rule == "complete":
            more = {"parts"}  # the place of an item
        if rule == "keeping":  # and parts where any number needs them
            numbers = exact.mapping(self.body["problem"].get("numbers", {}), "further numbers")
            kinds = [read_noise(one, len(self.raw_arms), self.demand) for one in numbers.values()]
            more = set(self.kind.columns) | {"numbers"}
            if any("parts" in kind.columns and not kind.singly for kind in kinds):
                more |= {"parts"} & found  # a limit may be on a quantile of it, which needs none
        if guides:  # whatever they are dealt into, nothing is bet on them
            more = more - {"parts"}
        if where.startswith("batch"):  # past ones have none
            ahead = {"pooled": {"stratum", "after"}, "pairs": {"after"}, "complete": {"after"}}
            found -= ahead.get(rule, set[str]())
        if rule == _AROUND:  # what the rule inside does not need is left out there
            self.demand(found <= {"spreads", "parts"}, f"{where} has unknown columns")
            return
        for name in sorted(more ^ found):
            self.demand(
                False,
                f"{where} lacks {name!r}, which bets need under this noise"
                if name in more
                else f"{where} has {name!r}, which no bet needs under this noise",
            )

    def check_batch(self, batch: dict[str, Any], where: str, averaged: bool = False) -> int:
        """How many pulls a batch has, after checking that it makes sense."""
        arms, counts, sums = batch["arms"], batch["counts"], batch["sums"]
        spreads = batch.get("spreads")
        for name in ("arms", "counts", "parts"):
            exact.whole_numbers(batch.get(name, []), f"{where}: its {name}")
        for name in ("sums", "spreads"):
            exact.numbers(batch.get(name, []), f"{where}: its {name}")
        parts = batch.get("parts", [0] * len(arms))
        columns = (arms, counts, sums, parts, arms if spreads is None else spreads)
        even = len({len(column) for column in columns}) == 1
        self.demand(
            even and len(set(zip(arms, parts, strict=True))) == len(arms),
            f"{where} is inconsistent",
        )
        for row, (arm, part, count) in enumerate(zip(arms, parts, counts, strict=True)):
            self.demand(0 <= arm < len(self.arms), f"{where} pulls unknown arm {arm!r:.80}")
            here = f"{where}, arm {arm}"
            self.demand(part >= 0, f"{here}: {part!r:.80} is no part")
            self.demand(count >= 1, f"{where}: {count!r:.80} pulls of arm {arm}")
            total = float(sums[row])
            self.kind.check_sum(self.demand, total, count, here, averaged=averaged)
            if spreads is not None:
                spread = float(spreads[row])
                self.kind.check_spread(self.demand, spread, total, count, here, averaged=averaged)
            # Small differences of large means cannot be had more exactly than this.
            rounding = 100 * EPS * abs(total / count)
            self._rounding = max(self._rounding, rounding)
            per_noise = rounding / float(self.kind.units(arm))
            self.rounding_per_noise = max(self.rounding_per_noise, per_noise)
        return sum(counts)

    def per_noise(self, arms: Any, sums: Any) -> np.ndarray:
        """Sums of rewards of these arms, in units of their noise, and larger is better."""
        return self.sign * np.array(sums, dtype=float) / self.kind.units(arms)

    # -- plain least squares ---------------------------------------------------------------
    def fit(self, batch: dict[str, Any]) -> Fit:
        """Least squares on the pulls of one batch, in units of the noise."""
        counts = np.array(batch["counts"], dtype=float)
        sums = self.per_noise(batch["arms"], batch["sums"])
        return Fit(self.arms[batch["arms"]], counts, sums, self.whiten, self.basis)

    def least_squares(self, batch: dict[str, Any]) -> tuple[np.ndarray, Callable]:
        """The estimate from one batch, and the map y -> yᵀV⁻¹y, for a vector or for rows."""
        fit = self.fit(batch)
        return fit.theta, fit.variance


def _read_claim(claim: Any) -> dict[str, Any]:
    """What is claimed, after a look at the types."""
    for name in ("candidate", "samples"):
        exact.whole(claim[name], f"the claim's {name}")
    for name in ("label", "guarantee", "statement"):
        exact.text(claim[name], f"the claim's {name}")
    exact.whole_numbers(claim["survivors"], "the survivors")
    return exact.mapping(claim, "the claim")
