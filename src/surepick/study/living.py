"""The course of a study in a database here: corrections, pauses, its end, what lies ahead."""

from __future__ import annotations

from functools import cached_property

from surepick.arrays.validate import real
from surepick.run import Answer
from surepick.run.forecast import Ahead
from surepick.study.changes import Change
from surepick.study.core import StudyCore
from surepick.study.desk import course
from surepick.study.desk.desk import Desk
from surepick.study.forecast import BY_PERIOD, Forecasts
from surepick.study.pulls import as_name, as_reason
from surepick.study.traffic.rules import rules_of


class LivingStudy(StudyCore):
    """The part of :class:`surepick.Study` about mistakes, interruptions and what lies ahead."""

    desk: Desk

    def forecast(self) -> Ahead:
        """How many more measurements; see :meth:`surepick.study.core.StudyCore.forecast`."""
        if rules_of(self.desk.record) is not None:
            return Ahead(None, None, None, 0, BY_PERIOD)
        return self._forecasts.of(*self.desk.load())

    @cached_property
    def _forecasts(self) -> Forecasts:
        return Forecasts()

    # -- correct, withdraw -----------------------------------------------------------------
    def correct(self, pull_id: int, reward: float, *, reason: str, by: str | None = None) -> Change:
        """Let another reward count for a pull that was told, as the first one was wrong.

        As long as its batch is open, it is simply replaced; afterwards everything is worked out
        again. Old and new reward, who, when and why are kept, exported and part of the certificate.

        The guarantee stands if which rewards are looked at again depends neither on the rewards
        nor on whom somebody favours. If one was looked at only because it seemed too high or too
        low, it does not.

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
        """Let the reward of a pull not count at all; see :meth:`correct`.

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
