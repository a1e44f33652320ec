"""Studies that compare two options at a time, from every door."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.postgres import fast_folder
from tests.server.served import Served

import surepick as sp
from surepick.cli import main
from surepick.errors import InvalidInputError, RunStateError
from surepick.study import StudySpec
from surepick.study.manage import describe_studies
from surepick.study.options import OptionTable
from surepick.study.sheet import Sheet

LABELS = ["terse", "polite", "long", "odd"]
CSV = "prompt,tokens,text\nterse,10,Brief.\npolite,20,Please.\nlong,90,Write.\nodd,15,Sing.\n"


def better(pull, rng=None):
    """Who comes first in the list wins, mostly."""
    order = sorted((pull.first, pull.second), key=LABELS.index)
    return order[0] if rng is None or rng.random() < 0.9 else order[1]


def judged(study, rng=None, most=10**6):
    while not study.finished and study.progress().first < most:
        for pull in study.ask(5, worker="judge"):
            study.tell(pull.id, better(pull, rng))
    return study


@pytest.mark.parametrize("setting", [{}, {"borda": True}, {"confirm": True}])
def test_from_a_table_to_a_certificate(setting, storage_url):
    table = OptionTable(Sheet(csv=CSV))
    study = sp.create_study(
        f"arena {setting}", table=table, pairs=True, storage=storage_url, **setting
    )
    judged(study, np.random.default_rng(5))
    assert study.answer.label == "terse"
    assert study.answer.guarantee
    assert not study.checks().warnings
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    assert study.rebuild().answer == study.answer
    status = study.status()
    assert status["options"] == 4
    assert status["standing"]["columns"]["option"] == LABELS


def test_ask_names_both_and_tell_takes_either_or_tie():
    study = sp.create_study("both", sp.Problem.pairs(LABELS), storage="memory://pairs-both")
    pulls = study.ask(4)
    assert all(pull.label == f"{pull.first} vs {pull.second}" for pull in pulls)
    said = [pulls[0].second, "Tie", f" {pulls[2].first.upper()} ", 0.5]
    assert [study.tell(p.id, s).value for p, s in zip(pulls, said)] == [0.0, 0.5, 1.0, 0.5]
    (pull,) = study.ask()
    third = next(label for label in LABELS if label not in (pull.first, pull.second))
    for wrong, why in ((third, "is neither"), ("both", "is neither"), (0.7, "the first is better")):
        with pytest.raises(InvalidInputError, match=why):
            study.tell(pull.id, wrong)
    assert study.tell(pull.id, 1).value == 1.0


def test_labels_that_are_numbers_are_labels():
    study = sp.create_study("numbers", sp.Problem.pairs(2), storage="memory://pairs-numbers")
    (pull,) = study.ask()
    assert study.tell(pull.id, pull.second).value == 0.0


def test_order_is_balanced_and_part_of_the_record():
    problem = sp.Problem.pairs(30)
    run = sp.algorithms.get("pairs", delta=0.05, block=400).start(problem)
    firsts = problem.pairing.firsts(run.ask().arms)
    seconds = problem.pairing.seconds(run.ask().arms)
    assert 0.4 < (firsts < seconds).mean() < 0.6


def test_corrected_and_withdrawn_comparisons():
    study = judged(
        sp.create_study("wrong", sp.Problem.pairs(LABELS), storage="memory://pairs-wrong")
    )
    before = study.answer.samples
    study.correct(3, 0.5, reason="was a tie")
    study.withdraw(5, reason="the judge slept")
    judged(study)
    assert study.answer.label == "terse"
    assert study.answer.samples >= before - 1
    found = sp.verify(study.answer.certificate())
    assert "corrected or withdrawn" in found.statement


def test_an_item_of_wins_most_that_is_withdrawn():
    name = "memory://pairs-most"
    study = sp.create_study("most", sp.Problem.pairs(LABELS), storage=name, borda=True)
    judged(study)
    arms = study.rewards().arms[:8].tolist()
    alone = next(i for i, arm in enumerate(arms) if arms.count(arm) == 1)
    study.withdraw(alone, reason="the judge slept")
    judged(study)
    assert sp.verify(study.answer.certificate()).candidate == 0
    twice = next((i for i, arm in enumerate(arms) if arms.count(arm) > 1), None)
    if twice is not None:
        with pytest.raises(RunStateError, match="which of two equal comparisons"):
            study.withdraw(twice, reason="the judge slept")


REFUSED = {
    "top": 2,
    "baseline": "terse",
    "noise": "yes-no",
    "misfit": 0.1,
    "items": 5,
    "strata": "day",
    "check_fit": 1.0,
    "traffic": True,
    "minimise": True,
    "again": True,
    "algorithm": "rage",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pairs_cannot_have_is_refused_with_words(name):
    given = {name: REFUSED[name]}
    with pytest.raises(InvalidInputError, match=f"{name}: .*two at a time"):
        StudySpec(name="no", table=OptionTable(Sheet(csv=CSV)), pairs=True, **given)


def test_lists_and_exports_speak_of_options(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = sp.create_study("listed", table=OptionTable(Sheet(csv=CSV)), pairs=True, storage=url)
    judged(study)
    (row,) = describe_studies(url)
    assert (row["options"], row["survivors"], row["answer"]) == (4, 1, "terse")
    lines = study.export(tmp_path / "told.csv").read_text().splitlines()
    assert lines[0].endswith("first tokens,first text,second tokens,second text")
    study.close()


def test_where_nobody_is_left_nobody_is_listed(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = sp.create_study("circle", sp.Problem.pairs(3), storage=url, confirm=True)
    while not study.finished:
        for pull in study.ask(5):
            first, second = study.problem.pairing.of(pull.arm)
            study.tell(pull.id, float((second - first) % 3 == 1))
    assert describe_studies(url)[0]["answer"] == "nobody"
    assert study.answer.guarantee.kind == study.status()["promise"]["kind"] == "nobody"
    assert study.answer.circle == ("0", "1", "2")
    assert study.standing()["state"].count("leads") <= 1
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    study.close()


def test_options_of_pairs_cannot_come_and_go_yet():
    study = sp.create_study("stay", sp.Problem.pairs(LABELS), storage="memory://pairs-stay")
    for act in (lambda: study.retire("terse", reason="no"), lambda: study.add(["new"])):
        with pytest.raises(InvalidInputError, match="cannot come and go"):
            act()


def test_borda_alone_says_what_is_missing():
    with pytest.raises(InvalidInputError, match="add pairs"):
        StudySpec(name="no", table=OptionTable(Sheet(csv=CSV)), borda=True)
    with pytest.raises(InvalidInputError, match="not one of pairs"):
        StudySpec(name="no", problem=sp.Problem([[1.0], [2.0]]), pairs=True)


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("prompts.csv").write_text(CSV)
    Path("judges.py").write_text(
        "def judge(task):\n    return min((task.first, task.second), key=['terse', 'polite', "
        "'long', 'odd'].index)\n"
    )

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["surepick", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        return out

    said = typed("new", "arena", "prompts.csv", "--pairs")
    assert "which of two options is better" in said
    assert "{first} {second}" in said
    head, line = typed("ask", "arena", "--worker", "me").splitlines()
    assert head.split("\t") == ["pull", "first", "second"]
    assert "recorded" in typed("tell", "arena", line.split("\t")[0], line.split("\t")[2])
    (pull,) = json.loads(typed("ask", "arena", "--worker", "me", "--json"))["pulls"]
    assert pull["features"]["first"]["text"]
    Path("told.csv").write_text(f"pull,reward\n{pull['id']},tie\n")
    assert "1 reward is recorded" in typed("tell", "arena", "--file", "told.csv")
    typed("run", "arena", "--call", "judges:judge")
    said = " ".join(typed("answer", "arena", "--certificate", "c.json").split())
    assert "Answer: terse" in said
    assert "If any option beats every other, it is this one" in said
    assert "certificate holds" in typed("verify", "c.json", "--replay")
    assert "terse" in typed("status", "arena")


def test_a_command_may_print_the_better_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = sp.create_study("printed", sp.Problem.pairs(["b", "a"]), storage="sqlite:///s.db")
    from surepick.study.workers.measure import Command, Measurement

    measure = Command("echo {second}")
    done = measure(Measurement(0, 0, "b vs a", first="b", second="a"))
    assert (done.reward, done.error) == (0.0, "")
    done = Command("echo neither")(Measurement(0, 0, "b vs a", first="b", second="a"))
    assert "neither 'b' nor 'a' nor 'tie'" in done.error
    study.close()


@pytest.fixture(scope="module")
def service():
    folder = fast_folder("sp-pairs-")
    with Served(f"sqlite:///{folder}/studies.db", folder, "--rate", "100000") as served:
        yield served
    shutil.rmtree(folder)


def test_through_the_service(service):
    with service.client(patience=20) as client:
        study = client.create_study("far away", sp.Problem.pairs(LABELS))
        (pull,) = study.ask()
        assert pull.label == f"{pull.first} vs {pull.second}"
        with pytest.raises(InvalidInputError, match="is neither"):
            study.tell(pull.id, "nobody")
        assert study.tell(pull.id, "tie").value == 0.5
        judged(study)
        assert study.answer.label == "terse"
        assert study.answer.wins
        sp.verify(study.answer.certificate(), replay=True)
        table = OptionTable(Sheet(csv=CSV))
        other = client.create_study("by table", table=table, pairs=True, borda=True)
        (pull,) = other.ask()
        assert other.features_of(pull.arm)["second"]["text"]
        assert other.status()["promise"]["kind"] == "pac"
