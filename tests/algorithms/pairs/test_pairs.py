"""Options compared two at a time, from the problem to the certificate."""

import json
import math
import sys
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from tests.coroutines import completed

import surepick as sp
from surepick.algorithms.pairs.pairs import Pairs
from surepick.errors import InvalidInputError, RunStateError
from surepick.run.certificate import fingerprint
from surepick.run.doubts import without_guarantee
from surepick.run.order import Draws
from surepick.run.verify import verdict


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
    "unconfirmed": {"confirm": False},
    "unconfirmed-epsilon": {"confirm": False, "epsilon": 0.12},
    "most": {"beats": "most"},
    "epsilon": {"epsilon": 0.12},
    "most-epsilon": {"beats": "most", "epsilon": 0.12},
    "limit": {"max_samples": 30},
    "most-limit": {"beats": "most", "max_samples": 13},
    "top": {"beats": "most", "top": 2},
    "top-epsilon": {"beats": "most", "top": 2, "epsilon": 0.2},
    "top-limit": {"beats": "most", "top": 2, "max_samples": 50},
}


@pytest.mark.some(4)
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_the_answer_holds_for_the_verifier_and_its_run_can_be_made_again(name, ties):
    answer = judged(CLEAR, 1, ties=ties, **SETTINGS[name])
    checked(answer)
    if "limit" not in name:
        assert answer.guarantee.shown
        assert bool(answer.guarantee) == ("unconfirmed" not in name)
        assert answer.label == "option 0"
        assert (answer.labels == ("option 0", "option 1")) == ("top" in name)


def test_the_answer_says_how_many_win_most():
    answer = judged(CLEAR, 1, beats="most", top=2)
    assert answer.guarantee.startswith("the 2 that win most with probability")
    assert "They win most. " in answer.plain
    assert "direct comparisons" not in answer.plain  # those of one of them would say little
    near = judged(CLEAR, 1, beats="most", top=2, epsilon=0.2)
    assert "at most 0.2 less often than the last of the 2 that win most" in near.guarantee
    assert near.samples < answer.samples
    with pytest.raises(InvalidInputError, match=r"top: only one .*beats='most'"):
        judged(CLEAR, 1, top=2)
    with pytest.raises(InvalidInputError, match="the 4 that win most are all of them"):
        judged(CLEAR, 1, top=4, beats="most")
    with pytest.raises(InvalidInputError, match="asks for the 2 best"):
        Pairs(0.05, top=2, beats="most").start(sp.Problem.pairs(3), 1).retire("0")


def test_one_left_is_not_yet_said_to_beat_everyone():
    answer = judged(CLEAR, 1, confirm=False)
    assert "the one that beats every other, if there is one, with" in answer.guarantee
    assert answer.plain.startswith("If any option beats every other, it is this one; that it does")
    assert answer.guarantee.kind == "if-any"
    assert not answer.guarantee
    found = sp.verify(answer.certificate())
    assert found.guarantee == "if-any"
    assert verdict(found)[0].startswith("The certificate holds, but not that any option is the")
    answer = judged(CLEAR, 1)
    assert answer.guarantee.startswith("the one that beats every other with")


def test_in_a_cycle_nobody_is_said_to_beat_everybody():
    for seed in range(5):
        answer = judged(CYCLE, seed)
        checked(answer)
        assert not answer.guarantee.startswith("the one that beats every other with")


@pytest.mark.parametrize("settings", [{}, {"confirm": False}, {"epsilon": 0.2}])
def test_of_a_cycle_none_is_ever_called_the_best_without_an_if(settings):
    chance = np.array([[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]])  # rock, paper, scissors
    for seed in range(20):
        answer = judged(chance, seed, delta=0.2, **settings)
        assert not answer.guarantee
        allowed = ("if-any", "nobody") if "confirm" in settings else ("nobody",)
        assert answer.guarantee.kind in allowed
        said = answer.plain.lower()
        assert said.startswith(("if any option beats every other", "no option beats every other"))


def test_close_to_everyone_counts_those_who_were_ruled_out():
    # 1 beats 0 and loses clearly to 2, which 0 beats: 0 alone is left, or close to whoever is in.
    chance = np.array([[0.5, 0.3, 0.8], [0.7, 0.5, 0.05], [0.2, 0.95, 0.5]])
    for seed in range(5):
        assert judged(chance, seed, epsilon=0.1, delta=0.2).guarantee.kind == "nobody"
    alike = np.array([[0.5, 0.5, 0.9], [0.5, 0.5, 0.9], [0.1, 0.1, 0.5]])
    answer = judged(alike, 1, epsilon=0.15)
    checked(answer)
    assert answer.guarantee.kind == "eps-pac"
    assert "preferred in at least 0.35 of all comparisons to every other option" in answer.plain

    def only_those_in(body):
        body["algorithm"]["settings"]["confirm"] = False

    with pytest.raises(sp.errors.CertificateError, match="may be better by more than epsilon"):
        sp.verify(_forged(answer.certificate(), only_those_in), replay=False)


