"""Cells of a complete table that are asked again."""

import itertools
import math

import numpy as np
import pytest

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.storage.memory import MemoryStorage
from surepick.study.canaries import LEVEL, Canary, Found, gathered, log_capital, noticed, planned
from surepick.study.desk import rebuild

ITEMS = 150
TABLE = (np.random.default_rng(0).random((3, ITEMS)) < [[0.55], [0.6], [0.62]]).astype(float)


def study_of(share=0.2, **more):
    problem = sp.Problem.unstructured(list("abc"), noise="yes-no")
    how = {"complete": ITEMS, "seed": 1, "canaries": share, "storage": MemoryStorage()} | more
    return sp.create_study("models", problem, **how)


def measured_by(*tables, at=()):
    calls = itertools.count()

    def measure(task):
        number = next(calls)
        return tables[sum(number >= one for one in at)][task.arm, task.item]

    return measure


def test_where_nothing_changes_fair_coins_decide_and_capital_is_expected_to_be_one():
    for n in (1, 5, 12):
        total = sum(math.comb(n, s) * math.exp(log_capital(s, n - s)) for s in range(n + 1))
        assert total / 2**n == pytest.approx(1.0)
    assert log_capital(6, 0) < -math.log(LEVEL) <= log_capital(7, 0)


@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.5), (0.03, 0.5, 0.97), (0.1, 0.2, 0.9)])
def test_a_grader_that_disagrees_with_itself_comes_back_as_often_as_it_stays(rates):
    stayed = back = 0.0
    for rate in rates:  # of cells, each with its own
        for scores in itertools.product((0.0, 1.0), repeat=3):
            chance = math.prod(rate if one else 1 - rate for one in scores)
            way = Canary(0, scores).stayed if scores[1] != scores[0] else None
            stayed += chance * (way is True)
            back += chance * (way is False)
    assert stayed == pytest.approx(back)


def test_cells_that_are_asked_again_are_of_the_older_half_and_drawn_from_the_seed():
    found = planned(0.1, 7, 1_000)
    assert found == planned(0.1, 7, 2_000)[:100]
    assert found != planned(0.1, 8, 1_000)
    assert all(cell < (k / 0.1) / 2 for k, cell in enumerate(found, 1))
    assert max(found) > 300
    assert len(set(found)) == len(found)


def test_an_answer_of_a_model_that_was_updated_has_no_guarantee():
    updated = np.where(np.random.default_rng(1).random(TABLE.shape) < 0.5, 1 - TABLE, TABLE)
    with study_of() as study:
        answer = study.run(measured_by(TABLE, updated, at=[ITEMS]))
        assert not answer.guarantee
        assert "scores changed while they were measured" in str(answer.guarantee)
        found = study.checks()
        assert found.changed
        assert "coming back would be as likely" in found.changed.message
        assert sp.study.checks.checks.Checks.from_dict(found.to_dict()) == found
        assert study.acts("ask-again")[0].said.startswith("Measurement ")


def test_where_nothing_changes_it_says_what_it_could_have_noticed():
    with study_of() as study:
        answer = study.run(measured_by(TABLE), workers=3)
        assert answer.guarantee
        assert sp.verify(answer.certificate(), replay=True)
        share = len(study.acts("ask-again")) / len(study.rewards().pulls)
        assert 0.15 < share <= 0.2
        said = study.status()["checks"]["remarks"][-1]
        assert "0 of them (0 %) gave another score" in said
        assert "would be noticed with hardly any probability" in said
        again, _ = study.storage.read(lambda tx: rebuild.replay(tx, study._record))
        assert again.answer.arm == answer.arm


def test_only_the_cell_that_is_due_is_taken_and_a_third_time_where_it_differs():
    with study_of(0.1) as study:
        assert study.canary() is None
        while study.canary() is None:
            study.tell_many({one.id: TABLE[one.arm, one.item] for one in study.ask(10)})
        task = study.canary()
        with pytest.raises(InvalidInputError, match=f"next one is measurement {task.pull}"):
            study.act("ask-again", pull=task.pull + 1, score=1.0)
        before = study.rewards().values.tolist()
        study.act("ask-again", pull=task.pull, score=1.0 - TABLE[task.arm, task.item])
        assert study.canary() == task
        study.act("ask-again", pull=task.pull, score=TABLE[task.arm, task.item])
        assert study.canary() != task
        assert study.rewards().values.tolist() == before
        assert "1 of them (100 %) gave another score" in study.status()["checks"]["remarks"][-1]


def test_what_a_number_of_them_can_notice_is_said_and_what_they_found():
    assert noticed(0) == 0.0
    assert noticed(20) < 1e-4 < noticed(300) < 0.1 < noticed(1_050)
    assert Found.of([]) is None
    made = gathered({3: 1.0}, [(3, 0.0), (3, 0.0), (9, 1.0)])
    assert made == [Canary(3, (1.0, 0.0, 0.0))]


@pytest.mark.parametrize("share", [-0.1, 0.6, "much", True, float("nan")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InvalidInputError, match="canaries"):
        study_of(share)


def test_where_there_are_no_cells_it_is_refused():
    problem = sp.Problem.unstructured(list("abc"), noise="yes-no")
    with pytest.raises(InvalidInputError, match="complete table"):
        sp.create_study("x", problem, storage="memory://", canaries=0.1)
