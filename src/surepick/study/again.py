"""Readings far from all before: measured again, by a rule that is fixed before the study starts.

Who measures again what looks wrong, and lets the second reading count, changes what readings are
drawn from: large ones are less likely to count. So nobody may decide that when looking at a
reading. As a setting of the study it is a rule: whatever is pointed out
(:mod:`surepick.study.checks.typed`, by complete batches only, on both sides alike) is set aside
and measured again, and the second reading counts, whatever it is.

**What it does to the promise.** Let P be the law of a reading that went well, given all complete
batches, A the readings that are not pointed out (fixed by these batches), and q = P(not A). What
counts has the law P' = P on A, and with probability q a fresh draw from P:

    dP'/dP = 1[A] + q  ≤  1 + q.

So whatever is not negative has a mean under P' of at most 1 + q times that under P. Factors that
capital is multiplied by are not negative; readings of a block are independent given the batches
before, each with its own q. Hence a factor whose mean is at most 1 has a mean of at most
∏ (1 + q) ≤ exp(Σ q) under the rule, for every kind of noise, and by Ville's inequality

    P(the answer is wrong)  ≤  δ · exp(Q),    Q: a bound on the sum of all q,

which is how many readings that went well are to be expected among those measured again. ∎ For
normal noise q is one in a million on average, or less (``_CHANCE_PREDICTED`` there), so that Q is
0.001 after a thousand readings. It is a condition, as nobody knows the tails of noise: with long
tails Q is about the number of readings that were measured again. Where none was, nothing was
changed, and nothing is added: "wrong, and none was measured again" has a probability of at most δ
in any case.

Readings that went wrong (another sample, a decimal point) may have any law. Those that are pointed
out are replaced by ones that went well; others are what they would be without the rule.
"""

from __future__ import annotations

from surepick.errors import InvalidInputError
from surepick.study.hedge import HEDGE
from surepick.study.settings import Prepared, Setting, yes_or_no

#: what a study's notes call the rule, and what is recorded when a reading is set aside
AGAIN = "again"


def _allowed(again: bool, made: Prepared) -> Prepared:
    """Refuse it where nothing could be measured again."""
    if made.traffic:
        raise InvalidInputError(
            "again: a traffic study has no single readings to measure again; leave it out"
        )
    if made.problem.noise_kind.bounds is not None:
        raise InvalidInputError(
            "again: a reward with bounds is never far from all the others; leave it out"
        )
    if HEDGE in made.meta:
        raise InvalidInputError(
            "again: with hedge, two workers may measure a pull and the first reading counts; "
            "leave out again or hedge"
        )
    return made


SETTING = Setting(
    help="Set aside a reading that is far from all earlier ones and measure again; the second "
    "reading counts, whatever it is. This rule against measuring mistakes must be fixed before "
    "the study starts.",
    schema={"type": "boolean"},
    default=False,
    check=yes_or_no(AGAIN),
    apply=_allowed,
    question="A reading far from all before",
    hint="Whoever measures again what looks wrong needs a rule from the start: the answer then "
    "names what that adds to the promise. Not for rewards between bounds, nor with a second "
    "worker.",
    choices=(
        (False, "Counts as it is"),
        (True, "Is measured again, and the second reading counts"),
    ),
    pairs=False,
)
