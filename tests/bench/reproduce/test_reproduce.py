"""The plan of the paper's experiments."""

from collections import Counter

import pytest

from surepick.bench.reproduce.claims import CLAIMS, judged
from surepick.bench.reproduce.figures import FIGURES, named
from surepick.bench.reproduce.reproduction import Reproduction
from surepick.bench.reproduce.tasks import BOUNDS
from surepick.errors import UnknownNameError
from surepick.research.levels import LEVELS
from surepick.simulate import Table

PRINTED = ("peleg-paper", "peleg-adahedge", "rage:constants=printed", "lingape:constants=printed")


def trials_of(plan):
    counted = Counter()
    for task in plan.tasks():
        if task.algorithm != BOUNDS:
            counted[task.figure, task.point, task.algorithm] += task.count
    return counted


def test_every_curve_of_every_figure_is_planned():
    counted = trials_of(Reproduction())
    curves = {
        (f.key, x, a) for f in FIGURES.values() for x in f.points for a in f.algorithms("printed")
    }
    assert set(counted) == curves
    long = {key for key, count in counted.items() if count != 50}
    assert long == {("c", x, a) for x in (30, 40, 50) for a in ("peleg-paper", "peleg-adahedge")}
    assert {counted[key] for key in long} == {10}


def test_who_says_how_many_gets_as_many_everywhere():
    assert set(trials_of(Reproduction(trials=50)).values()) == {50}
    assert set(trials_of(Reproduction(trials=3)).values()) == {3}


def test_a_quick_look_has_every_curve_and_the_beginning_of_slow_ones():
    counted = trials_of(Reproduction(trials=3, quick=True))
    late = {(f.key, x, a) for f in FIGURES.values() for x in f.points[2:] for a in f.slow}
    assert set(counted) == set(trials_of(Reproduction())) - late
    slow = {key for key, count in counted.items() if count == 1}
    assert slow == {(f.key, x, a) for f in FIGURES.values() for x in f.points[:2] for a in f.slow}
    assert {count for key, count in counted.items() if key not in slow} == {3}


def test_a_figure_as_printed_has_nine_curves_and_the_oracle():
    compared = FIGURES["d"].algorithms("printed")
    assert len(compared) == 10
    assert compared[:4] == PRINTED
    assert "xy-oracle:constants=printed" in compared


def test_each_level_has_curves_of_its_own_and_none_is_run_twice():
    counted = trials_of(Reproduction(figures=("a",), constants=LEVELS))
    assert {a for _, _, a in counted} == {
        a for level in LEVELS for a in FIGURES["a"].algorithms(level)
    }
    assert named("lingape", "program") == named("lingape", "printed")  # the same radius
    assert named("lucb", "printed") == named("lucb", "tight") == "lucb"
    with pytest.raises(UnknownNameError, match="printed"):
        Reproduction(constants=("paper",))


def measured(pulls):
    """A summary with these mean pulls by figure and algorithm, the same at every point."""
    rows = [
        {"figure": key, "point": x, "algorithm": name, "mean": mean, "trials": 5}
        for (key, name), mean in pulls.items()
        for x in FIGURES[key].points
    ]
    return Table.from_rows(rows)


def test_claims_are_judged_within_a_level():
    summary = measured(
        {
            ("b", "peleg-paper"): 100.0,
            ("b", "rage:constants=printed"): 125.0,
            ("b", "rage:constants=program"): 50.0,
            ("b", "peleg"): 40.0,  # of no help to a claim about another level
        }
    )
    rows = list(judged(summary).rows())
    assert [row["claim"] for row in rows] == [c.words for c in CLAIMS if c.figure == "b"]
    assert [row["printed"] for row in rows] == ["yes: 0.8 ×", "yes: 0.8 ×"]
    assert [row["program"] for row in rows] == ["no: 2 ×", "no: 2 ×"]
    assert "tight" not in rows[0]


def test_nothing_is_judged_where_somebody_was_not_measured():
    summary = measured({("d", "peleg-paper"): 1.0, ("d", "rage:constants=printed"): 2.0})
    assert len(judged(summary)) == 0
