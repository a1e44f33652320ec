"""The best quantile: it is found, proven and checked again, whatever else happens on the way."""

import json
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.questions import BestQuantile, percentile
from surepick.errors import InvalidInputError, InvalidTypeError


def problem(n, **more):
    return sp.Problem.unstructured([f"o{i}" for i in range(n)], noise="any", **more)


def measured(run, rng, draw):
    batch = run.ask()
    run.tell(batch, draw(batch.arms, rng))
    return run


def raced(draw, n, seed=0, delta=0.05, p=0.5, cap=20_000, **settings):
    """A run to its end; ``draw`` gives rewards of arms."""
    algorithm = sp.algorithms.PooledPeleg(delta, quantile=p, max_samples=cap, **settings)
    run, rng = algorithm.start(problem(n), seed=seed), np.random.default_rng(seed)
    while not run.stopped:
        measured(run, rng, draw)
    return run


def checked(run):
    """The certificate, verified with a replay."""
    return sp.verify(json.loads(json.dumps(run.answer.certificate())), replay=True)


def tails(arms, rng):
    """The first is better in the middle, the second in its upper tail."""
    return np.where(
        arms == 0, 1.0 + 0.1 * rng.normal(size=len(arms)), rng.exponential(size=len(arms))
    )


@pytest.mark.some(2)
@pytest.mark.parametrize(("p", "best"), [(0.5, 0), (0.9, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_each_quantile_has_its_own_winner(p, best, seed):
    run = raced(tails, 2, seed, p=p)
    assert run.answer.arm == best
    assert f"a better {p:g}-quantile" in run.answer.guarantee
    found = checked(run)
    assert (found.candidate, found.guarantee, found.complete) == (best, "pac", True)
    assert found.unknown == ()


def test_the_answer_says_what_was_measured():
    answer = raced(tails, 2, p=0.9).answer
    assert answer.plain.startswith("o1 has the largest 90th percentile: ")
    assert "; next is o0 with 1.1" in answer.plain
    assert answer.quantile == 0.9
    assert answer.quantiles.keys() == {"o0", "o1"}
    assert answer.quantiles["o0"] == pytest.approx(1.13, abs=0.1)
    assert answer.to_dict()["quantiles"] == answer.quantiles
    assert not answer.wins
    early = raced(tails, 2, p=0.9, cap=8).answer
    assert "seems to have the largest" in early.plain
    assert not early.guarantee


def test_ties_are_never_told_apart():
    # Both medians are 1, by atoms of different size; what lies beside them differs.
    def draw(arms, rng):
        u = rng.random(len(arms))
        first = np.where(u < 0.45, -5.0, np.where(u < 0.55, 1.0, 2.0))
        return np.where(arms == 0, first, np.where(u < 0.05, 0.0, np.where(u < 0.95, 1.0, 9.0)))

    for seed in range(4):
        run = raced(draw, 2, seed, delta=0.05, cap=1500)
        assert len(run.active) == 2


@pytest.mark.some(1)
@pytest.mark.parametrize("digits", [0, 6])
def test_smaller_may_be_better(digits):
    rng = np.random.default_rng(0)

    def latency(arm):
        return round(float(10 * rng.exponential(1.0 + 0.8 * arm)), digits)

    answer = sp.identify(problem(3), latency, 0.1, quantile=0.9, minimise=True, seed=0)
    assert answer.arm == 0
    assert answer.plain.startswith("o0 has the smallest 90th percentile: ")
    assert sp.verify(answer.certificate(), replay=True).complete
    run = sp.algorithms.PooledPeleg(0.1, quantile=0.9).start(problem(3).with_direction(True), 1)
    for _ in range(4):
        measured(run, rng, lambda arms, rng: 10 * rng.exponential(1.0 + 0.8 * arms))
    now = run.standing()
    assert min(now["estimate"]) > 0
    assert now["estimate"][now.leader_index] == min(now["estimate"])


def test_quantiles_of_two_values_only():
    # Of the first 55 % are 1, of the second 45 %, all others 2: medians of 1 and 2.
    def draw(arms, rng):
        late = rng.random(len(arms)) < np.where(arms == 0, 0.45, 0.55)
        return 1.0 + late

    algorithm = sp.algorithms.PooledPeleg(0.1, quantile=0.5, max_samples=20_000)
    for minimise, best in ((True, 0), (False, 1)):
        run, rng = algorithm.start(problem(2).with_direction(minimise), 3), np.random.default_rng(3)
        while not run.stopped:
            measured(run, rng, draw)
        assert run.answer.arm == best
        assert run.answer.guarantee
        assert run.answer.quantiles == {"o0": 1.0, "o1": 2.0}


def test_standings_have_quantiles_and_intervals():
    run = raced(tails, 2, p=0.9, cap=400, delta=1e-9)
    now = run.standing()
    assert now.question == "quantile"
    assert now["estimate"][1] == run.answer.quantiles["o1"]
    assert now["behind"][0] == pytest.approx(now["estimate"][1] - now["estimate"][0])
    assert now["behind_low"][0] < 2.303 - 1.128 < now["behind_high"][0]
    assert now["p_value"][0] < 0.01


def test_a_saved_run_goes_on_as_it_would_have():
    algorithm = sp.algorithms.PooledPeleg(0.05, quantile=0.75)
    run, again = (algorithm.start(problem(3), seed=1) for _ in range(2))
    rng, other = np.random.default_rng(2), np.random.default_rng(2)

    def draw(arms, rng):
        return rng.exponential(size=len(arms)) * (1.0 + arms)

    while not run.stopped:
        measured(run, rng, draw)
        again = sp.Run.from_json(measured(again, other, draw).to_json())
    assert again.stopped
    assert again.answer == run.answer


def test_options_may_come_and_go():
    algorithm, rng = sp.algorithms.PooledPeleg(0.1, quantile=0.8), np.random.default_rng(5)
    run, scales = algorithm.start(problem(3), seed=3), np.array([1.0, 1.4, 0.6, 2.5, 1.0])

    def draw(arms, rng):
        return rng.exponential(size=len(arms)) * scales[arms]

    for _ in range(4):
        measured(run, rng, draw)
    run.add(np.eye(5)[3:], ["o3", "o4"], reason="new")
    for _ in range(4):
        measured(run, rng, draw)
    run.retire("o3", reason="too dear")
    while not run.stopped:
        measured(run, rng, draw)
    assert run.answer.label == "o1"
    assert run.retired == (3,)
    found = checked(run)
    assert (found.label, found.guarantee, found.complete) == ("o1", "pac", True)
    again = sp.Run.from_json(run.to_json())
    assert again.answer == run.answer


def test_features_guide_and_costs_count():
    rng = np.random.default_rng(1)
    rows = np.arange(6.0)[:, None]
    costly = sp.Problem(rows + 1, noise="any", misfit=math.inf, costs=[1, 1, 1, 1, 4, 4])
    scales = 1.0 + np.arange(6)
    answer = sp.identify(
        costly, lambda k: rng.exponential() * scales[k], delta=0.2, quantile=0.5, seed=0
    )
    assert answer.arm == 5
    assert answer.pulls[:3].max() < answer.pulls[5]
    assert sp.verify(answer.certificate()).replayed


def test_past_measurements_count_or_guide():
    rng = np.random.default_rng(1)
    for in_advance in (True, False):
        run = sp.algorithms.PooledPeleg(0.1, quantile=0.5).start(problem(3), seed=3)
        arms = rng.integers(3, size=60)
        run.tell_past(arms, rng.exponential(size=60) + arms, chosen_in_advance=in_advance)
        while not run.stopped:
            measured(run, rng, lambda arms, rng: rng.exponential(size=len(arms)) + arms)
        assert run.answer.arm == 2
        assert checked(run).complete


def test_batches_may_be_small_and_overlap():
    rng = np.random.default_rng(1)

    def draw(arms, rng):
        return rng.exponential(size=len(arms)) * (1.0 + 2 * arms)

    run = raced(draw, 3, p=0.6, max_batch=7)
    assert run.answer.arm == 2
    assert checked(run).complete
    run = sp.algorithms.PooledPeleg(0.1, quantile=0.6).start(problem(3), seed=3)
    while not run.stopped:
        first = run.ask()
        run.ask_ahead()
        run.tell(first, draw(first.arms, rng))
    assert checked(run).complete


@pytest.mark.parametrize(
    ("made", "given", "said"),
    [
        (sp.Problem([[1.0], [2.0]]), {}, "numbers of any kind"),
        (sp.Problem.unstructured(["a", "b"], noise=1.0), {}, "give noise='any'"),
        (sp.Problem([[1.0], [2.0]], noise="any"), {}, "features cannot be trusted"),
        (problem(2), {"epsilon": 0.1}, "leave out epsilon or quantile"),
        (problem(3), {"top": 2}, "leave out top, baseline and threshold, or quantile"),
        (problem(3), {"baseline": "o1"}, "leave out top, baseline and threshold, or quantile"),
        (problem(3), {"threshold": 1.0}, "leave out top, baseline and threshold, or quantile"),
        (problem(3), {"question": "quantile:p=0.5"}, "it says what is asked"),
        (problem(3), {"quantile": 1.0}, "strictly between 0 and 1"),
        (problem(3), {"algorithm": "lucb"}, "lucb can only find the best option"),
    ],
)
def test_what_cannot_be_is_refused(made, given, said):
    with pytest.raises(InvalidInputError, match=said):
        sp.identify(made, lambda arm: 1.0, **{"quantile": 0.5} | given)


def test_nor_are_items_strata_and_no_numbers():
    with pytest.raises(InvalidInputError, match="leave out quantile or items"):
        sp.algorithms.PooledPeleg(0.1, quantile=0.5, items=9).start(problem(2))
    with pytest.raises(InvalidTypeError, match="quantile must be a number"):
        sp.algorithms.PooledPeleg(0.1, quantile="half")
    algorithm = sp.algorithms.PooledPeleg(0.1, quantile=0.5)
    assert not algorithm.takes_strata(problem(2))
    assert not algorithm.levels_cancel(problem(2))
    run = algorithm.start(problem(2))
    batch = run.ask()
    with pytest.raises(InvalidInputError, match="leave out strata or quantile"):
        run.tell(batch, np.ones(batch.size), strata=["monday"] * batch.size)


def test_it_can_be_asked_by_its_name():
    algorithm = sp.algorithms.PooledPeleg(0.1, question="quantile:p=0.95")
    assert algorithm.asked == BestQuantile(0.95)
    assert algorithm == sp.algorithms.PooledPeleg(0.1, quantile=0.95)
    assert algorithm.asked.words == "which option has the best 95th percentile"


def test_percentiles_have_names():
    names = [percentile(p) for p in (0.02, 0.11, 0.23, 0.5, 0.75, 0.995)]
    first = ["2nd percentile", "11th percentile", "23rd percentile", "median"]
    assert names == [*first, "75th percentile", "99.5th percentile"]


def test_intervals_of_all_that_may_ever_lead_have_their_part_of_delta():
    run = sp.algorithms.PooledPeleg(0.1, quantile=0.5).start(problem(2), seed=0)
    spent = []
    rng = np.random.default_rng(0)
    for came in range(6):
        for _ in range(2):
            batch = run.ask()
            run.tell(batch, rng.normal(size=len(batch.arms)))
        question = run.state.question
        asked = []
        question._ends = lambda values, alpha, asked=asked: asked.append(alpha) or (0.0, 0.0)
        question.best = len(run.problem.labels) - 1
        question.known()
        spent.append(asked[-1])
        del question._ends
        question.look(None)
        run.add(np.eye(3 + came)[-1:], [f"new {came}"])
    assert 2 * spent[0] + sum(spent[1:]) < 0.05
    again = sp.Run.from_json(run.to_json())
    assert again.state.question.first == 2


def test_intervals_are_not_about_past_measurements_that_were_chosen_by_results():
    run = sp.algorithms.PooledPeleg(0.1, quantile=0.5).start(problem(2), seed=0)
    run.tell_past([0, 0, 1], [900.0, 900.0, 901.0], chosen_in_advance=False)
    rng = np.random.default_rng(0)
    for _ in range(4):
        batch = run.ask()
        run.tell(batch, rng.normal(size=len(batch.arms)))
    question = sp.Run.from_json(run.to_json()).state.question
    assert question.before.values.max(initial=-np.inf) < 100.0
    assert question.guide.values.max() == 901.0
    ends = [question._ends(own, 0.05) for own in question.before.by_arm(2)]
    assert not any(end > 100.0 for pair in ends for end in pair if np.isfinite(end))
