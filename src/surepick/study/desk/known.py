"""The problem of a study, to which options may come."""

from __future__ import annotations

from functools import cached_property

from surepick.problem import Problem
from surepick.run import Run
from surepick.storage.records import StudyProgress, StudyRecord
from surepick.study.desk import rebuild


class KnownProblem:
    """The part of a desk that knows which options there are."""

    record: StudyRecord

    def __init__(self) -> None:
        self._problem: Problem | None = None  # where options have come since it was created

    @property
    def problem(self) -> Problem:
        """The problem of the study, as this process last saw it: options may have come since."""
        return self._problem or self._first_problem

    @cached_property
    def _first_problem(self) -> Problem:
        return rebuild.problem_of(self.record)

    def current(self) -> Problem:
        """The problem of the study as it is now."""
        # Whatever changes them is another revision; until then nobody has to look.
        return self.load()[0].problem if self.progress().revision else self.problem

    def load(self) -> tuple[Run, StudyProgress]:
        """The run at the open batch."""
        raise NotImplementedError

    def progress(self) -> StudyProgress:
        """Where the study stands."""
        raise NotImplementedError
