"""Options compared two at a time, from the problem to the certificate."""

import json
import math
import sys

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pairs.pairs import Pairs
from surepick.errors import InvalidInputError, RunStateError
from surepick.run.certificate import fingerprint
from surepick.run.order import Draws
from surepick.run.words import verdict


def chances(*strengths):
    s = np.array(strengths, dtype=float)
    return 1 / (1 + np.exp(s - s[:, None]))


#: 0 beats 1, 1 beats 2, 2 beats 0, and all three beat the others
CYCLE = chances(3, 3, 3, 0, 0)
for _a, _b in ((0, 1), (1, 2), (2, 0)):
    CYCLE[_a, _b], CYCLE[_b, _a] = 0.85, 0.15
CLEAR = chances(1.5, 0.3, 0.0, -0.5)


def judged(chance, seed=0, *, ties=0.0, left=0.0, **settings):
    rng = np.random.default_rng(seed)

    def judge(first, second):
        if ties and rng.random() < ties:
            return 0.5
        odds = math.log(chance[first, second] / chance[second, first]) + left
        return float(rng.random() < 1 / (1 + math.exp(-odds)))

    problem = sp.Problem.pairs([f"option {i}" for i in range(len(chance))])
    return sp.identify(problem, judge=judge, seed=seed, **settings)


def checked(answer):
    certificate = json.loads(json.dumps(answer.certificate()))
    found = sp.verify(certificate, replay=True)
    assert found.replayed
    assert not found.unknown
    assert found.statement == str(answer.guarantee)
    return certificate


