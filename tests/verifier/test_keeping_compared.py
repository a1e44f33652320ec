"""Certificates of which options are better than a baseline and keep limits: not to be forged."""

import copy
import functools
import json

import pytest
from tests.verifier.samples import keeping as started

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint


@functools.cache
def made(noise="yes-no", number=(0, 1), keep=("cost <= 0.5",), **asked):
    asked = asked or {"baseline": 0}
    answer = started(noise, number, keep, **asked).answer
    return json.loads(json.dumps(answer.certificate()))


@pytest.mark.parametrize(
    ("noise", "number"),
    [
        ("yes-no", (0, 1)),
        ("symmetric", "symmetric"),
        ("any", "any"),
        (0.3, 0.1),
    ],
)
def test_every_kind_is_worked_out_again_and_replayed(noise, number):
    keep = ("p90 of cost <= 0.6",) if number == "any" else ("cost <= 0.5",)
    body = made(noise, number, keep)
    found = sp.verify(body, replay=True)
    assert (found.guarantee, found.replayed, found.unknown) == ("claims", True, ())
    assert (body["claim"]["better"], body["claim"]["ruled_out"]) == ([1], [2])
    assert found.plain.startswith("Better options are better than 'a' and keep")


def test_numbers_margins_tolerances_and_shares_of_claims():
    body = made(keep=("cost <= a + 30%", "cost <= 0.3 ± 0.2"), baseline=0, claims="fdr")
    found = sp.verify(body, replay=True)
    assert (found.guarantee, found.replayed, found.checked) == ("fdr", True, 2)
    found = sp.verify(made(threshold=0.4), replay=True)
    assert (found.guarantee, found.replayed, found.checked) == ("claims", True, 3)
    assert "better than 0.4 and keep cost <= 0.5" in found.statement


def forged(change, **how):
    body = copy.deepcopy(made(**how))
    change(body)
    return body | {"digest": fingerprint(body)}


def _another_limit(body):
    body["evidence"]["limits"] = ["cost <= 0.9"]


def _another_baseline(body):
    body["evidence"]["question"]["baseline"] = 1


def _another_control(body):
    body["evidence"]["question"]["claims"] = "fdr"


def _claims_that_it_keeps_them(body):
    body["claim"] |= {"better": [1, 2], "ruled_out": []}


def _shows_that_it_keeps_them(body):
    _claims_that_it_keeps_them(body)
    for one in body["evidence"]["claims"]:
        one["claim"] = "better"


def _more_capital(body):
    body["evidence"]["claims"][0]["log_capital"] += 1.0


def _made_earlier(body):
    """By capital that was not there yet."""
    body["evidence"]["claims"][-1]["block"] -= 1


def _claimed_twice(body):
    body["evidence"]["claims"].append(body["evidence"]["claims"][-1])


def _drops_one(body):
    body["evidence"]["blocks"][1]["dropped"] = [{"candidate": 2, "log_capital": 9.0}]


def _another_rival(body):
    body["evidence"]["blocks"][1]["rivals"] = [2]


def _cheaper(body):
    for batch in body["batches"]:
        batch["numbers"]["cost"]["sums"] = [0.5 * s for s in batch["numbers"]["cost"]["sums"]]


def _goes_on(body):
    for listed in (body["batches"], body["evidence"]["blocks"]):
        listed.append(copy.deepcopy(listed[-1]))
    body["claim"]["samples"] += sum(body["batches"][-1]["counts"])


def _says_more(body):
    body["claim"]["statement"] = body["claim"]["statement"].replace("0.5", "0.4")


def _says_nothing_of_limits(body):
    said = body["claim"]["statement"].partition(" are right")[2]
    body["claim"]["statement"] = f"all claims against 'a' are right{said}"


def _accepts_close_ones(body):
    body["epsilon"] = body["algorithm"]["settings"]["epsilon"] = 0.1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_another_limit, "not those that the algorithm was set to"),
        (_another_baseline, "not the one that the algorithm was set to"),
        (_another_control, "not the one that the algorithm was set to"),
        (_claims_that_it_keeps_them, "claimed to be better was not shown to be"),
        (_shows_that_it_keeps_them, "the log capital of 2 being better"),
        (_more_capital, "the log capital of"),
        (_made_earlier, "the log capital of|not in the order of blocks"),
        (_claimed_twice, "a claim about"),
        (_drops_one, "drops an option"),
        (_another_rival, "the only rival is the baseline"),
        (_cheaper, "the log capital of"),
        (_goes_on, "comes after the question was answered"),
        (_says_more, "the statement should be"),
        (_says_nothing_of_limits, "the statement should be"),
        (_accepts_close_ones, "accepts what is close"),
    ],
)
def test_why_a_changed_certificate_is_refused(change, why):
    with pytest.raises(CertificateError, match=why):
        sp.verify(forged(change), replay=False)


@pytest.mark.parametrize("of", ["rewards", "numbers"])
def test_what_is_too_large_to_be_told_is_not_replayed(of):
    """Nothing is claimed, so no bet is looked at, only the run itself."""

    def larger(body):
        batch = body["batches"][0]
        (batch if of == "rewards" else batch["numbers"]["cost"])["sums"][0] = 1e300

    body = forged(larger, noise=0.1, number=0.1, baseline="b", max_samples=12)
    with pytest.raises(CertificateError, match="too large"):
        sp.verify(body, replay=True)


@pytest.mark.parametrize("claims", ["all", "fdr"])
def test_a_claim_takes_its_capital(claims):
    """With a smaller delta everywhere, all else is as it was, and too little for the claims."""

    def stricter(body):
        body["delta"] = body["algorithm"]["settings"]["delta"] = 1e-6
        body["claim"]["statement"] = body["claim"]["statement"].replace("0.8", "0.999999")

    with pytest.raises(CertificateError, match="below"):
        sp.verify(forged(stricter, baseline=0, claims=claims), replay=False)


def test_a_run_that_ended_early_claims_what_it_has_shown():
    """The good one is at the limit: it cannot be shown to keep or to break it."""
    answer = started(keep=("cost <= 0.3",), baseline=0, max_samples=400).answer
    assert (answer.undecided, answer.ruled_out) == (("b",), ("c",))
    body = json.loads(json.dumps(answer.certificate()))
    found = sp.verify(body, replay=True)
    assert (found.guarantee, found.replayed) == ("claims", True)
    assert "; stopped by max_samples=400 with 1 option undecided" in found.statement
