"""Comparisons that others have made: read, written, and what they may prove."""

import itertools
import json

import numpy as np
import pytest

import surepick as sp
from surepick.errors import FormatError, InvalidInputError
from surepick.integrations.judges import (
    Battle,
    Battles,
    decide,
    read_battles,
    read_select_best,
    write_battles,
    write_select_best,
)
from surepick.simulate.conformance.tools import failures
from surepick.simulate.judges import Judge, bradley_terry

NAMES = ["tea", "milk", "water", "mud"]


def drawn(count, strengths=(1.5, 0.0, 0.0, -1.0), left=0.5, seed=0):
    """Comparisons of random pairs in a random order."""
    rng, judge = np.random.default_rng(seed), Judge(bradley_terry(strengths), left=left, rng=seed)
    pairs = [rng.choice(4, 2, replace=False).tolist() for _ in range(count)]
    return Battles([Battle(NAMES[a], NAMES[b], judge(a, b)) for a, b in pairs])


def test_a_full_file_decides_and_a_short_one_says_what_is_missing():
    found = decide(drawn(3000), chosen="in-advance")
    assert found
    assert found.option == "tea"
    assert found.used == found.answer.samples < 400
    assert sp.verify(found.answer.certificate()).label == "tea"
    short = decide(drawn(60), chosen="in-advance")
    assert not short
    assert len(short.missing) == 2
    assert "too few" in str(short)
    # A judge who favours a side misleads nobody, as the sides were drawn.
    biased = [decide(drawn(3000, left=0.8, seed=s), chosen="in-advance").option for s in range(5)]
    assert biased == ["tea"] * 5


def test_what_proves_nothing_is_refused():
    battles = drawn(500)
    with pytest.raises(InvalidInputError, match="chosen by results"):
        decide(battles, chosen="by-results")
    with pytest.raises(InvalidInputError, match="not drawn at random"):
        decide(Battles(battles.all, drawn=False), chosen="in-advance")
    turned = [
        one if one.first < one.second else Battle(one.second, one.first, 1 - one.value)
        for one in battles
    ]
    with pytest.raises(InvalidInputError, match="fair coin"):
        decide(Battles(turned), chosen="in-advance")


def test_lines_of_an_arena_are_read_and_a_study_is_written_as_such(tmp_path):
    lines = [
        {"question_id": 81, "model_a": "a", "model_b": "b", "winner": "tie (bothbad)"},
        {"model_a": "b", "model_b": "c", "winner": "model_b", "judge": "author_2", "turn": 1},
    ]
    path = tmp_path / "arena.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    assert read_battles(path).all == [
        Battle("a", "b", 0.5, "81"),
        Battle("b", "c", 0.0, None, "author_2"),
    ]
    for wrong, why in (
        ({"model_a": "a", "winner": "tie"}, "line 1 has no 'model_b'"),
        ({"model_a": "a", "model_b": "b", "winner": "c"}, "winner is 'c'"),
        ({"model_a": "a", "model_b": "a", "winner": "tie"}, "with itself"),
    ):
        path.write_text(json.dumps(wrong))
        with pytest.raises(FormatError, match=why):
            read_battles(path)
    study = sp.create_study("arena", sp.Problem.pairs(NAMES), storage="memory://battles", seed=1)
    for pull in study.ask(6, worker="ann"):
        study.tell(pull.id, pull.first)
    back = read_battles(write_battles(study, path))
    assert [one.value for one in back] == [1.0] * 6
    assert {one.judge for one in back} == {"ann"}
    rewards = study.rewards()
    both = [study.problem.pairing.of(arm) for arm in rewards.arms.tolist()]
    assert [(one.first, one.second) for one in back] == [(NAMES[a], NAMES[b]) for a, b in both]


