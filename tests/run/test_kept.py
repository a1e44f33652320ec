"""``identify`` goes on where it was cut off, with what it had measured."""

import json
import random

import numpy as np
import pytest

import surepick as sp
from surepick.calls.kept import FOLDER, VARIABLE

MEANS = [0.2, 0.5, 0.9]


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "rewards.jsonl"


class Calls:
    """Measurements that are paid for, one of which ends in another way."""

    def __init__(self, at=None, what=None):
        self.draw, self.at, self.what, self.made = random.Random(1), at, what, []

    def __call__(self, arm, *item):
        self.made.append(arm)
        if len(self.made) == self.at:
            if isinstance(self.what, type):
                raise self.what("in the middle")
            return self.what
        return float(self.draw.random() < MEANS[arm])


def best(measure, **how):
    problem = sp.Problem.unstructured(list("abc"), noise="yes-no")
    return sp.identify(problem, measure, **{"delta": 0.05, "seed": 4, "max_samples": 3000, **how})


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("what", [KeyboardInterrupt, ValueError, None, float("nan"), "1", [1], 7.0])
def test_what_was_measured_is_measured_once(cache, what, workers):
    calls, whole = Calls(30, what), Calls()
    alone = best(whole)
    kind = what if what is KeyboardInterrupt else ValueError
    with pytest.raises(kind) as stop:
        best(calls, cache=cache, workers=workers)
    part = stop.value.partial
    assert not part.guarantee
    kept = [line for line in map(json.loads, cache.read_text().splitlines()) if "score" in line]
    assert 29 <= len(kept) < 29 + workers + 1
    assert f"({len(kept)}) is kept in {cache}" in stop.value.__notes__[-1]
    found = best(calls, cache=cache, workers=workers)
    assert (found.label, found.guarantee.kind) == ("c", alone.guarantee.kind)
    assert len(calls.made) == found.samples + 1  # the one that ended badly
    assert "if measurements fail, or come too late, for reasons" in found.plain
    assert sp.verify(found.certificate(), replay=True).replayed
    # It has come to its end: the next one measures anew.
    assert len(best(calls, cache=cache).pulls) == 3
    assert len(calls.made) > found.samples + 1


def test_one_that_was_cut_off_is_the_one_that_it_would_have_been(cache):
    """Where rewards belong to pulls, and not to the moment."""

    def at(arm, count=[0, 0, 0]):  # noqa: B006
        count[arm] += 1
        return float(random.Random(f"{arm} {count[arm]}").random() < MEANS[arm])

    def stops(arm):
        left.pop()
        return at(arm)

    left = list(range(25))
    with pytest.raises(IndexError):
        best(stops, cache=cache)
    left = list(range(5000))
    found = best(stops, cache=cache)
    at.__defaults__[0][:] = [0, 0, 0]
    alone = best(at)
    assert (found.samples, found.pulls.tolist()) == (alone.samples, alone.pulls.tolist())


def test_batches_pairs_and_further_numbers_are_kept_too(cache):
    calls = []

    def measure_batch(arms):
        calls.append(len(arms))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return draw.random(len(arms)) < np.array(MEANS)[arms]

    draw = np.random.default_rng(0)
    problem = sp.Problem.unstructured(list("abc"), noise="yes-no")
    with pytest.raises(KeyboardInterrupt):
        sp.identify(problem, measure_batch=measure_batch, cache=cache)
    found = sp.identify(problem, measure_batch=measure_batch, cache=cache)
    assert found.samples == sum(calls) - calls[3]

    def judge(first, second):
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return 1 if first > second else 0

    calls, pairs = [], sp.Problem.pairs(list("abc"))
    with pytest.raises(KeyboardInterrupt):
        sp.identify(pairs, judge=judge, cache=cache)
    answer = sp.identify(pairs, judge=judge, cache=cache)
    assert (answer.label, len(calls)) == ("c", answer.samples + 1)

    def both(arm):
        calls.append(arm)
        if len(calls) == 20:
            return {"reward": 1.0, "latency": None}
        return {"reward": float(draw.random() < MEANS[arm]), "latency": 10.0 * draw.random()}

    calls = []
    problem = sp.Problem.unstructured(list("abc"), noise="yes-no", numbers={"latency": (0, 100)})
    how = {"keep": ["latency <= 50"], "cache": cache, "max_samples": 2000}
    with pytest.raises(ValueError, match="it returned None, not a number"):
        sp.identify(problem, both, **how)
    answer = sp.identify(problem, both, **how)
    assert (answer.label, len(calls)) == ("c", answer.samples + 1)


def test_by_default_nothing_is_left_of_what_has_ended(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(tmp_path)
    best(Calls())
    assert list(tmp_path.glob(f"{FOLDER}/*.jsonl")) == []
    calls = Calls(30, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        best(calls)
    (file,) = tmp_path.glob(f"{FOLDER}/*.jsonl")
    assert len([line for line in file.read_text().splitlines() if '"score"' in line]) == 29
    found = best(calls)
    assert len(calls.made) == found.samples + 1
    assert not file.exists()


def test_another_measurement_begins_anew(cache):
    with pytest.raises(KeyboardInterrupt):
        best(Calls(30, KeyboardInterrupt), cache=cache)
    for how in ({"delta": 0.1}, {"epsilon": 0.1}, {"seed": 5}, {"top": 2}):
        calls = Calls()
        assert len(calls.made) == 0
        found = best(calls, cache=cache, **how)
        assert len(calls.made) == found.samples
    calls = []
    best(lambda arm: calls.append(arm) or float(random.random() < MEANS[arm]), cache=cache)
    assert calls
