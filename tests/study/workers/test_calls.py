"""Crews whose measurements are calls: too many, refused, hanging, failing in every way."""

import asyncio
import contextlib
import functools
import gc
import random
import threading
import time
import warnings

import numpy as np
import pytest
from tests.study import toy

import surepick as sp
from surepick.calls.pace import Pace
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.study.workers.measure import Call, Command
from surepick.study.workers.work import Workers

N = 60
LABELS = [f"o{i}" for i in range(5)]


class Status(Exception):
    """An answer that is none, as HTTP libraries raise it."""

    def __init__(self, status, after=None):
        super().__init__(f"status {status}")
        self.status_code = status
        self.headers = {} if after is None else {"Retry-After": str(after)}


class Quick(Pace):
    """Pauses take no time; when calls were allowed to begin is kept."""

    def __init__(self, per_minute=None):
        super().__init__(per_minute, draw=lambda: 0.0)
        self.begun, self.pauses = [], []

    def take(self):
        seconds = super().take()
        if not seconds:
            self.begun.append(self.clock())
        return seconds

    def give_back(self):
        super().give_back()
        self.begun.pop()

    def pause(self, failures):
        self.pauses.append(failures)
        return 0.01 * failures


@pytest.fixture
def small(request):
    return sp.create_study(
        "s", toy.problem(3), toy.Toy(0.1, each=2), f"memory://{request.node.name}"
    )


def right(task):
    return toy.reward(sp.Pull(task.pull, task.arm, task.label))


def crew_of(study, measure, timeout=60.0, pace=None, **how):
    call = Call(measure, timeout)
    pace = Quick() if pace is None else pace
    try:
        return Workers(study, call, pace=pace, **how).run()
    finally:
        call.stop()


def table(seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((len(LABELS), N)) < np.linspace(0.3, 0.8, len(LABELS))[:, None]).astype(
        float
    )


def complete(name, url="memory://", **settings):
    problem = sp.Problem.unstructured(LABELS, noise="yes-no")
    settings = {"delta": 0.1, "complete": N, "seed": 4} | settings
    return sp.create_study(name, problem, storage=url, **settings)


def alone(scores):
    """What one who asks for one cell after the other finds."""
    problem = sp.Problem.unstructured(LABELS, noise="yes-no")
    algorithm = sp.algorithms.PooledPeleg(0.1, complete=N)
    return sp.identify(problem, lambda *cell: scores[cell], algorithm=algorithm, seed=4)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("surepick.calls.pace._PROBING", 0.01)


# -- time ------------------------------------------------------------------------------------
def test_calls_that_hang_are_ended_and_never_more_are_under_way_than_workers(small):
    now = most = 0

    async def measure(task):
        nonlocal now, most
        now += 1
        most = max(most, now)
        try:
            await asyncio.sleep(60 if task.attempt == 1 and task.pull < 4 else 0.01)
            return right(task)
        finally:
            now -= 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        work = crew_of(small, measure, timeout=0.1, workers=4)
        gc.collect()
    assert (work.told, work.failed, work.finished) == (10, 4, True)
    assert most == 4
    assert {event.note for event in small.events("failed")} == {"no reward after 0.1 s"}
    assert small.answer.arm == toy.alone().answer.arm


def test_a_coroutine_that_cannot_be_ended_keeps_its_worker(small, monkeypatch):
    under_way, free = set(), asyncio.Event()

    async def measure(task):
        under_way.add(task.pull)
        assert len(under_way) <= 2
        while task.pull == 0 and not free.is_set():
            with contextlib.suppress(asyncio.CancelledError):  # it should not
                await asyncio.sleep(0.05)
        under_way.discard(task.pull)
        if task.pull == 8:
            free.set()
        return right(task)

    monkeypatch.setattr("surepick.study.workers.work._DEADLINE", 0.05)
    work = crew_of(small, measure, timeout=0.1, workers=2)
    assert (work.finished, work.failed) == (False, 2)  # nobody else could measure pull 0, either
    assert "do not end when they are cancelled" in work.stopped
    free.set()


# -- refused ---------------------------------------------------------------------------------
def test_refused_calls_are_no_failures_and_everybody_waits(small):
    refused, pace = [], Quick()

    def measure(task):
        if task.pull in (1, 4) and refused.count(task.pull) < 3:
            refused.append(task.pull)
            raise Status(429)
        return right(task)

    work = crew_of(small, measure, pace=pace, workers=2, retries=0)
    assert (work.told, work.failed, work.refused, work.finished) == (10, 0, 6, True)
    assert small.events() == []  # nothing was measured, so nothing was measured again
    assert small.answer == toy.alone().answer