def test_once_options_came_or_went_it_is_the_best_only_if_any_is():
    run = Pairs(0.1).start(sp.Problem.pairs(["a", "b", "c"]), 1)
    while not run.stopped:
        if run.batches == 2 and not run.retired:
            run.retire("c")
        batch = run.ask()
        first = [run.problem.pairing.of(arm)[0] for arm in batch.arms.tolist()]
        second = [run.problem.pairing.of(arm)[1] for arm in batch.arms.tolist()]
        run.tell(batch, [float(a < b) for a, b in zip(first, second)])
    assert run.answer.guarantee.kind == "if-any"
    assert sp.verify(run.answer.certificate()).replayed


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
    less = without_guarantee(answer, "the noise is not what the study was told")
    assert sp.verify(less.certificate(), replay=False).guarantee == "heuristic"


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
            first = problem.pairing.firsts(batch.arms)
            second = problem.pairing.seconds(batch.arms)
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
    batch["arms"][0] ^= 1  # the two orders of a pair follow each other
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


def _claim_without_if(body):
    body["claim"]["guarantee"] = "pac"


def _claim_close(body):
    body["claim"]["guarantee"] = "eps-pac"


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
    (_claim_without_if, "not shown to beat every other"),
    (_claim_close, "may be better by more than epsilon"),
    (_another, "survivors are not those"),
    (_another_question, "opponents|set to"),
]


@pytest.mark.some(4)
@pytest.mark.parametrize(("forge", "why"), FORGERIES)
def test_the_verifier_refuses(forge, why):
    certificate = judged(CLEAR, 1, confirm=False).certificate()
    with pytest.raises(sp.errors.CertificateError, match=why):
        sp.verify(_forged(certificate, forge), replay=False)


def _name_others(body):
    body["claim"] |= {"candidate": 2, "label": "option 2", "candidates": [2, 3]}


def _ask_for_one(body):
    del body["evidence"]["question"]


def _ask_for_three(body):
    body["evidence"]["question"]["top"] = body["algorithm"]["settings"]["top"] = 3


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (_name_others, "dropped is chosen"),
        (_ask_for_one, "its claim has 'candidates', by what was asked"),
        (_ask_for_three, "capital"),
        (_turn_a_result, "capital"),
    ],
)
def test_the_verifier_refuses_others_that_win_most(forge, why):
    certificate = judged(CLEAR, 1, beats="most", top=2).certificate()
    with pytest.raises(sp.errors.CertificateError, match=why):
        sp.verify(_forged(certificate, forge), replay=False)


def test_the_verifier_refuses_other_opponents_than_were_drawn():
    certificate = judged(CLEAR, 1, beats="most").certificate()
    noticed = 0
    for step in range(1, 12):  # to every other pair; some are the right ones of another option
        with pytest.raises(sp.errors.CertificateError) as refused:
            sp.verify(_forged(certificate, partial(_swap_opponent, step)), replay=False)
        noticed += "opponents are not those" in str(refused.value)
    assert noticed > 0


def test_the_verifier_refuses_a_cycle_the_other_way_round():
    certificate = judged(CYCLE, 2, confirm=True).certificate()
    with pytest.raises(sp.errors.CertificateError, match="it is not shown that option"):
        sp.verify(_forged(certificate, _turn_the_cycle), replay=False)


def _turn_the_cycle(body):
    body["evidence"]["cycle"].reverse()


def _swap_opponent(step, body):
    batch = body["batches"][0]
    batch["arms"][0] = (batch["arms"][0] + step) % 12


def test_what_pairs_cannot_do_is_refused_with_words():
    problem = sp.Problem.pairs(["a", "b", "c"])

    def judge(first, second):
        return 1.0

    for asked in ({"quantile": 0.5}, {"threshold": 0.5}):
        with pytest.raises(InvalidInputError, match=r"a comparison (says|has)"):
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
    for settings in ({"epsilon": 0.1},):
        with pytest.raises(InvalidInputError, match=f"with {next(iter(settings))}, what is"):
            Pairs(0.05, **settings).start(problem).retire("a")
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
    from surepick.verifier.options import pair_of

    pairing = sp.Problem.pairs(7).pairing
    assert [pairing.of(arm) for arm in range(42)] == [pair_of(arm) for arm in range(42)]
    assert sys.getsizeof(sp.Problem.pairs(120).arms) < 1e6  # of thousands of pairs


