"""The harness of accidents: that it measures what it says, and that it can fail."""

import numpy as np
import pytest
from benchmarks.accidents import measured
from benchmarks.accidents.cells import CELLS, Cell, Outcome
from benchmarks.accidents.worlds import World

CHEAP = "None, of every option on some items · identify, a table"


def test_a_cell_can_be_measured_part_by_part_and_passes():
    one = CELLS[CHEAP]
    after, alone = one.outcomes(0, 2, 0, 0.2)[1], one.outcomes(1, 1, 0, 0.2)[0]
    assert after == alone
    part = measured.measure((CHEAP, 0, 2, 0, 0.2))
    assert (part["runs"], part["claims"], part["blocked"]) == (2, 2, 0)
    text, failed = measured.report({f"{CHEAP} | 0 | 2": part}, 0.2)
    assert failed == []
    assert "1 cells, 1 pass" in text


@pytest.mark.parametrize(
    ("outcome", "well"),
    [
        (Outcome(False), True),
        (Outcome(None, seconds=4.0), True),
        (Outcome(False, lost=1), False),
        (Outcome(False, repeated=1), False),
        (Outcome(None, blocked="exit code 5"), False),
        (Outcome(False, seconds=6.0), False),
        (Outcome(True), False),  # 20 of 20
    ],
)
def test_whatever_an_accident_costs_fails(monkeypatch, outcome, well):
    one = Cell("an accident", "a door", lambda rng, delta: outcome)
    monkeypatch.setitem(CELLS, one.key, one)
    part = measured.measure((one.key, 0, 20, 0, 0.2))
    _, failed = measured.report({f"{one.key} | 0 | 20": part}, 0.2)
    assert failed == ([] if well else [one.key])


def test_an_error_that_comes_out_is_a_study_that_is_blocked():
    def live(rng, delta):
        raise KeyError("score")

    (found,) = Cell("an accident", "a door", live).outcomes(0, 1, 0, 0.2)
    assert found.blocked.startswith("KeyError at test_accidents.py:")


@pytest.mark.parametrize("seed", range(3))
def test_of_the_worlds_the_best_is_ahead_by_one_answer(seed):
    world = World.drawn(np.random.default_rng(seed), bad=6, items=3)
    totals = np.sort(world.counted().sum(axis=1))
    assert totals[-1] - totals[-2] == 1
    assert len(world.best) == 1
    assert len(world.bad) >= 12
