"""What is close enough, named on the way."""

import copy

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError, RunStateError
from surepick.run import Run

MEANS = np.array([0.0, 0.8, 0.82, 0.3])
TABLE = (np.random.default_rng(1).random((4, 400)) < [[0.3], [0.5], [0.6], [0.6]]).astype(float)


def of_pulls(**more):
    problem = sp.Problem.unstructured(list("abcd"), noise=1.0)
    run = sp.algorithms.PooledPeleg(0.1, **more).start(problem, 1)
    return run, lambda batch, rng: MEANS[batch.arms] + rng.normal(size=batch.size)


def of_table(**more):
    problem = sp.Problem.unstructured(list("abcd"), noise="yes-no")
    run = sp.algorithms.PooledPeleg(0.1, complete=400, **more).start(problem, 1)
    return run, lambda batch, rng: TABLE[batch.arms, batch.items]


def of_pairs(**more):
    problem = sp.Problem.pairs(list("abcd"))
    run = sp.algorithms.get("pairs", delta=0.1, **more).start(problem, 1)
    strength = np.array([0.0, 0.2, 1.0, 1.0])

    def judged(batch, rng):
        first, second = problem.pairing.firsts(batch.arms), problem.pairing.seconds(batch.arms)
        likely = 1 / (1 + np.exp(strength[second] - strength[first]))
        return (rng.random(batch.size) < likely).astype(float)

    return run, judged


KINDS = {
    "pulls": (of_pulls, 0.3),
    "two of pulls": (lambda: of_pulls(top=2), 0.6),
    "a table": (of_table, 0.08),
    "two of a table": (lambda: of_table(top=2), 0.08),
    "pairs, who wins most": (lambda: of_pairs(beats="most"), 0.15),
    "pairs, not confirmed": (lambda: of_pairs(confirm=False), 0.15),
}


def followed(run, measure, at, epsilon, save=False):
    rng = np.random.default_rng(0)
    while not run.stopped:
        if not run.accepted and not run.waiting and run.samples >= at:
            run.accept(epsilon, reason="alike", by="ann")
        if save:
            run = Run.from_json(run.to_json(), run.problem)
        batch = run.ask()
        run.tell(batch, measure(batch, rng))
    return run


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_promised_verified_replayed_and_saved(kind):
    make, epsilon = KINDS[kind]
    run = followed(*make(), 150, epsilon)
    again = followed(*make(), 150, epsilon, save=True)
    answer = run.answer
    assert answer.guarantee.kind == ("if-any" if "not confirmed" in kind else "eps-pac")
    assert answer.epsilon == epsilon
    assert answer.to_dict() == again.answer.to_dict()
    certificate = answer.certificate()
    (entry,) = certificate["accepted"]
    assert entry["epsilon"] == [0.0, epsilon]
    found = sp.verify(certificate, replay=True)
    assert found.replay == "every batch is what the algorithm asks for"
    assert not found.unknown


@pytest.mark.parametrize(
    "forge",
    [
        lambda body: body.pop("accepted"),
        lambda body: body["accepted"][0].update(batch=body["accepted"][0]["batch"] - 3),
        lambda body: body["accepted"][0].update(batch=0),
        lambda body: body["accepted"][0].update(epsilon=[0.0, 0.1]),
        lambda body: body["accepted"][0].update(epsilon=[0.2, 0.3]),
        lambda body: body["accepted"][0].update(changes=1),
        lambda body: body["accepted"][0].pop("reason"),
        lambda body: body["accepted"].append(dict(body["accepted"][0])),
        lambda body: body.update(accepted=[]),
    ],
)
def test_a_forged_moment_is_refused(forge):
    body = copy.deepcopy(followed(*of_pulls(), 150, 0.3).answer.certificate())
    forge(body)
    with pytest.raises(CertificateError):
        sp.verify(body, replay=True)


def test_it_may_be_done_again_with_more_and_never_with_less():
    run, measure = of_pulls()
    rng = np.random.default_rng(0)
    for epsilon in (0.01, 0.3):
        for _ in range(5):
            batch = run.ask()
            run.tell(batch, measure(batch, rng))
        assert run.accept(epsilon)
    with pytest.raises(InvalidInputError, match=r"larger than 0\.3"):
        run.accept(0.3)
    run = followed(run, measure, 10**9, 0.0)
    assert [one["epsilon"] for one in run.accepted] == [[0.0, 0.01], [0.01, 0.3]]
    assert sp.verify(run.answer.certificate(), replay=True)


def test_options_may_come_and_go_before_and_after_it():
    run, _ = of_pulls()
    rng = np.random.default_rng(0)
    means = np.append(MEANS, [0.81, 0.5])

    def some(batches):
        for _ in range(batches):
            if not run.stopped:
                batch = run.ask()
                run.tell(batch, means[batch.arms] + rng.normal(size=batch.size))

    some(4)
    run.add(np.eye(5)[4:], ["e"])
    some(3)
    run.accept(0.3)
    run.retire("c")
    some(2)
    run.add(np.eye(6)[5:], ["f"])
    while not run.stopped:
        some(1)
    body = run.answer.certificate()
    assert body["accepted"][0]["changes"] == 1
    assert sp.verify(body, replay=True).replay == "every batch is what the algorithm asks for"


def test_an_open_batch_is_finished_first():
    run, measure = of_pulls()
    batch = run.ask()
    assert not run.accept(0.3)
    assert (run.algorithm.epsilon, run.epsilon_ahead) == (0.0, 0.3)
    run.tell(batch, measure(batch, np.random.default_rng(0)))
    assert run.algorithm.epsilon == 0.3


@pytest.mark.parametrize(
    ("algorithm", "problem", "message"),
    [
        (sp.algorithms.get("peleg", delta=0.1), sp.Problem(np.eye(3), noise=1.0), "from the start"),
        (sp.algorithms.PooledPeleg(0.1, baseline=0), sp.Problem(np.eye(3), noise=1.0), "question"),
        (sp.algorithms.get("pairs", delta=0.1), sp.Problem.pairs(list("abc")), "confirmed"),
    ],
)
def test_where_it_cannot_be_had_the_reason_is_said(algorithm, problem, message):
    with pytest.raises(InvalidInputError, match=message):
        algorithm.start(problem, 1).accept(0.1)


def test_what_is_decided_or_makes_no_sense_is_refused():
    run, measure = of_pulls()
    for epsilon in (0.0, -1.0, float("nan")):
        with pytest.raises(InvalidInputError, match="epsilon"):
            run.accept(epsilon)
    run = followed(run, measure, 150, 0.3)
    with pytest.raises(RunStateError, match="decided already"):
        run.accept(0.4)
