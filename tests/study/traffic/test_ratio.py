"""Broken assignment shows in counts, and withdraws the guarantee."""

import numpy as np
import pytest
from tests.study.traffic import site

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.statistics.ratio import LEVEL, RatioTest


def broken(study, lost, most=40):
    """Visitors of the best option who do not respond are lost now and then: its rate looks high."""
    rng = np.random.default_rng(1)
    for number in range(most):
        if study.finished:
            break
        report = site.visitors(study.split(), 4000, rng)
        n, hits = report["bold"]
        report["bold"] = (n - int(rng.binomial(n - hits, lost)), hits)
        study.record(report, f"day {number}")


def test_assignment_that_depends_on_the_response_withdraws_the_guarantee():
    study = site.create(rates=site.RATES)
    broken(study, lost=0.6)
    assert study.finished
    answer = study.answer
    assert answer.label == "bold"  # wrong, as its visitors were chosen by how they respond
    assert answer.guarantee.kind == "heuristic"
    assert "visitors did not come in the shares they were sent by" in answer.guarantee
    at = study.status()
    assert at["traffic"]["ratio"]["off"][0] == "bold"
    assert "bold got" in at["warnings"][0]
    assert at["traffic"]["next"].startswith("Stop, repair how visitors are assigned")
    assert sp.verify(answer.certificate()).guarantee != "pac"
    claimed = study.current_run.answer.reported(study.traffic.record_of_shares()).certificate()
    with pytest.raises(CertificateError, match="did not come in the shares"):
        sp.verify(claimed, replay=False)


def test_forged_shares_and_counts_are_refused():
    study = site.create()
    site.decide(study)
    good = study.answer.certificate()
    sp.verify(good, replay=True)

    def forged(change):
        import copy

        body = copy.deepcopy(good)
        change(body)
        return body | {"digest": fingerprint(body)}

    def swap_shares(body):
        last = body["traffic"]["periods"][-1]
        a, b = np.argsort(last["shares"])[-2:]
        last["shares"][a] += 0.01
        last["shares"][b] -= 0.01

    def peek(body):
        body["traffic"]["periods"][1]["settled"] = 2

    def forget(body):  # its last shares would rest on fewer reports than those before
        periods = body["traffic"]["periods"]
        assert periods[-2]["settled"] > 0
        periods[-1]["settled"] = 0

    def no_share(body):
        body["traffic"]["periods"][0]["shares"] = [0.0, 0.5, 0.25, 0.25]

    def leave_out(body):
        del body["batches"][2], body["traffic"]["periods"][2]

    for change, message in [
        (peek, "came before reports they rest on"),
        (forget, "came before reports they rest on"),
        (no_share, "visitors came to arm 0, which had no share"),
        (leave_out, "refused"),
        (swap_shares, "do not follow from earlier reports"),
    ]:
        with pytest.raises(CertificateError, match=message):
            sp.verify(forged(change), replay=change is swap_shares)


def test_the_check_has_a_mean_of_one_and_few_false_alarms():
    from math import exp, lgamma, log

    p, total = np.array([0.5, 0.3, 0.2]), 0.0
    for a in range(7):
        for b in range(7 - a):
            n = np.array([a, b, 6 - a - b])
            test = RatioTest(3)
            test.add(p, n)
            chance = lgamma(7) - sum(lgamma(x + 1) for x in n) + float(n @ np.log(p))
            total += exp(chance + test.log_evidence)
    assert total == pytest.approx(1.0, abs=1e-6)
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(80):
        test = RatioTest(5)
        worst = -np.inf
        for _ in range(15):
            shares = rng.dirichlet(np.ones(5))
            test.add(shares, rng.multinomial(10_000, shares))
            worst = max(worst, test.log_evidence)
        alarms += worst >= -log(LEVEL)
    assert alarms <= 1
