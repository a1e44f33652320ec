"""Two options that are nearly equal: said before anything else, with what can be done about it.

The leader and the one behind it are nearly equal where as many measurements again would probably
not tell them apart. Evidence for a lead g grows to about g²/(2s²), where s is the standard error of
the lead, and log(1/delta) of it decides; with twice the measurements s² is half of what it is. So
leads below

    s √(log(1/delta))

stay undecided. On a complete table s² goes to 0 with the last item: with a share f of the items
met it is proportional to (1 − f)/f, and where twice as many items are all there are the end of the
table is as near, and decides everything.

This is a guide for people. What accepting rests on is :mod:`surepick.proof.accepting`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.run import Run
from surepick.study.outlook import Outlook
from surepick.text import plural

_FEWEST = 50  # measurements for each option that is in, before anything is said


class _Pair(NamedTuple):
    leader: int  #: or the last of those that would be named
    other: int
    lead: float
    resolved: float  #: the least lead that as many measurements again would tell


def near_of(run: Run, ahead: Outlook | None) -> dict[str, Any] | None:
    """What there is to say of two options that are nearly equal; None where none are.

    Its ``epsilon`` is what could be accepted from now on, to have an answer soon; ``refused`` says
    why that is not possible here. What each way costs, forecasts say.
    """
    found = None if ahead is None else _pair(run, ahead)
    if found is None:
        return None
    labels, apart = run.problem.candidate_labels, run.problem.noise_kind.apart
    unit = "visit" if run.waits is not None else "measurement"
    epsilon = _rounded_up(found.resolved)
    least = _least(run, ahead, found, epsilon)
    table = "" if least is None else f" {least}"
    return {
        "options": [labels[found.leader], labels[found.other]],
        "lead": found.lead,
        "resolved": found.resolved,
        "further": run.samples,
        "epsilon": epsilon,
        "near": apart(epsilon),
        "refused": run.algorithm.refuses_accepting(run.problem),
        "message": (
            f"Nearly equal: {labels[found.leader]!r} is ahead of {labels[found.other]!r} by "
            f"{apart(float(f'{found.lead:.2g}'))} so far, and as much work again "
            f"({plural(run.samples, unit)}) would only tell leads from about {apart(epsilon)} on."
            f"{table}"
        ),
    }


def _pair(run: Run, ahead: Outlook) -> _Pair | None:
    left, named = list(run.active), run.state.named()
    leader = named[-1]
    if run.stopped or leader not in left or len(left) < 2 or run.state.claims() is not None:
        return None
    if run.algorithm.asked.limited or run.samples < _FEWEST * len(left):
        return None
    others = [i for i in left if i not in named and math.isfinite(ahead.error[i])]
    other = min(others, key=lambda i: float(ahead.behind[i]), default=None)
    smaller = _half(run)
    if other is None or smaller is None:
        return None
    needed = math.log(len(named)) - math.log(run.algorithm.delta)
    resolved = _error(run, ahead, leader, other) * math.sqrt(2.0 * smaller * needed)
    lead = max(float(ahead.behind[other] - ahead.behind[leader]), 0.0)
    if not lead < resolved or resolved <= run.epsilon_ahead:
        return None
    return _Pair(leader, other, lead, resolved)


def _error(run: Run, ahead: Outlook, one: int, other: int) -> float:
    """Standard error of the lead of one over another: errors are known of leads over the best."""
    best = ahead.standing.leader_index
    own, beside = float(ahead.error[other]), float(ahead.error[one])
    if one == best:
        return own
    if run.problem.pairing is not None or run.problem.rank < run.problem.n_arms:
        return math.hypot(own, beside) / math.sqrt(2.0)  # about
    each = 1.0 / np.maximum(run.pulls, 1)
    return own * math.sqrt((each[one] + each[other]) / (each[best] + each[other]))


def _half(run: Run) -> float | None:
    """What as many measurements again make of the square of an error; None: they end it anyway."""
    items = run.algorithm.measured_on()
    if items is None or not run.algorithm.each_once:
        return 0.5
    met = int(run.pulls[list(run.active)].max())
    if 2 * met >= items:
        return None
    now, then = (items / met - 1.0), (items / (2 * met) - 1.0)
    return then / now


def _least(run: Run, ahead: Outlook | None, found: _Pair, epsilon: float) -> str | None:
    """Of a complete table: of how many items it takes to show closeness, at least."""
    items = run.algorithm.measured_on()
    if items is None or not run.algorithm.each_once or ahead is None:
        return None
    met = int(run.pulls[list(run.active)].max())
    varies = _error(run, ahead, found.leader, found.other) ** 2 * met / (items - met)  # v/N
    known = (epsilon + found.lead) ** 2 / (2.0 * varies * -math.log(run.algorithm.delta))
    share = 1.0 / (1.0 + known)
    return (
        f"To show that they are within {run.problem.noise_kind.apart(epsilon)} takes about "
        f"{max(math.ceil(share * items), met):,} of the {items:,} items at least; the whole table "
        "decides in any case."
    )


def _rounded_up(value: float) -> float:
    """To two digits: it is for people to choose.

    Examples
    --------
    >>> _rounded_up(0.01234), _rounded_up(3.0)
    (0.013, 3.0)
    """
    size = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{np.ceil(value / size - 1e-9) * size:.2g}")
