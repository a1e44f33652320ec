"""Certificates of the cheapest that is good enough: checked again, and not to be forged."""

import copy
import functools
import json

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint

MEANS = (0.1, 0.78, 0.8, 0.85)


@functools.cache
def made(noise="yes-no", within=0.3, epsilon=0.0, features=False):
    rng = np.random.default_rng(4)
    arms = np.eye(4) if not features else [[1, 0], [1, 1], [1, 1.1], [1, 1.2]]
    problem = sp.Problem(arms, noise=noise, costs=[1.0, 2.0, 3.0, 4.0])

    def measure(arm):
        chance = rng.random() < MEANS[arm]
        return float(chance) if noise == "yes-no" else MEANS[arm] + 0.2 * rng.standard_normal()

    settings = {"cheapest": True, "within": within, "epsilon": epsilon, "seed": 1}
    answer = sp.identify(problem, measure, max_samples=5000, **settings)
    return json.loads(json.dumps(answer.certificate()))


@pytest.mark.parametrize("noise", ["yes-no", (-2.0, 3.0), "symmetric", "equal", 0.3, "any"])
def test_every_kind_is_worked_out_again_and_replayed(noise):
    found = sp.verify(made(noise), replay=True)
    assert (found.label, found.guarantee, found.replayed) == ("1", "pac", True)
    assert not found.unknown


def test_with_a_tolerance_and_with_trusted_features():
    found = sp.verify(made(epsilon=0.15), replay=True)
    assert (found.label, found.replayed) == ("1", True)
    assert found.guarantee in ("pac", "eps-pac")
    assert sp.verify(made(0.3, features=True), replay=True).label == "1"


def _cheaper(body):
    body["claim"] |= {"candidate": 0, "label": "0", "survivors": [0]}


def _other_costs(body):
    body["problem"]["costs"] = [4.0, 3.0, 2.0, 1.0]


def _wider(body):
    body["evidence"]["question"]["cheapest"] = 0.5
    body["algorithm"]["settings"]["within"] = 0.5
    body["claim"]["statement"] = body["claim"]["statement"].replace("0.3", "0.5")


def _as_the_best(body):
    del body["evidence"]["question"]


def _another_head(body):
    block = body["evidence"]["blocks"][1]
    block["rivals"] = [block["rivals"][0], 3]


def _another_leader(body):
    block = body["evidence"]["blocks"][-1]
    block["rivals"] = [0, block["rivals"][1]]


def _sooner(body):
    del body["batches"][-1], body["evidence"]["blocks"][-1]
    body["claim"]["samples"] = sum(sum(batch["counts"]) for batch in body["batches"])


def _no_costs(body):
    del body["problem"]["costs"]


FORGERIES = [_cheaper, _other_costs, _wider, _as_the_best, _another_head, _another_leader]


@pytest.mark.parametrize("change", [*FORGERIES, _sooner, _no_costs])
def test_forged_ones_are_refused(change):
    body = copy.deepcopy(made())
    change(body)
    with pytest.raises(CertificateError):
        sp.verify(body | {"digest": fingerprint(body)})


def test_acceptance_up_to_the_tolerance_is_worked_out():
    """The head is exactly at the edge, so only the tolerance can end it."""
    rng = np.random.default_rng(4)
    problem = sp.Problem(np.eye(2), noise=0.3, costs=[1.0, 2.0])
    settings = {"cheapest": True, "within": 0.5, "epsilon": 0.3, "seed": 1}
    draw = lambda arm: 0.5 * arm + 0.3 * rng.standard_normal()  # noqa: E731
    body = json.loads(json.dumps(sp.identify(problem, draw, **settings).certificate()))
    assert sp.verify(body, replay=True).guarantee == "eps-pac"
    body["epsilon"] = body["algorithm"]["settings"]["epsilon"] = 0.01
    body["claim"]["statement"] = body["claim"]["statement"].replace("0.8", "0.51")
    with pytest.raises(CertificateError):
        sp.verify(body | {"digest": fingerprint(body)})
