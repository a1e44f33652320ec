"""Batches that overlap: who would wait begins the next one, and every promise stays as it was."""

import json
from datetime import datetime

import numpy as np
import pytest
from tests.study.toy import check_whole

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError, InvalidTypeError
from surepick.run.certificate import fingerprint
from surepick.run.replay import EXACT
from surepick.study.desk import next_batch, opened
from surepick.study.manage import describe_studies

ARMS = np.array([[1.0, a, b] for a in range(3) for b in range(3)])
MEANS = ARMS @ [0.0, 0.5, -0.3]
KINDS = [
    (1.0, 0.0),
    ("symmetric", 0.0),
    ("symmetric", np.inf),
    ("equal", 0.2),
    ("yes-no", np.inf),
    ((-9, 9), 0.0),
]
SAYS = "provided that measurements do not depend on each other, as batches overlapped"


class Crew:
    """Workers who take a pull each, and whose measurements end in any order."""

    def __init__(self, url, noise=1.0, misfit=0.0, workers=8, seed=3, means=MEANS, **fields):
        self.noise, self.means, self.held = noise, means, {}
        self.workers, self.rng = workers, np.random.default_rng(seed)
        problem = sp.Problem(ARMS, noise=noise, misfit=misfit)
        self.study = sp.create_study("crew", problem, storage=url, delta=0.1, **fields)

    def reward(self, pull):
        draw = np.random.default_rng([7, pull.id])
        if self.noise == "yes-no":
            return float(draw.random() < 0.3 + 0.3 * self.means[pull.arm])
        return float(np.clip(self.means[pull.arm] + draw.normal(), -9, 9))

    def work(self, until=lambda at: False, **asked):
        """Until the study is finished, or stands somewhere."""
        study = self.study
        while not study.finished and not until(study.progress()):
            worker = f"w{int(self.workers * self.rng.random() ** 3)}"  # some are far slower
            if worker in self.held:
                pull = self.held.pop(worker)
                study.tell(pull.id, self.reward(pull), worker=worker)
            elif pulls := study.ask(1, worker, **asked):
                self.held[worker] = pulls[0]
        return study


def overlapped(study):
    return [batch for batch in study.answer.certificate()["batches"] if "after" in batch]


def check_everything(study):
    """The log leads to the same run, and the certificate holds and can be made again."""
    check_whole(study)
    runs = [json.loads(run.to_json()) for run in (study.rebuild(), study.current_run)]
    assert runs[0] | {"id": ""} == runs[1] | {"id": ""}
    assert SAYS in study.answer.guarantee
    return sp.verify(study.answer.certificate(), replay=True)


@pytest.fixture
def url(request):
    return f"memory://{request.node.name}"


@pytest.mark.some(1)
@pytest.mark.parametrize(("noise", "misfit"), KINDS)
def test_nobody_waits_and_every_batch_can_be_made_again(url, noise, misfit):
    study = Crew(url, noise, misfit, means=2.0 * MEANS).work()
    assert study.answer.guarantee
    assert len(overlapped(study)) >= 3
    assert check_everything(study).replay == EXACT


def test_on_every_storage(storage_url):
    study = Crew(storage_url, workers=5).work()
    assert overlapped(study)
    assert check_everything(study).replay == EXACT
    # What was begun ahead and not needed may still be told; it is kept, and does not count.
    samples = study.answer.samples
    left = study.storage.read(lambda tx: tx.leases(study.desk.record.id, range(10**4)))
    assert len(left) == study.progress().asked - study.progress().told - study.progress().early
    for pull in left:
        assert study.tell(pull, 0.0).status == "accepted"
    status, at = study.status(), study.progress()
    assert study.answer.samples == status["samples"] == at.samples == samples
    assert status["uncounted"] == at.uncounted == len(study.rewards().pulls) - samples >= len(left)
    assert status["pulls"] == study.answer.pulls.tolist()
    assert describe_studies(study.storage)[0]["samples"] == samples
    check_whole(study)


def test_with_strata_and_with_the_options_on_items(url):
    crew = Crew(f"{url} strata", strata="oven")
    study, ovens = crew.study, iter(range(10**6))
    while not study.finished:
        before = study.progress().measured
        crew.work(lambda at, n=before: at.measured > n, stratum=f"oven {next(ovens) % 2}")
    assert overlapped(study)
    assert check_everything(study).replay == EXACT
    algorithm = sp.algorithms.PooledPeleg(0.1, items=50)
    problem = sp.Problem(np.eye(3))
    study = sp.create_study("items", problem, algorithm, f"{url} items")
    draws, held = np.random.default_rng(0), {}
    while not study.finished:
        worker = f"w{int(6 * draws.random() ** 2)}"
        if worker in held:
            pull = held.pop(worker)
            study.tell(pull.id, 2.0 * pull.arm + pull.item % 7 + draws.normal(), worker=worker)
        elif pulls := study.ask(1, worker):
            held[worker] = pulls[0]
    assert study.answer.arm == 2
    assert overlapped(study)
    assert check_everything(study).replay == EXACT


