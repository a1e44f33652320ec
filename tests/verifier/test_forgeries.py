"""Forged certificates in which every number is what the data give: only the conclusion is false.

The forger has an accomplice inside: a check that objects to nothing and notes which numbers it
would have wanted to read. So a forgery here is never refused for a number that does not fit, but
only because what it says does not follow.
"""

import copy
import json
import math
from functools import cache

import numpy as np
import pytest

import surepick as sp
from surepick.ahead.noise import Gaussian
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.simulate.trials import drive
from surepick.verifier.check import Check
from surepick.verifier.questions import rule_of, table
from surepick.verifier.rules import alba
from surepick.verifier.statement import _sentences
from surepick.verifier.verify import verify

ARMS = np.random.default_rng(7).normal(size=(10, 2))
THETA = np.array([0.6, -0.4])
PROBLEM = sp.Problem(ARMS, noise=0.5)
PROBLEMS = {  # where the noise is of another kind
    "pooled, scales unknown": sp.Problem(ARMS),
    "pooled, equal scales": sp.Problem(ARMS, noise="equal"),
    "pooled, scales by arm": sp.Problem(ARMS, noise=np.linspace(0.5, 1.5, 10)),
    "phases, scales by arm": sp.Problem(ARMS, noise=np.linspace(0.5, 1.5, 10)),
    "alba, scales by arm": sp.Problem(ARMS, noise=np.linspace(0.5, 1.5, 10)),
    "ellipsoid, scales by arm": sp.Problem(ARMS, noise=np.linspace(0.5, 1.5, 10)),
    "glr, scales by arm": sp.Problem(ARMS, noise=np.linspace(0.5, 1.5, 10)),
}
TIED = np.array([ARMS[6, 1] - ARMS[5, 1], ARMS[5, 0] - ARMS[6, 0]])  # 5 and 6 are equally good
TIED *= 2.0 * np.sign(ARMS[6] @ TIED) / np.linalg.norm(TIED)
#: algorithm and settings; pulls after which it is far from certain
RULERS = {
    "phases": ("peleg", {}, 12),
    "phases of fixed width": ("peleg-paper", {}, 80),
    "pooled": ("pooled-peleg", {}, 12),
    "static": ("xy-static", {}, 6),
    "static by a union": ("xy-static", {"constants": "printed"}, 12),
    "alba": ("alba", {"norm_bound": 2.0}, 40),
    "intervals": ("lucb", {}, 80),
    "ellipsoid": ("glucb", {"norm_bound": 2.0}, 40),
    "glr": ("lingame", {}, 20),
    "glr by a determinant": ("lazy-ts", {}, 20),
    "glr in rounds": ("uniform", {}, 30),
    "checked-fit": ("checked-fit", {}, 20),
    "pooled, scales unknown": ("pooled-peleg", {}, 20),
    "pooled, equal scales": ("pooled-peleg", {}, 12),
    "pooled, scales by arm": ("pooled-peleg", {}, 12),
    "phases, scales by arm": ("peleg", {}, 12),
    "alba, scales by arm": ("alba", {"norm_bound": 2.0}, 40),
    "ellipsoid, scales by arm": ("glucb", {"norm_bound": 2.0}, 40),
    "glr, scales by arm": ("lingame", {}, 20),
}
NUMBERS = ("gap", "width", "log_capital", "bias", "lead")


def certificate_of(ruler, problem=None, theta=THETA, **more):
    if problem is None and theta is THETA:
        return json.loads(_usual(ruler, **more))
    return _certificate(ruler, problem or PROBLEMS.get(ruler, PROBLEM), theta, **more)


@cache
def _usual(ruler, **more):
    return json.dumps(_certificate(ruler, PROBLEMS.get(ruler, PROBLEM), THETA, **more))


