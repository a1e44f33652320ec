"""What an algorithm cannot take is refused before anything is computed; long runs say so once."""

import gc
import logging

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import registry
from surepick.arrays import cutoffs, tables
from surepick.arrays.backend import HOST, Backend
from surepick.errors import CancelledError, InvalidInputError, OutOfMemoryError

RNG = np.random.default_rng(0)
ARMS = RNG.normal(size=(40, 3))
SETTINGS = {"xy-oracle": {"theta": [1.0, 0.0, 0.0]}}


@pytest.fixture(scope="module")
def on_torch():
    return sp.Problem(ARMS, backend="torch:cpu", noise=1.0)


# -- arrays of other libraries -------------------------------------------------------------
@pytest.mark.some(3)
@pytest.mark.parametrize("name", [*registry._BUILT_IN, *registry._WRAPPERS])
def test_algorithms_work_on_any_array_or_say_that_they_do_not(name, on_torch, monkeypatch):
    algorithm = sp.algorithms.get(name, delta=0.1, **SETTINGS.get(name, {}))
    if algorithm.any_backend:
        assert algorithm.start(on_torch).ask().size > 0
        return
    monkeypatch.setattr(type(algorithm), "begin", None)  # nothing may be computed
    with pytest.raises(InvalidInputError, match=f"{name} works on NumPy arrays only.*'numpy'"):
        algorithm.start(on_torch)


def test_the_default_and_the_phased_algorithms_work_on_any_array():
    found = {name for name in registry._BUILT_IN if _class(name).any_backend}
    assert found >= {"pooled-peleg", "peleg", "rage"}


def _class(name):
    return type(sp.algorithms.get(name, delta=0.1, **SETTINGS.get(name, {})))


# -- memory --------------------------------------------------------------------------------
@pytest.fixture
def hardly_any_memory(monkeypatch):
    monkeypatch.setattr(Backend, "free_memory", lambda self: 1000)


def test_alba_asks_for_memory_before_it_takes_it(hardly_any_memory):
    run = sp.algorithms.Alba(0.1).start(sp.Problem(ARMS, noise=1.0))
    batch = run.ask()
    with pytest.raises(OutOfMemoryError, match="alba: a table of all candidates would need"):
        run.tell(batch, np.zeros(batch.size))


def test_lingame_asks_for_memory_before_it_takes_it(hardly_any_memory):
    state = sp.algorithms.LinGame(0.1).start(sp.Problem(ARMS, noise=1.0)).state
    before = state.memory.learners
    with pytest.raises(OutOfMemoryError, match="lingame: its learners would need"):
        state.supply()
    assert state.memory.learners is before


def test_fws_asks_for_memory_before_a_large_game(monkeypatch):
    algorithm = sp.algorithms.FrankWolfeSampling(0.1, max_samples=400)
    rewards = np.random.default_rng(1).normal(size=400) + 0.01

    def play():
        run = algorithm.start(sp.Problem(ARMS, noise=1.0))
        pulled = []
        while not run.stopped:
            batch = run.ask()
            pulled.append(int(batch.arms[0]))
            run.tell(batch, [rewards[run.samples]])
        return pulled

    expected = play()
    monkeypatch.setattr(cutoffs, "GAME_ENTRIES", 1)
    assert play() == expected  # it asks, there is enough, and nothing else changes
    monkeypatch.setattr(Backend, "free_memory", lambda self: 1000)
    with pytest.raises(OutOfMemoryError, match=r"fws: the rivals .* would need"):
        play()


# -- tables that were checked --------------------------------------------------------------
@pytest.mark.some(1)
@pytest.mark.parametrize("backend", ["numpy", "torch:cpu"])
@pytest.mark.parametrize("twins", [0, 5])
def test_a_checked_table_is_not_looked_through_again(backend, twins, monkeypatch):
    rows = np.vstack([RNG.normal(size=(300, 4)), np.ones((twins, 4))])
    problem = sp.Problem(rows, backend=backend, large=True, noise=1.0)
    means = rows @ [1.0, 0.5, 0.0, 0.0]
    scans, grams, gram = [], [], Backend.gram
    monkeypatch.setattr(tables, "check_finite", lambda *table: scans.append(table))

    def counted(self, array, weights=None):
        grams.append(array)
        return gram(self, array, weights)

    monkeypatch.setattr(Backend, "gram", counted)
    run = sp.algorithms.PooledPeleg(0.1, max_samples=60).start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, means[batch.arms])
    assert run.batches > 3
    assert scans == []
    assert sum(array is problem.features for array in grams) == 1


