"""Numbers of any kind: who usually wins is named, whatever the numbers are like."""

import json
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pooled.kinds.wins import WinShares, scored, shares_of
from surepick.algorithms.pooled.ledger import Rows
from surepick.errors import CertificateError, InvalidInputError


def problem(n, **more):
    return sp.Problem.unstructured([f"o{i}" for i in range(n)], noise="any", **more)


def raced(draw, n, seed, delta=0.05, cap=2000, **settings):
    """A run to its end; ``draw`` gives rewards of arms."""
    algorithm = sp.algorithms.get("pooled-peleg", delta=delta, max_samples=cap, **settings)
    run, rng = algorithm.start(problem(n), seed=seed), np.random.default_rng(seed)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, draw(batch.arms, rng))
    return run


def latencies(arms, rng):
    """The first is quicker but times out once in a hundred; less is better."""
    quick = np.where(rng.random(len(arms)) < 0.01, 30.0, rng.lognormal(-0.5, 0.4, len(arms)))
    return -np.where(arms == 0, quick, rng.lognormal(0.0, 0.4, len(arms)))


@pytest.mark.parametrize("seed", range(5))
def test_who_usually_wins_is_named_where_means_say_the_opposite(seed):
    run = raced(latencies, 2, seed)
    assert run.answer.arm == 0
    assert "win more than half of all direct comparisons" in run.answer.guarantee
    found = sp.verify(run.answer.certificate(), replay=True)
    assert (found.label, found.guarantee, found.complete) == ("o0", "pac", True)


def test_rewards_may_be_stretched_in_any_way_that_keeps_their_order():
    plain = raced(lambda arms, rng: arms + rng.normal(size=len(arms)), 4, 7)
    bent = raced(lambda arms, rng: np.exp(3.0 * (arms + rng.normal(size=len(arms)))), 4, 7)
    assert plain.answer.pulls.tolist() == bent.answer.pulls.tolist()
    assert plain.answer.arm == bent.answer.arm == 3


@pytest.mark.some(4)
@pytest.mark.parametrize("seed", range(8))
def test_two_that_are_alike_are_hardly_ever_told_apart(seed):
    run = raced(lambda arms, rng: rng.lognormal(0.0, 1.5, len(arms)), 2, seed, delta=1e-3, cap=400)
    assert run.answer.guarantee.startswith("no guarantee")


def test_nor_are_they_by_a_drift_that_all_share():
    # A level that rises within each block by many times the noise, as a machine that warms up.
    wrong = 0
    for seed in range(12):
        started = [0]

        def draw(arms, rng, started=started):
            moments = started[0] + np.arange(len(arms))
            started[0] += len(arms)
            return 0.5 * moments + rng.normal(size=len(arms))

        wrong += not raced(draw, 2, seed, cap=300).answer.guarantee.startswith("no guarantee")
    assert wrong <= 3  # 12 runs at 0.05 each way


@pytest.mark.parametrize(
    ("settings", "more", "said"),
    [
        ({"threshold": 0.5}, {}, "threshold: with numbers of any kind"),
    ],
)
def test_what_cannot_be_asked_is_refused(settings, more, said):
    algorithm = sp.algorithms.get("pooled-peleg", delta=0.05, **settings)
    with pytest.raises(InvalidInputError, match=said):
        algorithm.start(problem(3, **more))


def test_features_that_are_trusted_are_refused_and_may_guide():
    arms, algorithm = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], sp.algorithms.PooledPeleg(0.05)
    with pytest.raises(InvalidInputError, match="so features cannot be trusted"):
        algorithm.start(sp.Problem(arms, noise="any"))
    run = algorithm.start(sp.Problem(arms, noise="any", misfit=math.inf))
    rng = np.random.default_rng(0)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, 2.0 * batch.arms + rng.normal(size=batch.size))
    assert run.answer.arm == 2
    assert sp.verify(run.answer.certificate(), replay=True).complete


def test_options_on_the_same_items():
    run = sp.algorithms.PooledPeleg(0.05, items=40).start(problem(3), seed=0)
    rng = np.random.default_rng(0)
    while not run.stopped:
        batch = run.ask()
        hard = np.exp(batch.items % 7.0)  # items differ by far more than options do
        run.tell(batch, hard * rng.lognormal(0.5 * batch.arms, 0.4))
    assert run.answer.arm == 2
    assert "win on more than half of the items" in run.answer.guarantee
    assert sp.verify(run.answer.certificate(), replay=True).complete


def test_others_need_to_know_more():
    with pytest.raises(InvalidInputError, match="noise"):
        sp.algorithms.get("peleg", delta=0.05).start(problem(3))


