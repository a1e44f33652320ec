import math

import numpy as np
import pytest

from surepick.algorithms import names
from surepick.bench import Plan, Progress, run_plan
from surepick.bench.compare.standings import Standings
from surepick.bench.compare.suites import group, suite, suite_names
from surepick.bench.named import build_instance
from surepick.design import complexity
from surepick.errors import InvalidInputError, UnknownNameError
from surepick.report.leaderboard import markdown, verdict
from surepick.simulate import Table

BOARD = suite("leaderboard")


def trials(*rows):
    """Trials from (algorithm, instance, samples, guarantee, failed); the bound is 100."""
    return Table.from_rows(
        {
            "algorithm": algorithm,
            "instance": instance,
            "delta": 0.1,
            "trial": i,
            "samples": samples,
            "correct": not failed,
            "arm": 0,
            "batches": 1,
            "survivors": 1,
            "guarantee": guarantee,
            "seconds": 0.1,
            "lower_bound": 100.0,
            "failed": failed,
        }
        for i, (algorithm, instance, samples, guarantee, failed) in enumerate(rows)
    )


# -- the suite -----------------------------------------------------------------------------
@pytest.mark.validation
def test_the_leaderboard_is_broad():
    assert suite_names() == ("leaderboard", "published")
    assert len(BOARD.instances) >= 12
    assert BOARD.deltas == (0.1, 0.01, 1e-6)
    families = {text.partition(":")[0] for text in BOARD.instances}
    assert families >= {"standard", "unit_sphere", "confounding", "gaussian", "nearly_tied"}
    assert families >= {"probes", "factorial", "wines"}
    plan = BOARD.plan()
    assert plan.algorithms == names()
    assert len(plan.cells) == len(names()) * len(BOARD.instances) * 3


@pytest.mark.validation
@pytest.mark.parametrize("text", [*BOARD.instances, *suite("published").instances])
def test_its_instances_have_modest_bounds(text):
    instance = build_instance(text)
    found = complexity(instance.problem, instance.theta, tol=1e-3)
    assert found.lower_bound(0.1) > 35
    assert found.lower_bound(1e-6) < 30_000


def test_it_can_be_narrowed_and_leaves_out_what_is_hopeless():
    plan = BOARD.plan(
        algorithms=["rage", "peleg-paper"],
        instances=["nearly_tied", "standard: gap=0.5"],
        deltas=[0.2],
        trials=3,
        seed=4,
    )
    assert plan.algorithms == ("rage", "peleg-paper")
    assert plan.instances == ("nearly_tied", "standard:gap=0.5")
    assert (plan.deltas, plan.trials, plan.seed) == ((0.2,), 3, 4)
    assert plan.fewer == {"peleg-paper": 1}
    assert list(plan.skip) == [("peleg-paper", "nearly_tied")]
    assert plan.skip["peleg-paper", "nearly_tied"].startswith("too slow: ")


def test_groups():
    assert group("xy-oracle") == "oracle"
    assert group("pooled-peleg") == group("lingape") == "proven"
    heuristic = {name for name in names() if group(name) == "heuristic"}
    assert heuristic == {name for name in names() if name.endswith("-heuristic")}


def test_unknown_suites_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'leaderboard'"):
        suite("leaderbord")


# -- limits of a plan ----------------------------------------------------------------------
def test_a_trial_gives_up_at_a_multiple_of_the_bound():
    rows = run_plan(Plan(["uniform"], ["standard:gap=0.1"], trials=2, max_ratio=0.5))
    assert rows["samples"].tolist() == [math.ceil(0.5 * b) for b in rows["lower_bound"]]
    assert set(rows["guarantee"]) == {"none"}
    limited = Plan(["uniform"], ["standard:gap=1"], max_samples=30, max_ratio=2)
    assert limited.sample_limit(10.0) == 20
    assert limited.sample_limit(100.0) == limited.sample_limit(math.nan) == 30


@pytest.mark.parametrize("algorithm", ["uniform", "rage"])  # pull by pull, and in batches
def test_the_first_slow_trial_ends_its_cell(algorithm):
    plan = Plan([algorithm], ["standard:gap=0.001"], trials=3, time_limit=1e-9)
    rows = run_plan(plan)
    assert len(rows) == 3
    assert all(why.startswith("too slow: not finished in time") for why in rows["failed"])
    assert len(set(rows["failed"])) == 1


def test_a_generous_time_limit_changes_nothing():
    cells = (["uniform", "rage"], ["standard:gap=0.5"])
    free, timed = (run_plan(Plan(*cells, trials=2, time_limit=t)) for t in (None, 60.0))
    np.testing.assert_array_equal(free["samples"], timed["samples"])
    np.testing.assert_array_equal(free["correct"], timed["correct"])


def test_skipped_cells_say_why():
    skip = {("rage", "standard:gap=1"): "too slow: because"}
    rows = run_plan(Plan(["rage", "peleg"], ["standard:gap=1"], trials=2, skip=skip))
    assert rows["failed"].tolist() == ["too slow: because"] * 2 + [""] * 2


def test_some_algorithms_can_have_fewer_trials():
    plan = Plan(["rage", "peleg"], ["standard:gap=1"], trials=3, fewer={"rage": 1, "peleg": 9})
    assert plan.size == 4
    rows = run_plan(plan)
    assert list(zip(rows["algorithm"], rows["trial"])) == [
        ("rage", 0),
        ("peleg", 0),
        ("peleg", 1),
        ("peleg", 2),
    ]
    progress = Progress(plan.trials_by_cell)
    for number, seconds in ((0, 1.0), (1, 5.0)):
        progress.update(number, [seconds])
    assert progress.time_left().seconds == pytest.approx(10.0)  # nothing left of rage


