"""Who judged what: wins, agreement, and judges who prefer a side."""

import json
import sys

import numpy as np
import pytest

import surepick as sp
from surepick.cli import main
from surepick.errors import InvalidInputError
from surepick.simulate.judges import Judge, bradley_terry

LABELS = ["tea", "milk", "water"]


def arena(name, most=10**6, **settings):
    return sp.create_study(
        name, sp.Problem.pairs(LABELS), storage=f"memory://{name}", seed=3, **settings
    )


def judged(study, judges, most):
    """Judges take turns; each is a function of a pull, and says what it prefers."""
    told = 0
    while told < most and not study.finished:
        for name, judge in judges.items():
            for pull in study.ask(1, worker=name):
                study.tell(pull.id, judge(pull), worker=name)
                told += 1
    return study.judgements()


def by_list(pull):
    return min(pull.first, pull.second, key=LABELS.index)


def test_wins_and_shares_add_up():
    found = judged(arena("adds up"), {"ann": by_list}, 20)
    met, won = np.array(found["met"]), np.array(found["won"])
    assert met.sum() == 2 * found["comparisons"]
    assert (won + won.T == met).all()
    top = found["standings"][0]
    assert (top["option"], top["share"]) == ("tea", 1.0)
    assert top["low"] < 1.0 <= top["high"]
    assert [one["met"] for one in found["standings"]] == [
        int(met[LABELS.index(one["option"])].sum()) for one in found["standings"]
    ]
    assert found["latest"][0]["judge"] == "ann"
    assert found["latest"][0]["better"] in found["latest"][0].values()


@pytest.mark.validation
def test_strengths_are_a_models_estimate_with_an_interval():
    empty = arena("nothing yet").judgements()["standings"]
    assert all(
        row["strength"] is row["strength_low"] is row["strength_high"] is None for row in empty
    )
    chance = bradley_terry([1.0, 0.2, -1.2])
    ends, inside, ahead = [], 0, 0.0
    for seed in range(30):
        judge = Judge(chance, left=0.7, rng=seed)
        study = sp.create_study(
            f"strong {seed}", sp.Problem.pairs(LABELS), storage=f"memory://strong {seed}", seed=seed
        )

        def judged_by(pull, judge=judge):
            return judge(LABELS.index(pull.first), LABELS.index(pull.second))

        rows = judged(study, {"ann": judged_by}, 300)["standings"]
        found = {row["option"]: row for row in rows}
        assert abs(sum(row["strength"] for row in rows)) < 1e-9
        for label, strength in zip(LABELS, [1.0, 0.2, -1.2]):
            row = found[label]
            assert row["strength_low"] < row["strength"] < row["strength_high"]
            inside += row["strength_low"] <= strength <= row["strength_high"]
        ends.append(found["tea"]["strength_high"] - found["tea"]["strength_low"])
        ahead += found["tea"]["strength"] / 30
    assert inside >= 0.85 * 90
    assert 0.5 < ahead < 1.5
    assert max(ends) < 4.0


def test_judges_who_say_the_same_agree_and_opposites_do_not():
    def contrary(pull):
        return max(pull.first, pull.second, key=LABELS.index)

    same = judged(arena("same"), {"ann": by_list, "bob": by_list}, 20)
    assert same["agreement"]["share"] == 1.0
    other = judged(arena("opposite"), {"ann": by_list, "bob": contrary}, 20)
    assert other["agreement"]["share"] == 0.0
    ties = judged(arena("ties"), {"ann": by_list, "bob": lambda pull: "tie"}, 20)
    assert [one["agreement"] for one in ties["judges"]] == [0.5, 0.5]
    alone = judged(arena("alone"), {"ann": by_list}, 10)
    assert alone["agreement"] == {"share": None, "comparisons": 0}


@pytest.mark.parametrize("side", ["first", "second"])
def test_a_judge_who_always_prefers_one_side_is_pointed_out(side):
    judges = {"ann": by_list, "lefty": lambda pull: getattr(pull, side)}
    found = judged(arena(f"always {side}", max_samples=60), judges, 60)
    ann, lefty = found["judges"]
    assert ann["prefers"] is None
    assert ann["said"] == ""
    assert lefty["prefers"] == side
    assert lefty["said"].startswith("lefty preferred the one on the ")
    assert "always" in lefty["said"]


def test_names_that_nobody_gave_are_one_judge_and_tokens_tell_others_apart():
    study = arena("nameless")
    for _ in range(3):
        (pull,) = study.ask()
        study.tell(pull.id, "tie")
    (judge,) = study.judgements()["judges"]
    assert (judge["name"], judge["comparisons"], judge["ties"]) == (None, 3, 3)


def test_other_studies_have_no_judges():
    study = sp.create_study("plain", sp.Problem([[1.0], [2.0]]), storage="memory://no-judges")
    with pytest.raises(InvalidInputError, match="not compared two at a time"):
        study.judgements()


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = sp.create_study("typed", sp.Problem.pairs(LABELS), storage=url, seed=3, max_samples=30)
    judged(study, {"ann": by_list, "lefty": lambda pull: pull.first}, 30)
    study.close()

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["surepick", *words, "--storage", url])
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out

    said = typed("judges", "typed")
    assert said.startswith(
        "option\tshare of wins\tbetween\tcomparisons\tso far\tstrength\tabout\ntea\t"
    )
    assert "\nann\t" in said
    assert "a Bradley–Terry model's estimate" in said
    assert "Note: lefty preferred the one on the left" in said
    assert json.loads(typed("judges", "typed", "--json"))["judges"][1]["prefers"] == "first"
