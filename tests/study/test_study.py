"""The rules of studies, on every storage: who gets which pull, and which tell counts."""

import math
import time

import numpy as np
import pytest
from tests.study import toy
from tests.study.toy import check_whole, reward, work

import surepick as sp
from surepick import errors
from surepick.storage.memory import MemoryStorage
from surepick.study.desk import leases


def ids(pulls):
    return [pull.id for pull in pulls]


# -- create, load, list, delete ------------------------------------------------------------
def test_a_study_is_found_again_with_everything_it_was_created_with(make, storage_url):
    study = make(meta={"from": "options.csv", "columns": [1, 2]}, seed=5)
    again = sp.load_study("toy study", storage_url)
    assert again.problem == study.problem == toy.problem()
    assert again.algorithm == study.algorithm == toy.Toy(0.1, each=2)
    assert again.meta == {"from": "options.csv", "columns": [1, 2]}
    assert again.name == "toy study"
    assert "toy study" in repr(again)


def test_studies_live_side_by_side_and_are_deleted_alone(make, storage_url):
    one, two = make("one"), make("two")
    assert sp.list_studies(storage_url) == ["one", "two"]
    one.tell(one.ask()[0].id, 1.0)
    two.ask(3, lease=1e-3)
    sp.delete_study("one", storage_url)
    assert sp.list_studies(storage_url) == ["two"]
    with pytest.raises(errors.UnknownStudyError, match="deleted"):
        one.ask()
    time.sleep(0.01)
    work(two)
    assert two.finished


def test_names_are_taken_once(make):
    make()
    with pytest.raises(errors.StudyExistsError, match="'toy study' already exists"):
        make()


def test_unknown_studies_are_named_with_those_there_are(make, storage_url):
    with pytest.raises(errors.UnknownStudyError):
        sp.load_study("nobody", storage_url)
    make()
    with pytest.raises(errors.UnknownStudyError, match=r"'nobody'.*there are: toy study"):
        sp.load_study("nobody", storage_url)
    with pytest.raises(errors.UnknownStudyError):
        sp.delete_study("nobody", storage_url)


def test_names_of_an_algorithm_take_settings(storage_url):
    study = sp.create_study("a", toy.problem(), "toy", storage_url, delta=0.2, max_samples=5)
    assert (study.algorithm.delta, study.algorithm.max_samples) == (0.2, 5)
    work(study)
    assert study.answer.samples == 5
    assert study.answer.guarantee.kind == "none"


def test_one_option_needs_no_measurement(storage_url):
    study = sp.create_study("a", toy.problem(1), "toy", storage_url)
    assert study.finished
    assert study.ask() == []
    assert study.answer.arm == 0
    assert sp.load_study("a", storage_url).answer.samples == 0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"name": ""}, ValueError, "name must be 1 to 200"),
        ({"name": 3}, TypeError, "name must be a text"),
        ({"name": "x" * 201}, ValueError, "name must be 1 to 200"),
        ({"name": "a\nb"}, ValueError, "name must be 1 to 200"),
        ({"name": "a\x00b"}, ValueError, "name must be 1 to 200"),
        ({"name": "\ud800"}, ValueError, "name must be 1 to 200"),
        ({"problem": [[1.0]]}, TypeError, "problem must be"),
        ({"algorithm": "tyo"}, LookupError, "did you mean 'toy'"),
        ({"algorithm": toy.Toy(0.1), "delta": 0.2}, ValueError, "set it in one place"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"seed": 2**63}, ValueError, "seed must be"),
        ({"meta": [1]}, TypeError, "meta must be a dict"),
        ({"meta": {"a": math.nan}}, ValueError, "meta must be what JSON"),
        ({"meta": {"hedge": True}}, ValueError, "the key 'hedge' is reserved"),
        ({"meta": {"strata": "day"}}, ValueError, "the key 'strata' is reserved"),
        ({"meta": {"traffic": {}}}, ValueError, "the key 'traffic' is reserved"),
        ({"storage": "studies.db"}, ValueError, "sqlite:///studies.db"),
        ({"storage": "mysql://host/db"}, ValueError, "'mysql' is not supported"),
        ({"storage": 7}, TypeError, "storage must be an address"),
        ({"storage": "sqlite://"}, ValueError, "needs a file"),
    ],
)
def test_bad_input_is_named(settings, error, message):
    given = {"name": "a", "problem": toy.problem(), "algorithm": "toy", "storage": "memory://bad"}
    with pytest.raises(error, match=message) as caught:
        sp.create_study(**given | settings)
    assert isinstance(caught.value, sp.SurepickError)
    assert sp.list_studies("memory://bad") == []


