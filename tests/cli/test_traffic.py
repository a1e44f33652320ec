"""Ten mornings of a site, as its owner types them."""

import csv
import json
import sqlite3

import numpy as np
import pytest

import surepick as sp
from surepick.cli.answer import _compared as compared

RATES = {"a": 0.05, "b": 0.05, "c": 0.06, "d": 0.09}


def site(split, number, folder):
    """Writes what a day came to, for the shares that were printed."""
    rng = np.random.default_rng(number)
    counts = rng.multinomial(4000, list(split["shares"].values()))
    with (folder / "report.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["label", "visits", "successes"])
        for label, n in zip(split["shares"], counts):
            rows.writerow([label, n, rng.binomial(n, RATES[label])])


def test_from_a_table_to_a_decided_test(surepick, folder):
    control = ("--control", "a", "--control-share", "20%", "--at-least", "5%")
    options = ("options.csv", "--features", "price,colour", "--rewards", "yes-no")
    code, out, _ = surepick("new", "shop", *options, "--traffic", *control)
    assert code == 0
    assert "A report has the columns label, visits, successes." in out
    assert "Leave out bots" in out
    code, out, _ = surepick("split", "shop", "--visits", "1000")
    assert code == 0
    assert "a    25.000 %         250" in out
    for number in range(10):
        code, out, err = surepick("split", "shop", "--json")
        if code:
            break
        site(json.loads(out), number, folder)
        code, said, _ = surepick("record", "shop", "report.csv", "--period", f"day {number}")
        assert code == 0
    assert "there are no more shares" in err
    assert "Decided: d is best" in said
    code, out, _ = surepick("status", "shop")
    assert "a (control)" in out
    assert "Next: Send everybody to d." in out
    code, _, _ = surepick("answer", "shop", "--certificate", "proof.json")
    assert code == 0
    assert sp.verify(folder / "proof.json", replay=True).label == "d"
    code, out, _ = surepick("verify", "shop")
    assert code == 0
    code, out, _ = surepick("export", "shop", "--out", "all.csv")
    rows = list(csv.DictReader((folder / "all.csv").read_text().splitlines()))
    assert sum(int(row["visits"]) for row in rows) == 4000 * number
    assert {row["price"] for row in rows if row["label"] == "d"} == {"4"}


def test_shares_as_a_table_and_mistakes_with_exit_codes(surepick, folder):
    surepick("new", "shop", "options.csv", "--unstructured", "--rewards", "yes-no", "--traffic")
    code, out, _ = surepick("split", "shop", "--csv", "-", "--visits", "10")
    assert out.splitlines()[:2] == ["label,share,visits", "a,0.250000,3"]
    (folder / "bad.csv").write_text("label,visits,successes\na,10,11\n")
    code, out, err = surepick("record", "shop", "bad.csv", "--period", "monday", "--json")
    assert code == 2
    assert "bad.csv: column 'successes', line 2" in err
    assert json.loads(out)["type"] == "InvalidInputError"
    code, _, err = surepick("ask", "shop")
    assert code == 2
    assert "is a traffic study" in err


def test_new_says_what_it_understood(surepick):
    given = ("options.csv", "--unstructured", "--rewards", "yes-no", "--traffic")
    rules = ("--control", "a", "--control-share", "20%", "--at-least", "5%", "--window", "36h")
    _, out, _ = surepick("new", "shop", *given, *rules, "--epsilon", "0.2%", "--top", "2")
    for line in (
        "Asked: which 2 options are the best.",
        "Close enough: within 0.2 percentage points of the best (epsilon).",
        "a is the control: it keeps 20 % of the visitors.",
        "Every option that is still in gets 5 % at least.",
        "Visitors have 36 hours to respond; periods are recorded after that.",
    ):
        assert line in out.splitlines()
    _, out, _ = surepick("new", "claims", *given, "--baseline", "b", "--minimise")
    assert "Asked: which options are better than b, and which are worse." in out
    assert "Smaller is better." in out


def test_shares_as_a_flag(surepick, folder):
    surepick("new", "shop", "options.csv", "--unstructured", "--rewards", "yes-no", "--traffic")
    code, out, _ = surepick("split", "shop", "--flags", "flags.json")
    assert code == 0
    assert "4 shares written to flags.json" in out
    flag = json.loads((folder / "flags.json").read_text())["flags"]["shop"]
    assert flag["state"] == "ENABLED"
    assert flag["targeting"] == {"fractional": [[label, 250_000] for label in "abcd"]}
    assert flag["defaultVariant"] in flag["variants"]


def test_a_report_that_a_database_counts(surepick, folder):
    surepick("new", "shop", "options.csv", "--unstructured", "--rewards", "yes-no", "--traffic")
    surepick("split", "shop")
    with sqlite3.connect(folder / "events.db") as database:
        database.execute("CREATE TABLE counts (label, visits, successes)")
        database.executemany("INSERT INTO counts VALUES (?, 500, 9)", [("a",), ("b",), ("c",)])
    database.close()
    sql = ("--sql", "SELECT * FROM counts", "--database", "sqlite:///events.db")
    code, out, _ = surepick("record", "shop", *sql, "--period", "monday", "--check")
    assert code == 0
    assert "1,500 visits; no mistakes found" in out
    code, out, _ = surepick("record", "shop", *sql, "--period", "monday")
    assert code == 0
    assert "1,500 visits recorded" in out
    for wrong in (("report.csv", *sql), sql[:2], ("report.csv", *sql[2:]), ()):
        code, _, err = surepick("record", "shop", *wrong, "--period", "tuesday")
        assert code == 2
        assert "database" in err


def test_a_report_is_looked_at_recorded_and_corrected(surepick, folder):
    surepick("new", "shop", "options.csv", "--unstructured", "--rewards", "yes-no", "--traffic")
    surepick("split", "shop")
    text = "label,visits,successes\na,100,4\nb,101,5\nc,102,6\nd,103,7\n"
    (folder / "monday.csv").write_text(text)
    monday = ("record", "shop", "monday.csv", "--period", "monday")
    code, out, _ = surepick(*monday, "--check")
    assert (code, out) == (0, "406 visits; no mistakes found. Nothing was recorded.\n")
    assert surepick(*monday)[0] == 0
    (folder / "monday.csv").write_text(text.replace("d,103,7", "d,100,4"))
    code, _, err = surepick(*monday)
    assert code != 0
    assert "correct the report" in err
    code, _, err = surepick(*monday, "--correct")
    assert code == 2
    assert "say why" in err
    code, out, _ = surepick(*monday, "--correct", "--reason", "bots", "--by", "ann")
    assert code == 0
    assert out.startswith("Period 'monday': 1 row of its report corrected (-3 visits).\n")
    assert "by one rule for all options" in out
    surepick("export", "shop", "--what", "corrections", "--out", "changes.csv")
    (row,) = csv.DictReader((folder / "changes.csv").read_text().splitlines())
    assert [row[key] for key in ("period", "label", "old_visits", "new_visits", "by")] == [
        *("monday", "d", "103", "100", "ann")
    ]
    assert surepick("verify", "shop")[0] in (0, 4)


def test_a_past_test_is_looked_back_at(surepick, folder):
    rng = np.random.default_rng(0)
    with (folder / "past.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["period", "label", "visits", "successes"])
        for day in range(8):
            for label, rate in RATES.items():
                rows.writerow([f"day {day}", label, 2000, rng.binomial(2000, rate)])
    code, out, _ = surepick("lookback", "past.csv", "--control", "a")
    assert code == 0
    assert "d is best. That took" in out
    assert "never because of how the numbers looked" in out
    assert "Note: visits could not be compared with the shares" in out
    code, out, _ = surepick("lookback", "past.csv", "--json")
    assert json.loads(out)["leader"] == "d"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at-least", "5%"), "at_least: only for website tests; add --traffic"),
        (("--traffic", "--trust-features"), "compares options by their own visitors"),
        (("--traffic", "--algorithm", "peleg"), "a traffic study always uses pooled-peleg"),
        (("--traffic", "--noise", "equal"), "report by bucket"),
    ],
)
def test_what_does_not_go_with_traffic_is_refused(surepick, options, message):
    code, _, err = surepick("new", "shop", "options.csv", "--features", "price", *options)
    assert code == 2
    assert message in err


