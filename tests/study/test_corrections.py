"""Rewards that were told wrongly: corrected, withdrawn, and what becomes of the study."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tests.study import toy
from tests.study.toy import check_whole

import surepick as sp
from surepick.cli import cli
from surepick.errors import (
    CertificateError,
    InvalidInputError,
    RunStateError,
    StudyDamagedError,
    UnknownPullError,
)
from surepick.run.certificate import fingerprint
from surepick.storage.sql import sums
from surepick.study.acts.base import Who
from surepick.study.acts.rewards import CORRECT, WITHDRAW, Change
from surepick.study.acts.write import OnDesk, carried_out

ARMS = np.array([[1.0, a, b] for a in range(3) for b in range(3)])
MEANS = ARMS @ [0.0, 0.5, -0.3]
KINDS = [(1.0, 0.0), ("symmetric", 0.0), ("symmetric", np.inf), ("equal", 0.2), ("yes-no", np.inf)]


class Lab:
    """A study whose rewards depend on the pull alone: told again, they are the same."""

    def __init__(self, url, noise="symmetric", misfit=0.0, **fields):
        self.noise = noise
        problem = sp.Problem(ARMS, noise=noise, misfit=misfit)
        fields = ({} if "algorithm" in fields else {"delta": 0.1}) | fields
        self.study = sp.create_study("lab", problem, storage=url, **fields)

    def reward(self, pull, arm):
        draw = np.random.default_rng([7, pull])
        if self.noise == "yes-no":
            return float(draw.random() < 0.4 + 0.3 * MEANS[arm])
        return float(MEANS[arm] + draw.normal())

    def work(self, batches=10**9):
        study = self.study
        while not study.finished and study.progress().batch < batches:
            study.tell_many([(p.id, self.reward(p.id, p.arm)) for p in study.ask(50, "ann")])
        return study


@pytest.fixture
def url(request):
    return f"memory://{request.node.name}"


@pytest.mark.some(1)
@pytest.mark.parametrize(("noise", "misfit"), KINDS)
def test_a_typo_that_is_corrected_in_time_leaves_no_trace_but_its_record(url, noise, misfit):
    plain = Lab(f"{url} plain", noise, misfit).work()
    lab = Lab(url, noise, misfit)
    (pull,) = lab.study.ask(1, "ann")
    right = lab.reward(pull.id, pull.arm)
    lab.study.tell(pull.id, 1.0 - right if noise == "yes-no" else 42.0)
    change = lab.study.correct(pull.id, right, reason="typed wrongly", by="bob")
    assert not change.counted
    answer = lab.work().answer
    assert answer.pulls.tolist() == plain.answer.pulls.tolist()
    certificate = answer.certificate()
    assert certificate["batches"] == plain.answer.certificate()["batches"]
    (listed,) = certificate["corrections"]
    assert (listed["pull"], listed["new"], listed["by"]) == (pull.id, right, "bob")
    assert "depended neither on the rewards nor on whom one favours" in answer.guarantee
    assert sp.verify(certificate).replayed
    check_whole(lab.study)


@pytest.mark.some(1)
@pytest.mark.parametrize(("noise", "misfit"), KINDS)
def test_after_a_correction_everything_is_as_the_log_says(url, noise, misfit):
    lab = Lab(url, noise, misfit)
    study = lab.work(3)
    asked = [study.storage.read(lambda tx, n=n: tx.batch(study._record.id, n)) for n in range(4)]
    arms = study.rewards().arms
    wrong = 1.0 - study.rewards().values[1] if noise == "yes-no" else 42.0
    assert study.correct(1, wrong, reason="worse").counted
    second = next(i for i in range(6, len(arms)) if arms[i] in arms[6:i])
    assert study.withdraw(second, reason="dust").counted
    check_whole(study)
    lab.work(5)
    study.correct(1, lab.reward(1, arms[1]), reason="back", by="bob")
    check_whole(study)
    answer = lab.work().answer
    check_whole(study)
    for batch in asked:  # what was asked for stays
        known = study.storage.read(lambda tx, n=batch.number: tx.batch(study._record.id, n))
        assert (known.pulls, known.first) == (batch.pulls, batch.first)
    certificate = answer.certificate()
    found = sp.verify(certificate, replay=True)
    assert not found.replayed
    assert "in part: " in found.replay
    known = int(found.replay.split()[2])
    assert 0 < known <= len(certificate["batches"])  # those asked for since the last change
    assert sum(len(json.dumps(b)) for b in certificate["batches"]) > 0
    rewards = study.rewards()
    kept = np.isin(np.arange(study.progress().first), rewards.pulls)
    assert (~kept).sum() == 1
    sums = np.bincount(rewards.arms, rewards.values, len(ARMS))
    if study.current_run.samples == len(rewards.pulls):  # it did not stop before the last batch
        assert np.allclose(study.current_run.sums, sums)


def test_the_replay_still_finds_batches_that_were_not_asked_for(url):
    lab = Lab(url, 1.0)
    lab.work(3)
    lab.study.correct(1, 3.0, reason="read again")
    certificate = lab.work().answer.certificate()
    assert "in part" in sp.verify(certificate).replay
    last = certificate["batches"][-1]
    assert len(certificate["batches"]) > 5
    last["counts"][0] += 1
    last["sums"][0] *= last["counts"][0] / (last["counts"][0] - 1)
    certificate["claim"]["samples"] += 1
    certificate["digest"] = fingerprint(certificate)
    with pytest.raises(CertificateError):
        sp.verify(certificate)


@pytest.fixture(scope="module")
def corrected():
    """A certificate in which one reward was corrected after it had counted."""
    lab = Lab("memory://a list of corrections", 1.0)
    lab.work(2)
    lab.study.correct(1, 3.0, reason="read again")
    return json.dumps(lab.work().answer.certificate())


@pytest.mark.parametrize(
    ("field", "value"),
    [("old", 3.0), ("batch", 99), ("reason", ""), ("arm", 77), ("new", "much"), ("by", 3)],
)
def test_a_list_of_corrections_that_makes_no_sense_is_refused(corrected, field, value):
    certificate = json.loads(corrected)
    certificate["corrections"][0][field] = value
    certificate["digest"] = fingerprint(certificate)
    with pytest.raises(CertificateError, match=r"corrections?,? 0"):
        sp.verify(certificate)
    del certificate["corrections"]  # nor may it be left out: the statement says that it is there
    certificate["digest"] = fingerprint(certificate)
    with pytest.raises(CertificateError, match="statement"):
        sp.verify(certificate)


def change(study, values, reason, by):
    """Let other rewards count for several pulls at once; None: no reward."""
    kind = CORRECT if None not in values.values() else WITHDRAW
    made = carried_out(OnDesk(study.desk), kind, {"values": values}, Who(reason, by))
    return kind.records(made)


def test_an_answer_may_fall_and_come_back(storage_url):
    lab = Lab(storage_url, 1.0)
    study = lab.work()
    first, head = study.answer, study.status()["chain"]["head"]
    arms = study.rewards().arms
    gone = dict.fromkeys(range(first.samples // 3, first.samples))
    assert len(change(study, gone, "a device was broken", "ann")) == len(gone)
    assert not study.finished
    assert study.status()["batch"]["size"] > 0
    with pytest.raises(RunStateError):
        _ = study.answer
    check_whole(study)
    study.tell_many([(p.id, lab.reward(p.id, p.arm)) for p in study.ask(2, "ann")])
    back = {pull: lab.reward(pull, arms[pull]) for pull in gone}
    change(study, back, "it was not", "bob")
    assert study.finished  # with a batch that is not needed any more
    assert not study.ask(1, "ann")
    check_whole(study)
    again = study.answer
    assert (again.arm, again.samples) == (first.arm, first.samples)
    assert sp.verify(again.certificate())
    from surepick.study.chain import check_chain

    check_chain(study.storage, study._record, head)


def test_a_whole_batch_and_a_whole_token_can_be_withdrawn(url):
    lab = Lab(url)
    study = lab.work(4)
    sizes = [row["samples"] for row in study.history()]
    for pull in range(sizes[0], sizes[1]):
        study.withdraw(pull, reason="the wrong plate")
    assert study.current_run.skipped == [1]
    for pull in range(0, sizes[0], 2):  # what is left of the first batch does not span
        study.withdraw(pull, reason="dust")
    check_whole(study)
    answer = lab.work().answer
    check_whole(study)
    assert sp.verify(answer.certificate())
    assert not sp.verify(answer.certificate(), replay=True)  # only a part can be replayed
    assert study.withdraw_token("nobody", reason="x") == []


def test_what_cannot_be_changed_is_refused_with_the_reason(url):
    lab = Lab(url, 1.0, algorithm=sp.algorithms.PooledPeleg(0.1, max_batch=6))
    study = lab.work(5)
    with pytest.raises(RunStateError, match="only rewards of the open batch"):
        study.correct(0, 50.0, reason="x")
    with pytest.raises(RunStateError, match="only rewards of the open batch"):
        study.withdraw(0, reason="x")
    with pytest.raises(
        UnknownPullError, match="measurement 999 has no reward; nothing was changed"
    ):
        study.correct(999, 1.0, reason="x")
    with pytest.raises(InvalidInputError, match="say why"):
        study.withdraw(0, reason=" ")
    with pytest.raises(InvalidInputError, match="nothing was changed"):
        study.correct(0, float(study.rewards().values[0]), reason="x")
    assert study.corrections() == []
    check_whole(study)


def test_the_database_cannot_be_changed_behind_a_correction(database_folder):
    import sqlite3

    url = f"sqlite:///{database_folder}/studies.db"
    study = Lab(url, 1.0).work(3)
    study.correct(1, 42.0, reason="read again")
    study.withdraw(2, reason="dust")
    study.close()
    names = "study, pull, arm, value, worker, at, token, stratum, numbers"
    for change in (
        "UPDATE surepick_tells SET value = 41 WHERE pull = 1",
        "DELETE FROM surepick_tells WHERE pull = 1",
        f"INSERT INTO surepick_tells ({names}) SELECT study, 2, arm, value, worker, at, token, "
        "stratum, numbers FROM surepick_tells WHERE pull = 3",
    ):
        with sqlite3.connect(f"{database_folder}/studies.db") as database:
            sums.provide(database)
            kept = database.execute(f"SELECT {names} FROM surepick_tells").fetchall()
            database.execute(change)
        damaged = sp.load_study("lab", url)
        with pytest.raises(StudyDamagedError):
            check_whole_chain(damaged)
        damaged.close()
        with sqlite3.connect(f"{database_folder}/studies.db") as database:
            sums.provide(database)
            database.execute("DELETE FROM surepick_tells")
            marks = ", ".join("?" * len(kept[0]))
            database.executemany(f"INSERT INTO surepick_tells ({names}) VALUES ({marks})", kept)
    check_whole_chain(sp.load_study("lab", url))


def check_whole_chain(study):
    from surepick.study.chain import check_chain

    return check_chain(study.storage, study._record)


def test_the_command_corrects_and_withdraws(database_folder):
    url = f"sqlite:///{database_folder}/studies.db"
    study = Lab(url, 1.0).work(2)
    told = study.ask(1, "ann")[0].id
    study.tell(told, 42.0)
    study.close()

    def call(*words):
        return CliRunner().invoke(cli, [*words, "--storage", url])

    done = call("correct", "lab", str(told), "-4.2", "--reason", "typo", "--by", "ann")
    assert done.exit_code == 0, done.output
    assert ": -4.2 now counts instead of 42." in done.output
    assert "worked out again" not in done.output
    done = call("withdraw", "lab", "0", "--reason", "dust", "--json")
    assert json.loads(done.output)["changes"][0]["counted"]
    rows = json.loads(call("export", "lab", "--what", "corrections", "--format", "json").output)
    assert (rows[0]["pull"], rows[0]["old"], rows[0]["new"]) == (told, 42.0, -4.2)
    assert (rows[0]["reason"], rows[0]["by"]) == ("typo", "ann")
    assert call("withdraw", "lab", "--reason", "dust").exit_code != 0
    assert call("verify", "lab").exit_code == 4  # in order, and no answer yet


def test_who_goes_on_meanwhile_starts_again(storage_url):
    """A reward is corrected between reading a complete batch and writing what follows."""
    toy.register()
    study = sp.create_study("s", toy.problem(3), toy.Toy(0.1, each=2), storage_url)
    other = sp.load_study("s", study.storage)
    other.desk.advance_quietly = lambda: None
    for pull in other.ask(6, "ann"):
        other.tell(pull.id, toy.reward(pull))
    run, at = other.desk.load()
    other.correct(0, 77.0, reason="read again")
    from surepick.study.desk import next_batch

    assert not next_batch.advance(study.storage, study._record, run, at)
    assert study.progress().batch == 0
    study.ask(1, "ann")
    assert study.progress().batch == 1
    assert 77.0 in study.rewards().values
    check_whole(study)


@pytest.mark.parametrize(("noise", "misfit"), KINDS[:4])
def test_a_reward_far_from_all_others_is_pointed_out(url, noise, misfit):
    lab = Lab(url, noise, misfit)
    study, warned = lab.study, []
    for _ in range(200):  # honest rewards are not
        warned += [study.tell(p.id, lab.reward(p.id, p.arm)).warning for p in study.ask(1, "ann")]
        if study.progress().batch == 4:
            break
    assert set(warned) == {None}
    (pull,) = study.ask(1, "ann")
    with pytest.raises(
        InvalidInputError, match=rf"measurement {pull.id} .*: 42, others .*: typed right\?"
    ):
        study.tell(pull.id, 42.0, strict=True)
    told = study.tell(pull.id, 42.0)
    assert told.status == "accepted"
    assert f"measurement {pull.id} ({pull.label}): 42, others " in told.warning


def test_already_in_the_first_batch(url):
    lab = Lab(url, "symmetric", np.inf)
    pulls = lab.study.ask(100, "ann")
    for pull in pulls[:-1]:
        assert lab.study.tell(pull.id, 4 + 0.001 * lab.reward(pull.id, pull.arm)).warning is None
    fresh = sp.load_study("lab", lab.study.storage)
    assert "42" in fresh.tell(pulls[-1].id, 42.0, "ann").warning


def test_yes_and_no_are_never_unusual(url):
    lab = Lab(url, "yes-no", np.inf)
    for pull in lab.study.ask(200, "ann"):
        assert lab.study.tell(pull.id, float(pull.id == 7)).warning is None


def test_certificates_number_the_batches_that_they_have():
    change = Change(7, 1, batch=3, asked=5, old=1.0, new=2.0, at=0.0, by=None, reason="")
    for skipped, batch, asked in (
        ([], 3, 5),
        ([1], 2, 4),
        ([0, 4], 2, 3),
        ([3], None, 4),
        ([6], 3, 5),
    ):
        said = change.certified(skipped)
        assert (said["batch"], said["asked"]) == (batch, asked)
