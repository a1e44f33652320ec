"""Whether a pull may be handed out a second time, and when that is worth a measurement."""

from __future__ import annotations

from surepick.errors import InvalidInputError
from surepick.study.settings import Prepared, Setting, yes_or_no
from surepick.study.strata import STRATA

#: what a study's notes call it
HEDGE = "hedge"
#: what is recorded when a pull is handed out a second time
HEDGED = "hedged"
# Those who are slow hold up others so much that a second measurement pays, once rewards of later
# batches wait for them: as many as
_OVERTAKEN = 2.0  # this many times the pulls that are out: two or more of every worker's; and
_BEHIND = 0.04  # this share of those that count already: with fewer, too little is gained


def _allowed(hedge: bool, made: Prepared) -> Prepared:
    """Refuse it where pulls cannot be handed out twice."""
    if made.traffic:
        raise InvalidInputError("hedge: a traffic study hands out no pulls; leave it out")
    if made.algorithm.each_once:
        raise InvalidInputError(
            "hedge: on a complete table no option is measured twice on an item; leave it out"
        )
    if STRATA in made.meta:
        raise InvalidInputError(
            f"hedge: a pull belongs to the {made.meta[STRATA]} of the worker who got it first, so "
            "no second worker can measure it; leave out hedge or strata"
        )
    return made


SETTING = Setting(
    help="Give a pull that holds up the study to a second worker as well; the first reward "
    "counts. This saves time and measurements with many workers. Use it only if the duration of "
    "a measurement has nothing to do with its reward.",
    schema={"type": "boolean"},
    default=False,
    check=yes_or_no(HEDGE),
    apply=_allowed,
    question="A measurement that takes long is given",
    hint="The first of the two rewards counts. Use this only if the duration of a measurement has "
    "nothing to do with its result.",
    choices=((False, "To nobody else"), (True, "Also to a second worker")),
)


def holds_up(early: int, out: int, counted: int) -> bool:
    """Whether what is still out of the open batch holds up so much that it is measured twice.

    ``early`` rewards of later batches wait for it; ``out`` pulls are out of all batches, and
    ``counted`` are those of complete ones.
    """
    return early >= max(_OVERTAKEN * out, _BEHIND * counted)