def test_a_service_that_asks_to_wait_for_hours_ends_the_work(small):
    def measure(task):
        raise Status(429, after=7200)

    work = crew_of(small, measure)
    assert work.stopped.startswith("the service asks to wait 7,200 s: Status: status 429")
    assert small.status()["batch"]["leased"] == 0  # nothing is left in hand


def test_a_service_that_only_refuses_ends_the_work(small):
    def measure(task):
        raise Status(429)

    work = crew_of(small, measure, retries=0)
    assert "refused 11 times in a row" in work.stopped
    assert "--per-minute" in work.stopped
    assert work.failed == 0


def test_commands_can_say_that_there_are_too_many_calls(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "measure.sh").write_text(
        "if [ ! -e asked ]; then touch asked; echo 'HTTP 429; Retry-After: 0.2' >&2; exit 1; fi\n"
        "echo 1.$SUREPICK_ARM"
    )
    work = Workers(small, Command("sh measure.sh"), retries=0, pace=Quick()).run()
    assert (work.refused, work.failed, work.finished) == (1, 0, True)


def test_the_time_that_a_visit_to_the_study_takes_is_not_waited_for_again(small, monkeypatch):
    """Else the pace would be slower than what is allowed, by the time of a visit each."""
    crew = Workers(small, Call(right), workers=2, pace=Pace(60))
    visit = crew._visit

    def slow(done, free):
        time.sleep(0.5)
        return visit(done, free)

    monkeypatch.setattr(crew, "_visit", slow)
    monkeypatch.setattr("surepick.study.workers.work._LOOK_EVERY", 10.0)
    assert crew._exchange() <= 1.01 - 0.5


# -- failures --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (Status(401), "check the key"),
        (Status(404), "check the address"),
        (TypeError("measure() takes 0 arguments"), "the function itself is wrong"),
        (ValueError("could not convert string to float: 'seven'"), "return the worst score"),
    ],
)
def test_what_would_fail_again_ends_the_work_at_once(small, error, cure):
    def measure(task):
        raise error

    work = crew_of(small, measure)
    assert (work.failed, work.told) == (1, 0)
    assert f"failed: {type(error).__name__}: {error}" in work.stopped
    assert cure in work.stopped


def test_what_may_pass_is_tried_again_later_and_each_time_later(small):
    pace = Quick()

    def measure(task):
        if task.pull == 3 and task.attempt < 3:
            raise Status(502)
        return right(task)

    work = crew_of(small, measure, pace=pace, workers=4)
    assert (work.failed, work.finished) == (2, True)
    assert pace.pauses == [1, 2]
    assert [event.note for event in small.events("failed")] == ["Status: status 502"] * 2


# -- finite tables ---------------------------------------------------------------------------
@pytest.mark.some(3)
@pytest.mark.parametrize("error", [Status(400), Status(500), ValueError("no number in 'seven'")])
def test_a_cell_that_cannot_be_measured_counts_as_the_worst_score(error):
    met = complete("met", f"memory://met {error}").ask(1)[0].item
    scores, cell = table(), (2, met)
    scores[cell] = 1.0
    study = complete("failing", f"memory://failing {error}")

    def measure(task):
        if (task.arm, task.item) == cell:
            raise error
        return scores[task.arm, task.item]

    work = crew_of(study, measure, workers=4)
    assert (work.finished, work.lowest) == (True, 1)
    scores[cell] = 0.0  # as if it had said so
    answer = alone(scores)
    assert study.answer.label == answer.label
    assert answer.samples <= study.answer.samples <= 1.2 * answer.samples  # some are asked ahead
    (event,) = study.events("unmeasured")
    why = f"{type(error).__name__}: {error}"
    assert (event.arm, event.value, event.note) == (2, 0.0, why)
    # It is listed wherever the answer is, and checked by the verifier.
    assert study.answer.unmeasured == (("o2", met, why),)
    said = f"1 cell could not be measured and counts as the worst score: o2 on item {met}"
    assert said in study.answer.plain
    assert said in " ".join(study.status()["checks"]["remarks"])
    assert "made again" not in study.answer.guarantee  # it was not: it counts as it is
    certificate = study.answer.certificate()
    assert sp.verify(certificate, replay=True).replayed
    assert [one["arm"] for one in certificate["unmeasured"]] == [2]
    # The score can still be corrected, and then it is measured like any other.
    study.correct(event.pull, 1.0, reason="asked by hand")
    assert study.status()["unmeasured"] == []


