"""Tests whose versions come and go at any time: what is certified has shown again, and verifies."""

import json

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError, RunStateError
from surepick.run.certificate import fingerprint
from surepick.storage.memory import MemoryStorage

RATES = (0.05, 0.07, 0.09, 0.11)
KINDS = {
    "plain": {},
    "near": {"epsilon": 0.02},
    "guarded": {"keep": ["refunds <= 2%"]},
    "margin": {"keep": ["refunds <= control + 0.5%"], "traffic": {"control": "version 0"}},
}
PROVEN = ("pac", "eps-pac", "nobody")


class Site:
    """A site whose versions come and go; everything follows from two numbers."""

    def __init__(self, kind, seed):
        self.rng = np.random.default_rng([seed, [*KINDS].index(kind)])
        self.keeps = "keep" in KINDS[kind]
        self.rates = {}
        labels = [self.version() for _ in range(int(self.rng.integers(2, 5)))]
        self.there, self.stays = list(labels), labels[:1] if kind == "margin" else []
        problem = sp.Problem.unstructured(labels, noise="yes-no")
        asked = {"traffic": True, "storage": MemoryStorage(), "seed": seed} | KINDS[kind]
        self.study = sp.create_study("shop", problem, delta=0.2, **asked)

    def version(self):
        name = f"version {len(self.rates)}"
        self.rates[name] = self.rng.choice(RATES), self.rng.choice([0.01, 0.01, 0.04])
        return name

    def turn(self):
        """One comes, or one goes: whichever it is, and also after the end."""
        gone = [one for one in self.there if one not in self.stays]
        if self.rng.random() < 0.6 or len(self.there) == 1 or not gone:
            new = self.version()
            self.study.add([new], reason="a new one")
            self.there.append(new)
            return
        one = gone[int(self.rng.integers(len(gone)))]
        try:
            self.study.retire(one, reason="sold out")
        except RunStateError:  # it joins with a period that is still to come
            return
        self.there.remove(one)

    def day(self, number, ahead):
        if ahead:
            self.study.split(period=f"day {number}")
            self.study.split(period=f"day {number + 1}")
        split, report = self.study.split(period=f"day {number}"), {}
        counts = self.rng.multinomial(3000, list(split.shares.values())).tolist()
        for label, n in zip(split.shares, counts):
            cells = (n, *(int(self.rng.binomial(n, rate)) for rate in self.rates[label]))
            report[label] = cells if self.keeps else cells[:2]
        self.study.record(report, f"day {number}")

    def goes_on(self, turns=6, days=40):
        """Until it has ended, and nothing more happens to versions."""
        for number in range(days):
            while turns and self.rng.random() < 0.35:
                self.turn()
                turns -= 1
            if self.study.finished:
                break
            self.day(number, self.rng.random() < 0.3)
        return self.study


def seen_again(body):
    """Whether others were seen after the decision, if there are any."""
    changes = body.get("options", [])
    gone = {arm for one in changes if one["change"] == "retired" for arm in one["arms"]}
    others = set(range(len(body["problem"]["labels"]))) - gone - {body["claim"]["candidate"]}
    decided = body["traffic"]["waits"]["decided"]
    if not others or body["claim"]["guarantee"] not in PROVEN:
        return True
    chosen = {body["claim"]["candidate"]}  # whoever was seen may have been retired since
    return any({*batch["arms"]} - chosen for batch in body["batches"][decided:])


def look_at(kind, seeds):
    ended = 0
    for seed in seeds:
        study = Site(kind, seed).goes_on()
        if not study.finished:
            continue
        ended += 1
        text = json.dumps(study.answer.certificate())
        assert seen_again(json.loads(text)), seed
        found = sp.verify(text, replay=True)
        assert found.replayed, seed
        assert found.guarantee == study.answer.guarantee.kind
    return ended


QUICK = [("plain", 8), ("plain", 10), ("near", 2), ("near", 6), ("guarded", 9), ("margin", 1149)]


@pytest.mark.some(2)
@pytest.mark.parametrize(("kind", "seed"), QUICK)
def test_whatever_comes_and_goes_an_honest_certificate_verifies(kind, seed):
    assert look_at(kind, [seed]) == 1


@pytest.mark.validation
@pytest.mark.parametrize("kind", KINDS)
def test_honest_certificates_of_many_tests_verify(kind):
    """A hundred that end, of each kind."""
    ended, seed = 0, 1000
    while ended < 100:
        ended, seed = ended + look_at(kind, [seed]), seed + 1


