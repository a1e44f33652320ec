import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from tests.forks import client as forks

import surepick as sp
from surepick.cli import _GROUPS, _VERBS


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory):
    """What the demonstration has left in a folder, and what it has said."""
    folder = tmp_path_factory.mktemp("demo")
    done = forks.run("surepick", "demo", "--out", folder, "--delta", "0.1")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture(scope="module")
def certificate(demonstrated):
    return demonstrated[0] / "certificate.json"


@pytest.fixture
def tampered(certificate, tmp_path):
    body = json.loads(certificate.read_text())
    body["delta"] /= 2
    path = tmp_path / "tampered.json"
    path.write_text(json.dumps(body))
    return path


# -- demo ----------------------------------------------------------------------------------
def test_demo_leaves_an_answer_and_a_certificate_that_holds(certificate):
    answer = json.loads((certificate.parent / "answer.json").read_text())
    assert (answer["label"], answer["guarantee"]["kind"]) == ("short-photo-round", "pac")
    assert sp.verify(certificate).candidate == answer["arm"]
    assert json.loads(certificate.read_text())["claim"]["samples"] == answer["samples"]


def test_demo_leaves_a_study_that_can_be_looked_at_and_its_table(certificate, surepick):
    folder = certificate.parent
    study = sp.load_study("layouts", f"sqlite:///{folder}/demo.db")
    table = (folder / "layouts.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in table] == ["label", *study.problem.labels]
    assert study.answer.label == "short-photo-round"
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "short-photo-round" in (folder / "demo.html").read_text()


def test_demo_speaks_to_people(demonstrated):
    text = " ".join(demonstrated[1].split())
    assert "Which of 12 page layouts do visitors like best?" in text
    assert "Answer: short-photo-round, after" in text
    assert "Of 100 studies like this one, at most 10 name a wrong option." in text
    assert "It is the best one" in text
    assert "1 of 12 options not ruled out" in text


@pytest.mark.validation
def test_demo_speaks_to_programs_and_is_reproducible(demonstrated, surepick, tmp_path):
    code, out, err = surepick("demo", "--json", "--out", tmp_path, "--delta", "0.1")
    assert code == 0
    answer = json.loads(out)  # nothing else on stdout
    assert answer == json.loads((tmp_path / "answer.json").read_text())
    assert answer == json.loads((demonstrated[0] / "answer.json").read_text())
    assert "page layouts" in err


@pytest.mark.validation
def test_other_visitors_lead_to_another_course_of_the_demo(demonstrated, surepick, tmp_path):
    wanted = ("--out", tmp_path, "--delta", "0.1", "--seed", 1)
    code, out, _ = surepick("demo", "--json", *wanted)
    assert code == 0
    assert json.loads(out) != json.loads((demonstrated[0] / "answer.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--delta", "2"), 2, "error: delta must lie strictly between 0 and 1"),
        (("--delta", "x"), 2, "Invalid value for '--delta'"),
        (("--speed", "3"), 2, "No such option"),
    ],
)
def test_demo_with_wrong_options(surepick, tmp_path, arguments, code, message):
    ended, out, err = surepick("demo", "--json", "--out", tmp_path / "new", *arguments)
    assert (ended, out) == (code, "")
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "new").exists()


def test_demo_into_a_place_that_is_no_folder(surepick, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = surepick("demo", "--json", "--out", tmp_path / "file")
    assert code == 3
    assert "error:" in err


# -- verify --------------------------------------------------------------------------------
def test_verify_says_what_holds(surepick, certificate):
    code, out, err = surepick("verify", certificate)
    assert (code, err) == (0, "")
    assert out.startswith(
        "The certificate holds: the answer is short-photo-round.\nOf 100 studies like this one"
    )
    assert "worked out again by an independent program" in out
    assert "theorem" not in out
    exact = json.loads(certificate.read_text())["claim"]["statement"]
    assert exact not in out
    code, out, _ = surepick("verify", certificate, "--explain")
    assert f"Exactly: {exact}." in out
    assert "Error probability: at most 0.1, of which" in out


def test_verify_as_json(surepick, certificate):
    code, out, _ = surepick("verify", "--json", certificate)
    result = json.loads(out)
    assert (code, result["holds"], result["candidate"]) == (0, True, 0)
    assert result["risk"] <= result["delta"]


def test_verify_refuses_what_was_changed(surepick, tampered):
    code, out, err = surepick("verify", tampered)
    assert (code, out) == (1, "")
    assert err.startswith("certificate refused: its content was changed")
    code, out, err = surepick("verify", "--json", tampered)
    assert (code, err) == (1, "")
    assert json.loads(out)["holds"] is False
    assert "changed" in json.loads(out)["reason"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"\xff\xfe\x00", b'{"a": 1}'])
