"""Smaller is better: asked and named as with rewards turned, shown in the numbers as told."""

import json
import math
from typing import NamedTuple

import numpy as np
import pytest
from tests.breadth import each_value

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError, InvalidTypeError
from surepick.run.certificate import fingerprint
from surepick.run.standing import Standing

LABELS = ["a", "b", "c", "d", "e"]
MEANS = np.array([0.45, 0.2, 0.8, 0.4, 0.6])
SCALES = [0.3, 0.5, 0.3, 0.4, 0.3]
# With an intercept, so that rewards less their bounds are linear in them, too.
FEATURES = np.c_[np.ones(5), MEANS, [0.1, 0.7, 0.3, 0.9, 0.2]]


def _normal(rng, arms):
    return MEANS[arms] + 0.3 * rng.standard_normal(len(arms))


MOST = 10_000  # measurements of a run that would not end: all others need fewer


class Kind(NamedTuple):
    """Rewards of one kind, and the same turned: larger is better."""

    noise: object
    turned: object  #: the noise of turned rewards
    draw: object = _normal
    turn: object = np.negative


KINDS = {
    "any": Kind("any", "any", lambda rng, k: np.exp(3 * MEANS[k] + 0.5 * rng.normal(size=len(k)))),
    "symmetric": Kind("symmetric", "symmetric"),
    "equal": Kind("equal", "equal"),
    "known": Kind(0.3, 0.3),
    "by arm": Kind(SCALES, SCALES),
    "yes-no": Kind(
        "yes-no", "yes-no", lambda rng, k: 1.0 * (rng.random(len(k)) < MEANS[k]), lambda y: 1.0 - y
    ),
    "bounded": Kind((-1.0, 3.0), (-3.0, 1.0), lambda rng, k: np.clip(_normal(rng, k), -1.0, 3.0)),
}


def problem_of(noise, minimise=False, **settings):
    arms = settings.pop("arms", np.eye(5))
    return sp.Problem(arms, noise=noise, labels=LABELS, minimise=minimise, **settings)


def play(run, kind, turned, steps=None, past=0, strata=False):
    """Take a run to its end; what it asked for, and what is known after each batch."""
    rng, asks = np.random.default_rng(5), []

    def told(arms):
        rewards = kind.draw(rng, arms % 5)
        return kind.turn(rewards) if turned else rewards

    if past:
        arms = rng.integers(5, size=past)
        run.tell_past(arms, told(arms), chosen_in_advance=True)
    while not run.stopped:
        if steps and len(asks) in steps:
            steps[len(asks)](run)
        batch = run.ask()
        items = None if batch.items is None else batch.items.tolist()
        asks.append((batch.arms.tolist(), items))
        days = {"strata": [f"day {i % 2}" for i in range(batch.size)]} if strata else {}
        run.tell(batch, told(batch.arms), **days)
    return asks


def twins(kind, settings=None, steps=None, past=0, strata=False, **problem):
    """Two runs on the same rewards: smaller is better, and turned, larger is."""
    found = []
    for turned in (False, True):
        own = {"max_samples": MOST} | (settings or {})
        if turned and "threshold" in own:
            own["threshold"] = float(kind.turn(own["threshold"]))
        made = problem_of(kind.turned if turned else kind.noise, minimise=not turned, **problem)
        run = sp.algorithms.PooledPeleg(0.1, **own).start(made, seed=11)
        found += [run, play(run, kind, turned, steps, past, strata)]
    return found


def check_twins(kind, **how):
    """What is asked and named is the same; what is shown is in the numbers that were told."""
    run, asks, turned, expected = twins(kind, **how)
    assert asks == expected
    mine, other = run.answer, turned.answer
    assert (mine.arms, mine.survivors) == (other.arms, other.survivors)
    assert mine.p_value == pytest.approx(other.p_value)
    assert (mine.better, mine.worse, mine.close) == (other.better, other.worse, other.close)
    assert mine.guarantee.kind == other.guarantee.kind
    assert mine.wins == other.wins
    assert mine.best_mean == other.best_mean
    now, then = run.standing(), turned.standing()
    assert now["state"] == then["state"]
    for name in ("behind", "error", "behind_low", "behind_high", "p_value"):
        mine, other = (np.array(one[name], dtype=float) for one in (now, then))
        assert mine == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True), name
    back = kind.turn(np.array(then["estimate"], dtype=float))
    assert now["estimate"] == pytest.approx(back, rel=1e-9, abs=1e-12)
    assert sp.verify(run.answer.certificate())
    return run, turned


