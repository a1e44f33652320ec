"""The first report of yes or no is dealt into two; certificates and replays deal it again."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.study.traffic import site

import surepick as sp
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.errors import CertificateError, StudyDamagedError
from surepick.run.certificate import fingerprint
from surepick.run.report import tell_report
from surepick.run.sharing import Sharing
from surepick.statistics.dealing import dealt, guiding
from surepick.storage.memory import MemoryStorage
from surepick.study.chain import _creation
from surepick.study.desk.rebuild import replay
from surepick.study.traffic.rules import DEAL, deal_seed


def first_blocks(study):
    return study.current_run.state.evidence()["blocks"][:2]


def test_the_first_report_guides_and_is_bet_on():
    study = site.create(seed=7)
    site.day(study, 0, 20_000)
    guides, rest = first_blocks(study)
    assert guides == {
        "batches": 0,
        "rivals": [],
        "dropped": [],
        "dealt": {"rule": 1, "seed": "7"},
    }
    assert rest["batches"] == 1
    assert [row["candidate"] for row in rest["dropped"]] == [0, 1, 2]  # after one report
    assert not study.finished  # which decides; the answer waits for another one
    site.decide(study, 1, 20_000)
    found = sp.verify(study.answer.certificate(), replay=True)
    assert found.replay == "every batch is what the algorithm asks for"
    assert "at one rate within the first period" in found.statement
    assert found.unknown == ()


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "asked", [{"top": 2}, {"baseline": "plain"}, {"epsilon": 0.01}, {"minimise": True}]
)
def test_every_question_is_verified_and_replayed(asked):
    given = dict(asked)
    problem = sp.Problem.unstructured(
        site.LABELS, noise="yes-no", minimise=given.pop("minimise", False)
    )
    study = sp.create_study("any", problem, storage=MemoryStorage(), traffic=True, seed=3, **given)
    site.decide(study, n=6000)
    certificate = study.answer.certificate()
    assert "dealt" in certificate["evidence"]["blocks"][0]
    assert sp.verify(certificate, replay=True).complete


def test_a_corrected_report_is_dealt_again_by_the_same_seed(storage_url):
    study = site.create(storage_url, seed=11)
    site.day(study, 0, 3000)
    study.correct_report(
        "day 0",
        {"plain": (700, 30), "bold": (750, 40), "photo": (740, 44), "video": (760, 70)},
        reason="a test account",
    )
    guides, _ = first_blocks(study)
    assert guides["dealt"]["seed"] == "11"
    run = study.current_run
    visits, yes = 760, 70
    own = dealt("11", 3, visits, yes)
    assert 0 <= own <= guiding(visits)
    assert run.state.totals.counts.tolist() == [700, 750, 740, 760]  # all of it guides what comes
    again, _ = study.desk.storage.read(lambda tx: replay(tx, study.desk.record))
    assert json.loads(again.to_json()) | {"id": 0} == json.loads(run.to_json()) | {"id": 0}


@pytest.mark.usefixtures("drawn_orders")
def test_nobody_chooses_the_seed_by_a_report():
    study, other = site.create(name="a", seed=None), site.create(name="b", seed=None)
    seeds = [deal_seed(one.desk.record) for one in (study, other)]
    assert None not in seeds
    assert seeds[0] != seeds[1]
    created = study.storage.read(lambda tx: tx.links(study.desk.record.id))[0]
    meta = json.loads(study.desk.record.meta) | {DEAL: "1"}
    assert _creation(study.desk.record, None) == json.loads(created.content)
    assert _creation(replace(study.desk.record, meta=json.dumps(meta)), None) != json.loads(
        created.content
    )


def test_a_study_that_lacks_the_seed_was_changed():
    study = site.create()
    meta = json.loads(study.desk.record.meta)
    del meta[DEAL]
    with pytest.raises(StudyDamagedError, match="it lacks the seed of its deals"):
        deal_seed(replace(study.desk.record, meta=json.dumps(meta)))


@pytest.mark.parametrize("noise", [(0.0, 1.0), "any"])
def test_other_rewards_are_not_dealt(noise):
    run = sp.algorithms.PooledPeleg(0.1).start(sp.Problem.unstructured(3, noise=noise))
    run.state.deal_by("1")
    assert run.state.evidence()["blocks"] == []
    assert run.state.deal is None


def test_where_limits_have_to_be_kept_nothing_is_dealt():
    """A success and a refund of one visitor depend on each other; reports say sums only."""
    problem = sp.Problem.unstructured(site.LABELS, noise="yes-no")
    study = sp.create_study(
        "kept", problem, storage=MemoryStorage(), traffic=True, keep=["refunds <= 0.1"]
    )
    study.split()
    study.record({label: (500, 20 + k, 5) for k, label in enumerate(site.LABELS)}, "day 0")
    assert "dealt" not in json.dumps(study.current_run.state.evidence())


@pytest.fixture(scope="module")
def certificate():
    study = site.create(seed=7)
    site.decide(study, n=4000)
    return study.answer.certificate()


def forged(certificate, change):
    body = json.loads(json.dumps(certificate))
    change(body)
    return body | {"digest": fingerprint(body)}


def other_seed(body):
    body["evidence"]["blocks"][0]["dealt"]["seed"] = "8"


def other_rule(body):
    body["evidence"]["blocks"][0]["dealt"]["rule"] = 2


def rule_that_is_no_number(body):
    body["evidence"]["blocks"][0]["dealt"]["rule"] = True


def dealt_later(body):
    block = body["evidence"]["blocks"].pop(0)
    body["evidence"]["blocks"].insert(1, block)


def not_dealt(body):
    del body["evidence"]["blocks"][0]["dealt"]


def other_stakes(body):
    body["evidence"]["precisions"] = [10.0, 150.0]


def no_traffic(body):
    del body["traffic"]


def unsaid(body):
    said = body["claim"]["statement"]
    body["claim"]["statement"] = said[: said.index("; provided that visitors of an option")]


@pytest.mark.parametrize(
    "change",
    [
        other_seed,
        other_rule,
        rule_that_is_no_number,
        dealt_later,
        not_dealt,
        other_stakes,
        no_traffic,
        unsaid,
    ],
)
def test_forged_dealings_are_refused(certificate, change):
    assert sp.verify(certificate)
    with pytest.raises(CertificateError):
        sp.verify(forged(certificate, change))


def test_bets_on_the_rest_pay_nothing_on_average_where_options_are_alike():
    """The mean of what the capital against a tied option becomes is 1 at most, report by report."""
    problem = sp.Problem.unstructured(3, noise="yes-no")
    rng, paid = np.random.default_rng(5), []
    for seed in range(150):
        run = sp.algorithms.PooledPeleg(0.01).start(problem)
        counts = rng.multinomial(1200, [1 / 3] * 3)
        hits = rng.binomial(counts, 0.1).astype(float)
        tell_report(run, ToldPulls(Pulls.from_counts(counts), hits), deal=str(seed))
        paid += np.exp(run.state.question.against()).tolist()
    assert np.mean(paid) < 1.0 + 4.0 * np.std(paid) / np.sqrt(len(paid) / 3)
    assert np.mean(paid) > 0.7  # half of it is not even staked


def test_rates_that_a_first_tenth_has_too_low_keep_nobody_for_ever():
    """Less its level, a rate would seem to be below 0, and this study go on."""
    rates, problem = np.array([0.03, 0.024]), sp.Problem.unstructured(2, noise="yes-no")
    run, shares = sp.algorithms.PooledPeleg(0.05).start(problem), None
    while not run.stopped and run.samples < 60_000:
        shares = Sharing().shares(run, shares)
        counts = np.round(2400 * shares).astype(np.int64)
        told = ToldPulls(Pulls.from_counts(counts), np.round(counts * rates))
        tell_report(run, told, deal="63")  # of 120 each, none and one guide
    assert run.answer.guarantee.kind == "pac"


def test_versions_may_come_and_go_before_the_first_report():
    study = site.create()
    study.retire("plain", reason="no licence for it")
    split = study.split()
    report = {label: (round(3000 * share), 100) for label, share in split.shares.items()}
    study.record(report | {"video": (1000, 140)}, "day 0")
    assert "dealt" in first_blocks(study)[0]
    for number in range(1, 20):
        if study.finished:
            break
        study.split()
        study.record({"bold": (1000, 60), "photo": (1000, 80), "video": (1000, 140)}, f"{number}")
    assert study.answer.label == "video"
    assert sp.verify(study.answer.certificate(), replay=True).complete


@pytest.mark.parametrize("visits", [(1, 0, 0, 0), (1, 1, 0, 1), (1, 1, 1, 1)])
def test_a_first_report_of_very_few_visitors_is_a_report(visits):
    study = site.create(seed=7)
    study.split()
    study.record({o: (n, n // 2) for o, n in zip(site.LABELS, visits, strict=True)}, "day 0")
    guides, rest = first_blocks(study)
    assert "dealt" in guides
    assert rest == {"batches": 1, "rivals": [], "dropped": []}
    site.decide(study, 1, 20_000)
    certificate = study.answer.certificate()
    assert sp.verify(certificate, replay=True).candidate == 3
    wrong = {"candidate": 0, "p_value": 0.01}
    bet = forged(certificate, lambda body: body["evidence"]["blocks"][1]["dropped"].append(wrong))
    with pytest.raises(CertificateError, match="no measurements to bet on"):
        sp.verify(bet)
