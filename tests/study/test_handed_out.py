"""The order in which a study hands out its pulls: drawn, kept, and checked again."""

import json
from dataclasses import replace

import numpy as np
import pytest

import surepick as sp
from surepick.errors import StudyDamagedError
from surepick.storage.records import Tell
from surepick.study.desk.opened import check_handed_out

PROBLEM = sp.Problem.unstructured(["a", "b", "c", "d"], noise="symmetric")


def arms(study, n=8):
    return [pull.arm for pull in study.ask(n, worker="me")]


def work(study, batches):
    while not study.finished and study.progress().batch < batches:
        study.tell_many({pull.id: 0.1 * (pull.id % 7) for pull in study.ask(50)})


def test_every_study_draws_its_own_order(drawn_orders):
    studies = [sp.create_study(f"s{i}", PROBLEM, storage="memory://own order") for i in range(12)]
    assert len({tuple(arms(study)) for study in studies}) > 6
    seeds = {study.definition()["order_seed"] for study in studies}
    assert len(seeds) == 12
    assert "order_seed" not in studies[0].meta


def test_everybody_sees_the_same_order_and_so_does_a_run(storage_url):
    study = sp.create_study("one", PROBLEM, storage=storage_url, seed=21)
    other = sp.load_study("one", storage_url)
    seen = [(pull.id, pull.arm) for one in (study, other, study) for pull in one.ask(2)]
    run = study.algorithm.start(PROBLEM, seed=21)
    assert [arm for _, arm in sorted(seen)] == run.ask().arms[:6].tolist()
    assert study.current_run.ask().arms.tolist() == run.ask().arms.tolist()


def test_the_certificate_of_a_study_has_its_order():
    study = sp.create_study("c", PROBLEM, storage="memory://certified", seed=4, max_samples=40)
    work(study, 99)
    certificate = study.answer.certificate()
    assert certificate["order"] == {"rule": "shuffled", "seed": 4}
    assert sp.verify(certificate, replay=True)


def test_an_order_that_was_not_kept_is_found(storage_url):
    study = sp.create_study("kept", PROBLEM, storage=storage_url)
    work(study, 3)
    record = study.desk.record
    assert check_handed_out(study.storage, record)

    def swap(tx):
        tells = tx.tells(record.id, range(8))
        first = tells[0]
        other = next(one for one in tells.values() if one.arm != first.arm)
        tx.drop(record.id, Tell, [first.pull, other.pull])
        tx.add(record.id, replace(first, arm=other.arm), replace(other, arm=first.arm))

    study.storage.write(swap)
    with pytest.raises(
        StudyDamagedError,
        match=r"measurement 0 was handed out for option \d, but the recorded order of bat",
    ):
        check_handed_out(study.storage, record)


def test_another_seed_is_found():
    study = sp.create_study("seeded", PROBLEM, storage="memory://seeded")
    work(study, 3)
    meta = json.loads(study.desk.record.meta)
    other = replace(study.desk.record, meta=json.dumps(meta | {"order_seed": 99}))
    with pytest.raises(StudyDamagedError, match="the recorded order of batch 0"):
        check_handed_out(study.storage, other)


def test_rewards_reach_the_parts_that_their_pulls_were_dealt_to(storage_url):
    """A study and a run with its seed, told the same by places, have the same sums by parts."""
    study = sp.create_study("parts", PROBLEM, storage=storage_url, max_samples=60)
    draws, first = np.random.default_rng(0).normal(size=60), 0
    run = study.algorithm.start(PROBLEM, study.definition()["order_seed"])
    while not study.finished:
        study.tell_many({pull.id: float(draws[pull.id]) for pull in study.ask(60)})
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, draws[first : first + len(batch)])
        first += len(batch)
    assert run.answer.certificate()["batches"] == study.answer.certificate()["batches"]
