"""Segments: a winner for each, and shares that move do not turn a comparison around."""

import numpy as np
import pytest
from tests.study.traffic import site

import surepick as sp
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.run.report import tell_report
from surepick.storage.memory import MemoryStorage

PHONE = {"a": 0.030, "b": 0.034, "c": 0.055}
DESK = {"a": 0.150, "b": 0.110, "c": 0.100}


def decided(rates, seed, delta, n=4000):
    problem = sp.Problem.unstructured([*rates], noise="yes-no")
    study = sp.create_study(
        "segment", problem, storage=MemoryStorage(), traffic=True, delta=delta, seed=seed
    )
    site.decide(study, n=n, rates=tuple(rates.values()), seed=seed)
    return study.answer


@pytest.mark.parametrize("seed", range(8))
def test_each_segment_finds_its_own_winner(seed):
    phone, desk = (decided(rates, seed, 0.025) for rates in (PHONE, DESK))
    assert (phone.label, desk.label) == ("c", "a")
    assert (phone.guarantee.kind, desk.guarantee.kind) == ("pac", "pac")


@pytest.mark.parametrize("seed", range(8))
def test_shares_that_move_turn_no_comparison_around(seed):
    """Simpson's paradox: "good" is ahead on phones and on desks, and behind on the whole.

    On the first days buyers come from desks, and "poor" is sent nearly all; later from phones, when
    "good" is.
    """
    phone, desk = np.array([0.03, 0.04]), np.array([0.10, 0.13])
    problem = sp.Problem.unstructured(["poor", "good"], noise="yes-no")
    run = sp.algorithms.PooledPeleg(0.05).start(problem)
    rng, all_counts, all_hits = np.random.default_rng(seed), np.zeros(2), np.zeros(2)
    days = 0
    while not run.stopped and days < 40:
        early = days < 3
        counts = rng.multinomial(6000, [0.9, 0.1] if early else [0.1, 0.9])
        desks = rng.binomial(counts, 0.95 if early else 0.05)
        hits = rng.binomial(desks, desk) + rng.binomial(counts - desks, phone)
        told = ToldPulls(Pulls.from_counts(counts), hits.astype(float))
        tell_report(run, told, deal=str(seed))
        all_counts, all_hits, days = all_counts + counts, all_hits + hits, days + 1
    poor, good = all_hits / all_counts
    assert poor > good or days <= 4  # on the whole it looks the other way round
    assert run.stopped
    assert run.answer.label == "good"