def test_one_worker_alone_gets_what_it_ever_got(url):
    """Asks, the run and the certificate are the same, to the byte, with and without."""
    found = []
    for overlap in (None, True, False):
        study = Crew(f"{url} {overlap}", workers=1, overlap=overlap).work()
        run, certificate = json.loads(study.current_run.to_json()), study.answer.certificate()
        del run["id"], certificate["chain"], certificate["digest"]
        found.append(json.dumps([run, certificate]))
        assert not overlapped(study)
        assert SAYS not in study.answer.guarantee
    assert found[0] == found[1] == found[2]


def test_who_has_no_name_may_be_who_has_the_rest(url):
    for overlap, more in ((None, 0), (True, 1), (False, 0)):
        study = Crew(f"{url} {overlap}", overlap=overlap).study
        assert len(study.ask(100)) == study.progress().size
        assert len(study.ask()) == more
        assert len(study.ask(worker="ann")) == (overlap is not False)


def test_a_worker_that_is_lost_delays_its_batch_and_nobody_else(url):
    crew = Crew(url, workers=4)
    (lost,) = crew.study.ask(1, "lost", 1000.0)
    crew.work(lambda at: at.measured >= 60)
    at = crew.study.progress()
    assert (at.batch, at.told, at.early) == (0, at.size - 1, 61 - at.size)
    crew.study.tell(lost.id, crew.reward(lost))
    assert crew.study.progress().batch > 1  # all that was complete is counted at once
    crew.work()
    assert check_everything(crew.study).replay == EXACT


def held_up(url, hold):
    """What a study of four options takes, while somebody holds so many pulls of its first batch.

    The k-th pull of an option has the same reward, whoever makes it. They come back once the other
    one has nothing to do.
    """
    drawn = [np.random.default_rng([1, arm]) for arm in range(4)]

    def reward(pull):
        return float((pull.arm == 3) + drawn[pull.arm].normal())

    study = sp.create_study("held", sp.Problem(np.eye(4)), storage=f"{url} {hold}", delta=0.05)
    theirs = study.ask(hold, "ann", 1e6) if hold else []
    while not study.finished:
        if pulls := study.ask(1, "bob"):
            study.tell(pulls[0].id, reward(pulls[0]), "bob")
        elif not study.finished:
            assert study.desk.waits_for().startswith("waiting for 4 measurements that ann has had")
            blind = study.progress().ahead
            assert 0 < blind <= 40
            assert not study.ask(1, "bob")  # nor later
            assert study.progress().ahead == blind
            for pull in theirs:
                study.tell(pull.id, reward(pull), "ann")
    return study.progress().measured


def test_what_is_begun_while_a_few_are_held_is_worth_it(url):
    alone = held_up(url, 0)
    assert alone < 120
    assert held_up(url, 4) <= 1.5 * alone


def test_a_newcomer_counts_as_one_more_who_may_go_on(url):
    study = Crew(url).study
    study.ask(100, "ann", 1e6)
    while pulls := study.ask(1, "bob"):
        study.tell(pulls[0].id, 0.0, "bob")
    two = study.progress().ahead
    assert study.ask(1, "eve")
    assert study.progress().ahead > two


def test_for_whom_one_waits():
    noon = datetime(2026, 3, 1, 12, 0).timestamp()
    ann = opened.Held("ann", 4, noon - 120.0, noon + 180.0)
    assert opened.held_in_words([ann], noon) == (
        "waiting for 4 measurements that ann has had since 11:58; unless told by 12:03, others get "
        "them"
    )
    somebody = opened.Held(None, 1, noon - 90_000.0, noon + 90_000.0)
    assert opened.held_in_words([somebody, ann], noon) == (
        "waiting for 1 measurement that a worker without a name has had since 2026-02-28 11:00, "
        "and for 4 more that other workers have; unless told by 2026-03-02 13:00, others get it"
    )


def test_how_far_ahead_is_bounded(url):
    """However long somebody is away, and however many are there."""
    crew = Crew(url, workers=3)
    crew.work(lambda at: at.batch >= 4)
    (away,) = crew.study.ask(1, "away", 10**6)
    at = crew.study.progress()
    for _ in range(4000):
        before = crew.study.progress()
        crew.work(lambda now, n=before.measured: now.measured > n or now.asked == at.asked)
        if not crew.study.ask(1, "one more"):
            break
        crew.study.fail(
            max(
                crew.study.desk.storage.read(
                    lambda tx: [
                        x.pull for x in tx.leases_of(crew.study.desk.record.id, "one more", None, 1)
                    ]
                )
            ),
            "only asking",
            "one more",
        )
    at = crew.study.progress()
    assert at.ahead < 2000
    crew.study.tell(away.id, crew.reward(away), worker="away")
    crew.work()
    assert crew.study.finished