def test_verify_refuses_what_is_no_certificate(surepick, tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    code, out, err = surepick("verify", path)
    assert (code, out) == (1, "")
    assert "certificate" in err
    assert "Traceback" not in err


@pytest.fixture
def few_are_many(monkeypatch):
    """Tables that a certificate would contain are referred to."""
    monkeypatch.setattr("surepick.arrays.cutoffs.EMBEDDED_TABLE", 30_000)


@pytest.fixture
def large(few_are_many, tmp_path):
    """A certificate that does not contain its arms, and their file."""
    folder = tmp_path
    arms = np.random.default_rng(0).normal(size=(3500, 10))
    means = 3.0 * arms @ np.eye(10)[0]
    answer = sp.identify(sp.Problem(arms, noise=1.0), measure_batch=lambda some: means[some])
    (folder / "large.json").write_text(json.dumps(answer.certificate()))
    np.save(folder / "arms.npy", arms)
    np.save(folder / "few.npy", arms[1:])
    return folder


@pytest.mark.validation
def test_verify_with_the_arms_in_a_file(surepick, large):
    code, out, _ = surepick("verify", large / "large.json", "--arms", large / "arms.npy")
    assert code == 0
    assert "3,499 comparisons worked out again" in out
    code, _, err = surepick("verify", large / "large.json")
    assert (code, "--arms" in err) == (2, True)
    code, _, err = surepick("verify", large / "large.json", "--arms", large / "few.npy")
    assert (code, "other arms than those given" in err) == (1, True)
    code, _, err = surepick(
        "verify", large / "large.json", "--arms", large / "arms.npy", "--label", "name"
    )
    assert (code, "belong to a table" in err) == (2, True)


def test_verify_with_candidates_in_a_file(surepick, few_are_many, tmp_path):
    arms = np.random.default_rng(0).normal(size=(3500, 10))
    means, draw = 3.0 * arms @ np.eye(10)[0], np.random.default_rng(1)
    problem = sp.Problem(arms, arms[:7], noise=1.0)
    answer = sp.identify(problem, measure_batch=lambda some: draw.normal(means[some]), seed=0)
    path, rows, some = tmp_path / "c.json", tmp_path / "arms.npy", tmp_path / "candidates.npy"
    path.write_text(json.dumps(answer.certificate()))
    np.save(rows, arms)
    np.save(some, arms[:7])
    code, out, _ = surepick("verify", path, "--arms", rows, "--candidates", some, "--json")
    assert (code, json.loads(out)["checked"]) == (0, 6)
    code, _, err = surepick("verify", path, "--arms", rows)
    assert (code, "--candidates" in err) == (2, True)
    code, _, err = surepick("verify", path, "--candidates", some)
    assert (code, "and --arms another one" in err) == (2, True)


@pytest.mark.validation
def test_verify_with_the_table_of_a_study(surepick, few_are_many, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"option{i},{','.join(f'{v:.6f}' for v in rng.normal(size=9))}" for i in range(4000)]
    table = tmp_path / "options.csv"
    table.write_text("\n".join(["name," + ",".join(f"x{j}" for j in range(9)), *rows]) + "\n")
    storage = ("--storage", f"sqlite:///{tmp_path / 's.db'}")
    settings = ("--features", "x0,x1,x2,x3,x4,x5,x6,x7,x8", "--max-samples", "20")
    assert surepick("new", "big", table, *settings, *storage)[0] == 0
    with sp.load_study("big", storage[1]) as study:
        while not study.finished:
            for pull in study.ask(20):
                study.tell(pull.id, 0.0)
    code, out, _ = surepick("answer", "big", "--certificate", tmp_path / "big.json", *storage)
    assert (code, "--arms OPTIONS" in out) == (7, True)  # it ended at its limit
    code, out, _ = surepick("verify", tmp_path / "big.json", "--arms", table)
    assert (code, "the record is in order" in out) == (7, True)
    code, _, err = surepick("verify", tmp_path / "big.json", "--arms", table, "--features", "x0,x1")
    assert (code, "other arms" in err) == (1, True)


def test_verify_does_not_oversell_a_budget_stop(surepick, tmp_path):
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0)
    answer = sp.identify(problem, lambda arm: 0.0, max_samples=10)
    path = tmp_path / "none.json"
    path.write_text(json.dumps(answer.certificate()))
    code, out, _ = surepick("verify", path)
    assert code == 7
    assert out.startswith("The record is in order, but it does not prove the answer.\n")
    assert "stopped after 10 measurements, the most it was allowed, with 2 options left" in out
    assert "holds" not in out


