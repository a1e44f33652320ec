from collections import Counter

import pytest

from surepick.bench.reproduce.errors_check import INSTANCES, ErrorCheck


@pytest.mark.parametrize(
    ("algorithm", "trials"), [("peleg", 100_000), ("alba", 20_000), ("lucb", 5_000)]
)
def test_the_more_often_an_algorithm_decides_the_fewer_trials(algorithm, trials):
    counted = Counter()
    for task in ErrorCheck(algorithms=(algorithm,)).tasks():
        counted[task.instance] += task.count
    assert counted == dict.fromkeys(INSTANCES, trials)


def test_blocks_of_a_cell_do_not_overlap_and_leave_nothing_out():
    tasks = [t for t in ErrorCheck(algorithms=("rage",), trials=2_500).tasks() if t.point == 0]
    covered = sorted(n for t in tasks for n in range(t.first, t.first + t.count))
    assert covered == list(range(2_500))
