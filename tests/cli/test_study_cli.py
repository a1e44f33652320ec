"""The verbs about studies, as a user types them."""

import csv
import io
import json
import math
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.forks import client as forks

import surepick as sp


def python(script):
    return f"{sys.executable} -SE {script}"  # without packages it starts in half the time


def run_json(surepick, *arguments):
    code, out, _ = surepick(*arguments, "--json")
    return code, json.loads(out)


# -- new, ask, tell, fail ------------------------------------------------------------------
def test_from_a_table_to_an_answer_by_hand(surepick, folder):
    features = ("--features", "price,colour")
    code, out, _ = surepick("new", "by hand", "options.csv", *features, "--noise", "1")
    assert code == 0
    assert "4 different options, 3 effects to learn; pooled-peleg, delta 0.05." in out
    assert "A measurement gives a number, with noise 1." in out
    assert "Note: Labels come from column 'label'." in out
    finished = False
    while not finished:
        code, content = run_json(surepick, "ask", "by hand", "-n", "50", "--worker", "me")
        assert code == 0
        for pull in content["pulls"]:
            assert pull["features"]["price"] == str(pull["arm"] + 1)
            code, told = run_json(surepick, "tell", "by hand", pull["id"], 3.0 * pull["arm"] - 5)
            assert (code, told["status"]) == (0, "accepted")
            finished = told["finished"]
    code, answer = run_json(surepick, "answer", "by hand", "--certificate", "proof.json")
    assert (code, answer["label"], answer["guarantee"]["kind"]) == (0, "d", "pac")
    assert sp.verify(folder / "proof.json").label == "d"
    code, out, _ = surepick("verify", "proof.json")
    assert code == 0
    assert "The certificate holds: the answer is d." in out
    code, out, err = surepick("ask", "by hand")
    assert (code, out) == (6, "")
    assert "is finished" in err


def test_ask_prints_a_line_for_each_pull_and_says_when_there_is_none(surepick, study):
    code, out, _ = surepick("ask", study, "-n", "3")
    assert code == 0
    head, *lines = (line.split("\t") for line in out.splitlines())
    assert head == ["pull", "option"]
    ids, labels = zip(*lines)
    assert ids == ("0", "1", "2")
    assert set(labels) <= set("abcd")
    surepick("ask", study, "-n", "100", "--worker", "other")
    code, out, err = surepick("ask", study)
    assert (code, out) == (4, "")
    assert "waiting for 3 measurements that a worker without a name has had since" in err
    code, content = run_json(surepick, "ask", study)
    assert (code, content) == (4, {"finished": False, "pulls": []})


def test_tells_are_kept_once(surepick, study):
    surepick("ask", study, "-n", "2", "--worker", "me")
    assert surepick("tell", study, 0, "-0.5")[:2] == (0, "Measurement 0: -0.5 is recorded.\n")
    code, out, _ = surepick("tell", study, 0, "-0.5")
    assert code == 0
    assert "counts once" in out
    code, out, _ = surepick("tell", study, 0, 7, "--worker", "somebody else")
    assert code == 0
    assert "from another worker" in out
    code, content = run_json(surepick, "tell", study, 0, 7)
    assert (code, content["type"]) == (2, "TellConflictError")
    assert run_json(surepick, "status", study)[1]["samples"] == 1


def test_failed_pulls_come_back(surepick, study):
    surepick("ask", study, "--worker", "me")
    code, out, _ = surepick("fail", study, 0, "--reason", "no power")
    assert (code, out) == (0, "Measurement 0 will be handed out again.\n")
    assert run_json(surepick, "fail", study, 0)[1] == {"pull": 0, "back_in_line": False}
    code, out, _ = surepick("export", study, "--what", "events")
    assert code == 0
    assert "no power" in out


