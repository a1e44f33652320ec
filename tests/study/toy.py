"""Tiny algorithms with batches of a known size, and rewards that depend on the pull alone.

Toy pulls every arm still in ``each`` times, then drops the worst: K - 1 batches of K * each,
(K - 1) * each, ... pulls. Arms may come, and go; who was dropped is back when one goes that was in.
ToyAhead pulls every arm ``each`` times in every batch, three of which may be open at a time, until
three are told, and once more when options came or went after that.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

import surepick as sp
from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls, State
from surepick.study.chain import check_chain
from surepick.study.desk import rebuild


class ToyState(State):
    saved: ClassVar = ("active", "finished", "means", "retired")
    at_rest = True

    def __init__(self, config, problem):
        self.config = config
        self.active = np.arange(problem.n_arms)
        self.finished = problem.n_arms == 1
        self.means = np.zeros(problem.n_arms)
        self.retired = np.zeros(problem.n_arms, dtype=bool)

    def turn(self, problem, retired):
        known, gone = len(self.means), retired[self.active].any()
        self.active = np.append(self.active, np.arange(known, problem.n_arms))
        self.active = np.flatnonzero(~retired) if gone else self.active
        self.means = np.append(self.means, np.zeros(problem.n_arms - known))
        self.retired, self.finished = retired, len(self.active) == 1

    def propose(self, budget):
        return Pulls(self.active, np.full(len(self.active), self.config.each)).capped(budget)

    def observe(self, pulls, sums):
        self.means[pulls.arms] = sums / pulls.counts
        self.active = np.delete(self.active, np.argmin(self.means[self.active]))
        self.finished = len(self.active) == 1

    def leader(self):
        return int(self.active[np.argmax(self.means[self.active])])

    def evidence(self):
        return {"rule": "toy"}


@dataclass(frozen=True)
class Toy(Algorithm):
    name: ClassVar = "toy"
    theorem: ClassVar = "by construction"
    any_history: ClassVar = True
    each: int = field(default=2, kw_only=True)

    def refuses_options(self, problem):
        return ""

    def begin(self, problem, rng):
        return ToyState(self, problem)


class ToyAheadState(ToyState):
    saved: ClassVar = ("active", "finished", "means", "retired", "told")

    def __init__(self, config, problem):
        super().__init__(config, problem)
        self.told = 0

    def turn(self, problem, retired):
        super().turn(problem, retired)
        self.told, self.finished = min(self.told, 2), False

    def propose_ahead(self, budget, out):
        size = len(self.active) * self.config.each
        return self.propose(budget) if out < 3 * size else None

    def observe(self, pulls, sums):
        self.told += 1
        np.add.at(self.means, pulls.arms, sums / pulls.counts / 3)
        self.finished = self.told >= 3


@dataclass(frozen=True)
class ToyAhead(Toy):
    name: ClassVar = "toy-ahead"
    overlaps: ClassVar = True

    def begin(self, problem, rng):
        return ToyAheadState(self, problem)


def register():
    """Make the algorithms known by name, as saving and loading need it."""
    for kind in (Toy, ToyAhead):
        if kind.name not in registry.names():
            registry.register(kind.name, kind)


def problem(n_arms=3):
    return sp.Problem(np.eye(n_arms), labels=[f"option {k}" for k in range(n_arms)], noise=1.0)


def reward(pull):
    """The reward of a pull, whoever measures it and whenever."""
    return pull.arm + float(np.sin(1.0 + pull.id))


def work(study, n=1, worker=None):
    """Work on a study alone until it is finished."""
    while pulls := study.ask(n, worker):
        for pull in pulls:
            study.tell(pull.id, reward(pull))


def alone(n_arms=3, each=2, kind=Toy):
    """What a single worker finds: the answer and the log."""
    from surepick.storage.memory import MemoryStorage

    study = sp.create_study("alone", problem(n_arms), kind(0.1, each=each), MemoryStorage())
    work(study)
    return study


def check_whole(study):
    """Everything stored about a study agrees with its log; no reward is counted twice."""
    rewards = study.rewards()
    assert len(np.unique(rewards.pulls)) == len(rewards.pulls)
    run = study.current_run
    replayed = study.rebuild()
    assert replayed.pulls.tolist() == run.pulls.tolist()
    assert replayed.sums.tolist() == run.sums.tolist()
    assert (replayed.batches, replayed.active) == (run.batches, run.active)
    assert (replayed.option_changes, replayed.waiting) == (run.option_changes, run.waiting)
    assert replayed.limit_changes == run.limit_changes
    assert replayed.problem == run.problem
    at = study.storage.read(lambda tx: tx.progress(study.desk.record.id))
    log = study.storage.read(lambda tx: rebuild.Log.read(tx, study.desk.record, at))
    assert at.measured == len(rewards.pulls) + len(log.withdrawn)
    if not log.changes:
        assert at.first == run.samples
    out = study.storage.read(lambda tx: tx.count_leases(study.desk.record.id, at.now))
    assert sum(out) == at.asked - at.told - at.early
    check_chain(study.storage, study.desk.record)
