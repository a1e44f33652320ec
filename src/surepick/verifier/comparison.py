"""What a certificate may conclude about candidates that were compared with a baseline.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from surepick.verifier import exact, published
from surepick.verifier.check import Check

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
    if published.is_own(check):
        check.demand(
            _set_to(check) == (baseline, threshold, claims),
            "the question is not the one that the algorithm was set to",
        )
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
    return baseline, threshold, claims_of(check)


def claims_of(check: Check) -> str:
    """How sure claims were to be."""
    return check.settings.get("claims", "all")


def check_comparison(check: Check, found: Comparison) -> None:
    """The claim must say what was shown, and nothing else."""
    conclude_comparison(check, found, CLAIMS)


def conclude_comparison(check: Check, found: Comparison, names: tuple[str, ...]) -> None:
    """The claim must say what was shown, by these names, and nothing else; the first is better."""
    claim, everyone = check.claim, set(range(len(check.candidates)))
    if found.baseline is not None:
        everyone.discard(found.baseline)
    listed = {}
    for name in (*names, "undecided"):
        listed[name] = exact.whole_numbers(claim[name], f"what is {name}").tolist()
    for name in names:
        due = check.alike(found.shown[name]).tolist()
        check.demand(listed[name] == due, f"what is claimed to be {name} was not shown to be")
    decided = {one for name in names if name != "close" for one in listed[name]}
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