def started(n=3, **asked):
    problem = sp.Problem.unstructured([f"version {k}" for k in range(n)], noise="yes-no")
    own = {"traffic": True, "seed": 1, "storage": MemoryStorage()} | asked
    return sp.create_study("shop", problem, **own)


def day(study, number, rates, n=4000):
    """A day on which exactly these rates were seen."""
    split = study.split(visits=n)
    rates = dict(zip([f"version {k}" for k in range(len(rates))], rates))
    report = {label: (k, round(k * rates[label])) for label, k in split.visits.items()}
    return study.record(report, f"day {number}")


@pytest.mark.parametrize("before", [2, 8])  # so it was there for most reports, or for few
def test_a_version_that_came_late_has_to_be_seen_behind_again(before):
    study, rates, number = started(2), (0.05, 0.10, 0.06), 0
    for number in range(before):
        day(study, number, (0.09, 0.10))
    study.add(["version 2"], reason="the new one")
    while not study.current_run.state.finished:
        number += 1
        day(study, number, rates)
    waits = study.current_run.waits
    assert 2 in waits.rivals(study.current_run)
    assert study.split().shares["version 2"] > 0.0
    day(study, number + 1, (0.05, 0.06, 0.10))  # whoever was behind is ahead now
    assert not study.finished
    assert "version 2" in study.status()["traffic"]["waiting"]["unseen"]


def test_a_certificate_needs_every_rival_seen_after_the_decision():
    study, number = started(3), 0
    while not study.finished:
        day(study, number, (0.05, 0.06, 0.10))
        number += 1
    body = json.loads(json.dumps(study.answer.certificate()))
    assert sp.verify(body, replay=False)
    decided = body["traffic"]["waits"]["decided"]
    for batch, period in zip(body["batches"][decided:], body["traffic"]["periods"][decided:]):
        _first, *others = zip(batch["arms"], batch["counts"], batch["sums"])
        batch["arms"], batch["counts"], batch["sums"] = (list(column) for column in zip(*others))
        left = sum(n for _, n, _ in others)
        period["shares"] = [0.0, *(n / left for _, n, _ in others)]
    body["claim"]["samples"] = sum(sum(batch["counts"]) for batch in body["batches"])
    del body["digest"]
    with pytest.raises(CertificateError, match="version 2 is ahead of version 0 did not show"):
        sp.verify(body | {"digest": fingerprint(body)}, replay=False)


@pytest.mark.some(2)
@pytest.mark.parametrize("reports", [0, 1, 2])
def test_a_test_of_which_one_version_is_left_has_ended(reports):
    study = started(3)
    for number in range(reports):
        day(study, number, (0.06, 0.06, 0.06))
    study.retire("version 0", reason="sold out")
    assert not study.finished
    study.retire("version 1", reason="sold out")
    assert study.finished
    assert study.answer.label == "version 2"
    text = json.dumps(study.answer.certificate())
    assert sp.verify(text, replay=True).guarantee == study.answer.guarantee.kind == "pac"
    study.add(["version 3"], reason="one more")
    assert not study.finished
    study.split()


def test_one_that_is_left_while_a_period_runs_ends_with_it():
    study = started(2)
    day(study, 0, (0.06, 0.06))
    study.split(period="day 1")
    study.retire("version 0", reason="sold out")
    assert not study.finished
    assert study.split(period="day 2").shares == {"version 1": 1.0}
    study.record({"version 0": (2000, 120), "version 1": (2000, 120)}, "day 1")
    assert study.finished
    assert sp.verify(json.dumps(study.answer.certificate()), replay=True).replayed


def test_a_version_that_is_alone_has_to_keep_its_limits():
    study = started(2, keep=["refunds <= 2%"])
    report = {"version 0": (3000, 150, 30), "version 1": (3000, 150, 30)}
    study.split()
    study.record(report, "day 0")
    study.retire("version 0", reason="sold out")
    assert not study.finished
    for number in range(1, 20):
        if study.finished:
            break
        study.split()
        study.record({"version 1": (6000, 300, 60)}, f"day {number}")
    answer = study.answer
    assert (answer.label, answer.guarantee.kind) == ("version 1", "pac")
    assert sp.verify(json.dumps(answer.certificate()), replay=True).replayed


def test_where_a_guarded_test_stands_is_said_after_a_version_came():
    study = started(2, keep=["refunds <= 2%"])
    study.split()
    study.record({"version 0": (3000, 150, 30), "version 1": (3000, 150, 30)}, "day 0")
    study.add(["version 2"], reason="the new one")
    at = study.status()["traffic"]
    assert at["visits_left"] is None
    assert at["leader"] in study.problem.labels