QUESTIONS = {
    "best": {},
    "top": {"top": 2},
    "baseline": {"baseline": "d", "max_samples": 1000},
    "epsilon": {"epsilon": 0.3, "max_samples": 1000},
    "guess": {"guess": True, "max_samples": 120},
}


@pytest.mark.some(1)
@pytest.mark.parametrize(("name", "question"), each_value([*KINDS], [*QUESTIONS]))
def test_every_question_about_every_kind(name, question):
    check_twins(KINDS[name], settings=QUESTIONS[question])


@pytest.mark.some(1)
@pytest.mark.parametrize("name", [name for name in KINDS if name != "any"])
def test_a_threshold_is_told_and_said_as_people_mean_it(name):
    run, turned = check_twins(KINDS[name], settings={"threshold": 0.5, "max_samples": 3000})
    answer = run.answer
    assert "b" in answer.better
    assert "c" in answer.worse
    assert "claims against 0.5" in answer.guarantee
    for label, lift in answer.lifts.items():  # the option less the number
        other = turned.answer.lifts[label]
        assert lift == pytest.approx((-other.estimate, -other.high, -other.low), nan_ok=True)
    assert answer.lifts["b"].estimate < 0 < answer.lifts["c"].estimate


MORE = {
    "guide": {"arms": FEATURES, "misfit": math.inf},
    "trusted": {"arms": FEATURES},
    "allowed": {"arms": FEATURES, "misfit": 0.05},
    "costs": {"costs": [1.0, 2.0, 5.0, 1.0, 3.0], "settings": {"budget": 900.0}},
    "past": {"past": 40},
    "strata": {"strata": True},
    "pieces": {"settings": {"max_batch": 8}},
    "items": {"settings": {"items": 50, "max_samples": 400}},
    "retired": {"steps": {1: lambda run: run.retire("e"), 3: lambda run: run.retire("d")}},
    "added": {"steps": {1: lambda run: run.add([[0.0] * 5 + [1.0]], ["f"])}},
}
# "known" shows what "by arm" and "equal" could show of items and levels; one minus a reward is
# not the number that the order of past measurements is a hash of.
NOT_TOGETHER = {
    *(("any", more) for more in ("trusted", "allowed")),
    *((kind, "items") for kind in ("equal", "known", "by arm")),
    *(("by arm", more) for more in ("strata", "added")),
    ("yes-no", "past"),
}


@pytest.mark.some(1)
@pytest.mark.parametrize(("more", "name"), each_value([*MORE], [*KINDS]))
def test_whatever_else_is_asked_for(more, name):
    if (name, more) in NOT_TOGETHER:
        name = "symmetric"
    run, _ = check_twins(KINDS[name], **MORE[more])
    assert run.problem.minimise


def test_features_without_a_level_still_speak_of_means():
    """Rates that are linear in features: 1 - rate would not be, so rewards only change sign."""
    arms = np.array([[0.2, 0.6], [0.5, 0.1], [0.9, 0.3]])
    rates = arms @ [0.6, 0.3]
    rng = np.random.default_rng(0)
    problem = sp.Problem(arms, noise="yes-no", minimise=True)
    answer = sp.identify(problem, lambda arm: float(rng.random() < rates[arm]), seed=1)
    assert answer.arm == rates.argmin()
    assert answer.guarantee
    assert sp.verify(answer.certificate())


def test_a_told_reward_is_turned_exactly_once():
    """From tell to estimate: recorded as told, seen with the other sign, shown as told."""
    problem = problem_of(2.0, minimise=True)
    run = sp.algorithms.PooledPeleg(0.1).start(problem, seed=0)
    batch = run.ask()
    run.tell(batch, [10.0 + arm for arm in batch.arms])
    told = run.told()[0]
    assert (told.sums / told.pulls.counts).tolist() == [10.0, 11.0, 12.0, 13.0, 14.0]
    assert run.sums.tolist() == (run.pulls * [10.0, 11.0, 12.0, 13.0, 14.0]).tolist()
    seen = run.state.totals  # inside, in units of the noise
    assert (seen.sums / seen.counts).tolist() == [-5.0, -5.5, -6.0, -6.5, -7.0]
    now = run.standing()
    assert now["estimate"] == pytest.approx([10.0, 11.0, 12.0, 13.0, 14.0])
    assert now["behind"] == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0])
    assert now.leader == "a"


