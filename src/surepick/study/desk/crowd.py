"""Many workers at once, served by one process: their asks and tells share transactions.

Each worker gets exactly what it would get by itself. A service with hundreds of workers waits
for the disk once for all who came meanwhile, instead of once for each.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from surepick.algorithms.base import Algorithm
from surepick.arrays.validate import TEN_YEARS, positive, whole
from surepick.errors import SurepickError, UnknownPullError
from surepick.problem import Problem
from surepick.storage import Transaction
from surepick.storage.records import Holder, Lease
from surepick.study.desk import leases
from surepick.study.desk.asking import Asked, Wanted
from surepick.study.desk.desk import FEW, Desk
from surepick.study.pulls import ANONYMOUS, Pull, Reward, Told, as_name
from surepick.study.strata import check_stratum

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ask:
    """What one worker asks for; see :meth:`Study.ask`."""

    n: int = 1
    worker: str | None = None
    lease: float = 300.0
    token: str | None = None  #: id of the token with which it came
    longest: float | None = None  #: seconds for which a pull may be kept by asking again
    stratum: str | None = None  #: the day, plate, … that the pulls are for
    same: bool = False  #: pulls of one option only
    still: frozenset[int] = frozenset()  #: pulls that it has, and did not measure yet
    #: id of this ask, the same where it is repeated because its answer was lost
    request: str = field(default_factory=lambda: uuid.uuid4().hex)


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

    # -- both -------------------------------------------------------------------------------
    def exchange(
        self, tells: Sequence[Sequence[Reward]], asks: Sequence[Ask]
    ) -> tuple[list[list[Told] | SurepickError], list[Handed | SurepickError]]:
        """Take in rewards, then hand out pulls, in one transaction wherever that is possible.

        The disk is waited for once. As ever, a reward is on it before anybody is told so.
        """
        checked, found = self._checked_tells(tells), list[Handed | SurepickError | None]()
        wanted = self._checked_asks(asks, found)
        together = [r for one in checked if not isinstance(one, SurepickError) for r in one]
        wide = any(one.new is not None for one in wanted.values())
        if not together or not wanted or wide or len(together) > FEW:
            return self.tell(tells), self.ask(asks)
        desk, tries = self._desk, 0
        aside = desk.aside(together)

        def work(tx: Transaction) -> tuple[list[Told], dict[int, Asked] | None]:
            nonlocal tries
            tries += 1
            who = desk.who(together[0])
            told, complete = leases.tell(tx, desk.record.id, together, who, aside, desk.strata)
            if complete:
                return told, None
            return told, {i: desk.lease(tx, one, tries > 1) for i, one in wanted.items()}

        try:
            told, asked = desk.storage.write(work)
        except UnknownPullError:  # one worker's mistake, but nothing was recorded for anyone
            return self.tell(tells), self.ask(asks)
        rest = iter(desk.look.noted(told, together))
        answers = [
            one if isinstance(one, SurepickError) else [next(rest) for _ in one] for one in checked
        ]
        if asked is None:
            desk.advance_quietly()
        if asked is None:
            return answers, self.ask(asks)
        if any(one.advance or one.plan for one in asked.values()):
            return answers, self.ask(asks)
        for i, given in self._handed(wanted, asked).items():
            found[i] = given
        return answers, [one for one in found if one is not None]

    # -- tell -------------------------------------------------------------------------------
    def tell(self, tells: Sequence[Sequence[Reward]]) -> list[list[Told] | SurepickError]:
        """For the rewards of each worker what became of them, or the error that is theirs alone."""
        checked = self._checked_tells(tells)
        good = [one for one in checked if not isinstance(one, SurepickError)]
        try:
            told = iter(self._tell_together(good))
        except UnknownPullError:  # one worker's mistake, but nothing was recorded for anyone
            told = iter([self._tell_alone(one) for one in good])
        return [one if isinstance(one, SurepickError) else next(told) for one in checked]

    def _checked_tells(
        self, tells: Sequence[Sequence[Reward]]
    ) -> list[list[Reward] | SurepickError]:
        checked: list[list[Reward] | SurepickError] = []
        for rewards in tells:
            try:
                checked.append([self._check(reward) for reward in rewards])
            except SurepickError as error:
                checked.append(error)
        return checked

    def _check(self, reward: Reward) -> Reward:
        if reward.worker is not None:
            as_name(reward.worker, "worker")
        return self._desk.check_reward(reward.pair, reward.worker, reward.token)

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
        found: list[Handed | SurepickError | None] = []
        checked = self._checked_asks(asks, found)
        if checked:
            for i, given in self._ask_together(checked).items():
                found[i] = given
        return [one for one in found if one is not None]

    def _checked_asks(
        self, asks: Sequence[Ask], found: list[Handed | SurepickError | None]
    ) -> dict[int, Wanted]:
        """What is asked for; the errors of those who ask for what cannot be go to ``found``."""
        checked: dict[int, Wanted] = {}
        for i, one in enumerate(asks):
            found.append(None)
            try:
                holder = ANONYMOUS + uuid.uuid4().hex
                if one.worker is not None:
                    holder = as_name(one.worker, "worker")
                n, lease = whole(one.n, "n", least=1), positive(one.lease, "lease", TEN_YEARS)
                stratum = check_stratum(self._desk.strata, one.stratum)
                who = Holder(holder, one.token)
                new = FEW if n > FEW and not one.same else None
                own = (one.longest, stratum, one.same, one.still, new, one.request)
                checked[i] = Wanted(n, who, lease, *own)
            except SurepickError as error:
                found[i] = error
        return checked

    def _ask_together(self, asks: dict[int, Wanted]) -> dict[int, Handed]:
        few = {i: one for i, one in asks.items() if one.new is None}
        many = [{i: one} for i, one in asks.items() if one.new is not None]
        found: dict[int, Handed] = {}
        for group in ([few] if few else []) + many:  # who asks for many does so alone
            found |= self._handed(group, self._desk.ask(group))
        return found

    def _handed(self, asks: dict[int, Wanted], asked: dict[int, Asked]) -> dict[int, Handed]:
        found = {}
        for i, one in asked.items():
            given = one.leases if asks[i].new is None else self._with_more(asks[i], one.leases)
            found[i] = Handed(self._desk.pulls(given), one.finished)
        return found

    def _with_more(self, wanted: Wanted, given: list[Lease]) -> list[Lease]:
        """Very many are handed out a few at a time: others would wait for all of them."""
        new = len(given)
        while new >= FEW and len(given) < wanted.n:
            more = self._desk.lease_more(replace(wanted, n=min(FEW, wanted.n - len(given))))
            given, new = given + more, len(more)
        return given


def rehearse(algorithm: Algorithm) -> None:
    """Measure a problem of three options for two batches, in memory.

    The first batch that a process works out takes a second longer than the next ones: compiled code
    is loaded when it is first called. Where hundreds of workers would wait for that, it is better
    done before they come.
    """
    try:
        problem = Problem([[1.0, 0.0], [0.5, 1.0], [0.0, 1.0]], noise=1.0)
        run = algorithm.start(problem, 0)
        for _ in range(2):
            if run.stopped:
                break
            batch = run.ask()
            run.tell(batch, 5.0 * problem.arms[batch.arms, 0])
        run.to_json()
    except Exception as trouble:  # the settings may not suit this tiny problem
        _log.debug("rehearsal of %s: %s", type(algorithm).__name__, trouble)