def test_promptfoos_select_best(tmp_path):
    def row(test, prompt, passed):
        assertion = {"type": "select-best", "value": "the shortest"}
        graded = {"pass": passed, "score": int(passed), "reason": "", "assertion": assertion}
        return {
            "testIdx": test, "promptIdx": prompt, "success": passed, "score": 0,
            "provider": {"id": "echo", "label": ""}, "prompt": {"raw": f"p{prompt}", "label": ""},
            "gradingResult": {"pass": passed, "componentResults": [graded]},
        }  # fmt: skip

    rows = [row(0, 0, False), row(0, 1, True), row(0, 2, False)]
    rows += [row(1, prompt, False) for prompt in range(3)]  # a verdict nobody understood
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": {"version": 3, "results": rows}}))
    found = read_select_best(path)
    assert not found.drawn
    assert [(one.first, one.second, one.value) for one in found] == [
        ("echo · p0", "echo · p1", 0.0),
        ("echo · p1", "echo · p2", 1.0),
    ]
    made = Battles([Battle("a", "b", 1.0), Battle("b", "a", 1.0), Battle("a", "b", 0.5)])
    back = read_select_best(write_select_best(made, path, "the shortest"))
    assert [(one.first, one.value) for one in back] == [("a", 1.0), ("a", 0.0)]
    path.write_text("[]")
    with pytest.raises(FormatError, match="promptfoo"):
        read_select_best(path)


def alike(rng, count, names=("a", "b", "c")):
    """Comparisons of random pairs of which nobody is better."""
    pairs = [rng.choice(names, 2, replace=False).tolist() for _ in range(count)]
    return [Battle(a, b, float(rng.random() < 0.5)) for a, b in pairs]


def test_a_file_that_grows_goes_on_where_it_stood(tmp_path):
    """Asked every day it is one run: the same comparisons first, later ones behind them."""
    kept = tmp_path / "kept.json"
    rng = np.random.default_rng(3)
    rows, batches = alike(rng, 40), []
    for _ in range(4):
        found = decide(Battles(list(rows)), chosen="in-advance", kept=kept)
        batches.append(found.answer.certificate()["batches"])
        assert found.missing
        rows += alike(rng, 40)
    for earlier, later in itertools.pairwise(batches):
        assert later[: len(earlier)] == earlier
    assert len(batches[-1]) > len(batches[0])
    assert decide(Battles(rows[:160]), chosen="in-advance", kept=kept).used == found.used
    # An option that comes later joins the run.
    better = [Battle("new", name, 1.0) for name in "abc" for _ in range(40)]
    turned = [Battle(one.second, one.first, 0.0) for one in better]
    found = decide(Battles([*rows, *better, *turned]), chosen="in-advance", kept=kept)
    assert found.option == "new"
    assert found.answer.certificate()["batches"][: len(batches[-1])] == batches[-1]
    checked = sp.verify(found.answer.certificate(), replay=True)
    assert checked.replayed
    assert "which comparisons the file has (440) did not depend on results" in checked.statement
    assert "asked before" not in checked.statement


def test_what_was_kept_for_something_else_is_refused(tmp_path):
    kept, rows = tmp_path / "kept.json", alike(np.random.default_rng(3), 80)
    decide(Battles(rows), chosen="in-advance", kept=kept)
    with pytest.raises(InvalidInputError, match="comparisons 1 to 80 are not those"):
        decide(Battles(rows[1:]), chosen="in-advance", kept=kept)
    with pytest.raises(InvalidInputError, match=r"was begun with delta=0\.05"):
        decide(Battles(rows), chosen="in-advance", delta=0.2, kept=kept)
    kept.write_text("{}")
    with pytest.raises(FormatError, match="give kept= another name"):
        decide(Battles(rows), chosen="in-advance", kept=kept)


def test_a_file_that_is_not_kept_says_that_it_was_asked_once():
    found = decide(drawn(3000), chosen="in-advance")
    assert "it was not asked before with fewer" in found.answer.plain
    assert "it was not asked before with fewer" in str(found)


@pytest.mark.validation
def test_asked_every_day_it_is_wrong_no_more_often(tmp_path):
    def wrong(seed):
        rng, rows = np.random.default_rng(seed), []
        for _ in range(12):
            rows += alike(rng, 60)
            found = decide(
                Battles(list(rows)), chosen="in-advance", delta=0.2, kept=tmp_path / f"{seed}.json"
            )
            if found:
                return found.option != "a"
        return False

    assert failures(wrong, 40, 16) <= 16  # 8 expected at most