def test_an_answer_speaks_of_rates_in_percentage_points(surepick, folder):
    options = ("options.csv", "--unstructured", "--rewards", "yes-no", "--control", "a")
    surepick("new", "shop", *options, "--traffic", "--epsilon", "4.5%")
    for number in range(10):
        code, out, _ = surepick("split", "shop", "--json")
        if code:
            break
        site(json.loads(out), number, folder)
        surepick("record", "shop", "report.csv", "--period", f"day {number}")
    code, out, _ = surepick("answer", "shop")
    assert code == 0
    assert f"after {4000 * number:,} visits in {number} periods." in out
    assert "It is within 4.5 percentage points of the best." in out
    assert "points ahead of a (the control); between " in out
    assert "0.045" not in out


def test_options_compared_with_a_baseline_are_so_many_points_above_it():
    rates, rng = np.array([0.2, 0.6, 0.05]), np.random.default_rng(0)
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="yes-no")
    answer = sp.identify(problem, lambda arm: float(rng.random() < rates[arm]), baseline="a")
    lines = compared(answer, problem.noise_kind)
    better = next(line for line in lines if line.startswith("  b: "))
    assert better.startswith(f"  b: {100 * answer.lifts['b'].estimate:+.3g} points (")
    assert "0." not in better.partition("(")[2]