# -- ask -----------------------------------------------------------------------------------
def test_pulls_come_one_batch_at_a_time(make):
    study = make(each=4)
    pulls = study.ask(100)
    assert ids(pulls) == list(range(12))
    assert sorted(pull.arm for pull in pulls) == [0] * 4 + [1] * 4 + [2] * 4
    assert all(pull.label == f"option {pull.arm}" and pull.attempt == 1 for pull in pulls)
    assert study.ask() == []  # all are out: workers wait
    for pull in pulls:
        assert study.tell(pull.id, reward(pull)).status == "accepted"
    assert ids(study.ask(100)) == list(range(12, 20))


def test_arms_are_handed_out_mixed(make):
    arms = [pull.arm for pull in make(each=200).ask(600)]
    for part in np.array_split(arms, 6):
        assert np.bincount(part, minlength=3).min() > 15


def test_a_worker_that_comes_back_gets_its_own_pulls_first(make, storage_url):
    study = make()
    mine = study.ask(2, "w1")
    other = study.ask(1, "w2")
    again = sp.load_study("toy study", storage_url)
    assert again.ask(1, "w1") == mine[:1]
    assert ids(again.ask(3, "w1")) == [*ids(mine), 3]
    assert again.ask(1, "w2") == other
    again.tell(mine[0].id, 1.0, "w1")
    assert ids(again.ask(2, "w1")) == [mine[1].id, 3]


def test_workers_without_a_name_get_new_pulls_every_time(make):
    study = make()
    assert ids(study.ask(2)) + ids(study.ask(2)) == [0, 1, 2, 3]


def test_expired_pulls_go_to_others_after_the_fresh_ones(make):
    study = make()
    study.ask(2, "gone", lease=1e-3)
    time.sleep(0.01)
    got = study.ask(6, "w")
    assert ids(got) == [2, 3, 4, 5, 0, 1]
    assert [pull.attempt for pull in got] == [1, 1, 1, 1, 2, 2]
    assert study.ask(6, "v") == []
    assert [event.kind for event in study.events()] == ["expired", "expired"]


def test_leases_hold_until_their_time_is_up(make):
    study = make()
    study.ask(6, "w", lease=1000.0)
    assert study.ask(1, "v") == []


def test_asking_again_renews_the_lease(make):
    study = make()
    study.ask(6, "w", lease=0.3)
    study.ask(6, "w", lease=1000.0)
    time.sleep(0.35)
    assert study.ask(6, "v") == []


def test_ask_can_wait(make):
    study = make()
    study.ask(6, "w", lease=0.2)
    assert len(study.ask(1, "v", wait=20.0)) == 1  # when the lease is over
    study.ask(6, "v", lease=1000.0)
    assert study.ask(1, "u") == []
    start = time.monotonic()
    assert study.ask(1, "u", wait=0.15) == []
    assert time.monotonic() - start >= 0.15


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n": 0}, ValueError, "n must be at least 1"),
        ({"n": 1.5}, TypeError, "n must be a whole number"),
        ({"worker": ""}, ValueError, "worker must be"),
        ({"worker": "~x"}, ValueError, "worker must not begin with"),
        ({"worker": 3}, TypeError, "worker must be a text"),
        ({"lease": 0}, ValueError, "lease must be above 0"),
        ({"lease": math.inf}, ValueError, "lease must be finite"),
        ({"wait": math.nan}, ValueError, "wait must be finite"),
    ],
)
def test_bad_asks_are_named_and_hand_out_nothing(settings, error, message):
    storage = MemoryStorage()
    study = sp.create_study("a", toy.problem(), "toy", storage)
    with pytest.raises(error, match=message):
        study.ask(**settings)
    assert study.status()["batch"]["leased"] == 0


