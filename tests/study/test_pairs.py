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
from surepick.cli.status import _count
from surepick.errors import InvalidInputError, RunStateError
from surepick.study import StudySpec
from surepick.study.manage import describe_studies
from surepick.study.sheet import OptionTable, Sheet

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


@pytest.mark.some(2)
@pytest.mark.parametrize("setting", [{}, {"borda": True}, {"confirm": False}])
def test_from_a_table_to_a_certificate(setting, storage_url):
    table = OptionTable(Sheet(csv=CSV))
    study = sp.create_study(
        f"arena {setting}", table=table, pairs=True, storage=storage_url, **setting
    )
    judged(study, np.random.default_rng(5))
    assert study.answer.label == "terse"
    assert study.answer.guarantee.shown
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
    "quantile": 0.5,
    "threshold": 0.5,
    "noise": "yes-no",
    "misfit": 0.1,
    "complete": 5,
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
    with pytest.raises(InvalidInputError, match=f"{name}: .*(two at a time|a comparison)"):
        StudySpec(name="no", table=OptionTable(Sheet(csv=CSV)), pairs=True, **given)


def test_the_two_that_win_most(storage_url):
    table = OptionTable(Sheet(csv=CSV))
    name = f"two of them {storage_url[:4]}"
    given = {"pairs": True, "borda": True, "top": 2}
    study = sp.create_study(name, table=table, storage=storage_url, **given)
    for pull in study.ask(8):
        study.tell(pull.id, better(pull))
    status = study.status()
    assert status["standing"]["question"] == "top"
    assert status["standing"]["columns"]["state"].count("leads") == 2
    assert "the 2 that win most" in status["promise"]["text"]
    judged(study)
    assert set(study.answer.labels) == {"terse", "polite"}
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    assert study.rebuild().answer == study.answer
    with pytest.raises(InvalidInputError, match=r"top: only one .*--borda"):
        StudySpec(name="no", table=table, pairs=True, top=2)
    with pytest.raises(InvalidInputError, match="asks for the 2 best"):
        study.retire("odd", reason="odd")


def test_items_costs_and_a_budget_in_a_study(storage_url):
    table = OptionTable(Sheet(csv=CSV), cost="tokens")
    given = {"pairs": True, "items": 6, "budget": 3000}
    study = sp.create_study(
        f"on items {storage_url[:4]}", table=table, storage=storage_url, **given
    )
    pulls = study.ask(8, worker="judge")
    assert {pull.item for pull in pulls} <= set(range(6))
    assert len({pull.item for pull in pulls}) > 1
    for pull in pulls:
        study.tell(pull.id, better(pull))
    judged(study)
    assert study.answer.label == "terse"
    assert "best on average over all 6 items" in study.answer.guarantee
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    # A comparison costs what both of its options cost.
    costs = dict(zip(LABELS, (10, 20, 90, 15)))
    spent = sum(costs[pull.first] + costs[pull.second] for pull in pulls)
    assert 0 < spent < study.answer.cost <= 3000
    assert study.rebuild().answer == study.answer


def test_a_crowd_of_judges_never_waits_for_the_slowest():
    problem = sp.Problem.pairs(LABELS)
    study = sp.create_study("crowd", problem, storage="memory://pairs-crowd")
    slow = study.ask(1, worker="asleep", lease=10_000)
    told = 0
    for turn in range(60):
        for pull in study.ask(4, worker=f"judge {turn % 6}"):
            study.tell(pull.id, better(pull))
            told += 1
    assert told >= 32  # far more than the block that is waited for
    for pull in slow:
        study.tell(pull.id, better(pull))
    judged(study)
    assert study.answer.label == "terse"
    assert "as batches overlapped" in study.answer.guarantee
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    assert study.rebuild().answer == study.answer


def test_a_comparison_that_holds_up_others_is_handed_out_twice(storage_url):
    study = sp.create_study(
        "hedged", sp.Problem.pairs(LABELS), storage=storage_url, seed=2, hedge=True, overlap=False
    )
    lost = study.ask(1, "lost")[0]
    for _ in range(100):
        for pull in study.ask(8, "judge"):
            assert study.tell(pull.id, better(pull), "judge").status == "accepted"
        if study.finished:
            break
    assert study.tell(lost.id, lost.first, "lost").status == "late"
    certificate = study.answer.certificate()
    assert study.answer.label == "terse"
    assert certificate["conditions"] == [{"name": "hedged", "pulls": 1}]
    assert sp.verify(certificate, replay=True).replayed
    assert study.judgements()["comparisons"] == len(study.rewards().arms)


