"""Scores that were paid for are never lost, and never used for what they do not say."""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.interrupts import hear_interrupts

import surepick as sp
from surepick.calls.kept import FOLDER, VARIABLE
from surepick.errors import InvalidInputError
from surepick.integrations.evaluations import ScoreTable, decide

ITEMS = [f"question {i}" for i in range(60)]
SKILL = {"a": 0.2, "b": 0.5, "c": 0.8}
HARD = dict(zip(ITEMS, np.random.default_rng(3).random(60).tolist()))


def right(option, item):
    return float(HARD[item] < SKILL[option])


class Calls:
    """A function that is paid for, and that does something else once."""

    def __init__(self, at=None, what=None):
        self.at, self.what, self.made = at, what, []

    def __call__(self, option, item):
        self.made.append((option, item))
        if len(self.made) == self.at:
            if isinstance(self.what, type) and issubclass(self.what, BaseException):
                raise self.what("in the middle")
            return self.what
        return right(option, item)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "scores.jsonl"


@pytest.fixture
def table():
    return ScoreTable([*SKILL], ITEMS)


def lines(cache):
    return [json.loads(line) for line in cache.read_text().splitlines()]


def scores(cache):
    return [line for line in lines(cache) if "score" in line]


# -- one call ends badly ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "what", [ValueError, TypeError, KeyError, None, float("nan"), "0.5", [1.0], np.ones(3), 7.0]
)
def test_whatever_one_call_comes_to_is_one_failed_cell(table, cache, what):
    calls = Calls(20, what)
    found = decide(table, calls, cache=cache, retries=0)
    ((*cell, why),) = found.failed
    assert tuple(cell) == calls.made[19]
    assert found.option == "c"
    assert len(calls.made) == len(set(calls.made)) == found.evaluations
    assert len(scores(cache)) == found.evaluations - 1
    assert why in str(found)
    # It counts the same the next time, and nothing is asked for.
    again = decide(table, calls, cache=cache, retries=0)
    assert (again.evaluations, again.failed, again.answer) == (0, found.failed, found.answer)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("what", [KeyboardInterrupt, SystemExit, ConnectionError])
def test_where_it_has_to_stop_the_next_call_goes_on(table, cache, what, workers, drawn_orders):
    calls = Calls(20, what)
    away = calls.__call__

    def evaluate(option, item):
        if what is ConnectionError and len(calls.made) >= 20:
            calls.at = len(calls.made) + 1  # and so do all after it
        return away(option, item)

    how = {"cache": cache, "measure": "one", "workers": workers, "retries": 0}
    with pytest.raises(what) as stop:
        decide(table, evaluate, **how)
    part = stop.value.partial
    assert not part
    kept = len(scores(cache))
    assert part.table.known == part.evaluations == kept >= 19
    (note,) = [one for one in stop.value.__notes__ if "kept in" in one]
    assert f"({kept}) is kept in {cache}; call it again to go on" in note
    rest = Calls()
    found = decide(table, rest, **how)
    assert (found.option, found.earlier) == ("c", kept)
    assert set(rest.made).isdisjoint({(x["option"], x["item"]) for x in scores(cache)[:kept]})
    assert str(found).startswith(
        f"c, after {found.evaluations} of 180 evaluations and {kept} that were kept from before."
    )
    assert "if measurements fail, or come too late, for reasons that have nothing" in str(found)
    # It is the run that it would have been.
    seed = found.table.begun.seed
    assert seed == part.table.begun.seed
    assert sp.verify(found.answer.certificate(), replay=True).replayed
    # The table of what there was goes on in the same order, too.
    other = decide(part.table, right, cache=None, measure="one")
    assert other.table.begun.seed == seed
    assert other.option == "c"


def test_what_has_shown_nothing_yet_carries_nothing(table, cache):
    def evaluate(option, item):
        raise ConnectionError("no network")

    with pytest.raises(ConnectionError) as stop:
        decide(table, evaluate, retries=0, cache=cache)
    assert (stop.value.partial.evaluations, scores(cache)) == (0, [])
    assert decide(table, right, cache=cache)


def test_what_comes_of_a_list_is_kept_one_by_one(table, cache):
    asked = []

    def evaluate_batch(cells):
        for cell in cells:
            asked.append(cell)
            if len(asked) == 20:
                raise KeyboardInterrupt
            yield right(*cell)

    with pytest.raises(KeyboardInterrupt) as stop:
        decide(table, evaluate_batch=evaluate_batch, cache=cache)
    assert stop.value.partial.table.known == len(scores(cache)) == 19
    found = decide(table, evaluate_batch=evaluate_batch, cache=cache)
    assert len(asked) == 1 + len(set(asked))
    assert (found.option, found.earlier) == ("c", 19)


