"""What a run has counted: all pulls and rewards so far, of arms that there are."""

import numpy as np
import pytest

import surepick as sp
from surepick.errors import InvalidInputError

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]])


@pytest.mark.parametrize("algorithm", ["pooled-peleg", "peleg", "lucb", "xy-static"])
def test_totals_are_those_of_all_batches(algorithm):
    run = sp.algorithms.get(algorithm, delta=0.1).start(sp.Problem(ARMS, noise=2.0))
    rng = np.random.default_rng(0)
    counts, sums = np.zeros(3), np.zeros(3)
    for _ in range(12):
        if run.stopped:
            break
        batch = run.ask()
        rewards = ARMS[batch.arms] @ [1.0, 0.9] + 2.0 * rng.standard_normal(batch.size)
        run.tell(batch, rewards)
        np.add.at(counts, batch.arms, 1)
        np.add.at(sums, batch.arms, rewards)
        again = sp.Run.from_json(run.to_json())
        for one in (run, again):
            assert one.totals()[0].tolist() == counts.tolist()
            assert one.totals()[1] == pytest.approx(sums)
    assert run.batches > 1


@pytest.mark.parametrize("arm", [-1, -3, 3, 0.5])
def test_the_past_is_of_arms_that_there_are(arm):
    run = sp.algorithms.PooledPeleg(0.1).start(sp.Problem(ARMS, noise=1.0))
    with pytest.raises(InvalidInputError):
        run.tell_past([0, arm], [1.0, 2.0], chosen_in_advance=True)
    assert not run.totals()[0].any()
    run.tell_past([0, 1], [1.0, 2.0], chosen_in_advance=True)  # nothing was recorded
