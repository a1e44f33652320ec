"""Guarantees in plain words: as sure as the exact sentence, and on the same conditions."""

import copy
import inspect
import json
import math
import sys

import numpy as np
import pytest

import surepick as sp
from surepick import promise
from surepick.conditions import CONDITIONS
from surepick.problem.noise import ITEMS_PROVIDED, AnyNumber, EqualNoise, SymmetricNoise
from surepick.promise import Condition, Promise, Promised, Stopped, Words
from surepick.run.guarantee import trusting
from surepick.run.verify import verify

CAME_AND_WENT, CHANGED, PAST, STRATA = (
    CONDITIONS[name].of() for name in ("came-and-went", "changed", "past", "strata")
)
THEOREM = "the capital bet against the best is a supermartingale (see there); Ville's inequality"
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
        "Of 100 studies like this one, at most 5 name a wrong option. Choosing among several "
        "studies, or repeating one until it fits, multiplies the risk. This holds whatever the "
        "features are worth, if a measurement is as likely to come out too high as too low by the "
        "same amount, and if every measurement is drawn afresh (measuring again does not just "
        "repeat an earlier result)."
    )
    assert answer.to_dict()["guarantee"]["plain"] == answer.plain
    assert "plain" not in str(answer.certificate()["claim"])


def test_options_that_came_and_went_say_among_which_it_is_the_best():
    said = Promise(0.05, Promised("the best"), THEOREM, conditions=(CAME_AND_WENT,)).plain()
    assert said == (
        "Of 100 studies like this one, at most 5 name a wrong option. “Best” means best among all "
        "options that were ever added and not retired."
    )


def test_claims_say_so_whatever_the_baseline_is_called():
    problem = sp.Problem.unstructured(["now 5 (old); best", "b", "c"], noise=0.2)
    answer = _measured(problem, baseline="now 5 (old); best")
    said = "Of 100 studies like this one, at most 5 make a wrong claim. Choosing among several"
    assert answer.plain.startswith(said)


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
        trusting(math.inf),
        trusting(0.0),
        trusting(0.1),
        SymmetricNoise().provided,
        EqualNoise().provided,
        ITEMS_PROVIDED,
        PAST,
        STRATA,
        CHANGED,
        Condition("provided that something nobody has thought of yet holds"),
        sp.algorithms.PooledPeleg(0.1, items=100).about_items(),
    ],
)
def test_no_condition_gets_lost(condition):
    best, noise = Promised("the best"), SymmetricNoise()
    short = Promise(0.1, best, THEOREM).plain()
    assert short == "Of 100 studies like this one, at most 10 name a wrong option."
    promised = Promise(0.1, best, THEOREM, conditions=(condition,))
    said = promised.plain()
    assert promised.exact == f"the best with probability at least 0.9 ({THEOREM}); {condition}"
    assert said.startswith(short)
    assert len(said) > len(short) + 20
    assert not any(word in said for word in JARGON)
    needs = (Condition("provided that |x| <= 3"),)
    near = noise.near("the best", 0.5, items=False)
    within = Promise(0.1, near, THEOREM, needs, conditions=(condition,)).plain()
    begin = (
        "It is within 0.5 of the best. Of 100 studies like this one, at most 10 name one that is"
    )
    assert within.startswith(begin)
    assert "if |x| <= 3" in within
    among = sp.algorithms.PooledPeleg(0.1).asked.among(3, several=False)
    stopped = Promise(0.1, among, conditions=(condition,), stopped=Stopped(Words("by hand"), 3))
    assert stopped.plain().endswith(said.removeprefix(short))
    assert stopped.exact == (
        "no guarantee: stopped by hand with 3 candidates left; the answer is the one that looks "
        f"best, and the best is among those 3 with probability at least 0.9; {condition}"
    )


def test_no_sentence_is_taken_apart():
    for module in (promise, sys.modules[verify.__module__]):
        source = inspect.getsource(module)
        assert "import re\n" not in source
        assert ".partition(" not in source.replace('wrong.partition(" ")', "")


