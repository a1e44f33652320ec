"""What is kept, for how long, and by many threads at once."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from surepick.arrays.cache import PlanCache, fingerprint


def test_plans_are_kept_by_number_and_by_size():
    cache, made = PlanCache(size=3, numbers=100), []

    def make(name):
        return lambda: made.append(name) or name

    for name in "abcd":
        assert cache.get(name, make(name)) == name
    assert cache.get("a", make("a")) == "a"  # it had to go, as the oldest of four
    assert made == ["a", "b", "c", "d", "a"]
    cache.get("large", make("large"), cost=99)
    assert cache.get("a", make("a")) == "a"
    assert made[5:] == ["large"]
    cache.get("larger", make("larger"), cost=1000)  # the only one left
    assert cache.get("larger", make("larger"), cost=1000) == "larger"
    cache.get("b", make("b"))
    cache.get("larger", make("larger"), cost=1000)
    assert made[6:] == ["larger", "b", "larger"]
    cache.forget("larger")
    for name in "xyz":
        cache.get(name, make(name), cost=33)
    assert cache.get("x", make("x")) == "x"
    assert made[9:] == ["x", "y", "z"]


def test_sets_of_candidates_have_names_of_their_own():
    everyone = np.arange(1000)
    assert fingerprint(everyone) == fingerprint(np.arange(1000))
    assert fingerprint(everyone) != fingerprint(everyone[:-1])
    assert fingerprint(everyone[::2]) == fingerprint(everyone[::2].copy())
    assert len(fingerprint(everyone)) == 16


@pytest.fixture
def hurried():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Slow:
    """A number that hands over to other threads whenever it is counted with."""

    def __init__(self, value):
        self.value = value

    def __radd__(self, other):
        return _after_a_turn(other + self.value)

    def __rsub__(self, other):
        return _after_a_turn(other - self.value)


def _after_a_turn(value):
    time.sleep(0)
    return value


@pytest.mark.validation
@pytest.mark.usefixtures("hurried")
def test_threads_that_store_and_forget_leave_the_bookkeeping_true():
    cache = PlanCache(size=20, numbers=150)

    def work(seed):
        rng = np.random.default_rng(seed)
        for name in rng.integers(40, size=2000).tolist():
            if rng.random() < 0.3:
                cache.forget(name)
            else:
                assert cache.get(name, lambda name=name: str(name), Slow(1 + name % 9)) == str(name)

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, seed) for seed in range(8)]:
            done.result()
    for name in range(40):
        cache.forget(name)
    assert cache.held == 0
