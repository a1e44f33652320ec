"""Claims about candidates that were compared with a baseline, or a number."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.check import Check
from surepick.verifier.formulas import Closed

CLAIMS = ("better", "worse", "close")


class Comparison(NamedTuple):
    """What was shown; candidates by their numbers, one of each kind."""

    baseline: int | None  #: None: a number
    threshold: float | None
    claims: str
    shown: dict[str, list[int]]  #: by what is claimed
    open: list[int]  #: nothing was shown about these

    @property
    def words(self) -> str:
        """The number that candidates are compared with, in words."""
        return f"{self.threshold:.12g}"


def read_question(check: Check) -> Comparison:
    """What was asked, which must be what the algorithm was set to."""
    asked = exact.mapping(check.evidence["question"], "the question")
    claims = exact.text(asked["claims"], "which claims are wrong with probability delta")
    check.demand(claims in ("all", "fdr"), f"claims {claims!r:.80} are unknown")
    baseline = threshold = None
    if "threshold" in asked:
        threshold = exact.number(asked["threshold"], "the threshold")
    else:
        baseline = exact.whole(asked["baseline"], "the baseline")
        known = 0 <= baseline < len(check.candidates)
        check.demand(known, "the baseline is not one of the candidates")
    due = {"claims", "baseline" if threshold is None else "threshold"}
    check.demand(set(asked) == due, "the question says more than it should")
    own = not published.is_own(check) or _set_to(check) == (baseline, threshold, claims)
    check.demand(own, "the question is not the one that the algorithm was set to")
    return Comparison(baseline, threshold, claims, {}, [])


def _set_to(check: Check) -> tuple[int | None, float | None, str]:
    settings: dict[str, Any] = check.settings
    baseline, threshold = settings.get("baseline"), settings.get("threshold")
    if isinstance(baseline, str):
        labels = [check.label(i) for i in range(len(check.candidates))]
        check.demand(baseline in labels, f"no candidate is called {baseline!r:.80}")
        baseline = labels.index(baseline)
    if threshold is not None:
        threshold = exact.number(threshold, "the setting threshold")
    return baseline, threshold, check.claims


# -- one after the other ------------------------------------------------------------------
class Claim(NamedTuple):
    """One claim, as it is recorded."""

    block: int  #: after which it was made
    about: int
    kind: str
    log_capital: float
    certain: bool | None  #: whether nothing that is to come could change it, where that is said


class Claims:
    """All claims, each checked as it was made: if all are to be right, or on average.

    Of k claims at the end, a share of delta is wrong on average if each has n/(k delta), where n is
    how many statements may be true (e-BH).

    Parameters
    ----------
    kinds : tuple of str
        What may be claimed.
    others : list of int
        About which candidates.
    """

    def __init__(
        self, check: Check, asked: Comparison, kinds: tuple[str, ...], others: list[int]
    ) -> None:
        self._check, self.asked, self._kinds, self.others = check, asked, kinds, others
        entries = exact.mappings(check.evidence["claims"], "the claims")
        self._left = [self._read(entry) for entry in entries]
        self.made: list[int | None] = [None] * len(others)

    def _read(self, entry: dict[str, Any]) -> Claim:
        certain = entry.get("certain")
        known = certain is None or type(certain) is bool
        self._check.demand(known, "a claim does not say whether it is certain")
        return Claim(
            exact.whole(entry["block"], "the block of a claim"),
            exact.whole(entry["candidate"], "the candidate of a claim"),
            exact.text(entry["claim"], "what is claimed"),
            exact.number(entry["log_capital"], "the capital of a claim"),
            certain,
        )

    @property
    def all_right(self) -> bool:
        """Whether all claims are to be right, each as soon as it is made."""
        return self.asked.claims == "all"

    @property
    def open(self) -> list[int]:
        """Those about which nothing was claimed so far."""
        return [one for one, kind in zip(self.others, self.made) if kind is None]

    def all_at(self, block: int) -> bool:
        """Whether all claims that are left are made after this block."""
        return all(claim.block == block for claim in self._left)

    def over(self, block: int) -> bool:
        """Whether everything was claimed by now."""
        at_end = not self.all_right and self.all_at(block)
        return (len(self._left) if at_end else self._made()) == len(self.others)

    def _made(self) -> int:
        return len(self.others) - len(self.open)

    def take(
        self,
        block: int,
        capital: np.ndarray,
        closed: Closed | None,
        rounding: float,
        certain: np.ndarray | None = None,
    ) -> None:
        """The claims of a block, in their order; each may be what another one has waited for.

        ``capital`` is against each statement that a claim refutes, (kinds, n); ``closed`` says how
        much they take (None: that is looked at in the end), ``certain`` what takes none.
        """
        counts = capital if certain is None else np.where(certain, math.inf, capital)
        while self._left and self._left[0].block == block:
            claim, check = self._left.pop(0), self._check
            known = claim.about in self.open and claim.kind in self._kinds[: len(capital)]
            check.demand(known, f"block {block}: a claim about {claim.about}")
            kind, place = self._kinds.index(claim.kind), self.others.index(claim.about)
            what = f"block {block}: the log capital of {claim.about} being {claim.kind}"
            sure = None if certain is None else bool(certain[kind, place])
            check.demand(claim.certain is sure, f"{what}: whether that is for certain")
            recorded, due = np.array([claim.log_capital]), capital[kind, [place]]
            check.agree_all(recorded, due, lambda _, what=what: what, rounding)
            if closed is not None:
                goal = -math.log(check.delta)
                needed = goal + closed.needed(counts - goal, self.made, kind, place)
                self._demand(counts, kind, place, needed)
            self.made[place] = kind
            check.checked += 1

    def on_average(self, capital: np.ndarray, each: int, certain: np.ndarray | None = None) -> None:
        """Whether all that was claimed has enough in the end; ``each``: true of one candidate."""
        counts = capital if certain is None else np.where(certain, math.inf, capital)
        for place, kind in enumerate(self.made):
            if kind is not None:
                needed = math.log(each * len(self.others) / self._made() / self._check.delta)
                self._demand(counts, kind, place, needed)

    def _demand(self, capital: np.ndarray, kind: int, place: int, needed: float) -> None:
        found, about = (
            float(capital[kind, place]),
            f"{self.others[place]} being {self._kinds[kind]}",
        )
        self._check.demand(
            found >= needed - 1e-6,
            f"the log capital of {about} is {found:.6g}, below {needed:.6g}",
        )

    def conclusion(self) -> Comparison:
        """What was shown when the last block was settled."""
        self._check.demand(not self._left, "claims are not in the order of blocks")
        of = list(zip(self.others, self.made))
        shown = {
            name: sorted(one for one, kind in of if kind == number)
            for number, name in enumerate(self._kinds)
        }
        return self.asked._replace(shown=shown, open=self.open)


# -- what may be concluded ----------------------------------------------------------------
def check_comparison(check: Check, found: Comparison) -> None:
    """The claim must say what was shown, and nothing else; what is named first is better."""
    claim, everyone = check.claim, set(range(len(check.candidates)))
    if found.baseline is not None:
        everyone.discard(found.baseline)
    listed = {}
    for name in (*found.shown, "undecided"):
        listed[name] = exact.whole_numbers(claim[name], f"what is {name}").tolist()
    for name, shown in found.shown.items():
        due = check.alike(shown).tolist()
        check.demand(listed[name] == due, f"what is claimed to be {name} was not shown to be")
    decided = {one for name in found.shown if name != "close" for one in listed[name]}
    check.demand(
        listed["undecided"] == sorted(everyone - decided), "what is undecided is not what is left"
    )
    chosen, better = claim["candidate"], listed["better"]
    check.demand(0 <= chosen < len(check.candidates), "the answer is no candidate")
    if better:
        check.demand(chosen in better, "the answer is not among those that are better")
    elif found.baseline is not None:
        check.demand(check.same(chosen, found.baseline), "the answer should be the baseline")
    check.demand(check.label(chosen) == claim["label"], "the label is another candidate's")
    left = found.open or [check.first_like(chosen)]
    check.demand(
        claim["survivors"] == check.alike(left).tolist(), "the survivors are not those claimed"
    )
    kind = claim["guarantee"]
    proven = "fdr" if found.claims == "fdr" else "claims"
    check.demand(kind in (proven, "heuristic", "none"), f"unknown claim {kind!r}")
    if kind == "none":
        check.demand(found.open and not any(found.shown.values()), "it claims something")
    check.demand(
        kind == "heuristic" or check.risk <= check.delta * (1 + 1e-9),
        "the levels add up to more than delta",
    )