SETTINGS = {
    "everyone": {},
    "confirm": {"confirm": True},
    "most": {"beats": "most"},
    "epsilon": {"epsilon": 0.12},
    "most-epsilon": {"beats": "most", "epsilon": 0.12},
    "limit": {"max_samples": 30},
    "most-limit": {"beats": "most", "max_samples": 13},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_the_answer_holds_for_the_verifier_and_its_run_can_be_made_again(name, ties):
    answer = judged(CLEAR, 1, ties=ties, **SETTINGS[name])
    checked(answer)
    if "limit" not in name:
        assert answer.guarantee
        assert answer.label == "option 0"


def test_one_left_is_not_yet_said_to_beat_everyone():
    answer = judged(CLEAR, 1)
    assert "the one that beats every other, if there is one, with" in answer.guarantee
    assert "if any option beats every other" in answer.plain.lower()
    answer = judged(CLEAR, 1, confirm=True)
    assert answer.guarantee.startswith("the one that beats every other with")


def test_in_a_cycle_nobody_is_said_to_beat_everybody():
    for seed in range(5):
        answer = judged(CYCLE, seed)
        checked(answer)
        assert not answer.guarantee.startswith("the one that beats every other with")


def test_nobody_beats_everybody_is_an_answer_with_its_cycle():
    answer = judged(CYCLE, 2, confirm=True)
    checked(answer)
    assert answer.guarantee.kind == "nobody"
    assert not answer.guarantee  # nobody should take the one that is named
    assert answer.survivors == ()
    assert answer.circle == ("option 0", "option 1", "option 2")
    assert "No option beats every other" in answer.plain
    assert "'option 0' beats 'option 1'" in answer.plain
    found = sp.verify(answer.certificate(), replay=False)
    assert any("holds: no option beats every other" in line for line in verdict(found))


def test_a_judge_who_favours_the_left_does_no_harm():
    # In their own order even the worst would win against anybody.
    wrong = [judged(CLEAR, seed, left=2.0, delta=0.2).arm != 0 for seed in range(10)]
    assert sum(wrong) <= 2


def test_who_is_compared_does_not_depend_on_who_is_shown_first(monkeypatch):
    """A planner that sees the coin can have the best shown second whenever it wants."""
    problem, planned = sp.Problem.pairs(6), []
    pairing, words = problem.pairing, Draws.words
    for coins in (lambda n: np.zeros(n, np.uint64), lambda n: np.full(n, 2**63, np.uint64)):
        monkeypatch.setattr(
            Draws, "words", lambda self, s, n, c=coins: c(n) if s == 0 else words(self, s, n)
        )
        for beats in ("everyone", "most"):
            run, seen = Pairs(0.05, beats=beats).start(problem, 3), []
            for _ in range(6):
                batch = run.ask()
                pairs = [pairing.of(arm) for arm in batch.pulls.arms.tolist()]
                seen.append(sorted(tuple(sorted(pair)) for pair in pairs))
                run.tell(batch, [0.5] * batch.size)
            planned.append(seen)
    assert planned[0] == planned[2]
    assert planned[1] == planned[3]


def test_every_comparison_counts_by_its_own_number_whatever_the_order_of_measuring():
    problem = sp.Problem.pairs(5)
    runs = [Pairs(0.05).start(problem, 7) for _ in range(2)]
    for _ in range(4):
        for run in runs:
            batch = run.ask()
            first = batch.arms // 4
            second = np.array([problem.pairing.of(arm)[1] for arm in batch.arms.tolist()])
            run.tell(batch, (first < second).astype(float))
    assert np.array_equal(runs[0].state.purses.pairs, runs[1].state.purses.pairs)
    # Sums over comparisons would not say which of them were ties.
    with pytest.raises(InvalidInputError, match="every single reward"):
        runs[0].tell(runs[0].ask(), sums=np.zeros(20))


@pytest.mark.parametrize("beats", ["everyone", "most"])
def test_saved_and_loaded_at_any_point(beats):
    problem = sp.Problem.pairs(4, features=[[1.0], [0.5], [0.0], [-1.0]])
    run = Pairs(0.1, beats=beats, epsilon=0.05).start(problem, 11)
    other = sp.Run.from_json(run.to_json())
    for step in range(8):
        batch, same = run.ask(), other.ask()
        assert batch.pulls.same(same.pulls)
        if step % 2:
            other = sp.Run.from_json(other.to_json())  # with the batch open
        rewards = [(0.0, 0.5, 1.0)[i % 3] for i in range(batch.size)]
        run.tell(batch, rewards)
        other.tell(other.ask(), rewards)
    assert np.array_equal(run.state.purses.peaks, other.state.purses.peaks)
    assert run.state.blocks == other.state.blocks == list(range(8))


def _forged(certificate, change):
    body = json.loads(json.dumps(certificate))
    change(body)
    return body | {"digest": fingerprint(body)}


def _swap(body):
    """Shown in the other order, with the result turned round: nothing else changes."""
    batch = body["batches"][0]
    K = len(body["problem"]["candidates"])
    first, place = divmod(batch["arms"][0], K - 1)
    second = place + (place >= first)
    batch["arms"][0] = second * (K - 1) + first - (first > second)
    batch["sums"][0] = 1.0 - batch["sums"][0]


def _leave_out_a_block(body):
    del body["batches"][1]
    body["evidence"]["blocks"].pop()
    body["claim"]["samples"] = sum(len(batch["arms"]) for batch in body["batches"])


def _leave_out_a_comparison(body):
    for column in body["batches"][0].values():
        del column[2]
    body["claim"]["samples"] -= 1


def _turn_a_result(body):
    body["batches"][0]["sums"][0] = 1.0 - body["batches"][0]["sums"][0]


def _claim_more(body):
    claim = body["claim"]
    claim["statement"] = claim["statement"].replace(", if there is one,", "")


def _another(body):
    body["claim"] |= {"candidate": 1, "label": "option 1", "survivors": [1]}


def _another_question(body):
    body["evidence"]["beats"] = "most"


FORGERIES = [
    (_swap, "the order is not that of the coin"),
    (_leave_out_a_block, "of the coin|capital"),
    (_leave_out_a_comparison, "has gaps"),
    (_turn_a_result, "capital"),
    (_claim_more, "the statement should be"),
    (_another, "survivors are not those"),
    (_another_question, "opponents|set to"),
]


@pytest.mark.parametrize(("forge", "why"), FORGERIES)
def test_the_verifier_refuses(forge, why):
    certificate = judged(CLEAR, 1).certificate()
    with pytest.raises(sp.errors.CertificateError, match=why):
        sp.verify(_forged(certificate, forge), replay=False)


def test_the_verifier_refuses_other_opponents_than_were_drawn():
    certificate = judged(CLEAR, 1, beats="most").certificate()
    with pytest.raises(sp.errors.CertificateError, match="opponents are not those"):
        sp.verify(_forged(certificate, _swap_opponent), replay=False)


def test_the_verifier_refuses_a_cycle_the_other_way_round():
    certificate = judged(CYCLE, 2, confirm=True).certificate()
    with pytest.raises(sp.errors.CertificateError, match="it is not shown that option"):
        sp.verify(_forged(certificate, _turn_the_cycle), replay=False)


def _turn_the_cycle(body):
    body["evidence"]["cycle"].reverse()


def _swap_opponent(body):
    batch = body["batches"][0]
    K = len(body["problem"]["candidates"])
    arms = set(batch["arms"])
    batch["arms"][0] = next(arm for arm in range(K * (K - 1)) if arm not in arms)


def test_what_pairs_cannot_do_is_refused_with_words():
    problem = sp.Problem.pairs(["a", "b", "c"])

    def judge(first, second):
        return 1.0

    for asked in ({"top": 2}, {"baseline": "a"}, {"threshold": 0.5}):
        with pytest.raises(InvalidInputError, match="compared two at a time"):
            sp.identify(problem, judge=judge, **asked)
    with pytest.raises(InvalidInputError, match="give judge"):
        sp.identify(problem, lambda arm: 1.0)
    with pytest.raises(InvalidInputError, match="judge, beats and confirm are for"):
        sp.identify(sp.Problem([[1.0], [2.0]]), lambda arm: 1.0, beats="most")
    with pytest.raises(InvalidInputError, match="measures options one by one"):
        sp.algorithms.PooledPeleg(0.05).start(problem)
    with pytest.raises(InvalidInputError, match=r"Problem\.pairs"):
        Pairs(0.05).start(sp.Problem([[1.0], [2.0]]))
    with pytest.raises(InvalidInputError, match=r"Problem\.pairs"):
        Pairs(0.05).start(sp.Problem([[1.0], [2.0]], noise="pairs"))
    with pytest.raises(InvalidInputError, match=r"1 .the first is better"):
        sp.identify(problem, judge=lambda first, second: 0.7)
    with pytest.raises(InvalidInputError, match="nothing more to show"):
        Pairs(0.05, beats="most", confirm=True)
    run = Pairs(0.05).start(problem)
    with pytest.raises(InvalidInputError, match="cannot come and go"):
        run.retire("a vs b")
    with pytest.raises(InvalidInputError, match="2 to 200 options"):
        sp.Problem.pairs(["alone"])


def test_budget_and_costs_of_comparisons():
    answer = judged(CLEAR, 1, budget=25)
    assert answer.samples == 25
    assert not answer.guarantee


def test_withdrawn_comparisons_of_wins_most_that_cannot_be_told_apart():
    problem = sp.Problem.pairs(2)
    state = Pairs(0.05, beats="most").start(problem, 1).state
    pulls = state._pulls(np.array([0, 0, 1]))
    with pytest.raises(RunStateError, match="which of two equal comparisons"):
        state.fewer(pulls, np.array([1, 1]))
    assert state.fewer(pulls, np.array([2, 0])).parts.tolist() == [0, 1]


def test_numbering_of_pairs_is_what_the_verifier_takes_it_for():
    from surepick.verifier.rules.pairs import _pair

    pairing = sp.Problem.pairs(7).pairing
    assert [pairing.of(arm) for arm in range(42)] == [_pair(arm, 7) for arm in range(42)]
    assert sys.getsizeof(sp.Problem.pairs(120).arms) < 1e6  # of thousands of pairs
