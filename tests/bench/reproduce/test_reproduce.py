"""The plan of the paper's experiments."""

from collections import Counter

from surepick.bench.reproduce.figures import FIGURES
from surepick.bench.reproduce.reproduction import Reproduction
from surepick.bench.reproduce.tasks import BOUNDS


def trials_of(plan):
    counted = Counter()
    for task in plan.tasks():
        if task.algorithm != BOUNDS:
            counted[task.figure, task.point, task.algorithm] += task.count
    return counted


def test_every_curve_of_every_figure_is_planned():
    counted = trials_of(Reproduction())
    curves = {(f.key, x, a) for f in FIGURES.values() for x in f.points for a in f.algorithms}
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