# -- tell ----------------------------------------------------------------------------------
def test_the_first_tell_counts_and_the_same_again_counts_once(make):
    study = make()
    (pull,) = study.ask()
    assert study.tell(pull.id, 1.5).status == "accepted"
    again = study.tell(pull.id, 1.5)
    assert (again.status, again.value, again.used) == ("duplicate", 1.5, True)
    assert study.status()["samples"] == 1
    assert [event.kind for event in study.events()] == ["duplicate"]


def test_another_value_is_refused_and_recorded(make):
    study = make()
    (pull,) = study.ask(1, "w")
    study.tell(pull.id, 1.5, "w")
    with pytest.raises(
        errors.TellConflictError, match=r"already has the reward 1\.5, which counts; 2\.0 was noted"
    ):
        study.tell(pull.id, 2.0, "w")
    with pytest.raises(errors.TellConflictError):
        study.tell(pull.id, 3.0)  # by nobody in particular
    assert [(e.kind, e.value, e.count) for e in study.events()] == [("conflict", 2.0, 2)]
    assert study.rewards().values.tolist() == [1.5]


def test_a_late_tell_is_recorded_and_not_used(make, storage_url):
    slow, quick = make(), sp.load_study("toy study", storage_url)
    (pull,) = slow.ask(1, "slow", lease=1e-3)
    time.sleep(0.01)
    (same,) = [p for p in quick.ask(6, "quick") if p.id == pull.id]
    quick.tell(same.id, 2.0)
    late = slow.tell(pull.id, 1.0)
    assert (late.status, late.value, late.used) == ("late", 2.0, False)
    assert slow.rewards().values.tolist() == [2.0]
    assert slow.events("late")[0].value == 1.0


def test_late_is_known_without_names_too(make, storage_url):
    slow, quick = make(), sp.load_study("toy study", storage_url)
    (pull,) = slow.ask(lease=1e-3)
    time.sleep(0.01)
    quick.ask(6)
    quick.tell(pull.id, 2.0)
    assert slow.tell(pull.id, 1.0).status == "late"


def test_a_tell_after_the_lease_counts_if_nobody_has_the_pull_by_now(make):
    study = make()
    first, second = study.ask(2, "slow", lease=1e-3)
    time.sleep(0.01)
    assert study.tell(first.id, 1.0, "slow").status == "accepted"
    others = study.ask(5, "quick")
    assert second.id in ids(others)
    assert study.tell(second.id, 5.0, "slow").status == "late"
    assert study.tell(second.id, 2.0, "quick").status == "accepted"
    assert study.rewards().values.tolist() == [1.0, 2.0]


@pytest.mark.some(4)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200, "1", None, True, [1.0]])
def test_rewards_that_are_no_numbers_leave_no_trace(make, bad):
    study = make()
    pulls = study.ask(2)
    with pytest.raises(
        (errors.InvalidInputError, errors.InvalidTypeError), match="reward of measurement"
    ):
        study.tell(pulls[0].id, bad)
    with pytest.raises(
        (errors.InvalidInputError, errors.InvalidTypeError), match="reward of measurement"
    ):
        study.tell_many({pulls[1].id: 1.0, pulls[0].id: bad})
    assert len(study.rewards().pulls) == 0
    assert study.events() == []
    assert study.tell(pulls[0].id, 1.0).status == "accepted"


