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
from surepick.storage.records import Holder
from surepick.study.desk import leases
from surepick.study.desk.desk import Desk
from surepick.study.pulls import ANONYMOUS, Pull, Reward, Told, as_name


@dataclass(frozen=True)
class Ask:
    """What one worker asks for; see :meth:`Study.ask`."""

    n: int = 1
    worker: str | None = None
    lease: float = 300.0
    token: str | None = None  #: id of the token with which it came
    longest: float | None = None  #: seconds for which a pull may be kept by asking again


@dataclass(frozen=True)
class Handed:
    """What an ask came to."""

    pulls: list[Pull]
    finished: bool


class Crowd:
    """Asks and tells of many workers for one study.

    Parameters
    ----------
    desk
        The desk of the study; nothing is remembered here about who holds which pull.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    # -- tell -------------------------------------------------------------------------------
    def tell(self, tells: Sequence[Sequence[Reward]]) -> list[list[Told] | SurepickError]:
        """For the rewards of each worker what became of them, or the error that is theirs alone."""
        checked: list[list[Reward] | SurepickError] = []
        for rewards in tells:
            try:
                checked.append([self._check(reward) for reward in rewards])
            except SurepickError as error:
                checked.append(error)
        good = [one for one in checked if not isinstance(one, SurepickError)]
        try:
            told = iter(self._tell_together(good))
        except UnknownPullError:  # one worker's mistake, but nothing was recorded for anyone
            told = iter([self._tell_alone(one) for one in good])
        return [one if isinstance(one, SurepickError) else next(told) for one in checked]

    def _check(self, reward: Reward) -> Reward:
        if reward.worker is not None:
            as_name(reward.worker, "worker")
        return self._desk.check_reward(reward[:2], reward.worker, reward.token)

    def _tell_alone(self, rewards: list[Reward]) -> list[Told] | SurepickError:
        try:
            return self._tell_together([rewards])[0]
        except UnknownPullError as error:
            return error

    def _tell_together(self, parts: list[list[Reward]]) -> list[list[Told]]:
        together = [reward for part in parts for reward in part]
        told = iter(self._desk.tell(together) if together else ())
        return [[next(told) for _ in part] for part in parts]

    # -- ask --------------------------------------------------------------------------------
    def ask(self, asks: Sequence[Ask]) -> list[Handed | SurepickError]:
        """For each ask its pulls, or the error that concerns it alone."""
        found: list[Handed | SurepickError | None] = [None] * len(asks)
        checked: dict[int, tuple[int, Holder, float, float | None]] = {}
        for i, one in enumerate(asks):
            try:
                holder = ANONYMOUS + uuid.uuid4().hex
                if one.worker is not None:
                    holder = as_name(one.worker, "worker")
                n, lease = whole(one.n, "n", least=1), positive(one.lease, "lease")
                checked[i] = n, Holder(holder, one.token), lease, one.longest
            except SurepickError as error:
                found[i] = error
        if checked:
            for i, given in self._ask_together(checked).items():
                found[i] = given
        return [one for one in found if one is not None]

    def _ask_together(
        self, asks: dict[int, tuple[int, Holder, float, float | None]]
    ) -> dict[int, Handed]:
        desk, tries = self._desk, 0

        def work(tx: Transaction) -> dict[int, leases.Asked]:
            nonlocal tries
            tries += 1
            return {
                i: desk.lease(tx, n, holder, lease, tries > 1, longest)
                for i, (n, holder, lease, longest) in asks.items()
            }

        while True:
            asked = desk.storage.write(work)
            if not any(one.advance for one in asked.values()):
                break
            desk.advance()
        return {i: Handed(desk.pulls(one.leases), one.finished) for i, one in asked.items()}
