"""What a certificate promises is found again from the parts that the verifier has checked."""

import json

import pytest
from tests.verifier import samples
from tests.verifier.test_forgeries import RULERS, certificate_of, cut_short

from surepick.run.certificate import fingerprint
from surepick.run.verify import promise_stated
from surepick.verifier.verify import verify as verify_alone

RUNS = {
    "days": lambda: samples.on_days(0.0),
    "distrusted": lambda: samples.distrusted("symmetric", 0.1),
    "items": samples.on_items,
    "several": lambda: samples.several(0.3),
    "any": samples.of_any_kind,
    "any, on items": samples.of_any_kind_on_items,
    "quantile": lambda: samples.of_any_kind(quantile=0.5),
}


def _same(certificate):
    found = verify_alone(certificate)
    promise = promise_stated(certificate, found.stated)
    assert promise.exact == found.stated.text == found.statement
    assert promise.kind == found.guarantee
    return promise


@pytest.mark.some(4)
@pytest.mark.parametrize("name", RUNS)
def test_the_parts_make_the_sentence_and_the_plain_words_of_the_answer(name):
    answer = RUNS[name]().answer
    promise = _same(json.loads(json.dumps(answer.certificate())))
    assert promise == answer.guarantee.promise
    assert promise.plain() == answer.guarantee.promise.plain()


@pytest.mark.parametrize(
    ("control", "asked", "wrong"),
    [
        ("all", {"baseline": "now"}, "Of 100 studies like this one, at most 5 make a wrong claim."),
        (
            "fdr",
            {"threshold": 0.6},
            "On average over studies like this one, at most 5 % of the claims are wrong.",
        ),
    ],
)
def test_claims(control, asked, wrong):
    promise = _same(samples.compared(control, **asked))
    assert promise.compares
    assert promise.plain().startswith(wrong)


@pytest.mark.parametrize("ruler", ["phases", "static", "alba", "ellipsoid", "glr"])
@pytest.mark.parametrize("made", [certificate_of, cut_short])
def test_other_rules(ruler, made):
    assert ruler in RULERS
    assert _same(made(ruler)).plain()


def test_what_nobody_here_knows_is_said_as_it_stands():
    body = certificate_of("phases")
    body["algorithm"]["name"] = "of-another-package"
    body["digest"] = fingerprint(body)
    promise = _same(body)
    assert (
        promise.plain()
        == promise_stated(certificate_of("phases"), verify_alone(body).stated).plain()
    )