def test_unknown_pulls_are_refused_and_nothing_is_recorded(make):
    study = make()
    pulls = study.ask(2)
    for unknown in (2, 999, 2**62, 2**70):
        with pytest.raises(errors.UnknownPullError, match=str(unknown)):
            study.tell(unknown, 1.0)
    with pytest.raises(errors.UnknownPullError):
        study.tell_many([(pulls[0].id, 1.0), (77, 1.0)])
    with pytest.raises(errors.InvalidTypeError):
        study.tell("0", 1.0)
    with pytest.raises(errors.InvalidInputError):
        study.tell(-1, 1.0)
    assert len(study.rewards().pulls) == 0


def test_many_rewards_at_once(make):
    study = make()
    pulls = study.ask(6)
    told = study.tell_many([(p.id, reward(p)) for p in pulls[:4]] + [(pulls[0].id, 9.0)])
    assert [one.status for one in told] == ["accepted"] * 4 + ["conflict"]
    study.tell_many({p.id: reward(p) for p in pulls[4:]})
    assert study.tell_many([]) == []
    assert study.status()["batch"]["number"] == 1
    with pytest.raises(errors.InvalidTypeError, match="pairs"):
        study.tell_many([3])


# -- fail ----------------------------------------------------------------------------------
def test_failed_pulls_go_to_the_back_of_the_line(make):
    study = make()
    (pull,) = study.ask(1, "w")
    assert study.fail(pull.id, "broken pipe \x00") is True
    assert ids(study.ask(6, "w")) == [1, 2, 3, 4, 5, 0]
    (event,) = study.events()
    assert (event.kind, event.worker, event.note) == ("failed", "w", "broken pipe ")
    assert study.status()["failures"] == [int(pull.arm == k) for k in range(3)]


def test_only_the_holder_can_fail_a_pull(make):
    study = make()
    (pull,) = study.ask(1, "slow", lease=1e-3)
    time.sleep(0.01)
    study.ask(6, "quick")
    assert study.fail(pull.id, worker="slow") is False
    assert study.ask(1, "v") == []
    assert study.fail(pull.id, worker="quick") is True
    assert study.fail(pull.id) is False  # once is enough
    study.tell(pull.id, 1.0)
    assert study.fail(pull.id) is False
    assert sum(study.status()["failures"]) == 2  # one expired, one failed
    with pytest.raises(errors.UnknownPullError):
        study.fail(99)
    with pytest.raises(errors.InvalidTypeError, match="reason"):
        study.fail(pull.id, reason=3)


def test_uneven_failures_withdraw_the_guarantee(make):
    study = make(n_arms=3, each=20)
    while pulls := study.ask(10):
        for pull in pulls:
            if pull.arm == 1 and pull.attempt < 3:
                study.fail(pull.id, "timeout")
            else:
                study.tell(pull.id, reward(pull))
    uneven, many = study.status()["warnings"]
    assert "'option 1' failed" in uneven
    assert "measurements failed" in many
    assert study.answer.guarantee.kind == "heuristic"
    assert "'option 1' failed" in study.answer.guarantee
    assert not study.answer.guarantee


def test_even_failures_keep_the_guarantee(make):
    study = make(n_arms=3, each=40)
    draws = np.random.default_rng(0)
    while pulls := study.ask(10):
        for pull in pulls:
            if draws.random() < 0.1:
                study.fail(pull.id, "lost")
            else:
                study.tell(pull.id, reward(pull))
    assert sum(study.status()["failures"]) > 10
    assert study.status()["warnings"] == []
    assert study.answer.guarantee.kind == "pac"


