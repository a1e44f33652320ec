"""Evaluating only what decides: on tables whose truth is known."""

import numpy as np
import pytest
from tests.coroutines import Meeting

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.integrations.evaluations import ScoreTable, decide
from surepick.simulate.conformance.tools import failures


def exam(seed, options=8, items=400, lead=0.8, rewards="yes-no"):
    """Options of different skill on questions that are much more different."""
    rng = np.random.default_rng(seed)
    skill = np.append(rng.normal(0, 0.3, options - 1), lead)
    points = skill[:, None] + 0.5 * rng.normal(size=(options, items)) - 2 * rng.normal(size=items)
    scores = (points > 0).astype(float) if rewards == "yes-no" else 1 / (1 + np.exp(-points))
    names = [f"prompt {i}" for i in range(options)], [f"question {i}" for i in range(items)]
    return ScoreTable(*names, scores, rewards)


@pytest.mark.some(1)
@pytest.mark.parametrize("rewards", ["yes-no", (0, 1)])
def test_only_what_decides_is_evaluated(rewards):
    truth = exam(0, rewards=rewards)
    asked = []

    def evaluate(option, item):
        asked.append((option, item))
        return truth.of(option, item)

    found = decide(ScoreTable(truth.options, truth.items, rewards=rewards), evaluate)
    assert found.option == "prompt 7"
    assert found.how == "proven"
    assert sp.verify(found.answer.certificate()).label == "prompt 7"
    assert len(asked) == len(set(asked)) == found.evaluations == found.table.known
    assert found.evaluations < 0.5 * truth.scores.size
    known = ~np.isnan(found.table.scores)
    assert (found.table.scores[known] == truth.scores[known]).all()
    assert str(found).startswith(f"prompt 7, after {found.evaluations:,} of 3,200 evaluations.")
    # What is known already is not asked for again, and leads to the same answer.
    again = decide(found.table)
    assert (again.option, again.evaluations) == ("prompt 7", 0)
    assert again.answer == found.answer
    assert decide(truth).how == "complete"  # nothing is left to find out


@pytest.mark.validation
def test_wrong_answers_are_as_rare_as_promised():
    """Near ties where chance misleads: the complete table is the truth."""
    proven = []

    def wrong(seed):
        truth = exam(seed, options=4, items=300, lead=0.3)
        means = truth.scores.mean(axis=1)
        found = decide(ScoreTable(truth.options, truth.items), truth.of, delta=0.2, seed=seed)
        assert found
        proven.append(found.how == "proven")
        return means[truth.options.index(found.option)] < means.max()

    # 12 expected at most; more than 20 would happen in 1 of 150 such tests
    assert failures(wrong, 60, 20) <= 20
    assert sum(proven) >= len(proven) / 6  # so that it says something


def test_what_is_fully_known_is_decided_by_its_means():
    rng = np.random.default_rng(0)
    same = (rng.random(30) < 0.5).astype(float)
    other = same.copy()
    other[np.flatnonzero(same)[0]] = 0.0  # one question worse
    truth = ScoreTable(
        ["worse", "better", "poor"], list(map(str, range(30))), [other, same, 0 * same]
    )
    found = decide(ScoreTable(truth.options, truth.items), truth.of)
    assert (found.option, found.how, found.left) == ("better", "proven", ("better",))
    assert found.evaluations <= truth.scores.size
    twice = ScoreTable(["a", "b"], truth.items, [same, same])
    found = decide(ScoreTable(twice.options, twice.items), twice.of)
    assert (found.how, found.left, found.evaluations) == ("complete", ("a", "b"), 60)
    assert "a and b tie" in str(found)
    found = decide(truth)  # nothing is asked, and nothing is bet
    assert (found.option, found.how, found.evaluations) == ("better", "complete", 0)
    assert "It has the best mean of 3 that are fully known" in str(found)


def test_whoever_was_ruled_out_by_chance_was_so_on_conditions():
    rng = np.random.default_rng(0)
    one = rng.standard_normal(60)
    rows = [one, one[::-1], one - 5 + rng.standard_normal(60)]
    truth = ScoreTable(["a", "b", "poor"], list(map(str, range(60))), rows, None)
    found = decide(ScoreTable(truth.options, truth.items, rewards=None), truth.of, seed=1)
    assert (found.how, found.left, bool(found.answer.guarantee)) == ("complete", ("a", "b"), False)
    sure = "1 other was ruled out. Of 100 studies like this one, at most 5 rule the best out."
    assert sure in str(found)
    assert "Choosing among several studies" in str(found)
    assert "if every measurement is drawn afresh" in str(found)


