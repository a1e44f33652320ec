"""A crowd whose confirmations get lost: what was committed is done again, and counts once."""

import pytest
from tests.study import toy

import surepick as sp
from surepick.storage.memory import MemoryStorage
from surepick.study.desk.crowd import Ask, Crowd
from surepick.study.pulls import Reward


class Forgetful(MemoryStorage):
    """Commits, loses the confirmation, and does everything once more."""

    lost = 0  # confirmations still to be lost

    def write(self, work):
        while self.lost:
            self.lost -= 1
            super().write(work)
        return super().write(work)


@pytest.fixture
def storage():
    return Forgetful()


@pytest.fixture
def study(storage):
    return sp.create_study("s", toy.problem(3), toy.Toy(0.1, each=2), storage)


@pytest.fixture
def crowd(study):
    return Crowd(study.desk)


@pytest.mark.parametrize("times", [1, 2])
def test_pulls_are_handed_out_once(study, crowd, storage, times):
    storage.lost = times
    given = crowd.ask([Ask(2), Ask(1, "w"), Ask(1)])
    pulls = [pull.id for one in given for pull in one.pulls]
    assert [len(one.pulls) for one in given] == [2, 1, 1]
    assert len(set(pulls)) == 4
    assert study.progress().asked == 4  # none is lost with somebody who never heard of it
    rest = crowd.ask([Ask(10)])[0]
    assert sorted(pulls + [pull.id for pull in rest.pulls]) == list(range(6))


@pytest.mark.parametrize("times", [1, 2])
def test_rewards_count_once(study, crowd, storage, times):
    pulls = [pull for one in crowd.ask([Ask(2, "a"), Ask(2, "b")]) for pull in one.pulls]
    storage.lost = times
    told = crowd.tell(
        [
            [Reward(pull.id, toy.reward(pull), "a") for pull in pulls[:2]],
            [Reward(pull.id, toy.reward(pull), "b") for pull in pulls[2:]],
        ]
    )
    assert [[one.value for one in part] for part in told] == [
        [toy.reward(pull) for pull in part] for part in (pulls[:2], pulls[2:])
    ]
    assert {one.status for part in told for one in part} <= {"accepted", "duplicate"}
    assert study.progress().told == 4
    assert study.rewards().values.tolist() == [toy.reward(pull) for pull in pulls]


@pytest.mark.parametrize("worker", [None, "w"])
def test_a_study_goes_on_after_every_loss(study, crowd, storage, worker):
    """Also where the last reward of a batch was told and nobody heard that it was the last."""
    for _ in range(20):
        storage.lost = 1
        pulls = crowd.ask([Ask(3, worker)])[0].pulls
        storage.lost = 1
        crowd.tell([[Reward(pull.id, toy.reward(pull), worker) for pull in pulls]])
        if study.finished:
            break
    found, alone = study.answer.to_dict(), toy.alone().answer.to_dict()
    found.pop("guarantee"), alone.pop("guarantee")  # a named worker who asks again is an event
    assert found == alone
    toy.check_whole(study)


@pytest.mark.parametrize("told", [0, 1])
def test_nobody_has_come_back_where_a_batch_is_planned_for_somebody_else(told):
    """Who was handed something in the same step would be said to measure it a second time."""
    problem = sp.Problem.unstructured(list("abc"), noise="yes-no")
    study = sp.create_study("ahead", problem, complete=50, storage=f"memory://ahead {told}")
    crowd, names = Crowd(study.desk), list("vwxyz")
    tells = []
    if told:
        (pull,) = study.ask(1, "v")
        tells = [[Reward(pull.id, 1.0, "v")]]
    _, given = crowd.exchange(tells, [Ask(1, name) for name in names])
    assert len({pull.id for one in given for pull in one.pulls}) == len(names)
    assert study.progress().ahead > 0
    assert study.events() == []
