"""Which is fastest: races of things whose times are drawn, so that no clock decides a test."""

import json
import math

import numpy as np
import pytest

import surepick as sp
from surepick.errors import InvalidInputError, MeasurementError
from surepick.timing import Timed
from surepick.timing.carried import Sequence
from surepick.timing.clock import Hung
from surepick.timing.result import seconds


class Drawn(Timed):
    """Log-normal times around a median, on a machine that gets slower for everybody."""

    slower = 1.0

    def __init__(self, name, median, seed, spread=0.3):
        self.name, self.median, self.spread = name, median, spread
        self.draw = np.random.default_rng(seed)

    def once(self):
        Drawn.slower *= 1.002
        return self.median * Drawn.slower * self.draw.lognormal(0.0, self.spread)


@pytest.fixture(autouse=True)
def as_quick_as_ever():
    Drawn.slower = 1.0


def drawn(**medians):
    return [Drawn(name, median, seed) for seed, (name, median) in enumerate(medians.items())]


@pytest.mark.validation
def test_the_fastest_is_named_with_how_often_it_won():
    found = sp.timing.fastest(drawn(a=1.0, b=1.3, c=3.0), seed=1)
    assert (found.label, found.decided) == ("a", True)
    assert str(found).startswith(f"a is the fastest (after {found.runs:,} runs in random order).")
    assert "Of 100 studies like this one, at most 5 name a wrong option." in str(found)
    assert str(found).endswith(", and if a run does not change how long the next one takes.")
    assert found.answer.guarantee.promise.exact.endswith(
        "provided that a run does not change how long the next one takes"
    )
    by_name = {row.name: row for row in found.rows}
    assert by_name["b"].won == found.answer.wins["b"] > 0.5
    assert by_name["a"].won is None
    assert [row.left for row in (by_name["a"], by_name["b"])] == [True, False]
    assert by_name["c"].runs < by_name["b"].runs  # hopeless ones take few
    assert by_name["b"].median == np.median(found.times["b"])
    assert sp.verify(found.answer.certificate(), replay=True).label == "a"


def test_nothing_is_faster_than_itself():
    decided = 0
    for seed in range(20):
        Drawn.slower = 1.0
        alike = [Drawn(name, 1.0, [seed, i]) for i, name in enumerate("abc")]
        found = sp.timing.fastest(alike, delta=0.1, max_runs=200, seed=seed)
        decided += found.decided
    assert decided <= 5  # 2 on average at most


def test_what_is_not_clear_yet_is_said():
    found = sp.timing.fastest(drawn(a=1.0, b=1.0), max_runs=60, seed=0)
    assert not found.decided
    assert found.runs == 60
    other = "b" if found.label == "a" else "a"
    assert f"{found.label} looks fastest, but that is not clear yet" in str(found)
    assert f"Not ruled out: {other}. More runs may decide it." in str(found)


def test_slower_by_more_than_a_margin():
    found = sp.timing.not_slower(
        drawn(main=1.0, branch=1.02, old=1.8), "main", epsilon=0.3, max_runs=3000, seed=2
    )
    assert (found.not_slower, found.slower, found.undecided) == (("branch",), ("old",), ())
    assert "old is slower than main by more than 30 %." in str(found)
    assert "branch is not slower than main by more than 30 %." in str(found)
    early = sp.timing.not_slower(drawn(main=1.0, same=1.0), "main", max_runs=8, seed=0)
    assert early.undecided == ("same",)
    assert "It is not clear whether same is slower than main by more than 5 %." in str(early)


def test_close_enough_is_shown_where_the_fastest_cannot_be():
    found = sp.timing.fastest(drawn(a=1.0, b=1.01, c=2.0), epsilon=0.4, seed=3)
    assert found.decided
    assert found.within == 0.4
    assert found.label in "ab"
    assert f"{found.label} is the fastest, or within 40 % of it" in str(found)
    clear = sp.timing.fastest(drawn(a=1.0, b=3.0), epsilon=0.02, seed=3)
    assert (clear.label, clear.decided, clear.within) == ("a", True, 0.0)


class Even(Timed):
    """On a machine that stays as it is; one that may take far longer now and then."""

    def __init__(self, name, least, seed, hangs=0.0):
        self.name, self.least, self.hangs = name, least, hangs
        self.draw = np.random.default_rng(seed)

    def once(self):
        return self.least + 0.1 * self.draw.random() + 5.0 * (self.draw.random() < self.hangs)


