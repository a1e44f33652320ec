"""``surepick plan`` as a user types it."""

import json

import pytest
from click.testing import CliRunner

from surepick.cli import cli

OPTIONS = "label,price,colour\na,1,red\nb,2,blue\nc,3,red\nd,4,blue\n"


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "options.csv").write_text(OPTIONS)

    def call(*words):
        return CliRunner().invoke(cli, ["plan", "options.csv", "--trials", "2", *words])

    return call


@pytest.mark.validation
def test_table_picture_and_notes(plan, tmp_path):
    known = ("--noise", "1", "--noise-is", "known", "--algorithms", "peleg,rage")
    done = plan("--features", "price,colour", "--gap", "1", *known)
    assert done.exit_code == 0, done.output
    for words in (
        "4 different options, 3 effects to learn, features trusted;",
        "PELEG",
        "RAGE",
        "A/B/n test",
    ):
        assert words in done.output
    for words in ("lower bound", "half the gap", "half of delta", "Labels come from"):
        assert words in done.output
    names = sorted(p.name for p in (tmp_path / "results/plan").iterdir())
    assert names == ["plan.csv", "plan.pdf", "plan.png", "runs.csv"]


def test_json(plan):
    done = plan("--gap", "1", "--json", "--out", "elsewhere")
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    methods = {row["method"] for row in content["forecast"]}
    assert methods == {"pooled-peleg", "A/B/n test", "largest average", "lower bound"}
    assert all(row["mean"] > 0 for row in content["forecast"])
    assert all(name.startswith("elsewhere") for name in content["files"])
    assert any("No noise was given" in note for note in content["notes"])


@pytest.mark.validation
def test_yes_no_and_bounded_rewards(plan):
    one = ("--unstructured", "--algorithms", "pooled-peleg")
    done = plan("--rewards", "yes-no", "--base-rate", "0.2", "--lift", "0.5", *one)
    assert done.exit_code == 0, done.output
    assert "the best at 30 %, all others at 20 % at most" in done.output
    assert "lower bound" not in done.output
    done = plan("--rewards", "0..10", "--gap", "2", *one)
    assert done.exit_code == 0, done.output
    assert "rewards between 0 and 10" in done.output


@pytest.mark.validation
def test_progress_without_a_terminal_is_lines_on_stderr(plan, monkeypatch):
    monkeypatch.setattr("surepick.cli.plan._BETWEEN_LINES", 0.0)
    done = plan("--gap", "1", "--json")
    assert "6 of 6 simulated runs" in done.stderr
    json.loads(done.stdout)


@pytest.mark.validation
def test_formula_and_unstructured(plan):
    done = plan("--gap", "1", "--formula", "C(colour)", "--trust-features", "--json")
    assert done.exit_code == 0, done.output
    assert any("count as one" in note for note in json.loads(done.stdout)["notes"])
    done = plan("--gap", "1", "--formula", "C(colour)", "--json")  # they may differ all the same
    assert done.exit_code == 0, done.output
    assert any("made without features" in note for note in json.loads(done.stdout)["notes"])
    done = plan("--gap", "1", "--formula", "C(colour)", "--misfit", "0.1")
    assert "'a' and 'c' have the same features" in str(done.exception)
    done = plan("--gap", "1", "--unstructured")
    assert "4 different options;" in done.output


@pytest.mark.validation
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "features only guide"),  # as in a new study
        (("--misfit", "0.1"), "features right to within 0.1"),
        (("--trust-features",), "features trusted"),
    ],
)
def test_how_far_features_are_trusted_is_said_first(plan, given, said):
    done = plan("--features", "price,colour", "--gap", "1", *given)
    assert f"3 effects to learn, {said};" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gap", "1", "--features", "prise"], "did you mean 'price'"),
        (["--gap", "0"], "gap must be above 0"),
        (["--gap", "1", "--algorithms", "pelge"], "did you mean 'peleg'"),
        (["--gap", "1", "--jobs", "0"], "jobs"),
        (["--gap", "1", "--rewards", "maybe"], "rewards must be yes-no, LO..HI, symmetric or any"),
        (["--gap", "1", "--rewards", "yes-no"], "give base_rate and lift"),
        (["--gap", "1", "--noise-is", "known"], "noise is missing"),
        ([], "gap is missing"),
    ],
)
def test_bad_input(plan, words, said):
    done = plan(*words)
    assert done.exit_code != 0
    assert said in str(done.exception)


def test_a_file_that_is_not_there(plan):
    done = CliRunner().invoke(cli, ["plan", "missing.csv", "--gap", "1"])
    assert "no file 'missing.csv'" in str(done.exception)


@pytest.mark.validation
def test_features_that_are_not_trusted_cost_more(plan, tmp_path):
    rows = "".join(f"o{i},{i % 6},{i // 6}\n" for i in range(36))
    (tmp_path / "options.csv").write_text("label,x,y\n" + rows)
    words = ("--gap", "0.5", "--noise", "0.5", "--noise-is", "known", "--json")
    trusted, guided = (
        json.loads(plan(*words, "--misfit", misfit, *more).stdout)
        for misfit, more in (("0", ("--algorithms", "pooled-peleg")), ("any", ()))
    )
    assert any("Features are trusted here" in note for note in trusted["notes"])
    assert not any("trusted here" in note for note in guided["notes"])
    ours, theirs = (
        [row for row in found["forecast"] if row["kind"] == "simulated"]
        for found in (trusted, guided)
    )
    assert {row["method"] for row in ours + theirs} == {"pooled-peleg"}  # others trust features
    assert ours[0]["mean"] < theirs[0]["mean"]