@pytest.mark.validation
def test_items_that_are_known_come_first_and_take_nothing():
    """However they came to be known: here where the best option is at its worst."""
    taken = np.zeros(2, dtype=int)
    for seed in range(4):
        truth = exam(seed, lead=0.6)
        worst = np.argsort(truth.scores[-1] - truth.scores.mean(axis=0))[:60]
        some = np.full_like(truth.scores, np.nan)
        some[:, worst] = truth.scores[:, worst]
        some[2] = truth.scores[2]  # and one option is known on all
        table = ScoreTable(truth.options, truth.items, some)
        found = decide(table, truth.of, seed=seed)
        means = truth.scores.mean(axis=1)
        assert means[truth.options.index(found.option)] == means.max()
        assert found.evaluations == found.table.known - table.known
        assert sp.verify(found.answer.certificate(), replay=True).replayed
        # It goes on as it would have: with the same order, and what it has shown already.
        part = decide(table, truth.of, seed=seed, max_evaluations=found.evaluations // 2)
        rest = decide(part.table, truth.of, seed=seed)
        taken += (found.evaluations, part.evaluations + rest.evaluations)
    assert taken[0] == taken[1]


# -- going on ------------------------------------------------------------------------------
def tuned(base, met):
    """A row that is one right answer short of this one, and right wherever somebody has looked."""
    row, rest = np.zeros_like(base), np.setdiff1d(np.arange(len(base)), met)
    row[[*met, *rest][: int(base.sum()) - 1]] = 1.0
    return row


def two_alike(seed, items):
    rng = np.random.default_rng(seed)
    first = (rng.random(items) < 0.5).astype(float)
    other = first.copy()
    turned = rng.permutation(items)[: items // 4]
    other[turned] = 1 - other[turned]
    return np.stack([first, other])


@pytest.mark.some(1)
@pytest.mark.parametrize("kept", [False, True])
def test_an_option_that_was_made_by_looking_at_items_is_not_proven_by_them(kept):
    """With the same seed throughout: the order is another one once it is there."""
    names, wrong = [str(i) for i in range(60)], 0
    for seed in range(8):
        rows = two_alike(seed, 60)
        truth = ScoreTable(["a", "b"], names, rows)
        part = decide(
            ScoreTable(["a", "b"], names), truth.of, delta=0.2, seed=1, max_evaluations=40
        )
        met = np.flatnonzero(~np.isnan(part.table.scores).any(axis=0))
        best = rows[np.argmax(rows.sum(axis=1))]
        truth = ScoreTable(["a", "b", "new"], names, [*rows, tuned(best, met)])
        known = np.full((3, 60), np.nan)
        if kept:
            known[:2] = part.table.scores
        found = decide(ScoreTable(truth.options, names, known), truth.of, delta=0.2, seed=1)
        wrong += found.option == "new"
    assert wrong <= 4  # all of them by the order that was met


def test_leaders_of_a_first_round_are_compared_anew():
    """Nobody tunes anything: the leader of twenty alike, the one in use, and a new one."""
    names, wrong = [str(i) for i in range(60)], 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = np.stack([rng.permutation([1.0] * 30 + [0.0] * 30) for _ in range(22)])
        rows[-2, np.flatnonzero(rows[-2] == 0)[0]] = 1.0  # the one in use is the best
        options = [f"o{i}" for i in range(20)]
        truth = ScoreTable([*options, "used", "new"], names, rows)
        first = decide(ScoreTable(options, names), truth.of, delta=0.2, seed=1, max_evaluations=400)
        three = [first.option, "used", "new"]
        found = decide(ScoreTable(three, names), truth.of, delta=0.2, seed=1)
        wrong += found.option != "used"
    assert wrong <= 3


def test_only_the_very_same_table_goes_on_in_its_order(drawn_orders):
    truth = exam(1, lead=0.1)
    empty = ScoreTable(truth.options, truth.items)
    part = decide(empty, truth.of, max_evaluations=100)
    begun = part.table.begun
    assert decide(part.table, truth.of, max_evaluations=200).table.begun.seed == begun.seed
    assert decide(empty, truth.of, max_evaluations=100).table.begun.seed != begun.seed

    def anew(table, evaluate=truth.of, **how):
        return decide(table, evaluate, max_evaluations=900, **how).table.begun

    def with_begun(options, scores):
        return ScoreTable(options, truth.items, scores, begun=begun)

    scores = part.table.scores
    more = with_begun([*truth.options, "new"], np.vstack([scores, np.full(400, np.nan)]))
    changed = scores.copy()
    cell = tuple(np.argwhere(~np.isnan(scores))[0])
    changed[cell] = 1 - changed[cell]
    wide = ScoreTable(more.options, truth.items, np.vstack([truth.scores, truth.scores[:1]]))
    met = np.flatnonzero(~np.isnan(scores).all(axis=0)).tolist()
    for other in (
        anew(more, wide.of),
        anew(with_begun(truth.options, changed)),
        anew(part.table, measure="judge 2"),
        anew(part.table, lambda option, item: truth.of(option, item)),
        anew(part.table, seed=3),
    ):
        assert other.seed != begun.seed
        assert sorted([*other.first, *other.seen]) == met
    # A seed comes to the same order by the same call.
    once, twice = (decide(empty, truth.of, max_evaluations=100, seed=3) for _ in range(2))
    assert once.table.begun == twice.table.begun
    np.testing.assert_array_equal(once.table.scores, twice.table.scores)
    other = decide(empty, truth.of, max_evaluations=100, seed=3, measure="judge 2")
    assert other.table.begun.seed != once.table.begun.seed


def test_what_was_known_counts_for_no_new_items():
    truth = exam(0, items=200)
    known = np.full_like(truth.scores, np.nan)
    known[:, :20], known[0, 20:60] = truth.scores[:, :20], truth.scores[0, 20:60]
    found = decide(ScoreTable(truth.options, truth.items, known), truth.of, seed=1)
    state = found.answer.certificate()["evidence"]["orders"][0]
    assert (state["first"], state["seen"]) == (list(range(20)), list(range(20, 60)))
    said = found.answer.on_items
    assert 0 < said["sampled"] < said["met"] - 20
    assert "if no option was made with these items in view" in str(found)
    assert sp.verify(found.answer.certificate(), replay=True).replayed


def test_a_limit_ends_it_undecided():
    truth = exam(1, lead=0.1)
    empty = ScoreTable(truth.options, truth.items)
    found = decide(empty, truth.of, max_evaluations=100)
    assert not found
    assert found.how == "undecided"
    assert found.evaluations <= 100
    assert "not proven" in str(found)
    with pytest.raises(InvalidInputError, match=r"the first comparison takes \d+; got 5"):
        decide(empty, truth.of, max_evaluations=5)


def test_scores_that_cannot_be_are_refused():
    table = ScoreTable(["a", "b"], ["x", "y"])
    with pytest.raises(
        InvalidInputError, match=r"it returned 0.5, but .* are 0 .no. or 1"
    ) as refused:
        decide(table, lambda option, item: 0.5)
    assert refused.value.__notes__[0] in (
        "surepick: in the call for a, x",
        "surepick: in the call for b, x",
        "surepick: in the call for a, y",
        "surepick: in the call for b, y",
    )
    assert refused.value.partial.table.known == 0
    with pytest.raises(InvalidInputError, match=r"the score of '.' on '.' is not known"):
        decide(table)
    with pytest.raises(InvalidInputError, match="one score for each of"):
        decide(table, evaluate_batch=lambda cells: [1.0])
    with pytest.raises(InvalidInputError, match="give either"):
        decide(table, abs, evaluate_batch=abs)
    with pytest.raises(InvalidInputError, match=r"\(2, 2\); got \(1, 2\)"):
        ScoreTable(["a", "b"], ["x", "y"], [[1, 1]])
    with pytest.raises(InvalidInputError, match="rewards must be"):
        ScoreTable(["a", "b"], ["x", "y"], rewards="marks")
    with pytest.raises(InvalidInputError, match="options"):
        ScoreTable(["a", "a"], ["x", "y"])


# -- calls that cost and fail ----------------------------------------------------------------
@pytest.mark.validation
def test_coroutines_are_evaluated_at_the_same_time_and_find_the_same():
    full = exam(2, items=200)
    together = Meeting(4)

    async def evaluate(option, item):
        async with together:
            return full.of(option, item)

    empty = ScoreTable(full.options, full.items)
    found, alone = decide(empty, evaluate, workers=4), decide(empty, full.of)
    assert (found.option, found.evaluations) == (alone.option, alone.evaluations)
    assert together.most == 4


def test_a_cell_that_fails_for_good_counts_as_the_worst_score_and_is_listed():
    full = exam(2, items=200)
    asked = []

    def evaluate(option, item):
        asked.append((option, item))
        if len(asked) == 20:
            evaluate.bad = (option, item)
        if (option, item) == evaluate.bad:
            raise ValueError("no number in the reply")
        return full.of(option, item)

    evaluate.bad = None
    found = decide(ScoreTable(full.options, full.items), evaluate)
    assert found.failed == ((*evaluate.bad, "ValueError: no number in the reply"),)
    assert asked.count(evaluate.bad) == 1  # it would fail again
    assert np.isnan(found.table.of(*evaluate.bad))  # it may work another time
    assert "1 cell could not be measured and counts as the worst score" in str(found)


def test_where_nothing_works_the_error_is_raised():
    def evaluate(option, item):
        raise ConnectionError("no network")

    with pytest.raises(ConnectionError):
        decide(ScoreTable(["a", "b"], ["x", "y"]), evaluate, retries=0)