@pytest.mark.parametrize("bad", [None, ValueError("no number"), float("nan"), "x"])
def test_one_of_a_list_that_is_no_score_is_one_failed_cell(table, cache, bad):
    def evaluate_batch(cells):
        return [bad if cell == ("a", ITEMS[7]) else right(*cell) for cell in cells]

    found = decide(table, evaluate_batch=evaluate_batch, cache=cache)
    assert found.option == "c"
    assert [cell[:2] for cell in found.failed] == [("a", ITEMS[7])][: len(found.failed)]
    for wrong in (
        lambda cells: [1.0] * (len(cells) + 1),
        lambda cells: 1.0,
        lambda cells: iter([]),
    ):
        with pytest.raises(InvalidInputError, match="one score for each of"):
            decide(table, evaluate_batch=wrong, cache=None)


def test_a_call_that_hangs_is_one_failed_cell(table, cache):
    import threading

    for_ever = threading.Event()

    def evaluate(option, item):
        if (option, item) == hangs[0]:
            for_ever.wait()
        hangs.append((option, item))
        return right(option, item)

    hangs = [None]
    decide(table, evaluate, cache=None, seed=1)
    hangs[:] = hangs[30:31]
    found = decide(table, evaluate, cache=cache, seed=1, timeout=0.05, retries=0)
    for_ever.set()
    assert [cell[:2] for cell in found.failed] == [hangs[0]]
    assert found.option == "c"


