"""Phases that are saved in the middle, cut short, and recorded."""

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import Peleg, Rage
from surepick.simulate import instances

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [np.cos(0.3), np.sin(0.3)]])
MEANS = ARMS @ np.array([0.95, 0.3])  # the third is the best, the first is close to it


@pytest.mark.parametrize("make", [Peleg.paper, Peleg, Rage])
def test_a_saved_run_that_is_cut_short_remembers_all_rewards(make):
    """A phase that is too short to judge by: the answer rests on all that came before it, too."""
    problem = sp.Problem(ARMS, noise=0.5)
    whole = make(0.1).start(problem)
    first = whole.ask()
    run = make(0.1, max_samples=first.size + 1).start(problem)
    batch = run.ask()
    assert batch.counts.tolist() == first.counts.tolist()
    run.tell(batch, sums=batch.counts * MEANS)
    if run.stopped:
        pytest.fail("one phase was enough: choose closer means")
    again = sp.Run.from_json(run.to_json())
    for one in (run, again):
        batch = one.ask()
        assert batch.size == 1
        one.tell(batch, sums=np.zeros(3))  # says next to nothing
        assert one.stopped
    assert run.answer.arm == int(np.argmax(MEANS)) != 0
    assert again.answer.to_dict() == run.answer.to_dict()
    assert again.answer.certificate() == run.answer.certificate()


@pytest.mark.parametrize("delta", [0.3, 0.01])
def test_the_paper_spends_what_it_says(delta):
    """Level delta/m² over the M² pairs of candidates (Algorithm 1), width 2^-(m+2)."""
    instance = instances.standard(0.1, d=4)
    run = Peleg.paper(delta).start(instance.problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, sums=batch.counts * instance.means)
    certificate = run.answer.certificate()
    phases = certificate["evidence"]["phases"]
    assert len(phases) > 1
    M, left, risk = 4, 4, 0.0
    for number, phase in enumerate(phases, start=1):
        assert phase["level"] == pytest.approx(delta / number**2 / M**2)
        assert phase["threshold"] == 2.0 ** -(number + 2)
        risk += phase["level"] * (left - 1)
        left -= len(phase["dropped"]["candidate"])
    assert sp.verify(certificate).risk == pytest.approx(risk)