@pytest.mark.some(2)
@pytest.mark.parametrize("wrong", ["better", "elsewhere", "twice", "none", "left out", "unsaid"])
def test_a_certificate_cannot_list_other_cells(wrong):
    study = complete("forged", f"memory://forged {wrong}")
    (pull,) = study.ask(1, worker="ann")
    study.fail(pull.id, "no answer", final=True)
    study.run(lambda task: table()[task.arm, task.item])
    body = study.answer.certificate()
    (cell,) = body["unmeasured"]
    scored = {
        (arm, place): score
        for batch in body["batches"]
        for arm, place, score in zip(batch["arms"], batch["parts"], batch["sums"])
    }
    if wrong == "better":
        cell["arm"], cell["at"] = next(one for one, score in scored.items() if score == 1.0)
    body["unmeasured"] = {"twice": [cell, cell], "none": []}.get(wrong, [cell])
    if wrong == "elsewhere":
        cell["at"] = N
    if wrong == "left out":
        del body["unmeasured"]
    if wrong == "unsaid":
        said = "; where a cell that could not be measured counts as the worst score (1 of them)"
        assert said in body["claim"]["statement"]
        body["claim"]["statement"] = body["claim"]["statement"].replace(said, "")
    with pytest.raises(CertificateError, match=r"not measured|the statement should be"):
        sp.verify(body | {"digest": fingerprint(body)})


def test_a_service_that_is_away_spoils_no_cell():
    scores, calls = table(), []
    study = complete("away", "memory://away")

    def measure(task):
        calls.append(task)
        if len(calls) > 30:
            raise Status(500)
        return scores[task.arm, task.item]

    work = crew_of(study, measure, workers=4)
    assert work.stopped.endswith("Status: status 500")
    assert (work.told, work.lowest, study.events("unmeasured")) == (30, 0, [])


@functools.cache
def order_of(name):
    """The items of a study in the order in which they are met."""
    made = complete(name, f"memory://order {name}")
    answer_of = made.run(lambda task: 1.0)  # all tie, so that all are met
    assert answer_of.samples == N * len(LABELS)
    told = made.rewards()
    return list(dict.fromkeys(map(int, told.strata)))


@pytest.mark.parametrize("place", [0, 7, N - 1])
@pytest.mark.parametrize("workers", [1, 4])
def test_an_item_on_which_every_option_fails_is_a_tie_and_blocks_nothing(place, workers):
    """Also the first one of all, after which nothing has worked yet, and the last."""
    bad, calls = order_of("tie")[place], []
    study = complete("tie", f"memory://tie {place} {workers}")

    def measure(task):
        calls.append((task.arm, task.item))
        if task.item == bad:
            raise ValueError("refused")
        return 1.0

    work = crew_of(study, measure, workers=workers)
    assert (work.finished, work.lowest, work.stopped) == (True, len(LABELS), "")
    # one that worked was asked once more, where nothing else was left to ask
    assert len(calls) - len(set(calls)) <= 2
    assert {cell.item for cell in study.answer.unmeasured} == {bad}
    assert len(study.answer.labels) == len(LABELS)  # still a tie of all
    assert sp.verify(study.answer.certificate(), replay=True).replayed


def test_a_service_that_is_away_ends_the_work_once_and_the_next_run_goes_on(monkeypatch):
    monkeypatch.setattr("surepick.study.workers.work._MOST_AT_ONCE", 1)
    scores, calls = table(), []
    study, away = complete("dark", "memory://dark"), threading.Event()

    def measure(task):
        calls.append((task.arm, task.item))
        if len(calls) > 30 and not away.is_set():
            raise ValueError("no number in ''")  # of a kind that is not tried again
        return scores[task.arm, task.item]

    work = crew_of(study, measure)
    assert "measurements in a row failed" in work.stopped
    assert (work.told, work.lowest, work.failed) == (30, 0, 9)  # cells, of five options
    assert len(calls) == 30 + 9 + 1  # what had worked was asked once more
    away.set()
    work = crew_of(study, measure)
    assert (work.finished, work.lowest, work.failed) == (True, 0, 0)
    assert study.answer.label == alone(scores).label


def test_tries_are_counted_for_each_cell_over_all_runs():
    scores, calls = table(), []
    study = complete("tries", "memory://tries")
    bad = order_of("tries")[3]

    def measure(task):
        if (task.arm, task.item) == (1, bad):
            calls.append(task)
            if len(calls) == 2:
                crew.interrupt()
            raise Status(500)
        return scores[task.arm, task.item]

    crew = Workers(study, Call(measure), retries=4, pace=Quick())
    assert crew.run().stopped == "interrupted"
    crew = Workers(study, Call(measure), retries=4, pace=Quick())
    work = crew.run()
    assert (work.finished, work.lowest) == (True, 1)
    assert len(calls) == 5  # and not five in each run


