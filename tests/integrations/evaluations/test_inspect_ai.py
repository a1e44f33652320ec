"""Our side of Inspect's early stopping; ``benchmarks.evaluation_tools`` runs Inspect itself.

A few lines stand in for Inspect: tasks at the same time, so many samples of each at a time, in the
order of the dataset.
"""

import asyncio
import json
import sys
import types
from dataclasses import dataclass

import numpy as np
import pytest

from surepick.errors import InvalidInputError, RunStateError
from surepick.integrations.evaluations import InspectRace, ScoreTable, decide, inspect_ai
from surepick.integrations.evaluations.scores import Begun

NAMES = ["plain", "steps", "role"]
N = 60
RIGHT = np.random.default_rng(1).random((3, N)) < [[0.4], [0.9], [0.5]]


@dataclass
class Sample:
    id: object = None


@dataclass
class EarlyStop:
    id: object
    epoch: int
    reason: str


@dataclass
class Score:
    value: object


@pytest.fixture(autouse=True)
def inspect(monkeypatch):
    """The parts of Inspect that are used; returns the hooks that were registered."""
    registered = []
    util, hooks = types.ModuleType("inspect_ai.util"), types.ModuleType("inspect_ai.hooks")
    util.EarlyStop, hooks.Hooks = EarlyStop, object
    hooks.hooks = lambda name, description: lambda made: registered.append(made()) or made
    for name, module in (("util", util), ("hooks", hooks)):
        monkeypatch.setitem(sys.modules, f"inspect_ai.{name}", module)
    monkeypatch.setitem(sys.modules, "inspect_ai", types.ModuleType("inspect_ai"))
    monkeypatch.setattr(inspect_ai, "_watched", [])
    monkeypatch.setattr(inspect_ai, "_LOOK_EVERY", 0.0)
    return registered


async def evaluate(race, arm, hooks, asked, at_once=3, stumbles=(), dies=False, model="m"):
    """One task, as Inspect goes about it."""
    manager, name = race.option(race.options[arm]), race.options[arm]
    eval_id = f"eval {arm}"
    spec = types.SimpleNamespace(eval_id=eval_id, model=model)
    assert await manager.start_task(spec, samples=race.samples, epochs=1) == "surepick"
    slots = asyncio.Semaphore(at_once)
    stops = []

    async def run(sample):
        async with slots:
            stop = await manager.schedule_sample(sample.id, 1)
            if stop is not None:
                stops.append(stop)
                return
            asked.append((name, sample.id))
            await asyncio.sleep(0)
            if dies and len([one for one in asked if one[0] == name]) > 4:
                raise ConnectionError("the task has ended")
            if sample.id in stumbles:
                error = types.SimpleNamespace(message="no pencil")
                ended = types.SimpleNamespace(id=sample.id, error=error, scores=None)
                data = types.SimpleNamespace(eval_id=eval_id, sample=ended)
                await hooks[0].on_sample_end(data)
                return
            grade = "C" if RIGHT[arm, sample.id - 1] else "I"
            await manager.complete_sample(sample.id, 1, {"match": Score(grade)})

    try:
        await asyncio.gather(*(run(sample) for sample in race.samples))
        said = await manager.complete_task()
    except ConnectionError:
        said = {}
    await hooks[0].on_task_end(types.SimpleNamespace(eval_id=eval_id))
    return stops, said


def raced(hooks, race=None, **how):
    race = race or InspectRace(NAMES, [Sample() for _ in range(N)], seed=2)
    asked = []

    async def all_at_once():
        tasks = (evaluate(race, arm, hooks, asked, **how.get(NAMES[arm], {})) for arm in range(3))
        return await asyncio.wait_for(asyncio.gather(*tasks), 30)

    return race, asked, asyncio.run(all_at_once())


def test_only_samples_that_decide_run_and_the_answer_is_that_of_decide(inspect):
    race, asked, tasks = raced(inspect)
    found = race.decision
    truth = ScoreTable(NAMES, [str(i + 1) for i in range(N)], RIGHT.astype(float))
    empty = ScoreTable(NAMES, truth.items)
    same_order = Begun(found.table.begun.seed, None, (), (), empty.digest, "exam")
    alone = decide(ScoreTable(NAMES, truth.items, begun=same_order), truth.of, measure="exam")
    assert (found.option, found.how) == ("steps", "proven")
    assert found.evaluations == alone.evaluations == len(asked) == len(set(asked)) < 3 * N
    np.testing.assert_array_equal(found.table.scores, alone.table.scores)
    stops = [stop for one, _ in tasks for stop in one]
    assert len(stops) + len(asked) == 3 * N
    assert {stop.reason for stop in stops} <= {
        "surepick: all is decided",
        "surepick: this option is ruled out",
    }
    assert tasks[1][1] == {
        "option": "steps",
        "left_out": len(tasks[1][0]),
        "still_in": True,
        "decided": True,
    }


