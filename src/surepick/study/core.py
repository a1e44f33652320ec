"""What every study offers, be it in a database here or with a service."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

from surepick.algorithms.base import Algorithm
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.forecast import Ahead
from surepick.run.standing import Standing
from surepick.storage.records import Event, Rewards, StudyProgress
from surepick.study.changes import Change
from surepick.study.checks.checks import Checks
from surepick.study.limits import LimitChange
from surepick.study.pulls import Pull, Rewarded, Told
from surepick.study.traffic.core import TrafficCore
from surepick.study.turns import OptionChange
from surepick.study.workers.measure import Measurement
from surepick.text import plural


class StudyCore(TrafficCore):
    """The public core of :class:`surepick.Study` and :class:`surepick.client.RemoteStudy`.

    Examples
    --------
    Code that takes this works with both:

    >>> def left(study: StudyCore) -> int:
    ...     return study.progress().size - study.progress().told
    >>> import surepick as sp
    >>> left(sp.create_study("core", sp.Problem([[1.0], [2.0]]), storage="memory://")) > 0
    True
    """

    name: str

    def _repr_html_(self) -> str:
        from surepick import notebook

        now = self.status()
        head = f"{self.name}: {plural(now['samples'], 'measurement')}"
        left = f"{len(now['survivors']):,} of {now['options']:,} options still in the race"
        said = self.answer.plain if now["finished"] else left
        warnings = (notebook.text(f"Warning: {words}") for words in now["warnings"])
        table = Standing.from_dict(now["standing"]).table()
        return notebook.panel(head, notebook.text(said), table, *warnings)

    # -- what it was created with ----------------------------------------------------------
    @property
    @abstractmethod
    def problem(self) -> Problem:
        """The problem; do not change it."""

    @property
    @abstractmethod
    def algorithm(self) -> Algorithm:
        """The algorithm and its settings."""

    @property
    @abstractmethod
    def meta(self) -> dict[str, Any]:
        """What it was given to keep when it was created."""

    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """What it was created with, as JSON-ready values."""

    @property
    def strata(self) -> str | None:
        """What strata are called (``"day"``, ``"plate"``, …); None where there are none."""
        return self.meta.get("strata")

    def features_of(self, arm: int) -> dict[str, Any]:
        """The cells of an option's row in the table that the study was made from."""
        return self.features_by_arm([arm])[arm]

    def features_by_arm(self, arms: Iterable[int]) -> dict[int, dict[str, Any]]:
        """The cells of several options' rows; the table is read once for all of them."""
        columns = (self.meta.get("columns") or {}).items()
        return {arm: {name: cells[arm] for name, cells in columns} for arm in set(arms)}

    # -- ask, tell, fail -------------------------------------------------------------------
    @abstractmethod
    def ask(
        self,
        n: int = 1,
        worker: str | None = None,
        lease: float = 300.0,
        *,
        wait: float = 0.0,
        stratum: str | int | None = None,
        same: bool = False,
    ) -> list[Pull]:
        """Up to ``n`` pulls to measure, leased for ``lease`` seconds."""

    def tell(
        self,
        pull_id: int,
        reward: float,
        worker: str | None = None,
        *,
        strict: bool = False,
        label: str | None = None,
    ) -> Told:
        """Hand in the reward of a pull; once this returns, it is kept.

        The first reward told for a pull counts. The same again is fine. Another one is
        refused with ``TellConflictError``, unless it comes from a worker who was too late:
        see :class:`Told`. A pull may be told after its lease has run out, as long as nobody else
        has been given it.

        Parameters
        ----------
        pull_id
            The ``id`` of what :meth:`ask` returned.
        reward
            A finite number.
        worker
            Who measured it; not needed in the process that asked.
        strict
            Refuse a reward that is far from all that was measured before; otherwise it is accepted,
            and :attr:`Told.warning` says so.
        label
            Which option was measured: the reward is refused where its pull was for another one.
        """
        told = self.tell_many([(pull_id, reward, label)], worker, strict=strict)
        return told[0].or_refuse(reward)

    @abstractmethod
    def tell_many(
        self,
        rewards: Rewarded,
        worker: str | None = None,
        *,
        strict: bool = False,
    ) -> list[Told]:
        """Hand in many rewards at once: all are recorded, or (on an error) none."""

    @abstractmethod
    def fail(self, pull_id: int, reason: str = "", worker: str | None = None) -> bool:
        """Say that a pull could not be measured: it goes back in line."""

    # -- correct, withdraw -----------------------------------------------------------------
    @abstractmethod
    def correct(self, pull_id: int, reward: float, *, reason: str, by: str | None = None) -> Change:
        """Let another reward count for a pull that was told, as the first one was wrong."""

    @abstractmethod
    def withdraw(self, pull_id: int, *, reason: str, by: str | None = None) -> Change:
        """Take back the reward of a pull: it does not count at all."""

    @abstractmethod
    def withdraw_token(self, token: str, *, reason: str, by: str | None = None) -> list[Change]:
        """Withdraw all rewards that came with one token of a service."""

    @abstractmethod
    def corrections(self) -> list[Change]:
        """All rewards that were corrected or withdrawn, in the order in which that was done."""

    # -- add, retire -----------------------------------------------------------------------
    @abstractmethod
    def add(self, options: Any, *, reason: str = "", by: str | None = None) -> OptionChange:
        """Add options; the answer is then the best of all that were not retired."""

    @abstractmethod
    def retire(self, label: str, *, reason: str, by: str | None = None) -> OptionChange:
        """Retire an option: it is not measured any more, and cannot be the answer."""

    @abstractmethod
    def option_changes(self) -> list[OptionChange]:
        """All options that were added or retired, in the order in which that was done."""

    # -- limits ----------------------------------------------------------------------------
    @abstractmethod
    def limit(
        self,
        *,
        max_samples: int | float | str | None = None,
        budget: float | str | None = None,
        reason: str = "",
        by: str | None = None,
    ) -> LimitChange:
        """Change how much may be measured in all, and what it may cost.

        What was asked for is measured in any case. A study that has ended because a limit was
        reached goes on, if the new one is higher. The guarantee does not depend on limits.

        Parameters
        ----------
        max_samples, budget
            The most measurements, and the most that they may cost (where options have no costs,
            each costs 1). None leaves a limit as it is, ``"none"`` takes it away.
        reason
            Why; anybody who sees the certificate can read it.
        by
            Who changes it.
        """

    @abstractmethod
    def limit_changes(self) -> list[LimitChange]:
        """All changes of the limits, in the order in which they were made."""

    # -- pause, resume, stop ---------------------------------------------------------------
    @abstractmethod
    def pause(self, reason: str = "", by: str | None = None) -> bool:
        """Hand out nothing until :meth:`resume`; pulls that are out can still be told."""

    @abstractmethod
    def resume(self, reason: str = "", by: str | None = None) -> bool:
        """Hand out pulls again; False where it was not paused."""

    @abstractmethod
    def stop(self, reason: str = "", by: str | None = None) -> Answer:
        """End the study now, for good, and say what is known."""

    # -- measuring with a function ---------------------------------------------------------
    @abstractmethod
    def run(
        self,
        measure: Callable[[Measurement], Any],
        workers: int = 1,
        progress: bool = False,
        *,
        timeout: float = math.inf,
        retries: int = 2,
        name: str | None = None,
        stratum: str | None = None,
    ) -> Answer:
        """Measure with a Python function until the study is finished; the answer."""

    # -- where it stands -------------------------------------------------------------------
    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether there is an answer."""

    @property
    @abstractmethod
    def answer(self) -> Answer:
        """The answer, once finished."""

    @abstractmethod
    def progress(self) -> StudyProgress:
        """Where the study stands, in a few numbers."""

    @abstractmethod
    def standing(self) -> Standing:
        """What is known now about every option.

        Who leads, and of each option what it is estimated to be worth, how far it is behind and
        between which ends, and the p-value of "this one is the best". All of it holds at any time,
        however often one looks. ``standing()["estimate"]`` is a column, ``standing().frame()`` a
        pandas DataFrame.
        """

    @abstractmethod
    def forecast(self) -> Ahead:
        """How many more measurements the study will take: an interval that holds for 8 of 10.

        Copies of the study go on from where it stands, on truths that are likely by now, which
        takes a second or two; it is done once for each complete batch. Where nothing can be said
        yet, the ends are None, and ``why`` says why.
        """

    @abstractmethod
    def status(self) -> dict[str, Any]:
        """Where the study stands, with the checks and the outlook, as JSON-ready values."""

    @abstractmethod
    def checks(self) -> Checks:
        """Whether what the study rests on holds: the model, the noise scale, rewards that stay."""

    @abstractmethod
    def rewards(self) -> Rewards:
        """Every reward that counts, with pull, arm and time, in the order of the pulls."""

    @abstractmethod
    def events(self, *kinds: str) -> list[Event]:
        """Everything else that was said: duplicates, conflicts, late tells, failures."""

    @abstractmethod
    def history(self) -> list[dict[str, int]]:
        """A row for each complete batch: its number, samples so far, survivors after it."""

    @abstractmethod
    def export(self, path: str | Path, form: str | None = None, what: str = "measurements") -> Path:
        """Write what was measured to a file: CSV, JSON or Parquet, by its ending or ``form``."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_study(study: StudyCore) -> Checks:
    """Look at everything that was measured so far; the same as ``study.checks()``.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("checked", sp.Problem([[1.0], [2.0]]), storage="memory://")
    >>> check_study(study).warnings
    []
    """
    return study.checks()
