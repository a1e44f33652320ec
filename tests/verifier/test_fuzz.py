"""A slice of ``python -m benchmarks.certificate_fuzz``: certificates changed at random."""

import numpy as np
import pytest
from tests.verifier.fuzz import BAD, RULES, VARIANTS, changed, fuzz


@pytest.mark.parametrize("rule", RULES)
def test_no_change_leads_to_a_crash_or_to_another_answer(rule):
    counts, wrong = fuzz(rule, 40 if rule in ("pooled", *VARIANTS) else 120, seed=7)
    assert wrong == []
    assert not any(counts[what] for what in BAD)
    assert counts["refused"] > 25
    assert sum(counts.values()) > counts["refused"]  # changes that do not matter are let pass


def test_changes_are_changes():
    honest = RULES["phases"][0]()
    some = [changed(np.random.default_rng(seed), honest) for seed in range(50)]
    assert sum(body != honest for body in some) > 40
    assert len({str(body) for body in some}) > 40
