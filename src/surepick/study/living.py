"""The course of a study here: corrections, other options, pauses, its end, what lies ahead."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from surepick.arrays.validate import real
from surepick.run import Answer
from surepick.run.forecast import Ahead
from surepick.storage.contract import Transaction
from surepick.study import limits, turns
from surepick.study.changes import Change
from surepick.study.desk import course, limit, turn
from surepick.study.desk.desk import Desk
from surepick.study.forecast import Forecasts
from surepick.study.limits import LimitChange
from surepick.study.newcomers import Newcomers
from surepick.study.pulls import as_name, as_reason
from surepick.study.traffic.rules import rules_of
from surepick.study.traffic.study import TrafficStudy
from surepick.study.turns import Act, OptionChange


class LivingStudy(TrafficStudy):
    """The part of :class:`surepick.Study` about mistakes, interruptions and what lies ahead."""

    desk: Desk

    def forecast(self) -> Ahead:
        """How many more measurements; see :meth:`surepick.study.core.StudyCore.forecast`."""
        from surepick.simulate.ahead import ahead

        sends_traffic = rules_of(self.desk.record) is not None
        simulate = self.traffic.periods_ahead if sends_traffic else ahead
        return self._forecasts.of(*self.desk.load(), simulate)

    @cached_property
    def _forecasts(self) -> Forecasts:
        return Forecasts()

    # -- correct, withdraw -----------------------------------------------------------------
    def correct(self, pull_id: int, reward: float, *, reason: str, by: str | None = None) -> Change:
        """Let another reward count for a pull that was told, as the first one was wrong.

        As long as its batch is open, it is simply replaced; afterwards everything is worked out
        again. Old and new reward, who, when and why are kept, exported and part of the certificate.

        The guarantee stands if which rewards are looked at again depends neither on the rewards
        nor on whom somebody favours, or if every reading that was pointed out is looked up and
        what had been written down wrongly is put right. To measure again what looks wrong takes a
        rule from the start (``again=True``, see :mod:`surepick.study.again`).

        Parameters
        ----------
        pull_id, reward
            Which pull, and what was really measured. A reward that was withdrawn counts again.
        reason
            Why; anybody who sees the certificate can read it.
        by
            Who corrects it.
        """
        return self.desk.change({pull_id: real(reward, "reward")}, reason, by)[0]

    def withdraw(self, pull_id: int, *, reason: str, by: str | None = None) -> Change:
        """Take back the reward of a pull: it does not count at all; see :meth:`correct`.

        As long as its batch is open, the pull is measured again. Afterwards its batch has one
        reward less, and everything is worked out again.
        """
        return self.desk.change({pull_id: None}, reason, by)[0]

    def withdraw_token(self, token: str, *, reason: str, by: str | None = None) -> list[Change]:
        """Withdraw all rewards that came with one token of a service; its id, not its secret."""
        return self.desk.change(dict.fromkeys(self.desk.told_with(token)), reason, by)

    def corrections(self) -> list[Change]:
        """All rewards that were corrected or withdrawn, in the order in which that was done."""
        return self.desk.changes()

    # -- add, retire -----------------------------------------------------------------------
    def add(self, options: Any, *, reason: str = "", by: str | None = None) -> OptionChange:
        """Add options; the answer is then the best of all that were not retired.

        They come with the next batch: what is open is finished first. A study that has ended goes
        on. The guarantee stands, even if they are added because of what was seen so far.

        Parameters
        ----------
        options
            A table (a CSV or Parquet file, a DataFrame) with the columns of the study's own; a
            category may have levels that no option had before. For a study that was made from a
            problem: a :class:`surepick.Problem` with the same features (any behind those are new
            ones), or labels, where options have no features.
        reason
            Why; anybody who sees the certificate can read it.
        by
            Who adds them.
        """
        who = turn.who_of(reason, by, None)
        return turn.add(self.desk.storage, self.desk.record, Newcomers.of(options), who)

    def retire(self, label: str, *, reason: str, by: str | None = None) -> OptionChange:
        """Retire an option: it is not measured any more, and cannot be the answer.

        The batch that is open is finished first. Unless the option had been ruled out, all that had
        been are back in the race: they may be the best of those that are left. So a study that
        has ended may go on.

        Parameters
        ----------
        label
            Which option.
        reason
            Why; anybody who sees the certificate can read it.
        by
            Who retires it.
        """
        who = turn.who_of(reason, by, None, needed=True)
        return turn.retire(self.desk.storage, self.desk.record, label, who)

    def option_changes(self) -> list[OptionChange]:
        """All options that were added or retired, in the order in which that was done."""
        return [act.change for act in self.desk.storage.read(self._acts)]

    def _acts(self, tx: Transaction) -> list[Act]:
        return turns.read(tx, self.desk.record.id)

    # -- limits ----------------------------------------------------------------------------
    def limit(
        self,
        *,
        max_samples: int | float | str | None = None,
        budget: float | str | None = None,
        reason: str = "",
        by: str | None = None,
    ) -> LimitChange:
        """Change how much may be measured in all; see :meth:`StudyCore.limit`."""
        who = turn.who_of(reason, by, None)
        return limit.limit(self.desk.storage, self.desk.record, max_samples, budget, who)

    def limit_changes(self) -> list[LimitChange]:
        """All changes of the limits, in the order in which they were made."""
        return self.desk.storage.read(lambda tx: limits.read(tx, self.desk.record.id))

    # -- pause, resume, stop ---------------------------------------------------------------
    def pause(self, reason: str = "", by: str | None = None) -> bool:
        """Hand out nothing until :meth:`resume`; pulls that are out can still be told.

        Returns False where it was paused already, or is finished.
        """
        return course.pause(self.desk.storage, self.desk.record, True, *_said(by, reason))

    def resume(self, reason: str = "", by: str | None = None) -> bool:
        """Hand out pulls again; False where it was not paused."""
        return course.pause(self.desk.storage, self.desk.record, False, *_said(by, reason))

    def stop(self, reason: str = "", by: str | None = None) -> Answer:
        """End the study now, for good, and say what is known.

        The answer is the option that looks best, without a guarantee that it is. What does hold is
        said in its guarantee: with which probability the best is among the options that are left.
        Rewards of a batch that is not complete are kept, but not counted.
        """
        course.stop(self.desk.storage, self.desk.record, *_said(by, reason))
        return self.answer


def _said(by: str | None, reason: str) -> tuple[str | None, str]:
    return None if by is None else as_name(by, "by"), as_reason(reason)
