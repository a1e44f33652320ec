"""Extra pulls that check the model, beside the rule of the algorithm proper."""

from __future__ import annotations

from typing import Any

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
    extra = [set(exact.whole_numbers(arms, "extra pulls").tolist()) for arms in listed]
    check.demand(
        all(arms <= set(batch["arms"]) for batch, arms in zip(batches, extra, strict=True)),
        "the extra pulls do not belong to these batches",
    )
    own = [_without(batch, arms) for batch, arms in zip(batches, extra, strict=True)]
    own = [batch for batch in own if batch["arms"]]
    rule = exact.text(inner["rule"], "the rule inside")
    check.demand(rule in _INNER, f"it uses an unknown rule {rule!r}")
    samples = sum(sum(batch["counts"]) for batch in own)
    body = {
        "algorithm": published.inner_algorithm(check),
        "batches": own,
        "evidence": inner,
        "claim": check.claim | {"samples": samples},
    }
    proper = check.variant(body)
    proper.check_record()
    published.check_name(proper)
    check.demand("question" not in inner, "more than the best candidate is asked for inside")
    survivors = rule_of(proper).shown(proper)
    check.risk, check.checked = proper.risk, proper.checked
    return survivors


def _without(batch: dict[str, Any], arms: set[int]) -> dict[str, Any]:
    keep = [i for i, arm in enumerate(batch["arms"]) if arm not in arms]
    return {key: [values[i] for i in keep] for key, values in batch.items()}