def test_the_two_orders_of_a_pair_follow_each_other_and_more_options_change_no_number():
    few, many = sp.Problem.pairs(4).pairing, sp.Problem.pairs(200).pairing
    assert [few.of(arm) for arm in range(12)] == [many.of(arm) for arm in range(12)]
    arms = np.arange(many.ordered)
    first, second = many.firsts(arms), many.seconds(arms)
    assert np.array_equal(many.arms(first, second), arms)
    assert np.array_equal(many.arms(second, first), arms ^ 1)


# -- items ----------------------------------------------------------------------------------
@pytest.mark.parametrize("beats", ["everyone", "most"])
def test_each_comparison_has_an_item_of_its_own(beats):
    seen = []

    def judge(first, second, item):
        seen.append(item)
        # What is better depends on the item: 0 wins on most of them.
        return float(first == 0) if item < 4 and 0 in (first, second) else float(item % 2)

    problem = sp.Problem.pairs(3)
    asked = Pairs(0.05, items=5, beats=beats)
    answer = sp.identify(problem, judge=judge, algorithm=asked, seed=3)
    assert answer.arm == 0
    assert "best on average over all 5 items" in answer.guarantee
    assert set(seen) == set(range(5))
    assert len({tuple(seen[i : i + 8]) for i in range(0, 40, 8)}) > 1
    checked(answer)


def test_items_do_not_depend_on_results_nor_on_when_the_run_was_saved():
    problem = sp.Problem.pairs(4)
    runs = [Pairs(0.05, items=7).start(problem, 5) for _ in range(2)]
    for _ in range(4):
        one, other = (run.ask() for run in runs)
        ahead = [run.ask_ahead() for run in runs]
        assert np.array_equal(one.items, other.items)
        assert np.array_equal(ahead[0].items, ahead[1].items)
        runs[1] = sp.Run.from_json(runs[1].to_json())
        again = runs[1].ask()
        assert np.array_equal(again.items, one.items)
        runs[0].tell(one, [0.5] * len(one))
        runs[1].tell(again, [0.5] * len(one))
        assert np.array_equal(runs[0].ask().items, runs[1].ask().items)


# -- blocks that overlap --------------------------------------------------------------------
@pytest.mark.parametrize("beats", ["everyone", "most"])
def test_blocks_may_overlap_and_are_told_in_turn(beats):
    problem, rng = sp.Problem.pairs(4), np.random.default_rng(1)
    run = Pairs(0.05, beats=beats).start(problem, 2)
    pairing = problem.pairing
    while not run.stopped:
        batch = run.ask()
        while run.ahead < 3 and run.ask_ahead() is not None:
            pass
        won = CLEAR[pairing.firsts(batch.arms), pairing.seconds(batch.arms)]
        run.tell(batch, (rng.random(len(batch)) < won).astype(float))
    assert run.answer.arm == 0
    assert "as batches overlapped" in run.answer.guarantee
    checked(run.answer)


def test_no_end_of_blocks_is_planned_ahead():
    run = Pairs(0.05).start(sp.Problem.pairs(4), 2)
    batch, blocks = run.ask(), 0
    while run.ask_ahead() is not None:
        blocks += 1
    assert 4 <= blocks < 40
    # Those ahead of the first results meet other neighbours than the first block.
    assert len(batch) == 8


# -- judges that are awaited ----------------------------------------------------------------
def test_a_coroutine_judges_a_whole_block_at_once():
    import asyncio

    under_way, most = 0, 0

    async def judge(first, second):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.02)
        under_way -= 1
        return float(first < second)

    answer = sp.identify(sp.Problem.pairs(3), judge=judge, seed=1)
    assert answer.arm == 0
    assert most >= 8

    async def inside():  # as in a notebook
        return sp.identify(sp.Problem.pairs(3), judge=judge, seed=1)

    assert completed(inside()).samples == answer.samples


# -- costs ----------------------------------------------------------------------------------
def test_a_comparison_costs_what_its_two_options_cost():
    problem = sp.Problem.pairs(["a", "b", "c"], costs=[1.0, 2.0, 5.0])
    assert problem.costs[problem.labels.index("b vs c")] == 7.0
    answer = sp.identify(problem, judge=lambda first, second: 0.5, budget=60, seed=1)
    assert not answer.guarantee
    assert 53 < answer.cost <= 60
    with pytest.raises(InvalidInputError, match="one number for each of the 3 options"):
        sp.Problem.pairs(["a", "b", "c"], costs=[1.0])


# -- options that come and go ---------------------------------------------------------------
def _told(run, strengths, rng, batches):
    """Some batches, by options of these strengths."""
    for _ in range(batches):
        if run.stopped:
            return
        batch, pairing = run.ask(), run.problem.pairing
        lead = strengths[pairing.firsts(batch.arms)] - strengths[pairing.seconds(batch.arms)]
        run.tell(batch, (rng.random(len(batch)) < 1 / (1 + np.exp(-lead))).astype(float))


