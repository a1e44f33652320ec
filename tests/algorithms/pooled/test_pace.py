"""How fast blocks grow: a free choice, which every run keeps as it began."""

from __future__ import annotations

import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import PooledPeleg
from surepick.algorithms.pooled.pace import FIRST_PACE, latest_pace, pace_of
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.run.replay import EXACT

INSTANCE = sp.simulate.instances.unit_sphere(6, rng=0)


def played(rule, seed=0, **settings):
    """A run on trusted features that goes at this pace, and its certificate."""
    run = PooledPeleg(0.1, **settings).start(INSTANCE.problem)
    if rule == 1:
        saved = run.state.save()
        del saved["pace"]  # as it was up to release 0.2
        run.state.load(saved)
    rng = np.random.default_rng(seed)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, INSTANCE.means[batch.arms] + rng.normal(size=len(batch.arms)))
    return run, run.answer.certificate()


@pytest.mark.parametrize("rule", [1, 2])
def test_a_run_goes_on_at_the_pace_that_it_began_at(rule):
    run, certificate = played(rule)
    assert certificate["evidence"].get("pace") == (None if rule == 1 else 2)
    again = sp.Run.from_json(run.to_json())
    assert again.answer.certificate()["evidence"] == certificate["evidence"]
    assert sp.verify(certificate, replay=True).replay == EXACT


@pytest.mark.parametrize("said", [1, 2, 3])
def test_a_replay_asks_at_the_pace_that_the_certificate_names(said):
    """Nothing is proven by it, so the answer stands; but the pulls would have been others."""
    _, certificate = played(2 if said == 1 else 1)
    other = {} if said == 1 else {"pace": said}
    evidence = {name: part for name, part in certificate["evidence"].items() if name != "pace"}
    certificate["evidence"] = evidence | other
    certificate["digest"] = fingerprint(certificate)
    assert sp.verify(certificate, replay=False).guarantee == "pac"
    if said == 3:
        assert "by another rule" in sp.verify(certificate, replay=True).replay
        return
    with pytest.raises(CertificateError, match="is not what is asked for"):
        sp.verify(certificate, replay=True)


def test_blocks_that_follow_sooner_take_fewer_pulls_on_average():
    pulls = {rule: [played(rule, seed)[0].samples for seed in range(20)] for rule in (1, 2)}
    assert np.mean(pulls[2]) < np.mean(pulls[1])
    batches = {rule: len(played(rule)[1]["evidence"]["blocks"]) for rule in (1, 2)}
    assert batches[2] > batches[1]


def test_only_where_features_are_trusted_and_no_budget_is_to_be_used_up():
    assert latest_pace(("linear",), guess=False) == 2
    assert latest_pace(("linear",), guess=True) == 1
    for ways in (("direct",), ("direct", "allowed"), ("allowed",), ("paired",)):
        assert latest_pace(ways, guess=False) == 1
    guided = sp.Problem(INSTANCE.problem.arms, misfit=math.inf)
    for problem, settings in ((guided, {}), (INSTANCE.problem, {"guess": True})):
        run = PooledPeleg(0.1, max_samples=100, **settings).start(problem)
        assert "pace" not in run.state.evidence()


def test_very_many_arms_are_looked_at_less_often_for_each_block():
    few, many = INSTANCE.problem, sp.simulate.families.catalogue(8, 33_000, rng=0).problem
    assert many.large
    assert not few.large
    assert pace_of(1, few) == pace_of(1, many) == FIRST_PACE
    assert pace_of(2, many)._replace(looks=FIRST_PACE.looks) == FIRST_PACE
    assert pace_of(2, many).looks < pace_of(2, few).looks
