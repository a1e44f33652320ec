"""Certificates of the m best: what is forged is refused."""

import copy
import functools
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pooled.questions import top
from surepick.errors import CertificateError
from surepick.proof.closeness import Closeness
from surepick.proof.purses import total
from surepick.proof.several import Several
from surepick.run.certificate import fingerprint
from surepick.verifier.verify import verify

MEANS = np.array([0.4, 1.3, -0.4, 0.9, 1.0, 0.5])


def run_of(epsilon=0.0, noise=0.4, most=4000, means=MEANS, delta=0.05, draws=2):
    rng = np.random.default_rng(draws)
    problem = sp.Problem(np.eye(6), noise=noise, labels=list("abcdef"))
    config = sp.algorithms.PooledPeleg(delta, top=3, epsilon=epsilon, max_samples=most)
    run = config.start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, means[batch.arms] + 0.4 * rng.normal(size=batch.size))
    return run


@functools.cache
def made(epsilon=0.0, most=4000):
    return run_of(epsilon, most=most).answer.certificate()


def forged(body, change):
    body = copy.deepcopy(body)
    change(body)
    return body | {"digest": fingerprint(body)}


def another_set(body):
    body["claim"]["candidates"][-1] = 0
    body["claim"]["survivors"] = sorted(body["claim"]["candidates"])


def fewer(body):
    body["claim"]["candidates"].pop()


def one_twice(body):
    body["claim"]["candidates"][-1] = body["claim"]["candidates"][0]


def another_label(body):
    body["claim"]["label"] = "c"


def another_first(body):
    body["claim"] |= {"candidate": 4, "label": "e"}


def raise_capital(body):
    drops = [drop for block in body["evidence"]["blocks"] for drop in block["dropped"]]
    drops[0]["log_capital"] += 0.5


def drop_early(body):
    blocks = body["evidence"]["blocks"]
    late = next(block for block in reversed(blocks) if block["dropped"])
    blocks[blocks.index(late) - 1]["dropped"] += late["dropped"]
    late["dropped"] = []


def ask_for_two(body):
    body["evidence"]["question"]["top"] = 2
    body["algorithm"]["settings"]["top"] = 2


def ask_for_one(body):
    del body["evidence"]["question"]
    body["claim"]["statement"] = body["claim"]["statement"].replace("3 best", "best")


def other_sure(body):
    block = body["evidence"]["blocks"][-1]
    block["sure"] = [2, *block["sure"][1:]]
    block["rivals"] = [r for r in block["rivals"] if r != 2] + [1]


def sure_twice(body):
    block = body["evidence"]["blocks"][-1]
    block["sure"] = block["sure"][:1] * 2


def other_order(body):
    body["evidence"]["blocks"][-1]["rivals"].reverse()


def say_more(body):
    body["claim"]["statement"] = body["claim"]["statement"].replace("0.95", "0.99")


def say_two(body):
    body["claim"]["statement"] = body["claim"]["statement"].replace("the 3 best", "the 2 best")


def without_union(body):
    body["claim"]["statement"] = body["claim"]["statement"].replace(", union over 3", "")


FORGERIES = [another_set, fewer, one_twice, another_label, another_first, raise_capital]
FORGERIES += [drop_early, ask_for_two, ask_for_one, other_sure, sure_twice, other_order]
FORGERIES += [say_more, say_two, without_union]


@pytest.mark.parametrize("change", FORGERIES, ids=lambda change: change.__name__)
def test_forged_ones_are_refused(change):
    found = verify(made())
    assert set(found.candidates) == {1, 3, 4}
    assert found.guarantee == "pac"
    assert found.risk == 0.05
    with pytest.raises(CertificateError):
        verify(forged(made(), change))


# -- runs of somebody who bends a rule, and records truly what came of it -------------------
def lower_goal(patch):
    """As if one candidate were asked for: 1/delta."""
    proper = top.TopM.__init__

    def begin(self, ground):
        proper(self, ground)
        self.goal -= math.log(self.m)

    patch.setattr(top.TopM, "__init__", begin)


def forget_the_sure(patch):
    patch.setattr(Several, "against", lambda self: total(self.logs[0]))


def surer_ones(patch):
    """Those who look best take the place of others, who still look good: capital is kept."""

    def anew(self, leading):
        self.sure = leading[: self.m - 1]

    patch.setattr(Several, "make_sure", anew)