@pytest.mark.some(2)
@pytest.mark.parametrize("costs", [None, [1.0, 2.0, 4.0]])
@pytest.mark.parametrize("beats", ["everyone", "most"])
def test_options_come_and_go(beats, costs):
    rng, strengths = np.random.default_rng(3), np.array([1.0, 0.0, -1.0, 2.5, 0.5])
    run = Pairs(0.05, beats=beats).start(sp.Problem.pairs(["a", "b", "c"], costs=costs), 4)
    _told(run, strengths, rng, 3)
    batch = run.ask()
    assert not run.add(None, ["d"], costs=costs and [8.0], reason="new")  # a block is open
    run.tell(batch, [0.5] * len(batch))
    assert run.problem.candidate_labels == ("a", "b", "c", "d")
    _told(run, strengths, rng, 4)
    assert run.retire("b", reason="broken")
    run = sp.Run.from_json(run.to_json())
    _told(run, strengths, rng, 3)
    run.add(None, ["e"], costs=costs and [3.0])
    if costs:
        assert run.problem.costs[run.problem.labels.index("d vs e")] == 11.0
    before = len(run.told())
    _told(run, strengths, rng, 10**3)
    answer = run.answer
    assert answer.label == "d"
    assert "among all options that were ever added and not retired" in answer.guarantee
    pairing = run.problem.pairing
    for told in run.told(before):
        assert 1 not in {*pairing.firsts(told.pulls.arms), *pairing.seconds(told.pulls.arms)}
    certificate = checked(answer)
    assert [one["arms"] for one in certificate["options"]] == [[3], [1], [4]]
    with pytest.raises(InvalidInputError, match="already retired"):
        run.retire("b", reason="again")
    for label in ("a", "c", "e"):
        with pytest.raises(InvalidInputError, match="last two") if label == "e" else nullcontext():
            run.retire(label, reason="no")


def test_nothing_is_shown_of_beating_everyone_once_options_changed():
    rng, strengths = np.random.default_rng(3), np.array([40.0, 0.0, -40.0])
    run = Pairs(0.05, block=80).start(sp.Problem.pairs(["a", "b"]), 4)
    _told(run, strengths, rng, 8)
    assert run.state.shown
    run.add(None, ["c"])
    _told(run, strengths, rng, 10**3)
    assert run.answer.arm == 0
    assert run.state.purses.shown(0, 0.05)  # it would be, had nothing changed
    assert not run.state.shown
    assert "if there is one" in run.answer.guarantee
    checked(run.answer)


def test_who_was_ruled_out_by_one_that_goes_is_back():
    # a beats b, b beats c, c beats a: nobody beats everybody, until c goes.
    wins = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float)
    run = Pairs(0.05).start(sp.Problem.pairs(["a", "b", "c"]), 4)
    while not run.stopped:
        batch, pairing = run.ask(), run.problem.pairing
        run.tell(batch, wins[pairing.firsts(batch.arms), pairing.seconds(batch.arms)])
    assert not (run.answer.guarantee and run.answer.label == "a")
    run.retire("c", reason="gone")
    assert run.active == (0, 1)
    while not run.stopped:
        batch, pairing = run.ask(), run.problem.pairing
        run.tell(batch, wins[pairing.firsts(batch.arms), pairing.seconds(batch.arms)])
    assert run.answer.label == "a"
    checked(run.answer)


def _options_again(body):
    body["options"].append(dict(body["options"][0], arms=[1], change="retired"))


def _options_earlier(body):
    body["options"][0]["batch"] -= 1


def _options_never(body):
    del body["options"]


@pytest.mark.some(3)
@pytest.mark.parametrize("forge", [_options_again, _options_earlier, _options_never])
@pytest.mark.parametrize("beats", ["everyone", "most"])
def test_the_verifier_refuses_other_changes_of_options(beats, forge):
    rng, strengths = np.random.default_rng(3), np.array([1.0, 0.0, -1.0, 2.5])
    run = Pairs(0.05, beats=beats).start(sp.Problem.pairs(["a", "b", "c"]), 4)
    _told(run, strengths, rng, 5)
    run.add(None, ["d"])
    _told(run, strengths, rng, 10**3)
    certificate = run.answer.certificate()
    sp.verify(certificate, replay=False)
    with pytest.raises(sp.errors.CertificateError):
        sp.verify(_forged(certificate, forge), replay=True)  # earlier: it asks others


def _far_away(body):
    body["batches"][0]["parts"][0] = 10**12
    body["corrections"] = []


def test_a_forged_place_that_is_huge_is_refused_at_once():
    certificate = judged(CLEAR, 1).certificate()
    with pytest.raises(sp.errors.CertificateError):
        sp.verify(_forged(certificate, _far_away), replay=False)
    from surepick.verifier.order import random_words

    assert len(random_words(1, 0, 6, [0, 10**15])) == 2