def test_a_promise_is_a_value():
    answer = _measured(sp.Problem.unstructured(3, noise="symmetric"), epsilon=0.2)
    guarantee = answer.guarantee
    assert guarantee == guarantee.promise.exact
    assert guarantee.kind == guarantee.promise.kind
    sent = copy.deepcopy(guarantee)  # as between processes
    assert sent.promise == guarantee.promise
    assert sent.promise.plain() == guarantee.promise.plain()


def test_one_sentence_says_on_what_it_all_rests():
    asked = sp.algorithms.PooledPeleg(0.05, quantile=0.95).asked
    said = Promise(0.05, Promised("the best"), conditions=(asked.meaning, PAST)).plain()
    assert said.count("This holds") == 1
    assert "Better means here: a better 95th percentile. This holds if measurements of an" in said
    assert said.endswith("whatever that way is, and " + PAST.plain + ".")


# -- epsilon where it is a share of comparisons ------------------------------------------------
def test_epsilon_as_a_share_of_comparisons_is_said_as_one_everywhere():
    rng = np.random.default_rng(0)
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="any")
    means = [0.0, 1.0, 1.0]
    answer = sp.identify(problem, lambda arm: rng.normal(means[arm], 0.5), epsilon=0.3, seed=1)
    assert answer.guarantee.kind == "eps-pac"
    assert answer.guarantee.startswith(
        "the best, or beaten by the best in at most 0.8 of all direct comparisons, with "
        "probability at least 0.95 ("
    )
    assert "It is the best, or the best wins at most 80 % of direct comparisons with it." in (
        answer.plain
    )
    assert "within" not in answer.guarantee + answer.plain
    certificate = json.loads(json.dumps(answer.certificate()))
    assert "at most 80 % of direct comparisons" in verify(certificate).plain


def test_a_running_study_says_what_epsilon_is():
    for noise, said in (
        ("any", "at most 5 name an option that the best beats in more than 55 % of direct compar"),
        ("symmetric", "at most 5 name an option that is not within 0.05 of the best."),
        ("yes-no", "at most 5 name an option that is not within 5 percentage points of the best."),
    ):
        problem = sp.Problem.unstructured(["a", "b"], noise=noise)
        study = sp.create_study(f"said {noise}", problem, epsilon=0.05, storage="memory://said")
        assert said in study.status()["promise"]["text"]


def test_the_m_best_by_comparisons():
    near = AnyNumber().near_several(3, 0.1)
    assert near.exact == (
        "3 options, each winning at least 0.4 of all direct comparisons with any of the 3 best "
        "that is not among them,"
    )
    assert Promise(0.05, near).plain() == (
        "Each wins at least 40 % of direct comparisons with any of the 3 best that is not among "
        "them. Of 100 studies like this one, at most 5 name one that does not."
    )


@pytest.mark.parametrize(
    ("problem", "settings", "close", "others"),
    [
        (
            sp.Problem.unstructured(2, noise="any"),
            {},
            "the best, or beaten by it in at most 55 % of direct comparisons",
            "wins at most 55 %",
        ),
        (
            sp.Problem.unstructured(2, noise="symmetric"),
            {},
            "within 0.05 of the best",
            "at most 0.05 better",
        ),
        (
            sp.Problem.unstructured(2, noise="yes-no"),
            {},
            "within 5 percentage points of the best",
            "at most 5 percentage points better",
        ),
        (
            sp.Problem.pairs(["a", "b"]),
            {},
            "preferred in at least 0.45 of all comparisons to every other option",
            "preferred in at most 0.55",
        ),
        (sp.Problem.unstructured(2), {"baseline": 0}, "", ""),
    ],
    ids=["any", "symmetric", "yes-no", "pairs", "compared"],
)
def test_a_study_says_what_epsilon_accepts(problem, settings, close, others, request):
    name = request.node.name
    study = sp.create_study(name, problem, epsilon=0.05, storage="memory://accepts", **settings)
    promise = study.status()["promise"]
    assert (promise["close"], promise["others"]) == (close, others)
