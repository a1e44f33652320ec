"""Decide by comparisons that were made before, looking at as few of them as it takes.

What they may prove. A run asks for comparisons one block after the other, and takes them from the
file: for each the next one of these two options, in an order that is drawn before anything is
looked at. That is as good as asking the judges anew if

- which comparisons were made, and how many of each two, was decided without looking at results
  (``chosen="in-advance"``): else what is in the file is selected by how it came out, and
- who was shown first was drawn at random. A file that always shows the same one first only
  says who is preferred *there*.

Where a file has too few comparisons of two options, the run ends there, and says that nothing is
proven. What is proven is about the judges and questions that the file was drawn from.

A file that grows, and is asked every day, would be a lottery ticket a day if its order were drawn
anew each time. So the order can be kept: what was there when it was asked stays as it is, what came
since is shuffled behind it, and the run goes through what was there as it did before. It is one run
then, on comparisons that come in one by one, and all of its answers together are wrong with
probability delta. Options that are new in the file join it there.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surepick.algorithms.items import in_order, mixed
from surepick.algorithms.pairs.pairs import Pairs
from surepick.arrays.types import IntArray
from surepick.errors import FormatError, InvalidInputError
from surepick.files import write_whole
from surepick.integrations.evaluations.reading import read_json
from surepick.integrations.judges.battles import Battle, Battles
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.measuring import Enough, Measuring
from surepick.run.order import seed_after


@dataclass(frozen=True, eq=False)
class BattleDecision:
    """The option to use, and what was looked at; true if it is proven."""

    answer: Answer  #: with its certificate
    used: int  #: comparisons of the file that were looked at
    missing: tuple[str, str] | None  #: two options of which the file had too few

    def __bool__(self) -> bool:
        return self.missing is None and bool(self.answer.guarantee)

    @property
    def option(self) -> str:
        """The answer, or what looks best where nothing is proven."""
        return self.answer.label

    def __str__(self) -> str:
        if self.missing is None:
            return f"{self.option}, after {self.used:,} comparisons. {self.answer.plain}"
        a, b = self.missing
        return (
            f"Undecided after {self.used:,} comparisons: the file has too few of {a} and {b}. "
            f"{self.option} looks best."
        )


def decide(
    battles: Battles,
    *,
    chosen: str,
    delta: float = 0.05,
    epsilon: float = 0.0,
    beats: str = "everyone",
    seed: int | None = None,
    kept: str | Path | None = None,
) -> BattleDecision:
    """Find the best option by comparisons that were made before, looking at as few as it takes.

    Parameters
    ----------
    battles
        What :func:`read_battles` read.
    chosen
        ``"in-advance"``: which comparisons were made, and which of them are handed in, did not
        depend on results. With ``"by-results"`` they prove nothing, and are refused.
    delta, epsilon, beats
        See :class:`surepick.algorithms.Pairs`.
    seed
        Of the order in which comparisons are looked at; by default a fresh one. It must not be
        chosen by results.
    kept
        A small file, made if it is not there, for comparisons that become more and are asked again
        and again: the same ones are then looked at in the same order, and later ones behind them,
        so that all of these answers together are wrong with probability delta. Without it each is
        a draw of its own.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pairs = [rng.choice(["tea", "milk", "mud"], 2, replace=False).tolist() for _ in range(900)]
    >>> likes = {"tea": 2, "milk": 1, "mud": 0}
    >>> made = Battles([Battle(a, b, float(likes[a] > likes[b])) for a, b in pairs])
    >>> found = decide(made, chosen="in-advance")
    >>> found.option, bool(found), found.used < 100
    ('tea', True, True)
    """
    if chosen != "in-advance":
        raise InvalidInputError(
            f"chosen: comparisons that were chosen by results ({chosen!r:.40}) are selected by how "
            "they came out, and prove nothing; start a study (surepick new … --pairs), or say "
            "'in-advance' if what was compared did not depend on results"
        )
    if not battles.drawn:
        raise InvalidInputError(
            "battles: the order of the options was not drawn at random here, so a judge who "
            "favours a position decides; let a study draw it (surepick new … --pairs)"
        )
    if battles.sides() > np.log(100):
        raise InvalidInputError(
            "battles: who comes first was not drawn by a fair coin in this file (one order is far "
            "more frequent than the other), so a judge who favours a position would decide; give "
            "the sides as they were shown"
        )
    algorithm = Pairs(delta, epsilon=epsilon, beats=beats)
    asked = {"delta": delta, "epsilon": epsilon, "beats": beats}
    order = _Order.of(battles, seed, asked, None if kept is None else Path(kept))
    parts = order.parts(battles)
    through = _Through(algorithm, Battles(parts[0]).options, order.seed)
    for part in parts:
        through.go_on(part)
    name = "file" if kept is None else "growing-file"
    through.run.rest_on(name, comparisons=len(battles))
    if kept is not None:
        order.write(Path(kept))
    return through.measuring.end()


@dataclass(frozen=True)
class _Order:
    """In which order comparisons are looked at: in parts, as they were there when it was asked."""

    seed: int
    asked: dict[str, Any]  #: what for
    ends: tuple[int, ...]  #: of each part, in comparisons
    digests: tuple[str, ...]  #: of each part

    @classmethod
    def of(
        cls, battles: Battles, seed: int | None, asked: dict[str, Any], kept: Path | None
    ) -> _Order:
        """That of before with what came since, or one that is drawn now."""
        if kept is not None and kept.exists():
            before = cls._read(kept)
            before._check(battles, asked, kept)
        else:
            before = cls(seed_after(seed, _digest(battles.all)), asked, (), ())
        first = before.ends[-1] if before.ends else 0
        if first == len(battles):
            return before
        digest = _digest(battles.all[first:])
        own = (*before.ends, len(battles)), (*before.digests, digest)
        return cls(before.seed, asked, *own)

    @classmethod
    def _read(cls, kept: Path) -> _Order:
        body = read_json(kept.read_text(encoding="utf-8"), str(kept))
        try:
            return cls(
                int(body["seed"]), body["asked"], tuple(body["ends"]), tuple(body["digests"])
            )
        except (KeyError, TypeError, ValueError):
            raise FormatError(
                f"{kept}: this is no file that battles.decide has kept; give kept= another name"
            ) from None

    def _check(self, battles: Battles, asked: dict[str, Any], kept: Path) -> None:
        if asked != self.asked:
            was = ", ".join(f"{name}={value!r}" for name, value in self.asked.items())
            raise InvalidInputError(
                f"kept: {kept} was begun with {was}; ask in the same way, or give another name"
            )
        firsts = (0, *self.ends)
        for first, end, digest in zip(firsts, self.ends, self.digests):
            if _digest(battles.all[first:end]) != digest:
                raise InvalidInputError(
                    f"battles: comparisons {first + 1:,} to {end:,} are not those that {kept} was "
                    "kept for; later ones belong behind them, and none may be changed or left out"
                )

    def parts(self, battles: Battles) -> list[list[Battle]]:
        """The comparisons, each part in an order of its own."""
        found = []
        for first, end, digest in zip((0, *self.ends), self.ends, self.digests):
            places = in_order(np.arange(first, end), mixed(self.seed, digest))
            found.append([battles.all[i] for i in places.tolist()])
        return found

    def write(self, kept: Path) -> None:
        body = {"seed": self.seed, "asked": self.asked, "ends": self.ends, "digests": self.digests}
        write_whole(kept, json.dumps(body, indent=2) + "\n")


def _digest(some: Sequence[Battle]) -> str:
    text = json.dumps([[one.first, one.second, one.value, one.question, one.judge] for one in some])
    return hashlib.sha256(text.encode()).hexdigest()


class _Through:
    """A run that takes its comparisons from what is there, and goes on where more come."""

    def __init__(self, algorithm: Pairs, options: Sequence[str], seed: int) -> None:
        self.run = algorithm.start(Problem.pairs(list(options)), seed)
        self.measuring = Measuring(self.run, self._decided)
        self.missing: tuple[str, str] | None = None  #: what it waits for
        self._there: dict[frozenset[str], list[Battle]] = {}
        self._taken = Counter[frozenset[str]]()  # of each two, for batches that were told,
        self._now = Counter[frozenset[str]]()  # and for the one that is open

    def go_on(self, battles: Sequence[Battle]) -> None:
        """As far as these, and what is left of those before, will do."""
        for one in battles:
            self._there.setdefault(frozenset((one.first, one.second)), []).append(one)
        known = self.run.problem.candidate_labels
        if new := [name for name in Battles(battles).options if name not in known]:
            self.run.add(None, new)
        self.measuring.go(self._verdicts)

    def _verdicts(self, arms: IntArray, _: Any) -> list[float]:
        """One batch, if there are comparisons for it."""
        problem, self._now, found = self.run.problem, Counter[frozenset[str]](), list[float]()
        assert problem.pairing is not None
        for first, second in map(problem.pairing.of, arms.tolist()):
            names = problem.candidate_labels[first], problem.candidate_labels[second]
            two = frozenset(names)
            place, there = self._taken[two] + self._now[two], self._there.get(two, [])
            if place == len(there):
                self.missing = names
                raise Enough
            # The file has drawn the order by a coin of its own, which is as good as the run's.
            one = there[place]
            found.append(one.value if one.first == names[0] else 1 - one.value)
            self._now[two] += 1
        self.missing = None
        self._taken, self._now = self._taken + self._now, Counter()
        return found

    def _decided(self, answer: Answer) -> BattleDecision:
        return BattleDecision(answer, (self._taken + self._now).total(), self.missing)
