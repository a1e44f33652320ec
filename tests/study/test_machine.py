"""Random histories of a study against a model of its rules, on every storage.

Batches come one after the other, or overlap; pulls are handed out once, or twice. A history mixes
asks (for one option, too), tells, repeats, contradictions, failures, corrections, withdrawals,
options that are added and retired, pauses and stops, leases that run out, crashes in the middle of
a transaction and before the study goes on, reopening, and two processes going on at once.
``SUREPICK_MACHINE_RUNS`` sets how many histories of 50 steps are tried.
"""

import itertools
import os
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from tests.study import toy

import surepick as sp
from surepick.errors import RunStateError, TellConflictError
from surepick.storage import open_storage
from surepick.study.desk.asking import RENEWED
from surepick.study.desk.rebuild import order_in

RUNS = int(os.environ.get("SUREPICK_MACHINE_RUNS", "12"))
WORKERS = st.sampled_from(["w0", "w1", None])
OBJECTS = st.sampled_from([0, 1])
STEPS = ["ask", "ask for one", "tell", "fail", "correct", "withdraw", "stop", "add", "retire"]
SIZES = [6, 4]  # of the toy's batches, as long as its options are the same
EACH = 2  # pulls of every option in batches that may overlap: three are told, and three are open
MOST = 4  # options that come
NOBODY = "somebody who is gone"
ANYBODY = "nameless: whoever measures it again"
PASSED = "nobody so far"


class Crash(BaseException):
    """The process dies here."""


