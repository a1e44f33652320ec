"""Certificates of the best that keeps limits: checked again, and not to be forged."""

import copy
import functools
import json

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.verifier.questions import keeping


@functools.cache
def made(noise="yes-no", number=(0, 1), keep=("cost <= 0.5",), epsilon=0.0, **more):
    rng = np.random.default_rng(5)
    problem = sp.Problem.unstructured(["a", "b", "c"], noise=noise, numbers={"cost": number})

    def measure(arm):
        y = float(rng.random() < (0.2, 0.6, 0.9)[arm])
        y = y if noise == "yes-no" else y + rng.standard_normal()
        c = float(np.clip((0.2, 0.3, 0.8)[arm] + 0.1 * rng.standard_normal(), 0, 1))
        return {"reward": y, "cost": float(c > 0.5) if number == "yes-no" else c}

    settings = {"keep": list(keep), "epsilon": epsilon, "seed": 1, "max_samples": 5000}
    answer = sp.identify(problem, measure, **settings)
    return json.loads(json.dumps(answer.certificate()))


KINDS = [
    ("yes-no", (0, 1)),
    ("symmetric", "symmetric"),
    ("any", "any"),
    (1.5, 0.1),
    ("equal", "equal"),
    ("any", "yes-no"),
]


@pytest.mark.some(2)
@pytest.mark.parametrize(("noise", "number"), KINDS)
def test_every_kind_is_worked_out_again_and_replayed(noise, number):
    keep = ("p90 of cost <= 0.6",) if number == "any" else ("cost <= 0.5",)
    found = sp.verify(made(noise, number, keep), replay=True)
    assert (found.label, found.guarantee, found.replayed) == ("b", "pac", True)
    assert not found.unknown


def test_margins_tolerances_and_nobody():
    found = sp.verify(made(keep=("cost <= a + 30%",)), replay=True)
    assert (found.label, found.replayed) == ("b", True)
    found = sp.verify(made(keep=("cost <= 0.3 ± 0.2", "cost >= 0.05"), epsilon=0.1), replay=True)
    assert (found.label, found.guarantee, found.replayed) == ("b", "eps-pac", True)
    found = sp.verify(made(keep=("cost <= 0.05",)), replay=True)
    assert (found.guarantee, found.replayed) == ("nobody", True)
    assert "no option keeps cost <= 0.05" in found.statement


def forged(change, **how):
    body = copy.deepcopy(made(**how))
    change(body)
    return body | {"digest": fingerprint(body)}


def _another_limit(body):
    body["evidence"]["limits"] = ["cost <= 0.9"]


def _another_limit_everywhere(body):
    _another_limit(body)
    body["algorithm"]["settings"]["keep"] = ["cost <= 0.9"]


def _names_who_breaks_it(body):
    body["claim"] |= {"candidate": 2, "label": "c", "survivors": [2]}


def _sooner(body):
    """Stops before it is shown that the answer keeps the limit, or is better."""
    del body["batches"][-1], body["evidence"]["blocks"][-1]
    body["claim"]["samples"] = sum(sum(batch["counts"]) for batch in body["batches"])


def _cheaper(body):
    for batch in body["batches"]:
        batch["numbers"]["cost"]["sums"] = [0.5 * s for s in batch["numbers"]["cost"]["sums"]]


def _impossible(body):
    batch = body["batches"][0]
    batch["numbers"]["cost"]["sums"][0] = batch["counts"][0] + 1.0


def _without_numbers(body):
    del body["batches"][1]["numbers"]


def _with_one_more(body):
    batch = body["batches"][1]
    batch["numbers"]["other"] = batch["numbers"]["cost"]


def _without_spreads(body):
    del body["batches"][1]["numbers"]["cost"]["spreads"]


def _not_the_leader(body):
    block = body["evidence"]["blocks"][1]
    block["rivals"] = block["rivals"][::-1]


def _bets_on_the_first(body):
    body["evidence"]["blocks"][0]["rivals"] = [0, 1]


def _keeps_who_is_out(body):
    block = next(one for one in body["evidence"]["blocks"] if one["dropped"])
    block["dropped"] = []