def test_a_version_better_than_the_baseline_is_named_and_never_called_ruled_out(surepick, folder):
    options = ("options.csv", "--unstructured", "--rewards", "yes-no", "--baseline", "a")
    surepick("new", "shop", *options, "--traffic")
    for number in range(6):
        _, out, _ = surepick("split", "shop", "--json")
        site(json.loads(out), number, folder)
        _, said, _ = surepick("record", "shop", "report.csv", "--period", f"day {number}")
        if "(d better)" in said:
            break
    assert "Compared with a: 1 better" in said
    shares = json.loads(surepick("split", "shop", "--json")[1])["shares"]
    assert shares["a"] > 0.0
    told = surepick("split", "shop")[1] + surepick("status", "shop")[1]
    assert "ruled out" not in told


def test_a_version_that_wins_and_breaks_a_guardrail_is_named_and_not_chosen(surepick, folder):
    """By the command line alone, from a list of versions to a certificate."""
    (folder / "versions.csv").write_text("version\nold\nfair\npushy\n")
    sells, returns = (0.04, 0.06, 0.09), (0.01, 0.01, 0.04)
    how = ("--traffic", "--rewards", "yes-no", "--control", "old")
    limit = ("--keep", "refunds <= control + 0.5%")
    code, out, _ = surepick("new", "guarded", "versions.csv", *how, *limit)
    assert (code, "label, visits, successes, refunds" in out) == (0, True)
    rng = np.random.default_rng(3)
    for number in range(20):
        code, out, _ = surepick("split", "guarded", "--visits", "6000", "--json")
        if code:
            break
        lines = ["label,visits,successes,refunds"]
        for version, (label, n) in enumerate(json.loads(out)["visits"].items()):
            sold, back = rng.binomial(n, sells[version]), rng.binomial(n, returns[version])
            lines.append(f"{label},{n},{sold},{back}")
        (folder / "day.csv").write_text("\n".join(lines) + "\n")
        code, said, err = surepick("record", "guarded", "day.csv", "--period", f"day {number}")
        assert code == 0, err
    assert "Decided: fair is the best that keeps refunds <= old + 0.5 %" in said
    assert "looks better, but breaks this limit and is not chosen" in said
    code, out, _ = surepick("answer", "guarded", "--certificate", "guarded.json")
    assert (code, out.splitlines()[0]) == (0, "Answer: fair")
    assert "pushy: breaks" in out
    code, out, _ = surepick("verify", "guarded.json", "--replay")
    assert (code, "the answer is fair" in out) == (0, True)
