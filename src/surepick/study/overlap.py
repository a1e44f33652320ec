"""Whether batches overlap: workers that never wait for the slowest of a batch."""

from __future__ import annotations

from surepick.algorithms.registry import DEFAULT
from surepick.errors import InvalidInputError
from surepick.study.settings import Prepared, Setting, yes_or_no

#: what a study's notes call it
OVERLAP = "overlap"
# What is begun while others are waited for is chosen without what they will tell. It is worth it
# for as long as it makes at most
_EACH = 16  # measurements for every worker: only those that take far longer are waited for; or
_SHARE = 0.25  # this share of those that count: by these it is known well enough what to measure


def worth_it(ahead: int, workers: int, counted: int) -> bool:
    """Whether a batch more is worth asking for while the open one is being waited for.

    Nothing that is proved rests on it: a batch that was asked for is told in its turn, by whatever
    rule it was decided to ask for it. There are ``ahead`` pulls in batches after the open one,
    ``workers`` who told or hold pulls of these or ask, and ``counted`` pulls of complete batches.

    Examples
    --------
    Two workers, of whom one holds a few pulls of the first batch for long; and 64 workers:

    >>> worth_it(20, 2, 0), worth_it(40, 2, 0), worth_it(40, 64, 0)
    (True, False, True)
    """
    return ahead < max(_EACH * workers, _SHARE * counted)


def _allowed(overlap: bool, made: Prepared) -> Prepared:
    """Refuse it where batches cannot overlap."""
    if overlap and made.traffic:
        raise InvalidInputError("overlap: a traffic study hands out no pulls; leave it out")
    if overlap and not made.algorithm.overlaps:
        raise InvalidInputError(
            f"overlap: with {made.algorithm.registered_name()} and these settings, a batch can "
            f"start only when the previous one is complete; use {DEFAULT} without max_batch, "
            "check_fit and claims='fdr', or leave overlap out"
        )
    return made


SETTING = Setting(
    help="Whether workers start the next batch while others still measure the previous one; this "
    "takes more measurements and less time, and rests on measurements that do not depend on each "
    "other.",
    schema={"type": "boolean"},
    check=yes_or_no(OVERLAP),
    apply=_allowed,
    question="While others finish a batch, workers",
    hint="Starting the next batch takes less time and more measurements. It assumes that "
    "measurements do not depend on each other.",
    choices=((None, "Start the next batch"), (False, "Wait until the batch is complete")),
    empty="only when a worker would wait",
)