@pytest.mark.some(9)
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["ask", "t"], 2, "no study is called 't'"),
        (["status", "t", "--storage", "sqlite:///none.db"], 2, "no such file"),
        (["status", "t", "--storage", "sqlite:///options.csv"], 3, "not a database"),
        (["status", "t", "--storage", "surepick.db"], 2, "sqlite:///surepick.db"),
        (["tell", "s", "99", "1"], 2, "never handed out measurement 99"),
        (["tell", "s", "0", "nan"], 2, "reward of measurement 0"),
        (["tell", "s", "0", "much"], 2, "'much' is not a number"),
        (["fail", "s", "99"], 2, "never handed out measurement 99"),
        (["ask", "s", "-n", "0"], 2, "n must be"),
        (["new", "s", "options.csv"], 2, "already exists"),
        (["new", "t", "options.csv", "--features", "prise"], 2, "did you mean 'price'"),
        (["new", "t", "nothing.csv"], 2, "there is no file"),
        (["new", "t", "options.csv", "--algorithm", "pelge"], 2, "did you mean 'peleg'"),
        (["new", "t", "options.csv", "--algorithm", "peleg:speed=3"], 2, "speed"),
        (["new", "t", "options.csv", "--noise", "-1"], 2, "noise"),
        (["new", "t", "options.csv", "--noise", "much"], 2, "neither 'equal' nor a number"),
        (["new", "t", "options.csv", "--noise", "1,2"], 2, "2 numbers for 4 arms"),
        (["new", "t", "options.csv", "--rewards", "maybe"], 2, "as in 0..10"),
        (["new", "t", "options.csv", "--rewards", "0..x"], 2, "as in 0..10"),
        (["new", "t", "options.csv", "--rewards", "3..1"], 2, "below the highest"),
        (["new", "t", "options.csv", "--rewards", "yes-no", "--noise", "0.5"], 2, "leave it out"),
        (["new", "t", "options.csv", "--algorithm", "peleg"], 2, "use pooled-peleg"),
        (["new", "t", "options.csv", "--delta", "2"], 2, "delta"),
        (["export", "s", "--out", "x.xls"], 2, "'xls' is unknown"),
        (["export", "s", "--format", "parquet"], 2, "name a file"),
        (["run", "s"], 2, "either --exec"),
        (["run", "s", "--exec", "no-such-program {label}"], 2, "no program 'no-such-program'"),
        (["run", "s", "--exec", "cat options.csv | wc"], 2, "only works in a shell"),
        (["run", "s", "--exec", "sh -c 'measure {label}'"], 2, "$SUREPICK_LABEL"),
        (["run", "s", "--exec", "./options.csv {label}"], 2, "not executable"),
        (["run", "s", "--exec", "echo 'a"], 2, "No closing quotation"),
        (["run", "s", "--call", "math"], 2, "module:function"),
        (["run", "s", "--call", "math:cosinus"], 2, "cosinus"),
        (["run", "s", "--exec", "echo 1", "--workers", "0"], 2, "workers"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(surepick, study, arguments, code, said):
    before = run_json(surepick, "status", study)[1]
    got, _, err = surepick(*arguments)
    assert got == code, err
    assert said in err
    after = run_json(surepick, "status", study)[1]
    assert after == before


def test_errors_as_json(surepick, study):
    code, content = run_json(surepick, "ask", "nowhere")
    assert code == 2
    assert content["type"] == "UnknownStudyError"


# -- status, answer, export ----------------------------------------------------------------
def test_status_shows_what_decides(surepick, study, folder):
    code, out, _ = surepick("status", study)
    assert code == 0
    assert "4 of 4 options still in" in out
    with sp.load_study("s") as opened:
        for pull in opened.ask(100):
            opened.tell(pull.id, 0.1 * pull.arm)
        state = opened.current_run.state
    code, content = run_json(surepick, "status", study, "--forecast")
    assert content["batch"]["number"] == 1
    assert content["evidence"] == state.progress().tolist()
    assert content["forecast"]["low"] > 0
    assert content["forecast"]["low"] <= (content["forecast"]["high"] or math.inf)
    assert len(content["behind"]) == len(content["standard_error"]) == 4
    code, out, _ = surepick("status", study, "--forecast")
    assert "evidence against" in out
    assert content["forecast"]["text"] in out


def test_a_forecast_that_takes_long_is_left_to_those_who_ask_for_it(surepick, study, monkeypatch):
    from surepick.run.forecast import FORECAST_SECONDS, Ahead

    asked = []

    def forecast(self, seconds=FORECAST_SECONDS):
        asked.append(seconds)
        few = seconds < 1.0
        return Ahead(*((None,) * 3 if few else (3, 4, 5)), 7, "why" if few else "", slow=few)

    monkeypatch.setattr(sp.Study, "forecast", forecast)
    out = surepick("status", study)[1]
    assert "How many more measurements: surepick status s --forecast works it out" in out
    assert "Probably 3 to 5 more measurements" in surepick("status", study, "--forecast")[1]
    assert asked[0] < 0.5
    assert asked[1] == FORECAST_SECONDS


def test_answer_before_the_end(surepick, study):
    code, out, err = surepick("answer", study)
    assert (code, out) == (4, "")
    assert "No answer yet: 4 of 4 options still in after 0" in err
    code, content = run_json(surepick, "answer", study)
    assert (code, content["finished"]) == (4, False)


def finish(reward, name="s"):
    with sp.load_study(name) as study:
        while pulls := study.ask(50):
            study.tell_many([(pull.id, reward(pull)) for pull in pulls])


@pytest.mark.validation
def test_a_model_that_does_not_fit_is_said_and_voids_the_guarantee(surepick, folder):
    rows = "".join(f"o{i},{i}\n" for i in range(12))
    (folder / "line.csv").write_text("label,x\n" + rows)
    surepick("new", "s", "line.csv", "--algorithm", "uniform", "--noise", "0.5", "--delta", "0.01")
    finish(lambda pull: 0.2 * pull.arm + 3.0 * (pull.arm == 5) + 0.5 * (-1) ** pull.id)
    code, content = run_json(surepick, "answer", "s")
    assert code == 7
    assert content["guarantee"]["kind"] == "heuristic"
    assert content["guarantee"]["text"].startswith("no guarantee: ")
    assert "the linear model does not fit" in content["guarantee"]["text"]
    assert 5 in content["checks"]["fit"]["arms"]
    code, out, _ = surepick("answer", "s", "--certificate", "c.json")
    assert "Warning: The linear model does not fit these options: 'o5'" in out
    assert sp.verify(folder / "c.json").guarantee == "heuristic"
    assert "does not fit" in surepick("status", "s")[1]


@pytest.mark.validation
def test_rewards_that_change_over_time_are_said(surepick, folder):
    plain = ("--unstructured", "--algorithm", "uniform", "--noise", "1")
    surepick("new", "s", "options.csv", *plain, "--max-samples", "250")  # the forecast is short
    with sp.load_study("s") as study:
        for i in range(60):
            for pull in study.ask(4):
                study.tell(pull.id, 0.01 * pull.arm + 2.0 * (i >= 30))
    code, out, _ = surepick("status", "s")
    assert code == 0
    assert "Warning: Rewards of the same options changed over time" in out


def test_noise_that_is_larger_than_stated_is_said(surepick, folder):
    surepick("new", "s", "options.csv", "--unstructured", "--noise", "0.1", "--max-samples", "80")
    finish(lambda pull: 0.01 * pull.arm + (-1) ** (pull.id // 2))
    _, content = run_json(surepick, "answer", "s")
    assert any("The noise is larger than stated" in w for w in content["checks"]["warnings"])


@pytest.mark.validation
def test_noise_that_is_smaller_than_stated_is_no_alarm(surepick, study):
    finish(lambda pull: 0.3 * pull.arm + 0.01 * (-1) ** (pull.id // 2))
    _, content = run_json(surepick, "answer", study)
    assert content["guarantee"]["kind"] == "pac"
    assert content["checks"]["warnings"] == []
    assert any("takes about" in remark for remark in content["checks"]["remarks"])


def test_export_tables_are_safe_to_open(surepick, folder):
    labels = ["=1+2", "+x", "-y", "@z", "-3", "plain"]
    rows = "".join(f'"{label}",{i},-2,=bad\n' for i, label in enumerate(labels))
    (folder / "o.csv").write_text("label,x,level,note\n" + rows)
    assert surepick("new", "s", "o.csv", "--features", "x")[0] == 0
    finish(lambda pull: -5.0 - pull.arm)
    _, out, _ = surepick("export", "s", "--what", "options")
    table = list(csv.DictReader(io.StringIO(out)))
    assert [row["label"] for row in table] == ["'=1+2", "'+x", "'-y", "'@z", "-3", "plain"]
    assert {(row["level"], row["note"]) for row in table} == {("-2", "'=bad")}
    _, content = run_json(surepick, "export", "s")
    assert {row["label"] for row in content} <= set(labels)
    assert all(row["reward"] == -5.0 - row["arm"] for row in content)
    _, said = run_json(surepick, "export", "s", "--out", "m.parquet")
    import pandas as pd

    frame = pd.read_parquet(folder / "m.parquet")
    assert len(frame) == said["rows"] == len(content)
    assert frame["reward"].tolist() == [row["reward"] for row in content]


# -- run -----------------------------------------------------------------------------------
def test_run_with_a_command(surepick, study, folder):
    code, out, err = surepick(
        "run", study, "--exec", python("measure.py {label}"), "--workers", "3", "--log", "log"
    )
    assert code == 0, err
    assert "Finished: surepick answer s" in out
    _, answer = run_json(surepick, "answer", study)
    assert answer["label"] == "d"
    kept = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    # Workers that had nothing left to do began the next batch, which may not be needed.
    status = run_json(surepick, "status", study)[1]
    assert status["samples"] == answer["samples"] == len(kept) - status["uncounted"]
    assert {one["pull"] for one in kept} == set(range(len(kept)))
    assert all(float(one["stdout"]) == one["reward"] == one["arm"] + 1 for one in kept)
    assert run_json(surepick, "run", study, "--exec", "echo 1")[1]["told"] == 0


def test_run_with_a_function(surepick, study, folder, monkeypatch):
    (folder / "rig_of_test.py").write_text(
        "def measure(task):\n    return float(task.features['price']) * 2\n"
        "def broken(task):\n    raise ValueError(f'no {task.label}')\n"
        "def text(task):\n    return 'high'\n"
        "def nan(task):\n    return float('nan')\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name, said in (
        ("broken", "ValueError: no "),
        ("text", "returned 'high', not a number"),
        ("nan", "it must be finite"),
    ):
        code, content = run_json(surepick, "run", study, "--call", f"rig_of_test:{name}")
        assert code == 5
        assert said in content["stopped"]
    code, content = run_json(surepick, "run", study, "--call", "rig_of_test:measure")
    assert (code, content["finished"]) == (0, True)
    assert run_json(surepick, "answer", study)[1]["label"] == "d"


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit(3)", "exit code 3"),
        ("sys.exit('the rig is off')", "exit code 1: the rig is off"),
        ("os.kill(os.getpid(), 9)", "by signal 9"),
        ("pass", "printed nothing"),
        ("print('nan')", "nan; it must be finite"),
        ("print('-inf')", "-inf; it must be finite"),
        ("print(*range(10))", "printed 10 words, not one number"),
        ("print('1,5')", "'1,5', not a number"),
        ("print('1_5')", "'1_5', not a number"),
        ("print('1e200')", "too large"),
        ("sys.stdout.write('1' * 10**5)", "more than 64 kB"),
        ("sys.stdout.buffer.write(bytes([255]))", "not a number"),
    ],
)
def test_measurements_that_give_no_number(surepick, study, folder, body, said):
    (folder / "bad.py").write_text(f"import os, sys\n{body}\n")
    line = python("bad.py")
    code, content = run_json(surepick, "run", study, "--exec", line, "--retries", "0")
    assert code == 5
    assert said in content["stopped"]
    assert (content["told"], content["failed"], content["finished"]) == (0, 1, False)
    with sp.load_study("s") as opened:
        (event,) = opened.events("failed")
        assert said in event.note
        assert opened.ask(1)[0].id == 1  # the failed one is last in line
    (kept,) = (folder / "s.measurements.jsonl").read_text().splitlines()
    assert said in json.loads(kept)["error"] or json.loads(kept)["stdout"] == "1e200\n"


def test_commands_that_hang_are_killed_with_all_they_started(surepick, study, folder):
    (folder / "hang.py").write_text(
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "open('pid', 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    start = time.monotonic()
    code, content = run_json(
        surepick, "run", study, "--exec", python("hang.py"), "--timeout", "1", "--retries", "0"
    )
    assert time.monotonic() - start < 20
    assert code == 5
    assert "killed after 1 s" in content["stopped"]
    pid = int((folder / "pid").read_text())
    for _ in range(50):
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().split()[2] == "Z":
            break
        time.sleep(0.1)
    else:
        pytest.fail("the command's child is still running")


@pytest.mark.validation
def test_functions_that_hang_are_not_waited_for(surepick, study, folder, monkeypatch):
    (folder / "slow_of_test.py").write_text(
        "import time\ndef measure(task):\n    time.sleep(8)\n    return 1.0\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    call = ("run", study, "--call", "slow_of_test:measure", "--timeout", "0.2", "--retries", "0")
    code, content = run_json(surepick, *call)
    assert code == 5
    assert "no reward after 0.2 s" in content["stopped"]


@pytest.mark.validation
def test_what_fails_now_and_then_is_tried_again(surepick, study, folder):
    # Few failures: where many measurements fail, nothing is promised.
    (folder / "flaky.py").write_text(
        "import os, sys\n"
        "if os.environ['SUREPICK_ATTEMPT'] == '1' and int(os.environ['SUREPICK_PULL']) % 7 == 0:\n"
        "    sys.exit('try again')\n"
        "print(os.environ['SUREPICK_FEATURE_price'])\n"
    )
    line = python("flaky.py")
    code, content = run_json(surepick, "run", study, "--exec", line, "--workers", "2")
    assert (code, content["finished"]) == (0, True)
    assert content["failed"] > 0
    _, answer = run_json(surepick, "answer", study)
    assert answer["label"] == "d"
    # What came after the end, of the next batch already, was told but not needed.
    assert answer["samples"] <= content["told"]


EVIL = [
    "$(touch made)",
    "; touch made #",
    "`touch made`",
    "a b",
    "'quoted\"",
    "* ?",
    "{pull} {label}",
    "%s \\n",
    "-rf",
    "[bold]x[/bold]",
]


def test_labels_reach_the_command_as_they_are(surepick, folder):
    text = io.StringIO()
    csv.writer(text).writerows([["label", "x"], *([label, i] for i, label in enumerate(EVIL))])
    (folder / "evil.csv").write_text(text.getvalue())
    (folder / "echo.py").write_text(
        "import json, os, sys\n"
        "seen = json.dumps([sys.argv[1:], os.environ['SUREPICK_LABEL']])\n"
        "open('seen', 'a').write(seen + '\\n')\n"
        "print(os.environ['SUREPICK_ARM'])\n"
    )
    assert surepick("new", "evil", "evil.csv", "--unstructured", "--noise", "0.3")[0] == 0
    line = python("echo.py -- {label} x{label}y")
    code, _, err = surepick("run", "evil", "--exec", line, "--workers", "4")
    assert code == 0, err
    seen = [json.loads(line) for line in (folder / "seen").read_text().splitlines()]
    assert {one[1] for one in seen} == set(EVIL)
    assert all(one[0] == ["--", one[1], f"x{one[1]}y"] for one in seen)
    assert not (folder / "made").exists()
    code, out, _ = surepick("status", "evil", "--top", "0")
    assert code == 0
    assert "[bold]x[/bold]" in out


def test_a_script_of_this_folder_needs_no_path(surepick, study, folder):
    script = folder / "measure.sh"
    script.write_text('#!/bin/sh\necho "$SUREPICK_FEATURE_price"\n')
    script.chmod(0o755)
    assert surepick("run", study, "--exec", "measure.sh {label}")[0] == 0


def begin(folder, *words):
    """The command in a process of its own; it writes into ``out`` and ``err``."""
    with (
        open(os.devnull) as nothing,
        (folder / "out").open("w") as out,
        (folder / "err").open("w") as err,
    ):
        files = [file.fileno() for file in (nothing, out, err)]
        return forks.Forked("surepick", words, files=files)


def test_being_terminated_keeps_what_was_measured(study, folder):
    (folder / "slow.py").write_text(
        "import os, time\ntime.sleep(0.6)\nprint(os.environ['SUREPICK_FEATURE_price'])\n"
    )
    words = ["run", study, "--exec", python("slow.py"), "--workers", "2", "--json"]
    process = begin(folder, *words)
    log = folder / "s.measurements.jsonl"
    for _ in range(300):
        if log.exists() and log.read_text():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 130, (folder / "err").read_text()
    content = json.loads((folder / "out").read_text())
    with sp.load_study("s") as opened:
        status = opened.status()
        assert status["samples"] == content["told"] >= 2
        assert status["batch"]["leased"] == 0
        assert opened.events() == []


def test_being_killed_loses_nothing_that_was_told(study, folder):
    words = ["run", study, "--exec", python("measure.py x"), "--worker", "w"]
    process = begin(folder, *words)
    log = folder / "s.measurements.jsonl"
    for _ in range(300):
        if log.exists() and len(log.read_text().splitlines()) >= 2:
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    with sp.load_study("s") as opened:
        told = opened.status()["samples"]
    assert told >= 1
    # The same workers go on at once, with what they had in hand.
    done = forks.run("surepick", *words, "--json")
    assert done.returncode == 0, done.stderr
    with sp.load_study("s") as opened:
        assert opened.answer.samples == told + json.loads(done.stdout)["told"]


def test_watching_ends_when_the_study_does(surepick, study):
    finish(lambda pull: 2.0 * pull.arm)
    code, out, _ = surepick("status", study, "--watch", "--json")
    assert code == 0
    assert len(out.splitlines()) == 1
    code, out, _ = surepick("status", study, "--watch")
    assert code == 0
    assert "Finished" in out


@pytest.mark.parametrize(
    "verb", ["new", "ask", "tell", "fail", "run", "status", "answer", "export"]
)
def test_every_verb_has_help_and_json(surepick, verb):
    code, out, _ = surepick(verb, "--help")
    assert code == 0
    assert "--json" in out
    assert "--storage" in out


def test_the_exit_codes_are_documented(surepick):
    _, out, _ = surepick("--help")
    for line in ("Exit codes:", "4    not yet", "5    measurements failed", "130  interrupted"):
        assert line in out


def test_a_file_of_no_bytes_and_a_full_disk_are_named(tmp_path):
    """The log of measurements goes to a device that is always full."""
    empty = tmp_path / "empty.db"
    empty.touch()
    done = forks.run("surepick", "status", "s", "--storage", f"sqlite:///{empty}")
    assert (done.returncode, "0 bytes" in done.stderr) == (2, True)
    options = tmp_path / "options.csv"
    options.write_text("label,size\na,1\nb,2\n")
    at = ["--storage", f"sqlite:///{tmp_path}/s.db"]
    made = forks.run("surepick", "new", "s", options, *at)
    assert "It ends after 1,000,000 measurements at the latest" in made.stdout
    run = ("run", "s", *at, "--exec", "echo 1", "--log", "/dev/full")
    done = forks.run("surepick", *run)
    assert done.returncode == 3
    assert "'/dev/full' cannot be written: No space left" in done.stderr


def test_new_says_what_trust_in_features_costs(surepick, folder):
    rows = "".join(f"o{i},{i % 4},{i // 4}\n" for i in range(24))
    (folder / "grid.csv").write_text("label,x,y\n" + rows)
    code, out, _ = surepick("new", "s", "grid.csv")
    assert code == 0
    assert "needs at least 5 measurements, 120 in total. If rewards are linear in the feat" in out
    assert "To forecast how many it will take: surepick plan." in out
    assert "Recommended" not in out
    code, out, _ = surepick("new", "u", "grid.csv", "--max-samples", "100")
    assert "takes at least 120 measurements, and the study ends after 100." in out


# -- plot and report -----------------------------------------------------------------------
@pytest.mark.validation
def test_a_picture_and_a_report_for_a_colleague(surepick, study, folder):
    code, _, err = surepick("plot", study)
    assert code == 2
    assert "nothing to draw yet" in err
    surepick("run", study, "--exec", python("measure.py {label}"))
    for out in ("s.png", "slide.svg", "paper.pdf"):
        code, content = run_json(
            surepick, "plot", study, *(() if out == "s.png" else ("--out", out))
        )
        assert (code, content["file"], content["title"]) == (0, out, "d is the answer")
        assert (folder / out).stat().st_size > 1000
    assert (
        ">d<" not in (folder / "slide.svg").read_text()
    )  # text is drawn, whatever fonts there are
    code, out, err = surepick("plot", study, "--out", "picture.gif")
    assert code == 2
    assert "must end in .png, .pdf or .svg" in err
    code, content = run_json(surepick, "report", study)
    assert (code, content["file"]) == (0, "s.html")
    assert "Of 100 studies like this one, at most" in (folder / "s.html").read_text()


def test_where_the_best_usually_wins_status_says_how_often_and_agrees_with_the_answer(surepick):
    surepick("new", "speed", "options.csv", "--seed", "1")
    code, out, _ = surepick("status", "speed")
    assert code == 0
    assert "behind the best" not in out  # a column without a number
    study = sp.load_study("speed")
    value = iter(range(1000))
    measure = lambda pull: 10.0 * pull.arm + next(value) % 7  # noqa: E731
    while study.progress().batch < 2:
        study.tell_many([(pull.id, measure(pull)) for pull in study.ask(3)])
    now = study.status()
    leads, lost = now["standing"]["columns"]["behind"], now["wins"]
    assert lost == [0.5 + lead if lead else None for lead in leads]
    study.run(measure)
    wins = study.answer.wins
    assert study.status()["wins"] == [wins.get(label) for label in study.problem.labels]
    lines = surepick("status", "speed")[1].splitlines()
    assert any("the best wins" in line for line in lines)
    for label, share in wins.items():
        (line,) = (line for line in lines if line.split()[:1] == [label])
        assert f"{100 * share:.0f} %" in line
    assert study.answer.label in surepick("answer", "speed")[1]