def test_the_shortest_quantile_is_another_question():
    two = [Even("steady", 1.0, 0), Even("spiky", 0.5, 1, hangs=0.25)]
    usual = sp.timing.fastest(two, seed=0)
    assert (usual.label, usual.decided) == ("spiky", True)
    late = sp.timing.fastest(two, quantile=0.9, seed=0)
    assert (late.label, late.decided) == ("steady", True)
    assert str(late).startswith("steady has the shortest 90th percentile (after")
    assert "next is spiky with 5." in str(late)
    assert "that is open" in str(sp.timing.fastest(two, quantile=0.9, max_runs=10, seed=0))
    with pytest.raises(InvalidInputError, match="with a quantile"):
        sp.timing.fastest(two, quantile=0.9, epsilon=0.1)


@pytest.mark.validation
def test_close_enough_is_hardly_ever_shown_where_it_does_not_hold():
    # a is faster than b by exactly the margin, the hardest case: naming b is wrong
    wrong = 0
    for seed in range(20):
        Drawn.slower = 1.0
        two = [Drawn("a", 1.0, [seed, 0], 0.6), Drawn("b", 1.1, [seed, 1], 0.6)]
        found = sp.timing.fastest(two, epsilon=0.1, delta=0.1, max_runs=400, seed=seed)
        wrong += found.decided and found.label == "b"
    assert wrong <= 5


def test_an_end_by_time():
    found = sp.timing.fastest(drawn(a=1.0, b=1.0), max_seconds=0.0, seed=0)
    assert not found.decided


class Hangs(Timed):
    """Takes as long as it is told to, by a clock of its own; ended where that is too long."""

    def __init__(self, name, *seconds):
        self.name, self.seconds, self.limits = name, list(seconds), []

    def once(self):
        taken = self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]
        self.limits.append(self.most)
        if taken > self.most:
            raise Hung(f"{self.name} did not end within {self.most:g} s")
        return taken


def test_what_hangs_is_ended_and_counts_as_slower_than_all_that_ends():
    often = np.random.default_rng(0).random(400) < 0.75
    quick, odd = Hangs("quick", 0.1), Hangs("odd", 0.01, *np.where(often, math.inf, 0.01).tolist())
    found = sp.timing.fastest([quick, odd], seed=0)
    assert (found.label, found.decided) == ("quick", True)
    assert found.hung["odd"] > found.runs / 4
    assert set(quick.limits + odd.limits) == {10.0}  # twenty times the slowest would be 2 s
    assert found.times["odd"].max() == 10.0
    said = f"Did not end in time, and count as slower than all that did: {found.hung['odd']} of "
    assert said in str(found)
    assert found.to_dict()["hung"] == found.hung
    certificate = found.answer.certificate()
    assert {"name": "hung", "runs": found.hung["odd"]} in certificate["conditions"]
    assert sp.verify(certificate)
    again = Hangs("quick", 0.1), Hangs("odd", 0.01, math.inf)
    with pytest.raises(MeasurementError, match="odd did not end within 10 s"):
        sp.timing.fastest(again, seed=0, hung="failed")


def test_those_that_hang_alike_are_alike_and_a_margin_changes_nothing():
    never = [Hangs(name, 0.1, math.inf) for name in "ab"]
    found = sp.timing.not_slower(never, "a", epsilon=0.5, max_runs=40, seed=0)
    assert (found.slower, found.not_slower) == ((), ())


@pytest.mark.parametrize(
    ("seconds", "limits"),
    [
        ((60.0, 70.0), {10.0, 40.0, 160.0, 1400.0}),  # all are slow
        ((5.0, 70.0), {10.0, 100.0, 1400.0}),  # the second is far slower
        ((0.1, 70.0), {10.0}),  # and here it hangs
    ],
)
def test_what_hangs_is_judged_by_what_has_ended(seconds, limits):
    own = [Hangs("a", seconds[0]), Hangs("b", seconds[1])]
    sp.timing.fastest(own, max_runs=8, seed=0)
    assert set(own[0].limits + own[1].limits) == limits
    fixed = [Hangs("a", seconds[0]), Hangs("b", seconds[1])]
    sp.timing.fastest(fixed, max_runs=8, seed=0, timeout=7.5)
    assert set(fixed[0].limits + fixed[1].limits) == {7.5}


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"hung": "dropped"}])
def test_what_makes_no_sense_about_hanging_is_named(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        sp.timing.fastest(drawn(a=1.0, b=1.0), **wrong)


def test_first_runs_do_not_count_and_progress_is_told():
    timed, told = drawn(a=1.0, b=5.0), []
    found = sp.timing.fastest(timed, warmup=4, seed=0, progress=lambda *now: told.append(now))
    assert told[-1] == (found.runs, ("a",))
    as_often = np.random.default_rng(0)
    as_often.lognormal(0.0, 0.3, 4 + len(found.times["a"]))
    assert timed[0].draw.normal() == as_often.normal()


def test_files_for_others():
    found = sp.timing.fastest(drawn(**{"a | b": 1.0, "c": 4.0}), seed=0)
    assert "| a &#124; b |" in found.markdown()
    assert found.csv().splitlines()[0] == "name,runs,median,p95,least,won,left"
    said = json.loads(json.dumps(found.to_dict()))
    assert (said["label"], said["decided"], said["runs"]) == ("a | b", True, found.runs)
    assert len(said["options"][0]["times"]) == said["options"][0]["runs"]


def test_functions_that_are_too_quick_for_the_clock_are_called_often_and_alike():
    calls = {"a": 0, "b": 0}

    def counting(name):
        def function():
            calls[name] += 1

        return function

    found = sp.timing.fastest({"a": counting("a"), "b": counting("b")}, max_runs=20, seed=0)
    each = {name: calls[name] / found.times[name].size for name in calls}
    assert min(each.values()) > 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"a": print}, "there must be two at least"),
        ({"a": 3, "b": print}, "must be a function"),
        ([Drawn("a", 1.0, 0), Drawn("a", 1.0, 0)], "two of them are called 'a'"),
        ([Drawn("a", 1.0, 0), "ls"], "cannot be timed"),
    ],
)
def test_what_cannot_be_timed_is_refused(options, said):
    with pytest.raises(InvalidInputError, match=said):
        sp.timing.fastest(options)


