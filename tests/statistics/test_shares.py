"""Shares of wins that may be looked at at any time, and judges who prefer a side."""

import itertools
import math

import numpy as np
import pytest

from surepick.statistics.shares import log_evidence_of_side, share_ends


def test_evidence_of_a_side_is_worth_one_on_average_whenever_one_looks():
    for n in (1, 2, 7, 12):
        worth = [
            math.exp(log_evidence_of_side(sum(said), n - sum(said)))
            for said in itertools.product((0, 1), repeat=n)
        ]
        assert np.mean(worth) == pytest.approx(1.0)
    # and as a martingale: whatever was said so far, the next coin changes nothing on average
    for first, second in ((0, 0), (3, 1), (0, 9)):
        ahead = [log_evidence_of_side(first + 1, second), log_evidence_of_side(first, second + 1)]
        now = math.exp(log_evidence_of_side(first, second))
        assert np.mean(np.exp(ahead)) == pytest.approx(now)


@pytest.mark.validation
def test_ends_hold_at_all_times_although_rivals_are_chosen_by_what_was_seen():
    rng, wrong = np.random.default_rng(8), 0
    for _ in range(400):
        won, chance, found = 0.0, 0.0, False
        for met in range(1, 121):
            p = 0.8 if won > met / 2 else 0.3  # whoever is ahead meets somebody weak
            chance += p
            won += rng.random() < p
            low, high = share_ends(np.array([won]), np.array([float(met)]), 0.2)
            found |= not low[0] <= chance / met <= high[0]
        wrong += found
    assert 0 < wrong / 400 <= 0.2


def test_nothing_is_known_of_an_option_that_met_nobody():
    low, high = share_ends(np.zeros(1), np.zeros(1), 0.05)
    assert (low[0], high[0]) == (0.0, 1.0)
