"""Many workers at once, served by one process: their asks and tells share transactions.

Each worker gets exactly what it would get by itself. A service with hundreds of workers waits
for the disk once for all who came meanwhile, instead of once for each.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from surepick.arrays.validate import positive, whole
from surepick.errors import SurepickError, UnknownPullError
from surepick.storage import Transaction
from surepick.study.desk import leases
from surepick.study.study import ANONYMOUS, Pull, Study, Told, as_name


@dataclass(frozen=True)
class Ask:
    """What one worker asks for; see :meth:`Study.ask`."""

    n: int = 1
    worker: str | None = None
    lease: float = 300.0


@dataclass(frozen=True)
class Tell:
    """What one worker tells; see :meth:`Study.tell_many`."""

    rewards: Sequence[tuple[int, float]]
    worker: str | None = None


@dataclass(frozen=True)
class Given:
    """What an ask came to."""

    pulls: list[Pull]
    finished: bool


class Crowd:
    """Asks and tells of many workers for one study.

    Parameters
    ----------
    study
        The study; nothing is remembered here about who holds which pull.
    """

    def __init__(self, study: Study) -> None:
        self.study = study

    # -- tell -------------------------------------------------------------------------------
    def tell(self, tells: Sequence[Tell]) -> list[list[Told] | SurepickError]:
        """For each tell what became of its rewards, or the error that concerns it alone."""
        checked: list[list[tuple[int, float, str | None]] | SurepickError] = []
        for one in tells:
            try:
                checked.append(self._check(one))
            except SurepickError as error:
                checked.append(error)
        good = [one for one in checked if not isinstance(one, SurepickError)]
        try:
            told = iter(self._tell_together(good))
        except UnknownPullError:  # of one of them: the others must not suffer for it
            told = iter([self._tell_alone(one) for one in good])
        return [one if isinstance(one, SurepickError) else next(told) for one in checked]

    def _check(self, tell: Tell) -> list[tuple[int, float, str | None]]:
        if tell.worker is not None:
            as_name(tell.worker, "worker")
        pairs = [self.study._check_tell(pair) for pair in tell.rewards]
        return [(pull, reward, tell.worker) for pull, reward in pairs]

    def _tell_alone(self, one: list[tuple[int, float, str | None]]) -> list[Told] | SurepickError:
        try:
            return self._tell_together([one])[0]
        except UnknownPullError as error:
            return error

    def _tell_together(self, parts: list[list[tuple[int, float, str | None]]]) -> list[list[Told]]:
        study = self.study
        told = [row for part in parts for row in part]
        if not told:
            return [[] for _ in parts]
        who = told[0][2] or study._who
        outcomes, complete = study.storage.write(lambda tx: leases.tell(tx, study._id, told, who))
        if complete:
            study._advance_quietly()
        rows = iter([Told(one.pull, one.status, one.value) for one in outcomes])
        return [[next(rows) for _ in part] for part in parts]

    # -- ask --------------------------------------------------------------------------------
    def ask(self, asks: Sequence[Ask]) -> list[Given | SurepickError]:
        """For each ask its pulls, or the error that concerns it alone."""
        found: list[Given | SurepickError | None] = [None] * len(asks)
        checked: dict[int, tuple[int, str, float]] = {}
        for i, one in enumerate(asks):
            try:
                holder = ANONYMOUS + uuid.uuid4().hex
                if one.worker is not None:
                    holder = as_name(one.worker, "worker")
                checked[i] = whole(one.n, "n", least=1), holder, positive(one.lease, "lease")
            except SurepickError as error:
                found[i] = error
        if checked:
            for i, given in self._ask_together(checked).items():
                found[i] = given
        return [one for one in found if one is not None]

    def _ask_together(self, asks: dict[int, tuple[int, str, float]]) -> dict[int, Given]:
        study, labels = self.study, self.study.problem.labels
        tries = 0

        def work(tx: Transaction) -> dict[int, leases.Asked]:
            nonlocal tries
            tries += 1
            return {
                i: study._take(tx, n, holder, lease, again=tries > 1)
                for i, (n, holder, lease) in asks.items()
            }

        while True:
            asked = study.storage.write(work)
            if not any(one.advance for one in asked.values()):
                break
            study._advance()
        return {
            i: Given(
                [Pull(x.pull, x.arm, labels[x.arm], x.attempts) for x in one.leases], one.finished
            )
            for i, one in asked.items()
        }
