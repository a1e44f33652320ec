"""Commands and functions that measure: real processes, threads and clocks."""

import fractions
import threading
import time

import pytest
from tests.study.workers.processes import gone, number_in, until

from surepick.errors import InvalidInputError, MeasurementError
from surepick.study.workers.measure import Call, Command, Measurement, environment, one_number

TASK = Measurement(pull=7, arm=2, label="c", attempt=3, features={"price": "4", "unit price": None})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(folder):
    """A command that runs these lines of a shell."""

    def make(lines, timeout=60.0):
        (folder / "measure.sh").write_text(lines)
        return Command("sh measure.sh {label}", timeout)

    return make


# -- what a command prints -----------------------------------------------------------------
@pytest.mark.parametrize(
    ("printed", "reward"), [("1.5", 1.5), ("  -2e3  ", -2000.0), ("0", 0.0), (".5\\n\\n", 0.5)]
)
def test_one_number_is_the_reward(command, printed, reward):
    measured = command(f"printf '{printed}'; echo noted >&2")(TASK)
    assert (measured.task, measured.reward, measured.error) == (TASK, reward, "")
    assert measured.record["stderr"] == "noted\n"
    assert float(measured.record["stdout"]) == reward
    assert measured.record["exit"] == 0
    assert 0 <= measured.record["seconds"] < 60


@pytest.mark.parametrize(
    ("lines", "said", "code"),
    [
        ("echo much", "the command printed 'much', not a number", 0),
        ("true", "the command printed nothing", 0),
        ("echo; echo ' '", "the command printed nothing", 0),
        ("echo 1 2", "printed 2 words, not one number: '1 2'", 0),
        ("echo nan", "the reward is nan; it must be finite", 0),
        ("echo 1_000", "'1_000', not a number", 0),
        ("echo \u0661\u0662", "not a number", 0),
        ("echo \uff11", "not a number", 0),
        ("printf '\\377'", "not a number", 0),
        ("echo 5; exit 3", "the command ended with exit code 3", 3),
        ("echo 5; echo >&2; echo no power >&2; exit 1", "with exit code 1: no power", 1),
        ("echo 5; kill -9 $$", "the command ended by signal 9", -9),
        ("head -c 70000 /dev/zero | tr '\\0' 1", "more than 64 kB instead of a number", 0),
    ],
)
def test_anything_else_is_said_and_kept(command, lines, said, code):
    measured = command(lines)(TASK)
    assert measured.reward is None
    assert said in measured.error
    assert measured.record["exit"] == code
    assert len(measured.record["stdout"]) <= 4000


def test_a_number_is_read_where_a_command_printed_it():
    assert one_number(" 3\n") == 3.0
    with pytest.raises(MeasurementError, match="nothing"):
        one_number("\n")


def test_the_end_of_what_was_said_is_kept_and_the_start_of_what_was_printed(command):
    lines = "i=0; while [ $i -lt 1200 ]; do echo $i$i; echo $i$i >&2; i=$((i+1)); done"
    record = command(lines)(TASK).record
    assert record["stdout"].startswith("00\n11\n22\n")
    assert record["stderr"].endswith("11981198\n11991199\n")
    assert len(record["stdout"]) == len(record["stderr"]) == 4000


def test_what_is_known_about_the_option_reaches_the_command(command):
    measured = command(
        'echo "$1,$SUREPICK_LABEL,$SUREPICK_ARM,$SUREPICK_PULL,$SUREPICK_ATTEMPT,'
        '$SUREPICK_FEATURE_price,${SUREPICK_FEATURE_unit_price-none},$SUREPICK_FEATURES"'
    )(TASK)
    said = 'c,c,2,7,3,4,none,{"price": "4", "unit price": null}\n'
    assert measured.record["stdout"] == said


def test_places_are_filled_once_and_never_become_another_word(folder):
    odd = Measurement(pull=7, arm=2, label="{pull} $(touch made); '")
    line = "printf '<%s>' {label} x{arm}-{pull}"
    assert Command(line)(odd).record["stdout"] == "<{pull} $(touch made); '><x2-7>"
    assert not (folder / "made").exists()