def test_where_it_stands_lists_the_best_first():
    run = sp.algorithms.PooledPeleg(0.1).start(problem_of(2.0, minimise=True), seed=0)
    batch = run.ask()
    run.tell(batch, [10.0 - arm for arm in batch.arms])
    table = run.standing().table()
    places = [table.index(f">{label}<") for label in "edcba"]
    assert places == sorted(places)
    kept = run.standing().to_dict()
    assert kept["minimise"]
    assert Standing.from_dict(kept).minimise


def test_files_say_which_way_is_better():
    problem = problem_of("any", minimise=True)
    run = sp.algorithms.PooledPeleg(0.1).start(problem, seed=3)
    batch = run.ask()
    run.tell(batch, MEANS[batch.arms])
    again = type(run).from_json(run.to_json())
    assert again.problem.minimise
    assert again.problem == problem
    assert again.ask().arms.tolist() == run.ask().arms.tolist()
    plain = problem_of("any")
    assert plain != problem
    assert plain.digest != problem.digest
    assert problem.with_direction(False) == plain
    assert plain.with_direction(True) == problem
    assert "minimise" not in plain.to_dict()
    assert sp.Problem.from_dict(json.loads(json.dumps(problem.to_dict(), default=list))).minimise


def test_identify_says_it_or_the_problem_does():
    problem = sp.Problem.unstructured(["slow", "fast"], minimise=True)
    rng = np.random.default_rng(2)

    def seconds(arm):
        return float(np.exp(2.0 - 1.5 * arm + 0.3 * rng.normal()))

    assert sp.identify(problem, seconds).label == "fast"
    other = sp.Problem.unstructured(["slow", "fast"])
    assert sp.identify(other, seconds, minimise=True).label == "fast"
    assert sp.identify(problem, seconds, minimise=False).label == "slow"
    assert not other.minimise
    answer = sp.identify(problem, seconds)
    assert "where smaller is better" in answer.guarantee
    assert "Smaller is better" in answer.plain
    assert "smaller is better" in repr(problem)


@pytest.mark.parametrize("wrong", [1, "yes", None, 0.0])
def test_it_is_true_or_false(wrong):
    with pytest.raises(InvalidTypeError, match="minimise must be True"):
        sp.Problem.unstructured(["a", "b"], minimise=wrong)
    if wrong is not None:  # None: as the problem says
        with pytest.raises(InvalidTypeError, match="minimise must be True"):
            sp.identify(sp.Problem.unstructured(["a", "b"]), lambda arm: 0.0, minimise=wrong)


def test_comparisons_of_two_say_themselves_which_is_better():
    pairs = sp.Problem.pairs(["a", "b", "c"])
    for minimising in (
        lambda: pairs.with_direction(True),
        lambda: sp.identify(pairs, judge=lambda first, second: 1.0, minimise=True),
    ):
        with pytest.raises(InvalidInputError, match="minimise: a comparison of two options says"):
            minimising()
    answer = sp.identify(pairs, judge=lambda first, second: float(first < second))
    assert answer.label == "a"
    with pytest.raises(CertificateError, match="comparisons of two say themselves"):
        sp.verify(forged(answer.certificate(), True))


def forged(body, minimise, statement=lambda text: text):
    body = json.loads(json.dumps(body))
    if minimise is None:
        del body["problem"]["minimise"]
    else:
        body["problem"]["minimise"] = minimise
    body["claim"]["statement"] = statement(body["claim"]["statement"])
    return body | {"digest": fingerprint(body)}


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("name", "settings"),
    each_value([*KINDS], [{}, {"max_samples": 30}, {"baseline": "d", "max_samples": 500}]),
)
def test_the_direction_of_a_certificate_cannot_be_turned(name, settings):
    kind = KINDS[name]
    run = sp.algorithms.PooledPeleg(0.1, **settings).start(problem_of(kind.noise, True), seed=4)
    play(run, kind, turned=False)
    body = run.answer.certificate()
    assert sp.verify(body)

    def silent(text):
        return text.replace("; where smaller is better", "").replace(" (smaller is better)", "")

    for statement in (lambda text: text, silent):
        with pytest.raises(CertificateError):
            sp.verify(forged(body, None, statement))
    for other in (False, 1, "true"):
        with pytest.raises(CertificateError, match="minimise is true"):
            sp.verify(forged(body, other))
    larger = sp.algorithms.PooledPeleg(0.1, **settings).start(problem_of(kind.noise), seed=4)
    play(larger, kind, turned=False)
    with pytest.raises(CertificateError):
        sp.verify(forged(larger.answer.certificate(), True))