def test_with_other_options_a_seed_comes_to_another_order(drawn_orders):
    def order(names, **how):
        race = InspectRace(names, [Sample() for _ in range(N)], **how)
        return [sample.id for sample in race.samples]

    assert order(NAMES, seed=2) == order(NAMES, seed=2) != order([*NAMES, "new"], seed=2)
    assert order(NAMES) != order(NAMES)


def test_it_does_not_hang_with_one_sample_at_a_time(inspect):
    one = {"at_once": 1}
    race, _, _ = raced(inspect, plain=one, steps=one, role=one)
    assert race.decision.option == "steps"


def test_a_sample_that_ends_in_an_error_counts_as_the_worst_score(inspect):
    race = InspectRace(NAMES, [Sample() for _ in range(N)], seed=2)
    bad = race.samples[1].id
    raced(inspect, race, steps={"stumbles": (bad,)})
    found = race.decision
    assert found.option == "steps"
    assert found.failed == (("steps", str(bad), "no pencil"),)
    assert "1 cell could not be measured" in str(found)


def test_a_task_that_dies_keeps_nobody_waiting(inspect):
    race, _, _ = raced(inspect, plain={"dies": True})
    assert race.decision.how == "undecided"
    assert not race.decision


def test_tasks_that_run_one_after_the_other_are_noticed(inspect):
    clock = iter(range(0, 10_000, 10))
    race = InspectRace(NAMES, [Sample() for _ in range(N)], clock=lambda: next(clock))
    with pytest.raises(
        RunStateError, match=r"steps, role: these tasks have not begun.*max_tasks=3"
    ):
        asyncio.run(evaluate(race, 0, inspect, []))


def test_what_makes_no_sense_is_refused(inspect):
    race = InspectRace(NAMES, [Sample(), Sample()])
    assert sorted(one.id for one in race.samples) == [1, 2]
    with pytest.raises(InvalidInputError, match="there is no 'no'"):
        race.option("no")
    with pytest.raises(InvalidInputError, match="same id"):
        InspectRace(NAMES, [Sample("a"), Sample("a")])
    with pytest.raises(RunStateError, match="nothing was evaluated"):
        _ = race.decision
    spec = types.SimpleNamespace(eval_id="x")
    with pytest.raises(InvalidInputError, match="epochs must be 1"):
        asyncio.run(race.option("role").start_task(spec, race.samples, 2))
    with pytest.raises(InvalidInputError, match="'z' is not one of the race's samples"):
        asyncio.run(race.option("role").start_task(spec, [Sample("z")], 1))


def test_scores_of_several_scorers_need_a_name():
    two = {"match": Score("C"), "grade": Score(0.25)}
    assert inspect_ai._value(two, "grade") == 0.25
    assert inspect_ai._value({"match": Score("P")}, None) == 0.5
    with pytest.raises(ValueError, match="scorer: name one of match, grade"):
        inspect_ai._value(two, None)


# -- going on --------------------------------------------------------------------------------
def begun(cache, names=NAMES, **how):
    return InspectRace(names, [Sample(i + 1) for i in range(N)], seed=2, cache=cache, **how)


def test_a_race_that_was_cut_off_goes_on(inspect, tmp_path):
    cache = tmp_path / "race.jsonl"
    race, *_ = raced(inspect, begun(cache), steps={"dies": True}, plain={"stumbles": [3]})
    cut = race.decision
    assert not cut
    lines = [json.loads(line) for line in cache.read_text().splitlines()]
    kept = [line for line in lines if "score" in line]
    assert len(kept) + len(cut.failed) == cut.evaluations > 10
    again, more, _ = raced(inspect, begun(cache), plain={"stumbles": [3]})
    found = again.decision
    assert [sample.id for sample in again.samples] == [sample.id for sample in race.samples]
    known = {(line["option"], int(line["item"])) for line in kept}
    assert set(more).isdisjoint(known | {(a, int(b)) for a, b, _ in cut.failed})
    assert (found.option, found.earlier) == ("steps", len(known) + len(cut.failed))
    whole, _, _ = raced(inspect, begun(None), plain={"stumbles": [3]})
    np.testing.assert_array_equal(found.table.scores, whole.decision.table.scores)
    once, none, _ = raced(inspect, begun(cache), plain={"stumbles": [3]})
    assert (none, once.decision.option) == ([], "steps")
    # Of other options, what is known of them; of other samples, nothing.
    other = begun(cache, NAMES[:2])
    assert other._filling.earlier
    assert [sample.id for sample in other.samples] != [sample.id for sample in race.samples]
    texts = [types.SimpleNamespace(id=i + 1, input="new") for i in range(N)]
    assert not InspectRace(NAMES, texts, cache=cache)._filling.earlier
    assert not begun(cache, measure="scorer 2")._filling.earlier


def test_another_task_under_the_same_name_is_refused(inspect, tmp_path):
    cache = tmp_path / "race.jsonl"
    race, *_ = raced(inspect, begun(cache))
    assert race.decision
    with pytest.raises(InvalidInputError, match=r"'steps' was another task .* another name"):
        raced(inspect, begun(cache), steps={"model": "another"})
