"""The one loop of all that is measured here: ask, measure, tell, until there is an answer.

Whoever has something to measure says what an option, an item and a score are: a function that takes
the options of a batch, and their items where there are any, and gives a score for each. What comes
beside that is the same for all and stands here: what a call that failed counts as, what the promise
rests on then, what is kept for another time, and what is known where it is cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from surepick.arrays.types import IntArray
from surepick.calls.afresh import SET_BACK
from surepick.calls.kept import Kept, stopped
from surepick.calls.many import Calls
from surepick.run.answer import Answer
from surepick.run.details import Unmeasured
from surepick.run.run import Run

R = TypeVar("R")
_PROBES = 3  # items that are tried where nothing has worked yet


class Enough(Exception):
    """There are no scores for the batch that is open: no time is left, or nobody has them yet."""


class Measuring(Generic[R]):
    """A run that is measured here, from the first question to the answer.

    Parameters
    ----------
    run
        What says what to measure next.
    result
        What is made of the answer, whenever it ends.
    calls, kept
        Calls of a function, where there is one, and where what they give is kept.

    Examples
    --------
    >>> import surepick as sp
    >>> run = sp.algorithms.PooledPeleg(0.05).start(sp.Problem([[1.0], [2.0]]))
    >>> with Measuring(run, lambda answer: answer.arm) as measuring:
    ...     measuring.go(lambda arms, items: [float(arm) for arm in arms])
    ...     measuring.end()
    1
    """

    def __init__(
        self,
        run: Run,
        result: Callable[[Answer], R],
        calls: Calls | None = None,
        kept: Kept | None = None,
    ) -> None:
        self.run, self.calls, self.kept = run, calls, kept
        self.lacking: list[Unmeasured] = []  #: cells that could not be measured
        self.worst = run.algorithm.worst_score(run.problem)  #: what they count as, if anything
        self._result = result

    def go(
        self,
        measure: Callable[[IntArray, Any], Any],
        *,
        until: Callable[[], bool] | None = None,
        told: Callable[[], None] | None = None,
    ) -> None:
        """Measure batch after batch, as far as there are scores; called again it goes on.

        ``until`` is asked before every batch whether that is enough, ``told`` is called after it.
        """
        run = self.run
        while not run.stopped and not (until is not None and until()):
            batch = run.ask()
            try:
                scores = measure(batch.arms, batch.items)
            except Enough:
                return
            run.tell(batch, scores)
            if told is not None:
                told()

    def scores(
        self, rows: Sequence[tuple[Any, ...]], arms: Any, items: Any, named: Any = ()
    ) -> list[Any]:
        """What the function gives for these rows, each of an option and perhaps an item.

        Cells that cannot be measured count as the worst score. ``named`` are all items there are,
        in the words of rows.
        """
        assert self.calls is not None
        here = {row[-1] for row in rows}
        others = (item for item in named if item not in here)
        probes = [(*rows[0][:-1], item) for item in islice(others, _PROBES)]
        found, failed = self.calls.scores(rows, self.worst, probes)
        for place, one in failed:
            label = self.run.problem.labels[int(arms[place])]
            self.lacking.append(Unmeasured(label, int(items[place]), str(one)))
        return found

    def fail(self, arm: int, item: int, why: str) -> float:
        """What a cell counts as that could not be measured."""
        assert self.worst is not None
        self.lacking.append(Unmeasured(self.run.problem.labels[arm], item, why))
        return self.worst

    def answer(self) -> Answer:
        """The answer as it is now; the run is over then."""
        run, calls, kept = self.run, self.calls, self.kept
        run.end()
        again = calls.again if calls is not None else 0
        set_back = calls is not None and calls.generators.set_back
        if kept is not None:
            again += kept.again + kept.lost
            set_back |= kept.set_back
            if kept.edited:
                run.rest_on("edited")
        if again:
            run.rest_on("lost", pulls=again)
        if set_back and run.algorithm.measured_on() is None:  # an item may score the same always
            run.doubts.told.append(SET_BACK)
        return run.without(run.answer, self.lacking)

    def end(self, over: Callable[[R], bool] | None = None) -> R:
        """What was found; ``over`` says of it whether nobody needs what was kept any more."""
        found = self._result(self.answer())
        self._let_go("done", over=over is not None and over(found))
        return found

    def _let_go(self, how: str, **more: Any) -> None:
        if self.kept is not None:
            if self.calls is not None:
                more["unanswered"] = self.calls.unanswered
                more["set_back"] = self.calls.generators.set_back
            self.kept.end(how, **more)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        """Where an error ends it, the error has what was found so far."""
        if error is not None:
            self._let_go("stopped")
            stopped(error, self._result(self.answer()), self.kept)