def test_sums_do_not_say_enough():
    run = sp.algorithms.PooledPeleg(0.05).start(problem(2))
    batch = run.ask()
    with pytest.raises(InvalidInputError, match="give every single reward"):
        run.tell(batch, sums=np.zeros(2))


def test_claims_against_a_baseline():
    def draw(arms, rng):
        return np.exp(np.array([0.0, 1.5, -1.5])[arms] + rng.normal(size=len(arms)))

    run = raced(draw, 3, 1, baseline="o0")
    assert (run.answer.better, run.answer.worse) == (("o1",), ("o2",))
    assert sp.verify(run.answer.certificate(), replay=True).complete


def test_the_two_best():
    def draw(arms, rng):
        return np.exp(np.array([0.0, 2.0, -1.0, 1.5])[arms] + rng.normal(size=len(arms)))

    run = raced(draw, 4, 1, top=2)
    assert sorted(run.answer.labels) == ["o1", "o3"]
    assert sp.verify(run.answer.certificate(), replay=True).complete


@pytest.mark.parametrize("past_chosen", [True, False])
def test_past_measurements(past_chosen):
    rng = np.random.default_rng(3)
    algorithm, arms = sp.algorithms.PooledPeleg(0.05), np.repeat([0, 1, 2], 8)
    run = algorithm.start(problem(3), seed=0)
    run.tell_past(arms, np.exp(arms + rng.normal(size=len(arms))), chosen_in_advance=past_chosen)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, np.exp(batch.arms + rng.normal(size=batch.size)))
    assert run.answer.arm == 2
    assert sp.verify(run.answer.certificate(), replay=True).complete


def test_runs_go_on_from_files_as_if_nothing_had_happened():
    run, rng = sp.algorithms.PooledPeleg(0.05).start(problem(3), seed=0), np.random.default_rng(0)
    for _ in range(4):
        batch = run.ask()
        run.tell(batch, rng.lognormal(0.3 * batch.arms, 1.0))
    again = sp.Run.from_json(run.to_json())
    assert again.standing().columns == run.standing().columns
    assert again.ask().arms.tolist() == run.ask().arms.tolist()


# -- certificates ------------------------------------------------------------------------------
def forged(change):
    run = raced(lambda arms, rng: np.exp(arms + rng.normal(size=len(arms))), 3, 2)
    body = json.loads(json.dumps(run.answer.certificate()))
    change(body)
    return body


def _more(body):
    batch = body["batches"][-1]
    row = batch["arms"].index(0)
    batch["sums"][row] += 50.0


def _renumbered(body):
    batch = body["batches"][-1]
    batch["parts"] = batch["parts"][::-1]


def _together(body):
    for name, value in (("arms", 0), ("counts", 2), ("sums", 1.0), ("parts", 99)):
        body["batches"][-1][name].append(value)


@pytest.mark.parametrize("change", [_more, _renumbered, _together])
def test_certificates_that_were_changed_fail(change):
    with pytest.raises(CertificateError):
        sp.verify(forged(change), replay=True)


# -- what guides -------------------------------------------------------------------------------
def rows(told):
    counts = [len(one) for one in told]
    arms = np.repeat(np.arange(len(told)), counts)
    parts = np.concatenate([np.arange(n) for n in counts])
    values = np.concatenate(told).astype(float)
    return Rows(arms, parts, np.ones_like(arms), values, np.zeros(len(values)))


def test_scores_have_the_leads_of_normal_rewards_in_standard_deviations():
    rng = np.random.default_rng(4)
    found = scored(rows([rng.normal(0.0, 3.0, 400), rng.normal(3.0, 3.0, 400)]))
    means = found.sums / found.counts
    assert means[1] - means[0] == pytest.approx(1.0, abs=0.15)
    assert found.spreads.sum() / 798 == pytest.approx(1.0, abs=0.01)


def test_rewards_that_are_all_the_same_have_no_scores():
    found = scored(rows([np.ones(5), np.ones(3)]))
    assert found.sums.tolist() == [0.0, 0.0]
    assert found.counts.tolist() == [5, 3]


def test_intervals_hold_the_share_of_wins():
    missed = 0
    share = float(shares_of(np.array(0.8)))
    for seed in range(20):
        run = raced(
            lambda arms, rng: np.array([0.8, 0.0, -0.5])[arms] + rng.normal(size=len(arms)),
            *(3, seed),
            delta=0.2,
            cap=150,
        )
        now = run.standing()
        low, high = now["behind_low"][1], now["behind_high"][1]
        if now.leader == "o0" and now["state"][1] == "in":
            missed += not low <= share - 0.5 <= high
    assert missed <= 8


