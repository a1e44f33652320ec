"""Certificates of claims against a baseline: what is forged is refused."""

import copy
import functools

import numpy as np
import pytest
from tests.breadth import each_value

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.verifier.verify import verify

MEANS = [0.5, 1.3, -0.4, 0.55, 1.0]


@functools.cache
def made(control="all", threshold=None, noise=None, epsilon=0.0):
    rng = np.random.default_rng(2)
    problem = sp.Problem(np.eye(5), noise=noise, labels=["now", "b", "c", "d", "e"])
    asked = {"baseline": "now"} if threshold is None else {"threshold": threshold}
    run = sp.algorithms.PooledPeleg(
        0.05, claims=control, epsilon=epsilon, max_samples=500, **asked
    ).start(problem)
    while not run.stopped:
        batch = run.ask()
        rewards = [MEANS[arm] + 0.4 * rng.normal() for arm in batch.arms]
        run.tell(batch, np.clip(rewards, -1.0, 2.0))
    return run.answer.certificate()


def forged(body, change):
    body = copy.deepcopy(body)
    change(body)
    return body | {"digest": fingerprint(body)}


@pytest.mark.parametrize(
    ("noise", "threshold", "control"),
    each_value([None, "equal", 0.4, (-1.0, 2.0)], [None, 0.6], ["all", "fdr"]),
)
def test_honest_ones_hold(control, threshold, noise):
    body = made(control, threshold, noise)
    found = verify(body)
    assert found.guarantee == {"all": "claims", "fdr": "fdr"}[control]
    assert found.checked == len(body["evidence"]["claims"]) >= 2
    assert found.risk == 0.05


def raise_capital(body):
    body["evidence"]["claims"][0]["log_capital"] += 1.0


def turn(body):
    claim = body["evidence"]["claims"][0]
    claim["claim"] = {"better": "worse", "worse": "better"}[claim["claim"]]


def claim_more(body):
    claim = dict(body["evidence"]["claims"][-1], candidate=3, log_capital=9.0)
    body["evidence"]["claims"].append(claim)
    body["claim"]["better"] = sorted([*body["claim"]["better"], 3])
    body["claim"]["undecided"].remove(3)


def claim_twice(body):
    body["evidence"]["claims"].append(dict(body["evidence"]["claims"][-1]))


def claim_early(body):
    body["evidence"]["claims"][0]["block"] = 2


def hide(body):
    body["claim"]["worse"] = []


def another_baseline(body):
    body["evidence"]["question"]["baseline"] = 3


def milder(body):
    body["evidence"]["question"]["claims"] = "fdr"
    for claim in body["evidence"]["claims"]:
        claim["block"] = len(body["evidence"]["blocks"])


def other_rival(body):
    body["evidence"]["blocks"][-1]["rivals"] = [3]


def say_more(body):
    body["claim"]["statement"] = body["claim"]["statement"].replace("0.95", "0.99")


def forget_the_rest(body):
    said = body["claim"]["statement"]
    start = said.index("; stopped by")
    body["claim"]["statement"] = said[:start] + said[said.index("undecided") + len("undecided") :]


def name_another(body):
    body["claim"] |= {"candidate": 2, "label": "c"}


def pac(body):
    body["claim"]["guarantee"] = "pac"


FORGERIES = [raise_capital, turn, claim_more, claim_twice, claim_early, hide, another_baseline]
FORGERIES += [milder, other_rival, say_more, forget_the_rest, name_another, pac]


@pytest.mark.parametrize("change", FORGERIES, ids=lambda change: change.__name__)
def test_forged_ones_are_refused(change):
    body = made()
    assert body["claim"]["undecided"] == [3]
    verify(body)
    with pytest.raises(CertificateError):
        verify(forged(body, change))


def test_another_number_is_refused():
    def lower(body):
        body["evidence"]["question"]["threshold"] = 0.5
        body["algorithm"]["settings"]["threshold"] = 0.5
        body["claim"]["statement"] = body["claim"]["statement"].replace("0.6", "0.5")

    with pytest.raises(CertificateError, match="log capital"):
        verify(forged(made(threshold=0.6), lower))


