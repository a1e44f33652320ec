import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import Peleg
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.simulate import Gaussian, instances, trials

INSTANCE = instances.confounding(3, omega=0.5)
RESULTS = ("samples", "correct", "arm", "batches", "survivors", "guarantee")


def results(table):
    return [{name: row[name] for name in RESULTS} for row in table.rows()]


def test_the_columns():
    table = trials(Peleg(0.1), INSTANCE, n=3)
    assert table.columns == (*RESULTS, "seconds")
    assert table["samples"].dtype == np.int64
    assert table["correct"].dtype == bool
    assert (table["seconds"] > 0).all()
    assert len(trials(Peleg(0.1), INSTANCE)) == 50


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", ["gaussian", "bounded"])
def test_results_do_not_depend_on_the_number_of_jobs(noise):
    one = trials(Peleg(0.1), INSTANCE, n=6, seed=3, noise=noise)
    two = trials(Peleg(0.1), INSTANCE, n=6, seed=3, n_jobs=2, noise=noise)
    assert results(one) == results(two)


def test_results_do_not_depend_on_how_many_there_are_or_were():
    long = results(trials(Peleg(0.1), INSTANCE, n=12, seed=1))
    assert results(trials(Peleg(0.1), INSTANCE, n=5, seed=1)) == long[:5]
    assert results(trials(Peleg(0.1), INSTANCE, n=12, seed=1)) == long
    assert len({row["samples"] for row in long}) > 3


def test_seeds_matter():
    one, two = (trials(Peleg(0.1), INSTANCE, n=8, seed=s)["samples"].tolist() for s in (0, 1))
    assert one != two


def test_a_trial_is_seeded_as_documented():
    """Trial i: SeedSequence(seed, spawn_key=(i,)), one child for the algorithm, one for rewards."""
    table = trials(Peleg(0.1), INSTANCE, n=3, seed=9)
    for i in range(3):
        _, for_rewards = np.random.SeedSequence(9, spawn_key=(i,)).spawn(2)
        rng = np.random.default_rng(for_rewards)
        run = Peleg(0.1).start(INSTANCE.problem)
        while not run.stopped:
            batch = run.ask()
            arms, counts = batch.pulls[:2]
            sums = np.zeros(4)
            sums[arms] = Gaussian().sums(rng, INSTANCE.means[arms], counts, 1.0)
            run.tell(batch, sums=sums)
        assert (run.samples, run.answer.arm) == (table["samples"][i], table["arm"][i])


def test_noise_is_scaled():
    """Means and noise ten times as large: the same pulls."""
    large = sp.simulate.Instance(
        sp.Problem(INSTANCE.problem.arms, noise=10.0), INSTANCE.theta * 10.0
    )
    one, two = (trials(Peleg(0.1), i, n=5) for i in (INSTANCE, large))
    assert results(one) == results(two)


def test_correct_is_what_the_truth_says():
    table = trials(Peleg(0.9, max_samples=4), INSTANCE, n=60)
    expected = [INSTANCE.is_correct(arm) for arm in table["arm"]]
    assert table["correct"].tolist() == expected
    assert 0 < sum(expected) < 60
    assert set(table["guarantee"]) == {"none"}
    assert set(table["samples"]) == {4}


@pytest.mark.validation
def test_the_error_rate_is_at_most_delta():
    table = trials(Peleg(0.3), instances.standard(0.5, d=3), n=400)
    assert np.mean(~table["correct"]) <= 0.3


def test_one_candidate_takes_no_pulls():
    one = sp.simulate.Instance(sp.Problem([[1.0]], noise=1.0), [1.0])
    assert results(trials(Peleg(0.1), one, n=1)) == [
        {
            "samples": 0,
            "correct": True,
            "arm": 0,
            "batches": 0,
            "survivors": 1,
            "guarantee": "pac",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"algorithm": "peleg"}, InvalidTypeError, "algorithm must be a configured algorithm"),
        ({"algorithm": Peleg}, InvalidTypeError, "algorithm must be a configured algorithm"),
        ({"instance": INSTANCE.problem}, InvalidTypeError, "instance must be a surepick Instance"),
        ({"n": 0}, InvalidInputError, "n must be at least 1"),
        ({"n": 2.0}, InvalidTypeError, "n must be a whole number"),
        ({"seed": -1}, InvalidInputError, "seed must be at least 0"),
        ({"seed": "a"}, InvalidTypeError, "seed must be a whole number"),
        ({"n_jobs": 0}, InvalidInputError, "n_jobs must be"),
        ({"n_jobs": 1.5}, InvalidTypeError, "n_jobs must be a whole number"),
        ({"noise": "uniform"}, UnknownNameError, "unknown noise family 'uniform'"),
        ({"noise": 3}, InvalidTypeError, "noise must be"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        trials(**{"algorithm": Peleg(0.1), "instance": INSTANCE} | arguments)
