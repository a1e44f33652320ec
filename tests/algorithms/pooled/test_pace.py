"""How fast blocks grow: a free choice."""

from __future__ import annotations

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import PooledPeleg
from surepick.algorithms.pooled import state
from surepick.algorithms.pooled.pace import USUAL, pace_of

INSTANCE = sp.simulate.instances.unit_sphere(6, rng=0)


def played(seed=0):
    """A run on trusted features."""
    run = PooledPeleg(0.1).start(INSTANCE.problem)
    rng = np.random.default_rng(seed)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, INSTANCE.means[batch.arms] + rng.normal(size=len(batch.arms)))
    return run


@pytest.mark.validation
def test_blocks_that_follow_sooner_take_fewer_pulls_on_average(monkeypatch):
    sooner = [played(seed) for seed in range(20)]
    monkeypatch.setattr(state, "pace_of", lambda *_: USUAL)
    usual = [played(seed) for seed in range(20)]
    assert np.mean([run.samples for run in sooner]) < np.mean([run.samples for run in usual])
    assert len(sooner[0].state.blocks) > len(usual[0].state.blocks)


def test_only_where_features_are_trusted_and_no_budget_is_to_be_used_up():
    problem = INSTANCE.problem
    assert pace_of(problem, ("linear",), guess=False) != USUAL
    assert pace_of(problem, ("linear",), guess=True) == USUAL
    for ways in (("direct",), ("direct", "allowed"), ("allowed",), ("paired",)):
        assert pace_of(problem, ways, guess=False) == USUAL


@pytest.mark.parametrize("guess", [False, True])
def test_very_many_arms_are_looked_at_less_often_for_each_block(guess):
    few, many = INSTANCE.problem, sp.simulate.families.catalogue(8, 33_000, rng=0).problem
    assert many.large
    assert not few.large
    paces = [pace_of(problem, ("linear",), guess) for problem in (many, few)]
    assert paces[0]._replace(looks=USUAL.looks) == USUAL
    assert (paces[0].looks < paces[1].looks) == (not guess)
