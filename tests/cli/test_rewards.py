"""What a measurement gives, from the command line: a new user's way to an answer."""

import json

import pytest

import surepick as sp

# Says 1 or 0; the dearer the option, the more often 1. Each pull draws a number of its own, from 0
# to 999: its number, scrambled. (A shell starts in a tenth of the time that Python takes.)
CLICK = """
draw=$(( SUREPICK_PULL * 2654435761 & 4294967295 ))
draw=$(( (draw ^ draw >> 15) * 2246822519 & 4294967295 ))
draw=$(( (draw ^ draw >> 13) % 1000 ))
price=${SUREPICK_FEATURE_price%.*}
if [ $draw -lt $(( 200 * price - 100 )) ]; then echo 1; else echo 0; fi
"""


def run_json(surepick, *arguments):
    code, out, _ = surepick(*arguments, "--json")
    return code, json.loads(out)


@pytest.fixture
def clicks(surepick, folder):
    """A study of clicks."""
    (folder / "click.sh").write_text(CLICK)
    code, out, err = surepick(
        "new", "clicks", "options.csv", "--features", "price", "--rewards", "yes-no"
    )
    assert code == 0, err
    assert "A measurement gives yes or no, as 1 or 0." in out
    return "clicks"


def test_from_a_table_and_a_command_that_says_yes_or_no_to_an_answer(surepick, folder, clicks):
    said = []
    for arguments in (
        ("run", clicks, "--exec", "sh click.sh", "--workers", "4"),
        ("status", clicks),
        ("answer", clicks, "--certificate", "proof.json"),
        ("verify", "proof.json"),
    ):
        code, out, err = surepick(*arguments)
        assert code == 0, err
        said.append(out + err)
    assert "The certificate holds" in said[3]
    assert "A measurement gives yes or no; repeated ones differ by about 0." in said[1]
    assert "Answer: d" in said[2]
    assert "Of 100 studies like this one, at most 5 name a wrong option." in said[2]
    everything = "".join(said)
    assert "σ" not in everything
    assert "sigma" not in everything.lower()
    assert "Warning" not in everything


def test_no_help_of_studies_speaks_of_sigma(surepick):
    for verb in ("new", "ask", "tell", "fail", "run", "status", "answer", "export"):
        code, out, _ = surepick(verb, "--help")
        assert code == 0
        for word in ("σ", "sigma", "sub-Gaussian", "estimate, by a pilot"):
            assert word.lower() not in out.lower(), (verb, word)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("given", "written", "words", "said"),
    [
        ((), "any", "numbers of any kind",
         "a number of any kind; nothing is assumed about it. The best option is the one that "
         "usually wins a comparison of two measurements.\nFor the best mean, say what"),
        (("--rewards", "any"), "any", "numbers of any kind", "of two measurements.\nIt ends"),
        (("--rewards", "symmetric"), "symmetric", "numbers with symmetric noise",
         "a number that scatters evenly: as likely too high as too low by the same amount."),
        (("--rewards", "number"), "symmetric", "numbers with symmetric noise", "scatters evenly"),
        (("--noise", "equal"), "equal", "numbers, with the same noise for all options",
         "a number, with the same noise for all options"),
        (("--noise", "0.5"), 0.5, "numbers, with noise 0.5", "a number, with noise 0.5"),
        (("--noise", "1,2,1,3"), [1, 2, 1, 3], "numbers, with noise 1 to 3", "noise 1 to 3"),
        (("--rewards", "yes-no"), "yes-no", "yes or no", "yes or no, as 1 or 0"),
        (("--rewards", "0..10"), {"low": 0, "high": 10}, "numbers between 0 and 10",
         "a number between 0 and 10"),
        (("--rewards=-1..1",), {"low": -1, "high": 1}, "numbers between -1 and 1",
         "a number between -1 and 1"),
        (("--rewards", "-1..1"), {"low": -1, "high": 1}, "numbers between -1 and 1",
         "a number between -1 and 1"),
        (("--rewards", "0.5..1e3"), {"low": 0.5, "high": 1000}, "numbers between 0.5 and 1000",
         "a number between 0.5 and 1000"),
    ],
)  # fmt: skip
def test_every_kind_is_said_in_words(surepick, folder, given, written, words, said):
    # Without features: what trust in them would cost has to be simulated.
    table = ("options.csv", "--unstructured")
    code, out, err = surepick("new", "s", *table, *given)
    assert code == 0, err
    assert said in out
    with sp.load_study("s") as study:
        assert study.problem.noise_kind.said == written
    _, content = run_json(surepick, "new", "t", *table, *given)
    assert (content["noise"], content["rewards"]) == (written, words)
    numbers = words.replace("numbers", "a number")
    assert f"A measurement gives {numbers}" in surepick("status", "s")[1]


