"""The suite itself: an algorithm from outside passes it, and each fault is caught by its check."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

from surepick.algorithms import Algorithm, Pulls, registry
from surepick.errors import CertificateError
from surepick.research.elimination import PhasedState, PhasePlan
from surepick.simulate import conformance
from surepick.simulate.conformance.tools import chance, failures


class DoublingState(PhasedState):
    """Every arm equally often, twice as often in each phase."""

    def plan(self, budget):
        level = self.config.delta / (self.phase * (self.phase + 1)) / (len(self.active) - 1)
        return PhasePlan(Pulls.from_counts(self.counts()), level, None)

    def counts(self):
        return np.full(self.problem.n_arms, 4 * 2**self.phase)


@dataclass(frozen=True)
class Doubling(Algorithm):
    name = "doubling"
    theorem = "phased elimination with fixed-design widths"
    state = DoublingState

    def begin(self, problem, rng):
        return self.state(self, problem)


@pytest.fixture(autouse=True)
def registered():
    registry.register("doubling", Doubling)
    yield
    registry.unregister("doubling")


@pytest.mark.some(8)
@pytest.mark.parametrize("check", conformance.checks())
def test_an_algorithm_from_outside_passes(check):
    check(Doubling)


# -- faults ---------------------------------------------------------------------------------
class Forgetful(DoublingState):
    saved = tuple(name for name in DoublingState.saved if name != "phase")


class Moody(DoublingState):
    mood = np.random.default_rng(0)

    def counts(self):
        return super().counts() + self.mood.integers(3, size=self.problem.n_arms)


class Elsewhere(DoublingState):
    def propose(self, budget):
        pulls = super().propose(budget)
        return Pulls(pulls.arms + 1, pulls.counts)


class Spendthrift(DoublingState):
    def propose(self, budget):
        return super().propose(10**12)


class Optimist(DoublingState):
    """Believes a few pulls."""

    def plan(self, budget):
        return super().plan(budget)._replace(level=0.45, pulls=Pulls.from_counts(self.few()))

    def few(self):
        return np.ones(self.problem.n_arms, dtype=int)


class Stubborn(DoublingState):
    """Does not know epsilon."""

    def _eliminate(self, fit, record):
        super()._eliminate(fit, record)
        self.finished = len(self.active) == 1


class Crooked(DoublingState):
    """Looks at the coordinates of the features."""

    def counts(self):
        return super().counts() + (self.problem.arms[:, 0] > 0.5)


class FirstFavoured(DoublingState):
    """Looks at the order of the arms."""

    def counts(self):
        return super().counts() + (np.arange(self.problem.n_arms) == 0)


class UnitBound(DoublingState):
    """Looks at the unit of the rewards."""

    def counts(self):
        return super().counts() * int(np.ceil(self.problem.noise))


class Boastful(DoublingState):
    """Records that it has shown more than it has."""

    def evidence(self):
        return {"rule": "phases", "phases": self.phases[:-1]}


class Endless(DoublingState):
    def observe(self, pulls, sums):
        super().observe(pulls, sums)
        self.finished, self.phase = False, 18
        self.active = self.problem.distinct


class Contrary(DoublingState):
    """Answers what it has ruled out."""

    def leader(self):
        out = np.setdiff1d(self.problem.distinct, self.active)
        return int(out[0]) if len(out) else super().leader()


class Twin(DoublingState):
    """Forgets the copies of the answer."""

    @property
    def active(self):
        return self._active

    @active.setter
    def active(self, value):
        last = self.problem.same_as == self.problem.same_as[value[0]]
        self._active = np.flatnonzero(last)[-1:] if len(value) == 1 else value


FAULTS = [
    ("same_rewards_same_asks", Moody, "differs in a second run"),
    ("save_and_load", Forgetful, "differs after saving and loading"),
    ("asks_for_arms_that_are_there", Elsewhere, "there are 5"),
    ("answers_a_candidate", Contrary, "not among the survivors"),
    ("stops_on_easy_instances", Endless, "did not stop within"),
    ("epsilon", Stubborn, "did not stop within"),
    ("all_nearly_tied", Stubborn, "did not stop within"),
    ("budget", Spendthrift, "max_samples is 1"),
    ("error_rate", Optimist, "answers wrong"),
    ("rotation", Crooked, "rotated features"),
    ("permutation", FirstFavoured, "in another order"),
    ("scaling", UnitBound, "in another unit"),
    ("certificate", Boastful, "do not correspond"),
    ("duplicates", Twin, "not among the survivors"),
]


@pytest.mark.some(4)
@pytest.mark.parametrize(("check", "state", "says"), FAULTS)
def test_faults_are_caught(check, state, says, monkeypatch):
    @dataclass(frozen=True)
    class Faulty(Doubling):
        pass

    Faulty.state = state
    monkeypatch.setitem(registry._REGISTERED, "doubling", Faulty)
    with pytest.raises((AssertionError, CertificateError), match=says):
        getattr(conformance, f"check_{check}")(Faulty)


def test_heuristics_are_measured_but_not_held_to_delta():
    @dataclass(frozen=True)
    class Guess(Doubling):
        theorem = ""
        state = Optimist

    report = conformance.check_error_rate(Guess, trials=40)
    assert report["guarantee"] == "heuristic"
    assert max(report["errors"].values()) > report["limit"]


@pytest.mark.some(2)
@pytest.mark.parametrize(("n", "rate"), [(40, 0.1), (100, 0.2), (250, 0.1)])
def test_counting_failures_ends_early_and_catches_as_much(n, rate):
    """Of trials that fail so often that all of them catch it half the time, and more often."""
    most = chance(n, rate)

    def caught(seed, failing):
        draws = np.random.default_rng(seed)
        return failures(lambda _: draws.random() < failing, n, most) > most

    for share in (1.0, 1.2, 1.5):
        failing = share * (most + 1) / n
        power = binom.sf(most, n, failing)
        found = sum(caught(seed, failing) for seed in range(400))
        assert found >= binom.ppf(0.001, 400, power - 0.001)
    tried = []
    assert failures(tried.append, n, most) == 0
    assert len(tried) < 0.6 * n