@pytest.mark.parametrize("limit", ["max_ratio", "time_limit"])
def test_limits_must_be_positive(limit):
    with pytest.raises(InvalidInputError, match=limit):
        Plan(["rage"], ["standard:gap=1"], **{limit: 0})


# -- the standings -------------------------------------------------------------------------
@pytest.fixture
def standings():
    return Standings(
        trials(
            ("pooled-peleg", "a", 200, "pac", ""),
            ("pooled-peleg", "a", 300, "pac", ""),
            ("pooled-peleg", "b", 800, "pac", ""),
            ("pooled-peleg", "b", 800, "pac", ""),
            ("rage", "a", 1000, "pac", ""),
            ("rage", "a", 1000, "pac", ""),
            ("rage", "b", 300, "pac", ""),
            ("rage", "b", 500, "pac", ""),
            ("lucb", "a", 700, "none", ""),
            ("lucb", "a", 100, "pac", ""),
            ("lucb", "b", 0, "none", "too slow: not finished in time"),
            ("lucb", "b", 10, "pac", ""),
            ("glucb", "a", 0, "none", "InvalidInputError: no"),
            ("glucb", "b", 0, "none", "InvalidInputError: no"),
            ("fws-heuristic", "a", 10, "heuristic", ""),
            ("fws-heuristic", "b", 10, "heuristic", ""),
        )
    )


def test_scores(standings):
    score = standings.score("pooled-peleg", "a", 0.1)
    assert (score.mean, score.error, score.ratio, str(score)) == (250, 50, 2.5, "2.50")
    assert str(standings.score("lucb", "a", 0.1)) == "> 4.00"
    assert str(standings.score("rage", "a", 0.1)) == "10.0"
    assert str(standings.score("glucb", "a", 0.1)) == "n/a"
    # One slow trial, and the quick ones do not count.
    slow = standings.score("lucb", "b", 0.1)
    assert str(slow) == "too slow"
    assert math.isnan(slow.mean)
    assert slow.bound == 100


def test_ranking(standings):
    places = standings.ranking("proven")
    assert [p.algorithm for p in places] == ["pooled-peleg", "lucb", "rage", "glucb"]
    first, second, third, last = places
    assert first.ratio == pytest.approx(math.sqrt(2.5 * 8))
    assert first.times_fewest == pytest.approx(math.sqrt(1 * 2))
    assert second.times_fewest == pytest.approx(400 / 250)
    assert (second.scored, second.capped) == (1, 1)
    assert third.times_fewest == pytest.approx(math.sqrt(4 * 1))
    assert (third.scored, third.finished, third.wrong) == (2, 4, 0)
    assert last.scored == 0
    assert math.isnan(last.ratio)
    (heuristic,) = standings.ranking("heuristic")
    assert heuristic.ratio == pytest.approx(0.1)
    assert standings.ranking("oracle") == []


def test_defeats(standings):
    (lost,) = standings.defeats("pooled-peleg")
    assert (lost.rival.algorithm, lost.score.instance) == ("rage", "b")
    assert lost.excess == pytest.approx(1.0)
    assert lost.sigmas == pytest.approx(400 / 100)
    assert {d.rival.algorithm for d in standings.defeats("rage")} == {"pooled-peleg"}
    said = verdict(standings)
    assert "in 1 of 2 cells" in said[0]
    assert "With 2 trials of each cell this says little" in said[0]
    assert "rage 400 ± 100, pooled-peleg 800 ± 0 (+100 %, 4.0 standard errors)" in said[1]


def test_what_is_missing_at_some_deltas_says_at_which():
    rows = list(trials(("rage", "a", 5, "pac", "too slow: x"), ("rage", "b", 5, "pac", "")).rows())
    rows.append(rows[0] | {"delta": 0.2, "failed": ""})
    assert Standings(Table.from_rows(rows[:1] + rows[2:])).missing() == [
        ("rage", "a", "too slow: x (only at δ = 0.1)")
    ]


def test_trials_that_gave_up_are_not_counted_as_wrong():
    rows = list(trials(("lucb", "a", 9, "none", ""), ("lucb", "a", 5, "pac", "")).rows())
    for row in rows:
        row["correct"] = False
    score = Standings(Table.from_rows(rows)).score("lucb", "a", 0.1)
    assert (score.trials, score.finished, score.wrong) == (2, 1, 1)


def test_a_rival_with_one_trial_has_no_standard_error():
    once = trials(("pooled-peleg", "a", 20, "pac", ""), ("rage", "a", 10, "pac", ""))
    said = verdict(Standings(once))
    assert said[1].endswith("rage 10 (one trial), pooled-peleg 20 (one trial) (+100 %)")


def test_markdown_has_everything(standings):
    page = markdown(standings, BOARD, "surepick bench --suite leaderboard", 2, ["a note"])
    assert "Made by `surepick bench --suite leaderboard`." in page
    assert page.index("## Proven") < page.index("## Heuristic") < page.index("## Every cell")
    assert "| 1 | pooled-peleg | 4.47 | 4.47 | 1.41 | 2 of 2 |  | 0 of 4 |" in page
    assert "| lucb | > 4.00 | too slow |" in page
    assert "- glucb on `a`: InvalidInputError: no" in page
    assert "- a note" in page
    assert "Yardstick" not in page
