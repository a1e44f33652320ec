import csv
import json
import sys

import pytest
from click.testing import CliRunner

from surepick.cli import cli, main

SMALL = ["bench", "--instances", "standard:gap=1", "--trials", "3", "--algorithms"]


@pytest.fixture
def bench(tmp_path):
    def call(*arguments, **settings):
        command = [*SMALL, *arguments, "--out", str(tmp_path / "out")]
        return CliRunner().invoke(cli, command, **settings)

    return call


@pytest.mark.validation
def test_table_and_files(bench, tmp_path):
    done = bench("peleg,rage", "--delta", "0.1,0.05")
    assert done.exit_code == 0, done.output
    assert "standard:gap=1 · delta 0.1 · 3 trials each" in done.stdout
    assert "standard:gap=1 · delta 0.05" in done.stdout
    assert "No delta-PAC algorithm can average fewer than" in done.stdout
    for heading in ("mean", "sd", "10 %", "90 %", "× bound", "wrong", "95 % interval", "s/trial"):
        assert heading in done.stdout
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == {
        "trials.csv",
        "trials.parquet",
        "summary.csv",
        "summary.parquet",
        "figure.png",
    }
    with (tmp_path / "out" / "trials.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 12


@pytest.mark.validation
def test_json_and_two_processes(bench):
    one = bench("peleg", "--algorithms", "xy-oracle", "--json")
    two = bench("peleg,xy-oracle", "--json", "--jobs", "2")
    assert one.exit_code == two.exit_code == 0
    first, second = json.loads(one.stdout), json.loads(two.stdout)
    assert [c["algorithm"] for c in first["summary"]] == ["peleg", "xy-oracle"]
    assert [c["mean"] for c in first["summary"]] == [c["mean"] for c in second["summary"]]
    assert any("uses the truth" in note for note in first["notes"])
    assert len(first["files"]) == 5


def test_a_narrow_terminal_gets_two_tables(bench):
    narrow = bench("peleg", env={"COLUMNS": "70", "FORCE_COLOR": "1", "TERM": "xterm"})
    wide = bench("peleg")
    assert narrow.exit_code == wide.exit_code == 0
    assert narrow.stdout.count("algorithm") == wide.stdout.count("algorithm") + 1


def test_without_parquet_it_says_so(bench, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = bench("peleg")
    assert done.exit_code == 0
    assert "no Parquet files" in done.stdout
    assert "surepick[pandas]" in done.stdout
    assert {p.suffix for p in (tmp_path / "out").iterdir()} == {".csv", ".png"}


def test_trials_that_give_up_are_shown(bench):
    done = bench("peleg", "--max-samples", "4")
    assert done.exit_code == 0
    assert "none: 3 gave up" in done.stdout
    assert "≥" in done.stdout


def test_what_finished_is_kept_when_interrupted(bench, tmp_path, monkeypatch):
    from surepick.bench import stream

    def interrupted(plan, jobs, **more):
        rows = stream(plan, jobs, **more)
        yield next(rows)
        yield next(rows)
        raise KeyboardInterrupt

    monkeypatch.setattr("surepick.bench.stream", interrupted)
    done = bench("peleg")
    assert done.exit_code == 130
    assert "2 of 3 trials had finished" in done.stderr
    with (tmp_path / "out" / "trials.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["pelleg"], "did you mean 'peleg'"),
        (["peleg", "--instances", "confuonding:d=3"], "did you mean 'confounding'"),
        (["peleg", "--delta", "2"], "delta must lie"),
        (["peleg", "--delta", "small"], "should be one or more numbers"),
        (["peleg", "--jobs", "0"], "jobs"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, says, tmp_path, monkeypatch, capsys):
    command = ["surepick", *SMALL, *arguments, "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert says in capsys.readouterr().err


# -- suites --------------------------------------------------------------------------------
NARROW = [
    "--algorithms",
    "pooled-peleg,lucb,uniform-heuristic,xy-oracle,peleg-paper",
    "--trials",
    "1",
]
NARROW += [
    "--instances",
    "probes:d=4,k=5,parts=2,gap=1;nearly_tied:k=250,d=2,gap=0.3",
    "--delta",
    "0.1",
]


@pytest.mark.validation
def test_a_suite_ranks_and_writes_a_page(tmp_path):
    out = tmp_path / "out"
    command = ["bench", "--suite", "leaderboard", *NARROW, "--out", str(out)]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    for heading in ("Proven", "Heuristic thresholds", "Yardstick"):
        assert heading in done.stdout
    assert "pooled-peleg takes the fewest pulls of all proven algorithms in 2 of 2" in done.stdout
    assert "No score: lucb on probes:d=4,k=5" in done.stdout
    assert "peleg-paper on nearly_tied:k=250,d=2,gap=0.3: too slow" in done.stdout
    page = (out / "leaderboard.md").read_text()
    assert "--delta 0.1 --trials 1 --seed 0`" in page
    assert {p.name for p in out.iterdir()} >= {"trials.csv", "summary.csv", "trials.parquet"}


def test_a_suite_as_json(tmp_path):
    command = ["bench", "--suite", "leaderboard", "--algorithms", "pooled-peleg,rage"]
    command += ["--instances", "standard:gap=0.5", "--trials", "2", "--json"]
    done = CliRunner().invoke(cli, [*command, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert [p["algorithm"] for p in content["ranking"]["proven"]] == ["pooled-peleg", "rage"]
    assert set(content["ranking"]["proven"][0]["by_delta"]) == {"0.1", "0.01", "1e-06"}
    assert len(content["cells"]) == 6
    assert any(name.endswith("leaderboard.md") for name in content["files"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--algorithms", "rage"], "Missing option '--instances'"),
        ([], "--suite leaderboard"),
        (["--suite", "leaderbord"], "did you mean 'leaderboard'"),
        (["--suite", "leaderboard", "--epsilon", "0.1"], "--epsilon"),
        (["--suite", "leaderboard", "--trials", "0"], "at least 1"),
    ],
)
def test_what_to_run_must_be_said_well(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["surepick", "bench", *arguments, "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert says in capsys.readouterr().err


def test_a_killed_comparison_goes_on_and_a_finished_one_begins_anew(bench, tmp_path, monkeypatch):
    from surepick.bench import stream

    ran = []

    def dying(plan, jobs, **more):
        for row in stream(plan, jobs, **more):
            yield row
            ran.append((row["cell"], row["trial"]))
            if len(ran) == 2:
                raise SystemError  # as good as dead

    monkeypatch.setattr("surepick.bench.stream", dying)
    assert isinstance(bench("peleg").exception, SystemError)
    log = tmp_path / "out" / "unfinished.jsonl"
    log.write_text(log.read_text() + '{"torn')
    ran.append(None)  # and from now on it lives
    done = bench("peleg")
    assert done.exit_code == 0
    assert "going on: 2 of 3 trials are there" in done.stderr
    assert len(ran) == 4
    assert not log.exists()
    with (tmp_path / "out" / "trials.csv").open() as file:
        rows = [row["samples"] for row in csv.DictReader(file)]
    assert bench("peleg").exit_code == 0
    assert len(ran) == 7
    with (tmp_path / "out" / "trials.csv").open() as file:
        assert [row["samples"] for row in csv.DictReader(file)] == rows


def test_another_plan_does_not_go_on_there(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("surepick.bench.stream", lambda plan, jobs, **more: 1 / 0)
    bench("peleg")
    monkeypatch.undo()
    done = bench("peleg", "--seed", "5")
    assert "seed: 0 there, 5 asked for" in str(done.exception)
    assert bench("peleg", "--seed", "5", "--fresh").exit_code == 0


def test_a_budget_compares_how_often_guesses_are_wrong(tmp_path):
    command = ["bench", "--instances", "standard:gap=1", "--trials", "3", "--budget", "60"]
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, [*command, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "standard:gap=1 · 60 pulls · 3 trials each" in done.stdout
    with (out / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["algorithm"] for row in rows} == {
        "od-linbai",
        "gse",
        "uniform",
        "pooled-peleg:guess=true",
    }
    assert all(int(row["samples"]) <= 60 for row in rows)
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")
    refused = CliRunner().invoke(cli, [*command, "--max-samples", "9"])
    assert refused.exit_code == 2
    assert "--budget" in refused.output


def test_noise_of_another_family(bench, tmp_path):
    assert bench("xy-static", "--noise", "student-t:freedom=5").exit_code == 0
    with (tmp_path / "out" / "trials.csv").open() as file:
        heavy = [row["samples"] for row in csv.DictReader(file)]
    assert bench("xy-static").exit_code == 0
    with (tmp_path / "out" / "trials.csv").open() as file:
        assert heavy != [row["samples"] for row in csv.DictReader(file)]
    assert "did you mean 'gaussian'" in str(bench("peleg", "--noise", "gausian").exception)
    assert "noise 'gaussian:width=2'" in str(
        bench("peleg", "--noise", "gaussian:width=2").exception
    )


@pytest.mark.parametrize("noise", ["misfit:zeta=0.1", "correlated:share=0.5"])
def test_noise_that_no_theorem_allows(bench, tmp_path, noise):
    said = bench("xy-static,uniform", "--noise", noise)
    assert said.exit_code == 0
    assert "no guarantee and no bound here" in said.stdout
    with (tmp_path / "out" / "trials.csv").open() as file:
        first = [row["samples"] for row in csv.DictReader(file)]
    assert bench("xy-static,uniform", "--noise", noise, "--jobs", "2").exit_code == 0
    with (tmp_path / "out" / "trials.csv").open() as file:
        assert first == [row["samples"] for row in csv.DictReader(file)]


def test_a_recorded_leaderboard_is_checked_by_measuring_some_of_it_again(tmp_path):
    command = ["bench", "--suite", "leaderboard", "--algorithms", "peleg,rage", "--trials", "2"]
    command += ["--instances", "standard:gap=0.5", "--seed", "3", "--out", str(tmp_path)]
    assert CliRunner().invoke(cli, command).exit_code == 0
    about = json.loads((tmp_path / "leaderboard.json").read_text())
    assert about["seed"] == 3
    assert {"command", "version", "date", "processor"} <= about.keys()
    check = ["leaderboard", "--check", "5", "--record", str(tmp_path)]
    done = CliRunner().invoke(cli, check)
    assert done.exit_code == 0, done.output
    assert "5 of 5 trials came out as recorded (surepick bench --suite leaderboard" in done.stdout
    trials = tmp_path / "trials.csv"
    lines = trials.read_text().splitlines()
    names = lines[0].split(",")
    for i, line in enumerate(lines[1:], 1):  # as if each had taken one pull more
        cells = dict(zip(names, line.split(","), strict=True))
        cells["samples"] = str(int(cells["samples"]) + 1)
        lines[i] = ",".join(cells.values())
    trials.write_text("\n".join(lines) + "\n")
    done = CliRunner().invoke(cli, [*check, "--json"])
    assert done.exit_code == 1
    assert all(row["recorded"] == row["samples"] + 1 for row in json.loads(done.stdout)["trials"])


def test_no_record_is_said_so(tmp_path):
    done = CliRunner().invoke(cli, ["leaderboard", "--record", str(tmp_path)])
    assert "leaderboard.json is not there" in str(done.exception)
