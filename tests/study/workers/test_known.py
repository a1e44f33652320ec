"""Scores that are known already come from a table, and nobody is asked for them again."""

import random

import pytest

import surepick as sp
from surepick.errors import InvalidInputError, UnknownNameError
from surepick.study.workers.known import Known, known_scores
from surepick.study.workers.measure import Call
from surepick.study.workers.run import pace_of
from surepick.study.workers.work import Workers

LABELS, ITEMS = ["short", "long", "steps"], 60


def score(label, item):
    skill = {"short": 0.3, "long": 0.9, "steps": 0.5}[label]
    return float(random.Random(f"{label} {item}").random() < skill)


@pytest.fixture
def table(tmp_path):
    rows = [
        f"{label},{item},{score(label, item):g}" for label in LABELS for item in range(0, 60, 2)
    ]
    file = tmp_path / "known.csv"
    file.write_text("\n".join(["label,item,reward", *rows, ""]))
    return file


@pytest.fixture
def problem():
    return sp.Problem.unstructured(LABELS, noise="yes-no")


def test_only_what_is_not_known_is_asked_for_and_counts_for_a_limit(table, problem, monkeypatch):
    algorithm = sp.algorithms.PooledPeleg(0.05, complete=ITEMS)
    study = sp.create_study("known", problem, algorithm, storage="memory://", seed=3)
    asked, scores, began = [], known_scores(table, problem, ITEMS), []

    def measure(task):
        asked.append((task.label, task.item))
        return score(task.label, task.item)

    pace = pace_of(study, 1e6)
    taken, back = type(pace).take, type(pace).give_back
    monkeypatch.setattr(type(pace), "take", lambda own: (began.append(1), taken(own))[1])
    monkeypatch.setattr(type(pace), "give_back", lambda own: (began.pop(), back(own))[1])
    work = Workers(study, Known(scores, Call(measure)), pace=pace).run()
    assert study.answer.label == "long"
    assert all(item % 2 for _, item in asked)
    assert len(set(asked)) == len(asked) == len(began) < work.told == study.status()["samples"]


@pytest.mark.parametrize(
    ("row", "error", "said"),
    [
        ("short,61,1", InvalidInputError, "is no item; they are numbered from 0 to 59"),
        ("short,1.5,1", InvalidInputError, "1.5 is no item"),
        ("short,one,1", InvalidInputError, "'one' is not a number"),
        ("short,1,0.5", InvalidInputError, "0.5, but"),
        ("shorter,1,1", UnknownNameError, "shorter"),
        ("short,0,{other}", InvalidInputError, "has another score on item 0"),
    ],
)
def test_what_cannot_be_is_named(table, problem, row, error, said):
    row = row.format(other=f"{1 - score('short', 0):g}")
    table.write_text(table.read_text() + row + "\n")
    with pytest.raises(error, match=said):
        known_scores(table, problem, ITEMS)
