import math

import numpy as np
import pytest

from surepick.ahead.noise import Gaussian
from surepick.bench import Plan, Progress, run_plan, stream
from surepick.bench.named import _FAMILIES
from surepick.errors import InvalidInputError
from surepick.simulate.trials import trial

COLUMNS = [
    "algorithm",
    "instance",
    "delta",
    "trial",
    "samples",
    "correct",
    "arm",
    "batches",
    "survivors",
    "guarantee",
    "seconds",
    "failed",
    "lower_bound",
]


def without_seconds(table):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in table.rows()]


def small_plan(**changes):
    settings = {"trials": 3, "seed": 4, "max_samples": 2000, **changes}
    algorithms = ["peleg", "rage", "lucb"]
    return Plan(
        algorithms, ["standard:gap=1", "unit_sphere:d=2,k=4,gamma=0.3,rng=trial"], **settings
    )


def test_rows_are_the_trials_of_the_plan_in_order():
    plan = small_plan()
    seen = []
    table = run_plan(plan, progress=seen.append)
    assert table.columns == tuple(COLUMNS)
    assert len(table) == len(seen) == plan.size
    assert table["trial"].tolist() == [0, 1, 2] * 6
    assert table["algorithm"].tolist() == [
        a for _ in range(2) for a in plan.algorithms for _ in range(3)
    ]
    cell = plan.cells[1]
    alone = trial(
        cell.contender.configure(cell.instance.build(), 0.1, max_samples=2000),
        cell.instance.build(),
        cell.seeds(4, 2),
        Gaussian(),
    )
    assert table["samples"][5] == alone["samples"]
    assert (table["seconds"] > 0).all()


@pytest.mark.validation
def test_results_do_not_depend_on_processes_or_on_the_rest_of_the_plan():
    plan = small_plan()
    alone = run_plan(plan)
    assert without_seconds(run_plan(plan, jobs=2)) == without_seconds(alone)
    part = run_plan(Plan(["lucb"], ["standard:gap=1"], trials=2, seed=4, max_samples=2000))
    chosen = [r for r in without_seconds(alone) if r["algorithm"] == "lucb"][:2]
    assert without_seconds(part) == chosen
    assert without_seconds(run_plan(small_plan(seed=5))) != without_seconds(alone)


def test_every_trial_has_its_own_arms_and_bound():
    table = run_plan(small_plan())
    drawn = table["lower_bound"][9:].reshape(3, 3)
    assert (drawn == drawn[0]).all()  # the same for every algorithm
    assert len(set(drawn[0])) == 3
    assert len(set(table["lower_bound"][:9])) == 1


def test_the_lower_bounds_are_those_of_the_literature():
    deltas = [1e-1, 1e-2, 1e-3, 1e-4]
    plan = Plan(["peleg"], ["confounding:d=6,omega=0.1,scale=2"], deltas, trials=1, max_samples=9)
    assert [round(b) for b in run_plan(plan)["lower_bound"]] == [391, 1001, 1532, 2047]


def test_budget_and_epsilon_reach_the_trials():
    capped = run_plan(small_plan(max_samples=5))
    assert set(capped["samples"]) == {5}
    assert set(capped["guarantee"]) == {"none"}
    close = run_plan(Plan(["peleg"], ["standard:gap=0.01"], epsilon=0.5, trials=2))
    assert (close["samples"] < 100_000).all()
    assert np.isnan(close["lower_bound"]).all()  # it is for finding the best exactly


def test_an_algorithm_that_refuses_leaves_a_reason(monkeypatch):
    from surepick.problem import Problem
    from surepick.simulate import Instance

    monkeypatch.setitem(
        _FAMILIES,
        "apart",
        lambda: Instance(
            Problem(np.eye(2), candidates=[[2.0, 0.0], [0.5, 0.9]], noise=1.0), [1.0, 0.0]
        ),
    )
    table = run_plan(Plan(["peleg", "lucb"], ["apart"], trials=2))
    assert table["failed"].tolist()[:2] == ["", ""]
    assert "InvalidInputError: lucb ignores features" in table["failed"][2]
    assert table["guarantee"][3] == "none"


@pytest.mark.parametrize("jobs", [0, -2, 1.5, True])
def test_bad_jobs(jobs):
    with pytest.raises(InvalidInputError, match="jobs"):
        next(stream(small_plan(), jobs))


class TestTimeLeft:
    def setup_method(self):
        self.now = 100.0
        plan = Plan(["peleg", "rage"], ["standard:gap=1"], trials=10)
        self.progress = Progress(plan.trials_by_cell, jobs=2, clock=lambda: self.now)

    def finish(self, cell, seconds, n=1):
        self.progress.update(cell, [seconds] * n)

    def test_nothing_is_known_at_first(self):
        left = self.progress.time_left()
        assert left.seconds is None
        assert "unknown" in str(left)

    def test_cells_that_have_not_begun_are_not_guessed(self):
        self.finish(0, 2.0, n=2)
        left = self.progress.time_left()
        assert left.seconds == pytest.approx(8 * 2.0 / 2)
        assert left.unknown == 1
        assert str(left) == "about 8 s left, and 1 cell of unknown speed"

    def test_each_cell_counts_with_its_own_speed(self):
        self.finish(0, 2.0, n=2)
        self.finish(1, 30.0)
        left = self.progress.time_left()
        assert left.seconds == pytest.approx((8 * 2 + 9 * 30) / 2)
        assert str(left) == "about 2 min left"

    def test_work_outside_the_trials_is_learnt(self):
        self.finish(0, 1.0)
        self.finish(1, 1.0)
        self.finish(0, 1.0, n=4)
        self.now += 8.0  # two processes were busy for 4 of 16 seconds
        assert self.progress.time_left().seconds == pytest.approx((5 + 9) * 1.0 * 4 / 2)

    def test_what_an_earlier_run_did_says_nothing_about_the_pace(self):
        self.progress.update(0, [1.0] * 5, earlier=True)
        self.progress.update(1, [1.0] * 5, earlier=True)
        self.now += 4.0
        assert self.progress.time_left().seconds == pytest.approx(10 / 2)
        self.finish(0, 1.0)
        assert self.progress.time_left().seconds == pytest.approx(9 * 4.0)

    def test_failed_trials_have_no_seconds(self):
        self.finish(0, math.nan, n=10)
        self.finish(1, 1.0, n=10)
        assert self.progress.time_left().seconds == 0.0
        assert self.progress.done == self.progress.total
