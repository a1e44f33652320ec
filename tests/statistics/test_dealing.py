"""Counts dealt into two parts: hypergeometric, the same for ever, and independent parts."""

import numpy as np
import pytest
from scipy.stats import chisquare, hypergeom

from surepick.statistics.dealing import dealt, guiding
from surepick.verifier.dealing import drawn

COUNTS = [(1, 0), (1, 1), (7, 7), (23, 20), (30, 0), (50, 7), (400, 39), (2000, 100)]


@pytest.mark.parametrize(("visits", "yes"), COUNTS)
def test_parts_are_drawn_like_visitors_at_random(visits, yes):
    n = 4000
    found = np.bincount([dealt("seed", k, visits, yes) for k in range(n)])
    odds = hypergeom(visits, yes, guiding(visits)).pmf(np.arange(len(found)))
    often = odds > 5 / n
    assert odds.sum() > 0.999
    rest = (found[~often].sum() + 1e-9, n * (1 - odds[often].sum()) + 1e-9)
    seen, due = np.append(found[often], rest[0]), np.append(n * odds[often], rest[1])
    assert chisquare(seen, due * seen.sum() / due.sum()).pvalue > 1e-3 if often.sum() > 1 else True
    assert found[often].sum() >= 0.99 * n


def test_both_parts_are_independent_and_have_one_rate():
    rng = np.random.default_rng(0)
    yes = rng.binomial(600, 0.05, 6000)
    first = np.array([dealt("parts", k, 600, int(s)) for k, s in enumerate(yes)])
    rest = yes - first
    assert first.mean() == pytest.approx(60 * 0.05, rel=0.05)
    assert rest.mean() == pytest.approx(540 * 0.05, rel=0.02)
    assert first.var() == pytest.approx(60 * 0.05 * 0.95, rel=0.1)
    assert rest.var() == pytest.approx(540 * 0.05 * 0.95, rel=0.1)
    assert abs(np.corrcoef(first, rest)[0, 1]) < 4 / np.sqrt(len(yes))


def test_the_verifier_deals_the_same_by_code_of_its_own():
    rng = np.random.default_rng(1)
    for option in range(500):
        visits = int(rng.choice([1, 2, 9, 10, 11, 300, 4321]))
        yes = int(rng.integers(visits + 1)) if option % 2 else visits // 40
        text = f"surepick deal 1|a seed|{option}"
        own = dealt("a seed", option, visits, yes)
        assert own == drawn(text, visits, yes, guiding(visits))
        assert max(0, yes - (visits - guiding(visits))) <= own <= min(yes, guiding(visits))


def test_the_draw_never_changes():
    """Certificates of any release are dealt again; large counts stay exact whole numbers."""
    assert [dealt("a seed", k, 2000, 100) for k in range(6)] == [9, 15, 15, 12, 9, 15]
    assert dealt("a seed", 0, 10**9, 3 * 10**6) == 299823
    assert dealt("another seed", 0, 10**9, 3 * 10**6) != 299823


def test_a_report_corrected_by_a_few_is_dealt_nearly_as_it_was():
    before = [dealt("kept", k, 5000, 250) for k in range(50)]
    after = [dealt("kept", k, 4990, 249) for k in range(50)]
    assert np.abs(np.array(before) - after).max() <= 1
