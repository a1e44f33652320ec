"""Numbers that are cut at a cap: what counts is cut, what is recorded is not."""

import numpy as np
import pandas as pd
import pytest

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError
from surepick.study import StudySpec

TABLE = pd.DataFrame({"label": ["slow", "quick", "wild"]})
MEANS = {"slow": 180.0, "quick": 60.0, "wild": 40.0}


def seconds(label, rng):
    """The wild one is quick but hangs now and then, for hours."""
    if label == "wild" and rng.random() < 0.4:
        return 3600.0
    return MEANS[label] + 30.0 * rng.random()


def finished(name, **fields):
    study = sp.create_study(name, table=TABLE, storage="memory://cap", cap=200, seed=1, **fields)
    rng = np.random.default_rng(0)
    while not study.finished:
        study.tell_many({pull.id: seconds(pull.label, rng) for pull in study.ask(40)})
    return study


def test_what_counts_is_cut_and_what_is_recorded_is_not():
    study = finished("hours", minimise=True)
    answer = study.answer
    assert answer.label == "quick"
    assert "where every reward above 200 counts as 200" in answer.guarantee
    assert "every reward above 200 counts as 200" in answer.plain
    assert study.rewards().values.max() == 3600.0  # as it was told
    certificate = answer.certificate()
    assert certificate["problem"]["noise"] == {"low": 0.0, "high": 200.0, "most": None}
    found = sp.verify(certificate, replay=True)
    assert (found.label, found.replayed, found.unknown) == ("quick", True, ())
    # The mean of the wild one is that of what is left.
    shown = dict(zip(study.problem.labels, study.status()["estimates"]))
    assert 80.0 < shown["wild"] < 200.0
    again = sp.load_study("hours", "memory://cap")
    assert again.problem.noise_kind.cuts
    assert again.answer.guarantee == answer.guarantee
    assert again.status()["warnings"] == []


def test_a_certificate_that_hides_the_cap_or_moves_it_is_refused():
    answer = finished("hidden", minimise=True).answer
    for noise in (
        {"low": 0.0, "high": 200.0},
        {"low": 0.0, "high": 100.0, "most": None},
        {"low": 0.0, "high": 200.0, "most": 100.0},
    ):
        forged = answer.certificate()
        forged["problem"]["noise"] = noise
        with pytest.raises(CertificateError):
            sp.verify(forged, replay=False)


def test_the_settings_go_on_their_way():
    spec = StudySpec.from_dict(
        {"name": "s", "table": {"csv": "label\na\nb\n"}, "cap": 5, "noise": {"low": -2, "high": 90}}
    )
    kind = spec.prepared.problem.noise_kind
    assert kind.written == {"low": -2.0, "high": 5.0, "most": 90.0}
    again = StudySpec.from_json(spec.to_json())
    assert again.prepared.problem.noise_kind.written == kind.written
    plain = StudySpec.from_dict({"name": "s", "table": {"csv": "label\na\nb\n"}, "cap": 5})
    assert plain.prepared.problem.noise_kind.bounds == (0.0, 5.0)
    assert plain.to_dict()["cap"] == 5


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cap": 0.0}, "cap must be above the lowest reward, 0"),
        ({"cap": 9.0, "noise": (0, 5)}, "at most the highest, 5; got 9"),
        ({"cap": 5.0, "noise": "yes-no"}, "cap: it is for numbers that may be large"),
        ({"cap": 5.0, "noise": 0.3}, "cap: it is for numbers that may be large"),
        ({"cap": 5.0, "traffic": True}, "cap: a traffic study sees sums"),
        ({"cap": 5.0, "pairs": True}, "cap: not where options are compared two at a time"),
    ],
)
def test_what_makes_no_sense_is_refused(fields, said):
    with pytest.raises(InvalidInputError, match=said):
        sp.create_study("none", table=TABLE, storage="memory://cap", **fields)


def test_a_problem_brings_its_own():
    problem = sp.Problem.unstructured(["a", "b"], cap=10)
    with pytest.raises(InvalidInputError, match="cap: the problem already says"):
        sp.create_study("own", problem, storage="memory://cap", cap=5)
    study = sp.create_study("own", problem, storage="memory://cap")
    (pull,) = study.ask()
    with pytest.raises(InvalidInputError, match="rewards of this problem are at least 0"):
        study.tell(pull.id, -1.0)
    assert study.tell(pull.id, 1e6).status == "accepted"
    assert sp.Problem.from_dict(problem.to_dict()) == problem


def test_runs_cut_too_and_take_no_sums():
    problem = sp.Problem.unstructured(["a", "b"], noise=(-5, 50), cap=10)
    rng = np.random.default_rng(3)
    # By its mean the first is better, after cutting the second.
    answer = sp.identify(
        problem, lambda arm: 8.0 if arm else float(rng.choice([0.0, 50.0])), seed=0
    )
    assert answer.label == "b"
    assert sp.verify(answer.certificate(), replay=True).replayed
    run = sp.algorithms.PooledPeleg(0.05).start(problem)
    with pytest.raises(InvalidInputError, match="give every single reward"):
        run.tell(run.ask(), sums=np.zeros(2))


def test_past_measurements_are_cut():
    past = pd.DataFrame({"label": ["slow", "quick", "wild"] * 8, "reward": [190, 60, 9000] * 8})
    study = sp.create_study(
        "before", table=TABLE, storage="memory://cap", cap=200, past=past, past_chosen="in advance"
    )
    assert study.problem.noise_kind.cuts
    assert max(study.status()["estimates"]) <= 200.0