def _more_capital(body):
    block = next(one for one in body["evidence"]["blocks"] if one["dropped"])
    block["dropped"][0]["log_capital"] += 1.0


def _wider_bounds(body):
    body["problem"]["numbers"]["cost"] = {"low": -100.0, "high": 100.0}


def _of_any_kind(body):
    body["problem"]["numbers"]["cost"] = "any"


def _says_more(body):
    body["claim"]["statement"] = body["claim"]["statement"].replace("of those that keep", "of all,")


def _other_stakes(body):
    body["evidence"]["precisions"] = [1.0, 2.0]


@pytest.mark.some(6)
@pytest.mark.parametrize(
    "change",
    [
        _another_limit,
        _another_limit_everywhere,
        _names_who_breaks_it,
        _sooner,
        _cheaper,
        _impossible,
        _without_numbers,
        _with_one_more,
        _without_spreads,
        _not_the_leader,
        _bets_on_the_first,
        _keeps_who_is_out,
        _more_capital,
        _wider_bounds,
        _of_any_kind,
        _says_more,
        _other_stakes,
    ],
)
def test_a_changed_certificate_is_refused(change):
    sp.verify(made(), replay=False)
    with pytest.raises(CertificateError):
        sp.verify(forged(change), replay=False)


def test_who_is_only_left_is_not_yet_shown_to_keep_the_limit():
    """The certificate of a run cut short where one is left claims nothing, and may not."""
    body = made(keep=("cost <= 0.31",))
    limits, K = body["evidence"]["blocks"], 3
    out = [i for i, block in enumerate(limits) for _ in block["dropped"]]
    assert len(out) == K - 1
    if out[-1] < len(limits) - 1:

        def cut(forgery):
            del forgery["batches"][out[-1] + 1 :], forgery["evidence"]["blocks"][out[-1] + 1 :]
            pulls = sum(sum(batch["counts"]) for batch in forgery["batches"])
            forgery["claim"]["samples"] = pulls

        with pytest.raises(CertificateError, match="not shown that the answer keeps"):
            sp.verify(forged(cut, keep=("cost <= 0.31",)), replay=False)


# -- each check by itself: others must not hide that it is gone ------------------------------
def _set_to_other_limits(body):
    body["algorithm"]["settings"]["keep"] = ["cost <= 0.9"]


def _goes_on(body):
    for listed in (body["batches"], body["evidence"]["blocks"]):
        listed.append(copy.deepcopy(listed[-1]))
    body["claim"]["samples"] += sum(body["batches"][-1]["counts"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_set_to_other_limits, "not those that the algorithm was set to"),
        (_goes_on, "comes after the question was answered"),
        (_keeps_who_is_out, "keeps who is ruled out"),
        (_not_the_leader, "did not seem to be the best that keeps limits"),
    ],
)
def test_why_it_is_refused(change, why):
    with pytest.raises(CertificateError, match=why):
        sp.verify(forged(change), replay=False)


def test_an_answer_that_is_not_shown_to_keep_the_limits_is_refused(monkeypatch):
    verify = keeping.verify
    monkeypatch.setattr(keeping, "verify", lambda check: verify(check)._replace(somebody=False))
    with pytest.raises(CertificateError, match="not shown that the answer keeps the limits"):
        sp.verify(made(), replay=False)


def test_who_is_far_better_is_not_accepted_before_it_keeps_the_limit():
    """The better one is soon shown to be close to the best, and not to keep the limit for long."""
    rng = np.random.default_rng(2)
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no", numbers={"cost": (0, 1)})
    run = sp.algorithms.PooledPeleg(0.2, keep=["cost <= 0.5 ± 0.02"]).start(problem, 1)
    while not run.stopped:
        batch = run.ask()
        y = rng.random(len(batch)) < np.array([0.1, 0.9])[batch.arms]
        cost = np.array([0.3, 0.6])[batch.arms] + rng.choice([-0.25, 0.25], len(batch))
        run.tell(batch, y.astype(float), numbers={"cost": cost})
    found = sp.verify(json.loads(json.dumps(run.answer.certificate())), replay=False)
    assert found.label == "a"