def test_columns_of_one_name_leave_the_first():
    env = environment(Measurement(0, 0, "a", features={"unit price": "1", "unit_price": "2"}))
    assert env["SUREPICK_FEATURE_unit_price"] == "1"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "must name a command"),
        ("echo 'a", "cannot be split"),
        ("echo 1 | cat", "only works in a shell"),
        ("bash -lc 'measure {label}'", r"\$SUREPICK_LABEL"),
        ('timeout 5 sh -c "echo 1 {label}"', r"\$SUREPICK_LABEL"),
        ('env A=1 nice -n 5 /bin/bash -o pipefail -ec "echo 1 {label}"', r"\$SUREPICK_LABEL"),
        ("bash -c -x 'echo {label}'", r"\$SUREPICK_LABEL"),
        ("busybox sh -c 'echo {arm} {label}'", r"\$SUREPICK_LABEL"),
        ("env -S \"sh -c 'echo {label}'\"", r"\$SUREPICK_LABEL"),
        ("su nobody -c 'echo {label}'", r"\$SUREPICK_LABEL"),
        ("ssh lab measure {label}", r"\$SUREPICK_LABEL"),
        ("python3.11 -c 'print({label})'", r"\$SUREPICK_LABEL"),
        ("perl -e 'print {label}'", r"\$SUREPICK_LABEL"),
        ("{label} 1", r"\$SUREPICK_LABEL"),
        ("no-such-program {label}", "no program 'no-such-program'"),
        ("./plain.txt", "not executable"),
    ],
)
def test_lines_that_cannot_work_are_refused_before_anything_is_measured(folder, line, said):
    (folder / "plain.txt").write_text("echo 1")
    with pytest.raises(InvalidInputError, match=said):
        Command(line)


@pytest.mark.parametrize(
    "line",
    [
        "sh -c 'echo \"$1\" > told; echo 1' sh {label}",  # an argument of the program
        "timeout 5 sh measure.sh {label}",
        "sh -c 'echo \"$SUREPICK_LABEL\" > told; echo 1'",
        "env python3 measure.py --cost {label}",
    ],
)
def test_labels_may_stand_where_nothing_obeys_them(folder, line):
    (folder / "measure.sh").write_text('echo "$1" > told; echo 1')
    (folder / "measure.py").write_text(
        "import sys, pathlib; pathlib.Path('told').write_text(sys.argv[-1]); print(1)"
    )
    label = "; touch made; $(touch made)"
    assert Command(line)(Measurement(0, 0, label)).reward == 1.0
    assert (folder / "told").read_text().strip() == label
    assert not (folder / "made").exists()


# -- how much --------------------------------------------------------------------------------
@pytest.mark.parametrize("where", ["", ">&2"])
def test_a_command_that_prints_without_end_is_ended_and_fills_no_disk(command, where, tmp_path):
    measured = command(f"yes 12345678 {where}")(TASK)
    assert "more than 1 MB" in measured.error
    assert len(measured.record["stdout"]) + len(measured.record["stderr"]) <= 4000
    assert sum(one.stat().st_size for one in tmp_path.rglob("*")) < 10_000


@pytest.mark.parametrize("keeps", ["", ">/dev/null 2>&1"])
def test_what_a_command_leaves_behind_ends_with_it(command, folder, keeps):
    """Whether or not it has kept the output of the command open."""
    measured = command(f"sleep 300 {keeps} & echo $! > child; echo 5")(TASK)
    assert measured.reward == 5.0
    assert until(lambda: gone(number_in(folder / "child")))


def test_all_that_was_printed_before_the_end_is_read(command):
    measured = command("printf '%0.s ' $(seq 50000); printf 4; printf 2")(TASK)
    assert measured.reward == 42.0


def test_a_program_that_has_gone_since_is_a_failure_of_the_measurement(folder):
    script = folder / "measure.sh"
    script.write_text("#!/bin/sh\necho 1\n")
    script.chmod(0o755)
    measure = Command("measure.sh")
    assert measure(TASK).reward == 1.0
    script.unlink()
    measured = measure(TASK)
    assert measured.reward is None
    assert "could not be started" in measured.error


# -- time ----------------------------------------------------------------------------------
FAMILY = """
sleep 300 & echo $! > child
sh -c 'sleep 300 & echo $! > grandchild; wait' &
echo 5
wait
"""


def test_past_its_time_a_command_is_killed_with_all_it_started(command, folder):
    start = time.monotonic()
    measured = command("echo $$ > parent\n" + FAMILY, timeout=1.0)(TASK)
    assert 1.0 <= time.monotonic() - start < 60
    assert measured.reward is None  # though it had printed a number
    assert measured.error == "the command was killed after 1 s"
    assert measured.record["stdout"] == "5\n"
    assert measured.record["seconds"] >= 1.0
    for name in ("parent", "child", "grandchild"):
        pid = number_in(folder / name)
        until(lambda pid=pid: gone(pid))


