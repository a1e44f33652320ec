"""What was decided about a table of scores, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surepick.finding import BEST_MEAN, Claim
from surepick.integrations.evaluations.scores import ScoreTable
from surepick.run import Answer, Run
from surepick.run.details import Unmeasured, unmeasured_in_words
from surepick.text import plural


@dataclass(frozen=True, eq=False)
class EvaluationDecision:
    """The option to use, how sure that is, and what was looked at; true unless undecided.

    Examples
    --------
    >>> from surepick.integrations.evaluations import decide
    >>> found = decide(ScoreTable(["a", "b"], ["x", "y"], [[1, 1], [1, 0]]))
    >>> found.option, found.how, bool(found)
    ('a', 'complete', True)
    >>> print(found)
    a, after 0 of 4 evaluations. It has the best mean of 2 that are fully known. Nothing is left \
to chance: everything was evaluated.
    """

    option: str
    #: ``"proven"``, ``"complete"`` (certain, as far as those are concerned that were not ruled out
    #: by chance: their cells are known) or ``"undecided"``
    how: str
    left: tuple[str, ...]  #: options that were not ruled out; several that tie at the end, perhaps
    evaluations: int  #: cells that were filled for this
    table: ScoreTable  #: with all cells that are known now
    answer: Answer  #: of the run, with its certificate
    #: cells that could not be evaluated, and why: they counted as the worst score, and are still
    #: unknown in the table
    failed: tuple[tuple[str, str, str], ...] = ()
    earlier: int = (
        0  #: scores that earlier calls have left in the file, and that were not asked for
    )

    def __bool__(self) -> bool:
        return self.how != "undecided"

    def __str__(self) -> str:
        """The decision in a few sentences."""
        made = (
            f"{self.option}, after {self.evaluations:,} of {self.table.scores.size:,} evaluations."
        )
        if self.earlier:
            made = f"{made[:-1]} and {self.earlier:,} that were kept from before."
        if self.how == "complete" and not self.answer.guarantee:
            ruled_out = len(self.table.options) - len(self.left)
            sure = self.answer.guarantee.promise.how_sure("rule the best out")
            risk = (
                f"{plural(ruled_out, 'other was', 'others were')} ruled out. {sure}"
                if ruled_out
                else "Nothing is left to chance: everything was evaluated."
            )
            said = f"{Claim('It', BEST_MEAN, True, by=str(len(self.left)))} {risk}"
            return f"{made} {said} {unmeasured_in_words(self.answer.unmeasured)}".rstrip()
        return f"{made} {self.answer.plain}"


def decided(
    run: Run,
    answer: Answer,
    known: ScoreTable,
    filled: int,
    lacking: Sequence[Unmeasured],
    earlier: int,
) -> EvaluationDecision:
    """What a run that has ended says about a table, where these cells could not be evaluated."""
    left = list(run.active)
    option, how = answer.arm, "undecided"
    if answer.guarantee:
        how = "complete" if "for certain" in answer.guarantee else "proven"
    elif not np.isnan(known.scores[left]).any():
        means = run.problem.sign * known.scores[left].mean(axis=1)
        option, how = left[int(means.argmax())], "complete"
    failed = [(one.label, known.items[one.item], one.reason) for one in lacking]
    names = tuple(known.options[i] for i in left)
    rest = (known.without([cell[:2] for cell in failed]), answer, tuple(failed), earlier)
    return EvaluationDecision(known.options[option], how, names, filled, *rest)