@pytest.mark.parametrize("noise", [None, 0.4], ids=str)
def test_a_claim_with_its_own_capital_that_is_not_enough_is_refused(noise):
    """Honest numbers, false conclusion: most of the way is not all of it."""
    rng = np.random.default_rng(3)
    problem = sp.Problem(np.eye(5), noise=noise, labels=["now", "b", "c", "d", "e"])
    run = sp.algorithms.PooledPeleg(0.05, baseline="now").start(problem)
    while not run.stopped:
        before = run.state.question.sides()
        batch = run.ask()
        run.tell(batch, [MEANS[arm] + 0.4 * rng.normal() for arm in batch.arms])
        if run.state.question.said.made and np.exp(before).max() > 5:
            break
    run.end()
    body, sides = run.answer.certificate(), run.state.question.sides()
    left = body["claim"]["undecided"]
    assert left
    kind = int(np.argmax(sides[:, left[0]]))
    claimed = {"candidate": left[0], "claim": ("better", "worse")[kind]}
    claimed["log_capital"] = float(sides[kind, left[0]])

    def claim(body):
        body["evidence"]["claims"].append(claimed | {"block": len(body["evidence"]["blocks"])})
        body["claim"][claimed["claim"]] = sorted([*body["claim"][claimed["claim"]], left[0]])
        body["claim"]["undecided"].remove(left[0])

    verify(body)
    with pytest.raises(CertificateError, match="below"):
        verify(forged(body, claim))


def test_claims_that_only_a_milder_control_allows_are_refused():
    """Of k claims e-BH asks 2M/(k delta); taking one away, the others no longer have enough."""
    body = made("fdr")

    def fewer(body):
        claims = body["evidence"]["claims"]
        del claims[1:]
        claims[0]["log_capital"] = min(claims[0]["log_capital"], 5.0)

    with pytest.raises(CertificateError):
        verify(forged(body, fewer))


def test_discoveries_take_all_of_the_capital():
    """Of k claims each takes 2M/(k delta): with half as much the certificate is refused."""
    problem = sp.Problem(np.eye(3), noise=1.0, labels=["now", "b", "c"])
    config = sp.algorithms.PooledPeleg(0.05, baseline="now", claims="fdr")
    for seed in range(40):
        rng, run = np.random.default_rng(seed), config.start(problem)
        while not run.stopped:
            batch = run.ask()
            means = np.array([0.0, 0.9, 0.0])[batch.arms]
            run.tell(batch, means + rng.normal(size=batch.size))
            sides, made = run.state.question.sides(), run.state.question.said.made
            kind, place = np.unravel_index(np.argmax(sides[:, 1:]), (2, 2))
            enough = np.log(2 * 2 / 0.05)
            if not made and enough - np.log(2) < sides[kind, place + 1] < enough - 0.01:
                break
        else:
            continue
        break
    else:
        pytest.fail("no run had more than half of the capital, and not all of it")
    run.end()
    body = run.answer.certificate()
    verify(body)
    candidate, claim = int(place + 1), ("better", "worse")[kind]

    def discover(body):
        capital = float(sides[kind, candidate])
        one = {"candidate": candidate, "claim": claim, "log_capital": capital}
        body["evidence"]["claims"] = [one | {"block": len(body["evidence"]["blocks"])}]
        body["claim"] |= {claim: [candidate], "guarantee": "fdr"}
        body["claim"]["undecided"] = [3 - candidate]
        body["claim"]["survivors"] = [3 - candidate]
        if claim == "better":
            body["claim"] |= {"candidate": candidate, "label": problem.labels[candidate]}

    with pytest.raises(CertificateError, match="below"):
        verify(forged(body, discover))


@pytest.mark.parametrize("control", ["all", "fdr"])
def test_where_nobody_is_better_the_answer_is_the_baseline(control):
    rng = np.random.default_rng(1)
    problem = sp.Problem(np.eye(3), noise=0.4, labels=["now", "b", "c"])
    asked = {"baseline": "now", "claims": control, "max_samples": 200}
    run = sp.algorithms.PooledPeleg(0.05, **asked).start(problem)
    while not run.stopped:
        batch = run.ask()
        means = np.array([0.5, -0.6, 0.5])[batch.arms]
        run.tell(batch, means + 0.4 * rng.normal(size=batch.size))
    body = run.answer.certificate()
    verify(body)
    assert (body["claim"]["label"], body["claim"]["better"]) == ("now", [])
    assert body["claim"]["worse"] == [1]
    for candidate, label in ((1, "b"), (2, "c")):

        def name(body, candidate=candidate, label=label):
            body["claim"] |= {"candidate": candidate, "label": label}

        with pytest.raises(CertificateError, match="should be the baseline"):
            verify(forged(body, name))
