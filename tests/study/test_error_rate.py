"""Answers of studies are right as often as promised, with workers that dawdle and fail.

``SUREPICK_TRIALS`` sets how many studies are simulated.
"""

import os

import numpy as np
import pytest
from scipy.stats import binom

import surepick as sp
from surepick.storage.memory import MemoryStorage

TRIALS = int(os.environ.get("SUREPICK_TRIALS", "30"))
DELTA = 0.2
INSTANCE = sp.simulate.Instance(
    sp.Problem([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]], noise=1.0), [1.0, 0.2]
)


def simulate(trial):
    """One study by 4 workers that take their time in random order; 1 in 10 pulls fails."""
    draws = np.random.default_rng([7, trial])
    study = sp.create_study("s", INSTANCE.problem, "pooled-peleg", MemoryStorage(), delta=DELTA)
    at_work = []
    while not study.finished:
        worker = f"w{draws.integers(4)}"
        if draws.random() < 0.5:
            at_work += [(p.id, p.arm, worker) for p in study.ask(int(draws.integers(1, 6)), worker)]
        at_work = list(dict.fromkeys(at_work))
        if at_work:
            pull, arm, worker = at_work.pop(int(draws.integers(len(at_work))))
            if draws.random() < 0.1:
                study.fail(pull, "lost", worker)
            else:
                study.tell(pull, INSTANCE.means[arm] + draws.normal(), worker)
    return study


@pytest.mark.validation
def test_the_error_rate_is_at_most_delta(record_property):
    errors = withdrawn = samples = 0
    for trial in range(TRIALS):
        study = simulate(trial)
        answer = study.answer
        errors += answer.arm != INSTANCE.best
        withdrawn += not answer.guarantee
        samples += answer.samples
        assert sum(study.status()["failures"]) > 0 or answer.samples < 50
    record_property("errors", f"{errors} of {TRIALS}, {samples / TRIALS:.0f} pulls on average")
    assert errors <= binom.ppf(0.999, TRIALS, DELTA)
    assert withdrawn <= binom.ppf(0.999, TRIALS, 0.01)  # random failures look even
