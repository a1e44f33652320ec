"""Honest certificates of everything that pooled bets prove, small ones."""

import json

import numpy as np
from tests.study.traffic import site

import surepick as sp
from surepick.storage.memory import MemoryStorage

K = 5
FEATURES = np.column_stack([np.ones(K), np.linspace(-1.0, 1.0, K)])
MEANS = FEATURES @ [0.0, 0.8]


def on_days(misfit):
    """A run with two days in every batch, one of them two higher."""
    rng = np.random.default_rng(0)
    problem = sp.Problem(FEATURES, noise="equal", misfit=misfit)
    run = sp.algorithms.PooledPeleg(0.2).start(problem)
    while not run.stopped:
        batch = run.ask()
        days = rng.permutation(np.arange(len(batch)) % 2)
        rewards = MEANS[batch.arms] + 2.0 * days + 0.1 * rng.normal(size=len(batch))
        run.tell(batch, rewards, strata=[f"day {day}" for day in days])
    return run


def distrusted(noise, misfit):
    """A run that trusts features no further than this."""
    rng = np.random.default_rng(0)
    run = sp.algorithms.PooledPeleg(0.2).start(sp.Problem(FEATURES, noise=noise, misfit=misfit))
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, MEANS[batch.arms] + 0.2 * rng.normal(size=len(batch)))
    return run


def on_items():
    """A run on twenty items, some far harder than others."""
    rng = np.random.default_rng(0)
    hard, skill = rng.normal(size=20), np.linspace(0.0, 1.5, 4)
    answers = (skill[:, None] > hard + 0.3 * rng.normal(size=(4, 20))).astype(float)
    problem = sp.Problem(np.eye(4), noise="yes-no")
    run = sp.algorithms.PooledPeleg(0.2, items=20).start(problem, 1)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, answers[batch.arms, batch.items])
    return run


def on_a_table(noise="yes-no", delta=0.2, items=14, living=False, **settings):
    """A run on a table that could be filled in, with some batches asked for ahead."""
    rng = np.random.default_rng(1)
    answers = (rng.random((5, items)) < np.array([0.2, 0.43, 0.67, 0.9, 0.8])[:, None]).astype(
        float
    )
    problem = sp.Problem.unstructured(["a", "b", "c", "d"], noise=noise)
    run = sp.algorithms.PooledPeleg(delta, complete=items, **settings).start(problem, 1)
    while not run.stopped:
        batch = run.ask()
        if batch.number % 3 == 0 and not living and settings.get("claims") != "fdr":
            run.ask_ahead()
        run.tell(batch, answers[batch.arms, batch.items])
        if living and run.batches == 3:
            run.add(np.eye(5)[4:], ["e"], reason="new")
        if living and run.batches == 5:
            run.retire("b", reason="broken")
    return run


def compared(control, **question):
    """Claims against a baseline, or a number."""
    rng = np.random.default_rng(2)
    means = [0.5, 1.3, -0.4, 0.55, 1.0]
    problem = sp.Problem(np.eye(5), noise=0.4, labels=["now", "b", "c", "d", "e"])
    run = sp.algorithms.PooledPeleg(0.05, claims=control, max_samples=300, **question).start(
        problem
    )
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, [means[arm] + 0.4 * rng.normal() for arm in batch.arms])
    return json.loads(json.dumps(run.answer.certificate()))


def several(epsilon):
    """The three best of six."""
    rng = np.random.default_rng(2)
    means = np.array([0.4, 1.3, -0.4, 0.9, 1.0, 0.5])
    run = sp.algorithms.PooledPeleg(0.05, top=3, epsilon=epsilon).start(
        sp.Problem(np.eye(6), noise=0.4)
    )
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, means[batch.arms] + 0.4 * rng.normal(size=batch.size))
    return run


def of_any_kind(digits=6, minimise=False, **asked):
    """Amounts that are far from normal, some of them alike; what is asked of them."""
    rng = np.random.default_rng(4)
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="any").with_direction(minimise)
    run = sp.algorithms.PooledPeleg(0.2, **asked).start(problem, 1)
    while not run.stopped:
        batch = run.ask()
        amounts = np.exp(rng.normal(size=batch.size) + np.array([0.0, 0.3, 2.0])[batch.arms])
        run.tell(batch, np.round(1.0 / amounts if minimise else amounts, digits))
    return run


def of_any_kind_on_items():
    """The same on twenty items."""
    rng = np.random.default_rng(4)
    table = np.exp(rng.normal(size=20) + rng.normal(size=(3, 20)) + [[0.0], [0.0], [2.5]])
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="any")
    run = sp.algorithms.PooledPeleg(0.2, items=20).start(problem, 1)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, table[batch.arms, batch.items])
    return run


def judged(cycle=False, living=False, **asked):
    """Options compared two at a time: some in a cycle, or some that come and go."""
    rng = np.random.default_rng(4)
    strengths = np.array([0.0, 1.5, -1.0, 2.5])
    wins = 1 / (1 + np.exp(strengths - strengths[:, None]))
    if cycle:
        for one, other in ((0, 1), (1, 2), (2, 0)):
            wins[one, other], wins[other, one] = 0.9, 0.1
    run = sp.algorithms.Pairs(0.2, **asked).start(sp.Problem.pairs(["a", "b", "c"]), 1)
    while not run.stopped:
        batch, pairing = run.ask(), run.problem.pairing
        chance = wins[pairing.firsts(batch.arms), pairing.seconds(batch.arms)]
        said = (rng.random(batch.size) < chance).astype(float)
        run.tell(batch, np.where(rng.random(batch.size) < 0.1, 0.5, said))
        if living and run.batches == 2:
            run.add(None, ["d"], reason="new")
        if living and run.batches == 4:
            run.retire("b", reason="broken")
    return run