@dataclass
class Model:
    """What should be true."""

    overlap: bool = False
    hedge: bool = False
    batch: int = 0
    planned: int = 1  # batches that were asked for
    asked: int = 0
    out: dict = field(default_factory=dict)  # pull -> who holds it, or held it last
    second: dict = field(default_factory=dict)  # pull -> who else holds it
    since: dict = field(default_factory=dict)  # pull -> in which ask its holder got it
    copied: set = field(default_factory=set)  # pulls that were ever with two
    asks: int = 0
    passed: set = field(default_factory=set)  # of those that are out: never handed out
    returned: set = field(default_factory=set)  # of those, given back
    line: dict = field(default_factory=dict)  # pull that anyone may have -> since when
    told: dict = field(default_factory=dict)  # pull -> (value, by whom)
    claim: object = None  # who is to go on from a complete batch
    failures: int = 0
    repeated: set = field(default_factory=set)  # (pull, kind) of what is counted, not piled up
    withdrawn: set = field(default_factory=set)  # of complete batches
    changes: int = 0
    paused: bool = False
    stopped: bool = False
    sizes: list = field(default_factory=lambda: list(SIZES))  # of batches
    goal: int = 3  # batches to be told, where they may overlap
    coming: bool = False  # options come or go when nothing is open any more, where they may
    turns: list = field(default_factory=list)  # (what was done, label)
    look: object = None  # where it stands, once options came or went
    left: int = 3  # options while others wait to come or go, where batches may overlap

    @property
    def events(self):
        return self.failures + len(self.repeated)

    @property
    def first(self):
        return sum(self.sizes[: self.batch])

    @property
    def ended(self):
        if self.overlap:
            return self.batch >= self.goal and not self.coming
        return self.batch == len(self.sizes)

    @property
    def finished(self):
        return self.stopped or self.ended

    @property
    def complete(self):
        return not self.finished and self.told_now == self.sizes[self.batch]

    @property
    def told_now(self):
        """Of the open batch."""
        if self.batch >= self.planned:
            return 0
        return sum(self.first <= p < self.first + self.sizes[self.batch] for p in self.told)

    @property
    def early(self):
        """Of batches ahead of it."""
        return sum(pull >= self.first for pull in self.told) - self.told_now

    def correct(self, pull, value):
        self.changes += value != self.told[pull][0]
        self.told[pull] = (value, self.told[pull][1])

    def withdraw(self, pull):
        self.changes += 1
        del self.told[pull]
        if pull < self.first:
            self.withdrawn.add(pull)
        else:
            self.out[pull], self.claim = ANYBODY, None
            self.returned.add(pull)

    def advance(self):
        while self.complete:
            self.asked -= self.sizes[self.batch]
            self.batch, self.claim = self.batch + 1, None
            self.turn()
            self.see()
            if not self.ended and self.planned <= self.batch:
                self.plan()

    def plan(self):
        """One batch more is asked for."""
        self.planned += 1
        if self.overlap:
            self.sizes = [*self.sizes[: self.planned - 1], EACH * self.options]

    @property
    def options(self):
        """How many there are now, where batches may overlap."""
        return self.left if self.coming else len(self.labels()[1])

    def turn(self):
        """Options come and go, where nothing is open any more."""
        if self.coming and self.batch == self.planned:
            self.coming = False
            self.goal = max(self.goal, self.batch + 1)

    def see(self):
        """How large the open batch is, where options came or went: that depends on rewards."""
        if self.turns and not self.stopped and not self.overlap:
            at = self.look()
            assert at.batch == self.batch
            self.sizes = self.sizes[: self.batch] + ([] if at.finished else [at.size])

    def labels(self):
        """Options that are there, or come with the next batch."""
        known = [f"option {k}" for k in range(3)]
        known += [label for what, label in self.turns if what == "added"]
        gone = [label for what, label in self.turns if what == "retired"]
        return known, [label for label in known if label not in gone]

    def ask(self, n, holder, arms=None):
        """With the arms of all pulls: those of one of them."""
        if self.complete and self.claim in (None, holder):
            self.advance()
        if self.finished or self.paused:
            return []
        held = {pull for pull, by in self.out.items() if by == holder}
        held |= {pull for pull, by in self.second.items() if by == holder}
        held = sorted(held - self.returned)[:n]
        held = [pull for pull in held if arms is None or arms[pull] == arms[held[0]]]
        start, end = self.first + self.asked, sum(self.sizes[: self.planned])
        free = [pull for _, pull in sorted((since, p) for p, since in self.line.items())]
        free = [pull for pull in free if pull not in held]
        named = not holder.startswith("nameless")
        if self.hedge and named and arms is None and len(held) < n and self.held_up:
            held += self.ask_for_a_copy(holder)
        fresh = list(range(start, end))
        if arms is not None:
            first = [pull for pull in free if pull in self.passed]
            others = [pull for pull in free if pull not in self.passed]
            arm = next((arms[pull] for pull in (*held, *first, *fresh, *others)), None)
            first, fresh, free = (
                [pull for pull in part if arms[pull] == arm] for part in (first, fresh, others)
            )
        else:
            first = []
        new = (first + fresh + free)[: n - len(held)]
        last = max([start - 1, *(pull for pull in new if pull >= start)])
        for pull in range(start, last + 1):
            if pull not in new:
                self.out[pull] = PASSED
                self.passed.add(pull)
        self.returned |= self.passed
        self.asked += last + 1 - start
        self.failures += sum(pull in self.line and pull not in self.returned for pull in new)
        self.asks += 1
        for pull in new:
            self.out[pull], self.since[pull] = holder, self.asks
            self.second.pop(pull, None)
        self.returned -= set(new)
        self.passed -= set(new)
        for pull in held + new:
            self.line.pop(pull, None)
        if held + new or not named or self.complete:
            return held + new
        if self.overlap and self.planned - self.batch < 3 and not self.coming:
            self.plan()
            return self.ask(n, holder, arms)
        return self.ask_for_a_copy(holder) if self.hedge else []

    @property
    def held_up(self):
        """Whether two rewards of later batches wait for each pull that is out, and 4 %."""
        out = self.asked - self.told_now - self.early
        whole = self.told_now < self.sizes[self.batch] <= self.asked
        return whole and self.early >= 2 * out and self.early >= self.first / 25

    def ask_for_a_copy(self, holder):
        """What another one has had for longest."""
        end = self.first + self.sizes[self.batch]
        gone = {*self.returned, *self.line, *self.second}
        out = [pull for pull in self.out if pull < end and pull not in gone]
        others = ("nameless", holder)
        out = [pull for pull in out if not self.out[pull].startswith(others)]
        given = sorted(out, key=lambda pull: (self.since[pull], pull))[:1]
        self.second.update(dict.fromkeys(given, holder))
        self.copied.update(given)
        self.failures += len(given)  # a line of the record, at least
        return given

    def tell(self, pull, value, teller):
        status = self.status(pull, value, teller)
        if status == "accepted":
            holder = self.out.pop(pull)
            self.second.pop(pull, None)
            self.returned.discard(pull)
            self.line.pop(pull, None)
            self.told[pull] = (value, teller or (None if holder == ANYBODY else holder))
        else:
            self.repeated.add((pull, status))
        return status

    def status(self, pull, value, teller):
        if pull in self.out:
            holder = self.out[pull]
            fine = teller in (None, holder, self.second.get(pull, holder))
            fine |= holder.startswith("nameless")
            return "accepted" if fine else "late"
        first, by = self.told[pull]
        if teller is not None and by is not None and teller != by:
            return "late"
        if value != first and teller is None and pull in self.copied:
            return "late"
        return "duplicate" if value == first else "conflict"

    def fail(self, pull, teller):
        holder = self.out.get(pull)
        if teller is not None and self.second.get(pull) == teller:
            self.failures += 1
            del self.second[pull]
            return True
        if holder is None or pull in self.returned or teller not in (None, holder):
            self.repeated.add((pull, "late"))
            return False
        self.failures += 1
        if pull in self.second:
            self.out[pull] = self.second.pop(pull)
        else:
            self.returned.add(pull)
        return True

    @property
    def handed(self):
        """Pulls that somebody has, or had."""
        return self.out.keys() - self.passed