def test_verify_needs_a_file(surepick, tmp_path):
    code, _, err = surepick("verify", tmp_path / "missing.json")
    assert code == 2
    assert "does not exist" in err
    code, _, err = surepick("verify", tmp_path)
    assert code == 2
    assert "is a directory" in err
    code, _, err = surepick("verify")
    assert code == 2
    assert "Missing argument" in err


# -- the command itself --------------------------------------------------------------------
def test_help_names_every_verb_and_explains_ten(surepick):
    for flag in ("--help", "-h"):
        code, out, _ = surepick(flag)
        assert code == 0
        assert "Find the best of many options" in out
        for group in _GROUPS:
            assert f"\n{group}:\n" in out
        for verb in _VERBS:
            assert re.search(rf"\b{verb}\b", out), verb
        explained = [verb for verb in _VERBS if re.search(rf"^  {verb}  +[A-Z]", out, re.M)]
        assert len(explained) == 10
        assert "Watch a small study" in out
        assert "Work out again why" not in out


@pytest.mark.parametrize("words", [["--all"], ["--help", "--all"], ["--all", "--help"]])
def test_all_explains_every_verb(surepick, words):
    code, out, _ = surepick(*words)
    assert code == 0
    for verb in _VERBS:
        assert re.search(rf"^  {verb}  +[A-Z]", out, re.M), verb


def test_version_and_verbs_load_what_they_need():
    code = """
import sys
from surepick.cli import cli
print([name for name in ("numpy", "sqlalchemy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_verbs_about_studies_load_no_library_that_takes_long(tmp_path):
    code = f"""
import sys
from surepick.cli import cli
(open("options.csv", "w")).write("label,price\\na,1\\nb,2\\n")
store = ["--storage", "sqlite:///{tmp_path / "studies.db"}"]
for words in (["new", "s", "options.csv"], ["ask", "s"], ["tell", "s", "0", "1.5"], ["pause", "s"]):
    cli([*words, *store], standalone_mode=False)
print([name for name in ("scipy", "numba", "rich", "alembic", "matplotlib") if name in sys.modules])
"""
    run = {"capture_output": True, "text": True, "check": True, "cwd": tmp_path}
    done = subprocess.run([sys.executable, "-c", code], **run)
    assert done.stdout.endswith("[]\n"), done.stdout


@pytest.mark.parametrize("verb", ["demo", "verify"])
def test_every_verb_has_help_and_json(surepick, verb):
    code, out, _ = surepick(verb, "--help")
    assert code == 0
    assert "--json" in out


def test_without_a_verb_it_helps(surepick):
    code, out, err = surepick()
    assert code in (0, 2)
    assert "Usage: surepick" in out + err


def test_unknown_verbs(surepick):
    code, out, err = surepick("verfy")
    assert (code, out) == (2, "")
    assert "No such command 'verfy'" in err


def test_version(surepick):
    code, out, _ = surepick("--version")
    assert code == 0
    assert sp.__version__ in out


def test_interrupting_ends_quietly(surepick, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(sp, "create_study", interrupted)
    code, _, err = surepick("demo", "--out", tmp_path)
    assert code == 130
    assert err.strip().endswith("stopped")


def test_the_command_returns_its_exit_code_to_the_shell(tampered, certificate):
    command = Path(sysconfig.get_path("scripts")) / "surepick"
    assert shutil.which(command)
    codes = [
        subprocess.run([command, "verify", path], capture_output=True).returncode
        for path in (certificate, tampered)
    ]
    assert codes == [0, 1]
