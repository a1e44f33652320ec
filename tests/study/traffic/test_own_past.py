"""A rate that moves on its own withdraws the guarantee, names the option, and is in every door."""

import numpy as np
import pytest
from tests.study.traffic import site

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.storage.memory import MemoryStorage
from surepick.verifier.check import Check
from surepick.verifier.statement import _stopped_early

RATES = (0.05, 0.052, 0.054, 0.049)


def bot_day(study, on, factor=3.0, days=30, n=8000, who="bold", seed=0, stay=False):
    """Days of a site on which bots come to one option on a day; or for good, as a tag is dead."""
    rng = np.random.default_rng(seed)
    for day in range(days):
        if study.finished:
            break
        rates = np.array(RATES)
        if day == on or ((stay or factor == 0.0) and day >= on):
            rates[site.LABELS.index(who)] *= factor
        study.record(site.visitors(study.split(), n, rng, rates), f"day {day}")


@pytest.mark.some(3)
@pytest.mark.parametrize(("on", "factor"), [(0, 3.0), (1, 3.0), (2, 3.0), (0, 0.0), (2, 0.0)])
def test_bots_and_dead_tags_are_not_certified(on, factor):
    study = site.create(rates=RATES, name=f"bots {on} {factor}")
    bot_day(study, on, factor, days=3 if factor else 4)
    at = study.status()
    assert at["traffic"]["own_past"]["off"] == ["bold"]
    assert "bold" in at["warnings"][0]
    assert "bold" in at["traffic"]["headline"]
    proves = "without a guarantee" if study.finished else "so this proves nothing"
    assert proves in at["traffic"]["headline"]
    assert at["traffic"]["next"].startswith("Find out what happened to bold")
    assert study.checks().to_dict()["own_past"]["alarm"]
    study.stop() if not study.finished else None
    assert study.answer.guarantee.kind in ("heuristic", "none")


def test_a_certificate_that_claims_it_all_the_same_is_refused():
    study = site.create(rates=RATES)
    bot_day(study, 1, n=40_000, factor=1.6, stay=True)
    assert study.finished
    assert study.answer.guarantee.kind == "heuristic"
    assert "an option did not keep to its own past" in study.answer.guarantee
    assert sp.verify(study.answer.certificate(), replay=True).guarantee == "heuristic"
    claimed = study.current_run.answer.reported(study.traffic.record_of_shares()).certificate()
    with pytest.raises(CertificateError, match="did not keep to its own past"):
        sp.verify(claimed, replay=False)


def test_a_corrected_report_gives_the_guarantee_back():
    study = site.create()
    rng = np.random.default_rng(0)
    right = {}
    for day in range(8):
        if study.finished:
            break
        report = right[day] = site.visitors(study.split(), 6000, rng)
        if day == 1:
            n, hits = report["bold"]
            report = report | {"bold": (n, 4 * hits)}
        study.record(report, f"day {day}")
    assert study.status()["traffic"]["own_past"]["alarm"]
    study.correct_report("day 1", right[1], reason="bots, by the rule for all options")
    assert not study.status()["traffic"]["own_past"]["alarm"]


def test_all_is_said_to_be_well_where_it_is():
    study = site.create()
    site.decide(study)
    assert study.finished
    finding = study.checks().own_past
    assert not finding.alarm
    assert "kept its ratio" in finding.message
    assert study.answer.guarantee.kind == "pac"
    certificate = study.answer.certificate()
    assert certificate["traffic"]["past"] == 1
    assert "better does not change from period to period" in sp.verify(certificate).statement
    assert "better does not change from period to period" in sp.verify(certificate).plain


def guarded(study, days, refunds):
    """Days of a shop with refunds, which may change from day to day."""
    rng = np.random.default_rng(3)
    for number in range(days):
        counts = rng.multinomial(8000, list(study.split().shares.values()))
        rows = zip(counts, rng.binomial(counts, RATES), rng.binomial(counts, refunds(number)))
        report = {label: tuple(map(int, row)) for label, row in zip(site.LABELS, rows)}
        if study.record(report, f"day {number}").finished:
            break


def with_refunds(**more):
    problem = sp.Problem.unstructured(site.LABELS, noise="yes-no")
    how = {"storage": MemoryStorage(), "traffic": True, "keep": ["refunds <= plain + 1%"]}
    return sp.create_study("shop", problem, **how | more)


def test_refunds_that_are_no_longer_counted_are_named_with_their_period():
    study = with_refunds()
    guarded(study, 4, lambda day: (0.02, 0.02 if day < 3 else 0.0, 0.02, 0.02))
    found = study.status()["traffic"]["own_past"]
    assert found["off"] == ["bold"]
    assert "The rate of refunds of bold went its own way in period 'day 3'" in found["message"]
    assert "refunds that are not counted" in found["message"]
    assert "so this proves nothing" in study.status()["traffic"]["headline"]


def test_refunds_that_were_never_counted_are_named():
    study = with_refunds()
    guarded(study, 3, lambda day: (0.02, 0.0, 0.02, 0.02))
    found = study.status()["traffic"]["own_past"]
    assert found["off"] == ["bold"]
    assert "bold has had no refunds in" in found["message"]
    assert "Are its refunds counted?" in found["message"]


