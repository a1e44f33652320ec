"""Certificates of quantiles: worked out again by other code, and hard to forge."""

import copy
import json
import math

import numpy as np
import pytest
from tests.verifier.samples import of_any_kind

import surepick as sp
from surepick.errors import CertificateError
from surepick.proof.payoffs.quantiles import counts_below, counts_upto, payoffs
from surepick.run.certificate import fingerprint
from surepick.verifier.questions.quantile import _both


@pytest.fixture(scope="module")
def honest():
    found = of_any_kind(quantile=0.6, digits=1).answer.certificate()
    return json.loads(json.dumps(found))


def refused(body, why):
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match=why):
        sp.verify(body, replay=False)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.99])
def test_bets_are_those_of_the_algorithm(p):
    rng = np.random.default_rng(1)
    own = np.sort(np.round(rng.normal(size=60), 1))
    numbers, here = np.unique(np.append(own, [-9.0, 9.0]), return_counts=True)
    here[[0, -1]] = 0
    paid = payoffs(60, p)
    up, down = _both(np.cumsum(here), here, p)
    assert up == pytest.approx(paid.up[counts_below(own, numbers)], abs=1e-9)
    assert down == pytest.approx(paid.down[counts_upto(own, numbers)], abs=1e-9)


def test_an_honest_one_holds(honest):
    found = sp.verify(honest, replay=True)
    assert (found.label, found.guarantee, found.complete) == ("c", "pac", True)
    assert "a better 0.6-quantile, the least number" in found.statement
    assert found.checked == 2
    assert found.unknown == ()


def test_another_quantile_cannot_be_claimed(honest):
    for settings, evidence, why in [
        (0.7, 0.6, "not the one that the algorithm was set to"),
        (0.7, 0.7, "log capital|statement"),
        (0.6, 1.6, "not the one|makes no sense"),
        (None, 0.6, "not the one that the algorithm was set to"),
    ]:
        body = copy.deepcopy(honest)
        body["algorithm"]["settings"]["quantile"] = settings
        body["evidence"]["question"]["quantile"] = evidence
        refused(body, why)
    body = copy.deepcopy(honest)
    body["evidence"]["question"]["top"] = 2
    refused(body, "p-value")


def test_it_is_not_an_answer_to_who_usually_wins(honest):
    body = copy.deepcopy(honest)
    del body["evidence"]["question"]
    refused(body, "a quantile was asked for")


def test_nobody_is_dropped_too_early_or_unnamed(honest):
    dropping = [i for i, block in enumerate(honest["evidence"]["blocks"]) if block["dropped"]]
    body = copy.deepcopy(honest)
    blocks = body["evidence"]["blocks"]
    blocks[dropping[0] - 1]["dropped"] = blocks[dropping[0]]["dropped"]
    blocks[dropping[0]]["dropped"] = []
    refused(body, "log capital")
    body = copy.deepcopy(honest)
    blocks = body["evidence"]["blocks"]
    blocks[dropping[-1]]["rivals"] = [0]
    refused(body, "no rivals among quantiles")


def test_levels_and_strata_have_no_place(honest):
    body = copy.deepcopy(honest)
    body["evidence"]["levels"] = True
    refused(body, "move with levels")
    body = copy.deepcopy(honest)
    for batch in body["batches"]:
        batch["stratum"] = "monday"
    refused(body, "strata")


def test_a_reward_that_matters_cannot_be_changed(honest):
    body = copy.deepcopy(honest)
    batch = body["batches"][3]
    worst = batch["arms"].index(2)
    batch["sums"][worst] = -100.0
    refused(body, "log capital")


def test_capital_is_that_of_the_algorithm_in_many_runs():
    for p, digits, minimise in [(0.3, 0, False), (0.8, 6, False), (0.5, 1, True), (0.7, 6, True)]:
        run = of_any_kind(quantile=p, digits=digits, minimise=minimise)
        found = sp.verify(run.answer.certificate())
        assert found.risk == 0.2
        last = run.state.question.against()
        assert math.isfinite(last.max())
