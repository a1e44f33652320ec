"""Rewards that never differ: the study says so, and ends."""

import surepick as sp
from surepick.study.spec import MOST_SAMPLES, StudySpec

PROBLEM = sp.Problem([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], noise=1.0)


def test_equal_rewards_for_ever_end_in_an_explanation():
    study = sp.create_study("equal", PROBLEM, storage="memory://equal", max_samples=500)
    while pulls := study.ask(50):
        study.tell_many([(pull.id, 7.0) for pull in pulls])
    assert study.finished
    assert len(study.rewards().pulls) == 500
    assert "rewards so far are the same (7)" in " ".join(study.checks().warnings)
    assert not study.answer.guarantee
    assert "are the same" in " ".join(study.status()["warnings"])


def test_rewards_that_differ_between_options_only_are_not_remarked():
    study = sp.create_study("steady", PROBLEM, storage="memory://steady")
    while pulls := study.ask(50):
        study.tell_many([(pull.id, 3.0 * pull.arm) for pull in pulls])
    assert "are the same" not in " ".join(study.checks().warnings)


def test_a_study_has_a_limit_unless_it_is_told_otherwise():
    limited = sp.create_study("limited", PROBLEM, storage="memory://limits")
    assert limited.algorithm.max_samples == MOST_SAMPLES
    endless = sp.create_study("endless", PROBLEM, storage="memory://limits", max_samples=None)
    assert endless.algorithm.max_samples is None
    own = sp.algorithms.get("pooled-peleg", delta=0.1)
    brought = sp.create_study("brought", PROBLEM, own, storage="memory://limits")
    assert brought.algorithm.max_samples is None
    again = StudySpec.from_json(StudySpec(name="s", problem=PROBLEM, max_samples=None).to_json())
    assert again.max_samples is None
