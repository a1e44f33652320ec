"""Generalised likelihood ratio stop (LinGame, Lazy Track-and-Stop, FWS, top-two, uniform).

From the totals per arm: least squares, its variance for the difference of the answer to every
rival, and the threshold by the formula that the certificate names. What a certificate chooses
freely could be chosen in hindsight, so the constants that a proof needs fixed in advance are
fixed here as well.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.check import Check
from surepick.verifier.tables import Rows, slices

_SCALES = [2.0, 16.0, 128.0, 1024.0]  # self-normalised: values of rho, in pulls per dimension
_PAIRS = ([8.0, 64.0, 1024.0], [4.0, 32.0, 256.0], 100.0)  # pairwise: for all, in a plane, kappa
_ROUNDS = 2.0  # round robin: precision of the mixture, in rounds
_SLACK = 1e-7  # relative difference that rounding may make


def verify(check: Check) -> list[int]:
    """Recompute why every rival is ruled out; returns the candidates that are not.

    A rival z' of the answer z is ruled out, y = z - z', when for one of the threshold's pairs
    (rho, level): (thetaᵀy + eps)² > 2 level (yᵀV⁻¹y + rho ‖V⁻¹y‖²); with eps = 0 for those that
    are no longer among the survivors, with the certificate's epsilon for all.
    """
    rivals = check.distinct()
    kind, chosen = check.claim["guarantee"], check.claim["candidate"]
    if len(rivals) == 1 or kind == "none":
        return rivals
    evidence = check.evidence
    name = exact.text(evidence["threshold"], "the threshold")
    check.demand(name in _LEVELS, f"it uses an unknown threshold {name!r}")
    published.demand_bounds(check)
    if name == "heuristic":
        check.demand(kind == "heuristic", f"a heuristic threshold cannot support {kind!r}")
        check.risk = 1.0  # no bound
    else:
        check.risk += check.delta
    data = _Data(check, evidence)
    levels = _LEVELS[name](data, evidence)
    answer, everyone = check.first_like(chosen), np.array(rivals)
    left = np.isin(everyone, check.claim["survivors"])
    for part in slices(len(everyone), check.candidates.shape[1]):
        _rule_out(data, levels, answer, everyone[part], left[part])
    published.demand_threshold(check, name)
    return everyone[left].tolist()


def _rule_out(
    data: _Data, levels: list[tuple[float, float]], answer: int, some: np.ndarray, left: np.ndarray
) -> None:
    """Check some rivals against the answer; ``left`` says which of them survive."""
    check, epsilon = data.check, data.check.epsilon / data.check.noise
    some, left = some[some != answer], left[some != answer]
    y = data.points([answer]) - data.points(some)
    gap = y @ data.theta
    check.demand_all(
        gap >= -1e-9 * max(1.0, data.largest),
        lambda i: f"candidate {some[i]} is estimated to be better than the answer",
    )
    weighted = np.linalg.solve(data.V, y.T).T
    a, spread = (y * weighted).sum(axis=1), (weighted**2).sum(axis=1)
    needed = np.min([2 * level * (a + rho * spread) for rho, level in levels], axis=0)
    if check.evidence["threshold"] == "pairwise":
        own = [_pair_needed(data, answer, int(one), u) for one, u in zip(some, weighted)]
        needed = np.minimum(needed, own)
    allowed = np.where(left, epsilon, 0.0)
    check.demand_all(
        (np.maximum(gap, 0.0) + allowed) ** 2 >= needed * (1 - _SLACK),
        lambda i: (
            f"candidate {some[i]} is not ruled out: statistic "
            f"{(gap[i] + allowed[i]) ** 2 / (2 * a[i]):.6g}, threshold {needed[i] / (2 * a[i]):.6g}"
        ),
    )
    check.checked += len(some)


class _Data:
    """Totals and least squares.

    Coordinates make the arms' second moment the identity, except for the regularised threshold,
    which is about lengths: there they are the features as given.
    """

    def __init__(self, check: Check, evidence: dict[str, Any]) -> None:
        self.check = check
        K = len(check.arms)
        self.counts, sums = np.zeros(K), np.zeros(K)
        for batch in check.batches:
            self.counts[batch.arms] += batch.counts
            sums[batch.arms] += batch.sums
        self.pulls = int(self.counts.sum())
        prior = 0.0
        self._arms, self._candidates, self._to = check.arms, check.candidates, check.whiten
        if evidence["threshold"] == "regularised":
            prior = exact.number(evidence["regularisation"], "the regularisation")
            # Directions outside the span change neither estimate nor determinant.
            self._arms, self._candidates = check.raw_arms, check.raw_candidates
            self._to = np.eye(check.arms.shape[1])
        pulled = np.flatnonzero(self.counts)
        arms = self.arms(pulled)
        self.V = (arms.T * self.counts[pulled]) @ arms + prior * np.eye(arms.shape[1])
        check.demand(np.linalg.matrix_rank(self.V) == len(self.V), "the pulls do not span the arms")
        self.theta = np.linalg.solve(self.V, arms.T @ check.per_noise(pulled, sums[pulled]))
        #: largest absolute estimate of a candidate
        self.largest = float(np.abs(self._candidates @ (self._to @ self.theta)).max())

    def arms(self, which: Any) -> np.ndarray:
        """Some arms in these coordinates."""
        return self._arms[which] @ self._to

    def points(self, which: Any) -> np.ndarray:
        """Some candidates in these coordinates."""
        return self._candidates[which] @ self._to

    def half_log_det(self, rho: float, already: bool = False) -> float:
        """½ log det(I + V/rho); ``already``: V includes the rho."""
        matrix = self.V / rho + (0.0 if already else 1.0) * np.eye(len(self.V))
        return 0.5 * float(np.linalg.slogdet(matrix)[1])


def _heuristic(data: _Data, evidence: dict[str, Any]) -> list[tuple[float, float]]:
    return [(0.0, math.log((1 + math.log(data.pulls)) / data.check.delta))]


def _self_normalised(data: _Data, evidence: dict[str, Any]) -> list[tuple[float, float]]:
    scales = exact.numbers(evidence["scales"], "its scales").tolist()
    data.check.demand(scales == _SCALES, "its scales are not the ones fixed in advance")
    shared = math.log(len(_SCALES) / data.check.delta)
    return [(rho, shared + data.half_log_det(rho)) for rho in (len(data.V) * s for s in _SCALES)]


def _pairwise(data: _Data, evidence: dict[str, Any]) -> list[tuple[float, float]]:
    told = [exact.numbers(evidence[name], name).tolist() for name in ("scales", "planes")]
    told.append(exact.number(evidence["outside"], "its precision outside of planes"))
    data.check.demand(told == list(_PAIRS), "its scales are not the ones fixed in advance")
    shared = math.log(2 * len(_PAIRS[0]) / data.check.delta)
    return [(rho, shared + data.half_log_det(rho)) for rho in (len(data.V) * s for s in _PAIRS[0])]


def _pair_needed(data: _Data, answer: int, other: int, u: np.ndarray) -> float:
    """The square of the lead at which the mixture of this pair alone rules ``other`` out."""
    both = data.points([answer, other])
    y = both[0] - both[1]
    left, sizes, _ = np.linalg.svd(both.T, full_matrices=False)
    plane = left[:, sizes > 1e-9 * sizes[0]]
    inside, d = plane @ plane.T, len(data.V)
    _, planes, kappa = _PAIRS
    rivals = len(data.check.distinct()) - 1
    least = math.inf
    for scale in planes:
        prior = d * scale * (inside + kappa * (np.eye(d) - inside))
        content = np.linalg.slogdet(prior + data.V)[1] - np.linalg.slogdet(prior)[1]
        level = math.log(2 * len(planes) * rivals / data.check.delta) + content / 2
        least = min(least, 2 * level * float(y @ u + u @ prior @ u))
    return least


def _determinant(data: _Data, evidence: dict[str, Any]) -> list[tuple[float, float]]:
    first = exact.whole_numbers(evidence["first"], "the arms pulled first")
    slack = exact.number(evidence["slack"], "its slack")
    data.check.demand(slack == 0.1, "its slack is not the one fixed in advance")
    data.check.demand(
        len(np.unique(first)) == len(first)
        and ((first >= 0) & (first < len(data.counts))).all()
        and (data.counts[first] >= 1).all(),
        "the arms it says were pulled first were not pulled",
    )
    check = data.check
    everything, spanning = published.first_arms(check)
    data.check.demand(
        (everything and len(first) == len(data.counts))
        or (spanning and span_by_rule(check.arms, check.whiten, first)),
        "the arms it says were pulled first are not those that are pulled first",
    )
    rows = data.arms(first)
    c = float(np.linalg.eigvalsh(rows.T @ rows)[0])
    data.check.demand(c > 0, "the arms pulled first do not span")
    rho = slack * c
    return [(0.0, (1 + slack) * (math.log(1 / data.check.delta) + data.half_log_det(rho)))]


def _regularised(data: _Data, evidence: dict[str, Any]) -> list[tuple[float, float]]:
    lam, bound = (exact.number(evidence[name], name) for name in ("regularisation", "norm_bound"))
    noise = math.sqrt(math.log(1 / data.check.delta) + data.half_log_det(lam, already=True))
    return [(0.0, (noise + bound / data.check.noise * math.sqrt(lam / 2)) ** 2)]


def _round_robin(data: _Data, evidence: dict[str, Any]) -> list[tuple[float, float]]:
    rounds = float(data.counts[0])
    data.check.demand((data.counts == rounds).all(), "the pulls are not full rounds over all arms")
    precision = exact.number(evidence["rounds"], "the precision of its mixture")
    data.check.demand(precision == _ROUNDS, "its mixture is not the one fixed in advance")
    rivals = len(data.check.distinct()) - 1
    content = math.log(rivals / data.check.delta) + 0.5 * math.log(1 + rounds / _ROUNDS)
    s = math.sqrt(2 * max(0.0, content - math.log(2)))
    one_sided = math.log(1 + math.erf(s / math.sqrt(2)))
    return [(0.0, (1 + _ROUNDS / rounds) * (content - one_sided))]


_LEVELS = {
    "heuristic": _heuristic,
    "self-normalised": _self_normalised,
    "pairwise": _pairwise,
    "determinant": _determinant,
    "regularised": _regularised,
    "round-robin": _round_robin,
}


# -- which arms are pulled first, to span all ---------------------------------------------
_AS_FAR = 1e-6  # relative difference of two squared distances that rounding may make
_SAMPLED = 1024  # arms among which those that span are looked for, where there are very many
_PER_DIMENSION = 16


def are_spread(rows: np.ndarray, first: np.ndarray) -> bool:
    """Whether some rows are, one after the other, those farthest from the span of the others.

    In which order is not said: the one that is farthest now must be as far as any row is.
    """
    left, waiting = rows.copy(), list(first)
    while waiting:
        lengths = np.einsum("ij,ij->i", left, left)
        farthest = max(waiting, key=lambda row: lengths[row])
        if lengths[farthest] < (1 - _AS_FAR) * lengths.max():
            return False
        unit = left[farthest] / np.sqrt(lengths[farthest])
        left -= np.outer(left @ unit, unit)
        waiting.remove(farthest)
    return True


def span_by_rule(arms: Rows, whiten: np.ndarray, first: np.ndarray) -> bool:
    """Whether these arms are those that algorithms pull first: spread among all, or a sample."""
    total, rank = len(arms), whiten.shape[1]
    if len(first) != rank or len(np.unique(first)) != rank:
        return False
    count = max(_SAMPLED, _PER_DIMENSION * rank)
    while True:
        step = max(1, total // count)
        sample = np.arange(0, total, step)
        places = np.searchsorted(sample, first)
        listed = places < len(sample)
        listed[listed] = sample[places[listed]] == first[listed]
        if listed.all() and are_spread(arms[sample] @ whiten, places):
            return True
        if step == 1:
            return False
        count *= 8
