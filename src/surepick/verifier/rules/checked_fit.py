"""Extra pulls that check the model, beside the rule of the algorithm proper."""

from __future__ import annotations

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.check import Check
from surepick.verifier.questions import rule_of

_INNER = ("phases", "pooled", "static", "alba")  # rules of the algorithms that work in batches


def verify(check: Check) -> list[int]:
    """Leave out the extra pulls, then work out why candidates are ruled out by the others.

    Whether they were set aside before their rewards were seen cannot be checked. Nor can it be
    checked whether the pulls of any batch were chosen before its rewards were seen.
    """
    batches, inner = check.batches, exact.mapping(check.evidence["inner"], "the evidence inside")
    listed = check.evidence["extra"]
    check.demand(
        type(listed) is list and len(listed) == len(batches),
        "the extra pulls do not belong to these batches",
    )
    extra = [exact.whole_numbers(arms, "extra pulls") for arms in listed]
    check.demand(
        all(np.isin(arms, batch.arms).all() for batch, arms in zip(batches, extra, strict=True)),
        "the extra pulls do not belong to these batches",
    )
    own = [b.of(~np.isin(b.arms, arms)) for b, arms in zip(batches, extra, strict=True)]
    own = tuple(batch for batch in own if len(batch.arms))
    rule = exact.text(inner["rule"], "the rule inside")
    check.demand(rule in _INNER, f"it uses an unknown rule {rule!r}")
    proper = check.variant(
        algorithm=published.inner_algorithm(check),
        batches=own,
        evidence=inner,
        claim=check.claim | {"samples": sum(batch.pulls for batch in own)},
    )
    proper.check_record()
    published.check_name(proper)
    check.demand("question" not in inner, "more than the best candidate is asked for inside")
    survivors = rule_of(proper).shown(proper)
    check.risk, check.checked = proper.risk, proper.checked
    return survivors