WITHDRAWN = "no guarantee: an option did not keep to its own past; otherwise it would be "


def test_a_certificate_with_a_dead_tag_of_refunds_is_refused():
    study = with_refunds(keep=["refunds <= 3%"], delta=0.3)
    guarded(study, 60, lambda day: (0.04, 0.04, 0.06 if day < 1 else 0.0, 0.04))
    certificate = study.answer.certificate()
    claim = certificate["claim"]
    assert sp.verify(certificate, replay=True).guarantee == "heuristic"
    assert claim["statement"].startswith(WITHDRAWN)
    claim = claim | {"guarantee": "pac", "statement": claim["statement"].removeprefix(WITHDRAWN)}
    body = certificate | {"claim": claim}
    with pytest.raises(CertificateError, match="its own past, refunds"):
        sp.verify(body | {"digest": fingerprint(body)}, replay=False)
    for rule in ({}, {"past": 1}, {"past": 3}, {"past": 2.0}, {"past": True}, {"past": None}):
        traffic = {name: one for name, one in certificate["traffic"].items() if name != "past"}
        body = certificate | {"claim": claim, "traffic": traffic | rule}
        with pytest.raises(CertificateError, match="past"):
            sp.verify(body | {"digest": fingerprint(body)}, replay=False)


def test_what_a_certificate_of_visitors_leaves_out_is_missed():
    """Without its wait, or its past, it would promise what nobody looked at."""
    study = site.create()
    site.decide(study)
    certificate = study.answer.certificate()
    assert sp.verify(certificate, replay=True).replayed
    decided = certificate["traffic"]["waits"]["decided"]
    hasty = {name: one for name, one in certificate["traffic"].items() if name != "waits"}
    hasty["periods"] = [
        {"name": one["name"], "shares": one["shares"], "settled": one["settled"]}
        for one in hasty["periods"][:decided]
    ]
    batches, blocks = certificate["batches"][:decided], certificate["evidence"]["blocks"]
    samples = sum(sum(batch["counts"]) for batch in batches)
    body = certificate | {"traffic": hasty, "batches": batches}
    body |= {
        "claim": certificate["claim"] | {"samples": samples},
        "evidence": certificate["evidence"] | {"blocks": blocks[: decided - len(blocks)]},
    }
    with pytest.raises(CertificateError, match=r"does not say what it has to|lacks"):
        sp.verify(body | {"digest": fingerprint(body)}, replay=True)


@pytest.mark.parametrize("claims", ["all", "fdr"])
def test_claims_rest_on_the_shares_that_visitors_were_sent_by(claims):
    problem = sp.Problem.unstructured(site.LABELS, noise="yes-no")
    how = {"traffic": True, "baseline": "plain", "claims": claims}
    study = sp.create_study("shop", problem, storage=MemoryStorage(), **how)
    rng = np.random.default_rng(1)
    for number in range(12):
        sent = np.array(list(study.split().shares.values())) * (1.0, 1.0, 1.0, 1.5)
        counts = rng.multinomial(20_000, sent / sent.sum())
        rows = zip(counts, rng.binomial(counts, (0.02, 0.04, 0.06, 0.1)))
        report = {label: tuple(map(int, row)) for label, row in zip(site.LABELS, rows)}
        if study.record(report, f"day {number}").finished:
            break
    certificate = study.answer.certificate()
    assert sp.verify(certificate, replay=True).guarantee == "heuristic"
    kind = "fdr" if claims == "fdr" else "claims"
    said = certificate["claim"]["statement"].partition("; otherwise it would be ")[2]
    body = certificate | {"claim": certificate["claim"] | {"guarantee": kind, "statement": said}}
    with pytest.raises(CertificateError, match="did not come in the shares"):
        sp.verify(body | {"digest": fingerprint(body)}, replay=False)


def test_a_study_that_was_stopped_promises_nothing_where_its_visitors_speak_against_it():
    """Who is left would be promised to have the best among them, if shares had been kept."""
    study = site.create()
    rng = np.random.default_rng(1)
    for number in range(3):
        sent = np.array(list(study.split().shares.values())) * (1.0, 1.0, 1.0, 1.5)
        counts = rng.multinomial(6000, sent / sent.sum())
        rows = zip(counts, rng.binomial(counts, (0.02, 0.09, 0.1, 0.1)))
        report = {label: tuple(map(int, row)) for label, row in zip(site.LABELS, rows)}
        study.record(report, f"day {number}")
    study.stop()
    certificate = study.answer.certificate()
    claim, left = certificate["claim"], len(certificate["claim"]["survivors"])
    assert sp.verify(certificate, replay=True).guarantee == claim["guarantee"] == "none"
    promised = _stopped_early(Check(certificate), left)[0].text
    assert f"and the best is among those {left} with probability" in promised
    forged = certificate | {"claim": claim | {"statement": promised}}
    with pytest.raises(CertificateError, match="the statement should be"):
        sp.verify(forged | {"digest": fingerprint(forged)}, replay=False)