def test_capital_on_a_share_counts_for_all_shares_below():
    sums = WinShares(1)
    sums._logs[0, 0] = np.linspace(5.0, -1.0, 31)
    shifts = np.array([-0.6, -0.5, -0.25, 0.0, 0.01, 0.49, 0.6])
    found = [float(sums.log_capital(1.0, np.array([shift]))[0]) for shift in shifts]
    assert found[:4] == [5.0, 5.0, sums._logs[0, 0, 7], sums._logs[0, 0, 15]]
    assert found[4] == sums._logs[0, 0, 16]
    assert found[5:] == [-math.inf, -math.inf]


# -- what is said ------------------------------------------------------------------------------
def timed(arms, rng):
    """Minus seconds; the first is quicker, but for a few time-outs that spoil its mean."""
    times = np.exp(np.array([0.0, 0.8, 0.7])[arms] + 0.4 * rng.normal(size=len(arms)))
    return -np.where((arms == 0) & (rng.random(len(arms)) < 0.05), 300.0, times)


def test_the_answer_says_how_often_it_won_and_where_means_say_otherwise():
    run = raced(timed, 3, 5)
    answer = run.answer
    rewards = [[], [], []]
    won = {1: [], 2: []}
    for told in run.told():
        for arm in range(3):
            rewards[arm] += told.sums[told.pulls.arms == arm].tolist()
        mine = told.sums[told.pulls.arms == 0]
        for other in won:
            theirs = told.sums[told.pulls.arms == other]
            won[other] += [(a > b) + 0.5 * (a == b) for a in mine for b in theirs]
    assert answer.wins == pytest.approx({f"o{i}": np.mean(own) for i, own in won.items()})
    means = [np.mean(own) for own in rewards]
    best = int(np.argmax(means))
    assert best != 0
    assert answer.best_mean == f"o{best}"
    nearest = min(answer.wins, key=answer.wins.get)
    assert answer.plain.startswith(
        f"o0 usually wins, although o{best} has the better mean: o0 won "
        f"{100 * answer.wins[nearest]:.0f} % of its direct comparisons with {nearest}, and more"
    )
    assert "Better means here: wins more than half of direct comparisons" in answer.plain


def test_nothing_is_said_of_means_that_agree_nor_of_other_kinds():
    run = raced(lambda arms, rng: 2.0 * arms + rng.normal(size=len(arms)), 2, 0)
    assert run.answer.best_mean is None
    assert run.answer.plain.startswith("o1 won ")
    plain = sp.identify(sp.Problem.unstructured(2, noise=1.0), lambda arm: 9.0 * arm)
    assert plain.wins == {}
    assert "wins" not in plain.to_dict()


DICE = np.array([[2, 4, 9], [1, 6, 8], [3, 5, 7]])  # each beats the next in 5 of 9 throws


def test_a_circle_is_answered_and_named():
    run = raced(thrown, 3, 1, cap=9000)
    answer = run.answer
    assert answer.guarantee
    assert sp.verify(answer.certificate(), replay=True).complete
    behind = f"o{(answer.arm - 1) % 3}"
    assert answer.wins[behind] < 0.5
    assert answer.circle == tuple(f"o{(answer.arm + i) % 3}" for i in range(3))
    assert f"won only {100 * answer.wins[behind]:.0f} % of its direct" in answer.plain
    assert "no option beats all others" in answer.plain
    assert "usually wins, although" not in answer.plain


def thrown(arms, rng):
    return DICE[arms, rng.integers(3, size=len(arms))].astype(float)


def test_who_was_ruled_out_is_not_measured_any_more_nor_bet_on():
    means = np.array([0.0, 0.0, 1.0, 1.05, 1.1])
    run = raced(lambda arms, rng: means[arms] + rng.normal(size=len(arms)), 5, 2, cap=4000)
    record = run.answer.certificate()
    pulls, out = np.zeros(5, dtype=int), set()
    for block in record["evidence"]["blocks"]:
        assert not out & set(block["rivals"])
        out |= {lost["candidate"] for lost in block["dropped"]}
    assert out
    for batch in record["batches"][-3:]:
        pulls += np.bincount(batch["arms"], batch["counts"], minlength=5).astype(int)
    assert pulls[:2].sum() == 0


def test_close_enough_is_said_in_shares_of_comparisons():
    means = np.array([0.0, 1.0, 1.0])
    run = raced(lambda arms, rng: means[arms] + rng.normal(size=len(arms)), 3, 0, epsilon=0.1)
    assert run.answer.guarantee.kind == "eps-pac"
    said = "It is the best, or the best wins at most 60 % of direct comparisons with it."
    assert said in run.answer.plain