@pytest.mark.some(1)
@pytest.mark.parametrize(("noise", "misfit"), KINDS[:3])
def test_corrected_and_withdrawn_while_batches_overlap(url, noise, misfit):
    crew = Crew(url, noise, misfit)
    study = crew.work(lambda at: at.batch >= 3 and at.early >= 4)
    at = study.progress()
    told = study.rewards().pulls
    early = int(told[told >= at.first + at.size][0])
    counted = [int(pull) for pull in told[told < at.first][:2]]
    assert not study.correct(early, 5.0, reason="read again").counted
    assert not study.withdraw(early, reason="a power cut").counted  # and so it is measured again
    assert study.progress().early == at.early - 1
    assert study.correct(counted[0], 2.5, reason="read again").counted
    assert study.withdraw(counted[1], reason="a power cut").counted
    crew.work(lambda now: now.batch >= at.batch + 3 and now.early >= 2)
    assert study.correct(counted[0], -1.5, reason="and again").counted
    crew.work()
    assert "batches are what the algorithm asks for" in check_everything(study).replay


def test_a_batch_of_which_nothing_is_left(url):
    crew = Crew(url)
    study = crew.work(lambda at: at.batch >= 4 and at.ahead > 0)
    batch = study.storage.read(lambda tx: tx.batch(study.desk.record.id, 2))
    assert batch.after is not None
    pulls = range(batch.first, batch.first + batch.size)
    study.withdraw_many(pulls, reason="a wrong sensor") if hasattr(study, "withdraw_many") else [
        study.withdraw(pull, reason="a wrong sensor") for pull in pulls
    ]
    crew.work()
    check_everything(study)


def test_stopped_by_hand_and_paused_with_batches_ahead(url):
    crew = Crew(url)
    study = crew.work(lambda at: at.ahead > 0 and at.batch >= 2)
    study.pause("lunch")
    assert study.ask(1, "somebody new") == []
    study.resume("back")
    answer = study.stop("no more money")
    assert answer.guarantee.kind == "none"
    check_whole(study)
    assert sp.verify(study.answer.certificate())


def test_what_is_forged_is_refused(url):
    certificate = Crew(url).work().answer.certificate()

    def refused(why):
        certificate["digest"] = fingerprint(certificate)
        with pytest.raises(CertificateError, match=why):
            sp.verify(certificate)

    ahead = [batch for batch in certificate["batches"] if "after" in batch]
    said = certificate["claim"]["statement"]
    certificate["claim"]["statement"] = said.replace(f"; {SAYS}", "")
    refused("the statement should be")
    certificate["claim"]["statement"] = said
    first = ahead[0]["after"]
    for other, why in (
        (10**6, "was asked for after"),
        (-1, "was asked for after"),
        (0.5, "not a whole number"),
    ):
        ahead[0]["after"] = other
        refused(why)
    ahead[0]["after"] = first
    right = [batch["after"] for batch in ahead]
    for batch in ahead:  # as if all of them had been asked for at the beginning
        batch["after"] = first
    refused("replayed")
    for batch, after in zip(ahead, right):
        batch["after"] = after
    certificate["algorithm"]["settings"]["max_batch"] = 10
    refused("overlap")
    certificate["algorithm"]["settings"] |= {"max_batch": None, "claims": "fdr"}
    refused("whoever stopped may have seen later rewards")


def test_where_batches_cannot_overlap_it_is_said(url):
    problem = sp.Problem(ARMS, noise=1.0)
    pooled = sp.algorithms.PooledPeleg
    for number, algorithm in enumerate(
        ("rage", pooled(0.1, max_batch=8), pooled(0.1, baseline=0, claims="fdr"))
    ):
        with pytest.raises(InvalidInputError, match=r"overlap.*pooled-peleg without max_batch"):
            sp.create_study("no", problem, algorithm, url, overlap=True)
        study = sp.create_study(f"study {number}", problem, algorithm, url)
        study.ask(10**4, "ann")
        assert study.ask(1, "bob") == []
    with pytest.raises(InvalidTypeError, match="overlap must be"):
        sp.create_study("no", problem, storage=url, overlap="yes")


def test_threads_and_processes_may_plan_at_once(storage_url):
    """Two objects that find nothing left at the same time ask for one batch, not for two."""
    study = Crew(storage_url).study
    other = sp.load_study("crew", study.storage)
    study.ask(100, "ann")
    for one in (study, other):
        one.desk.load()
    study.desk.plan_ahead()
    other.desk.plan_ahead()
    at = study.progress()
    batch = study.storage.read(lambda tx: tx.batch(study.desk.record.id, 2))
    assert batch is not None  # the second one saw the first, and asked for one more
    assert at.ahead == batch.first + batch.size - at.size
    check_whole(study)


def test_who_is_slow_to_plan_at_once_with_others_changes_nothing(storage_url):
    """What others have asked for ahead meanwhile, or just now, stays as it is."""
    study = Crew(storage_url).study
    study.ask(100, "ann")
    (quick, before), (slow, _) = study.desk.load(), sp.load_study("crew", study.storage).desk.load()
    assert quick is not slow
    where = (study.storage, study.desk.record)
    once = next_batch.plan_ahead(*where, quick, before)
    twice = next_batch.plan_ahead(*where, quick, once)
    assert twice.ahead > once.ahead > before.ahead
    assert next_batch.plan_ahead(*where, slow, before) is None
    assert study.progress().ahead == twice.ahead
    check_whole(study)
