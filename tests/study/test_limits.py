"""How much may be measured: budgets of studies, and limits that are changed while they run."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tests.study import toy

import surepick as sp
from surepick.cli import cli
from surepick.errors import InvalidInputError, RunStateError
from surepick.study import chain

ARMS = np.random.default_rng(0).normal(size=(8, 3))
MEANS = ARMS @ [0.5, -0.2, 0.1]
COSTS = np.linspace(1.0, 40.0, 8)


def make(url, **fields):
    problem = sp.Problem(ARMS, noise=1.0, costs=fields.pop("costs", None))
    return sp.create_study(fields.pop("name", "limits"), problem, storage=url, delta=0.01, **fields)


def work(study, most=10**9):
    while not study.finished and study.progress().batch < most:
        told = [(p.id, reward(p)) for p in study.ask(50, "ann")]
        study.tell_many(told)


def reward(pull):
    return float(MEANS[pull.arm] + np.random.default_rng([3, pull.id]).normal())


def test_a_study_that_spent_its_budget_goes_on_when_there_is_more(storage_url):
    study = make(storage_url, costs=COSTS, budget=500.0)
    work(study, 2)
    limits = study.status()["limits"]
    assert (limits["budget"], limits["in_money"]) == (500.0, True)
    assert limits["spent"] + limits["left"] == 500.0
    assert limits["spent"] == study.status()["cost"] > 0
    work(study)
    ended = study.answer
    assert 460.0 < ended.cost <= 500.0
    assert "stopped by budget=500" in ended.guarantee
    made = study.limit(budget=2_000, max_samples=100, reason="the second half", by="ann")
    assert (made.budget, made.max_samples, made.by) == (2_000.0, 100, "ann")
    assert study.limit(budget=2_000, reason="the second half", by="ann") == made, "said twice"
    assert not study.finished
    toy.check_whole(study)
    pull, *_ = study.ask(1, "ann")
    with pytest.raises(InvalidInputError, match="the measurements asked for so far cost"):
        study.limit(budget=501)
    again = study.limit(budget="none", reason="it does not matter")
    study.tell(pull.id, reward(pull))
    work(study)
    assert study.answer.samples == 100
    assert "stopped by max_samples=100" in study.answer.guarantee
    assert study.limit_changes() == [made, again]
    certificate = study.answer.certificate()
    assert [one["reason"] for one in certificate["limits"]] == [made.reason, again.reason]
    assert sp.verify(certificate, replay=True).replayed
    toy.check_whole(study)
    study.rebuild()
    assert study.answer.certificate()["limits"] == certificate["limits"]
    first = study.rewards().pulls[3]
    study.correct(int(first), 0.25, reason="a typo")  # everything is worked out again
    assert study.finished
    toy.check_whole(study)
    study.stop()
    with pytest.raises(InvalidInputError, match="say which limit"):
        study.limit()


def test_neither_a_stopped_study_nor_one_with_an_answer_goes_on():
    study = make("memory://", name="by hand", max_samples=10**5)
    work(study, 1)
    study.stop()
    with pytest.raises(RunStateError, match="stopped for good"):
        study.limit(max_samples=10**6)
    other = make("memory://")
    work(other)
    assert other.answer.guarantee.kind == "pac"
    with pytest.raises(RunStateError, match="it has its answer"):
        other.limit(max_samples=10**7)


def test_batches_ahead_are_rebuilt_under_the_limits_they_were_asked_under(storage_url):
    study = make(storage_url, max_samples=60, overlap=True)
    held = study.ask(3, "slow")
    while study.progress().ahead < 30 and (pulls := study.ask(50, "ann")):
        study.tell_many([(p.id, reward(p)) for p in pulls])
    study.limit(max_samples=200)
    before = study.progress().ahead
    while study.progress().ahead < 60 and (pulls := study.ask(50, "ann")):
        study.tell_many([(p.id, reward(p)) for p in pulls])
    assert study.progress().ahead > before > 0
    toy.check_whole(study)
    study.rebuild()
    study.tell_many([(p.id, reward(p)) for p in held])
    work(study)
    assert sp.verify(study.answer.certificate(), replay=True).replayed


def test_visitors_are_limited_too():
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="yes-no")
    study = sp.create_study("visits", problem, storage="memory://", traffic=True, max_samples=3_000)
    for day in range(6):
        if day == 3:
            assert study.finished
            study.limit(max_samples=6_000, reason="another week")
            study.rebuild()
        counts = study.split(1_000, f"day {day}").visits
        study.record({label: (n, n // 20) for label, n in counts.items()}, f"day {day}")
    assert study.finished
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    assert study.rebuild().limit_changes == study.current_run.limit_changes
    chain.check_chain(study.storage, study.desk.record)


def test_the_command_says_what_is_spent_and_changes_it(tmp_path):
    lines = [f"{chr(97 + k)},{COSTS[k]}" for k in range(8)]
    (tmp_path / "options.csv").write_text("\n".join(["label,price", *lines]))
    where = ["--storage", f"sqlite:///{tmp_path}/studies.db"]

    def surepick(*words):
        done = CliRunner().invoke(cli, [*words, *where])
        assert done.exit_code == 0, done.output
        return done.output

    table = str(tmp_path / "options.csv")
    said = surepick("new", "dear", table, "--cost", "price", "--unstructured", "--budget", "450")
    assert "It ends when 450 is spent (--budget), and after 1,000,000 measurements" in said
    study = sp.load_study("dear", where[1])
    pulls = study.ask(2, "ann")
    study.tell_many([(p.id, 0.5) for p in pulls])
    spent = sum(COSTS[p.arm] for p in pulls)
    assert f"Spent {spent:,.6g} of 450, {450 - spent:,.6g} left" in surepick("status", "dear")
    said = surepick("limit", "dear", "--budget", "900", "--max-samples", "none", "--reason", "more")
    assert said.startswith("Budget 900.")
    assert json.loads(surepick("status", "dear", "--json"))["limits"]["max_samples"] is None
    assert surepick("export", "dear", "--what", "limits").splitlines()[1].count("900.0,more") == 1