# -- going on ------------------------------------------------------------------------------
def test_the_answer_is_that_of_a_single_worker(make, storage_url):
    study = make(each=5)
    with pytest.raises(errors.RunStateError, match="not finished: 3 candidates"):
        _ = study.answer
    workers = [sp.load_study("toy study", storage_url) for _ in range(3)]
    while not study.finished:
        for number, worker in enumerate(workers):
            for pull in reversed(worker.ask(2, f"w{number}")):
                worker.tell(pull.id, reward(pull))
    single = toy.alone(each=5)
    assert study.answer == single.answer == workers[1].answer
    assert study.answer.samples == 25
    check_whole(study)
    assert study.ask() == []


def test_whoever_finds_a_complete_batch_goes_on(make, storage_url, monkeypatch):
    study = make()
    monkeypatch.setattr(study.desk, "advance_quietly", lambda: None)  # as if it had died there
    for pull in study.ask(6, "dead"):
        study.tell(pull.id, reward(pull))
    other = sp.load_study("toy study", storage_url)
    assert other.ask(1, "w") == []  # the dead one's claim still holds
    assert other.status()["batch"]["told"] == 6
    assert ids(sp.load_study("toy study", storage_url).ask(1, "dead")) == [6]  # it came back
    check_whole(other)


def test_claims_run_out(make, storage_url, monkeypatch):
    monkeypatch.setattr(leases, "CLAIM", 0.05)
    study = make()
    monkeypatch.setattr(study.desk, "advance_quietly", lambda: None)
    for pull in study.ask(6):
        study.tell(pull.id, reward(pull))
    other = sp.load_study("toy study", storage_url)
    assert len(other.ask(1, "w", wait=20.0)) == 1
    check_whole(other)


def test_a_batch_that_cannot_be_worked_out_loses_no_reward(make, monkeypatch, caplog):
    study = make()

    def broken(*_):
        raise errors.SolverError("no design found")

    with monkeypatch.context() as patched:
        patched.setattr(toy.ToyState, "observe", broken)
        for pull in study.ask(6):
            study.tell(pull.id, reward(pull))
        assert "the reward is recorded" in caplog.text
        with pytest.raises(errors.SolverError, match="no design found"):
            study.ask()
    assert len(study.rewards().pulls) == 6
    assert ids(study.ask()) == [6]
    check_whole(study)


def test_two_who_go_on_at_once_do_so_once(make, storage_url, monkeypatch):
    study, other = make(), sp.load_study("toy study", storage_url)
    for one in (study, other):
        monkeypatch.setattr(one.desk, "advance_quietly", lambda: None)
    for pull in study.ask(6):
        study.tell(pull.id, reward(pull))
    study.desk.load(), other.desk.load()
    study.desk.advance()
    other.desk.advance()
    assert study.progress().batch == other.progress().batch == 1
    run, at = other.desk.load()
    assert run.batches == 1
    assert at.first == 6
    work(other)
    check_whole(study)
    assert study.answer == toy.alone().answer


def test_opening_does_not_read_the_log(make, storage_url, monkeypatch):
    study = make()
    for pull in study.ask(6):
        study.tell(pull.id, reward(pull))
    again = sp.load_study("toy study", storage_url)
    kind = again.storage.read(lambda tx: type(tx))
    monkeypatch.setattr(kind, "rewards", None)
    assert again.current_run.batches == 1
    assert ids(again.ask()) == [6]
    assert again.finished is False


def test_a_snapshot_that_cannot_be_read_is_rebuilt_from_the_log(make, storage_url):
    study = make()
    for pull in study.ask(6):
        study.tell(pull.id, reward(pull))
    study.storage.write(lambda tx: tx.set_snapshot(study.desk.record.id, 1, "{"))
    again = sp.load_study("toy study", storage_url)
    work(again)
    assert again.answer == toy.alone().answer
    study.storage.write(lambda tx: tx.set_snapshot(study.desk.record.id, 0, "{}"))  # an old one
    assert sp.load_study("toy study", storage_url).answer == again.answer


