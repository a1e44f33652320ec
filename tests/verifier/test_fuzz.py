"""A slice of ``python -m benchmarks.certificate_fuzz``: certificates changed at random."""

import numpy as np
import pytest
from tests.verifier.fuzz import BAD, RULES, VARIANTS, changed, fuzz

SLOW = ("pooled", "compared", "any", "quantile", "keeping", "keeping, living", "keeping, compared")
SLOW += ("keeping, others", "pairs, others", "segments")


@pytest.mark.some(4)
@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.validation)])
@pytest.mark.parametrize("rule", RULES)
def test_no_change_leads_to_a_crash_or_to_another_answer(rule, times):
    # benchmarks/certificate_fuzz.py tries 20,000 of each.
    cases = times * (12 if rule in VARIANTS else 20 if rule in SLOW else 60)
    counts, wrong = fuzz(rule, cases, seed=7)
    assert wrong == []
    assert not any(counts[what] for what in BAD)
    assert sum(counts.values()) == cases
    assert counts["refused"] > 0.4 * cases  # the others do not matter: a reason, a reward, …


def test_changes_are_changes():
    honest, other = (make() for make in RULES["phases"])
    some = [changed(np.random.default_rng(seed), honest, [other]) for seed in range(60)]
    assert sum(body != honest for body in some) > 40
    assert len({str(body) for body in some}) > 40