@pytest.mark.parametrize(
    ("given", "because"),
    [
        (("--trust-features",), "trusted features speak of means"),
        (("--traffic",), "a traffic study sees sums of rewards"),
    ],
)
def test_what_is_taken_instead_is_said_with_its_reason(surepick, folder, given, because):
    code, out, _ = surepick("new", "s", "options.csv", "--features", "price", *given)
    assert code == 0
    assert "symmetric noise" in out or "scatters evenly" in out
    assert f"This was taken because nothing was said, and {because}" in out
    assert "Times, amounts of money and counts do not scatter evenly" in out


def test_a_quantile_says_itself_what_the_best_is(surepick, folder):
    _, out, _ = surepick("new", "s", "options.csv", "--unstructured", "--quantile", "0.95")
    assert "usually wins" not in out
    assert "best 95th percentile" in out


def test_epsilon_of_numbers_of_any_kind_is_echoed_as_a_share(surepick, folder):
    _, out, _ = surepick("new", "s", "options.csv", "--unstructured", "--epsilon", "5%")
    assert "an option that the best one beats in at most 55 % of direct comparisons" in out
    code, _, err = surepick("new", "t", "options.csv", "--unstructured", "--epsilon", "2")
    assert code == 2
    assert "share of direct comparisons, below 0.5" in err


def test_rewards_that_cannot_be_are_refused_and_nothing_is_lost(surepick, folder, clicks):
    code, content = run_json(surepick, "ask", clicks, "-n", "3", "--worker", "me")
    pulls = [pull["id"] for pull in content["pulls"]]
    code, _, err = surepick("tell", clicks, pulls[0], "2")
    assert code == 2
    assert (
        f"reward of measurement {pulls[0]} is 2, but rewards of this problem are 0 (no) or 1" in err
    )
    assert "it is still open" in err
    (folder / "told.csv").write_text(f"pull,reward\n{pulls[0]},1\n{pulls[1]},0.5\n")
    code, _, err = surepick("tell", clicks, "--file", "told.csv")
    assert code == 2
    assert f"reward of measurement {pulls[1]} is 0.5" in err
    _, status = run_json(surepick, "status", clicks)
    assert (status["samples"], status["batch"]["leased"]) == (0, 3)
    _, again = run_json(surepick, "ask", clicks, "-n", "3", "--worker", "me")
    assert [pull["id"] for pull in again["pulls"]] == pulls
    (folder / "told.csv").write_text(f"pull,reward\n{pulls[0]},1\n{pulls[1]},0\n")
    assert surepick("tell", clicks, "--file", "told.csv")[0] == 0


def test_past_rewards_that_cannot_be_are_named_by_their_line(surepick, folder):
    (folder / "past.csv").write_text("label,reward\na,1\nb,0\nc,1.2\n")
    for rewards, rule in (("yes-no", "0 (no) or 1 (yes)"), ("0..1", "between 0 and 1")):
        past = ("--past", "past.csv", "--past-chosen", "by-results")
        code, _, err = surepick("new", "s", "options.csv", "--rewards", rewards, *past)
        assert code == 2
        assert "line 4" in err
        assert "1.2" in err
        assert rule in err


def test_a_command_that_prints_what_cannot_be_has_failed(surepick, folder, clicks):
    code, _, err = surepick("run", clicks, "--exec", "echo 2", "--retries", "0")
    assert code == 5
    assert "0 (no) or 1 (yes)" in err
    _, status = run_json(surepick, "status", clicks)
    assert status["samples"] == 0


def test_numbers_that_are_all_yes_and_no_are_pointed_out(surepick, folder):
    (folder / "click.sh").write_text(CLICK)
    numbers = ("--features", "price", "--rewards", "symmetric", "--max-samples", "20")
    surepick("new", "s", "options.csv", *numbers)
    assert surepick("run", "s", "--exec", "sh click.sh")[0] == 7
    for verb in ("status", "answer"):
        out = " ".join(surepick(verb, "s")[1].split())
        assert "Warning: All 20 rewards so far are 0 or 1." in out
        assert "--rewards yes-no" in out
