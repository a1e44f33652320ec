"""Rewards that change while a study runs: its answer promises nothing any more."""

import numpy as np
import pytest

import surepick as sp
from surepick.storage.memory import MemoryStorage

ARMS = np.column_stack([np.ones(6), np.linspace(-1, 1, 6)])


def finished(drifts, algorithm="peleg"):
    """A study to its end; from its 40th pull on, rewards may be higher.

    There is less noise than stated, so that drift alone is no reason to suspect the noise.
    """
    study = sp.create_study("s", sp.Problem(ARMS, noise=1.0), algorithm, MemoryStorage(), delta=0.1)
    draws = np.random.default_rng(0)
    while pulls := study.ask(40):
        for pull in pulls:
            shift = drifts * (pull.id >= 40)
            study.tell(pull.id, 3.0 * ARMS[pull.arm, 1] + shift + 0.3 * draws.normal())
    return study


@pytest.mark.parametrize("algorithm", ["peleg", "rage"])
def test_drift_withdraws_the_guarantee(algorithm):
    steady, drifting = finished(0.0, algorithm), finished(1.5, algorithm)
    assert steady.answer.guarantee
    assert steady.answer.guarantee.kind == "pac"
    assert steady.checks().broken == []
    checks = drifting.checks()
    assert checks.drift.alarm
    assert not checks.noise_alarm
    assert not drifting.answer.guarantee
    assert drifting.answer.guarantee.kind == "heuristic"
    assert not checks.fit
    assert len(checks.broken) == 1
    found = sp.verify(drifting.answer.certificate())
    assert found.guarantee == "heuristic"
    assert drifting.status()["checks"]["drift"]["alarm"]


def test_one_option_that_drifts_among_steady_ones_is_named():
    """From 8.3 to 13.3 at a scatter of 0.3, nothing known of the noise, levels that jump."""
    draws = np.random.default_rng(3)
    means, levels = draws.uniform(8, 10, 8), 3.0 * draws.normal(size=400)
    labels = [f"blade {i}" for i in range(8)]
    problem = sp.Problem.unstructured(labels, noise="symmetric")
    study = sp.create_study("s", problem, storage=MemoryStorage(), overlap=False)
    while pulls := study.ask(8):
        for pull in pulls:
            mean = 8.3 + 5.0 * min(pull.id / 128, 1.0) if pull.arm == 5 else means[pull.arm]
            level = levels[study.progress().batch]
            study.tell(pull.id, mean + level + 0.3 * draws.normal())
    checks = study.checks()
    assert checks.drift.alarm
    assert checks.drift.arms == (5,)
    assert "'blade 5' changed over time" in checks.drift.message
    assert "it rose by about" in checks.drift.message
    assert not study.answer.guarantee
    assert "rewards changed over time" in study.answer.guarantee
    assert sp.verify(study.answer.certificate()).guarantee == "heuristic"
