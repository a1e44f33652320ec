"""Studies on a finite set of items: shared by workers, no cell twice, changed on the way."""

import heapq
import json

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.items import for_options
from surepick.errors import InvalidInputError
from surepick.study.desk import rebuild

N = 60
LABELS = [f"o{i}" for i in range(6)]


def scores(seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((6, N)) < np.linspace(0.3, 0.8, 6)[:, None]).astype(float)


def begin(storage, name, labels=LABELS, **settings):
    problem = sp.Problem.unstructured(labels, noise="yes-no")
    settings = {"delta": 0.1, "complete": N, "seed": 4} | settings
    return sp.create_study(name, problem, storage=storage, **settings)


def work(study, table, most=None):
    """Three workers by turns, until the study ends, or so many cells were told; each cell once."""
    told = study.__dict__.setdefault("cells", {})
    first = len(told)
    while not study.finished and (most is None or len(told) < first + most):
        for worker in ("ann", "bob", "eve"):
            for pull in study.ask(2, worker=worker):
                cell = (pull.label, pull.item)
                assert cell not in told
                told[cell] = pull.id
                study.tell(pull.id, table[LABELS.index(pull.label), pull.item])
    return study


def checked(study):
    """Its certificate holds, and so does its log."""
    found = sp.verify(json.loads(json.dumps(study.answer.certificate())), replay=True)
    run, _ = study.desk.storage.read(lambda tx: rebuild.replay(tx, study.desk.record))
    assert run.answer.samples == study.answer.samples
    assert run.answer.labels == study.answer.labels
    return found


def test_workers_share_one_order_and_no_cell_is_asked_twice(shared_url):
    table = scores()
    study = work(begin(shared_url, "shared"), table)
    alone = sp.identify(
        sp.Problem.unstructured(LABELS, noise="yes-no"),
        lambda arm, item: table[arm, item],
        algorithm=sp.algorithms.PooledPeleg(0.1, complete=N),
        seed=4,
    )
    answer = study.answer
    assert (answer.label, answer.samples) == (alone.label, alone.samples)
    assert answer.label == LABELS[int(table.sum(axis=1).argmax())]
    assert "On new items like these" in answer.plain
    assert f"“Best” means best on these {N} items" in answer.plain
    assert checked(study).replayed


def test_studies_of_one_size_have_orders_of_their_own_which_are_kept(drawn_orders):
    seeds = []
    for name in ("one", "two"):
        study = begin("memory://orders", name, seed=None)
        first = study.ask(1)[0].item
        record = study.desk.record
        seeds.append((record.seed, rebuild.order_seed(record), first))
        own = for_options(record.seed, study.problem)  # for these options and no others
        assert rebuild.order_seed(record) == own
    assert seeds[0][:2] != seeds[1][:2]
    for name in ("drawn", "drawn too"):  # with replacement, too
        problem = sp.Problem.unstructured(LABELS, noise="yes-no")
        study = sp.create_study(name, problem, items=N, storage="memory://orders")
        seeds.append(study.desk.record.seed)
    assert seeds[2] != seeds[3]


@pytest.mark.validation
def test_options_come_and_go(shared_url):
    table = scores(2)
    study = work(begin(shared_url, "living", LABELS[:4]), table, most=40)
    study.add(LABELS[4:], reason="two more")
    work(study, table, most=60)
    leader = study.standing().leader
    study.retire(leader, reason="sold out")
    work(study, table)
    answer, gone = study.answer, LABELS.index(leader)
    left = [i for i in range(6) if i != gone]
    assert answer.label == LABELS[left[int(table[left].sum(axis=1).argmax())]]
    assert len(answer.certificate()["evidence"]["orders"]) == 2
    assert checked(study).replayed


def test_a_score_is_corrected_after_it_was_counted():
    table = scores(1)
    study = work(begin("memory://corrected", "corrected"), table, most=150)
    best = int(table.sum(axis=1).argmax())
    (_, item), pull = next((c, p) for c, p in study.cells.items() if c[0] == LABELS[best])
    table[best, item] = 1.0 - table[best, item]
    study.correct(pull, float(table[best, item]), reason="a typing error")
    work(study, table)
    totals = table.sum(axis=1)
    assert totals[study.answer.arm] == totals.max()
    assert "looked at again" in study.answer.guarantee
    assert checked(study).guarantee == "pac"


def test_who_was_ruled_out_by_a_wrong_score_is_caught_up():
    table = scores(3)
    best = int(table.sum(axis=1).argmax())
    wrong = table.copy()
    wrong[best] = 0.0
    study = begin("memory://restored", "restored")
    while LABELS[best] in [o for o, s in zip(LABELS, study.standing()["state"]) if s != "out"]:
        work(study, wrong, most=6)
    work(study, wrong, most=30)
    for (label, item), pull in list(study.cells.items()):
        if label == LABELS[best] and table[best, item]:
            study.correct(pull, 1.0, reason="read from the wrong column")
    work(study, table)
    assert study.answer.arm == best
    assert checked(study).guarantee == "pac"


def test_a_score_that_was_counted_cannot_be_withdrawn():
    study = work(begin("memory://kept", "kept"), scores(), most=60)
    with pytest.raises(InvalidInputError, match="correct it"):
        study.withdraw(next(iter(study.cells.values())), reason="never mind")


def test_one_that_was_not_is_measured_again():
    study = begin("memory://again", "again")
    (pull,) = study.ask(1, worker="ann")
    study.tell(pull.id, 1.0)
    study.withdraw(pull.id, reason="never mind")
    assert pull.id in [one.id for one in study.ask(6, worker="bob")]


def crowd(study, table, workers, seed):
    """Measure with so many workers, some slow; the share of the time in which they do."""
    rng, now, busy = np.random.default_rng(seed), 0.0, 0.0
    queue, idle, told = [], list(range(workers)), set()
    while not study.finished:
        waiting = []
        for worker in idle:
            pulls = study.ask(1, worker=f"w{worker}")
            if not pulls:
                waiting.append(worker)
                continue
            cell = (pulls[0].arm, pulls[0].item)
            assert cell not in told
            told.add(cell)
            takes = rng.exponential()
            busy += takes
            heapq.heappush(queue, (now + takes, worker, pulls[0]))
        now, worker, pull = heapq.heappop(queue)
        idle = [*waiting, worker]
        study.tell(pull.id, table[pull.arm, pull.item])
    return busy / (workers * now)


@pytest.mark.validation
def test_a_crowd_of_workers_keeps_busy():
    rng = np.random.default_rng(1)
    table = (rng.random((6, N)) < np.linspace(0.5, 0.65, 6)[:, None]).astype(float)
    busy, cells = {}, {}
    for overlap in (None, False):
        study = begin("memory://crowd", f"overlap {overlap}", overlap=overlap)
        busy[overlap] = crowd(study, table, 16, seed=2)
        cells[overlap] = study.answer.samples
        assert study.answer.label == LABELS[int(table.sum(axis=1).argmax())]
        assert checked(study).replayed
    assert busy[None] > 0.6 > 2 * busy[False]
    assert cells[None] < 1.2 * cells[False]