def test_a_cell_may_stay_open_until_it_is_measured():
    scores = table()
    study = complete("later", "memory://later", failed="later")
    bad = order_of("later")[3]

    def measure(task):
        if (task.arm, task.item) == (1, bad):
            raise ValueError("the plate is broken")
        return scores[task.arm, task.item]

    work = crew_of(study, measure)
    assert "1 cell could not be measured and stays open" in work.stopped
    assert "the plate is broken" in work.stopped
    assert (work.finished, work.lowest, study.events("unmeasured")) == (False, 0, [])
    work = crew_of(study, lambda task: scores[task.arm, task.item])
    assert work.finished
    assert study.answer.unmeasured == ()
    assert study.answer.label == alone(scores).label
    with pytest.raises(ValueError, match="failed must be 'lowest'"):
        complete("other", "memory://other", failed="never")
    with pytest.raises(ValueError, match="failed: only where a finite table"):
        sp.create_study("other", sp.Problem([[1.0], [2.0]]), storage="memory://o", failed="later")


def test_a_number_that_no_score_can_be_is_one_failed_cell():
    scores, study = table(), complete("odd", "memory://odd")
    bad = order_of("odd")[2]

    def measure(task):
        return 7.0 if (task.arm, task.item) == (3, bad) else scores[task.arm, task.item]

    work = crew_of(study, measure)
    assert (work.finished, work.lowest) == (True, 1)
    assert "is 7, but" in study.answer.unmeasured[0].reason


def test_smaller_is_better_has_the_largest_as_its_worst():
    problem = sp.Problem.unstructured(LABELS, noise=(0, 5), minimise=True)
    study = sp.create_study("worst", problem, complete=N, storage="memory://worst")
    (pull,) = study.ask(1, worker="ann")
    assert study.fail(pull.id, "no answer", final=True)
    assert not study.fail(pull.id, "no answer", final=True)  # it has its score
    assert study.rewards().values.tolist() == [5.0]


def test_elsewhere_nothing_counts_as_the_worst_score(small):
    (pull,) = small.ask(1)
    with pytest.raises(ValueError, match="only where a finite table is filled in"):
        small.fail(pull.id, "no answer", final=True)


# -- all of it at once -----------------------------------------------------------------------
class Service:
    """Answers by a table; 5 % of calls fail and 1 % hang, by chance alone."""

    def __init__(self, scores, seed):
        self.scores, self.draw = scores, random.Random(seed)
        self.now = self.most = self.hung = self.failed = 0
        self.answered = {}

    async def __call__(self, task):
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            what = self.draw.random()
            if what < 0.01:
                self.hung += 1
                await asyncio.sleep(60)
            await asyncio.sleep(self.draw.expovariate(200))
            if what < 0.06:
                self.failed += 1
                raise self.draw.choice([Status(500), ConnectionResetError("gone")])
            cell = (task.arm, task.item)
            assert cell not in self.answered
            self.answered[cell] = self.scores[cell]
            return self.scores[cell]
        finally:
            self.now -= 1


SCALE = 60  # a minute is a second here


def cells(answer):
    """What was told of which cell."""
    return {
        cell
        for batch in answer.certificate()["batches"]
        for cell in zip(batch["arms"], batch["parts"], batch["sums"])
    }


@pytest.mark.validation
def test_sixteen_coroutines_that_fail_and_hang_find_what_one_worker_finds():
    scores = table(3)
    single = alone(scores)
    study, service, pace = complete("16", "memory://16"), Service(scores, 1), Quick(600 * SCALE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        work = crew_of(study, service, timeout=0.25, workers=16, retries=4, pace=pace)
        gc.collect()
    assert work.finished
    assert work.failed == service.failed + service.hung > 5
    assert service.hung > 0
    assert service.most <= 16
    # Never more than 600 in a minute, whichever minute it is.
    begun = np.array(pace.begun)
    counts = [((begun >= t) & (begun < t + 60.0 / SCALE)).sum() for t in begun]
    assert max(counts) <= 600
    assert np.diff(begun).min() >= 60.0 / SCALE / 600
    # No cell was lost or told twice, and the answer is that of a single worker.
    assert work.told == len(service.answered) == len(study.rewards().values)
    assert study.answer.label == single.label
    assert single.samples <= study.answer.samples <= 1.3 * single.samples  # some are asked ahead
    assert cells(single) <= cells(study.answer)
    blocks = [one.certificate()["evidence"]["blocks"] for one in (study.answer, single)]
    assert blocks[0] == blocks[1]  # decided alike, block by block
    assert threading.active_count() < 40