# -- the process dies ------------------------------------------------------------------------
SCRIPT = """
import os, sys, time
from surepick.integrations.evaluations import ScoreTable, decide

ITEMS = [f"question {i}" for i in range(60)]

def evaluate(option, item):
    with open("calls", "a") as file:
        file.write(f"{option} {item}\\n")
    if len(open("calls").readlines()) == int(sys.argv[1]):
        open("reached", "w").close()
        time.sleep(600)
    return float(int(item.split()[1]) % 10 < {"a": 2, "b": 4, "c": 9}[option])

found = decide(ScoreTable(["a", "b", "c"], ITEMS), evaluate)
print(found.option, found.evaluations, found.earlier)
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "choose.py").write_text(SCRIPT)
    env = {name: value for name, value in os.environ.items() if name != VARIABLE}
    how = {"cwd": tmp_path, "env": env, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    how["preexec_fn"] = hear_interrupts
    begun = []

    def start(at):
        begun.append(subprocess.Popen([sys.executable, "choose.py", str(at)], text=True, **how))
        return begun[-1]

    yield start
    for one in begun:
        one.kill()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_ended_loses_no_more_than_the_call_it_was_in(script, tmp_path, sent):
    run = script(at=20)
    while not (tmp_path / "reached").exists():
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(sent)
    _, said = run.communicate(timeout=60)
    assert run.returncode != 0
    assert f"scores are kept in {tmp_path / FOLDER}/choose-decide-evaluate.jsonl" in said
    if sent == signal.SIGINT:
        assert "surepick: what was measured so far (19) is kept in" in said
    printed, said = script(at=0).communicate(timeout=60)
    option, made, earlier = printed.split()
    calls = (tmp_path / "calls").read_text().splitlines()
    assert (option, int(earlier)) == ("c", 19)
    assert len(calls) == 20 + int(made) == 1 + len(set(calls))
    assert (tmp_path / FOLDER / ".gitignore").read_text() == "*\n"
    assert (tmp_path / FOLDER).stat().st_mode & 0o777 == 0o700


def test_two_processes_at_the_same_time_have_a_run_each(table, cache, drawn_orders):
    """The second one counts what is known by then, and draws an order of its own."""
    other = []

    def evaluate(option, item):
        calls(option, item)
        if len(calls.made) == 30:
            other.append(decide(table, evaluate, cache=cache, measure="one"))
        return right(option, item)

    calls = Calls()
    found = decide(table, evaluate, cache=cache, measure="one")
    assert (found.option, other[0].option) == ("c", "c")
    assert found.table.begun.seed != other[0].table.begun.seed
    assert other[0].earlier == 29
    runs = {line["run"] for line in scores(cache)}
    assert len(runs) == 2


# -- what is in the file is another thing ----------------------------------------------------
def test_a_torn_line_is_left_out_and_said(table, cache, caplog):
    first = Calls(30, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        decide(table, first, cache=cache, measure="one")
    text = cache.read_bytes().splitlines(keepends=True)
    cache.write_bytes(b"".join(text[:20]) + text[20][:15])
    found = decide(table, Calls(), cache=cache, measure="one")
    assert found.earlier == len([line for line in text[:20] if b'"score"' in line])
    assert "1 lines are damaged" in caplog.text


def test_other_options_use_what_is_known_of_them_in_an_order_of_their_own(cache, drawn_orders):
    calls = Calls()
    two = decide(ScoreTable(["a", "b"], ITEMS), calls, cache=cache, delta=0.001)
    met = [{item for option, item in calls.made if option == one} for one in "ab"]
    calls.made.clear()
    three = decide(ScoreTable(["a", "b", "c"], ITEMS), calls, cache=cache)
    assert three.option == "c"
    assert three.table.begun.seed != two.table.begun.seed
    assert all(item not in met[option == "b"] for option, item in calls.made if option != "c")
    order = three.answer.certificate()["evidence"]["orders"][0]
    assert sorted(order["seen"]) == sorted(ITEMS.index(item) for item in met[0] | met[1])
    # The first question is where it was.
    calls.made.clear()
    assert decide(ScoreTable(["a", "b"], ITEMS), calls, cache=cache, delta=0.001) is not None
    assert calls.made == []


@pytest.mark.parametrize("how", ["made again", "lost"])
def test_what_was_made_again_is_said_by_whoever_uses_it(cache, how):
    """Scores of an earlier run, of which bad ones may have been lost."""
    made = []

    def evaluate(option, item):
        made.append(item)
        if len(made) == 7:
            raise KeyboardInterrupt if how == "lost" else TimeoutError("no reply")
        return float(option == "b")

    two, three = (ScoreTable([*names], ITEMS) for names in ("ab", "abc"))
    with contextlib.suppress(KeyboardInterrupt):
        assert "some were made again" in str(decide(two, evaluate, cache=cache, retries=5))
    found = decide(three, evaluate, cache=cache)
    assert found.earlier
    assert "some were made again" in str(found)


def prompted(prompts, rubric, made):
    def evaluate(option, item):
        made.append((option, item))
        return float(rubric and HARD[item] < len(prompts[option]) / 10)

    return evaluate


def test_what_was_changed_is_asked_for_again_and_nothing_else(cache, caplog):
    made, prompts = [], {"a": "12", "b": "12345", "c": "12345678"}
    table = ScoreTable([*prompts], ITEMS)

    def ask(prompts, rubric="0 to 1", **how):
        made.clear()
        return decide(table, prompted(prompts, rubric, made), cache=cache, **how)

    ask(prompts)
    first = list(made)
    ask(prompts | {"not asked": "x"})
    assert made == []
    ask(prompts | {"a": "123"})
    assert {option for option, _ in made} == {"a"}
    assert "scores were made before what belongs to 'a' changed, and are not used" in caplog.text
    caplog.clear()
    ask(prompts, rubric="0 or 1")
    assert len(made) >= len(first) / 2
    assert "rubric changed, and are not used. If that cannot have changed any" in caplog.text
    code = caplog.text.split("measure='")[1].split("'")[0]
    # Whoever knows better says so, and the answer says that it rests on this.
    kept = ask(prompts, rubric="zero or one", measure=code)
    assert set(made).isdisjoint(first)
    assert kept.earlier
    assert "if changes of the program that measures have changed no score" in str(kept)
    new = ask(prompts, rubric="zero or one", measure="new name")
    assert (new.earlier, "changes of the program" in str(new)) == (0, False)


def test_scores_of_other_bounds_are_no_scores(cache):
    kind = {"rewards": (0, 10)}
    decide(ScoreTable(["a", "b"], ITEMS, **kind), lambda o, i: 7.5 + (o == "b"), cache=cache)
    found = decide(ScoreTable(["a", "b"], ITEMS), lambda o, i: 1.0, cache=cache)
    assert found.evaluations == 120


# -- where it is -----------------------------------------------------------------------------
def test_it_is_kept_in_a_folder_here_unless_somebody_says_otherwise(
    table, tmp_path, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    decide(table, right)
    assert list(tmp_path.iterdir()) == []  # the tests' own setting
    monkeypatch.setenv(VARIABLE, str(tmp_path / "elsewhere"))
    decide(table, right)
    assert [path.name for path in (tmp_path / "elsewhere").glob("*.jsonl")] == [
        "decide-right.jsonl"
    ]
    monkeypatch.delenv(VARIABLE)
    decide(table, right, cache=None)
    assert not (tmp_path / FOLDER).exists()
    decide(table, right)
    assert [path.name for path in (tmp_path / FOLDER).glob("*.jsonl")] == ["decide-right.jsonl"]
    assert caplog.text.count("the next call goes on from them (cache=None: nowhere)") == 2
    decide(ScoreTable(["a", "b"], ["x"], [[1], [0]]))  # nothing is asked for
    assert len(list((tmp_path / FOLDER).glob("*.jsonl"))) == 1
    for wrong in (tmp_path, tmp_path / "no" / "folder.jsonl", 7):
        with pytest.raises((InvalidInputError, TypeError), match="cache"):
            decide(table, right, cache=wrong)


def test_a_full_disk_stops_nothing(table, cache, monkeypatch, caplog):
    write, full = os.write, []

    def until_full(file, content):
        if full:
            raise OSError(28, "No space left on device")
        return write(file, content)

    def evaluate(option, item):
        full[:] = [1] if 10 < len(calls.made) < 30 else []
        return calls(option, item)

    calls = Calls()
    monkeypatch.setattr(os, "write", until_full)
    caplog.set_level(logging.WARNING)
    found = decide(table, evaluate, cache=cache, measure="one")
    assert found.option == "c"
    assert caplog.text.count("cannot be written (No space left on device)") == 1
    assert len(scores(cache)) == found.evaluations  # as soon as there was room again


def test_an_item_on_which_all_fail_is_a_tie_even_if_it_comes_first(cache):
    asked, met = [], []

    def evaluate(option, item):
        asked.append((option, item))
        if item == refused:
            raise ValueError("refused")
        return right(option, item)

    how = {"seed": 5, "measure": "one"}
    decide(ScoreTable([*SKILL], ITEMS), lambda o, i: met.append(i) or right(o, i), **how)
    refused = met[0]
    found = decide(ScoreTable([*SKILL], ITEMS), evaluate, cache=cache, **how)
    assert found.option == "c"
    assert {cell[:2] for cell in found.failed} == {(option, refused) for option in SKILL}
    assert len(asked) <= found.evaluations + 1  # a call that worked is made once more


# -- and what is said is as true as ever -----------------------------------------------------
def in_parts(table, evaluate, cuts, **how):
    """A decision that is interrupted after so many calls, each time."""
    left = list(cuts)

    def interrupted(option, item):
        if left and left[0] == 0:
            left.pop(0)
            raise KeyboardInterrupt
        if left:
            left[0] -= 1
        return evaluate(option, item)

    while True:
        try:
            return decide(table, interrupted, measure="one", **how)
        except KeyboardInterrupt:
            pass


@pytest.mark.validation
def test_wrong_answers_are_as_rare_however_often_it_is_cut_off(tmp_path, drawn_orders):
    """One question decides between the best two; it is cut off four times."""
    wrong, runs = 0, 120
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        first = (rng.random(60) < 0.5).astype(float)
        twin = rng.permutation(first)
        twin[rng.choice(np.flatnonzero(twin))] = 0.0
        rows = {"first": first, "twin": twin, "poor": (rng.random(60) < 0.3).astype(float)}
        found = in_parts(
            ScoreTable([*rows], ITEMS),
            lambda option, item, rows=rows: float(rows[option][ITEMS.index(item)]),
            rng.integers(3, 40, 4),
            delta=0.2,
            cache=tmp_path / f"{seed}.jsonl",
        )
        wrong += rows[found.option].sum() < first.sum()
    assert wrong <= 0.2 * runs + 3 * (0.16 * runs) ** 0.5


def test_an_option_that_was_made_by_looking_at_the_file_is_not_proven_by_it(tmp_path, drawn_orders):
    wrong = 0
    for seed in range(8):
        rng, cache = np.random.default_rng(seed), tmp_path / f"{seed}.jsonl"
        rows = {"a": (rng.random(60) < 0.5).astype(float)}
        rows["b"] = rng.permutation(rows["a"])

        def evaluate(option, item, rows=rows):
            return float(rows[option][ITEMS.index(item)])

        how = {"cache": cache, "measure": "one", "delta": 0.2}
        decide(ScoreTable(["a", "b"], ITEMS), evaluate, max_evaluations=40, **how)
        met, known = {ITEMS.index(line["item"]) for line in scores(cache)}, len(scores(cache))
        new, total = np.zeros(60), int(rows["a"].sum()) - 1  # one answer worse than both
        new[[*met, *(set(range(60)) - met)][:total]] = 1.0
        rows["new"] = new
        found = decide(ScoreTable(["a", "b", "new"], ITEMS), evaluate, **how)
        assert found.earlier == known
        wrong += found.option == "new"
    assert wrong <= 4


def test_a_list_whose_first_item_fails_for_all_is_a_tie_too(table, cache):
    first = []

    def evaluate_batch(cells):
        first[:] = first or [cells[0][1]]
        return [ValueError("refused") if cell[1] == first[0] else right(*cell) for cell in cells]

    found = decide(table, evaluate_batch=evaluate_batch, cache=cache, measure="one")
    assert found.option == "c"
    assert {cell[:2] for cell in found.failed} == {(option, first[0]) for option in SKILL}
    with pytest.raises(ValueError, match="away"):
        decide(table, evaluate_batch=lambda cells: [ValueError("away")] * len(cells))