def keeping(noise="yes-no", number=(0, 1), keep=("cost <= 0.5",), living=False, **asked):
    """The best of those that keep limits, or others that do; perhaps they come and go."""
    rng = np.random.default_rng(5)
    costs, numbers = [1.0, 2.0, 3.0] if "cheapest" in asked else None, {"cost": number}
    problem = sp.Problem.unstructured(["a", "b", "c"], noise=noise, numbers=numbers, costs=costs)
    run = sp.algorithms.PooledPeleg(0.2, keep=keep, **asked).start(problem, 1)
    rates, means = np.array([0.2, 0.6, 0.9, 0.8]), np.array([0.2, 0.3, 0.8, 0.3])
    while not run.stopped and run.samples < 2_000:
        batch = run.ask()
        y = (rng.random(len(batch)) < rates[batch.arms]).astype(float)
        if isinstance(noise, float):
            y = rates[batch.arms] + noise * rng.standard_normal(len(batch))
        elif noise != "yes-no":
            y += rng.standard_normal(len(batch))
        cost = means[batch.arms] + 0.1 * rng.standard_normal(len(batch))
        run.tell(batch, y, numbers={"cost": np.clip(cost, 0.0, 1.0)})
        if living and run.batches == 2:
            run.add(np.eye(4)[3:], ["d"], reason="new")
        if living and run.batches == 3:
            run.retire("b", reason="sold out")
    return run


def corrected():
    """A study with a typo that was corrected after its batch was complete."""
    rng = np.random.default_rng(0)
    problem = sp.Problem(FEATURES, noise=1.0)
    study = sp.create_study("typo", problem, storage=MemoryStorage(), delta=0.1)
    typo = study.ask()[0]
    study.tell(typo.id, MEANS[typo.arm] + 0.1)
    while not study.finished:
        pulls = study.ask(5)
        study.tell_many([(p.id, MEANS[p.arm] + rng.normal()) for p in pulls])
        if study.progress().batch == 2 and not study.corrections():
            study.correct(typo.id, MEANS[typo.arm] - 0.1, reason="misread")
    assert study.corrections()
    return study


def without_a_plate():
    """A study with a plate that was measured, and then set aside."""
    rng = np.random.default_rng(1)
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="yes-no")
    how = {"strata": "plate", "seed": 3, "delta": 0.2}
    study = sp.create_study("plates", problem, storage=MemoryStorage(), **how)
    turn = 0
    while pulls := study.ask(12, stratum=f"plate {turn % 4}" if turn < 4 else "plate 4"):
        study.tell_many([(p.id, float(rng.random() < (0.2, 0.5, 0.9)[p.arm])) for p in pulls])
        turn += 1
        if turn == 4:
            study.set_aside(stratum="plate 1", reason="it leaked", by="ann")
    assert study.answer.guarantee
    return study


def with_a_cell_that_failed():
    """A study of a table of which a cell could not be measured."""
    rng = np.random.default_rng(2)
    answers = rng.random((3, 14)) < np.array([0.2, 0.5, 0.95])[:, None]
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="yes-no")
    how = {"complete": 14, "seed": 3, "delta": 0.2}
    study = sp.create_study("cells", problem, storage=MemoryStorage(), **how)
    while pulls := study.ask(4):
        for p in pulls:
            if p.id == 1:
                study.fail(p.id, "no answer", final=True)
            else:
                study.tell(p.id, float(answers[p.arm, p.item]))
    assert study.answer.unmeasured
    return study


def accepted(items=None, **more):
    """A run on the way of which somebody said what is close enough; of pulls, or of a table."""
    rng, means = np.random.default_rng(0), np.array([0.0, 0.8, 0.82, 0.3])
    table = None if items is None else (rng.random((4, items)) < [[0.3], [0.5], [0.6], [0.6]])
    noise = 1.0 if table is None else "yes-no"
    problem = sp.Problem.unstructured(list("abcd"), noise=noise)
    run = sp.algorithms.PooledPeleg(0.2, complete=items, **more).start(problem, 1)
    while not run.stopped:
        if not run.accepted and not run.waiting and run.samples >= 60:
            run.accept(0.3 if table is None else 0.08, reason="alike", by="ann")
        batch = run.ask()
        noisy = means[batch.arms] + rng.normal(size=batch.size)
        run.tell(batch, noisy if table is None else table[batch.arms, batch.items].astype(float))
    assert run.accepted
    return run


def visited(wrong=False):
    """A site's study of traffic, perhaps with a report that was corrected."""
    study = site.create(delta=0.2)
    site.day(study, 0, n=400)
    if wrong:
        right = dict.fromkeys(site.LABELS, (100, 5))
        study.correct_report("day 0", right, reason="of another test")
    site.decide(study, first=1, n=400)
    return study


def of_study(study):
    return json.loads(json.dumps(study.answer.certificate()))