def never_changed(patch):
    def stay(self, leading):
        self.sure = self.sure or [0, 1]

    patch.setattr(Several, "make_sure", stay)


def keep_what_the_last_had(patch):
    """The last capital goes on with all that it has when another becomes sure."""
    proper = Several.make_sure

    def greedy(self, leading):
        before = self.logs[0].copy()
        proper(self, leading)
        self.logs[0] = before

    patch.setattr(Several, "make_sure", greedy)


def stay_with_all(patch):
    """Who stays keeps all, though who left had less."""
    proper = Several.make_sure

    def rich(self, leading):
        before = dict(zip(self.sure, self.logs[1:].copy()))
        proper(self, leading)
        for k, one in enumerate(self.sure):
            self.logs[1 + k] = before.get(one, self.logs[1 + k])

    patch.setattr(Several, "make_sure", rich)


def start_full(patch):
    proper = Closeness.evidence
    patch.setattr(Closeness, "evidence", lambda self, one: proper(self, one) + math.log(12))


BENT = [
    (lower_goal, 0.0, "is not high enough"),
    (forget_the_sure, 0.0, "the log capital against"),
    (surer_ones, 0.0, "is no longer sure, and should be"),
    (never_changed, 0.0, "is not one of the 3 that looked best"),
    (keep_what_the_last_had, 0.0, "the log capital against"),
    (stay_with_all, 0.0, "the log capital against"),
    (start_full, 0.1, "may be more than epsilon better"),
]
CLOSE = np.array([0.5, 1.3, -0.4, 0.72, 0.7, 0.65])


@pytest.mark.parametrize(("bend", "epsilon", "said"), BENT, ids=[b[0].__name__ for b in BENT])
def test_runs_by_other_rules_are_refused(bend, epsilon, said, monkeypatch):
    complaints = []
    for draws in range(24, 80):  # few runs come to where some of the rules differ
        same = {"means": CLOSE, "delta": 0.2, "draws": draws}
        verify(run_of(epsilon, **same).answer.certificate())
        with monkeypatch.context() as patch:
            bend(patch)
            body = run_of(epsilon, **same).answer.certificate()
        try:
            verify(body)
        except CertificateError as refusal:
            complaints.append(str(refusal))
            if said in complaints[-1]:
                return
    pytest.fail(f"nobody said {said!r}, but {complaints}")


def test_closeness_is_checked():
    body = made(0.3)
    assert body["claim"]["guarantee"] == "eps-pac"
    verify(body)

    def another(body):
        rest = set(body["claim"]["survivors"]) - set(body["claim"]["candidates"])
        body["claim"]["candidates"][-1] = min(rest)

    def closer(body):
        body["epsilon"] = body["algorithm"]["settings"]["epsilon"] = 0.1
        body["claim"]["statement"] = body["claim"]["statement"].replace("0.3", "0.1")

    def as_proven(body):
        body["claim"]["guarantee"] = "pac"
        start, end = (body["claim"]["statement"].index(word) for word in ("3 options", " with pr"))
        said = body["claim"]["statement"]
        body["claim"]["statement"] = f"{said[:start]}the 3 best{said[end:]}"

    for change in (another, closer, as_proven):
        with pytest.raises(CertificateError):
            verify(forged(body, change))


def test_a_run_that_was_cut_off_promises_nothing_more():
    body = made(most=60)
    assert body["claim"]["guarantee"] == "none"
    assert "the answer is those that look best" in body["claim"]["statement"]
    verify(body)

    def promise(body):
        body["claim"] |= {"guarantee": "pac", "statement": made()["claim"]["statement"]}

    with pytest.raises(CertificateError, match="still in the race"):
        verify(forged(body, promise))


def test_who_stops_by_hand_knows_where_the_best_are():
    run = run_of(most=200)
    run = sp.algorithms.PooledPeleg(0.05, top=3).start(run.problem)
    rng = np.random.default_rng(2)
    while len(run.active) == 6:
        batch = run.ask()
        run.tell(batch, MEANS[batch.arms] + 0.4 * rng.normal(size=batch.size))
    run.end()
    left = len(run.active)
    said = f"and the 3 best are among those {left} with probability at least 0.95"
    assert said in run.answer.guarantee
    verify(run.answer.certificate())