def _certificate(ruler, problem, theta, **more):
    name, settings, _ = RULERS[ruler]
    run = sp.algorithms.get(name, delta=0.1, **settings | more).start(problem)
    if problem.noise_kind.kind == "known" and problem is not PROBLEM:
        by_arm(run, problem, theta)
    else:
        drive(run, sp.simulate.Instance(problem, theta), np.random.default_rng(0), Gaussian())
    return json.loads(json.dumps(run.answer.certificate()))


def by_arm(run, problem, theta):
    """Rewards whose noise has the scale of their arm."""
    rng, scales = np.random.default_rng(0), problem.noise * np.ones(problem.n_arms)
    while not run.stopped:
        batch = run.ask()
        noise = scales[batch.arms] * rng.standard_normal(batch.size)
        run.tell(batch, problem.arms[batch.arms] @ theta + noise)


def cut_short(ruler):
    return certificate_of(ruler, max_samples=RULERS[ruler][2])


# -- the forger's tools --------------------------------------------------------------------
class Accomplice(Check):
    """Objects to nothing; ``wanted`` says which number should stand where another one does."""

    def __init__(self, body):
        self.wanted = {}
        super().__init__(body)

    def demand(self, holds, complaint):
        pass

    def agree_all(self, recorded, computed, what, rounding=None):
        self.wanted.update(zip(recorded.tolist(), np.asarray(computed).tolist()))


def proper(evidence):
    """The evidence of the rule proper, inside of wrappers."""
    return proper(evidence["inner"]) if "inner" in evidence else evidence


def records(certificate):
    """What drops candidates, in order; every drop as a dict of its own."""
    evidence = proper(certificate["evidence"])
    several = [evidence[key] for key in ("phases", "blocks", "looks", "stages") if key in evidence]
    found = several[0] if several else [evidence]
    if evidence.get("rule") == "pairs":  # nothing but the numbers of its blocks
        return []
    for record in found:
        if isinstance(record.get("dropped"), dict) and "certain" not in record["dropped"]:
            columns = record["dropped"]
            rows = zip(*columns.values(), strict=True)
            record["dropped"] = [dict(zip(columns, row, strict=True)) for row in rows]
    return [record for record in found if "dropped" in record]


def completed(certificate):
    """The certificate with all numbers as the data give them, and a digest that fits."""
    body = copy.deepcopy(certificate)
    dropped = [record["dropped"] for record in records(body) if "dropped" in record]
    drops = [drop for listed in dropped if isinstance(listed, list) for drop in listed]
    places = [(drop, key) for drop in drops for key in NUMBERS if key in drop]
    sizes = [record.get("items") for record in records(body)]
    if any(isinstance(size, int) and size > 10_000 for size in sizes):
        raise ValueError("an accomplice who never objects would be at it forever")
    for columns in (one for one in dropped if isinstance(one, dict)):
        places += [(columns[key], i) for key in NUMBERS for i in range(len(columns.get(key, ())))]
    for record in records(body):
        if "leads" in record:
            places += [(record["leads"], i) for i in range(len(record["leads"]))]
    places += [(claim, "log_capital") for claim in body["evidence"].get("claims", ())]
    if body["evidence"]["rule"] == "pairs":
        own = body["evidence"]["log_capital"]
        places += [(own, i) for i in range(len(own))]
    for number, (place, key) in enumerate(places):
        place[key] = 1e6 + number  # stands for what the accomplice will name
    biases = {}
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        compare = alba._Sample.compare

        def overheard(sample, by, losers, shift):
            found = compare(sample, by, losers, shift)
            bias = (found[1] * sample.check.noise).tolist()
            biases.update(zip(zip(by.tolist(), losers.tolist(), strict=True), bias, strict=True))
            return found

        patch.setattr(alba._Sample, "compare", overheard)
        patch.setattr(table.Race, "_drop", _sure_of(table.Race._drop))
        accomplice = Accomplice(body)
        rule_of(accomplice).shown(accomplice)
    for place, key in places:
        place[key] = accomplice.wanted.get(place[key], 0.0)
    for drop in drops:
        if "bias" in drop:
            drop["bias"] = biases.get((drop["by"], drop["candidate"]), 0.0)
    return body | {"digest": fingerprint(body)}


