"""What studies are given from files: past measurements, rewards; and extra pulls for checks."""

import json

import pytest

import surepick as sp

PAST = "label,reward\n" + "".join(f"{label},{k + 1}\n" for k, label in enumerate("abcd")) * 5


def run_json(surepick, *arguments):
    code, out, _ = surepick(*arguments, "--json")
    return code, json.loads(out)


def new(surepick, *more):
    return surepick("new", "s", "options.csv", "--features", "price", "--noise", "0.5", *more)


# -- past ------------------------------------------------------------------------------------
@pytest.mark.some(1)
@pytest.mark.parametrize("chosen", ["in-advance", "in advance"])
def test_past_measurements_may_be_all_it_takes(surepick, folder, chosen):
    (folder / "past.csv").write_text(PAST)
    code, out, _ = new(surepick, "--past", "past.csv", "--past-chosen", chosen, "--trust-features")
    assert code == 0
    assert "20 past measurements of 4 options count as evidence" in out
    assert "If it did, the guarantee is void" in out
    assert "The past measurements are enough. Next: surepick answer s" in out
    code, out, _ = surepick("answer", "s", "--certificate", "c.json")
    assert code == 0
    assert "Answer: d" in out
    assert "if the past measurements were chosen without looking at results" in out
    assert sp.verify(folder / "c.json").guarantee == "pac"


def test_past_measurements_that_only_guide(surepick, folder):
    (folder / "past.csv").write_text(PAST)
    code, out, _ = new(surepick, "--past", "past.csv", "--past-chosen", "by-results")
    assert code == 0
    assert "only guide what is measured first. They are not evidence" in out
    _, status = run_json(surepick, "status", "s")
    assert status["past"] == {"measurements": 20, "evidence": False}
    assert status["samples"] == 0
    assert not status["finished"]


@pytest.mark.parametrize(
    ("past", "arguments", "said"),
    [
        (PAST, [], "If in doubt, choose 'by results'"),
        (PAST, ["--past-chosen", "somehow"], "must say how past measurements were chosen"),
        (PAST, ["--past-chosen", "in-advance", "--algorithm", "peleg"], "use pooled-peleg"),
        ("label,reward\nz,1\n", ["--past-chosen", "in-advance"], "'z'"),
        ("label,reward\na,\n", ["--past-chosen", "in-advance"], "line 2"),
        ("label,price\na,1\n", ["--past-chosen", "in-advance"], "'reward'"),
    ],
)
def test_bad_past(surepick, folder, past, arguments, said):
    (folder / "past.csv").write_text(past)
    code, _, err = new(surepick, "--past", "past.csv", *arguments)
    assert code == 2
    assert said in err
    assert not (folder / "surepick.db").exists() or sp.list_studies("sqlite:///surepick.db") == []


# -- tell --file -----------------------------------------------------------------------------
def test_rewards_from_a_file(surepick, study, folder):
    _, asked = run_json(surepick, "ask", study, "-n", "3", "--worker", "me")
    rows = "".join(f"{pull['id']},{-pull['id'] / 2}\n" for pull in asked["pulls"])
    (folder / "r.csv").write_text("pull,reward\n" + rows)
    code, out, _ = surepick("tell", study, "--file", "r.csv")
    assert (code, out) == (0, "3 rewards are recorded.\n")
    code, told = run_json(surepick, "tell", study, "--file", "r.csv")
    assert (code, told["accepted"], told["duplicate"]) == (0, 0, 3)
    (folder / "r.csv").write_text("pull,reward\n0,7\n1,-0.5\n")
    code, out, err = surepick("tell", study, "--file", "r.csv")
    assert code == 2
    assert "1 measurement already has a different reward, which counts: 0" in err
    assert run_json(surepick, "status", study)[1]["samples"] == 3
    assert "conflict" in surepick("export", study, "--what", "events")[1]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("pull,reward\n0,1\n99,1\n", "never handed out measurement 99"),
        ("pull,reward\n0,1\n1,inf\n", "line 3"),
        ("pull,reward\n0,1\n1.5,2\n", "'1.5' is not a whole number"),
        ("pull,reward\nfirst,1\n", "'first' is not a whole number"),
        ("number,reward\n0,1\n", "'pull'"),
    ],
)
def test_of_a_bad_file_nothing_is_recorded(surepick, study, folder, table, said):
    surepick("ask", study, "-n", "2")
    (folder / "r.csv").write_text(table)
    code, _, err = surepick("tell", study, "--file", "r.csv")
    assert code == 2
    assert said in err
    assert run_json(surepick, "status", study)[1]["samples"] == 0


def test_a_pull_or_a_file(surepick, study):
    for arguments in ([], ["0"], ["0", "1", "--file", "r.csv"]):
        code, _, err = surepick("tell", study, *arguments)
        assert code == 2
        assert "either a measurement and its reward, or --file" in err


# -- checks ----------------------------------------------------------------------------------
def test_extra_pulls_for_the_check_of_the_model(surepick, folder):
    rows = "".join(f"o{i},{i}\n" for i in range(10))
    (folder / "line.csv").write_text("label,x\n" + rows)
    assert surepick("new", "s", "line.csv", "--check-fit", "1", "--noise", "1")[0] == 0
    with sp.load_study("s") as study:
        while pulls := study.ask(100):
            study.tell_many([(p.id, 50.0 * p.arm + (-1) ** p.id) for p in pulls])
    _, answer = run_json(surepick, "answer", "s")
    assert answer["guarantee"]["kind"] == "pac"
    fit = answer["checks"]["fit"]
    assert not fit["blind"]
    assert fit["noticeable"] <= 1.0
    assert min(answer["pulls"]) > 0
    code, _, err = surepick("new", "t", "options.csv", "--unstructured", "--check-fit", "1")
    assert code == 2
    assert "nothing to check" in err


# -- replicates ------------------------------------------------------------------------------
def test_several_of_one_option(surepick, study):
    code, out, _ = surepick("ask", "s", "-n", 2, "--same", "--worker", "ann")
    assert code == 0
    head, *rows = [line.split("\t") for line in out.splitlines()]
    assert head[:2] == ["pull", "option"]
    assert len({label for _, label, *_ in rows}) == 1


def test_what_to_do_with_a_measurement_that_was_not_asked_for(surepick, study, folder):
    (folder / "mine.csv").write_text("label,reward\na,4.2\n")
    for words in (("a", 4.2), ("--file", "mine.csv")):
        code, _, err = surepick("tell", "s", *words)
        assert code == 2
        assert "keep it until the study asks for that option" in err


# -- what came after the end -----------------------------------------------------------------
def test_status_and_answer_count_the_same(surepick, study):
    surepick("ask", "s", "-n", 3, "--worker", "ann")
    surepick("tell", "s", 0, 1.5)
    surepick("tell", "s", 1, 2.5)
    assert surepick("stop", "s")[0] == 0
    for verb, counted in (("status", "0 measurements"), ("answer", "after 0 measurements")):
        code, out, _ = surepick(verb, "s")
        said = " ".join(out.split())
        assert code == (7 if verb == "answer" else 0)
        assert counted in said
        assert "2 more belong to a batch that was not complete at the end; they are stored" in said