def test_nobody_is_compared_with_what_is_not_there():
    with pytest.raises(InvalidInputError, match="there is no 'main'; there are a, b"):
        sp.timing.not_slower(drawn(a=1.0, b=1.0), "main")
    with pytest.raises(InvalidInputError, match="epsilon must not be below 0"):
        sp.timing.not_slower(drawn(a=1.0, b=1.0), "a", epsilon=-0.1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0123, "12.3 ms"),
        (4.2, "4.20 s"),
        (3.1e-7, "310 ns"),
        (123.4, "123 s"),
        (2e-12, "0.00 ns"),
    ],
)
def test_times_are_written_for_people(value, text):
    assert seconds(value) == text


class Die(Timed):
    """One face at a time."""

    def __init__(self, name, faces, seed):
        self.name, self.faces, self.draw = name, faces, np.random.default_rng(seed)

    def once(self):
        return float(self.draw.choice(self.faces))


@pytest.mark.validation
def test_in_a_circle_nobody_is_the_fastest():
    """Rock, paper, scissors: each beats the next one two times in three, or always."""
    faces = {"a": [2, 2, 9], "b": [1, 6, 6], "c": [4, 4, 4]}
    around = []
    for seed in range(6):
        dice = [Die(name, own, [seed, i]) for i, (name, own) in enumerate(faces.items())]
        found = sp.timing.fastest(dice, delta=0.2, seed=seed, max_runs=1500)
        around += [found] if found.answer.circle else []
    assert len(around) > 2
    for found in around:
        assert not found.decided
        assert "looks fastest, but that is not clear yet" in str(found)
        assert "As measured, no one is faster than all others: " in str(found)
        said = found.to_dict()
        assert (said["decided"], len(said["circle"])) == (False, 3)


class Untidy(Timed):
    """Takes as long as the others, and leaves work to whoever comes next."""

    before = None

    def __init__(self, name, leaves, seed):
        self.name, self.leaves, self.draw = name, leaves, np.random.default_rng(seed)

    def once(self):
        more = 0.0 if Untidy.before is None else Untidy.before.leaves
        Untidy.before = self
        return (1 + more) * self.draw.lognormal(0.0, 0.2)


def test_who_leaves_work_to_the_next_one_is_not_faster_for_it():
    decided = noticed = 0
    for seed in range(12):
        Untidy.before = None
        two = [Untidy("untidy", 0.6, [seed, 0]), Untidy("tidy", 0.0, [seed, 1])]
        found = sp.timing.fastest(two, delta=0.2, max_runs=400, seed=seed)
        decided += found.decided
        if "depends on which one was before it" in str(found):
            noticed += 1
            assert "have something do it before each (--prepare)" in str(found)
            assert sp.verify(found.answer.certificate(), replay=True).guarantee == "heuristic"
    assert decided <= 6  # 2.4 on average
    assert noticed


def test_runs_that_leave_nothing_behind_are_let_be():
    for seed in range(40):
        draw, sequence = np.random.default_rng(seed), Sequence()
        for _ in range(10):
            own = draw.permutation(np.arange(9) % 3)
            sequence.add(own, (1 + own) * draw.lognormal(size=9) * (1 + 0.05 * np.arange(9)))
        assert not sequence.carries()
