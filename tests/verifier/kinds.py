"""Problems with each kind of noise, rewards that are of this kind, and certificates of runs."""

import json
from typing import NamedTuple

import numpy as np

import surepick as sp

RNG = np.random.default_rng(3)
ARMS = RNG.normal(size=(12, 3))
MEANS = ARMS @ [0.5, -0.3, 0.2]
# With an intercept, and means between 0.1 and 0.65.
SHARES = np.c_[np.ones(12), (ARMS - ARMS.min(axis=0)) / np.ptp(ARMS, axis=0)]
RATES = SHARES @ [0.1, 0.3, 0.15, 0.1]
SCALES = 0.4 + 0.2 * np.arange(12)
LOW, HIGH = -1.0, 3.0


class Kind(NamedTuple):
    """One kind of noise: the problem's, features, means, and how rewards are drawn."""

    noise: object
    arms: np.ndarray
    means: np.ndarray
    draw: object  #: (rng, arms) -> rewards

    def problem(self, **settings):
        return sp.Problem(self.arms, noise=self.noise, **settings)


def _beta(rng, arms):
    share = (RATES[arms] - LOW) / (HIGH - LOW)
    return LOW + (HIGH - LOW) * rng.beta(5 * share, 5 * (1 - share))


KINDS = {
    "symmetric": Kind(
        None, ARMS, MEANS, lambda rng, k: MEANS[k] + SCALES[k] * rng.standard_t(3, size=len(k))
    ),
    "equal": Kind(
        "equal", ARMS, MEANS, lambda rng, k: MEANS[k] + 0.8 * rng.standard_normal(len(k))
    ),
    "known": Kind(0.8, ARMS, MEANS, lambda rng, k: MEANS[k] + 0.8 * rng.standard_normal(len(k))),
    "by arm": Kind(
        2 * SCALES,
        ARMS,
        MEANS,
        lambda rng, k: MEANS[k] + 2 * SCALES[k] * rng.standard_normal(len(k)),
    ),
    "yes-no": Kind(
        "yes-no", SHARES, RATES, lambda rng, k: (rng.random(len(k)) < RATES[k]).astype(float)
    ),
    "bounded": Kind((LOW, HIGH), SHARES, RATES, _beta),
}


def finished(name, seed=0, *, past=0, in_advance=True, large=False, by="pooled-peleg", **more):
    """A run on rewards of this kind."""
    kind, rng = KINDS[name], np.random.default_rng(seed)
    run = sp.algorithms.get(by, **{"delta": 0.05} | more).start(kind.problem(large=large))
    if past:
        arms = rng.integers(len(kind.arms), size=past)
        run.tell_past(arms, kind.draw(rng, arms), chosen_in_advance=in_advance)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, kind.draw(rng, batch.arms))
    return run


def as_json(run):
    return json.loads(json.dumps(run.answer.certificate()))
