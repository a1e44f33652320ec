"""What blocks say about leads over one candidate, summed up for intervals that hold at all times.

For a lead and a shift μ there is capital on "the lead is above μ", with stakes that do not depend
on μ: it is at least 2/alpha at some time, for some μ that is not below the lead, with probability
at most alpha/2. So the largest μ at which it is that high is a lower end, and what the same
says of the negative lead is an upper end.

With one stake λ the log capital is λS − λ²Q/2 or more, S and Q being sums that depend on μ in a
plain way; over stakes that are normal with precision ρ and cut at 0 it comes to

    log 2 + log psi(S/√(ρ+Q)) + log(ρ/(ρ+Q))/2.

- Known scale: S = Σ I (estimate − μ), Q = Σ I.
- Symmetric noise: S = Σ u and Q = Σ u² over all parts, u being the part's estimate less μ, times
  its information. A product of 1 + tanh(λu), which falls with μ, is above it; so the largest of
  all refuted μ counts, although the capital itself does not fall with μ everywhere.
- One unknown scale: in the payoff of Student's bets, which is convex in w, w is replaced by its
  mean.

Bounded rewards have a few stakes, each with a capital whose log is a line in μ.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from surepick.algorithms.pooled.market import Pairs
from surepick.arrays.types import FloatArray
from surepick.proof.payoffs.normal import log_psi
from surepick.proof.payoffs.stakes import ACCOUNTS, PRECISIONS

_STAKES = 8  # of bounded rewards
_CLEAR = 3.0  # standard errors that a stake is best for, at 4, 16, 64 … times the unit


class Sums(ABC):
    """Sums about the leads of all candidates over one, in one way of reading blocks."""

    def __init__(self, candidates: int) -> None:
        self._M = candidates
        self.unit: FloatArray | None = None  # information that a prior precision is a multiple of

    def take(self, ahead: Pairs, behind: Pairs) -> None:
        """A block: ``ahead`` has candidates as rivals of the one; ``behind`` the opposite."""
        now = ahead.bets.unit[0]
        known = now if self.unit is None else self.unit
        self.unit = np.where(np.isnan(known), now, known)
        self._add(ahead, behind)

    def middle(self, leads: FloatArray) -> FloatArray:
        """Leads of the guide, in the unit of these intervals."""
        return leads

    def grow(self, count: int) -> None:
        """So many candidates more, behind all others, of which nothing was said yet."""
        self._M += count
        if self.unit is not None:
            self.unit = np.append(self.unit, np.full(count, math.nan))
        self._grow(count)

    @abstractmethod
    def _grow(self, count: int) -> None: ...

    @abstractmethod
    def _add(self, ahead: Pairs, behind: Pairs) -> None: ...

    @abstractmethod
    def log_capital(self, sign: float, shift: FloatArray) -> FloatArray:
        """On "sign · lead is above sign · shift", (M,)."""

    @abstractmethod
    def columns(self) -> list[Any]:
        """Its memory, but for the unit."""

    @abstractmethod
    def restore(self, columns: list[Any]) -> None:
        """Take on a saved memory."""

    def _mixed(self, S: FloatArray, Q: FloatArray) -> FloatArray:
        total = np.full(self._M, -math.inf)
        assert self.unit is not None
        for multiple, share in zip(PRECISIONS, ACCOUNTS):
            precision = multiple * self.unit
            after = precision + Q
            logs = log_psi(S / np.sqrt(after)) + 0.5 * np.log(precision / after)
            total = np.logaddexp(total, logs + math.log(2.0 * share))
        return total


class KnownSums(Sums):
    """Noise of known scale."""

    def __init__(self, candidates: int) -> None:
        super().__init__(candidates)
        self._sums = np.zeros((3, candidates))

    def _add(self, ahead: Pairs, behind: Pairs) -> None:
        lead, information, off = _plain(ahead)
        self._sums += np.stack([information, information * lead, information * off])

    def _grow(self, count: int) -> None:
        self._sums = np.pad(self._sums, ((0, 0), (0, count)))

    def log_capital(self, sign: float, shift: FloatArray) -> FloatArray:
        information, score, off = self._sums
        return self._mixed(sign * (score - shift * information) - off, information)

    def columns(self) -> list[Any]:
        return [self._sums]

    def restore(self, columns: list[Any]) -> None:
        self._sums = columns[0]


class SymmetricSums(Sums):
    """Symmetric noise of any scales, part by part."""

    def __init__(self, candidates: int) -> None:
        super().__init__(candidates)
        self._sums = np.zeros((9, candidates))

    def _add(self, ahead: Pairs, behind: Pairs) -> None:
        _, information, off = _plain(ahead)
        contrasts, parts = ahead.contrasts()
        # of each part: its estimate D, its information w, what is allowed for
        D, w = contrasts[0], (information / parts[0])[:, None]
        w = np.where(np.arange(D.shape[1]) < parts[0][:, None], w, 0.0)
        less = np.broadcast_to(off[:, None], D.shape)
        terms = (w, w * D, w * less, w**2, w**2 * D, (w * D) ** 2)
        mixed = (w**2 * less, w**2 * D * less, (w * less) ** 2)
        self._sums += np.stack([term.sum(axis=1) for term in (*terms, *mixed)])

    def _grow(self, count: int) -> None:
        self._sums = np.pad(self._sums, ((0, 0), (0, count)))

    def log_capital(self, sign: float, shift: FloatArray) -> FloatArray:
        w, wD, wL, ww, wwD, wwDD, wwL, wwDL, wwLL = self._sums
        S = sign * (wD - shift * w) - wL
        Q = wwDD - 2 * shift * wwD + shift**2 * ww - 2 * sign * (wwDL - shift * wwL) + wwLL
        return self._mixed(S, np.maximum(Q, 0.0))

    def columns(self) -> list[Any]:
        return [self._sums]

    def restore(self, columns: list[Any]) -> None:
        self._sums = columns[0]


class StudentSums(Sums):
    """Normal noise of one scale that nobody knows: every block is kept."""

    def __init__(self, candidates: int) -> None:
        super().__init__(candidates)
        self._blocks: list[list[Any]] = []

    def _add(self, ahead: Pairs, behind: Pairs) -> None:
        squares, freedom = ahead.seen.facts
        if freedom > 0 and squares > 0.0:
            self._blocks.append([*_plain(ahead), float(squares), int(freedom)])

    def _grow(self, count: int) -> None:
        self._blocks = [
            [*(np.append(column, np.zeros(count)) for column in block[:3]), *block[3:]]
            for block in self._blocks
        ]

    def log_capital(self, sign: float, shift: FloatArray) -> FloatArray:
        S, Q = np.zeros(self._M), np.zeros(self._M)
        for lead, information, off, squares, freedom in self._blocks:
            z = np.sqrt(information / squares) * (sign * (lead - shift) - off)
            radius = math.sqrt(2.0) * math.exp(
                math.lgamma(0.5 * (freedom + 2)) - math.lgamma(0.5 * (freedom + 1))
            )
            S += np.sqrt(information) * radius * z / np.sqrt(1.0 + z * z)
            Q += information
        return self._mixed(S, Q)

    def columns(self) -> list[Any]:
        return self._blocks

    def restore(self, columns: list[Any]) -> None:
        self._blocks = columns


class BoundedSums(Sums):
    """Rewards between two bounds."""

    def __init__(self, candidates: int) -> None:
        super().__init__(candidates)
        self._sums = np.zeros((2, 2, candidates, _STAKES))  # sides; heights and slopes of lines

    def _add(self, ahead: Pairs, behind: Pairs) -> None:
        assert self.unit is not None
        stakes = _CLEAR / np.sqrt(self.unit[:, None] * 4.0 ** np.arange(1, _STAKES + 1))
        sides = (ahead, stakes[None, :, :, None]), (behind, stakes[:, None, :, None])
        for own, (pairs, staked) in zip(self._sums, sides):
            height = pairs.staked(staked).reshape(self._M, _STAKES)
            above = pairs.raised(1.0).staked(staked).reshape(self._M, _STAKES)
            own += np.stack([height, above - height])

    def _grow(self, count: int) -> None:
        self._sums = np.pad(self._sums, ((0, 0), (0, 0), (0, count), (0, 0)))

    def log_capital(self, sign: float, shift: FloatArray) -> FloatArray:
        height, slope = self._sums[0 if sign > 0 else 1]
        logs = height - sign * shift[:, None] * slope
        top = logs.max(axis=1)
        return top + np.log(np.exp(logs - top[:, None]).mean(axis=1))

    def columns(self) -> list[Any]:
        return [self._sums]

    def restore(self, columns: list[Any]) -> None:
        self._sums = columns[0]


def _plain(ahead: Pairs) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Leads as the block has them, their information, and what misfit may add to them."""
    news = ahead.news
    return (news.lead - news.shift)[0], news.information[0], -news.shift[0]
