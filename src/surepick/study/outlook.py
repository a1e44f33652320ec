"""How far each candidate is from being ruled out, and what that comes to in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.algorithms.findings import PROVEN
from surepick.algorithms.questions import compares
from surepick.arrays.types import FloatArray
from surepick.run import Run
from surepick.run.standing import VERDICTS, Standing, counted
from surepick.text import plural


@dataclass(frozen=True, eq=False)
class Outlook:
    """What the complete batches say; in units of the reward."""

    standing: Standing
    behind: FloatArray  #: estimated distance of each candidate to the one that looks best
    error: FloatArray  #: standard error of that
    evidence: FloatArray | None  #: share of the evidence that rules it out; 1: ruled out


def outlook(run: Run) -> Outlook | None:
    """The outlook of a run; None before its first batch is complete.

    The evidence is the number that decides.
    """
    now = run.standing()
    if now.leader is None or run.state.reward_scale() is None:
        return None
    gaps, errors = np.array(now["behind"]), np.array(now["error"])
    return Outlook(now, gaps, errors, run.state.progress())


def noise_in_use(run: Run) -> float | None:
    """How much a single reward varies as far as is known, in units of the reward; one for all."""
    scale = run.state.reward_scale()
    if scale is None:
        return None
    each = scale * run.problem.noise_kind.units(np.arange(run.problem.n_arms))
    if np.ndim(each) == 0:
        return float(each)
    counts = run.totals()[0]
    return float(np.sqrt(np.average(each**2, weights=counts if counts.any() else None)))


def no_answer_yet(status: dict[str, Any]) -> str:
    """Where a study stands that is not finished, in a sentence or two."""
    unit = "visit" if status["traffic"] else "measurement"
    left, after = len(status["survivors"]), f"after {plural(status['samples'], unit)}"
    if compares(status["standing"]["question"]):
        said = f"{left} of {status['started_with']} options undecided {after}"
        found = counted(status["standing"]["columns"]["state"], without=("undecided",))
        return f"No answer yet: {said}{f' ({found})' if found else ''}."
    waiting = (status["traffic"] or {}).get("waiting")
    if waiting is not None and status["promise"]["kind"] in PROVEN:  # else nothing was decided
        return f"No answer yet. {waiting['message']}"
    states, labels = (status["standing"]["columns"][name] for name in ("state", "option"))
    named = [label for label, state in zip(labels, states) if state == "leads"]
    look = "look" if len(named) > 1 else "looks"
    leader = f"; {', '.join(named)} {look} best so far" if named else ""
    return f"No answer yet: {left} of {status['options']} options still in {after}{leader}."


def states_in_words(status: dict[str, Any]) -> list[str]:
    """What a table says of each option, once it is known what its state amounts to."""
    words: dict[str, str] = VERDICTS | {"in": "still in", "out": "ruled out"}
    kind, states = status["promise"]["kind"], status["standing"]["columns"]["state"]
    if status["finished"]:
        words |= {"leads": "the answer" if kind in PROVEN else "looks best", "in": "not ruled out"}
        if kind == "eps-pac":
            words["in"] = status["promise"]["others"]
    return [words.get(state, str(state)) for state in states]