def _sure_of(drop):
    """As tables drop options, and writes down who of them is behind for certain."""

    def dropping(race, note, alive, peaks, where):
        dropped, sure = note._record["dropped"], alive[race.behind(alive)]
        dropped["certain"] = [x in sure for x in dropped["candidate"]]
        drop(race, note, alive, peaks, where)

    return dropping


def sentence(certificate, kind, left=1):
    """What has to be said where so many are left; by the verifier, so that it finds no fault."""
    found = _sentences(Accomplice(certificate), kind, left)
    return found[0].text if found else "no guarantee"


def concluded(certificate, survivors, kind="pac"):
    """The certificate with another conclusion, as the rule in question may draw it."""
    claim = certificate["claim"] | {
        "candidate": survivors[0],
        "label": str(survivors[0]),
        "survivors": sorted(survivors),
        "guarantee": kind,
        "statement": sentence(certificate, kind, len(survivors)),
    }
    return completed(certificate | {"claim": claim})


def refused(certificate):
    try:
        verify(certificate)
    except CertificateError:
        return True
    return False


# -- the tools do what they should ---------------------------------------------------------
@pytest.mark.parametrize("ruler", RULERS)
def test_an_honest_certificate_completed_is_itself(ruler):
    honest = certificate_of(ruler)
    again = completed(honest)
    assert verify(again) == verify(honest)
    listed = copy.deepcopy(honest)
    for record, written in zip(records(listed), records(again), strict=True):
        for drop, other in zip(record["dropped"], written["dropped"], strict=True):
            for key in set(NUMBERS) & set(drop):
                assert other[key] == pytest.approx(drop[key], rel=1e-6, abs=1e-9)


# -- false conclusions ---------------------------------------------------------------------
@pytest.mark.parametrize("ruler", RULERS)
def test_who_was_not_beaten_cannot_be_dropped(ruler):
    """A run that was cut short, whose record says that its answer beat all the others."""
    forgery = cut_short(ruler)
    left = forgery["claim"]["survivors"]
    assert len(left) > 1
    answer, last = forgery["claim"]["candidate"], len(forgery["batches"]) - 1
    evidence = proper(forgery["evidence"])
    if "looks" in evidence:
        evidence["looks"] = [look for look in evidence["looks"] if look["batch"] != last]
        evidence["looks"].append({"batch": last, "dropped": []})
    if "round" in evidence:
        evidence["round"] = 1 + (forgery["claim"]["samples"] - len(ARMS)) // 2
    if "blocks" in evidence:
        told = sum(block["batches"] for block in evidence["blocks"])
        evidence["blocks"][-1]["batches"] += len(own_batches(forgery)) - told
    if evidence["rule"] != "glr":
        drop = {"by": answer, "batch": last} | dict.fromkeys(NUMBERS, 0.0)
        losers = [i for i in left if i != answer]
        records(forgery)[-1]["dropped"] += [drop | {"candidate": i} for i in losers]
    assert refused(concluded(forgery, [answer]))


def own_batches(certificate):
    """The batches that the rule proper is about."""
    evidence, batches = certificate["evidence"], certificate["batches"]
    if evidence["rule"] == "checked-fit":
        pairs = zip(batches, evidence["extra"], strict=True)
        return [batch for batch, extra in pairs if set(batch["arms"]) - set(extra)]
    return batches


@pytest.mark.some(7)
@pytest.mark.parametrize("ruler", RULERS)
def test_loser_and_winner_cannot_change_places(ruler):
    honest = certificate_of(ruler)
    answer = honest["claim"]["candidate"]
    for other in set(range(len(ARMS))) - {answer}:
        forgery = copy.deepcopy(honest)
        exchange = {answer: other, other: answer}
        for record in records(forgery):
            if "members" in record:  # who is left must still follow from who was dropped
                record["members"] = sorted(exchange.get(i, i) for i in record["members"])
            for drop in record["dropped"]:
                for key in ("candidate", "by"):
                    if key in drop:
                        drop[key] = exchange.get(drop[key], drop[key])
        assert refused(concluded(forgery, [other])), other


