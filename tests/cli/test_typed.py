"""What people type, and what is suggested to them: numbers, sheets, names with blanks."""

import json
import shlex

import pytest

import surepick as sp

LABELS = "variant\nA\nB\nC\n"


@pytest.fixture
def trial(folder, surepick):
    """A study of three labels and nothing else, whose name has a blank; four pulls are out."""
    (folder / "labels.csv").write_text(LABELS)
    assert surepick("new", "paint trial", "labels.csv")[0] == 0
    assert surepick("ask", "paint trial", "-n", 4)[0] == 0
    return sp.load_study("paint trial", "sqlite:///surepick.db")


def _labels(study):
    return [study.problem.labels[arm] for _, arm in sorted(study.desk.arms_of(range(4)).items())]


def _told(study):
    return dict(zip(study.rewards().pulls.tolist(), study.rewards().values.tolist()))


# -- options and pulls ------------------------------------------------------------------------
@pytest.mark.some(5)
@pytest.mark.parametrize("column", ["option", "Label", "variant", "whatever"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_sheet_that_names_another_option_is_refused_as_a_whole(
    folder, surepick, trial, column, separator
):
    labels = _labels(trial)
    wrong = [labels[0], next(one for one in "ABC" if one != labels[1]), labels[2]]
    rows = [["pull", column, "reward"], *([i, wrong[i], 1.5] for i in range(3))]
    text = "\n".join(separator.join(map(str, row)) for row in rows) + "\n"
    (folder / "sheet.csv").write_text(text)
    code, _, err = surepick("tell", "paint trial", "--file", "sheet.csv")
    assert code == 2
    assert (
        f"column {column!r}, line 3: measurement 1 was for {labels[1]!r}, not for {wrong[1]!r}"
        in err
    )
    assert _told(trial) == {}
    right = text.replace(f"1{separator}{wrong[1]}", f"1{separator}{labels[1].lower()} ")
    (folder / "sheet.csv").write_text(right)
    code, out, _ = surepick("tell", "paint trial", "--file", "sheet.csv")
    assert (code, "3 rewards are recorded" in out) == (0, True)


def test_the_number_of_an_option_will_do_and_is_compared(folder, surepick, trial):
    arms = trial.desk.arms_of(range(4))
    (folder / "sheet.csv").write_text(f"pull,arm,reward\n0,{(arms[0] + 1) % 3},1\n")
    assert surepick("tell", "paint trial", "--file", "sheet.csv")[0] == 2
    (folder / "sheet.csv").write_text(f"pull,arm,reward\n0,{arms[0]},1\n1,{_labels(trial)[1]},2\n")
    assert surepick("tell", "paint trial", "--file", "sheet.csv")[0] == 0


def test_a_label_beside_a_reward_is_compared(surepick, trial):
    mine, other = _labels(trial)[0], next(one for one in "ABC" if one != _labels(trial)[0])
    code, _, err = surepick("tell", "paint trial", 0, 1.5, "--label", other)
    assert (code, f"measurement 0 was for {mine!r}, not for {other!r}" in err) == (2, True)
    with pytest.raises(sp.SurepickError, match="mixed up"):
        trial.tell_many([(1, 1.0), (0, 1.5, other)])
    assert _told(trial) == {}
    assert surepick("tell", "paint trial", 0, 1.5, "--label", mine)[0] == 0


def test_past_measurements_that_name_two_options_are_refused(folder, surepick):
    (folder / "labels.csv").write_text(LABELS)
    (folder / "past.csv").write_text("arm,label,reward\n0,A,1\n2,B,1\n")
    chosen = ("--past", "past.csv", "--past-chosen", "in-advance")
    code, _, err = surepick("new", "s", "labels.csv", *chosen)
    assert (code, "column 'arm', line 3: '2' is not the number of 'B'" in err) == (2, True)


# -- cells ------------------------------------------------------------------------------------
def test_a_row_without_a_reward_is_skipped_and_named(folder, surepick, trial):
    (folder / "sheet.csv").write_text('pull,reward\n0,"4,56"\n1,\n2,n/a\n3,7\n')
    code, _, err = surepick("tell", "paint trial", "--file", "sheet.csv", "--strict")
    assert (code, _told(trial)) == (2, {})
    assert (
        "2 rows have no reward: measurement 1 (sheet.csv: column 'reward', line 3), measurement 2"
        in err
    )
    code, out, _ = surepick("tell", "paint trial", "--file", "sheet.csv")
    assert (code, _told(trial)) == (0, {0: 4.56, 3: 7.0})
    assert "2 rewards are recorded" in out
    assert "2 rows have no reward and were skipped: measurement 1 (sheet.csv" in out
    (folder / "sheet.csv").write_text("pull,reward\n1,4\n2,\n")
    code, out, _ = surepick("tell", "paint trial", "--file", "sheet.csv", "--json")
    assert json.loads(out)["skipped"] == ["measurement 2 (sheet.csv: column 'reward', line 3)"]


def test_one_reward_is_no_rewards(folder, surepick, trial):
    (folder / "sheet.csv").write_text("pull,reward\n0,4\n")
    assert "1 reward is recorded." in surepick("tell", "paint trial", "--file", "sheet.csv")[1]


def test_a_decimal_comma_is_read_unless_it_may_be_something_else(folder, surepick, trial):
    assert surepick("tell", "paint trial", 0, "4,56")[0] == 0
    assert surepick("tell", "paint trial", 1, "-0,125")[0] == 0
    code, _, err = surepick("tell", "paint trial", 2, "1,234")
    assert (code, "may be 1.234 or 1234" in err) == (2, True)
    assert surepick("correct", "paint trial", 0, "4,65", "--reason", "typed twice")[0] == 0
    (folder / "sheet.csv").write_text("pull;reward\n2;1,234\n")
    code, _, err = surepick("tell", "paint trial", "--file", "sheet.csv")
    assert (code, "line 2: '1,234' may be 1.234 or 1234" in err) == (2, True)
    assert _told(trial) == {0: 4.65, 1: -0.125}


# -- rates ------------------------------------------------------------------------------------
def test_per_cent_are_read_where_rewards_are_rates(folder, surepick):
    (folder / "labels.csv").write_text(LABELS)
    yes_no = ("labels.csv", "--rewards", "yes-no")
    code, out, _ = surepick("new", "a", *yes_no, "--epsilon", "0.2%", "--delta", "5%")
    assert (code, "Is that what you meant?" in out) == (0, False)
    study = sp.load_study("a", "sqlite:///surepick.db")
    assert (study.algorithm.epsilon, study.algorithm.delta) == (0.002, 0.05)
    readings = ("labels.csv", "--rewards", "symmetric")
    code, _, err = surepick("new", "b", *readings, "--epsilon", "0.2%")
    assert (code, "epsilon: per cent are for rewards that are rates" in err) == (2, True)
    out = surepick("new", "c", *yes_no, "--epsilon", "0.2")[1]
    assert "Any option within 20 percentage points of the best is accepted" in out
    assert "--epsilon 0.2%" in out


def test_an_epsilon_above_all_rates_is_pointed_out_once_rates_are_known():
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    study = sp.create_study("rates", problem, epsilon=0.2, storage="memory://")
    told = 0
    while not study.finished and told < 200:
        for pull in study.ask(100):
            study.tell(pull.id, float(told % 50 == 0))
            told += 1
    assert "If 0.2 % was meant" in study.checks().remarks[-1]
    assert "--epsilon 0.2%" in study.checks().remarks[-1]


# -- what is suggested, and exit codes --------------------------------------------------------
def test_suggested_commands_can_be_pasted(surepick, trial):
    out = surepick("new", "two words", "labels.csv")[1]
    words = shlex.split(out.rpartition(" or ")[2])
    assert words == ["surepick", "ask", "two words"]
    for pull in range(4):
        surepick("tell", "paint trial", pull, 1.0)
    assert "surepick resume 'paint trial'" in surepick("pause", "paint trial")[1]


def test_exit_codes_say_whether_anything_was_proven(folder, surepick):
    noise = ("--noise", "0.1")
    surepick("new", "far", "options.csv", "--unstructured", *noise)
    call = ("--exec", "printenv SUREPICK_FEATURE_price")
    assert surepick("answer", "far")[0] == 4
    assert surepick("verify", "far")[0] == 4
    code, out, _ = surepick("verify", "far", "--replay")
    assert (code, out.splitlines()[0]) == (
        4,
        "NOT fully verified. There is no answer yet, so no run was repeated.",
    )
    assert json.loads(surepick("verify", "far", "--replay", "--json")[1])["holds"] is False
    assert surepick("run", "far", *call)[0] == 0
    assert surepick("answer", "far", "--certificate", "far.json")[0] == 0
    assert surepick("verify", "far.json")[0] == 0
    assert surepick("verify", "far")[0] == 0
    surepick("new", "cut", "options.csv", "--unstructured", *noise, "--max-samples", "4")
    assert surepick("run", "cut", *call)[0] == 7
    assert surepick("answer", "cut", "--certificate", "cut.json")[0] == 7
    assert surepick("verify", "cut.json")[0] == 7
    assert surepick("verify", "cut")[0] == 7
    assert "7    there is an answer" in surepick("--help")[1]