def test_a_log_that_contradicts_the_study_is_noticed(make, storage_url):
    study = make()
    work(study)

    def tamper(tx):
        tx.add(study.desk.record.id, leases.Tell(99, 0, 1.0, None, 0.0))
        at = tx.progress(study.desk.record.id, lock=True)
        tx.set_progress(study.desk.record.id, at.after(1, True))

    study.storage.write(tamper)
    with pytest.raises(errors.StudyDamagedError):
        sp.load_study("toy study", storage_url).rebuild()


@pytest.mark.parametrize("name", ["peleg", "lingape"])
def test_real_algorithms_answer_as_they_do_in_memory(name, storage_url):
    arms = np.random.default_rng(3).normal(size=(4, 2))
    theta = np.array([4.0, 1.0])
    problem = sp.Problem(arms, noise=0.5)
    study = sp.create_study("real", problem, name, storage_url, delta=0.2)
    draws = np.random.default_rng(0)
    while pulls := study.ask(64):
        study.tell_many({p.id: arms[p.arm] @ theta + 0.5 * draws.normal() for p in pulls})
    again = sp.load_study("real", storage_url)
    assert again.answer == study.answer
    assert again.answer.arm == int(np.argmax(arms @ theta))
    assert sp.verify(again.answer.certificate())
    check_whole(again)


def test_status_tells_where_it_stands(make):
    study = make()
    pulls = study.ask(4)
    study.tell(pulls[0].id, 2.0)
    study.fail(pulls[1].id)
    status = study.status()
    assert status["batch"] == {"number": 0, "size": 6, "told": 1, "leased": 2, "waiting": 3}
    assert status["samples"] == sum(status["pulls"]) == 1
    assert status["means"][pulls[0].arm] == 2.0
    assert status["survivors"] == [0, 1, 2]
    assert status["estimates"] is None  # two arms were never measured
    assert not status["finished"]
    study.tell_many({pull.id: reward(pull) for pull in pulls[2:]})
    work(study)
    status = study.status()
    assert status["finished"]
    assert status["survivor_labels"] == [study.answer.label] == [status["leader"]]
    assert status["pulls"] == study.answer.pulls.tolist()
    assert np.allclose(status["estimates"], status["means"])


def test_a_study_is_a_context(make):
    with make() as study:
        study.ask()
    assert len(study.ask()) == 1  # it opens again by itself


@pytest.mark.some(4)
@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"format": 3}', "not JSON", '{"a": {}}'])
def test_a_snapshot_that_cannot_be_read_is_worked_out_again(make, storage_url, text):
    """Whatever is wrong with it: the log has all that is needed."""
    study = make()
    while study.progress().batch == 0:
        for pull in study.ask(6):
            study.tell(pull.id, toy.reward(pull))
    study.storage.write(lambda tx: tx.set_snapshot(study.desk.record.id, 1, text))
    other = sp.load_study("toy study", storage_url)
    while pulls := other.ask(4):
        other.tell_many([(pull.id, toy.reward(pull)) for pull in pulls])
    assert other.answer == toy.alone().answer


def test_a_tell_in_the_middle_of_a_batch_builds_the_problem_once(storage_url, monkeypatch):
    rng = np.random.default_rng(0)
    problem = sp.Problem(rng.normal(size=(6, 2)) * 1e-3, noise=1.0)
    if storage_url.startswith("memory"):
        storage_url += "-built-once"
    with sp.create_study("built once", problem, "pooled-peleg", storage_url) as study:
        while not study.progress().batch:
            for pull in study.ask(10, "w"):
                study.tell(pull.id, rng.normal(), "w")
        pull = study.ask(1, "w")[0]
    built, plain = [], sp.Problem.__init__

    def build(self, *given, **more):
        built.append(self)
        plain(self, *given, **more)

    with sp.load_study("built once", storage_url) as study:
        monkeypatch.setattr(sp.Problem, "__init__", build)
        assert study.tell(pull.id, 0.5, "w").status == "accepted"
        assert study.desk.load()[0].problem is study.problem
    assert len(built) == 1
