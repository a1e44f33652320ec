"""Guarantees in plain words: as sure as the exact sentence, and on the same conditions."""

import math

import numpy as np
import pytest

import surepick as sp
from surepick.problem.noise import ITEMS_PROVIDED, EqualNoise, SymmetricNoise
from surepick.run.guarantee import CHANGED, TURNED
from surepick.run.past import PROVIDED
from surepick.run.strata import STRATA_PROVIDED
from surepick.run.words import in_plain_words

THEOREM = " (the capital bet against the best is a supermartingale (see there); Ville's inequality)"
JARGON = (
    "supermartingale",
    "Ville",
    "probability at least",
    "guarantee",
    "candidate",
    "closed testing",
)


def _measured(problem, **settings):
    rng = np.random.default_rng(1)
    return sp.identify(problem, lambda arm: float(arm + 0.1 * rng.standard_normal()), **settings)


def test_an_answer_says_how_sure_it_is_and_what_that_takes():
    features = np.c_[np.ones(4), np.arange(4)]
    answer = _measured(sp.Problem(features, noise="symmetric", misfit=math.inf))
    assert answer.plain == (
        "Of 100 studies like this one, at most 5 name a wrong option. This holds whatever the "
        "features are worth, and if a measurement is as likely to come out too high as too low by "
        "the same amount."
    )
    assert answer.to_dict()["guarantee"]["plain"] == answer.plain
    assert "plain" not in str(answer.certificate()["claim"])


def test_options_that_came_and_went_say_among_which_it_is_the_best():
    said = in_plain_words(f"the best with probability at least 0.95{THEOREM}; {TURNED}", 0.05)
    assert said == (
        "Of 100 studies like this one, at most 5 name a wrong option. “Best” means best among all "
        "options that were ever added and not retired."
    )


def test_claims_say_so_whatever_the_baseline_is_called():
    problem = sp.Problem.unstructured(["now 5 (old); best", "b", "c"], noise=0.2)
    answer = _measured(problem, baseline="now 5 (old); best")
    assert answer.plain == "Of 100 studies like this one, at most 5 make a wrong claim."


def test_what_is_not_proven_says_why():
    answer = _measured(sp.Problem.unstructured(3, noise=5.0), max_samples=30)
    assert answer.plain == (
        "It looks best, but that is not proven: the study was stopped after 30 measurements, the "
        "most it was allowed, with 3 options left. Another option could just as well be the best "
        "(p-value 1)."
    )


@pytest.mark.parametrize(
    "condition",
    [
        "whatever the features are worth",
        "if rewards are linear in the features",
        "if the features are right to within 0.1",
        SymmetricNoise().provided,
        EqualNoise().provided,
        ITEMS_PROVIDED,
        PROVIDED,
        STRATA_PROVIDED,
        CHANGED,
        "provided that something nobody has thought of yet holds",
        "best on average over all 100 items",
    ],
)
def test_no_condition_gets_lost(condition):
    promise = f"the best with probability at least 0.9{THEOREM}"
    short, said = (in_plain_words(text, 0.1) for text in (promise, f"{promise}; {condition}"))
    assert short == "Of 100 studies like this one, at most 10 name a wrong option."
    assert said.startswith(short)
    assert len(said) > len(short) + 20
    assert not any(word in said for word in JARGON)
    within = in_plain_words(f"within 0.5 of {promise}, provided that |x| <= 3; {condition}", 0.1)
    begin = (
        "It is within 0.5 of the best. Of 100 studies like this one, at most 10 name one that is"
    )
    assert within.startswith(begin)
    assert "if |x| <= 3" in within
    stopped = "no guarantee: stopped by hand with 3 candidates left; the answer is the one that "
    stopped += "looks best, and the best is among those 3 with probability at least 0.9"
    assert in_plain_words(f"{stopped}; {condition}", 0.1).endswith(said.removeprefix(short))
