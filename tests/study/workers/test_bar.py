"""How a study is getting on, where nobody sees a bar: a plain line every so often."""

import math

from tests.calls.clock import Clock

import surepick as sp
from surepick.study.workers.bar import Bar
from surepick.study.workers.work import Work


def test_a_line_every_so_often_with_what_was_spent_and_what_failed(capsys):
    named = {"labels": ["a", "b"], "noise": "yes-no", "misfit": math.inf}
    problem = sp.Problem([[1, 0], [0, 1]], costs=[0.5, 2.0], **named)
    study = sp.create_study("bar", problem, complete=20, budget=30, storage="memory://bar")
    clock = Clock()
    with Bar(study, clock) as bar:
        for pull in study.ask(2, worker="ann"):
            study.tell(pull.id, 1.0)
        bar.show(Work(told=2))
        clock.now = 10.0
        bar.show(Work(told=2))
        assert capsys.readouterr().err == ""  # not at once, and not all the time
        clock.now = 15.0
        bar.show(Work(told=2, failed=1, refused=3, lowest=1))
        bar.show(Work(told=2))
        (line,) = capsys.readouterr().err.splitlines()
    spent = study.status()["cost"]
    assert line.startswith(f"bar: 2 measurements (cost {spent:g} of 30), 1 failure, ")
    assert "3 refused and tried later, 1 counted as the worst score; batch " in line