class Machine(RuleBasedStateMachine):
    url: str = ""
    overlap = False
    count = 0

    @initialize(hedge=st.booleans())
    def begin(self, hedge):
        type(self).count += 1
        self.name = f"history {self.count}"
        self.model = Model(self.overlap, hedge, look=lambda: self.objects[0].progress())
        if self.overlap:
            self.model.sizes = [6]
        self.arms = {}
        self.nameless = 0
        toy.register()
        self.kind = toy.ToyAhead if self.overlap else toy.Toy
        sp.create_study(self.name, toy.problem(3), self.kind(0.1, each=2), self.url, hedge=hedge)
        self.objects = [self.load(), self.load()]
        self.held = [{}, {}]  # what each object remembers

    def load(self):
        return sp.load_study(self.name, self.storage)

    # -- asks --------------------------------------------------------------------------------
    @rule(i=OBJECTS, n=st.integers(1, 4), worker=WORKERS)
    def ask(self, i, n, worker):
        self.nameless += 1
        holder = worker or f"nameless {self.nameless}"
        got = self.objects[i].ask(n, worker, 1000.0)
        assert [pull.id for pull in got] == self.model.ask(n, holder)
        self.remember(i, got, holder)

    @rule(i=OBJECTS, n=st.integers(2, 4), worker=WORKERS)
    def ask_for_one_option(self, i, n, worker):
        self.nameless += 1
        holder, before = worker or f"nameless {self.nameless}", set(self.model.passed)
        got = self.objects[i].ask(n, worker, 1000.0, same=True)
        assert len({pull.arm for pull in got}) <= 1
        assert [pull.id for pull in got] == self.model.ask(n, holder, self.arms_of_all())
        self.remember(i, got, holder)
        for pull in self.model.passed - before:
            self.back_in_line(pull)

    def remember(self, i, got, holder):
        for pull in got:
            assert self.arms.setdefault(pull.id, pull.arm) == pull.arm
            self.held[i][pull.id] = holder

    def arms_of_all(self):
        """The arms of all pulls that were asked for."""
        found = []
        for number in itertools.count():
            batch = self.storage.read(lambda tx, n=number: tx.batch(self.id, n))
            if batch is None:
                return np.concatenate(found).tolist()
            found.append(order_in(self.objects[0].desk.record, batch).arms(0, batch.size))

    @precondition(lambda self: self.model.handed)
    @rule(data=st.data())
    def lease_runs_out(self, data):
        pull = data.draw(st.sampled_from(sorted(self.model.handed)))
        if pull in self.model.line:
            return

        def expire(tx):
            (lease,) = tx.leases(self.id, [pull]).values()
            at = tx.progress(self.id, lock=True)
            tx.change(self.id, replace(lease, until=at.now))

        self.storage.write(expire)
        self.back_in_line(pull)

    @property
    def id(self):
        return self.objects[0].desk.record.id

    def back_in_line(self, pull):
        lease = self.storage.read(lambda tx: tx.leases(self.id, [pull]))[pull]
        self.model.line[pull] = lease.until

    # -- tells -------------------------------------------------------------------------------
    def some_pull(self, data, pulls):
        return data.draw(st.sampled_from(sorted(pulls)))

    def teller(self, i, pull, worker):
        return worker or self.held[i].get(pull)

    @precondition(lambda self: self.model.handed)
    @rule(data=st.data(), i=OBJECTS, worker=WORKERS, end=st.sampled_from(["", "dies", "both"]))
    def tell(self, data, i, worker, end):
        pull = self.some_pull(data, self.model.handed)
        teller = self.teller(i, pull, worker)
        study = self.objects[i]
        if end:
            study.desk.advance_quietly = lambda: None
        value = toy.reward(sp.Pull(pull, self.arms[pull], ""))
        status = study.tell(pull, value, worker).status
        assert status == self.model.tell(pull, value, teller) in ("accepted", "late")
        self.held[i].pop(pull, None)
        if end:
            del study.desk.advance_quietly
        if self.model.complete and status == "accepted":
            if end == "dies":
                named = teller if teller in ("w0", "w1") else NOBODY
                self.model.claim = named
                self.reopen(i)
                return
            if end == "both":
                for one in self.objects:
                    one.desk.load()
                for one in self.objects:
                    one.desk.advance()
            self.model.advance()

    @precondition(lambda self: self.model.told)
    @rule(data=st.data(), i=OBJECTS, worker=WORKERS, other=st.booleans())
    def tell_again(self, data, i, worker, other):
        pull = self.some_pull(data, self.model.told)
        value = self.model.told[pull][0] + (1.0 if other else 0.0)
        expected = self.model.tell(pull, value, self.teller(i, pull, worker))
        try:
            status = self.objects[i].tell(pull, value, worker).status
        except TellConflictError:
            status = "conflict"
        assert status == expected
        self.held[i].pop(pull, None)

    @precondition(lambda self: self.model.handed or self.model.told)
    @rule(data=st.data(), i=OBJECTS, worker=WORKERS)
    def fail(self, data, i, worker):
        pull = self.some_pull(data, [*self.model.handed, *self.model.told])
        teller = self.teller(i, pull, worker)
        failed = self.objects[i].fail(pull, "why", worker)
        assert failed == self.model.fail(pull, teller)
        if failed and pull in self.model.returned:
            self.back_in_line(pull)
        if worker is None:
            self.held[i].pop(pull, None)

    # -- changes -----------------------------------------------------------------------------
    @precondition(lambda self: self.model.told)
    @rule(data=st.data(), i=OBJECTS, by=st.sampled_from([0.5, -2.0, 1e3]))
    def correct(self, data, i, by):
        pull = self.some_pull(data, self.model.told)
        old = self.model.told[pull][0]
        if pull < self.model.first and self.any_retired:
            return  # another one may be dropped: it could end now
        change = self.objects[i].correct(pull, old + by, reason="read again", by="ann")
        assert (change.old, change.new) == (old, old + by)
        assert change.counted == (pull < self.model.first)
        self.model.correct(pull, old + by)

    @precondition(lambda self: self.model.told)
    @rule(data=st.data(), i=OBJECTS)
    def withdraw(self, data, i):
        pull = self.some_pull(data, self.model.told)
        if pull < self.model.first and (self.any_retired or not self.another_like(pull)):
            return  # nothing would be left of the option in its batch, or another is dropped
        change = self.objects[i].withdraw(pull, reason="the sensor was off")
        assert change.new is None
        self.model.withdraw(pull)
        if not change.counted:
            self.back_in_line(pull)
        else:  # once more: it is known
            assert self.objects[i].withdraw(pull, reason="again") == change

    def another_like(self, pull):
        ends = [sum(self.model.sizes[:b]) for b in range(len(self.model.sizes) + 1)]
        batch = next(range(a, b) for a, b in itertools.pairwise(ends) if a <= pull < b)
        mates = [p for p in batch if p in self.model.told and self.arms[p] == self.arms[pull]]
        return len(mates) > 1

    # -- options -----------------------------------------------------------------------------
    @property
    def any_retired(self):
        return any(what == "retired" for what, _ in self.model.turns)

    @rule(i=OBJECTS)
    def add(self, i):
        model, label = self.model, f"new {len(self.model.turns)}"
        if model.stopped:
            with pytest.raises(RunStateError, match="for good"):
                self.objects[i].add([label])
            return
        if len(model.labels()[0]) < 3 + MOST:
            change = self.objects[i].add([label], reason="it is new")
            assert (change.waits, change.asked) == (model.batch < model.planned, model.batch)
            assert self.objects[i].add([label], reason="it is new") == change, "once is enough"
            self.turned("added", label)

    @rule(i=OBJECTS, data=st.data())
    def retire(self, i, data):
        left = self.model.labels()[1]
        if self.model.stopped or len(left) < 3 or self.model.withdrawn or self.model.changes:
            return
        there = [label for label in left if label in self.objects[i].problem.labels]
        if not there:  # all that are left wait for the next batch
            return
        label = data.draw(st.sampled_from(there))
        self.objects[i].retire(label, reason="sold out")
        self.turned("retired", label)

    def turned(self, what, label):
        model = self.model
        if self.overlap:
            model.left = model.options
            model.turns.append((what, label))
            model.coming = True
            model.turn()
            if not model.coming:
                model.plan()
            return
        self.model.turns.append((what, label))
        if self.model.finished:  # it may go on, with a batch that nobody has asked for
            self.model.see()
            if not self.model.ended:
                self.model.planned = self.model.batch + 1

    # -- its course --------------------------------------------------------------------------
    @rule(i=OBJECTS, paused=st.booleans())
    def pause(self, i, paused):
        changed = (self.objects[i].pause if paused else self.objects[i].resume)("why", "ann")
        assert changed == (not self.model.finished and self.model.paused != paused)
        if changed:
            self.model.paused = paused

    @rule(i=OBJECTS, sure=st.integers(0, 5))
    def stop(self, i, sure):
        if sure:
            return
        ended = self.model.finished
        answer = self.objects[i].stop("why")
        assert ended or answer.guarantee.kind == "none"
        self.model.stopped |= not ended

    # -- crashes -----------------------------------------------------------------------------
    @rule(i=OBJECTS)
    def reopen(self, i):
        self.objects[i] = self.load()
        self.held[i] = {}

    @rule(i=OBJECTS, data=st.data(), what=st.sampled_from(STEPS))
    def crash_in_a_transaction(self, i, data, what):
        study, write = self.objects[i], self.storage.write

        def dies(work):
            def and_dies(tx):
                work(tx)
                raise Crash

            return write(and_dies)

        step = partial(study.ask, 2, "w0", same=what == "ask for one")
        if what == "stop":
            if self.model.finished:
                return
            step = study.stop
        elif what == "add":
            if self.model.stopped:
                return
            step = partial(study.add, ["never"])
        elif what == "retire":
            left = [x for x in self.model.labels()[1] if x in study.problem.labels]
            if self.model.stopped or len(left) < 2:
                return
            step = partial(study.retire, left[0], reason="why")
        elif what in ("correct", "withdraw"):
            if not self.model.told:
                return
            pull = self.some_pull(data, self.model.told)
            if pull < self.model.first and (self.any_retired or not self.another_like(pull)):
                return
            step = partial(study.withdraw, pull, reason="why")
            if what == "correct":
                step = partial(study.correct, pull, self.model.told[pull][0] + 3, reason="why")
        elif not what.startswith("ask") and self.model.handed:
            pull = self.some_pull(data, self.model.handed)
            step = partial(study.tell, pull, 77.0) if what == "tell" else partial(study.fail, pull)
        self.storage.write = dies
        # What takes one step of the database cannot be left half done.
        self.storage.ask_one = self.storage.tell_one = lambda *_: None
        try:
            with pytest.raises(Crash):
                step()
        finally:
            del self.storage.write, self.storage.ask_one, self.storage.tell_one
        self.reopen(i)

    @precondition(lambda self: self.model.claim is not None)
    @rule()
    def claim_runs_out(self):
        def expire(tx):
            at = tx.progress(self.id, lock=True)
            tx.set_progress(self.id, replace(at, claimed_until=at.now - 1.0))

        self.storage.write(expire)
        self.model.claim = None

    # -- what must hold ----------------------------------------------------------------------
    @invariant()
    def agrees(self):
        study = self.objects[0]
        at, out, told, events = self.storage.read(
            lambda tx: (
                tx.progress(study.desk.record.id),
                tx.leases(study.desk.record.id, range(400)),
                tx.tells(study.desk.record.id, range(400)),
                sum(one.kind != RENEWED for one in tx.events(study.desk.record.id)),
            )
        )
        model = self.model
        assert (at.batch, at.asked, at.finished) == (model.batch, model.asked, model.finished)
        assert (at.told, at.early) == (model.told_now, model.early)
        assert at.last == sum(model.sizes[: model.planned])
        assert model.finished or at.paused == model.paused
        assert out.keys() == model.out.keys()
        assert {p: one.second for p, one in out.items() if one.second} == model.second
        assert {p for p, one in out.items() if not one.attempts} == model.passed
        assert {p for p, lease in out.items() if lease.until <= at.now} == set(model.line)
        assert {p: tell.value for p, tell in told.items()} == {
            p: value for p, (value, _) in model.told.items()
        }
        assert events == model.events

    def teardown(self):
        if not hasattr(self, "objects"):
            return
        study = self.load()
        toy.check_whole(study)
        assert len(study.corrections()) == self.model.changes
        said = [(change.change, *change.labels) for change in study.option_changes()]
        assert said == self.model.turns
        still = self.model.changes or self.model.turns or self.model.stopped
        if study.finished and not still:
            assert study.answer == toy.alone(3, 2, self.kind).answer
        sp.delete_study(self.name, self.storage)


@pytest.mark.some(1)
@pytest.mark.parametrize("times", [1, pytest.param(8, marks=pytest.mark.validation)])
@pytest.mark.parametrize("overlap", [False, True])
def test_random_histories_follow_the_rules(storage_url, overlap, times):
    storage = open_storage(storage_url)
    own = {"storage": storage, "url": storage, "overlap": overlap}
    kind = type("Kind", (Machine,), own)
    runs = times * RUNS
    runs = runs if storage_url.startswith(("memory", "sqlite")) else max(1, runs // 5)
    runs = max(1, runs // 2) if overlap else runs
    run_machine(kind, settings=settings(max_examples=runs, stateful_step_count=50))
    storage.close()