def test_lists_and_exports_speak_of_options(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = sp.create_study("listed", table=OptionTable(Sheet(csv=CSV)), pairs=True, storage=url)
    judged(study)
    (row,) = describe_studies(url)
    assert (row["options"], row["survivors"], row["answer"]) == (4, 1, "terse")
    lines = study.export(tmp_path / "told.csv").read_text().splitlines()
    assert lines[0].endswith("first tokens,first text,second tokens,second text")
    study.close()


def test_what_is_the_best_only_if_any_is_listed_so_and_is_no_success(tmp_path):
    from click.testing import CliRunner

    from surepick.cli import cli

    url = f"sqlite:///{tmp_path / 's.db'}"
    study = sp.create_study("if", sp.Problem.pairs(LABELS), storage=url, confirm=False, seed=1)
    judged(study)
    assert describe_studies(url)[0]["answer"] == f"{study.answer.label}, if any is"
    certificate = tmp_path / "proof.json"
    command = ["answer", "if", "--storage", url, "--certificate", str(certificate)]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 7
    assert done.output.startswith("Not shown to be the best, but only if any option is: ")
    done = CliRunner().invoke(cli, ["verify", str(certificate)])
    assert done.exit_code == 7
    assert "not that any option is the best" in done.output


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
    assert study.status()["circle"] == ["0", "1", "2"]
    status = study.status()
    assert _count(status, 3) == "no option beats every other: 0 beats 1 beats 2 beats 0"
    status |= {"circle": [], "finished": False}
    assert _count(status, 3) == "no option beats every other; a circle is looked for"
    assert study.standing()["state"].count("leads") <= 1
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    study.close()


@pytest.mark.parametrize("borda", [False, True])
def test_options_come_and_go(storage_url, borda):
    table = OptionTable(Sheet(csv="prompt,tokens,text\npolite,20,Please.\nlong,90,Write.\n"))
    name = f"living {borda}"
    study = sp.create_study(name, table=table, pairs=True, borda=borda, storage=storage_url)
    for pull in study.ask(3):
        study.tell(pull.id, better(pull))
    more = Sheet(csv="prompt,tokens,text\nterse,10,Brief.\nodd,15,Sing.\n")
    assert study.add(more, reason="new ideas").waits
    judged(study)
    assert study.answer.label == "terse"
    assert (
        study.features_of(study.problem.labels.index("terse vs odd"))["second"]["text"] == "Sing."
    )
    study.retire("terse", reason="the customer hates it")
    assert study.status()["retired"] == ["terse"]
    judged(study)
    assert study.answer.label == "polite"
    status = study.status()
    assert (status["options"], status["started_with"]) == (3, 2)
    states = dict(zip(*(status["standing"]["columns"][name] for name in ("option", "state"))))
    assert states["terse"] == "retired"
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    assert study.rebuild().answer == study.answer
    with pytest.raises(InvalidInputError, match="already exists"):
        study.add(more, reason="again, and again")


def test_newcomers_by_label_alone_and_a_correction_while_blocks_overlap():
    study = sp.create_study("labels", sp.Problem.pairs(LABELS[1:]), storage="memory://pairs-labels")
    slow = study.ask(1, worker="asleep", lease=10_000)
    for turn in range(8):
        for pull in study.ask(4, worker=f"judge {turn}"):
            study.tell(pull.id, better(pull))
    study.correct(3, "tie", reason="the judge slept")
    study.add(["terse"], reason="late")
    for pull in slow:
        study.tell(pull.id, better(pull))
    judged(study)
    assert study.answer.label == "terse"
    assert sp.verify(study.answer.certificate()).candidate == 3
    again = study.rebuild().state.purses.peaks
    assert study.answer.certificate()["evidence"]["log_capital"] == pytest.approx(again)


def test_borda_alone_says_what_is_missing():
    with pytest.raises(InvalidInputError, match="add pairs"):
        StudySpec(name="no", table=OptionTable(Sheet(csv=CSV)), borda=True)
    with pytest.raises(InvalidInputError, match="not one of pairs"):
        StudySpec(name="no", problem=sp.Problem([[1.0], [2.0]]), pairs=True)


@pytest.mark.validation
def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("prompts.csv").write_text(CSV)
    Path("judges.py").write_text(
        "def judge(task):\n    return min((task.first, task.second), key=['terse', 'polite', "
        "'long', 'odd'].index)\nasync def later(task):\n    return judge(task)\n"
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
    typed("run", "arena", "--call", "judges:later", "--workers", "4")
    said = " ".join(typed("answer", "arena", "--certificate", "c.json").split())
    assert "Answer: terse" in said
    assert "If any option beats every other, it is this one" in said
    assert "certificate holds" in typed("verify", "c.json", "--replay")
    said = " ".join(typed("status", "arena").split())
    assert "Estimates are a Bradley–Terry model's" in said
    typed("new", "two", "prompts.csv", "--pairs", "--borda", "--top", "2")
    typed("run", "two", "--call", "judges:judge")
    said = " ".join(typed("answer", "two").split())
    assert "They win most" in said
    assert "terse" in said
    assert "polite" in said
    assert "4 options" in typed("status", "two")


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


@pytest.mark.validation
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
        both = client.create_study("two", sp.Problem.pairs(LABELS), borda=True, top=2)
        assert set(judged(both).answer.labels) == {"terse", "polite"}
        study = client.create_study("more to come", sp.Problem.pairs(LABELS[1:]))
        study.add(["terse"], reason="late")
        study.retire("odd", reason="odd")
        assert judged(study).answer.label == "terse"