@pytest.mark.parametrize("ruler", RULERS)
def test_a_survivor_cannot_be_left_out(ruler):
    cut = cut_short(ruler)
    assert refused(concluded(cut, [cut["claim"]["candidate"]]))


@pytest.mark.parametrize("ruler", RULERS)
def test_a_drop_cannot_be_taken_back(ruler):
    """Who was beaten is claimed to be as good as the answer: no more is left than follows."""
    honest = certificate_of(ruler)
    answer = honest["claim"]["candidate"]
    other = next(i for i in range(len(ARMS)) if i != answer)
    claim = {"survivors": sorted([answer, other])}
    assert refused(completed(honest | {"claim": honest["claim"] | claim}))


@pytest.mark.parametrize("ruler", RULERS)
def test_a_smaller_epsilon_than_was_shown_cannot_be_claimed(ruler):
    honest = certificate_of(ruler, theta=TIED, epsilon=0.4)
    left = honest["claim"]["survivors"]
    assert honest["claim"]["guarantee"] == "eps-pac"
    assert len(left) > 1
    forgery = copy.deepcopy(honest)
    forgery["epsilon"] = forgery["algorithm"]["settings"]["epsilon"] = 1e-3
    answer = honest["claim"]["candidate"]
    others = [i for i in left if i != answer]
    assert refused(concluded(forgery, [answer, *others], "eps-pac"))


# -- what one rule alone demands -----------------------------------------------------------
def test_bets_cannot_be_about_other_rivals():
    """Rivals chosen in hindsight could be those whose luck has been seen."""
    honest = certificate_of("pooled")
    goal = -math.log(honest["delta"])
    tried = 0
    for number, block in enumerate(records(honest)):
        if not block["rivals"]:
            continue
        for other in set(range(len(ARMS))) - set(block["rivals"]):
            for place in range(1, len(block["rivals"])):
                forgery = copy.deepcopy(honest)
                records(forgery)[number]["rivals"][place] = other
                forgery = completed(forgery)
                drops = [drop for record in records(forgery) for drop in record["dropped"]]
                if min(drop["log_capital"] for drop in drops) >= goal:  # else it is no proof
                    tried += 1
                    assert refused(forgery), (number, place, other)
    assert tried > 10


def test_an_arm_has_no_more_pulls_than_there_were_rounds():
    """The intervals hold for arms pulled at most once a round, as the rule does pull them."""
    problem = sp.Problem(np.eye(2), noise=1.0)
    honest = certificate_of("intervals", problem, np.array([20.0, 0.0]))
    rounds = 10

    def with_counts(*counts):
        body = copy.deepcopy(honest)
        sums = [20.0 * counts[0], 0.0]
        body["batches"] = [{"arms": [0, 1], "counts": list(counts), "sums": sums}]
        body["claim"]["samples"] = sum(counts)
        body["evidence"]["round"] = rounds
        return completed(body)

    assert verify(with_counts(rounds, rounds)).candidate == 0
    for more in (1, rounds - 1):
        assert refused(with_counts(rounds + more, rounds - more))


@pytest.mark.parametrize("number", [0, 1, -1], ids=["first", "second", "last"])
def test_pulls_of_a_cycle_are_whole_cycles(number):
    """More pulls of an arm than the cycle has, chosen who knows when; the numbers follow."""
    honest = certificate_of("static")
    forgery = copy.deepcopy(honest)
    batch = forgery["batches"][number]
    batch["counts"][0] *= 3
    batch["sums"][0] *= 3
    forgery["claim"]["samples"] += 2 * batch["counts"][0] // 3
    assert refused(completed(forgery))