def test_only_the_table_itself_counts_as_checked(on_torch):
    import torch

    problem = sp.Problem(ARMS, large=True, noise=1.0)
    assert tables.as_table(problem.features, "arms") is problem.features
    assert not problem.features.flags.writeable
    assert np.array_equal(tables.gram_of(problem.features, HOST), HOST.gram(problem.features))
    with pytest.raises(ValueError, match="read-only"):
        tables.gram_of(problem.features, HOST)[0, 0] = 1.0
    changed = problem.features.copy()
    changed[3, 1] = np.nan
    with pytest.raises(InvalidInputError, match="row 3, column 1 is nan"):
        tables.as_table(changed, "arms")
    moved = tables.as_table(problem.features, "arms", on_torch.backend)
    assert isinstance(moved, torch.Tensor)


def test_what_is_known_about_a_table_goes_with_it():
    gc.collect()
    before = len(tables._KNOWN)
    problem = sp.Problem(ARMS + 1.0, large=True, noise=1.0)
    assert len(tables._KNOWN) == before + 1  # features and targets are one table
    del problem
    gc.collect()
    assert len(tables._KNOWN) == before


# -- runs that do not end ------------------------------------------------------------------
class Enough(Exception):
    pass


def watch(problem, rewards, most, **settings):
    def stop(run):
        if run.samples > most:
            raise Enough

    with pytest.raises(Enough):
        sp.identify(problem, measure_batch=lambda a: rewards[a], on_batch=stop, **settings)


def warnings_of(caplog):
    return [r.getMessage() for r in caplog.records if r.name == "surepick.run.identify"]


def test_ties_are_warned_about_once(caplog, monkeypatch):
    monkeypatch.setattr(cutoffs, "LONG_RUN", 100)
    watch(sp.Problem([[1.0], [2.0], [3.0]], noise=1.0), np.zeros(3), most=2000)
    (text,) = warnings_of(caplog)
    assert "3 candidates are still in" in text
    assert "epsilon" in text
    assert "max_samples" in text
    assert caplog.records[0].levelno == logging.WARNING


def test_rewards_that_contradict_the_model_are_warned_about(caplog, monkeypatch):
    """As measured without noise by somebody whose model is wrong."""
    monkeypatch.setattr(cutoffs, "LONG_RUN", 100)
    problem = sp.Problem(
        [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], labels=list("abcd"), noise=1.0
    )
    watch(problem, np.array([1.0, 1.0, 1.0, 1.0]), most=3000)
    (text,) = warnings_of(caplog)
    assert "The linear model does not fit these options" in text
    assert "unstructured" in text


def test_runs_with_a_budget_and_short_runs_are_not_warned_about(caplog, monkeypatch):
    sp.identify(sp.Problem(ARMS, noise=1.0), measure_batch=lambda a: 5 * ARMS[a] @ [1.0, 0, 0])
    monkeypatch.setattr(cutoffs, "LONG_RUN", 10)
    sp.identify(sp.Problem([[1.0], [2.0]], noise=1.0), lambda arm: 0.0, max_samples=500)
    assert warnings_of(caplog) == []


# -- watching ------------------------------------------------------------------------------
def test_a_watcher_sees_designs_and_may_end_them():
    problem, means = sp.Problem(ARMS, large=True, noise=1.0), ARMS @ [1.0, 0.5, 0.0]
    run = sp.algorithms.PooledPeleg(0.1).start(problem)
    seen = []
    with pytest.raises(CancelledError, match="ended the design"), sp.watching(lambda p: True):
        run.ask()
    with pytest.raises(Enough), sp.watching(_refuse):
        run.ask()
    with sp.watching(seen.append):
        while not run.stopped:  # nothing was lost by that
            batch = run.ask()
            run.tell(batch, means[batch.arms])
    assert run.answer.arm == int(np.argmax(means))
    assert {progress.task for progress in seen} == {"design"}
    assert all(p.details["value"] >= p.details["lower_bound"] for p in seen)


def _refuse(progress):
    raise Enough