def test_a_command_that_ignores_requests_to_end_is_killed_all_the_same(command, folder):
    lines = "trap '' TERM INT HUP; echo $$ > parent; while :; do sleep 0.1; done"
    assert "killed" in command(lines, timeout=0.5)(TASK).error
    assert gone(number_in(folder / "parent"))


def test_what_a_command_leaves_running_is_not_waited_for_and_ends_with_it(command, folder):
    measured = command("sleep 300 & echo $! > child; echo 3", timeout=60.0)(TASK)
    assert (measured.reward, measured.error) == (3.0, "")
    assert measured.record["seconds"] < 60
    until(lambda: gone(number_in(folder / "child")))


# -- threads -------------------------------------------------------------------------------
def test_commands_of_several_threads_run_at_the_same_time(command, folder):
    # Each waits for the other three; one at a time, all would be killed.
    measure = command(
        "touch in-$SUREPICK_ARM; until [ $(ls in-* | wc -l) = 4 ]; do sleep 0.02; done; "
        "echo $SUREPICK_ARM",
        timeout=60.0,
    )
    found = {}

    def work(arm):
        found[arm] = measure(Measurement(arm, arm, "x")).reward

    threads = [threading.Thread(target=work, args=(arm,)) for arm in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {arm: float(arm) for arm in range(4)}


def test_stopping_kills_what_runs_and_starts_nothing_more(command, folder):
    measure = command("echo $$ > parent-$SUREPICK_PULL\n" + FAMILY)
    found = []
    threads = [
        threading.Thread(target=lambda pull=pull: found.append(measure(Measurement(pull, 0, "x"))))
        for pull in range(2)
    ]
    for thread in threads:
        thread.start()
    pids = [number_in(folder / name) for name in ("parent-0", "parent-1", "grandchild")]
    measure.stop()
    for thread in threads:
        thread.join(60)
    assert [one.error for one in found] == ["the command ended by signal 9"] * 2
    for pid in pids:
        until(lambda pid=pid: gone(pid))
    measured = measure(Measurement(2, 0, "x"))
    assert (measured.reward, measured.error) == (None, "interrupted")
    assert not (folder / "parent-2").exists()
    measure.stop()  # again: nothing to do


# -- functions -----------------------------------------------------------------------------
@pytest.fixture
def call(folder, monkeypatch):
    """The function of this name in a module of this folder."""
    monkeypatch.syspath_prepend(folder)
    (folder / "rig_of_test_measure.py").write_text(
        "import fractions, numpy\n"
        "class Rig:\n"
        "    measure = staticmethod(lambda task: task.arm * 2)\n"
        "def half(task): return fractions.Fraction(1, 2)\n"
        "def single(task): return numpy.float32(0.25)\n"
        "def broken(task): raise ValueError(f'no {task.label}')\n"
        "def text(task): return 'high'\n"
        "def none(task): pass\n"
        "def yes(task): return True\n"
        "def inf(task): return float('inf')\n"
        "number = 3\n"
    )
    return lambda name: Call(f"rig_of_test_measure:{name}")


@pytest.mark.parametrize(
    ("name", "reward"), [("Rig.measure", 4.0), ("half", 0.5), ("single", 0.25)]
)
def test_what_a_function_returns_is_the_reward(call, name, reward):
    measured = call(name)(TASK)
    assert (measured.reward, measured.error) == (reward, "")
    assert type(measured.reward) is float
    if name == "half":
        assert measured.record["returned"] == repr(fractions.Fraction(1, 2))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "ValueError: no c"),
        ("text", "the function returned 'high', not a number"),
        ("none", "the function returned None, not a number"),
        ("yes", "the function returned True, not a number"),
        ("inf", "the reward is inf; it must be finite"),
    ],
)
def test_functions_that_give_no_number(call, name, said):
    measured = call(name)(TASK)
    assert (measured.reward, measured.error) == (None, said)
    assert ("in broken" in measured.record.get("traceback", "")) == (name == "broken")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("math", "must be module:function"),
        (":f", "must be module:function"),
        ("no_such_module:f", "cannot be loaded"),
        ("math:cosinus", "cannot be loaded"),
        ("rig_of_test_measure:number", "is not a function; got 3"),
    ],
)
def test_functions_that_are_not_there_are_refused(call, name, said):
    with pytest.raises(InvalidInputError, match=said):
        Call(name)
